#include "io/model/model_remarks.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"
#include "core/mechanics/saddle_point.hpp"
#include "io/model/build_context.hpp"
#include "io/model/connectivity.hpp"
#include "io/model/stability_remark.hpp"
#include "io/model/types/registry.hpp"
#include "io/model/unresolved_functions.hpp"

namespace carom {

using nlohmann::json;

namespace {

using Remarks = std::vector<std::string>;

constexpr double most_unresolved = 0.1;
constexpr double most_turn = 0.3;                  // of an obstacle in a step, rad
constexpr double largest_rho = 0.99;               // with which alternating forces decay in some hundred steps
constexpr int most_equations_for_locking = 20000;  // beyond, a factorisation of everything costs more than steps

void moved_start(const InitialProjection& projection, Remarks& remarks) {
  const auto moved = [&](const ProjectionReport& report, const char* format) {
    if (report.iterations > 0)
      remarks.push_back(fmt::format(fmt::runtime(format), report.translation, report.rotation));
  };
  moved(projection.position,
        "initial positions were projected: bodies moved by up to {:.3g}, turned by up to {:.3g} rad");
  moved(projection.velocity,
        "initial velocities were projected: changed by up to {:.3g}, angular velocities by up to {:.3g}");
  moved(projection.statics,
        "the run starts from static equilibrium: bodies moved by up to {:.3g}, turned by up to {:.3g} rad");
}

void unstable_start(const Model& model, Remarks& remarks) {
  if (!model.projection.equilibrium) return;
  if (std::string remark = stability_remark(model, "start"); !remark.empty()) remarks.push_back(std::move(remark));
}

/// The first component of the initial velocity that is given although it is fixed; -1: none.
int fixed_component(const BuildContext& context, int node) {
  const DofMap& dofs = context.model.system.dofs();
  const auto& [v, Omega] = context.velocities()[at(node)];
  const int components = dofs.kind(node) == NodeKind::frame ? 6 : dofs.kind(node) == NodeKind::point ? 3 : 0;
  for (int c = 0; c < components; ++c)
    if (dofs.equation(node, c) < 0 && (c < 3 ? v[c] : Omega[c - 3]) != 0) return c;
  return -1;
}

void velocities_of_fixed_nodes(const BuildContext& context, Remarks& remarks) {
  for (const BodyInfo& body : context.model.bodies)
    for (std::size_t k = 0; k < body.nodes.size(); ++k) {
      const int c = fixed_component(context, body.nodes[k]);
      if (c < 0) continue;
      const std::string where = body.nodes.size() > 1 ? fmt::format(" at {}.node.{}", body.name, k) : "";
      remarks.push_back(fmt::format("the initial {} of {} is left out where it is fixed{}",
                                    c < 3 ? "velocity" : "angular velocity", body.name, where));
      break;
    }
}

void unused_ground_points(const json& root, Remarks& remarks) {
  std::set<std::string> used;
  for (const char* list : {"joints", "springs"})
    for (const json& entry : root[list])
      for (const json& of : entry["of"]) used.insert(text(of));
  for (const json& point : root["ground"])
    if (const std::string name = text(point["name"]); !used.contains("ground." + name))
      remarks.push_back(fmt::format("nothing uses the point {} of the ground", name));
}

// Without any force of its own a body of coordinates may have been meant to fall.
void coordinates_without_forces(const json& bodies, const Model& model, Remarks& remarks) {
  if (!(model.system.gravity().norm() > 0)) return;
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    if (model.bodies[i].in_space || bodies[i].contains("potential") || bodies[i].contains("forces")) continue;
    remarks.push_back(
        fmt::format("gravity does not act on coordinates, such as those of {}: their forces and potentials are "
                    "formulas",
                    model.bodies[i].name));
    return;
  }
}

// Of a gap at the start that is negative. event_driven corrects joints, but has no law for contacts that do not
// approach.
const char* what_follows(const MethodInfo& method) {
  return method.exact_positions && method.parts_contacts
             ? "the first step has to correct it"
             : "the method has its law at velocity level and does not move bodies apart";
}

void penetrations(const Model& model, const MethodInfo& method, Remarks& remarks) {
  for (const RowGroup& contact : model.contacts) {
    double deepest = 0;
    int deepest_row = -1, count = 0;
    for (const int row : contact.rows) {
      const double gap = model.system.row_gap(row, model.state.q, model.state.t);
      if (gap < -1e-9 * model.scales.length) ++count;
      if (gap < deepest) deepest = gap, deepest_row = row;
    }
    if (count == 0) continue;
    const std::string others = count > 1 ? fmt::format(", the deepest of {},", count) : "";
    remarks.push_back(fmt::format("contact {}{} starts with a penetration of {:.6g}; {}",
                                  model.system.row_name(deepest_row), others, -deepest, what_follows(method)));
  }
}

void passed_stops(const Model& model, const MethodInfo& method, Remarks& remarks) {
  const Vector weights = row_weights(model.system, model.scales.length);
  for (const RowGroup& stop : model.stops)
    if (const double gap = model.system.row_gap(stop.rows[0], model.state.q, model.state.t);
        gap < -1e-9 * model.scales.length * weights[at(stop.rows[0])])
      remarks.push_back(
          fmt::format("stop {} is passed by {:.6g} at the start; {}", stop.name, -gap, what_follows(method)));
}

void open_joints(const Model& model, const MethodInfo& method, Remarks& remarks) {
  const System& system = model.system;
  const State& state = model.state;
  if (system.bilateral() == 0) return;
  Vector g(at(system.rows())), rate(at(system.rows()));
  system.gaps(state.q, state.t, bilateral_rows, g);
  system.rates(state.q, state.v, state.t, bilateral_rows, rate);
  const std::size_t n = at(system.bilateral());
  const Vector weights = row_weights(system, model.scales.length);
  const auto remark = [&](In values, double scale, const char* format) {
    std::size_t worst = 0;
    const auto size = [&](std::size_t i) { return std::abs(values[i]) / weights[i]; };
    for (std::size_t i = 1; i < values.size(); ++i)
      if (size(i) > size(worst)) worst = i;
    if (size(worst) > 1e-9 * scale)
      remarks.push_back(
          fmt::format(fmt::runtime(format), std::abs(values[worst]), system.row_name(static_cast<int>(worst))));
  };
  remark(
      In(g).first(n), model.scales.length,
      method.exact_positions
          ? "the joints do not fit at the start: largest gap {:.3g} ({}); the first step closes it"
          : "the joints do not fit at the start: largest gap {:.3g} ({}), which the method, at velocity level, keeps; "
            "\"project\": \"positions\" in initial_state closes it");
  if (method.dynamic)
    remark(In(rate).first(n), model.scales.speed,
           "the initial velocities do not fit the joints: largest rate {:.3g} ({}); the first step corrects them");
}

// The forces by which smooth motions follow a jump of a velocity alternate over some steps, and with them the limits of
// friction in joints.
void jumping_velocities(const BuildContext& context, Remarks& remarks) {
  if (!context.model.system.row_kinds().has(RowKind::joint_friction)) return;
  for (const BuildContext::NamedFunction& f : context.functions)
    if (f.moves != BuildContext::Moves::nothing && f.moves != BuildContext::Moves::surface && f.kinks)
      remarks.push_back(fmt::format(
          "the velocity of {} jumps at the points of its table: joints with friction do not resolve the impulses of "
          "such jumps; take \"interpolation\": \"cubic\", or compare with moreau_jean",
          f.name));
}

// Multipliers of joints at position level alone have the root -rho_infinity: with 1 nothing damps what a start or a
// driver excites.
void undamped_forces(const json& integrator, const Model& model, Remarks& remarks) {
  const bool index_3 = integrator.value("formulation", "") == "index_3" && !integrator.value("fully_implicit", false) &&
                       integrator.value("rho_infinity", 0.0) > largest_rho;
  if (model.system.bilateral() == 0 || !(index_3 || integrator.value("implicit", false))) return;
  remarks.emplace_back(
      "accelerations, forces of joints and torques of drivers may alternate from step to step and never settle: "
      "nothing damps them in this method; positions and velocities are right. Use rho_infinity 0.9 or another "
      "formulation of generalized_alpha for forces");
}

// A unit of friction on a joint changes the load of its bearing, in the motion that it makes. Where the friction that
// this load allows is as large again, the joint may stick under any force along its axis or slide as well: the law has
// several motions (the drawer effect, Painleve's paradox of joints).
void locking_joints(const Model& model, Remarks& remarks) {
  const System& system = model.system;
  const State& state = model.state;
  if (!system.row_kinds().has(RowKind::joint_friction) || system.has_massless_equation() ||
      system.size() > most_equations_for_locking)
    return;
  SaddlePoint saddle;
  saddle.analyse(system, {system.symmetric(), false}, nullptr, model.scales.length, true);
  Linearisation request;
  request.c_M = 1;
  request.q_M = request.q = state.q.data();
  request.v = state.v.data();
  request.t = state.t;
  request.row_scale = model.scales.mass;
  if (!saddle.factorise(request)) return;
  saddle.set_active({}, state.q, state.t, nullptr);
  Vector force(at(system.size())), acceleration(force);
  const Vector none(at(system.bilateral()), 0.0);
  SparseRow G;
  double most = 1;
  int worst = -1;
  for (int first = system.bilateral(); first < system.rows(); ++first) {
    if (system.row_kind(first) != RowKind::joint_friction || system.row_place(first).row != 0) continue;
    // the loads that the rows of the joint make, and the largest that friction of unit size in any direction makes
    const int n = system.row_block(first).rows();
    std::vector<Vector> responses(at(n), none);
    Eigen::MatrixXd loads(std::tuple_size_v<BearingLoad>, n);
    for (int r = 0; r < n; ++r) {
      system.row_gradient(first + r, state.q, state.t, nullptr, G);
      set_zero(force);
      for (std::size_t k = 0; k < G.value.size(); ++k) force[at(G.equation[k])] += G.value[k];
      if (!saddle.solve(force, none, {}, acceleration, responses[at(r)], {}, {1e-9, 0})) return;
      const BearingLoad load = system.bearing_load(first, state.q, responses[at(r)]);
      for (std::size_t k = 0; k < load.size(); ++k) loads(static_cast<Eigen::Index>(k), r) = load[k];
    }
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> directions(loads.transpose() * loads);
    Vector multipliers(none);
    for (int r = 0; r < n; ++r) axpy(directions.eigenvectors()(r, n - 1), responses[at(r)], multipliers);
    const double again = system.friction_limit(first, state.q, multipliers, 0, state.t);
    if (!(again > most)) continue;
    most = again;
    worst = first;
  }
  if (worst < 0) return;
  remarks.push_back(
      fmt::format("{} may lock itself: it loads the bearing, which allows {:.3g} times as much friction. While it "
                  "locks, more than one motion obeys the law: steps and methods may find different ones",
                  system.row_name(worst), most));
}

// What a formula misses whose other variables stay at their values at the start. Where it does not change there, they
// are larger by one: a factor may be zero at the start.
double missed_by(const BuildContext::TimedFormula& f, Given given, const TimeSettings& time) {
  std::vector<double> variables = f.at_start, slopes(variables.size());
  const auto acts = [&](double t) {
    variables.back() = t;
    return given == Given::place ? (f.formula.gradient(variables, slopes), slopes.back()) : f.formula.value(variables);
  };
  const auto share = [&] { return unresolved_share(acts, {}, given, time.start, time.step, time.duration); };
  if (const double at_start = share(); at_start > 0) return at_start;
  for (double& x : variables) x += 1;
  return share();
}

// Steps see functions of time at their ends only.
void unresolved(const BuildContext& context, Remarks& remarks) {
  const TimeSettings time = time_settings(context.root()["integrator"]);
  const auto remark = [&](const std::string& name, Given given, double share) {
    if (share > most_unresolved)
      remarks.push_back(
          fmt::format("{} changes within steps, which see the values at their ends only: {} between them differ by "
                      "{:.2g} of what acts; use a smaller step",
                      name, given == Given::force ? "impulses" : "velocities", share));
  };
  for (const BuildContext::TimedFormula& f : context.timed_formulas) {
    const Given given = f.place ? Given::place : Given::force;
    remark(f.name, given, missed_by(f, given, time));
  }
  for (const BuildContext::NamedFunction& f : context.functions) {
    using Moves = BuildContext::Moves;
    const Given given = f.moves == Moves::nothing   ? Given::force
                        : f.moves == Moves::surface ? Given::velocity
                                                    : Given::place;
    remark(f.name, given, unresolved_share(f.function, given, time.start, time.step, time.duration));
    if (f.moves != Moves::turn) continue;
    if (const double turn = largest_change(f.function, time.start, time.step, time.duration); turn > most_turn)
      remarks.push_back(
          fmt::format("the obstacle of {} turns by {:.2g} rad in a step: its contacts are inaccurate at this step size",
                      f.name, turn));
  }
}

}  // namespace

std::vector<std::string> model_remarks(const BuildContext& context) {
  const json& root = context.root();
  const Model& model = context.model;
  const MethodInfo& method = method_of(root["integrator"]);
  Remarks remarks;
  moved_start(model.projection, remarks);
  unstable_start(model, remarks);
  velocities_of_fixed_nodes(context, remarks);
  unused_ground_points(root, remarks);
  if (!method.dynamic && max_abs(model.state.v) > 0)
    remarks.emplace_back("velocities have no part in statics: the given ones are taken for zero");
  for (std::string& remark : piece_remarks(model)) remarks.push_back(std::move(remark));
  coordinates_without_forces(root["bodies"], model, remarks);
  penetrations(model, method, remarks);
  passed_stops(model, method, remarks);
  if (method.dynamic) unresolved(context, remarks);
  if (method.dynamic) jumping_velocities(context, remarks);
  if (method.dynamic) locking_joints(model, remarks);
  undamped_forces(root["integrator"], model, remarks);
  open_joints(model, method, remarks);
  return remarks;
}

}  // namespace carom
