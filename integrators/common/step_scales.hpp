// Sizes at the start of a step from which tolerances and roundoff floors of its sub-problems follow.
#pragma once

#include <algorithm>

#include "core/mechanics/rows.hpp"
#include "core/mechanics/scales.hpp"

namespace carom {

/// Tolerances of one sub-problem, in the units of its residual r and of its rows c.
struct ProblemScales {
  double t = 0;              ///< time at which rows and forces are taken
  double h = 0;              ///< size of the step: another size needs another matrix
  StepStart start;           ///< for rows that refer to the start of the step
  double floor = 0;          ///< expected roundoff of r
  double most_floor = 1;     ///< the floor counts up to this share of the terms; larger residuals must stall
  double unit = 1;           ///< turns forces into the unit of r
  double row_scale = 1;      ///< k, turns rows into the unit of r
  double penalty = 1;        ///< p of the augmented multipliers s - p c
  double row_tolerance = 0;  ///< largest |c| accepted
  double row_roundoff = 0;   ///< roundoff of c: closed and open rows are told apart beyond
  double slack = 0;          ///< by which redundant rows that contradict each other may miss row_tolerance
  double stalled_rows = 0;   ///< largest |c| accepted where rounding lets nothing shrink any more; 0: none
  double stalled_terms = 0;  ///< and largest r over the sum of its terms
};

struct StepScales {
  Scales model;
  double t = 0, h = 0;   ///< end of the step, size
  StepStart start;       ///< arrays of the state at the start
  double speed = 1;      ///< largest speed at the start, rotations times length; at least the model's
  double place = 1;      ///< largest coordinate at the start; at least the model's length
  double roundoff = 0;   ///< the force whose relative rounding error is that of the internal forces
  double root_size = 1;  ///< root of the number of equations
  double constraint_tolerance = 1e-11;

  static constexpr double epsilon = 2.220446049250313e-16;
  static constexpr double most_rounding = 1e-5;  // of the forces: loads may be smaller than the floor

  /// The gap up to which a contact counts as closed where its law is at velocity level: rounding, whatever tolerance
  /// the user asks for. Else rounding would open a contact for a step, it would sink, and a flat body would rest on its
  /// other points from then on.
  double closed_gap() const { return 1e-9 * model.length + 1e3 * epsilon * place; }

  /// r in forces, c in speeds: a motion with constraints at velocity level.
  ProblemScales motion(double penalty) const {
    ProblemScales s;
    s.t = t, s.h = h, s.start = start;
    s.floor = 1e-14 * root_size * (roundoff + model.mass * speed / h);
    s.most_floor = most_rounding;
    s.row_scale = model.mass / h;
    s.penalty = penalty * s.row_scale;
    s.row_tolerance = constraint_tolerance * speed;
    s.slack = 1e-3 * speed;
    return s;
  }
  /// The same with rows (G v' + h)/c_a, constraints at acceleration level.
  ProblemScales accelerated_motion(double penalty, double c_a) const {
    ProblemScales s = motion(penalty);
    const double acceleration = std::max(model.force / model.mass, speed * speed / model.length);
    s.row_tolerance = std::min(s.row_tolerance,
                               (constraint_tolerance * acceleration + 1e-14 * root_size * roundoff / model.mass) / c_a);
    return s;
  }
  /// r in mass times length, c in lengths: a correction of positions.
  ProblemScales positions(double penalty) const {
    ProblemScales s;
    s.t = t, s.h = h, s.start = start;
    s.floor = root_size * (3e-15 * model.mass * place + h * h * 1e-14 * roundoff);
    s.unit = h * h;
    s.row_scale = model.mass;
    s.penalty = penalty * s.row_scale;
    s.row_tolerance = constraint_tolerance * model.length + 8 * epsilon * place;
    s.row_roundoff = 64 * epsilon * place;
    return s;
  }
  /// r in momenta, c in speeds: a velocity jump, or a step of an impulse method.
  ProblemScales momenta(double penalty) const {
    ProblemScales s;
    s.t = t, s.h = h, s.start = start;
    s.floor = root_size * 1e-14 * (model.mass * speed + h * roundoff);
    s.unit = h;
    s.row_scale = model.mass;
    s.penalty = penalty * s.row_scale;
    s.row_tolerance = constraint_tolerance * speed;
    s.row_roundoff = 64 * epsilon * speed;
    return s;
  }
};

}  // namespace carom
