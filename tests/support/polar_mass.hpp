// A particle in polar coordinates: the smallest mechanics whose mass matrix depends on the configuration.
//
//   q = (r, phi, z),   x = r cos phi, y = r sin phi
//   M(q) = m diag(1, r^2, 1),   f_gyr = m (r phi'^2, -2 r r' phi', 0)
//   f_int = -k (r, 0, z): a spring of natural length 0 to the origin, with the energy k (r^2 + z^2)/2
//
// In Cartesian coordinates the same particle is a harmonic oscillator, which is the closed form for tests. The
// gyroscopic force does work, f_gyr . v = -1/2 v . M' v, so that kinetic energy and spring energy add up to a constant.
// The three coordinates are those of a point node: a plane as obstacle is r = R (a circular wall) or phi = phi_0 (a
// radial wall).
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/mechanics/element_block.hpp"

namespace carom::test {

struct PolarMass {
  int node = 0;  ///< point node
  double mass = 1, stiffness = 0;
};

class PolarMassBlock final : public ElementBlock {
 public:
  PolarMassBlock(std::string name, std::vector<PolarMass> masses)
      : ElementBlock(std::move(name), topology_of(masses), polar_traits()), masses_(std::move(masses)) {}

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override {
    for (int e = range.first; e < range.last; ++e, f += 3) {
      const PolarMass& p = masses_[static_cast<std::size_t>(e)];
      const double* q = configuration(in, e, 0);
      const double* v = in.v + 3 * (e - range.first);
      if ((parts & force_internal) != 0) {
        f[0] -= p.stiffness * q[0];
        f[2] -= p.stiffness * q[2];
      }
      if ((parts & force_gyroscopic) != 0) {
        f[0] += p.mass * q[0] * v[1] * v[1];
        f[1] -= 2 * p.mass * q[0] * v[0] * v[1];
      }
    }
  }
  void add_mass_times(Range range, const ElementInput& in, const double* a, MassKind, double* f) const override {
    for (int e = range.first; e < range.last; ++e, a += 3, f += 3) {
      const double m = masses_[static_cast<std::size_t>(e)].mass, r = configuration(in, e, 0)[0];
      f[0] += m * a[0];
      f[1] += m * r * r * a[1];
      f[2] += m * a[2];
    }
  }
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override {
    for (int e = range.first; e < range.last; ++e, A += 9) {
      const PolarMass& p = masses_[static_cast<std::size_t>(e)];
      const double m = p.mass, r = configuration(in, e, 0)[0];
      const int local = 3 * (e - range.first);
      A[0] += request.c_M * m;
      A[4] += request.c_M * m * r * r;
      A[8] += request.c_M * m;
      if (in.v == nullptr) continue;
      const double *v = in.v + local, c_C = request.c_C, c_K = request.c_K;
      // -df/dv
      A[1] -= c_C * 2 * m * r * v[1];
      A[3] += c_C * 2 * m * r * v[1];
      A[4] += c_C * 2 * m * r * v[0];
      // D(M a) - Df
      A[0] += c_K * (p.stiffness - m * v[1] * v[1]);
      A[3] += c_K * 2 * m * v[0] * v[1];
      A[8] += c_K * p.stiffness;
      if (request.a != nullptr) A[3] += c_K * 2 * m * r * request.a[local + 1];
    }
  }
  Energies energies(Range range, const ElementInput& in) const override {
    Energies sum;
    for (int e = range.first; e < range.last; ++e) {
      const double* q = configuration(in, e, 0);
      sum.elastic += 0.5 * masses_[static_cast<std::size_t>(e)].stiffness * (q[0] * q[0] + q[2] * q[2]);
    }
    return sum;
  }

 private:
  static Topology topology_of(const std::vector<PolarMass>& masses) {
    std::vector<int> nodes;
    for (const PolarMass& p : masses) nodes.push_back(p.node);
    return {static_cast<int>(masses.size()), {{0, 3}}, std::move(nodes)};
  }
  static BlockTraits polar_traits() {
    BlockTraits t;
    t.has_mass = t.velocity_dependent = t.has_stiffness = true;
    t.constant_mass = false;
    t.force_parts = force_internal | force_gyroscopic;
    return t;
  }

  std::vector<PolarMass> masses_;
};

}  // namespace carom::test
