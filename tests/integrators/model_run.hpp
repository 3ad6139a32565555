// A model with its integrator, for tests that take single steps.
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
#include "io/results/prepared_run.hpp"

namespace carom::test {

class ModelRun {
 public:
  /// A text, or data/models/<name>.json.
  static ModelRun of_text(const std::string& text, const std::vector<std::string>& set = {}, int threads = 1) {
    return ModelRun(parse_model(text, "test.json", set), threads);
  }
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
