#include "elements/joints/joint_friction.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace carom {

namespace {

using Vec12 = Eigen::Matrix<double, 12, 1>;
using Mat12 = Eigen::Matrix<double, 12, 12, Eigen::RowMajor>;

Topology topology_of(const std::vector<JointFriction>& items) {
  std::vector<int> nodes;
  for (const JointFriction& i : items) nodes.insert(nodes.end(), {i.coordinate.node_a, i.coordinate.node_b});
  return {static_cast<int>(items.size()), {{0, 6}, {0, 6}}, std::move(nodes)};
}

Quaternion quaternion_of(const double* node, NodeKind kind) {
  return node == nullptr || kind != NodeKind::frame ? Quaternion(1, 0, 0, 0)
                                                    : Quaternion(node[3], node[4], node[5], node[6]);
}

}  // namespace

JointFrictionBlock::JointFrictionBlock(std::string name, std::vector<JointFriction> items, int rows, bool linear)
    : ConstraintBlock(std::move(name), topology_of(items), rows, {.kind = RowKind::joint_friction, .linear = linear}),
      items_(std::move(items)) {}

// R_A^T R_B
Quaternion JointFrictionBlock::relative_rotation(const ConstraintInput& in, int i) const {
  const Quaternion q_A = quaternion_of(configuration(in, i, 0), node_kind(i, 0)),
                   q_B = quaternion_of(configuration(in, i, 1), node_kind(i, 1));
  return so3::quaternion_product(so3::quaternion_conjugate(q_A), q_B);
}

void JointFrictionBlock::state(const ConstraintInput& in, int i, int row, CoordinateOrder order,
                               CoordinateState& s) const {
  const JointFriction& item = items_[at(i)];
  if (rows() < 3) {
    evaluate_coordinate(row == 0 ? item.coordinate : item.angle, configuration(in, i, 0), node_kind(i, 0),
                        configuration(in, i, 1), node_kind(i, 1), order, s);
    if (row == 0) return;
    s.value *= item.lever;
    if (order != CoordinateOrder::value) s.G *= item.lever;
    if (order == CoordinateOrder::second) s.H *= item.lever;
    return;
  }
  // G = (-e, R^T e) of the rotations, with R = R_A^T R_B
  s.value = 0;
  if (order == CoordinateOrder::value) return;
  const Vec3 e = Vec3::Unit(row);
  const Mat3 R = so3::quaternion_to_matrix(relative_rotation(in, i));
  const Vec3 across = R.transpose() * e;
  s.G.setZero();
  s.G.segment<3>(3) = -e;
  s.G.segment<3>(9) = across;
  if (order == CoordinateOrder::gradient) return;
  s.H.setZero();
  s.H.block<3, 3>(9, 3) = -R.transpose() * so3::hat(e);
  s.H.block<3, 3>(9, 9) = so3::hat(across);
}

void JointFrictionBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  const bool with_velocity = in.v != nullptr;
  const bool second = with_velocity && (values.bias != nullptr || values.rate_gradient != nullptr);
  const bool gradient = values.gradient != nullptr || values.gap_gradient != nullptr || (with_velocity && values.rate);
  const CoordinateOrder order = second     ? CoordinateOrder::second
                                : gradient ? CoordinateOrder::gradient
                                           : CoordinateOrder::value;
  CoordinateState s, s_n;
  for (int i = range.first; i < range.last; ++i) {
    // of three rows: the rotation of the step, and its derivative by the relative rotation in axes of A
    Vec3 psi = Vec3::Zero();
    Mat3 inverse = Mat3::Identity();
    if (rows() == 3 && in.start != nullptr && (values.gap != nullptr || values.gap_gradient != nullptr)) {
      const Quaternion before = relative_rotation({in.start->q}, i);
      psi = so3::log_quaternion(so3::quaternion_product(relative_rotation(in, i), so3::quaternion_conjugate(before)));
      inverse = so3::tangent_inverse(Vec3(-psi));
    }
    const std::size_t first = at(i - range.first) * at(rows());
    for (int r = 0; r < rows(); ++r) {
      const std::size_t local = first + at(r);
      state(in, i, r, order, s);
      if (values.gap != nullptr && rows() == 3) {
        values.gap[local] = psi[r];
      } else if (values.gap != nullptr) {
        values.gap[local] = 0;
        if (in.start != nullptr) {
          state({in.start->q}, i, r, CoordinateOrder::value, s_n);
          values.gap[local] = s.value - s_n.value;
          // the quaternions may differ by whole turns
          const JointFriction& item = items_[at(i)];
          const bool angle = (r == 0 ? item.coordinate : item.angle).kind == JointCoordinate::Kind::angle;
          if (angle) values.gap[local] = std::remainder(values.gap[local], (r == 0 ? 1 : item.lever) * 4 * M_PI);
        }
      }
      if (values.gradient != nullptr) Eigen::Map<Vec12>(values.gradient + 12 * local) = s.G;
      if (values.gap_gradient != nullptr) Eigen::Map<Vec12>(values.gap_gradient + 12 * local) = s.G;
      if (!with_velocity) continue;
      const Eigen::Map<const Vec12> v(in.v + 12 * at(i - range.first));
      if (values.rate != nullptr) values.rate[local] = s.G.dot(v);
      if (!second) continue;
      const Eigen::Matrix<double, 1, 12> D = v.transpose() * s.H;
      if (values.rate_gradient != nullptr) Eigen::Map<Vec12>(values.rate_gradient + 12 * local) = D;
      if (values.bias != nullptr) values.bias[local] = D.dot(v);
    }
    if (values.gap_gradient != nullptr && rows() == 3) {
      Eigen::Map<Eigen::Matrix<double, 3, 12, Eigen::RowMajor>> G(values.gap_gradient + 12 * first);
      const Eigen::Matrix<double, 3, 12> turned = inverse * G;
      G = turned;
    }
  }
}

void JointFrictionBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  CoordinateState c;
  for (int i = range.first; i < range.last; ++i, f += 12)
    for (int r = 0; r < rows(); ++r, ++s) {
      if (*s == 0) continue;
      state(in, i, r, CoordinateOrder::gradient, c);
      Eigen::Map<Vec12>{f} += *s * c.G;
    }
}

void JointFrictionBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                               double* A) const {
  CoordinateState state_of;
  for (int i = range.first; i < range.last; ++i, A += 144)
    for (int r = 0; r < rows(); ++r, ++s) {
      if (*s == 0) continue;
      state(in, i, r, CoordinateOrder::second, state_of);
      Eigen::Map<Mat12>{A} += c * *s * state_of.H;
    }
}

// Rows of angles act by moments, so many lengths of the lever each.
ContactParameters JointFrictionBlock::law(int item, int row) const {
  const JointFriction& j = items_[at(item)];
  const bool angle = rows() == 3 || row == 1 || j.coordinate.kind == JointCoordinate::Kind::angle;
  return {.lever = angle ? (row == 1 && rows() == 2 ? j.lever : 1.0) : 0.0};
}

ConstraintBlock::Place JointFrictionBlock::place(int item, int row, const ConstraintInput& in) const {
  CoordinateState s;
  state(in, item, row, CoordinateOrder::gradient, s);
  const PointState b =
      point_state(configuration(in, item, 1), node_kind(item, 1), items_[at(item)].coordinate.offset_b);
  if (law(item, row).lever > 0) {
    const Vec3 moment = b.R * s.G.segment<3>(9);
    return {b.x, moment.normalized()};
  }
  return {b.x, s.G.segment<3>(6)};
}

BearingLoad JointFrictionBlock::bearing_load(int i, const ConstraintInput& in, const double* multipliers) const {
  const JointFriction& item = items_[at(i)];
  if (item.constant_alone() || item.supports == nullptr) return {};
  // the reaction on the second body, or turned around on the first if the second is the ground
  double f[12] = {};
  for (const JointSupport& support : *item.supports)
    support.block->add_reaction({support.item, support.item + 1}, in, multipliers + support.first_row, f);
  const int slot = item.coordinate.node_b < 0 ? 0 : 1;
  const double sign = slot == 0 ? -1 : 1;
  const PointState node = point_state(configuration(in, i, slot), node_kind(i, slot), Vec3::Zero()),
                   a = point_state(configuration(in, i, 0), node_kind(i, 0), Vec3::Zero()),
                   b = point_state(configuration(in, i, 1), node_kind(i, 1), item.coordinate.offset_b);
  const Vec3 force = sign * Vec3(f + 6 * slot), n = a.R * item.axis;
  if (rows() == 3) return {force[0], force[1], force[2]};
  const double thrust = force.dot(n);
  BearingLoad load{};
  Eigen::Map<Vec3>{load.data()} = force - thrust * n;
  if (item.length > 0 && node.rotates) {
    const Vec3 moment = sign * Vec3(node.R * Vec3(f + 6 * slot + 3)) - (b.x - node.x).cross(force);
    Eigen::Map<Vec3>{load.data() + 3} = n.cross(moment) / item.length;
  }
  if (item.thrust_radius > 0) load[6] = thrust;
  return load;
}

double JointFrictionBlock::friction_limit(int i, const BearingLoad& load, double duration, double t) const {
  const JointFriction& item = items_[at(i)];
  const double constant = duration * std::max(0.0, item.constant.value(t));
  if (item.constant_alone()) return constant;
  const Vec3 force(load.data()), couple(load.data() + 3);
  if (rows() == 3) return constant + item.coefficient * item.radius * force.norm();
  const double N = (0.5 * force + couple).norm() + (0.5 * force - couple).norm();
  return constant + item.coefficient * (item.radius * N + item.thrust_radius * std::abs(load[6]));
}

}  // namespace carom
