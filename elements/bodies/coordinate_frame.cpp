#include "elements/bodies/coordinate_frame.hpp"

#include <cassert>
#include <utility>

#include "core/mechanics/body_point.hpp"

namespace carom {

namespace {

using formula_values::first;
using formula_values::Hessian;
using formula_values::is_undefined;
using formula_values::Values;

// Coordinates, t, three translations and three rotations of the node.
constexpr int most_components = most_coordinates + 7;
using Gradient = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, most_components, 1>;
using Second = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, most_components, most_components>;
using Vec6 = Eigen::Matrix<double, 6, 1>;
using Axes = Eigen::Matrix<double, 3, Eigen::Dynamic, 0, 3, most_rotations>;

Topology topology_of(const CoordinateFrame& frame) {
  std::vector<Slot> slots(frame.nodes.size(), Slot{0, 1});
  slots.push_back({0, 6});
  std::vector<int> nodes = frame.nodes;
  nodes.push_back(frame.node);
  return {1, std::move(slots), std::move(nodes)};
}

ConstraintTraits traits_of(const CoordinateFrame& frame) {
  ConstraintTraits t;
  const std::size_t n = frame.nodes.size();
  t.linear = frame.rotations.empty();
  const auto note = [&](const Formula& f) {
    t.linear = t.linear && f.degree_in(n) <= 1;
    t.moving = t.moving || f.depends_on(n);
    t.has_formulas = t.has_formulas || !f.is_constant();
  };
  for (const NamedFormula& p : frame.position) note(p.formula);
  for (const CoordinateFrame::Rotation& r : frame.rotations) note(r.angle.formula);
  return t;
}

// R_F, and the columns u_k of the angular velocity in axes of the frame.
Mat3 rotation_of(const CoordinateFrame& frame, std::span<const double> q, Axes& u) {
  Mat3 R = Mat3::Identity();
  u.resize(3, static_cast<Eigen::Index>(frame.rotations.size()));
  for (std::size_t k = frame.rotations.size(); k-- > 0;) {
    const CoordinateFrame::Rotation& r = frame.rotations[k];
    u.col(static_cast<Eigen::Index>(k)).noalias() = R.transpose() * r.axis;
    R = so3::quaternion_to_matrix(so3::exp_quaternion(Vec3(r.angle.formula.value(q) * r.axis))) * R;
  }
  return R;
}

}  // namespace

FrameMotion frame_motion(const CoordinateFrame& frame, std::span<const double> q, std::span<const double> v) {
  FrameMotion m;
  Values g;
  const auto rate = [&](const Formula& f, double& value) {
    value = f.gradient(q, first(g, q.size()));
    double sum = 0;
    for (std::size_t i = 0; i < q.size(); ++i) sum += g[i] * v[i];
    return sum;
  };
  for (int c = 0; c < 3; ++c) m.v[c] = rate(frame.position[at(c)].formula, m.x[c]);
  Axes u;
  m.R = rotation_of(frame, q, u);
  m.Omega.setZero();
  double angle = 0;
  for (std::size_t k = 0; k < frame.rotations.size(); ++k)
    m.Omega += rate(frame.rotations[k].angle.formula, angle) * u.col(static_cast<Eigen::Index>(k));
  return m;
}

CoordinateFrameBlock::CoordinateFrameBlock(CoordinateFrame frame)
    : ConstraintBlock("coordinate frames", topology_of(frame), frame.rotations.empty() ? 3 : 6, traits_of(frame)),
      n_(frame.nodes.size()),
      frame_(std::move(frame)) {
  assert(n_ <= at(most_coordinates) && frame_.rotations.size() <= at(most_rotations));
}

// A row with its derivatives by coordinates, t, x and the rotation of the node, in this order. H(i, j): the derivative
// of G_i along component j.
struct CoordinateFrameBlock::Row {
  double gap = 0;
  Gradient G;
  Second H;
};

// The state of the frame, from which the rows follow.
class CoordinateFrameBlock::Geometry {
 public:
  Geometry(const CoordinateFrameBlock& block, const ConstraintInput& in)
      : frame_(block.frame_), n_(block.n_), m_(static_cast<Eigen::Index>(n_) + 1) {
    for (std::size_t i = 0; i < n_; ++i) q_[i] = *block.configuration(in, 0, static_cast<int>(i));
    q_[n_] = in.t;
    const int last = static_cast<int>(n_);
    node_ = point_state(block.configuration(in, 0, last), block.node_kind(0, last), Vec3::Zero());
    if (frame_.rotations.empty()) return;
    S_.noalias() = rotation_of(frame_, first(std::as_const(q_), n_ + 1), u_).transpose() * node_.R;
  }

  const Values& coordinates() const { return q_; }
  const PointState& node() const { return node_; }

  void row(int r, bool second, Row& row) const {
    row.G.setZero(m_ + 6);
    if (second) row.H.setZero(m_ + 6, m_ + 6);
    if (r < 3) {
      place(r, second, row);
    } else {
      rotation(static_cast<int>(r - 3), second, row);
    }
  }

  // The directions alpha and beta of a row of rotations.
  static std::pair<Vec3, Vec3> directions(int axis) { return {Vec3::Unit((axis + 1) % 3), Vec3::Unit((axis + 2) % 3)}; }

 private:
  // Value of a formula; gradient and second derivatives by coordinates and t if the formula is not constant.
  double value(const Formula& f, bool second, Values& g, Hessian& h) const {
    const std::size_t m = n_ + 1;
    const std::span<const double> q = first(q_, m);
    return second ? f.hessian(q, first(g, m), first(h, m * m)) : f.gradient(q, first(g, m));
  }
  using Slopes = Eigen::Map<const Gradient>;
  using Curvatures = Eigen::Map<const Second>;

  void place(int c, bool second, Row& row) const {
    Values g;
    Hessian h;
    const Formula& f = frame_.position[at(c)].formula;
    row.gap = node_.x[c] - value(f, second, g, h);
    row.G[m_ + c] = 1;
    if (f.is_constant()) return;
    row.G.head(m_) = -Slopes(g.data(), m_);
    if (second) row.H.topLeftCorner(m_, m_) = -Curvatures(h.data(), m_, m_);
  }

  void rotation(int axis, bool second, Row& row) const {
    const auto [alpha, beta] = directions(axis);
    const Vec3 p = S_ * beta, u = S_.transpose() * alpha;
    const Vec3 G_F = alpha.cross(p);
    row.gap = alpha.dot(p);
    row.G.tail<3>() = beta.cross(u);
    // by the angles of the rotations, then by the coordinates
    const Eigen::Index count = u_.cols();
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, most_rotations, most_coordinates + 1> J(
        count, m_);
    Values g;
    Hessian h;
    for (Eigen::Index k = 0; k < count; ++k) {
      const Formula& f = frame_.rotations[static_cast<std::size_t>(k)].angle.formula;
      value(f, second, g, h);
      if (f.is_constant()) {
        J.row(k).setZero();
        continue;
      }
      J.row(k) = Slopes(g.data(), m_).transpose();
      const double G_k = G_F.dot(u_.col(k));
      row.G.head(m_) += G_k * J.row(k).transpose();
      if (second) row.H.topLeftCorner(m_, m_) += G_k * Curvatures(h.data(), m_, m_);
    }
    if (!second) return;
    const Mat3 hat_alpha = so3::hat(alpha), hat_beta = so3::hat(beta);
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, most_rotations, most_rotations> by_angles =
        u_.transpose() * (hat_alpha * so3::hat(p)) * u_;
    for (Eigen::Index k = 0; k < count; ++k)
      for (Eigen::Index l = k + 1; l < count; ++l) by_angles(k, l) += G_F.dot(u_.col(k).cross(u_.col(l)));
    const Eigen::Matrix<double, 3, Eigen::Dynamic, 0, 3, most_coordinates + 1> W = u_ * J;  // omega_F = W (q', 1)
    row.H.topLeftCorner(m_, m_) += J.transpose() * by_angles * J;
    row.H.topRightCorner(m_, 3) -= W.transpose() * (hat_alpha * S_ * hat_beta);
    row.H.bottomLeftCorner(3, m_) -= hat_beta * S_.transpose() * hat_alpha * W;
    row.H.bottomRightCorner<3, 3>() += hat_beta * so3::hat(u);
  }

  const CoordinateFrame& frame_;
  std::size_t n_;
  Eigen::Index m_;  // coordinates and t
  Values q_;
  PointState node_;
  Axes u_;
  Mat3 S_ = Mat3::Identity();  // R_F^T R
};

void CoordinateFrameBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  if (range.size() == 0) return;
  const Geometry geometry(*this, in);
  const auto n = static_cast<Eigen::Index>(n_), size = n + 6;
  const bool second = in.v != nullptr && (values.bias != nullptr || values.rate_gradient != nullptr);
  Row row;
  Gradient v;  // with 1 for t
  if (in.v != nullptr) {
    v.resize(n + 7);
    v << Eigen::Map<const Gradient>(in.v, n), 1, Eigen::Map<const Vec6>(in.v + n);
  }
  const auto without_t = [&](const auto& x, double* to) {
    Eigen::Map<Gradient> out(to, size);
    out << x.head(n), x.tail(6);
  };
  for (int r = 0; r < rows(); ++r) {
    geometry.row(r, second, row);
    const std::size_t k = at(r), offset = at(r) * static_cast<std::size_t>(size);
    if (values.gap != nullptr) values.gap[k] = row.gap;
    if (values.gradient != nullptr) without_t(row.G, values.gradient + offset);
    if (in.v == nullptr) continue;
    if (values.rate != nullptr) values.rate[k] = row.G.dot(v);
    if (!second) continue;
    const Gradient D = row.H.transpose() * v;
    if (values.rate_gradient != nullptr) without_t(D, values.rate_gradient + offset);
    if (values.bias != nullptr) values.bias[k] = D.dot(v);
  }
}

void CoordinateFrameBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  if (range.size() == 0) return;
  const Geometry geometry(*this, in);
  const auto n = static_cast<Eigen::Index>(n_);
  Row row;
  for (int r = 0; r < rows(); ++r) {
    if (s[r] == 0) continue;
    geometry.row(r, false, row);
    Eigen::Map<Gradient>(f, n) += s[r] * row.G.head(n);
    Eigen::Map<Vec6>(f + n) += s[r] * row.G.tail<6>();
  }
}

void CoordinateFrameBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                                 double* A) const {
  if (range.size() == 0) return;
  const Geometry geometry(*this, in);
  const auto n = static_cast<Eigen::Index>(n_);
  Eigen::Map<Second> sum(A, n + 6, n + 6);
  Row row;
  for (int r = 0; r < rows(); ++r) {
    if (s[r] == 0) continue;
    geometry.row(r, true, row);
    sum.topLeftCorner(n, n) += c * s[r] * row.H.topLeftCorner(n, n);
    sum.topRightCorner(n, 6) += c * s[r] * row.H.topRightCorner(n, 6);
    sum.bottomLeftCorner(6, n) += c * s[r] * row.H.bottomLeftCorner(6, n);
    sum.bottomRightCorner<6, 6>() += c * s[r] * row.H.bottomRightCorner<6, 6>();
  }
}

std::string CoordinateFrameBlock::row_name(int, int row) const {
  return (row < 3 ? "" : "rotation ") + std::string(1, "xyz"[row % 3]);
}

std::string CoordinateFrameBlock::undefined_formula(const ConstraintInput& start, const ConstraintInput& end) const {
  const Values x_0 = Geometry(*this, start).coordinates(), x_1 = Geometry(*this, end).coordinates();
  for (const NamedFormula& p : frame_.position)
    if (is_undefined(p.formula, x_0, x_1, n_ + 1, 2)) return p.name;
  for (const CoordinateFrame::Rotation& r : frame_.rotations)
    if (is_undefined(r.angle.formula, x_0, x_1, n_ + 1, 2)) return r.angle.name;
  return {};
}

ConstraintBlock::Place CoordinateFrameBlock::place(int, int row, const ConstraintInput& in) const {
  const Geometry geometry(*this, in);
  const PointState& node = geometry.node();
  if (row < 3) return {node.x, Vec3::Unit(row)};
  Row r;
  geometry.row(row, false, r);
  // moment on the node, in axes of the node
  return {node.x, (node.R * Vec3(r.G.tail<3>())).normalized()};
}

}  // namespace carom
