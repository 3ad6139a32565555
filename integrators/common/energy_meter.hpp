// Energies and powers at a state: the numbers that the ledger of a run and the guard of a step share.
#pragma once

#include <cmath>

#include "core/mechanics/system.hpp"

namespace carom {

/// Of the forces that give or take energy, positive powers raise the energy of the model.
struct Powers {
  double loads = 0, drivers = 0, damping = 0;
  double given() const { return loads + drivers; }  ///< without dampers, which never give energy
};

struct EnergyPoint {
  Energies energies;
  Powers powers;
};

inline double sum(const Energies& e) { return e.kinetic + e.elastic + e.potential; }

struct LoadWork {
  double work = 0;
  double doubt = 0;  ///< moments change while bodies turn: the work of the true way may be as much more or less
};

class EnergyMeter {
 public:
  /// The system outlives this.
  explicit EnergyMeter(const System& system);
  /// `multipliers`: forces of the rows, which give the power of drivers; rows() entries, or those of bilateral rows.
  Powers powers(In q, In v, double t, In multipliers);
  /// The power of drivers and moving obstacles alone.
  double drivers(In q, double t, In multipliers);
  EnergyPoint measure(In q, In v, double t, In multipliers) {
    return {system_->energies(q, v, t), powers(q, v, t, multipliers)};
  }
  /// Drivers or obstacles that move may work.
  bool driven() const { return driven_; }
  /// Work of loads between two configurations, by the mean of their forces and moments; parts: also force_gravity.
  LoadWork work_of_loads(In q_0, In v_0, double t_0, In q_1, In v_1, double t_1, unsigned parts = force_external);
  /// The state penetrates an obstacle or does not fit a joint, by more than 1e-6 of the length.
  bool misfits(In q, double t, double length) const;
  /// Rates of bilateral rows at rest, g_t: what drivers prescribe. rows() entries.
  In rates_at_rest(In q, double t);
  /// The same of one row.
  double rate_at_rest(int row, In q, double t) const { return system_->row_rate(row, q, zero_, t); }
  /// The velocity zero.
  In at_rest() const { return zero_; }

 private:
  const System* system_;
  bool driven_;
  Vector f_, f_1_, rates_, zero_;
};

}  // namespace carom
