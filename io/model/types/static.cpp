// Static equilibria along a path of loads: keys and options.

#include "integrators/methods/static_equilibrium.hpp"

#include <utility>

#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

Node static_spec() {
  std::vector<Key> keys =
      time_keys(preset("step", number("time").above(0), 0.1,
                       "largest increment of the time that orders the path of loads, and the first one"),
                preset("duration", number("time").at_least(0), 1, "length of the path of loads"), "an increment");
  keys.push_back(
      optional("ramp", number("time").at_least(0),
               "time in which gravity and all loads grow from nothing, linearly (default: the duration; 0: they act "
               "from the beginning, as their functions of time say)"));
  keys.push_back(
      preset("control",
             choice({{"load", "the factor of the loads grows with time"},
                     {"arc_length",
                      "time is the length of the path of equilibria, in units in which the factor begins to grow by "
                      "1/ramp: the factor is found, and may fall (snap-through); probe \"load_factor\""}}),
             "load", "what an increment prescribes"));
  keys.push_back(
      newton_key(newton_keys("iterations after which an increment has failed, counted from the last change of its "
                             "active set; four times as many where nothing but loads and contacts holds the bodies",
                             "largest scaled residual of the equilibrium"),
                 "an increment"));
  return object("integrator", std::move(keys)).with([](const json& in, std::string& where) -> std::string {
    if (in["control"] != "arc_length" || !in.contains("ramp") || in["ramp"] != 0) return {};
    where = "/ramp";
    return "the length of the path is measured by the growth of the loads: with \"arc_length\" expected a ramp > 0";
  });
}

Model::MakeIntegrator build_static(const json& in, const Model& model) {
  StaticOptions options;
  const TimeSettings time = time_settings(in);
  options.step = time.step;
  options.ramp_start = time.start;
  options.ramp_duration = in.contains("ramp") ? in["ramp"].get<double>() : time.duration;
  if (in["control"] == "arc_length") options.control = PathControl::arc_length;
  read_newton_keys(in["newton"], options);
  options.scales = model.scales;
  return [options](const System& system) { return std::make_unique<StaticEquilibrium>(system, options); };
}

}  // namespace

IntegratorType static_type() {
  return {"static",
          "static equilibria along a path of loads, without inertia: nothing moves but by its loads",
          StaticEquilibrium::method_info(),
          static_spec,
          build_static,
          {},
          [](const json& in) {
            return in["control"] == "arc_length" ? std::vector<std::string>{"riks_1979"} : std::vector<std::string>{};
          }};
}

}  // namespace carom
