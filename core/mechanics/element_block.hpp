// ElementBlock: many elements of one kind, evaluated in ranges.
//
// An element defines its mechanics and is independent of time integration. It adds forces, products with its mass
// matrix and tangents to local arrays (element after element, Topology::local_size entries each; matrices row-major).
// System adds retraction, tangent operators T(d), assembly and constraints. Sign: M(q) v' - G^T lambda = f with
// f = f_ext - f_gyr - f_damp - f_int; a force part has the sign that it has in f.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/types.hpp"
#include "core/mechanics/bound_nodes.hpp"
#include "core/mechanics/topology.hpp"

namespace carom {

/// Parts of f, combined by |.
enum ForcePart : unsigned {
  force_internal = 1,
  force_damping = 2,
  force_gyroscopic = 4,
  force_external = 8,  ///< loads
  force_gravity = 16,  ///< computed by System, not by elements
  force_all = 31
};

enum class MassKind { consistent, lumped };

/// Properties that a block states once. System and the integrators use them to avoid unnecessary work.
struct BlockTraits {
  bool has_mass = false;
  bool constant_mass = true;         ///< M does not depend on q
  unsigned force_parts = force_all;  ///< parts of f that the block may have; System does not ask for other parts
  bool velocity_dependent = false;   ///< f depends on v
  bool linear = false;               ///< M, -Df and -df/dv are constant (f may depend on t)
  bool symmetric = false;            ///< -Df + D(M a) and -df/dv are symmetric
  bool has_stiffness = false;        ///< Df or D(M a) is not identically zero
  bool mixed_tangent = false;        ///< add_tangent reads ElementTangent::mixed_q; needs constant_mass
  bool may_invert = false;           ///< forces stay finite where inverted_item() finds an element
  bool has_formulas = false;         ///< formulas of the model file give forces or masses: see formula_fault
};

/// What a step must not end with. `where`: a formula without a finite value or derivative, or with a pole within the
/// step, or if `mass` is set a coordinate at which the mass matrix is not positive semidefinite; empty: nothing.
struct FormulaFault {
  std::string where;
  bool mass = false;
};

struct Energies {
  double kinetic = 0;
  double elastic = 0;
  double potential = 0;  ///< potential of conservative forces other than elastic ones; System adds gravity
};

/// The state that an evaluation may read.
struct ElementInput {
  const double* q = nullptr;  ///< whole configuration; see ElementBlock::configuration
  const double* v = nullptr;  ///< local velocities of the range; null unless the block depends on v
  double t = 0;
};

/// c_M M + c_C (-df/dv) + c_K (D(M a) - D f): coefficients of the requested tangent.
struct ElementTangent {
  double c_M = 0;
  double c_C = 0;
  double c_K = 0;
  const double* a = nullptr;  ///< local accelerations of the range in D(M a); null: zero
  MassKind mass = MassKind::consistent;
  /// Stresses of the geometric part of c_K, for blocks with `mixed_tangent`: null: those at q; else those that the last
  /// correction d (local, of the range) has predicted from the configuration mixed_q, sigma(mixed_q) + Dsigma d.
  const double* mixed_q = nullptr;
  const double* mixed_d = nullptr;
};

/// A named field for output, filled by ElementBlock::output: values per element, or, of nodal fields, per node of every
/// element (slot after slot), which are averaged over the elements that share a node. Components are 1, 3 (x, y, z) or
/// 6 (xx, yy, zz, xy, yz, xz, the order of VTK). Probes record every field by its name, so that blocks with a field of
/// the same name mean the same quantity.
struct OutputField {
  std::string name;
  int components = 1;
  bool nodal = false;
  std::string unit{};  ///< SI
  std::string help{};  ///< what the field is, for the reference page
};

class ElementBlock {
 public:
  ElementBlock(std::string name, Topology topology, BlockTraits traits)
      : name_(std::move(name)), topology_(std::move(topology)), traits_(traits) {}
  virtual ~ElementBlock() = default;
  ElementBlock(const ElementBlock&) = delete;
  ElementBlock& operator=(const ElementBlock&) = delete;

  const std::string& name() const { return name_; }
  const Topology& topology() const { return topology_; }
  const BlockTraits& traits() const { return traits_; }

  /// f += the chosen parts of the force. f: range.size() * local_size entries.
  virtual void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const = 0;
  /// f += M(q) a; a: local accelerations (translations inertial, rotations in the body frame).
  virtual void add_mass_times(Range range, const ElementInput& in, const double* a, MassKind kind, double* f) const = 0;
  /// A += the requested tangent, without T. A: range.size() matrices of local_size x local_size.
  virtual void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const = 0;
  /// Elastic and potential energy of the range. System computes the kinetic energy 1/2 v . M v.
  virtual Energies energies(Range range, const ElementInput& in) const = 0;
  /// add_forces and energies in one, for blocks that find both at once.
  virtual Energies add_forces_with_energies(Range range, const ElementInput& in, unsigned parts, double* f) const {
    add_forces(range, in, parts, f);
    return energies(range, in);
  }
  /// A force that measures the roundoff of internal forces (EA, or stiffness times length_scale); 0 if there is none.
  virtual double roundoff_force(double length_scale) const { return 0.0 * length_scale; }

  /// Index of an element that is inverted, or whose strain is beyond what its formulas can tell; -1: none. Newton's
  /// method may pass through inverted configurations, but no step ends in one.
  virtual int inverted_item(Range range, const ElementInput& in) const {
    (void)range, (void)in;
    return -1;
  }

  /// The first fault of the block's formulas at the end of a step, or within. Local velocities are of all items. Called
  /// only if `has_formulas` is true.
  virtual FormulaFault formula_fault(const ElementInput& start, const ElementInput& end) const {
    (void)start, (void)end;
    return {};
  }

  /// What is wrong with the place of an element, as part of a sentence that names it; empty: nothing.
  virtual std::string remark(int item, const ElementInput& in) const {
    (void)item, (void)in;
    return {};
  }
  /// Name of an element for messages; the name does not change during a run.
  virtual std::string item_name(int item) const { return name_ + "[" + std::to_string(item) + "]"; }

  /// Output fields and their values, element after element: range.size() * components values, for nodal fields times
  /// the number of slots. in.v may be null.
  virtual std::vector<OutputField> output_fields() const { return {}; }
  virtual void output(std::string_view field, Range range, const ElementInput& in, double* values) const {
    (void)field, (void)range, (void)in, (void)values;
  }

  /// System calls this once when it numbers the nodes.
  void bind(const DofMap& dofs) { nodes_.bind(topology_, dofs); }

 protected:
  /// First configuration entry of the node in a slot; null for ground.
  const double* configuration(const ElementInput& in, int element, int slot) const {
    return nodes_.configuration(in.q, element, slot);
  }
  int configuration_offset(int element, int slot) const { return nodes_.offset(element, slot); }
  /// Of all slots, element after element; ground: -1.
  const int* configuration_offsets() const { return nodes_.offsets().data(); }
  /// Kind of the node in a slot; undefined for ground.
  NodeKind node_kind(int element, int slot) const { return nodes_.kind(element, slot); }

 private:
  std::string name_;
  Topology topology_;
  BlockTraits traits_;
  BoundNodes nodes_;
};

}  // namespace carom
