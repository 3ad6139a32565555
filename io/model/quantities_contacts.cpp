#include "io/model/quantity_groups.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "integrators/common/integrator.hpp"
#include "integrators/common/observer.hpp"
#include "io/model/model.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

namespace {

using Of = Quantity::Of;

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
  for (const int row : rows) sum += v.impulse(row);
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
  return tangential_sum(v, rows, [&](int row) { return v.impulse(row); });
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
// Of the last step.
Scalar friction_work(const StepView& v, const Rows& rows) {
  double work = 0;
  if (v.integrator.stages().empty()) return Scalar(0);
  for (const int row : rows)
    for (int k = row + 1; k < row + v.system.row_block(row).rows(); ++k) work += row_work(v, k);
  return Scalar(work);
}

}  // namespace

std::vector<Quantity> contact_quantities() {
  const auto with_angles = [](const char* unit, Quantity quantity) {
    quantity.unit_of_angle = unit;
    return quantity;
  };
  return {
      with_angles("rad", of_contact("gap", "m",
                                    "distance of a contact or of a joint's stop (\"hinge.upper\"), negative when "
                                    "penetrating; an angle [rad] where the stop limits one",
                                    gap)),
      with_angles("rad/s", of_contact("gap_velocity", "m/s", "rate of the gap", gap_velocity)),
      with_angles("N m", of_contact("contact_force", "N",
                                    "force, summed over the contact's points, or moment of the stop of an angle: the "
                                    "smooth multiplier plus the impulse of the step over the step's length, in a step "
                                    "that was taken in parts of the last of them; in a static run, which has no "
                                    "impulses, the multiplier alone",
                                    contact_force)),
      with_angles("N m s", of_contact("contact_impulse", "N s",
                                      "impulse of a step, with all parts in which it was taken, summed over the "
                                      "contact's points; of the stop of an angle the angular one",
                                      contact_impulse)),
      of_friction<3>("friction_force", "N",
                     "force of friction on what touches (\"on\", or the second of two spheres), summed over the "
                     "contact's points: the impulse of the step over the step's length, in a step that was taken in "
                     "parts of the last of them",
                     friction_force),
      of_friction<3>(
          "friction_impulse", "N s",
          "impulse of friction in a step, with all parts in which it was taken, summed over the contact's points",
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
      summed(of_friction<1>(
          "friction_work", "J",
          "work of friction on the slip of a contact since the start of the run: negative, but for impacts "
          "that turn the slip round (docs/methods/friction.md)",
          friction_work)),
  };
}

}  // namespace carom
