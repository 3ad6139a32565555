// SaddlePoint: what a restart needs, the matrix itself or the request that it comes from.

#include "core/mechanics/saddle_point.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "core/base/vector_ops.hpp"
#include "core/linear/projected_cg.hpp"

namespace carom {

namespace {

const char* const array_names[] = {"request q_M",     "request q",      "request v",
                                   "request a",       "request s",      "request frame blocks",
                                   "request start q", "request start v"};
constexpr long LinearCounters::*counted[] = {&LinearCounters::fallbacks,       &LinearCounters::cg_solves,
                                             &LinearCounters::cg_iterations,   &LinearCounters::cg_matrices,
                                             &LinearCounters::gmres_solves,    &LinearCounters::multigrid,
                                             &LinearCounters::cg_slow,         &LinearCounters::cg_failed,
                                             &LinearCounters::factor_matrices, &LinearCounters::factors_built};
constexpr std::size_t cg_numbers = 12;  // before them
const char* const of_factors = "factors ";

}  // namespace

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
  numbers.start = nullptr;
  numbers.frame_blocks = {};
}

Linearisation SaddlePoint::KeptRequest::request() {
  Linearisation request = numbers;
  const auto pointer = [](const Vector& x) { return x.empty() ? nullptr : x.data(); };
  request.q_M = pointer(q_M);
  request.q = pointer(q);
  request.v = pointer(v);
  request.a = pointer(a);
  request.s = pointer(s);
  request.T = T.frames.empty() ? nullptr : &T;
  request.frame_blocks = frame_blocks;
  start.q = pointer(start_q);
  start.v = pointer(start_v);
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
  const Vector& t = entry("request T", {0, 9 * frames});
  T.frames.resize(t.size() / 9);
  for (std::size_t i = 0; i < T.frames.size(); ++i) std::copy_n(t.data() + 9 * i, 9, T.frames[i].data());
}

void SaddlePoint::save(NamedArrays& record, const std::string& prefix, bool factors) const {
  const bool kept = factors && factorised_;
  Vector state = {kept ? 1.0 : 0.0, regularised_ ? static_cast<double>(used_) : 0.0};
  state.insert(state.end(), row_scale_.begin(), row_scale_.end());
  record.set(prefix + "saddle point", std::move(state));
  if (!iterative_) {
    record.set(prefix + "matrix", kept ? values_ : Vector());
    solver_.save(record, prefix);
    return;
  }
  const auto flag = [](bool on) { return on ? 1.0 : 0.0; };
  Vector state_of_cg{flag(direct_),       flag(direct_known_),   flag(whole_), flag(cg_->rest().expects_redundant()),
                     flag(account_.kept), flag(account_.present)};
  for (const long count : {long{cg_failures_}, long{account_.matrices}, account_.iterations, account_.last,
                           long{account_.pause}, long{account_.next_pause}})
    state_of_cg.push_back(static_cast<double>(count));
  for (const auto count : counted) state_of_cg.push_back(static_cast<double>(cg_counters_.*count));
  record.set(prefix + "conjugate gradients", std::move(state_of_cg));
  kept_.save(record, prefix, kept);
  if (kept && columns_last()) save_columns(record, prefix);
  if (account_.kept) factored_.save(record, prefix + of_factors, true);
  if (direct_known_) solver_.save(record, prefix);
}

// Factors that may serve later matrices are built again from the matrix that they belong to.
void SaddlePoint::restore_factors(const NamedArrays& record, const std::string& prefix) {
  if (!account_.kept) return;
  factored_.restore(*system_, record, prefix + of_factors, true);
  kept_ = factored_;
  assemble(kept_.request());
  if (!prepare_iteration(false)) throw std::invalid_argument("SaddlePoint: the record does not fit");
  cg_->build_factors();
}

// Columns of conjugate gradients are many and long: what they belong to is kept, and they are found again. Their places
// decide which of them later rows replace. A place without column has -1 in the place of the number of entries.
void SaddlePoint::save_columns(NamedArrays& record, const std::string& prefix) const {
  Vector places;
  for (const ActiveRow& a : active_) {
    const bool found = a.kept && a.columned;
    places.push_back(a.row);
    places.push_back(found ? static_cast<double>(a.F.equation.size()) : -1.0);
    for (std::size_t k = 0; found && k < a.F.equation.size(); ++k) {
      places.push_back(a.F.equation[k]);
      places.push_back(a.F.value[k]);
    }
  }
  record.set(prefix + "columns", std::move(places));
}

void SaddlePoint::restore_columns(const NamedArrays& record, const std::string& prefix) {
  const Vector* const columns = record.find(prefix + "columns");
  if (columns == nullptr || columns->empty() || !factorised_ || !iterative()) return;
  const auto refuse = [] { throw std::invalid_argument("SaddlePoint: the record does not fit"); };
  struct Place {
    int row;
    bool found;
  };
  std::vector<Place> places;
  std::vector<int> rows;
  std::vector<SparseRow> F;
  for (std::size_t i = 0; i < columns->size();) {
    const auto next = [&](int least, int limit) {
      if (i >= columns->size() || !((*columns)[i] >= least && (*columns)[i] < limit)) refuse();
      return static_cast<int>((*columns)[i++]);
    };
    const int number = next(-1, system_->rows()), entries = next(-1, n_ + n_b_ + 1);
    places.push_back({number, entries >= 0});
    if (entries < 0) continue;
    if (number < 0) refuse();
    rows.push_back(number);
    SparseRow& row = F.emplace_back();
    for (int k = 0; k < entries; ++k) {
      row.equation.push_back(next(0, n_ + n_b_));
      if (i >= columns->size()) refuse();
      row.value.push_back((*columns)[i++]);
    }
  }
  // these solutions were counted when the columns were found, a few in each call
  const LinearCounters counters = cg_counters_;
  const FactorAccount account = account_;
  may_leave_sweeps_ = false;
  set_active(rows, F, F, true);
  may_leave_sweeps_ = true;
  cg_counters_ = counters;
  account_ = account;

  std::vector<ActiveRow> in_places(places.size());
  auto found = active_.begin();
  for (std::size_t j = 0; j < places.size(); ++j) {
    if (places[j].found)
      in_places[j] = std::move(*found++);
    else
      in_places[j].row = places[j].row;
  }
  active_ = std::move(in_places);
  n_A_ = 0;
  delassus_known_ = false;
}

void SaddlePoint::restore(const NamedArrays& record, const std::string& prefix) {
  const Vector* const state = record.find(prefix + "saddle point");
  const Vector* const matrix = record.find(prefix + "matrix");
  const Vector* const iteration = record.find(prefix + "conjugate gradients");
  if (state == nullptr || state->size() != 2 + row_scale_.size() || iterative_ != (iteration != nullptr) ||
      (iterative_ ? iteration->size() != cg_numbers + std::size(counted)
                  : matrix == nullptr || matrix->size() != ((*state)[0] != 0 ? at(pattern_->nonzeros()) : 0)))
    throw std::invalid_argument("SaddlePoint: the record does not fit");
  factorised_ = (*state)[0] != 0;
  regularised_ = (*state)[1] != 0;
  used_ = (*state)[1] == static_cast<double>(Regularisation::largest) ? Regularisation::largest : Regularisation::rows;
  std::copy(state->begin() + 2, state->end(), row_scale_.begin());
  if (iterative_) {
    const Vector& x = *iteration;
    direct_ = x[0] != 0;
    whole_ = x[2] != 0;
    if (x[3] != 0) cg_->rest().expect_redundant();
    const auto count = [&](std::size_t k) { return static_cast<int>(x[k]); };
    cg_failures_ = count(6);
    account_ = {x[4] != 0, x[5] != 0, count(7), count(8), count(9), count(10), count(11)};
    for (std::size_t i = 0; i < std::size(counted); ++i)
      cg_counters_.*counted[i] = static_cast<long>(x[cg_numbers + i]);
    restore_factors(record, prefix);
    kept_.restore(*system_, record, prefix, factorised_);
    const bool built = account_.kept && account_.present;
    if (factorised_ && (direct_ || !built)) assemble(kept_.request());
    if (factorised_ && !direct_ && !built) factorised_ = prepare_iteration(account_.kept);
    restore_columns(record, prefix);
    if (x[1] == 0) return;
    analyse_direct();
  } else if (factorised_) {
    values_ = *matrix;
  }
  const bool refactorise = factorised_ && (!iterative_ || direct_);
  if (regularised_) set_regularisation(used_);
  solver_.restore(record, prefix, refactorise ? std::span<const double>(values()) : std::span<const double>());
  if (regularised_) set_regularisation(Regularisation::none);
}

}  // namespace carom
