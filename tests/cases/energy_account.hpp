// The energy ledger of a run: what tests that look at its parts share.
#pragma once

#include <functional>
#include <string>

#include "case_runner.hpp"
#include "integrators/common/energy_ledger.hpp"

namespace carom::cases {

/// The setting that gives the decoupled method without force corrections.
inline const std::string dsn = "/integrator/force_corrections=false";

/// The contributions of a step to the parts.
struct Parts {
  double loads, drivers, damping, numerical, position, impacts, contacts, constraints, corrections;

  double jump() const { return impacts + contacts + constraints + corrections; }
};

/// Called after every step, with the ledger and what the step has added to it.
using LedgerWatch = std::function<void(const StepView&, EnergyLedger&, const Parts&)>;

struct Account {
  RunStatus status = RunStatus::failed;
  RunStatistics statistics;
  EnergyBalance balance;
  double initial = 0;

  double closure() const { return balance.largest_closure / balance.scale; }
};

/// Runs a case to the model's end with a ledger.
Account account(Case& c, const LedgerWatch& watch = {});

}  // namespace carom::cases
