#include "io/model/start_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/index.hpp"
#include "core/mechanics/row_conflict.hpp"
#include "integrators/common/constraint_switches.hpp"
#include "integrators/common/projection.hpp"
#include "io/model/build_context.hpp"
#include "io/model/contradiction.hpp"

namespace carom {

using nlohmann::json;

namespace {

// Each key is in its range, but squares, products or a formula at the start may overflow.
void add_not_finite(ModelIssues& issues, const std::string& pointer, const std::string& what) {
  issues.add(pointer, what +
                          " is not finite at the start: values are too large or too small for double precision, or a "
                          "formula has no value there");
}

bool has_finite_motion(const BuildContext& context, int node) {
  const DofMap& dofs = context.model.system.dofs();
  const double* x = context.model.state.q.data() + dofs.configuration_offset(node);
  const auto& [v, Omega] = context.velocities()[at(node)];
  double sum = v.squaredNorm() + Omega.squaredNorm();
  for (int k = 0; k < (context.in_space(node) ? 3 : 1); ++k) sum += x[k] * x[k];
  if (!std::isfinite(sum)) return false;
  if (dofs.kind(node) != NodeKind::frame) return true;
  const double norm = x[3] * x[3] + x[4] * x[4] + x[5] * x[5] + x[6] * x[6];
  return std::abs(norm - 1) < 1e-9;
}

}  // namespace

void check_motion(BuildContext& context) {
  const std::vector<BodyInfo>& bodies = context.model.bodies;
  for (std::size_t i = 0; i < bodies.size(); ++i)
    if (!std::ranges::all_of(bodies[i].nodes, [&](int node) { return has_finite_motion(context, node); }))
      add_not_finite(context.issues, "/bodies/" + std::to_string(i), "its place, rotation or velocity");
}

void check_rows(const Model& model, ModelIssues& issues) {
  const System& system = model.system;
  const State& state = model.state;
  // a projection may have moved coordinates to places without values
  if (const FormulaFault fault = system.formula_fault(state.q, state.v, state.t, state.q, state.v, state.t);
      !fault.where.empty())
    issues.add("", fault.mass ? "the mass matrix is not positive definite at " + fault.where + " at the start"
                              : fault.where + " has no finite value or derivative at the start");
  Vector gaps(at(system.rows())), rates(gaps);
  system.gaps(state.q, state.t, all_rows, gaps);
  system.rates(state.q, state.v, state.t, all_rows, rates);
  const auto check = [&](const auto& groups) {
    for (const RowGroup& group : groups) {
      const bool finite = std::all_of(group.rows.begin(), group.rows.end(), [&](int row) {
        return std::isfinite(gaps[at(row)]) && std::isfinite(rates[at(row)]);
      });
      if (!finite) add_not_finite(issues, group.pointer, "its gap or the rate of the gap");
    }
  };
  check(model.joints);
  check(model.contacts);
  check(model.constraints);
}

void check_demands(const json& integrator, const Model& model, ModelIssues& issues) {
  const System& system = model.system;
  const State& state = model.state;
  const double length = model.scales.length;
  const auto refuse = [&](const RowConflict& conflict, const char* what) {
    issues.add(model.pointer_of_row(conflict.rows.back()), contradiction(system, conflict, what));
  };
  Vector b(at(system.rows()));
  system.gaps(state.q, state.t, bilateral_rows, b);
  const double tolerance =
      integrator.contains("newton") ? integrator["newton"]["constraint_tolerance"].get<double>() : 1e-11;
  const double least = tolerance * length + 1e-14 * system.largest_position(state.q);
  if (const auto conflict = find_conflict(system, state.q, state.t, b, length, least, 0)) {
    // at a singular position a larger motion may close the gaps
    Vector q = state.q;
    if (!project_positions(system, model.scales, state.t, q).converged) refuse(*conflict, "position");
    return;
  }
  if (!system.driven()) return;
  const Vector rest(at(system.size()), 0.0);
  for (const bool acceleration : {false, true}) {
    if (acceleration)
      system.biases(state.q, rest, state.t, bilateral_rows, b);
    else
      system.rates(state.q, rest, state.t, bilateral_rows, b);
    if (const auto conflict = find_conflict(system, state.q, state.t, b, length, 0, 1e-6))
      return refuse(*conflict, acceleration ? "acceleration" : "velocity");
  }
}

void check_overflow(const Scales& s, ModelIssues& issues) {
  // sums and products of values in range may overflow
  if (!std::isfinite(s.length) || !std::isfinite(s.speed) || !std::isfinite(s.mass) || !std::isfinite(s.force))
    issues.add("", "lengths, speeds, masses or gravity are so large that their products are no finite numbers");
}

void check_scales(const Model& model, ModelIssues& issues) {
  const Scales& s = model.scales;
  for (const double x : {s.length, s.speed, s.mass, s.force})
    if (!std::isfinite(x) || !(x > 0))
      return add_not_finite(issues, "", "a scale of the model (length, speed, mass, force)");
  const State& state = model.state;
  const Energies e = model.system.energies(state.q, state.v, state.t);
  const Momenta m = model.system.momenta(state.q, state.v);
  if (!std::isfinite(e.kinetic + e.elastic + e.potential)) add_not_finite(issues, "", "the energy");
  if (!m.linear.allFinite() || !m.angular.allFinite()) add_not_finite(issues, "", "the momentum");
}

void check_modes(const json& root, const Model& model, ModelIssues& issues) {
  const auto add = [&](const std::string& body, const std::string& fault) {
    const auto info = std::ranges::find(model.bodies, body, &BodyInfo::name);
    if (info != model.bodies.end())
      return issues.add(fmt::format("/bodies/{}/switching", info - model.bodies.begin()), fault);
    const json& groups = root["switching"];
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (text(groups[i]["name"]) == body) issues.add(fmt::format("/switching/{}/modes", i), fault);
  };
  ConstraintSwitches(model.system).for_faults(model.state, model.simulation.duration, model.scales, add);
}

}  // namespace carom
