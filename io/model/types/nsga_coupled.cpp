// The coupled nonsmooth generalized-alpha methods (PVV in turn and monolithic, PVA): keys and options.

#include "integrators/methods/nsga_coupled.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

Key activation_key() {
  return preset("activation",
                choice({{"multiplier", "contacts of the position correction, by the augmented multiplier"},
                        {"smooth_gap", "contacts that the smooth motion penetrates"}}),
                "multiplier", "which contacts may take part in the velocity jump");
}

Key directions_key() {
  return optional("reaction_directions", directions_choice(),
                  "directions of the reactions of contacts that stay closed; default: `mean` where spheres have "
                  "friction, else `end`");
}

Key mixing_key() {
  return preset("mixing",
                choice({{"anderson",
                         "sweeps from the thirteenth on are mixed with the last five (Anderson's mixing), except with "
                         "friction of joints: few sweeps at any step"},
                        {"none", "plain sweeps, as published"}}),
                "anderson", "how the problems that are solved in turn find their solution, which is the same");
}

/// `own`: of the method, before all others of this family.
Node spec_of(bool in_turn, std::vector<Key> own = {}) {
  std::vector<Key> keys = generalized_alpha_keys();
  std::move(own.begin(), own.end(), std::back_inserter(keys));
  keys.push_back(activation_key());
  keys.push_back(directions_key());
  if (in_turn) keys.push_back(mixing_key());
  keys.push_back(penalty_key());
  return object("integrator", std::move(keys));
}

Node coupled_spec() { return spec_of(true); }

Node monolithic_spec() { return spec_of(false); }

Node pva_spec() {
  return spec_of(
      true, {optional("strategy", integer().at_least(1).at_most(3),
                      "constraints of the smooth motion: 1 none, 2 joints, 3 joints and closed contacts; default: 3, "
                      "with friction 2")});
}

NsgaCoupledOptions read(const json& in, const Model& model) {
  NsgaCoupledOptions options;
  read_generalized_alpha_keys(in, options);
  options.setup.smooth_gap = text(in["activation"]) == "smooth_gap";
  if (in.contains("reaction_directions")) options.mean_directions = in["reaction_directions"] == "mean";
  options.setup.mixes_sweeps = in.contains("mixing") && in["mixing"] == "anderson";
  options.setup.penalty = in["penalty"].get<double>();
  options.scales = model.scales;
  return options;
}

Model::MakeIntegrator make(NsgaCoupledOptions options, const char* name) {
  return [options, info = NsgaCoupled::method_info(name)](const System& system) {
    return std::make_unique<NsgaCoupled>(system, info, options);
  };
}

Model::MakeIntegrator build_coupled(const json& in, const Model& model) {
  return make(read(in, model), "nsga_coupled");
}

Model::MakeIntegrator build_monolithic(const json& in, const Model& model) {
  NsgaCoupledOptions options = read(in, model);
  options.setup.monolithic = true;
  return make(options, "nsga_monolithic");
}

Model::MakeIntegrator build_pva(const json& in, const Model& model) {
  NsgaCoupledOptions options = read(in, model);
  options.setup.acceleration_level = true;
  const int strategy = in.contains("strategy") ? in["strategy"].get<int>() : 0;
  options.setup.free_motion = strategy == 1;
  return [options, strategy](const System& system) {
    NsgaCoupledOptions chosen = options;
    const bool friction = system.row_kinds().meets(friction_rows);
    if (strategy == 3 || (strategy == 0 && !friction)) chosen.setup.smooth_rows = bilateral_rows | unilateral_rows;
    const char* const name = strategy == 0 && friction ? "nsga_pva (strategy 2)" : "nsga_pva";
    return std::make_unique<NsgaCoupled>(system, NsgaCoupled::method_info(name), chosen);
  };
}

}  // namespace

std::vector<IntegratorType> coupled_nsga_types() {
  return {
      {"nsga_coupled",
       "nonsmooth generalized-alpha with constraints at position and velocity level: smooth motion, position "
       "correction and velocity jump iterated in turn",
       NsgaCoupled::method_info("nsga_coupled"),
       coupled_spec,
       build_coupled,
       {"bruels_acary_cardona_2014", "chung_hulbert_1993", "arnold_bruels_2007"}},
      {"nsga_monolithic",
       "the equations of nsga_coupled, solved as one system",
       NsgaCoupled::method_info("nsga_monolithic"),
       monolithic_spec,
       build_monolithic,
       {"bruels_acary_cardona_2014", "chung_hulbert_1993", "arnold_bruels_2007"}},
      {"nsga_pva",
       "nonsmooth generalized-alpha with constraints at position, velocity and acceleration level",
       NsgaCoupled::method_info("nsga_pva"),
       pva_spec,
       build_pva,
       {"bruels_acary_cardona_2018", "bruels_acary_cardona_2014", "chung_hulbert_1993"}},
  };
}

}  // namespace carom
