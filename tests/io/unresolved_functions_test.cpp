#include "io/model/unresolved_functions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

TEST_CASE("functions of time: what changes within steps, and what does not") {
  const auto share = [](const char* text, double step, Given given = Given::force) {
    return unresolved_share(TimeFunction::formula(text), given, 0, step, 1);
  };
  // a cosine that all steps see at its crests, and one with twenty of them in a period
  CHECK(share("10*cos(2*pi*1000*t)", 1e-3) == doctest::Approx(1.571).epsilon(1e-2));
  CHECK(share("10*cos(2*pi*50*t)", 1e-3) < 0.02);
  CHECK(share("5*t^2 + 1", 1e-2) < 1e-4);
  CHECK(share("0.1*sin(2*pi*1000*t)", 1e-3, Given::place) > 1);
  CHECK(unresolved_share(TimeFunction::constant(3), Given::force, 0, 1e-3, 1) == 0);
  // sines that all steps see at their zeros: nothing of a force, all of a velocity
  CHECK(share("0.5 + 2*sin(2*pi*1000*t)", 1e-3) < 1e-6);
  CHECK(share("0.5 + 2*sin(2*pi*1000*t)", 1e-3, Given::velocity) > 0.9);
  CHECK(share("0.5*t - cos(2*pi*1000*t)/(1000*pi)", 1e-3, Given::place) > 0.9);
  CHECK(share("0.5 + 2*sin(2*pi*50*t)", 1e-3, Given::velocity) < 0.02);
  // a load that begins at once: half of a step at most
  CHECK(share("t < 0.3005 ? 0 : 1", 1e-3) == doctest::Approx(0).epsilon(2e-3));
  // a blow of 0.16 ms
  const std::vector<double> times = {0.1, 0.10008, 0.10016}, values = {0, 1e4, 0};
  const TimeFunction blow = TimeFunction::table(times, values);
  CHECK(unresolved_share(blow, Given::force, 0, 1e-3, 1) == doctest::Approx(1).epsilon(1e-6));
  CHECK(unresolved_share(blow, Given::force, 0, 1e-4, 1) > 0.2);
  CHECK(unresolved_share(blow, Given::force, 0, 1e-6, 1) < 1e-3);
}

TEST_CASE("functions of time: a blow shorter than a step is remarked") {
  const auto remarks = [](double step) {
    const ModelRun run = ModelRun::of_text(
        R"({"format": 1, "bodies": [{"name": "b", "type": "point_mass", "mass": 1}],
        "loads": [{"name": "blow", "type": "force", "on": "b",
                   "value": [{"times": [0.01, 0.01008, 0.01016], "values": [0, 1e4, 0]}, 0, 0]}],
        "integrator": {"type": "nsga_decoupled", "step": )" +
        std::to_string(step) + R"(, "duration": 0.1}})");
    return run.model->warnings;
  };
  const std::vector<std::string> coarse = remarks(1e-3);
  REQUIRE(coarse.size() == 1);
  CHECK(coarse[0].find("/loads/0/value/0 changes within steps") == 0);
  CHECK(remarks(1e-5).empty());
}

TEST_CASE("functions of time: a driver whose velocity jumps is remarked beside joints with friction") {
  const auto remarks = [](const std::string& interpolation) {
    const ModelRun run = ModelRun::of_text(
        R"({"format": 1,
        "bodies": [{"name": "rail", "type": "rigid", "mass": 1, "inertia": [1, 1, 1]},
                   {"name": "slider", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "velocity": [10, 0, 0]}],
        "joints": [{"name": "lift", "type": "prismatic", "of": ["ground", "rail"], "axis": [0, 1, 0],
                    "driver": {"displacement": {"times": [0, 0.1, 0.2, 1], "values": [0, 0, 0.1, 0.9],
                                                "interpolation": ")" +
        interpolation + R"("}}},
                   {"name": "slide", "type": "prismatic", "of": ["rail", "slider"], "axis": [1, 0, 0],
                    "friction": {"coefficient": 0.3}}],
        "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.3}})");
    return run.model->warnings;
  };
  const auto told = [&](const char* interpolation) {
    return std::ranges::any_of(remarks(interpolation), [](const std::string& remark) {
      return remark.starts_with("the velocity of /joints/0/driver/displacement jumps");
    });
  };
  CHECK(told("linear"));
  CHECK(!told("cubic"));
}

TEST_CASE(
    "functions of time: a belt whose velocity changes within steps, and an obstacle that turns far, are remarked") {
  const auto remarks = [](const std::string& motion, const char* step) {
    return ModelRun::of_text(R"({"format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{"name": "p", "type": "point_mass", "mass": 1, "position": [0.5, 0, 0]}],
      "contacts": [{"name": "c", "on": "p", "friction": 0.3,
                    "obstacle": {"type": "plane", "normal": [0, 0, 1], )" +
                             motion + R"(}}],
      "integrator": {"type": "nsga_decoupled", "step": )" +
                             step + R"(, "duration": 0.1}})")
        .model->warnings;
  };
  const std::string belt = R"x("surface_velocity": ["0.5+2*sin(2000*pi*t)", 0, 0])x",
                    table = R"x("motion": {"rotation": {"axis": [0, 0, 1], "angle": "6*t + sin(t)"}})x";
  REQUIRE(remarks(belt, "1e-3").size() == 1);
  CHECK(remarks(belt, "1e-3")[0].find("/contacts/0/obstacle/surface_velocity/0") == 0);
  CHECK(remarks(belt, "2e-5").empty());
  REQUIRE(remarks(table, "0.05").size() == 1);
  CHECK(remarks(table, "0.05")[0].find("turns by 0.35 rad in a step") != std::string::npos);
  CHECK(remarks(table, "0.02").empty());
}

TEST_CASE("functions of time: formulas of coordinates and frames that change within steps are remarked") {
  const auto remarks = [](const std::string& body, const char* step, const std::string& beside = "") {
    return ModelRun::of_text(R"({"format": 1, "bodies": [{"name": "c", "type": "coordinates",
      "coordinates": [{"name": "x", "position": 1}], "masses": [1], )" +
                             body + "}" + beside + R"(], "integrator": {"type": "nsga_decoupled", "step": )" + step +
                             R"(, "duration": 1}})")
        .model->warnings;
  };
  // a cosine of ten turns a second, of which steps of 0.1 s see the same value
  const auto check = [&](const std::string& body, const char* name, const std::string& beside = "") {
    CAPTURE(body);
    const auto told = [&](const char* step) {
      return std::ranges::any_of(remarks(body, step, beside), [&](const std::string& remark) {
        return remark.starts_with(name) && remark.find("changes within steps") != std::string::npos;
      });
    };
    CHECK(told("0.1"));
    CHECK(!told("0.0002"));
  };
  check(R"x("forces": ["cos(20*pi*t)"])x", "/bodies/0/forces/0");
  // a blow of a millisecond within a step
  check(R"x("forces": ["500*exp(-((t - 0.5531)/0.0006)^2)"])x", "/bodies/0/forces/0");
  // nothing at the start, where x' = 0
  check(R"x("forces": ["x'*cos(20*pi*t)"])x", "/bodies/0/forces/0");
  check(R"x("gaps": [{"name": "table", "formula": "x - 0.1*sin(20*pi*t)"}])x", "/bodies/0/gaps/0");
  check(R"x("constraints": [{"name": "rod", "formula": "x - cos(20*pi*t)"}])x", "/bodies/0/constraints/0");
  check(R"x("switching": [{"name": "a", "condition": "2 - x + sin(20*pi*t)", "constraints": ["x - 1"]},
                         {"name": "b", "condition": "x - 2 - sin(20*pi*t)", "constraints": []}])x",
        "/bodies/0/switching/0/condition");
  check(R"x("forces": ["0*t"])x", "/bodies/1/position/0",
        R"x(, {"name": "f", "type": "coordinate_frame", "of": "c", "position": ["x + 0.1*sin(20*pi*t)", 0, 0]})x");
}
