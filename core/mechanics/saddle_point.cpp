#include "core/mechanics/saddle_point.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "core/linear/projected_cg.hpp"

namespace carom {

namespace {

// conjugate gradients: from how many operations per entry on, iterations they may take, failures until they stay out
constexpr double cg_operations_per_entry = 30;
constexpr int cg_least_limit = 200, cg_largest_limit = 5000, cg_patience = 3;
constexpr double cg_entries_per_iteration = 10;  // of a factorisation's operations; it runs faster
constexpr double direct_operations_per_entry = 3000;
constexpr int least_sweeps = 20, most_sweeps = 75;    // iterations: more are slower than factors or multigrid
constexpr double factor_operations_per_entry = 6000;  // more are slower than multigrid
constexpr long factor_price = 20;                     // of factors, in iterations
constexpr int longest_pause = 64;
constexpr double small_share = 0.04;        // of the residual asked for: impacts and joints do work with what remains
constexpr double careful_reduction = 1e-6;  // of the residual, at least
constexpr double contradiction_tolerance = 1e-6;

}  // namespace

SaddlePoint::SaddlePoint() : cg_(std::make_unique<ProjectedCg>()) {}
SaddlePoint::~SaddlePoint() = default;

void SaddlePoint::expect_redundant() {
  regularised_ = true;
  cg_->rest().expect_redundant();
}

bool SaddlePoint::redundant() const { return regularised_ || (projected_ && n_b_ > 0 && cg_->rest().redundant()); }

bool SaddlePoint::regularised() const {
  return regularised_ || (projected_ ? cg_->redundant() : n_A_ > 0 && delassus_.regularised());
}

void SaddlePoint::analyse(const System& system, MatrixProperties properties, Vector* scratch, double length,
                          bool scaled, bool careful) {
  system_ = &system;
  length_ = length;
  whole_ = careful_ = careful;
  pattern_ = &system.saddle_pattern();
  resize(1);
  if (scaled && n_b_ > 0) set_units(length);

  // worth iterating? the shortest row excludes small models at once
  if (scratch != nullptr && properties.solids_definite && pattern_->nonzeros() > 20L * n_) choose_iteration();
  symmetrised_ = iterative_ && !system.solids_symmetric();
  properties_.positive_definite = properties.positive_definite && (properties.symmetric || symmetrised_);
  properties_.symmetric = properties.symmetric || properties_.positive_definite;
  if (iterative_) {
    scratch_ = scratch;
    scratch_->resize(at(pattern_->nonzeros()));
  } else {
    cg_ = std::make_unique<ProjectedCg>();
    scratch_ = nullptr;
    values_.assign(at(pattern_->nonzeros()), 0.0);
    analyse_direct();
  }
}

// Conjugate gradients where most equations belong to solids, and factors of S would take many operations per entry.
void SaddlePoint::choose_iteration() {
  std::vector<int> node(at(n_ + n_b_), -1);
  long solids = 0;
  for (int i = 0; i < n_; ++i) {
    if (!system_->solid_node(system_->equation_node(i))) continue;
    node[at(i)] = system_->equation_node(i);
    ++solids;
  }
  if (2 * solids < n_ + n_b_) return;
  cg_->analyse(*pattern_, node, n_, system_->threads());
  const SparsePattern graph = node_graph();
  const double unknowns_per_node = static_cast<double>(n_) / graph.rows;
  const double operations = std::pow(unknowns_per_node, 3) * factorisation_operations(graph);
  const double per_entry = operations / pattern_->nonzeros();
  factors_affordable_ = per_entry < factor_operations_per_entry;
  iterative_ = per_entry > cg_operations_per_entry && (factors_affordable_ || !careful_);
  direct_affordable_ = per_entry < direct_operations_per_entry || careful_;
  factors_in_sweeps_ =
      static_cast<int>(std::clamp(per_entry / cg_entries_per_iteration, 1.0 * least_sweeps, 1.0 * cg_largest_limit));
  cg_limit_ =
      static_cast<int>(std::clamp(per_entry / cg_entries_per_iteration, 1.0 * cg_least_limit, 1.0 * cg_largest_limit));
}

// The couplings of nodes, one row per node with equations.
SparsePattern SaddlePoint::node_graph() const {
  std::vector<int> place(at(n_));
  int nodes = 0;
  for (int i = 0; i < n_; ++i)
    place[at(i)] = i > 0 && system_->equation_node(i) == system_->equation_node(i - 1) ? nodes - 1 : nodes++;
  PatternBuilder builder(nodes, nodes);
  for (int i = 0; i < n_; ++i) {
    if (i > 0 && place[at(i)] == place[at(i - 1)]) continue;
    int last = -1;
    for (int k = pattern_->row_start[at(i)]; k < pattern_->row_start[at(i + 1)]; ++k) {
      const int j = pattern_->column[at(k)];
      if (j >= n_) break;
      if (place[at(j)] != last) builder.add(place[at(i)], place[at(j)]);
      last = place[at(j)];
    }
  }
  return builder.build();
}

void SaddlePoint::resize(int parts) {
  parts_ = parts;
  n_ = parts * system_->size();
  rows_of_part_ = system_->bilateral();
  n_b_ = parts * rows_of_part_;
  row_scale_.assign(at(parts), 1.0);
  unit_.clear();
  for (Vector* x : {&rhs_, &residual_}) x->assign(at(n_ + n_b_), 0.0);
  diagonal_.clear();
  for (int i = 0; i < n_b_; ++i) diagonal_.push_back(pattern_->find(n_ + i, n_ + i));
  factorised_ = regularised_ = direct_known_ = direct_ = iterative_ = false;

  // room for a few active rows; more allocate when they become active for the first time
  const std::size_t few = std::min<std::size_t>(16, at(parts * system_->conditional()));
  active_.resize(few);
  for (ActiveRow& row : active_) {
    row.column.reserve(at(n_ + n_b_));
    row.parts.reserve(2);
    for (SparseRow* r : {&row.G, &row.F}) {
      r->equation.reserve(16);
      r->value.reserve(16);
    }
  }
  condensed_.reserve(few);
  d_rhs_.reserve(few);
  place_.assign(at(parts * system_->rows()), -1);
  delassus_ = {};
}

void SaddlePoint::analyse_direct() {
  if (direct_known_) return;
  // the system's pattern, which outlives this, is not copied
  solver_.analyse(std::shared_ptr<const SparsePattern>(std::shared_ptr<const SparsePattern>(), pattern_), properties_);
  direct_known_ = true;
}

bool SaddlePoint::factorise(const Linearisation& request) {
  assemble(request);
  row_scale_[0] = request.row_scale;
  for (ActiveRow& row : active_) row.kept = false, row.row = -1;
  columns_found_ = 0;
  delassus_known_ = projected_ = false;
  if (!iterative_) return factorise_directly();

  // conjugate gradients are tried anew when the step changes
  const Linearisation& last = kept_.numbers;
  if (request.c_M != last.c_M || request.c_C != last.c_C || request.c_K != last.c_K || request.c_s != last.c_s)
    cg_failures_ = 0, whole_ = careful_, account_ = {};
  const bool old_factors = keep_factors();
  account_.present = false;
  kept_.keep(*system_, request);
  direct_ = direct_next_ || cg_failures_ >= cg_patience;
  gave_up_ = direct_next_ = false;
  if (!direct_ && !prepare_iteration(old_factors)) {
    if (!direct_affordable_) return factorised_ = false;
    direct_ = true;
  }
  if (!direct_) {
    ++cg_counters_.cg_matrices;
    if (whole_) ++(factors_affordable_ ? cg_counters_.factor_matrices : cg_counters_.multigrid);
    return factorised_ = true;
  }
  ++cg_counters_.fallbacks;
  analyse_direct();
  return factorise_directly();
}

bool SaddlePoint::prepare_iteration(bool old_factors) {
  const double* const q = kept_.q.empty() ? kept_.q_M.data() : kept_.q.data();
  rigid_motions({q, system_->initial_configuration().size()}, motions_);
  using Preconditioner = ProjectedCg::Preconditioner;
  if (!whole_) return cg_->prepare(values(), Preconditioner::blocks, motions_);
  return cg_->prepare(values(), factors_affordable_ ? Preconditioner::factors : Preconditioner::multigrid, motions_,
                      old_factors);
}

// Whether the factors serve the next matrix: as long as their last matrix took no more iterations than the average one
// since they were built, the price of new factors included. Where the very next matrix took more than that price,
// the next matrices get their own, twice as many each time.
bool SaddlePoint::keep_factors() {
  FactorAccount& a = account_;
  if (!a.kept) return false;
  if (a.pause > 0 && --a.pause > 0) return false;
  const long last = a.last;
  a.last = 0;
  a.iterations += last;
  ++a.matrices;
  if (a.matrices == 2 && last > factor_price) a.fail();
  if (a.matrices == 3) a.next_pause = 2;
  return a.pause == 0 && last * a.matrices <= factor_price + a.iterations;
}

void SaddlePoint::FactorAccount::fail() {
  pause = next_pause;
  next_pause = std::min(2 * next_pause, longest_pause);
}

// After a solution by conjugate gradients.
void SaddlePoint::note_factors() {
  if (!whole_ || !factors_affordable_) return;
  if (cg_->has_new_factors()) {
    // a restart finds all columns by the factors that it has: those of other factors serve no further iteration
    if (columns_found_ > 0) drop_columns();
    columns_found_ = 0;
    if (cg_->old_factors_failed() && account_.matrices == 1) account_.fail();
    account_.kept = true;
    account_.matrices = 0;
    account_.iterations = account_.last = 0;
    account_.present = true;
    if (cg_->factors_last()) factored_ = kept_;
    ++cg_counters_.factors_built;
  }
  account_.kept = account_.kept && cg_->factors_last();
  account_.last += cg_->iterations();
}

void SaddlePoint::assemble(const Linearisation& request) {
  Vector& values = this->values();
  Linearisation wanted = request;
  wanted.symmetrised = symmetrised_;
  system_->assemble(wanted, values);
  if (request.frame_blocks.empty()) {
    to_units(values);
    return;
  }
  std::size_t entry = 0;
  for (const DofMap::Frame& f : system_->dofs().rotating_frames())
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j, ++entry)
        if (const int k = pattern_->find(f.equation + i, f.equation + j); k >= 0)
          values[at(k)] += request.frame_blocks[entry];
  to_units(values);
}

std::string SaddlePoint::method_name() const {
  if (iterative_)
    return !whole_               ? "conjugate gradients"
           : factors_affordable_ ? "conjugate gradients, factors"
                                 : "conjugate gradients, multigrid";
  return direct_known_ ? solver_.method_name() : "";
}

LinearCounters SaddlePoint::counters() const {
  LinearCounters sum = solver_.counters();
  return sum += cg_counters_;
}

// r: of all rows of the matrix, in its units; x likewise
bool SaddlePoint::run_cg(In r, In c, Accuracy accuracy, double reference, Out x, Out dl) {
  using Status = ProjectedCg::Status;
  const Status status = cg_->solve(r, c, accuracy.relative, reference, accuracy.enough, cg_limit_, x, dl);
  ++cg_counters_.cg_solves;
  note_factors();
  cg_counters_.cg_iterations += cg_->iterations();
  failure_ = status == Status::indefinite ? Failure::indefinite
             : status == Status::singular ? Failure::singular
             : status == Status::slow     ? Failure::slow
                                          : Failure::not_finite;
  if (cg_->used_gmres()) ++cg_counters_.gmres_solves;
  if (status == Status::slow) ++cg_counters_.cg_slow;
  if (status != Status::converged && status != Status::slow) ++cg_counters_.cg_failed;
  const bool failed = status != Status::converged && status != Status::not_finite;
  // sweeps are no match for slender solids: factors or multigrid from the next matrix on
  const bool slow = status == Status::slow || cg_->iterations() > std::min(factors_in_sweeps_, most_sweeps);
  const bool gives_up_blocks = !whole_ && slow && cg_->may_be_whole();
  whole_ = whole_ || gives_up_blocks;
  gave_up_ = failed && (gives_up_blocks || direct_affordable_);
  if (gives_up_blocks) {
    factorised_ = false;
    return status == Status::converged;
  }
  // Multipliers of rows that contradict each other must grow until some of the rows open. They do so with Delassus.
  if (status == Status::converged && careful_ && cg_->contradiction() > contradiction_tolerance * max_abs(c)) {
    gave_up_ = true;
    ++cg_counters_.cg_failed;
  }
  cg_failures_ = gave_up_ ? cg_failures_ + 1 : 0;
  direct_next_ = gave_up_;
  return status == Status::converged && !gave_up_;
}

// Rigid motions of the nodes of solids at q, about their middle, rotations over the size: six per matrix row.
void SaddlePoint::rigid_motions(In q, Vector& motions) const {
  const DofMap& dofs = system_->dofs();
  motions.assign(6 * at(n_ + n_b_), 0.0);
  Vec3 middle = Vec3::Zero();
  double nodes = 0, size = 0;
  const auto each = [&](const auto& visit) {
    for (int node = 0; node < dofs.nodes(); ++node)
      if (system_->solid_node(node)) visit(node, Vec3(q.data() + dofs.configuration_offset(node)));
  };
  each([&](int, const Vec3& x) { middle += x, nodes += 1; });
  middle /= std::max(nodes, 1.0);
  each([&](int, const Vec3& x) { size = std::max(size, (x - middle).norm()); });
  each([&](int node, const Vec3& x) {
    const Vec3 a = (x - middle) / (size > 0 ? size : 1.0);
    const double rotations[3][3] = {{0, a.z(), -a.y()}, {-a.z(), 0, a.x()}, {a.y(), -a.x(), 0}};
    for (int c = 0; c < 3; ++c) {
      const int e = dofs.equation(node, c);
      if (e < 0) continue;
      motions[6 * at(e) + at(c)] = 1;
      for (int k = 0; k < 3; ++k) motions[6 * at(e) + 3 + at(k)] = rotations[c][k];
    }
  });
}

bool SaddlePoint::solve_iteratively(In r, In c_b, In c_A, Out dx, Out dl_b, Out dl_A, Accuracy accuracy) {
  constraint_inconsistency_ = 0;
  accuracy.enough *= small_share;
  if (careful_) accuracy.relative = std::min(accuracy.relative, careful_reduction);
  if (n_b_ == 0 && cg_->rest().empty()) return run_cg(r, c_A, accuracy, 0, dx, dl_A);
  for (int i = 0; i < n_; ++i) residual_[at(i)] = r[at(i)];
  for (int i = 0; i < n_b_; ++i) residual_[at(n_ + i)] = -row_scale(i) * c_b[at(i)];
  scale_by_units(residual_);
  if (!run_cg(residual_, c_A, accuracy, system_->force_norm(r, length_), rhs_, dl_A)) return false;
  scale_by_units(rhs_);
  for (int i = 0; i < n_; ++i) dx[at(i)] = rhs_[at(i)];
  for (int i = 0; i < n_b_; ++i) {
    dl_b[at(i)] = row_scale(i) * rhs_[at(n_ + i)];
    constraint_inconsistency_ =
        std::max(constraint_inconsistency_, std::abs(cg_->inconsistency(n_ + i)) / row_scale(i));
  }
  return all_finite(rhs_);
}

// rhs_ becomes the solution without the active rows.
bool SaddlePoint::solve_base(In r, In c_b) {
  bool zero = true;
  for (int i = 0; i < n_; ++i) {
    rhs_[at(i)] = -r[at(i)];
    zero = zero && r[at(i)] == 0;
  }
  for (int i = 0; i < n_b_; ++i) {
    rhs_[at(n_ + i)] = row_scale(i) * c_b[at(i)];
    zero = zero && c_b[at(i)] == 0;
  }
  constraint_inconsistency_ = 0;
  if (!zero && !base_solve(rhs_)) return false;
  if (zero || !(iterative() || regularised_)) return true;
  // rows that a direct solution has found redundant stay marked where conjugate gradients go on
  for (int i = 0; i < n_b_; ++i) {
    const double left = iterative() ? cg_->inconsistency(n_ + i)
                                    : refinement_.residual()[at(n_ + i)] * (unit_.empty() ? 1.0 : unit_[at(n_ + i)]);
    constraint_inconsistency_ = std::max(constraint_inconsistency_, std::abs(left) / row_scale(i));
  }
  return true;
}

// d_rhs_: what the active rows miss after solve_base()
void SaddlePoint::find_row_residuals(In c_A) {
  d_rhs_.resize(at(n_A_));
  for (int i = 0; i < n_A_; ++i) {
    const SparseRow& G = active_[at(i)].G;
    double sum = -c_A[at(i)];
    for (std::size_t k = 0; k < G.equation.size(); ++k) sum -= G.value[k] * rhs_[at(G.equation[k])];
    d_rhs_[at(i)] = sum;
  }
}

void SaddlePoint::list_active() {
  condensed_.clear();
  for (int i = 0; i < n_A_; ++i) condensed_.push_back(&active_[at(i)]);
}

bool SaddlePoint::sweep(In r, In c_b, In c_A, Out dl_A) {
  if (gave_up_ || projected_ || n_A_ == 0 || !columns_known_ || !solve_base(r, c_b)) return false;
  find_row_residuals(c_A);
  list_active();
  delassus_known_ = false;
  delassus_.sweep(condensed_, d_rhs_, dl_A);
  return all_finite(dl_A);
}

bool SaddlePoint::solve(In r, In c_b, In c_A, Out dx, Out dl_b, Out dl_A, Accuracy accuracy, CondensedLaw* law) {
  if (gave_up_) return false;
  if (failure_ == Failure::law) failure_ = Failure::not_finite;
  if (projected_) return solve_iteratively(r, c_b, c_A, dx, dl_b, dl_A, accuracy);
  if ((n_A_ > 0 && !columns_known_) || !solve_base(r, c_b)) return false;

  // the active rows through their Delassus operator
  if (n_A_ > 0) {
    if (!delassus_known_ || law != nullptr) list_active();
    if (law != nullptr) delassus_known_ = false;
    if (!delassus_known_ && law == nullptr) {
      delassus_known_ = delassus_.factorise(condensed_);
      if (!delassus_known_) return false;
    }
    find_row_residuals(c_A);
    if (law == nullptr) {
      delassus_.solve(d_rhs_);
    } else if (!delassus_.solve(condensed_, *law, d_rhs_)) {
      failure_ = Failure::law;
      return false;
    }
    for (int i = 0; i < n_A_; ++i) {
      delassus_.add_column(active_[at(i)], d_rhs_[at(i)], rhs_);
      dl_A[at(i)] = d_rhs_[at(i)];
    }
  }
  for (int i = 0; i < n_; ++i) dx[at(i)] = rhs_[at(i)];
  for (int i = 0; i < n_b_; ++i) dl_b[at(i)] = row_scale(i) * rhs_[at(n_ + i)];
  return all_finite(rhs_);
}

}  // namespace carom
