// Wall time per step and per sub-problem, without output. Run with one thread on a quiet machine:
//   build/release/bin/bench --benchmark_min_time=0.5
// Counters: us_per_step, and the shares of smooth, position and velocity; ns_per_element for the bar.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "io/results/prepared_run.hpp"

namespace {

using namespace carom;

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

struct Case {
  std::string model;
  std::vector<std::string> overrides;
};

void run(benchmark::State& state, const Case& c, double elements) {
  RunStatistics sum;
  long factorisations = 0, solves = 0, cg_iterations = 0, iterations = 0;
  for (auto _ : state) {
    const PreparedRun prepared =
        prepare_run(load_model(std::string(CAROM_SOURCE_DIR) + "/data/models/" + c.model, c.overrides));
    if (!prepared.ok()) {
      state.SkipWithError(prepared.issues.report().c_str());
      return;
    }
    Model& model = *prepared.model;
    Integrator& integrator = *prepared.integrator;
    Simulation simulation(model.system, integrator, model.state, model.simulation);
    if (simulation.run() != RunStatus::completed) {
      state.SkipWithError("the run failed");
      return;
    }
    const RunStatistics& s = simulation.statistics();
    state.SetIterationTime(s.step_seconds);
    sum.steps += s.steps;
    for (const auto& i : s.iterations) iterations += i.sum;
    sum.step_seconds += s.step_seconds;
    sum.sampled_total += s.sampled_total;
    for (std::size_t i = 0; i < 3; ++i) sum.sampled_seconds[i] += s.sampled_seconds[i];
    factorisations = integrator.linear_counters().factorisations;
    solves = integrator.linear_counters().solves;
    cg_iterations = integrator.linear_counters().cg_iterations;
  }
  const double per_step = 1e6 * sum.step_seconds / static_cast<double>(sum.steps);
  state.counters["us_per_step"] = per_step;
  state.counters["smooth"] = per_step * sum.subproblem_seconds(0) / sum.step_seconds;
  state.counters["position"] = per_step * sum.subproblem_seconds(1) / sum.step_seconds;
  state.counters["velocity"] = per_step * sum.subproblem_seconds(2) / sum.step_seconds;
  state.counters["us_per_iteration"] = 1e6 * sum.step_seconds / static_cast<double>(std::max(1L, iterations));
  state.counters["factorisations"] = static_cast<double>(factorisations);
  state.counters["solves"] = static_cast<double>(solves);
  state.counters["cg_iterations"] = static_cast<double>(cg_iterations);
  if (elements > 0) state.counters["ns_per_element"] = 1e3 * per_step / elements;
}

void bouncing_ball(benchmark::State& state) { run(state, {"bouncing_ball.json", {}}, 0); }
void brick(benchmark::State& state) { run(state, {"brick.json", {"/integrator/step=1e-4"}}, 0); }
void brick_flat(benchmark::State& state) { run(state, {"brick_flat.json", {}}, 0); }
void brick_tied(benchmark::State& state) { run(state, {"brick_tied.json", {}}, 0); }
void heavy_top(benchmark::State& state) { run(state, {"heavy_top.json", {}}, 0); }

// Small bars: the whole impact, with h proportional to the length of an element. Large bars: a fixed number of steps,
// with and without contact.
void elastic_bar(benchmark::State& state) {
  const long elements = state.range(0);
  const double h = 2e-3 * 200 / static_cast<double>(elements);
  const double duration = elements <= 2000 ? 2.0 : 400 * h;
  // contact after at least a third of the steps
  const double distance = elements <= 2000 ? 5.005 : 10 * duration / 3;
  run(state,
      {"elastic_bar.json",
       {"/bodies/0/elements=" + std::to_string(elements), "/integrator/step=" + number(h),
        "/integrator/duration=" + number(duration), "/parameters/distance=" + number(distance)}},
      static_cast<double>(elements));
}

// A pendulum of n elements between two phases of contact and during one: us per Newton iteration of all sub-problems.
// The step is the time of a wave through an element of a pendulum with 8 elements.
void pendulum_beam(benchmark::State& state) {
  const long elements = state.range(0);
  const long steps = elements <= 8 ? 4000 : elements <= 200 ? 1000 : 300;
  // the wall is so near that the contact lies in the middle of the run
  const double h = 1e-4, reach = 0.5 * static_cast<double>(steps) * h;
  const double drop = 0.75 * 9.81 * reach * reach;  // the tip of a rigid rod falls with 3/2 g
  run(state,
      {"pendulum_beam.json",
       {"/bodies/0/elements=" + std::to_string(elements), "/integrator/step=" + number(h),
        "/integrator/duration=" + number(static_cast<double>(steps) * h), "/expect=[]", "/output/probes=[]",
        "/contacts/0/obstacle/normal=[0,1,0]", "/contacts/0/obstacle/point=[0," + number(-drop) + ",0]"}},
      static_cast<double>(elements));
}

// The flexible cube of n^3 hexahedra. 5^3: falls and bounces as in the paper. Others: neo-Hookean (Saint
// Venant-Kirchhoff collapses in a fine mesh), hit the floor with 1 m/s; 60 steps cover the contact and the time after
// it.
void cube(benchmark::State& state) {
  const long n = state.range(0);
  if (n == 5) return run(state, {"cube.json", {}}, 125);
  const std::string divisions = std::to_string(n) + "," + std::to_string(n) + "," + std::to_string(n);
  run(state,
      {"cube.json",
       {"/bodies/0/mesh/divisions=[" + divisions + "]", "/bodies/0/law=\"neo_hookean\"",
        "/bodies/0/position=[0,0,0.0505]", "/bodies/0/velocity=[0,0,-1]", "/integrator/duration=0.06"}},
      static_cast<double>(n * n * n));
}

BENCHMARK(cube)->Arg(5)->Arg(10)->Arg(20)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(bouncing_ball)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(brick)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(brick_flat)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(brick_tied)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(heavy_top)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(pendulum_beam)->Arg(8)->Arg(200)->Arg(2000)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(elastic_bar)->Arg(200)->Arg(2000)->Arg(20000)->Arg(200000)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
