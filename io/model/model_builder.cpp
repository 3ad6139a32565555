// Converts the resolved model document to System, State and settings.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "core/base/vector_ops.hpp"
#include "core/mechanics/row_conflict.hpp"
#include "elements/joints/spring_damper.hpp"
#include "elements/loads/load.hpp"
#include "elements/solid/pressure.hpp"
#include "integrators/common/constraint_switches.hpp"
#include "io/model/connectivity.hpp"
#include "io/model/contact_builder.hpp"
#include "io/model/contradiction.hpp"
#include "io/model/initial_projection.hpp"
#include "io/model/joint_builder.hpp"
#include "io/model/spread_loads.hpp"
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
    for (const json& p : root_["ground"]) model_->ground_points[text(p["name"])] = vec3(p["at"]);
    read_bodies();
    if (!issues_.empty()) return nullptr;
    read_springs();
    joints_.read();
    read_loads();
    contacts_.read();
    if (!issues_.empty()) return nullptr;

    System& system = model_->system;
    system.set_gravity(vec3(root_["gravity"]));
    // Carpenter's implicit variant has the model's own mass matrix
    const json& integrator = root_["integrator"];
    const bool implicit = integrator.contains("implicit") && integrator["implicit"].get<bool>();
    if (method_of(integrator).lumped_mass && !implicit) system.use_lumped_mass();
    system.finalize();
    initial_state();
    joints_.find_start_modes(model_->state);
    read_time();
    check_motion();
    system.find_candidates(model_->state.q, model_->state.v, model_->state.t, 0);
    if (issues_.empty()) contacts_.check_directions(model_->state);
    if (!issues_.empty()) return nullptr;
    joints_.collect();
    project_initial_state(root_, scales(), *model_, issues_);
    model_->state_at_start = model_->state;
    model_->contacts = contacts_.groups();
    collect_formula_rows();
    check_rows();
    if (issues_.empty()) check_demands();
    if (!issues_.empty()) return nullptr;
    read_settings();
    if (issues_.empty()) check_scales();
    if (issues_.empty()) check_modes();
    if (issues_.empty()) check_path();
    if (issues_.empty()) remarks();
    return issues_.empty() ? std::move(model_) : nullptr;
  }

 private:
  void error(const std::string& pointer, const std::string& message) { issues_.add(pointer, message); }
  bool is_frame(const AttachedPoint& p) const { return context_.is_frame(p); }

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

  // ---- springs, joints, loads

  void read_springs() {
    std::vector<SpringDamper> springs;
    const json& list = root_["springs"];
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string pointer = "/springs/" + std::to_string(i);
      const AttachedPoint a = context_.point(list[i]["of"][0], pointer + "/of/0"),
                          b = context_.point(list[i]["of"][1], pointer + "/of/1");
      SpringDamper s;
      s.name = text(list[i]["name"]);
      s.node_a = a.node;
      s.node_b = b.node;
      s.offset_a = a.offset;
      s.offset_b = b.offset;
      s.stiffness = list[i]["stiffness"].get<double>();
      s.damping = list[i]["damping"].get<double>();
      const double distance = (context_.initial_place(b) - context_.initial_place(a)).norm();
      s.natural_length = list[i].contains("natural_length") ? list[i]["natural_length"].get<double>() : distance;
      if (a.node < 0 && b.node < 0)
        error(pointer + "/of", "expected a point of a body, got two points of the ground, which do not move");
      else if (distance <= 1e-14 * std::max(context_.initial_place(a).norm(), context_.initial_place(b).norm()) &&
               (s.natural_length > 0 || s.damping > 0))
        error(pointer + "/of", "expected two points apart at the start: the direction of the spring is undefined");
      springs.push_back(s);
      model_->springs.push_back({text(list[i]["name"]), a, b});
    }
    if (!springs.empty()) model_->system.add(std::make_unique<SpringDamperBlock>("springs", std::move(springs)));
  }

  void read_loads() {
    std::vector<Load> on_frames, on_points;
    const json& list = root_["loads"];
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string pointer = "/loads/" + std::to_string(i);
      if (text(list[i]["type"]) == "pressure") {
        read_pressure(list[i], pointer);
        continue;
      }
      if (text(list[i]["type"]).starts_with("line_")) {
        add_line_load(context_, list[i], pointer, on_frames);
        continue;
      }
      if (context_.point_set(text(list[i]["on"])) != nullptr) {
        add_spread_force(context_, list[i], pointer, on_frames, on_points);
        continue;
      }
      const AttachedPoint p = context_.point(list[i]["on"], pointer + "/on");
      Load load;
      load.kind = text(list[i]["type"]) == "torque" ? Load::Kind::torque : Load::Kind::force;
      load.node = p.node;
      load.offset = p.offset;
      load.body_axes = text(list[i]["frame"]) == "body";
      load.value = context_.time_functions(list[i]["value"], pointer + "/value");
      if (load.body_axes && !is_frame(p))
        error(pointer + "/frame", "expected \"inertial\": a point without rotation has no axes of its own");
      (is_frame(p) ? on_frames : on_points).push_back(std::move(load));
    }
    System& system = model_->system;
    if (!on_frames.empty()) system.add(std::make_unique<LoadBlock>("loads", std::move(on_frames), true));
    if (!on_points.empty()) system.add(std::make_unique<LoadBlock>("loads", std::move(on_points), false));
  }

  void read_pressure(const json& load, const std::string& pointer) {
    const std::string on = text(load["on"]), name = text(load["name"]);
    const std::size_t dot = on.find('.');
    const BodyInfo* body = model_->find_body(on.substr(0, dot));
    const std::string group = dot == std::string::npos ? "" : on.substr(dot + 1);
    if (body == nullptr || !body->faces.contains(group)) {
      std::vector<std::string> known;
      if (body != nullptr)
        for (const auto& [word, faces] : body->faces) known.push_back(word);
      error(pointer + "/on", "expected a group of faces of a solid, got \"" + on + "\"" +
                                 (known.empty() ? "" : spec::suggestion(group, known)));
      return;
    }
    const TimeFunction value = context_.time_function(load["value"], pointer + "/value");
    for (const int nodes : {4, 3}) {
      std::vector<PressureFace> faces;
      for (const std::array<int, 4>& face : body->faces.at(group)) {
        if ((face[3] >= 0 ? 4 : 3) != nodes) continue;
        PressureFace f;
        f.nodes = face;
        for (std::size_t k = 0; k < static_cast<std::size_t>(nodes); ++k)
          f.reference[k] = context_.initial_place({face[k], Vec3::Zero()});
        faces.push_back(f);
      }
      if (!faces.empty())
        model_->system.add(std::make_unique<PressureBlock>(name, std::move(faces), std::vector<TimeFunction>{value},
                                                           load["follows"].get<bool>()));
    }
  }

  // ---- after finalize()

  // Each key is in its range, but squares, products or a formula at the start may overflow.
  void not_finite(const std::string& pointer, const std::string& what) {
    error(pointer, what +
                       " is not finite at the start: values are too large or too small for double precision, or a "
                       "formula has no value there");
  }

  void check_motion() {
    const System& system = model_->system;
    const Vector& q = model_->state.q;
    for (std::size_t i = 0; i < model_->bodies.size(); ++i) {
      bool finite = true;
      for (const int node : model_->bodies[i].nodes) {
        const double* x = q.data() + system.dofs().configuration_offset(node);
        const auto& [v, Omega] = context_.velocities()[static_cast<std::size_t>(node)];
        double sum = v.squaredNorm() + Omega.squaredNorm();
        for (int k = 0; k < (context_.in_space(node) ? 3 : 1); ++k) sum += x[k] * x[k];
        if (system.dofs().kind(node) == NodeKind::frame) {
          const double norm = x[3] * x[3] + x[4] * x[4] + x[5] * x[5] + x[6] * x[6];
          finite = finite && std::abs(norm - 1) < 1e-9;
        }
        finite = finite && std::isfinite(sum);
      }
      if (!finite) not_finite("/bodies/" + std::to_string(i), "its place, rotation or velocity");
    }
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

  void check_rows() {
    const System& system = model_->system;
    const State& state = model_->state;
    // a projection may have moved coordinates to places without values
    if (const FormulaFault fault = system.formula_fault(state.q, state.v, state.t, state.q, state.v, state.t);
        !fault.where.empty())
      error("", fault.mass ? "the mass matrix is not positive definite at " + fault.where + " at the start"
                           : fault.where + " has no finite value or derivative at the start");
    Vector gaps(static_cast<std::size_t>(system.rows())), rates(gaps);
    system.gaps(state.q, state.t, all_rows, gaps);
    system.rates(state.q, state.v, state.t, all_rows, rates);
    const auto check = [&](const auto& groups) {
      for (const RowGroup& group : groups) {
        const bool finite = std::all_of(group.rows.begin(), group.rows.end(), [&](int row) {
          const auto k = static_cast<std::size_t>(row);
          return std::isfinite(gaps[k]) && std::isfinite(rates[k]);
        });
        if (!finite) not_finite(group.pointer, "its gap or the rate of the gap");
      }
    };
    check(model_->joints);
    check(model_->contacts);
    check(model_->constraints);
    check_method();
  }

  void check_switching() {
    const json& integrator = root_["integrator"];
    if (!ConstraintSwitches(model_->system).present()) return;
    if (method_of(integrator).rows.has(RowKind::switching)) {
      if (integrator.contains("formulation") && !text(integrator["formulation"]).starts_with("index_"))
        error("/integrator/formulation",
              fmt::format("expected a formulation that takes constraints that switch, of which the model has some, got "
                          "\"{}\"; those that do: index_3, index_2, index_1",
                          text(integrator["formulation"])));
      if (const double E = integrator["intermediate_gradient"].get<double>(); E < 0.5)
        model_->warnings.push_back(
            fmt::format("intermediate_gradient is {:.6g}: below 1/2 a switch may create kinetic energy", E));
      // [SW24], 5.1.4
      if (integrator.contains("fully_implicit") && integrator["intermediate_gradient"] != 1 &&
          !integrator["fully_implicit"].get<bool>())
        model_->warnings.emplace_back(
            "the formulation index_2 has wrong energies behind a switch unless intermediate_gradient is 1 or "
            "fully_implicit is true");
      return;
    }
    std::vector<std::string> others;
    for (const IntegratorType& type : integrator_types())
      if (type.info.rows.has(RowKind::switching)) others.push_back(type.type);
    error("/integrator/type",
          fmt::format("expected a method that takes constraints that switch, of which the model has some, got \"{}\"; "
                      "methods that do: {}",
                      text(integrator["type"]), fmt::join(others, ", ")));
  }

  // A start off its mode, and what is wrong with modes along the path ahead.
  void check_modes() {
    const State& state = model_->state;
    ConstraintSwitches(model_->system)
        .for_faults(state, model_->simulation.duration, model_->scales,
                    [&](const std::string& body, const std::string& fault) {
                      const auto info = std::ranges::find(model_->bodies, body, &BodyInfo::name);
                      if (info != model_->bodies.end())
                        return error(fmt::format("/bodies/{}/switching", info - model_->bodies.begin()), fault);
                      const auto& groups = root_["switching"];
                      for (std::size_t i = 0; i < groups.size(); ++i)
                        if (text(groups[i]["name"]) == body) error(fmt::format("/switching/{}/modes", i), fault);
                    });
  }

  // Keys of the method that do not fit each other; a method for smooth motion takes neither contacts nor stops.
  void check_method() {
    const json& integrator = root_["integrator"];
    if (const IntegratorType& type = find_type(integrator_types(), integrator); type.problems != nullptr)
      for (const spec::Problem& p : type.problems(integrator)) error("/integrator" + p.pointer, p.message);
    check_switching();
    if (method_of(integrator).rows.covers(model_->system.row_kinds())) return;
    std::vector<std::string> others;
    for (const IntegratorType& type : integrator_types())
      if (type.info.rows.covers(model_->system.row_kinds()) && type.info.dynamic) others.push_back(type.type);
    for (const JointInfo& joint : model_->joints)
      if (!joint.friction.empty() && !method_of(integrator).rows.has(RowKind::joint_friction))
        error(joint.pointer + "/friction",
              fmt::format("expected none, because \"{}\" takes joints without friction only; methods with friction of "
                          "joints: {}",
                          text(integrator["type"]), fmt::join(others, ", ")));
    if (method_of(integrator).rows.covers(contact_rows) || !model_->system.row_kinds().meets(contact_rows)) return;
    if (method_of(integrator).rows.has(RowKind::unilateral)) {
      const json& contacts = root_["contacts"];
      for (std::size_t i = 0; i < contacts.size(); ++i)
        if (contacts[i]["friction"].get<double>() > 0)
          error("/contacts/" + std::to_string(i) + "/friction",
                fmt::format("expected 0, because \"{}\" takes contacts without friction only; methods with friction: "
                            "{}",
                            text(integrator["type"]), fmt::join(others, ", ")));
      return;
    }
    const std::string first = model_->system.row_name(model_->system.bilateral());
    error("/integrator/type",
          fmt::format("expected a method that takes contacts and stops, of which the model has some (such as {}), got "
                      "\"{}\", which is for smooth motion; methods that do: {}",
                      first, text(integrator["type"]), fmt::join(others, ", ")));
  }

  // Joints and drivers that contradict each other: no motion meets them together.
  void check_demands() {
    const System& system = model_->system;
    const State& state = model_->state;
    const Scales given = scales();
    const auto refuse = [&](const RowConflict& conflict, const char* what) {
      error(model_->pointer_of_row(conflict.rows.back()), contradiction(system, conflict, what));
    };
    Vector b(at(system.rows()));
    system.gaps(state.q, state.t, bilateral_rows, b);
    const json& integrator = root_["integrator"];
    const double tolerance =
        integrator.contains("newton") ? integrator["newton"]["constraint_tolerance"].get<double>() : 1e-11;
    const double least = tolerance * given.length + 1e-14 * system.largest_position(state.q);
    if (const auto conflict = find_conflict(system, state.q, state.t, b, given.length, least, 0)) {
      // at a singular position a larger motion may close the gaps
      Vector q = state.q;
      if (!project_positions(system, given, state.t, q).converged) refuse(*conflict, "position");
      return;
    }
    if (!system.driven()) return;
    const Vector rest(at(system.size()), 0.0);
    for (const bool acceleration : {false, true}) {
      if (acceleration)
        system.biases(state.q, rest, state.t, bilateral_rows, b);
      else
        system.rates(state.q, rest, state.t, bilateral_rows, b);
      if (const auto conflict = find_conflict(system, state.q, state.t, b, given.length, 0, 1e-6))
        return refuse(*conflict, acceleration ? "acceleration" : "velocity");
    }
  }

  // A path by arc length is measured by loads that grow.
  void check_path() {
    const json& integrator = root_["integrator"];
    if (!integrator.contains("control") || integrator["control"] != "arc_length") return;
    if (root_["loads"].empty() && vec3(root_["gravity"]).isZero(0) && !model_->system.has_forces(force_external))
      error("/integrator/control",
            "the length of the path is measured by the growth of the loads: with \"arc_length\" expected loads or "
            "gravity");
  }

  void check_scales() {
    const Scales& s = model_->scales;
    for (const double x : {s.length, s.speed, s.mass, model_->scales.force})
      if (!std::isfinite(x) || !(x > 0)) return not_finite("", "a scale of the model (length, speed, mass, force)");
    const State& state = model_->state;
    const Energies e = model_->system.energies(state.q, state.v, state.t);
    const Momenta m = model_->system.momenta(state.q, state.v);
    if (!std::isfinite(e.kinetic + e.elastic + e.potential)) not_finite("", "the energy");
    if (!m.linear.allFinite() || !m.angular.allFinite()) not_finite("", "the momentum");
  }

  void initial_state() {
    const System& system = model_->system;
    model_->state.q = system.initial_configuration();
    model_->state.v.assign(static_cast<std::size_t>(system.size()), 0.0);
    for (int node = 0; node < system.dofs().nodes(); ++node) {
      const auto& [v, Omega] = context_.velocities()[static_cast<std::size_t>(node)];
      for (int c = 0; c < 6; ++c) {
        const int e = system.dofs().equation(node, c);
        if (e >= 0) model_->state.v[static_cast<std::size_t>(e)] = c < 3 ? v[c] : Omega[c - 3];
      }
    }
    model_->state.t = time_settings(root_["integrator"]).start;
  }

  // Called before the scales, which depend on the times.
  void read_time() {
    const json& in = root_["integrator"];
    SimulationOptions& simulation = model_->simulation;
    const TimeSettings time = time_settings(in);
    simulation.step = time.step;
    simulation.duration = options_.end_time ? *options_.end_time - time.start : time.duration;
    simulation.max_subdivisions = time.max_subdivisions;
    if (simulation.duration / simulation.step > 1e15)
      error("/integrator/step", "expected a step that is not so small: more than 1e15 steps would be needed");
    if (simulation.duration > 0 && !(simulation.duration > 1e-9 * simulation.step))
      error("/integrator/step", "expected a step that is not so large: the duration " +
                                    fmt::format("{}", simulation.duration) + " is nothing beside it");
    if (simulation.step < 1e-13 * std::abs(time.start))
      error("/integrator/step", "expected a step that is not lost beside the start time " +
                                    fmt::format("{}", time.start) + ", got " + fmt::format("{}", time.step));
  }

  void read_settings() {
    model_->scales = scales();
    const Scales& s = model_->scales;
    model_->total_mass = context_.total_mass;
    // sums and products of values in range may overflow
    if (!std::isfinite(s.length) || !std::isfinite(s.speed) || !std::isfinite(s.mass) || !std::isfinite(s.force))
      error("", "lengths, speeds, masses or gravity are so large that their products are no finite numbers");
    const json& in = root_["integrator"];
    model_->make_integrator = find_type(integrator_types(), in).build(in, *model_);

    const json& output = root_["output"];
    // coordinates without a place in space are not drawn
    const bool drawn = !model_->springs.empty() || !model_->obstacles.empty() ||
                       std::ranges::any_of(model_->bodies, [](const BodyInfo& body) { return body.has_place(); });
    model_->output.vtu = drawn && output["vtu"]["enabled"].get<bool>();
    if (output["vtu"].contains("every")) model_->output.vtu_every = output["vtu"]["every"].get<long>();
    if (output["vtu"].contains("interval")) model_->output.vtu_interval = output["vtu"]["interval"].get<double>();
    OutputSettings& settings = model_->output;
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
    const json& expectations = root_["expect"];
    const double end = time_settings(in).start + time_settings(in).duration;
    for (std::size_t i = 0; i < expectations.size(); ++i) {
      const json& e = expectations[i];
      settings.expectations.push_back({text(e["probe"]), e["value"].get<double>(), e["tolerance"].get<double>(),
                                       e.contains("time") ? e["time"].get<double>() : end,
                                       "/expect/" + std::to_string(i)});
    }
    read_until();
    const json& probes = output["probes"];
    for (std::size_t i = 0; i < probes.size(); ++i) {
      const json& p = probes[i];
      model_->output.probes.push_back({text(p["name"]), p.contains("of") ? text(p["of"]) : "", text(p["quantity"]),
                                       "/output/probes/" + std::to_string(i),
                                       (p.contains("every") ? p["every"] : output["probes_every"]).get<int>()});
    }
  }

  void read_until() {
    const json& criteria = root_["until"];
    if (!criteria.empty() && !method_of(root_["integrator"]).dynamic)
      error("/until", "expected no end criteria in a static run: nothing moves between its equilibria");
    for (std::size_t i = 0; i < criteria.size(); ++i) {
      const json& c = criteria[i];
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
        settings.formula = text(c["formula"]);
        for (const json& probe : c["probes"]) settings.probes.push_back(text(probe));
        // only those that it names: Formula checks all
        const auto parameters = context_.document.parameters();
        for (const std::string& name : spec::names_in_formula(settings.formula, parameters))
          settings.parameters.emplace(name, parameters.at(name));
      }
      settings.pointer = "/until/" + std::to_string(i);
      model_->until.push_back(std::move(settings));
    }
  }

  /// The weight of the model, or without gravity the force that its scales make.
  double typical_force(const Scales& s) const {
    const double gravity = model_->system.gravity().norm();
    return gravity > 0 && context_.total_mass > 0 ? context_.total_mass * gravity
                                                  : s.mass * s.speed * s.speed / s.length;
  }

  Scales scales() const {
    if (options_.scales) {
      Scales given = *options_.scales;
      given.force = typical_force(given);
      return given;
    }
    const System& system = model_->system;
    const State& state = model_->state;
    Scales scales;
    const json given = root_.contains("scales") ? root_["scales"] : json::object();
    const auto take = [&](const char* key, double computed) {
      return given.contains(key) ? given[key].get<double>() : computed;
    };

    // length: extent of the nodes, extent of the bodies, or distance from the obstacles
    double length = context_.size;
    Vec3 low = Vec3::Constant(std::numeric_limits<double>::infinity()), high = -low;
    for (int node = 0; node < system.dofs().nodes(); ++node) {
      if (!context_.in_space(node)) continue;
      const Vec3 x = context_.initial_place({node, Vec3::Zero()});
      low = low.cwiseMin(x);
      high = high.cwiseMax(x);
    }
    // nodes at one place may differ by rounding, after a projection for instance
    const double extent = low[0] <= high[0] ? (high - low).norm() : 0;
    if (extent > 1e-14 * std::max(low.norm(), high.norm())) length = std::max(length, extent);
    if (system.conditional() > 0) {
      Vector gaps(static_cast<std::size_t>(system.rows()));
      system.gaps(state.q, state.t, conditional_rows, gaps);
      double nearest = std::numeric_limits<double>::infinity();
      const std::vector<RowGroup> contacts = contacts_.groups();
      for (const RowGroup& contact : contacts)
        for (const int row : contact.rows) nearest = std::min(nearest, std::abs(gaps[static_cast<std::size_t>(row)]));
      if (!contacts.empty()) length = std::max(length, nearest);
    }
    scales.length = take("length", length > 0 ? length : 1.0);

    // speed: initial speed, or speed of a fall through the length
    const double g = std::max(system.gravity().norm(), context_.acceleration);
    double speed = std::max(system.speed(state.v, scales.length), std::sqrt(g * scales.length));
    if (!(speed > 0)) speed = scales.length / std::max(model_->simulation.duration, model_->simulation.step);
    scales.speed = take("speed", speed);
    scales.mass = take("mass", system.mean_nodal_mass() > 0 ? system.mean_nodal_mass() : 1.0);
    scales.force = typical_force(scales);
    return scales;
  }

  void remarks() {
    const System& system = model_->system;
    const State& state = model_->state;
    const double length = model_->scales.length;
    // changes by the projection
    const auto moved = [&](const ProjectionReport& report, const char* format) {
      if (report.iterations > 0)
        model_->warnings.push_back(fmt::format(fmt::runtime(format), report.translation, report.rotation));
    };
    moved(model_->projection.position,
          "initial positions were projected: bodies moved by up to {:.3g}, turned by up to {:.3g} rad");
    moved(model_->projection.velocity,
          "initial velocities were projected: changed by up to {:.3g}, angular velocities by up to {:.3g}");
    moved(model_->projection.statics,
          "the run starts from static equilibrium: bodies moved by up to {:.3g}, turned by up to {:.3g} rad");
    unused_values();
    if (!method_of(root_["integrator"]).dynamic && max_abs(state.v) > 0)
      model_->warnings.emplace_back("velocities have no part in statics: the given ones are taken for zero");
    for (std::string& remark : piece_remarks(*model_)) model_->warnings.push_back(std::move(remark));
    // without any force of its own a body of coordinates may have been meant to fall
    const json& bodies = root_["bodies"];
    for (std::size_t i = 0; i < model_->bodies.size() && system.gravity().norm() > 0; ++i) {
      if (model_->bodies[i].in_space || bodies[i].contains("potential") || bodies[i].contains("forces")) continue;
      model_->warnings.push_back(
          fmt::format("gravity does not act on coordinates, such as those of {}: their forces and potentials are "
                      "formulas",
                      model_->bodies[i].name));
      break;
    }
    // contacts that penetrate at the start
    for (const RowGroup& contact : model_->contacts) {
      double deepest = 0;
      int deepest_row = -1, count = 0;
      for (const int row : contact.rows) {
        const double gap = system.row_gap(row, state.q, state.t);
        if (gap < -1e-9 * length) ++count;
        if (gap < deepest) deepest = gap, deepest_row = row;
      }
      if (count == 0) continue;
      const std::string others = count > 1 ? fmt::format(", the deepest of {},", count) : "";
      model_->warnings.push_back(
          fmt::format("contact {}{} starts with a penetration of {:.6g}; the first step corrects it",
                      system.row_name(deepest_row), others, -deepest));
    }
    for (const RowGroup& stop : model_->stops)
      if (const double gap = system.row_gap(stop.rows[0], state.q, state.t); gap < -1e-9)
        model_->warnings.push_back(
            fmt::format("stop {} is passed by {:.6g} at the start; the first step corrects it", stop.name, -gap));
    // joints that are open at the start
    if (system.bilateral() > 0) {
      Vector g(static_cast<std::size_t>(system.rows())), rate(static_cast<std::size_t>(system.rows()));
      system.gaps(state.q, state.t, bilateral_rows, g);
      system.rates(state.q, state.v, state.t, bilateral_rows, rate);
      const std::size_t n = static_cast<std::size_t>(system.bilateral());
      const auto remark = [&](In values, double scale, const char* format) {
        const auto worst = std::max_element(values.begin(), values.end(),
                                            [](double a, double b) { return std::abs(a) < std::abs(b); });
        if (std::abs(*worst) > 1e-9 * scale)
          model_->warnings.push_back(fmt::format(fmt::runtime(format), std::abs(*worst),
                                                 system.row_name(static_cast<int>(worst - values.begin()))));
      };
      remark(In(g).first(n), length,
             "the joints do not fit at the start: largest gap {:.3g} ({}); the first step closes it");
      if (method_of(root_["integrator"]).dynamic)
        remark(In(rate).first(n), model_->scales.speed,
               "the initial velocities do not fit the joints: largest rate {:.3g} ({}); the first step corrects them");
    }
  }

  // Values of the file that have no effect.
  void unused_values() {
    const DofMap& dofs = model_->system.dofs();
    for (const BodyInfo& body : model_->bodies)
      for (std::size_t k = 0; k < body.nodes.size(); ++k) {
        const int node = body.nodes[k];
        const auto& [v, Omega] = context_.velocities()[static_cast<std::size_t>(node)];
        const int components = dofs.kind(node) == NodeKind::frame ? 6 : dofs.kind(node) == NodeKind::point ? 3 : 0;
        int c = 0;
        while (c < components && (dofs.equation(node, c) >= 0 || (c < 3 ? v[c] : Omega[c - 3]) == 0)) ++c;
        if (c == components) continue;
        const std::string where = body.nodes.size() > 1 ? fmt::format(" at {}.node.{}", body.name, k) : "";
        model_->warnings.push_back(fmt::format("the initial {} of {} is left out where it is fixed{}",
                                               c < 3 ? "velocity" : "angular velocity", body.name, where));
        break;
      }
    std::set<std::string> used;
    for (const char* list : {"joints", "springs"})
      for (const json& entry : root_[list])
        for (const json& of : entry["of"]) used.insert(text(of));
    for (const json& point : root_["ground"])
      if (const std::string name = text(point["name"]); !used.contains("ground." + name))
        model_->warnings.push_back(fmt::format("nothing uses the point {} of the ground", name));
  }

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
