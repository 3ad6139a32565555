// ConstraintBlock: many constraints of one kind, bilateral (joints) or unilateral (contacts, stops).
//
// A constraint has rows() equations g(q, t) = 0 or gaps g(q, t) >= 0. Derivatives "with respect to q" are along
// q o exp(e w) (THEORY section 1), so G is the gradient that gives g' = G v + g_t. The constraint force is G^T s. A
// method that lets a condensed row act along another direction F hands the pair (G, F) to SaddlePoint::set_active.
// Local arrays: values row after row per item; gradients rows() x local_size per item, row-major.
#pragma once

#include <string>
#include <vector>

#include "core/base/types.hpp"
#include "core/mechanics/bound_nodes.hpp"
#include "core/mechanics/rows.hpp"
#include "core/mechanics/topology.hpp"

namespace carom {

struct ConstraintTraits {
  RowKind kind = RowKind::bilateral;  ///< of an item's first row; the others of a unilateral item are tangential
  bool linear = false;                ///< G is constant (g may depend on t)
  bool moving = false;                ///< g depends on t: g_t is not identically zero
  bool searching = false;             ///< find_candidates() may bind items to other nodes
};

/// Data of the contact law of a row; joints leave the defaults.
struct ContactParameters {
  double restitution = 0;  ///< e in [0, 1] of Newton's impact law; 0 for bilateral rows
};

/// The state an evaluation may read.
struct ConstraintInput {
  const double* q = nullptr;  ///< whole configuration
  const double* v = nullptr;  ///< local velocities of the range; needed for rate, bias and rate_gradient
  double t = 0;
  const StepStart* start = nullptr;  ///< start of the step; null outside of steps
};

/// What is wanted; null pointers are skipped.
struct ConstraintValues {
  double* gap = nullptr;            ///< g
  double* rate = nullptr;           ///< G v + g_t
  double* bias = nullptr;           ///< h: g'' = G v' + h,  h = D(G v) v + 2 D(g_t) v + g_tt
  double* gradient = nullptr;       ///< G
  double* rate_gradient = nullptr;  ///< D(G v + g_t)
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
  RowKind row_kind(int row) const {
    return row > 0 && traits_.kind == RowKind::unilateral ? RowKind::tangential : traits_.kind;
  }
  const ConstraintTraits& traits() const { return traits_; }

  /// Fills what `values` asks for, item after item.
  virtual void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const = 0;
  /// f += G^T s
  virtual void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const = 0;
  /// A += c D(G^T s), without T; local_size x local_size per item, row-major.
  virtual void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                     double* A) const = 0;
  virtual ContactParameters law(int item, int row) const {
    (void)item, (void)row;
    return {};
  }
  /// A stable name of an item for messages, events and probes.
  virtual std::string item_name(int item) const { return name_ + "[" + std::to_string(item) + "]"; }
  /// What one of its rows holds: "x", "rotation z"; empty where the item's name says it all.
  virtual std::string row_name(int item, int row) const {
    (void)item;
    return rows_ > 1 ? "row " + std::to_string(row + 1) : "";
  }
  /// Place where the reaction acts and unit direction (inertial) of a positive one on the last slot's node, for output;
  /// of a moment where the row acts by moments only.
  struct Place {
    Vec3 point = Vec3::Zero();
    Vec3 normal = Vec3::Zero();
  };
  virtual Place place(int item, int row, const ConstraintInput& in) const = 0;

  /// Binds items to the nodes that they may touch within a step of size h from (q, v) at time t, v per equation: a row
  /// keeps its slave point and changes its master. True if Topology::nodes changed. Called only with `searching`.
  virtual bool find_candidates(const double* q, const double* v, double t, double h) {
    (void)q, (void)v, (void)t, (void)h;
    return false;
  }

  /// Called by System when the nodes are numbered, and after find_candidates() has changed them.
  void bind(const DofMap& dofs) { nodes_.bind(topology_, dofs); }

 protected:
  /// For find_candidates(): binds a slot of an item to another node; true if that is a change.
  bool bind_slot(int item, int slot, int node) {
    int& bound =
        topology_.nodes[static_cast<std::size_t>(item) * topology_.slots.size() + static_cast<std::size_t>(slot)];
    if (bound == node) return false;
    bound = node;
    return true;
  }

  /// First configuration entry of the node in a slot; null for ground.
  const double* configuration(const ConstraintInput& in, int item, int slot) const {
    return nodes_.configuration(in.q, item, slot);
  }
  /// The kind of node in a slot; meaningless for ground.
  NodeKind node_kind(int item, int slot) const { return nodes_.kind(item, slot); }

 private:
  std::string name_;
  Topology topology_;
  int rows_;
  ConstraintTraits traits_;
  BoundNodes nodes_;
};

}  // namespace carom
