#include "io/model/quantity_groups.hpp"

#include <algorithm>
#include <utility>

#include "integrators/common/constraint_switches.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/observer.hpp"
#include "io/model/model.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

namespace {

using Of = Quantity::Of;

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
double coordinate_rate(const StepView& v, int node) { return node_velocity(v.system, node, v.state.v)[0]; }
double coordinate_acceleration(const StepView& v, int node) {
  return node_velocity(v.system, node, v.state.acceleration)[0];
}

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
double constraint_impulse(const StepView& v, int row) { return v.impulse(row); }
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

}  // namespace

std::vector<Quantity> coordinate_quantities() {
  return {
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
  };
}

}  // namespace carom
