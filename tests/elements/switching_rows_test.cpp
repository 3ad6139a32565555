// Switching constraints: the intermediate gradient against its properties, on random problems.
#include "elements/bodies/switching_rows.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/mechanics/system.hpp"

using namespace carom;

namespace {

using Matrix = Eigen::MatrixXd;
using Column = Eigen::VectorXd;

constexpr int n = 6;  // coordinates of the random problems

std::string text(const Matrix& G, Eigen::Index row, double bend) {
  char number[40];
  std::string sum = "0";
  for (Eigen::Index i = 0; i < G.cols(); ++i) {
    std::snprintf(number, sizeof number, "%+.17g", G(row, i));
    sum += number + std::string("*(x") + std::to_string(i) + ")";
  }
  std::snprintf(number, sizeof number, "%.17g", bend);
  return sum + " + " + number + "*x0*x1^2";
}

// A body with two modes, at q = 0 where the rows have the gradients G.
struct Body {
  System system;
  SwitchingRowBlock* rows = nullptr;
  Body(const Matrix& M, const Matrix& G_b, const Matrix& G_old, const Matrix& G_new, const Matrix& Z, double bend = 0,
       bool latch = false) {
    std::vector<std::string> x, xt;
    std::vector<int> nodes;
    for (int i = 0; i < M.rows(); ++i) {
      x.push_back("x" + std::to_string(i));
      nodes.push_back(system.add_node(NodeKind::scalar, std::vector<double>{0.0}, x.back()));
    }
    xt = x;
    xt.push_back("t");
    CoordinateMasses masses{"body", nodes, x, {}, {}, 0};
    for (int i = 0; i < M.rows(); ++i) {
      masses.rows.emplace_back();
      for (int j = 0; j <= i; ++j) masses.rows.back().push_back({Formula("0" + text_of(M(i, j)), x), "M"});
    }
    auto block = std::make_unique<CoordinateMassBlock>(std::move(masses));
    const CoordinateMassBlock& inertia = *block;
    system.add(std::move(block));
    std::vector<FormulaRow> persistent;
    for (Eigen::Index k = 0; k < G_b.rows(); ++k) persistent.push_back({"b", {Formula(text(G_b, k, 0), xt), "b"}, 0});
    const auto mode = [&](const char* name, const Matrix& G, const Matrix& z) {
      SwitchingMode m{name, {Formula(text(z, 0, 0), xt), "z"}, {}};
      for (Eigen::Index k = 0; k < G.rows(); ++k) m.constraints.push_back({Formula(text(G, k, bend), xt), "g"});
      return m;
    };
    std::vector<SwitchingMode> modes;
    modes.push_back(mode("old", G_old, -Z));
    modes.push_back(mode("new", G_new, Z));
    if (latch) modes[0].next = 1;
    auto switching =
        std::make_unique<SwitchingRowBlock>("body", nodes, std::move(modes), inertia, std::move(persistent));
    rows = switching.get();
    system.add(std::move(switching));
    system.finalize();
  }
  static std::string text_of(double x) {
    char number[40];
    std::snprintf(number, sizeof number, "%+.17g", x);
    return number;
  }
  bool set(const Column& v, double E, Vector q = {}) {
    q.resize(static_cast<std::size_t>(v.size()), 0.0);
    return rows->set_switch(0, 1, {q.data(), v.data(), 0, nullptr}, E, nullptr);
  }
  Matrix directions(Vector q = {}) const {
    q.resize(static_cast<std::size_t>(rows->topology().local_size), 0.0);
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> F(rows->rows(), rows->topology().local_size);
    rows->direction({q.data(), nullptr, 0, nullptr}, F.data());
    return F;
  }
};

// v+ = v + W, M W = F^T Lam + G_b^T Lam_b, G v+ = 0, G_b W = 0
Column jump(const Matrix& M, const Matrix& G_b, const Matrix& G, const Matrix& F, const Column& v) {
  const Eigen::Index k = M.rows(), m = G.rows(), b = G_b.rows(), N = k + m + b;
  Matrix S = Matrix::Zero(N, N);
  S.topLeftCorner(k, k) = M;
  S.block(0, k, k, m) = -F.transpose();
  S.block(0, k + m, k, b) = -G_b.transpose();
  S.block(k, 0, m, k) = G;
  S.block(k + m, 0, b, k) = G_b;
  Column rhs = Column::Zero(N);
  rhs.segment(k, m) = -(G * v);
  return v + S.fullPivLu().solve(rhs).head(k);
}

// Modes that agree on the surface Z: G_new = R G_old + k Z.
struct Problem {
  Matrix M, G_b, G_old, G_new, Z;
  Column v;
};

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}
  Matrix matrix(Eigen::Index rows, Eigen::Index columns) {
    return Matrix::NullaryExpr(rows, columns, [&] { return normal_(random_); });
  }
  Problem problem(int m, int b) {
    Problem p;
    const Matrix A = matrix(n, n);
    p.M = A * A.transpose() + 0.1 * Matrix::Identity(n, n);
    p.G_b = matrix(b, n);
    p.G_old = matrix(m, n);
    p.Z = matrix(1, n);
    p.G_new = matrix(m, m) * p.G_old + matrix(m, 1) * p.Z;
    Matrix all(m + b, n);
    all << p.G_old, p.G_b;
    const Matrix kernel = all.fullPivLu().kernel();
    p.v = kernel * matrix(kernel.cols(), 1);
    if ((p.Z * p.v)(0) < 0) p.v = -p.v;
    return p;
  }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

double energy(const Problem& p, const Column& v) { return 0.5 * v.dot(p.M * v); }

// The closed form of the jump's energy for any numbers of constraints, in coordinates in which M = 1 and G_b is gone.
double energy_change(const Problem& p, double E, bool largest_turns) {
  const Eigen::SelfAdjointEigenSolver<Matrix> S(p.M);
  const Matrix root = S.operatorSqrt(), inverse = S.operatorInverseSqrt();
  const Matrix free =
      p.G_b.rows() > 0 ? Matrix((p.G_b * inverse).fullPivLu().kernel()) : Matrix(Matrix::Identity(n, n));
  const Matrix K = Eigen::HouseholderQR<Matrix>(free).householderQ() * Matrix::Identity(n, free.cols());
  const auto basis = [&](const Matrix& G) -> Matrix {
    const Matrix A = (G * inverse * K).transpose();
    if (A.cols() == 0) return A;
    return Eigen::JacobiSVD<Matrix>(A, Eigen::ComputeThinU | Eigen::ComputeThinV).matrixU();
  };
  const Matrix old = basis(p.G_old), now = basis(p.G_new);
  const Column w = K.transpose() * root * p.v;
  const Eigen::Index pairs = std::min(old.cols(), now.cols());
  Matrix Y = old, Z = now;
  Column c(pairs);
  if (pairs > 0) {
    const Eigen::JacobiSVD<Matrix> svd(old.transpose() * now, Eigen::ComputeFullU | Eigen::ComputeFullV);
    c = svd.singularValues();
    Y = old * svd.matrixU();
    Z = now * svd.matrixV();
  }
  double change = 0;
  for (Eigen::Index i = 0; i < Z.cols(); ++i) {
    if (i >= pairs) {
      change -= 0.5 * std::pow(Z.col(i).dot(w), 2);
      continue;
    }
    const double sine = std::sqrt(std::max(0.0, 1 - c[i] * c[i])),
                 signed_c = largest_turns && i == pairs - 1 ? -c[i] : c[i];
    if (sine < 1e-7) continue;
    const double along = ((Z.col(i) - c[i] * Y.col(i)) / sine).dot(w),
                 r = ((1 - E) + E * signed_c) / ((1 - E) * signed_c + E);
    change += 0.5 * along * along * (r * r - 1);
  }
  return change;
}

}  // namespace

TEST_CASE("switching rows: E = 1/2 conserves the kinetic energy and crosses the surface, with any number of rows") {
  Random random(7);
  for (int sample = 0; sample < 4000; ++sample) {
    const Problem p = random.problem(1 + sample % 3, sample % 2);
    Body body(p.M, p.G_b, p.G_old, p.G_new, p.Z);
    REQUIRE(body.set(p.v, 0.5));
    const Column v = jump(p.M, p.G_b, p.G_new, body.directions(), p.v);
    CHECK(energy(p, v) == doctest::Approx(energy(p, p.v)).epsilon(1e-8));
    CHECK((p.Z * v)(0) > 0);
  }
}

TEST_CASE("switching rows: the energy changes by the ratio of the speeds in the plane that turns") {
  Random random(8);
  int refused = 0;
  for (int sample = 0; sample < 2000; ++sample) {
    const Problem p = random.problem(1 + sample % 3, sample % 2);
    for (const double E : {0.7, 0.9}) {
      Body body(p.M, p.G_b, p.G_old, p.G_new, p.Z);
      REQUIRE(body.set(p.v, E));
      const double c = body.rows->cosine(), r = ((1 - E) + E * c) / ((1 - E) * c + E);
      const Column v = jump(p.M, p.G_b, p.G_new, body.directions(), p.v),
                   rest = jump(p.M, p.G_b, p.G_new, p.G_new, p.v);
      // E = 1 takes w^2 (1 - c^2)/2, other E w^2 (1 - r^2)/2
      const double turned = (energy(p, p.v) - energy(p, rest)) / (1 - c * c);
      CHECK(energy(p, v) - energy(p, p.v) == doctest::Approx(turned * (r * r - 1)).epsilon(1e-5).scale(energy(p, p.v)));
      // the guard of the integrator: the motion goes on behind the surface while r > 0, E < 1/(1 - c) for c < 0
      CHECK(((p.Z * v)(0) > 0) == (r > 0));
      refused += r > 0 ? 0 : 1;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("switching rows: constraints that appear are an impact for every E, and those that vanish drop out") {
  Random random(11);
  for (int sample = 0; sample < 1000; ++sample) {
    const int m_old = sample % 4, m_new = sample / 4 % 4, b = sample % 2;
    if (m_old + m_new == 0) continue;
    Problem p = random.problem(m_old, b);
    // some of the old constraints turned by the surface, or all of these and new ones
    const Matrix turned = p.G_new;
    p.G_new = random.matrix(m_new, n);
    const int kept = std::min(m_old, m_new);
    p.G_new.topRows(kept) = turned.topRows(kept);
    for (const double E : {0.3, 0.5, 0.8, 1.0}) {
      CAPTURE(sample);
      CAPTURE(E);
      Body body(p.M, p.G_b, p.G_old, p.G_new, p.Z);
      if (!body.set(p.v, E)) continue;  // both ways lead back
      const Matrix F = body.directions().topRows(m_new);
      const Column v = jump(p.M, p.G_b, p.G_new, F, p.v);
      CHECK(energy(p, v) - energy(p, p.v) ==
            doctest::Approx(energy_change(p, E, body.rows->cosine() < 0)).epsilon(1e-6).scale(energy(p, p.v)));
      if (m_new <= m_old && E == 0.5) CHECK(energy(p, v) == doctest::Approx(energy(p, p.v)).epsilon(1e-8));
      if (m_new == 0) CHECK((v - p.v).norm() == 0);
      // the other rows of the block have no reaction
      for (int row = m_new; row < body.rows->rows(); ++row) CHECK(body.directions().row(row).norm() == 0);
    }
  }
}

TEST_CASE("switching rows: a latch, whose constraint is the surface itself, is an impact on this constraint") {
  Random random(12);
  for (int sample = 0; sample < 50; ++sample) {
    Problem p = random.problem(1 + sample % 2, sample % 2);
    Matrix all(p.G_old.rows() + 1, n);
    all << p.G_old, p.Z;
    p.G_new = all;
    p.v = -p.v;  // onto the surface from z > 0
    for (const double E : {0.0, 0.5, 1.0}) {
      Body body(p.M, p.G_b, p.G_old, p.G_new, p.Z, 0, true), other(p.M, p.G_b, p.G_old, p.G_new, p.Z);
      REQUIRE(body.set(p.v, E));
      CHECK(body.rows->holds_surface());
      // without the name of the mode behind it is no latch, but a corner without continuation
      CHECK(!other.set(p.v, E));
      const Column v = jump(p.M, p.G_b, p.G_new, body.directions().topRows(p.G_new.rows()), p.v),
                   impact = jump(p.M, p.G_b, p.G_new, p.G_new, p.v);
      CHECK((v - impact).norm() <= 1e-8 * p.v.norm());
    }
  }
}

TEST_CASE("switching rows: scale, sign, order and combination of the constraints do not matter") {
  Random random(9);
  for (int sample = 0; sample < 2000; ++sample) {
    const int m = 1 + sample % 3;
    const Problem p = random.problem(m, sample % 2);
    const Matrix R = random.matrix(m, m), S = 1e3 * random.matrix(m, m);
    for (const double E : {0.0, 0.3, 0.5, 1.0}) {
      Body body(p.M, p.G_b, p.G_old, p.G_new, p.Z), other(p.M, p.G_b, R * p.G_old, S * p.G_new, 5 * p.Z);
      REQUIRE(body.set(p.v, E));
      REQUIRE(other.set(p.v, E));
      const Matrix F = body.directions(), F_other = other.directions();
      // the same directions in the rows of the new mode
      CHECK((F_other - S * F).norm() <= 1e-6 * F_other.norm());
    }
  }
}

TEST_CASE(
    "switching rows: one row without persistent ones has the intermediate gradient of the paper, E = 1 the new row") {
  Random random(10);
  for (int sample = 0; sample < 1000; ++sample) {
    const Problem p = random.problem(1, 0);
    const Matrix C = p.M.inverse();
    const double a_old = std::sqrt((p.G_old * C * p.G_old.transpose())(0)),
                 a = std::sqrt((p.G_new * C * p.G_new.transpose())(0));
    const double E = 0.001 * sample;
    Body body(p.M, p.G_b, p.G_old, p.G_new, p.Z);
    REQUIRE(body.set(p.v, E));
    const Matrix F = body.directions();
    const Matrix plus = a * (1 - E) / a_old * p.G_old + E * p.G_new,
                 minus = -a * (1 - E) / a_old * p.G_old + E * p.G_new;
    CHECK(std::min((F - plus).norm(), (F - minus).norm()) <= 1e-9 * F.norm());
    REQUIRE(body.set(p.v, 1));
    CHECK((body.directions() - p.G_new).norm() <= 1e-9 * p.G_new.norm());
  }
}

TEST_CASE("switching rows: reactions of a switch and their gradient agree with differences") {
  Random random(11);
  const Problem p = random.problem(2, 1);
  Body body(p.M, p.G_b, p.G_old, p.G_new, p.Z, 0.3);
  const Matrix place = random.matrix(n, 1), s = random.matrix(2, 1);
  Vector q(place.data(), place.data() + n);
  REQUIRE(body.set(p.v, 0.6, Vector(n, 0.0)));
  const auto reaction = [&](const Vector& x) {
    Vector f(n, 0.0);
    body.rows->add_reaction({0, 1}, {x.data(), nullptr, 0, nullptr}, s.data(), f.data());
    return f;
  };
  std::vector<double> A(n * n, 0.0);
  body.rows->add_reaction_gradient({0, 1}, {q.data(), nullptr, 0, nullptr}, s.data(), 1, A.data());
  for (std::size_t k = 0; k < n; ++k) {
    const double e = 1e-6;
    Vector forward = q, backward = q;
    forward[k] += e;
    backward[k] -= e;
    const Vector f = reaction(forward), b = reaction(backward);
    for (std::size_t i = 0; i < n; ++i)
      CHECK(A[i * n + k] == doctest::Approx((f[i] - b[i]) / (2 * e)).epsilon(1e-6).scale(1));
  }
  // the old mode alone while it is shown
  body.rows->show_old_reactions(true);
  const Matrix F = body.directions();
  body.rows->show_old_reactions(false);
  CHECK((F - p.G_old).norm() <= 1e-12);
}

TEST_CASE("switching rows: a carrier passed between two turning arms in space has the jump of the closed form") {
  // alpha turns about e_A through (-1, 0, 0), beta = -kappa alpha about e_B through (0.8, 0.3, -0.6); the tips meet at
  // 0, where the pin of the carrier, direction n_p, changes from the first arm to the second; velocities: alpha',
  // beta', v, omega
  const Eigen::Vector3d e_A(0, 0, 1), e_B(0.8, 0, 0.6), tip_A(1, 0, 0), tip_B(-0.8, -0.3, 0.6), n_p(0, 0.28, 0.96);
  const double psi = 0.4, rate = 1.5, spin = 2;
  const Eigen::Matrix3d R = Eigen::AngleAxisd(psi, n_p).toRotationMatrix();
  const Eigen::Vector3d c = R * Eigen::Vector3d(0.15, -0.05, 0.1), a = Eigen::Vector3d(1, 0, 0), b = n_p.cross(a);
  Matrix M = Matrix::Zero(8, 8);
  M(0, 0) = 0.1;
  M(1, 1) = 0.05;
  M.block(2, 2, 3, 3) = 2 * Eigen::Matrix3d::Identity();
  M.block(5, 5, 3, 3) = R * Eigen::Vector3d(0.02, 0.03, 0.04).asDiagonal() * R.transpose();
  const auto cross = [](const Eigen::Vector3d& x) {
    Eigen::Matrix3d X;
    X << 0, -x.z(), x.y(), x.z(), 0, -x.x(), -x.y(), x.x(), 0;
    return X;
  };
  // the carrier's point at the pin, v + omega x (-c), moves with the tip, and it turns with the arm but about the pin
  const auto rows = [&](int arm, const Eigen::Vector3d& axis, const Eigen::Vector3d& tip) {
    Matrix G = Matrix::Zero(5, 8);
    G.block(0, 2, 3, 3) = Eigen::Matrix3d::Identity();
    G.block(0, 5, 3, 3) = cross(c);
    G.block(0, arm, 3, 1) = -axis.cross(tip);
    for (int k = 0; k < 2; ++k) {
      const Eigen::Vector3d& across = k == 0 ? a : b;
      G.block(3 + k, 5, 1, 3) = across.transpose();
      G(3 + k, arm) = -across.dot(axis);
    }
    return G;
  };
  Matrix Z = Matrix::Zero(1, 8), G_b = Z;
  Z(0, 0) = 1;
  const struct {
    double kappa, E, after;
  } cases[] = {{0.8, 0, 1.689855841},    {0.8, 0.25, 1.658804746}, {0.8, 0.5, 1.628329407},
               {0.8, 0.75, 1.598413956}, {0.8, 1, 1.569043106},    {-0.8, 0.5, 1.628329407}};
  const double energies[] = {4.791837435, 4.742953951, 4.695858379, 4.650477377, 4.606741146, 4.695858379};
  for (std::size_t i = 0; i < 6; ++i) {
    const auto& [kappa, E, after] = cases[i];
    CAPTURE(kappa);
    CAPTURE(E);
    G_b(0, 0) = kappa;
    G_b(0, 1) = 1;
    Column v = Column::Zero(8);
    v[0] = rate;
    v[1] = -kappa * rate;
    const Eigen::Vector3d omega = rate * e_A + spin * n_p;
    v.segment(2, 3) = rate * e_A.cross(tip_A) + omega.cross(c);
    v.segment(5, 3) = omega;
    const Problem p{M, G_b, rows(0, e_A, tip_A), rows(1, e_B, tip_B), Z, v};
    REQUIRE((p.G_old * v).norm() < 1e-12);
    CHECK(energy(p, v) == doctest::Approx(4.695858379).epsilon(1e-9));
    Body body(M, G_b, p.G_old, p.G_new, Z);
    REQUIRE(body.set(v, E));
    CHECK(body.rows->cosine() == doctest::Approx(kappa > 0 ? 0.963590720 : -0.704942901).epsilon(1e-9));
    const Column end = jump(M, G_b, p.G_new, body.directions(), v);
    CHECK(end[0] == doctest::Approx(after).epsilon(1e-9));
    CHECK(energy(p, end) == doctest::Approx(energies[i]).epsilon(1e-9));
    CHECK(end[0] > 0);
    if (kappa > 0) continue;
    // E0 = 1/(1 - c) = 0.586530: beyond, the motion turns back
    for (const double beyond : {0.5866, 0.75, 1.0}) {
      REQUIRE(body.set(v, beyond));
      CHECK(jump(M, G_b, p.G_new, body.directions(), v)[0] < 0);
    }
    REQUIRE(body.set(v, 0.5865));
    CHECK(jump(M, G_b, p.G_new, body.directions(), v)[0] > 0);
  }
}
