// A case of a paper, run in this process: a model file with overrides, its integrator and its time loop.
//
//   Case ball("bouncing_ball", {"/integrator/step=1e-3"});
//   ball.run([&](const StepView&) { apex = std::max(apex, ball.position("ball").z()); });
//
// A wrong model or an initial state without accelerations throws an exception that contains the report. Quantities of
// bodies, points and contacts refer to the present state, also inside the callback.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "integrators/common/simulation.hpp"
#include "integrators/methods/nsga_decoupled.hpp"
#include "io/results/prepared_run.hpp"

namespace carom::cases {

class Case {
 public:
  /// data/models/<name>.json with "/json/pointer=value" overrides.
  explicit Case(const std::string& name, const std::vector<std::string>& overrides = {});
  /// A case from a model text.
  static Case from_text(const std::string& text, const std::vector<std::string>& overrides = {});

  using Callback = std::function<void(const StepView&)>;
  /// Runs to the model's end, or for another `duration`. The callback is called for the start (if at_start) and after
  /// every accepted step. Further calls continue the run; statistics belong to the last call.
  RunStatus run(const Callback& after_step = {}, bool at_start = false);
  RunStatus run_for(double duration, const Callback& after_step = {}, bool at_start = false);

  Model& model() { return *run_.model; }
  const System& system() const { return run_.model->system; }
  const State& state() const { return run_.model->state; }
  State& state() { return run_.model->state; }
  double t() const { return run_.model->state.t; }
  double h() const { return run_.model->simulation.step; }
  const Scales& scales() const { return run_.model->scales; }
  Integrator& integrator() { return *run_.integrator; }
  const RunStatistics& statistics() const { return statistics_; }
  const StepReport& last_report() const { return last_report_; }

  /// Position of a point ("brick", "brick.tip", "bar.node.3").
  Vec3 position(const std::string& point) const;
  Vec3 velocity(const std::string& point) const;
  /// Rotation of a rigid body.
  Mat3 rotation(const std::string& body) const;
  Vec3 angular_velocity(const std::string& body) const;  ///< in body axes

  /// Rows of a contact or joint.
  const std::vector<int>& rows(const std::string& contact_or_joint) const;
  double gap(int row) const { return system().row_gap(row, state().q, state().t); }
  double gap_velocity(int row) const { return system().row_rate(row, state().q, state().v, state().t); }
  /// Force of a row in the last step, lambda~ + Lam/h.
  double force(int row) const;
  /// Impulse of a row in the last step.
  double impulse(int row) const { return state().impulse[static_cast<std::size_t>(row)]; }

  Energies energies() const { return system().energies(state().q, state().v, state().t); }
  double energy() const;
  Momenta momenta() const { return system().momenta(state().q, state().v); }

 private:
  explicit Case(ModelDocument document);

  PreparedRun run_;
  RunStatistics statistics_;
  StepReport last_report_;
};

/// Order of convergence: least-squares slope of log(error) over log(h).
double fitted_order(const std::vector<double>& h, const std::vector<double>& error);

/// "/pointer=value" with all digits of the value.
std::string set(const std::string& pointer, double value);

}  // namespace carom::cases
