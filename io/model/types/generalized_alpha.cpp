// The classical generalized-alpha methods for bilateral constraints: keys and options.

#include <optional>
#include <utility>

#include "integrators/methods/generalized_alpha_method.hpp"
#include "integrators/methods/nsga_coupled.hpp"
#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

Node generalized_alpha_spec() {
  std::vector<Key> keys = generalized_alpha_keys();
  keys.push_back(preset("formulation",
                        choice({{"index_3", "joints hold at position level"},
                                {"index_2", "at velocity level"},
                                {"index_1", "at acceleration level"},
                                {"baumgarte", "a combination of the three levels"},
                                {"ggl", "at position and velocity level, with a position correction along G_n"},
                                {"ggl_modified", "at position and velocity level, with a position correction over M"},
                                {"pva", "at position, velocity and acceleration level"}}),
                        "index_3", "the levels at which joints hold"));
  keys.push_back(
      optional("baumgarte",
               object("Baumgarte's stabilisation", {required("alpha", number("rate").at_least(0), "of the velocities"),
                                                    required("beta", number("rate").at_least(0), "of the positions")}),
               "the combination G v' + h + 2 alpha (G v + g_t) + beta^2 g = 0 of this formulation"));
  keys.push_back(intermediate_gradient_key(1));
  keys.push_back(
      preset("fully_implicit", boolean(), false,
             "alpha_m = alpha_f = 0, gamma = 1, beta = 1/2 in the place of rho_infinity: first order, without "
             "the accelerations of the step before"));
  return object("integrator", std::move(keys));
}

// The equation of a constraint, where a formulation has one.
std::optional<ConstraintForm> form_of(const json& in) {
  const std::string word = text(in["formulation"]);
  if (word == "index_3") return ConstraintForm{0, 0, 1};
  if (word == "index_2" || word == "ggl") return ConstraintForm{0, 1, 0};
  if (word == "index_1") return ConstraintForm{1, 0, 0};
  if (word != "baumgarte") return {};
  const double alpha = in["baumgarte"]["alpha"].get<double>(), beta = in["baumgarte"]["beta"].get<double>();
  return ConstraintForm{1, 2 * alpha, beta * beta};
}

std::vector<Problem> problems(const json& in) {
  if (in["formulation"] != "index_2" && in["intermediate_gradient"] != 1)
    return {{"/intermediate_gradient", "expected 1 beside the formulation \"" + text(in["formulation"]) +
                                           "\": another gradient is for \"index_2\""}};
  if (in["fully_implicit"].get<bool>() && !form_of(in))
    return {{"/fully_implicit", "expected false beside the formulation \"" + text(in["formulation"]) + "\""}};
  const bool wanted = in["formulation"] == "baumgarte", given = in.contains("baumgarte");
  if (wanted && !given) return {{"", "the formulation \"baumgarte\" needs the key \"baumgarte\" with alpha and beta"}};
  if (!wanted && given)
    return {{"/baumgarte", "expected no such key beside the formulation \"" + text(in["formulation"]) + "\""}};
  return {};
}

Model::MakeIntegrator build_generalized_alpha(const json& in, const Model& model) {
  const std::string name = "generalized_alpha (" + text(in["formulation"]) + ")";
  if (const auto form = form_of(in)) {
    GeneralizedAlphaOptions options;
    read_generalized_alpha_keys(in, options);
    options.form = *form;
    options.ggl = in["formulation"] == "ggl";
    options.fully_implicit = in["fully_implicit"].get<bool>();
    options.intermediate_gradient = in["intermediate_gradient"].get<double>();
    options.scales = model.scales;
    const MethodInfo info =
        GeneralizedAlphaMethod::method_info(name.c_str(), options.ggl || in["formulation"] == "index_3");
    return [options, info](const System& system) {
      return std::make_unique<GeneralizedAlphaMethod>(system, info, options);
    };
  }
  NsgaCoupledOptions options;
  read_generalized_alpha_keys(in, options);
  options.setup.acceleration_level = in["formulation"] == "pva";
  options.scales = model.scales;
  const MethodInfo info = NsgaCoupled::method_info(name.c_str(), false);
  return [options, info](const System& system) { return std::make_unique<NsgaCoupled>(system, info, options); };
}

}  // namespace

IntegratorType generalized_alpha_type() {
  return {
      "generalized_alpha",
      "the classical generalized-alpha methods, for smooth motion: joints hold at the levels of choice; no contacts",
      GeneralizedAlphaMethod::method_info("generalized_alpha", true),
      generalized_alpha_spec,
      build_generalized_alpha,
      {"chung_hulbert_1993", "arnold_bruels_2007", "bruels_acary_cardona_2018"},
      [](const json& in) {
        return text(in["formulation"]).starts_with("ggl") ? std::vector<std::string>{"gear_1985"}
                                                          : std::vector<std::string>{};
      },
      problems};
}

}  // namespace carom
