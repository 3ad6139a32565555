#include "elements/beam/bar.hpp"

#include <algorithm>
#include <cmath>

namespace carom {

namespace {

Topology topology_of(const std::vector<Bar>& bars, Slot slot) {
  std::vector<int> nodes;
  for (const Bar& b : bars) nodes.insert(nodes.end(), {b.node_a, b.node_b});
  return {static_cast<int>(bars.size()), {slot, slot}, std::move(nodes)};
}

BlockTraits bar_traits(bool linear) {
  BlockTraits t;
  t.force_parts = force_internal;
  t.has_mass = t.has_stiffness = t.symmetric = true;
  t.linear = linear;
  t.mixed_tangent = !linear;
  return t;
}

// Mass matrix entries for one component, as fractions of the bar's mass: `same` on the diagonal, `other` between the
// nodes.
struct MassFractions {
  double same, other;
};
MassFractions mass_fractions(bool lumped) {
  return lumped ? MassFractions{0.5, 0.0} : MassFractions{1.0 / 3.0, 1.0 / 6.0};
}

}  // namespace

// ---- linear, along a coordinate axis

LinearBarBlock::LinearBarBlock(std::string name, const std::vector<Bar>& bars, int axis, MassKind mass)
    : ElementBlock(std::move(name), topology_of(bars, {axis, 1}), bar_traits(true)),
      axis_(axis),
      lumped_(mass == MassKind::lumped) {
  for (const Bar& b : bars) {
    stiffness_.push_back(b.axial_stiffness / std::abs(b.length));
    mass_.push_back(b.line_density * std::abs(b.length));
    signed_length_.push_back(b.length);
  }
}

double LinearBarBlock::elongation(const ElementInput& in, int e) const {
  const double x_a = in.q[configuration_offset(e, 0) + axis_], x_b = in.q[configuration_offset(e, 1) + axis_];
  return (x_b - x_a) - signed_length_[at(e)];
}

void LinearBarBlock::add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const {
  if ((parts & force_internal) == 0) return;
  for (int e = range.first; e < range.last; ++e, f += 2) {
    const double N = stiffness_[at(e)] * elongation(in, e);
    f[0] += N;
    f[1] -= N;
  }
}

void LinearBarBlock::add_mass_times(Range range, const ElementInput&, const double* a, MassKind kind, double* f) const {
  const MassFractions m = mass_fractions(lumped_ || kind == MassKind::lumped);
  for (int e = range.first; e < range.last; ++e, a += 2, f += 2) {
    const double a0 = a[0], a1 = a[1];
    f[0] += mass_[at(e)] * (m.same * a0 + m.other * a1);
    f[1] += mass_[at(e)] * (m.other * a0 + m.same * a1);
  }
}

void LinearBarBlock::add_tangent(Range range, const ElementInput&, const ElementTangent& request, double* A) const {
  const MassFractions m = mass_fractions(lumped_ || request.mass == MassKind::lumped);
  for (int e = range.first; e < range.last; ++e, A += 4) {
    const double k = request.c_K * stiffness_[at(e)], mass = request.c_M * mass_[at(e)];
    const double same = mass * m.same + k, other = mass * m.other - k;
    A[0] += same;
    A[1] += other;
    A[2] += other;
    A[3] += same;
  }
}

Energies LinearBarBlock::energies(Range range, const ElementInput& in) const {
  Energies sum;
  for (int e = range.first; e < range.last; ++e) {
    const double u = elongation(in, e);
    sum.elastic += 0.5 * stiffness_[at(e)] * u * u;
  }
  return sum;
}

double LinearBarBlock::roundoff_force(double length_scale) const {
  return stiffness_.empty() ? 0 : *std::max_element(stiffness_.begin(), stiffness_.end()) * length_scale;
}

// Of a bar in the direction of -axis, elongation() is negative in tension.
void LinearBarBlock::output(std::string_view, Range range, const ElementInput& in, double* values) const {
  for (int e = range.first; e < range.last; ++e)
    *values++ = std::copysign(1.0, signed_length_[at(e)]) * stiffness_[at(e)] * elongation(in, e);
}

// ---- three-dimensional, geometrically nonlinear

BarBlock::BarBlock(std::string name, std::vector<Bar> bars, MassKind mass)
    : ElementBlock(std::move(name), topology_of(bars, {0, 3}), bar_traits(false)),
      bars_(std::move(bars)),
      lumped_(mass == MassKind::lumped) {}

Vec3 BarBlock::span(const ElementInput& in, int e) const {
  const double *a = configuration(in, e, 0), *b = configuration(in, e, 1);
  return {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
}

void BarBlock::add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const {
  if ((parts & force_internal) == 0) return;
  for (int e = range.first; e < range.last; ++e, f += 6) {
    const Bar& bar = bars_[at(e)];
    const Vec3 d = span(in, e);
    const double l = d.norm();
    const Vec3 force = bar.axial_stiffness * (l - bar.length) / (bar.length * l) * d;
    for (int i = 0; i < 3; ++i) {
      f[i] += force[i];
      f[3 + i] -= force[i];
    }
  }
}

void BarBlock::add_mass_times(Range range, const ElementInput&, const double* a, MassKind kind, double* f) const {
  const MassFractions m = mass_fractions(lumped_ || kind == MassKind::lumped);
  for (int e = range.first; e < range.last; ++e, a += 6, f += 6) {
    const double mass = bars_[at(e)].line_density * bars_[at(e)].length;
    for (int i = 0; i < 3; ++i) {
      f[i] += mass * (m.same * a[i] + m.other * a[3 + i]);
      f[3 + i] += mass * (m.other * a[i] + m.same * a[3 + i]);
    }
  }
}

void BarBlock::add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const {
  const MassFractions m = mass_fractions(lumped_ || request.mass == MassKind::lumped);
  for (int e = range.first; e < range.last; ++e, A += 36) {
    const Bar& bar = bars_[at(e)];
    Mat3 same = Mat3::Zero(), other = Mat3::Zero();
    if (request.c_M != 0) {
      const double mass = request.c_M * bar.line_density * bar.length;
      same.diagonal().setConstant(mass * m.same);
      other.diagonal().setConstant(mass * m.other);
    }
    if (request.c_K != 0) {
      // EA/L n n^T + N/l (1 - n n^T)
      const Vec3 d = span(in, e);
      const double l = d.norm();
      double N = bar.axial_stiffness * (l - bar.length) / bar.length;
      if (request.mixed_q != nullptr) {
        const Vec3 d_0 = span({request.mixed_q, nullptr, in.t}, e);
        const double* x = request.mixed_d + 6 * (e - range.first);
        const double l_0 = d_0.norm(), dl = d_0.dot(Vec3(x[3] - x[0], x[4] - x[1], x[5] - x[2])) / l_0;
        N = bar.axial_stiffness * (l_0 + dl - bar.length) / bar.length;
      }
      const Vec3 n = d / l;
      const Mat3 K =
          request.c_K * ((bar.axial_stiffness / bar.length - N / l) * n * n.transpose() + N / l * Mat3::Identity());
      same += K;
      other -= K;
    }
    Eigen::Map<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>> block(A);
    block.topLeftCorner<3, 3>() += same;
    block.bottomRightCorner<3, 3>() += same;
    block.topRightCorner<3, 3>() += other;
    block.bottomLeftCorner<3, 3>() += other;
  }
}

Energies BarBlock::energies(Range range, const ElementInput& in) const {
  Energies sum;
  for (int e = range.first; e < range.last; ++e) {
    const Bar& bar = bars_[at(e)];
    const double u = span(in, e).norm() - bar.length;
    sum.elastic += 0.5 * bar.axial_stiffness / bar.length * u * u;
  }
  return sum;
}

double BarBlock::roundoff_force(double length_scale) const {
  double largest = 0;
  for (const Bar& b : bars_) largest = std::max(largest, b.axial_stiffness / b.length);
  return largest * length_scale;
}

void BarBlock::output(std::string_view, Range range, const ElementInput& in, double* values) const {
  for (int e = range.first; e < range.last; ++e) {
    const Bar& bar = bars_[at(e)];
    *values++ = bar.axial_stiffness * (span(in, e).norm() - bar.length) / bar.length;
  }
}

}  // namespace carom
