// Wall time per step of many bodies in contact: boxes that lie flat (islands of four rows), spheres that pile up in a
// box (one island of many rows, near pairs).

#include <benchmark/benchmark.h>

#include <string>

#include "io/results/prepared_run.hpp"
#include "tests/support/many_bodies.hpp"

namespace {

using namespace carom;

void run(benchmark::State& state, const nlohmann::json& model) {
  double steps = 0, seconds = 0;
  for (auto _ : state) {
    const PreparedRun prepared = prepare_run(parse_model(model.dump(), "bench.json"));
    if (!prepared.ok()) return state.SkipWithError(prepared.issues.report().c_str());
    Simulation simulation(prepared.model->system, *prepared.integrator, prepared.model->state,
                          prepared.model->simulation);
    if (simulation.run() != RunStatus::completed) return state.SkipWithError("the run failed");
    state.SetIterationTime(simulation.statistics().step_seconds);
    steps += static_cast<double>(simulation.statistics().steps);
    seconds += simulation.statistics().step_seconds;
  }
  state.counters["ms_per_step"] = 1e3 * seconds / steps;
}

void boxes(benchmark::State& state) { run(state, test::boxes_on_floor(static_cast<int>(state.range(0)), 1e-3, 0.03)); }
void spheres(benchmark::State& state) { run(state, test::spheres_in_box(static_cast<int>(state.range(0)), 1e-3, 0.3)); }

BENCHMARK(boxes)->Arg(50)->Arg(200)->Arg(800)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(spheres)->Arg(64)->Arg(1000)->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
