#include "core/linear/proximal.hpp"

#include <cmath>
#include <utility>

#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr int sweeps = 3, most_sweeps = 30;
constexpr double solved = 1e-3;          // of the largest residual of the rows: more tells of rows that converge slowly
constexpr double regularisation = 1e-8;  // of the largest diagonal entry, as long as that is less than
constexpr double largest_share = 1e-7;   // of what a row has
constexpr double massless = 1e-14;       // of the largest diagonal entry: a smaller one tells nothing
constexpr double short_entry = 0.1;      // of the longest of a row: others hardly move it
// squared change of a correction, relative, below which it comes again: for certain, and at last
constexpr double settled = 1e-10, same = 0.01;

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
  const auto part = [&](std::size_t i) { return part_of_row.empty() ? 0 : at(part_of_row[i]); };
  parts_.assign(at(parts), {});
  bool open = true;
  for (int k = 1; open; ++k) {
    for (Part& p : parts_) p.rows = p.size = p.change = 0;
    // that of the right-hand side, or where its rows are zero that behind the first correction
    for (std::size_t i = at(first_multiplier); k <= 2 && i < b.size(); ++i)
      parts_[part(i)].largest = std::max(parts_[part(i)].largest, std::abs(residual_[i]));
    std::swap(previous_, correction_);
    copy(residual_, correction_);
    solver.solve(correction_);
    for (std::size_t i = 0; i < b.size() && k > sweeps; ++i)
      if (parts_[part(i)].sweeps > 0) correction_[i] = 0;  // this part has ended
    add_correction(1);
    if (k < sweeps) continue;
    for (std::size_t i = at(first_multiplier); i < b.size(); ++i) {
      Part& p = parts_[part(i)];
      const double difference = correction_[i] - previous_[i];
      p.size += correction_[i] * correction_[i];
      p.change += difference * difference;
      p.rows = std::max(p.rows, std::abs(residual_[i]));
    }
    open = false;
    bool any = false;
    for (Part& p : parts_) {
      p.drops = false;
      if (p.sweeps > 0) continue;
      const bool slow = p.rows > solved * p.largest && p.change > settled * p.size && k < most_sweeps;
      open = open || slow;
      if (slow) continue;
      p.sweeps = k;
      p.drops = p.change < same * p.size;
      any = any || p.drops;
    }
    if (!any) continue;
    copy(correction_, previous_);  // other parts may go on with theirs
    for (std::size_t i = 0; i < b.size(); ++i)
      if (!parts_[part(i)].drops) correction_[i] = 0;
    add_correction(-k);
    std::swap(correction_, previous_);
  }
}

}  // namespace carom
