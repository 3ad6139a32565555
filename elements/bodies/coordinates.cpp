#include "elements/bodies/coordinates.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "core/base/index.hpp"

namespace carom {

namespace {

using formula_values::first;
using formula_values::Hessian;
using formula_values::is_undefined;
using formula_values::Values;

// Of gaps that close in a step: the rate per change of the coordinates, at the start over that at the end, lies between
// this share and its inverse; the gap at the end over that at the start, at most; the gap at the start over its change,
// at least; cosines between motion and direction of a gap that is left and met on another side.
constexpr double least_closing = 0.985, touching_share = 1e-6, closing_share = 0.1, reversing = 0.5;

// n slots with one scalar node each, the same nodes for every item.
Topology topology_of(const std::vector<int>& nodes, std::size_t items) {
  std::vector<int> all;
  for (std::size_t i = 0; i < items; ++i) all.insert(all.end(), nodes.begin(), nodes.end());
  return {static_cast<int>(items), std::vector<Slot>(nodes.size(), Slot{0, 1}), std::move(all)};
}

bool depends_on_any(const Formula& f, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (f.depends_on(i)) return true;
  return false;
}

// ---- traits

BlockTraits mass_traits(const CoordinateMasses& body) {
  BlockTraits t;
  const std::size_t n = body.nodes.size();
  for (const auto& row : body.rows)
    for (const NamedFormula& m : row) t.constant_mass = t.constant_mass && m.formula.is_constant();
  const bool has_potential = !body.potential.empty() && !body.potential.front().formula.is_constant();
  t.has_mass = true;
  t.force_parts = (has_potential ? force_internal : 0U) | (t.constant_mass ? 0U : force_gyroscopic);
  t.velocity_dependent = !t.constant_mass;
  t.has_stiffness = has_potential || !t.constant_mass;
  t.linear = t.constant_mass && (!has_potential || body.potential.front().formula.degree_in(n) <= 2);
  t.symmetric = t.constant_mass || n == 1;
  t.has_formulas = t.has_stiffness;
  return t;
}

BlockTraits force_traits(const CoordinateForces& body) {
  BlockTraits t;
  const std::size_t n = body.nodes.size();
  t.force_parts = force_external;
  t.linear = t.symmetric = t.has_formulas = true;
  for (std::size_t i = 0; i < n; ++i) {
    const Formula& f = body.forces[i].formula;
    t.velocity_dependent = t.velocity_dependent || depends_on_any(f, n, 2 * n);
    t.has_stiffness = t.has_stiffness || depends_on_any(f, 0, n);
    t.linear = t.linear && f.degree_in(2 * n) <= 1;
    for (std::size_t k = 0; k < 2 * n; ++k) t.symmetric = t.symmetric && (k % n == i || !f.depends_on(k));
  }
  return t;
}

ConstraintTraits row_traits(const std::vector<FormulaRow>& rows, std::size_t n, RowKind kind) {
  ConstraintTraits t;
  t.kind = kind;
  t.linear = t.has_formulas = true;
  for (const FormulaRow& row : rows) {
    t.linear = t.linear && row.gap.formula.degree_in(n) <= 1;
    t.moving = t.moving || row.gap.formula.depends_on(n);
  }
  t.passable = kind == RowKind::unilateral && !t.linear;
  return t;
}

}  // namespace

// ---- masses and potential

CoordinateMassBlock::CoordinateMassBlock(CoordinateMasses body)
    : ElementBlock("coordinates", topology_of(body.nodes, 1), mass_traits(body)),
      body_(body.body),
      n_(body.nodes.size()),
      constant_(n_ * n_, 0.0),
      potential_(std::move(body.potential)),
      coordinates_(std::move(body.coordinates)),
      stiffness_(body.stiffness) {
  assert(n_ <= at(most_coordinates) && body.rows.size() == n_);
  const Values zero{};
  for (std::size_t i = 0; i < n_; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      NamedFormula& m = body.rows[i][j];
      if (m.formula.is_constant())
        constant_[i * n_ + j] = constant_[j * n_ + i] = m.formula.value(first(zero, n_));
      else
        varying_.push_back({i, j, std::move(m)});
    }
}

namespace {

// Coordinates of the nodes of an item, then the time.
template <class Configuration>
void gather_coordinates(std::size_t n, const Configuration& configuration, double t, Values& x) {
  for (std::size_t i = 0; i < n; ++i) x[i] = *configuration(static_cast<int>(i));
  x[n] = t;
}

}  // namespace

void CoordinateMassBlock::add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const {
  Values q, g;
  const std::span<double> gradient = first(g, n_);
  const double* v = in.v;
  for (int e = range.first; e < range.last; ++e, f += n_) {
    gather_coordinates(
        n_, [&](int i) { return configuration(in, e, i); }, 0, q);
    if ((parts & force_internal) != 0)
      for (const NamedFormula& V : potential_) {
        V.formula.gradient(first(q, n_), gradient);
        for (std::size_t i = 0; i < n_; ++i) f[i] -= gradient[i];
      }
    if ((parts & force_gyroscopic) == 0 || v == nullptr) continue;
    // an entry off the diagonal acts twice
    for (const auto& [i, j, mass] : varying_) {
      mass.formula.gradient(first(q, n_), gradient);
      double rate = 0;
      for (std::size_t k = 0; k < n_; ++k) rate += gradient[k] * v[k];
      f[i] -= rate * v[j];
      if (i != j) f[j] -= rate * v[i];
      const double product = (i == j ? 0.5 : 1.0) * v[i] * v[j];
      for (std::size_t k = 0; k < n_; ++k) f[k] += product * gradient[k];
    }
    v += n_;
  }
}

void CoordinateMassBlock::add_mass_times(Range range, const ElementInput& in, const double* a, MassKind,
                                         double* f) const {
  Values q;
  for (int e = range.first; e < range.last; ++e, f += n_, a += n_) {
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) f[i] += constant_[i * n_ + j] * a[j];
    if (varying_.empty()) continue;
    gather_coordinates(
        n_, [&](int i) { return configuration(in, e, i); }, 0, q);
    for (const auto& [i, j, mass] : varying_) {
      const double m = mass.formula.value(first(q, n_));
      f[i] += m * a[j];
      if (i != j) f[j] += m * a[i];
    }
  }
}

void CoordinateMassBlock::add_tangent(Range range, const ElementInput& in, const ElementTangent& r, double* A) const {
  Values q, g;
  Hessian h;
  const std::span<double> gradient = first(g, n_), hessian = first(h, n_ * n_);
  const bool derivatives = r.c_C != 0 || r.c_K != 0;
  const double *a = r.a, *v = in.v;
  for (int e = range.first; e < range.last; ++e, A += n_ * n_) {
    gather_coordinates(
        n_, [&](int i) { return configuration(in, e, i); }, 0, q);
    const auto add = [&](std::size_t row, std::size_t column, double x) { A[row * n_ + column] += x; };
    if (r.c_M != 0)
      for (std::size_t k = 0; k < n_ * n_; ++k) A[k] += r.c_M * constant_[k];
    if (r.c_K != 0)
      for (const NamedFormula& V : potential_) {
        V.formula.hessian(first(q, n_), gradient, hessian);
        for (std::size_t k = 0; k < n_ * n_; ++k) A[k] += r.c_K * hessian[k];
      }
    for (const auto& [i, j, mass] : varying_) {
      if (!derivatives) {
        const double m = r.c_M * mass.formula.value(first(q, n_));
        add(i, j, m);
        if (i != j) add(j, i, m);
        continue;
      }
      const double m = mass.formula.hessian(first(q, n_), gradient, hessian);
      add(i, j, r.c_M * m);
      if (i != j) add(j, i, r.c_M * m);
      if (a != nullptr)
        for (std::size_t l = 0; l < n_; ++l) {
          add(i, l, r.c_K * gradient[l] * a[j]);
          if (i != j) add(j, l, r.c_K * gradient[l] * a[i]);
        }
      if (v == nullptr) continue;
      // -f_gyr of the entry: rate v_j in row i, rate v_i in row j, -c v_i v_j dm/dq
      const double c = i == j ? 0.5 : 1.0;
      double rate = 0;
      for (std::size_t k = 0; k < n_; ++k) rate += gradient[k] * v[k];
      if (r.c_K != 0)
        for (std::size_t l = 0; l < n_; ++l) {
          double change = 0;
          for (std::size_t k = 0; k < n_; ++k) {
            change += hessian[k * n_ + l] * v[k];
            add(k, l, -r.c_K * c * v[i] * v[j] * hessian[k * n_ + l]);
          }
          add(i, l, r.c_K * change * v[j]);
          if (i != j) add(j, l, r.c_K * change * v[i]);
        }
      if (r.c_C != 0) {
        for (std::size_t k = 0; k < n_; ++k) {
          add(i, k, r.c_C * gradient[k] * v[j]);
          if (i != j) add(j, k, r.c_C * gradient[k] * v[i]);
          add(k, i, -r.c_C * c * v[j] * gradient[k]);
          add(k, j, -r.c_C * c * v[i] * gradient[k]);
        }
        add(i, j, r.c_C * rate);
        if (i != j) add(j, i, r.c_C * rate);
      }
    }
    if (a != nullptr) a += n_;
    if (v != nullptr) v += n_;
  }
}

Energies CoordinateMassBlock::energies(Range range, const ElementInput& in) const {
  Energies sum;
  Values q;
  for (int e = range.first; e < range.last; ++e)
    for (const NamedFormula& V : potential_) {
      gather_coordinates(
          n_, [&](int i) { return configuration(in, e, i); }, 0, q);
      sum.potential += V.formula.value(first(q, n_));
    }
  return sum;
}

FormulaFault CoordinateMassBlock::formula_fault(const ElementInput& start, const ElementInput& end) const {
  Values q_0, q_1;
  gather_coordinates(
      n_, [&](int i) { return configuration(start, 0, i); }, 0, q_0);
  gather_coordinates(
      n_, [&](int i) { return configuration(end, 0, i); }, 0, q_1);
  for (const Entry& m : varying_)
    if (is_undefined(m.mass.formula, q_0, q_1, n_, 2)) return {m.mass.name, false};
  for (const NamedFormula& V : potential_)
    if (is_undefined(V.formula, q_0, q_1, n_, 2)) return {V.name, false};
  if (varying_.empty()) return {};
  const int indefinite = indefinite_coordinate(q_1.data());
  if (indefinite >= 0) return {coordinates_[at(indefinite)], true};
  return {};
}

void CoordinateMassBlock::mass_matrix(const double* q, double* M) const {
  std::copy(constant_.begin(), constant_.end(), M);
  for (const auto& [i, j, mass] : varying_)
    M[i * n_ + j] = M[j * n_ + i] = mass.formula.value(std::span<const double>(q, n_));
}

// LDL^T without pivoting; a pivot that is zero but for rounding ends its column.
int CoordinateMassBlock::indefinite_coordinate(const double* q) const {
  constexpr double rounding = 1e-12;
  Hessian M;
  mass_matrix(q, M.data());
  for (std::size_t k = 0; k < n_; ++k) {
    const double diagonal = std::abs(constant_[k * n_ + k]), pivot = M[k * n_ + k];
    double scale = diagonal;
    for (std::size_t j = 0; j < n_; ++j) scale = std::max(scale, std::abs(M[k * n_ + j]));
    if (!(pivot >= -rounding * scale)) return static_cast<int>(k);
    if (pivot <= rounding * scale) {
      // a zero on the diagonal needs zeros beside it
      for (std::size_t i = k + 1; i < n_; ++i)
        if (std::abs(M[i * n_ + k]) > std::sqrt(rounding) * scale) return static_cast<int>(k);
      continue;
    }
    for (std::size_t i = k + 1; i < n_; ++i)
      for (std::size_t j = k + 1; j < n_; ++j) M[i * n_ + j] -= M[i * n_ + k] * M[k * n_ + j] / pivot;
  }
  return -1;
}

// ---- forces

CoordinateForceBlock::CoordinateForceBlock(CoordinateForces body)
    : ElementBlock("forces of coordinates", topology_of(body.nodes, 1), force_traits(body)),
      body_(body.body),
      n_(body.nodes.size()),
      forces_(std::move(body.forces)) {
  assert(n_ <= at(most_coordinates) && forces_.size() == n_);
}

namespace {

// q, v, t; without velocities v = 0.
template <class Configuration>
void gather_state(std::size_t n, const Configuration& configuration, const double* v, double t, Values& x) {
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = *configuration(static_cast<int>(i));
    x[n + i] = v == nullptr ? 0.0 : v[i];
  }
  x[2 * n] = t;
}

}  // namespace

void CoordinateForceBlock::add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const {
  if ((parts & force_external) == 0) return;
  Values x;
  for (int e = range.first; e < range.last; ++e, f += n_) {
    gather_state(
        n_, [&](int i) { return configuration(in, e, i); }, in.v, in.t, x);
    for (std::size_t i = 0; i < n_; ++i) f[i] += forces_[i].formula.value(first(x, 2 * n_ + 1));
  }
}

void CoordinateForceBlock::add_tangent(Range range, const ElementInput& in, const ElementTangent& r, double* A) const {
  if (r.c_C == 0 && r.c_K == 0) return;
  Values x, g;
  const std::span<double> gradient = first(g, 2 * n_ + 1);
  for (int e = range.first; e < range.last; ++e, A += n_ * n_) {
    gather_state(
        n_, [&](int i) { return configuration(in, e, i); }, in.v, in.t, x);
    for (std::size_t i = 0; i < n_; ++i) {
      if (forces_[i].formula.is_constant()) continue;
      forces_[i].formula.gradient(first(x, 2 * n_ + 1), gradient);
      for (std::size_t k = 0; k < n_; ++k) A[i * n_ + k] -= r.c_K * gradient[k] + r.c_C * gradient[n_ + k];
    }
  }
}

FormulaFault CoordinateForceBlock::formula_fault(const ElementInput& start, const ElementInput& end) const {
  Values x_0, x_1;
  gather_state(
      n_, [&](int i) { return configuration(start, 0, i); }, start.v, start.t, x_0);
  gather_state(
      n_, [&](int i) { return configuration(end, 0, i); }, end.v, end.t, x_1);
  for (const NamedFormula& f : forces_)
    if (is_undefined(f.formula, x_0, x_1, 2 * n_ + 1, 1)) return {f.name, false};
  return {};
}

// ---- constraints and gaps

FormulaRowBlock::FormulaRowBlock(std::string name, const std::vector<int>& nodes, std::vector<FormulaRow> rows,
                                 RowKind kind, std::array<int, 3> place)
    : ConstraintBlock(std::move(name), topology_of(nodes, rows.size()), 1, row_traits(rows, nodes.size(), kind)),
      n_(nodes.size()),
      rows_(std::move(rows)),
      place_(place) {
  assert(n_ <= at(most_coordinates));
}

void FormulaRowBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  Values x, g;
  Hessian h;
  const std::size_t m = n_ + 1;
  const std::span<double> gradient = first(g, m), hessian = first(h, m * m);
  const bool second = in.v != nullptr && (values.bias != nullptr || values.rate_gradient != nullptr);
  for (int i = range.first; i < range.last; ++i) {
    const std::size_t k = at(i - range.first);
    gather_coordinates(
        n_, [&](int slot) { return configuration(in, i, slot); }, in.t, x);
    const Formula& f = rows_[at(i)].gap.formula;
    const double gap = second ? f.hessian(first(x, m), gradient, hessian) : f.gradient(first(x, m), gradient);
    if (values.gap != nullptr) values.gap[k] = gap;
    if (values.gradient != nullptr) std::copy_n(gradient.begin(), n_, values.gradient + n_ * k);
    if (in.v == nullptr) continue;
    const double* const v = in.v + n_ * k;
    if (values.rate != nullptr) {
      double rate = gradient[n_];
      for (std::size_t c = 0; c < n_; ++c) rate += gradient[c] * v[c];
      values.rate[k] = rate;
    }
    if (!second) continue;
    // D(G v + g_t), and with it h = D(G v + g_t) v + D(g_t) v + g_tt
    double bias = hessian[n_ * m + n_];
    for (std::size_t c = 0; c < n_; ++c) {
      double sum = hessian[c * m + n_];
      for (std::size_t d = 0; d < n_; ++d) sum += hessian[c * m + d] * v[d];
      if (values.rate_gradient != nullptr) values.rate_gradient[n_ * k + c] = sum;
      bias += (sum + hessian[c * m + n_]) * v[c];
    }
    if (values.bias != nullptr) values.bias[k] = bias;
  }
}

std::string FormulaRowBlock::missed_contact(const ConstraintInput& start, const ConstraintInput& end,
                                            double closing_turn) const {
  if (closing_turn == 0) return {};
  const std::size_t m = n_ + 1;
  Values x[2], g[2];
  for (int i = 0; i < topology().items; ++i) {
    double gap[2];
    for (std::size_t k = 0; k < 2; ++k) {
      const ConstraintInput& in = k == 0 ? start : end;
      gather_coordinates(
          n_, [&](int slot) { return configuration(in, i, slot); }, in.t, x[k]);
      gap[k] = rows_[at(i)].gap.formula.gradient(first(x[k], m), first(g[k], m));
    }
    double change[2] = {0, 0}, size[2] = {0, 0}, way = 0;
    for (std::size_t c = 0; c < n_; ++c) {
      const double dx = x[1][c] - x[0][c];
      way = std::hypot(way, dx);
      for (std::size_t k = 0; k < 2; ++k) {
        change[k] += g[k][c] * dx;
        size[k] = std::hypot(size[k], g[k][c]);
      }
    }
    if (!(change[1] < 0) || gap[1] > touching_share * std::max(gap[0], -change[1])) continue;
    // one that slides along a curved gap has changes of second order, and hardly a gap at the start
    const bool closes = gap[0] > closing_share * -change[1];
    const bool turns = closes ? !(change[0] < least_closing * change[1] && change[0] > change[1] / least_closing)
                              : change[0] > reversing * size[0] * way && change[1] < -reversing * size[1] * way;
    if (turns) return item_name(i);
  }
  return {};
}

void FormulaRowBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  Values x, g;
  const std::span<double> gradient = first(g, n_ + 1);
  for (int i = range.first; i < range.last; ++i, ++s, f += n_) {
    if (*s == 0) continue;
    gather_coordinates(
        n_, [&](int slot) { return configuration(in, i, slot); }, in.t, x);
    rows_[at(i)].gap.formula.gradient(first(x, n_ + 1), gradient);
    for (std::size_t c = 0; c < n_; ++c) f[c] += *s * gradient[c];
  }
}

void FormulaRowBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                            double* A) const {
  Values x, g;
  Hessian h;
  const std::size_t m = n_ + 1;
  for (int i = range.first; i < range.last; ++i, ++s, A += n_ * n_) {
    if (*s == 0) continue;
    gather_coordinates(
        n_, [&](int slot) { return configuration(in, i, slot); }, in.t, x);
    rows_[at(i)].gap.formula.hessian(first(x, m), first(g, m), first(h, m * m));
    for (std::size_t k = 0; k < n_; ++k)
      for (std::size_t l = 0; l < n_; ++l) A[k * n_ + l] += c * *s * h[k * m + l];
  }
}

std::string FormulaRowBlock::undefined_formula(const ConstraintInput& start, const ConstraintInput& end) const {
  Values x_0, x_1;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const int item = static_cast<int>(i);
    gather_coordinates(
        n_, [&](int slot) { return configuration(start, item, slot); }, start.t, x_0);
    gather_coordinates(
        n_, [&](int slot) { return configuration(end, item, slot); }, end.t, x_1);
    if (is_undefined(rows_[i].gap.formula, x_0, x_1, n_ + 1, 2)) return rows_[i].gap.name;
  }
  return {};
}

ConstraintBlock::Place FormulaRowBlock::place(int item, int, const ConstraintInput& in) const {
  Place place;
  Values x, g;
  gather_coordinates(
      n_, [&](int slot) { return configuration(in, item, slot); }, in.t, x);
  rows_[at(item)].gap.formula.gradient(first(x, n_ + 1), first(g, n_ + 1));
  for (int c = 0; c < 3; ++c)
    if (const int i = place_[at(c)]; i >= 0) {
      place.point[c] = x[at(i)];
      place.normal[c] = g[at(i)];
    }
  return place;
}

}  // namespace carom
