// ConstraintBlock: many constraints of one kind, bilateral (joints) or unilateral (contacts, stops).
//
// A constraint has rows() equations g(q, t) = 0 or gaps g(q, t) >= 0. Derivatives "with respect to q" are along
// q o exp(e w), so G is the gradient of g' = G v + g_t. The constraint force is G^T s. If a condensed row must act
// along another direction F, the method passes the pair (G, F) to SaddlePoint::set_active. Local arrays: values are
// stored item after item, row after row; gradients are rows() x local_size per item, row-major. A contact with friction
// has three rows: its gap and two tangential rows; a contact with resistance has six (rows.hpp).
#pragma once

#include <array>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/base/types.hpp"
#include "core/mechanics/bound_nodes.hpp"
#include "core/mechanics/rows.hpp"
#include "core/mechanics/topology.hpp"

namespace carom {

struct ConstraintTraits {
  RowKind kind = RowKind::bilateral;  ///< kind of an item's first row; further rows of a unilateral item are tangential
  bool linear = false;                ///< G is constant (g may depend on t)
  bool moving = false;                ///< g depends on t: g_t is not identically zero
  bool searching = false;             ///< find_candidates() may bind items to other nodes
  bool passable = false;              ///< gaps may be open at both ends of a motion through the contact
  bool rolling = false;               ///< contacts of spheres with friction
  bool turning = false;               ///< gaps change where bodies only turn
  bool has_formulas = false;          ///< formulas of the model file give g: see undefined_formula
};

/// Data of a row's contact law; joints keep the defaults.
struct ContactParameters {
  double restitution = 0;  ///< e in [0, 1] of Newton's impact law; 0 for bilateral rows; e_T of tangential rows
  double friction = 0;     ///< mu >= 0 of Coulomb's law; a block whose items have none has no tangential rows; of rows
                           ///< of resistance the largest moment over the normal force, k/lever
  int disc = 0;            ///< of tangential rows: rows with the same number share a disc; 0: slip, 1: roll, 2: pivot
  double lever = 0;        ///< length by which rows of angles are multiplied, moment over multiplier; 0: a force
};

/// The state that an evaluation may read.
struct ConstraintInput {
  const double* q = nullptr;  ///< whole configuration
  const double* v = nullptr;  ///< local velocities of the range; needed for rate, bias and rate_gradient
  double t = 0;
  const StepStart* start = nullptr;  ///< start of the step; null outside of steps
};

/// What presses a joint with friction: components that are linear in the reactions of the joint's bilateral rows. Those
/// of vectors are inertial, so that parts of a load which act one after another may be added.
using BearingLoad = std::array<double, 7>;

/// Requested results; null pointers are skipped.
struct ConstraintValues {
  double* gap = nullptr;            ///< g
  double* rate = nullptr;           ///< G v + g_t
  double* bias = nullptr;           ///< h: g'' = G v' + h,  h = D(G v) v + 2 D(g_t) v + g_tt
  double* gradient = nullptr;       ///< G
  double* rate_gradient = nullptr;  ///< D(G v + g_t)
  double* gap_gradient = nullptr;   ///< Dg: G, but of tangential rows another row, see rows.hpp
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

  /// Computes the requested `values`, item after item.
  virtual void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const = 0;
  /// f += G^T s
  virtual void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const = 0;
  /// A += c D(G^T s), without T; A has local_size x local_size entries per item, row-major.
  virtual void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                     double* A) const = 0;
  virtual ContactParameters law(int item, int row) const {
    (void)item, (void)row;
    return {};
  }
  /// Of an item of joint friction: the components of the joint's reaction that its law depends on, all others zero.
  /// `multipliers`: of the system's bilateral rows.
  virtual BearingLoad bearing_load(int item, const ConstraintInput& in, const double* multipliers) const {
    (void)item, (void)in, (void)multipliers;
    return {};
  }
  /// Of such an item: the largest friction under a load. `duration` multiplies what does not follow the load, so that
  /// the loads may be forces (1) or their integrals over time.
  virtual double friction_limit(int item, const BearingLoad& load, double duration, double t) const {
    (void)item, (void)load, (void)duration, (void)t;
    return 0;
  }
  /// Name of an item for messages, events and probes. The name does not change during a run, but for items of a
  /// searching block: there the name is that of the bodies to which the item is bound at present.
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

  /// How the directions t_1, t_2 of an item's tangential rows have turned about the normal since the start of the step,
  /// beyond what takes the normal from there to here on the shortest way: t_k there is (turn of t_l here)_k,
  ///   P t_1 = c t_1n + s t_2n,   P t_2 = -s t_1n + c t_2n.   Without tangential rows, or a start: {1, 0}.
  struct Turn {
    double c = 1, s = 0;
  };
  virtual Turn tangent_turn(int item, const ConstraintInput& in) const {
    (void)item, (void)in;
    return {};
  }

  /// Binds items to the nodes that they may touch within a step of size h from (q, v) at time t; v has one entry per
  /// equation. An item may get another pair of bodies; its number stays. Returns true if Topology::nodes changed.
  /// Called only if `searching` is true.
  virtual bool find_candidates(const double* q, const double* v, double t, double h) {
    (void)q, (void)v, (void)t, (void)h;
    return false;
  }

  /// The item, for messages, whose bodies the motion from `start` to `end` leads through each other, or far around each
  /// other into contact, or the bodies that overlap at the end and have no item; empty if there are none.
  /// `closing_turn`: the angle, rad, by which the direction of a contact that closes may turn; 0: such contacts have no
  /// impact, and any direction. Blocks whose contacts have formulas for gaps judge these directions by bounds of their
  /// own. Called only if `passable` is true.
  virtual std::string missed_contact(const ConstraintInput& start, const ConstraintInput& end,
                                     double closing_turn) const {
    (void)start, (void)end, (void)closing_turn;
    return {};
  }

  /// The first formula without a finite value or derivative at the end of a step, or with a pole within; empty: none.
  /// Called only if `has_formulas` is true.
  virtual std::string undefined_formula(const ConstraintInput& start, const ConstraintInput& end) const {
    (void)start, (void)end;
    return {};
  }

  /// Whether an item of a searching block has no bodies at present.
  virtual bool vacant(int item) const {
    (void)item;
    return false;
  }
  /// Of a searching block: the nearest two bodies that have no item; the gap is infinite if there are none. q: the
  /// configuration of all nodes; v: one entry per equation.
  struct Neighbours {
    double gap = std::numeric_limits<double>::infinity(), rate = 0;
    std::string name;
  };
  virtual Neighbours nearest_without_item(const double* q, const double* v) const {
    (void)q, (void)v;
    return {};
  }

  /// Binds the items of a searching block to nodes that it had in an earlier run; std::invalid_argument if that cannot
  /// be.
  virtual void restore_candidates(std::span<const int> nodes) { (void)nodes; }

  /// System calls this when it numbers the nodes, and after find_candidates() has changed nodes.
  virtual void bind(const DofMap& dofs) { nodes_.bind(topology_, dofs); }

 protected:
  /// For find_candidates(): binds a slot of an item to a node; returns true if the node changed.
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
