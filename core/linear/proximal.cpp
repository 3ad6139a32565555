#include "core/linear/proximal.hpp"

#include <cmath>
#include <utility>

#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr int sweeps = 3;
constexpr double regularisation = 1e-8;  // of the largest diagonal entry, as long as that is less than
constexpr double largest_share = 1e-7;   // of what a row has
constexpr double massless = 1e-14;       // of the largest diagonal entry: a smaller one tells nothing
constexpr double short_entry = 0.1;      // of the longest of a row: others hardly move it
constexpr double same = 0.01;            // squared change of a correction, relative, below which it comes again

}  // namespace

void ProximalRefinement::Shifts::add_row(std::span<const Entry> entries, double part) {
  double longest = 0, least = part > 0 ? part : unknown;
  for (const Entry& e : entries) longest = std::max(longest, std::abs(e.value));
  for (const Entry& e : entries)
    if (std::abs(e.value) > short_entry * longest && std::abs(e.diagonal) > massless * largest_)
      least = std::min(least, e.value * e.value / std::abs(e.diagonal));
  least_ = std::min(least_, least);
  rows_.push_back(least);
}

double ProximalRefinement::Shifts::of(int row, bool by_row) const {
  const double most = regularisation * largest_, own = rows_[at(row)];
  return by_row ? std::min(most, largest_share * (own < unknown ? own : least_)) : most;
}

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
