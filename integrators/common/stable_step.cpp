#include "integrators/common/stable_step.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/vector_ops.hpp"
#include "core/mechanics/element_frequency.hpp"
#include "core/mechanics/lumped_mass.hpp"
#include "integrators/common/row_impulses.hpp"

namespace carom {

namespace {

constexpr int most_products = 300;
constexpr int large_model = 10000;                          // equations
constexpr double tolerance = 1e-8, large_tolerance = 1e-5;  // of an eigenvalue, between two looks
constexpr int between_looks = 10;                           // products
constexpr double amplitude = 1e-6;                          // of differences, times the length of the model
constexpr unsigned parts = force_all & ~(force_gyroscopic | force_gravity);

class Operator {
 public:
  Operator(const System& system, const LumpedMass& mass, const Scales& scales, In q, In v, double t)
      : system_(system), mass_(mass), scales_(scales), q_(q), v_(v), t_(t), joints_(system, mass) {
    const std::size_t n = at(system.size());
    for (Vector* x : {&d_, &v_moved_, &f_plus_, &f_minus_}) x->assign(n, 0.0);
    q_moved_.assign(q.begin(), q.end());
    if (system.bilateral() == 0) return;
    std::vector<int> rows(at(system.bilateral()));
    std::iota(rows.begin(), rows.end(), 0);
    joints_.set_rows(rows, q, t, nullptr);
    c_.assign(rows.size(), 0.0);
    r_.assign(rows.size(), 0.0);
  }

  /// y = M^-1 (c_K K + c_C C) x, both sides projected onto the motions that the joints allow.
  void times(double c_K, double c_C, In x, Out y) {
    ++products;
    const double size = system_.speed(x, scales_.length);
    const double eps = size > 0 ? amplitude * scales_.length / size : 1.0;
    // one difference gives both products
    const double scale = c_K != 0 ? c_K : 1.0, place = c_K != 0 ? 1.0 : 0.0;
    for (const double sign : {1.0, -1.0}) {
      scale_into(sign * eps * place, x, d_);
      system_.retract(q_, d_, q_moved_);
      combine(1.0, v_, sign * eps * c_C / scale, x, v_moved_);
      system_.forces(q_moved_, v_moved_, t_, parts, sign > 0 ? f_plus_ : f_minus_);
    }
    const double c = -0.5 * scale / eps;
    combine(c, f_plus_, -c, f_minus_, y);
    mass_.solve(y, y);
    project(y);
  }
  void project(Out y) {
    if (c_.empty()) return;
    for (std::size_t i = 0; i < c_.size(); ++i) c_[i] = joints_.rate(i, y);
    if (joints_.solve(c_, 0, r_)) joints_.add_velocity(1.0, r_, y);
  }

  /// The largest eigenvalue of M^-1 (c_K K + c_C C).
  double largest(double c_K, double c_C) {
    const std::size_t n = d_.size();
    Vector x(n), before(n, 0.0), y(n), Mx(n);
    // a fixed start without symmetry
    std::uint64_t seed = 88172645463325252U;
    for (double& xi : x) {
      seed ^= seed << 13U, seed ^= seed >> 7U, seed ^= seed << 17U;
      xi = static_cast<double>(seed >> 11U) * 0x1p-53 - 0.5;
    }
    // as many motions of light as of heavy components
    for (std::size_t i = 0; i < n; ++i) x[i] /= std::sqrt(mass_.masses()[i]);
    project(x);
    const auto normalise = [&](Vector& z) {
      const double length = std::sqrt(std::max(0.0, mass_.product(z, z)));
      if (length > 0) scale_into(1 / length, z, z);
      return length;
    };
    if (normalise(x) == 0) return 0;
    std::vector<double> diagonal, side;
    double value = 0, last = -std::numeric_limits<double>::infinity(), beta = 0;
    const double enough = n > at(large_model) ? large_tolerance : tolerance;
    const int most = std::min(most_products, 3 * static_cast<int>(n) + 2);
    for (int k = 0; k < most; ++k) {
      times(c_K, c_C, x, y);
      const double alpha = mass_.product(x, y);
      if (!std::isfinite(alpha)) return std::numeric_limits<double>::quiet_NaN();
      diagonal.push_back(alpha);
      axpy(-alpha, x, y);
      axpy(-beta, before, y);
      const double length = std::sqrt(std::max(0.0, mass_.product(y, y)));
      const bool ends = k + 1 == most || !(length > 1e-10 * std::abs(alpha));
      if (ends || (k + 1) % between_looks == 0) {
        const auto m = static_cast<Eigen::Index>(diagonal.size());
        Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
        solver.computeFromTridiagonal(Eigen::Map<const Eigen::VectorXd>(diagonal.data(), m),
                                      Eigen::Map<const Eigen::VectorXd>(side.data(), m - 1), Eigen::EigenvaluesOnly);
        value = solver.eigenvalues()[m - 1];
        if (ends || std::abs(value - last) <= enough * std::abs(value)) break;
        last = value;
      }
      before.swap(x);
      scale_into(1 / length, y, x);
      beta = length;
      side.push_back(length);
    }
    return value;
  }

  int products = 0;

 private:
  const System& system_;
  const LumpedMass& mass_;
  const Scales& scales_;
  In q_, v_;
  double t_;
  RowImpulses joints_;
  Vector q_moved_, d_, v_moved_, f_plus_, f_minus_, c_, r_;
};

}  // namespace

StableStep stable_step(const System& system, const LumpedMass& mass, const Scales& scales, In q, In v, double t,
                       double omega_h_limit) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  StableStep result{infinity, 0, infinity, 0};
  if (const double bound = frequency_bound(system, q, t); bound > 0) result.guaranteed = omega_h_limit / bound;
  if (system.size() == 0 || mass.massless() >= 0) return result;

  Operator A(system, mass, scales, q, v, t);
  const double s = 4 / (omega_h_limit * omega_h_limit);
  const double square = A.largest(1, 0);
  result.omega = std::sqrt(std::max(0.0, square));
  // eigenvalues below the noise of the differences are rigid motions
  const double noise = 1e-9 * system.roundoff_force(1.0) / std::max(1e-300, system.mean_nodal_mass());
  if (square > noise) result.largest = omega_h_limit / result.omega;
  if (system.velocity_dependent()) {
    // the condition with damping: its largest eigenvalue grows with h
    const double damping = A.largest(0, 1);
    if (damping > 0) {
      double high = std::min(result.largest, 2 / damping);
      const auto excess = [&](double h) { return A.largest(h * h * s, 2 * h) - 4; };
      double over = square > noise ? excess(high) : 0;
      // regula falsi (Illinois) between no step and one that is too large
      double low = 0, under = -4;
      for (int k = 0; k < 50 && over > 1e-6 && high - low > 1e-7 * high; ++k) {
        const double h = (low * over - high * under) / (over - under), e = excess(h);
        if (e > 0) {
          high = h, over = e, under *= 0.5;
        } else {
          low = h, under = e, over *= 0.5;
          if (e > -1e-6) break;
        }
      }
      result.largest = over > 1e-6 && low > 0 ? low : high;
    }
  }
  result.products = A.products;
  return result;
}

}  // namespace carom
