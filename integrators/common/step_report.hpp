// What a step tells: iterations, residuals, and why it failed if it did.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace carom {

enum class FailureReason {
  none,
  no_convergence,
  singular_matrix,
  not_finite,
  indefinite_matrix,
  slow_conjugate_gradients,
  no_step_length,
  nothing_holds_the_loads,
  no_friction_solution,
  unclear_friction,
  state_not_finite,
  undefined_formula,
  jumping_formula,
  indefinite_mass,
  inverted_element,
  missed_contact,
  lost_angle,
  lost_joint,
  large_rotation,
  path_lost,
  unexplained_energy,
  unstable_step,
  too_many_subdivisions,
  accumulation,
  penetration_at_start,
  interrupted
};

/// In words, for messages: "no convergence".
const char* text_of(FailureReason reason);

/// One sub-problem of a method (smooth motion, position correction, velocity jump, equilibrium, ...) in one step.
struct SubproblemReport {
  static constexpr int history_size = 16;

  const char* name = "";
  bool converged = true;
  int iterations = 0;     ///< linear systems solved; residuals are tested first, so 0 is possible
  int attempt_start = 0;  ///< the iteration with which the last attempt began
  bool stalled = false;   ///< accepted where rounding let the residuals fall no further
  double attained = 0;    ///< then: residual over the sum of its terms
  double residual = 0;    ///< last dynamics residual over its tolerance
  double constraint = 0;  ///< last constraint residual over its tolerance
  int set_changes = 0;    ///< rows that entered or left the active set
  double seconds = 0;     ///< wall time, in steps that are timed
  /// max(residual, constraint) of the last attempt's last iterations: iteration i at i % history_size
  std::array<double, history_size> history{};
  int attempt_iterations() const { return iterations - attempt_start; }
  double& history_at(int i) { return history[static_cast<std::size_t>(i % history_size)]; }
  double history_at(int i) const { return history[static_cast<std::size_t>(i % history_size)]; }
};

/// Slip of rows with friction, lengths.
struct SlipSum {
  double way = 0;
  double mismatch = 0;  ///< displacements less what velocities at both ends tell; of joints the way while they stick
};

/// The numbers of a step.
struct StepFigures {
  bool converged = true;
  double t = 0, h = 0;  ///< start of the step, size
  int failed = -1;      ///< index of the sub-problem that failed; -1: the step as a whole
  FailureReason reason = FailureReason::none;
  int worst_equation = -1, worst_row = -1;
  bool retry = true;     ///< after a failure: shorter steps may succeed
  bool timed = false;    ///< SubproblemReport::seconds are known
  bool shortest = true;  ///< no shorter step will be tried: the last resorts are allowed

  // at the accepted end of the step
  double position_residual = 0;    ///< largest |g| over bilateral and active rows
  double velocity_residual = 0;    ///< largest |residual| of velocity constraints and impact law
  double smallest_gap = 0;         ///< over all unilateral rows, as lengths (row_weights); +infinity without
  bool set_fallback = false;       ///< active sets cycled, so that contacts took no part in the smooth motion (PVA)
  int friction_fallbacks = 0;      ///< position problems solved with other anchors, or without friction of contacts
  bool friction_left_out = false;  ///< the last attempt left out the friction of contacts
  bool snapped = false;            ///< statics: the smallest increment leads to an equilibrium far away
  bool redundant = false;          ///< redundant rows were met: multipliers are those of least norm
  double speed = 0;                ///< largest speed at the start of the step, rotations times the length scale
  double rotation = 0;   ///< largest rotation of a frame in the step by its angular velocity at the start, rad
  double growth = 0;     ///< of the energy without cause, in the run so far, over the energies (EnergyGuard)
  SlipSum contact_slip;  ///< of contacts that stay closed
  SlipSum joint_slip;    ///< of joints with friction; angles times the length scale
  int closed = 0;        ///< conditional rows that are closed at the end
  int impacts = 0;       ///< rows that closed in this step and were open before
  int releases = 0;      ///< rows that opened in this step and were closed before
};

struct StepReport : StepFigures {
  std::vector<SubproblemReport> subproblems;  ///< in the order of MethodInfo::subproblems
  std::string failed_item;  ///< what made the step fail, if neither an equation nor a row: an element, a formula

  /// The sub-problem that failed; null if it was none or the step as a whole.
  const SubproblemReport* failed_subproblem() const {
    return failed >= 0 ? &subproblems[static_cast<std::size_t>(failed)] : nullptr;
  }
};

/// Adds the wall time of its life to a sub-problem, in steps that are timed.
class PartTimer {
 public:
  PartTimer(const StepReport& report, SubproblemReport& part) : part_(report.timed ? &part : nullptr) {
    if (part_ != nullptr) begin_ = Clock::now();
  }
  ~PartTimer() {
    if (part_ != nullptr) part_->seconds += std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  PartTimer(const PartTimer&) = delete;
  PartTimer& operator=(const PartTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  SubproblemReport* part_;
  Clock::time_point begin_{};
};

/// A report without results for sub-problems of these names; keeps its memory.
void reset(StepReport& report, const std::vector<const char*>& subproblems);

}  // namespace carom
