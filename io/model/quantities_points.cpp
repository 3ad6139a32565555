#include "io/model/quantity_groups.hpp"

#include <utility>

#include "integrators/common/observer.hpp"
#include "io/model/model.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

namespace {

using Of = Quantity::Of;

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
  return point_velocity(state_of(v.system, p, v.state.q), p.offset, node_velocity(v.system, p.node, v.state.v).data());
}

Vec3 acceleration(const StepView& v, const AttachedPoint& p) {
  const PointState s = state_of(v.system, p, v.state.q);
  const auto a = node_velocity(v.system, p.node, v.state.acceleration);
  return point_velocity(s, p.offset, a.data()) +
         point_centripetal(s, p.offset, node_velocity(v.system, p.node, v.state.v).data());
}

Quaternion quaternion(const StepView& v, const AttachedPoint& p) {
  return Quaternion(v.state.q.data() + v.system.dofs().configuration_offset(p.node) + 3);
}

Vec3 rotation(const StepView& v, const AttachedPoint& p) { return so3::log_quaternion(quaternion(v, p)); }

Vec3 angular_velocity(const StepView& v, const AttachedPoint& p) {
  const auto w = node_velocity(v.system, p.node, v.state.v);
  return {w[3], w[4], w[5]};
}

}  // namespace

std::vector<Quantity> point_quantities() {
  return {
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
}

}  // namespace carom
