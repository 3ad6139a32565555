#include "elements/joints/spring_damper.hpp"

#include <algorithm>

namespace carom {

namespace {

Topology topology_of(const std::vector<SpringDamper>& springs) {
  std::vector<int> nodes;
  for (const SpringDamper& s : springs) nodes.insert(nodes.end(), {s.node_a, s.node_b});
  return {static_cast<int>(springs.size()), {{0, 6}, {0, 6}}, std::move(nodes)};
}

BlockTraits traits_of(const std::vector<SpringDamper>& springs) {
  BlockTraits t;
  t.has_stiffness = true;
  t.velocity_dependent =
      std::any_of(springs.begin(), springs.end(), [](const SpringDamper& s) { return s.damping != 0; });
  t.force_parts = t.velocity_dependent ? force_internal | force_damping : force_internal;
  return t;
}

}  // namespace

struct SpringDamperBlock::Geometry {
  PointState a, b;
  Vec3 span, n;  // span = x_B - x_A, n its direction
  double length = 0;
};

SpringDamperBlock::SpringDamperBlock(std::string name, std::vector<SpringDamper> springs)
    : ElementBlock(std::move(name), topology_of(springs), traits_of(springs)), springs_(std::move(springs)) {}

SpringDamperBlock::Geometry SpringDamperBlock::geometry(const ElementInput& in, int e) const {
  const SpringDamper& s = springs_[at(e)];
  Geometry g;
  g.a = point_state(configuration(in, e, 0), node_kind(e, 0), s.offset_a);
  g.b = point_state(configuration(in, e, 1), node_kind(e, 1), s.offset_b);
  g.span = g.b.x - g.a.x;
  g.length = g.span.norm();
  g.n = g.length > 0 ? Vec3(g.span / g.length) : Vec3::Zero();
  return g;
}

void SpringDamperBlock::add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const {
  for (int e = range.first; e < range.last; ++e) {
    const SpringDamper& s = springs_[at(e)];
    const Geometry g = geometry(in, e);
    const std::size_t local = 12 * at(e - range.first);
    Vec3 force = Vec3::Zero();  // force on A
    if ((parts & force_internal) != 0) force += s.stiffness * (g.span - s.natural_length * g.n);
    if ((parts & force_damping) != 0 && s.damping != 0) {
      const double* v = in.v + local;
      const Vec3 rate = point_velocity(g.b, s.offset_b, v + 6) - point_velocity(g.a, s.offset_a, v);
      force += s.damping * g.n.dot(rate) * g.n;
    }
    add_point_force(g.a, s.offset_a, force, f + local);
    add_point_force(g.b, s.offset_b, -force, f + local + 6);
  }
}

void SpringDamperBlock::add_tangent(Range range, const ElementInput& in, const ElementTangent& request,
                                    double* A) const {
  using Matrix12 = Eigen::Matrix<double, 12, 12, Eigen::RowMajor>;
  for (int e = range.first; e < range.last; ++e) {
    const SpringDamper& s = springs_[at(e)];
    const Geometry g = geometry(in, e);
    const double* v = in.v == nullptr ? nullptr : in.v + 12 * at(e - range.first);
    Eigen::Map<Matrix12> block(A + 144 * at(e - range.first));

    // J: Jacobian of the span, d span = J d q
    Eigen::Matrix<double, 3, 12> J;
    J << -point_jacobian(g.a, s.offset_a), point_jacobian(g.b, s.offset_b);

    // the force on the span is F = N n: f = -J^T F, so -df = J^T dF + (dJ^T) F
    if (request.c_C != 0 && s.damping != 0) {
      const Eigen::Matrix<double, 1, 12> nJ = g.n.transpose() * J;
      block += request.c_C * s.damping * nJ.transpose() * nJ;
    }
    if (request.c_K == 0) continue;
    const Mat3 across = Mat3::Identity() - g.n * g.n.transpose();
    const double stretch = g.length > 0 ? s.natural_length / g.length : 0;
    Vec3 F = s.stiffness * (g.span - s.natural_length * g.n);
    Eigen::Matrix<double, 3, 12> dF = s.stiffness * (Mat3::Identity() - stretch * across) * J;
    if (s.damping != 0 && v != nullptr && g.length > 0) {
      const Vec3 rate = point_velocity(g.b, s.offset_b, v + 6) - point_velocity(g.a, s.offset_a, v);
      const double speed = g.n.dot(rate);
      F += s.damping * speed * g.n;
      // n and n . rate change with the span; the rate also changes with the rotations of the attachment points
      const Mat3 dn = across / g.length;
      dF += s.damping * (speed * dn + g.n * rate.transpose() * dn) * J;
      const auto add_rotation = [&](const PointState& p, const Vec3& offset, const double* vp, double sign,
                                    int column) {
        if (!p.rotates) return;
        const Vec3 relative = Vec3(vp[3], vp[4], vp[5]).cross(offset);
        const Eigen::RowVector3d row = -sign * g.n.transpose() * p.R * so3::hat(relative);
        dF.middleCols<3>(column) += s.damping * g.n * row;
      };
      add_rotation(g.a, s.offset_a, v, -1, 3);
      add_rotation(g.b, s.offset_b, v + 6, 1, 9);
    }
    block += request.c_K * J.transpose() * dF;
    if (g.a.rotates) block.block<3, 3>(3, 3) -= request.c_K * point_force_gradient(g.a, s.offset_a, F);
    if (g.b.rotates) block.block<3, 3>(9, 9) += request.c_K * point_force_gradient(g.b, s.offset_b, F);
  }
}

Energies SpringDamperBlock::energies(Range range, const ElementInput& in) const {
  Energies sum;
  for (int e = range.first; e < range.last; ++e) {
    const double u = geometry(in, e).length - springs_[at(e)].natural_length;
    sum.elastic += 0.5 * springs_[at(e)].stiffness * u * u;
  }
  return sum;
}

double SpringDamperBlock::roundoff_force(double length_scale) const {
  double largest = 0;
  for (const SpringDamper& s : springs_) largest = std::max(largest, s.stiffness);
  return largest * length_scale;
}

}  // namespace carom
