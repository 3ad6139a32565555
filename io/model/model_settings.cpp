#include "io/model/model_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "io/model/types/registry.hpp"
#include "io/schema/spec.hpp"

namespace carom {

using nlohmann::json;

namespace {

// Coordinates without a place in space are not drawn.
bool is_drawn(const Model& model) {
  return !model.springs.empty() || !model.obstacles.empty() || std::ranges::any_of(model.bodies, &BodyInfo::has_place);
}

std::vector<ExpectationSettings> read_expectations(const json& root) {
  std::vector<ExpectationSettings> settings;
  const json& expectations = root["expect"];
  const TimeSettings time = time_settings(root["integrator"]);
  const double end = time.start + time.duration;
  for (std::size_t i = 0; i < expectations.size(); ++i) {
    const json& e = expectations[i];
    settings.push_back({text(e["probe"]), e["value"].get<double>(), e["tolerance"].get<double>(),
                        e.contains("time") ? e["time"].get<double>() : end, "/expect/" + std::to_string(i)});
  }
  return settings;
}

std::vector<ProbeSettings> read_probes(const json& output) {
  std::vector<ProbeSettings> settings;
  const json& probes = output["probes"];
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const json& p = probes[i];
    settings.push_back({text(p["name"]), p.contains("of") ? text(p["of"]) : "", text(p["quantity"]),
                        "/output/probes/" + std::to_string(i),
                        (p.contains("every") ? p["every"] : output["probes_every"]).get<int>()});
  }
  return settings;
}

UntilSettings read_end_criterion(const json& c, const ModelDocument& document) {
  UntilSettings settings;
  const std::string type = text(c["type"]);
  settings.type = type == "formula"            ? UntilSettings::Type::formula
                  : type == "inertial_impulse" ? UntilSettings::Type::inertial_impulse
                                               : UntilSettings::Type::kinetic_energy;
  settings.duration = c["for"].get<double>();
  settings.after = c.contains("after") ? c["after"].get<double>() : -std::numeric_limits<double>::infinity();
  if (c.contains("below")) settings.below = c["below"].get<double>();
  if (c.contains("damping")) settings.damping = c["damping"].get<double>();
  if (c.contains("formula")) {
    settings.formula = c["formula"].is_string() ? text(c["formula"]) : c["formula"].dump();
    for (const json& probe : c["probes"]) settings.probes.push_back(text(probe));
    // only those that it names: Formula checks all
    const auto parameters = document.parameters();
    for (const std::string& name : spec::names_in_formula(settings.formula, parameters))
      settings.parameters.emplace(name, parameters.at(name));
  }
  return settings;
}

}  // namespace

SimulationOptions read_time(const json& integrator, const RunOptions& options, ModelIssues& issues) {
  SimulationOptions simulation;
  const TimeSettings time = time_settings(integrator);
  simulation.step = time.step;
  simulation.duration = options.end_time ? *options.end_time - time.start : time.duration;
  simulation.max_subdivisions = time.max_subdivisions;
  if (!method_of(integrator).dynamic && !options.end_time && time.duration == 0)
    issues.add("/integrator/duration", "expected a duration > 0: at the start no equilibrium is searched");
  if (simulation.duration / simulation.step > 1e15)
    issues.add("/integrator/step", "expected a step that is not so small: more than 1e15 steps would be needed");
  if (simulation.duration > 0 && !(simulation.duration > 1e-9 * simulation.step))
    issues.add("/integrator/step", "expected a step that is not so large: the duration " +
                                       fmt::format("{}", simulation.duration) + " is nothing beside it");
  if (simulation.step < 1e-13 * std::abs(time.start))
    issues.add("/integrator/step", "expected a step that is not lost beside the start time " +
                                       fmt::format("{}", time.start) + ", got " + fmt::format("{}", time.step));
  return simulation;
}

OutputSettings read_output(const json& root, const Model& model) {
  const json& output = root["output"];
  OutputSettings settings;
  const json& vtu = output["vtu"];
  settings.vtu = is_drawn(model) && vtu["enabled"].get<bool>();
  if (vtu.contains("every")) settings.vtu_every = vtu["every"].get<long>();
  if (vtu.contains("interval")) settings.vtu_interval = vtu["interval"].get<double>();
  settings.units = output["units"] == "SI";
  settings.events = output["events"]["enabled"].get<bool>();
  const json& energy = output["energy"];
  settings.energy = energy["enabled"].get<bool>();
  if (energy.contains("every")) settings.energy_every = energy["every"].get<long>();
  const json& checkpoint = output["checkpoint"];
  settings.checkpoint = checkpoint["enabled"].get<bool>();
  if (checkpoint.contains("every")) settings.checkpoint_every = checkpoint["every"].get<long>();
  settings.checkpoint_wall_interval = checkpoint["wall_interval"].get<double>();
  settings.checkpoint_keep = checkpoint["keep"].get<int>();
  settings.expectations = read_expectations(root);
  settings.probes = read_probes(output);
  return settings;
}

std::vector<UntilSettings> read_until(const ModelDocument& document, ModelIssues& issues) {
  const json& root = document.resolved();
  const json& criteria = root["until"];
  if (!criteria.empty() && !method_of(root["integrator"]).dynamic)
    issues.add("/until", "expected no end criteria in a static run: nothing moves between its equilibria");
  std::vector<UntilSettings> until;
  for (std::size_t i = 0; i < criteria.size(); ++i) {
    until.push_back(read_end_criterion(criteria[i], document));
    until.back().pointer = "/until/" + std::to_string(i);
  }
  return until;
}

}  // namespace carom
