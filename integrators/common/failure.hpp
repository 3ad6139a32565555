// How an integrator tells that a step failed.
#pragma once

#include "core/base/types.hpp"
#include "core/mechanics/system.hpp"
#include "integrators/common/step_report.hpp"

namespace carom {

/// `subproblem` -1: the step as a whole.
void mark_failed(StepReport& report, int subproblem, FailureReason reason);
/// Marks the report if the motion from q_0 at t_0 to q_1 at t_1 misses a contact, or turns the direction of an impact
/// (System::missed_contact).
bool misses_contact(const System& system, In q_0, double t_0, In q_1, double t_1, StepReport& report,
                    double closing_turn);
/// Marks the report: impacts of a row, -1: of no certain one, accumulate. Returns false.
bool fail_accumulation(const System& system, int row, StepReport& report);
/// For another attempt at the sub-problem that failed; iterations stay.
void forget_failure(StepReport& report);

/// Sets the equation and the row whose residuals are largest; what is not finite counts most.
void name_worst(StepReport& report, In equations, In rows);

/// After a singular matrix of `equations` equations: the place where it was noticed, an equation or, behind them, a
/// row; -1 if unknown.
void name_suspicious(StepReport& report, int place, int equations);

}  // namespace carom
