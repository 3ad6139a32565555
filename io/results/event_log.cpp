#include "io/results/event_log.hpp"

#include <algorithm>
#include <stdexcept>

namespace carom {

namespace {

// The last point in [0, 1] at which the cubic with the given values and slopes at both ends falls through zero. 0 if
// the cubic is never positive, 1 if it is not negative at the end.
double last_fall(double value_0, double slope_0, double value_1, double slope_1) {
  if (value_1 >= 0) return 1;
  const auto value = [&](double s) {
    const double r = 1 - s;
    return r * r * ((1 + 2 * s) * value_0 + s * slope_0) + s * s * ((1 + 2 * r) * value_1 - r * slope_1);
  };
  constexpr int parts = 16;
  int k = parts - 1;
  while (k > 0 && value(static_cast<double>(k) / parts) <= 0) --k;
  double low = static_cast<double>(k) / parts, high = static_cast<double>(k + 1) / parts;
  if (!(value(low) > 0)) return 0;
  for (int i = 0; i < 50; ++i) {
    const double middle = 0.5 * (low + high);
    (value(middle) > 0 ? low : high) = middle;
  }
  return high;
}

}  // namespace

EventLog::EventLog(const Model& model, const std::filesystem::path& file)
    : model_(model),
      file_(file,
            "t,step,event,contact,x,y,z,normal_x,normal_y,normal_z,gap_velocity_start,gap_velocity_smooth,"
            "gap_velocity_end,impulse,total_impulse") {}

void EventLog::start(const StepView& view) {
  file_.open(resume_);
  closed_ = view.state.closed;
  contacts_.resize(closed_.size());
  v_smooth_.resize(at(view.system.size()), 0.0);
}

void EventLog::after_step(const StepView& view) {
  const State& state = view.state;
  const StepReport& report = view.report;
  if (report.closed == 0 && report.releases == 0) return;
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    const bool before = closed_[i] != 0, now = state.closed[i] != 0;
    if (!before && !now) continue;
    const int row = model_.system.bilateral() + static_cast<int>(i);
    Contact& contact = contacts_[i];
    if (now) {
      if (!before) contact = {impact_time(view, row), 0, 0};
      contact.steps += 1;
      contact.impulse += state.impulse[at(row)];
      if (!before) write(view, row, true, contact.began, contact);
    } else {
      write(view, row, false, release_time(view, row, contact), contact);
    }
  }
  // events are rare: flush, so that a watcher sees them immediately
  if (report.impacts > 0 || report.releases > 0) file_.flush();
  closed_ = state.closed;
  v_smooth_ = view.integrator.stages().v_smooth;
  h_ = report.h;
}

double EventLog::impact_time(const StepView& view, int row) const {
  const System& system = view.system;
  const StepStages stages = view.integrator.stages();
  const double h = view.report.h, t_n = view.report.t, t = view.state.t;
  return t_n + h * last_fall(system.row_gap(row, stages.q_n, t_n),
                             h * system.row_rate(row, stages.q_n, stages.v_n, t_n),
                             system.row_gap(row, stages.q_smooth, t),
                             h * system.row_rate(row, stages.q_smooth, stages.v_smooth, t));
}

double EventLog::release_time(const StepView& view, int row, const Contact& contact) const {
  const System& system = view.system;
  const StepStages stages = view.integrator.stages();
  const double h = view.report.h, t_n = view.report.t;
  const double rate_n = system.row_rate(row, stages.q_n, stages.v_n, t_n);
  const double jump = rate_n - system.row_rate(row, stages.q_n, v_smooth_, t_n);
  const double gain = system.row_rate(row, view.state.q, stages.v_smooth, view.state.t) - rate_n;
  if (contact.steps <= 1 || !(jump > 0) || !(gain > 0) || rate_n > 1e-6 * jump) return t_n;
  const double pull = jump / h_, push = gain / h;
  return std::max(contact.began, t_n - 0.5 * h_ + 0.5 * (h_ + h) * pull / (pull + push));
}

void EventLog::write(const StepView& view, int row, bool impact, double t, const Contact& contact) {
  const System& system = view.system;
  const State& state = view.state;
  const StepStages stages = view.integrator.stages();
  const ConstraintBlock::Place place = system.row_contact_place(row, state.q, state.v, state.t);
  // inside a subdivided step use the number of the whole step, which is not complete yet
  const long step = view.nominal ? state.step : state.step + 1;
  file_.cell(t).cell(std::to_string(step)).cell(impact ? "impact" : "release").cell(system.row_name(row));
  for (const Vec3& x : {place.point, place.normal})
    for (int c = 0; c < 3; ++c) file_.cell(x[c]);
  file_.cell(system.row_rate(row, stages.q_n, stages.v_n, view.report.t));
  file_.cell(system.row_rate(row, state.q, stages.v_smooth, state.t));
  file_.cell(system.row_rate(row, state.q, state.v, state.t));
  file_.cell(state.impulse[at(row)]).cell(contact.impulse);
  file_.end_row();
}

void EventLog::save(NamedArrays& record) {
  file_.save(record);
  Vector contacts;
  for (const Contact& c : contacts_) contacts.insert(contacts.end(), {c.began, c.steps, c.impulse});
  record.set("contacts", std::move(contacts));
  record.set("smooth velocity", v_smooth_);
  record.set_number("step", h_);
}

void EventLog::restore(const NamedArrays& record, bool same_files) {
  if (same_files) resume_ = CsvFile::place(record);
  const Vector *const contacts = record.find("contacts"), *const v_smooth = record.find("smooth velocity");
  if (contacts == nullptr || v_smooth == nullptr) throw std::invalid_argument("EventLog: the record does not fit");
  contacts_.resize(contacts->size() / 3);
  for (std::size_t i = 0; i < contacts_.size(); ++i)
    contacts_[i] = {(*contacts)[3 * i], (*contacts)[3 * i + 1], (*contacts)[3 * i + 2]};
  v_smooth_ = *v_smooth;
  h_ = record.number("step");
}

}  // namespace carom
