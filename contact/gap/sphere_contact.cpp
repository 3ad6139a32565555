#include "contact/gap/sphere_contact.hpp"

#include <algorithm>
#include <limits>

#include "contact/gap/passing.hpp"

namespace carom {

namespace {

Topology topology_of(const std::vector<SpherePair>& pairs) {
  std::vector<int> nodes;
  for (const SpherePair& p : pairs) nodes.insert(nodes.end(), {p.node_a, p.node_b});
  return {static_cast<int>(pairs.size()), {{0, 6}, {0, 6}}, std::move(nodes)};
}

}  // namespace

struct SphereContactBlock::Geometry {
  PointState a, b;
  Vec3 n;
  double length = 0;
  Mat3 hessian() const {
    return length > 0 ? Mat3((Mat3::Identity() - n * n.transpose()) / length) : Mat3(Mat3::Zero());
  }
};

SphereContactBlock::SphereContactBlock(std::string name, std::vector<SpherePair> pairs)
    : ConstraintBlock(std::move(name), topology_of(pairs), 1,
                      ConstraintTraits{.kind = RowKind::unilateral, .passable = true}),
      pairs_(std::move(pairs)) {}

SphereContactBlock::SphereContactBlock(std::string name, std::vector<SpherePair> pairs, double far)
    : ConstraintBlock(std::move(name), topology_of(pairs), 1,
                      ConstraintTraits{.kind = RowKind::unilateral, .searching = true, .passable = true}),
      pairs_(std::move(pairs)),
      far_(far) {}

SphereContactBlock::Geometry SphereContactBlock::geometry(const ConstraintInput& in, int i) const {
  const SpherePair& pair = pairs_[static_cast<std::size_t>(i)];
  Geometry g;
  g.a = point_state(configuration(in, i, 0), node_kind(i, 0), pair.offset_a);
  g.b = point_state(configuration(in, i, 1), node_kind(i, 1), pair.offset_b);
  const Vec3 span = g.b.x - g.a.x;
  g.length = span.norm();
  // shorter parts of the radii are rounding of the places, and have no direction
  const bool directed = g.length > 1e-12 * (pair.radius_a + pair.radius_b);
  g.n = directed ? Vec3(span / g.length) : Vec3(Vec3::Constant(std::numeric_limits<double>::quiet_NaN()));
  return g;
}

std::string SphereContactBlock::missed_contact(const ConstraintInput& start, const ConstraintInput& end) const {
  for (int i = 0; i < topology().items; ++i) {
    if (!paired(i)) continue;
    const SpherePair& pair = pairs_[static_cast<std::size_t>(i)];
    const auto centre = [&](const ConstraintInput& in, int slot, const Vec3& offset) {
      const double* const node = configuration(in, i, slot);
      // most centres are the nodes: no rotation is needed
      return node != nullptr && offset.isZero(0) ? Vec3(node) : point_state(node, node_kind(i, slot), offset).x;
    };
    const auto span = [&](const ConstraintInput& in) {
      return Vec3(centre(in, 1, pair.offset_b) - centre(in, 0, pair.offset_a));
    };
    if (passes(span(start), span(end), pair.radius_a + pair.radius_b)) return item_name(i);
  }
  return {};
}

int SphereContactBlock::undirected(const ConstraintInput& in) const {
  for (int i = 0; i < topology().items; ++i)
    if (paired(i) && !geometry(in, i).n.allFinite()) return i;
  return -1;
}

void SphereContactBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  for (int i = range.first; i < range.last; ++i) {
    const SpherePair& pair = pairs_[static_cast<std::size_t>(i)];
    const std::size_t local = static_cast<std::size_t>(i - range.first);
    if (!paired(i)) {
      if (values.gap != nullptr) values.gap[local] = far_;
      if (values.rate != nullptr) values.rate[local] = 0;
      if (values.bias != nullptr) values.bias[local] = 0;
      if (values.gradient != nullptr) std::fill_n(values.gradient + 12 * local, 12, 0.0);
      if (values.rate_gradient != nullptr) std::fill_n(values.rate_gradient + 12 * local, 12, 0.0);
      continue;
    }
    const Geometry g = geometry(in, i);
    if (values.gap != nullptr) values.gap[local] = g.length - (pair.radius_a + pair.radius_b);
    if (values.gradient != nullptr) {
      double* G = values.gradient + 12 * local;
      for (int k = 0; k < 12; ++k) G[k] = 0;
      add_point_force(g.a, pair.offset_a, -g.n, G);
      add_point_force(g.b, pair.offset_b, g.n, G + 6);
    }
    if (in.v == nullptr) continue;
    const double* v = in.v + 12 * local;
    const Vec3 w = point_velocity(g.b, pair.offset_b, v + 6) - point_velocity(g.a, pair.offset_a, v);
    if (values.rate != nullptr) values.rate[local] = g.n.dot(w);
    if (values.bias != nullptr)
      values.bias[local] = w.dot(g.hessian() * w) + g.n.dot(point_centripetal(g.b, pair.offset_b, v + 6) -
                                                            point_centripetal(g.a, pair.offset_a, v));
    if (values.rate_gradient != nullptr) {
      const Eigen::RowVector3d along = w.transpose() * g.hessian();
      Eigen::Map<Eigen::Matrix<double, 1, 12>> D(values.rate_gradient + 12 * local);
      D << -along * point_jacobian(g.a, pair.offset_a), along * point_jacobian(g.b, pair.offset_b);
      const auto add_rotation = [&](const PointState& p, const Vec3& offset, const double* vp, double sign,
                                    int column) {
        if (!p.rotates) return;
        D.segment<3>(column) -= sign * g.n.transpose() * p.R * so3::hat(Vec3(Vec3(vp[3], vp[4], vp[5]).cross(offset)));
      };
      add_rotation(g.a, pair.offset_a, v, -1, 3);
      add_rotation(g.b, pair.offset_b, v + 6, 1, 9);
    }
  }
}

void SphereContactBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  for (int i = range.first; i < range.last; ++i, ++s, f += 12) {
    if (*s == 0) continue;
    const SpherePair& pair = pairs_[static_cast<std::size_t>(i)];
    const Geometry g = geometry(in, i);
    add_point_force(g.a, pair.offset_a, -*s * g.n, f);
    add_point_force(g.b, pair.offset_b, *s * g.n, f + 6);
  }
}

void SphereContactBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                               double* A) const {
  for (int i = range.first; i < range.last; ++i, ++s, A += 144) {
    if (*s == 0) continue;
    const SpherePair& pair = pairs_[static_cast<std::size_t>(i)];
    const Geometry g = geometry(in, i);
    Eigen::Matrix<double, 3, 12> J;
    J << -point_jacobian(g.a, pair.offset_a), point_jacobian(g.b, pair.offset_b);
    Eigen::Map<Eigen::Matrix<double, 12, 12, Eigen::RowMajor>> block(A);
    block += c * *s * J.transpose() * g.hessian() * J;
    if (g.a.rotates) block.block<3, 3>(3, 3) -= c * *s * point_force_gradient(g.a, pair.offset_a, g.n);
    if (g.b.rotates) block.block<3, 3>(9, 9) += c * *s * point_force_gradient(g.b, pair.offset_b, g.n);
  }
}

ContactParameters SphereContactBlock::law(int item, int) const {
  return {.restitution = pairs_[static_cast<std::size_t>(item)].restitution};
}

ConstraintBlock::Place SphereContactBlock::place(int item, int, const ConstraintInput& in) const {
  if (!paired(item)) return {};
  const Geometry g = geometry(in, item);
  return {g.a.x + pairs_[static_cast<std::size_t>(item)].radius_a * g.n, g.n};
}

}  // namespace carom
