// LumpedMass: the lumped mass matrix and its inverse, group by group; nothing is assembled.
//
// A group is a set of equations that the lumped mass matrix couples: a translation alone (row sum of its elements), the
// rotation of a frame (nodal inertia, 3 x 3, body axes), all coordinates of a body with formulas (its full M(q), which
// is not lumped). Groups of one equation are an array of numbers, the others small dense matrices.
#pragma once

#include <Eigen/Cholesky>
#include <array>
#include <span>
#include <vector>

#include "core/mechanics/system.hpp"

namespace carom {

class LumpedMass {
 public:
  /// Finds the groups, and M at the initial configuration or at q. The system outlives this. Allocates memory.
  explicit LumpedMass(const System& system) : LumpedMass(system, system.initial_configuration()) {}
  LumpedMass(const System& system, In q);

  /// M at another configuration; does nothing if M is constant. False if M is not positive definite there.
  bool update(In q);
  /// The first equation without mass at the initial configuration; -1 if there is none.
  int massless() const { return massless_; }

  /// y = M x, y = M^-1 x; size() entries; y may be x.
  void times(In x, Out y) const;
  void solve(In x, Out y) const;
  /// x . M y
  double product(In x, In y) const { return products<1>({Factors{x, y}})[0]; }
  /// x . M (y - z); an empty z is zero.
  struct Factors {
    In x, y, z{};
  };
  /// Several products in one pass over the long vectors of solids; defined for n = 1 and n = 5.
  template <std::size_t n>
  std::array<double, n> products(const std::array<Factors, n>& of) const;
  /// Inverse mass of an equation that is a group of its own; 0 for equations of larger groups.
  double inverse(int equation) const { return inverse_[at(equation)]; }
  In masses() const { return mass_; }       ///< per equation: the diagonal of M
  In inverses() const { return inverse_; }  ///< see inverse()

  /// Groups of several equations.
  struct Group {
    std::vector<int> equations;  ///< ascending
    Eigen::MatrixXd M;
    Eigen::LLT<Eigen::MatrixXd> factor;
    Eigen::MatrixXd inverse;
  };
  std::span<const Group> groups() const { return groups_; }
  /// Index into groups() of an equation; -1: a group of its own.
  int group_of(int equation) const { return group_of_[at(equation)]; }
  /// Place of an equation among those of its group.
  int place(int equation) const { return place_[at(equation)]; }
  /// Inertia of a rotating frame (body axes) in the order of DofMap::rotating_frames(), if its rotations are a group.
  bool has_frame_inertias() const { return frame_inertias_; }
  const Group& of_frame(std::size_t frame) const { return groups_[at(frame_group_[frame])]; }

 private:
  void assemble(In q);
  bool factorise();

  const System* system_;
  Vector mass_, inverse_;
  Vector lone_;  // mass_ without groups of several equations; empty if there are none
  std::vector<Group> groups_;
  std::vector<int> group_of_, place_;  // per equation: its group, its place there
  std::vector<int> frame_group_;
  Vector local_;  // scratch: element matrices of a chunk, equations of an element
  std::vector<int> equations_;
  int massless_ = -1;
  bool frame_inertias_ = true;
};

}  // namespace carom
