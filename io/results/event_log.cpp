#include "io/results/event_log.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <utility>

#include "contact/law/cone_problem.hpp"
#include "integrators/common/constraint_switches.hpp"

namespace carom {

namespace {

constexpr double rounding = 1e-12;  // of an impulse
// columns behind t, step, event and contact
constexpr int contact_columns = 11, friction_columns = 3, switch_columns = 4;

bool located(const Stage* jump) { return jump != nullptr && jump->kind == Stage::Kind::jump && jump->located; }

std::vector<CsvColumn> event_columns(const Model& model) {
  std::vector<CsvColumn> out;
  const auto add = [&](const char* unit, std::initializer_list<const char*> names) {
    for (const char* name : names) out.push_back({name, model.output.unit(unit)});
  };
  add("s", {"t"});
  add("", {"step", "event", "contact"});
  add("m", {"x", "y", "z"});
  add("", {"normal_x", "normal_y", "normal_z"});
  add("m/s", {"gap_velocity_start", "gap_velocity_smooth", "gap_velocity_end"});
  add("N s", {"impulse", "total_impulse"});
  if (model.system.row_kinds().meets(friction_rows)) {
    add("m/s", {"slip_velocity"});
    add("N s", {"friction_impulse"});
    add("J", {"friction_work"});
  }
  if (ConstraintSwitches::count(model.system) > 0) {
    add("", {"mode_before", "mode", "cosine"});
    add("J", {"kinetic_energy_change"});
  }
  return out;
}

// Inside a subdivided step the number of the whole step, which is not complete yet.
long step_number(const StepView& view) { return view.nominal ? view.state.step : view.state.step + 1; }

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
      friction_(model.system.row_kinds().meets(friction_rows)),
      switches_(ConstraintSwitches::count(model.system) > 0),
      joints_(model.system.row_kinds().has(RowKind::joint_friction)),
      file_(file, event_columns(model)) {}

void EventLog::start(const StepView& view) {
  file_.open(resume_);
  closed_ = view.state.closed;
  contacts_.resize(closed_.size());
  v_smooth_.resize(at(view.system.size()), 0.0);
}

void EventLog::after_step(const StepView& view) {
  note_switches(view);
  const StepReport& report = view.report;
  if (report.closed == 0 && report.releases == 0 && report.impacts == 0 && !joints_) return;
  Passage passage{nullptr, nullptr, view.state.t};
  const std::span<const Stage> stages = view.integrator.stages();
  for (std::size_t i = 0; i < contacts_.size(); ++i) {
    const int row = model_.system.bilateral() + static_cast<int>(i);
    contacts_[i].located_work = 0;
    const double impulse = view.state.impulse[at(row)];
    double& forces = contacts_[i].force_impulse = impulse;
    if (impulse == 0) continue;
    for (const Stage& stage : stages)
      if (stage.kind == Stage::Kind::jump) forces -= stage.multipliers[at(row)];
    if (std::abs(forces) <= rounding * std::abs(impulse)) forces = 0;
  }
  // impulses may act before the first motion
  for (const Stage& stage : stages)
    if (passage.motion == nullptr && stage.kind == Stage::Kind::motion) passage.motion = &stage;
  const Stage* last = nullptr;
  for (const Stage& stage : stages)
    if (!stage.closed.empty()) last = &stage;
  for (const Stage& stage : stages) {
    if (stage.kind == Stage::Kind::motion) passage.motion = &stage;
    passage.jump = stage.kind == Stage::Kind::jump ? &stage : nullptr;
    passage.t = stage.t_1 == report.t + report.h ? view.state.t : stage.t_1;
    if (!stage.closed.empty()) note(view, passage, stage, &stage == last);
  }
  // Events are rare: flush, so that a watcher sees them immediately.
  if (report.impacts > 0 || report.releases > 0) file_.flush();
}

// `last`: of the stages of the step that tell which contacts are closed.
void EventLog::note(const StepView& view, const Passage& passage, const Stage& stage, bool last) {
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    const bool before = closed_[i] != 0, now = stage.closed[i] != 0;
    if (!before && !now) continue;
    const int row = model_.system.bilateral() + static_cast<int>(i);
    if (const RowKind kind = model_.system.row_kind(row); friction_ && friction_rows.has(kind)) {
      if (kind == RowKind::joint_friction && model_.system.row_place(row).row == 0)
        note_joint(view, passage, i, last, closed_[i] != stage.closed[i],
                   stage.closed[i] == static_cast<std::uint8_t>(SlipState::slip));
      continue;
    }
    double impulse = passage.jump != nullptr ? stage.multipliers[at(row)] : 0.0;
    Contact& contact = contacts_[i];
    // forces belong to a contact that was closed before, or is at the end
    if (before || last) impulse += std::exchange(contact.force_impulse, 0.0);
    if (now) {
      if (!before)
        contact = {impact_time(view.system, passage, row), 0, 0, 0, contact.located_work, contact.force_impulse};
      contact.steps += 1;
    }
    contact.impulse += impulse;
    const bool rubs = friction_ && model_.system.row_block(row).rows() > 1;
    if (rubs) add_friction_work(view, passage, row, last, contact);
    if (now) {
      if (!before) write(view, passage, row, "impact", contact.began, contact, impulse);
      if (before && rubs && closed_[i + 1] != stage.closed[i + 1]) {
        const bool slips = stage.closed[i + 1] == static_cast<std::uint8_t>(SlipState::slip);
        write(view, passage, row, slips ? "slip" : "stick", view.state.t, contact, impulse);
      }
    } else {
      write(view, passage, row, "release", release_time(view, passage, row, contact), contact, impulse);
    }
  }
  closed_.assign(stage.closed.begin(), stage.closed.end());
  v_smooth_.assign(passage.motion->v_1.begin(), passage.motion->v_1.end());
  h_ = view.report.h;
}

void EventLog::note_joint(const StepView& view, const Passage& passage, std::size_t i, bool last, bool changes,
                          bool slips) {
  const int row = model_.system.bilateral() + static_cast<int>(i);
  add_friction_work(view, passage, row, last, contacts_[i]);
  if (changes) write(view, passage, row, slips ? "slip" : "stick", passage.t, contacts_[i], 0);
}

double EventLog::impact_time(const System& system, const Passage& passage, int row) {
  const Stage& m = *passage.motion;
  if (located(passage.jump)) return passage.t;
  const double h = m.duration;
  return m.t_0 + h * last_fall(system.row_gap(row, m.q_0, m.t_0), h * system.row_rate(row, m.q_0, m.v_0, m.t_0),
                               system.row_gap(row, m.q_1, passage.t),
                               h * system.row_rate(row, m.q_1, m.v_1, passage.t));
}

double EventLog::release_time(const StepView& view, const Passage& passage, int row, const Contact& contact) const {
  const System& system = view.system;
  const Stage& m = *passage.motion;
  if (located(passage.jump)) return passage.t;
  // a force up to an event; without one the contact has bounced before
  if (m.located && m.multipliers[at(row)] != 0) return passage.t;
  const double h = view.report.h;
  const double rate_n = system.row_rate(row, m.q_0, m.v_0, m.t_0);
  const double jump = rate_n - system.row_rate(row, m.q_0, v_smooth_, m.t_0);
  const double gain = system.row_rate(row, view.state.q, m.v_1, view.state.t) - rate_n;
  if (contact.steps <= 1 || !(jump > 0) || !(gain > 0) || rate_n > 1e-6 * jump) return m.t_0;
  const double pull = jump / h_, push = gain / h;
  return std::max(contact.began, m.t_0 - 0.5 * h_ + 0.5 * (h_ + h) * pull / (pull + push));
}

// The rows of a contact or of a joint that have work: those of friction.
int EventLog::first_slip_row(const System& system, int row) {
  return system.row_kind(row) == RowKind::joint_friction ? 0 : 1;
}

// That of an impact at its instant, and behind the last stage what the whole step has beyond.
void EventLog::add_friction_work(const StepView& view, const Passage& passage, int row, bool last, Contact& contact) {
  const int first = first_slip_row(view.system, row), rows = view.system.row_block(row).rows();
  double work = 0;
  if (located(passage.jump)) {
    for (int k = first; k < rows; ++k) work += stage_work(view.system, *passage.jump, row + k);
    contact.located_work += work;
  }
  if (last) {
    work -= contact.located_work;
    for (int k = first; k < rows; ++k) work += row_work(view, row + k);
  }
  contact.friction_work += work;
}

// Of an impact at its instant, or of the rest of the step.
EventLog::Slip EventLog::slip_of(const StepView& view, const Passage& passage, int row) {
  Slip slip;
  const System& system = view.system;
  const State& state = view.state;
  const int first = first_slip_row(system, row), rows = system.row_block(row).rows(),
            end = first == 0 ? rows : std::min(rows, slip_rows);
  for (int k = first; k < end; ++k) {
    double rate = 0, impulse = 0;
    if (located(passage.jump)) {
      const Stage& jump = *passage.jump;
      rate = system.row_rate(row + k, jump.q_1, jump.v_1, jump.t_1);
      impulse = jump.multipliers[at(row + k)];
    } else {
      rate = system.row_rate(row + k, state.q, state.v, state.t);
      impulse = state.impulse[at(row + k)];
      for (const Stage& stage : view.integrator.stages())
        if (located(&stage)) impulse -= stage.multipliers[at(row + k)];
    }
    slip.velocity = std::hypot(slip.velocity, rate);
    slip.impulse = std::hypot(slip.impulse, impulse);
  }
  return slip;
}

void EventLog::write(const StepView& view, const Passage& passage, int row, const char* event, double t,
                     const Contact& contact, double impulse) {
  const System& system = view.system;
  const Stage& m = *passage.motion;
  // where the velocity jumps, and without a jump the end of the step
  const In q = passage.jump != nullptr ? passage.jump->q_1 : In(view.state.q);
  const In v = passage.jump != nullptr ? passage.jump->v_1 : In(view.state.v);
  const ConstraintBlock::Place place = system.row_contact_place(row, q, v, passage.t);
  file_.cell(t).cell(std::to_string(step_number(view))).cell(event).cell(system.row_name(row));
  for (const Vec3& x : {place.point, place.normal})
    for (int c = 0; c < 3; ++c) file_.cell(x[c]);
  // a jump that begins the step, with which the motion begins
  const bool begins = passage.jump != nullptr && passage.jump->v_1.data() == m.v_0.data();
  const bool gap = system.row_kind(row) == RowKind::unilateral;
  const auto rate = [&](In q_r, In v_r, double t_r) { return gap ? system.row_rate(row, q_r, v_r, t_r) : 0.0; };
  const double before = rate(q, begins ? passage.jump->v_0 : m.v_1, passage.t);
  const bool at_instant = located(passage.jump);
  file_.cell(at_instant ? before : rate(m.q_0, begins ? passage.jump->v_0 : m.v_0, m.t_0));
  file_.cell(before);
  file_.cell(rate(q, v, passage.t));
  file_.cell(impulse).cell(contact.impulse);
  if (friction_) {
    const Slip slip = slip_of(view, passage, row);
    file_.cell(slip.velocity).cell(slip.impulse).cell(contact.friction_work);
  }
  for (int k = 0; switches_ && k < switch_columns; ++k) file_.empty_cell();
  file_.end_row();
}

void EventLog::note_switches(const StepView& view) {
  const std::span<const SwitchEvent> events = view.integrator.switches();
  for (const SwitchEvent& e : events) {
    file_.cell(e.t).cell(std::to_string(step_number(view))).cell("switch").cell(e.body);
    for (int k = 0; k < contact_columns + (friction_ ? friction_columns : 0); ++k) file_.empty_cell();
    file_.cell(e.from).cell(e.to).cell(e.cosine).cell(e.energy);
    file_.end_row();
  }
  if (!events.empty()) file_.flush();
}

void EventLog::save(NamedArrays& record) {
  file_.save(record);
  Vector contacts;
  for (const Contact& c : contacts_) contacts.insert(contacts.end(), {c.began, c.steps, c.impulse});
  record.set("contacts", std::move(contacts));
  Vector work;
  for (const Contact& c : contacts_) work.push_back(c.friction_work);
  if (friction_) record.set("friction work", std::move(work));
  record.set("smooth velocity", v_smooth_);
  record.set_number("step", h_);
}

void EventLog::restore(const NamedArrays& record, bool same_files) {
  if (same_files) resume_ = CsvFile::place(record);
  const Vector *const contacts = record.find("contacts"), *const v_smooth = record.find("smooth velocity");
  if (contacts == nullptr || v_smooth == nullptr) throw std::invalid_argument("EventLog: the record does not fit");
  contacts_.resize(contacts->size() / 3);
  for (std::size_t i = 0; i < contacts_.size(); ++i)
    contacts_[i] = {(*contacts)[3 * i], (*contacts)[3 * i + 1], (*contacts)[3 * i + 2], 0};
  if (const Vector* const work = record.find("friction work"); work != nullptr && work->size() == contacts_.size())
    for (std::size_t i = 0; i < contacts_.size(); ++i) contacts_[i].friction_work = (*work)[i];
  v_smooth_ = *v_smooth;
  h_ = record.number("step");
}

}  // namespace carom
