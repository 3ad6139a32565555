#include "io/line_loads.hpp"

#include "elements/beam.hpp"

namespace carom {

using nlohmann::json;

void add_line_load(BuildContext& context, const json& load, const std::string& pointer, std::vector<Load>& loads) {
  const BodyInfo* body = context.model.find_body(text(load["on"]));
  Load share;
  share.kind = text(load["type"]) == "line_torque" ? Load::Kind::torque : Load::Kind::force;
  share.body_axes = text(load["frame"]) == "body";
  share.value = context.time_functions(load["value"], pointer + "/value");
  const PointSet& nodes = body->sets.at("nodes");

  // a node between two elements of the same section axes takes both halves at once
  const auto* block = static_cast<const BeamBlock*>(body->elements.front().block);
  for (int e = 0; e < block->topology().items; ++e) {
    for (int end = 0; end < 2; ++end) {
      const AttachedPoint& p = nodes.points[static_cast<std::size_t>(e + end)];
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
      loads.push_back(share);
    }
  }
}

}  // namespace carom
