#include "integrators/common/failure.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace carom {

namespace {

int worst(In values) {
  int found = -1;
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!(std::abs(values[i]) <= largest)) {
      largest = std::abs(values[i]);
      found = static_cast<int>(i);
    }
  return found;
}

}  // namespace

const char* text_of(FailureReason reason) {
  switch (reason) {
    case FailureReason::none:
      return "";
    case FailureReason::no_convergence:
      return "no convergence";
    case FailureReason::singular_matrix:
      return "singular matrix";
    case FailureReason::not_finite:
      return "not finite";
    case FailureReason::indefinite_matrix:
      return "indefinite matrix";
    case FailureReason::slow_conjugate_gradients:
      return "too many iterations of the conjugate gradients";
    case FailureReason::no_step_length:
      return "line search";
    case FailureReason::nothing_holds_the_loads:
      return "nothing holds the loads";
    case FailureReason::no_friction_solution:
      return "the law of contacts has no solution";
    case FailureReason::unclear_friction:
      return "rows have become redundant, so that the load of a joint with friction is not known";
    case FailureReason::state_not_finite:
      return "the state is not finite";
    case FailureReason::undefined_formula:
      return "a formula has no finite value";
    case FailureReason::jumping_formula:
      return "a prescribed place or angle jumps";
    case FailureReason::indefinite_mass:
      return "a mass matrix is not positive definite";
    case FailureReason::inverted_element:
      return "an element is inverted, or turned too far in itself";
    case FailureReason::missed_contact:
      return "bodies pass through each other, or to another side of each other, within the step";
    case FailureReason::lost_angle:
      return "an angle leaves the two turns in which springs, stops and conditions know it";
    case FailureReason::lost_joint:
      return "a joint is lost";
    case FailureReason::large_rotation:
      return "a body that rubs, or a driver in statics, turns by more than half a turn in the step";
    case FailureReason::path_lost:
      return "the path of equilibria is lost";
    case FailureReason::unexplained_energy:
      return "the energy grows without cause";
    case FailureReason::unstable_step:
      return "the step exceeds the stable one";
    case FailureReason::too_many_subdivisions:
      return "too many steps in a row were subdivided";
    case FailureReason::accumulation:
      return "impacts accumulate";
    case FailureReason::penetration_at_start:
      return "a contact penetrates and approaches at the start";
    case FailureReason::interrupted:
      return "interrupted";
  }
  return "";
}

void reset(StepReport& report, const std::vector<const char*>& subproblems) {
  static_cast<StepFigures&>(report) = {};
  report.smallest_gap = std::numeric_limits<double>::infinity();
  report.failed_item.clear();
  report.subproblems.resize(subproblems.size());
  for (std::size_t i = 0; i < subproblems.size(); ++i) {
    // the history is written before it is read
    SubproblemReport& s = report.subproblems[i];
    s.name = subproblems[i];
    s.converged = true;
    s.stalled = false;
    s.iterations = s.attempt_start = s.set_changes = 0;
    s.residual = s.constraint = s.attained = s.seconds = 0;
  }
}

void mark_failed(StepReport& report, int subproblem, FailureReason reason) {
  report.converged = false;
  if (subproblem >= 0 && at(subproblem) < report.subproblems.size())  // at the start there are none
    report.subproblems[at(subproblem)].converged = false;
  report.failed = subproblem;
  report.reason = reason;
}

bool misses_contact(const System& system, In q_0, double t_0, In q_1, double t_1, StepReport& report,
                    double closing_turn) {
  std::string item = system.missed_contact(q_0, t_0, q_1, t_1, closing_turn);
  if (item.empty()) return false;
  mark_failed(report, -1, FailureReason::missed_contact);
  report.failed_item = std::move(item);
  return true;
}

bool fail_accumulation(const System& system, int row, StepReport& report) {
  mark_failed(report, -1, FailureReason::accumulation);
  if (row >= 0) report.failed_item = system.row_name(row);
  return false;
}

void forget_failure(StepReport& report) {
  if (report.failed >= 0) report.subproblems[at(report.failed)].converged = true;
  report.converged = true;
  report.failed = report.worst_equation = report.worst_row = -1;
  report.reason = FailureReason::none;
  report.failed_item.clear();
}

void name_worst(StepReport& report, In equations, In rows) {
  report.worst_equation = worst(equations);
  report.worst_row = worst(rows);
}

void name_suspicious(StepReport& report, int place, int equations) {
  if (place >= equations)
    report.worst_row = place - equations;
  else
    report.worst_equation = place;
}

}  // namespace carom
