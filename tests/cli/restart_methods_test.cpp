// Restart method by method: the same bytes as without interruption, wherever a method keeps what earlier steps left.
#include <doctest/doctest.h>

#include <fstream>

#include "tests/cli/restart_runs.hpp"

using namespace carom::cli_test;

TEST_CASE("restart: every method goes on to the same bytes") {
  const TemporaryDirectory directory;
  const auto check = [&](const std::string& model, const std::string& integrator, double middle, double end) {
    CAPTURE(model);
    CAPTURE(integrator);
    const auto run = [&](const std::string& results, double until, const Words& more) {
      return run_carom(directory,
                       joined({"run", model_path(model), "--set", "/expect=[]", "--set", "/integrator=" + integrator,
                               "-q", "-o", results, "--until", std::to_string(until)},
                              more))
          .code;
    };
    fs::remove_all(directory / "whole");
    fs::remove_all(directory / "r");
    REQUIRE(run("whole", end, {}) == 0);
    REQUIRE(run("r", middle, {}) == 0);
    REQUIRE(run("r", end, {"--restart", "last"}) == 0);
    check_same_results(directory / "whole", directory / "r");
  };
  // constraints at acceleration level: their tolerance depends on the scale of forces
  for (const char* formulation : {"index_3", "index_2", "index_1", "ggl", "ggl_modified", "pva"})
    check("heavy_top",
          R"({"type": "generalized_alpha", "formulation": ")" + std::string(formulation) +
              R"(", "step": 2e-3, "duration": 1})",
          0.05, 0.1);
  check("heavy_top",
        R"({"type": "generalized_alpha", "formulation": "baumgarte", "baumgarte": {"alpha": 10, "beta": 10},
            "step": 2e-3, "duration": 1})",
        0.05, 0.1);
  for (const char* type : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "event_driven",
                           "moreau_jean", "cd_lagrange", "paoli_schatzman"})
    check("pendulum_bouncing", R"({"type": ")" + std::string(type) + R"(", "step": 2e-3, "duration": 2})", 0.6, 1.2);
  check("pendulum_bouncing", R"({"type": "cd_lagrange", "rho_bifurcation": 0.5, "step": 2e-3, "duration": 2})", 0.6,
        1.2);
  check("cradle", R"({"type": "nsga_pva", "step": 1e-3, "duration": 2})", 0.3, 0.6);
  // the state has impulses, and the ledger needs the power of the driver at the checkpoint
  check("four_bar", R"({"type": "moreau_jean", "step": 1e-3, "duration": 1})", 0.02, 0.04);
  // a frame without mass that coordinates move, which carries a rigid body
  for (const char* type : {"nsga_decoupled", "nsga_pva", "moreau_jean"})
    check("trolley", R"({"type": ")" + std::string(type) + R"(", "step": 4e-3, "duration": 1})", 0.1, 0.2);
  // checkpoints in the second and in the third mode
  check("track", R"({"type": "nsga_decoupled", "step": 2e-3, "duration": 2})", 1.2, 1.6);
  check("pothole", R"({"type": "nsga_decoupled", "step": 4e-3, "duration": 4})", 1.9, 2.5);
  // before and behind a switch of joints, with a flexible body
  for (const char* integrator :
       {R"({"type": "nsga_decoupled", "step": 2e-3, "duration": 1})",
        R"({"type": "nsga_decoupled", "smooth_switching_rows": false, "step": 2e-3, "duration": 1})",
        R"({"type": "event_driven", "step": 2e-3, "duration": 1})"})
    for (const double middle : {0.5, 0.6}) check("carrier_flexible_arm", integrator, middle, 0.7);
  check("pendulum_bouncing",
        R"({"type": "nsga_decoupled", "newton": {"test": "paper", "tolerance": 1e-6}, "step": 2e-3, "duration": 2})",
        0.6, 1.2);
}

TEST_CASE("restart: methods that keep multipliers of earlier steps go on to the same bytes, whatever the contacts do") {
  const TemporaryDirectory directory;
  struct Case {
    std::string model;
    std::vector<const char*> until;
  };
  for (const std::string method : {R"("type": "nsga_pva")", R"("type": "event_driven", "rest_speed": 1e-3)",
                                   R"("type": "nsga_coupled")", R"("type": "nsga_monolithic")"})
    for (const Case& c :
         {Case{"bouncing_ball", {"0.451", "0.452", "4.05", "4.3"}}, Case{"moving_floor", {"0.03", "0.041", "0.1"}},
          Case{"brick_flat", {"0.2", "0.27", "0.4"}}, Case{"pendulum_bouncing", {"0.6", "2.3", "2.6"}}}) {
      CAPTURE(c.model);
      CAPTURE(method);
      const auto run = [&](const std::string& results, const std::string& until, const Words& more) {
        Words words = {"run", model_path(c.model), "-q", "-o", results, "--until", until};
        // strides that do not follow from the duration
        for (const std::string& set : {std::string("/expect=[]"), std::string(R"(/output/energy={"every": 1})"),
                                       std::string(R"(/output/vtu={"every": 20})"),
                                       R"(/integrator={"step": 1e-3, "duration": 5, )" + method + "}"})
          words = joined(words, {"--set", set});
        return run_carom(directory, joined(words, more)).code;
      };
      for (const char* results : {"whole", "r"}) fs::remove_all(directory / results);
      REQUIRE(run("whole", c.until.back(), {}) == 0);
      REQUIRE(run("r", c.until.front(), {}) == 0);
      for (std::size_t i = 1; i < c.until.size(); ++i) REQUIRE(run("r", c.until[i], {"--restart", "last"}) == 0);
      check_same_results(directory / "whole", directory / "r");
    }
}

TEST_CASE("restart: paoli_schatzman with masses that depend on the configuration goes on to the same bytes") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "m.json") << R"x({"format": 1, "bodies": [{"name": "b", "type": "coordinates",
      "coordinates": [{"name": "x", "position": 1, "velocity": -1}, {"name": "y", "position": 0.2, "velocity": 0.3}],
      "masses": ["1 + x^2", "2 + sin(3*y)"], "forces": ["-9.81*(1 + x^2)", "-y"],
      "gaps": [{"name": "floor", "formula": "x + 0.4*y", "restitution": 0.8}]}],
    "output": {"vtu": {"enabled": false}, "energy": {"every": 1},
               "probes": [{"name": "x", "of": "b.x", "quantity": "coordinate"},
                          {"name": "y", "of": "b.y", "quantity": "coordinate"},
                          {"name": "impulse", "of": "b.floor", "quantity": "contact_impulse"}]},
    "integrator": {"type": "paoli_schatzman", "step": 1e-3, "duration": 2}})x";
  const auto run = [&](const std::string& results, const Words& more) {
    return run_carom(directory, joined({"run", "m.json", "-q", "-o", results}, more)).code;
  };
  // an impact takes several steps: restarts lie before and between those of the first one
  REQUIRE(run("whole", {}) == 0);
  CHECK(read_json(directory / "whole/summary.json")["impacts"] > 2);
  REQUIRE(run("r", {"--until", "0.349"}) == 0);
  for (int k = 1; k <= 8; ++k)
    REQUIRE(run("r", {"--until", std::to_string(0.349 + 0.001 * k), "--restart", "last"}) == 0);
  REQUIRE(run("r", {"--until", "2", "--restart", "last"}) == 0);
  check_same_results(directory / "whole", directory / "r");
}

// After ten steps in which the drift of the positions puts a switch off, the run ends.
TEST_CASE("restart: switches that are put off go on to the same end") {
  const TemporaryDirectory directory;
  const auto run = [&](const std::string& results, const Words& more) {
    return run_carom(
               directory,
               joined(
                   {"run", model_path("latch"), "-q", "-o", results, "--set", "/expect=[]", "--set",
                    R"(/integrator={"type": "generalized_alpha", "formulation": "index_2", "step": 1e-3, "duration": 3})"},
                   more))
        .code;
  };
  REQUIRE(run("whole", {}) == 4);
  const auto end = [&](const char* results) -> double { return read_json(directory / results / "status.json")["t"]; };
  const double whole = end("whole");
  double t = whole - 0.012;
  REQUIRE(run("r", {"--until", std::to_string(t)}) == 0);
  int code = 0;
  for (int k = 0; k < 20 && code == 0; ++k) {
    t += 1e-3;
    code = run("r", {"--until", std::to_string(t), "--restart", "last"});
  }
  CHECK(code == 4);
  CHECK(end("r") == doctest::Approx(whole).epsilon(1e-9));
}
