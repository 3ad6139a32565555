#include "integrators/common/observer.hpp"

namespace carom {

double jump_work(const System& system, const Stage& jump, int row) {
  return 0.5 * jump.multipliers[at(row)] *
         (system.row_rate(row, jump.q_1, jump.v_0, jump.t_1) + system.row_rate(row, jump.q_1, jump.v_1, jump.t_1));
}

double row_work(const StepView& view, int row) {
  const System& system = view.system;
  const State& state = view.state;
  double impulse = state.impulse[at(row)], work = 0;
  if (impulse == 0) return 0;
  In v_0 = view.integrator.stages().front().v_0;
  for (const Stage& stage : view.integrator.stages()) {
    if (stage.kind != Stage::Kind::jump || !stage.located) continue;
    work += jump_work(system, stage, row);
    impulse -= stage.multipliers[at(row)];
    v_0 = stage.v_1;
  }
  return work + 0.5 * impulse *
                    (system.row_rate(row, state.q, state.v, state.t) + system.row_rate(row, state.q, v_0, state.t));
}

}  // namespace carom
