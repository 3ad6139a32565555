#include "core/linear/rest_system.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"

namespace carom {

namespace {

constexpr double rank_tolerance = 1e-10;  // pivots below this mean redundant rows
constexpr double massless = 1e-3;         // of the largest entry: a smaller diagonal is no measure of the matrix

}  // namespace

void RestSystem::analyse(const SparsePattern& pattern, std::span<const int> node, int first_row, int threads) {
  *this = RestSystem();
  threads_ = threads;
  pattern_ = &pattern;
  node_.assign(node.begin(), node.end());
  place_.assign(node.size(), -1);
  first_multiplier_ = 0;
  for (int i = 0; i < pattern.rows; ++i) {
    if (node[at(i)] < 0) {
      place_[at(i)] = static_cast<int>(rest_.size());
      first_multiplier_ += i < first_row ? 1 : 0;
      rest_.push_back(i);
    } else if (at(node[at(i)]) == first_of_node_.size()) {
      first_of_node_.push_back(i);
    }
  }

  for (std::size_t g = 0; g < first_of_node_.size(); ++g) {
    // the rows of a node have the same couplings or some of them
    const int first = first_of_node_[g];
    Coupled coupled{static_cast<int>(g), matrix_entries_.size(), 0};
    std::vector<int> columns;
    for (int i = first; i < pattern.rows && node[at(i)] == static_cast<int>(g); ++i)
      for (int k = pattern.row_start[at(i)]; k < pattern.row_start[at(i + 1)]; ++k)
        if (const int j = pattern.column[at(k)]; place_[at(j)] >= 0) columns.push_back(j);
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    for (const int j : columns) {
      matrix_entries_.push_back({.place = at(place_[at(j)])});
      for (int i = first; i < first + 3; ++i) {
        const bool own = i < pattern.rows && node[at(i)] == static_cast<int>(g);
        b_value_.push_back(own ? pattern.find(i, j) : -1);
        c_value_.push_back(own ? pattern.find(j, i) : -1);
      }
    }
    coupled.count = columns.size();
    if (coupled.count > 0) matrix_coupled_.push_back(coupled);
  }
  for (const int i : rest_)
    for (int k = pattern.row_start[at(i)]; k < pattern.row_start[at(i + 1)]; ++k)
      if (place_[at(pattern.column[at(k)])] >= 0) D_value_.push_back(k);
  D_.assign(D_value_.size(), 0.0);
  join();
}

void RestSystem::prepare(std::span<const double> values, double scale) {
  scale_ = scale;
  const auto value = [&](int k) { return k < 0 ? 0.0 : scale * values[at(k)]; };
  for (std::size_t e = 0; e < matrix_entries_.size(); ++e)
    for (std::size_t i = 0; i < 3; ++i) {
      matrix_entries_[e].b[i] = value(b_value_[3 * e + i]);
      matrix_entries_[e].c[i] = value(c_value_[3 * e + i]);
    }
  for (std::size_t k = 0; k < D_.size(); ++k) D_[k] = value(D_value_[k]);
  if (row_entries_.empty())
    entries_ = matrix_entries_;
  else
    join();
}

void RestSystem::set_rows(std::span<const SparseRow* const> G, std::span<const SparseRow* const> F, double factor) {
  const int base = static_cast<int>(rest_.size());
  std::vector<RowEntry> entries;
  std::vector<RowValue> values;
  for (std::size_t r = 0; r < G.size(); ++r) {
    const int row = base + static_cast<int>(r);
    const auto first = static_cast<std::ptrdiff_t>(entries.size());  // of this row
    const auto take = [&](const SparseRow& gradient, bool upper) {
      for (std::size_t k = 0; k < gradient.equation.size(); ++k) {
        const int i = gradient.equation[k];
        const double x = factor * gradient.value[k];
        if (const int place = place_[at(i)]; place >= 0) {
          values.push_back(upper ? RowValue{place, row, x} : RowValue{row, place, x});
          continue;
        }
        const int node = node_[at(i)];
        const auto same = [&](const RowEntry& e) { return e.node == node && e.entry.place == at(row); };
        auto entry = std::find_if(entries.begin() + first, entries.end(), same);
        if (entry == entries.end()) entry = entries.insert(entries.end(), {node, {.place = at(row)}});
        double* const own = upper ? entry->entry.b : entry->entry.c;
        own[i - first_of_node_[at(node)]] += x;
      }
    };
    take(*F[r], true);
    take(*G[r], false);
  }
  const auto by_node = [](const RowEntry& a, const RowEntry& b) {
    return a.node != b.node ? a.node < b.node : a.entry.place < b.entry.place;
  };
  std::sort(entries.begin(), entries.end(), by_node);
  const auto same_entry = [](const RowEntry& a, const RowEntry& b) {
    return a.node == b.node && a.entry.place == b.entry.place;
  };
  const auto same_value = [](const RowValue& a, const RowValue& b) { return a.row == b.row && a.column == b.column; };
  const bool same = static_cast<int>(G.size()) == rows_ && std::ranges::equal(entries, row_entries_, same_entry) &&
                    std::ranges::equal(values, row_D_, same_value);
  pattern_known_ = pattern_known_ && same;
  rows_ = static_cast<int>(G.size());
  row_entries_ = std::move(entries);
  row_D_ = std::move(values);
  join();
}

// The couplings of the matrix and those of the extra rows, node by node.
void RestSystem::join() {
  if (row_entries_.empty()) {
    coupled_ = matrix_coupled_;
    entries_ = matrix_entries_;
  } else {
    coupled_.clear();
    entries_.clear();
    std::size_t m = 0, r = 0;
    while (m < matrix_coupled_.size() || r < row_entries_.size()) {
      const int node = std::min(m < matrix_coupled_.size() ? matrix_coupled_[m].node : row_entries_[r].node,
                                r < row_entries_.size() ? row_entries_[r].node : matrix_coupled_[m].node);
      Coupled coupled{node, entries_.size(), 0};
      if (m < matrix_coupled_.size() && matrix_coupled_[m].node == node) {
        const auto own = std::span(matrix_entries_).subspan(matrix_coupled_[m].first, matrix_coupled_[m].count);
        entries_.insert(entries_.end(), own.begin(), own.end());
        ++m;
      }
      for (; r < row_entries_.size() && row_entries_[r].node == node; ++r) entries_.push_back(row_entries_[r].entry);
      coupled.count = entries_.size() - coupled.first;
      coupled_.push_back(coupled);
    }
  }
  is_coupled_.assign(first_of_node_.size(), 0);
  for (const Coupled& c : coupled_) is_coupled_[at(c.node)] = 1;
  is_coupling_.assign(at(size()), 0);
  for (const Entry& e : entries_) is_coupling_[e.place] = 1;
  couplings_ = static_cast<int>(std::count(is_coupling_.begin(), is_coupling_.end(), 1));
}

std::vector<int> RestSystem::coupled_places() const {
  std::vector<int> places;
  for (const Entry& e : entries_) places.push_back(static_cast<int>(e.place));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

// dense: all unknowns that are coupled with nodes are coupled with each other, else only those of the same node
void RestSystem::build_pattern(bool dense) {
  dense_ = dense;
  PatternBuilder builder(size(), size());
  for (int i = 0; i < size(); ++i) builder.add(i, i);
  const auto each_D = [&](const auto& visit) {
    for (const int i : rest_)
      for (int k = pattern_->row_start[at(i)]; k < pattern_->row_start[at(i + 1)]; ++k)
        if (const int j = place_[at(pattern_->column[at(k)])]; j >= 0) visit(place_[at(i)], j);
  };
  each_D([&](int i, int j) { builder.add(i, j); });
  // both triangles, so that the pattern is symmetric
  for (const RowValue& v : row_D_) builder.add(v.row, v.column), builder.add(v.column, v.row);
  std::vector<int> places;
  const auto places_of = [&](const Coupled& c) {
    places.clear();
    for (const Entry& e : std::span(entries_).subspan(c.first, c.count)) places.push_back(static_cast<int>(e.place));
  };
  if (dense) {
    column_places_ = coupled_places();
    builder.add_block(column_places_, column_places_);
  } else {
    for (const Coupled& c : coupled_) {
      places_of(c);
      builder.add_block(places, places);
    }
  }
  R_ = std::make_shared<SparsePattern>(builder.build());

  D_place_.clear();
  each_D([&](int i, int j) { D_place_.push_back(R_->find(i, j)); });
  row_D_place_.clear();
  for (const RowValue& v : row_D_) row_D_place_.push_back(R_->find(v.row, v.column));
  diagonal_.clear();
  for (int i = 0; i < size(); ++i) diagonal_.push_back(R_->find(i, i));
  clique_.clear();
  if (dense)
    for (const int i : column_places_)
      for (const int j : column_places_) clique_.push_back(R_->find(i, j));
  for (std::size_t k = 0; k < coupled_.size() && !dense; ++k) {
    places_of(coupled_[k]);
    for (const int i : places)
      for (const int j : places) clique_.push_back(R_->find(i, j));
  }
  values_.assign(at(R_->nonzeros()), 0.0);
  solver_.analyse(std::shared_ptr<const SparsePattern>(R_), {});
  pattern_known_ = true;
}

// R = D, to be completed
bool RestSystem::begin_factorisation(bool dense) {
  regularised_ = false;
  if (empty()) return false;
  if (!pattern_known_ || dense_ != dense) build_pattern(dense);
  std::fill(values_.begin(), values_.end(), 0.0);
  for (std::size_t k = 0; k < D_.size(); ++k) values_[at(D_place_[k])] += D_[k];
  for (std::size_t k = 0; k < row_D_.size(); ++k) values_[at(row_D_place_[k])] += row_D_[k].value;
  return true;
}

bool RestSystem::factorise(const Operator& M) {
  if (!begin_factorisation(true)) return true;
  const std::size_t n = at(pattern_->rows), count = column_places_.size();
  columns_.assign(n * count, 0.0);
  Vector b(n * count, 0.0), reaction(at(size()));
  std::vector<int> column_of(at(size()), -1);
  for (std::size_t j = 0; j < count; ++j) column_of[at(column_places_[j])] = static_cast<int>(j);
  for (const Coupled& c : coupled_)
    for (const Entry& e : std::span(entries_).subspan(c.first, c.count)) {
      double* const own = b.data() + at(column_of[e.place]) * n + at(first_of_node_[at(c.node)]);
      for (int i = 0; i < size_of(c.node); ++i) own[i] += e.b[i];
    }
  // bodies that nothing connects with the nodes have no columns, and a solver may refuse to solve for none
  if (count > 0) M(b.data(), columns_.data(), static_cast<int>(count));
  for (std::size_t j = 0; j < count; ++j) {
    std::fill(reaction.begin(), reaction.end(), 0.0);
    subtract_reactions(columns_.data() + j * n, reaction);
    for (std::size_t i = 0; i < count; ++i) values_[at(clique_[i * count + j])] += reaction[at(column_places_[i])];
  }
  return factorise_values();
}

bool RestSystem::factorise_coupled(const std::function<void(double* x)>& M) {
  if (!begin_factorisation(true)) return true;
  const std::size_t count = column_places_.size();
  column_.resize(at(pattern_->rows));
  reaction_.assign(at(size()), 0.0);
  for (std::size_t j = 0; j < count; ++j) {
    for (const Coupled& c : coupled_) {
      double* const own = column_.data() + first_of_node_[at(c.node)];
      std::fill_n(own, size_of(c.node), 0.0);
      for (const Entry& e : std::span(entries_).subspan(c.first, c.count))
        if (static_cast<int>(e.place) == column_places_[j])
          for (int i = 0; i < size_of(c.node); ++i) own[i] += e.b[i];
    }
    M(column_.data());
    std::fill(reaction_.begin(), reaction_.end(), 0.0);
    subtract_reactions(column_.data(), reaction_);
    for (std::size_t i = 0; i < count; ++i) values_[at(clique_[i * count + j])] += reaction_[at(column_places_[i])];
  }
  return factorise_values();
}

void RestSystem::subtract_columns(const double* w, Out z) const {
  const std::size_t n = z.size();
  for_ranges(n, 4096, threads_, [&](std::size_t first, std::size_t last) {
    for (std::size_t j = 0; j < column_places_.size(); ++j) {
      const double factor = w[column_places_[j]];
      const double* const column = columns_.data() + j * n;
      for (std::size_t i = first; i < last; ++i) z[i] -= factor * column[i];
    }
  });
}

bool RestSystem::factorise(std::span<const double* const> inverse_blocks, std::span<const int> sizes) {
  if (!begin_factorisation(false)) return true;
  std::size_t place = 0;
  for (const Coupled& c : coupled_) {
    const double* const M = inverse_blocks[at(c.node)];
    const int m = sizes[at(c.node)];
    const auto own = std::span(entries_).subspan(c.first, c.count);
    for (const Entry& row : own) {
      double CM[3] = {0, 0, 0};
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) CM[j] += row.c[i] * M[i * m + j];
      for (const Entry& column : own)
        values_[at(clique_[place++])] -= CM[0] * column.b[0] + CM[1] * column.b[1] + CM[2] * column.b[2];
    }
  }
  return factorise_values();
}

bool RestSystem::factorise_values() {
  if (!expected_) {
    solver_.renew();
    const bool regular = solver_.factorise(values_) == FactorStatus::ok;
    if (regular && (rows_ == 0 || solver_.reciprocal_condition() > rank_tolerance)) return true;
    if (!std::all_of(values_.begin(), values_.end(), [](double x) { return std::isfinite(x); })) return false;
  }
  return factorise_regularised();
}

bool RestSystem::factorise_regularised() {
  if (first_multiplier_ == size()) return false;
  double largest = 0;
  for (int i = 0; i < first_multiplier_; ++i) largest = std::max(largest, std::abs(values_[at(diagonal_[at(i)])]));
  // rows between parts without mass, or of the nodes alone: the diagonal is rounding; the nodes' matrix is about one
  double entry = first_multiplier_ > 0 ? 0.0 : 1.0;
  for (const double x : values_) entry = std::max(entry, std::abs(x));
  if (largest < massless * entry) largest = entry;
  const Vector exact = values_;
  ProximalRefinement::Shifts shifts;
  shifts.see(largest);
  const auto diagonal = [&](int i) { return exact[at(diagonal_[at(i)])]; };
  std::vector<ProximalRefinement::Shifts::Entry> entries;
  for (int i = first_multiplier_; i < size(); ++i) {
    entries.clear();
    for (int k = R_->row_start[at(i)]; k < R_->row_start[at(i + 1)]; ++k)
      if (const int j = R_->column[at(k)]; j < first_multiplier_) entries.push_back({exact[at(k)], diagonal(j)});
    shifts.add_row(entries, std::abs(diagonal(i)));  // the diagonal entry is what the nodes give
  }
  for (const bool by_row : {true, false}) {
    for (int i = first_multiplier_; i < size(); ++i)
      values_[at(diagonal_[at(i)])] = diagonal(i) - shifts.of(i - first_multiplier_, by_row);
    solver_.renew();
    regularised_ = solver_.factorise(values_) == FactorStatus::ok;
    if (regularised_) break;
  }
  values_ = exact;
  return regularised_;
}

void RestSystem::solve(Out w) {
  if (regularised_)
    refinement_.solve(solver_, *R_, values_, first_multiplier_, w);
  else
    solver_.solve(w);
}

int RestSystem::size_of(int node) const {
  const int first = first_of_node_[at(node)];
  int size = 1;
  while (size < 3 && first + size < pattern_->rows && node_[at(first + size)] == node) ++size;
  return size;
}

void RestSystem::subtract_reactions(const double* z, Out w) const {
  for (const Coupled& c : coupled_) {
    const double* const own = z + first_of_node_[at(c.node)];
    const int size = size_of(c.node);
    double x[3] = {0, 0, 0};
    std::copy_n(own, size, x);
    for (const Entry& e : std::span(entries_).subspan(c.first, c.count))
      w[e.place] -= e.c[0] * x[0] + e.c[1] * x[1] + e.c[2] * x[2];
  }
}

}  // namespace carom
