#include "rigid_reference.hpp"

#include <cmath>

namespace carom::cases {

namespace {

using Y = Eigen::Matrix<double, 13, 1>;  // x, v, quaternion (w, x, y, z), Omega

Y packed(const RigidReference& b) {
  Y y;
  y << b.x, b.v, b.p.w(), b.p.vec(), b.Omega;
  return y;
}

void unpack(const Y& y, RigidReference& b) {
  b.x = y.segment<3>(0);
  b.v = y.segment<3>(3);
  b.p = Eigen::Quaterniond(y[6], y[7], y[8], y[9]).normalized();
  b.Omega = y.segment<3>(10);
}

Y derivative(const RigidReference& b, const Y& y) {
  const Eigen::Quaterniond p(y[6], y[7], y[8], y[9]);
  const Vec3 Omega = y.segment<3>(10);
  const Eigen::Quaterniond pd = p * Eigen::Quaterniond(0, Omega[0], Omega[1], Omega[2]);
  Vec3 M = Vec3::Zero();
  if (b.moment) M = b.moment(p.normalized().toRotationMatrix());
  Y d;
  d << y.segment<3>(3), b.gravity, 0.5 * pd.w(), 0.5 * pd.vec(),
      (M - Omega.cross(b.J.cwiseProduct(Omega))).cwiseQuotient(b.J);
  return d;
}

void runge_kutta(RigidReference& b, double dt) {
  const Y y = packed(b);
  const Y k1 = derivative(b, y), k2 = derivative(b, y + 0.5 * dt * k1), k3 = derivative(b, y + 0.5 * dt * k2),
          k4 = derivative(b, y + dt * k3);
  unpack(y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), b);
  b.t += dt;
}

// Lowest vertex over the floor.
double lowest(const RigidReference& b, const Vec3& edges, int& vertex) {
  double gap = HUGE_VAL;
  const Vec3 n = b.R().transpose() * Vec3::UnitZ();
  for (int i = 0; i < 8; ++i) {
    const double g = b.x.z() + n.dot(box_vertex(edges, i));
    if (g >= gap) continue;
    gap = g;
    vertex = i;
  }
  return gap;
}

}  // namespace

double RigidReference::energy() const {
  return 0.5 * m * v.squaredNorm() + 0.5 * Omega.dot(J.cwiseProduct(Omega)) - m * gravity.dot(x);
}

void RigidReference::advance_to(double t_end, double dt) {
  const double span = t_end - t;
  const long steps = std::lround(std::ceil(span / dt));
  for (long k = 0; k < steps; ++k) runge_kutta(*this, span / static_cast<double>(steps));
  t = t_end;
}

RigidReference::Impact RigidReference::advance_to_impact(const Vec3& edges, double restitution, double t_end,
                                                         double dt) {
  Impact impact;
  while (t < t_end) {
    const RigidReference before = *this;
    runge_kutta(*this, dt);
    int vertex = -1;
    if (lowest(*this, edges, vertex) > 0) continue;

    // find the instant of contact by bisection of the last step
    double open = 0, closed = dt;
    for (int k = 0; k < 60; ++k) {
      const double middle = 0.5 * (open + closed);
      *this = before;
      runge_kutta(*this, middle);
      (lowest(*this, edges, vertex) > 0 ? open : closed) = middle;
    }
    *this = before;
    runge_kutta(*this, closed);
    lowest(*this, edges, vertex);

    // Newton's law for one row G = (n, s x R^T n)
    const Vec3 lever = box_vertex(edges, vertex).cross(R().transpose() * Vec3::UnitZ());
    const double m_eff = 1 / (1 / m + lever.dot(lever.cwiseQuotient(J)));
    impact.t = t;
    impact.vertex = vertex;
    impact.rate_before = v.z() + lever.dot(Omega);
    impact.impulse = -(1 + restitution) * m_eff * impact.rate_before;
    v.z() += impact.impulse / m;
    Omega += impact.impulse * lever.cwiseQuotient(J);
    return impact;
  }
  return impact;
}

Vec3 box_vertex(const Vec3& edges, int vertex) {
  return {((vertex & 1) != 0 ? 0.5 : -0.5) * edges[0], ((vertex & 2) != 0 ? 0.5 : -0.5) * edges[1],
          ((vertex & 4) != 0 ? 0.5 : -0.5) * edges[2]};
}

double angle_between(const Mat3& A, const Mat3& B) {
  // |A - B| = 2 sqrt(2) sin(angle/2), exact for small angles
  return 2 * std::asin(std::min(1.0, (A - B).norm() / std::sqrt(8.0)));
}

RigidReference brick_reference() {
  RigidReference b;
  b.m = 46.8;
  const Vec3 s = brick_edges.cwiseProduct(brick_edges) / 12;
  b.J = b.m * Vec3(s[1] + s[2], s[0] + s[2], s[0] + s[1]);
  b.gravity = Vec3(0, 0, -9.81);
  b.x = Vec3(0, 0, 1);
  b.v = Vec3(3, 0, 0);
  b.Omega = Vec3(60, 60, 0);
  return b;
}

}  // namespace carom::cases
