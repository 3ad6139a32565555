// The decoupled nonsmooth generalized-alpha method (DS, DSn): keys and options.

#include "integrators/methods/nsga_decoupled.hpp"

#include <utility>

#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

std::vector<Key> iteration_keys() {
  std::vector<Key> keys = {
      preset("method",
             choice({{"automatic", "as \"full\"; with conjugate gradients only where a new matrix pays"},
                     {"full", "a new matrix in every iteration"},
                     {"modified", "a matrix is kept while it contracts well"}}),
             "automatic", "when the matrix is computed and factorised")};
  for (Key& key :
       newton_keys("iterations after which a sub-problem has failed, counted from the last change of its active set",
                   "largest scaled residual of the equations of motion"))
    keys.push_back(std::move(key));
  keys.push_back(preset("test",
                        choice({{"scaled", "residuals over the scales of the model"},
                                {"paper", "the criterion printed in the method's paper"}}),
                        "scaled", "how residuals are compared with the tolerances"));
  keys.push_back(
      preset("predictor",
             choice({{"previous", "the acceleration of the last step"}, {"zero", "no acceleration, as in the paper"}}),
             "previous", "where the iteration of the smooth motion starts"));
  return keys;
}

Node nsga_spec() {
  std::vector<Key> keys = dynamic_time_keys();
  for (Key& key : std::vector<Key>{
           preset("rho_infinity", number().at_least(0).at_most(1), 0.8,
                  "spectral radius at infinite frequency: 1 no damping, 0 most"),
           preset("force_corrections", boolean(), true,
                  "whether position correction and velocity jump see the change of the forces"),
           preset("initial_acceleration",
                  choice({{"consistent", "of the equations of motion at the beginning"},
                          {"shifted", "the same, moved to the time at which the method's a_0 stands"}}),
                  "consistent", "the start value of the auxiliary acceleration"),
           newton_key(iteration_keys(), "the sub-problems"),
           preset("penalty", number().above(0), 1,
                  "penalty of the augmented Lagrangian, times the characteristic mass"),
       })
    keys.push_back(std::move(key));
  return object("integrator", std::move(keys));
}

Model::MakeIntegrator build(const json& in, const Model& model) {
  NsgaOptions options;
  options.rho_infinity = in["rho_infinity"].get<double>();
  options.force_corrections = in["force_corrections"].get<bool>();
  options.penalty = in["penalty"].get<double>();
  options.initial_acceleration =
      text(in["initial_acceleration"]) == "shifted" ? InitialAcceleration::shifted : InitialAcceleration::consistent;
  const json& newton = in["newton"];
  const std::string method = text(newton["method"]);
  options.newton.method = method == "modified" ? NewtonMethod::modified
                          : method == "full"   ? NewtonMethod::full
                                               : NewtonMethod::automatic;
  read_newton_keys(newton, options.newton);
  options.newton.test = text(newton["test"]) == "paper" ? ConvergenceTest::paper : ConvergenceTest::scaled;
  options.newton.predictor = text(newton["predictor"]) == "zero" ? Predictor::zero : Predictor::previous;
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
