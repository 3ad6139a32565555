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
  keys.push_back(preset("reaction_directions",
                        choice({{"end", "those of the end of the step, as published"},
                                {"mean", "means over the step: motions along curved contacts are of second order"}}),
                        "end", "directions of the reactions of contacts that stay closed"));
  keys.push_back(penalty_key());
  return object("integrator", std::move(keys));
}

Model::MakeIntegrator build(const json& in, const Model& model) {
  NsgaOptions options;
  read_generalized_alpha_keys(in, options);
  options.force_corrections = in["force_corrections"].get<bool>();
  options.mean_directions = in["reaction_directions"] == "mean";
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
          build,
          {"cosimo_2020", "chung_hulbert_1993", "arnold_bruels_2007", "bruels_acary_cardona_2014"}};
}

}  // namespace carom
