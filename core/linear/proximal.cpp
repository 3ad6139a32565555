#include "core/linear/proximal.hpp"

#include <cmath>
#include <utility>

#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr int sweeps = 3;
constexpr double same = 0.01;  // squared change of a correction, relative, below which it comes again

}  // namespace

void ProximalRefinement::solve(LinearSolver& solver, const SparsePattern& pattern, In values, int first_multiplier,
                               Out b, std::span<const int> part_of_row, int parts) {
  for (Vector* x : {&residual_, &correction_, &previous_, &product_}) x->resize(b.size());
  copy(b, residual_);
  set_zero(b);
  const auto add_correction = [&](double times) {
    multiply(pattern, values, correction_, product_);
    axpy(times, correction_, b);
    axpy(-times, product_, residual_);
  };
  for (int k = 0; k < sweeps; ++k) {
    std::swap(previous_, correction_);
    copy(residual_, correction_);
    solver.solve(correction_);
    add_correction(1);
  }

  change_.assign(at(parts), 0.0);
  size_.assign(at(parts), 0.0);
  const auto part = [&](std::size_t i) { return part_of_row.empty() ? 0 : at(part_of_row[i]); };
  for (std::size_t i = at(first_multiplier); i < b.size(); ++i) {
    const double difference = correction_[i] - previous_[i];
    size_[part(i)] += correction_[i] * correction_[i];
    change_[part(i)] += difference * difference;
  }
  bool any = false;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const bool drop = change_[part(i)] < same * size_[part(i)];
    any = any || drop;
    if (!drop) correction_[i] = 0;
  }
  if (any) add_correction(-sweeps);
}

}  // namespace carom
