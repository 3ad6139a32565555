#include "io/results/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/linear/blas.hpp"
#include "integrators/common/constraint_switches.hpp"
#include "integrators/common/element_contacts.hpp"

namespace carom {

using nlohmann::json;

namespace {

// slip that is judged, over the length scale; what positions and velocities may tell differently, over the slip
constexpr double least_slip = 1e-4, largest_mismatch = 0.03;
// energies of rounding, over mass and speed squared of the model
constexpr double least_energy = 1e-24, least_judged = 1e-13;
// energy that impacts give or, with restitution 1, take, and that the method takes, over the energies in the model
constexpr double impact_error = 0.05, least_friction_gain = 1e-3, most_taken = 0.1;
// the same that impacts take of the nodes of bars, beams and solids
constexpr double most_in_nodes = 0.3;
// the same of vibrations that change their sign from step to step
constexpr double most_alternating = 0.1;
// growth of the energy in free flight without translation, over itself, or over a share of the energies
constexpr double most_free_growth = 0.05, least_free = 1e-4;
constexpr double most_given = 0.23;  // by explicit methods
constexpr double most_gained = 0.1;  // what other methods give in the meantime, over energies they have not given
constexpr double half_turn = 3;      // nearly
constexpr double far_turn = 1;       // rad in a step
constexpr double deep = 0.1;         // the same of penetrations that no contact has stopped
constexpr int few_steps = 3;         // of a run, which no other of its steps confirm

// Energies below are rounding: nothing moves.
double least_energy_of(const Scales& scales, double least) { return least * scales.mass * scales.speed * scales.speed; }

std::string duration_words(double seconds) {
  if (!(seconds < 1e9)) return "decades";
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  if (seconds < 3600)
    return fmt::format("{}:{:02} min", static_cast<int>(seconds) / 60, static_cast<int>(seconds) % 60);
  return fmt::format("{}:{:02} h", static_cast<int>(seconds) / 3600, static_cast<int>(seconds) / 60 % 60);
}

/// Breaks the line behind commas, so that no line is longer than `width`; further lines begin with `indent` blanks.
std::string folded(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t comma = text.find(", ", begin);
    const std::size_t end = comma == std::string::npos ? text.size() : comma + 2;
    const std::size_t length = end - begin - (comma == std::string::npos ? 0 : 1);  // without the blank at the end
    if (column > indent && column + length > width) {
      out.back() = '\n';
      out.append(indent, ' ');
      column = indent;
    }
    out.append(text, begin, end - begin);
    column += end - begin;
    begin = end;
  }
  return out;
}

double largest_penetration(const RunStatistics& s) {
  return std::isfinite(s.smallest_gap) && s.smallest_gap < 0 ? -s.smallest_gap : 0.0;
}

bool several_restitutions(const System& system) {
  std::set<double> values;
  for (int row = system.bilateral(); row < system.rows(); ++row)
    if (system.row_kind(row) == RowKind::unilateral) values.insert(system.contact_parameters(row).restitution);
  return values.size() > 1;
}

bool may_rebound(const System& system) {
  for (int row = system.bilateral(); row < system.rows(); ++row)
    if (system.contact_parameters(row).restitution > 0) return true;
  return false;
}

}  // namespace

const char* status_word(RunStatus status) {
  switch (status) {
    case RunStatus::completed:
      return "completed";
    case RunStatus::failed:
      return "failed";
    case RunStatus::interrupted:
      return "interrupted";
  }
  return "";
}

// ---- energy

EnergyWatch::EnergyWatch(const SimulationOptions& options)
    : every_(std::max(1L, std::lround(options.duration / options.step / 1000))) {}

void EnergyWatch::start(const StepView& view) {
  sample(view);
  if (!restored_) initial = largest = final;
}

void EnergyWatch::restore(const NamedArrays& record, bool) {
  const Vector* const bounds = record.find("bounds");
  if (bounds == nullptr || bounds->size() != 2) throw std::invalid_argument("EnergyWatch: the record does not fit");
  initial = bounds->front();
  largest = bounds->back();
  every_ = std::max(1L, static_cast<long>(record.number("stride")));
  restored_ = true;
}

void EnergyWatch::sample(const StepView& view) {
  const EnergyPoint* const end = view.integrator.step_end();
  final = sum(end != nullptr ? end->energies : view.system.energies(view.state.q, view.state.v, view.state.t));
  if (final > largest) largest = final;
}

// ---- progress

Progress::Progress(double t_start, double t_end, bool terminal)
    : t_start_(t_start), t_end_(t_end), terminal_(terminal) {}

void Progress::start(const StepView& view) {
  t_0_ = view.state.t;
  step_0_ = view.state.step;
  tenth_ = static_cast<int>(share(t_0_) * 10 + 1e-9);
  begin_ = last_ = std::chrono::steady_clock::now();
}

void Progress::after_step(const StepView& view) {
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    if (now - last_ < std::chrono::milliseconds(200)) return;
  } else {
    const int tenth = static_cast<int>(share(view.state.t) * 10 + 1e-9);
    const bool slow = now - last_ > std::chrono::seconds(60);
    if (!slow && (tenth <= tenth_ || tenth >= 10 || now - begin_ < std::chrono::seconds(1))) return;
    tenth_ = tenth;
  }
  last_ = now;
  show(view, now);
}

void Progress::show(const StepView& view, std::chrono::steady_clock::time_point now) {
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  const double t = view.state.t, done = t - t_0_;
  const double rate = static_cast<double>(view.state.step - step_0_) / elapsed;
  const double left = done > 0 ? elapsed * (t_end_ - t) / done : 0;
  const std::string line = fmt::format("{:5.1f} %   t = {:.6g}   {:.3g} steps/s   {} left   {} closed", 100 * share(t),
                                       t, rate, duration_words(left), view.report.closed);
  if (terminal_)
    fmt::print(stderr, "\r{}\033[K", line);
  else
    fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

void Progress::rejected(const StepView& view) {
  if (!terminal_) return;
  fmt::print(stderr, "\r t = {:.6g}: {}; the step is halved\033[K", view.report.t, failure_words(view.report));
}

void Progress::finish(const StepView&, RunStatus) {
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

// ---- summary

std::string summary_text(const Model& model, const RunAccount& account) {
  const RunStatistics& s = account.statistics;
  const Scales& scales = model.scales;
  json iterations;
  const std::vector<std::string>& names = account.subproblems;
  for (std::size_t i = 0; i < names.size(); ++i)
    iterations[names[i]] = {{"mean", s.mean_iterations(i)}, {"max", s.iterations[i].max}};
  json methods = json::object();
  for (const auto& [problem, method] : account.linear_methods) methods[problem] = method;
  json out = {
      {"status", status_word(account.status)},
      {"steps", s.nominal_steps},
      {"substeps", s.steps},
      {"time", {{"start", account.t_start}, {"end", account.t_end}}},
      {"iterations", iterations},
      {"linear",
       {{"methods", methods},
        {"analyses", account.linear.analyses},
        {"factorisations", account.linear.factorisations},
        {"solves", account.linear.solves},
        {"fallbacks", account.linear.fallbacks},
        {"cg_matrices", account.linear.cg_matrices},
        {"cg_solves", account.linear.cg_solves},
        {"cg_iterations", account.linear.cg_iterations},
        {"cg_slow", account.linear.cg_slow},
        {"cg_failed", account.linear.cg_failed},
        {"gmres_solves", account.linear.gmres_solves},
        {"multigrid_matrices", account.linear.multigrid},
        {"factor_matrices", account.linear.factor_matrices},
        {"factors_built", account.linear.factors_built}}},
      {"subdivided_steps", s.subdivided_steps},
      {"rejected_steps", s.rejected},
      {"residuals",
       {{"position", s.position_residual / scales.length}, {"velocity", s.velocity_residual / scales.speed}}},
      {"max_penetration", largest_penetration(s)},
      {"impacts", s.impacts},
      {"set_fallbacks", s.set_fallbacks},
      {"friction_fallbacks", s.friction_fallbacks},
      {"frictionless_steps", s.frictionless_steps},
      {"slip", {{"way", s.contact_slip.way}, {"mismatch", s.contact_slip.mismatch}}},
      {"joint_slip", {{"way", s.joint_slip.way}, {"mismatch", s.joint_slip.mismatch}}},
      {"snaps", s.snaps},
      {"redundant_steps", s.redundant_steps},
      {"stalled", {{"steps", s.stalled_steps}, {"residual", s.stalled_residual}}},
      {"energy", {{"initial", account.energy_initial}, {"final", account.energy_final}, {"max", account.energy_max}}},
      {"scales", {{"length", scales.length}, {"speed", scales.speed}, {"mass", scales.mass}}},
      {"size",
       {{"equations", model.system.size()},
        {"bilateral", model.system.bilateral()},
        {"unilateral", model.system.conditional()}}},
      {"wall_seconds",
       {{"total", account.wall.total},
        {"setup", account.wall.setup},
        {"step", account.wall.step},
        {"output", account.wall.output}}},
      {"warnings", account.warnings},
      {"versions", {{"carom", CAROM_VERSION}, {"format", 1}, {"blas", blas_library().name}}},
  };
  for (std::size_t i = 0; i < names.size(); ++i) out["wall_seconds"][names[i]] = s.subproblem_seconds(i);
  if (account.status == RunStatus::failed) {
    const StepReport& r = account.last_report;
    json failure = {{"t", r.t}, {"h", r.h}, {"reason", text_of(r.reason)}};
    if (const SubproblemReport* sub = r.failed_subproblem()) failure["subproblem"] = sub->name;
    if (const std::string row = worst_row(model, r); !row.empty()) failure["worst"] = row;
    failure["postmortem"] = "postmortem/report.txt";
    out["failure"] = failure;
  }
  if (account.ledger) {
    const EnergyBalance& b = *account.ledger;
    json& energy = out["energy"];
    energy["loads"] = b.loads;
    energy["drivers"] = b.drivers;
    energy["damping"] = b.damping;
    energy["numerical"] = b.numerical;
    energy["position_correction"] = b.position;
    energy["impacts"] = b.impacts;
    energy["contacts"] = b.contacts;
    if (b.free_energy > 0) {
      energy["free_energy"] = b.free_energy;
      energy["free_growth"] = b.free_growth;
    }
    if (is_flexible(model.system)) energy["alternating"] = b.alternating;
    if (model.system.row_kinds().meets(friction_rows)) {
      energy["friction"] = b.friction;
      energy["friction_gain"] = b.friction_gain;
    }
    if (ConstraintSwitches::count(model.system) > 0) {
      energy["switches"] = b.switches;
      energy["switch_correction"] = b.switch_corrections;
    }
    energy["constraints"] = b.constraints;
    energy["force_correction"] = b.corrections;
    energy["closure"] = b.closure;
    energy["growth"] = s.growth;
    energy["scale"] = b.scale;
    energy["given"] = b.given;
    energy["explained"] = b.explained;
    energy["through"] = b.through;
  }
  for (const Expectation& e : account.expectations) {
    json entry = {{"probe", e.probe}, {"time", e.time}, {"value", e.value}, {"tolerance", e.tolerance}};
    if (e.found) entry["found"] = *e.found;
    entry["status"] = !e.found ? "not reached" : e.met() ? "met" : "missed";
    out["expectations"].push_back(std::move(entry));
  }
  if (!account.ended_by.empty())
    out["ended_by"] = {{"criterion", account.ended_by}, {"key", account.ended_by_key}, {"t", account.t_end}};
  if (!account.restarted_from.empty()) out["restarted_from"] = account.restarted_from;
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string failure_words(const StepReport& r) {
  const SubproblemReport* const sub = r.failed_subproblem();
  return (sub != nullptr ? std::string(sub->name) + " sub-problem: " : "") + text_of(r.reason);
}

std::string worst_row(const Model& model, const StepReport& r) {
  if (!r.failed_item.empty()) return r.failed_item;
  // name the residual that is further from its tolerance
  const SubproblemReport* const sub = r.failed_subproblem();
  const bool rows = r.worst_row >= 0 && (r.worst_equation < 0 || sub == nullptr || sub->constraint > sub->residual);
  return rows                    ? model.system.row_name(r.worst_row)
         : r.worst_equation >= 0 ? model.system.equation_name(r.worst_equation)
                                 : "";
}

std::string bounces_remark(const Model& model, const BouncingContacts::Returns& returns) {
  if (returns.contact < 0) return "";
  return fmt::format(
      "bodies came back to {} {} times within six steps: between contacts, or in vibrations of so few steps, impacts "
      "are too few; use a smaller step, or impacts at their instants (nsga_decoupled with \"impact\": \"located\", "
      "event_driven)",
      model.system.row_name(model.system.bilateral() + returns.contact), returns.count);
}

std::vector<std::string> balance_remarks(const Model& model, const MethodInfo& method, const EnergyBalance& balance) {
  const System& system = model.system;
  std::vector<std::string> remarks;
  // what drivers and loads have given passes through the model
  const double energies = balance.scale + std::max(0.0, balance.drivers) + std::max(0.0, balance.loads);
  const double least = least_energy_of(model.scales, least_judged);
  const bool judged = balance.scale > least;
  const double taken = (method.long_impacts ? balance.contacts : 0.0) - balance.error();
  if (judged && taken > most_taken * energies)
    remarks.push_back(
        fmt::format("{} itself took {:.2g} of the energies in the model: the step does not resolve {}; use a smaller "
                    "step{}, until this share is small",
                    method.name, taken / energies,
                    balance.impacts != 0 && model.system.has_forces(force_internal)
                        ? "the vibrations that impacts cause, and rebounds are not right"
                        : "vibrations or the motion at large",
                    method.name == "moreau_jean" ? ", or nsga_decoupled" : ""));
  if (judged && balance.element_impacts < -most_in_nodes * energies)
    remarks.push_back(fmt::format(
        "nodes of bars, beams or solids lost {:.2g} of the energies in the model by impacts: how much depends "
        "on the step and the elements; use smaller ones, until this share is small",
        -balance.element_impacts / energies));
  if (balance.edited != 0)
    remarks.push_back(
        fmt::format("the edit of the model changed the energy by {:+.3g} J where the run went on: the energy at the "
                    "start contains this change, earlier rows of energy.csv do not",
                    balance.edited));
  // vibrations have as much elastic energy as kinetic energy
  if (judged && 2 * balance.alternating > most_alternating * energies)
    remarks.push_back(
        fmt::format("vibrations that change their sign from step to step hold {:.2g} of the energies in the model: the "
                    "step does not resolve them, and rebounds may not be right; use a smaller step",
                    2 * balance.alternating / energies));
  const double of_free = std::max(balance.free_energy, least_free * balance.scale);
  if (judged && balance.free_growth > most_free_growth * of_free)
    remarks.push_back(fmt::format(
        "bodies gained {:.2g} of the energy of their rotations and vibrations, which the step does not resolve; use "
        "a smaller step",
        balance.free_growth / of_free));
  // near the largest stable step the energy that explicit methods conserve does not bound that of the model
  const double gained = balance.numerical - balance.first_step;
  if (judged && method.explicit_step && gained > most_given * energies)
    remarks.push_back(
        fmt::format("{} itself gave {:.2g} of the energies in the model: use a smaller step, further below the largest "
                    "stable one",
                    method.name, gained / energies));
  // impacts cannot take more than there is: the method gives them what they take
  if (const double bound = std::max(energies, least); balance.error() > bound && balance.impacts < -bound)
    remarks.push_back(
        fmt::format("impacts took {:.2g} times the energies in the model, and {} itself gave {:.2g} times: the "
                    "step does not resolve the impacts; use a smaller step",
                    -balance.impacts / energies, method.name, balance.error() / energies));
  // one remark on what the method gives is enough; impacts over several steps take and give by turns, and the energies
  // of a method of first order are inaccurate where its motion is not
  if (const double other = std::max(std::max(balance.explained, balance.through) + balance.dissipated(), least);
      remarks.empty() && judged && !method.explicit_step && !method.long_impacts && method.name != "moreau_jean" &&
      balance.given > most_gained * other)
    remarks.push_back(
        fmt::format("{} itself gave {:.2g} of the energies in the model: the step does not resolve the motion; use a "
                    "smaller step, more elements, or more numerical damping",
                    method.name, balance.given / other));
  if (may_rebound(system) && balance.friction_gain > std::max(least_friction_gain * balance.scale, least))
    remarks.push_back(fmt::format(
        "impacts with friction gave {:.3g} of energy, since restitutions of normal and tangents differ (Kane)",
        balance.friction_gain));
  bool elastic = balance.scale > 0;  // no impact may take energy
  for (int row = system.bilateral(); row < system.rows() && elastic; ++row) {
    const ContactParameters law = system.contact_parameters(row);
    elastic = system.row_kind(row) != RowKind::unilateral || (law.restitution == 1 && law.friction == 0);
  }
  const double gain = balance.impacts - balance.friction_gain;
  if (!(std::abs(gain) > std::max(impact_error * balance.scale, least)) || (gain < 0 && !elastic)) return remarks;
  remarks.push_back(fmt::format(
      "impacts {} {:.2g} of the energies in the model, {}: the law takes the velocities at the start of the step for "
      "those before the impact; use a smaller step, nsga_decoupled with \"impact\": \"located\", or event_driven",
      gain > 0 ? "gave" : "took", std::abs(gain) / balance.scale,
      gain > 0 ? "which no restitution does" : "although restitution is 1"));
  return remarks;
}

std::vector<std::string> step_remarks(const Model& model, const MethodInfo& method, const RunStatistics& s) {
  std::vector<std::string> remarks;
  const double drift = s.position_residual / model.scales.length;
  if (!method.exact_positions && drift > 1e-3)
    remarks.push_back(fmt::format(
        "constraints are off by up to {:.2g} of the model's length: {} holds them at velocity level only; a smaller "
        "step reduces this, nsga_decoupled avoids it",
        drift, method.name));
  const double depth = -s.smallest_gap / model.scales.length;
  if (!method.exact_positions && depth > std::max(deep, 2 * drift))  // drift contains that of closed contacts
    remarks.push_back(
        fmt::format("obstacles are penetrated by up to {:.2g} of the model's length: {} stops bodies in the step after "
                    "that which reaches the obstacle, and does not move them apart; unless this is the start, use a "
                    "smaller step",
                    depth, method.name));
  if (method.name == "carpenter" && !method.explicit_step && s.impacts > 0)
    remarks.emplace_back(
        "the implicit variant of carpenter is unstable in impacts, which give or take energy without cause: it serves "
        "comparisons only");
  if (method.name == "nsga_pva (strategy 2)")
    remarks.emplace_back(
        "nsga_pva took strategy 2: the model has friction, and contacts of strategy 3 press in the smooth motion, "
        "which has no friction");
  if (method.name.starts_with("nsga_decoupled (DSn)") && model.system.row_kinds().has(RowKind::unilateral) &&
      model.system.has_forces(force_damping))
    remarks.emplace_back(
        "without force corrections dampers feel the motion through obstacles, which contacts take back: results are "
        "right for small steps only");
  // the models of the papers stay below 0.02; the work of drivers is only known by the trapezoidal rule
  if (s.growth > (model.system.driven() ? 0.25 : 0.03)) {
    const bool late_impacts = method.name == "nsga_decoupled" && !method.events_in_stages && s.impacts > 0;
    remarks.push_back(
        fmt::format("the energy grew by up to {:.2g} of the energies in the model, without cause or by impacts: use a "
                    "smaller step, more elements, or more numerical damping{}{}",
                    s.growth, late_impacts ? ", or the key \"impact\": \"located\"" : "",
                    s.impacts > 0 && !method.events_in_stages && several_restitutions(model.system)
                        ? "; contacts with different restitution that are struck at once gain energy by Newton's law "
                          "of impacts: nsga_decoupled takes impacts one after the other"
                        : ""));
  }
  for (const SlipSum* slip : {&s.contact_slip, &s.joint_slip}) {
    const bool joints = slip == &s.joint_slip;
    // contacts of a method with friction on velocities alone have chords in the place of arcs
    if ((!joints && !method.exact_positions) || !(slip->way > least_slip * model.scales.length) ||
        !(slip->mismatch > largest_mismatch * slip->way))
      continue;
    remarks.push_back(
        fmt::format("{} slip by {:.2g} in all, {}{:.2g}{}: friction is not resolved; use a smaller step{}",
                    joints ? "joints" : "contacts", slip->way,
                    joints ? "" : "but their positions and their velocities tell slips that differ by ", slip->mismatch,
                    joints ? " of this while they stick, or otherwise by their positions than by their velocities" : "",
                    model.system.has_forces(force_internal)
                        ? ", or a smaller rho_infinity or damping against vibrations that friction drives"
                        : ""));
  }
  if (s.frictionless_steps > 0)
    remarks.push_back(
        fmt::format("in {} of the shortest steps no reactions fulfilled Coulomb's law, and contacts moved without "
                    "friction: bodies may be jammed; compare with other steps",
                    s.frictionless_steps));
  if (s.snaps > 0)
    remarks.push_back(fmt::format(
        "in {} of the smallest increments the model snapped to an equilibrium far away, which need not be the "
        "one that a motion reaches: a dynamic run with dampers decides",
        s.snaps));
  if (s.stalled_residual > 0.01)
    remarks.push_back(fmt::format(
        "rounding left residuals of up to {:.2g} of the forces in {} steps: forces and motions so small are "
        "not resolved beside stiff members",
        s.stalled_residual, s.stalled_steps));
  if (const BlasLibrary blas = blas_library(); blas_is_used() && !blas.openblas)
    remarks.push_back(fmt::format(
        "matrices were factorised with the BLAS {}: OpenBLAS takes a half of the time or less (Debian: install "
        "libopenblas-serial-dev and build again)",
        blas.name));
  if (method.dynamic && s.steps > 0 && s.steps <= few_steps && model.state.step <= few_steps &&
      model.state.t >= model.simulation.duration && s.largest_speed > 0)
    remarks.push_back(
        fmt::format("the run has only {}: nothing tells whether this resolves the motion; compare with a "
                    "smaller step",
                    s.steps == 1 ? "one step" : fmt::format("{} steps", s.steps)));
  // quaternions follow a body on the shorter way from step to step
  const bool contacts = model.system.conditional() > 0;
  if (s.largest_rotation > half_turn &&
      std::ranges::any_of(model.joints, [](const JointInfo& joint) { return joint.angle != nullptr; }))
    remarks.push_back(fmt::format("a body turned by {:.2g} rad in a step: angles of joints may be wrong by whole turns",
                                  s.largest_rotation));
  else if (!contacts && s.largest_rotation > far_turn)
    remarks.push_back(fmt::format(
        "a body turned by {:.2g} rad in a step: unless it only turns about an axis that stays, the motion is "
        "not resolved; use a smaller step",
        s.largest_rotation));
  // the impact law reflects the rate at the start of the step, which is inaccurate in a fast rotation
  if (contacts && s.largest_rotation > 0.3)
    remarks.push_back(fmt::format("a body turned by {:.2g} rad in a step: impacts are inaccurate at this step size",
                                  s.largest_rotation));
  return remarks;
}

std::string closing_table(const Model& model, const RunAccount& account, bool verbose) {
  const RunStatistics& s = account.statistics;
  const Scales& scales = model.scales;
  const double steps = std::max(1.0, static_cast<double>(s.steps));
  std::string t;
  const auto row = [&](const char* label, const std::string& value) {
    t += fmt::format("  {:<26}{}\n", label, folded(value, 28, 79));
  };
  row("steps", fmt::format("{}{}", s.nominal_steps,
                           s.subdivided_steps > 0
                               ? fmt::format("   ({} subdivided, {} trials rejected)", s.subdivided_steps, s.rejected)
                               : ""));
  row("time", fmt::format("{:.6g} to {:.6g}", account.t_start, account.t_end));
  if (!account.ended_by.empty()) row("ended by", account.ended_by);
  row("wall time", fmt::format("{:.3g} s, {:.3g} us per step", account.wall.total, 1e6 * account.wall.step / steps));
  if (verbose)
    row("  of", fmt::format("set-up {:.3g}, steps {:.3g}, output {:.3g} s", account.wall.setup, account.wall.step,
                            account.wall.output));
  const auto iterations = [&](std::size_t i) {
    return fmt::format("{:.2f} mean, {} max", s.mean_iterations(i), s.iterations[i].max) +
           (verbose ? fmt::format("   ({:.3g} s)", s.subproblem_seconds(i)) : "");
  };
  for (std::size_t i = 0; i < account.subproblems.size(); ++i)
    row(((i == 0 ? "iterations  " : "            ") + account.subproblems[i]).c_str(), iterations(i));
  std::string linear =
      fmt::format("{} factorisations, {} solves", account.linear.factorisations, account.linear.solves);
  if (account.linear.cg_solves > 0)
    linear += fmt::format(", {} by conjugate gradients ({} iterations)", account.linear.cg_solves,
                          account.linear.cg_iterations);
  if (verbose) row("linear systems", linear);
  row("constraints  position",
      fmt::format("{:.2g} of the length {:.3g}", s.position_residual / scales.length, scales.length));
  row("             velocity",
      fmt::format("{:.2g} of the speed {:.3g}", s.velocity_residual / scales.speed, scales.speed));
  if (model.system.conditional() > 0) {
    row("largest penetration", fmt::format("{:.2g}", largest_penetration(s)));
    row("impacts", fmt::format("{}", s.impacts));
  }
  if (s.set_fallbacks > 0)
    row("active sets", fmt::format("cycled in {} steps, whose smooth motion left contacts out", s.set_fallbacks));
  if (s.friction_fallbacks > 0) row("friction", fmt::format("contradictory slip in {} steps", s.friction_fallbacks));
  if (s.redundant_steps > 0)
    row("redundant constraints", fmt::format("in {} steps; forces are those of least norm", s.redundant_steps));
  if (s.stalled_steps > 0)
    row("rounding", fmt::format("residuals stalled in {} steps, at {:.2g} of the sum of their terms at most",
                                s.stalled_steps, s.stalled_residual));
  row("energy", fmt::format("{:.6g} to {:.6g}, {:.6g} at most", account.energy_initial, account.energy_final,
                            account.energy_max));
  if (account.ledger) {
    const EnergyBalance& b = *account.ledger;
    const auto words = [&](const EnergyBalance::Parts& parts) {
      std::string text;
      for (const auto& [name, work] : parts)
        if (std::abs(work) > 1e-12 * b.scale) text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", name, work);
      return text.empty() ? "nothing" : text;
    };
    const double error = b.error();
    // where nothing moves, the energies of rounding are no measure
    const double moving = least_energy_of(scales, least_energy);
    const auto share = [&](double work) {
      return b.scale > moving ? fmt::format("{:.2g} of the energies", work / b.scale) : fmt::format("{:.2g}", work);
    };
    row("  work of", words({{"loads", b.loads},
                            {"drivers", b.drivers},
                            {"damping", b.damping},
                            {"friction", b.friction},
                            {"impacts", b.impacts},
                            {"switches", b.switches}}));
    row("  error of the method", b.scale > moving ? fmt::format("{:.4g}, {}", error, share(std::abs(error)))
                                                  : fmt::format("{:.4g}; nothing moves", error));
    if (verbose) row("    of", words(b.errors()));
    row("  closure", share(b.largest_closure) + " (tolerances of iterations)");
  }
  if (!account.expectations.empty()) {
    const auto& all = account.expectations;
    const auto met = std::count_if(all.begin(), all.end(), [](const Expectation& e) { return e.met(); });
    const auto missed = std::count_if(all.begin(), all.end(), [](const Expectation& e) { return e.found && !e.met(); });
    const long open = static_cast<long>(all.size()) - met - missed;
    row("expectations",
        fmt::format("{} met, {} missed{}", met, missed, open > 0 ? fmt::format(", {} not reached", open) : ""));
  }
  return t;
}

}  // namespace carom
