#include "io/event_log.hpp"

#include <algorithm>

namespace carom {

namespace {
std::size_t at(int i) { return static_cast<std::size_t>(i); }
}  // namespace

EventLog::EventLog(const Model& model, const std::filesystem::path& file)
    : model_(model),
      file_(file,
            "t,step,event,contact,x,y,z,normal_x,normal_y,normal_z,gap_velocity_start,gap_velocity_smooth,"
            "gap_velocity_end,impulse") {}

void EventLog::start(const StepView& view) {
  file_.open(resume_);
  if (closed_.empty()) closed_ = view.state.closed;
}

void EventLog::after_step(const StepView& view) {
  // closed_ differs from the state before the step only at the start of the run
  const State& state = view.state;
  if (view.report.impacts == 0 && view.report.releases == 0) return;
  for (std::size_t i = 0; i < closed_.size(); ++i)
    if (closed_[i] != state.closed[i])
      write(view, model_.system.bilateral() + static_cast<int>(i), state.closed[i] != 0);
  closed_ = state.closed;
}

void EventLog::write(const StepView& view, int row, bool impact) {
  const System& system = view.system;
  const State& state = view.state;
  const StepStages stages = view.integrator.stages();
  const double h = view.report.h, t_n = view.report.t, t = state.t;
  const double rate = system.row_rate(row, state.q, state.v, t);

  // where in the step
  double share = 1;
  if (impact) {
    const double gap_n = system.row_gap(row, stages.q_n, t_n), gap = system.row_gap(row, stages.q_smooth, t);
    share = gap_n <= 0 ? 0 : gap < 0 ? gap_n / (gap_n - gap) : 1;
  } else {
    const double gap = system.row_gap(row, state.q, t);
    share = rate > 0 ? 1 - std::clamp(2 * gap / (rate * h), 0.0, 1.0) : 0;
  }

  const ConstraintBlock::Place place = system.row_contact_place(row, state.q, state.v, t);
  file_.cell(t_n + share * h).cell(std::to_string(state.step)).cell(impact ? "impact" : "release");
  file_.cell(system.row_name(row));
  for (const Vec3& x : {place.point, place.normal})
    for (int c = 0; c < 3; ++c) file_.cell(x[c]);
  file_.cell(system.row_rate(row, stages.q_n, stages.v_n, t_n));
  file_.cell(system.row_rate(row, state.q, stages.v_smooth, t)).cell(rate).cell(state.impulse[at(row)]);
  file_.end_row();
}

void EventLog::save(Record& record) {
  file_.save(record);
  record.set("closed", Vector(closed_.begin(), closed_.end()));
}

void EventLog::restore(const Record& record, bool same_files) {
  if (same_files) resume_ = CsvFile::place(record);
  if (const Vector* closed = record.find("closed"))
    std::transform(closed->begin(), closed->end(), std::back_inserter(closed_),
                   [](double x) { return static_cast<std::uint8_t>(x); });
}

}  // namespace carom
