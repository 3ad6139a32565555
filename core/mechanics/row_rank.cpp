#include "core/mechanics/row_rank.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>
#include <utility>

namespace carom {

namespace {

// Smaller entries of rows of unit length are rounding errors.
constexpr double rounding = 1e-13;

using Entry = std::pair<int, double>;  // column in elimination order, value
using Row = std::vector<Entry>;

// Positions of the columns in an elimination order that keeps R sparse; the position of empty columns is arbitrary.
std::vector<int> column_places(std::span<const SparseRow> rows, int columns) {
  std::vector<Eigen::Triplet<double>> entries;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const int e : rows[i].equation)
      if (e < columns) entries.emplace_back(static_cast<int>(i), e, 1.0);
  Eigen::SparseMatrix<double> G(static_cast<int>(rows.size()), columns);
  G.setFromTriplets(entries.begin(), entries.end());
  G.makeCompressed();
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> order;
  Eigen::COLAMDOrdering<int>()(G, order);
  return {order.indices().data(), order.indices().data() + columns};
}

// The row scaled to unit length, in elimination order, carried entries behind; without a nonzero entry in the columns
// only the carried ones, as they are.
Row unit_row(const SparseRow& given, const std::vector<int>& places) {
  const int columns = static_cast<int>(places.size());
  Row row;
  for (std::size_t k = 0; k < given.equation.size(); ++k) {
    const int e = given.equation[k];
    if (given.value[k] != 0) row.emplace_back(e < columns ? places[at(e)] : e, given.value[k]);
  }
  std::stable_sort(row.begin(), row.end(), [](const Entry& a, const Entry& b) { return a.first < b.first; });
  std::size_t n = 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (n > 0 && row[n - 1].first == row[k].first)
      row[n - 1].second += row[k].second;
    else
      row[n++] = row[k];
  }
  row.resize(n);
  double sum = 0;
  for (const Entry& e : row) sum += e.first < columns ? e.second * e.second : 0.0;
  if (!(sum > 0)) return row;
  for (Entry& e : row) e.second /= std::sqrt(sum);
  // rounding errors must not become pivots
  std::erase_if(row, [](const Entry& e) { return std::abs(e.second) < rounding; });
  return row;
}

// Givens rotation of `pivot` and `row`, which begin in the same column: the first entry of `row` becomes zero.
void rotate(Row& pivot, Row& row, Row& new_pivot, Row& new_row) {
  const double a = pivot.front().second, b = row.front().second, r = std::hypot(a, b), c = a / r, s = b / r;
  new_pivot.clear();
  new_row.clear();
  new_pivot.emplace_back(pivot.front().first, r);
  std::size_t i = 1, j = 1;
  while (i < pivot.size() || j < row.size()) {
    const bool in_pivot = i < pivot.size() && (j == row.size() || pivot[i].first <= row[j].first);
    const bool in_row = j < row.size() && (i == pivot.size() || row[j].first <= pivot[i].first);
    const int column = in_pivot ? pivot[i].first : row[j].first;
    const double x = in_pivot ? pivot[i++].second : 0.0, y = in_row ? row[j++].second : 0.0;
    if (const double p = c * x + s * y; std::abs(p) > rounding) new_pivot.emplace_back(column, p);
    if (const double q = c * y - s * x; std::abs(q) > rounding) new_row.emplace_back(column, q);
  }
  pivot.swap(new_pivot);
  row.swap(new_row);
}

}  // namespace

RowRank row_rank(std::span<const SparseRow> rows, int columns, double tolerance) {
  RowRank result;
  if (rows.empty()) return result;
  const std::vector<int> places = column_places(rows, columns);
  std::vector<Row> R(at(columns));
  Row scratch_pivot, scratch_row;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row row = unit_row(rows[i], places);
    while (!row.empty() && row.front().first < columns && !R[at(row.front().first)].empty())
      rotate(R[at(row.front().first)], row, scratch_pivot, scratch_row);
    double left = 0;
    for (const Entry& e : row) left += e.first < columns ? e.second * e.second : 0.0;
    if (!(std::sqrt(left) > tolerance)) {
      result.redundant.push_back(static_cast<int>(i));
      SparseRow& carried = result.left.emplace_back();
      for (const Entry& e : row) {
        if (e.first < columns) continue;
        carried.equation.push_back(e.first);
        carried.value.push_back(e.second);
      }
      continue;
    }
    ++result.rank;
    const std::size_t column = at(row.front().first);
    R[column] = std::move(row);
  }
  return result;
}

RowRank row_rank(const System& system, In q, double t, std::span<const int> rows, double tolerance) {
  std::vector<SparseRow> G(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) system.row_gradient(rows[i], q, t, nullptr, G[i]);
  return row_rank(G, system.size(), tolerance);
}

}  // namespace carom
