#include "io/results/postmortem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "contact/law/friction_set.hpp"
#include "core/base/errors.hpp"
#include "core/base/vector_ops.hpp"
#include "core/mechanics/natural_modes.hpp"
#include "core/mechanics/row_conflict.hpp"
#include "integrators/common/failure.hpp"
#include "integrators/common/mixed_newton.hpp"
#include "io/model/contradiction.hpp"
#include "io/results/atomic_file.hpp"
#include "io/results/summary.hpp"
#include "io/results/vtu_output.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t listed = 10;
constexpr int most_equations_for_modes = 6000;  // which take a second

/// Residuals of the last iterations of the last attempt, over their tolerances, oldest first.
std::vector<double> residual_history(const SubproblemReport& sub) {
  std::vector<double> history;
  const int first = std::max(sub.attempt_start, sub.iterations + 1 - SubproblemReport::history_size);
  for (int i = first; i <= sub.iterations; ++i) history.push_back(sub.history_at(i));
  return history;
}

// JSON has no infinity
json json_number(double x) { return std::isfinite(x) ? json(x) : json(fmt::format("{}", x)); }

}  // namespace

PostMortem::PostMortem(const fs::path& results, RunParts parts, bool restart)
    : folder_(results / "postmortem"), parts_(std::move(parts)), restart_(restart) {}

void PostMortem::start(const StepView& view) {
  t_start_ = view.state.t;
  std::error_code error;
  if (restart_) return;
  fs::remove_all(folder_, error);
  at_start_ = deepest(view.state);
}

void PostMortem::rejected(const StepView& view) { trials_.push_back(view.report); }

void PostMortem::finish(const StepView& view, RunStatus status) {
  std::error_code error;
  const bool superseded = status == RunStatus::interrupted && parts_.model.output.checkpoint;
  if (status == RunStatus::completed || superseded) fs::remove_all(folder_, error);
  if (status != RunStatus::failed || trials_.empty()) return;
  fs::create_directories(folder_, error);
  if (error) throw FileError("cannot create " + folder_.string() + ": " + error.message());
  write_checkpoint(folder_ / "state.cbor", parts_);
  write_picture(view);

  const StepReport& last = trials_.back();
  const SubproblemReport* const sub = last.failed_subproblem();
  const std::vector<Residual> residuals = largest_residuals();
  find_hints(view);
  const fs::path results = folder_.parent_path();
  const std::string command =
      fmt::format("carom run {} --restart {} -o {}", shell_word((results / "run.json").string()),
                  shell_word((folder_ / "state.cbor").string()), shell_word((results / "repeated").string()));

  json report = {{"t", last.t},
                 {"h", last.h},
                 {"nominal_step", view.nominal_step},
                 {"step", view.state.step + 1},
                 {"subproblem", sub != nullptr ? sub->name : ""},
                 {"reason", text_of(last.reason)},
                 {"trials", json::array()},
                 {"largest_residuals", json::array()},
                 {"hints", hints_},
                 {"command", command}};
  std::string text = fmt::format(
      "No convergence at t = {:.9g} in step {} (nominal step {:.6g}, smallest tried {:.6g}).\n{}\n\n"
      "Trials: size of the step, sub-problem, iterations, residuals over their tolerances, last ones\n",
      last.t, view.state.step + 1, view.nominal_step, last.h, failure_words(last));
  for (const StepReport& trial : trials_) {
    const SubproblemReport* const s = trial.failed_subproblem();
    json history = json::array();
    std::string words;
    for (const double x : s != nullptr ? residual_history(*s) : std::vector<double>()) {
      history.push_back(json_number(x));
      words += fmt::format(" {:.2g}", x);
    }
    if (s == nullptr) words = std::string(" ") + text_of(trial.reason);
    report["trials"].push_back({{"t", trial.t},
                                {"h", trial.h},
                                {"subproblem", s != nullptr ? s->name : ""},
                                {"reason", text_of(trial.reason)},
                                {"iterations", s != nullptr ? s->iterations : 0},
                                {"active_set_changes", s != nullptr ? s->set_changes : 0},
                                {"residuals", history}});
    text += fmt::format("  {:<12.6g}{:<10}{:>4} {}\n", trial.h, s != nullptr ? s->name : "step",
                        s != nullptr ? s->iterations : 0, words);
  }
  text += "\nLargest residuals of the last trial (share of the largest of their kind)\n";
  for (const Residual& r : residuals) {
    report["largest_residuals"].push_back({{"row", r.name},
                                           {"pointer", r.pointer},
                                           {"kind", r.unit},
                                           {"value", json_number(r.value)},
                                           {"share", json_number(r.relative)}});
    text += fmt::format("  {:<40} {:<18} {:>12.4g}   {:.2f}   {}\n", r.name, r.unit, r.value, r.relative, r.pointer);
  }
  text += "\n";
  for (const std::string& hint : hints_) text += "Hint: " + hint + "\n";
  text += "\nTo repeat the failure:\n  " + command + "\n";
  write_atomically(folder_ / "report.json", report.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  write_atomically(folder_ / "report.txt", text);
}

std::vector<PostMortem::Residual> PostMortem::largest_residuals() const {
  const System& system = parts_.model.system;
  const In r = parts_.integrator.equation_residual(), rows = parts_.integrator.row_residual();

  // equations and rows have different units: divide each by the largest value of its kind
  const auto size = [](double x) { return std::isfinite(x) ? std::abs(x) : HUGE_VAL; };
  double largest[2] = {0, 0};
  for (const double x : r) largest[0] = std::max(largest[0], size(x));
  for (const double x : rows) largest[1] = std::max(largest[1], size(x));
  std::vector<std::pair<double, int>> order;  // (share, equation) or (share, size() + row)
  const auto add = [&](In values, double scale, int first) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double s = size(values[i]);
      if (s > 0) order.emplace_back(s == HUGE_VAL ? 1.0 : s / scale, first + static_cast<int>(i));
    }
  };
  add(r, largest[0], 0);
  add(rows, largest[1], system.size());
  const std::size_t count = std::min(listed, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
      [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });

  std::vector<Residual> residuals;
  for (std::size_t i = 0; i < count; ++i) {
    const int k = order[i].second;
    if (k < system.size())
      residuals.push_back({system.equation_name(k), parts_.model.pointer_of_equation(k), "equation of motion", r[at(k)],
                           order[i].first});
    else
      residuals.push_back({system.row_name(k - system.size()), parts_.model.pointer_of_row(k - system.size()),
                           k - system.size() < system.bilateral() ? "joint" : "contact", rows[at(k - system.size())],
                           order[i].first});
  }
  return residuals;
}

PostMortem::Penetration PostMortem::deepest(const State& state) const {
  const System& system = parts_.model.system;
  Penetration found;
  for (int row = system.bilateral(); row < system.rows(); ++row)
    if (const double gap = system.row_gap(row, state.q, state.t); gap < found.gap) found = {row, gap};
  return found;
}

// Whether a model without closed contacts has motions without resistance in the state that begins a run.
bool PostMortem::moves_freely(const StepView& view) const {
  const System& system = parts_.model.system;
  const State& s = view.state;
  const bool touches = std::ranges::any_of(s.closed, [](std::uint8_t closed) { return closed != 0; });
  if (s.t != t_start_ || touches || system.size() > most_equations_for_modes) return false;
  const NaturalModes natural = natural_modes(system, s.q, s.t, 1, parts_.model.scales.length);
  return natural.left_out.empty() && natural.free_motions > 0;
}

// Names of contacts and stops that are closed, or would be closed after a nominal step.
std::string PostMortem::closing_rows(const StepView& view) const {
  const System& system = parts_.model.system;
  std::string names;
  int count = 0;
  for (int row = system.bilateral(); row < system.rows(); ++row) {
    const State& s = view.state;
    if (system.row_gap(row, s.q, s.t) + view.nominal_step * system.row_rate(row, s.q, s.v, s.t) > 0) continue;
    if (++count <= 3) names += (count > 1 ? ", " : "") + system.row_name(row);
  }
  return count > 3 ? fmt::format("{} and {} more", names, count - 3) : names;
}

// What joints and drivers demand together at the start of the step or at its end, if no motion meets it; empty if one
// does.
std::string PostMortem::contradicting_rows(const StepView& view) const {
  const System& system = parts_.model.system;
  const State& s = view.state;
  const StepReport& last = trials_.back();
  const Vector rest(at(system.size()), 0.0);
  Vector rates(at(system.rows()));
  // the place at the end is known only to the order of the step
  for (const auto& [t, share] : {std::pair(s.t, 1e-6), std::pair(last.t + last.h, 1e-2)}) {
    system.rates(s.q, rest, t, bilateral_rows, rates);
    if (const auto conflict = find_conflict(system, s.q, t, rates, parts_.model.scales.length, 0, share))
      return contradiction(system, *conflict, "velocity");
  }
  return {};
}

void PostMortem::find_hints(const StepView& view) {
  const Model& model = parts_.model;
  const System& system = model.system;
  const StepReport& last = trials_.back();
  const SubproblemReport* const sub = last.failed_subproblem();
  const FailureReason reason = last.reason;

  if (reason == FailureReason::undefined_formula) {
    hints_.emplace_back(
        fmt::format("{} has no finite value at t = {:.9g}: let the run end before, or let a condition choose another "
                    "formula from there on: condition ? a : b",
                    last.failed_item, last.t + last.h));
    return;
  }

  if (reason == FailureReason::jumping_formula) {
    hints_.emplace_back(fmt::format(
        "{} jumps at t = {:.9g}, a motion in no time: let it take a while, as smoothstep(a, b, t) does from a to b",
        last.failed_item, last.t + last.h));
    return;
  }

  if (reason == FailureReason::lost_angle) {
    hints_.emplace_back(fmt::format(
        "the angle of {} passes 2 pi or -2 pi at t = {:.9g}, and a state does not tell its turns: let the run "
        "end before, or count the angle from another place (angle_at_start); a body that turns on has no "
        "use for springs and stops of its angle",
        last.failed_item, last.t + last.h));
    return;
  }

  if (reason == FailureReason::lost_joint) {
    hints_.emplace_back(fmt::format(
        "{} is off by more than the model's length: {} holds constraints at velocity level only. Use a "
        "smaller step; where a driver or an obstacle demands more than the joints can reach, no step helps, as "
        "nsga_decoupled tells",
        last.failed_item, view.integrator.info().name));
    return;
  }

  if (reason == FailureReason::indefinite_mass) {
    hints_.emplace_back(fmt::format(
        "the mass matrix is not positive definite at {} at t = {:.9g}: its formulas need values that masses "
        "can have in all places that the motion reaches",
        last.failed_item, last.t + last.h));
    return;
  }

  if (reason == FailureReason::accumulation) {
    hints_.emplace_back(
        view.integrator.info().name == "event_driven"
            ? fmt::format(
                  "impacts of {} follow each other in ever shorter times, which no event-driven method passes: let "
                  "them end in contact by a higher /integrator/rest_speed (0 unless given), or take a method with time "
                  "steps, such as nsga_decoupled",
                  last.failed_item)
            : fmt::format(
                  "{} bounces too often in the shortest step for impacts at their instants: use a smaller step, "
                  "or \"impact\": \"published\"",
                  last.failed_item));
    return;
  }

  if (reason == FailureReason::penetration_at_start) {
    hints_.emplace_back(
        fmt::format("{} must not penetrate at the start: move the body, or take a method with time steps, such as "
                    "nsga_decoupled, whose first step corrects the position",
                    last.failed_item));
    return;
  }

  // hints about the step
  const double rotation = last.rotation / last.h * view.nominal_step, travel = last.speed * view.nominal_step;
  const bool far = std::isfinite(travel) && travel > 0.1 * model.scales.length, large_step = rotation > 0.3 || far;
  if (rotation > 0.3)
    hints_.emplace_back(fmt::format("a body turns by {:.2g} rad in a nominal step: use a smaller one", rotation));
  if (far)
    hints_.emplace_back(
        fmt::format("bodies move by {:.2g} in a nominal step, the model's length is {:.2g}: use a smaller "
                    "step",
                    travel, model.scales.length));
  if (reason == FailureReason::not_finite || reason == FailureReason::state_not_finite)
    hints_.emplace_back(
        "numbers overflow: a formula, a stiffness or a mass is out of range, or the step is far too large");

  // what penetrates at the start is thrown out by methods whose forces know the corrected positions
  const bool no_contacts = last.failed >= 0 && at(last.failed) < view.integrator.solvers().size() &&
                           !view.integrator.solvers()[at(last.failed)]->setup().rows.has(RowKind::unilateral);
  const Penetration now = deepest(view.state);
  const bool penetrates = now.gap < -1e-6 * model.scales.length, at_start = view.state.step == 0;
  if (reason == FailureReason::unexplained_energy && !view.integrator.info().dynamic)
    hints_.emplace_back(
        "the equilibria that were found take more energy than the loads give: Newton's method has passed the one at "
        "hand, as may happen where contacts alone hold a body or keep it from buckling: use smaller increments, hold "
        "the body by a soft spring, or let a dynamic run with dampers come to rest");
  else if (reason == FailureReason::unexplained_energy && !(penetrates && at_start)) {
    const bool ends = last.failed_item.find("too few elements") != std::string::npos;
    hints_.emplace_back(fmt::format(
        "at every step size that was tried the motion gains energy that no force gives{}: {}",
        last.failed_item.empty() ? "" : ", most of it in " + last.failed_item,
        ends                                  ? "use more elements"
        : has_key("/integrator/rho_infinity") ? "use a smaller step, more elements, or /integrator/rho_infinity below 1"
                                              : "use a smaller step or more elements"));
  }
  if (reason == FailureReason::no_friction_solution && view.integrator.info().dynamic)
    hints_.push_back(
        "no impulses of the contacts around " + last.failed_item +
        (system.row_kinds().meets(friction_rows)
             ? std::string(" fulfil Coulomb's law: bodies may be jammed") +
                   (system.driven() ? ", as by a driver that goes on where a contact or stop ends the way" : "") +
                   ", or restitutions and friction contradict each other; try a smaller step, friction or restitution" +
                   std::string(view.integrator.info().name.starts_with("nsga_decoupled") ? "" : ", or nsga_decoupled")
             : std::string(" keep the bodies apart: they may be jammed between obstacles that leave them no room, or "
                           "restitutions contradict each other")));
  if (reason == FailureReason::unclear_friction)
    hints_.emplace_back(fmt::format(
        "in this place the joints hold each other by forces that the motion does not determine, and the load of {} is "
        "one of them: leave out rows that others hold already (a spherical or cylindrical joint in the place of a "
        "revolute one), keep away from dead points, or use friction without \"coefficient\", which needs no force",
        last.failed_item));
  if (reason == FailureReason::too_many_subdivisions)
    hints_.emplace_back(
        "step after step had to be halved again and again, with little progress: use a smaller step, and look at the "
        "parts that move fastest");

  if (reason == FailureReason::inverted_element)
    hints_.emplace_back(
        "an element would be turned inside out, or the ends of an element of a beam by nearly half a turn against each "
        "other: use a smaller step, for solids larger elements or a law that resists it (neo_hookean), for beams more "
        "elements");

  if (reason == FailureReason::path_lost)
    hints_.emplace_back(
        "no equilibrium lies at the next length of the path: it turns sharply, or a contact carries the loads whole, "
        "which then move nothing: use \"control\": \"load\" from here");

  if (reason == FailureReason::missed_contact)
    hints_.emplace_back(fmt::format("{} moves by a good part of its radius or thickness in a step: use a smaller step",
                                    last.failed_item));

  // the model
  const char* const projected = "start without penetration, or let the model project its start (initial_state/project)";
  if (penetrates && (at_start || !no_contacts))
    hints_.emplace_back(fmt::format("{} penetrates by {:.3g} before the step{}{}", system.row_name(now.row), -now.gap,
                                    at_start ? ": " : "", at_start ? projected : ""));
  if (view.state.step > 0 && at_start_.gap < -1e-3 * model.scales.length)
    hints_.emplace_back(fmt::format("{} penetrated by {:.3g} at the start, which the first step has corrected: {}",
                                    system.row_name(at_start_.row), -at_start_.gap, projected));
  // at a large step the tangent may be singular without redundant constraints
  if (std::string contradicting = contradicting_rows(view); !contradicting.empty()) {
    hints_.push_back(std::move(contradicting));
  } else if (last.redundant && !large_step && view.integrator.info().dynamic && !(penetrates && at_start)) {
    const std::string closing = closing_rows(view);
    hints_.emplace_back(
        closing.empty() ? "constraints are redundant: see carom check for those that repeat others, or the joints have "
                          "come to a dead point, where a step should not end"
                        : "joints or drivers leave no way to what closes here, or repeat each other: " + closing);
  }
  if (reason == FailureReason::singular_matrix) {
    // at a small step the matrix consists mainly of masses and constraints
    if (large_step || (system.bilateral() == 0 && !system.has_massless_equation()))
      hints_.emplace_back("the tangent is singular at this step size or at this state: use a smaller step");
    else
      hints_.emplace_back(
          "constraints contradict or repeat each other, or a component without mass is held by nothing: "
          "see carom check");
    if (view.integrator.info().name.starts_with("nsga_monolithic") && system.has_forces(force_internal))
      hints_.emplace_back(
          "nsga_monolithic has masses and stiffnesses in one matrix, where those of small, stiff parts are too far "
          "apart: try nsga_coupled, which solves its parts in turn");
  }

  // the path of loads
  if (!view.integrator.info().dynamic) {
    const bool friction = system.row_kinds().meets(friction_rows),
               gives_way = reason == FailureReason::nothing_holds_the_loads || reason == FailureReason::singular_matrix;
    if (friction && (gives_way || reason == FailureReason::no_friction_solution))
      hints_.emplace_back(
          "the loads may be more than friction holds, so that bodies slide; and where nothing but contacts with "
          "friction keeps a body from moving, statics do not find every equilibrium: a dynamic run with dampers shows "
          "whether bodies slide or come to rest");
    else if (gives_way || moves_freely(view))
      hints_.emplace_back(
          "bodies can move without resistance: fix them, let springs or contacts hold them, or give them mass, without "
          "which not even the direction in which they would go is known");
    else if (!friction && view.state.t == t_start_ && !restart_ && trials_.size() > 1)
      hints_.emplace_back(
          "not even the smallest increment of the loads has an equilibrium near the start: give places nearer to "
          "equilibrium, or another /integrator/step, which leads another way; a dynamic run with dampers shows "
          "where the model comes to rest");
    else if (!friction && view.state.t > last.t - last.h && trials_.size() > 1 && model.simulation.max_subdivisions > 0)
      hints_.emplace_back(fmt::format(
          "the loads may have reached a limit point, beyond which there is no equilibrium nearby (snap-through, "
          "buckling): {}a dynamic run shows the snap. Bodies that swing far into their places may find the way with "
          "another /integrator/step",
          view.integrator.solvers().front()->setup().follows_path
              ? ""
              : "\"control\": \"arc_length\" follows the path beyond it, and "));
  }

  // the iteration
  if (sub != nullptr && reason == FailureReason::no_convergence) {
    const std::vector<double> history = residual_history(*sub);
    const std::size_t count = history.size();
    bool falling = count > 1;
    for (std::size_t i = count > 3 ? count - 3 : 1; i < count; ++i) falling = falling && history[i] < history[i - 1];
    const auto solvers = view.integrator.solvers();
    const FrictionSet* const friction =
        at(last.failed) < solvers.size() ? solvers[at(last.failed)]->friction() : nullptr;
    if (friction != nullptr && friction->has_joints() && sub->attempt_iterations() >= iterations_allowed())
      hints_.emplace_back(
          "the friction of joints follows their reactions, which is found by repetition, slowly where short bearings "
          "nearly jam: raise /integrator/newton/max_iterations");
    else if (count > 4 && history.back() < 100 && history.back() > 0.5 * history[count - 3])
      hints_.emplace_back(
          "the residual stays just above its tolerance, which rounding may not let it reach: loosen "
          "/integrator/newton/tolerance or constraint_tolerance");
    else if (!large_step && falling && sub->attempt_iterations() >= iterations_allowed() &&
             history.back() < 0.9 * history[count > 3 ? count - 4 : 0])
      hints_.emplace_back("the iteration still made progress: raise /integrator/newton/max_iterations");
    if (view.integrator.info().in_turn)
      hints_.emplace_back(fmt::format(
          "this method corrects motion, positions and velocities in turn and leaves their coupling out, which "
          "converges slowly where stiff bodies meet contacts or joints: use a smaller step, {}or nsga_decoupled",
          view.integrator.info().name == "nsga_coupled" ? "nsga_monolithic, which has the same equations, " : ""));
    // more changes than rows: some rows changed repeatedly
    if (sub->set_changes > std::max(system.conditional(), sub->iterations / 2))
      hints_.emplace_back("contacts kept opening and closing: a smaller step has fewer of them change at once");
  }
  if (model.simulation.max_subdivisions == 0)
    hints_.emplace_back("no smaller step was tried: /integrator/max_subdivisions allows none");
  else if (trials_.size() > 1 && hints_.empty())
    hints_.emplace_back("halving the step did not help: look at the residuals above, and at the model there");
}

bool PostMortem::has_key(const char* pointer) const {
  return json::parse(parts_.model_text).contains(json::json_pointer(pointer));
}

// By the model; a method may try fewer in an attempt.
int PostMortem::iterations_allowed() const {
  return json::parse(parts_.model_text).value(json::json_pointer("/integrator/newton/max_iterations"), 0);
}

void PostMortem::write_picture(const StepView& view) const {
  const System& system = parts_.model.system;
  VtuOutput picture(parts_.model, folder_, "state");
  VtuPiece piece = picture.fill(view);
  const std::vector<int> nodes = picture.point_nodes();
  const std::size_t force = piece.add_point_field("residual_force", 3),
                    moment = piece.add_point_field("residual_moment", 3),
                    rows = piece.add_point_field("constraint_residual", 1);
  const In r = parts_.integrator.equation_residual(), g = parts_.integrator.row_residual();
  for (std::size_t p = 0; p < nodes.size(); ++p)
    for (int c = 0; c < 6 && nodes[p] >= 0; ++c)
      if (const int e = system.dofs().equation(nodes[p], c); e >= 0)
        piece.point_fields[c < 3 ? force : moment].values[3 * p + at(c % 3)] = r[at(e)];
  const std::vector<int>& contacts = picture.contact_rows();
  const std::size_t first = nodes.size() - contacts.size();
  for (std::size_t i = 0; i < contacts.size(); ++i) piece.point_fields[rows].values[first + i] = g[at(contacts[i])];
  VtuSeries series(folder_, "residual");
  series.write(view.state.t, piece);
  series.close();
}

}  // namespace carom
