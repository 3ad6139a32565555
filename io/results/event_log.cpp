#include "io/results/event_log.hpp"

#include <algorithm>
#include <stdexcept>

namespace carom {

namespace {

// Where in [0, 1] the cubic with values and slopes at both ends falls through zero for the last time; 0 if it is never
// positive, 1 if it ends so.
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
  const StepReport& report = view.report;
  if (report.closed == 0 && report.releases == 0 && report.impacts == 0) return;
  Passage passage{nullptr, nullptr, view.state.t};
  for (const Stage& stage : view.integrator.stages()) {
    if (stage.kind == Stage::Kind::motion) passage.motion = &stage;
    passage.jump = stage.kind == Stage::Kind::jump ? &stage : nullptr;
    if (stage.t_1 != report.t + report.h) passage.t = stage.t_1;
    if (!stage.closed.empty()) note(view, passage, stage);
  }
  // Events are rare: flush, so that a watcher sees them immediately.
  if (report.impacts > 0 || report.releases > 0) file_.flush();
}

void EventLog::note(const StepView& view, const Passage& passage, const Stage& stage) {
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    const bool before = closed_[i] != 0, now = stage.closed[i] != 0;
    if (!before && !now) continue;
    const int row = model_.system.bilateral() + static_cast<int>(i);
    const double impulse = passage.jump != nullptr ? stage.multipliers[at(row)] : 0.0;
    Contact& contact = contacts_[i];
    if (now) {
      if (!before) contact = {impact_time(view.system, passage, row), 0, 0};
      contact.steps += 1;
      contact.impulse += impulse;
      if (!before) write(view, passage, row, true, contact.began, contact, impulse);
    } else {
      write(view, passage, row, false, release_time(view, passage, row, contact), contact, impulse);
    }
  }
  closed_.assign(stage.closed.begin(), stage.closed.end());
  v_smooth_.assign(passage.motion->v_1.begin(), passage.motion->v_1.end());
  h_ = view.report.h;
}

double EventLog::impact_time(const System& system, const Passage& passage, int row) {
  const Stage& m = *passage.motion;
  if (passage.jump != nullptr && passage.jump->located) return passage.t;
  const double h = m.duration;
  return m.t_0 + h * last_fall(system.row_gap(row, m.q_0, m.t_0), h * system.row_rate(row, m.q_0, m.v_0, m.t_0),
                               system.row_gap(row, m.q_1, passage.t),
                               h * system.row_rate(row, m.q_1, m.v_1, passage.t));
}

double EventLog::release_time(const StepView& view, const Passage& passage, int row, const Contact& contact) const {
  const System& system = view.system;
  const Stage& m = *passage.motion;
  if (passage.jump != nullptr && passage.jump->located) return passage.t;
  const double h = view.report.h;
  const double rate_n = system.row_rate(row, m.q_0, m.v_0, m.t_0);
  const double jump = rate_n - system.row_rate(row, m.q_0, v_smooth_, m.t_0);
  const double gain = system.row_rate(row, view.state.q, m.v_1, view.state.t) - rate_n;
  if (contact.steps <= 1 || !(jump > 0) || !(gain > 0) || rate_n > 1e-6 * jump) return m.t_0;
  const double pull = jump / h_, push = gain / h;
  return std::max(contact.began, m.t_0 - 0.5 * h_ + 0.5 * (h_ + h) * pull / (pull + push));
}

void EventLog::write(const StepView& view, const Passage& passage, int row, bool impact, double t,
                     const Contact& contact, double impulse) {
  const System& system = view.system;
  const Stage& m = *passage.motion;
  // where the velocity jumps, and without a jump the end of the step
  const In q = passage.jump != nullptr ? passage.jump->q_1 : In(view.state.q);
  const In v = passage.jump != nullptr ? passage.jump->v_1 : In(view.state.v);
  const ConstraintBlock::Place place = system.row_contact_place(row, q, v, passage.t);
  // inside a subdivided step the number is that of the whole one, which is not done yet
  const long step = view.nominal ? view.state.step : view.state.step + 1;
  file_.cell(t).cell(std::to_string(step)).cell(impact ? "impact" : "release").cell(system.row_name(row));
  for (const Vec3& x : {place.point, place.normal})
    for (int c = 0; c < 3; ++c) file_.cell(x[c]);
  file_.cell(system.row_rate(row, m.q_0, m.v_0, m.t_0));
  file_.cell(system.row_rate(row, q, m.v_1, passage.t));
  file_.cell(system.row_rate(row, q, v, passage.t));
  file_.cell(impulse).cell(contact.impulse);
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
