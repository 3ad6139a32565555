// The entries of Delassus' operator (delassus.hpp), and their patterns in sparse islands.
#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"
#include "core/linear/delassus.hpp"

namespace carom {

namespace {
constexpr std::size_t most_beside = 128;  // rows of an island whose columns are laid out though few entries are of use
}

// The column whose entries follow.
void Delassus::lay_out(const CondensedRow& column) {
  for (const CondensedRow::Part& part : column.parts) laid_out_[at(part.component)] = column.column.data() + part.first;
}

void Delassus::clear_away(const CondensedRow& column) {
  for (const CondensedRow::Part& part : column.parts) laid_out_[at(part.component)] = nullptr;
}

void Delassus::list_segments(Rows rows) {
  if (!segment_first_.empty()) return;
  segments_.clear();
  segment_first_.push_back(0);
  for (const CondensedRow* const row : rows) {
    const std::vector<int>& equation = row->G.equation;
    for (std::size_t k = 0; k < equation.size(); ++k) {
      const int c = components_.of(equation[k]);
      if (segments_.size() == segment_first_.back() || segments_.back().component != c) segments_.push_back({c, k, k});
      segments_.back().last = k + 1;
    }
    segment_first_.push_back(segments_.size());
  }
}

// The entry of D in the given row, in the column that is laid out.
double Delassus::entry(const SparseRow& G, std::size_t row) const {
  double sum = 0;
  for (std::size_t i = segment_first_[row]; i < segment_first_[row + 1]; ++i) {
    const Segment& s = segments_[i];
    const double* const part = laid_out_[at(s.component)];
    if (part == nullptr) continue;
    for (std::size_t k = s.first; k < s.last; ++k) sum += G.value[k] * part[components_.place(G.equation[k])];
  }
  return sum;
}

// The columns of an island side by side in columns_, whose row of an equation follows from number_ of its component;
// false, and nothing is done, if its components have many more equations than the island has rows, or if the columns
// are long and many: most of their entries are then of no use.
bool Delassus::lay_out_beside(const Island& island, Rows rows) {
  const std::size_t n = island.size(), most = n > most_beside ? 3 * n : beside_share * n;
  std::size_t equations = 0;
  for (std::size_t i = island.first; i < island.last && equations <= most; ++i)
    for (const int c : touched(order_[i])) {
      if (number_[at(c)] >= 0) continue;
      number_[at(c)] = static_cast<int>(equations);
      equations += components_.equations(c).size();
    }
  if (equations > most) {
    clear_numbers(island);
    return false;
  }
  columns_.assign(equations * n, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    const CondensedRow& row = *rows[order_[island.first + j]];
    for (const CondensedRow::Part& part : row.parts) {
      double* to = columns_.data() + at(number_[at(part.component)]) * n + j;
      const double* from = row.column.data() + part.first;
      for (std::size_t k = components_.equations(part.component).size(); k > 0; --k, to += n) *to = *from++;
    }
  }
  return true;
}

void Delassus::clear_numbers(const Island& island) {
  for (std::size_t i = island.first; i < island.last; ++i)
    for (const int c : touched(order_[i])) number_[at(c)] = -1;
}

// Row-major.
void Delassus::find_dense_values(const Island& island, Rows rows, bool scaled, double* values) {
  const std::size_t n = island.size();
  if (lay_out_beside(island, rows)) {
    for (std::size_t i = 0; i < n; ++i) {
      const SparseRow& G = rows[order_[island.first + i]]->G;
      double* const D = values + i * n;
      std::fill_n(D, n, 0.0);
      for (std::size_t k = 0; k < G.equation.size(); ++k) {
        const int e = G.equation[k];
        const double g = G.value[k];
        const double* const c = columns_.data() + (at(number_[at(components_.of(e))]) + components_.place(e)) * n;
        for (std::size_t j = 0; j < n; ++j) D[j] += g * c[j];
      }
      for (std::size_t j = 0; j < n && scaled; ++j) D[j] *= scale_[island.first + i] * scale_[island.first + j];
    }
    clear_numbers(island);
    return;
  }
  list_segments(rows);
  for (std::size_t j = 0; j < n; ++j) {
    const CondensedRow& column = *rows[order_[island.first + j]];
    lay_out(column);
    for (std::size_t i = 0; i < n; ++i) {
      const double share = scaled ? scale_[island.first + i] * scale_[island.first + j] : 1.0;
      const std::size_t row = order_[island.first + i];
      values[i * n + j] = entry(rows[row]->G, row) * share;
    }
    clear_away(column);
  }
}

// Rows of bodies of very different mass are no redundant rows: judge rank with a unit diagonal.
void Delassus::scale_rows(const Island& island, Rows rows) {
  list_segments(rows);
  for (std::size_t k = island.first; k < island.last; ++k) {
    const CondensedRow& row = *rows[order_[k]];
    lay_out(row);
    const double d = std::abs(entry(row.G, order_[k]));
    clear_away(row);
    scale_[k] = d > 0 ? 1 / std::sqrt(d) : 1.0;
  }
}

void Delassus::list_rows_of_components(const Island& island) {
  for (std::size_t k = island.first; k < island.last; ++k)
    for (const int c : touched(order_[k])) rows_of_component_[at(c)].clear();
  for (std::size_t k = island.first; k < island.last; ++k)
    for (const int c : touched(order_[k])) rows_of_component_[at(c)].push_back(static_cast<int>(k - island.first));
}

void Delassus::find_pattern(const Island& island, SparsePattern& pattern) const {
  pattern.rows = pattern.cols = static_cast<int>(island.size());
  pattern.row_start.assign(1, 0);
  pattern.column.clear();
  for (std::size_t k = island.first; k < island.last; ++k) {
    const auto first = static_cast<std::ptrdiff_t>(pattern.column.size());
    for (const int c : touched(order_[k]))
      pattern.column.insert(pattern.column.end(), rows_of_component_[at(c)].begin(), rows_of_component_[at(c)].end());
    std::sort(pattern.column.begin() + first, pattern.column.end());
    pattern.column.erase(std::unique(pattern.column.begin() + first, pattern.column.end()), pattern.column.end());
    pattern.row_start.push_back(pattern.nonzeros());
  }
}

// The pattern is symmetric: the rows of a column's entries are the columns of the row of the same number.
void Delassus::find_values(const Island& island, Rows rows, const SparsePattern& pattern, bool scaled, Out values) {
  list_segments(rows);
  next_.assign(pattern.row_start.begin(), pattern.row_start.end() - 1);
  for (int j = 0; j < pattern.rows; ++j) {
    const CondensedRow& column = *rows[order_[island.first + at(j)]];
    lay_out(column);
    for (int k = pattern.row_start[at(j)]; k < pattern.row_start[at(j + 1)]; ++k) {
      const std::size_t i = at(pattern.column[at(k)]);
      const double share = scaled ? scale_[island.first + i] * scale_[island.first + at(j)] : 1.0;
      const std::size_t row = order_[island.first + i];
      values[next_[i]++] = entry(rows[row]->G, row) * share;
    }
    clear_away(column);
  }
}

// The pattern of D, in which all rows of a contact have the columns of any of them.
void Delassus::find_law_pattern(const Island& island, const CondensedLaw& law) {
  find_pattern(island, law_pattern_);
  const SparsePattern single = law_pattern_;
  const int n = single.rows;
  std::vector<int> first(at(n)), last(at(n));  // of the contact of a row
  for (int i = 0; i < n; ++i) {
    const bool follows = i > 0 && law.follows(order_[island.first + at(i)]);
    first[at(i)] = follows ? first[at(i - 1)] : i;
  }
  for (int i = n - 1; i >= 0; --i)
    last[at(i)] = i + 1 < n && first[at(i + 1)] == first[at(i)] ? last[at(i + 1)] : i + 1;
  law_pattern_.row_start.assign(1, 0);
  law_pattern_.column.clear();
  std::vector<int> columns;
  for (int i = 0; i < n; ++i) {
    if (first[at(i)] == i) {
      columns.clear();
      for (int k = single.row_start[at(i)]; k < single.row_start[at(last[at(i)])]; ++k)
        columns.push_back(first[at(single.column[at(k)])]);
      std::sort(columns.begin(), columns.end());
      columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    }
    for (const int f : columns)
      for (int j = f; j < last[at(f)]; ++j) law_pattern_.column.push_back(j);
    law_pattern_.row_start.push_back(law_pattern_.nonzeros());
  }
}

}  // namespace carom
