// Points of sweeps: lists, ranges, samples; heads and cells of the table.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "io/studies/study_words.hpp"
#include "io/studies/sweep_plan.hpp"
#include "io/studies/sweep_results.hpp"
#include "io/studies/sweep_script.hpp"

using namespace carom;

namespace {

ModelDocument document() {
  return parse_model(R"({
    "format": 1, "gravity": [0, 0, -9.81], "parameters": {"height": 2},
    "bodies": [{"name": "ball", "type": "point_mass", "mass": 1, "position": [0, 0, "=height"]}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})",
                     "model.json");
}

SweepKey key(const std::string& text) { return sweep_key(text, document()); }

std::vector<double> numbers(const SweepPlan& plan, std::size_t k) {
  std::vector<double> out;
  for (std::size_t i = 0; i < plan.size(); ++i) out.push_back(number_of(plan.point(i)[k]).value());
  return out;
}

}  // namespace

TEST_CASE("sweep: keys are pointers, keys of the integrator and parameters, with their units") {
  CHECK(key("step=1e-3,1e-4").pointer == "/integrator/step");
  CHECK(key("step=1e-3,1e-4").unit == "s");
  CHECK(key("height=1,2").pointer == "/parameters/height");
  CHECK(key("height=1,2").unit.empty());
  CHECK(key("/bodies/0/mass=1,2").unit == "kg");
  CHECK(key("/gravity/2=-9.81,-1.62").unit == "m/s^2");
  CHECK(key("/integrator/type=nsga_decoupled,moreau_jean").words ==
        std::vector<std::string>{"nsga_decoupled", "moreau_jean"});
  CHECK(key("/gravity=[0,0,-1],[0,0,-2]").words == std::vector<std::string>{"[0,0,-1]", "[0,0,-2]"});
}

TEST_CASE("sweep: ranges have equal distances or ratios and exact ends") {
  CHECK(key("height=0:1:11").words ==
        std::vector<std::string>{"0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"});
  const SweepKey ratios = key("height=1e-4:3:7:log");
  REQUIRE(ratios.words.size() == 7);
  CHECK(ratios.words.front() == "0.0001");
  CHECK(ratios.words.back() == "3");
  for (std::size_t i = 1; i < 7; ++i)
    CHECK(std::abs(*number_of(ratios.words[i]) / *number_of(ratios.words[i - 1]) / std::pow(3e4, 1.0 / 6) - 1) < 1e-14);
  CHECK(key("height=3,5:4:3,1").words == std::vector<std::string>{"3", "5", "4.5", "4", "1"});
}

TEST_CASE("sweep: a grid has every combination once, the last key fastest") {
  const SweepPlan plan({key("step=1e-3,1e-4"), key("height=1:3:3")}, Sampling::grid, 0, 1);
  REQUIRE(plan.size() == 6);
  CHECK(plan.overrides(0) == std::vector<std::string>{"/integrator/step=1e-3", "/parameters/height=1"});
  CHECK(plan.overrides(1) == std::vector<std::string>{"/integrator/step=1e-3", "/parameters/height=2"});
  CHECK(plan.overrides(5) == std::vector<std::string>{"/integrator/step=1e-4", "/parameters/height=3"});
  std::set<std::vector<std::string>> all;
  for (std::size_t i = 0; i < plan.size(); ++i) all.insert(plan.point(i));
  CHECK(all.size() == 6);
}

TEST_CASE("sweep: a random sample is even, repeats itself, and grows without a change of its first points") {
  const std::vector<SweepKey> keys = {key("height=2:6"), key("/bodies/0/mass=1e-3:1e3:log"),
                                      key("step=1e-3,1e-4,1e-5")};
  const std::size_t n = 20000;
  const SweepPlan plan(keys, Sampling::random, n, 7), same(keys, Sampling::random, n, 7),
      other(keys, Sampling::random, n, 8), small(keys, Sampling::random, 100, 7);
  CHECK(plan.point(99) == same.point(99));
  CHECK(plan.point(99) == small.point(99));
  CHECK(plan.point(99) != other.point(99));
  const std::vector<double> height = numbers(plan, 0), mass = numbers(plan, 1);
  double mean = 0, variance = 0, log_mean = 0, product = 0;
  for (std::size_t i = 0; i < n; ++i) {
    CHECK_UNARY(height[i] >= 2 && height[i] < 6 && mass[i] >= 1e-3 && mass[i] < 1e3);
    mean += height[i] / n;
    variance += (height[i] - 4) * (height[i] - 4) / n;
    log_mean += std::log10(mass[i]) / n;
    product += (height[i] - 4) * std::log10(mass[i]) / n;
  }
  // four standard deviations of an even distribution
  const double deviation = 4 / std::sqrt(12.0), slack = 4 / std::sqrt(static_cast<double>(n));
  CHECK(std::abs(mean - 4) < slack * deviation);
  CHECK(std::abs(variance - deviation * deviation) < slack * 16 / std::sqrt(180.0));
  CHECK(std::abs(log_mean) < slack * 6 / std::sqrt(12.0));
  CHECK(std::abs(product) < slack * deviation * 6 / std::sqrt(12.0));
  std::size_t first = 0;
  for (std::size_t i = 0; i < n; ++i) first += plan.point(i)[2] == "1e-3" ? 1 : 0;
  CHECK(std::abs(static_cast<double>(first) / n - 1.0 / 3) < slack * std::sqrt(2.0) / 3);
}

TEST_CASE("sweep: a Latin hypercube has one value in each of N parts of every key, and lists evenly") {
  const std::vector<SweepKey> keys = {key("height=2:6"), key("/bodies/0/mass=1e-3:1e3:log"),
                                      key("step=1e-3,1e-4,1e-5")};
  const std::size_t n = 600;
  const SweepPlan plan(keys, Sampling::latin_hypercube, n, 3);
  std::vector<std::size_t> height_parts(n), mass_parts(n), order;
  for (const double x : numbers(plan, 0)) {
    order.push_back(static_cast<std::size_t>((x - 2) / 4 * n));
    ++height_parts[order.back()];
  }
  for (const double x : numbers(plan, 1)) ++mass_parts[static_cast<std::size_t>((std::log10(x) + 3) / 6 * n)];
  CHECK(std::all_of(height_parts.begin(), height_parts.end(), [](std::size_t m) { return m == 1; }));
  CHECK(std::all_of(mass_parts.begin(), mass_parts.end(), [](std::size_t m) { return m == 1; }));
  CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
  std::size_t first = 0;
  for (std::size_t i = 0; i < n; ++i) first += plan.point(i)[2] == "1e-3" ? 1 : 0;
  CHECK(first == n / 3);
}

TEST_CASE("sweep: impossible requests are refused") {
  for (const char* text : {"height", "=1,2", "height=", "height=1,,2", "height=1,1", "height=1:1:3", "height=0:1:3:log",
                           "height=0:1:1", "height=0:1:2.5", "height=0:1:3:4", "height=0:1,2", "heigth=1,2"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(key(text), StudyError);
  }
  CHECK_THROWS_AS(SweepPlan({key("height=0:1")}, Sampling::grid, 0, 1), StudyError);
  CHECK_THROWS_AS(SweepPlan({key("height=1,2"), key("/parameters/height=3,4")}, Sampling::grid, 0, 1), StudyError);
  CHECK_THROWS_AS(SweepPlan({key("height=0:1:2000"), key("step=1:2:2000")}, Sampling::grid, 0, 1), StudyError);
}

TEST_CASE("sweep: the table has units in the head, and a row for points that failed or are missing") {
  const SweepPlan plan({key("/bodies/0/mass=1,2,3"), key("/gravity=[0,0,-1]")}, Sampling::grid, 0, 1);
  const std::vector<SweepResult> results = {
      {"z:max", "m", SweepResult::From::probes, "z", SweepResult::Which::max},
      {"impacts", "", SweepResult::From::run, "impacts", SweepResult::Which::last}};
  PointRecord done, failed;
  done.values = {{"z:max", 0.1}, {"impacts", 3}};
  failed.exit_code = 4;
  failed.reason = "no convergence, \"really\"";
  CHECK(sweep_table(plan, results, {done, failed, std::nullopt}) ==
        "point,/bodies/0/mass [kg],/gravity [m/s^2],status,exit_code,z:max [m],impacts,reason\n"
        "1,1,\"[0,0,-1]\",completed,0,0.1,3,\n"
        "2,2,\"[0,0,-1]\",failed,4,,,\"no convergence, \"\"really\"\"\"\n"
        "3,3,\"[0,0,-1]\",missing,,,,\n");
}

TEST_CASE("sweep: a script of Slurm has at most 1000 tasks, which cover all points once") {
  SweepScript script;
  script.name = "two words";
  script.command = {"carom", "sweep", "--set=/title=it's"};
  script.last = {"--", "my model.json"};
  script.points = 2500;
  script.jobs = 7;
  const std::string text = slurm_script(script);
  CHECK(text.find("#SBATCH --job-name=two_words-sweep\n") != std::string::npos);
  CHECK(text.find("#SBATCH --array=1-834%7\n") != std::string::npos);  // 833 tasks of 3 points, one of 1
  CHECK(text.find("(SLURM_ARRAY_TASK_ID - 1) * 3 + 1") != std::string::npos);
  CHECK(text.find("'--set=/title=it'\\''s'") != std::string::npos);
  CHECK(text.find("-- 'my model.json'") != std::string::npos);
}
