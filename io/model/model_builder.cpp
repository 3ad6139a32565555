// Converts the resolved model document to System, State and settings: the order of the steps, bodies, initial state.

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/index.hpp"
#include "io/model/build_context.hpp"
#include "io/model/contact_builder.hpp"
#include "io/model/force_builder.hpp"
#include "io/model/initial_projection.hpp"
#include "io/model/joint_builder.hpp"
#include "io/model/method_checks.hpp"
#include "io/model/model_remarks.hpp"
#include "io/model/model_scales.hpp"
#include "io/model/model_settings.hpp"
#include "io/model/start_checks.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;

namespace {

class Builder {
 public:
  Builder(const ModelDocument& document, const RunOptions& options, ModelIssues& issues)
      : options_(options),
        issues_(issues),
        root_(document.resolved()),
        model_(std::make_unique<Model>()),
        context_(document, issues, *model_) {
    model_->system.set_threads(options.threads);
  }

  std::unique_ptr<Model> build() {
    if (!read_parts() || !find_start() || !read_settings()) return nullptr;
    for (std::string& remark : model_remarks(context_)) model_->warnings.push_back(std::move(remark));
    return std::move(model_);
  }

 private:
  // These three return false if there are errors.

  bool read_parts() {
    for (const json& p : root_["ground"]) model_->ground_points[text(p["name"])] = vec3(p["at"]);
    choose_mass();
    read_bodies();
    if (!issues_.empty()) return false;
    read_springs(context_);
    joints_.read();
    read_loads(context_);
    contacts_.read();
    return issues_.empty();
  }

  bool find_start() {
    finalize_system();
    set_state();
    joints_.find_start_modes(model_->state);
    model_->simulation = read_time(root_["integrator"], options_, issues_);  // the scales depend on it
    check_motion(context_);
    model_->system.find_candidates(model_->state.q, model_->state.v, model_->state.t, 0);
    if (issues_.empty()) contacts_.check_directions(model_->state);
    if (!issues_.empty()) return false;
    joints_.collect();
    project_initial_state(root_, scales(), *model_, issues_);
    model_->state_at_start = model_->state;
    model_->contacts = contacts_.groups();
    collect_formula_rows();
    check_rows(*model_, issues_);
    check_method(root_, *model_, issues_);
    if (!issues_.empty()) return false;
    model_->scales = scales();
    check_demands(root_["integrator"], *model_, issues_);
    return issues_.empty();
  }

  bool read_settings() {
    model_->total_mass = context_.total_mass;
    check_overflow(model_->scales, issues_);
    const json& integrator = root_["integrator"];
    model_->make_integrator = find_type(integrator_types(), integrator).build(integrator, *model_);
    model_->output = read_output(root_, *model_);
    model_->until = read_until(context_.document, issues_);
    if (issues_.empty()) check_scales(*model_, issues_);
    if (issues_.empty()) check_modes(root_, *model_, issues_);
    if (issues_.empty()) check_arc_length(root_, *model_, issues_);
    return issues_.empty();
  }

  void choose_mass() {
    const json& integrator = root_["integrator"];
    // Carpenter's implicit variant has the model's own mass matrix
    const bool implicit = integrator.contains("implicit") && integrator["implicit"].get<bool>();
    if (method_of(integrator).lumped_mass && !implicit) model_->system.use_lumped_mass();
  }

  void read_bodies() {
    // one kind after the other, so that all elements of a kind can form one block
    const json& bodies = root_["bodies"];
    for (const json& body : bodies) {
      BodyInfo info;
      info.name = text(body["name"]);
      info.type = text(body["type"]);
      model_->bodies.push_back(std::move(info));
    }
    for (const BodyType& kind : body_types()) {
      std::vector<BodySource> sources;
      for (std::size_t i = 0; i < bodies.size(); ++i)
        if (bodies[i]["type"] == kind.type)
          sources.push_back({&bodies[i], "/bodies/" + std::to_string(i), &model_->bodies[i]});
      if (!sources.empty()) kind.build(context_, sources);
    }
  }

  void finalize_system() {
    System& system = model_->system;
    system.set_gravity(vec3(root_["gravity"]));
    system.finalize();
  }

  void set_state() {
    const System& system = model_->system;
    model_->state.q = system.initial_configuration();
    model_->state.v.assign(at(system.size()), 0.0);
    for (int node = 0; node < system.dofs().nodes(); ++node) {
      const auto& [v, Omega] = context_.velocities()[at(node)];
      for (int c = 0; c < 6; ++c) {
        const int e = system.dofs().equation(node, c);
        if (e >= 0) model_->state.v[at(e)] = c < 3 ? v[c] : Omega[c - 3];
      }
    }
    model_->state.t = time_settings(root_["integrator"]).start;
  }

  // Constraints and gaps of coordinates.
  void collect_formula_rows() {
    for (const BuildContext::FormulaRow& formula : context_.formula_rows) {
      const bool unilateral = formula.block->traits().kind != RowKind::bilateral;
      const int row = context_.first_row(*formula.block) + formula.item;
      (unilateral ? model_->contacts : model_->constraints)
          .push_back({formula.name, {row}, unilateral, {}, formula.pointer});
    }
  }

  Scales scales() const { return model_scales(context_, options_, contacts_.groups()); }

  const RunOptions& options_;
  ModelIssues& issues_;
  const json& root_;
  std::unique_ptr<Model> model_;
  BuildContext context_;
  JointBuilder joints_{context_};
  ContactBuilder contacts_{context_};
};

}  // namespace

std::unique_ptr<Model> build_model(const ModelDocument& document, const RunOptions& options, ModelIssues& issues) {
  if (!issues.empty()) return nullptr;
  const double start = time_settings(document.resolved()["integrator"]).start;
  if (options.end_time && *options.end_time < start) {
    issues.add_for_option("--until " + brief(json(*options.end_time)),
                          fmt::format("expected an end not before the start, t = {}", start));
    return nullptr;
  }
  return Builder(document, options, issues).build();
}

}  // namespace carom
