#include "contact/gap/point_contact.hpp"

#include <algorithm>
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

int rows_of(const std::vector<ContactPoint>& points) {
  if (points.empty() || !(points.front().friction > 0)) return 1;
  return points.front().rolling > 0 || points.front().pivoting > 0 ? most_contact_rows : slip_rows;
}

bool rolls(const std::vector<ContactPoint>& points) {
  return std::ranges::any_of(points, [](const ContactPoint& p) { return p.radius > 0 && p.friction > 0; });
}

bool turns(const std::vector<ContactPoint>& points) {
  return std::ranges::any_of(points, [](const ContactPoint& p) { return !p.offset.isZero(0); });
}

}  // namespace

PointContactBlock::PointContactBlock(std::string name, std::vector<ContactPoint> points,
                                     std::shared_ptr<const Obstacle> obstacle,
                                     std::shared_ptr<const PrescribedMotion> motion, bool rotating)
    : ConstraintBlock(std::move(name), topology_of(points), rows_of(points),
                      ConstraintTraits{.kind = RowKind::unilateral,
                                       .linear = !rotating && obstacle->flat() && !rotates(motion.get()),
                                       .moving = motion != nullptr,
                                       .passable = std::isfinite(obstacle->radius()),
                                       .rolling = rotating && rolls(points),
                                       .turning = rotating && turns(points)}),
      reference_(obstacle->flat() ? tangent_reference(obstacle->evaluate(Vec3::Zero()).gradient)
                                  : generic_tangent_reference()),
      of_plane_(reference_, reference_.m),
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

// The gap along a straight way has one minimum: obstacles are convex. In a container it is least at an end.
std::string PointContactBlock::missed_contact(const ConstraintInput& start, const ConstraintInput& end,
                                              double closing_turn) const {
  std::optional<PrescribedMotion::Pose> moved_0, moved_1;
  const PrescribedMotion::Pose &pose_0 = pose_at(start.t, moved_0), &pose_1 = pose_at(end.t, moved_1);
  for (int i = 0; i < topology().items; ++i) {
    const double r = points_[static_cast<std::size_t>(i)].radius,
                 radius = obstacle_->radius() + (obstacle_->contains() ? -r : r);
    if (!(radius > 0)) continue;
    const auto place = [&](const ConstraintInput& in, const PrescribedMotion::Pose& pose) {
      const Vec3 x = point(in, i).x;
      return motion_ == nullptr ? x : to_obstacle(pose, x);
    };
    const Vec3 x_0 = place(start, pose_0);
    Vec3 x_1 = place(end, pose_1);
    if (rotates(motion_.get())) x_1 = obstacle_->turned(x_1, pose_0.Q.transpose() * pose_1.Q);
    const Vec3 way = x_1 - x_0;
    const auto gap = [&](double share) { return obstacle_->distance(x_0 + share * way) - r; };
    // the gap changes by no more than the way: most are too short to lead deep enough
    const double gap_1 = gap(1), length = way.norm();
    const double touching = touching_gap * radius;
    const Passage passage{radius, obstacle_->edged(), closing_turn};
    const bool short_slide = gap_1 < touching && gap_1 > -deepest_end * radius && length < passage.short_way() * radius;
    if (gap_1 >= length || (short_slide && !obstacle_->edged())) continue;
    const double gap_0 = gap(0);
    if (gap_0 + gap_1 >= length || (short_slide && gap_0 < touching)) continue;
    double low = 0, high = 1;
    const bool deep = obstacle_->edged() || length * length >= chord_square * radius * radius;
    for (int k = 0; k < 40 && deep && !obstacle_->contains(); ++k) {
      const double a = low + (high - low) / 3, b = high - (high - low) / 3;
      if (gap(a) < gap(b))
        high = b;
      else
        low = a;
    }
    const auto turn = [&] { return obstacle_->evaluate(x_0).gradient.dot(obstacle_->evaluate(x_0 + way).gradient); };
    const double smallest = obstacle_->contains() || !deep ? std::min(gap_0, gap_1) : gap(low);
    if (passes(gap_0, gap_1, smallest, passage, turn)) return item_name(i);
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
  const bool only_gap = values.rate == nullptr && values.bias == nullptr && values.gradient == nullptr &&
                        values.rate_gradient == nullptr && values.gap_gradient == nullptr;
  const std::size_t rows = static_cast<std::size_t>(this->rows());
  PointStates states, before;
  for (int i = range.first; i < range.last; ++i) {
    const ContactPoint& c = points_[static_cast<std::size_t>(i)];
    const std::size_t item = static_cast<std::size_t>(i - range.first), local = rows * item;
    const PointState& p = point(in, i, states);
    if (only_gap && rows == 1) {
      values.gap[local] = obstacle_->distance(motion_ == nullptr ? p.x : to_obstacle(pose, p.x)) - c.radius;
      continue;
    }
    const Distance d = distance(pose, p.x, c.radius);
    const Vec3& n = d.gradient;
    if (values.gap != nullptr) values.gap[local] = d.value - c.radius;
    for (double* const gradient : {values.gradient, values.gap_gradient}) {
      if (gradient == nullptr) continue;
      double* G = gradient + 6 * local;
      for (int k = 0; k < 6; ++k) G[k] = 0;
      add_point_force(p, c.offset, n, G);
    }
    if (rows > 1) {
      evaluate_step(i, local, in, pose, p, d, before, values);
      evaluate_slip(i, item, in, pose, p, d, values);
    }
    if (rows > slip_rows) evaluate_spin(i, item, in, pose, p, d, values);
    if (in.v == nullptr) continue;

    // velocity relative to the obstacle's material point that coincides with x_P
    const double* v = in.v + 6 * item;
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
  PointStates states;
  for (int i = range.first; i < range.last; ++i, s += rows(), f += 6) {
    const bool rubs = rows() > 1 && (s[1] != 0 || s[2] != 0), resists = acts_by_moment(s, rows());
    if (*s == 0 && !rubs && !resists) continue;
    const PointState& p = point(in, i, states);
    const ContactPoint& c = points_[static_cast<std::size_t>(i)];
    const Distance d = distance(pose, p.x, c.radius);
    add_point_force(p, c.offset, *s * d.gradient, f);
    if (rubs) add_friction(i, pose, p, d, s + 1, f);
    if (resists) add_resistance(i, pose, p, d, s + slip_rows, f);
  }
}

void PointContactBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                              double* A) const {
  std::optional<PrescribedMotion::Pose> moved;
  const PrescribedMotion::Pose& pose = pose_at(in.t, moved);
  PointStates states;
  for (int i = range.first; i < range.last; ++i, s += rows(), A += 36) {
    const bool rubs = rows() > 1 && (s[1] != 0 || s[2] != 0), resists = acts_by_moment(s, rows());
    if (*s == 0 && !rubs && !resists) continue;
    const ContactPoint& contact = points_[static_cast<std::size_t>(i)];
    const Vec3& offset = contact.offset;
    const PointState& p = point(in, i, states);
    const Distance d = distance(pose, p.x, contact.radius);
    Eigen::Map<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>> block(A);
    if (!obstacle_->flat()) {
      const Eigen::Matrix<double, 3, 6> J = point_jacobian(p, offset);
      block += c * *s * J.transpose() * d.hessian * J;
    }
    if (p.rotates) block.bottomRightCorner<3, 3>() += c * *s * point_force_gradient(p, offset, d.gradient);
    if (rubs) add_friction_gradient(i, pose, p, d, s + 1, c, A);
    if (resists) add_resistance_gradient(i, pose, p, d, s + slip_rows, c, A);
  }
}

ContactParameters PointContactBlock::law(int item, int row) const {
  const ContactPoint& c = points_[static_cast<std::size_t>(item)];
  if (row >= slip_rows) return resistance_law(row, c.rolling, c.pivoting, c.radius);
  return {.restitution = row == 0 ? c.restitution : c.tangential_restitution, .friction = c.friction};
}

ConstraintBlock::Place PointContactBlock::place(int item, int row, const ConstraintInput& in) const {
  std::optional<PrescribedMotion::Pose> moved;
  const PrescribedMotion::Pose& pose = pose_at(in.t, moved);
  const PointState p = point(in, item);
  const double radius = points_[static_cast<std::size_t>(item)].radius;
  const Distance d = distance(pose, p.x, radius);
  std::optional<TangentBasis> turned;
  return {p.x - radius * d.gradient, contact_row_direction(row, d.gradient, tangents(pose, d.gradient, turned))};
}

ConstraintBlock::Turn PointContactBlock::tangent_turn(int item, const ConstraintInput& in) const {
  if (rows() == 1 || in.start == nullptr || (obstacle_->flat() && !rotates(motion_.get()))) return {};
  // in inertial axes: the slip of a body that others push keeps its direction there, not in the axes of the obstacle
  struct End {
    Vec3 n;
    std::optional<TangentBasis> turned;
    const TangentBasis* basis = nullptr;
  };
  const auto find = [&](const ConstraintInput& at, End& end) {
    std::optional<PrescribedMotion::Pose> moved;
    const PrescribedMotion::Pose& pose = pose_at(at.t, moved);
    end.n = distance(pose, point(at, item).x, points_[static_cast<std::size_t>(item)].radius).gradient;
    end.basis = &tangents(pose, end.n, end.turned);
  };
  End now, before;
  find(in, now);
  find({in.start->q, nullptr, in.start->t, nullptr}, before);
  return now.basis->turn_from(*before.basis, now.n, before.n);
}

const TangentBasis& PointContactBlock::tangents(const PrescribedMotion::Pose& pose, const Vec3& n,
                                                std::optional<TangentBasis>& turned) const {
  const bool flat = obstacle_->flat();
  if (motion_ == nullptr) return flat ? of_plane_ : turned.emplace(reference_, n);
  if (flat)
    turned = of_plane_;
  else
    turned.emplace(reference_, Vec3(pose.Q.transpose() * n));
  turned->turn(pose.Q);
  return *turned;
}

// Slip velocity u = t . w: its gradient G, its time derivative and its derivative.
void PointContactBlock::evaluate_slip(int item, std::size_t place, const ConstraintInput& in,
                                      const PrescribedMotion::Pose& pose, const PointState& p, const Distance& d,
                                      const ConstraintValues& values) const {
  if (values.gradient == nullptr && in.v == nullptr) return;
  const ContactPoint& c = points_[static_cast<std::size_t>(item)];
  const Vec3& n = d.gradient;
  const double r = p.rotates ? c.radius : 0.0;
  std::optional<TangentBasis> turned;
  const TangentBasis& basis = tangents(pose, n, turned);
  const std::size_t first = static_cast<std::size_t>(rows()) * place + 1;
  if (values.gradient != nullptr) {
    const Vec3 arm = c.offset - r * (p.R.transpose() * n);
    for (std::size_t k = 0; k < 2; ++k) {
      double* G = values.gradient + 6 * (first + k);
      for (int j = 0; j < 6; ++j) G[j] = 0;
      add_point_force(p, arm, basis.t[k], G);
    }
  }
  if (in.v == nullptr) return;
  const double* v = in.v + 6 * place;
  const Vec3 Omega = p.rotates ? Vec3(v[3], v[4], v[5]) : Vec3(Vec3::Zero());
  const Vec3 from = p.x - pose.origin, surface = pose.Q * pose.surface;
  // of the point, and at the surface; a sphere that does not rotate turns with no node
  const double r_o = c.radius;
  const Vec3 w_P = point_velocity(p, c.offset, v) - pose.velocity - pose.omega.cross(from);
  const Vec3 w = w_P - r * (p.R * Omega).cross(n) + r_o * pose.omega.cross(n) - surface;
  for (std::size_t k = 0; k < 2; ++k)
    if (values.rate != nullptr) values.rate[first + k] = basis.t[k].dot(w);
  if (values.bias != nullptr) {
    const Vec3 bend = d.hessian * w_P, n_t = pose.omega.cross(n) + bend;
    const Vec3 carried = pose.acceleration + pose.alpha.cross(from) +
                         pose.omega.cross(Vec3(point_velocity(p, c.offset, v) - pose.velocity));
    const Vec3 w_t = point_centripetal(p, c.offset, v) - carried - r * (p.R * Omega).cross(n_t) +
                     r_o * (pose.alpha.cross(n) + pose.omega.cross(n_t)) - pose.omega.cross(surface) -
                     pose.Q * pose.surface_rate;
    for (std::size_t k = 0; k < 2; ++k)
      values.bias[first + k] = (pose.omega.cross(basis.t[k]) + basis.D[k] * bend).dot(w) + basis.t[k].dot(w_t);
  }
  if (values.rate_gradient != nullptr) {
    const Eigen::Matrix<double, 3, 6> J = point_jacobian(p, c.offset), N = d.hessian * J;
    // w by the place of the point, by n, and by the rotation of the node through its velocities
    Eigen::Matrix<double, 3, 6> W =
        -so3::hat(pose.omega) * J - so3::hat(Vec3(r * (p.R * Omega) - r_o * pose.omega)) * N;
    if (p.rotates)
      W.rightCols<3>() += -p.R * so3::hat(Vec3(Omega.cross(c.offset))) - r * so3::hat(n) * p.R * so3::hat(Omega);
    for (std::size_t k = 0; k < 2; ++k)
      Eigen::Map<Eigen::Matrix<double, 1, 6>>(values.rate_gradient + 6 * (first + k)) =
          (w.transpose() * basis.D[k]) * N + basis.t[k].transpose() * W;
  }
}

struct PointContactBlock::StepMotion {
  ContactAxes axes;
  Vec3 way;   // of the point, relative to the obstacle's material points
  Vec3 turn;  // rotation relative to the obstacle
};

PointContactBlock::StepMotion PointContactBlock::motion_of_step(int item, const ConstraintInput& in,
                                                                const PrescribedMotion::Pose& pose, const PointState& p,
                                                                const Distance& d, PointStates& before) const {
  const PointState& p_n = point({in.start->q, nullptr, in.start->t, nullptr}, item, before);
  const double radius = points_[static_cast<std::size_t>(item)].radius;
  std::optional<PrescribedMotion::Pose> moved;
  const PrescribedMotion::Pose& pose_n = pose_at(in.start->t, moved);
  Mat3 dQ = Mat3::Identity(), dR = Mat3::Identity();
  if (p.rotates && radius > 0) dR = p.R * p_n.R.transpose();
  Vec3 way = p.x - p_n.x;
  if (motion_ != nullptr) {
    dQ = pose.Q * pose_n.Q.transpose();
    dR = dR * dQ.transpose();
    way = p.x - pose.origin - dQ * (p_n.x - pose_n.origin) -
          0.5 * (in.t - in.start->t) * (pose.Q * (pose_n.surface + pose.surface));
  }
  std::optional<TangentBasis> turned;
  StepMotion step{ContactAxes(tangents(pose, d.gradient, turned), d.gradient), way,
                  radius > 0 ? Vec3(so3::log(dR)) : Vec3(Vec3::Zero())};
  if (!obstacle_->flat()) step.axes.go_to_middle(dQ * distance(pose_n, p_n.x, radius).gradient);
  return step;
}

void PointContactBlock::evaluate_step(int item, std::size_t gap_row, const ConstraintInput& in,
                                      const PrescribedMotion::Pose& pose, const PointState& p, const Distance& d,
                                      PointStates& before, const ConstraintValues& values) const {
  if (values.gap == nullptr && values.gap_gradient == nullptr) return;
  if (in.start == nullptr) {
    const std::size_t n = static_cast<std::size_t>(rows()) - 1;
    if (values.gap != nullptr) std::fill_n(values.gap + gap_row + 1, n, 0.0);
    if (values.gap_gradient != nullptr) std::fill_n(values.gap_gradient + 6 * (gap_row + 1), 6 * n, 0.0);
    return;
  }
  const StepMotion step = motion_of_step(item, in, pose, p, d, before);
  evaluate_displacement(item, gap_row, step, p, d, values);
  if (rows() > slip_rows) evaluate_rotation(item, gap_row, step, p, d, values);
}

// Slip displacement of the step, t . e, and its derivative.
void PointContactBlock::evaluate_displacement(int item, std::size_t gap_row, const StepMotion& step,
                                              const PointState& p, const Distance& d,
                                              const ConstraintValues& values) const {
  const ContactPoint& c = points_[static_cast<std::size_t>(item)];
  const double r = c.radius;
  const Vec3& m = step.axes.a[2];
  const Vec3 e = step.way - r * step.turn.cross(m);
  for (std::size_t k = 0; k < 2; ++k)
    if (values.gap != nullptr) values.gap[gap_row + 1 + k] = step.axes.a[k].dot(e);
  if (values.gap_gradient == nullptr) return;
  Eigen::Matrix<double, 3, 6> E = point_jacobian(p, c.offset), N;
  const bool turns = !obstacle_->flat();  // the normal, with the place of the point
  if (turns) {
    N = d.hessian * E;
    E -= r * so3::hat(step.turn) * step.axes.D[2] * N;
  }
  if (p.rotates && r > 0) E.rightCols<3>() += r * so3::hat(m) * so3::tangent_inverse(Vec3(-step.turn)) * p.R;
  for (std::size_t k = 0; k < 2; ++k) {
    Eigen::Map<Eigen::Matrix<double, 1, 6>> D(values.gap_gradient + 6 * (gap_row + 1 + k));
    D = step.axes.a[k].transpose() * E;
    if (turns) D += (e.transpose() * step.axes.D[k]) * N;
  }
}

void PointContactBlock::add_friction(int i, const PrescribedMotion::Pose& pose, const PointState& p, const Distance& d,
                                     const double* s, double* f) const {
  const ContactPoint& c = points_[static_cast<std::size_t>(i)];
  const Vec3 arm = c.offset - c.radius * (p.R.transpose() * d.gradient);
  std::optional<TangentBasis> turned;
  add_point_force(p, arm, tangents(pose, d.gradient, turned).force(s), f);
}

// The force F = s_1 t_1 + s_2 t_2 changes with n, its moment offset x R^T F - r R^T (n x F) also with n and R.
void PointContactBlock::add_friction_gradient(int i, const PrescribedMotion::Pose& pose, const PointState& p,
                                              const Distance& d, const double* s, double c, double* A) const {
  const ContactPoint& contact = points_[static_cast<std::size_t>(i)];
  const Vec3& n = d.gradient;
  const double r = contact.radius;
  std::optional<TangentBasis> turned;
  const TangentBasis& basis = tangents(pose, n, turned);
  const Vec3 F = basis.force(s);
  const Eigen::Matrix<double, 3, 6> N = d.hessian * point_jacobian(p, contact.offset), B = basis.force_gradient(s) * N;
  Eigen::Map<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>> block(A);
  block.topRows<3>() += c * B;
  if (!p.rotates) return;
  const Mat3 Rt = p.R.transpose();
  block.bottomRows<3>() += c * (so3::hat(contact.offset) * Rt * B - r * Rt * (so3::hat(n) * B - so3::hat(F) * N));
  block.bottomRightCorner<3, 3>() +=
      c * (so3::hat(contact.offset) * so3::hat(Vec3(Rt * F)) - r * so3::hat(Vec3(Rt * n.cross(F))));
}

// Rows of resistance, r a . w with a = t_1, t_2, n and the relative angular velocity w = omega_P - omega of the
// obstacle: gradients, time derivatives and derivatives.
void PointContactBlock::evaluate_spin(int item, std::size_t place, const ConstraintInput& in,
                                      const PrescribedMotion::Pose& pose, const PointState& p, const Distance& d,
                                      const ConstraintValues& values) const {
  if (values.gradient == nullptr && in.v == nullptr) return;
  const ContactPoint& c = points_[static_cast<std::size_t>(item)];
  const double r = c.radius;
  std::optional<TangentBasis> turned;
  const ContactAxes axes(tangents(pose, d.gradient, turned), d.gradient);
  const std::size_t first = static_cast<std::size_t>(rows()) * place + slip_rows;
  for (std::size_t k = 0; k < 3 && values.gradient != nullptr; ++k)
    Eigen::Map<Eigen::Matrix<double, 6, 1>>(values.gradient + 6 * (first + k)) << Vec3::Zero(),
        r * (p.R.transpose() * axes.a[k]);
  if (in.v == nullptr) return;
  const double* v = in.v + 6 * place;
  const Vec3 Omega(v[3], v[4], v[5]), w = p.R * Omega - pose.omega;
  const Vec3 w_P = point_velocity(p, c.offset, v) - pose.velocity - pose.omega.cross(Vec3(p.x - pose.origin));
  const Vec3 bend = d.hessian * w_P;
  const Eigen::Matrix<double, 3, 6> N = d.hessian * point_jacobian(p, c.offset);
  for (std::size_t k = 0; k < 3; ++k) {
    if (values.rate != nullptr) values.rate[first + k] = r * axes.a[k].dot(w);
    if (values.bias != nullptr)
      values.bias[first + k] =
          r * ((pose.omega.cross(axes.a[k]) + axes.D[k] * bend).dot(w) - axes.a[k].dot(pose.alpha));
    if (values.rate_gradient == nullptr) continue;
    Eigen::Map<Eigen::Matrix<double, 1, 6>> D(values.rate_gradient + 6 * (first + k));
    D = r * (w.transpose() * axes.D[k]) * N;
    D.tail<3>() -= r * axes.a[k].transpose() * p.R * so3::hat(Omega);
  }
}

// Relative rotation of the step, and its derivative.
void PointContactBlock::evaluate_rotation(int item, std::size_t gap_row, const StepMotion& step, const PointState& p,
                                          const Distance& d, const ConstraintValues& values) const {
  const std::size_t first = gap_row + slip_rows;
  const ContactPoint& c = points_[static_cast<std::size_t>(item)];
  const Eigen::Matrix<double, 3, 6> N = d.hessian * point_jacobian(p, c.offset);
  const Mat3 turned = so3::tangent_inverse(Vec3(-step.turn)) * p.R;
  for (std::size_t k = 0; k < 3; ++k) {
    if (values.gap != nullptr) values.gap[first + k] = c.radius * step.axes.a[k].dot(step.turn);
    if (values.gap_gradient == nullptr) continue;
    Eigen::Map<Eigen::Matrix<double, 1, 6>> D(values.gap_gradient + 6 * (first + k));
    D = c.radius * (step.turn.transpose() * step.axes.D[k]) * N;
    D.tail<3>() += c.radius * step.axes.a[k].transpose() * turned;
  }
}

void PointContactBlock::add_resistance(int i, const PrescribedMotion::Pose& pose, const PointState& p,
                                       const Distance& d, const double* s, double* f) const {
  std::optional<TangentBasis> turned;
  const ContactAxes axes(tangents(pose, d.gradient, turned), d.gradient);
  Eigen::Map<Vec3>(f + 3) += points_[static_cast<std::size_t>(i)].radius * (p.R.transpose() * axes.moment(s));
}

// The moment R^T m changes with n and R.
void PointContactBlock::add_resistance_gradient(int i, const PrescribedMotion::Pose& pose, const PointState& p,
                                                const Distance& d, const double* s, double c, double* A) const {
  const ContactPoint& contact = points_[static_cast<std::size_t>(i)];
  std::optional<TangentBasis> turned;
  const ContactAxes axes(tangents(pose, d.gradient, turned), d.gradient);
  const Mat3 Rt = p.R.transpose();
  Eigen::Map<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>> block(A);
  block.bottomRows<3>() +=
      c * contact.radius * Rt * axes.moment_gradient(s) * d.hessian * point_jacobian(p, contact.offset);
  block.bottomRightCorner<3, 3>() += c * contact.radius * so3::hat(Vec3(Rt * axes.moment(s)));
}

}  // namespace carom
