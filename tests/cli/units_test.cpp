// Figures that the program puts over its scales, and thresholds of speeds, do not depend on the unit of length: stops,
// joints and drifts of angles count as lengths at the length scale.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;

namespace {

// A hinged rod of 1 m that runs against a stop at 0.45 rad/s, in a unit of which a metre has so many.
std::string rod(double unit, const std::string& integrator, const std::string& turned = "") {
  return fmt::format(R"({{"format": 1, "gravity": [0, 0, 0],
    "bodies": [{{"name": "b", "type": "rigid", "mass": 1, "inertia": [{0}, {1}, {1}], "position": [{2}, 0, 0],
                "velocity": [0, {3}, 0], "angular_velocity": [0, 0, 0.45],
                "points": [{{"name": "a", "at": [{4}, 0, 0]}}, {{"name": "tip", "at": [{2}, 0, 0]}}]}}],
    "joints": [{{"name": "j", "type": "revolute", "of": ["ground", "b.a"], "axis": [0, 0, 1]{6},
                "stops": {{"upper": 0.2, "restitution": 0.5}}}}],
    "output": {{"vtu": {{"enabled": false}},
               "probes": [{{"name": "w", "of": "j", "quantity": "joint_angle_rate"}}]}},
    "integrator": {5}}})",
                     0.01 * unit * unit, 0.02 * unit * unit, 0.5 * unit, 0.225 * unit, -0.5 * unit, integrator, turned);
}

}  // namespace

TEST_CASE("units: the largest penetration of a stop of an angle is a length") {
  const TemporaryDirectory directory;
  const auto deepest = [&](double unit) {
    write(directory / "m.json", rod(unit, R"({"type": "cd_lagrange", "step": 7e-3, "duration": 1})"));
    REQUIRE(run_carom(directory, {"run", "m.json", "-q", "-o", "r"}).code == 0);
    return read_json(directory / "r/summary.json")["max_penetration"].get<double>();
  };
  const double in_metres = deepest(1);
  CHECK(in_metres > 1e-4);
  CHECK(deepest(1024) == doctest::Approx(1024 * in_metres).epsilon(1e-6));
}

// A free impact, and a torque that presses the rod on its stop: its bounces end where they are slower than rest_speed.
TEST_CASE("units: the speed below which event_driven drops the restitution is one of angles at the length scale") {
  const TemporaryDirectory directory;
  const auto run = [&](double unit, double rest_speed, double torque) {
    nlohmann::json model = nlohmann::json::parse(
        rod(unit, fmt::format(R"({{"type": "event_driven", "step": 1e-2, "duration": 1, "rest_speed": {}}})",
                              rest_speed * unit)));
    model["loads"] = nlohmann::json::array(
        {{{"name", "t"}, {"type", "torque"}, {"on", "b"}, {"value", {0, 0, torque * unit * unit}}}});
    write(directory / "m.json", model.dump());
    REQUIRE(run_carom(directory, {"run", "m.json", "-q", "-o", "r"}).code == 0);
    return std::pair(read_csv(directory / "r/probes.csv").rows.back().back(),
                     read_json(directory / "r/summary.json")["impacts"].get<int>());
  };
  for (const double unit : {1.0, 1024.0, 1e6}) {
    CAPTURE(unit);
    CHECK(run(unit, 1e-3, 0).first == doctest::Approx(-0.225).epsilon(1e-6));
    CHECK(std::abs(run(unit, 10, 0).first) < 1e-9);
    const auto [rate, impacts] = run(unit, 1e-5, 5);
    CHECK(std::abs(rate) < 1e-9);
    CHECK(impacts == run(1, 1e-5, 5).second);
  }
}

TEST_CASE("units: check puts what does not fit in a joint over the scales, angles as they are") {
  const TemporaryDirectory directory;
  for (const double unit : {1.0, 1024.0, 1e6}) {
    CAPTURE(unit);
    write(directory / "m.json", rod(unit, R"({"type": "nsga_decoupled", "step": 1e-3, "duration": 1})",
                                    R"(, "relative_orientation": {"rotation_vector": [0, 1e-7, 0]})"));
    const Outcome check = run_carom(directory, {"check", "m.json", "--json"});
    REQUIRE(check.code == 0);
    const nlohmann::json joint = nlohmann::json::parse(check.out)["joints"]["list"][0];
    CHECK_FALSE(joint["fits"].get<bool>());
    // over the length scale, to the nearest power of two
    const double relative = joint["gap"]["relative"];
    CHECK(relative > 0.5e-7);
    CHECK(relative < 2e-7);
  }
}

TEST_CASE("units: constraint figures of compare do not depend on the unit of length") {
  const TemporaryDirectory directory;
  // a rod on a hinge with an inclined axis, whose rotations drift in moreau_jean and hold in index_2
  const auto figures = [&](double unit) {
    write(directory / "m.json", fmt::format(R"({{"format": 1, "gravity": [0, 0, {0}],
      "bodies": [{{"name": "b", "type": "rigid", "mass": 1, "inertia": [{1}, {2}, {3}], "position": [{4}, 0, 0],
                  "points": [{{"name": "a", "at": [{5}, 0, 0]}}]}}],
      "joints": [{{"name": "j", "type": "revolute", "of": ["ground", "b.a"], "axis": [0.2, 1, 0.3]}}],
      "output": {{"vtu": {{"enabled": false}},
                 "probes": [{{"name": "w", "of": "j", "quantity": "joint_angle_rate"}}]}},
      "integrator": {{"type": "nsga_decoupled", "step": 1e-2, "duration": 0.3}}}})",
                                            -9.81 * unit, 0.01 * unit * unit, 0.02 * unit * unit, 0.025 * unit * unit,
                                            0.5 * unit, -0.5 * unit));
    REQUIRE(run_carom(directory, {"compare", "m.json", "-o", "r", "--integrators",
                                  "moreau_jean,index_2=generalized_alpha:formulation=index_2"})
                .code == 0);
    const nlohmann::json comparison = read_json(directory / "r/comparison.json");
    nlohmann::json runs;
    for (const auto& method : comparison["methods"]) runs.push_back(method["runs"][0]);
    REQUIRE(runs.size() == 2);
    return runs;
  };
  const nlohmann::json metres = figures(1), small = figures(1024);
  for (std::size_t i = 0; i < 2; ++i) {
    CAPTURE(i);
    const double drift = metres[i]["drift"];
    CHECK(drift > 1e-9);
    CHECK(small[i]["drift"].get<double>() == doctest::Approx(drift).epsilon(1e-6));
    CHECK(drift <= metres[i]["residuals"]["position"].get<double>() * 1.001);
  }
  const double acceleration = metres[1]["residuals"]["acceleration"];
  CHECK(acceleration > 1e-9);
  CHECK(small[1]["residuals"]["acceleration"].get<double>() == doctest::Approx(acceleration).epsilon(1e-6));
}
