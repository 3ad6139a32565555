#include "io/results/probes.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/mechanics/body_point.hpp"
#include "io/model/model_spec.hpp"
#include "io/results/element_field.hpp"

namespace carom {

namespace {

// The six velocity components of a node from an array over equations.
std::array<double, 6> local(const System& system, int node, const Vector& v) {
  std::array<double, 6> out{};
  for (int c = 0; c < 6; ++c)
    if (const int e = system.dofs().equation(node, c); e >= 0) out[at(c)] = v[at(e)];
  return out;
}

PointState state_of(const System& system, const AttachedPoint& p, const Vector& q) {
  const double* node = p.node < 0 ? nullptr : q.data() + system.dofs().configuration_offset(p.node);
  return point_state(node, p.node < 0 ? NodeKind::point : system.dofs().kind(p.node), p.offset);
}

using Evaluate = std::function<void(const StepView&, double*)>;

// Writes all three components of a vector or the chosen one.
Evaluate vector_probe(int component, std::function<Vec3(const StepView&)> value) {
  return [component, value = std::move(value)](const StepView& view, double* out) {
    const Vec3 x = value(view);
    if (component >= 0) {
      out[0] = x[component];
    } else {
      for (int i = 0; i < 3; ++i) out[i] = x[i];
    }
  };
}

Evaluate point_probe(const std::string& quantity, int component, const AttachedPoint& p) {
  if (quantity == "position")
    return vector_probe(component, [p](const StepView& v) { return state_of(v.system, p, v.state.q).x; });
  if (quantity == "velocity")
    return vector_probe(component, [p](const StepView& v) {
      return point_velocity(state_of(v.system, p, v.state.q), p.offset, local(v.system, p.node, v.state.v).data());
    });
  if (quantity == "acceleration")
    return vector_probe(component, [p](const StepView& v) {
      const PointState s = state_of(v.system, p, v.state.q);
      const auto a = local(v.system, p.node, v.state.acceleration);
      return Vec3(point_velocity(s, p.offset, a.data()) +
                  point_centripetal(s, p.offset, local(v.system, p.node, v.state.v).data()));
    });
  if (quantity == "rotation")
    return vector_probe(component, [p](const StepView& v) {
      const double* q = v.state.q.data() + v.system.dofs().configuration_offset(p.node);
      return Vec3(so3::log_quaternion(Quaternion(q[3], q[4], q[5], q[6])));
    });
  return vector_probe(component, [p](const StepView& v) {  // angular_velocity
    const auto w = local(v.system, p.node, v.state.v);
    return Vec3(w[3], w[4], w[5]);
  });
}

// The row of a contact whose gap is smallest.
int nearest_row(const StepView& v, const std::vector<int>& rows) {
  int nearest = rows.front();
  double smallest = std::numeric_limits<double>::infinity();
  for (int row : rows)
    if (const double gap = v.system.row_gap(row, v.state.q, v.state.t); gap < smallest) {
      smallest = gap;
      nearest = row;
    }
  return nearest;
}

Evaluate contact_probe(const std::string& quantity, const std::vector<int>& rows) {
  if (quantity == "gap")
    return [rows](const StepView& v, double* out) {
      out[0] = v.system.row_gap(nearest_row(v, rows), v.state.q, v.state.t);
    };
  if (quantity == "gap_velocity")
    return [rows](const StepView& v, double* out) {
      out[0] = v.system.row_rate(nearest_row(v, rows), v.state.q, v.state.v, v.state.t);
    };
  const bool force = quantity == "contact_force";
  return [rows, force](const StepView& v, double* out) {
    double sum = 0;
    for (int row : rows) sum += force ? v.integrator.row_force(v.state, row) : v.state.impulse[at(row)];
    out[0] = sum;
  };
}

// The reaction of a joint's rows, drivers and stops among them, on its second point: force and moment, inertial. Where
// that point is the ground's, what acts on the first side is turned around.
std::pair<Vec3, Vec3> joint_reaction(const StepView& v, const JointInfo& joint) {
  const System& system = v.system;
  const int slot = joint.point.node < 0 ? 0 : 1;
  const AttachedPoint& side = slot == 0 ? joint.a : joint.point;
  std::array<double, 12> f{};
  for (const auto* rows : {&joint.rows, &joint.stops})
    for (const int row : *rows) {
      const System::RowPlace place = system.row_place(row);
      const ConstraintBlock& block = *system.constraints()[at(place.block)];
      // not those that hold a set of nodes in the frame of a side
      const Topology& t = block.topology();
      if (t.node(place.item, 0) != joint.a.node || t.node(place.item, 1) != joint.point.node) continue;
      std::array<double, 3> s{};
      s[at(place.row)] = v.integrator.row_force(v.state, row);
      block.add_reaction({place.item, place.item + 1}, {v.state.q.data(), nullptr, v.state.t}, s.data(), f.data());
    }
  const PointState node = state_of(system, {side.node, Vec3::Zero()}, v.state.q);
  const Vec3 force = Vec3(f.data() + 6 * slot), moment = node.R * Vec3(f.data() + 6 * slot + 3),
             point = state_of(system, joint.point, v.state.q).x;
  const double sign = slot == 0 ? -1 : 1;
  return {sign * force, sign * (node.rotates ? Vec3(moment - (point - node.x).cross(force)) : Vec3(Vec3::Zero()))};
}

Evaluate coordinate_probe(const JointCoordinate& c, bool rate) {
  return [c, rate](const StepView& v, double* out) {
    const auto node = [&](int n) {
      return n < 0 ? nullptr : v.state.q.data() + v.system.dofs().configuration_offset(n);
    };
    const auto kind = [&](int n) { return n < 0 ? NodeKind::point : v.system.dofs().kind(n); };
    CoordinateState s;
    evaluate_coordinate(c, node(c.node_a), kind(c.node_a), node(c.node_b), kind(c.node_b),
                        rate ? CoordinateOrder::gradient : CoordinateOrder::value, s);
    out[0] = s.value;
    if (!rate) return;
    out[0] = 0;
    for (const int side : {0, 1}) {
      const auto velocity = local(v.system, side == 0 ? c.node_a : c.node_b, v.state.v);
      for (int i = 0; i < 6; ++i) out[0] += s.G[6 * side + i] * velocity[at(i)];
    }
  };
}

Evaluate row_force_probe(int row) {
  return [row](const StepView& v, double* out) { out[0] = v.integrator.row_force(v.state, row); };
}

Evaluate joint_probe(const std::string& quantity, int component, const JointInfo& joint) {
  if (quantity == "constraint_force")
    return vector_probe(component, [joint](const StepView& v) { return joint_reaction(v, joint).first; });
  if (quantity == "constraint_torque")
    return vector_probe(component, [joint](const StepView& v) { return joint_reaction(v, joint).second; });
  if (quantity == "driver_force" || quantity == "driver_torque") {
    const int row = quantity == "driver_force" ? joint.displacement_driver : joint.angle_driver;
    return row < 0 ? Evaluate() : row_force_probe(row);
  }
  const auto& coordinate = quantity.starts_with("joint_angle") ? joint.angle : joint.displacement;
  return coordinate ? coordinate_probe(*coordinate, quantity.ends_with("_rate")) : Evaluate();
}

// Where a field can be read: elements of blocks, and for nodal fields the slot of a node.
struct FieldSource {
  const ElementBlock* block;
  int element, slot;
};

// A field of one element, or the mean of a nodal one over the elements at a node.
Evaluate field_probe(const OutputField& field, int component, const std::vector<FieldSource>& sources) {
  const std::size_t width = at(field.components);
  std::size_t slots = 1;
  for (const FieldSource& s : sources)
    if (field.nodal) slots = std::max(slots, s.block->topology().slots.size());
  return [field, component, sources, width, values = Vector(width * slots), velocities = Vector()](
             const StepView& v, double* out) mutable {
    const std::size_t first = component < 0 ? 0 : at(component), count = component < 0 ? width : 1;
    std::fill_n(out, count, 0.0);
    for (const FieldSource& s : sources) {
      read_element_field(v.system, *s.block, field.name, {s.element, s.element + 1}, v.state, velocities,
                         values.data());
      const double* value = values.data() + (field.nodal ? width * at(s.slot) : 0) + first;
      for (std::size_t c = 0; c < count; ++c) out[c] += value[c] / static_cast<double>(sources.size());
    }
  };
}

// The field of that name and where "body.element.3" or, if nodal, "body.point" offers it.
std::optional<OutputField> find_field(const Model& model, const std::string& name, const std::string& of, bool nodal,
                                      std::vector<FieldSource>& sources) {
  const BodyInfo* body = model.find_body(of.substr(0, of.find('.')));
  if (body == nullptr) return std::nullopt;
  const auto point = nodal ? model.find_point(of) : std::nullopt;
  if (nodal && !point) return std::nullopt;
  const std::string word = body->name + ".element.";
  long number = of.starts_with(word) ? std::strtol(of.c_str() + word.size(), nullptr, 10) : -1;
  std::optional<OutputField> found;
  for (const BodyElements& elements : body->elements) {
    const auto fields = elements.block->output_fields();
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const OutputField& f) { return f.name == name && f.nodal == nodal; });
    const Topology& topology = elements.block->topology();
    if (field != fields.end() && nodal) {
      for (int e = elements.range.first; e < elements.range.last; ++e)
        for (int slot = 0; slot < static_cast<int>(topology.slots.size()); ++slot)
          if (topology.node(e, slot) == point->node) sources.push_back({elements.block, e, slot});
    } else if (field != fields.end() && number >= 0 && number < elements.range.size()) {
      sources.push_back({elements.block, elements.range.first + static_cast<int>(number), 0});
    }
    if (field != fields.end()) found = *field;
    number -= elements.range.size();
  }
  return sources.empty() ? std::nullopt : found;
}

// Component of "section_force.x", "stress.xy" (in VTK's order); -1 for all.
int field_component(const std::string& suffix) {
  static const char* const words[] = {"xx", "yy", "zz", "xy", "yz", "xz"};
  if (suffix.size() == 1) return suffix[0] - 'x';
  for (int i = 0; i < 6; ++i)
    if (suffix == words[i]) return i;
  return -1;
}

Evaluate model_probe(const std::string& quantity, int component) {
  if (quantity.starts_with("momentum.")) {
    const bool angular = quantity == "momentum.angular";
    return vector_probe(component, [angular](const StepView& v) {
      const Momenta m = v.system.momenta(v.state.q, v.state.v);
      return angular ? m.angular : m.linear;
    });
  }
  return [quantity](const StepView& v, double* out) {
    const Energies e = v.system.energies(v.state.q, v.state.v, v.state.t);
    out[0] = quantity == "energy.kinetic"     ? e.kinetic
             : quantity == "energy.elastic"   ? e.elastic
             : quantity == "energy.potential" ? e.potential
                                              : e.kinetic + e.elastic + e.potential;
  };
}

}  // namespace

std::vector<Probe> make_probes(const Model& model, ModelIssues& issues) {
  std::vector<Probe> probes;
  for (const ProbeSettings& settings : model.output.probes) {
    // quantity and component: "position.y", but "energy.kinetic" is one word
    std::string quantity = settings.quantity;
    int component = -1;
    if (const std::size_t dot = quantity.rfind('.'); dot != std::string::npos && dot + 2 == quantity.size()) {
      component = quantity.back() - 'x';
      quantity.resize(dot);
    }
    Probe probe;
    probe.every = settings.every;
    probe.meaning = settings.quantity + " " + settings.of;
    bool is_vector = true;
    const auto unknown = [&](const std::string& what) {
      issues.add(settings.pointer + "/of", "no " + what + " named \"" + settings.of + "\"");
    };
    // a node that a mesh has not, or a group, which is no point
    const auto unknown_node = [&]() {
      const std::size_t dot = settings.of.find('.');
      const BodyInfo* body = dot == std::string::npos ? nullptr : model.find_body(settings.of.substr(0, dot));
      if (body == nullptr || model.find_point(settings.of) || settings.of.substr(dot + 1).starts_with("element."))
        return false;
      const std::string point = settings.of.substr(dot + 1), last = std::to_string(body->nodes.size() - 1);
      issues.add(settings.pointer + "/of", body->sets.contains(point)
                                               ? "expected one point, got \"" + settings.of + "\", which is several"
                                           : body->type != "solid" || point.starts_with("node.")
                                               ? body->unknown_point(point)
                                               : "body \"" + body->name + "\" has no point \"" + point +
                                                     "\"; a probe takes its nodes, node.0 to node." + last);
      return true;
    };
    if (quantity.starts_with("energy.") || quantity.starts_with("momentum.")) {
      is_vector = quantity.starts_with("momentum.");
      probe.evaluate = model_probe(quantity, component);
    } else if (quantity.starts_with("gap") || quantity.starts_with("contact_")) {
      is_vector = false;
      // "floor" or its point "floor[3]"
      const std::size_t bracket = settings.of.find('[');
      std::vector<int> rows;
      for (const auto* groups : {&model.contacts, &model.stops})
        for (const RowGroup& c : *groups)
          if (c.name == settings.of.substr(0, bracket)) rows = c.rows;
      if (rows.empty()) {
        unknown("contact");
        continue;
      }
      if (bracket != std::string::npos) {
        const std::size_t k = std::strtoul(settings.of.c_str() + bracket + 1, nullptr, 10);
        if (k >= rows.size()) {
          issues.add(settings.pointer + "/of", "expected a point of the contact, counted from 0 to " +
                                                   std::to_string(rows.size() - 1) + ", got \"" + settings.of + "\"");
          continue;
        }
        rows = {rows[k]};
      }
      probe.evaluate = contact_probe(quantity, rows);
    } else if (quantity.starts_with("constraint_") || quantity.starts_with("joint_") ||
               quantity.starts_with("driver_")) {
      is_vector = quantity.starts_with("constraint_");
      const auto joint = std::find_if(model.joints.begin(), model.joints.end(),
                                      [&](const JointInfo& j) { return j.name == settings.of; });
      if (joint == model.joints.end()) {
        unknown("joint");
        continue;
      }
      probe.evaluate = joint_probe(quantity, component, *joint);
      if (!probe.evaluate) {
        issues.add(settings.pointer + "/of", "joint \"" + settings.of + "\" has no " +
                                                 (quantity.starts_with("driver_")       ? "driver of that kind"
                                                  : quantity.starts_with("joint_angle") ? "angle"
                                                                                        : "displacement") +
                                                 " for \"" + quantity + "\"");
        continue;
      }
    } else if (const Quantity* known = find_quantity(settings.quantity);
               known != nullptr && (known->of == Quantity::Of::element || known->of == Quantity::Of::element_node)) {
      is_vector = known->is_vector;
      const std::size_t dot = settings.quantity.find('.');
      const std::string field_name = settings.quantity.substr(0, dot);
      std::vector<FieldSource> sources;
      const bool nodal = known->of == Quantity::Of::element_node;
      const auto field = find_field(model, field_name, settings.of, nodal, sources);
      if (!field) {
        if (!unknown_node())
          unknown((nodal ? "node with the quantity \"" : "element with the quantity \"") + field_name + "\"");
        continue;
      }
      component = dot == std::string::npos ? -1 : field_component(settings.quantity.substr(dot + 1));
      probe.evaluate = field_probe(*field, component, sources);
    } else {
      const auto point = model.find_point(settings.of);
      const bool rotation = quantity == "rotation" || quantity == "angular_velocity";
      if (!point || (rotation && (point->node < 0 || model.system.dofs().kind(point->node) != NodeKind::frame))) {
        if (rotation || !unknown_node()) unknown(rotation ? "rotating body" : "point");
        continue;
      }
      probe.evaluate = point_probe(quantity, component, *point);
    }
    if (is_vector && component < 0)
      probe.columns = {settings.name + ".x", settings.name + ".y", settings.name + ".z"};
    else
      probe.columns = {settings.name};
    probes.push_back(std::move(probe));
  }
  return probes;
}

namespace {
std::string columns_of(const std::vector<Probe>& probes) {
  std::string columns = "t";
  for (const Probe& p : probes)
    for (const std::string& c : p.columns) columns += "," + c;
  return columns;
}

std::string meaning_of(const std::vector<Probe>& probes) {
  std::string meaning;
  for (const Probe& p : probes) meaning += p.meaning + "\n";
  return meaning;
}
}  // namespace

ProbeWriter::ProbeWriter(const std::filesystem::path& file, std::vector<Probe> probes)
    : file_(file, columns_of(probes), meaning_of(probes)), probes_(std::move(probes)) {}

void ProbeWriter::start(const StepView& view) {
  if (!file_.open(resume_)) write(view);
}

void ProbeWriter::write(const StepView& view) {
  const auto due = [&](const Probe& p) { return view.state.step % p.every == 0; };
  if (!std::any_of(probes_.begin(), probes_.end(), due)) return;
  file_.cell(view.state.t);
  for (const Probe& p : probes_) {
    double values[3] = {0, 0, 0};
    const bool now = due(p);
    if (now) p.evaluate(view, values);
    for (std::size_t i = 0; i < p.columns.size(); ++i) now ? file_.cell(values[i]) : file_.empty_cell();
  }
  file_.end_row();
}

void ProbeWriter::save(NamedArrays& record) { file_.save(record); }

void ProbeWriter::restore(const NamedArrays& record, bool same_files) {
  if (same_files) resume_ = CsvFile::place(record);
}

}  // namespace carom
