// Static equilibria along a path of loads: keys and options.

#include "integrators/methods/static_equilibrium.hpp"
#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

Node newton_spec() {
  return object(
      "Newton iteration",
      {
          preset("max_iterations", integer().at_least(1), 50,
                 "iterations after which an increment has failed, counted from the last change of its active "
                 "set; four times as many where nothing but loads and contacts holds the bodies"),
          preset("tolerance", number().above(0).below(1), 1e-10, "largest scaled residual of the equilibrium"),
          preset("constraint_tolerance", number().above(0).below(1), 1e-11,
                 "largest scaled residual of the "
                 "constraints"),
      });
}

Node static_spec() {
  return object(
      "integrator",
      {
          preset("step", number("time").above(0), 0.1,
                 "largest increment of the time that orders the path of loads, and the first one"),
          preset("duration", number("time").at_least(0), 1, "length of the path of loads"),
          preset("start_time", number("time"), 0, "time at the beginning"),
          optional(
              "ramp", number("time").at_least(0),
              "time in which gravity and all loads grow from nothing, linearly (default: the duration; 0: they act "
              "from the beginning, as their functions of time say)"),
          preset("max_subdivisions", integer().at_least(0).at_most(30), 10,
                 "how often an increment that does not converge may be halved"),
          preset("newton", newton_spec(), json::object(), "the iteration of an increment"),
      });
}

Model::MakeIntegrator build(const json& in, const Model& model) {
  StaticOptions options;
  options.ramp_start = in["start_time"].get<double>();
  options.ramp_duration = in[in.contains("ramp") ? "ramp" : "duration"].get<double>();
  const json& newton = in["newton"];
  options.max_iterations = newton["max_iterations"].get<int>();
  options.tolerance = newton["tolerance"].get<double>();
  options.constraint_tolerance = newton["constraint_tolerance"].get<double>();
  options.scales = model.scales;
  return [options](const System& system) { return std::make_unique<StaticEquilibrium>(system, options); };
}

}  // namespace

IntegratorType static_type() {
  return {"static", "static equilibria along a path of loads, without inertia: nothing moves but by its loads",
          StaticEquilibrium::method_info(), static_spec, build};
}

}  // namespace carom
