// A model with its integrator, for tests that take single steps. All that tests call of an integrator beyond a whole
// run goes through here: start, steps, the smooth motion of a step, record and restart.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "integrators/common/integrator.hpp"
#include "integrators/common/simulation.hpp"
#include "integrators/methods/nsga_decoupled.hpp"
#include "io/results/prepared_run.hpp"

namespace carom::test {

/// The motions of the last step: where they began, and where they ended (tilde in the papers).
struct StepMotion {
  Vector q_n, v_n, q, v;
};
inline StepMotion step_motion(Integrator& integrator) {
  const auto copied = [](In x) { return Vector(x.begin(), x.end()); };
  StepMotion motion;
  for (const Stage& stage : integrator.stages()) {
    if (stage.kind != Stage::Kind::motion) continue;
    if (motion.q_n.empty()) {
      motion.q_n = copied(stage.q_0);
      motion.v_n = copied(stage.v_0);
    }
    motion.q = copied(stage.q_1);
    motion.v = copied(stage.v_1);
  }
  return motion;
}

/// Every array of two states is the same to the last bit.
inline bool same_bits(const State& a, const State& b) {
  bool same = a.t == b.t && a.step == b.step && a.last_h == b.last_h && a.q == b.q && a.v == b.v &&
              a.acceleration == b.acceleration && a.lambda == b.lambda && a.nu == b.nu && a.impulse == b.impulse &&
              a.active == b.active && a.closed == b.closed && a.history.size() == b.history.size();
  for (std::size_t i = 0; same && i < a.history.size(); ++i)
    same = a.history[i].name == b.history[i].name && a.history[i].values == b.history[i].values;
  return same;
}

/// A system built by hand, integrated by the decoupled method.
class SystemRun {
 public:
  /// The system is finalized and outlives this; v: its velocities at the start, t = 0.
  SystemRun(System& system, const Vector& v, double h, const NsgaOptions& options = {})
      : integrator(std::make_unique<NsgaDecoupled>(system, options)), system_(system), h_(h) {
    state.q = system.initial_configuration();
    state.v = v;
    StepReport report;
    if (!integrator->initialise(state, h, report)) throw std::runtime_error("no initial acceleration");
  }
  bool step() { return integrator->step(state, h_).converged; }
  StepMotion smooth() { return step_motion(*integrator); }
  /// The time loop to t, with an observer.
  RunStatus run(double t, Observer& observer) {
    Simulation simulation(system_, *integrator, state, {.step = h_, .duration = t - state.t});
    simulation.add_observer(observer);
    return simulation.run();
  }

  State state;
  std::unique_ptr<Integrator> integrator;

 private:
  System& system_;
  double h_;
};

class ModelRun {
 public:
  /// A text, or data/models/<name>.json.
  static ModelRun of_text(const std::string& text, const std::vector<std::string>& set = {}, int threads = 1) {
    return ModelRun(parse_model(text, "test.json", set), threads);
  }
  /// A document that parse_model or load_model has read.
  static ModelRun of_document(ModelDocument document) { return ModelRun(std::move(document), 1); }
  static ModelRun of_file(const std::string& name, const std::vector<std::string>& set = {}, int threads = 1) {
    // probes, and what the model expects of them, may not fit a model that `set` changes
    std::vector<std::string> settings = set;
    settings.insert(settings.end(), {"/output/probes=[]", "/expect=[]"});
    return ModelRun(load_model(std::string(CAROM_SOURCE_DIR) + "/data/models/" + name + ".json", settings), threads);
  }

  const System& system() const { return model->system; }
  State& state() { return model->state; }
  double h() const { return model->simulation.step; }
  const StepReport& step(double size) { return integrator->step(model->state, size); }
  /// What a restart needs beside the state; the way back to such a point.
  NamedArrays record() const {
    NamedArrays arrays;
    integrator->save(arrays);
    return arrays;
  }
  void resume(const State& state, const NamedArrays& arrays) {
    model->state = state;
    integrator->restore(arrays);
  }
  Vec3 position(const std::string& point) const { return model->place(*model->find_point(point), model->state.q); }
  double energy() const {
    const Energies e = system().energies(model->state.q, model->state.v, model->state.t);
    return e.kinetic + e.elastic + e.potential;
  }
  const RowGroup& joint(const std::string& name) const {
    for (const RowGroup& j : model->joints)
      if (j.name == name) return j;
    throw std::runtime_error("no joint " + name);
  }

  /// The time loop to the end of the model's duration.
  RunStatus run(const std::function<void(const StepView&)>& after_step = {}) {
    class Watch final : public Observer {
     public:
      explicit Watch(const std::function<void(const StepView&)>& f) : f_(f) {}
      void after_step(const StepView& view) override { f_(view); }

     private:
      const std::function<void(const StepView&)>& f_;
    } watch(after_step);
    Simulation simulation(model->system, *integrator, model->state, model->simulation);
    if (after_step) simulation.add_observer(watch);
    const RunStatus status = simulation.run();
    statistics = simulation.statistics();
    report = simulation.last_report();
    return status;
  }

  std::unique_ptr<Model> model;
  std::unique_ptr<Integrator> integrator;
  RunStatistics statistics;
  StepReport report;

 private:
  ModelRun(ModelDocument document, int threads) {
    PreparedRun run = prepare_run(std::move(document), {.threads = threads});
    if (!run.ok()) throw std::runtime_error(run.issues.report());
    model = std::move(run.model);
    integrator = std::move(run.integrator);
  }
};

/// Largest difference of two arrays.
inline double difference(const Vector& a, const Vector& b) {
  double largest = a.size() == b.size() ? 0.0 : HUGE_VAL;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double d = a[i] - b[i];
    largest = d > largest || -d > largest ? (d > 0 ? d : -d) : largest;
  }
  return largest;
}

}  // namespace carom::test
