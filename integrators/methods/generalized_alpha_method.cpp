#include "integrators/methods/generalized_alpha_method.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

namespace {

constexpr double redundancy_shift = 1e-9;  // of the largest diagonal entry

void add(double factor, const SparseRow& row, Out x) {
  for (std::size_t k = 0; k < row.equation.size(); ++k) x[at(row.equation[k])] += factor * row.value[k];
}

double product(const SparseRow& row, In x) {
  double sum = 0;
  for (std::size_t k = 0; k < row.equation.size(); ++k) sum += row.value[k] * x[at(row.equation[k])];
  return sum;
}

}  // namespace

MethodInfo GeneralizedAlphaMethod::method_info(const char* name, bool exact_positions) {
  return {.name = name,
          .subproblems = {"smooth"},
          .rows = bilateral_rows | RowKind::switching,
          .exact_positions = exact_positions};
}

GeneralizedAlphaMethod::GeneralizedAlphaMethod(const System& system, const MethodInfo& info,
                                               const GeneralizedAlphaOptions& o)
    : Integrator(system, info, o.scales, o.newton),
      options_(o),
      switches_(system),
      motion_(system, o.scales, o.newton, alpha(), tangent_properties(system, o.newton.method), 0,
              switches_.present() ? nullptr : &matrix_, o.form),
      row_(at(system.rows()), 0.0) {
  if (!o.ggl) return;
  const std::size_t n_b = at(system.bilateral());
  nu_.assign(at(system.rows()), 0.0);
  for (Vector* x : {&U_, &column_}) x->assign(at(system.size()), 0.0);
  delassus_.assign(n_b * n_b, 0.0);
  for (auto* rows : {&G_n_, &G_}) rows->resize(n_b);
  lu_.reserve(static_cast<int>(n_b));
}

bool GeneralizedAlphaMethod::initialise(State& state, double h, StepReport& report) {
  clear(state, h);
  if (!motion_.initialise(state, h, options_.initial_acceleration, motion_.solver().saddle(), solvers_, report))
    return false;
  switches_.initialise(state);
  if (switches_.present()) state.history.push_back({"put off", {0.0}});
  return true;
}

ProblemScales GeneralizedAlphaMethod::motion_scales(const StepScales& scales) const {
  const GeneralizedAlpha alpha = this->alpha();
  const ConstraintForm& form = options_.form;
  const double c_a = alpha.c_a(scales.h), c_q = alpha.c_q(scales.h);
  ProblemScales motion = form.acceleration != 0 ? scales.accelerated_motion(1, c_a) : scales.motion(1);
  // g is rounded with the places, which its equation divides by c_q
  motion.row_tolerance += 8 * StepScales::epsilon * scales.place * form.position /
                          (form.acceleration * c_a + form.velocity + form.position * c_q);
  return motion;
}

bool GeneralizedAlphaMethod::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  if (!switches_.begin(start, report)) return false;
  if (switches_.present()) measure_switching_rows(start.q, start.t);
  if (take_step(scales, start, end, report)) return true;
  switches_.undo(start);
  return false;
}

// Rows of the modes may differ in size and unit: no matrix is kept.
void GeneralizedAlphaMethod::measure_switching_rows(In q, double t) {
  motion_.solver().forget_matrix();
  switches_.measure(q, t, options_.scales.length,
                    [&](int row, double weight) { motion_.solver().measure_row(row, weight); });
}

// The motion has been solved with the rows of the modes at t_n: again, with those of the modes behind the surfaces that
// it crosses.
bool GeneralizedAlphaMethod::switch_modes(const StepScales& scales, const State& start, StepReport& report) {
  const bool drifts = options_.form.position == 0 && !options_.ggl;
  const char* const remark =
      drifts ? " (the method does not take constraints at position level: the motion drifts off them)" : "";
  if (!switches_.find(scales, motion_.q(), motion_.v(), report, remark)) return false;
  if (!switches_.any()) return true;
  if (switches_.crossings() > 1 && switches_.coupled()) return switches_.refuse_order(report);
  if (!switches_.set(scales, motion_.q(), motion_.v(), scales.t, options_.intermediate_gradient, {}, report))
    return false;
  measure_switching_rows(motion_.q(), scales.t);
  if (!motion_.solve(motion_scales(scales), start, guard(), report)) return false;
  if (!switches_.holds(scales, motion_.q(), report, remark)) {
    // the rows of neither mode lead to where it holds: the step keeps the old ones, and the next step switches
    put_off_ = start.history.back().values[0] + 1;
    if (put_off_ > most_put_off) return false;
    forget_failure(report);
    switches_.stay();
    measure_switching_rows(start.q, start.t);
    return motion_.solve(motion_scales(scales), start, guard(), report);
  }
  return options_.form.velocity == 0 || switches_.crosses(motion_.q(), motion_.v(), scales.t, report);
}

bool GeneralizedAlphaMethod::take_step(const StepScales& scales, const State& start, State& end, StepReport& report) {
  const ProblemScales motion = motion_scales(scales);
  put_off_ = 0;
  if (options_.ggl) {
    set_zero(U_);
    set_zero(nu_);
    for (std::size_t i = 0; i < G_n_.size(); ++i)
      system().row_gradient(static_cast<int>(i), start.q, start.t, nullptr, G_n_[i], &motion.start);
    motion_.displace(&U_);
  }
  for (int k = 0; k == 0 || options_.ggl; ++k) {
    if (!motion_.solve(motion, start, guard(), report)) return false;
    if (!options_.ggl) break;
    system().gaps(motion_.q(), scales.t, bilateral_rows, row_, &motion.start);
    if (max_abs(row_) <= scales.positions(1).row_tolerance) break;
    if (k >= options_.newton.max_iterations) {
      mark_failed(report, 0, FailureReason::no_convergence);
      return false;
    }
    if (!correct_positions(motion, report)) return false;
  }
  if (switches_.present() && !switch_modes(scales, start, report)) return false;
  motion_.write(end);
  if (switches_.present()) end.history.back().values[0] = put_off_;
  copy(motion_.q(), end.q);
  copy(motion_.v(), end.v);
  if (options_.ggl) copy(nu_, end.nu);
  guard().close(false, motion_.multipliers(), {});
  if (switches_.any()) {
    switches_.finish(end);
    for (int k = 0; k < switches_.crossings(); ++k)
      switches_.set_energy(k, switches_.kinetic(k, end.q, end.v) - switches_.kinetic(k, start.q, start.v));
    switches_.note_events();
  } else {
    switches_.finish(end);
  }
  stage_ = {Stage::Kind::motion,   start.t, scales.t, start.q, start.v, motion_.q(), motion_.v(),
            motion_.multipliers(), scales.h};
  stage_.end = guard().motion_end();
  stage_.switches = switches_.any();
  if (system().bilateral() == 0) return true;
  system().gaps(end.q, scales.t, bilateral_rows, row_, &motion.start);
  report.position_residual = largest_row();
  system().rates(end.q, end.v, scales.t, bilateral_rows, row_, &motion.start);
  report.velocity_residual = largest_row();
  return true;
}

// Of row_, measured as lengths.
double GeneralizedAlphaMethod::largest_row() {
  double largest = 0;
  for (std::size_t i = 0; i < row_.size(); ++i)
    largest = std::max(largest, std::abs(row_[i]) / motion_.solver().weight(static_cast<int>(i)));
  return largest;
}

// G(q) T(d) G(q_n)^T dnu = -g, U += G(q_n)^T dnu. A small shift lets redundant rows share their multipliers; what it
// leaves of g is left to the next correction.
bool GeneralizedAlphaMethod::correct_positions(const ProblemScales& scales, StepReport& report) {
  const std::size_t n_b = G_n_.size();
  const bool turns = system().uses_tangent_operators();
  if (turns) system().tangent_operators(motion_.increment(), T_);
  for (std::size_t i = 0; i < n_b; ++i)
    system().row_gradient(static_cast<int>(i), motion_.q(), scales.t, turns ? &T_ : nullptr, G_[i], &scales.start);
  double largest = 0;
  for (std::size_t j = 0; j < n_b; ++j) {
    set_zero(column_);
    add(1, G_n_[j], column_);
    for (std::size_t i = 0; i < n_b; ++i) delassus_[i * n_b + j] = product(G_[i], column_);
    largest = std::max(largest, std::abs(delassus_[j * n_b + j]));
  }
  if (!(lu_.factorise(delassus_, static_cast<int>(n_b), redundancy_shift * largest) > 0)) {
    mark_failed(report, 0, FailureReason::singular_matrix);
    return false;
  }
  lu_.solve(std::span(row_).first(n_b));
  for (std::size_t j = 0; j < n_b; ++j) {
    nu_[j] -= row_[j];
    add(-row_[j], G_n_[j], U_);
  }
  return true;
}

}  // namespace carom
