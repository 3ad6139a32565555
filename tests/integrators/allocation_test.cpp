// The step loop allocates nothing in the steady state.
#include <doctest/doctest.h>

#include "tests/support/counting_allocator.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::AllocationCount;
using carom::test::ModelRun;

namespace {

// Number of allocations during the given number of steps; -1 if a step does not converge.
long allocations_of_steps(ModelRun& run, int steps = 1000) {
  bool converged = true;
  AllocationCount count;
  for (int k = 0; k < steps; ++k) converged = run.step(run.h()).converged && converged;
  const long n = count.value();
  return converged ? n : -1;
}

void advance(ModelRun& run, double t) {
  while (run.state().t < t) REQUIRE(run.step(run.h()).converged);
}

}  // namespace

TEST_CASE("allocation: the counter counts") {
  AllocationCount count;
  std::vector<double>* v = new std::vector<double>(100);
  const long n = count.value();
  delete v;
  CHECK(n >= 1);
}

TEST_CASE("allocation: a ball at rest steps without") {
  ModelRun run = ModelRun::of_file("bouncing_ball", {"/parameters/z_0=0"});
  advance(run, 0.002);
  CHECK(allocations_of_steps(run) == 0);
  CHECK(run.state().closed[0] == 1);
}

TEST_CASE("allocation: a bouncing ball steps without after its first impact") {
  ModelRun run = ModelRun::of_file("bouncing_ball");
  advance(run, 0.46);
  CHECK(allocations_of_steps(run) == 0);
}

TEST_CASE("allocation: the brick flies without") {
  ModelRun run = ModelRun::of_file("brick", {"/bodies/0/position/2=100"});
  advance(run, 0.002);
  CHECK(allocations_of_steps(run) == 0);
}

TEST_CASE("allocation: a box rests without, on four vertices of rank three") {
  ModelRun run = ModelRun::of_file("brick_flat", {"/parameters/height=0"});
  advance(run, 0.002);
  CHECK(allocations_of_steps(run) == 0);
  int closed = 0;
  for (const auto c : run.state().closed) closed += c;
  CHECK(closed >= 3);
}

TEST_CASE("allocation: the bar steps without in contact") {
  ModelRun run = ModelRun::of_file("elastic_bar", {"/integrator/step=2e-4"});
  advance(run, 0.51);
  REQUIRE(run.state().closed[0] == 1);
  CHECK(allocations_of_steps(run) == 0);
  CHECK(run.state().closed[0] == 1);
}

TEST_CASE("allocation: joints step without") {
  ModelRun run = ModelRun::of_file("heavy_top");
  advance(run, 0.002);
  CHECK(allocations_of_steps(run) == 0);
}

TEST_CASE("allocation: springs and contacts with a curved obstacle step without once as many were closed") {
  ModelRun chain = ModelRun::of_file("bead_chain", {"/integrator/step=1e-3"});
  const State start = chain.state();
  REQUIRE(chain.run() == RunStatus::completed);
  // repeat from the same start
  chain.state() = start;
  CHECK(allocations_of_steps(chain) == 0);
  CHECK(chain.statistics.impacts > 15);
}

TEST_CASE("allocation: beams and solids with contacts step without once as many were closed") {
  for (const char* const model : {"pendulum_beam", "cube"}) {
    CAPTURE(model);
    ModelRun run = ModelRun::of_file(model, {"/integrator/step=1e-3", "/integrator/duration=0.4"});
    const State start = run.state();
    REQUIRE(run.run() == RunStatus::completed);
    CHECK(run.statistics.impacts > 0);
    // repeat from the same start
    run.state() = start;
    CHECK(allocations_of_steps(run, 400) == 0);
  }
}

TEST_CASE("allocation: tied vertices step without, but for factorisations that must choose new pivots") {
  ModelRun tied = ModelRun::of_file("brick_tied", {"/parameters/z=100"});
  advance(tied, 0.002);
  const auto fresh = [&] {
    const LinearCounters c = tied.integrator->linear_counters();
    return c.factorisations - c.refactorisations;
  };
  long allocations = 0, steps_with_new_pivots = 0;
  for (int k = 0; k < 1000; ++k) {
    const long before = fresh();
    AllocationCount count;
    const bool converged = tied.step(tied.h()).converged;
    const long n = count.value();
    REQUIRE(converged);
    if (fresh() == before)
      allocations += n;
    else
      ++steps_with_new_pivots;
  }
  CHECK(allocations == 0);
  CHECK(steps_with_new_pivots < 50);
}

TEST_CASE("allocation: contacts that slide, roll and stick step without") {
  for (const char* model : {"brick_sliding", "spinning_ball", "conveyor", "incline", "braked_wheel"}) {
    CAPTURE(model);
    ModelRun run = ModelRun::of_file(model);
    advance(run, 0.3);
    CHECK(allocations_of_steps(run, 100) == 0);
    CHECK(run.state().closed[0] != 0);
  }
}
