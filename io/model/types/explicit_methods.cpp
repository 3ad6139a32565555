// The explicit methods and Carpenter's implicit one: keys and options.

#include <utility>

#include "integrators/methods/carpenter.hpp"
#include "integrators/methods/cd_lagrange.hpp"
#include "integrators/methods/paoli_schatzman.hpp"
#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

std::vector<Key> explicit_keys() {
  std::vector<Key> keys = dynamic_time_keys();
  keys.push_back(preset("force_step", boolean(), false,
                        "a step above the largest stable one is tried; it ends the run where the motion grows"));
  return keys;
}

template <class Options>
Options explicit_options(const json& in, const Model& model) {
  Options options;
  options.force_step = in["force_step"].get<bool>();
  options.scales = model.scales;
  return options;
}

// ---- CD-Lagrange

Node cd_lagrange_spec() {
  std::vector<Key> keys = explicit_keys();
  keys.push_back(preset("rho_bifurcation", number().at_least(0).at_most(1), 1,
                        "spectral radius where vibrations bifurcate, near the stable step: 1 keeps their energy, less "
                        "damps high frequencies"));
  return object("integrator", std::move(keys));
}

Model::MakeIntegrator build_cd_lagrange(const json& in, const Model& model) {
  auto options = explicit_options<CdLagrangeOptions>(in, model);
  options.rho_bifurcation = in["rho_bifurcation"].get<double>();
  return [options](const System& system) { return std::make_unique<CdLagrange>(system, options); };
}

// ---- position level

Node paoli_schatzman_spec() { return object("integrator", explicit_keys()); }

Model::MakeIntegrator build_paoli_schatzman(const json& in, const Model& model) {
  const auto options = explicit_options<LeapfrogOptions>(in, model);
  return [options](const System& system) {
    return std::make_unique<PaoliSchatzman>(system, PaoliSchatzman::Variant::paoli_schatzman, options);
  };
}

Node carpenter_spec() {
  std::vector<Key> keys = explicit_keys();
  keys.push_back(preset("implicit", boolean(), false,
                        "the trapezoidal rule with the contact force at the end of the step in place of central "
                        "differences: unstable in impacts, for comparison with the paper"));
  keys.push_back(newton_key(
      newton_keys("iterations of the implicit variant after which a step has failed, counted from the last change of "
                  "its active set",
                  "largest scaled residual of the equations of motion"),
      "a step of the implicit variant"));
  return object("integrator", std::move(keys));
}

Model::MakeIntegrator build_carpenter(const json& in, const Model& model) {
  if (in["implicit"].get<bool>()) {
    CarpenterOptions options;
    read_newton_keys(in["newton"], options.newton);
    options.scales = model.scales;
    return [options](const System& system) { return std::make_unique<CarpenterImplicit>(system, options); };
  }
  const auto options = explicit_options<LeapfrogOptions>(in, model);
  return [options](const System& system) {
    return std::make_unique<PaoliSchatzman>(system, PaoliSchatzman::Variant::carpenter, options);
  };
}

}  // namespace

std::vector<IntegratorType> explicit_types() {
  return {{"cd_lagrange",
           "central differences with impacts at velocity level: explicit, symplectic, contacts and joints drift",
           CdLagrange::method_info(),
           cd_lagrange_spec,
           build_cd_lagrange,
           {"fekak_2017", "di_stasio_2019"},
           [](const json& in) {
             return in["rho_bifurcation"] != 1 ? std::vector<std::string>{"hulbert_chung_1996"}
                                               : std::vector<std::string>{};
           }},
          {"paoli_schatzman",
           "central differences with an impact law in positions: explicit, nodes without rotation",
           PaoliSchatzman::method_info(PaoliSchatzman::Variant::paoli_schatzman),
           paoli_schatzman_spec,
           build_paoli_schatzman,
           {"paoli_schatzman_2002", "di_stasio_2019"}},
          {"carpenter",
           "central differences with contacts that do not penetrate, without restitution: explicit, nodes without "
           "rotation",
           PaoliSchatzman::method_info(PaoliSchatzman::Variant::carpenter),
           carpenter_spec,
           build_carpenter,
           {"carpenter_1991", "di_stasio_2019"}}};
}

}  // namespace carom
