// System: the mechanics an integrator may ask for.
//
// It owns the blocks, the DofMap and the sparsity, and is a pure function of (q, v, t): several states live side by
// side in one step. Rows: bilateral rows first, [0, bilateral()), then those on condition, [bilateral(), rows()); see
// rows.hpp. Arrays over rows have rows() entries, whichever rows are selected.
// Every assembly sums contributions in the order of blocks and elements, so the bits do not depend on the number of
// threads. After finalize() nothing allocates.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/types.hpp"
#include "core/formula/time_function.hpp"
#include "core/linear/sparse.hpp"
#include "core/mechanics/constraint_block.hpp"
#include "core/mechanics/dof_map.hpp"
#include "core/mechanics/element_block.hpp"

namespace carom {

/// T(d) of every rotating frame (the translational part is the identity).
struct TangentOperators {
  std::vector<Mat3> frames;
};

/// The saddle-point matrix [[S, -k G_b^T], [-k G_b, 0]] of one sub-problem (THEORY section 4), n + bilateral() square:
///   S = c_M M(q_M) + c_C (-df/dv) + [c_K (D(M a) - Df) - c_s D(G^T s)] T      derivatives at (q, v, t)
///   rows: G + c_rate D(G v + g_t) T, or G T when rows_through_T
struct Linearisation {
  double c_M = 0, c_C = 0, c_K = 0, c_s = 0;
  const double* q_M = nullptr;
  const double* q = nullptr;
  const double* v = nullptr;
  double t = 0;
  const double* a = nullptr;            ///< accelerations of D(M a), per equation; null: zero
  const double* s = nullptr;            ///< multipliers of D(G^T s), per row; null: none
  const TangentOperators* T = nullptr;  ///< null: identity
  double c_rate = 0;
  bool rows_through_T = false;
  double loads = 1;  ///< factor of gravity and of the blocks that only have loads, in c_K
  MassKind mass = MassKind::consistent;
  double row_scale = 1;              ///< k
  const StepStart* start = nullptr;  ///< for rows that refer to the start of the step
  In frame_blocks;  ///< added to the rotation blocks of S, 3 x 3 row-major for every rotating frame; empty: none
  bool symmetrised = false;  ///< of elements without symmetric matrices the symmetric parts
};

struct FrameColumn;

struct Momenta {
  Vec3 linear = Vec3::Zero();
  Vec3 angular = Vec3::Zero();  ///< about the origin, inertial
};

class System {
 public:
  System();
  ~System();
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  // Building.
  /// Adds a node with its initial configuration (1, 3 or 7 entries) and a name for messages.
  int add_node(NodeKind kind, std::span<const double> configuration, std::string name);
  void fix(int node, int component) { dofs_.fix(node, component); }
  ElementBlock& add(std::unique_ptr<ElementBlock> block);
  ConstraintBlock& add(std::unique_ptr<ConstraintBlock> block);
  void set_gravity(const Vec3& g) { gravity_ = g; }
  /// A formula that a block depends on, by its value or also its rate, for undefined_formula(); the name is for
  /// messages.
  void watch(TimeFunction formula, bool with_rate, std::string name);
  /// Before finalize(), which sizes the buffers by it.
  void set_threads(int threads) { threads_ = threads < 1 ? 1 : threads; }
  /// Numbers equations and rows and computes every pattern. Call once, after which nothing may be added.
  void finalize();

  // Sizes and structure.
  const DofMap& dofs() const { return dofs_; }
  int size() const { return dofs_.equations(); }
  int bilateral() const { return bilateral_; }
  int conditional() const { return rows_ - bilateral_; }  ///< rows behind the bilateral ones
  int rows() const { return rows_; }
  const Vector& initial_configuration() const { return initial_configuration_; }
  /// Moves the start, after finalize(): where a projection has put the nodes. q has configuration_size() entries.
  void set_initial_configuration(In q);
  const std::vector<std::unique_ptr<ElementBlock>>& elements() const { return elements_; }
  const std::vector<std::unique_ptr<ConstraintBlock>>& constraints() const { return constraints_; }
  const Vec3& gravity() const { return gravity_; }
  int threads() const { return threads_; }
  ContactParameters contact_parameters(int row) const { return laws_[static_cast<std::size_t>(row)]; }
  /// Block, item and row within the item of a global row.
  struct RowPlace {
    int block, item, row;
  };
  RowPlace row_place(int row) const { return places_[static_cast<std::size_t>(row)]; }
  RowKind row_kind(int row) const {
    const RowPlace& p = places_[static_cast<std::size_t>(row)];
    return constraints_[static_cast<std::size_t>(p.block)]->row_kind(p.row);
  }
  int first_row(int constraint_block) const { return first_row_[static_cast<std::size_t>(constraint_block)]; }
  std::string row_name(int row) const;  ///< item and component: "pivot x"
  std::string row_component(int row) const;
  std::string equation_name(int equation) const;
  const std::string& node_name(int node) const { return node_names_[static_cast<std::size_t>(node)]; }
  int equation_node(int equation) const { return equation_nodes_[static_cast<std::size_t>(equation)]; }

  bool linear() const { return linear_; }                ///< elements and bilateral rows linear, M constant
  bool symmetric() const { return symmetric_; }          ///< S symmetric with T = 1 and no active curved contacts
  bool symmetrisable() const { return symmetrisable_; }  ///< symmetric, or but for elements of points alone
  bool velocity_dependent() const { return velocity_dependent_; }
  bool constant_mass() const { return constant_mass_; }
  bool has_forces(unsigned parts) const { return (force_parts_ & parts) != 0; }  ///< any of the parts, anywhere
  bool driven() const { return driven_; }                                        ///< some bilateral row depends on time
  bool has_massless_equation() const { return massless_; }                       ///< some equation has no mass
  /// Mean diagonal mass of the translational equations that have one; 0 if none has.
  double mean_nodal_mass() const { return mean_nodal_mass_; }
  bool uses_tangent_operators() const { return uses_T_; }  ///< T enters some matrix

  // Kinematics.
  /// q_out = q o exp(d); quaternions are normalised. q_out may be q.
  void retract(In q, In d, Out q_out) const;
  void tangent_operators(In d, TangentOperators& T) const;
  /// Largest |component| of a velocity, rotations multiplied by length.
  double speed(In v, double length) const;
  double largest_angular_velocity(In v) const;
  /// Largest |coordinate| over all translational and scalar components that move.
  double largest_position(In q) const;
  /// The name of a watched formula that has no finite value (or rate, where that matters) at t, empty if all have one.
  std::string undefined_formula(double t) const;
  /// The name of an element that is inverted at q, empty if there is none. `with_forces`: the forces at q are known to
  /// be finite, so that only elements need a look that have one when inverted.
  std::string inverted_element(In q, double t, bool with_forces) const;
  /// Euclidean norm of a force-like vector, torques divided by length.
  double force_norm(In f, double length) const;

  // Forces. All outputs are overwritten.
  void forces(In q, In v, double t, unsigned parts, Out f) const;
  void mass_times(In q, In a, Out f, MassKind kind = MassKind::consistent) const;
  /// A force by which roundoff of internal forces is measured.
  double roundoff_force(double length_scale) const;

  // Constraints.
  // Arrays over rows are indexed by global row; blocks without selected rows leave their entries alone. `start` is for
  // rows that refer to the start of the step.
  void gaps(In q, double t, RowSelection set, Out g, const StepStart* start = nullptr) const;
  /// G v + g_t
  void rates(In q, In v, double t, RowSelection set, Out rate, const StepStart* start = nullptr) const;
  /// h of g'' = G v' + h
  void biases(In q, In v, double t, RowSelection set, Out h, const StepStart* start = nullptr) const;
  /// f += G^T s over the selected rows; rows with s = 0 cost nothing.
  void add_reactions(In q, double t, In s, RowSelection set, Out f, const StepStart* start = nullptr) const;
  /// Gap, rate (0 without v) and gradient of single rows.
  double row_gap(int row, In q, double t, const StepStart* start = nullptr) const;
  double row_rate(int row, In q, In v, double t, const StepStart* start = nullptr) const;
  /// G of a row, or G T; only free equations are listed.
  void row_gradient(int row, In q, double t, const TangentOperators* T, SparseRow& G,
                    const StepStart* start = nullptr) const;
  ConstraintBlock::Place row_contact_place(int row, In q, In v, double t) const;

  /// Lets every searching block bind its items to the nodes that they may touch within a step of size h from the state
  /// (q, v) at t. Rows keep number, name and slave point. Entries of D(G^T s) outside the pattern are left out of the
  /// matrix, so that Newton's method converges linearly there; left_out() counts them.
  void find_candidates(In q, In v, double t, double h);
  long left_out() const { return left_out_; }

  // Matrices.
  const SparsePattern& saddle_pattern() const { return saddle_; }  ///< n + bilateral() square, diagonal included
  void assemble(const Linearisation& request, Out values) const;

  // Energies and momenta.
  Energies energies(In q, In v, double t) const;  ///< gravity in potential, zero at the origin
  Momenta momenta(In q, In v) const;

 private:
  struct ElementTables;
  struct ConstraintTables;
  struct ThreadScratch;
  struct Workspace;

  template <class Kernel>
  void assemble_vector(const Kernel& kernel, Out f) const;
  template <class Visit>
  void for_blocks(RowSelection set, const Visit& visit) const;
  void locate_rows(std::size_t block);
  void add_gravity(In q, Out f) const;
  /// a += c gamma, the field of gravity on the translations of the items' nodes; scalar coordinates are no places.
  void add_gravity_field(const Topology& topology, Range range, double c, double* a) const;
  void element_matrices(std::size_t block, Range range, const Linearisation& request, ThreadScratch& scratch,
                        double* A) const;
  void assemble_in_batches(std::size_t block, const Linearisation& request, Out values) const;
  void add_constraint_terms(const Linearisation& request, Out values) const;
  void sparse_row(const RowPlace& place, const double* values, SparseRow& row) const;
  Vec3 first_moment(std::size_t block, Range range, In q) const;
  static void apply_columns(const std::vector<FrameColumn>& columns, int local_size, Range range,
                            const TangentOperators& T, double* A, int rows = -1);

  DofMap dofs_;
  Vector initial_configuration_;
  std::vector<std::string> node_names_;
  struct WatchedFormula {
    TimeFunction formula;
    bool with_rate;
    std::string name;
  };
  std::vector<WatchedFormula> watched_;
  std::vector<int> equation_nodes_;
  std::vector<std::unique_ptr<ElementBlock>> elements_;
  std::vector<std::unique_ptr<ConstraintBlock>> constraints_;
  std::vector<std::unique_ptr<ElementTables>> element_tables_;
  std::vector<std::unique_ptr<ConstraintTables>> constraint_tables_;
  std::unique_ptr<Workspace> work_;
  std::vector<int> first_row_;
  std::vector<RowPlace> places_;
  std::vector<ContactParameters> laws_;
  SparsePattern saddle_;
  Vector gravity_force_;
  std::vector<char> is_rotation_;  // per equation
  Vec3 gravity_ = Vec3::Zero();
  int rows_ = 0, bilateral_ = 0, threads_ = 1;
  bool linear_ = true, symmetric_ = true, symmetrisable_ = true, velocity_dependent_ = false, constant_mass_ = true,
       massless_ = false;
  double mean_nodal_mass_ = 0;
  unsigned force_parts_ = 0;
  bool driven_ = false, searching_ = false;
  long left_out_ = 0;
  bool parallel_ = false;
  bool uses_T_ = false, has_gravity_ = false;
};

}  // namespace carom
