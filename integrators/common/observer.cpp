#include "integrators/common/observer.hpp"

#include "integrators/common/mean_directions.hpp"

namespace carom {

double stage_rate(const System& system, const Stage& stage, int row, In v) {
  const auto rate = [&](int r, In q, double t) { return system.row_rate(r, q, v, t); };
  const In q = stage.row_q.empty() ? stage.q_1 : stage.row_q;
  return stage.mean != nullptr ? stage.mean->rate(system, row, q, stage.t_1, rate) : rate(row, q, stage.t_1);
}

double begin_rate(const System& system, const Stage& begin, const Stage& stage, int row, In v) {
  const RowKind kind = system.row_kind(row);
  const bool turns = kind == RowKind::joint_friction ||
                     (kind == RowKind::tangential && system.row_block(row).traits().moving),
             mean = stage.mean != nullptr && stage.mean->has_mean(row - system.bilateral());
  // behind an impact within the step there is no such place; what has its rows elsewhere slips as these say
  if (!turns || mean || !stage.row_q.empty() || begin.q_0.empty() || v.data() != begin.v_0.data())
    return stage_rate(system, stage, row, v);
  const StepStart start{begin.q_0.data(), begin.v_0.data(), begin.t_0};
  return value_at_end(system, row, stage.q_1, stage.t_1, start,
                      [&](int r) { return system.row_rate(r, begin.q_0, v, begin.t_0); });
}

In velocity_behind(std::span<const Stage> stages, std::size_t i) {
  const bool hit = stages[i].kind == Stage::Kind::motion && i + 1 < stages.size() &&
                   stages[i + 1].kind == Stage::Kind::jump && !stages[i + 1].located;
  return stages[i + (hit ? 1 : 0)].v_1;
}

double stage_work(const System& system, const Stage& stage, int row) {
  const double multiplier = stage.multipliers.empty() ? 0.0 : stage.multipliers[at(row)];
  if (multiplier == 0) return 0;
  const double before = stage.kind == Stage::Kind::motion ? begin_rate(system, stage, stage, row, stage.v_0)
                                                          : stage_rate(system, stage, row, stage.v_0);
  return 0.5 * multiplier * (before + stage_rate(system, stage, row, stage.v_1));
}

double row_work(const StepView& view, int row) {
  const System& system = view.system;
  const State& state = view.state;
  if (!view.integrator.info().dynamic) {
    const double force = state.lambda[at(row)];
    const Stage& increment = view.integrator.stages().front();
    const StepStart start{increment.q_0.data(), increment.v_0.data(), increment.t_0};
    return force == 0 ? 0 : force * system.row_gap(row, state.q, state.t, &start);
  }
  double impulse = state.impulse[at(row)], work = 0;
  if (impulse == 0) return 0;
  const auto stages = view.integrator.stages();
  In v_0 = stages.front().v_0;  // from which what remains of the impulse acts
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Stage stage = stages[i];
    const double multiplier = stage.multipliers.empty() ? 0.0 : stage.multipliers[at(row)];
    if (stage.kind == Stage::Kind::motion) {
      stage.v_1 = velocity_behind(stages, i);
      work += stage.duration * stage_work(system, stage, row);
      impulse -= stage.duration * multiplier;
    } else if (stage.kind == Stage::Kind::jump && stage.located) {
      work += stage_work(system, stage, row);
      impulse -= multiplier;
      v_0 = stage.v_1;
    }
  }
  const Stage& last = stages.back();
  if (last.kind != Stage::Kind::jump || last.located) return work;
  return work +
         0.5 * impulse * (begin_rate(system, stages.front(), last, row, v_0) + stage_rate(system, last, row, state.v));
}

}  // namespace carom
