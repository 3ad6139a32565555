#include "contact/gap/point_contact.hpp"

#include <cmath>
#include <limits>

#include "contact/gap/passing.hpp"

namespace carom {

namespace {

Topology topology_of(const std::vector<ContactPoint>& points) {
  std::vector<int> nodes;
  nodes.reserve(points.size());
  for (const ContactPoint& p : points) nodes.push_back(p.node);
  return {static_cast<int>(points.size()), {{0, 6}}, std::move(nodes)};
}

bool rotates(const PrescribedMotion* motion) { return motion != nullptr && !motion->angle.is_constant(); }

}  // namespace

PointContactBlock::PointContactBlock(std::string name, std::vector<ContactPoint> points,
                                     std::shared_ptr<const Obstacle> obstacle,
                                     std::shared_ptr<const PrescribedMotion> motion, bool rotating)
    : ConstraintBlock(std::move(name), topology_of(points), 1,
                      ConstraintTraits{.kind = RowKind::unilateral,
                                       .linear = !rotating && obstacle->flat() && !rotates(motion.get()),
                                       .moving = motion != nullptr,
                                       .passable = std::isfinite(obstacle->thickness())}),
      points_(std::move(points)),
      obstacle_(std::move(obstacle)),
      motion_(std::move(motion)) {}

const PrescribedMotion::Pose& PointContactBlock::pose_at(double t, std::optional<PrescribedMotion::Pose>& moved) const {
  static const PrescribedMotion::Pose at_rest;
  return motion_ == nullptr ? at_rest : moved.emplace(motion_->at(t));
}

Distance PointContactBlock::distance(const PrescribedMotion::Pose& pose, const Vec3& x, double radius) const {
  Distance d = obstacle_->evaluate(motion_ == nullptr ? x : to_obstacle(pose, x));
  if (!d.directed && d.value <= radius) d.gradient.setConstant(std::numeric_limits<double>::quiet_NaN());
  if (motion_ == nullptr) return d;
  d.gradient = pose.Q * d.gradient;
  d.hessian = pose.Q * d.hessian * pose.Q.transpose();
  return d;
}

// Obstacles of finite thickness are convex, so that the gap along a straight way has one minimum.
std::string PointContactBlock::missed_contact(const ConstraintInput& start, const ConstraintInput& end) const {
  std::optional<PrescribedMotion::Pose> moved_0, moved_1;
  const PrescribedMotion::Pose &pose_0 = pose_at(start.t, moved_0), &pose_1 = pose_at(end.t, moved_1);
  for (int i = 0; i < topology().items; ++i) {
    const double r = points_[static_cast<std::size_t>(i)].radius, radius = obstacle_->thickness() / 2 + r;
    const auto place = [&](const ConstraintInput& in, const PrescribedMotion::Pose& pose) {
      const Vec3 x = point(in, i).x;
      return motion_ == nullptr ? x : to_obstacle(pose, x);
    };
    const Vec3 x_0 = place(start, pose_0), way = place(end, pose_1) - x_0;
    const auto gap = [&](double share) { return obstacle_->distance(x_0 + share * way) - r; };
    // the gap changes by no more than the way: most are too short to lead deep enough
    const double gap_1 = gap(1), length = way.norm();
    if (gap_1 >= length || (gap_1 < touching_gap * radius && length < 2 * sliding_chord * radius)) continue;
    const double gap_0 = gap(0);
    if (gap_0 + gap_1 >= length || std::min(gap_0, gap_1) < -touching_gap * radius) continue;
    double low = 0, high = 1;
    for (int k = 0; k < 40; ++k) {
      const double a = low + (high - low) / 3, b = high - (high - low) / 3;
      if (gap(a) < gap(b))
        high = b;
      else
        low = a;
    }
    if (passes(gap_0, gap_1, gap(low), radius)) return item_name(i);
  }
  return {};
}

int PointContactBlock::undirected(const ConstraintInput& in) const {
  std::optional<PrescribedMotion::Pose> moved;
  const PrescribedMotion::Pose& pose = pose_at(in.t, moved);
  for (int i = 0; i < topology().items; ++i)
    if (!distance(pose, point(in, i).x, points_[static_cast<std::size_t>(i)].radius).gradient.allFinite()) return i;
  return -1;
}

void PointContactBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  std::optional<PrescribedMotion::Pose> moved;
  const PrescribedMotion::Pose& pose = pose_at(in.t, moved);
  const bool only_gap =
      values.rate == nullptr && values.bias == nullptr && values.gradient == nullptr && values.rate_gradient == nullptr;
  for (int i = range.first; i < range.last; ++i) {
    const ContactPoint& c = points_[static_cast<std::size_t>(i)];
    const std::size_t local = static_cast<std::size_t>(i - range.first);
    const PointState p = point(in, i);
    if (only_gap) {
      values.gap[local] = obstacle_->distance(motion_ == nullptr ? p.x : to_obstacle(pose, p.x)) - c.radius;
      continue;
    }
    const Distance d = distance(pose, p.x, c.radius);
    const Vec3& n = d.gradient;
    if (values.gap != nullptr) values.gap[local] = d.value - c.radius;
    if (values.gradient != nullptr) {
      double* G = values.gradient + 6 * local;
      for (int k = 0; k < 6; ++k) G[k] = 0;
      add_point_force(p, c.offset, n, G);
    }
    if (in.v == nullptr) continue;

    // velocity relative to the obstacle's material point that coincides with x_P
    const double* v = in.v + 6 * local;
    const Vec3 r = p.x - pose.origin;
    const Vec3 w = point_velocity(p, c.offset, v) - pose.velocity - pose.omega.cross(r);
    if (values.rate != nullptr) values.rate[local] = n.dot(w);
    if (values.bias != nullptr) {
      const Vec3 carried = pose.acceleration + pose.alpha.cross(r) + pose.omega.cross(pose.omega.cross(r));
      values.bias[local] =
          w.dot(d.hessian * w) + n.dot(point_centripetal(p, c.offset, v) - carried - 2 * pose.omega.cross(w));
    }
    if (values.rate_gradient != nullptr) {
      // D(n . w) = w . H J + n . D(w); w depends on x_P through -omega x, and on R through the velocity of the offset
      const Eigen::RowVector3d along = w.transpose() * d.hessian - n.cross(pose.omega).transpose();
      Eigen::Map<Eigen::Matrix<double, 1, 6>> D(values.rate_gradient + 6 * local);
      D = along * point_jacobian(p, c.offset);
      if (p.rotates) D.tail<3>() -= n.transpose() * p.R * so3::hat(Vec3(Vec3(v[3], v[4], v[5]).cross(c.offset)));
    }
  }
}

void PointContactBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  std::optional<PrescribedMotion::Pose> moved;
  const PrescribedMotion::Pose& pose = pose_at(in.t, moved);
  for (int i = range.first; i < range.last; ++i, ++s, f += 6) {
    if (*s == 0) continue;
    const PointState p = point(in, i);
    const ContactPoint& c = points_[static_cast<std::size_t>(i)];
    add_point_force(p, c.offset, *s * distance(pose, p.x, c.radius).gradient, f);
  }
}

void PointContactBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                              double* A) const {
  std::optional<PrescribedMotion::Pose> moved;
  const PrescribedMotion::Pose& pose = pose_at(in.t, moved);
  for (int i = range.first; i < range.last; ++i, ++s, A += 36) {
    if (*s == 0) continue;
    const ContactPoint& contact = points_[static_cast<std::size_t>(i)];
    const Vec3& offset = contact.offset;
    const PointState p = point(in, i);
    const Distance d = distance(pose, p.x, contact.radius);
    Eigen::Map<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>> block(A);
    if (!obstacle_->flat()) {
      const Eigen::Matrix<double, 3, 6> J = point_jacobian(p, offset);
      block += c * *s * J.transpose() * d.hessian * J;
    }
    if (p.rotates) block.bottomRightCorner<3, 3>() += c * *s * point_force_gradient(p, offset, d.gradient);
  }
}

ContactParameters PointContactBlock::law(int item, int) const {
  return {.restitution = points_[static_cast<std::size_t>(item)].restitution};
}

ConstraintBlock::Place PointContactBlock::place(int item, int, const ConstraintInput& in) const {
  std::optional<PrescribedMotion::Pose> moved;
  const PrescribedMotion::Pose& pose = pose_at(in.t, moved);
  const PointState p = point(in, item);
  const double radius = points_[static_cast<std::size_t>(item)].radius;
  const Distance d = distance(pose, p.x, radius);
  return {p.x - radius * d.gradient, d.gradient};
}

}  // namespace carom
