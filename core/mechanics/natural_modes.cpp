#include "core/mechanics/natural_modes.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/mechanics/row_rank.hpp"
#include "core/mechanics/sparse_modes.hpp"

namespace carom {

namespace {

using Matrix = Eigen::MatrixXd;
using Column = Eigen::VectorXd;

constexpr double rounding_share = 1e-10;
constexpr double no_mass = 1e-11;  // of a motion, after every equation was scaled to the mass 1

class SmallMotions {
 public:
  SmallMotions(const System& system, In q, double t, double length)
      : system_(system), q_(q), t_(t), length_(length), n_(system.size()) {}

  NaturalModes find(int count) {
    NaturalModes result;
    if (n_ == 0) return result;
    const Vector none(at(system_.rows()), 0.0);
    M_ = symmetric_part(1, 0, none);
    const Matrix K_0 = symmetric_part(0, 1, none);
    const Column mass = M_.diagonal(), stiffness = K_0.diagonal();
    const Vector scale = equation_scales(system_, In(mass.data(), at(n_)), In(stiffness.data(), at(n_)));
    scale_ = Eigen::Map<const Column>(scale.data(), n_);
    M_ = scaled(M_);
    find_space();
    const Vector lambda = reactions(result.imbalance);
    const Matrix K = scaled(symmetric_part(0, 1, lambda)), K_forces = scaled(K_0);
    const Matrix skew = space_.transpose() * scaled(skew_) * space_;
    if (skew.size() > 0 && K.cwiseAbs().maxCoeff() > 0)
      result.asymmetry = skew.cwiseAbs().maxCoeff() / K.cwiseAbs().maxCoeff();
    if (!K.allFinite() || !M_.allFinite() || !std::isfinite(result.imbalance)) {
      result.left_out = "forces, masses or their derivatives are not finite at the start";
      return result;
    }
    solve(K, std::max(K_forces.cwiseAbs().maxCoeff(), (K - K_forces).cwiseAbs().maxCoeff()), count, result);
    return result;
  }

 private:
  // The other part goes to skew_.
  Matrix symmetric_part(double c_M, double c_K, const Vector& lambda) {
    const SparsePattern& pattern = system_.saddle_pattern();
    const Vector values = small_motion_matrix(system_, q_, t_, c_M, c_K, lambda);
    Matrix A = Matrix::Zero(n_, n_);
    for (int i = 0; i < n_; ++i)
      for (int k = pattern.row_start[at(i)]; k < pattern.row_start[at(i + 1)]; ++k)
        if (const int j = pattern.column[at(k)]; j < n_) A(i, j) = values[at(k)];
    skew_ = 0.5 * (A - A.transpose());
    return 0.5 * (A + A.transpose());
  }

  Matrix scaled(const Matrix& A) const { return scale_.asDiagonal() * A * scale_.asDiagonal(); }

  // G^T of unit rows, and an orthonormal basis of all y with G y = 0.
  void find_space() {
    const int m = system_.bilateral();
    G_T_ = Matrix::Zero(n_, m);
    row_length_ = Column::Ones(m);
    SparseRow G;
    for (int row = 0; row < m; ++row) {
      system_.row_gradient(row, q_, t_, nullptr, G);
      for (std::size_t k = 0; k < G.equation.size(); ++k)
        G_T_(G.equation[k], row) += G.value[k] * scale_[G.equation[k]];
      if (const double length = G_T_.col(row).norm(); length > 0) {
        row_length_[row] = length;
        G_T_.col(row) /= length;
      }
    }
    if (m == 0) {
      space_ = Matrix::Identity(n_, n_);
      return;
    }
    Eigen::ColPivHouseholderQR<Matrix> qr(n_, m);
    qr.setThreshold(rank_tolerance);
    qr.compute(G_T_);
    const Matrix Q = qr.householderQ() * Matrix::Identity(n_, n_);
    space_ = Q.rightCols(n_ - qr.rank());
  }

  // lambda of all rows, zero for conditional rows.
  Vector reactions(double& imbalance) const {
    const Vector rest(at(n_), 0.0);
    Column sum = Column::Zero(n_);
    double parts = 0;
    Vector f(at(n_));
    for (const unsigned part : {force_internal, force_external, force_gravity}) {
      system_.forces(q_, rest, t_, part, f);
      const Column y = Eigen::Map<const Column>(f.data(), n_).cwiseProduct(scale_);
      sum += y;
      parts += y.norm();
    }
    Vector lambda(at(system_.rows()), 0.0);
    if (G_T_.cols() > 0) {
      Eigen::CompleteOrthogonalDecomposition<Matrix> least(n_, G_T_.cols());
      least.setThreshold(rank_tolerance);
      least.compute(G_T_);
      const Column y = least.solve(-sum);
      for (int row = 0; row < G_T_.cols(); ++row) lambda[at(row)] = y[row] / row_length_[row];
      sum += G_T_ * y;
    }
    const Vector K = small_motion_matrix(system_, q_, t_, 0, 1, Vector(at(system_.rows()), 0.0));
    parts += rounding_of_forces(system_, K, In(scale_.data(), at(n_)), length_);
    imbalance = parts > 0 ? sum.norm() / parts : 0;
    return lambda;
  }

  void solve(const Matrix& K, double stiffness, int count, NaturalModes& result) const {
    if (space_.cols() == 0) return;
    const Eigen::SelfAdjointEigenSolver<Matrix> mass(space_.transpose() * M_ * space_);
    const int all = static_cast<int>(space_.cols());
    int b = 0;  // motions without mass come first
    while (b < all && mass.eigenvalues()[b] <= no_mass) ++b;
    const int a = all - b;
    result.massless = b;
    result.motions = a;
    if (a == 0) return;
    const Matrix light = space_ * mass.eigenvectors().leftCols(b);
    Matrix heavy = space_ * mass.eigenvectors().rightCols(a);
    for (int i = 0; i < a; ++i) heavy.col(i) /= std::sqrt(mass.eigenvalues()[b + i]);
    Matrix A = heavy.transpose() * K * heavy;
    if (b > 0) {
      const Matrix B = light.transpose() * K * light;
      const Eigen::SelfAdjointEigenSolver<Matrix> stiff(B);
      if (!(stiff.eigenvalues().cwiseAbs().minCoeff() > 1e-11 * stiff.eigenvalues().cwiseAbs().maxCoeff())) {
        result.left_out = "a motion has neither mass nor stiffness, so nothing determines it";
        return;
      }
      const Matrix follow = -(stiff.eigenvectors() * stiff.eigenvalues().cwiseInverse().asDiagonal() *
                              (stiff.eigenvectors().transpose() * (light.transpose() * (K * heavy))));
      A += (heavy.transpose() * (K * light)) * follow;
      heavy += light * follow;
    }
    const Eigen::SelfAdjointEigenSolver<Matrix> modes(0.5 * (A + A.transpose()));
    const Column& squares = modes.eigenvalues();
    stiffness = std::max(stiffness, squares.cwiseAbs().maxCoeff());
    const double smallest =
        16 * std::sqrt(static_cast<double>(n_)) * std::numeric_limits<double>::epsilon() * stiffness;
    result.resolution = std::sqrt(smallest);
    for (int i = 0; i < a; ++i) {
      if (std::abs(squares[i]) <= smallest) {
        ++result.free_motions;
        continue;
      }
      if (static_cast<int>(result.modes.size()) >= count) continue;
      Column x = scale_.cwiseProduct(heavy * modes.eigenvectors().col(i));
      Eigen::Index largest = 0;
      x.cwiseQuotient(scale_).cwiseAbs().maxCoeff(&largest);
      if (x[largest] < 0) x = -x;
      result.modes.push_back({squares[i], Vector(x.data(), x.data() + n_)});
    }
  }

  const System& system_;
  In q_;
  double t_, length_;
  int n_;
  Matrix M_, G_T_, space_, skew_;
  Column scale_, row_length_;
};

}  // namespace

Vector equation_scales(const System& system, In mass, In stiffness) {
  const auto kind_of = [&](std::size_t i) {
    const int equation = static_cast<int>(i), node = system.equation_node(equation);
    const DofMap& dofs = system.dofs();
    const bool rotation = dofs.kind(node) == NodeKind::frame &&
                          (dofs.equation(node, 3) == equation || dofs.equation(node, 4) == equation ||
                           dofs.equation(node, 5) == equation);
    return at(rotation ? 1 : 0);
  };
  Vector scale(mass.size(), 0.0);
  double stiffest = 0;
  for (std::size_t i = 0; i < scale.size(); ++i)
    if (mass[i] > 0) {
      scale[i] = 1 / std::sqrt(mass[i]);
      stiffest = std::max(stiffest, std::abs(stiffness[i]) / mass[i]);
    }
  for (std::size_t i = 0; i < scale.size(); ++i)
    if (!(mass[i] > 0) && stiffness[i] != 0 && stiffest > 0) scale[i] = std::sqrt(stiffest / std::abs(stiffness[i]));
  double sum[2] = {0, 0};
  int number[2] = {0, 0};
  for (std::size_t i = 0; i < scale.size(); ++i)
    if (scale[i] > 0) {
      sum[kind_of(i)] += std::log(scale[i]);
      ++number[kind_of(i)];
    }
  for (std::size_t i = 0; i < scale.size(); ++i)
    if (!(scale[i] > 0)) scale[i] = number[kind_of(i)] > 0 ? std::exp(sum[kind_of(i)] / number[kind_of(i)]) : 1;
  return scale;
}

Vector small_motion_matrix(const System& system, In q, double t, double c_M, double c_K, In lambda) {
  Vector values(at(system.saddle_pattern().nonzeros()));
  const Vector rest(at(system.size()), 0.0);
  Linearisation request;
  request.c_M = c_M;
  request.c_K = c_K;
  request.c_s = c_K;
  request.q_M = request.q = q.data();
  request.v = rest.data();
  request.t = t;
  request.s = lambda.data();
  system.assemble(request, values);
  return values;
}

double rounding_of_forces(const System& system, In K, In scale, double length) {
  const SparsePattern& pattern = system.saddle_pattern();
  Vector size(scale.size(), length);
  for (const DofMap::Frame& frame : system.dofs().rotating_frames()) std::fill_n(size.begin() + frame.equation, 3, 1.0);
  double square = 0;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    double sum = 0;
    for (int k = pattern.row_start[i]; k < pattern.row_start[i + 1]; ++k)
      if (const std::size_t j = at(pattern.column[at(k)]); j < scale.size()) sum += std::abs(K[at(k)]) * size[j];
    square += scale[i] * sum * scale[i] * sum;
  }
  return rounding_share * std::sqrt(square);
}

NaturalModes natural_modes(const System& system, In q, double t, int count, double length) {
  if (system.size() > NaturalModes::most_sparse_equations) {
    NaturalModes result;
    result.left_out = "the model has " + std::to_string(system.size()) + " equations, more than " +
                      std::to_string(NaturalModes::most_sparse_equations);
    return result;
  }
  if (system.size() > NaturalModes::most_equations) return sparse_modes(system, q, t, count, length);
  return SmallMotions(system, q, t, length).find(count);
}

}  // namespace carom
