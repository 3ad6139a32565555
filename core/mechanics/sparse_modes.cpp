#include "core/mechanics/sparse_modes.hpp"

#if __has_include(<Spectra/SymGEigsShiftSolver.h>)
#define CAROM_SPECTRA 1
#include <Spectra/SymGEigsShiftSolver.h>
#endif

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "core/linear/linear_solver.hpp"
#include "core/mechanics/row_rank.hpp"

namespace carom {

#ifndef CAROM_SPECTRA

NaturalModes sparse_modes(const System& system, In, double, int, double) {
  NaturalModes result;
  result.left_out = "the model has " + std::to_string(system.size()) + " equations, more than the " +
                    std::to_string(NaturalModes::most_equations) +
                    " of dense matrices, and carom was built without Spectra (Debian: libspectra-dev)";
  return result;
}

#else

namespace {

using Sparse = Eigen::SparseMatrix<double, Eigen::RowMajor>;
using Column = Eigen::VectorXd;
using Columns = Eigen::MatrixXd;

/// The pattern and the values of a matrix.
struct Assembled {
  SparsePattern pattern;
  std::vector<double> values;

  explicit Assembled(const Sparse& A) {
    pattern.rows = static_cast<int>(A.rows());
    pattern.cols = static_cast<int>(A.cols());
    pattern.row_start.clear();
    for (Eigen::Index i = 0; i <= A.rows(); ++i) pattern.row_start.push_back(A.outerIndexPtr()[i]);
    pattern.column.assign(A.innerIndexPtr(), A.innerIndexPtr() + A.nonZeros());
    values.assign(A.valuePtr(), A.valuePtr() + A.nonZeros());
  }
};

/// x -> y of the header, without the components along known modes.
class ShiftedInverse {
 public:
  using Scalar = double;

  ShiftedInverse(LinearSolver& factors, const Sparse& M, const Columns& known)
      : factors_(factors), M_(M), known_(known), b_(at(0), 0.0) {}
  Eigen::Index rows() const { return M_.rows(); }
  Eigen::Index cols() const { return M_.rows(); }
  void set_shift(double) {}  // the factors have it

  /// y of a right-hand side M x, given as that product.
  void perform_op(const double* Mx, double* y) const {
    const Eigen::Index n = M_.rows();
    b_.assign(at(static_cast<int>(factors_size_)), 0.0);
    std::copy_n(Mx, n, b_.begin());
    factors_.solve(b_);
    Eigen::Map<Column> out(y, n);
    out = Eigen::Map<const Column>(b_.data(), n);
    if (known_.cols() > 0) out -= known_ * (known_.transpose() * (M_ * out));
  }
  void set_size(int size) { factors_size_ = size; }

 private:
  LinearSolver& factors_;
  const Sparse& M_;
  const Columns& known_;
  int factors_size_ = 0;
  mutable std::vector<double> b_;
};

class Mass {
 public:
  using Scalar = double;
  explicit Mass(const Sparse& M) : M_(M) {}
  Eigen::Index rows() const { return M_.rows(); }
  Eigen::Index cols() const { return M_.rows(); }
  void perform_op(const double* x, double* y) const {
    Eigen::Map<Column>(y, M_.rows()) = M_ * Eigen::Map<const Column>(x, M_.rows());
  }

 private:
  const Sparse& M_;
};

class SparseMotions {
 public:
  SparseMotions(const System& system, In q, double t, double length)
      : system_(system), q_(q), t_(t), length_(length), n_(system.size()) {}

  NaturalModes find(int count) {
    NaturalModes result;
    const Vector none(at(system_.rows()), 0.0);
    M_ = symmetric_part(1, 0, none);
    Sparse K_forces = symmetric_part(0, 1, none);
    const Column mass = M_.diagonal(), stiffnesses = K_forces.diagonal();
    const Vector scale = equation_scales(system_, In(mass.data(), at(n_)), In(stiffnesses.data(), at(n_)));
    scale_ = Eigen::Map<const Column>(scale.data(), n_);
    M_ = scaled(M_);
    K_forces = scaled(K_forces);
    find_rows();
    const Vector lambda = reactions(result.imbalance);
    K_ = scaled(symmetric_part(0, 1, lambda));
    const double size = largest(K_);
    if (size > 0) result.asymmetry = largest(scaled(skew_)) / size;
    if (!std::isfinite(size) || !std::isfinite(largest(M_)) || !std::isfinite(result.imbalance)) {
      result.left_out = "forces, masses or their derivatives are not finite at the start";
      return result;
    }
    result.massless = motions_without_mass();
    result.motions = n_ - static_cast<int>(G_.rows()) - result.massless;
    // the sum of the magnitudes in a row bounds the rounding of K x
    const double stiffness = std::max(row_sum(K_), row_sum(K_forces));
    const double smallest =
        16 * std::sqrt(static_cast<double>(n_)) * std::numeric_limits<double>::epsilon() * stiffness;
    result.resolution = std::sqrt(smallest);
    solve(count, stiffness, smallest, result);
    return result;
  }

 private:
  static double largest(const Sparse& A) {
    double most = 0;
    for (Eigen::Index k = 0; k < A.nonZeros(); ++k)
      if (!(std::abs(A.valuePtr()[k]) <= most)) most = std::abs(A.valuePtr()[k]);
    return most;
  }
  static double row_sum(const Sparse& A) {
    double most = 0;
    for (Eigen::Index i = 0; i < A.rows(); ++i) {
      double sum = 0;
      for (Sparse::InnerIterator it(A, i); it; ++it) sum += std::abs(it.value());
      most = std::max(most, sum);
    }
    return most;
  }
  Sparse scaled(const Sparse& A) const { return scale_.asDiagonal() * A * scale_.asDiagonal(); }

  // The other part goes to skew_.
  Sparse symmetric_part(double c_M, double c_K, const Vector& lambda) {
    const SparsePattern& pattern = system_.saddle_pattern();
    const Vector values = small_motion_matrix(system_, q_, t_, c_M, c_K, lambda);
    std::vector<Eigen::Triplet<double>> entries;
    for (int i = 0; i < n_; ++i)
      for (int k = pattern.row_start[at(i)]; k < pattern.row_start[at(i + 1)]; ++k)
        if (const int j = pattern.column[at(k)]; j < n_) entries.emplace_back(i, j, values[at(k)]);
    Sparse A(n_, n_);
    A.setFromTriplets(entries.begin(), entries.end());
    const Sparse transposed = A.transpose();
    skew_ = 0.5 * (A - transposed);
    return 0.5 * (A + transposed);
  }

  // Those of equations without mass that the rows allow while all others rest.
  int motions_without_mass() const {
    std::vector<int> number(at(n_), -1);
    int count = 0;
    for (int i = 0; i < n_; ++i)
      if (!(M_.coeff(i, i) > 0)) number[at(i)] = count++;
    std::vector<SparseRow> rows(at(static_cast<int>(G_.rows())));
    for (int i = 0; i < static_cast<int>(G_.rows()); ++i)
      for (Sparse::InnerIterator it(G_, i); it; ++it)
        if (const int k = number[at(static_cast<int>(it.col()))]; k >= 0 && std::abs(it.value()) > rank_tolerance) {
          rows[at(i)].equation.push_back(k);
          rows[at(i)].value.push_back(it.value());
        }
    return count > 0 ? count - row_rank(rows, count).rank : 0;
  }

  // The independent rows, of unit length in the scaled equations.
  void find_rows() {
    const int m = system_.bilateral();
    std::vector<SparseRow> rows(at(m));
    for (int i = 0; i < m; ++i) {
      SparseRow& row = rows[at(i)];
      system_.row_gradient(i, q_, t_, nullptr, row);
      double square = 0;
      for (std::size_t k = 0; k < row.equation.size(); ++k) {
        row.value[k] *= scale_[row.equation[k]];
        square += row.value[k] * row.value[k];
      }
      for (double& value : row.value) value /= square > 0 ? std::sqrt(square) : 1;
      row_length_.push_back(std::sqrt(square));
    }
    const RowRank rank = row_rank(rows, n_);
    std::vector<Eigen::Triplet<double>> entries;
    for (int i = 0; i < m; ++i) {
      if (std::ranges::binary_search(rank.redundant, i)) continue;
      const int number = static_cast<int>(row_number_.size());
      row_number_.push_back(i);
      for (std::size_t k = 0; k < rows[at(i)].equation.size(); ++k)
        entries.emplace_back(number, rows[at(i)].equation[k], rows[at(i)].value[k]);
    }
    G_ = Sparse(static_cast<Eigen::Index>(row_number_.size()), n_);
    G_.setFromTriplets(entries.begin(), entries.end());
  }

  /// [A, G^T; G, 0]
  Sparse saddle(const Sparse& A) const {
    std::vector<Eigen::Triplet<double>> entries;
    for (int i = 0; i < n_; ++i)
      for (Sparse::InnerIterator it(A, i); it; ++it) entries.emplace_back(i, static_cast<int>(it.col()), it.value());
    for (int i = 0; i < static_cast<int>(G_.rows()); ++i)
      for (Sparse::InnerIterator it(G_, i); it; ++it) {
        entries.emplace_back(n_ + i, static_cast<int>(it.col()), it.value());
        entries.emplace_back(static_cast<int>(it.col()), n_ + i, it.value());
      }
    Sparse out(n_ + G_.rows(), n_ + G_.rows());
    out.setFromTriplets(entries.begin(), entries.end());
    return out;
  }

  static bool factorise(LinearSolver& solver, const Sparse& A, bool definite) {
    const Assembled matrix(A);
    solver.analyse(matrix.pattern, {.symmetric = true, .positive_definite = definite});
    return solver.factorise(matrix.values) == FactorStatus::ok;
  }

  // lambda of all rows, zero for conditional and redundant rows: the least squares of f + G^T lambda.
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
    if (G_.rows() > 0) {
      Sparse one(n_, n_);
      one.setIdentity();
      LinearSolver solver;
      // without factors the imbalance says so
      if (factorise(solver, saddle(one), false)) {
        Vector b(at(n_ + static_cast<int>(G_.rows())), 0.0);
        for (int i = 0; i < n_; ++i) b[at(i)] = -sum[i];
        solver.solve(b);
        const Eigen::Map<const Column> y(b.data() + n_, G_.rows());
        for (std::size_t i = 0; i < row_number_.size(); ++i)
          lambda[at(row_number_[i])] = y[static_cast<Eigen::Index>(i)] / row_length_[at(row_number_[i])];
        sum += G_.transpose() * y;
      }
    }
    const Vector K = small_motion_matrix(system_, q_, t_, 0, 1, Vector(at(system_.rows()), 0.0));
    parts += rounding_of_forces(system_, K, In(scale_.data(), at(n_)), length_);
    imbalance = parts > 0 ? sum.norm() / parts : 0;
    return lambda;
  }

  /// The smallest shift for which K - sigma M is positive definite where the rows allow motions; 0 without one.
  double shift(double stiffness) const {
    const Sparse squares = G_.transpose() * G_;
    for (const double share : {1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0}) {
      const double sigma = -share * stiffness;
      Sparse A = K_ - sigma * M_;
      if (G_.rows() > 0) A += 1e3 * std::max(1.0, share) * stiffness * squares;
      LinearSolver solver;
      solver.set_method(LinearMethod::cholmod);
      if (factorise(solver, A, true) && solver.counters().fallbacks == 0) return sigma;
    }
    return 0;
  }

  void solve(int count, double stiffness, double smallest, NaturalModes& result) {
    const int at_once = count + 6;
    if (result.motions < 6 * at_once + 40) {
      result.left_out = "the rows leave " + std::to_string(result.motions) + " motions of " + std::to_string(n_) +
                        " equations, too few for sparse matrices and too many equations for dense ones";
      return;
    }
    if (stiffness == 0) {
      result.free_motions = result.motions;
      return;
    }
    const double sigma = shift(stiffness);
    LinearSolver factors;
    if (sigma == 0 ||
        !factorise(factors, G_.rows() > 0 ? saddle(K_ - sigma * M_) : Sparse(K_ - sigma * M_), G_.rows() == 0)) {
      result.left_out = "the matrix of the sparse method is singular";
      return;
    }
    Columns shapes(n_, 0);
    std::vector<double> squares;
    constexpr int most_passes = 200;
    bool enough = false;
    for (int pass = 0; pass < most_passes; ++pass) {
      // a few are enough to see whether a lower mode was missed
      const int number = enough ? 4 : at_once, space = 3 * number + 20;
      if (static_cast<int>(squares.size()) + space > result.motions) break;
      std::vector<double> sorted = squares;
      if (!add_modes(factors, sigma, number, space, shapes, squares)) {
        result.left_out = "Lanczos' method did not converge";
        return;
      }
      // enough modes were known, and all new ones lie above the last that is wanted
      const double lowest =
          *std::min_element(squares.begin() + static_cast<std::ptrdiff_t>(sorted.size()), squares.end());
      if (enough && lowest >= last_of(sorted, count, smallest)) return keep(count, smallest, shapes, squares, result);
      enough = std::isfinite(last_of(squares, count, smallest));
    }
    result.left_out = "the lowest modes were not found among " + std::to_string(squares.size()) +
                      " motions, of which many have no stiffness or equal frequencies";
  }

  /// The value number `count` that is not free; infinite if there are fewer.
  static double last_of(std::vector<double> squares, int count, double smallest) {
    std::erase_if(squares, [&](double s) { return std::abs(s) <= smallest; });
    if (static_cast<int>(squares.size()) < count) return HUGE_VAL;
    std::ranges::nth_element(squares, squares.begin() + (count - 1));
    return squares[at(count - 1)];
  }

  /// Adds the lowest modes that are not known yet.
  bool add_modes(LinearSolver& factors, double sigma, int number, int vectors, Columns& shapes,
                 std::vector<double>& squares) const {
    ShiftedInverse inverse(factors, M_, shapes);
    inverse.set_size(n_ + static_cast<int>(G_.rows()));
    Mass mass(M_);
    Spectra::SymGEigsShiftSolver<ShiftedInverse, Mass, Spectra::GEigsMode::ShiftInvert> lanczos(inverse, mass, number,
                                                                                                vectors, sigma);
    // a start that the rows allow; the generator is the same in every library
    std::mt19937_64 generator(1 + static_cast<std::uint64_t>(shapes.cols()));
    Column start(n_), image(n_);
    for (double& x : start) x = static_cast<double>(generator() >> 11) * 0x1p-53 - 0.5;
    inverse.perform_op(start.data(), image.data());
    lanczos.init(image.data());
    const auto found = lanczos.compute(Spectra::SortRule::LargestMagn, 1000, 1e-11, Spectra::SortRule::LargestAlge);
    if (lanczos.info() != Spectra::CompInfo::Successful || found < number) return false;
    const Columns x = lanczos.eigenvectors();
    for (Eigen::Index i = 0; i < found; ++i) {
      // one more inverse step removes what rounding left outside of the rows; Rayleigh's quotient is the best value
      Column y(n_), Mx = M_ * x.col(i);
      inverse.perform_op(Mx.data(), y.data());
      y /= std::sqrt(y.dot(M_ * y));
      squares.push_back(y.dot(K_ * y));
      shapes.conservativeResize(n_, shapes.cols() + 1);
      // modes of equal frequencies need not be orthogonal yet
      const auto known = shapes.leftCols(shapes.cols() - 1);
      y -= known * (known.transpose() * (M_ * y));
      shapes.col(shapes.cols() - 1) = y / std::sqrt(y.dot(M_ * y));
    }
    return true;
  }

  void keep(int count, double smallest, const Columns& shapes, const std::vector<double>& squares,
            NaturalModes& result) const {
    std::vector<std::size_t> order(squares.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return squares[i]; });
    for (const std::size_t i : order) {
      if (std::abs(squares[i]) <= smallest) {
        ++result.free_motions;
        continue;
      }
      if (static_cast<int>(result.modes.size()) >= count) continue;
      Column x = shapes.col(static_cast<Eigen::Index>(i));
      Eigen::Index most = 0;
      x.cwiseAbs().maxCoeff(&most);
      if (x[most] < 0) x = -x;
      x = scale_.cwiseProduct(x);
      result.modes.push_back({squares[i], Vector(x.data(), x.data() + n_)});
    }
  }

  const System& system_;
  In q_;
  double t_, length_;
  int n_;
  Sparse M_, K_, G_, skew_;
  Column scale_;
  std::vector<double> row_length_;
  std::vector<int> row_number_;  // of the independent rows
};

}  // namespace

NaturalModes sparse_modes(const System& system, In q, double t, int count, double length) {
  return SparseMotions(system, q, t, length).find(count);
}

#endif

}  // namespace carom
