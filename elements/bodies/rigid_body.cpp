#include "elements/bodies/rigid_body.hpp"

#include <algorithm>

#include "core/lie/so3.hpp"

namespace carom {

namespace {

Topology topology_of(const std::vector<RigidBody>& bodies) {
  std::vector<int> nodes;
  nodes.reserve(bodies.size());
  for (const RigidBody& b : bodies) nodes.push_back(b.node);
  return {static_cast<int>(bodies.size()), {{0, 6}}, std::move(nodes)};
}

// Omega x J Omega vanishes identically for an isotropic inertia tensor.
bool has_gyroscopic_force(const RigidBody& b) { return b.inertia != b.inertia(0, 0) * Mat3::Identity(); }

BlockTraits traits_of(const std::vector<RigidBody>& bodies) {
  BlockTraits t;
  t.has_mass = true;
  t.velocity_dependent = std::any_of(bodies.begin(), bodies.end(), has_gyroscopic_force);
  t.force_parts = t.velocity_dependent ? force_gyroscopic : 0U;
  t.linear = t.symmetric = !t.velocity_dependent;
  return t;
}

}  // namespace

RigidBodyBlock::RigidBodyBlock(std::string name, std::vector<RigidBody> bodies)
    : ElementBlock(std::move(name), topology_of(bodies), traits_of(bodies)), bodies_(std::move(bodies)) {}

void RigidBodyBlock::add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const {
  if ((parts & force_gyroscopic) == 0 || !traits().velocity_dependent) return;
  for (int e = range.first; e < range.last; ++e) {
    const double* v = in.v + 6 * (e - range.first);
    const Vec3 Omega(v[3], v[4], v[5]);
    const Vec3 moment = Omega.cross(bodies_[static_cast<std::size_t>(e)].inertia * Omega);
    double* fe = f + 6 * (e - range.first);
    for (int i = 0; i < 3; ++i) fe[3 + i] -= moment[i];
  }
}

void RigidBodyBlock::add_mass_times(Range range, const ElementInput&, const double* a, MassKind, double* f) const {
  for (int e = range.first; e < range.last; ++e, a += 6, f += 6) {
    const RigidBody& b = bodies_[static_cast<std::size_t>(e)];
    for (int i = 0; i < 3; ++i) f[i] += b.mass * a[i];
    const Vec3 Ja = b.inertia * Vec3(a[3], a[4], a[5]);
    for (int i = 0; i < 3; ++i) f[3 + i] += Ja[i];
  }
}

void RigidBodyBlock::add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const {
  for (int e = range.first; e < range.last; ++e, A += 36) {
    const RigidBody& b = bodies_[static_cast<std::size_t>(e)];
    Eigen::Map<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>> block(A);
    if (request.c_M != 0) {
      block.topLeftCorner<3, 3>().diagonal().array() += request.c_M * b.mass;
      block.bottomRightCorner<3, 3>() += request.c_M * b.inertia;
    }
    if (request.c_C != 0 && traits().velocity_dependent) {
      // D_Omega (Omega x J Omega) = hat(Omega) J - hat(J Omega)
      const double* v = in.v + 6 * (e - range.first);
      const Vec3 Omega(v[3], v[4], v[5]);
      block.bottomRightCorner<3, 3>() +=
          request.c_C * (so3::hat(Omega) * b.inertia - so3::hat(Vec3(b.inertia * Omega)));
    }
  }
}

Energies RigidBodyBlock::energies(Range, const ElementInput&) const { return {}; }

}  // namespace carom
