// The proximal point method of ConeProblem (cone_problem.hpp, stage 5).
#include <algorithm>

#include "contact/law/cone_problem.hpp"
#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr int proximal_steps = 400, final_iterations = 8;
constexpr double smallest_proximal = 1e-6, try_without = 1e-3;

struct ProximalRule {
  bool searches;   // along the directions of Newton's method in every other step
  int iterations;  // of a step
  double fall, growth;
};
constexpr ProximalRule proximal_of_few = {true, 25, 0.25, 5};
// with a search, problems of many rows end where |rho|^2 is least, but not zero
constexpr ProximalRule proximal_of_many = {false, 12, 0.5, 2.5};

}  // namespace

bool ConeProblem::proximal_point(In W, In q, double tolerance, int iterations, Out s) {
  const std::size_t n = at(n_);
  shifted_.resize(W.size());
  const double shift = shift_;
  const auto restore = [&] {
    prepare(W);
    shift_ = shift;
  };
  const ProximalRule& rule = pattern_ == nullptr ? proximal_of_few : proximal_of_many;
  copy(s, start_);
  spreads_ = false;
  double a = 1;
  const int most = iterations_ + iterations;
  for (int k = 0; k < proximal_steps && iterations_ < most && !stopped(); ++k) {
    restore();
    copy(W, shifted_);
    for (std::size_t i = 0; i < n; ++i) {
      const double add = a / p_[i];
      shifted_[place(i, i)] += add;
      shifted_q_[i] = q[i] - add * start_[i];
    }
    copy(start_, s);
    prepare(shifted_);
    if (!newton(shifted_, shifted_q_, tolerance, rule.searches && k % 2 == 0, rule.iterations, s)) {
      a *= rule.growth;
      continue;
    }
    copy(s, start_);
    restore();
    if (measure(W, q, s) <= tolerance) return true;
    a = std::max(rule.fall * a, smallest_proximal);
    if (a < try_without) {
      if (newton(W, q, tolerance, false, final_iterations, s)) return true;
      copy(start_, s);
    }
  }
  restore();
  return false;
}

}  // namespace carom
