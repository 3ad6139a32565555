// ConstraintBlock: many constraints of one kind, bilateral (joints) or unilateral (contacts, stops).
//
// A constraint has rows() equations g(q, t) = 0 or gaps g(q, t) >= 0. Derivatives "with respect to q" are along
// q o exp(e w) (THEORY section 1), so G is the gradient that gives g' = G v + g_t. The reaction direction F (force
// = F^T s) is an operator of its own: it is G unless a block says otherwise, and then the saddle point is unsymmetric.
// Local arrays: values row after row per item; gradients rows() x local_size per item, row-major.
#pragma once

#include <string>
#include <vector>

#include "core/base/types.hpp"
#include "core/mechanics/bound_nodes.hpp"
#include "core/mechanics/topology.hpp"

namespace carom {

struct ConstraintTraits {
  bool unilateral = false;
  bool linear = false;         ///< G constant (g may depend on t)
  bool position_level = true;  ///< false: rows exist at velocity level only (friction, rolling)
  bool own_direction = false;  ///< F differs from G
  bool moving = false;         ///< g depends on t: g_t is not identically zero
};

/// Per-row data of the contact law; joints leave the defaults.
struct ContactParameters {
  double restitution = 0;  ///< e in [0, 1] of Newton's impact law; 0 for bilateral rows
  double friction = 0;     ///< Coulomb coefficient
  double scale = 1;        ///< by which a user weighs the row's residual against the model's length scale
};

/// The state that an evaluation may read.
struct ConstraintInput {
  const double* q = nullptr;  ///< whole configuration
  const double* v = nullptr;  ///< local velocities of the range; needed for rate, bias and rate_gradient
  double t = 0;
};

/// What is wanted; null pointers are skipped.
struct ConstraintValues {
  double* gap = nullptr;            ///< g
  double* rate = nullptr;           ///< G v + g_t
  double* bias = nullptr;           ///< h: g'' = G v' + h,  h = D(G v) v + 2 D(g_t) v + g_tt
  double* gradient = nullptr;       ///< G
  double* rate_gradient = nullptr;  ///< D(G v + g_t)
  double* direction = nullptr;      ///< F, only asked of blocks with own_direction
};

class ConstraintBlock {
 public:
  ConstraintBlock(std::string name, Topology topology, int rows, ConstraintTraits traits)
      : name_(std::move(name)), topology_(std::move(topology)), rows_(rows), traits_(traits) {}
  virtual ~ConstraintBlock() = default;
  ConstraintBlock(const ConstraintBlock&) = delete;
  ConstraintBlock& operator=(const ConstraintBlock&) = delete;

  const std::string& name() const { return name_; }
  const Topology& topology() const { return topology_; }
  int rows() const { return rows_; }
  const ConstraintTraits& traits() const { return traits_; }

  /// Fills what `values` asks for, item after item.
  virtual void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const = 0;
  /// f += F^T s
  virtual void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const = 0;
  /// A += c D(F^T s), without T; A has local_size x local_size entries per item, row-major.
  virtual void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                     double* A) const = 0;
  virtual ContactParameters law(int item, int row) const {
    (void)item, (void)row;
    return {};
  }
  /// Name of an item for messages, events and probes; the name does not change during a run.
  virtual std::string item_name(int item) const { return name_ + "[" + std::to_string(item) + "]"; }
  /// The motion that one of its rows prevents: "x", "rotation z"; empty if the item's name is sufficient.
  virtual std::string row_name(int item, int row) const {
    (void)item;
    return rows_ > 1 ? "row " + std::to_string(row + 1) : "";
  }
  /// Point of action and unit direction (inertial) of a positive reaction on the last slot's node, for output. If the
  /// row acts only by moments, normal is the direction of the moment.
  struct Place {
    Vec3 point = Vec3::Zero();
    Vec3 normal = Vec3::Zero();
  };
  virtual Place place(int item, int row, const ConstraintInput& in) const = 0;

  /// Called once by System when the nodes are numbered.
  void bind(const DofMap& dofs) { nodes_.bind(topology_, dofs); }

 protected:
  /// First configuration entry of the node in a slot; null for ground.
  const double* configuration(const ConstraintInput& in, int item, int slot) const {
    return nodes_.configuration(in.q, item, slot);
  }
  /// Kind of the node in a slot; undefined for ground.
  NodeKind node_kind(int item, int slot) const { return nodes_.kind(item, slot); }

 private:
  std::string name_;
  Topology topology_;
  int rows_;
  ConstraintTraits traits_;
  BoundNodes nodes_;
};

}  // namespace carom
