// What the tests of switching constraints share.
#pragma once

#include <doctest/doctest.h>

#include <Eigen/Core>
#include <algorithm>
#include <string>
#include <vector>

#include "case_runner.hpp"
#include "core/base/vector_ops.hpp"

namespace carom::cases {

inline std::string gradient(double E) { return set("/integrator/intermediate_gradient", E); }

inline std::string with_method(const std::string& type) { return "/integrator/type=\"" + type + "\""; }

/// The integrator of a model anew, from all its keys.
inline std::string integrator_of(const std::string& keys) { return "/integrator={" + keys + "}"; }

/// Ratio of the speeds behind and before a switch with the cosine c.
inline double speed_ratio(double E, double c) { return ((1 - E) + E * c) / ((1 - E) * c + E); }
/// Energy of data/models/pothole.json behind the hole: the speed changes by its ratio where the pivot does.
double pothole_energy(double E);

/// The largest errors of the bilateral rows, at both levels.
struct Watch {
  double position = 0, velocity = 0;
  void operator()(const StepView& view) {
    const System& s = view.system;
    Vector g(at(s.rows())), rate(g);
    s.gaps(view.state.q, view.state.t, bilateral_rows, g);
    s.rates(view.state.q, view.state.v, view.state.t, bilateral_rows, rate);
    position = std::max(position, max_abs(g));
    velocity = std::max(velocity, max_abs(rate));
  }
};

/// Calls visit(stage) for the jumps of the velocity in the switches of a step; returns their number.
template <class Visit>
int for_jumps(const StepView& view, const Visit& visit) {
  int jumps = 0;
  for (const Stage& stage : view.integrator.stages())
    if (stage.switches && stage.kind == Stage::Kind::jump) {
      ++jumps;
      visit(stage);
    }
  return jumps;
}

/// The change of the kinetic energy in a jump.
inline double kinetic_change(const StepView& view, const Stage& stage) {
  return view.system.energies(stage.q_1, stage.v_1, stage.t_1).kinetic -
         view.system.energies(stage.q_1, stage.v_0, stage.t_1).kinetic;
}

/// A number with all its digits.
std::string digits(double x);
/// A formula: the sum of row_i c_i and a constant.
std::string linear_formula(const Eigen::VectorXd& row, double constant = 0);
/// Appends to a list in a model.
inline void append(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }

}  // namespace carom::cases
