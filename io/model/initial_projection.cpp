#include "io/model/initial_projection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/vector_ops.hpp"
#include "core/mechanics/row_conflict.hpp"
#include "integrators/common/constraint_switches.hpp"
#include "integrators/common/projection.hpp"
#include "integrators/methods/static_equilibrium.hpp"
#include "io/model/contradiction.hpp"
#include "io/model/types/registry.hpp"

namespace carom {

namespace {

constexpr int most_attempts = 20;  // to project positions, each with the contacts that the last attempt has missed
constexpr const char* project_key = "/initial_state/project";
constexpr const char* equilibrium_key = "/initial_state/equilibrium";

std::string failure_text(const System& system, const ProjectionReport& report, const char* what) {
  std::string message = fmt::format("cannot make the {} fit: ", what);
  if (report.singular >= 0) {
    const bool row = report.singular >= system.size();
    return message + "the matrix is singular at " +
           (row ? system.row_name(report.singular - system.size()) : system.equation_name(report.singular));
  }
  message += fmt::format("{} in {} iterations", report.reason, report.iterations);
  if (report.worst_row >= 0)
    message += fmt::format("; {} is off by {:.3g}", system.row_name(report.worst_row), report.residual);
  return message;
}

// Joints and drivers that contradict each other where the projection of positions has ended.
std::string contradiction_text(const System& system, const State& state, double length) {
  Vector g(static_cast<std::size_t>(system.rows()));
  system.gaps(state.q, state.t, bilateral_rows, g);
  const auto conflict = find_conflict(system, state.q, state.t, g, length, 1e-9 * length, 0);
  return conflict ? "; " + contradiction(system, *conflict, "position") : "";
}

/// Empty, or the reason why there are no such positions.
std::string project_start_positions(const Scales& scales, Model& model) {
  System& system = model.system;
  State& state = model.state;
  ProjectionReport& report = model.projection.position;
  // bodies that the projection moves into each other are contacts of the next attempt
  const Vector start = state.q;
  std::string missed;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    state.q = start;
    report = project_positions(system, scales, state.t, state.q);
    if (!report.converged)
      return failure_text(system, report, "positions") + contradiction_text(system, state, scales.length);
    missed = system.missed_contact(state.q, state.t, state.q, state.t, 0);
    system.find_candidates(state.q, state.v, state.t, 0);
    if (missed.empty()) break;
  }
  if (!missed.empty()) return "no positions were found in which no bodies of " + missed + " overlap";
  system.set_initial_configuration(state.q);
  return "";
}

// The largest changes of places and rotations of the nodes.
void measure_changes(const DofMap& dofs, In before, In after, ProjectionReport& report) {
  for (int node = 0; node < dofs.nodes(); ++node) {
    const double* const a = before.data() + dofs.configuration_offset(node);
    const double* const b = after.data() + dofs.configuration_offset(node);
    const NodeKind kind = dofs.kind(node);
    double moved = 0, cosine = 0;
    for (int c = 0; c < (kind == NodeKind::scalar ? 1 : 3); ++c) moved += (b[c] - a[c]) * (b[c] - a[c]);
    report.translation = std::max(report.translation, std::sqrt(moved));
    if (kind != NodeKind::frame) continue;
    for (int c = 3; c < 7; ++c) cosine += a[c] * b[c];
    report.rotation = std::max(report.rotation, 2 * std::acos(std::min(1.0, std::abs(cosine))));
  }
}

/// Empty, or the reason why there is no equilibrium. Displacements stay relative to the given positions.
std::string find_start_equilibrium(const Scales& scales, Model& model) {
  const System& system = model.system;
  StaticOptions options;
  options.scales = scales;
  const Vector before = model.state.q;
  const EquilibriumReport found = find_equilibrium(model.system, options, model.state);
  if (!found.converged) {
    const StepReport& last = found.last;
    std::string message = fmt::format("no static equilibrium was found: {}", text_of(last.reason));
    if (last.worst_equation >= 0) message += " at " + system.equation_name(last.worst_equation);
    if (last.worst_equation < 0 && last.worst_row >= 0) message += " at " + system.row_name(last.worst_row);
    if (!last.failed_item.empty()) message += " at " + last.failed_item;
    if (found.factor > 0) message += fmt::format("; it exists up to {:.4g} of the loads", found.factor);
    return message;
  }
  ProjectionReport& report = model.projection.statics;
  report.iterations = found.iterations;
  measure_changes(system.dofs(), before, model.state.q, report);
  return "";
}

}  // namespace

void project_initial_state(const nlohmann::json& root, const Scales& scales, Model& model, ModelIssues& issues) {
  const nlohmann::json& requested = root["initial_state"];
  const std::string wanted = requested["project"].get<std::string>();
  InitialProjection& projection = model.projection;
  projection.positions = wanted == "positions" || wanted == "all";
  projection.velocities = wanted == "velocities" || wanted == "all";
  projection.equilibrium = requested["equilibrium"].get<bool>();
  if (projection.equilibrium && !method_of(root["integrator"]).dynamic)
    return issues.add(equilibrium_key, "expected false in a static run, whose steps find the equilibria");
  if (projection.equilibrium && ConstraintSwitches(model.system).present())
    return issues.add(equilibrium_key, "expected false, because statics take no constraints that switch");
  if (projection.positions)
    if (const std::string failure = project_start_positions(scales, model); !failure.empty())
      return issues.add(project_key, failure);
  if (projection.equilibrium)
    if (const std::string failure = find_start_equilibrium(scales, model); !failure.empty())
      return issues.add(equilibrium_key, failure);
  if (!projection.velocities) return;
  State& state = model.state;
  projection.velocity = project_velocities(model.system, scales, state.q, state.t, state.v);
  if (!projection.velocity.converged)
    issues.add(project_key, failure_text(model.system, projection.velocity, "velocities"));
}

}  // namespace carom
