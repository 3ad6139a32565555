// The time loop: observers that end a run, interruption between sub-steps.

#include <doctest/doctest.h>

#include <csignal>

#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;
using carom::test::same_bits;

namespace {

class EndsAt final : public Observer {
 public:
  explicit EndsAt(double height) : height_(height) {}
  void after_step(const StepView& view) override { below_ = view.state.q[2] < height_; }
  bool wants_end() const override { return below_; }

 private:
  double height_;
  bool below_ = false;
};

// Interrupts inside the first step that is taken in parts.
class Interrupts final : public Observer {
 public:
  explicit Interrupts(volatile std::sig_atomic_t& flag) : flag_(flag) {}
  void after_step(const StepView& view) override {
    if (!view.nominal) flag_ = 1;
  }
  void finish(const StepView& view, RunStatus) override { inside = !view.nominal; }
  bool inside = false;

 private:
  volatile std::sig_atomic_t& flag_;
};

// Newton's method needs more iterations than it has at the nominal step, when the load sets in.
ModelRun subdivided() {
  return ModelRun::of_text(R"({"format": 1, "gravity": [0, 0, 0],
    "materials": [{"name": "soft", "type": "linear_elastic", "young": 1e7, "poisson": 0.3, "density": 1000}],
    "sections": [{"name": "square", "type": "rectangle", "width": 0.02, "height": 0.02}],
    "bodies": [{"name": "arm", "type": "beam", "material": "soft", "section": "square", "elements": 4,
                "from": [0, 0, 0], "to": [1, 0, 0], "fixed": [{"on": "start"}]}],
    "loads": [{"name": "push", "type": "force", "on": "arm.end", "value": [0, 0, "t < 0.02 ? 0 : 40"]}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 0.1, "newton": {"max_iterations": 3}}})");
}

}  // namespace

TEST_CASE("time loop: an observer ends a run after a whole step, as completed") {
  ModelRun run = ModelRun::of_file("bouncing_ball", {"/integrator/duration=1"});
  Simulation simulation(run.model->system, *run.integrator, run.model->state, run.model->simulation);
  EndsAt end(0.5);
  simulation.add_observer(end);
  CHECK(simulation.run() == RunStatus::completed);
  CHECK(run.state().q[2] < 0.5);
  CHECK(run.state().q[2] > 0.5 - 4e-3);  // the way of a step at 3.1 m/s
  // the fall from 1 to 1/2
  CHECK(run.state().t == doctest::Approx(std::sqrt(1 / 9.81)).epsilon(1e-3));
}

TEST_CASE("time loop: an interruption is answered between sub-steps, and the run goes on from there to the last bit") {
  ModelRun whole = subdivided();
  REQUIRE(whole.run() == RunStatus::completed);
  REQUIRE(whole.statistics.subdivided_steps > 0);

  ModelRun part = subdivided();
  volatile std::sig_atomic_t flag = 0;
  Interrupts interrupts(flag);
  NamedArrays loop, record;
  State state;
  {
    Simulation simulation(part.model->system, *part.integrator, part.model->state, part.model->simulation);
    simulation.add_observer(interrupts);
    simulation.stop_on(&flag);
    REQUIRE(simulation.run() == RunStatus::interrupted);
    CHECK(interrupts.inside);
    simulation.save(loop);
    record = part.record();
    state = part.state();
  }
  ModelRun rest = subdivided();
  rest.resume(state, record);
  Simulation simulation(rest.model->system, *rest.integrator, rest.model->state, rest.model->simulation);
  simulation.restore(loop, true, 0.1);
  REQUIRE(simulation.run() == RunStatus::completed);
  CHECK(same_bits(rest.state(), whole.state()));
}
