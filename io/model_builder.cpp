// From the resolved model document to System, State and settings.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "contact/point_contact.hpp"
#include "contact/sphere_contact.hpp"
#include "core/vector_ops.hpp"
#include "elements/load.hpp"
#include "elements/pressure.hpp"
#include "elements/spring_damper.hpp"
#include "integrators/static_equilibrium.hpp"
#include "io/joint_builder.hpp"
#include "io/kinds.hpp"
#include "io/spread_loads.hpp"

namespace carom {

using nlohmann::json;

namespace {

template <class Kind>
const Kind& find_kind(const std::vector<Kind>& kinds, const json& tagged) {
  return *std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return tagged["type"] == k.type; });
}

class Builder {
 public:
  Builder(ModelDocument& document, int threads)
      : document_(document), root_(document.resolved), model_(std::make_unique<Model>()), context_(document, *model_) {
    model_->system.set_threads(threads);
  }

  std::unique_ptr<Model> build() {
    for (const json& p : root_["ground"]) model_->ground_points[text(p["name"])] = vec3(p["at"]);
    read_bodies();
    if (!document_.ok()) return nullptr;
    read_springs();
    joints_.read();
    read_loads();
    read_contacts();
    if (!document_.ok()) return nullptr;

    System& system = model_->system;
    system.set_gravity(vec3(root_["gravity"]));
    system.finalize();
    initial_state();
    check_motion();
    if (!document_.ok()) return nullptr;
    project_initial_state();
    model_->state_at_start = model_->state;
    collect_rows();
    check_rows();
    if (!document_.ok()) return nullptr;
    read_settings();
    if (document_.ok()) check_scales();
    if (document_.ok()) remarks();
    return document_.ok() ? std::move(model_) : nullptr;
  }

 private:
  void error(const std::string& pointer, const std::string& message) { document_.add_issue(pointer, message); }
  bool is_frame(const AttachedPoint& p) const { return context_.is_frame(p); }

  void read_bodies() {
    // kind by kind, so that all elements of a kind can form one block
    const json& bodies = root_["bodies"];
    for (const json& body : bodies) {
      BodyInfo info;
      info.name = text(body["name"]);
      info.type = text(body["type"]);
      model_->bodies.push_back(std::move(info));
    }
    for (const BodyKind& kind : body_kinds()) {
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
      model_->springs.emplace_back(a, b);
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

  // ---- contacts

  struct TouchingPoint {
    AttachedPoint at;
    double radius;
    std::string label;
  };

  // A point, a set of points, or a body: its sphere or its centre.
  std::vector<TouchingPoint> touching_points(const std::string& reference, const std::string& pointer) {
    const std::size_t dot = reference.find('.');
    const BodyInfo* body = model_->find_body(reference.substr(0, dot));
    const std::string part = dot == std::string::npos ? "" : reference.substr(dot + 1);
    std::vector<TouchingPoint> points;
    if (body != nullptr && body->sets.contains(part)) {
      const PointSet& set = body->sets.at(part);
      for (std::size_t k = 0; k < set.points.size(); ++k)
        points.push_back({set.points[k], 0, body->name + "." + set.labels[k]});
    } else if (const auto p = model_->find_point(reference)) {
      points.push_back({*p, body != nullptr && part.empty() ? body->radius : 0.0, reference});
    } else {
      error(pointer, context_.unknown_point(reference));
    }
    return points;
  }

  std::shared_ptr<const PrescribedMotion> read_motion(const json& obstacle, const std::string& pointer) {
    if (!obstacle.contains("motion")) return nullptr;
    const json& m = obstacle["motion"];
    auto motion = std::make_shared<PrescribedMotion>();
    if (m.contains("translation"))
      motion->translation = context_.time_functions(m["translation"], pointer + "/motion/translation");
    if (m.contains("rotation")) {
      motion->axis = vec3(m["rotation"]["axis"]).stableNormalized();
      motion->angle = context_.time_function(m["rotation"]["angle"], pointer + "/motion/rotation/angle");
      motion->about = vec3(m["rotation"]["about"]);
    }
    return motion;
  }

  void read_contacts() {
    const json& list = root_["contacts"];
    for (std::size_t i = 0; i < list.size(); ++i) {
      const json& contact = list[i];
      const std::string pointer = "/contacts/" + std::to_string(i), name = text(contact["name"]);
      const double e = contact["restitution"].get<double>();
      if (contact.contains("between"))
        read_sphere_contact(contact, pointer, name, e);
      else
        read_obstacle_contact(contact, pointer, name, e);
    }
  }

  /// Counts what may touch; false, after a complaint, when memory and patience would not bear it.
  bool take_candidates(std::size_t more, const std::string& pointer) {
    constexpr std::size_t most = 2000000;
    candidates_ += more;
    if (candidates_ <= most) return true;
    error(pointer, "expected at most " + std::to_string(most) + " points and pairs that may touch, got " +
                       std::to_string(candidates_) + " up to this contact");
    return false;
  }

  void read_sphere_contact(const json& contact, const std::string& pointer, const std::string& name, double e) {
    std::vector<SpherePair> pairs;
    const json& between = contact["between"];
    if (!take_candidates(between.size() * (between.size() - 1) / 2, pointer)) return;
    for (std::size_t i = 0; i < between.size(); ++i) {
      const BodyInfo* a = model_->find_body(text(between[i]));
      if (a == nullptr || !(a->radius > 0)) {
        error(pointer + "/between/" + std::to_string(i),
              "expected a body with the shape of a sphere, or a point mass with a radius > 0");
        continue;
      }
      for (std::size_t k = i + 1; k < between.size(); ++k) {
        const BodyInfo* b = model_->find_body(text(between[k]));
        if (b == nullptr || !(b->radius > 0)) continue;
        SpherePair pair;
        pair.name = name + (between.size() > 2 ? "[" + a->name + "," + b->name + "]" : "");
        pair.node_a = a->nodes[0];
        pair.node_b = b->nodes[0];
        pair.radius_a = a->radius;
        pair.radius_b = b->radius;
        pair.restitution = e;
        model_->thinnest_obstacle = std::min(model_->thinnest_obstacle, 2 * std::min(a->radius, b->radius));
        pairs.push_back(std::move(pair));
      }
    }
    if (pairs.empty()) return;
    contacts_.push_back({name, {&model_->system.add(std::make_unique<SphereContactBlock>(name, std::move(pairs)))}});
  }

  // Of an infinite obstacle: enough for the bodies and for the way they have to it.
  double picture_size(double distance) const {
    Vec3 low = Vec3::Constant(std::numeric_limits<double>::infinity()), high = -low;
    for (int node = 0; node < model_->system.dofs().nodes(); ++node) {
      const Vec3 x = context_.initial_place({node, Vec3::Zero()});
      low = low.cwiseMin(x);
      high = high.cwiseMax(x);
    }
    return std::max(4 * context_.size, 2 * std::max((high - low).norm(), distance));
  }

  void read_obstacle_contact(const json& contact, const std::string& pointer, const std::string& name, double e) {
    std::vector<ContactPoint> on_frames, on_points;
    std::vector<TouchingPoint> touching;
    const json& on = contact["on"];
    std::map<std::array<double, 4>, std::string> known;  // node and offset: a point that touches twice is one too many
    for (std::size_t i = 0; i < on.size(); ++i) {
      const std::string here = pointer + "/on/" + std::to_string(i);
      for (TouchingPoint& p : touching_points(text(on[i]), here)) {
        const Vec3& x = p.at.offset;
        if (on.size() > 1) {
          const auto [first, is_new] = known.try_emplace({static_cast<double>(p.at.node), x[0], x[1], x[2]}, p.label);
          if (!is_new) error(here, "\"" + p.label + "\" is the same point as \"" + first->second + "\" of this list");
        }
        touching.push_back(std::move(p));
      }
    }
    if (!take_candidates(touching.size(), pointer)) return;
    for (const TouchingPoint& p : touching) {
      ContactPoint c;
      c.name = touching.size() > 1 ? name + "[" + p.label + "]" : name;
      c.node = p.at.node;
      c.offset = p.at.offset;
      c.radius = contact.contains("radius") ? contact["radius"].get<double>() : p.radius;
      c.restitution = e;
      (is_frame(p.at) ? on_frames : on_points).push_back(std::move(c));
    }
    ObstacleInfo info;
    info.contact = name;
    const json& o = contact["obstacle"];
    info.motion = read_motion(o, pointer + "/obstacle");
    if (!document_.ok()) return;
    ContactGroup group{name, {}};
    const ObstacleKind& kind = find_kind(obstacle_kinds(), o);
    const double distance =
        kind.build(o, 1.0, info.mesh).front().obstacle->distance(context_.initial_place(touching.front().at));
    const double size = o.contains("draw_size") ? o["draw_size"].get<double>() : picture_size(std::abs(distance));
    for (const ObstacleSurface& surface : kind.build(o, size, info.mesh)) {
      model_->thinnest_obstacle = std::min(model_->thinnest_obstacle, surface.obstacle->thickness());
      for (const bool rotating : {true, false}) {
        std::vector<ContactPoint> points = rotating ? on_frames : on_points;
        if (points.empty()) continue;
        for (ContactPoint& p : points) p.name += surface.suffix;
        group.blocks.push_back(&model_->system.add(
            std::make_unique<PointContactBlock>(name, std::move(points), surface.obstacle, info.motion, rotating)));
      }
    }
    contacts_.push_back(std::move(group));
    model_->obstacles.push_back(std::move(info));
  }

  // ---- after finalize

  // Every key is in its range, and yet squares, products or a formula at the start may leave that of double.
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
        for (int k = 0; k < 3; ++k) sum += x[k] * x[k];
        if (system.dofs().kind(node) == NodeKind::frame) {
          const double norm = x[3] * x[3] + x[4] * x[4] + x[5] * x[5] + x[6] * x[6];
          finite = finite && std::abs(norm - 1) < 1e-9;
        }
        finite = finite && std::isfinite(sum);
      }
      if (!finite) not_finite("/bodies/" + std::to_string(i), "its place, rotation or velocity");
    }
  }

  void check_rows() {
    const System& system = model_->system;
    const State& state = model_->state;
    Vector gaps(static_cast<std::size_t>(system.rows())), rates(gaps);
    system.gaps(state.q, state.t, RowSet::all, gaps);
    system.rates(state.q, state.v, state.t, RowSet::all, rates);
    const auto check = [&](const auto& groups, const std::string& list) {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        const bool finite = std::all_of(groups[i].rows.begin(), groups[i].rows.end(), [&](int row) {
          const auto k = static_cast<std::size_t>(row);
          return std::isfinite(gaps[k]) && std::isfinite(rates[k]);
        });
        if (!finite) not_finite("/" + list + "/" + std::to_string(i), "its gap or the rate of the gap");
      }
    };
    check(model_->joints, "joints");
    check(model_->contacts, "contacts");
  }

  void check_scales() {
    const Scales& s = model_->scales;
    for (const double x : {s.length, s.speed, s.mass, model_->weight})
      if (!std::isfinite(x) || !(x > 0)) return not_finite("", "a scale of the model (length, speed, mass, weight)");
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
    model_->state.t = root_["integrator"]["start_time"].get<double>();
  }

  // Moves the start onto the constraints, where the model asks for it.
  void project_initial_state() {
    const std::string wanted = text(root_["initial_state"]["project"]);
    InitialProjection& projection = model_->projection;
    projection.positions = wanted == "positions" || wanted == "all";
    projection.velocities = wanted == "velocities" || wanted == "all";
    projection.equilibrium = root_["initial_state"]["equilibrium"].get<bool>();
    if (!projection.positions && !projection.velocities && !projection.equilibrium) return;
    if (projection.equilibrium && text(root_["integrator"]["type"]) == "static")
      return error("/initial_state/equilibrium", "expected false in a static run, whose steps find the equilibria");
    System& system = model_->system;
    State& state = model_->state;
    const Scales given = scales();
    const ProjectionScales sizes{given.length, given.speed, given.mass};
    if (projection.positions) {
      projection.position = project_positions(system, sizes, state.t, state.q);
      if (!projection.position.converged) return projection_failed("positions", projection.position);
      system.set_initial_configuration(state.q);
    }
    if (projection.equilibrium && !find_start(given)) return;
    if (projection.velocities) {
      projection.velocity = project_velocities(system, sizes, state.q, state.t, state.v);
      if (!projection.velocity.converged) projection_failed("velocities", projection.velocity);
    }
  }

  // Moves the start into static equilibrium; displacements are still counted from where the bodies were given.
  bool find_start(const Scales& given) {
    const System& system = model_->system;
    State& state = model_->state;
    StaticOptions options;
    options.scales = given;
    options.weight = weight(given);
    const Vector before = state.q;
    const EquilibriumReport found = find_equilibrium(system, options, state);
    if (!found.converged) {
      const StepReport& last = found.last;
      std::string message = fmt::format("no static equilibrium was found: {}", last.reason);
      if (last.worst_equation >= 0) message += " at " + system.equation_name(last.worst_equation);
      if (last.worst_equation < 0 && last.worst_row >= 0) message += " at " + system.row_name(last.worst_row);
      if (found.factor > 0) message += fmt::format("; it exists up to {:.4g} of the loads", found.factor);
      error("/initial_state/equilibrium", message);
      return false;
    }
    ProjectionReport& report = model_->projection.statics;
    report.iterations = found.iterations;
    for (int node = 0; node < system.dofs().nodes(); ++node) {
      const double* const a = before.data() + system.dofs().configuration_offset(node);
      const double* const b = state.q.data() + system.dofs().configuration_offset(node);
      const NodeKind kind = system.dofs().kind(node);
      double moved = 0, cosine = 0;
      for (int c = 0; c < (kind == NodeKind::scalar ? 1 : 3); ++c) moved += (b[c] - a[c]) * (b[c] - a[c]);
      report.translation = std::max(report.translation, std::sqrt(moved));
      if (kind != NodeKind::frame) continue;
      for (int c = 3; c < 7; ++c) cosine += a[c] * b[c];
      report.rotation = std::max(report.rotation, 2 * std::acos(std::min(1.0, std::abs(cosine))));
    }
    return true;
  }

  void projection_failed(const std::string& what, const ProjectionReport& report) {
    const System& system = model_->system;
    std::string message = "cannot make the " + what + " fit: ";
    if (report.singular >= 0) {
      const bool row = report.singular >= system.size();
      message += "the matrix is singular at " +
                 (row ? system.row_name(report.singular - system.size()) : system.equation_name(report.singular));
    } else {
      message += std::string(report.reason) + " in " + std::to_string(report.iterations) + " iterations";
      if (report.worst_row >= 0)
        message += fmt::format("; {} is off by {:.3g}", system.row_name(report.worst_row), report.residual);
    }
    error("/initial_state/project", message);
  }

  int first_row(const ConstraintBlock* block) const {
    const auto& blocks = model_->system.constraints();
    for (std::size_t b = 0; b < blocks.size(); ++b)
      if (blocks[b].get() == block) return model_->system.first_row(static_cast<int>(b));
    return -1;
  }

  void collect_rows() {
    joints_.collect();
    for (const ContactGroup& c : contacts_) {
      RowGroup group{c.name, {}, true, {}};
      for (const ConstraintBlock* block : c.blocks)
        for (int row = 0; row < block->topology().items * block->rows(); ++row)
          group.rows.push_back(first_row(block) + row);
      model_->contacts.push_back(std::move(group));
    }
  }

  void read_settings() {
    const json& in = root_["integrator"];
    SimulationOptions& simulation = model_->simulation;
    simulation.step = in["step"].get<double>();
    simulation.duration = in["duration"].get<double>();
    simulation.max_subdivisions = in["max_subdivisions"].get<int>();
    if (simulation.duration / simulation.step > 1e15)
      error("/integrator/step", "expected a step that is not so small: more than 1e15 steps would be needed");
    const json& start = in["start_time"];
    if (simulation.step < 1e-13 * std::abs(start.get<double>()))
      error("/integrator/step",
            "expected a step that is not lost beside the start time " + start.dump() + ", got " + in["step"].dump());

    model_->scales = scales();
    const Scales& s = model_->scales;
    model_->total_mass = context_.total_mass;
    model_->weight = weight(s);
    // values that are in range can have sums and products that are not
    if (!std::isfinite(s.length) || !std::isfinite(s.speed) || !std::isfinite(s.mass) || !std::isfinite(model_->weight))
      error("", "lengths, speeds, masses or gravity are so large that their products are no finite numbers");
    model_->make_integrator = find_kind(integrator_kinds(), in).build(in, *model_);

    const json& output = root_["output"];
    model_->output.vtu = output["vtu"]["enabled"].get<bool>();
    if (output["vtu"].contains("every")) model_->output.vtu_every = output["vtu"]["every"].get<long>();
    if (output["vtu"].contains("interval")) model_->output.vtu_interval = output["vtu"]["interval"].get<double>();
    OutputSettings& settings = model_->output;
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
    for (std::size_t i = 0; i < expectations.size(); ++i) {
      const json& e = expectations[i];
      settings.expectations.push_back({text(e["probe"]), e["value"].get<double>(), e["tolerance"].get<double>(),
                                       e.contains("time") ? std::optional(e["time"].get<double>()) : std::nullopt,
                                       "/expect/" + std::to_string(i)});
    }
    const json& probes = output["probes"];
    for (std::size_t i = 0; i < probes.size(); ++i) {
      const json& p = probes[i];
      model_->output.probes.push_back({text(p["name"]), p.contains("of") ? text(p["of"]) : "", text(p["quantity"]),
                                       "/output/probes/" + std::to_string(i),
                                       (p.contains("every") ? p["every"] : output["probes_every"]).get<int>()});
    }
  }

  /// A typical force.
  double weight(const Scales& s) const {
    const double gravity = model_->system.gravity().norm();
    return gravity > 0 && context_.total_mass > 0 ? context_.total_mass * gravity
                                                  : s.mass * s.speed * s.speed / s.length;
  }

  Scales scales() const {
    const System& system = model_->system;
    const State& state = model_->state;
    Scales scales;
    const json given = root_.contains("scales") ? root_["scales"] : json::object();
    const auto take = [&](const char* key, double computed) {
      return given.contains(key) ? given[key].get<double>() : computed;
    };

    // length: extent of the nodes, of the bodies, or the distance from the obstacles
    double length = context_.size;
    Vec3 low = Vec3::Constant(std::numeric_limits<double>::infinity()), high = -low;
    for (int node = 0; node < system.dofs().nodes(); ++node) {
      const Vec3 x = context_.initial_place({node, Vec3::Zero()});
      low = low.cwiseMin(x);
      high = high.cwiseMax(x);
    }
    length = std::max(length, (high - low).norm());
    if (system.unilateral() > 0) {
      Vector gaps(static_cast<std::size_t>(system.rows()));
      system.gaps(state.q, state.t, RowSet::unilateral, gaps);
      double nearest = std::numeric_limits<double>::infinity();
      for (const ContactGroup& contact : contacts_)
        for (const ConstraintBlock* block : contact.blocks)
          for (int row = 0; row < block->topology().items * block->rows(); ++row)
            nearest = std::min(nearest, std::abs(gaps[static_cast<std::size_t>(first_row(block) + row)]));
      if (!contacts_.empty()) length = std::max(length, nearest);
    }
    scales.length = take("length", length > 0 ? length : 1.0);

    // speed: at the start, or that of a fall through the length
    const double g = system.gravity().norm();
    double speed = std::max(system.speed(state.v, scales.length), std::sqrt(g * scales.length));
    if (!(speed > 0)) speed = scales.length / std::max(model_->simulation.duration, model_->simulation.step);
    scales.speed = take("speed", speed);
    scales.mass = take("mass", system.mean_nodal_mass() > 0 ? system.mean_nodal_mass() : 1.0);
    return scales;
  }

  void remarks() {
    const System& system = model_->system;
    const State& state = model_->state;
    const double length = model_->scales.length;
    // what the projection has changed
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
    if (text(root_["integrator"]["type"]) == "static" && max_abs(state.v) > 0)
      model_->warnings.emplace_back("velocities have no part in statics: the given ones are taken for zero");
    // contacts that start penetrating
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
    // joints that start open
    if (system.bilateral() > 0) {
      Vector g(static_cast<std::size_t>(system.rows())), rate(static_cast<std::size_t>(system.rows()));
      system.gaps(state.q, state.t, RowSet::bilateral, g);
      system.rates(state.q, state.v, state.t, RowSet::bilateral, rate);
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
      remark(In(rate).first(n), model_->scales.speed,
             "the initial velocities do not fit the joints: largest rate {:.3g} ({}); the first step corrects them");
    }
  }

  struct ContactGroup {
    std::string name;
    std::vector<const ConstraintBlock*> blocks;
  };

  ModelDocument& document_;
  const json& root_;
  std::unique_ptr<Model> model_;
  BuildContext context_;
  JointBuilder joints_{context_};
  std::vector<ContactGroup> contacts_;
  std::size_t candidates_ = 0;
};

}  // namespace

const BodyInfo* Model::find_body(const std::string& name) const {
  for (const BodyInfo& b : bodies)
    if (b.name == name) return &b;
  return nullptr;
}

std::optional<AttachedPoint> BodyInfo::find_point(const std::string& point) const {
  if (point.empty() && nodes.size() == 1) return AttachedPoint{nodes[0]};
  if (const auto it = points.find(point); it != points.end()) return it->second;
  if (!point.starts_with("node.")) return std::nullopt;
  const std::size_t k = std::strtoul(point.c_str() + 5, nullptr, 10);
  return k < nodes.size() ? std::optional(AttachedPoint{nodes[k]}) : std::nullopt;
}

std::string BodyInfo::unknown_point(const std::string& point) const {
  std::vector<std::string> words;
  for (const auto& [word, p] : points) words.push_back(word);
  for (const auto& [word, set] : sets) words.push_back(word);
  return "body \"" + name + "\" has no point \"" + point + "\"" + spec::suggestion(point, words);
}

void BodyInfo::add_node_set(std::vector<double> shares) {
  PointSet& set = sets["nodes"];
  set.shares = std::move(shares);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    set.points.push_back({nodes[k], Vec3::Zero()});
    set.labels.push_back("node." + std::to_string(k));
  }
}

std::optional<AttachedPoint> Model::find_point(const std::string& reference) const {
  const std::size_t dot = reference.find('.');
  const std::string name = reference.substr(0, dot), part = dot == std::string::npos ? "" : reference.substr(dot + 1);
  if (name == "ground") {
    if (part.empty()) return AttachedPoint{};
    const auto it = ground_points.find(part);
    return it == ground_points.end() ? std::nullopt : std::optional(AttachedPoint{-1, it->second});
  }
  const BodyInfo* body = find_body(name);
  return body == nullptr ? std::nullopt : body->find_point(part);
}

Vec3 Model::place(const AttachedPoint& point, In q) const {
  if (point.node < 0) return point.offset;
  const DofMap& dofs = system.dofs();
  return point_state(q.data() + dofs.configuration_offset(point.node), dofs.kind(point.node), point.offset).x;
}

std::string Model::pointer_of_equation(int equation) const {
  const int node = system.equation_node(equation);
  for (std::size_t b = 0; b < bodies.size(); ++b)
    if (std::find(bodies[b].nodes.begin(), bodies[b].nodes.end(), node) != bodies[b].nodes.end())
      return "/bodies/" + std::to_string(b);
  return "/bodies";
}

std::string Model::pointer_of_row(int row) const {
  const auto has = [row](const std::vector<int>& rows) {
    return std::find(rows.begin(), rows.end(), row) != rows.end();
  };
  for (std::size_t i = 0; i < joints.size(); ++i)
    if (has(joints[i].rows) || has(joints[i].stops)) return "/joints/" + std::to_string(i);
  for (std::size_t i = 0; i < contacts.size(); ++i)
    if (has(contacts[i].rows)) return "/contacts/" + std::to_string(i);
  return "";
}

std::string resolved_text(const ModelDocument& document) { return document.resolved.dump(2) + "\n"; }

void set_end_time(ModelDocument& document, double t_end) {
  if (!document.ok()) return;
  json& integrator = document.resolved["integrator"];
  const double duration = t_end - integrator["start_time"].get<double>();
  if (duration < 0)
    document.add_issue("/integrator/start_time", "expected a start before the end of the run, given with --until");
  else {
    // what is expected at the model's own end stays there
    for (json& e : document.resolved["expect"])
      if (!e.contains("time"))
        e["time"] = integrator["start_time"].get<double>() + integrator["duration"].get<double>();
    // so do the loads of a static run
    if (text(integrator["type"]) == "static" && !integrator.contains("ramp"))
      integrator["ramp"] = integrator["duration"];
    integrator["duration"] = duration;
  }
}

std::unique_ptr<Integrator> start_integrator(Model& model, ModelDocument& document, bool initialise) {
  std::unique_ptr<Integrator> integrator = model.make_integrator(model.system);
  if (!initialise || integrator->initialise(model.system, model.state, model.simulation.step)) return integrator;
  const int row = integrator->suspicious_row(), n = model.system.size();
  const std::string where = row < 0    ? ""
                            : row >= n ? " at " + model.system.row_name(row - n)
                                       : " at " + model.system.equation_name(row);
  document.add_issue(row < 0    ? ""
                     : row >= n ? model.pointer_of_row(row - n)
                                : model.pointer_of_equation(row),
                     "the initial accelerations cannot be computed: the mass matrix with the joints is singular" +
                         where + "; is there a component without mass that no joint holds?");
  return nullptr;
}

std::unique_ptr<Model> build_model(ModelDocument& document, int threads) {
  if (!document.ok()) return nullptr;
  return Builder(document, threads).build();
}

}  // namespace carom
