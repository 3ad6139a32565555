#include "elements/joints/joint_coordinate.hpp"

#include <algorithm>
#include <cmath>

namespace carom {

namespace {

using Vec12 = Eigen::Matrix<double, 12, 1>;
using Mat12 = Eigen::Matrix<double, 12, 12, Eigen::RowMajor>;

template <class Item>
Topology topology_of(const std::vector<Item>& items) {
  std::vector<int> nodes;
  for (const Item& i : items) nodes.insert(nodes.end(), {i.coordinate.node_a, i.coordinate.node_b});
  return {static_cast<int>(items.size()), {{0, 6}, {0, 6}}, std::move(nodes)};
}

Quaternion conjugate(const Quaternion& q) { return {q[0], -q[1], -q[2], -q[3]}; }

Quaternion quaternion_of(const double* node) {
  return node == nullptr ? Quaternion(1, 0, 0, 0) : Quaternion(node[3], node[4], node[5], node[6]);
}

// With n = R_A alpha, m = R_B^T n, y = R_A^T (x_B - position of A's node):
// G = (-n, alpha x y, n, b x m)
void displacement(const JointCoordinate& c, const PointState& a, const PointState& b, CoordinateOrder order,
                  CoordinateState& s) {
  const Vec3 n = a.R * c.axis, span = b.x - a.x;
  s.value = n.dot(span);
  if (order == CoordinateOrder::value) return;
  const Vec3 y = c.offset_a + a.R.transpose() * span, m = b.R.transpose() * n;
  s.G.setZero();
  s.G.segment<3>(0) = -n;
  s.G.segment<3>(6) = n;
  if (a.rotates) s.G.segment<3>(3) = c.axis.cross(y);
  if (b.rotates) s.G.segment<3>(9) = c.offset_b.cross(m);
  if (order == CoordinateOrder::gradient) return;
  s.H.setZero();
  const Mat3 hat_alpha = so3::hat(c.axis), hat_b = so3::hat(c.offset_b);
  if (a.rotates) {
    const Mat3 dn = -a.R * hat_alpha;  // derivative of n with respect to the rotation of A
    s.H.block<3, 3>(0, 3) = -dn;
    s.H.block<3, 3>(6, 3) = dn;
    s.H.block<3, 3>(3, 0) = -dn.transpose();
    s.H.block<3, 3>(3, 6) = dn.transpose();
    s.H.block<3, 3>(3, 3) = hat_alpha * so3::hat(y);
    if (b.rotates) {
      s.H.block<3, 3>(3, 9) = -dn.transpose() * b.R * hat_b;
      s.H.block<3, 3>(9, 3) = hat_b * b.R.transpose() * dn;
    }
  }
  if (b.rotates) s.H.block<3, 3>(9, 9) = hat_b * so3::hat(m);
}

// G = e^T J, where e is the direction from A to B and J the Jacobian of x_B - x_A.
void distance(const JointCoordinate& c, const PointState& a, const PointState& b, CoordinateOrder order,
              CoordinateState& s) {
  const Vec3 span = b.x - a.x;
  s.value = span.norm();
  if (order == CoordinateOrder::value) return;
  const Vec3 e = s.value > 0 ? Vec3(span / s.value) : Vec3::Zero();
  Eigen::Matrix<double, 3, 12> J;
  J << -point_jacobian(a, c.offset_a), point_jacobian(b, c.offset_b);
  s.G.noalias() = J.transpose() * e;
  if (order == CoordinateOrder::gradient) return;
  if (s.value > 0)
    s.H.noalias() = J.transpose() * ((Mat3::Identity() - e * e.transpose()) / s.value) * J;
  else
    s.H.setZero();
  if (a.rotates) s.H.block<3, 3>(3, 3) -= point_force_gradient(a, c.offset_a, e);
  if (b.rotates) s.H.block<3, 3>(9, 9) += point_force_gradient(b, c.offset_b, e);
}

// With r = (w, x, y, z) and the rotations a = F_A^T w_A, b = F_B^T w_B in the joint frames, dr = (r b - a r)/2 and
// ds = 2 (w dz - z dw)/(w^2 + z^2) = b_3 - a_3 + [ -(wy + zx) a_1 + (wx - zy) a_2 + (zx - wy) b_1 + (wx + zy) b_2 ]
//                                               / (w^2 + z^2)
void angle(const JointCoordinate& c, const double* node_a, const double* node_b, CoordinateOrder order,
           CoordinateState& s) {
  const Quaternion r = so3::quaternion_product(conjugate(so3::quaternion_product(quaternion_of(node_a), c.frame_a)),
                                               so3::quaternion_product(quaternion_of(node_b), c.frame_b));
  const double w = r[0], x = r[1], y = r[2], z = r[3];
  s.value = 2 * std::atan2(z, w);
  if (order == CoordinateOrder::value) return;
  const Mat3 F_A = so3::quaternion_to_matrix(c.frame_a), F_B = so3::quaternion_to_matrix(c.frame_b);
  const double n2 = w * w + z * z, inverse = n2 > 0 ? 1 / n2 : 0;
  Eigen::Matrix<double, 6, 1> G;
  G << -(w * y + z * x) * inverse, (w * x - z * y) * inverse, -1, (z * x - w * y) * inverse, (w * x + z * y) * inverse,
      1;
  s.G.setZero();
  s.G.segment<3>(3) = F_A * G.head<3>();
  s.G.segment<3>(9) = F_B * G.tail<3>();
  if (order == CoordinateOrder::gradient) return;
  Eigen::Matrix<double, 4, 6> dr;
  dr << x, y, z, -x, -y, -z,  //
      -w, -z, y, w, -z, y,    //
      z, -w, -x, z, w, -x,    //
      -y, x, -w, -y, x, w;
  dr *= 0.5;
  Eigen::Matrix<double, 6, 4> dG;  // derivative of n2 G with respect to r, at fixed n2
  dG << -y, -z, -w, -x,            //
      x, w, -z, -y,                //
      0, 0, 0, 0,                  //
      -y, z, -w, x,                //
      x, w, z, y,                  //
      0, 0, 0, 0;
  const Eigen::Matrix<double, 1, 6> dn2 = 2 * (w * dr.row(0) + z * dr.row(3));
  G[2] = G[5] = 0;
  const Eigen::Matrix<double, 6, 6> H = inverse * (dG * dr - G * dn2);
  s.H.setZero();
  s.H.block<3, 3>(3, 3) = F_A * H.block<3, 3>(0, 0) * F_A.transpose();
  s.H.block<3, 3>(3, 9) = F_A * H.block<3, 3>(0, 3) * F_B.transpose();
  s.H.block<3, 3>(9, 3) = F_B * H.block<3, 3>(3, 0) * F_A.transpose();
  s.H.block<3, 3>(9, 9) = F_B * H.block<3, 3>(3, 3) * F_B.transpose();
}

}  // namespace

void set_angle_frames(JointCoordinate& c, const Vec3& axis, const Quaternion& q_A, const Quaternion& q_B) {
  const Eigen::Quaterniond turn = Eigen::Quaterniond::FromTwoVectors(Vec3::UnitZ(), axis);
  const Quaternion frame(turn.w(), turn.x(), turn.y(), turn.z());
  c.frame_a = so3::quaternion_product(conjugate(q_A), frame);
  c.frame_b = so3::quaternion_product(conjugate(q_B), frame);
}

void evaluate_coordinate(const JointCoordinate& c, const double* node_a, NodeKind kind_a, const double* node_b,
                         NodeKind kind_b, CoordinateOrder order, CoordinateState& state) {
  if (c.kind == JointCoordinate::Kind::angle) return angle(c, node_a, node_b, order, state);
  const PointState a = point_state(node_a, kind_a, c.offset_a), b = point_state(node_b, kind_b, c.offset_b);
  if (c.kind == JointCoordinate::Kind::displacement)
    displacement(c, a, b, order, state);
  else
    distance(c, a, b, order, state);
}

// ---- rows

CoordinateState coordinate_at(const JointCoordinate& coordinate, const DofMap& dofs, In q, CoordinateOrder order) {
  const auto node = [&](int n) { return n < 0 ? nullptr : q.data() + dofs.configuration_offset(n); };
  const auto kind = [&](int n) { return n < 0 ? NodeKind::point : dofs.kind(n); };
  CoordinateState state;
  evaluate_coordinate(coordinate, node(coordinate.node_a), kind(coordinate.node_a), node(coordinate.node_b),
                      kind(coordinate.node_b), order, state);
  return state;
}

CoordinateBlock::CoordinateBlock(std::string name, std::vector<CoordinateRow> items, ConstraintTraits traits)
    : ConstraintBlock(std::move(name), topology_of(items), 1, traits), items_(std::move(items)) {}

void CoordinateBlock::state(const ConstraintInput& in, int i, CoordinateOrder order, CoordinateState& s) const {
  evaluate_coordinate(items_[at(i)].coordinate, configuration(in, i, 0), node_kind(i, 0), configuration(in, i, 1),
                      node_kind(i, 1), order, s);
}

void CoordinateBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  const bool with_velocity = in.v != nullptr;
  const bool second = with_velocity && (values.bias != nullptr || values.rate_gradient != nullptr);
  const bool gradient = values.gradient != nullptr || (with_velocity && values.rate != nullptr);
  const CoordinateOrder order = second     ? CoordinateOrder::second
                                : gradient ? CoordinateOrder::gradient
                                           : CoordinateOrder::value;
  CoordinateState s;
  for (int i = range.first; i < range.last; ++i) {
    const CoordinateRow& row = items_[at(i)];
    const std::size_t local = at(i - range.first);
    state(in, i, order, s);
    const TimeValue u = row.value.evaluate(in.t);
    if (values.gap != nullptr) {
      double g = s.value - u.value;
      // a joint holds the angle near u, but the quaternions may differ by whole turns
      if (row.coordinate.kind == JointCoordinate::Kind::angle && (traits().kind == RowKind::bilateral))
        g = std::remainder(g, 4 * M_PI);
      values.gap[local] = row.sign * g;
    }
    if (values.gradient != nullptr) Eigen::Map<Vec12>(values.gradient + 12 * local) = row.sign * s.G;
    if (!with_velocity) continue;
    const Eigen::Map<const Vec12> v(in.v + 12 * local);
    if (values.rate != nullptr) values.rate[local] = row.sign * (s.G.dot(v) - u.rate);
    if (!second) continue;
    const Eigen::Matrix<double, 1, 12> D = v.transpose() * s.H;
    if (values.rate_gradient != nullptr) Eigen::Map<Vec12>(values.rate_gradient + 12 * local) = row.sign * D;
    if (values.bias != nullptr) values.bias[local] = row.sign * (D.dot(v) - u.acceleration);
  }
}

void CoordinateBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  CoordinateState c;
  for (int i = range.first; i < range.last; ++i, ++s, f += 12) {
    if (*s == 0) continue;
    state(in, i, CoordinateOrder::gradient, c);
    Eigen::Map<Vec12>{f} += *s * items_[at(i)].sign * c.G;
  }
}

void CoordinateBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                            double* A) const {
  CoordinateState state_of;
  for (int i = range.first; i < range.last; ++i, ++s, A += 144) {
    if (*s == 0) continue;
    state(in, i, CoordinateOrder::second, state_of);
    Eigen::Map<Mat12>{A} += c * *s * items_[at(i)].sign * state_of.H;
  }
}

ContactParameters CoordinateBlock::law(int item, int) const { return {.restitution = items_[at(item)].restitution}; }

ConstraintBlock::Place CoordinateBlock::place(int item, int, const ConstraintInput& in) const {
  const CoordinateRow& row = items_[at(item)];
  CoordinateState s;
  state(in, item, CoordinateOrder::gradient, s);
  const PointState b = point_state(configuration(in, item, 1), node_kind(item, 1), row.coordinate.offset_b);
  if (row.coordinate.kind == JointCoordinate::Kind::angle)
    return {b.x, (row.sign * b.R * s.G.segment<3>(9)).normalized()};
  return {b.x, row.sign * s.G.segment<3>(6)};
}

// ---- springs and dampers

namespace {
BlockTraits spring_traits(const std::vector<CoordinateSpring>& springs) {
  BlockTraits t;
  t.has_stiffness = true;
  t.velocity_dependent =
      std::any_of(springs.begin(), springs.end(), [](const CoordinateSpring& s) { return s.damping != 0; });
  t.force_parts = t.velocity_dependent ? force_internal | force_damping : force_internal;
  return t;
}
}  // namespace

CoordinateSpringBlock::CoordinateSpringBlock(std::string name, std::vector<CoordinateSpring> items)
    : ElementBlock(std::move(name), topology_of(items), spring_traits(items)), items_(std::move(items)) {}

void CoordinateSpringBlock::state(const ElementInput& in, int i, CoordinateOrder order, CoordinateState& s) const {
  evaluate_coordinate(items_[at(i)].coordinate, configuration(in, i, 0), node_kind(i, 0), configuration(in, i, 1),
                      node_kind(i, 1), order, s);
}

void CoordinateSpringBlock::add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const {
  CoordinateState s;
  for (int i = range.first; i < range.last; ++i, f += 12) {
    const CoordinateSpring& spring = items_[at(i)];
    state(in, i, CoordinateOrder::gradient, s);
    double N = 0;
    if ((parts & force_internal) != 0) N += spring.stiffness * (s.value - spring.rest);
    if ((parts & force_damping) != 0 && spring.damping != 0)
      N += spring.damping * s.G.dot(Eigen::Map<const Vec12>(in.v + 12 * at(i - range.first)));
    Eigen::Map<Vec12>{f} -= N * s.G;
  }
}

void CoordinateSpringBlock::add_tangent(Range range, const ElementInput& in, const ElementTangent& request,
                                        double* A) const {
  CoordinateState s;
  for (int i = range.first; i < range.last; ++i, A += 144) {
    const CoordinateSpring& spring = items_[at(i)];
    state(in, i, request.c_K != 0 ? CoordinateOrder::second : CoordinateOrder::gradient, s);
    Eigen::Map<Mat12> block(A);
    if (request.c_C != 0 && spring.damping != 0) block += request.c_C * spring.damping * s.G * s.G.transpose();
    if (request.c_K == 0) continue;
    double N = spring.stiffness * (s.value - spring.rest);
    Vec12 dN = spring.stiffness * s.G;
    if (spring.damping != 0 && in.v != nullptr) {
      const Eigen::Map<const Vec12> v(in.v + 12 * at(i - range.first));
      N += spring.damping * s.G.dot(v);
      dN += spring.damping * s.H.transpose() * v;
    }
    block += request.c_K * (s.G * dN.transpose() + N * s.H);
  }
}

Energies CoordinateSpringBlock::energies(Range range, const ElementInput& in) const {
  Energies sum;
  CoordinateState s;
  for (int i = range.first; i < range.last; ++i) {
    state(in, i, CoordinateOrder::value, s);
    const double u = s.value - items_[at(i)].rest;
    sum.elastic += 0.5 * items_[at(i)].stiffness * u * u;
  }
  return sum;
}

double CoordinateSpringBlock::roundoff_force(double length_scale) const {
  double largest = 0;
  for (const CoordinateSpring& s : items_) largest = std::max(largest, s.stiffness);
  return largest * length_scale;
}

}  // namespace carom
