// SaddlePoint: rotations as lengths and rows over their weights, by powers of two.

#include "core/mechanics/saddle_point.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/parallel.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

double nearest_power(double x) { return std::exp2(std::round(std::log2(x))); }

}  // namespace

Vector row_weights(const System& system, double length) {
  // of every equation: its vector, which is the translation or the rotation of a node, and its unit
  const int n = system.size();
  std::vector<int> vector_of(at(n));
  Vector unit(at(n), 1.0), weights(at(system.rows()), 1.0);
  for (int i = 0; i < n; ++i) vector_of[at(i)] = 2 * system.equation_node(i);
  for (const DofMap::Frame& f : system.dofs().rotating_frames())
    for (int c = 0; c < 3; ++c) {
      unit[at(f.equation + c)] = 1 / length;
      ++vector_of[at(f.equation + c)];
    }
  SparseRow G;
  for (int i = 0; i < system.rows(); ++i) {
    system.row_gradient(i, system.initial_configuration(), 0.0, nullptr, G);
    // gaps are lengths as they are, unless they are angles
    bool angle = true;
    for (std::size_t k = 0; k < G.equation.size(); ++k)
      angle = angle && (G.value[k] == 0 || vector_of[at(G.equation[k])] % 2 != 0);
    if (i >= system.bilateral() && !angle) continue;
    double largest = 0;
    for (std::size_t k = 0; k < G.equation.size(); ++k) {
      double sum = 0;
      for (std::size_t l = 0; l < G.equation.size(); ++l) {
        const double x = G.value[l] * unit[at(G.equation[l])];
        if (vector_of[at(G.equation[l])] == vector_of[at(G.equation[k])]) sum += x * x;
      }
      largest = std::max(largest, std::sqrt(sum));
    }
    if (largest > 0 && std::isfinite(largest)) weights[at(i)] = largest;
  }
  return weights;
}

void SaddlePoint::set_units(double length) {
  const Vector weights = row_weights(*system_, length);
  const int n = n_ / parts_;
  unit_.assign(at(n_ + n_b_), 1.0);
  for (int p = 0; p < parts_; ++p) {
    for (const DofMap::Frame& f : system_->dofs().rotating_frames())
      for (int c = 0; c < 3; ++c) unit_[at(p * n + f.equation + c)] = nearest_power(1 / length);
    for (int i = 0; i < rows_of_part_; ++i) unit_[at(n_ + p * rows_of_part_ + i)] = nearest_power(1 / weights[at(i)]);
  }
  if (std::all_of(unit_.begin(), unit_.end(), [](double u) { return u == 1; })) unit_.clear();
}

void SaddlePoint::measure_row(int row, double weight) {
  const double unit = nearest_power(1 / weight);
  if (unit_.empty()) {
    if (unit == 1) return;
    unit_.assign(at(n_ + n_b_), 1.0);
  }
  for (int p = 0; p < parts_; ++p) {
    double& now = unit_[at(n_ + p * rows_of_part_ + row)];
    if (now == unit) continue;
    now = unit;
    forget();
  }
}

void SaddlePoint::to_units(Vector& values) const {
  if (unit_.empty()) return;
  for_ranges(at(n_ + n_b_), 1024, system_->threads(), [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      for (int k = pattern_->row_start[i]; k < pattern_->row_start[i + 1]; ++k)
        values[at(k)] *= unit_[i] * unit_[at(pattern_->column[at(k)])];
  });
}

void SaddlePoint::scale_by_units(Vector& b) const {
  for (std::size_t i = 0; i < unit_.size(); ++i) b[i] *= unit_[i];
}

}  // namespace carom
