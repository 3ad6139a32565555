#include "core/mechanics/row_conflict.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "core/mechanics/row_rank.hpp"

namespace carom {

namespace {

constexpr int most_named = 3000;         // rows up to which w is computed: its fill is that of a dense matrix
constexpr double smallest_share = 1e-6;  // of the largest entry of w

}  // namespace

std::optional<RowConflict> find_conflict(const System& system, In q, double t, In b, double length, double least,
                                         double share) {
  const int n = system.size(), m = system.bilateral();
  if (m == 0) return std::nullopt;
  if (!(max_abs(b.first(at(m))) > 0) || !all_finite(b.first(at(m)))) return std::nullopt;

  Vector unit(at(n), 1.0);
  for (const DofMap::Frame& f : system.dofs().rotating_frames())
    for (int c = 0; c < 3; ++c) unit[at(f.equation + c)] = 1 / length;
  // column n carries b; columns n + 1 + i carry the unit rows, which become w
  std::vector<SparseRow> rows(at(m));
  Vector norms(at(m));
  double largest = 0;
  for (int i = 0; i < m; ++i) {
    SparseRow& row = rows[at(i)];
    system.row_gradient(i, q, t, nullptr, row);
    double sum = 0;
    for (std::size_t k = 0; k < row.equation.size(); ++k) {
      row.value[k] *= unit[at(row.equation[k])];
      sum += row.value[k] * row.value[k];
    }
    norms[at(i)] = sum > 0 ? std::sqrt(sum) : 1;
    largest = std::max(largest, std::abs(b[at(i)]) / norms[at(i)]);
  }
  for (int i = 0; i < m; ++i) {
    SparseRow& row = rows[at(i)];
    row.equation.push_back(n);
    row.value.push_back(b[at(i)] / largest);
    if (m > most_named) continue;
    row.equation.push_back(n + 1 + i);
    row.value.push_back(norms[at(i)]);
  }

  const RowRank rank = row_rank(rows, n);
  std::optional<RowConflict> conflict;
  double worst = std::max(least, share * largest);
  for (std::size_t k = 0; k < rank.redundant.size(); ++k) {
    const SparseRow& left = rank.left[k];
    if (left.equation.empty() || left.equation.front() != n) continue;
    const double miss = std::abs(left.value.front()) * largest;
    if (!(miss > worst)) continue;
    worst = miss;
    const int row = rank.redundant[k];
    conflict.emplace();
    double own = 1, largest_share = 0;
    for (std::size_t j = 1; j < left.equation.size(); ++j) {
      largest_share = std::max(largest_share, std::abs(left.value[j]));
      if (left.equation[j] == n + 1 + row) own = std::abs(left.value[j]);
    }
    for (std::size_t j = 1; j < left.equation.size(); ++j)
      if (std::abs(left.value[j]) > smallest_share * largest_share) conflict->rows.push_back(left.equation[j] - n - 1);
    if (conflict->rows.empty()) conflict->rows.push_back(row);
    std::sort(conflict->rows.begin(), conflict->rows.end());
    conflict->miss = miss * norms[at(row)] / own;
  }
  return conflict;
}

}  // namespace carom
