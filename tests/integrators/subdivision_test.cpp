// Steps that do not converge: halved on a binary grid, grown back, or the end of the run.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::difference;
using carom::test::ModelRun;

namespace {

// Only the nominal step of the spinning brick with the impact needs more than three iterations.
std::vector<std::string> brick_with(int max_iterations, int max_subdivisions) {
  return {"/integrator/impact=\"published\"", "/integrator/step=0.005", "/integrator/duration=0.6",
          "/integrator/newton/max_iterations=" + std::to_string(max_iterations),
          "/integrator/max_subdivisions=" + std::to_string(max_subdivisions)};
}

}  // namespace

TEST_CASE("subdivision: a step that fails is repeated in halves, counted, and grows back on the binary grid") {
  ModelRun brick = ModelRun::of_file("brick", brick_with(3, 10));
  const double h = brick.h();
  long nominal = 0, accepted = 0;
  double begin = 0, smallest = h, sum = 0;
  bool on_grid = true, multiples_hit = true, grown_back = false;
  REQUIRE(brick.run([&](const StepView& view) {
    ++accepted;
    sum += view.report.h;
    // the size is h/2^k, and a substep starts at a multiple of its size
    const double ratio = h / view.report.h;
    on_grid = on_grid && std::exp2(std::round(std::log2(ratio))) == ratio;
    const double units = (begin - h * static_cast<double>(nominal)) / view.report.h;
    on_grid = on_grid && std::abs(units - std::round(units)) < 1e-9;
    grown_back = grown_back || (view.report.h > smallest && view.report.h < h);
    smallest = std::min(smallest, view.report.h);
    begin = view.state.t;
    if (!view.nominal) return;
    ++nominal;
    multiples_hit = multiples_hit && view.state.t == h * static_cast<double>(nominal) && view.state.step == nominal;
  }) == RunStatus::completed);

  const RunStatistics& s = brick.statistics;
  CHECK(s.nominal_steps == 120);
  CHECK(nominal == 120);
  CHECK(s.subdivided_steps >= 1);
  CHECK(s.rejected >= 3);
  CHECK(s.steps == accepted);
  CHECK(accepted > nominal);
  CHECK(smallest < h / 2);
  CHECK(on_grid);
  CHECK(multiples_hit);
  CHECK(grown_back);  // already inside the subdivided step
  CHECK(brick.state().last_h == h);
  CHECK(sum == doctest::Approx(0.6).epsilon(1e-13));
  CHECK(s.iterations[0].max <= 3);

  // away from the impact the run equals a run with unlimited iterations
  ModelRun free = ModelRun::of_file("brick", {"/integrator/step=0.005", "/integrator/duration=0.4"});
  ModelRun same = ModelRun::of_file(
      "brick", {"/integrator/step=0.005", "/integrator/duration=0.4", "/integrator/newton/max_iterations=3"});
  REQUIRE(free.run() == RunStatus::completed);
  REQUIRE(same.run() == RunStatus::completed);
  CHECK(free.state().q == same.state().q);
}

TEST_CASE("subdivision: without it the run fails and keeps everything before the failing step") {
  ModelRun brick = ModelRun::of_file("brick", brick_with(3, 0));
  State last = brick.state();
  long seen = 0;
  CHECK(brick.run([&](const StepView& view) {
    last = view.state;
    ++seen;
  }) == RunStatus::failed);
  CHECK(seen > 0);
  CHECK(seen < 120);
  CHECK(brick.statistics.nominal_steps == seen);
  CHECK(brick.statistics.rejected == 1);
  CHECK_FALSE(brick.report.converged);
  CHECK(brick.report.failed >= 0);
  CHECK(brick.report.reason != FailureReason::none);
  CHECK(brick.report.t == last.t);

  // every array of the state belongs to the last accepted step
  const State& s = brick.state();
  CHECK(s.t == last.t);
  CHECK(s.step == last.step);
  CHECK(s.last_h == last.last_h);
  CHECK(s.q == last.q);
  CHECK(s.v == last.v);
  CHECK(s.acceleration == last.acceleration);
  CHECK(s.lambda == last.lambda);
  CHECK(s.nu == last.nu);
  CHECK(s.impulse == last.impulse);
  CHECK(s.active == last.active);
  CHECK(s.closed == last.closed);
  CHECK(s.history[0].values == last.history[0].values);
}

TEST_CASE("subdivision: a failed step leaves no trace in the integrator either") {
  // the same trajectory with and without a failed attempt before every step
  ModelRun with = ModelRun::of_file("heavy_top", {"/integrator/step=1e-3"});
  ModelRun without = ModelRun::of_file("heavy_top", {"/integrator/step=1e-3"});
  for (int k = 0; k < 50; ++k) {
    // a step of 1e300 cannot converge
    const State before = with.state();
    REQUIRE_FALSE(with.step(1e300).converged);
    REQUIRE(with.state().q == before.q);
    REQUIRE(with.state().v == before.v);
    REQUIRE(with.state().acceleration == before.acceleration);
    REQUIRE(with.step(1e-3).converged);
    REQUIRE(without.step(1e-3).converged);
  }
  CHECK(difference(with.state().q, without.state().q) == 0);
  CHECK(difference(with.state().v, without.state().v) == 0);
}

TEST_CASE("subdivision: the limit of halvings ends the run") {
  // one iteration is never enough for the top
  ModelRun top = ModelRun::of_file(
      "heavy_top", {"/integrator/step=0.01", "/integrator/newton/max_iterations=1", "/integrator/max_subdivisions=3"});
  CHECK(top.run() == RunStatus::failed);
  CHECK(top.statistics.rejected == 4);  // h, h/2, h/4, h/8
  CHECK(top.statistics.subdivided_steps == 1);
  CHECK(top.report.h == doctest::Approx(0.01 / 8).epsilon(1e-14));
  CHECK(top.state().t == 0);
}

TEST_CASE("subdivision: a thousand rejected trials end the run, unless nominal steps in between need no halving") {
  // a free rigid body turns by 0.85 rad in a step of 1e-2: two iterations are never enough; of 6e-3 they sometimes are
  const auto brick = [](const char* step, const char* duration) {
    return ModelRun::of_file(
        "brick", {"/contacts=[]", "/gravity=[0, 0, 0]", "/integrator/newton/max_iterations=2",
                  std::string("/integrator/step=") + step, std::string("/integrator/duration=") + duration});
  };
  ModelRun never = brick("1e-2", "20");
  CHECK(never.run() == RunStatus::failed);
  CHECK(never.report.reason == FailureReason::too_many_subdivisions);
  CHECK(never.statistics.rejected == 1001);
  CHECK(never.statistics.subdivided_steps == never.statistics.nominal_steps + 1);
  CHECK(never.report.h == never.h());  // long before the limit of halvings

  ModelRun sometimes = brick("6e-3", "20");
  CHECK(sometimes.run() == RunStatus::completed);
  CHECK(sometimes.statistics.rejected > 2000);
  CHECK(sometimes.statistics.subdivided_steps < sometimes.statistics.nominal_steps);
}

TEST_CASE("subdivision: a duration that is no multiple of the step ends with a shorter step") {
  ModelRun top = ModelRun::of_file("heavy_top", {"/integrator/step=0.001", "/integrator/duration=0.0105"});
  REQUIRE(top.run() == RunStatus::completed);
  CHECK(top.state().t == doctest::Approx(0.0105).epsilon(1e-14));
  CHECK(top.statistics.nominal_steps == 11);
  CHECK(top.state().last_h == doctest::Approx(0.0005).epsilon(1e-9));
}

TEST_CASE("subdivision: without force corrections, too, no step ends with an element turned inside out") {
  for (const char* law : {"neo_hookean", "corotational", "saint_venant_kirchhoff"}) {
    CAPTURE(std::string(law));
    ModelRun run = ModelRun::of_file(
        "cube", {std::string("/bodies/0/law=") + law, "/bodies/0/position=[0,0,0.06]", "/bodies/0/velocity=[0,0,-5]",
                 "/integrator/force_corrections=false", "/integrator/step=2e-2", "/integrator/duration=0.04"});
    run.run();
    CHECK(run.statistics.rejected > 0);
    const Energies e = run.model->system.energies(run.state().q, run.state().v, run.state().t);
    CHECK(std::isfinite(e.kinetic + e.elastic));
    CHECK(run.model->system.inverted_element(run.state().q, run.state().t, false).empty());
  }
}

TEST_CASE("subdivision: impulses of a nominal step are those of all its parts") {
  ModelRun run = ModelRun::of_file(
      "elastic_bar", {R"(/integrator={"type": "nsga_coupled", "mixing": "none", "step": 1e-2, "duration": 1.5})"});
  const auto momentum = [&] { return run.system().momenta(run.state().q, run.state().v).linear; };
  const Vec3 before = momentum();
  const int row = run.system().bilateral();
  double sum = 0, parts = 0;
  REQUIRE(run.run([&](const StepView& view) {
    parts += view.state.impulse[at(row)];
    if (view.nominal) sum += view.impulse(row);
  }) == RunStatus::completed);
  REQUIRE(run.statistics.subdivided_steps > 10);
  CHECK(sum == doctest::Approx(parts).epsilon(1e-12));
  CHECK(sum == doctest::Approx((momentum() - before).norm()).epsilon(1e-9));
}
