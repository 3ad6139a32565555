// The time loop: observers that end a run, interruption between sub-steps and within them.

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

enum class When { after_part, in_part };

// Interrupts within the first step that is taken in parts: after its first part, or while Newton's method works on it.
class Interrupts final : public Observer {
 public:
  Interrupts(volatile std::sig_atomic_t& flag, When when) : flag_(flag), when_(when) {}
  void after_step(const StepView& view) override {
    if (!view.nominal && when_ == When::after_part) flag_ = 1;
    reached = view.state;
  }
  void rejected(const StepView&) override {
    if (when_ == When::in_part) flag_ = 1;
  }
  void finish(const StepView& view, RunStatus) override { inside = !view.nominal; }
  bool inside = false;
  State reached;

 private:
  volatile std::sig_atomic_t& flag_;
  When when_;
};

// Newton's method needs more iterations than it has at the nominal step, when the load sets in.
ModelRun subdivided() {
  return ModelRun::of_text(R"({"format": 1, "gravity": [0, 0, 0],
    "materials": [{"name": "soft", "type": "linear_elastic", "young": 1e7, "poisson": 0.3, "density": 1000}],
    "sections": [{"name": "square", "type": "rectangle", "width": 0.02, "height": 0.02}],
    "bodies": [{"name": "arm", "type": "beam", "material": "soft", "section": "square", "elements": 4,
                "from": [0, 0, 0], "to": [1, 0, 0], "fixed": [{"on": "start"}]}],
    "loads": [{"name": "push", "type": "force", "on": "arm.end", "value": [0, 0, "t < 0.012 ? 0 : 40"]}],
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

TEST_CASE("time loop: an interruption within a step is answered, and the run goes on from there to the last bit") {
  ModelRun whole = subdivided();
  REQUIRE(whole.run() == RunStatus::completed);
  REQUIRE(whole.statistics.subdivided_steps > 0);

  for (const When when : {When::after_part, When::in_part}) {
    CAPTURE(static_cast<int>(when));
    ModelRun part = subdivided();
    volatile std::sig_atomic_t flag = 0;
    Interrupts interrupts(flag, when);
    NamedArrays loop, record;
    State state;
    {
      Simulation simulation(part.model->system, *part.integrator, part.model->state, part.model->simulation);
      simulation.add_observer(interrupts);
      simulation.stop_on(&flag, 0);  // no step is too short to be given up
      REQUIRE(simulation.run() == RunStatus::interrupted);
      CHECK(interrupts.inside == (when == When::after_part));
      simulation.save(loop);
      record = part.record();
      state = part.state();
    }
    // a part that is given up leaves the state as it was
    CHECK(same_bits(state, interrupts.reached));
    ModelRun rest = subdivided();
    rest.resume(state, record);
    Simulation simulation(rest.model->system, *rest.integrator, rest.model->state, rest.model->simulation);
    simulation.restore(loop, true, 0.1);
    REQUIRE(simulation.run() == RunStatus::completed);
    CHECK(same_bits(rest.state(), whole.state()));
  }
}

TEST_CASE("time loop: with patience a short step is completed, and the interruption answered behind it") {
  ModelRun part = subdivided();
  volatile std::sig_atomic_t flag = 0;
  Interrupts interrupts(flag, When::in_part);
  Simulation simulation(part.model->system, *part.integrator, part.model->state, part.model->simulation);
  simulation.add_observer(interrupts);
  simulation.stop_on(&flag, 1e9);
  REQUIRE(simulation.run() == RunStatus::interrupted);
  CHECK(interrupts.inside);
}
