#include "io/model/joint_builder.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <memory>
#include <utility>

#include "elements/joints/joint_coordinate.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;

void JointBuilder::read() {
  const json& list = context_.root()["joints"];
  const std::vector<std::string> switching = switching_joint_names(context_.root());
  std::vector<SwitchingBuilder::Joint> joints;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JointType& kind = find_type(joint_types(), list[i]);
    JointSource joint;
    joint.json = &list[i];
    joint.pointer = "/joints/" + std::to_string(i);
    joint.name = text(list[i]["name"]);
    const bool switches = std::ranges::find(switching, joint.name) != switching.end();
    JointPools own;  // of a joint that switches
    JointParts parts(switches ? own : pools_);
    if (!read_ends(joint, kind, parts)) continue;
    const bool of_set =
        std::ranges::any_of(list[i]["of"], [&](const json& of) { return context_.point_set(text(of)) != nullptr; });
    parts.begin_own();
    kind.build(context_, joint, parts);
    joints.push_back({joint.name, parts.angle, parts.displacement, nullptr});
    if (switches && of_set)
      context_.error(joint.pointer + "/of", "expected points, because the joint switches, got a group of nodes");
    else if (switches)
      joints.back().rows = switching_rows(joint, own, parts);
    JointInfo info;
    info.name = joint.name;
    info.type = kind.type;
    info.a = joint.a;
    info.point = joint.b;
    if (parts.angle) info.angle = std::make_shared<const JointCoordinate>(*parts.angle);
    if (parts.displacement) info.displacement = std::make_shared<const JointCoordinate>(*parts.displacement);
    items_.push_back({std::move(info), switches ? JointParts(pools_) : std::move(parts), switches});
  }
  pools_.add_blocks(context_.model.system);
  switching_.read(joints);
}

// The rows of a joint that holds in some modes only, as blocks of their own.
std::shared_ptr<System> JointBuilder::switching_rows(const JointSource& joint, JointPools& pools,
                                                     const JointParts& parts) {
  auto rows = std::make_shared<System>();
  pools.add_blocks(*rows);
  const bool bilateral = std::ranges::all_of(
      rows->constraints(), [](const auto& block) { return block->traits().kind == RowKind::bilateral; });
  if (!rows->elements().empty() || !bilateral || parts.angle_driver || parts.displacement_driver)
    context_.error(joint.pointer,
                   "expected a joint without driver, spring, stops and friction, because \"switching\" names it");
  return rows;
}

// A point, or the frame of a set of points.
AttachedPoint JointBuilder::read_end(const JointSource& joint, int side, JointParts& parts) {
  const json& of = (*joint.json)["of"][static_cast<std::size_t>(side)];
  const std::string reference = text(of);
  if (const PointSet* const set = context_.point_set(reference)) {
    const auto known = frames_.find(reference);
    return known != frames_.end() ? known->second : frame_of_set(joint, side, *set, parts);
  }
  return context_.point(of, joint.pointer + "/of/" + std::to_string(side));
}

// A frame without mass at the centre of the points, which are held as if they were fixed in it. It starts with the
// velocities of the rigid motion nearest to theirs. All joints of the points act on the same frame: the rows of a
// second one would all be redundant.
AttachedPoint JointBuilder::frame_of_set(const JointSource& joint, int side, const PointSet& set, JointParts& parts) {
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
    parts.append(coincidence_pool(true), std::move(c));
  }
  return frames_[reference] = {frame, Vec3::Zero()};
}

// Where the ends are at the start; false after a complaint.
bool JointBuilder::read_ends(JointSource& joint, const JointType& kind, JointParts& parts) {
  const json& of = (*joint.json)["of"];
  const std::string pointer = joint.pointer + "/of";
  const std::size_t issues = context_.issues.size();
  joint.a = read_end(joint, 0, parts);
  joint.b = read_end(joint, 1, parts);
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
  if (joint.json->contains("relative_orientation")) {
    // directions are those of the first body, where its axes are those of the model
    Quaternion relative = orientation({{"orientation", (*joint.json)["relative_orientation"]}});
    // q and -q are one rotation; this sign makes the angle of the start that of the shorter way
    if (so3::quaternion_product(so3::quaternion_conjugate(joint.q_a), joint.q_b).dot(relative) < 0)
      relative = -relative;
    joint.q_a = Quaternion(1, 0, 0, 0);
    joint.q_b = relative;
  }
  joint.R_a = so3::quaternion_to_matrix(joint.q_a);
  joint.R_b = so3::quaternion_to_matrix(joint.q_b);

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

void JointBuilder::collect() const {
  Model& model = context_.model;
  const auto rows_of = [&](const JointPools::Handle& handle) { return JointPools::rows(model.system, handle); };
  for (const Item& item : items_) {
    JointInfo joint = item.info;
    if (item.switches) joint.rows = switching_.rows_of(joint.name);
    for (const JointPools::Handle& handle : item.parts.held())
      for (const int row : rows_of(handle)) joint.rows.push_back(row);
    std::sort(joint.rows.begin(), joint.rows.end());
    if (const auto& friction = item.parts.friction()) {
      joint.friction = rows_of(friction->rows);
      for (const JointPools::Handle& handle : friction->of)
        friction->supports->push_back(JointPools::support(model.system, handle));
    }
    if (item.parts.angle_driver) joint.angle_driver = rows_of(*item.parts.angle_driver).front();
    if (item.parts.displacement_driver) joint.displacement_driver = rows_of(*item.parts.displacement_driver).front();
    for (const JointParts::Stop& stop : item.parts.stops()) {
      const int row = rows_of(stop.row).front();
      joint.stops.push_back(row);
      model.stops.push_back({stop.name, {row}, true, joint.point, "", stop.angle});
    }
    joint.pointer = "/joints/" + std::to_string(model.joints.size());
    model.joints.push_back(std::move(joint));
  }
  switching_.collect();
}

}  // namespace carom
