#include "io/model/quantities.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "core/mechanics/body_point.hpp"
#include "elements/joints/joint_coordinate.hpp"
#include "integrators/common/constraint_switches.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/observer.hpp"
#include "io/model/element_field.hpp"
#include "io/model/model.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

namespace {

using Of = Quantity::Of;

template <int n>
void write(const Eigen::Matrix<double, n, 1>& x, double* values) {
  std::copy_n(x.data(), n, values);
}
void write(double x, double* values) { *values = x; }

// ---- the whole model

template <class Value>
Quantity of_model(std::string name, int components, std::string unit, std::string help, Value value) {
  return {std::move(name),
          components,
          Of::model,
          std::move(unit),
          std::move(help),
          [value](const Model&, const std::string&, std::string&) -> Evaluate {
            return [value](const StepView& v, double* values) { write(value(v), values); };
          }};
}

Energies energies(const StepView& v) { return v.system.energies(v.state.q, v.state.v, v.state.t); }
Momenta momenta(const StepView& v) { return v.system.momenta(v.state.q, v.state.v); }

// ---- points

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

// The message for "body.point" of a node that the mesh lacks, or of a group, which is no point; else empty.
std::string unknown_node(const Model& model, const std::string& of) {
  const std::size_t dot = of.find('.');
  const BodyInfo* body = dot == std::string::npos ? nullptr : model.find_body(of.substr(0, dot));
  if (body == nullptr || model.find_point(of)) return {};
  const std::string point = of.substr(dot + 1);
  if (point.starts_with("element.")) return {};
  if (body->sets.contains(point)) return "expected one point, got " + in_quotes(of) + ", which is several";
  if (!body->points.empty() || point.starts_with("node.")) return body->unknown_point(point);
  return "body " + in_quotes(body->name) + " has no point " + in_quotes(point) +
         "; a probe takes its nodes, node.0 to node." + std::to_string(body->nodes.size() - 1);
}

template <int n>
using PointValue = Eigen::Matrix<double, n, 1> (*)(const StepView&, const AttachedPoint&);

template <int n>
Quantity of_point(std::string name, std::string unit, std::string help, PointValue<n> value) {
  return {std::move(name),
          n,
          Of::point,
          std::move(unit),
          std::move(help),
          [value](const Model& model, const std::string& of, std::string& error) -> Evaluate {
            const auto point = model.find_point(of);
            if (!point) {
              error = unknown_node(model, of);
              if (error.empty()) error = "no point named " + in_quotes(of);
              return {};
            }
            return [value, p = *point](const StepView& v, double* values) { write(value(v, p), values); };
          }};
}

template <int n>
Quantity of_rotating_point(std::string name, std::string unit, std::string help, PointValue<n> value) {
  Quantity quantity = of_point<n>(std::move(name), std::move(unit), std::move(help), value);
  quantity.of = Of::rotating_point;
  quantity.make = [make = std::move(quantity.make)](const Model& model, const std::string& of, std::string& error) {
    const auto point = model.find_point(of);
    if (point && point->node >= 0 && model.system.dofs().kind(point->node) == NodeKind::frame)
      return make(model, of, error);
    error = "no rotating body named " + in_quotes(of);
    return Evaluate();
  };
  return quantity;
}

Vec3 position(const StepView& v, const AttachedPoint& p) { return state_of(v.system, p, v.state.q).x; }

Vec3 velocity(const StepView& v, const AttachedPoint& p) {
  return point_velocity(state_of(v.system, p, v.state.q), p.offset, local(v.system, p.node, v.state.v).data());
}

Vec3 acceleration(const StepView& v, const AttachedPoint& p) {
  const PointState s = state_of(v.system, p, v.state.q);
  const auto a = local(v.system, p.node, v.state.acceleration);
  return point_velocity(s, p.offset, a.data()) +
         point_centripetal(s, p.offset, local(v.system, p.node, v.state.v).data());
}

Quaternion quaternion(const StepView& v, const AttachedPoint& p) {
  return Quaternion(v.state.q.data() + v.system.dofs().configuration_offset(p.node) + 3);
}

Vec3 rotation(const StepView& v, const AttachedPoint& p) { return so3::log_quaternion(quaternion(v, p)); }

Vec3 angular_velocity(const StepView& v, const AttachedPoint& p) {
  const auto w = local(v.system, p.node, v.state.v);
  return {w[3], w[4], w[5]};
}

// ---- contacts

using Rows = std::vector<int>;

// The rows of a contact or stop, "floor", or of one of its points, "floor[3]".
Rows rows_of(const Model& model, const std::string& of, std::string& error) {
  const std::size_t bracket = of.find('[');
  Rows rows;
  for (const auto* groups : {&model.contacts, &model.stops})
    for (const RowGroup& c : *groups)
      if (c.name == of.substr(0, bracket)) rows = c.rows;
  if (rows.empty()) {
    error = "no contact named " + in_quotes(of);
  } else if (bracket != std::string::npos) {
    if (model.system.row_block(rows.front()).traits().searching)
      error = "points of " + in_quotes(of.substr(0, bracket)) +
              " have no numbers: its rows belong to the pairs that are near";
    const std::size_t k = std::strtoul(of.c_str() + bracket + 1, nullptr, 10);
    if (k < rows.size()) return {rows[k]};
    error = "expected a point of the contact, counted from 0 to " + std::to_string(rows.size() - 1) + ", got " +
            in_quotes(of);
  }
  return rows;
}

Quantity of_contact(std::string name, std::string unit, std::string help,
                    double (*value)(const StepView&, const Rows&)) {
  return {std::move(name),
          1,
          Of::contact,
          std::move(unit),
          std::move(help),
          [value](const Model& model, const std::string& of, std::string& error) -> Evaluate {
            const Rows rows = rows_of(model, of, error);
            if (!error.empty()) return {};
            return [value, rows](const StepView& v, double* values) { *values = value(v, rows); };
          }};
}

// The smallest gap of a contact, with its rate.
ConstraintBlock::Neighbours nearest(const StepView& v, const Rows& rows) {
  ConstraintBlock::Neighbours found =
      v.system.row_block(rows.front()).nearest_without_item(v.state.q.data(), v.state.v.data());
  int row_of_gap = -1;
  for (const int row : rows) {
    if (v.system.row_vacant(row)) continue;
    const double gap = v.system.row_gap(row, v.state.q, v.state.t);
    if (gap < found.gap || (row_of_gap < 0 && found.name.empty())) {
      found.gap = gap;
      row_of_gap = row;
    }
  }
  if (row_of_gap >= 0) found.rate = v.system.row_rate(row_of_gap, v.state.q, v.state.v, v.state.t);
  return found;
}

double gap(const StepView& v, const Rows& rows) { return nearest(v, rows).gap; }

double gap_velocity(const StepView& v, const Rows& rows) { return nearest(v, rows).rate; }

double contact_force(const StepView& v, const Rows& rows) {
  double sum = 0;
  for (const int row : rows) sum += v.integrator.row_force(v.state, row);
  return sum;
}

double contact_impulse(const StepView& v, const Rows& rows) {
  double sum = 0;
  for (const int row : rows) sum += v.state.impulse[at(row)];
  return sum;
}

// ---- friction

template <int n>
Quantity of_friction(std::string name, std::string unit, std::string help,
                     Eigen::Matrix<double, n, 1> (*value)(const StepView&, const Rows&), int least_rows = slip_rows) {
  return {std::move(name),
          n,
          Of::contact,
          std::move(unit),
          std::move(help),
          [value, least_rows](const Model& model, const std::string& of, std::string& error) -> Evaluate {
            const Rows rows = rows_of(model, of, error);
            if (error.empty() && model.system.row_block(rows.front()).rows() < least_rows)
              error = "contact " + in_quotes(of.substr(0, of.find('['))) +
                      (least_rows > slip_rows ? " has no resistance to rolling or pivoting" : " has no friction");
            if (!error.empty()) return {};
            return [value, rows](const StepView& v, double* values) { write(value(v, rows), values); };
          }};
}

using Scalar = Eigen::Matrix<double, 1, 1>;

// The tangential multipliers as vectors, summed.
template <class Multiplier>
Vec3 tangential_sum(const StepView& v, const Rows& rows, const Multiplier& multiplier) {
  Vec3 sum = Vec3::Zero();
  for (const int row : rows)
    for (int k = row + 1; k < row + std::min(slip_rows, v.system.row_block(row).rows()); ++k)
      if (const double s = multiplier(k); s != 0)
        sum += s * v.system.row_contact_place(k, v.state.q, v.state.v, v.state.t).normal;
  return sum;
}
Vec3 friction_force(const StepView& v, const Rows& rows) {
  return tangential_sum(v, rows, [&](int row) { return v.integrator.row_force(v.state, row); });
}
Vec3 friction_impulse(const StepView& v, const Rows& rows) {
  return tangential_sum(v, rows, [&](int row) { return v.state.impulse[at(row)]; });
}
Scalar slip_velocity(const StepView& v, const Rows& rows) {
  double largest = 0;
  for (const int row : rows) {
    if (v.system.row_vacant(row) || v.state.closed[at(row - v.system.bilateral())] == 0) continue;
    double square = 0;
    for (int k = row + 1; k < row + std::min(slip_rows, v.system.row_block(row).rows()); ++k) {
      const double rate = v.system.row_rate(k, v.state.q, v.state.v, v.state.t);
      square += rate * rate;
    }
    largest = std::max(largest, square);
  }
  return Scalar(std::sqrt(largest));
}
Scalar slip_state(const StepView& v, const Rows& rows) {
  int state = 0;
  for (const int row : rows) state = std::max<int>(state, v.state.closed[at(row + 1 - v.system.bilateral())]);
  return Scalar(state);
}
// Moments of resistance, summed.
Vec3 resistance_moment(const StepView& v, const Rows& rows) {
  Vec3 sum = Vec3::Zero();
  for (const int row : rows)
    for (int k = row + slip_rows; k < row + v.system.row_block(row).rows(); ++k)
      if (const double s = v.integrator.row_force(v.state, k); s != 0)
        sum += s * v.system.contact_parameters(k).lever *
               v.system.row_contact_place(k, v.state.q, v.state.v, v.state.t).normal;
  return sum;
}
// Largest relative angular velocity of the closed points, along the rows [first, last) of their contacts.
double largest_spin(const StepView& v, const Rows& rows, int first, int last) {
  double largest = 0;
  for (const int row : rows) {
    if (v.system.row_vacant(row) || v.state.closed[at(row - v.system.bilateral())] == 0) continue;
    double square = 0;
    for (int k = row + first; k < row + last; ++k) {
      const double rate = v.system.row_rate(k, v.state.q, v.state.v, v.state.t) / v.system.contact_parameters(k).lever;
      square += rate * rate;
    }
    largest = std::max(largest, square);
  }
  return std::sqrt(largest);
}
Scalar rolling_velocity(const StepView& v, const Rows& rows) {
  return Scalar(largest_spin(v, rows, slip_rows, slip_rows + 2));
}
Scalar pivoting_velocity(const StepView& v, const Rows& rows) {
  return Scalar(largest_spin(v, rows, slip_rows + 2, most_contact_rows));
}
// Of a tangential row in an increment without velocities: force times slip displacement.
double static_work(const StepView& v, int row) {
  const double force = v.state.lambda[at(row)];
  const Stage& increment = v.integrator.stages().front();
  const StepStart start{increment.q_0.data(), increment.v_0.data(), increment.t_0};
  return force == 0 ? 0 : force * v.system.row_gap(row, v.state.q, v.state.t, &start);
}
// Of the last step.
Scalar friction_work(const StepView& v, const Rows& rows) {
  double work = 0;
  if (v.integrator.stages().empty()) return Scalar(0);
  for (const int row : rows)
    for (int k = row + 1; k < row + v.system.row_block(row).rows(); ++k)
      work += v.integrator.info().dynamic ? row_work(v, k) : static_work(v, k);
  return Scalar(work);
}

Quantity summed(Quantity quantity) {
  quantity.summed = true;
  return quantity;
}

// ---- joints

// `make` returns null for a joint that has no such thing; `what` names the thing for the message.
Quantity of_joint(const std::string& name, int components, std::string unit, std::string help, std::string what,
                  Evaluate (*make)(const JointInfo&)) {
  return {
      name,
      components,
      Of::joint,
      std::move(unit),
      std::move(help),
      [name, what = std::move(what), make](const Model& model, const std::string& of, std::string& error) -> Evaluate {
        const auto joint =
            std::find_if(model.joints.begin(), model.joints.end(), [&](const JointInfo& j) { return j.name == of; });
        if (joint == model.joints.end()) {
          error = "no joint named " + in_quotes(of);
          return {};
        }
        Evaluate evaluate = make(*joint);
        if (!evaluate) error = "joint " + in_quotes(of) + " has no " + what + " for " + in_quotes(name);
        return evaluate;
      }};
}

Quantity with_period(double period, Quantity quantity) {
  quantity.period = period;
  return quantity;
}

// The reaction of a joint's rows, drivers, stops and friction among them, on its second point: force and moment,
// inertial. Where that point is the ground's, the reaction on the first side is turned around.
std::pair<Vec3, Vec3> joint_reaction(const StepView& v, const JointInfo& joint) {
  const System& system = v.system;
  const AttachedPoint& side = joint.point.node < 0 ? joint.a : joint.point;
  std::array<double, 6> f{};
  Vector local, s;
  for (const auto* rows : {&joint.rows, &joint.stops, &joint.friction})
    for (const int row : *rows) {
      const System::RowPlace place = system.row_place(row);
      const ConstraintBlock& block = *system.constraints()[at(place.block)];
      const Topology& t = block.topology();
      const bool switches = dynamic_cast<const SwitchingBlock*>(&block) != nullptr;
      // not the rows that hold a set of nodes in the frame of a side
      if (!switches && (t.node(place.item, 0) != joint.a.node || t.node(place.item, 1) != joint.point.node)) continue;
      local.assign(at(t.local_size), 0.0);
      s.assign(at(block.rows()), 0.0);
      s[at(place.row)] = v.integrator.row_force(v.state, row);
      block.add_reaction({place.item, place.item + 1}, {v.state.q.data(), nullptr, v.state.t}, s.data(), local.data());
      std::size_t slot = 0;
      while (t.node(place.item, static_cast<int>(slot)) != side.node) ++slot;
      for (std::size_t c = 0; c < 6; ++c) f[c] += local[6 * slot + c];
    }
  const PointState node = state_of(system, {side.node, Vec3::Zero()}, v.state.q);
  const Vec3 force = Vec3(f.data()), moment = node.R * Vec3(f.data() + 3),
             point = state_of(system, joint.point, v.state.q).x;
  const double sign = joint.point.node < 0 ? -1 : 1;
  return {sign * force, sign * (node.rotates ? Vec3(moment - (point - node.x).cross(force)) : Vec3(Vec3::Zero()))};
}

Evaluate constraint_force(const JointInfo& joint) {
  return [joint](const StepView& v, double* values) { write(joint_reaction(v, joint).first, values); };
}
Evaluate constraint_torque(const JointInfo& joint) {
  return [joint](const StepView& v, double* values) { write(joint_reaction(v, joint).second, values); };
}

Evaluate force_of_row(int row) {
  if (row < 0) return {};
  return [row](const StepView& v, double* values) { *values = v.integrator.row_force(v.state, row); };
}
Evaluate driver_force(const JointInfo& joint) { return force_of_row(joint.displacement_driver); }
Evaluate driver_torque(const JointInfo& joint) { return force_of_row(joint.angle_driver); }

// Of an angle the row acts by a moment, so many levers each.
Evaluate joint_friction(const JointInfo& joint, bool moment) {
  const std::vector<int>& rows = joint.friction;
  if (rows.size() == 3) {
    if (!moment) return {};
    return [rows](const StepView& v, double* values) {
      *values = std::hypot(v.integrator.row_force(v.state, rows[0]), v.integrator.row_force(v.state, rows[1]),
                           v.integrator.row_force(v.state, rows[2]));
    };
  }
  if (rows.empty() || (rows.size() == 1 && moment != (joint.angle != nullptr))) return {};
  return [row = moment ? rows.back() : rows.front(), moment](const StepView& v, double* values) {
    *values = v.integrator.row_force(v.state, row) * (moment ? v.system.contact_parameters(row).lever : 1.0);
  };
}
Evaluate joint_friction_force(const JointInfo& joint) { return joint_friction(joint, false); }
Evaluate joint_friction_torque(const JointInfo& joint) { return joint_friction(joint, true); }
Evaluate joint_slip_state(const JointInfo& joint) {
  if (joint.friction.empty()) return {};
  return [row = joint.friction.front()](const StepView& v, double* values) {
    *values = v.state.closed[at(row - v.system.bilateral())];
  };
}
// Of the last step.
Evaluate joint_friction_work(const JointInfo& joint) {
  if (joint.friction.empty()) return {};
  return [rows = joint.friction](const StepView& v, double* values) {
    *values = 0;
    if (v.integrator.stages().empty()) return;
    for (const int k : rows) *values += row_work(v, k);
  };
}

Evaluate coordinate_or_rate(const std::shared_ptr<const JointCoordinate>& coordinate, bool rate) {
  if (coordinate == nullptr) return {};
  return [c = *coordinate, rate](const StepView& v, double* values) {
    const auto node = [&](int n) {
      return n < 0 ? nullptr : v.state.q.data() + v.system.dofs().configuration_offset(n);
    };
    const auto kind = [&](int n) { return n < 0 ? NodeKind::point : v.system.dofs().kind(n); };
    CoordinateState s;
    evaluate_coordinate(c, node(c.node_a), kind(c.node_a), node(c.node_b), kind(c.node_b),
                        rate ? CoordinateOrder::gradient : CoordinateOrder::value, s);
    *values = s.value;
    if (!rate) return;
    *values = 0;
    for (const int side : {0, 1}) {
      const auto velocity = local(v.system, side == 0 ? c.node_a : c.node_b, v.state.v);
      for (int i = 0; i < 6; ++i) *values += s.G[6 * side + i] * velocity[at(i)];
    }
  };
}
Evaluate joint_angle(const JointInfo& joint) { return coordinate_or_rate(joint.angle, false); }
Evaluate joint_angle_rate(const JointInfo& joint) { return coordinate_or_rate(joint.angle, true); }
Evaluate joint_displacement(const JointInfo& joint) { return coordinate_or_rate(joint.displacement, false); }
Evaluate joint_displacement_rate(const JointInfo& joint) { return coordinate_or_rate(joint.displacement, true); }

// ---- coordinates and their constraints

Quantity of_coordinate(std::string name, std::string help, double (*value)(const StepView&, int node)) {
  return {std::move(name),
          1,
          Of::coordinate,
          "",
          std::move(help),
          [value](const Model& model, const std::string& of, std::string& error) -> Evaluate {
            const int node = model.find_coordinate(of);
            if (node < 0) {
              error = "no coordinate named " + in_quotes(of);
              return {};
            }
            return [value, node](const StepView& v, double* values) { *values = value(v, node); };
          }};
}

double coordinate(const StepView& v, int node) { return v.state.q[at(v.system.dofs().configuration_offset(node))]; }
double coordinate_rate(const StepView& v, int node) { return local(v.system, node, v.state.v)[0]; }
double coordinate_acceleration(const StepView& v, int node) { return local(v.system, node, v.state.acceleration)[0]; }

Quantity of_constraint(std::string name, std::string help, double (*value)(const StepView&, int row)) {
  return {std::move(name),
          1,
          Of::constraint,
          "",
          std::move(help),
          [value](const Model& model, const std::string& of, std::string& error) -> Evaluate {
            const auto found = std::ranges::find(model.constraints, of, &RowGroup::name);
            if (found == model.constraints.end()) {
              error = "no constraint named " + in_quotes(of);
              return {};
            }
            return [value, row = found->rows.front()](const StepView& v, double* values) { *values = value(v, row); };
          }};
}

double multiplier(const StepView& v, int row) { return v.integrator.row_force(v.state, row); }
double constraint_correction(const StepView& v, int row) { return v.state.nu[at(row)]; }
double constraint_impulse(const StepView& v, int row) { return v.state.impulse[at(row)]; }
double constraint_value(const StepView& v, int row) { return v.system.row_gap(row, v.state.q, v.state.t); }

// ---- modes

// `time`: at which the mode has begun; otherwise its number.
Quantity of_modes(std::string name, std::string unit, std::string help, bool time) {
  return {std::move(name),
          1,
          Of::modes,
          std::move(unit),
          std::move(help),
          [time](const Model& model, const std::string& of, std::string& error) -> Evaluate {
            const int place = ConstraintSwitches::place_of(model.system, of);
            if (place < 0) {
              error = "no body or switching constraint with modes named " + in_quotes(of);
              return {};
            }
            const std::size_t entry = at(place + (time ? ConstraintSwitches::count(model.system) : 0));
            return [entry](const StepView& v, double* values) {
              const Vector* const modes = ConstraintSwitches::modes_of(v.state);
              *values = modes != nullptr ? (*modes)[entry] : 0;
            };
          }};
}

// ---- fields of elements

// Where a field can be read: elements of blocks, and for nodal fields the slot of a node.
struct FieldSource {
  const ElementBlock* block;
  int element, slot;
};

// The places where "body.element.3" or, of a nodal field, "body.point" offers the field.
std::vector<FieldSource> field_sources(const Model& model, const OutputField& field, const std::string& of) {
  std::vector<FieldSource> sources;
  const BodyInfo* body = model.find_body(of.substr(0, of.find('.')));
  const auto point = field.nodal ? model.find_point(of) : std::nullopt;
  if (body == nullptr || (field.nodal && !point)) return sources;
  const std::string word = body->name + ".element.";
  long number = of.starts_with(word) ? std::strtol(of.c_str() + word.size(), nullptr, 10) : -1;
  for (const BodyElements& elements : body->elements) {
    const auto fields = elements.block->output_fields();
    const bool has_field = std::any_of(fields.begin(), fields.end(), [&](const OutputField& f) {
      return f.name == field.name && f.nodal == field.nodal;
    });
    const Topology& topology = elements.block->topology();
    if (has_field && field.nodal) {
      for (int e = elements.range.first; e < elements.range.last; ++e)
        for (int slot = 0; slot < static_cast<int>(topology.slots.size()); ++slot)
          if (topology.node(e, slot) == point->node) sources.push_back({elements.block, e, slot});
    } else if (has_field && number >= 0 && number < elements.range.size()) {
      sources.push_back({elements.block, elements.range.first + static_cast<int>(number), 0});
    }
    number -= elements.range.size();
  }
  return sources;
}

// A field of one element, or the mean of a nodal one over the elements at a node.
Evaluate field_value(const OutputField& field, const std::vector<FieldSource>& sources) {
  const std::size_t width = at(field.components);
  std::size_t slots = 1;
  for (const FieldSource& s : sources)
    if (field.nodal) slots = std::max(slots, s.block->topology().slots.size());
  return [field, sources, width, buffer = Vector(width * slots), velocities = Vector()](const StepView& v,
                                                                                        double* values) mutable {
    std::fill_n(values, width, 0.0);
    for (const FieldSource& s : sources) {
      read_element_field(v.system, *s.block, field.name, {s.element, s.element + 1}, v.state, velocities,
                         buffer.data());
      const double* value = buffer.data() + (field.nodal ? width * at(s.slot) : 0);
      for (std::size_t c = 0; c < width; ++c) values[c] += value[c] / static_cast<double>(sources.size());
    }
  };
}

Quantity of_field(const OutputField& field) {
  return {field.name,
          field.components,
          field.nodal ? Of::element_node : Of::element,
          field.unit,
          field.help,
          [field](const Model& model, const std::string& of, std::string& error) -> Evaluate {
            const std::vector<FieldSource> sources = field_sources(model, field, of);
            if (!sources.empty()) return field_value(field, sources);
            error = unknown_node(model, of);
            if (error.empty())
              error = std::string("no ") + (field.nodal ? "node" : "element") + " with the quantity " +
                      in_quotes(field.name) + " named " + in_quotes(of);
            return {};
          }};
}

// ---- the table

std::vector<Quantity> make_table() {
  std::vector<Quantity> all = {
      of_point<3>("position", "m", "position of a point", position),
      of_point<3>("velocity", "m/s", "velocity of a point", velocity),
      of_point<3>("acceleration", "m/s^2", "acceleration of a point, without the jumps", acceleration),
      of_rotating_point<3>("rotation", "rad", "rotation vector of a rigid body or a beam's node", rotation),
      of_rotating_point<4>(
          "quaternion", "1",
          "unit quaternion of a rigid body or a beam's node, from body axes to inertial ones; continuous in "
          "time, also where the rotation vector jumps (q and -q are the same rotation)",
          quaternion),
      of_rotating_point<3>("angular_velocity", "rad/s", "angular velocity of a rigid body or a beam's node, body axes",
                           angular_velocity),
  };
  for (const BodyType& type : body_types())
    if (type.fields != nullptr)
      for (const OutputField& field : type.fields())
        if (std::none_of(all.begin(), all.end(), [&](const Quantity& q) { return q.name == field.name; }))
          all.push_back(of_field(field));
  const std::vector<Quantity> rest = {
      of_contact("gap", "m", "distance of a contact or of a joint's stop (\"hinge.upper\"), negative when penetrating",
                 gap),
      of_contact("gap_velocity", "m/s", "rate of the gap", gap_velocity),
      of_contact("contact_force", "N",
                 "force, summed over the contact's points: the smooth multiplier plus the impulse of the step over the "
                 "step's length; in a static run, which has no impulses, the multiplier alone",
                 contact_force),
      of_contact("contact_impulse", "N s", "impulse of a step, summed over the contact's points", contact_impulse),
      of_friction<3>("friction_force", "N",
                     "force of friction on what touches (\"on\", or the second of two spheres), summed over the "
                     "contact's points: the impulse of the step over the step's length",
                     friction_force),
      of_friction<3>("friction_impulse", "N s", "impulse of friction in a step, summed over the contact's points",
                     friction_impulse),
      of_friction<1>("slip_velocity", "m/s", "largest slip velocity of the closed points of a contact with friction",
                     slip_velocity),
      of_friction<1>("slip_state", "",
                     "0 if all points of a contact are open, 1 if the closed ones stick, 2 if one slips", slip_state),
      of_friction<3>("resistance_moment", "N m",
                     "moment of resistance to rolling and pivoting on what touches, summed over the contact's points",
                     resistance_moment, most_contact_rows),
      of_friction<1>("rolling_velocity", "rad/s",
                     "largest relative angular velocity along the tangent plane, of the closed points of a contact "
                     "with resistance",
                     rolling_velocity, most_contact_rows),
      of_friction<1>("pivoting_velocity", "rad/s", "the same along the normal", pivoting_velocity, most_contact_rows),
      summed(of_friction<1>("friction_work", "J",
                            "work of friction on the slip of a contact since the start of the run: negative",
                            friction_work)),
      of_joint("constraint_force", 3, "N",
               "force of a joint on its second point, of its drivers, stops and friction too, without its springs", "",
               constraint_force),
      of_joint("constraint_torque", 3, "N m", "the same of the torque about that point, in the axes of the model", "",
               constraint_torque),
      of_joint("driver_force", 1, "N", "force of a joint's driver along the displacement or length",
               "driver of that kind", driver_force),
      of_joint("driver_torque", 1, "N m", "torque of a joint's driver about its axis", "driver of that kind",
               driver_torque),
      of_joint("joint_friction_force", 1, "N",
               "force of friction of a prismatic or cylindrical joint on its second point, along the axis",
               "friction of that kind", joint_friction_force),
      of_joint(
          "joint_friction_torque", 1, "N m",
          "torque of friction of a revolute or cylindrical joint on its second body, about the axis; of a spherical "
          "joint the size of the torque",
          "friction of that kind", joint_friction_torque),
      of_joint("joint_slip_state", 1, "", "1 if a joint with friction sticks, 2 if it slips", "friction",
               joint_slip_state),
      summed(of_joint("joint_friction_work", 1, "J", "work of friction of a joint since the start of the run: negative",
                      "friction", joint_friction_work)),
      with_period(
          4 * M_PI,
          of_joint("joint_angle", 1, "rad",
                   "angle of a revolute or cylindrical joint; full turns are counted from the start of the run on",
                   "angle", joint_angle)),
      of_joint("joint_angle_rate", 1, "rad/s", "its rate", "angle", joint_angle_rate),
      of_joint(
          "joint_displacement", 1, "m",
          "displacement of the second point along the axis of a prismatic or cylindrical joint; length of a distance",
          "displacement", joint_displacement),
      of_joint("joint_displacement_rate", 1, "m/s", "its rate", "displacement", joint_displacement_rate),
      of_coordinate("coordinate", "value of a coordinate, \"pendulum.x\"", coordinate),
      of_coordinate("coordinate_rate", "its rate", coordinate_rate),
      of_coordinate("coordinate_acceleration", "its second derivative, without the jumps", coordinate_acceleration),
      of_constraint(
          "constraint_multiplier",
          "smooth multiplier of a constraint of coordinates, \"pendulum.rod\", plus the impulse of the step over the "
          "step's length; times dg/dq the force on the coordinates",
          multiplier),
      of_constraint("constraint_value", "the value g of its formula, which should be zero", constraint_value),
      of_constraint("constraint_correction", "multiplier nu of the position correction of a step",
                    constraint_correction),
      of_constraint("constraint_impulse", "multiplier of the velocity jump of a step", constraint_impulse),
      of_modes("mode", "", "number of the mode of a body or a group of joints that switches, counted from 0", false),
      of_modes("mode_start", "s", "time at which this mode has begun, interpolated within the step", true),
      of_model("load_factor", 1, "", "factor of gravity and loads in a static run",
               [](const StepView& v) { return v.integrator.load_factor(v.state); }),
      of_model("energy.kinetic", 1, "J", "kinetic energy of the model",
               [](const StepView& v) { return energies(v).kinetic; }),
      of_model("energy.elastic", 1, "J", "elastic energy of the model",
               [](const StepView& v) { return energies(v).elastic; }),
      of_model("energy.potential", 1, "J", "energy in the field of gravity, and the potentials of coordinates",
               [](const StepView& v) { return energies(v).potential; }),
      of_model("energy.total", 1, "J", "their sum",
               [](const StepView& v) {
                 const Energies e = energies(v);
                 return e.kinetic + e.elastic + e.potential;
               }),
      of_model("momentum.linear", 3, "kg m/s", "momentum of the model",
               [](const StepView& v) { return momenta(v).linear; }),
      of_model("momentum.angular", 3, "kg m^2/s", "angular momentum about the origin",
               [](const StepView& v) { return momenta(v).angular; }),
  };
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace

const std::vector<Quantity>& quantities() {
  static const std::vector<Quantity> all = make_table();
  return all;
}

const std::vector<std::string>& component_words(int components) {
  static const std::vector<std::string> none, three = {"x", "y", "z"}, four = {"w", "x", "y", "z"},
                                              six = {"xx", "yy", "zz", "xy", "yz", "xz"};
  return components == 6 ? six : components == 4 ? four : components == 3 ? three : none;
}

std::vector<std::string> ProbedQuantity::columns() const {
  std::vector<std::string> columns;
  if (component < 0)
    for (const std::string& word : component_words(quantity->components)) columns.push_back("." + word);
  if (columns.empty()) columns.emplace_back();
  return columns;
}

ProbedQuantity find_quantity(std::string_view word) {
  for (const Quantity& q : quantities()) {
    if (word == q.name) return {&q, -1};
    if (!word.starts_with(q.name)) continue;
    const std::vector<std::string>& components = component_words(q.components);
    for (std::size_t c = 0; c < components.size(); ++c)
      if (word == q.name + "." + components[c]) return {&q, static_cast<int>(c)};
  }
  return {};
}

const QuantityOwner& owner_of(Quantity::Of of) {
  static const QuantityOwner owners[] = {
      {"the model", ""},
      {"a point", "point or body"},
      {"a rigid body or a node of a beam", "point or body"},
      {"an element", "element"},
      {"a node of a solid", "point or body"},
      {"a contact", "contact"},
      {"a joint", "joint"},
      {"a coordinate", "coordinate"},
      {"a constraint of coordinates", "constraint"},
      {"a body with modes", "body"},
  };
  return owners[static_cast<std::size_t>(of)];
}

}  // namespace carom
