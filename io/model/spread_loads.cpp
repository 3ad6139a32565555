#include "io/model/spread_loads.hpp"

#include <algorithm>

#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;

void add_line_load(BuildContext& context, const json& load, const std::string& pointer, std::vector<Load>& loads) {
  const BodyInfo* body = context.model.find_body(text(load["on"]));
  Load share;
  share.kind = text(load["type"]) == "line_torque" ? Load::Kind::torque : Load::Kind::force;
  share.body_axes = text(load["frame"]) == "body";
  share.value = context.time_functions(load["value"], pointer + "/value");

  int node_before = -1;
  for (const LineShare& part : find_body_type(body->type)->line_load_shares(*body)) {
    const Mat3 axes = share.body_axes ? part.axes : Mat3(Mat3::Identity());
    const Mat3 factor = part.length * axes;
    // a node between two elements of the same section axes takes both parts at once
    if (part.point.node == node_before && axes.isApprox(Mat3::Identity(), 0)) {
      loads.back().factor += factor;
      continue;
    }
    share.node = part.point.node;
    share.offset = share.kind == Load::Kind::force ? part.point.offset : Vec3(Vec3::Zero());
    share.factor = factor;
    share.as_before = node_before >= 0;
    node_before = share.node;
    loads.push_back(share);
  }
}

void add_spread_force(BuildContext& context, const json& load, const std::string& pointer, std::vector<Load>& on_frames,
                      std::vector<Load>& on_points) {
  const std::string on = text(load["on"]);
  const PointSet& set = *context.point_set(on);
  const bool is_one_frame = context.is_frame(set.points[0]) &&
                            std::all_of(set.points.begin(), set.points.end(),
                                        [&](const AttachedPoint& p) { return p.node == set.points[0].node; });
  Load share;
  share.kind = Load::Kind::force;
  share.body_axes = text(load["frame"]) == "body";
  if (share.body_axes && !is_one_frame)
    context.error(pointer + "/frame", "expected \"inertial\": the points of " + in_quotes(on) +
                                          " have no axes in common that turn with them");
  if (set.shares.empty())
    context.error(pointer + "/on", "expected a group with faces, lines or elements of the body, got " + in_quotes(on) +
                                       ", of which the body has only nodes");
  if (!context.issues.empty()) return;
  share.value = context.time_functions(load["value"], pointer + "/value");
  for (std::size_t k = 0; k < set.points.size(); ++k) {
    if (set.shares[k] == 0) continue;
    share.node = set.points[k].node;
    share.offset = set.points[k].offset;
    share.factor = set.shares[k] * Mat3::Identity();
    (context.is_frame(set.points[k]) ? on_frames : on_points).push_back(share);
    share.as_before = true;
  }
}

}  // namespace carom
