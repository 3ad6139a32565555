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
                   required("duration", number("time").at_least(0), "simulated time"), "a step");
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
      preset("constraint_tolerance", number().above(0).below(1), 1e-11, "largest scaled residual of the constraints")};
}

}  // namespace carom
