#include "io/model/model_scales.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/index.hpp"
#include "io/model/build_context.hpp"
#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double least_gap = 1e-9;  // of the way of the bodies

/// The weight of the model, or without gravity the force that its scales make.
double typical_force(const BuildContext& context, const Scales& s) {
  const double gravity = context.model.system.gravity().norm();
  return gravity > 0 && context.total_mass > 0 ? context.total_mass * gravity : s.mass * s.speed * s.speed / s.length;
}

/// Extent of the nodes in space; 0 if they are at one place.
double extent_of_nodes(const BuildContext& context) {
  Vec3 low = Vec3::Constant(infinity), high = -low;
  for (int node = 0; node < context.model.system.dofs().nodes(); ++node) {
    if (!context.in_space(node)) continue;
    const Vec3 x = context.initial_place({node, Vec3::Zero()});
    low = low.cwiseMin(x);
    high = high.cwiseMax(x);
  }
  const double extent = low[0] <= high[0] ? (high - low).norm() : 0;
  // nodes at one place may differ by rounding, after a projection for instance
  return extent > 1e-14 * std::max(low.norm(), high.norm()) ? extent : 0;
}

/// The smallest distance at the contacts, or penetration.
double nearest_gap(const Model& model, const std::vector<RowGroup>& contacts) {
  Vector gaps(at(model.system.rows()));
  model.system.gaps(model.state.q, model.state.t, conditional_rows, gaps);
  double nearest = infinity;
  for (const RowGroup& contact : contacts)
    for (const int row : contact.rows) nearest = std::min(nearest, std::abs(gaps[at(row)]));
  return nearest;
}

/// The time that the model names, which a run may end before or continue: its scales, and so its bytes, are the same.
double named_time(const BuildContext& context) {
  const double T = time_settings(context.root()["integrator"]).duration;
  return T > 0 ? T : context.model.simulation.duration;
}

/// How far the start and gravity lead a body in this time.
double way(const BuildContext& context) {
  const Model& model = context.model;
  const double T = named_time(context);
  return T * (model.system.speed(model.state.v, 0) + 0.5 * T * model.system.gravity().norm());
}

/// The largest of: extent of the bodies, extent of the nodes, smallest distance at contacts unless it is rounding.
double largest_length(const BuildContext& context, const std::vector<RowGroup>& contacts) {
  double length = std::max(context.size, extent_of_nodes(context));
  if (!contacts.empty() && context.model.system.conditional() > 0)
    if (const double gap = nearest_gap(context.model, contacts); gap > least_gap * way(context))
      length = std::max(length, gap);
  return length > 0 ? length : 1.0;
}

/// The larger of: initial speed, speed of a fall through the length.
double largest_speed(const BuildContext& context, double length) {
  const Model& model = context.model;
  const double g = std::max(model.system.gravity().norm(), context.acceleration);
  const double speed = std::max(model.system.speed(model.state.v, length), std::sqrt(g * length));
  return speed > 0 ? speed : length / std::max(named_time(context), model.simulation.step);
}

}  // namespace

Scales model_scales(const BuildContext& context, const RunOptions& options, const std::vector<RowGroup>& contacts) {
  if (options.scales) {
    Scales given = *options.scales;
    given.force = typical_force(context, given);
    return given;
  }
  const json& root = context.root();
  const json given = root.contains("scales") ? root["scales"] : json::object();
  const auto take = [&](const char* key, double computed) {
    return given.contains(key) ? given[key].get<double>() : computed;
  };
  Scales scales;
  scales.length = take("length", largest_length(context, contacts));
  scales.speed = take("speed", largest_speed(context, scales.length));
  const double mass = context.model.system.mean_nodal_mass();
  scales.mass = take("mass", mass > 0 ? mass : 1.0);
  scales.force = typical_force(context, scales);
  return scales;
}

}  // namespace carom
