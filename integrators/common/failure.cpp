#include "integrators/common/failure.hpp"

#include <cmath>

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

void mark_failed(StepReport& report, int subproblem, const char* reason) {
  report.converged = report.subproblems[static_cast<std::size_t>(subproblem)].converged = false;
  report.failed = subproblem;
  report.reason = reason;
}

void forget_failure(StepReport& report) {
  if (report.failed >= 0) report.subproblems[static_cast<std::size_t>(report.failed)].converged = true;
  report.converged = true;
  report.failed = report.worst_equation = report.worst_row = -1;
  report.reason = "";
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
