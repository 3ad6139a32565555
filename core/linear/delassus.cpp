#include "core/linear/delassus.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/disjoint_sets.hpp"
#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr double proximal = 1e-8;                        // eps of the regularisation; the diagonal is 1
constexpr double rank_tolerance = 1e-10;                 // smaller pivots of a dense island mean redundant rows
constexpr double large_rank_tolerance = 100 * proximal;  // of a sparse island, which is regularised
constexpr int refinements = 3;
constexpr std::size_t most_dense_rows = 128;
constexpr std::size_t many_columns = 64;  // of a component: its inverse costs fewer solves
constexpr int many_components = 32;       // the same with any number of columns beyond that of its equations
constexpr double symmetric_tolerance = 1e-12;

}  // namespace

Components::Components(const SparsePattern& pattern) {
  const int n = pattern.rows;
  std::vector<int> parent = disjoint_sets(n);
  for (int i = 0; i < n; ++i)
    for (int k = pattern.row_start[at(i)]; k < pattern.row_start[at(i + 1)]; ++k)
      join_sets(parent, i, pattern.column[at(k)]);
  component_.resize(at(n));
  place_.resize(at(n));
  std::vector<std::size_t> size;
  for (int i = 0; i < n; ++i) {
    const int root = root_of(parent, i);
    if (root == i) {
      component_[at(i)] = static_cast<int>(size.size());
      size.push_back(0);
    }
    const int c = component_[at(i)] = component_[at(root)];
    place_[at(i)] = size[at(c)]++;
  }
  for (const std::size_t s : size) first_.push_back(first_.back() + s);
  equations_.resize(at(n));
  for (int i = 0; i < n; ++i) equations_[first_[at(component_[at(i)])] + place_[at(i)]] = i;
}

void Delassus::analyse(const SparsePattern& base, std::size_t rows) {
  components_ = Components(base);
  const std::size_t count = at(components_.count());
  columns_of_.assign(count, 0);
  turns_.assign(count, 0);
  inverse_first_.assign(count, -1);
  laid_out_.assign(count, nullptr);
  parent_ = disjoint_sets(components_.count());
  number_.assign(count, -1);
  rows_of_component_.resize(count);
  rhs_.assign(at(base.rows), 0.0);
  islands_.clear();
  islands_.resize(std::min<std::size_t>(1, rows));
  for (Island& island : islands_) island.lu.reserve(static_cast<int>(rows));
  for (std::vector<Job>* x : {&jobs_, &ordered_}) x->reserve(2 * rows);
  for (std::vector<std::size_t>* x : {&turn_first_, &order_, &touched_first_, &segment_first_}) x->reserve(rows + 2);
  segments_.reserve(2 * rows);
  touched_.reserve(4 * rows);
  island_of_.reserve(rows);
  values_.reserve(rows * rows);
  const std::size_t dense = std::min(rows, most_dense_rows);
  columns_.reserve(dense * std::min(beside_share * dense, at(base.rows)));
  for (Vector* x : {&scale_, &b_, &residual_, &correction_, &product_}) x->reserve(rows);
}

// ---- columns

// Distributes the columns over solves: those of a component take turns, or all do.
void Delassus::list_jobs(Rows rows, bool alone) {
  jobs_.clear();
  for (CondensedRow* const row : rows) {
    row->parts.clear();
    std::size_t size = 0;
    int last = -1;
    for (const int e : row->F.equation) {
      const int c = components_.of(e);
      if (c == last) continue;
      last = c;
      if (std::any_of(row->parts.begin(), row->parts.end(), [c](const auto& part) { return part.component == c; }))
        continue;
      row->parts.push_back({c, size});
      size += components_.equations(c).size();
      ++columns_of_[at(c)];
    }
    row->column.assign(size, 0.0);
  }
  // a component with many columns gets an inverse instead
  inverse_.clear();
  const std::size_t least = components_.count() > many_components ? 0 : many_columns;
  const auto inverted = [&](int c) {
    const std::size_t columns = at(columns_of_[at(c)]), size = components_.equations(c).size();
    return !alone && columns > least && columns > size && size <= many_columns;
  };
  int turns = 0;
  const auto add = [&](int component, int equation, std::size_t row, std::size_t part) {
    const int turn = alone ? turns : turns_[at(component)]++;
    jobs_.push_back({component, equation, turn, row, part});
    turns = std::max(turns, turn + 1);
  };
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t p = 0; p < rows[r]->parts.size(); ++p) {
      const int c = rows[r]->parts[p].component;
      if (!inverted(c)) {
        add(c, -1, r, p);
      } else if (inverse_first_[at(c)] < 0) {
        const std::span<const int> equations = components_.equations(c);
        inverse_first_[at(c)] = static_cast<std::ptrdiff_t>(inverse_.size());
        inverse_.resize(inverse_.size() + equations.size() * equations.size());
        for (const int e : equations) add(c, e, r, p);
      }
    }
  for (const Job& job : jobs_) turns_[at(job.component)] = 0;

  // stable sort by turn
  turn_first_.assign(at(turns) + 1, 0);
  for (const Job& job : jobs_) ++turn_first_[at(job.turn) + 1];
  std::partial_sum(turn_first_.begin(), turn_first_.end(), turn_first_.begin());
  ordered_.resize(jobs_.size());
  for (const Job& job : jobs_) ordered_[turn_first_[at(job.turn)]++] = job;
  for (std::size_t k = turn_first_.size() - 1; k > 0; --k) turn_first_[k] = turn_first_[k - 1];
  turn_first_[0] = 0;
}

bool Delassus::find_columns(Rows rows, const BaseSolve& solve, bool alone) {
  if (rows.empty()) return true;
  list_jobs(rows, alone);
  bool found = true;
  for (std::size_t turn = 0; found && turn + 1 < turn_first_.size(); ++turn) {
    const std::span<const Job> jobs =
        std::span(ordered_).subspan(turn_first_[turn], turn_first_[turn + 1] - turn_first_[turn]);
    std::fill(rhs_.begin(), rhs_.end(), 0.0);
    for (const Job& job : jobs) {
      if (job.equation >= 0) {
        rhs_[at(job.equation)] = 1;
        continue;
      }
      const SparseRow& F = rows[job.row]->F;
      for (std::size_t k = 0; k < F.equation.size(); ++k)
        if (components_.of(F.equation[k]) == job.component) rhs_[at(F.equation[k])] += F.value[k];
    }
    found = solve(rhs_);
    for (const Job& job : jobs) {
      const std::span<const int> equations = components_.equations(job.component);
      double* to = nullptr;
      if (job.equation >= 0)
        to = inverse_.data() + static_cast<std::size_t>(inverse_first_[at(job.component)]) +
             components_.place(job.equation) * equations.size();
      else
        to = rows[job.row]->column.data() + rows[job.row]->parts[job.part].first;
      for (const int e : equations) *to++ = rhs_[at(e)];
    }
  }
  if (!inverse_.empty())
    for (CondensedRow* const row : rows) apply_inverse(*row);
  for (CondensedRow* const row : rows)
    for (const CondensedRow::Part& part : row->parts) {
      columns_of_[at(part.component)] = 0;
      inverse_first_[at(part.component)] = -1;
    }
  return found;
}

// The parts of a column in components that have an inverse.
void Delassus::apply_inverse(CondensedRow& row) const {
  for (const CondensedRow::Part& part : row.parts) {
    const std::ptrdiff_t first = inverse_first_[at(part.component)];
    if (first < 0) continue;
    const std::size_t size = components_.equations(part.component).size();
    const Out to = Out(row.column).subspan(part.first, size);
    for (std::size_t k = 0; k < row.F.equation.size(); ++k) {
      const int e = row.F.equation[k];
      if (components_.of(e) != part.component) continue;
      const auto column = static_cast<std::size_t>(first) + components_.place(e) * size;
      axpy(row.F.value[k], In(inverse_).subspan(column, size), to);
    }
  }
}

void Delassus::add_column(const CondensedRow& row, double l, Out x) const {
  for (const CondensedRow::Part& part : row.parts) {
    const double* value = row.column.data() + part.first;
    for (const int e : components_.equations(part.component)) x[at(e)] += l * *value++;
  }
}

// ---- islands

void Delassus::find_islands(Rows rows) {
  touched_.clear();
  touched_first_.assign(1, 0);
  segment_first_.clear();
  for (const CondensedRow* const row : rows) {
    const std::size_t first = touched_first_.back();
    int last = -1;
    for (const SparseRow* const x : {&row->F, &row->G}) {
      if (x == &row->G && x->equation == row->F.equation) continue;
      for (const int e : x->equation) {
        const int c = components_.of(e);
        if (c == last) continue;
        last = c;
        if (std::find(touched_.begin() + static_cast<std::ptrdiff_t>(first), touched_.end(), c) != touched_.end())
          continue;
        touched_.push_back(c);
        join_sets(parent_, c, touched_[first]);
      }
    }
    touched_first_.push_back(touched_.size());
  }
  island_of_.clear();
  island_count_ = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    // a row that moves nothing is alone
    if (touched(r).empty()) {
      island_of_.push_back(island_count_++);
      continue;
    }
    int& number = number_[at(root_of(parent_, touched(r).front()))];
    if (number < 0) number = island_count_++;
    island_of_.push_back(number);
  }
  for (const int c : touched_) parent_[at(c)] = c, number_[at(c)] = -1;

  // stable sort by island
  if (islands_.size() < at(island_count_)) islands_.resize(at(island_count_));
  for (int i = 0; i < island_count_; ++i) islands_[at(i)].first = islands_[at(i)].last = 0;
  for (const int i : island_of_) ++islands_[at(i)].last;
  std::size_t first = 0;
  for (int i = 0; i < island_count_; ++i) {
    Island& island = islands_[at(i)];
    island.first = first;
    first += island.last;
    island.last = island.first;
  }
  order_.resize(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) order_[islands_[at(island_of_[r])].last++] = r;
}

bool Delassus::factorise(Rows rows) {
  find_islands(rows);
  scale_.resize(rows.size());
  for (Vector* x : {&b_, &residual_, &correction_, &product_}) x->resize(rows.size());
  values_.clear();
  regularised_ = false;
  for (int i = 0; i < island_count_; ++i) {
    Island& island = islands_[at(i)];
    island.sparse = is_sparse(island);
    scale_rows(island, rows);
    if (!(island.sparse ? factorise_sparse(island, rows) : factorise_dense(island, rows))) return false;
    regularised_ = regularised_ || island.regularised;
  }
  return true;
}

// And lists the rows of the components of an island of many rows.
bool Delassus::is_sparse(const Island& island) {
  if (island.size() <= most_dense_rows) return false;
  list_rows_of_components(island);
  double pairs = 0;  // at least the nonzero entries
  for (std::size_t k = island.first; k < island.last; ++k)
    for (const int c : touched(order_[k])) pairs += static_cast<double>(rows_of_component_[at(c)].size());
  const double size = static_cast<double>(island.size());
  return 3 * pairs < size * size;
}

bool Delassus::factorise_dense(Island& island, Rows rows) {
  const std::size_t n = island.size();
  island.values = values_.size();
  values_.resize(values_.size() + n * n);
  find_dense_values(island, rows, true, values_.data() + island.values);
  const In values = In(values_).subspan(island.values, n * n);
  island.regularised = !(island.lu.factorise(values, static_cast<int>(n)) > rank_tolerance);
  return !island.regularised || island.lu.factorise(values, static_cast<int>(n), proximal) > 0;
}

bool Delassus::factorise_sparse(Island& island, Rows rows) {
  if (!island.large) island.large = std::make_unique<SparseIsland>();
  SparseIsland& large = *island.large;
  SparsePattern pattern;
  find_pattern(island, pattern);
  large.values.resize(pattern.column.size());
  find_values(island, rows, pattern, true, large.values);
  const bool symmetric = is_symmetric(pattern, large.values, symmetric_tolerance);
  large.shifted = large.values;
  for (int i = 0; i < pattern.rows; ++i) large.shifted[at(pattern.find(i, i))] += proximal;
  // an analysis depends on the pattern only, but KLU's pivots and a fallback of CHOLMOD on what came before
  const bool same = large.reusable && symmetric && pattern.row_start == large.pattern.row_start &&
                    pattern.column == large.pattern.column;
  large.pattern = std::move(pattern);
  if (!same) {
    large.solver.set_method(symmetric ? LinearMethod::cholmod_quick : LinearMethod::automatic);
    large.solver.analyse(large.pattern, {symmetric, symmetric});
  }
  const long fallbacks = large.solver.counters().fallbacks;
  const bool regular = large.solver.factorise(large.shifted) == FactorStatus::ok;
  large.reusable = symmetric && regular && large.solver.counters().fallbacks == fallbacks;
  island.regularised = regular && large.solver.reciprocal_condition() < large_rank_tolerance;
  return regular;
}

// ---- solution

void Delassus::solve(Out b) {
  for (int i = 0; i < island_count_; ++i) {
    Island& island = islands_[at(i)];
    for (std::size_t k = island.first; k < island.last; ++k) b_[k] = b[order_[k]] * scale_[k];
    solve_island(island);
    for (std::size_t k = island.first; k < island.last; ++k) b[order_[k]] = b_[k] * scale_[k];
  }
}

bool Delassus::solve(Rows rows, CondensedLaw& law, Out b) {
  find_islands(rows);
  regularised_ = false;
  for (Vector* x : {&b_, &correction_}) x->resize(rows.size());
  bool solved = true;
  for (int i = 0; i < island_count_; ++i) {
    const Island& island = islands_[at(i)];
    const std::size_t n = island.size();
    const std::span<const std::size_t> places = std::span<const std::size_t>(order_).subspan(island.first, n);
    for (std::size_t j = 0; j < n; ++j) b_[j] = b[places[j]];
    const Out l = Out(correction_).first(n);
    const bool sparse = law.takes_sparse() && is_sparse(island);
    if (sparse) {
      find_law_pattern(island, law);
      values_.resize(law_pattern_.column.size());
      find_values(island, rows, law_pattern_, false, values_);
    } else {
      values_.resize(n * n);
      find_dense_values(island, rows, false, values_.data());
    }
    solved = law.solve(places, In(values_).first(sparse ? values_.size() : n * n), sparse ? &law_pattern_ : nullptr,
                       In(b_).first(n), l) &&
             solved;
    for (std::size_t j = 0; j < n; ++j) b[places[j]] = l[j];
  }
  return solved;
}

// In place in b_, of the scaled operator.
void Delassus::solve_island(Island& island) {
  const std::size_t n = island.size();
  const Out b = Out(b_).subspan(island.first, n);
  if (!island.sparse && !island.regularised) return island.lu.solve(b);
  // proximal point: refine against the operator without the regularisation
  const Out residual = Out(residual_).first(n), correction = Out(correction_).first(n);
  copy(b, residual);
  set_zero(b);
  for (int sweep = 0; sweep < refinements; ++sweep) {
    copy(residual, correction);
    if (island.sparse) {
      island.large->solver.solve(correction);
      axpy(1.0, correction, b);
      multiply(island.large->pattern, island.large->values, correction, Out(product_).first(n));
      axpy(-1.0, In(product_).first(n), residual);
      continue;
    }
    island.lu.solve(correction);
    const double* const D = values_.data() + island.values;
    for (std::size_t i = 0; i < n; ++i) {
      b[i] += correction[i];
      for (std::size_t j = 0; j < n; ++j) residual[i] -= D[i * n + j] * correction[j];
    }
  }
}

}  // namespace carom
