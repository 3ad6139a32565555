#include "core/linear/node_factors.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "core/base/index.hpp"

namespace carom {

bool NodeFactors::build(const NodeMatrix& matrix, const NodeRows& rows) {
  held_.build(matrix, rows);
  const int nodes = static_cast<int>(held_.count());
  const auto each_entry = [&](const auto& visit) {  // of the upper triangle, row by row
    for (int g = 0; g < nodes; ++g)
      for (int i = 0; i < 3; ++i)
        for (const int k : std::span(order_).subspan(at(start_[at(g)]), at(start_[at(g) + 1] - start_[at(g)])))
          for (int j = column_[at(k)] > g ? 0 : column_[at(k)] == g ? i : 3; j < 3; ++j)
            visit(3 * g + i, 3 * column_[at(k)] + j, held_.blocks()[9 * at(k) + at(3 * i + j)]);
  };
  if (solver_ == nullptr || start_ != held_.start() || column_ != held_.column()) {
    start_ = held_.start();
    column_ = held_.column();
    order_.resize(column_.size());
    std::iota(order_.begin(), order_.end(), 0);
    for (int g = 0; g < nodes; ++g)
      std::sort(order_.begin() + start_[at(g)], order_.begin() + start_[at(g) + 1],
                [&](int a, int b) { return column_[at(a)] < column_[at(b)]; });
    SparsePattern pattern{3 * nodes, 3 * nodes, std::vector<int>(at(3 * nodes) + 1, 0), {}};
    each_entry([&](int row, int column, double) {
      pattern.column.push_back(column);
      pattern.row_start[at(row) + 1] = static_cast<int>(pattern.column.size());
    });
    pattern_ = std::make_shared<SparsePattern>(std::move(pattern));
    solver_ = detail::make_cholmod(pattern_);
  }
  values_.clear();
  each_entry([&](int, int, double value) { values_.push_back(value); });
  LinearCounters not_reported;  // `factor_matrices` counts the matrices
  return solver_->factorise(values_, not_reported) == detail::Outcome::ok;
}

void NodeFactors::apply(const double* r, double* z, int vectors) {
  const std::size_t n = 3 * held_.count(), rows = at(held_.rows());
  x_.resize(n * at(vectors));
  for (int c = 0; c < vectors; ++c) held_.gather(r + at(c) * rows, x_.data() + at(c) * n);
  solver_->solve(x_.data(), vectors);
  for (int c = 0; c < vectors; ++c) held_.scatter(x_.data() + at(c) * n, z + at(c) * rows);
}

}  // namespace carom
