// The least-squares method of ConeProblem (cone_problem.hpp, stage 4).
#include <Eigen/Cholesky>
#include <algorithm>

#include "contact/law/cone_problem.hpp"
#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr double first_damping = 1e-5, least_damping = 1e-9, most_damping = 1e3;
constexpr double damping_factor = 4;
constexpr double poor_ratio = 0.25, good_ratio = 0.75, taken_ratio = 1e-4;  // of the decrease over that expected
constexpr double slow_decrease = 0.7;
constexpr int most_slow_iterations = 4;

}  // namespace

bool ConeProblem::least_squares(In W, In q, double tolerance, int iterations, Out s) {
  if (pattern_ != nullptr) return false;
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const std::size_t n = at(n_);
  const double scale = std::max(max_abs(q), tolerance);
  J_.resize(n * n);
  shifted_.resize(n * n);
  const Eigen::Map<const Matrix> J(J_.data(), n_, n_);
  Eigen::Map<Matrix> A(shifted_.data(), n_, n_);
  const Eigen::Map<const Eigen::VectorXd> rho(rho_.data(), n_);
  Eigen::Map<Eigen::VectorXd> ds(ds_.data(), n_), work(start_.data(), n_);
  // without the shift, which the damping replaces
  const double shift = shift_;
  shift_ = 0;
  double damping = first_damping, left = 0;
  bool solved = false, moved = true;
  int slow = 0;
  for (int k = 0; slow <= most_slow_iterations; ++k) {
    if (moved) {
      rates(W, q, s, u_);
      const double defect = natural_defect(s, u_);
      if (W.data() == given_) remember(s, defect);
      if ((solved = defect <= tolerance)) break;
    }
    if (k == iterations) break;
    ++iterations_;
    if (moved) evaluate(s, u_, rho_, W, true);
    const double before = rho.norm();
    const double lambda = damping * before / scale;
    A.setZero();
    A.selfadjointView<Eigen::Lower>().rankUpdate(J.transpose());
    for (std::size_t i = 0; i < n; ++i) A(static_cast<int>(i), static_cast<int>(i)) += lambda / (p_[i] * p_[i]);
    Eigen::Ref<Matrix> in_place(A);
    const Eigen::LLT<Eigen::Ref<Matrix>> factor(in_place);
    if (factor.info() == Eigen::Success) {
      ds.noalias() = J.transpose() * rho;
      factor.solveInPlace(ds);
      combine(1.0, s, -1.0, ds_, trial_);
      rates(W, q, trial_, trial_u_);
      evaluate(trial_, trial_u_, trial_rho_, W, false);
      work.noalias() = J * ds;
      work -= rho;
      const double after = norm(trial_rho_), expected = work.norm();
      const double ratio = (before * before - after * after) / (before * before - expected * expected);
      moved = ratio > taken_ratio && all_finite(trial_);
      if (!(ratio >= poor_ratio)) damping *= damping_factor;
      if (ratio > good_ratio) damping = std::max(damping / damping_factor, least_damping);
      if (moved) copy(trial_, s);
      left = moved ? after / before : 1;
    } else {
      moved = false;
      damping *= damping_factor;
      left = 1;
    }
    slow = left > slow_decrease ? slow + 1 : 0;
    if (damping > most_damping) break;
  }
  shift_ = shift;
  return solved;
}

}  // namespace carom
