#include "io/model/joint_builder.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <memory>
#include <utility>

#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;

JointBuilder::Sizes JointBuilder::sizes() const {
  return {rows_.linear_points.size(), rows_.points.size(),  rows_.axes.size(),  rows_.linear_coordinates.size(),
          rows_.coordinates.size(),   rows_.drivers.size(), rows_.stops.size(), rows_.springs.size()};
}

void JointBuilder::read() {
  const json& list = context_.root()["joints"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JointType& kind = find_type(joint_types(), list[i]);
    JointSource joint;
    joint.json = &list[i];
    joint.pointer = "/joints/" + std::to_string(i);
    joint.name = text(list[i]["name"]);
    Item item;
    item.first = sizes();
    if (!read_ends(joint, kind)) continue;
    item.info.name = joint.name;
    item.info.a = joint.a;
    item.info.point = joint.b;
    rows_.angle.reset();
    rows_.displacement.reset();
    kind.build(context_, joint, rows_);
    item.last = sizes();
    item.info.angle = rows_.angle;
    item.info.displacement = rows_.displacement;
    items_.push_back(std::move(item));
  }
  add_blocks();
}

// A point, or the frame of a set of points.
AttachedPoint JointBuilder::read_end(const JointSource& joint, int side) {
  const json& of = (*joint.json)["of"][static_cast<std::size_t>(side)];
  const std::string reference = text(of);
  const std::size_t dot = reference.find('.');
  const BodyInfo* body = context_.model.find_body(reference.substr(0, dot));
  if (body != nullptr && dot != std::string::npos)
    if (const auto set = body->sets.find(reference.substr(dot + 1)); set != body->sets.end())
      return frame_of_set(joint, side, set->second);
  return context_.point(of, joint.pointer + "/of/" + std::to_string(side));
}

// A massless frame at the centre of the points; constraints hold the points fixed in this frame. The frame starts with
// the rigid velocity that fits the velocities of the points best.
AttachedPoint JointBuilder::frame_of_set(const JointSource& joint, int side, const PointSet& set) {
  const std::string pointer = joint.pointer + "/of/" + std::to_string(side),
                    reference = text((*joint.json)["of"][static_cast<std::size_t>(side)]);
  const auto n = static_cast<double>(set.points.size());
  Vec3 center = Vec3::Zero(), velocity = Vec3::Zero(), momentum = Vec3::Zero();
  for (const AttachedPoint& p : set.points) {
    center += context_.initial_place(p) / n;
    velocity += context_.velocities()[static_cast<std::size_t>(p.node)].first / n;
  }
  Mat3 spread = Mat3::Zero();
  bool one_node = true;
  for (const AttachedPoint& p : set.points) {
    const Vec3 arm = context_.initial_place(p) - center;
    spread += arm * arm.transpose();
    momentum += arm.cross(context_.velocities()[static_cast<std::size_t>(p.node)].first);
    one_node = one_node && p.node == set.points.front().node;
  }
  if (one_node) {
    context_.error(pointer, "expected one point, got " + in_quotes(reference) + ", which is several of one rigid body");
    return {};
  }
  const Vec3 extent = Eigen::SelfAdjointEigenSolver<Mat3>(spread).eigenvalues();
  if (!(extent[1] > 1e-12 * extent[2])) {
    context_.error(pointer, "expected points that are not all on one line, about which they could turn, got " +
                                in_quotes(reference));
    return {};
  }
  const Vec3 omega = (spread.trace() * Mat3::Identity() - spread).inverse() * momentum;
  const double q[7] = {center[0], center[1], center[2], 1, 0, 0, 0};
  const int frame = context_.add_node(NodeKind::frame, q, joint.name + "." + reference, velocity, omega);
  for (std::size_t i = 0; i < set.points.size(); ++i) {
    const AttachedPoint& p = set.points[i];
    Coincidence c;
    c.name = joint.name + "[" + set.labels[i] + "]";
    c.node_a = frame;
    c.node_b = p.node;
    c.offset_a = context_.initial_place(p) - center;
    c.offset_b = p.offset;
    rows_.points.push_back(std::move(c));
  }
  return {frame, Vec3::Zero()};
}

// Reads the initial positions of both ends. Returns false after an error.
bool JointBuilder::read_ends(JointSource& joint, const JointType& kind) {
  const json& of = (*joint.json)["of"];
  const std::string pointer = joint.pointer + "/of";
  const std::size_t issues = context_.issues.size();
  joint.a = read_end(joint, 0);
  joint.b = read_end(joint, 1);
  if (context_.issues.size() > issues) return false;
  if (joint.a.node == joint.b.node) {
    context_.error(pointer, joint.a.node < 0
                                ? "expected a point of a body, got two points of the ground, which do not move"
                                : "expected two different points, got one by two names");
    return false;
  }
  // "ground" alone means the position of the other point
  if (of[0] == "ground") joint.a.offset = context_.initial_place(joint.b);
  if (of[1] == "ground") joint.b.offset = context_.initial_place(joint.a);
  joint.a_is_frame = context_.is_frame(joint.a);
  joint.b_is_frame = context_.is_frame(joint.b);
  joint.x_a = context_.initial_place(joint.a);
  joint.x_b = context_.initial_place(joint.b);
  joint.q_a = context_.initial_quaternion(joint.a);
  joint.q_b = context_.initial_quaternion(joint.b);
  joint.R_a = context_.initial_rotation(joint.a);
  joint.R_b = context_.initial_rotation(joint.b);

  const auto complain = [&](int end) {
    context_.error(pointer + "/" + std::to_string(end),
                   "expected a point of the ground or of a body with rotation, since a " + kind.type +
                       " joint holds rotations" +
                       (kind.needs == JointType::Needs::first_frame ? " of its first side" : "") + ", got " +
                       brief(of[static_cast<std::size_t>(end)]));
    return false;
  };
  if (kind.needs != JointType::Needs::nothing && !joint.a_is_oriented()) return complain(0);
  if (kind.needs == JointType::Needs::two_frames && !joint.b_is_oriented()) return complain(1);
  return true;
}

void JointBuilder::add_blocks() {
  for (const CoordinateRow& row : rows_.drivers)
    driver_is_angle_.push_back(row.coordinate.kind == JointCoordinate::Kind::angle);
  for (const CoordinateRow& row : rows_.stops) stop_names_.push_back(row.name);
  System& system = context_.model.system;
  const auto add_points = [&](List list, std::vector<Coincidence>& items, bool rotating) {
    if (!items.empty())
      blocks_[list] = &system.add(std::make_unique<CoincidenceBlock>("joints", std::move(items), rotating));
  };
  const auto add_coordinates = [&](List list, std::vector<CoordinateRow>& items, const char* name,
                                   ConstraintTraits traits) {
    if (!items.empty()) blocks_[list] = &system.add(std::make_unique<CoordinateBlock>(name, std::move(items), traits));
  };
  add_points(linear_points, rows_.linear_points, false);
  add_points(points, rows_.points, true);
  if (!rows_.axes.empty())
    blocks_[axes] = &system.add(std::make_unique<OrthogonalityBlock>("joints", std::move(rows_.axes)));
  add_coordinates(linear_coordinates, rows_.linear_coordinates, "joints", {.linear = true});
  add_coordinates(coordinates, rows_.coordinates, "joints", {});
  add_coordinates(drivers, rows_.drivers, "drivers", {.moving = true});
  add_coordinates(stops, rows_.stops, "stops", {.kind = RowKind::unilateral});
  if (!rows_.springs.empty())
    system.add(std::make_unique<CoordinateSpringBlock>("joint springs", std::move(rows_.springs)));
}

std::vector<int> JointBuilder::rows_of(List list, const Item& item) const {
  std::vector<int> rows;
  if (blocks_[list] == nullptr) return rows;
  const int first = context_.first_row(*blocks_[list]);
  const auto size = static_cast<std::size_t>(blocks_[list]->rows());
  for (std::size_t row = item.first[list] * size; row < item.last[list] * size; ++row)
    rows.push_back(first + static_cast<int>(row));
  return rows;
}

void JointBuilder::collect() const {
  Model& model = context_.model;
  for (const Item& item : items_) {
    JointInfo joint = item.info;
    for (const List list : {linear_points, points, axes, linear_coordinates, coordinates, drivers})
      for (const int row : rows_of(list, item)) joint.rows.push_back(row);
    const std::vector<int> driven = rows_of(drivers, item);
    for (std::size_t k = 0; k < driven.size(); ++k)
      (driver_is_angle_[item.first[drivers] + k] ? joint.angle_driver : joint.displacement_driver) = driven[k];
    joint.stops = rows_of(stops, item);
    for (std::size_t k = 0; k < joint.stops.size(); ++k)
      model.stops.push_back({stop_names_[item.first[stops] + k], {joint.stops[k]}, true, joint.point});
    model.joints.push_back(std::move(joint));
  }
}

}  // namespace carom
