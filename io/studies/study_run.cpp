#include "io/studies/study_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/mechanics/saddle_point.hpp"
#include "io/results/summary.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/spec.hpp"
#include "io/studies/study_words.hpp"

namespace carom {

namespace {

using Clock = std::chrono::steady_clock;

/// What statistics of the time loop do not contain: the level of accelerations, drift, energies.
class Measurement final : public Observer {
 public:
  Measurement(const SimulationOptions& options, double length)
      : every_(std::max(1L, std::lround(options.duration / options.step / 1000))), length_(length) {}

  void start(const StepView& view) override {
    rows_.assign(static_cast<std::size_t>(view.system.rows()), 0.0);
    weights_ = row_weights(view.system, length_);
    first_ = view.system.energies(view.state.q, view.state.v, view.state.t);
    sample(view);
  }
  void after_step(const StepView& view) override {
    if (!view.nominal) return;
    if (view.integrator.info().accelerations && view.system.bilateral() > 0) measure_acceleration(view);
    if (view.state.step % every_ == 0) sample(view);
  }
  void finish(const StepView& view, RunStatus) override {
    sample(view);
    if (view.system.rows() == 0) return;
    view.system.gaps(view.state.q, view.state.t, view.system.row_kinds(), rows_);
    for (int row = 0; row < view.system.rows(); ++row) {
      const double g = rows_[static_cast<std::size_t>(row)] / weights_[static_cast<std::size_t>(row)];
      if (row < view.system.bilateral())
        drift = std::max(drift, std::abs(g));
      else if (!view.system.row_vacant(row))
        drift = std::max(drift, -g);
    }
  }

  std::optional<double> acceleration;
  double drift = 0;
  double initial() const { return sum(first_); }
  double final() const { return sum(last_); }
  double energy_scale() const { return scale_; }

 private:
  static double sum(const Energies& e) { return e.kinetic + e.elastic + e.potential; }

  void sample(const StepView& view) {
    last_ = view.system.energies(view.state.q, view.state.v, view.state.t);
    scale_ = std::max(scale_,
                      std::abs(last_.kinetic) + std::abs(last_.elastic) + std::abs(last_.potential - first_.potential));
  }

  void measure_acceleration(const StepView& view) {
    const State& s = view.state;
    view.system.accelerations(s.q, s.v, s.acceleration, s.t, bilateral_rows, rows_);
    double largest = acceleration.value_or(0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(view.system.bilateral()); ++i)
      largest = std::max(largest, std::abs(rows_[i]) / weights_[i]);
    acceleration = largest;
  }

  long every_;
  double length_;
  Vector rows_, weights_;  // over the weights, rows are lengths
  Energies first_, last_;
  double scale_ = 0;
};

}  // namespace

std::vector<StudyQuantity> study_quantities(const PreparedRun& run, const std::vector<std::string>& requested) {
  std::vector<std::string> names;
  for (const ProbeSettings& p : run.model->output.probes) names.push_back(p.name);
  if (names.empty()) throw StudyError("the model has no probes to compare: name some under /output/probes");
  for (const std::string& name : requested)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw StudyError("--probe: the model has no probe " + in_quotes(name) + spec::suggestion(name, names));
  std::vector<StudyQuantity> out;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (requested.empty() || std::find(requested.begin(), requested.end(), names[i]) != requested.end())
      out.push_back({names[i], run.probes[i].columns, run.probes[i].unit});
  return out;
}

double StudyRun::mean_iterations() const {
  double sum = 0;
  for (std::size_t i = 0; i < statistics.iterations.size(); ++i) sum += statistics.mean_iterations(i);
  return sum;
}

int StudyRun::max_iterations() const {
  int most = 0;
  for (const RunStatistics::Iterations& i : statistics.iterations) most = std::max(most, i.max);
  return most;
}

StudyRun solve_study_run(PreparedRun run, const volatile std::sig_atomic_t* stop) {
  const auto begin = Clock::now();
  Model& model = *run.model;
  Integrator& integrator = *run.integrator;
  Simulation simulation(model.system, integrator, model.state, model.simulation);
  Recorder recorder(std::move(run.probes));
  Measurement measurement(model.simulation, model.scales.length);
  simulation.add_observer(recorder);
  simulation.add_observer(measurement);
  simulation.stop_on(stop);

  StudyRun out;
  out.subproblems.assign(integrator.info().subproblems.begin(), integrator.info().subproblems.end());
  out.status = simulation.run();
  out.statistics = simulation.statistics();
  out.linear = integrator.linear_counters();
  out.samples = std::move(recorder.samples());
  const Scales& scales = model.scales;
  RunMeasures& m = out.measures;
  m.position = out.statistics.position_residual / scales.length;
  m.velocity = out.statistics.velocity_residual / scales.speed;
  if (measurement.acceleration)
    m.acceleration = *measurement.acceleration * scales.length / (scales.speed * scales.speed);
  m.drift = measurement.drift / scales.length;
  m.penetration = std::isfinite(out.statistics.smallest_gap) ? std::max(0.0, -out.statistics.smallest_gap) : 0;
  m.energy_initial = measurement.initial();
  m.energy_final = measurement.final();
  if (measurement.energy_scale() > 0)
    m.energy_change = (m.energy_final - m.energy_initial) / measurement.energy_scale();
  out.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (out.status == RunStatus::failed) {
    const StepReport& r = simulation.last_report();
    const std::string worst = worst_row(model, r);
    out.failure = fmt::format("no convergence at t = {:.9g} with the smallest step {:.3g} ({}{})", r.t, r.h,
                              text_of(r.reason), worst.empty() ? "" : ", worst: " + worst);
  }
  return out;
}

std::vector<CsvColumn> error_columns(const StudyQuantity& quantity, bool relative) {
  const std::string& name = quantity.name;
  const std::string unit = relative ? "" : quantity.unit;
  return {{name + ".mean_error", unit},         {name + ".mean_order"},
          {name + ".max_error", unit},          {name + ".max_order"},
          {name + ".end_error", quantity.unit}, {name + ".end_order"}};
}

}  // namespace carom
