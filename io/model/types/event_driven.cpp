// The event-driven method: keys and options.

#include "integrators/methods/event_driven.hpp"

#include <utility>

#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

Node event_driven_spec() {
  std::vector<Key> keys = generalized_alpha_keys();
  keys.push_back(preset("event_tolerance", number().above(0).at_most(1e-3), 1e-10,
                        "how closely the time of an event is located, in steps"));
  keys.push_back(preset("max_events", integer().at_least(1), 1000,
                        "events of a step after which impacts count as an accumulation, which ends the run"));
  keys.push_back(
      preset("rest_speed", number("velocity").at_least(0), 0,
             "impacts with a slower approach have no restitution, so that accumulating ones end in contact; stops of "
             "angles: times the length scale"));
  keys.push_back(intermediate_gradient_key(0.5));
  return object("integrator", std::move(keys));
}

Model::MakeIntegrator build_event_driven(const json& in, const Model& model) {
  EventDrivenOptions options;
  read_generalized_alpha_keys(in, options);
  options.event_tolerance = in["event_tolerance"].get<double>();
  options.most_events = in["max_events"].get<int>();
  options.rest_speed = in["rest_speed"].get<double>();
  options.intermediate_gradient = in["intermediate_gradient"].get<double>();
  options.scales = model.scales;
  return [options](const System& system) { return std::make_unique<EventDriven>(system, options); };
}

}  // namespace

IntegratorType event_driven_type() {
  return {"event_driven",
          "generalized-alpha between impacts and releases, which are located in time: order 2 through impacts",
          EventDriven::method_info(),
          event_driven_spec,
          build_event_driven,
          {"chung_hulbert_1993", "bruels_acary_cardona_2018", "patil_bruels"}};
}

}  // namespace carom
