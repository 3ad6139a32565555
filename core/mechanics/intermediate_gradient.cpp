#include "core/mechanics/intermediate_gradient.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

namespace carom {

namespace {

using Matrix = Eigen::MatrixXd;
using Column = Eigen::VectorXd;

constexpr double rank_tolerance = 1e-12;  // of the eigenvalues of G C G^T with rows of unit length
constexpr double smooth_joint = 1e-3;     // sine of an angle of modes that join smoothly: no branch
constexpr double held = 1e-6;             // of grad z outside the rows that hold the surface

// B with B^T D B = 1 and B^+ with B^+ B = 1; rows that depend on others drop out. size: of the rows, without the
// persistent constraints, which redundant rows are compared with.
struct Basis {
  Matrix B, inverse;
  Basis(const Matrix& D, const Column& size) {
    if (D.size() == 0) return;
    const Column e = size.unaryExpr([](double x) { return x > 0 ? x : 1.0; });
    const Column unit = e.cwiseInverse();
    const Matrix scaled = unit.asDiagonal() * (0.5 * (D + D.transpose())) * unit.asDiagonal();
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(scaled);
    const Column& values = eigen.eigenvalues();
    Eigen::Index first = 0;  // ascending
    while (first < values.size() && !(values[first] > rank_tolerance)) ++first;
    const Eigen::Index rank = values.size() - first;
    const Matrix V = eigen.eigenvectors().rightCols(rank);
    const Column root = values.tail(rank).cwiseSqrt();
    B = unit.asDiagonal() * V * root.cwiseInverse().asDiagonal();
    inverse = root.asDiagonal() * V.transpose() * e.asDiagonal();
  }
};

// Columns of both kinds.
struct Pair {
  Matrix x, y;
  double norm() const { return std::sqrt(std::max(0.0, (x.transpose() * y).trace())); }
};

Pair times(const RowsInMetric& rows, const Matrix& B) { return {rows.x * B, rows.y * B}; }

}  // namespace

std::optional<IntermediateGradient> intermediate_gradient(const SwitchedRows& rows) {
  const RowsInMetric &p_old = rows.old_rows, &p_new = rows.new_rows, &p_z = rows.surface;
  const Basis b_old(p_old.x.transpose() * p_old.y, p_old.length), b_new(p_new.x.transpose() * p_new.y, p_new.length);
  const Pair u_old = times(p_old, b_old.B), u_new = times(p_new, b_new.B);
  const Eigen::Index pairs = std::min(u_old.x.cols(), u_new.x.cols());
  Matrix Y = Matrix::Identity(u_old.x.cols(), u_old.x.cols()), Z = Matrix::Identity(u_new.x.cols(), u_new.x.cols());
  Column c(pairs);
  if (pairs > 0) {
    const Eigen::JacobiSVD<Matrix> svd(u_old.x.transpose() * u_new.y, Eigen::ComputeFullU | Eigen::ComputeFullV);
    Y = svd.matrixU();
    Z = svd.matrixV();
    c = svd.singularValues();
  }
  double sine = 0;  // of the largest angle, the last pair
  if (pairs > 0) {
    const auto last = [&](const Matrix& u_n, const Matrix& u_o) -> Matrix {
      return u_n * Z.col(pairs - 1) - c[pairs - 1] * (u_o * Y.col(pairs - 1));
    };
    sine = Pair{last(u_new.x, u_old.x), last(u_new.y, u_old.y)}.norm();
  }
  // not where z is that of persistent rows alone, such as a driver's
  const double z_size = Pair{p_z.x, p_z.y}.norm();
  const Matrix along = u_new.x.transpose() * p_z.y;
  const bool on_surface = z_size > held * p_z.length.norm() &&
                          Pair{p_z.x - u_new.x * along, p_z.y - u_new.y * along}.norm() <= held * z_size;
  IntermediateGradient G;
  // a mode that is entered because its z is positive cannot hold the motion where z is zero
  G.holds_surface = on_surface && rows.may_hold_surface;
  if (on_surface && !G.holds_surface) return std::nullopt;

  const auto interpolate = [&](double share, double sign) {
    Column s = Column::Ones(pairs), e = Column::Ones(u_new.x.cols());
    if (pairs > 0) s[pairs - 1] = sign;
    e.head(pairs).setConstant(share);
    G.A_new = b_new.B * Z * e.asDiagonal() * Z.transpose() * b_new.inverse;
    G.A_old =
        (1 - share) * b_old.B * Y.leftCols(pairs) * s.asDiagonal() * Z.leftCols(pairs).transpose() * b_new.inverse;
  };
  // the jump of E = 1/2 crosses the surface, as the motion before
  const auto crosses = [&](double sign) {
    interpolate(0.5, sign);
    const Matrix F = p_old.y * G.A_old + p_new.y * G.A_new;
    const Matrix D = b_new.B.transpose() * (p_new.x.transpose() * F) * b_new.B;
    const Eigen::JacobiSVD<Matrix> d(D, Eigen::ComputeFullU | Eigen::ComputeFullV);
    if (d.singularValues().size() > 0 && d.singularValues().minCoeff() < 1e-8) return false;
    const Column rhs = -(b_new.B.transpose() * rows.new_rates);
    const double change = (p_z.x.transpose() * (F * (b_new.B * d.solve(rhs))))(0, 0);
    return rows.surface_rate * (rows.surface_rate + change) > 0;
  };
  // E = 1 needs no sign, but its cosine has one
  double sign = 1;
  if (pairs > 0 && !G.holds_surface && !crosses(1)) {
    const bool turns = sine > smooth_joint && crosses(-1);
    if (rows.E < 1 && !turns) return std::nullopt;
    if (turns) sign = -1;
  }
  interpolate(rows.E, sign);
  G.cosine = pairs > 0 ? sign * std::min(1.0, c[pairs - 1]) : 1.0;
  return G;
}

}  // namespace carom
