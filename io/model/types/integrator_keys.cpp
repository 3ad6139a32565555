// The keys that all integrators share.

#include <utility>

#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

std::vector<Key> time_keys(Key step, Key duration, const std::string& subdivided) {
  return {std::move(step), std::move(duration), preset("start_time", number("time"), 0, "time at the beginning"),
          preset("max_subdivisions", integer().at_least(0).at_most(30), 10,
                 "how often " + subdivided + " that does not converge may be halved")};
}

std::vector<Key> dynamic_time_keys() {
  return time_keys(required("step", number("time").above(0), "length of a step"),
                   required("duration", number("time").at_least(0).like(1), "simulated time"), "a step");
}

TimeSettings time_settings(const json& integrator) {
  return {integrator["step"].get<double>(), integrator["duration"].get<double>(),
          integrator["start_time"].get<double>(), integrator["max_subdivisions"].get<int>()};
}

Key newton_key(std::vector<Key> keys, const std::string& iterated) {
  return preset("newton", object("Newton iteration", std::move(keys)), json::object(), "the iteration of " + iterated);
}

std::vector<Key> newton_keys(const std::string& max_iterations_help, const std::string& tolerance_help) {
  return {
      preset("max_iterations", integer().at_least(1), 50, max_iterations_help),
      preset("tolerance", number().above(0).below(1), 1e-10, tolerance_help),
      optional(
          "constraint_tolerance", number().above(0).below(1),
          "largest scaled residual of the constraints (default: 1e-11; 1e-6 where 50 spheres or more may touch each "
          "other with friction)")};
}

namespace {

std::vector<Key> iteration_keys() {
  std::vector<Key> keys = {
      preset("method",
             choice({{"automatic", "as \"full\"; with conjugate gradients only where a new matrix pays"},
                     {"full", "a new matrix in every iteration"},
                     {"modified", "a matrix is kept while it contracts well"}}),
             "automatic", "when the matrix is computed and factorised")};
  for (Key& key :
       newton_keys("iterations after which a sub-problem has failed, counted from the last change of its active set; "
                   "four times as many where joints have friction",
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

}  // namespace

std::vector<Key> generalized_alpha_keys() {
  std::vector<Key> keys = dynamic_time_keys();
  keys.push_back(preset("rho_infinity", number().at_least(0).at_most(1), 0.8,
                        "spectral radius at infinite frequency: 1 no damping, 0 most"));
  keys.push_back(preset("initial_acceleration",
                        choice({{"consistent", "of the equations of motion at the beginning"},
                                {"shifted", "the same, moved to the time at which the method's a_0 stands"},
                                {"zero", "none, and no reactions: a disturbed start, for experiments"}}),
                        "consistent", "the start value of the auxiliary acceleration"));
  keys.push_back(newton_key(iteration_keys(), "the sub-problems"));
  return keys;
}

Node directions_choice() {
  return choice({{"end", "those of the end of the step, as published"},
                 {"mean", "means over the step: motions along curved contacts are of second order"}});
}

Key intermediate_gradient_key(double preset_value) {
  return preset("intermediate_gradient", number().at_least(0).at_most(1), preset_value,
                "E of switching constraints: reactions of a switch act along (1 - E) of the old and E of the new "
                "constraints; 0.5 conserves the kinetic energy, 1 is an impact without restitution on the new "
                "constraints");
}

Key penalty_key() {
  return preset("penalty", number().above(0), 1, "penalty of the augmented Lagrangian, times the characteristic mass");
}

InitialAcceleration initial_acceleration_of(const json& integrator) {
  const std::string word = text(integrator["initial_acceleration"]);
  return word == "shifted" ? InitialAcceleration::shifted
         : word == "zero"  ? InitialAcceleration::zero
                           : InitialAcceleration::consistent;
}

NewtonOptions newton_options(const json& newton) {
  NewtonOptions options;
  const std::string method = text(newton["method"]);
  options.method = method == "modified" ? NewtonMethod::modified
                   : method == "full"   ? NewtonMethod::full
                                        : NewtonMethod::automatic;
  read_newton_keys(newton, options);
  options.test = text(newton["test"]) == "paper" ? ConvergenceTest::paper : ConvergenceTest::scaled;
  options.predictor = text(newton["predictor"]) == "zero" ? Predictor::zero : Predictor::previous;
  return options;
}

}  // namespace carom
