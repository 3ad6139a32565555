// Contact between any two of many spheres: a row per pair that is near, instead of a row per pair.
//
// At the start of a step the rows are bound to the pairs that may touch within the step: those that come nearer than a
// quarter of their radii if both go on with their velocities,
//
//   min |x_B - x_A + s (v_B - v_A)| < (1 + 1/4) (r_A + r_B),  0 <= s <= h,
//
// found by sweeping along the axis of largest extent. A pair keeps its row as long as it is near, so that multipliers
// and closed contacts stay with the pair; a pair that comes near takes the first free row. There are ten rows per
// sphere, more than spheres can touch without overlap: 7.5 pairs per sphere, whatever their radii [Kuperberg & Schramm,
// Math. Res. Lett. 1 (1994) 339]. If more pairs are near, pairs that touch and then those that come nearest have rows.
//
// Pairs that are not near cost nothing. A sphere that a load or an impact within the step makes faster may reach
// another one that was not near: missed_contact() finds such pairs at the end of the step, which is then taken in
// halves.
#pragma once

#include <string>
#include <vector>

#include "contact/gap/sphere_contact.hpp"

namespace carom {

struct ContactSphere {
  std::string name;
  int node = 0;  ///< its centre
  double radius = 0;
};

class NearSpheresBlock final : public SphereContactBlock {
 public:
  static constexpr std::size_t rows_per_sphere = 10;

  NearSpheresBlock(std::string name, std::vector<ContactSphere> spheres, double restitution, double friction = 0,
                   double tangential_restitution = 0, double rolling = 0, double pivoting = 0);

  /// The name of the pair that has the row now.
  std::string item_name(int item) const override;
  void bind(const DofMap& dofs) override;
  bool find_candidates(const double* q, const double* v, double t, double h) override;
  bool vacant(int item) const override { return pairs_[static_cast<std::size_t>(item)].node_a < 0; }
  Neighbours nearest_without_item(const double* q, const double* v) const override;
  Place place(int item, int row, const ConstraintInput& in) const override;
  std::string missed_contact(const ConstraintInput& start, const ConstraintInput& end,
                             double closing_turn) const override;
  void restore_candidates(std::span<const int> nodes) override;

 private:
  struct Pair {
    int a = 0, b = 0;  // spheres, a < b
    int item = -1;
    double gap = 0;  // now, if the pair touches, or the smallest within the step, as predicted
    bool touches = false;
  };
  // Configuration and equations of a centre; -1: held.
  struct Centre {
    int offset = 0, equation[3] = {-1, -1, -1};
  };
  // A sphere in the sweep: a way, its radius or more, the box around both.
  struct Swept {
    Vec3 from, to;
    double reach;
    int sphere;
    Vec3 low, high;
  };

  Swept swept(const Vec3& from, const Vec3& to, double reach, std::size_t sphere) const;
  template <class Visit>
  void sweep(const Visit& visit) const;
  std::string pair_name(int a, int b) const;
  bool has_row(int a, int b) const;
  Vec3 velocity(std::size_t sphere, const double* v) const;
  void find_near(const double* q, const double* v, double h);
  void set_pair(int item, int a, int b);
  void clear_pair(int item);

  std::vector<ContactSphere> spheres_;
  std::vector<Centre> centres_;
  mutable std::vector<Swept> swept_;
  std::vector<Pair> near_, bound_;  // in the order of a, b
};

}  // namespace carom
