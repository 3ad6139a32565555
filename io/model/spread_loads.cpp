#include "io/model/spread_loads.hpp"

#include <algorithm>

#include "elements/beam/beam.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;

void add_line_load(BuildContext& context, const json& load, const std::string& pointer, std::vector<Load>& loads) {
  const BodyInfo* body = context.model.find_body(text(load["on"]));
  Load share;
  share.kind = text(load["type"]) == "line_torque" ? Load::Kind::torque : Load::Kind::force;
  share.body_axes = text(load["frame"]) == "body";
  share.value = context.time_functions(load["value"], pointer + "/value");
  const PointSet& nodes = body->sets.at("nodes");

  // a node between two elements with the same section axes carries both halves in one load
  const auto* block = static_cast<const BeamBlock*>(body->elements.front().block);
  for (int e = 0; e < block->topology().items; ++e) {
    for (int end = 0; end < 2; ++end) {
      const AttachedPoint& p = nodes.points[static_cast<std::size_t>(e) + static_cast<std::size_t>(end)];
      const Mat3 axes = share.body_axes ? block->section_axes(e, end) : Mat3(Mat3::Identity());
      const Mat3 factor = 0.5 * block->length(e) * axes;
      const bool same_axes = end == 0 && e > 0 && axes.isApprox(Mat3::Identity(), 0);
      if (same_axes) {
        loads.back().factor += factor;
        continue;
      }
      share.node = p.node;
      share.offset = share.kind == Load::Kind::force ? p.offset : Vec3(Vec3::Zero());
      share.factor = factor;
      share.as_before = e + end > 0;
      loads.push_back(share);
    }
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
