// SwitchingJointBlock: measures, and the rows of one mode with their gradients and reactions.

#include <algorithm>
#include <cmath>

#include "elements/joints/switching_joints.hpp"

namespace carom {

// ---- measures

const CoordinateState& SwitchingJointBlock::state(int measure, const ConstraintInput& in, CoordinateOrder order) const {
  const auto [a, b] = measure_slots_[at(measure)];
  evaluate_coordinate(measures_[at(measure)], configuration(in, 0, a), node_kind(0, a), configuration(in, 0, b),
                      node_kind(0, b), order, state_);
  return state_;
}

// Of the twelve local components of a measure.
int SwitchingJointBlock::local(int measure, int component) const {
  return components * measure_slots_[at(measure)][component < components ? 0 : 1] + component % components;
}

SwitchingJointBlock::Point SwitchingJointBlock::measures(const ConstraintInput& in) const {
  Point p;
  for (int i = 0; i < static_cast<int>(measures_.size()); ++i) {
    const CoordinateState& s = state(i, in, in.v == nullptr ? CoordinateOrder::value : CoordinateOrder::gradient);
    p.x.push_back(s.value);
    if (in.v == nullptr) continue;
    double rate = 0;
    for (int k = 0; k < 12; ++k) rate += s.G[k] * in.v[local(i, k)];
    p.rates.push_back(rate);
  }
  p.x.push_back(in.t);
  return p;
}

double SwitchingJointBlock::condition(int mode, const ConstraintInput& in) const {
  ConstraintInput place = in;
  place.v = nullptr;
  return value(modes_[at(mode)].condition, measures(place).x);
}

Vector SwitchingJointBlock::formula_gradient(const JointFormula& f, const ConstraintInput& in) const {
  const std::size_t n = measures_.size() + 1;
  ConstraintInput place = in;
  place.v = nullptr;
  const Vector x = measures(place).x;
  Vector slope(n), G(at(topology().local_size), 0.0);
  f.formula.gradient(x, slope);
  for (int i = 0; i + 1 < static_cast<int>(n); ++i) {
    if (slope[at(i)] == 0) continue;
    const CoordinateState& s = state(i, in, CoordinateOrder::gradient);
    for (int k = 0; k < 12; ++k) G[at(local(i, k))] += slope[at(i)] * s.G[k];
  }
  return G;
}

double SwitchingJointBlock::crossing_rate(int from, const ConstraintInput& in) const {
  const Point p = measures(in);
  Vector slope(p.x.size());
  modes_[at(from)].condition.formula.gradient(p.x, slope);
  double rate = slope.back();
  for (std::size_t i = 0; i < p.rates.size(); ++i) rate += slope[i] * p.rates[i];
  return -rate;
}

// ---- rows

// A row of a formula; `values` are those of the row.
void SwitchingJointBlock::add_row(const JointFormula& f, const ConstraintInput& in, int row,
                                  const ConstraintValues& values) const {
  const std::size_t n = measures_.size() + 1, m = at(topology().local_size);
  const Point p = measures(in);
  Vector slope(n), bend(n * n);
  const double g = f.formula.hessian(p.x, slope, bend);
  if (values.gap != nullptr) values.gap[row] = g;
  double* const G = values.gradient == nullptr ? nullptr : values.gradient + at(row) * m;
  double* const Dg = values.gap_gradient == nullptr ? nullptr : values.gap_gradient + at(row) * m;
  double* const D = values.rate_gradient == nullptr || in.v == nullptr ? nullptr : values.rate_gradient + at(row) * m;
  double rate = slope[n - 1], bias = bend[n * n - 1];
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const int measure = static_cast<int>(i);
    const CoordinateState& s =
        state(measure, in, in.v == nullptr ? CoordinateOrder::gradient : CoordinateOrder::second);
    double turn = 0;  // f_it + sum_j f_ij s_j'
    if (in.v != nullptr) {
      rate += slope[i] * p.rates[i];
      turn = bend[i * n + n - 1];
      for (std::size_t j = 0; j + 1 < n; ++j) turn += bend[i * n + j] * p.rates[j];
      bias += (turn + bend[i * n + n - 1]) * p.rates[i];
    }
    for (int k = 0; k < 12; ++k) {
      const std::size_t place = at(local(measure, k));
      if (G != nullptr) G[place] += slope[i] * s.G[k];
      if (Dg != nullptr) Dg[place] += slope[i] * s.G[k];
      if (in.v == nullptr) continue;
      double vH = 0;
      for (int l = 0; l < 12; ++l) vH += in.v[local(measure, l)] * s.H(l, k);
      if (D != nullptr) D[place] += turn * s.G[k] + slope[i] * vH;
      bias += slope[i] * vH * in.v[place];
    }
  }
  if (in.v == nullptr) return;
  if (values.rate != nullptr) values.rate[row] = rate;
  if (values.bias != nullptr) values.bias[row] = bias;
}

// The rows of a mode; all others are zero.
void SwitchingJointBlock::fill(int mode, const ConstraintInput& in, const ConstraintValues& values) const {
  const std::size_t all = at(rows()), m = at(topology().local_size);
  for (double* const row : {values.gap, values.rate, values.bias})
    if (row != nullptr) std::fill_n(row, all, 0.0);
  for (double* const row : {values.gradient, values.gap_gradient, values.rate_gradient})
    if (row != nullptr) std::fill_n(row, all * m, 0.0);
  if (mode < 0) return;
  for (const Part& part : parts_) {
    if (!holds(mode, part.first_row)) continue;
    const std::size_t r = at(part.block->rows()), size = part.local.size();
    v_.resize(size);
    values_.assign(3 * r + 3 * r * size, 0.0);
    ConstraintInput own = in;
    if (in.v != nullptr) {
      for (std::size_t k = 0; k < size; ++k) v_[k] = in.v[part.local[k]];
      own.v = v_.data();
    }
    const bool moves = in.v != nullptr;
    double* const w = values_.data();
    ConstraintValues wanted;
    if (values.gap != nullptr) wanted.gap = w;
    if (values.rate != nullptr && moves) wanted.rate = w + r;
    if (values.bias != nullptr && moves) wanted.bias = w + 2 * r;
    if (values.gradient != nullptr || values.gap_gradient != nullptr) wanted.gradient = w + 3 * r;
    if (values.rate_gradient != nullptr && moves) wanted.rate_gradient = w + 3 * r + r * size;
    part.block->evaluate({part.item, part.item + 1}, own, wanted);
    for (std::size_t k = 0; k < r; ++k) {
      const std::size_t row = at(part.first_row) + k;
      if (wanted.gap != nullptr) values.gap[row] = wanted.gap[k];
      if (wanted.rate != nullptr) values.rate[row] = wanted.rate[k];
      if (wanted.bias != nullptr) values.bias[row] = wanted.bias[k];
      // two slots of a joint may be the ground, whose components count for nothing
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t place = row * m + at(part.local[i]);
        if (values.gradient != nullptr) values.gradient[place] += wanted.gradient[k * size + i];
        if (values.gap_gradient != nullptr) values.gap_gradient[place] += wanted.gradient[k * size + i];
        if (wanted.rate_gradient != nullptr) values.rate_gradient[place] += wanted.rate_gradient[k * size + i];
      }
    }
  }
  const JointMode& of = modes_[at(mode)];
  for (std::size_t k = 0; k < of.constraints.size(); ++k)
    add_row(of.constraints[k], in, rows_of_formulas().first + static_cast<int>(k), values);
}

void SwitchingJointBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  if (range.size() > 0) fill(mode_, in, values);
}

// The gradients of the rows of a mode, without those of others.
SwitchingJointBlock::Matrix SwitchingJointBlock::gradients(int mode, const ConstraintInput& in) const {
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> all(rows(), topology().local_size);
  ConstraintInput place = in;
  place.v = nullptr;
  ConstraintValues wanted;
  wanted.gradient = all.data();
  fill(mode, place, wanted);
  Matrix G(std::ranges::count(holds_[at(mode)], 1), all.cols());
  Eigen::Index k = 0;
  for (int row = 0; row < rows(); ++row)
    if (holds(mode, row)) G.row(k++) = all.row(row);
  return G;
}

void SwitchingJointBlock::measure(const ConstraintInput& in, double length, double* weights) const {
  std::fill_n(weights, rows(), 1.0);
  if (mode_ < 0) return;
  ConstraintInput place = in;
  place.v = nullptr;
  const Matrix G = gradients(mode_, place);
  Eigen::Index k = 0;
  for (int row = 0; row < rows(); ++row) {
    if (!holds(mode_, row)) continue;
    // the translation or the rotation of a node
    double largest = 0;
    for (Eigen::Index i = 0; i + 2 < G.cols(); i += 3)
      largest = std::max(largest, G.row(k).segment<3>(i).norm() / (i % components < 3 ? 1.0 : length));
    if (largest > 0 && std::isfinite(largest)) weights[row] = largest;
    ++k;
  }
}

void SwitchingJointBlock::add_reactions(int mode, const ConstraintInput& in, const double* s, double* f) const {
  if (mode < 0) return;
  ConstraintInput place = in;
  place.v = nullptr;
  for (const Part& part : parts_) {
    const double* const own = s + part.first_row;
    if (!holds(mode, part.first_row) || std::all_of(own, own + part.block->rows(), [](double x) { return x == 0; }))
      continue;
    values_.assign(part.local.size(), 0.0);
    part.block->add_reaction({part.item, part.item + 1}, place, own, values_.data());
    for (std::size_t i = 0; i < part.local.size(); ++i) f[part.local[i]] += values_[i];
  }
  const JointMode& of = modes_[at(mode)];
  for (std::size_t k = 0; k < of.constraints.size(); ++k) {
    const double share = s[at(rows_of_formulas().first) + k];
    if (share == 0) continue;
    const Vector G = formula_gradient(of.constraints[k], in);
    for (std::size_t i = 0; i < G.size(); ++i) f[i] += share * G[i];
  }
}

void SwitchingJointBlock::add_gradients(int mode, const ConstraintInput& in, const double* s, double c,
                                        double* A) const {
  if (mode < 0) return;
  const std::size_t m = at(topology().local_size), n = measures_.size() + 1;
  ConstraintInput place = in;
  place.v = nullptr;
  for (const Part& part : parts_) {
    const double* const own = s + part.first_row;
    if (!holds(mode, part.first_row) || part.block->traits().linear ||
        std::all_of(own, own + part.block->rows(), [](double x) { return x == 0; }))
      continue;
    const std::size_t size = part.local.size();
    values_.assign(size * size, 0.0);
    part.block->add_reaction_gradient({part.item, part.item + 1}, place, own, c, values_.data());
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) A[at(part.local[i]) * m + at(part.local[j])] += values_[i * size + j];
  }
  const JointMode& of = modes_[at(mode)];
  for (std::size_t k = 0; k < of.constraints.size(); ++k) {
    const double share = c * s[at(rows_of_formulas().first) + k];
    if (share == 0) continue;
    const Vector x = measures(place).x;
    Vector slope(n), bend(n * n);
    of.constraints[k].formula.hessian(x, slope, bend);
    std::vector<Eigen::Matrix<double, 12, 1>> G;
    for (int i = 0; i + 1 < static_cast<int>(n); ++i) {
      const CoordinateState& state_i = state(i, place, CoordinateOrder::second);
      G.push_back(state_i.G);
      for (int a = 0; a < 12; ++a)
        for (int b = 0; b < 12; ++b) A[at(local(i, a)) * m + at(local(i, b))] += share * slope[at(i)] * state_i.H(a, b);
    }
    for (int i = 0; i + 1 < static_cast<int>(n); ++i)
      for (int j = 0; j + 1 < static_cast<int>(n); ++j)
        for (int a = 0; a < 12; ++a)
          for (int b = 0; b < 12; ++b)
            A[at(local(i, a)) * m + at(local(j, b))] += share * bend[at(i) * n + at(j)] * G[at(i)][a] * G[at(j)][b];
  }
}

}  // namespace carom
