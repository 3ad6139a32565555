#include "elements/joints/switching_joints.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <utility>

namespace carom {

namespace {

constexpr double largest_misfit = 1e-6;    // of the joints of the next mode, of the length or of a radian
constexpr double surface_rounding = 1e-9;  // of the same
constexpr int places_between = 4;          // of a step, where a mode might be left and entered again
constexpr int components = 6;              // of a slot
constexpr int path_places = 512;           // of the path along which modes are tried at the start

// The nodes of all joints and measures, each once.
std::vector<int> nodes_of(const std::vector<SwitchingJoint>& joints, const std::vector<JointCoordinate>& measures) {
  std::vector<int> nodes;
  const auto take = [&](int node) {
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  };
  for (const SwitchingJoint& joint : joints)
    for (const auto& block : joint.rows->constraints())
      for (const int node : block->topology().nodes) take(node);
  for (const JointCoordinate& c : measures) {
    take(c.node_a);
    take(c.node_b);
  }
  return nodes;
}

Topology topology_of(const std::vector<SwitchingJoint>& joints, const std::vector<JointCoordinate>& measures) {
  std::vector<int> nodes = nodes_of(joints, measures);
  return {1, std::vector<Slot>(nodes.size(), Slot{0, components}), std::move(nodes)};
}

int row_count(const std::vector<SwitchingJoint>& joints, const std::vector<JointMode>& modes) {
  std::size_t rows = 0, formulas = 0;
  for (const SwitchingJoint& joint : joints)
    for (const auto& block : joint.rows->constraints()) rows += at(block->topology().items * block->rows());
  for (const JointMode& mode : modes) formulas = std::max(formulas, mode.constraints.size());
  return static_cast<int>(rows + formulas);
}

ConstraintTraits traits_of(const std::vector<SwitchingJoint>& joints, std::size_t measures,
                           const std::vector<JointMode>& modes) {
  ConstraintTraits t;
  t.has_formulas = true;
  for (const SwitchingJoint& joint : joints)
    for (const auto& block : joint.rows->constraints()) t.moving = t.moving || block->traits().moving;
  for (const JointMode& mode : modes)
    for (const JointFormula& g : mode.constraints) t.moving = t.moving || g.formula.depends_on(measures);
  return t;
}

// The cubic with values and slopes at the ends of [0, 1], or a line without slopes.
double interpolate(double s, double x_0, double x_1, bool slopes, double d_0, double d_1) {
  if (!slopes) return (1 - s) * x_0 + s * x_1;
  const double r = 1 - s;
  return r * r * ((1 + 2 * s) * x_0 + s * d_0) + s * s * ((1 + 2 * r) * x_1 - r * d_1);
}

}  // namespace

SwitchingJointBlock::SwitchingJointBlock(std::string name, std::vector<SwitchingJoint> joints,
                                         std::vector<JointCoordinate> measures, std::vector<JointMode> modes)
    : SwitchingBlock(std::move(name), topology_of(joints, measures), row_count(joints, modes),
                     traits_of(joints, measures.size(), modes)),
      joints_(std::move(joints)),
      measures_(std::move(measures)),
      modes_(std::move(modes)) {
  const std::vector<int>& nodes = topology().nodes;
  const auto slot = [&](int node) { return static_cast<int>(std::ranges::find(nodes, node) - nodes.begin()); };
  int row = 0;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const int first = row;
    for (const auto& block : joints_[j].rows->constraints())
      for (int item = 0; item < block->topology().items; ++item, row += block->rows()) {
        Part part{static_cast<int>(j), item, row, block.get(), {}};
        for (std::size_t k = 0; k < block->topology().slots.size(); ++k) {
          const Slot& of = block->topology().slots[k];
          const int place = components * slot(block->topology().node(item, static_cast<int>(k)));
          for (int c = 0; c < of.components; ++c) part.local.push_back(place + of.first_component + c);
        }
        parts_.push_back(std::move(part));
      }
    joint_rows_.push_back({first, row});
  }
  for (const JointMode& mode : modes_) {
    std::vector<char> held(at(rows()), 0);
    for (const int joint : mode.joints)
      std::fill(held.begin() + joint_rows_[at(joint)].first, held.begin() + joint_rows_[at(joint)].last, 1);
    std::fill_n(held.begin() + row, mode.constraints.size(), 1);
    holds_.push_back(std::move(held));
  }
  for (const JointCoordinate& c : measures_) measure_slots_.push_back({slot(c.node_a), slot(c.node_b)});
  A_old_ = A_new_ = Matrix::Zero(rows(), rows());
  s_old_.assign(at(rows()), 0.0);
  s_new_ = s_old_;
}

void SwitchingJointBlock::bind(const DofMap& dofs) {
  SwitchingBlock::bind(dofs);
  for (const SwitchingJoint& joint : joints_)
    for (const auto& block : joint.rows->constraints()) block->bind(dofs);
}

void SwitchingJointBlock::set_mode(int mode) {
  mode_ = mode;
  old_ = -1;
  show_old_ = false;
}

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

// A_- s and A_+ s of a switch; false outside of switches.
bool SwitchingJointBlock::share_reactions(const double* s) const {
  if (old_ < 0) return false;
  const Eigen::Map<const Column> given(s, rows());
  Eigen::Map<Column>(s_old_.data(), rows()) = A_old_ * given;
  Eigen::Map<Column>(s_new_.data(), rows()) = A_new_ * given;
  return true;
}

void SwitchingJointBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  if (range.size() == 0) return;
  if (old_ >= 0 && show_old_) return add_reactions(old_, in, s, f);
  if (!share_reactions(s)) return add_reactions(mode_, in, s, f);
  add_reactions(old_, in, s_old_.data(), f);
  add_reactions(mode_, in, s_new_.data(), f);
}

void SwitchingJointBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                                double* A) const {
  if (range.size() == 0) return;
  if (!share_reactions(s)) return add_gradients(mode_, in, s, c, A);
  add_gradients(old_, in, s_old_.data(), c, A);
  add_gradients(mode_, in, s_new_.data(), c, A);
}

void SwitchingJointBlock::direction(const ConstraintInput& in, double* F) const {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  ConstraintInput place = in;
  place.v = nullptr;
  Eigen::Map<RowMajor> directions(F, rows(), topology().local_size);
  ConstraintValues wanted;
  wanted.gradient = F;
  if (old_ < 0) return fill(mode_, place, wanted);
  RowMajor old_rows(rows(), topology().local_size);
  fill(mode_, place, wanted);
  wanted.gradient = old_rows.data();
  fill(old_, place, wanted);
  directions = (A_old_.transpose() * old_rows + A_new_.transpose() * directions).eval();
}

std::string SwitchingJointBlock::row_name(int, int row) const {
  for (const Part& part : parts_)
    if (row >= part.first_row && row < part.first_row + part.block->rows()) {
      const std::string motion = part.block->row_name(part.item, row - part.first_row);
      return joints_[at(part.joint)].name + (motion.empty() ? "" : " " + motion);
    }
  return "constraint " + std::to_string(row - rows_of_formulas().first + 1);
}

ConstraintBlock::Place SwitchingJointBlock::place(int, int row, const ConstraintInput& in) const {
  ConstraintInput still = in;
  still.v = nullptr;
  for (const Part& part : parts_)
    if (row >= part.first_row && row < part.first_row + part.block->rows())
      return part.block->place(part.item, row - part.first_row, still);
  return {};
}

std::string SwitchingJointBlock::undefined_formula(const ConstraintInput&, const ConstraintInput& end) const {
  ConstraintInput place = end;
  place.v = nullptr;
  const Vector x = measures(place).x;
  Vector slope(x.size());
  for (const JointMode& mode : modes_)
    if (!std::isfinite(value(mode.condition, x))) return mode.condition.name;
  if (mode_ < 0) return {};
  for (const JointFormula& f : modes_[at(mode_)].constraints)
    if (!std::isfinite(f.formula.gradient(x, slope)) ||
        !std::ranges::all_of(slope, [](double y) { return std::isfinite(y); }))
      return f.name;
  return {};
}

// The size of a row's gradient: translations times the length, and rotations.
double SwitchingJointBlock::size(const double* G, double length) const {
  double square = 0;
  for (int k = 0; k < topology().local_size; ++k) {
    const double x = k % components < 3 ? length * G[k] : G[k];
    square += x * x;
  }
  return std::sqrt(square);
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

// ---- crossings

bool SwitchingJointBlock::named(int mode) const {
  return std::ranges::any_of(modes_, [mode](const JointMode& m) { return m.next == mode; });
}

double SwitchingJointBlock::margin(int from, int to, const ConstraintInput& in, double length) const {
  if (from == to ? !named(from) : modes_[at(from)].next != to) return 0;
  return surface_rounding * size(formula_gradient(modes_[at(to)].condition, in).data(), length);
}

int SwitchingJointBlock::mode_behind(int from, const Vector& x, std::string& fault) const {
  if (const int next = modes_[at(from)].next; next >= 0) return next;
  int found = -1;
  for (int i = 0; i < modes(); ++i) {
    if (i == from || named(i) || !(value(modes_[at(i)].condition, x) > 0)) continue;
    if (found >= 0) fault = "the modes " + mode_name(found) + " and " + mode_name(i) + " overlap";
    found = i;
  }
  if (found < 0) fault = "no mode holds behind " + mode_name(from);
  return found;
}

// The first row of a mode whose value is not zero, with this value.
std::string SwitchingJointBlock::misfit(int mode, const Vector& gaps, const ConstraintInput& in, double length) const {
  const Matrix G = gradients(mode, in);
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows_of_G = G;
  Eigen::Index k = 0;
  for (int row = 0; row < rows(); ++row) {
    if (!holds(mode, row)) continue;
    const double most = largest_misfit * size(rows_of_G.row(k++).data(), length);
    if (std::abs(gaps[at(row)]) <= most) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%.3g", gaps[at(row)]);
    return row_name(0, row) + " is off by " + text;
  }
  return {};
}

SwitchingBlock::Crossing SwitchingJointBlock::find_crossing(int from, const ConstraintInput& start,
                                                            const ConstraintInput& end, double length) const {
  Crossing crossing;
  const Point p_0 = measures(start);
  Point p_1 = measures(end);
  const bool slopes = !p_0.rates.empty() && !p_1.rates.empty();
  const double h = end.t - start.t;
  for (std::size_t i = 0; i < measures_.size(); ++i)
    if (measures_[i].kind == JointCoordinate::Kind::angle)
      p_1.x[i] -= 4 * std::numbers::pi * std::round((p_1.x[i] - p_0.x[i]) / (4 * std::numbers::pi));
  Vector x(p_0.x.size());
  const auto place = [&](double s) {
    for (std::size_t i = 0; i < measures_.size(); ++i)
      x[i] = interpolate(s, p_0.x[i], p_1.x[i], slopes, slopes ? h * p_0.rates[i] : 0, slopes ? h * p_1.rates[i] : 0);
    x.back() = (1 - s) * start.t + s * end.t;
  };
  // a mode that was entered by its name may begin at z = 0 but for rounding
  const double least = -margin(from, from, start, length);
  const auto outside_at = [&](double s) {
    place(s);
    return value(modes_[at(from)].condition, x) < least;
  };
  crossing.left = outside_at(1);
  double inside = 0, outside = 1;  // around the first root
  for (int k = 1; k <= places_between; ++k)
    if (const double s = static_cast<double>(k) / (places_between + 1); outside_at(s)) {
      outside = s;
      crossing.inside = !crossing.left;
      break;
    } else {
      inside = s;
    }
  if (!crossing.left) return crossing;
  for (int k = 0; k < 60; ++k) {
    const double s = 0.5 * (inside + outside);
    (outside_at(s) ? outside : inside) = s;
  }
  crossing.share = outside;
  // a little behind the root, where z of the next mode is positive beyond rounding
  place(std::min(1.0, outside + 1e-3 * (1 - outside) + 1e-9));
  crossing.next = mode_behind(from, x, crossing.fault);
  if (!crossing.fault.empty()) return crossing;
  // whether the joints of the next mode fit there
  const std::size_t m = at(rows());
  Vector g_0(m), g_1(m), rate_0(m, 0.0), rate_1(m, 0.0);
  ConstraintValues wanted;
  wanted.gap = g_0.data();
  wanted.rate = rate_0.data();
  fill(crossing.next, start, wanted);
  wanted.gap = g_1.data();
  wanted.rate = rate_1.data();
  fill(crossing.next, end, wanted);
  for (std::size_t k = 0; k < m; ++k)
    g_0[k] = interpolate(crossing.share, g_0[k], g_1[k], slopes, h * rate_0[k], h * rate_1[k]);
  ConstraintInput there = end;
  there.v = nullptr;
  if (const std::string found = misfit(crossing.next, g_0, there, length); !found.empty())
    crossing.fault = "the modes " + mode_name(from) + " and " + mode_name(crossing.next) +
                     " disagree on their surface: there " + found;
  return crossing;
}

// Whether joints fit is only known where the motion of the whole system leads; conditions are tried along the path of
// constant rates of the measures, up to the first surface.
std::string SwitchingJointBlock::find_fault(const ConstraintInput& start, double duration, double length) const {
  ConstraintInput in = start;
  in.v = nullptr;
  Vector gaps(at(rows()));
  ConstraintValues wanted;
  wanted.gap = gaps.data();
  fill(mode_, in, wanted);
  if (const std::string off = misfit(mode_, gaps, in, length); !off.empty())
    return "the start is off the mode " + mode_name(mode_) + ": there " + off;
  const Point p = measures(start);
  if (p.rates.empty()) return {};
  Vector x = p.x;
  const auto move = [&](double tau) {
    for (std::size_t i = 0; i < measures_.size(); ++i) x[i] = p.x[i] + tau * p.rates[i];
    x.back() = p.x.back() + tau;
    // angles begin anew beyond
    for (std::size_t i = 0; i < measures_.size(); ++i)
      if (measures_[i].kind == JointCoordinate::Kind::angle && std::abs(x[i]) > 2 * std::numbers::pi) return false;
    return true;
  };
  const auto z = [&](int mode) { return value(modes_[at(mode)].condition, x); };
  const double tau = duration / path_places;
  for (int k = 0; k < path_places; ++k) {
    if (!move(k * tau)) return {};
    for (int j = 0; j < modes() && !named(mode_); ++j)
      if (j != mode_ && !named(j) && z(j) > surface_rounding && z(mode_) > surface_rounding)
        return "the modes " + mode_name(mode_) + " and " + mode_name(j) + " overlap";
    if (!move((k + 1) * tau)) return {};
    if (!(z(mode_) < 0)) continue;
    double inside = k * tau, outside = (k + 1) * tau;
    for (int halving = 0; halving < 50; ++halving) {
      const double middle = 0.5 * (inside + outside);
      move(middle);
      (z(mode_) < 0 ? outside : inside) = middle;
    }
    move(outside + 1e-3 * tau);
    std::string fault;
    mode_behind(mode_, x, fault);
    return fault;
  }
  return {};
}

// ---- switches

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

bool SwitchingJointBlock::set_switch(int from, int to, const ConstraintInput& in, double E, SwitchMetric* metric) {
  if (metric == nullptr) return false;
  SwitchedRows switched;
  const Vector z = formula_gradient(modes_[at(from)].condition, in);
  if (!metric->measure(*this, gradients(from, in), switched.old_rows) ||
      !metric->measure(*this, gradients(to, in), switched.new_rows) ||
      !metric->measure(*this, Eigen::Map<const Eigen::RowVectorXd>(z.data(), topology().local_size), switched.surface))
    return false;
  Vector rates(at(rows()));
  ConstraintValues wanted;
  wanted.rate = rates.data();
  fill(to, in, wanted);
  switched.new_rates.resize(switched.new_rows.x.cols());
  Eigen::Index k = 0;
  for (int row = 0; row < rows(); ++row)
    if (holds(to, row)) switched.new_rates[k++] = rates[at(row)];
  switched.surface_rate = -crossing_rate(from, in);
  switched.E = E;
  switched.may_hold_surface = modes_[at(from)].next == to;
  const auto found = intermediate_gradient(switched);
  if (!found) return false;
  mode_ = to;
  old_ = from;
  holds_surface_ = found->holds_surface;
  cosine_ = found->cosine;
  const auto store = [&](const Matrix& A, int mode, Matrix& all) {
    all.setZero();
    for (Eigen::Index i = 0, row = 0; row < rows(); ++row) {
      if (!holds(mode, static_cast<int>(row))) continue;
      for (Eigen::Index j = 0, column = 0; column < rows(); ++column)
        if (holds(to, static_cast<int>(column))) all(row, column) = A(i, j++);
      ++i;
    }
  };
  store(found->A_old, from, A_old_);
  store(found->A_new, to, A_new_);
  return true;
}

}  // namespace carom
