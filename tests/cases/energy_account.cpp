#include "energy_account.hpp"

namespace carom::cases {

namespace {

Parts difference(const EnergyBalance& a, const EnergyBalance& b) {
  return {a.loads - b.loads,         a.drivers - b.drivers,         a.damping - b.damping,
          a.numerical - b.numerical, a.position - b.position,       a.impacts - b.impacts,
          a.contacts - b.contacts,   a.constraints - b.constraints, a.corrections - b.corrections};
}

// Keeps a ledger during a run and passes every step with its contributions to a function.
class Keeper final : public Observer {
 public:
  explicit Keeper(const LedgerWatch& watch) : watch_(watch) {}
  void start(const StepView& view) override {
    ledger.start(view);
    before_ = ledger.balance();
  }
  void after_step(const StepView& view) override {
    ledger.after_step(view);
    if (watch_) watch_(view, ledger, difference(ledger.balance(), before_));
    before_ = ledger.balance();
  }

  EnergyLedger ledger;

 private:
  const LedgerWatch& watch_;
  EnergyBalance before_;
};

}  // namespace

Account account(Case& c, const LedgerWatch& watch) {
  Simulation simulation(c.model().system, c.integrator(), c.model().state, c.model().simulation);
  Keeper keeper(watch);
  simulation.add_observer(keeper);
  Account a;
  a.status = simulation.run();
  a.statistics = simulation.statistics();
  a.balance = keeper.ledger.balance();
  a.initial = keeper.ledger.initial();
  return a;
}

}  // namespace carom::cases
