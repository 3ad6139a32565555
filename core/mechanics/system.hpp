// System: all questions that an integrator asks about the mechanics.
//
// System owns the blocks, the DofMap and the sparsity pattern. All results are pure functions of (q, v, t), so a step
// may use several states at the same time. Assembly sums contributions in the order of blocks and elements, so the bits
// do not depend on the number of threads. Assembly and products allocate nothing after finalize().
//
// Array lengths: configurations q have dofs().configuration_size() entries; velocities v, accelerations a, increments d
// and forces f have size() entries, one per equation. Row arrays (gaps, rates, biases, multipliers) are indexed by the
// global row and have rows() entries, whichever rows are selected; if only bilateral rows are selected, bilateral()
// entries suffice. Bilateral rows are [0, bilateral()), conditional rows [bilateral(), rows()); see rows.hpp.
//
// Threads: the const functions share one workspace. Only one thread may call them at a time; inside a call System
// itself uses threads() threads.
#pragma once

#include <functional>
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

/// T(d) of every frame with free rotation, in the order of DofMap::rotating_frames(). The translational part of T is
/// the identity.
struct TangentOperators {
  std::vector<Mat3> frames;
};

/// The linearisation of one sub-problem: the saddle-point matrix [[S, -k G_b^T], [-k G_b, 0]] of order size() +
/// bilateral(),
///   S = c_M M(q_M) + c_C (-df/dv) + [c_K (D(M a) - Df) - c_s D(G^T s)] T      derivatives at (q, v, t)
///   rows: c_row G + c_rate D(G v + g_t) T, with G T in place of G if rows_through_T
/// Units: S x has the unit of the residual r for an unknown x. So c_M has the unit of r/(M x), c_C of r/(df/dv x), c_K
/// of r/(Df x), and c_s s has the unit of c_K times a force. The position correction with step h has r in mass times
/// length, x in length, c_M = 1, c_K = h^2, c_s = 1 and s in force times time^2. All pointers refer to arrays of the
/// caller, which must stay valid and unchanged during the call.
struct Linearisation {
  double c_M = 0, c_C = 0, c_K = 0, c_s = 0;
  const double* q_M = nullptr;          ///< configuration of M; needed if c_M != 0
  const double* q = nullptr;            ///< configuration of all derivatives and of the rows
  const double* v = nullptr;            ///< velocity, size() entries; needed if a block or c_rate depends on v
  double t = 0;                         ///< time of all derivatives and of the rows
  const double* a = nullptr;            ///< acceleration in D(M a), size() entries; null: zero
  const double* s = nullptr;            ///< multipliers in D(G^T s), rows() entries; null: no such term
  const TangentOperators* T = nullptr;  ///< null: identity
  double c_rate = 0;                    ///< dq/dx of rows at velocity level: a time if x is a velocity
  double c_row = 1;                     ///< factor of G in the rows; not 1 where x changes q by c_row x
  bool rows_through_T = false;
  bool rows_apart = false;               ///< bilateral rows are left out: k on their diagonal, zeros beside
  const double* mixed_q = nullptr;       ///< null: stresses of c_K are those at q; else: those of the mixed iteration,
  const double* mixed_d = nullptr;       ///< sigma(mixed_q) + Dsigma mixed_d, size() entries (ElementTangent)
  double loads = 1;                      ///< factor of gravity and of blocks that only contain loads, within c_K
  MassKind mass = MassKind::consistent;  ///< the matrix M of c_M
  double row_scale = 1;                  ///< k: the unknowns of the rows are multipliers over k
  const StepStart* start = nullptr;      ///< for rows that depend on the start of the step
  In frame_blocks;  ///< added to the rotation blocks of S: 3 x 3, row-major, for every rotating frame; empty: none
  bool symmetrised = false;  ///< replaces unsymmetric element matrices of points by their symmetric parts
};

struct FrameColumn;

struct Momenta {
  Vec3 linear = Vec3::Zero();
  Vec3 angular = Vec3::Zero();  ///< about the origin, in inertial axes
};

/// What a system uses of a formula of time.
struct FormulaUse {
  bool rate = false;
  bool moves = false;  ///< the value is a place or an angle of something that moves
  double period = 0;   ///< of an angle, whose jumps by whole turns move nothing
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
  /// The mass matrix is the lumped one everywhere, whatever the elements' keys say. Precondition: finalize() has not
  /// been called yet.
  void use_lumped_mass() { lumped_ = true; }
  bool lumped_mass() const { return lumped_; }
  /// Registers a formula for undefined_formula() and jumping_formula(). name: for messages.
  void watch(TimeFunction formula, FormulaUse use, std::string name);
  /// Registers an angle for lost_angle(): a function of the configuration that jumps by 4 pi at the ends of its range.
  void watch_angle(std::function<double(const DofMap&, In)> angle, std::string name);
  /// Registers a prescribed angle for turning_formula(). name: for messages.
  void watch_turn(TimeFunction angle, std::string name);
  /// Precondition: finalize() has not been called yet, because finalize() sizes the buffers by the number of threads.
  void set_threads(int threads) { threads_ = threads < 1 ? 1 : threads; }
  /// Numbers equations and rows. Must be called once; nothing may be added afterwards. The
  /// functions below require finalize().
  void finalize();

  // Sizes and structure.
  const DofMap& dofs() const { return dofs_; }
  int size() const { return dofs_.equations(); }  ///< number of equations, one per free velocity component
  int bilateral() const { return bilateral_; }
  int conditional() const { return rows_ - bilateral_; }  ///< number of rows after the bilateral rows
  int rows() const { return rows_; }
  const Vector& initial_configuration() const { return initial_configuration_; }
  /// Replaces the initial configuration, for instance by the result of a projection.
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
  RowSelection row_kinds() const { return row_kinds_; }  ///< all kinds that occur
  RowKind row_kind(int row) const {
    const RowPlace& p = places_[static_cast<std::size_t>(row)];
    return constraints_[static_cast<std::size_t>(p.block)]->row_kind(p.row);
  }
  /// The normal row of the contact of a tangential row; any other row itself.
  int normal_row(int row) const { return row_kind(row) == RowKind::tangential ? row - row_place(row).row : row; }
  int first_row(int constraint_block) const { return first_row_[static_cast<std::size_t>(constraint_block)]; }
  std::string row_name(int row) const;  ///< name of item and component, such as "pivot x"
  std::string row_component(int row) const;
  std::string equation_name(int equation) const;
  const std::string& node_name(int node) const { return node_names_[static_cast<std::size_t>(node)]; }
  int equation_node(int equation) const { return equation_nodes_[static_cast<std::size_t>(equation)]; }

  bool linear() const { return linear_; }                ///< elements and bilateral rows are linear, M is constant
  bool symmetric() const { return symmetric_; }          ///< S is symmetric if T = 1 and no curved contact is active
  bool symmetrisable() const { return symmetrisable_; }  ///< symmetric(), or only elements on points are unsymmetric
  bool solids_symmetric() const { return solids_symmetric_; }  ///< S is symmetric for solids alone
  /// A point of an element with at least four points and no frames, and of no element with frames and an unsymmetric
  /// tangent.
  bool solid_node(int node) const { return solid_nodes_[static_cast<std::size_t>(node)] != 0; }
  bool velocity_dependent() const { return velocity_dependent_; }
  bool constant_mass() const { return constant_mass_; }
  /// True if a block may have one of the force parts.
  bool has_forces(unsigned parts) const { return (force_parts_ & parts) != 0; }
  bool driven() const { return driven_; }                   ///< a bilateral row depends on time
  bool obstacles_move() const { return obstacles_move_; }   ///< another row depends on time
  bool passable() const { return passable_; }               ///< ConstraintBlock::missed_contact may find a contact
  bool rolling() const { return rolling_; }                 ///< spheres have contacts with friction
  bool has_massless_equation() const { return massless_; }  ///< an equation has no mass
  /// Mean diagonal mass of the translational equations with mass; 0 if no equation has mass.
  double mean_nodal_mass() const { return mean_nodal_mass_; }
  bool uses_tangent_operators() const { return uses_T_; }  ///< a matrix depends on T

  // Kinematics.
  /// q_out = q o exp(d): positions are added, rotation vectors of d (radians, body axes) multiply the quaternions from
  /// the right. Quaternions of q_out are normalised. Fixed components keep their values. Preconditions: quaternions of
  /// q are not zero; q_out is the array of q or does not overlap q or d.
  void retract(In q, In d, Out q_out) const;
  /// T(d) of the rotation vectors in d, for any angle.
  void tangent_operators(In d, TangentOperators& T) const;
  /// Ad(exp(-u)) T(d): how q = q_n o exp(d) o exp(u) changes with d.
  void tangent_operators(In d, In u, TangentOperators& T) const;
  /// Largest |component| of a velocity; angular velocities are multiplied by length.
  double speed(In v, double length) const;
  double largest_angular_velocity(In v) const;
  /// The same of the bodies of a row.
  double largest_angular_velocity(int row, In v) const;
  /// Largest |coordinate| of all free translational and scalar components.
  double largest_position(In q) const;
  /// The name of a watched formula whose value (or rate, if a block uses the rate) is not finite at the end of a step,
  /// or that has a pole within; empty if all are finite.
  std::string undefined_formula(double from, double to) const;
  /// The name of a watched formula of a place or an angle that jumps within a step; empty: none does.
  std::string jumping_formula(double from, double to) const;
  /// The name of a watched prescribed angle that changes by nearly half a turn or more within an increment of statics,
  /// which knows no way but the shorter one; empty: none does.
  std::string turning_formula(double from, double to) const;
  /// The name of a watched angle that has jumped between two configurations of a step; empty: none has.
  std::string lost_angle(In q_0, In q_1) const;
  /// True if formulas of coordinates give forces, masses, constraints or gaps.
  bool has_formulas() const { return has_formulas_; }
  /// The first fault of these formulas at the end of the step from (q_0, v_0, t_0) to (q_1, v_1, t_1), or within.
  FormulaFault formula_fault(In q_0, In v_0, double t_0, In q_1, In v_1, double t_1) const;
  /// The element that gains most energy from (q_0, v_0) to (q_1, v_1), with the remark that the element makes there;
  /// empty if none gains any.
  std::string element_of_largest_gain(In q_0, In v_0, In q_1, In v_1, double t) const;
  /// The name of an element that is inverted at q; empty if no element is inverted. with_forces: forces at q are
  /// finite, so only elements with a finite force when inverted are checked.
  std::string inverted_element(In q, double t, bool with_forces) const;
  /// Euclidean norm of a force vector of size() entries; torques are divided by length.
  double force_norm(In f, double length) const;

  // Forces. All outputs have size() entries and are overwritten.
  /// f = the chosen parts (ForcePart, combined by |) of f(q, v, t).
  void forces(In q, In v, double t, unsigned parts, Out f) const;
  /// f = M(q) a. f must not overlap a.
  void mass_times(In q, In a, Out f, MassKind kind = MassKind::consistent) const;
  /// The force whose relative rounding error estimates the roundoff of the internal forces.
  double roundoff_force(double length_scale) const;

  // Constraints. Row arrays are indexed by the global row; entries of blocks without selected rows do not change.
  // start: needed by rows that depend on the start of the step.
  /// g(q, t), a length or an angle.
  void gaps(In q, double t, RowSelection set, Out g, const StepStart* start = nullptr) const;
  /// G v + g_t
  void rates(In q, In v, double t, RowSelection set, Out rate, const StepStart* start = nullptr) const;
  /// h of g'' = G v' + h
  void biases(In q, In v, double t, RowSelection set, Out h, const StepStart* start = nullptr) const;
  /// g'' = G a + h; a: an acceleration, size() entries.
  void accelerations(In q, In v, In a, double t, RowSelection set, Out c, const StepStart* start = nullptr) const;
  /// f += G^T s over the selected rows. f has size() entries. Items whose multipliers are all zero are not evaluated.
  void add_reactions(In q, double t, In s, RowSelection set, Out f, const StepStart* start = nullptr) const;
  /// Values of all rows of the item that a row belongs to. Without v (empty), no rates and biases.
  void item_values(int row, In q, In v, double t, const ConstraintValues& wanted, const StepStart* start) const;
  /// Gap and rate of a single row.
  double row_gap(int row, In q, double t, const StepStart* start = nullptr) const;
  double row_rate(int row, In q, In v, double t, const StepStart* start = nullptr) const;
  /// G of a row, or G T if T is not null; fixed components have no entry.
  void row_gradient(int row, In q, double t, const TangentOperators* T, SparseRow& G,
                    const StepStart* start = nullptr) const;
  /// Dg of a row, or Dg T if T is not null: G, but for tangential rows (rows.hpp).
  void row_gap_gradient(int row, In q, double t, const TangentOperators* T, SparseRow& D, const StepStart* start) const;
  /// For every row F = G and D = G T, or D = Dg T if `displacements`; without T if T is null. One evaluation serves
  /// rows of one item that follow each other.
  void row_gradients(std::span<const int> rows, In q, double t, const TangentOperators* T, bool displacements,
                     std::span<SparseRow> F, std::span<SparseRow> D, const StepStart* start) const;
  /// The derivative of a row of any kind as `request` says (above Linearisation).
  void row_linearisation(int row, const Linearisation& request, SparseRow& derivative) const;
  /// Where the row acts and in which direction, in inertial axes.
  ConstraintBlock::Place row_contact_place(int row, In q, In v, double t) const;
  /// Of the contact of a row: how its tangential directions have turned since the start of the step.
  ConstraintBlock::Turn tangent_turn(int row, In q, double t, const StepStart& start) const {
    return row_block(row).tangent_turn(row_place(row).item, {q.data(), nullptr, t, &start});
  }

  /// Of a row of joint friction: the load of its bearing, and the largest friction of its disc, under the multipliers
  /// of the bilateral rows (bilateral() entries); `duration` as in ConstraintBlock::friction_limit.
  BearingLoad bearing_load(int row, In q, In multipliers) const {
    return row_block(row).bearing_load(row_place(row).item, {q.data()}, multipliers.data());
  }
  double friction_limit(int row, In q, In multipliers, double duration, double t) const {
    return row_block(row).friction_limit(row_place(row).item, bearing_load(row, q, multipliers), duration, t);
  }
  /// The same with a part of the load at another place: directions of multipliers turn with the bodies.
  double friction_limit(int row, In q, In multipliers, In q_part, In part, double duration, double t) const {
    BearingLoad load = bearing_load(row, q, multipliers);
    const BearingLoad more = bearing_load(row, q_part, part);
    for (std::size_t k = 0; k < load.size(); ++k) load[k] += more[k];
    return row_block(row).friction_limit(row_place(row).item, load, duration, t);
  }

  /// Every searching block binds its items to the nodes that they may touch within a step of size h from the state
  /// (q, v) at t. A row may be bound to another pair of bodies; its number stays, its name is that of the present pair.
  /// The matrix omits entries of D(G^T s) outside of the pattern, so Newton's method converges linearly there;
  /// left_out() counts these entries.
  void find_candidates(In q, In v, double t, double h);
  /// The contact that the motion from q_0 at t_0 to q_1 at t_1 has missed (ConstraintBlock::missed_contact); empty if
  /// none was.
  std::string missed_contact(In q_0, double t_0, In q_1, double t_1, double closing_turn) const;
  long left_out() const { return left_out_; }
  bool row_vacant(int row) const { return row_block(row).vacant(row_place(row).item); }
  const ConstraintBlock& row_block(int row) const {
    return *constraints_[static_cast<std::size_t>(row_place(row).block)];
  }
  /// The nodes to which the items of searching blocks are bound, for a restart; empty without such blocks.
  Vector candidates() const;
  /// std::invalid_argument if the nodes do not fit the blocks.
  void restore_candidates(In nodes);

  // Matrices.
  /// Pattern of order size() + bilateral(); contains the diagonal. Built when it is first asked for.
  const SparsePattern& saddle_pattern() const;
  /// Overwrites `values`, which has saddle_pattern().nonzeros() entries.
  void assemble(const Linearisation& request, Out values) const;

  // Energies and momenta.
  Energies energies(In q, In v, double t) const;  ///< potential includes gravity, which is zero at the origin
  /// forces() with the energies at q but for the kinetic one, which is zero here: elements find both at once.
  Energies forces_with_energies(In q, In v, double t, unsigned parts, Out f) const;
  Momenta momenta(In q, In v) const;

 private:
  struct ElementTables;
  struct ConstraintTables;
  struct ThreadScratch;
  struct Workspace;

  ElementInput element_input(std::size_t b, Range range, In q, In v, double t, ThreadScratch& scratch) const;
  template <class Kernel>
  void assemble_vector(const Kernel& kernel, Out f) const;
  template <class Visit>
  void for_blocks(RowSelection set, const Visit& visit) const;
  void find_solid_nodes();
  void locate_rows(std::size_t block) const;
  void locate_item(std::size_t block, std::size_t item) const;
  void update_items(std::size_t block);
  long left_out_of(std::size_t block, std::size_t item) const;
  template <class Take>
  void for_weights(In q, const Take& take) const;
  void add_gravity(In q, Out f) const;
  void add_gravity_force(In q, Out f) const;
  Energies sum_energies(In q) const;
  void find_weights(In q) const;
  /// a += c gamma for the translations of the items' nodes; scalar coordinates are not affected by gravity.
  void add_gravity_field(const Topology& topology, Range range, double c, double* a) const;
  void element_matrices(std::size_t block, Range range, const Linearisation& request, ThreadScratch& scratch,
                        double* A) const;
  void assemble_in_batches(std::size_t block, const Linearisation& request, Out values) const;
  void add_constraint_terms(const Linearisation& request, Out values) const;
  void sparse_row(const RowPlace& place, const double* values, SparseRow& row) const;
  void sparse_gradient(double* ConstraintValues::*which, int row, In q, double t, const TangentOperators* T,
                       SparseRow& G, const StepStart* start) const;
  MassKind mass_kind() const { return lumped_ ? MassKind::lumped : MassKind::consistent; }
  static void apply_columns(const std::vector<FrameColumn>& columns, int local_size, Range range,
                            const TangentOperators& T, double* A, int rows = -1);

  DofMap dofs_;
  Vector initial_configuration_;
  std::vector<std::string> node_names_;
  struct WatchedFormula {
    TimeFunction formula;
    FormulaUse use;
    std::string name;
  };
  std::vector<WatchedFormula> watched_;
  std::vector<std::pair<TimeFunction, std::string>> watched_turns_;
  struct WatchedAngle {
    std::function<double(const DofMap&, In)> angle;
    std::string name;
  };
  std::vector<WatchedAngle> watched_angles_;
  std::vector<int> equation_nodes_;
  std::vector<std::unique_ptr<ElementBlock>> elements_;
  std::vector<std::unique_ptr<ConstraintBlock>> constraints_;
  std::vector<std::unique_ptr<ElementTables>> element_tables_;
  std::vector<std::unique_ptr<ConstraintTables>> constraint_tables_;
  std::unique_ptr<Workspace> work_;
  std::vector<int> first_row_;
  std::vector<RowPlace> places_;
  std::vector<ContactParameters> laws_;
  mutable SparsePattern saddle_;
  mutable bool has_pattern_ = false;
  Vector gravity_force_;
  mutable Vector weights_;  // M gamma of the components of configurations that are translations, of fixed nodes, too
  std::vector<char> is_rotation_;  // for each equation
  Vec3 gravity_ = Vec3::Zero();
  int rows_ = 0, bilateral_ = 0, threads_ = 1;
  std::vector<char> solid_nodes_;
  bool linear_ = true, symmetric_ = true, symmetrisable_ = true, solids_symmetric_ = true, velocity_dependent_ = false,
       constant_mass_ = true, massless_ = false;
  double mean_nodal_mass_ = 0;
  unsigned force_parts_ = 0;
  bool driven_ = false, obstacles_move_ = false, searching_ = false, passable_ = false, rolling_ = false,
       has_formulas_ = false;
  mutable long left_out_ = 0;
  RowSelection row_kinds_;
  bool parallel_ = false;
  bool uses_T_ = false, has_gravity_ = false, lumped_ = false;
};

}  // namespace carom
