#include "core/linear/linear_solver.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <stdexcept>

#include "core/base/index.hpp"

namespace carom {

namespace {

constexpr int dense_limit = 24;
constexpr int well_filled_limit = 128;  // dense if at least half of L and U fills
constexpr int band_limit = 8;
constexpr int chain_mean_size = 3;
constexpr double solid_operations_per_entry = 40;
constexpr int patience = 3;  // fallbacks in a row after which the replacement stays

}  // namespace

LinearCounters& LinearCounters::operator+=(const LinearCounters& other) {
  for (const auto count : {&LinearCounters::analyses, &LinearCounters::factorisations,
                           &LinearCounters::refactorisations, &LinearCounters::solves, &LinearCounters::fallbacks,
                           &LinearCounters::cg_solves, &LinearCounters::cg_iterations, &LinearCounters::cg_matrices,
                           &LinearCounters::gmres_solves, &LinearCounters::multigrid, &LinearCounters::factor_matrices,
                           &LinearCounters::factors_built, &LinearCounters::cg_slow, &LinearCounters::cg_failed})
    this->*count += other.*count;
  return *this;
}

struct LinearSolver::Impl {
  LinearMethod requested = LinearMethod::automatic;
  detail::SharedPattern pattern;
  MatrixProperties properties;
  detail::Backend chosen, replacement;
  detail::Factorisation* active = nullptr;  // of the last factorisation
  int failures = 0;                         // of the chosen method in a row
  bool ready = false, singular = false;
  LinearCounters counters;

  // choose(): the method for the pattern. choose_replacement(): the method for matrices that the chosen one cannot
  // take.
  detail::Backend choose();
  detail::Backend choose_banded(bool forced);
  detail::Backend choose_replacement() const;
  detail::Factorisation& current() const;
};

detail::Backend LinearSolver::Impl::choose_banded(bool forced) {
  const SparsePattern& p = *pattern;
  if (!forced) {
    // A row with more than 2 w + 1 entries rules out half bandwidth w.
    for (int i = 0; i < p.rows; ++i)
      if (p.row_start[at(i) + 1] - p.row_start[at(i)] > 2 * band_limit + 1) return nullptr;
  }
  int width = detail::half_bandwidth(p, {});
  std::vector<int> order;
  if (width > 2) {
    order = detail::reverse_cuthill_mckee(p);
    const int reordered = detail::half_bandwidth(p, order);
    if (reordered < width)
      width = reordered;
    else
      order.clear();
  }
  if (!forced && (width > band_limit || (p.rows <= dense_limit && (p.rows <= 6 || 4 * width > p.rows)))) return nullptr;
  return detail::make_banded(p, order);
}

detail::Backend LinearSolver::Impl::choose() {
  const bool definite = properties.symmetric && properties.positive_definite;
  double operations_per_entry = 0;
  if (pattern->rows == 0) return detail::make_dense(*pattern, properties);
  switch (requested) {
    case LinearMethod::dense:
      return detail::make_dense(*pattern, properties);
    case LinearMethod::banded:
      if (properties.symmetric) return choose_banded(true);
      return detail::make_klu(pattern, operations_per_entry);
    case LinearMethod::block_chain:
      if (auto chain = detail::make_block_chain(pattern, 1)) return chain;
      return detail::make_klu(pattern, operations_per_entry);
    case LinearMethod::klu:
      return detail::make_klu(pattern, operations_per_entry);
    case LinearMethod::frontal:
      if (auto frontal = detail::make_frontal(pattern)) return frontal;
      return detail::make_umfpack(pattern);
    case LinearMethod::umfpack:
      return detail::make_umfpack(pattern);
    case LinearMethod::cholmod:
    case LinearMethod::cholmod_quick:
      if (properties.symmetric) return detail::make_cholmod(pattern, requested == LinearMethod::cholmod_quick);
      return detail::make_umfpack(pattern);
    case LinearMethod::automatic:
      break;
  }
  if (definite)
    if (auto banded = choose_banded(false)) return banded;
  if (pattern->rows <= dense_limit) return detail::make_dense(*pattern, properties);
  if (auto chain = detail::make_block_chain(pattern, chain_mean_size)) return chain;
  auto klu = detail::make_klu(pattern, operations_per_entry);
  if (pattern->rows <= well_filled_limit && 2 * klu->facts().fill >= 1.0 * pattern->rows * pattern->rows)
    return detail::make_dense(*pattern, properties);
  if (operations_per_entry < solid_operations_per_entry) return klu;
  klu.reset();
  return definite ? detail::make_cholmod(pattern) : detail::make_umfpack(pattern);
}

detail::Backend LinearSolver::Impl::choose_replacement() const {
  double unused = 0;
  if (chosen->name() == "banded" || chosen->name() == "block_chain") return detail::make_klu(pattern, unused);
  if (chosen->name() == "dense") return detail::make_dense(*pattern, {});
  return detail::make_umfpack(pattern);
}

detail::Factorisation& LinearSolver::Impl::current() const {
  if (!chosen) throw std::logic_error("LinearSolver: no pattern analysed");
  return active ? *active : *chosen;
}

LinearSolver::LinearSolver() : impl_(std::make_unique<Impl>()) {}
LinearSolver::~LinearSolver() = default;
LinearSolver::LinearSolver(LinearSolver&&) noexcept = default;
LinearSolver& LinearSolver::operator=(LinearSolver&&) noexcept = default;

void LinearSolver::set_method(LinearMethod method) { impl_->requested = method; }

void LinearSolver::analyse(const SparsePattern& pattern, MatrixProperties properties) {
  analyse(std::make_shared<const SparsePattern>(pattern), properties);
}

void LinearSolver::analyse(std::shared_ptr<const SparsePattern> pattern, MatrixProperties properties) {
  Impl& s = *impl_;
  if (!pattern || pattern->rows != pattern->cols || pattern->row_start.size() != at(pattern->rows) + 1)
    throw std::invalid_argument("LinearSolver: the pattern is not square");
  s.ready = s.singular = false;
  s.active = nullptr;
  s.failures = 0;
  s.replacement.reset();
  s.chosen.reset();
  s.pattern = std::move(pattern);
  s.properties = properties;
  s.chosen = s.choose();
  ++s.counters.analyses;
}

void LinearSolver::renew() {
  Impl& s = *impl_;
  s.failures = 0;
  for (detail::Backend* const backend : {&s.chosen, &s.replacement})
    if (*backend) (*backend)->forget_pivots();
}

FactorStatus LinearSolver::factorise(std::span<const double> values) {
  Impl& s = *impl_;
  if (!s.chosen) throw std::logic_error("LinearSolver: no pattern analysed");
  if (values.size() != s.pattern->column.size()) throw std::invalid_argument("LinearSolver: number of values");
  s.ready = false;
  detail::Outcome outcome = detail::Outcome::unsuitable;
  if (s.failures < patience) {
    s.active = s.chosen.get();
    outcome = s.chosen->factorise(values, s.counters);
  }
  if (outcome == detail::Outcome::unsuitable) {
    if (s.failures < patience) ++s.failures;
    ++s.counters.fallbacks;
    if (!s.replacement) {
      s.replacement = s.choose_replacement();
      ++s.counters.analyses;
    }
    s.active = s.replacement.get();
    outcome = s.replacement->factorise(values, s.counters);
  } else {
    s.failures = 0;
  }
  s.ready = outcome == detail::Outcome::ok;
  s.singular = !s.ready;
  return s.ready ? FactorStatus::ok : FactorStatus::singular;
}

void LinearSolver::solve(std::span<double> b, int columns) {
  Impl& s = *impl_;
  if (!s.ready) throw std::logic_error("LinearSolver: solve without a regular factorisation");
  if (columns < 0 || b.size() != at(s.pattern->rows) * at(columns))
    throw std::invalid_argument("LinearSolver: size of the right-hand sides");
  s.counters.solves += columns;
  if (!b.empty()) s.active->solve(b.data(), columns);
}

double LinearSolver::reciprocal_condition() const { return impl_->current().facts().reciprocal_condition; }
int LinearSolver::suspicious_row() const { return impl_->singular ? impl_->current().facts().suspicious_row : -1; }
std::string LinearSolver::method_name() const { return std::string(impl_->current().name()); }
double LinearSolver::fill() const { return impl_->current().facts().fill; }
const LinearCounters& LinearSolver::counters() const { return impl_->counters; }

void LinearSolver::save(NamedArrays& record, const std::string& prefix) const {
  const Impl& s = *impl_;
  const auto pivots = [](const detail::Backend& backend) {
    const std::span<const double> values = backend ? backend->pivot_values() : std::span<const double>();
    return Vector(values.begin(), values.end());
  };
  const bool replaced = s.active != nullptr && s.active == s.replacement.get();
  record.set(prefix + "solver", {static_cast<double>(s.failures), s.replacement ? 1.0 : 0.0, replaced ? 1.0 : 0.0,
                                 s.ready ? 1.0 : 0.0, s.active != nullptr && s.active->chose_pivots() ? 1.0 : 0.0});
  const LinearCounters& c = s.counters;
  Vector counters;
  for (const long n : {c.analyses, c.factorisations, c.refactorisations, c.solves, c.fallbacks})
    counters.push_back(static_cast<double>(n));
  record.set(prefix + "counters", std::move(counters));
  record.set(prefix + "pivots", pivots(s.chosen));
  record.set(prefix + "replacement pivots", pivots(s.replacement));
}

void LinearSolver::restore(const NamedArrays& record, const std::string& prefix, std::span<const double> values) {
  Impl& s = *impl_;
  const Vector *const state = record.find(prefix + "solver"), *const counters = record.find(prefix + "counters");
  const auto fits = [&](std::span<const double> x) { return x.empty() || x.size() == s.pattern->column.size(); };
  const auto replay = [&](detail::Factorisation& backend, const std::string& name) {
    const Vector* const pivots = record.find(prefix + name);
    if (pivots == nullptr || !fits(*pivots)) throw std::invalid_argument("LinearSolver: the record does not fit");
    if (!pivots->empty()) backend.factorise(*pivots, s.counters);
  };
  if (!s.chosen || state == nullptr || state->size() != 5 || counters == nullptr || counters->size() != 5 ||
      !fits(values))
    throw std::invalid_argument("LinearSolver: the record does not fit");
  replay(*s.chosen, "pivots");
  if ((*state)[1] != 0) {
    s.replacement = s.choose_replacement();
    replay(*s.replacement, "replacement pivots");
  }
  s.failures = static_cast<int>((*state)[0]);
  s.active = (*state)[2] != 0 ? s.replacement.get() : s.chosen.get();
  s.ready = (*state)[3] != 0 && !values.empty();
  const bool pivots_chosen_last = (*state)[4] != 0;
  if (s.ready && !pivots_chosen_last) s.ready = s.active->factorise(values, s.counters) == detail::Outcome::ok;

  // repeated work is not counted
  std::size_t i = 0;
  for (auto* n : {&s.counters.analyses, &s.counters.factorisations, &s.counters.refactorisations, &s.counters.solves,
                  &s.counters.fallbacks})
    *n = static_cast<long>((*counters)[i++]);
}

namespace detail {

bool PivotScale::compute(const SparsePattern& pattern, std::span<const double> values, FactorFacts& facts) {
  column.assign(at(pattern.cols), 0.0);
  row.resize(at(pattern.rows));
  facts.reciprocal_condition = 0;
  int& bad_row = facts.suspicious_row;
  bad_row = -1;
  const int* const start = pattern.row_start.data();
  const int* const index = pattern.column.data();
  const double* const value = values.data();
  double zero = 0;  // stays zero while values are finite
  for (int k = 0; k < pattern.nonzeros(); ++k) {
    const double size = std::fabs(value[k]);
    zero += size * 0.0;
    column[at(index[k])] = std::max(column[at(index[k])], size);
  }
  if (!(zero == 0)) {
    for (int i = 0; i < pattern.rows; ++i)
      for (int k = start[i]; k < start[i + 1]; ++k)
        if (!std::isfinite(value[k])) {
          bad_row = i;
          return false;
        }
  }
  for (double& x : column) x = x >= DBL_MIN ? 1.0 / x : 0.0;
  for (int i = 0; i < pattern.rows; ++i) {
    double largest = 0;
    for (int k = start[i]; k < start[i + 1]; ++k)
      largest = std::max(largest, std::fabs(value[k]) * column[at(index[k])]);
    row[at(i)] = largest;
    if (!(largest > 0) && bad_row < 0) bad_row = i;
  }
  return bad_row < 0;
}

const int* column_indices(const SparsePattern& pattern) {
  static constexpr int none = 0;
  return pattern.column.empty() ? &none : pattern.column.data();
}

}  // namespace detail
}  // namespace carom
