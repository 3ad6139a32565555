#include "io/model/quantity_groups.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/mechanics/switching_block.hpp"
#include "elements/joints/joint_coordinate.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/observer.hpp"
#include "io/model/model.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

namespace {

using Of = Quantity::Of;

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
    const CoordinateState s =
        coordinate_at(c, v.system.dofs(), v.state.q, rate ? CoordinateOrder::gradient : CoordinateOrder::value);
    *values = rate ? 0 : s.value;
    if (!rate) return;
    for (const int side : {0, 1}) {
      const auto velocity = node_velocity(v.system, side == 0 ? c.node_a : c.node_b, v.state.v);
      for (int i = 0; i < 6; ++i) *values += s.G[6 * side + i] * velocity[at(i)];
    }
  };
}
Evaluate joint_angle(const JointInfo& joint) { return coordinate_or_rate(joint.angle, false); }
Evaluate joint_angle_rate(const JointInfo& joint) { return coordinate_or_rate(joint.angle, true); }
Evaluate joint_displacement(const JointInfo& joint) { return coordinate_or_rate(joint.displacement, false); }
Evaluate joint_displacement_rate(const JointInfo& joint) { return coordinate_or_rate(joint.displacement, true); }

}  // namespace

std::vector<Quantity> joint_quantities() {
  return {
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
  };
}

}  // namespace carom
