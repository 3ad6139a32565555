// The Moreau-Jean method: keys and options.

#include "integrators/methods/moreau_jean.hpp"

#include <utility>

#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

Node moreau_jean_spec() {
  std::vector<Key> keys = dynamic_time_keys();
  keys.push_back(
      preset("theta", number().at_least(0.5).at_most(1), 0.5,
             "share of the forces at the end of a step: 1/2 keeps the energy of free vibrations, 1 damps most"));
  keys.push_back(newton_key(
      newton_keys("iterations after which a step has failed, counted from the last change of its active set; four "
                  "times as many where joints have friction",
                  "largest scaled residual of the momentum balance"),
      "a step"));
  return object("integrator", std::move(keys));
}

Model::MakeIntegrator build_moreau_jean(const json& in, const Model& model) {
  MoreauJeanOptions options;
  options.theta = in["theta"].get<double>();
  read_newton_keys(in["newton"], options.newton);
  options.scales = model.scales;
  return [options](const System& system) { return std::make_unique<MoreauJean>(system, options); };
}

}  // namespace

IntegratorType moreau_jean_type() {
  return {"moreau_jean",
          "time stepping on velocities and impulses: contacts and joints hold at velocity level and drift at position "
          "level",
          MoreauJean::method_info(),
          moreau_jean_spec,
          build_moreau_jean,
          {"moreau_1988", "jean_1999", "di_stasio_2019"}};
}

}  // namespace carom
