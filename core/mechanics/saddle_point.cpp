#include "core/mechanics/saddle_point.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr double proximal = 1e-8;         // eps of the regularisations, relative to the largest diagonal entry
constexpr double rank_tolerance = 1e-10;  // pivots of the Delassus operator below this mean redundant rows
constexpr int refinements = 3;

const char* const array_names[] = {"request q_M",     "request q",      "request v",
                                   "request a",       "request s",      "request frame blocks",
                                   "request start q", "request start v"};

// conjugate gradients: from how many operations per entry on, iterations they may take, failures until they stay out
constexpr double cg_operations_per_entry = 40;
constexpr int cg_least_limit = 200, cg_largest_limit = 5000, cg_patience = 3;
constexpr double cg_entries_per_iteration = 10;  // of a factorisation's operations; it runs faster
constexpr double direct_operations_per_entry = 3000;

}  // namespace

Vector row_weights(const System& system, double length) {
  // of every equation: its vector, which is the translation or the rotation of a node, and its unit
  const int n = system.size();
  std::vector<int> vector_of(at(n));
  Vector unit(at(n), 1.0), weights(at(system.bilateral()), 1.0);
  for (int i = 0; i < n; ++i) vector_of[at(i)] = 2 * system.equation_node(i);
  for (const DofMap::Frame& f : system.dofs().rotating_frames())
    for (int c = 0; c < 3; ++c) {
      unit[at(f.equation + c)] = 1 / length;
      ++vector_of[at(f.equation + c)];
    }
  SparseRow G;
  for (int i = 0; i < system.bilateral(); ++i) {
    system.row_gradient(i, system.initial_configuration(), 0.0, nullptr, G);
    double largest = 0;
    for (std::size_t k = 0; k < G.equation.size(); ++k) {
      double sum = 0;
      for (std::size_t l = 0; l < G.equation.size(); ++l) {
        const double x = G.value[l] * unit[at(G.equation[l])];
        if (vector_of[at(G.equation[l])] == vector_of[at(G.equation[k])]) sum += x * x;
      }
      largest = std::max(largest, std::sqrt(sum));
    }
    if (largest > 0 && std::isfinite(largest)) weights[at(i)] = largest;
  }
  return weights;
}

void SaddlePoint::set_units(double length) {
  const auto power = [](double x) { return std::exp2(std::round(std::log2(x))); };
  const Vector weights = row_weights(*system_, length);
  const int n = n_ / parts_;
  unit_.assign(at(n_ + n_b_), 1.0);
  for (int p = 0; p < parts_; ++p) {
    for (const DofMap::Frame& f : system_->dofs().rotating_frames())
      for (int c = 0; c < 3; ++c) unit_[at(p * n + f.equation + c)] = power(1 / length);
    for (int i = 0; i < rows_of_part_; ++i) unit_[at(n_ + p * rows_of_part_ + i)] = power(1 / weights[at(i)]);
  }
  if (std::all_of(unit_.begin(), unit_.end(), [](double u) { return u == 1; })) unit_.clear();
}

void SaddlePoint::to_units(Vector& values) const {
  if (unit_.empty()) return;
  for (int i = 0; i < n_ + n_b_; ++i)
    for (int k = pattern_->row_start[at(i)]; k < pattern_->row_start[at(i + 1)]; ++k)
      values[at(k)] *= unit_[at(i)] * unit_[at(pattern_->column[at(k)])];
}

void SaddlePoint::turn(Vector& b) const {
  for (std::size_t i = 0; i < unit_.size(); ++i) b[i] *= unit_[i];
}

void SaddlePoint::analyse(const System& system, MatrixProperties properties, Vector* scratch, double length,
                          bool scaled) {
  system_ = &system;
  pattern_ = &system.saddle_pattern();
  resize(1);
  if (scaled && n_b_ > 0) set_units(length);

  // worth iterating? the shortest row excludes small models at once
  const bool possible = scratch != nullptr && n_b_ == 0 && properties.positive_definite;
  if (possible && pattern_->nonzeros() > 20L * n_) {
    std::vector<int> node(at(n_));
    Vector weight;
    for (int i = 0; i < n_; ++i) node[at(i)] = system.equation_node(i);
    for (const DofMap::Frame& f : system.dofs().rotating_frames()) {
      if (weight.empty()) weight.assign(at(n_), 1.0);
      for (int c = 0; c < 3; ++c) weight[at(f.equation + c)] = 1 / length;
    }
    cg_.analyse(*pattern_, node, std::move(weight), system.threads());
    const SparsePattern graph = cg_.node_graph();
    const double unknowns_per_node = static_cast<double>(n_) / graph.rows;
    const double operations = std::pow(unknowns_per_node, 3) * factorisation_operations(graph);
    const double per_entry = operations / pattern_->nonzeros();
    iterative_ = per_entry > cg_operations_per_entry;
    direct_affordable_ = per_entry < direct_operations_per_entry;
    cg_limit_ = static_cast<int>(
        std::clamp(per_entry / cg_entries_per_iteration, 1.0 * cg_least_limit, 1.0 * cg_largest_limit));
  }
  symmetrised_ = iterative_ && !properties.symmetric;
  properties_.symmetric = properties.symmetric || symmetrised_;
  properties_.positive_definite = properties.positive_definite && properties_.symmetric;
  if (iterative_) {
    scratch_ = scratch;
    scratch_->resize(at(pattern_->nonzeros()));
  } else {
    cg_ = {};
    scratch_ = nullptr;
    values_.assign(at(pattern_->nonzeros()), 0.0);
    analyse_direct();
  }
}

void SaddlePoint::resize(int parts) {
  parts_ = parts;
  n_ = parts * system_->size();
  rows_of_part_ = system_->bilateral();
  n_b_ = parts * rows_of_part_;
  row_scale_.assign(at(parts), 1.0);
  unit_.clear();
  for (Vector* x : {&rhs_, &residual_, &correction_, &previous_, &rhs_scratch_}) x->assign(at(n_ + n_b_), 0.0);
  diagonal_.clear();
  for (int i = 0; i < n_b_; ++i) diagonal_.push_back(pattern_->find(n_ + i, n_ + i));
  factorised_ = regularised_ = direct_known_ = direct_ = iterative_ = false;

  // room for a few active rows; more allocate when they become active for the first time
  const std::size_t few = std::min<std::size_t>(16, at(parts * system_->conditional()));
  active_.resize(few);
  for (ActiveRow& row : active_) {
    row.column.reserve(at(n_ + n_b_));
    for (SparseRow* r : {&row.G, &row.F}) {
      r->equation.reserve(16);
      r->value.reserve(16);
    }
  }
  D_.reserve(few * few);
  D_lu_.reserve(static_cast<int>(few));
  for (Vector* x : {&d_rhs_, &d_residual_, &d_correction_, &d_scale_}) x->reserve(few);
  cg_rows_.reserve(few);
}

void SaddlePoint::analyse_coupled(const System& system, int parts, double length, bool scaled) {
  system_ = &system;
  const SparsePattern& block = system.saddle_pattern();
  const int n = system.size(), rows = system.bilateral(), all = parts * (n + rows);
  const auto place = [&](int part, int i) { return i < n ? part * n + i : parts * n + part * rows + i - n; };
  PatternBuilder builder(all, all);
  const auto for_entries = [&](int p, int q, const auto& visit) {
    for (int i = 0, k = 0; i < block.rows; ++i)
      for (; k < block.row_start[at(i + 1)]; ++k) {
        const int j = block.column[at(k)];
        const bool inside = p == q || j < n;  // reactions and the diagonal of multipliers belong to one part
        visit(inside ? place(p, i) : -1, place(q, j));
      }
  };
  for (int p = 0; p < parts; ++p)
    for (int q = 0; q < parts; ++q)
      for_entries(p, q, [&](int i, int j) {
        if (i >= 0) builder.add(i, j);
      });
  coupled_ = std::make_shared<const SparsePattern>(builder.build());
  block_places_.assign(at(parts * parts), {});
  for (int p = 0; p < parts; ++p)
    for (int q = 0; q < parts; ++q)
      for_entries(p, q,
                  [&](int i, int j) { block_places_[at(p * parts + q)].push_back(i < 0 ? -1 : coupled_->find(i, j)); });
  pattern_ = coupled_.get();
  properties_ = {};
  resize(parts);
  if (scaled && n_b_ > 0) set_units(length);
  symmetrised_ = false;
  cg_ = {};
  scratch_ = nullptr;
  block_values_.assign(at(block.nonzeros()), 0.0);
  values_.assign(at(pattern_->nonzeros()), 0.0);
  analyse_direct();
}

bool SaddlePoint::factorise(std::span<const Linearisation* const> blocks) {
  set_zero(values_);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b] == nullptr) continue;
    system_->assemble(*blocks[b], block_values_);
    const std::vector<int>& places = block_places_[b];
    for (std::size_t k = 0; k < places.size(); ++k)
      if (places[k] >= 0) values_[at(places[k])] += block_values_[k];
  }
  to_units(values_);
  for (int p = 0; p < parts_; ++p) row_scale_[at(p)] = blocks[at(p * (parts_ + 1))]->row_scale;
  for (ActiveRow& row : active_) row.kept = false;
  delassus_known_ = projected_ = false;
  return factorise_directly();
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
  for (ActiveRow& row : active_) row.kept = false;
  delassus_known_ = projected_ = false;
  if (!iterative_) return factorise_directly();

  // conjugate gradients are tried anew when the step changes
  const Linearisation& last = kept_.numbers;
  if (request.c_M != last.c_M || request.c_C != last.c_C || request.c_K != last.c_K || request.c_s != last.c_s)
    cg_failures_ = 0;
  kept_.keep(*system_, request);
  direct_ = gave_up_ || cg_failures_ >= cg_patience;
  gave_up_ = false;
  if (!direct_ && !cg_.prepare(values())) {
    if (!direct_affordable_) return factorised_ = false;
    direct_ = true;
  }
  if (!direct_) {
    ++cg_counters_.cg_matrices;
    return factorised_ = true;
  }
  ++cg_counters_.fallbacks;
  analyse_direct();
  return factorise_directly();
}

// ---- the request of the present matrix

void SaddlePoint::KeptRequest::keep(const System& system, const Linearisation& request) {
  const auto copy_of = [](const double* from, std::size_t size, Vector& to) {
    to.assign(from, from + (from == nullptr ? 0 : size));
  };
  const std::size_t places = system.initial_configuration().size(), n = at(system.size());
  copy_of(request.q_M, places, q_M);
  copy_of(request.q, places, q);
  copy_of(request.v, n, v);
  copy_of(request.a, n, a);
  copy_of(request.s, at(system.rows()), s);
  T.frames.clear();
  if (request.T != nullptr) T.frames = request.T->frames;
  frame_blocks.assign(request.frame_blocks.begin(), request.frame_blocks.end());
  numbers = request;
  numbers.q_M = numbers.q = numbers.v = numbers.a = numbers.s = nullptr;
  numbers.T = nullptr;
  // geometric terms of contacts may refer to the start of the step
  start = {};
  const StepStart* const from = request.s != nullptr ? request.start : nullptr;
  if (from != nullptr) start.t = from->t;
  copy_of(from != nullptr ? from->q : nullptr, places, start_q);
  copy_of(from != nullptr ? from->v : nullptr, n, start_v);
  bind_start();
  numbers.start = nullptr;
  numbers.frame_blocks = {};
}

void SaddlePoint::KeptRequest::bind_start() {
  start.q = start_q.empty() ? nullptr : start_q.data();
  start.v = start_v.empty() ? nullptr : start_v.data();
}

Linearisation SaddlePoint::KeptRequest::request() const {
  Linearisation request = numbers;
  const auto pointer = [](const Vector& x) { return x.empty() ? nullptr : x.data(); };
  request.q_M = pointer(q_M);
  request.q = pointer(q);
  request.v = pointer(v);
  request.a = pointer(a);
  request.s = pointer(s);
  request.T = T.frames.empty() ? nullptr : &T;
  request.frame_blocks = frame_blocks;
  request.start = start.q != nullptr ? &start : nullptr;
  return request;
}

void SaddlePoint::KeptRequest::save(NamedArrays& record, const std::string& prefix, bool arrays) const {
  record.set(prefix + "request", {numbers.c_M, numbers.c_C, numbers.c_K, numbers.c_s, numbers.c_rate, numbers.t,
                                  numbers.loads, numbers.row_scale, numbers.rows_through_T ? 1.0 : 0.0,
                                  numbers.mass == MassKind::lumped ? 1.0 : 0.0, start.t});
  if (!arrays) return;
  const Vector* const all[] = {&q_M, &q, &v, &a, &s, &frame_blocks, &start_q, &start_v};
  for (std::size_t i = 0; i < std::size(all); ++i) record.set(prefix + array_names[i], *all[i]);
  Vector frames;
  for (const Mat3& t : T.frames) frames.insert(frames.end(), t.data(), t.data() + t.size());
  record.set(prefix + "request T", std::move(frames));
}

void SaddlePoint::KeptRequest::restore(const System& system, const NamedArrays& record, const std::string& prefix,
                                       bool arrays) {
  const auto entry = [&](const std::string& name, std::initializer_list<std::size_t> sizes) -> const Vector& {
    const Vector* const x = record.find(prefix + name);
    if (x == nullptr || std::find(sizes.begin(), sizes.end(), x->size()) == sizes.end())
      throw std::invalid_argument("SaddlePoint: the record does not fit");
    return *x;
  };
  const Vector& x = entry("request", {11});
  numbers = {};
  numbers.c_M = x[0];
  numbers.c_C = x[1];
  numbers.c_K = x[2];
  numbers.c_s = x[3];
  numbers.c_rate = x[4];
  numbers.t = x[5];
  numbers.loads = x[6];
  numbers.row_scale = x[7];
  numbers.rows_through_T = x[8] != 0;
  numbers.mass = x[9] != 0 ? MassKind::lumped : MassKind::consistent;
  start.t = x[10];
  if (!arrays) return;
  const std::size_t places = system.initial_configuration().size(), n = at(system.size()),
                    frames = system.dofs().rotating_frames().size();
  const std::size_t sizes[] = {places, places, n, n, at(system.rows()), 9 * frames, places, n};
  Vector* const all[] = {&q_M, &q, &v, &a, &s, &frame_blocks, &start_q, &start_v};
  for (std::size_t i = 0; i < std::size(all); ++i) *all[i] = entry(array_names[i], {0, sizes[i]});
  bind_start();
  const Vector& t = entry("request T", {0, 9 * frames});
  T.frames.resize(t.size() / 9);
  for (std::size_t i = 0; i < T.frames.size(); ++i) std::copy_n(t.data() + 9 * i, 9, T.frames[i].data());
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

bool SaddlePoint::factorise_directly() {
  Vector& values = this->values();
  // redundant bilateral rows were met before: regularise at once
  if (!regularised_) {
    factorised_ = solver_.factorise(values) == FactorStatus::ok;
    if (factorised_ || n_b_ == 0 || !all_finite(values)) return factorised_;
    regularised_ = true;
  }
  set_regularisation(true);
  factorised_ = solver_.factorise(values) == FactorStatus::ok;
  set_regularisation(false);
  return factorised_;
}

void SaddlePoint::set_regularisation(bool on) {
  const int n = n_ / parts_;
  for (int p = 0; p < parts_; ++p) {
    double largest = 0;
    if (on)
      for (int i = p * n; i < (p + 1) * n; ++i)
        largest = std::max(largest, std::abs(values_[at(pattern_->find(i, i))]));
    for (int row = p * rows_of_part_; row < (p + 1) * rows_of_part_; ++row)
      values_[at(diagonal_[at(row)])] = on ? -proximal * largest : 0.0;
  }
}

LinearCounters SaddlePoint::counters() const {
  LinearCounters sum = solver_.counters();
  return sum += cg_counters_;
}

void SaddlePoint::save(NamedArrays& record, const std::string& prefix, bool factors) const {
  const bool kept = factors && factorised_;
  Vector state = {kept ? 1.0 : 0.0, regularised_ ? 1.0 : 0.0};
  state.insert(state.end(), row_scale_.begin(), row_scale_.end());
  record.set(prefix + "saddle point", std::move(state));
  if (!iterative_) {
    record.set(prefix + "matrix", kept ? values_ : Vector());
    solver_.save(record, prefix);
    return;
  }
  const auto flag = [](bool on) { return on ? 1.0 : 0.0; };
  const auto number = [](long n) { return static_cast<double>(n); };
  record.set(prefix + "conjugate gradients",
             {flag(direct_), flag(direct_known_), number(cg_failures_), number(cg_counters_.fallbacks),
              number(cg_counters_.cg_solves), number(cg_counters_.cg_iterations), number(cg_counters_.cg_matrices)});
  kept_.save(record, prefix, kept);
  if (direct_known_) solver_.save(record, prefix);
}

void SaddlePoint::restore(const NamedArrays& record, const std::string& prefix) {
  const Vector* const state = record.find(prefix + "saddle point");
  const Vector* const matrix = record.find(prefix + "matrix");
  const Vector* const iteration = record.find(prefix + "conjugate gradients");
  if (state == nullptr || state->size() != 2 + row_scale_.size() || iterative_ != (iteration != nullptr) ||
      (iterative_ ? iteration->size() != 7
                  : matrix == nullptr || matrix->size() != ((*state)[0] != 0 ? at(pattern_->nonzeros()) : 0)))
    throw std::invalid_argument("SaddlePoint: the record does not fit");
  factorised_ = (*state)[0] != 0;
  regularised_ = (*state)[1] != 0;
  std::copy(state->begin() + 2, state->end(), row_scale_.begin());
  if (iterative_) {
    const Vector& x = *iteration;
    direct_ = x[0] != 0;
    cg_failures_ = static_cast<int>(x[2]);
    cg_counters_.fallbacks = static_cast<long>(x[3]);
    cg_counters_.cg_solves = static_cast<long>(x[4]);
    cg_counters_.cg_iterations = static_cast<long>(x[5]);
    cg_counters_.cg_matrices = static_cast<long>(x[6]);
    kept_.restore(*system_, record, prefix, factorised_);
    if (factorised_) assemble(kept_.request());
    if (factorised_ && !direct_) factorised_ = cg_.prepare(values());
    if (x[1] == 0) return;
    analyse_direct();
  } else if (factorised_) {
    values_ = *matrix;
  }
  const bool refactorise = factorised_ && (!iterative_ || direct_);
  if (regularised_) set_regularisation(true);
  solver_.restore(record, prefix, refactorise ? std::span<const double>(values()) : std::span<const double>());
  if (regularised_) set_regularisation(false);
}

bool SaddlePoint::base_solve(Vector& b) {
  if (iterative()) {
    // a right-hand side that is no step of Newton's method, and without rows
    scale_into(-1.0, b, residual_);
    projected_ = false;
    if (!cg_.set_rows({})) return false;
    return run_cg(residual_, {}, {}, b, {}) == ProjectedCg::Status::converged;
  }
  turn(b);
  if (!regularised_) {
    solver_.solve(b);
    turn(b);
    return true;
  }
  // proximal point: refine against the matrix without the regularisation
  copy(b, residual_);
  set_zero(b);
  for (int k = 0; k < refinements; ++k) {
    std::swap(previous_, correction_);
    copy(residual_, correction_);
    solver_.solve(correction_);
    axpy(1.0, correction_, b);
    multiply(*pattern_, values_, correction_, rhs_scratch_);
    axpy(-1.0, rhs_scratch_, residual_);
  }
  // corrections that come again in every sweep belong to rows that contradict each other: their multipliers hardly move
  // anything, and would only grow
  double change = 0, size = 0;
  for (std::size_t i = at(n_); i < at(n_ + n_b_); ++i) {
    size += correction_[i] * correction_[i];
    change += (correction_[i] - previous_[i]) * (correction_[i] - previous_[i]);
  }
  if (change < 0.01 * size) {
    axpy(-refinements, correction_, b);
    multiply(*pattern_, values_, correction_, rhs_scratch_);
    axpy(refinements, rhs_scratch_, residual_);
  }
  turn(b);
  for (std::size_t i = 0; i < unit_.size(); ++i) residual_[i] /= unit_[i];
  return true;
}

ProjectedCg::Status SaddlePoint::run_cg(In r, In c, Accuracy accuracy, Out dx, Out dl) {
  const ProjectedCg::Status status = cg_.solve(r, c, accuracy.relative, accuracy.enough, cg_limit_, dx, dl);
  ++cg_counters_.cg_solves;
  cg_counters_.cg_iterations += cg_.iterations();
  const bool failed = status == ProjectedCg::Status::indefinite || status == ProjectedCg::Status::slow;
  failure_ = status == ProjectedCg::Status::indefinite ? Failure::indefinite
             : status == ProjectedCg::Status::slow     ? Failure::slow
                                                       : Failure::not_finite;
  gave_up_ = failed && direct_affordable_;
  cg_failures_ = gave_up_ ? cg_failures_ + 1 : 0;
  return status;
}

// Gives the active rows to the conjugate gradients; false if they cannot take them.
bool SaddlePoint::project_active(std::span<const int> rows, In q, double t, const TangentOperators* T,
                                 const StepStart* start) {
  n_A_ = static_cast<int>(rows.size());
  if (rows.size() > active_.size()) active_.resize(rows.size());
  cg_rows_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ActiveRow& a = active_[i];
    const ConstraintBlock& block = *system_->constraints()[at(system_->row_place(rows[i]).block)];
    a.kept = a.kept && a.row == rows[i] && block.traits().linear;
    if (!a.kept) system_->row_gradient(rows[i], q, t, T, a.G, start);
    a.row = rows[i];
    a.kept = true;
    // T turns rotations, so that the direction of the reaction is another one
    if (T != nullptr && a.G.equation.size() > 3) return false;
    cg_rows_.push_back(&a.G);
  }
  return cg_.set_rows(cg_rows_);
}

void SaddlePoint::set_active(std::span<const int> rows, In q, double t, const TangentOperators* T,
                             const StepStart* start) {
  if (iterative()) {
    projected_ = project_active(rows, q, t, T, start);
    if (projected_) return;
    for (ActiveRow& row : active_) row.kept = false, row.row = -1;
  }
  begin_rows(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ActiveRow& a = place_row(i, rows);
    const ConstraintBlock& block = *system_->constraints()[at(system_->row_place(a.row).block)];
    if (a.kept && block.traits().linear) continue;
    system_->row_gradient(a.row, q, t, T, a.G, start);
    if (T != nullptr)
      system_->row_gradient(a.row, q, t, nullptr, a.F, start);
    else
      a.F = a.G;
    solve_column(a);
  }
}

void SaddlePoint::set_active(std::span<const int> rows, std::span<const SparseRow> G, std::span<const SparseRow> F) {
  projected_ = false;
  begin_rows(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ActiveRow& a = place_row(i, rows);
    a.G = G[i];
    a.F = F[i];
    solve_column(a);
  }
}

void SaddlePoint::begin_rows(std::size_t count) {
  delassus_known_ = delassus_known_ && at(n_A_) == count;
  n_A_ = static_cast<int>(count);
  if (count > active_.size()) active_.resize(count);
}

// Brings row rows[i] into place i, with the column that is known of it.
SaddlePoint::ActiveRow& SaddlePoint::place_row(std::size_t i, std::span<const int> rows) {
  std::size_t j = i;
  while (j < active_.size() && active_[j].row != rows[i]) ++j;
  if (j == active_.size()) {
    // a new row takes the first place that no wanted row holds
    for (j = i; j + 1 < active_.size(); ++j)
      if (std::find(rows.begin(), rows.end(), active_[j].row) == rows.end()) break;
    active_[j].kept = false;
    active_[j].row = rows[i];
  }
  if (j != i) {
    std::swap(active_[i], active_[j]);
    delassus_known_ = false;
  }
  return active_[i];
}

// B^-1 [F^T; 0]
void SaddlePoint::solve_column(ActiveRow& row) {
  delassus_known_ = false;
  row.column.assign(at(n_ + n_b_), 0.0);
  for (std::size_t k = 0; k < row.F.equation.size(); ++k) row.column[at(row.F.equation[k])] += row.F.value[k];
  row.kept = base_solve(row.column);
}

bool SaddlePoint::factorise_delassus() {
  if (delassus_known_) return true;
  const int n = n_A_;
  D_.resize(at(n * n));
  d_rhs_.resize(at(n));
  d_residual_.resize(at(n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const SparseRow& G = active_[at(i)].G;
      const Vector& column = active_[at(j)].column;
      double sum = 0;
      for (std::size_t k = 0; k < G.equation.size(); ++k) sum += G.value[k] * column[at(G.equation[k])];
      D_[at(i * n + j)] = sum;
    }
  // rows of bodies of very different mass are no redundant rows: judge rank with a unit diagonal
  d_scale_.resize(at(n));
  for (int i = 0; i < n; ++i) {
    const double d = std::abs(D_[at(i * n + i)]);
    d_scale_[at(i)] = d > 0 ? 1 / std::sqrt(d) : 1.0;
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) D_[at(i * n + j)] *= d_scale_[at(i)] * d_scale_[at(j)];
  delassus_regularised_ = !(D_lu_.factorise(D_, n) > rank_tolerance);
  delassus_known_ = true;
  if (!delassus_regularised_) return true;
  delassus_known_ = D_lu_.factorise(D_, n, proximal) > 0;
  return delassus_known_;
}

void SaddlePoint::solve_delassus(Vector& b) {
  const int n = n_A_;
  for (int i = 0; i < n; ++i) b[at(i)] *= d_scale_[at(i)];
  solve_scaled_delassus(b);
  for (int i = 0; i < n; ++i) b[at(i)] *= d_scale_[at(i)];
}

void SaddlePoint::solve_scaled_delassus(Vector& b) {
  const int n = n_A_;
  if (!delassus_regularised_) {
    D_lu_.solve(b);
    return;
  }
  d_residual_ = b;
  std::fill(b.begin(), b.end(), 0.0);
  d_correction_.resize(at(n));
  for (int k = 0; k < refinements; ++k) {
    d_correction_ = d_residual_;
    D_lu_.solve(d_correction_);
    for (int i = 0; i < n; ++i) {
      b[at(i)] += d_correction_[at(i)];
      for (int j = 0; j < n; ++j) d_residual_[at(i)] -= D_[at(i * n + j)] * d_correction_[at(j)];
    }
  }
}

bool SaddlePoint::solve(In r, In c_b, In c_A, Out dx, Out dl_b, Out dl_A, Accuracy accuracy) {
  if (gave_up_) return false;
  if (projected_) return run_cg(r, c_A, accuracy, dx, dl_A) == ProjectedCg::Status::converged;
  // the base system without the active rows
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
  if (!zero && regularised_)
    for (int i = 0; i < n_b_; ++i)
      constraint_inconsistency_ = std::max(constraint_inconsistency_, std::abs(residual_[at(n_ + i)]) / row_scale(i) *
                                                                          (unit_.empty() ? 1.0 : unit_[at(n_ + i)]));

  // the active rows through their Delassus operator
  if (n_A_ > 0) {
    if (!factorise_delassus()) return false;
    for (int i = 0; i < n_A_; ++i) {
      const SparseRow& G = active_[at(i)].G;
      double sum = -c_A[at(i)];
      for (std::size_t k = 0; k < G.equation.size(); ++k) sum -= G.value[k] * rhs_[at(G.equation[k])];
      d_rhs_[at(i)] = sum;
    }
    solve_delassus(d_rhs_);
    for (int i = 0; i < n_A_; ++i) {
      axpy(d_rhs_[at(i)], active_[at(i)].column, rhs_);
      dl_A[at(i)] = d_rhs_[at(i)];
    }
  }
  for (int i = 0; i < n_; ++i) dx[at(i)] = rhs_[at(i)];
  for (int i = 0; i < n_b_; ++i) dl_b[at(i)] = row_scale(i) * rhs_[at(n_ + i)];
  return all_finite(rhs_);
}

}  // namespace carom
