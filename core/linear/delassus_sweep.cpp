// Projected sweeps with Delassus' operator (delassus.hpp, sweep).
#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"
#include "core/linear/delassus.hpp"

namespace carom {

namespace {

constexpr int most_sweeps = 100;
constexpr double opening = 1e-6;         // of the largest value: rows that carry nothing and open
constexpr double settled_sweep = 1e-16;  // squared change by a sweep, of that by the first

}  // namespace

void Delassus::sweep(Rows rows, In b, Out l) {
  find_islands(rows);
  swept_sparse_ = false;
  scale_.resize(rows.size());
  for (Vector* x : {&b_, &residual_, &correction_}) x->resize(rows.size());
  for (int i = 0; i < island_count_; ++i) {
    const Island& island = islands_[at(i)];
    if (is_sparse(island))
      swept_sparse_ = true;
    else
      list_rows_of_components(island);
    find_pattern(island, sweep_pattern_);
    scale_rows(island, rows);
    sweep_values_.resize(sweep_pattern_.column.size());
    find_values(island, rows, sweep_pattern_, true, sweep_values_);
    const std::size_t n = island.size();
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t row = order_[island.first + k];
      b_[k] = b[row] * scale_[island.first + k];
      correction_[k] = l[row] / scale_[island.first + k];
    }
    sweep_island(n);
    for (std::size_t k = 0; k < n; ++k) l[order_[island.first + k]] = correction_[k] * scale_[island.first + k];
  }
}

// correction_: l; residual_: direction of the conjugate gradients, whose gradient is the change by a sweep.
void Delassus::sweep_island(std::size_t rows) {
  const std::size_t n = rows;
  const auto value = [&](std::size_t i) {
    double w = -b_[i];
    for (int k = sweep_pattern_.row_start[i]; k < sweep_pattern_.row_start[i + 1]; ++k)
      w += sweep_values_[at(k)] * correction_[at(sweep_pattern_.column[at(k)])];
    return w;
  };
  const auto sweep = [&] {
    double change = 0;
    for (std::size_t i = 0; i < n; ++i) {
      product_[i] = std::max(0.0, correction_[i] - value(i)) - correction_[i];
      correction_[i] += product_[i];
      change += product_[i] * product_[i];
    }
    return change;
  };
  product_.resize(n);
  double before = sweep();
  const double enough = settled_sweep * before;
  for (std::size_t i = 0; i < n; ++i) residual_[i] = product_[i];
  for (int k = 1; k < most_sweeps && before > enough; ++k) {
    const double now = sweep(), beta = now / before;
    before = now;
    for (std::size_t i = 0; i < n; ++i) {
      const double direction = beta <= 1 ? beta * residual_[i] : 0;
      correction_[i] += direction;
      residual_[i] = direction + product_[i];
    }
  }
  sweep();
  const double opens = opening * max_abs(In(b_).first(n));
  for (std::size_t i = 0; i < n; ++i) product_[i] = correction_[i] > 0 ? 0.0 : value(i);
  for (std::size_t i = 0; i < n; ++i)
    if (product_[i] > opens) correction_[i] = -product_[i];
}

}  // namespace carom
