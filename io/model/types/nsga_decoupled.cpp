// The decoupled nonsmooth generalized-alpha method (DS, DSn): keys and options.

#include "integrators/methods/nsga_decoupled.hpp"

#include <utility>

#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

Node nsga_spec() {
  std::vector<Key> keys = generalized_alpha_keys();
  keys.push_back(preset("force_corrections", boolean(), true,
                        "whether position correction and velocity jump see the change of the forces"));
  keys.push_back(
      optional("reaction_directions", directions_choice(),
               "directions of the reactions of contacts that stay closed; default: `mean` where impacts are located "
               "or spheres have friction, else `end`"));
  keys.push_back(preset("impact",
                        choice({{"automatic",
                                 "`located` for contacts of rigid bodies, point masses and coordinates in models of at "
                                 "most 20 such bodies, or 10 that may touch each other, without massless parts and "
                                 "constraints that switch, else, for nodes of elements and for bodies held beside "
                                 "these, `published`"},
                                {"located",
                                 "at their instants within the step: second order through impacts; also for nodes of "
                                 "elements with restitution, where the step is fine enough"},
                                {"published", "at the end of their step, as published"}}),
                        "automatic", "the instant at which impacts act"));
  keys.push_back(intermediate_gradient_key(0.5));
  keys.push_back(preset("smooth_switching_rows", boolean(), true,
                        "whether the smooth motion keeps the constraints of the present modes; false: as published, of "
                        "first order between switches too"));
  keys.push_back(penalty_key());
  return object("integrator", std::move(keys));
}

Model::MakeIntegrator build_nsga_decoupled(const json& in, const Model& model) {
  NsgaOptions options;
  read_generalized_alpha_keys(in, options);
  options.force_corrections = in["force_corrections"].get<bool>();
  options.impact = in["impact"] == "automatic" ? ImpactInstant::automatic
                   : in["impact"] == "located" ? ImpactInstant::located
                                               : ImpactInstant::published;
  if (in.contains("reaction_directions")) options.mean_directions = in["reaction_directions"] == "mean";
  options.intermediate_gradient = in["intermediate_gradient"].get<double>();
  options.smooth_switching_rows = in["smooth_switching_rows"].get<bool>();
  options.penalty = in["penalty"].get<double>();
  options.scales = model.scales;
  return [options](const System& system) { return std::make_unique<NsgaDecoupled>(system, options); };
}

}  // namespace

IntegratorType nsga_decoupled_type() {
  return {"nsga_decoupled",
          "decoupled nonsmooth generalized-alpha: smooth motion, position correction and velocity jump one after the "
          "other",
          NsgaDecoupled::method_info(),
          nsga_spec,
          build_nsga_decoupled,
          {"cosimo_2020", "chung_hulbert_1993", "arnold_bruels_2007", "bruels_acary_cardona_2014"}};
}

}  // namespace carom
