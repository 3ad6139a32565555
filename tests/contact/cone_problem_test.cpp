#include "contact/law/cone_problem.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/vector_ops.hpp"
#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using carom::test::Random;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Problem {
  Vector W, q;
  std::vector<ConeProblem::Disc> discs;
  int rows() const { return static_cast<int>(q.size()); }
};

// Contacts with a disc of two rows each; W = G M^-1 G^T and q = G v: a motion of bodies, so that a solution exists.
Problem contacts(const Matrix& G, const Eigen::VectorXd& mass, const Eigen::VectorXd& v, const Vector& friction) {
  Problem p;
  const Matrix W = G * mass.cwiseInverse().asDiagonal() * G.transpose();
  const Eigen::VectorXd q = G * v;
  p.W.assign(W.data(), W.data() + W.size());
  p.q.assign(q.data(), q.data() + q.size());
  for (int i = 0; i < static_cast<int>(friction.size()); ++i)
    p.discs.push_back({.first = 3 * i + 1, .rows = 2, .source = 3 * i, .friction = friction[at(i)]});
  return p;
}

Problem random_contacts(Random& random) {
  const int n = 1 + static_cast<int>(random.between(0, 30)), m = 1 + static_cast<int>(random.between(0, 3 * n + 4));
  Matrix G(3 * n, m);
  for (int i = 0; i < G.size(); ++i) G.data()[i] = random.normal();
  Eigen::VectorXd mass(m), v(m);
  for (int i = 0; i < m; ++i) {
    mass[i] = std::exp(random.between(-1, 1));
    v[i] = random.normal();
  }
  Vector friction;
  for (int i = 0; i < n; ++i) friction.push_back(random.between(0, 2));
  return contacts(G, mass, v, friction);
}

// Boxes on a floor or on each other, with 4 to 7 points a face.
Problem boxes(Random& random, int most = 4) {
  const int count = 1 + static_cast<int>(random.between(0, most)), points = 4 + static_cast<int>(random.between(0, 4));
  const double mu = random.between(0, 2);
  Matrix G = Matrix::Zero(3 * count * points, 6 * count);
  Eigen::VectorXd mass(6 * count), v(6 * count);
  for (int b = 0; b < count; ++b) {
    const double m = std::exp(random.between(-2, 2));
    for (int k = 0; k < 6; ++k) {
      mass[6 * b + k] = k < 3 ? m : m * random.between(0.05, 0.3);
      v[6 * b + k] = random.normal();
    }
    v[6 * b + 2] -= 1;
    const double height = random.between(0.1, 0.6);
    for (int i = 0; i < points; ++i) {
      const double angle = 2 * M_PI * i / points + (points > 4 ? random.between(0, 0.3) : M_PI / 4);
      const Vec3 lower(std::cos(angle), std::sin(angle), -height), upper(lower[0], lower[1], height);
      const Vec3 axes[3] = {Vec3::UnitZ(), Vec3::UnitX(), Vec3::UnitY()};
      for (int k = 0; k < 3; ++k) {
        const int row = 3 * (b * points + i) + k;
        G.block<1, 3>(row, 6 * b) = axes[k].transpose();
        G.block<1, 3>(row, 6 * b + 3) = lower.cross(axes[k]).transpose();
        if (b == 0) continue;
        G.block<1, 3>(row, 6 * b - 6) = -axes[k].transpose();
        G.block<1, 3>(row, 6 * b - 3) = -upper.cross(axes[k]).transpose();
      }
    }
  }
  return contacts(G, mass, v, Vector(at(count * points), mu));
}

// Spheres in a cube of side^3 places a little out of line, with all neighbours in contact, thrown down.
Problem pile(Random& random, int side, bool rolling) {
  const int count = side * side * side;
  const auto place = [side](int i, int j, int k) { return (k * side + j) * side + i; };
  std::vector<Vec3> at_place;
  for (int b = 0; b < count; ++b)
    at_place.emplace_back(b % side + random.between(-0.1, 0.1), b / side % side + random.between(-0.1, 0.1),
                          b / side / side + random.between(-0.1, 0.1));
  struct Touch {
    int a, b;  // a: -1 for the floor
  };
  std::vector<Touch> touches;
  for (int k = 0; k < side; ++k)
    for (int j = 0; j < side; ++j)
      for (int i = 0; i < side; ++i) {
        const int b = place(i, j, k);
        touches.push_back({k == 0 ? -1 : place(i, j, k - 1), b});
        if (i > 0) touches.push_back({place(i - 1, j, k), b});
        if (j > 0) touches.push_back({place(i, j - 1, k), b});
      }
  const int rows = rolling ? 6 : 3;
  Matrix G = Matrix::Zero(rows * static_cast<int>(touches.size()), 6 * count);
  for (std::size_t c = 0; c < touches.size(); ++c) {
    const auto [a, b] = touches[c];
    const Vec3 n = a < 0 ? Vec3::UnitZ() : (at_place[at(b)] - at_place[at(a)]).normalized();
    const Vec3 t = n.cross(std::abs(n[0]) < 0.5 ? Vec3::UnitX() : Vec3::UnitY()).normalized();
    const Vec3 axes[3] = {n, t, n.cross(t)};
    const int first = rows * static_cast<int>(c);
    for (int k = 0; k < 3; ++k) {
      const Vec3 turn = 0.5 * axes[k].cross(n);  // radius 1/2
      G.block<1, 3>(first + k, 6 * b) = axes[k].transpose();
      G.block<1, 3>(first + k, 6 * b + 3) = turn.transpose();
      if (rolling) G.block<1, 3>(first + 3 + k, 6 * b + 3) = axes[(k + 1) % 3].transpose();
      if (a < 0) continue;
      G.block<1, 3>(first + k, 6 * a) = -axes[k].transpose();
      G.block<1, 3>(first + k, 6 * a + 3) = turn.transpose();
      if (rolling) G.block<1, 3>(first + 3 + k, 6 * a + 3) = -axes[(k + 1) % 3].transpose();
    }
  }
  Eigen::VectorXd mass(6 * count), v(6 * count);
  for (int i = 0; i < v.size(); ++i) {
    mass[i] = i % 6 < 3 ? 1 : 0.1;
    v[i] = 0.1 * random.normal() - (i % 6 == 2 ? 1 : 0);
  }
  const Matrix W = G * mass.cwiseInverse().asDiagonal() * G.transpose();
  const Eigen::VectorXd q = G * v;
  Problem p;
  p.W.assign(W.data(), W.data() + W.size());
  p.q.assign(q.data(), q.data() + q.size());
  for (int first = 0; first < p.rows(); first += rows) {
    p.discs.push_back({.first = first + 1, .rows = 2, .source = first, .friction = 0.5});
    if (!rolling) continue;
    p.discs.push_back({.first = first + 3, .rows = 2, .source = first, .friction = 0.01});
    p.discs.push_back({.first = first + 5, .rows = 1, .source = first, .friction = 0.005});
  }
  return p;
}

// Without friction.
Problem smooth(const Problem& rough, int rows) {
  Problem p;
  for (int i = 0; i < rough.rows(); i += rows) {
    p.q.push_back(rough.q[at(i)]);
    for (int j = 0; j < rough.rows(); j += rows) p.W.push_back(rough.W[at(i * rough.rows() + j)]);
  }
  return p;
}

struct Sparse {
  SparsePattern pattern;
  Vector values;
};

// W with the entries of all contacts of so many rows that have any, and the diagonal.
Sparse sparse(const Problem& p, int rows) {
  const auto n = at(p.rows()), m = at(rows);
  PatternBuilder builder(p.rows(), p.rows());
  for (std::size_t i = 0; i < n; i += m)
    for (std::size_t j = 0; j < n; j += m) {
      bool any = i == j;
      for (std::size_t k = 0; k < m * m; ++k) any = any || p.W[(i + k / m) * n + j + k % m] != 0;
      for (std::size_t k = 0; any && k < m * m; ++k)
        builder.add(static_cast<int>(i + k / m), static_cast<int>(j + k % m));
    }
  Sparse W{builder.build(), {}};
  for (int i = 0; i < W.pattern.rows; ++i)
    for (int k = W.pattern.row_start[at(i)]; k < W.pattern.row_start[at(i + 1)]; ++k)
      W.values.push_back(p.W[at(i) * n + at(W.pattern.column[at(k)])]);
  return W;
}

// Signorini's conditions and Coulomb's law themselves, without penalties.
void check_law(const Problem& p, const Vector& s, double tolerance) {
  const int n = p.rows();
  Vector c = p.q;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) c[at(i)] += p.W[at(i * n + j)] * s[at(j)];
  for (const ConeProblem::Disc& d : p.discs) {
    const double s_N = s[at(d.source)], c_N = c[at(d.source)], radius = d.friction * s_N;
    double size = 0, slip = 0, power = 0;
    for (int k = 0; k < d.rows; ++k) {
      size = std::hypot(size, s[at(d.first + k)]);
      slip = std::hypot(slip, c[at(d.first + k)]);
      power += s[at(d.first + k)] * c[at(d.first + k)];
    }
    CHECK(s_N >= 0);
    CHECK(c_N > -tolerance);
    CHECK(std::abs(s_N * c_N) < tolerance * (1 + s_N));
    CHECK(size <= radius * (1 + 1e-14));
    // -c_T is normal to the disc at s_T: the power is the least of all in the disc
    CHECK(std::abs(power + radius * slip) < tolerance * (1 + s_N) * (1 + d.friction));
  }
}

}  // namespace

TEST_CASE("cone problem: A and B are the derivatives of the law's residual") {
  Random random(3);
  ConeProblem cone;
  int slipping = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Problem p = random_contacts(random);
    // a disc that feeds on nothing, and one of one row
    p.discs.back().source = -1;
    p.discs.back().radius = random.between(0, 2);
    if (trial % 2 == 0) p.discs.front().rows = 1;
    const int n = p.rows();
    cone.set(n, p.discs);
    Vector s(at(n)), rho(at(n)), J(at(n * n)), other(at(n * n)), plus(at(n)), minus(at(n));
    for (double& x : s) x = 2 * random.normal();
    cone.linearise(p.W, p.q, s, rho, J);
    double scale = 0, error = 0;
    for (const double x : J) scale = std::max(scale, std::abs(x));
    for (int j = 0; j < n; ++j) {
      const double e = 1e-6;
      Vector moved = s;
      moved[at(j)] += e;
      cone.linearise(p.W, p.q, moved, plus, other);
      moved[at(j)] -= 2 * e;
      cone.linearise(p.W, p.q, moved, minus, other);
      double jump = 0;
      for (int i = 0; i < n; ++i) {
        const double D = (plus[at(i)] - minus[at(i)]) / (2 * e);
        // a state that changes within the difference has no derivative
        if (std::abs(plus[at(i)] - 2 * rho[at(i)] + minus[at(i)]) > 1e-8 * scale) {
          jump += 1;
          continue;
        }
        error = std::max(error, std::abs(D - J[at(i * n + j)]) / scale);
      }
      CHECK(jump < 3);
    }
    CHECK(error < 1e-7);
    for (const ConeProblem::Disc& d : p.discs) slipping += s[at(d.first)] != 0 ? 1 : 0;
  }
  CHECK(slipping > 100);
}

TEST_CASE("cone problem: one contact sticks, slips or is open as the closed form says") {
  ConeProblem cone;
  const std::vector<ConeProblem::Disc> discs = {{.first = 1, .rows = 2, .source = 0, .friction = 0.5}};
  cone.set(3, discs);
  const Vector W = {1, 0, 0, 0, 2, 0, 0, 0, 2};
  Vector s(3, 0.0);
  CHECK(cone.solve(W, Vector{-3, 1, 2}, 1e-13, s).solved);  // |s_T| = hypot(0.5, 1) < 1.5
  CHECK(s == Vector{3, -0.5, -1});
  CHECK(cone.solve(W, Vector{-1, 6, 8}, 1e-13, s).solved);  // slips along (0.6, 0.8)
  CHECK(s[0] == doctest::Approx(1).epsilon(1e-14));
  CHECK(s[1] == doctest::Approx(-0.3).epsilon(1e-14));
  CHECK(s[2] == doctest::Approx(-0.4).epsilon(1e-14));
  CHECK(cone.solve(W, Vector{0.1, 6, 8}, 1e-13, s).solved);
  CHECK(s == Vector{0, 0, 0});
}

TEST_CASE("cone problem: all random problems of 1 to 30 contacts are solved, most of them singular") {
  Random random(7);
  ConeProblem cone;
  int solved = 0, stages[ConeProblem::stages + 1] = {};
  const int count = 1500;
  for (int trial = 0; trial < count; ++trial) {
    const Problem p = random_contacts(random);
    cone.set(p.rows(), p.discs);
    Vector s(at(p.rows()), 0.0);
    const double scale = max_abs(p.q);
    const ConeProblem::Result result = cone.solve(p.W, p.q, 1e-10 * scale, s);
    if (!result.solved) continue;
    ++solved;
    ++stages[result.stage];
    check_law(p, s, 1e-7 * scale);
  }
  MESSAGE("stages: " << stages[1] << ", " << stages[2] << ", " << stages[3] << ", " << stages[4] << ", " << stages[5]);
  CHECK(solved == count);
}

TEST_CASE("cone problem: all random boxes and stacks are solved") {
  Random random(11);
  ConeProblem cone;
  int solved = 0, stages[ConeProblem::stages + 1] = {};
  const int count = 1000;
  for (int trial = 0; trial < count; ++trial) {
    const Problem p = boxes(random);
    cone.set(p.rows(), p.discs);
    Vector s(at(p.rows()), 0.0);
    const double scale = max_abs(p.q);
    const ConeProblem::Result result = cone.solve(p.W, p.q, 1e-10 * scale, s);
    if (!result.solved) continue;
    ++solved;
    ++stages[result.stage];
    check_law(p, s, 1e-7 * scale);
  }
  MESSAGE("stages: " << stages[1] << ", " << stages[2] << ", " << stages[3] << ", " << stages[4] << ", " << stages[5]);
  CHECK(solved == count);
}

TEST_CASE("cone problem: high stacks of boxes are solved as sparse matrices") {
  Random random(13);
  ConeProblem cone;
  int stages[ConeProblem::stages + 1] = {}, solved = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Problem p = boxes(random, 20);
    const Sparse W = sparse(p, 3);
    cone.set(p.rows(), p.discs, &W.pattern);
    Vector s(p.q.size(), 0.0);
    const double scale = max_abs(p.q);
    const ConeProblem::Result result = cone.solve(W.values, p.q, 1e-10 * scale, s);
    CHECK((result.solved || result.approximate));
    if (!result.solved) continue;
    ++solved;
    ++stages[result.stage];
    check_law(p, s, 1e-7 * scale);
  }
  MESSAGE("stages: " << stages[1] << ", " << stages[2] << ", " << stages[3] << ", " << stages[4] << ", " << stages[5]);
  CHECK(solved >= 59);
  CHECK(stages[3] > 10);
}

// Velocities of a pile have closed loops of spheres that stick, and rows by the hundred.
TEST_CASE("cone problem: piles of rough spheres are solved by splitting, with and without resistance to rolling") {
  Random random(19);
  ConeProblem cone;
  for (const bool rolling : {false, true}) {
    CAPTURE(rolling);
    int stages[ConeProblem::stages + 1] = {};
    for (int trial = 0; trial < 12; ++trial) {
      const Problem p = pile(random, 4, rolling);
      const Sparse W = sparse(p, rolling ? 6 : 3);
      REQUIRE(p.rows() > 300);
      cone.set(p.rows(), p.discs, &W.pattern);
      const double scale = max_abs(p.q);
      for (const double tolerance : {1e-4, 1e-10}) {
        CAPTURE(tolerance);
        Vector s(p.q.size(), 0.0);
        const ConeProblem::Result result = cone.solve(W.values, p.q, tolerance * scale, s);
        CHECK((result.solved || result.approximate));
        CHECK(cone.defect(W.values, p.q, s) <= 3 * tolerance * scale);
        if (result.solved) ++stages[result.stage];
        if (result.solved && tolerance < 1e-9) check_law(p, s, 1e-7 * scale);
      }
    }
    MESSAGE("stages: " << stages[1] << ", " << stages[3] << ", " << stages[5]);
    CHECK(stages[3] >= (rolling ? 10 : 20));
  }
}

// The multipliers are those of least norm where contacts are redundant, in stacks of boxes, and from any start.
TEST_CASE("cone problem: the projected Newton method solves piles and stacks without friction from any start") {
  Random random(23);
  ConeProblem cone;
  int most = 0, redundant = 0;
  for (int trial = 0; trial < 40; ++trial) {
    CAPTURE(trial);
    const Problem p = smooth(trial % 2 == 0 ? pile(random, 5, false) : boxes(random, 20), 3);
    const Sparse W = sparse(p, 1);
    cone.set(p.rows(), p.discs, &W.pattern, true);
    const double scale = max_abs(p.q);
    Vector zero(p.q.size(), 0.0), other(p.q.size());
    for (double& x : other) x = random.between(0, 10);
    for (Vector* const s : {&zero, &other}) {
      const bool linearised = s == &other && trial % 4 < 2;
      const ConeProblem::Result result = cone.solve(W.values, p.q, 1e-11 * scale, *s, linearised ? In(zero) : In());
      if (p.rows() <= 48 && !linearised) continue;  // other stages
      REQUIRE(result.solved);
      CHECK(result.stage == 1);
      most = std::max(most, result.iterations);
      for (int i = 0; i < p.rows(); ++i) {
        double c = p.q[at(i)];
        for (int j = 0; j < p.rows(); ++j) c += p.W[at(i * p.rows() + j)] * (*s)[at(j)];
        CHECK((*s)[at(i)] >= 0);
        CHECK(c >= -1e-11 * scale);
        CHECK(std::abs(c * (*s)[at(i)]) <= 1e-10 * scale * (1 + (*s)[at(i)]));
      }
    }
    if (p.rows() <= 48) continue;
    const Eigen::Map<const Matrix> D(p.W.data(), p.rows(), p.rows());
    std::vector<int> closed;
    for (int i = 0; i < p.rows(); ++i)
      if (zero[at(i)] > 0) closed.push_back(i);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(Eigen::MatrixXd(D(closed, closed)));
    redundant += !closed.empty() && spectrum.eigenvalues()[0] < 1e-10 * spectrum.eigenvalues().maxCoeff() ? 1 : 0;
    for (int i = 0; i < p.rows(); ++i) CHECK(other[at(i)] == doctest::Approx(zero[at(i)]).epsilon(1e-5).scale(1));
  }
  MESSAGE("factorisations: " << most << " at most; redundant: " << redundant);
  CHECK(most <= 20);
  CHECK(redundant >= 5);
}

TEST_CASE("cone problem: units of length, mass and time do not matter") {
  Random random(13);
  ConeProblem cone;
  for (int trial = 0; trial < 50; ++trial) {
    Problem p = random_contacts(random);
    cone.set(p.rows(), p.discs);
    Vector s(at(p.rows()), 0.0), other = s;
    const double tolerance = 1e-11 * max_abs(p.q);
    const auto result = cone.solve(p.W, p.q, tolerance, s);
    // powers of two round nothing
    for (double& x : p.W) x *= 0x1p-40;
    for (double& x : p.q) x *= 0x1p-20;
    const auto scaled = cone.solve(p.W, p.q, 0x1p-20 * tolerance, other);
    CHECK(result.iterations == scaled.iterations);
    for (std::size_t i = 0; i < s.size(); ++i) CHECK(other[i] == s[i] * 0x1p20);
  }
}

TEST_CASE("cone problem: redundant contacts of a box share their load alike, whatever the start is") {
  // a box on six points, pressed down a little aside and moved, with all points loaded
  Random random(19);
  ConeProblem cone;
  for (const double mu : {0.1, 0.3}) {
    const int points = 6;
    Matrix G = Matrix::Zero(3 * points, 6);
    for (int i = 0; i < points; ++i) {
      const double angle = 2 * M_PI * i / points + 0.2;
      const Vec3 at_i(std::cos(angle), std::sin(angle), -0.2);
      const Vec3 axes[3] = {Vec3::UnitZ(), Vec3::UnitX(), Vec3::UnitY()};
      for (int k = 0; k < 3; ++k) {
        G.block<1, 3>(3 * i + k, 0) = axes[k].transpose();
        G.block<1, 3>(3 * i + k, 3) = at_i.cross(axes[k]).transpose();
      }
    }
    Eigen::VectorXd mass(6), v(6);
    mass << 1, 1, 1, 0.3, 0.3, 0.5;
    v << 0.4, 0.1, -0.1, 0.005, -0.003, 0.3;
    const Problem p = contacts(G, mass, v, Vector(at(points), mu));
    cone.set(p.rows(), p.discs, nullptr, true);
    Vector first;
    for (int start = 0; start < 20; ++start) {
      Vector s(at(p.rows()), 0.0);
      for (double& x : s) x = start == 0 ? 0 : 0.1 * random.normal();
      REQUIRE(cone.solve(p.W, p.q, 1e-12, s).solved);
      check_law(p, s, 1e-11);
      if (start == 0) first = s;
      for (int row = 0; row < p.rows(); ++row) CHECK(std::abs(s[at(row)] - first[at(row)]) < 1e-3 * max_abs(first));
    }
    // of equal compliance: the loads lie in a plane
    Matrix plane(points, 3);
    Eigen::VectorXd load(points);
    for (int i = 0; i < points; ++i) {
      plane.row(i) << 1, G(3 * i, 3), G(3 * i, 4);
      load[i] = first[at(3 * i)];
      CHECK(load[i] > 0);
    }
    const Eigen::VectorXd rest = load - plane * plane.colPivHouseholderQr().solve(load);
    CHECK(rest.norm() < 1e-3 * load.norm());
  }
}

// Linearised rows of places: the rates of a motion but for an error of the second order, against which a body that
// sticks everywhere can do nothing.
TEST_CASE("cone problem: rows that contradict each other a little have an approximate solution without large forces") {
  Random random(23);
  ConeProblem cone;
  int approximate = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Problem p = boxes(random);
    for (ConeProblem::Disc& d : p.discs) d.friction += 0.5;
    cone.set(p.rows(), p.discs, nullptr, true);
    const double scale = max_abs(p.q);
    const Vector zero(at(p.rows()), 0.0);
    Vector exact = zero, s = zero;
    REQUIRE(cone.solve(p.W, p.q, 1e-10 * scale, exact).solved);
    for (double& x : p.q) x += 1e-6 * scale * random.normal();
    const double before = cone.defect(p.W, p.q, zero);
    const ConeProblem::Result result = cone.solve(p.W, p.q, 1e-10 * scale, s, zero);
    REQUIRE((result.solved || result.approximate));
    if (result.solved) continue;
    ++approximate;
    CHECK(result.defect == cone.defect(p.W, p.q, s));
    CHECK(result.defect < 0.1 * before);
    CHECK(max_abs(s) < 10 * max_abs(exact));
    for (const ConeProblem::Disc& d : p.discs)
      CHECK(std::hypot(s[at(d.first)], s[at(d.first + 1)]) <= d.friction * s[at(d.source)] * (1 + 1e-14));
  }
  CHECK(approximate > 20);
}

TEST_CASE("cone problem: a contact whose slip is prescribed has the friction of the slip, from any start") {
  // W_TT = 0, or what rounding leaves of it
  for (const double rest : {0.0, 1e-19, -3e-18})
    for (const double slip : {0.3, -2e-5})
      for (const double start : {0.0, 1.0, -1.0, 0.3}) {
        CAPTURE(rest);
        CAPTURE(slip);
        CAPTURE(start);
        ConeProblem cone;
        cone.set(3, std::vector<ConeProblem::Disc>{{1, 2, 0, 0.4, 0}});
        Vector W(9, rest);
        W[0] = 2;
        const Vector q = {-1, 0.6 * slip, 0.8 * slip};
        const double sign = slip > 0 ? 1 : -1;
        // the solution for start = 1
        Vector s = {std::abs(start) * 0.5, -0.12 * sign * start, -0.16 * sign * start};
        REQUIRE(cone.solve(W, q, 1e-11, s).solved);
        CHECK(s[0] == doctest::Approx(0.5).epsilon(1e-10));
        // defects are errors of s over the penalty, 1e4/W_NN
        const double bound = 1e-11 * 1e4 / W[0];
        CHECK(std::hypot(s[1] + 0.12 * sign, s[2] + 0.16 * sign) <= bound);
      }
}

TEST_CASE("cone problem: Painleve's rod, W_NN < mu |W_NT|, sticks") {
  // rod of length 2 at 65 degrees, mu = 2: the lower end approaches at rest along the floor
  const double c = std::cos(65 * M_PI / 180), s = std::sin(65 * M_PI / 180), mu = 2;
  const Vector W = {1 + 3 * c * c, -3 * s * c, 0, -3 * s * c, 1 + 3 * s * s, 0, 0, 0, 1};
  CHECK(W[0] < mu * std::abs(W[1]));
  ConeProblem cone;
  const std::vector<ConeProblem::Disc> discs = {{.first = 1, .rows = 2, .source = 0, .friction = mu}};
  cone.set(3, discs);
  Vector x(3, 0.0);
  CHECK(cone.solve(W, Vector{-0.01, -2, 0}, 1e-13, x).solved);
  CHECK(std::hypot(x[1], x[2]) <= mu * x[0]);
  CHECK(std::abs(W[3] * x[0] + W[4] * x[1] - 2) < 1e-12);
}

TEST_CASE("cone problem: discs and balls of fixed radius, alone and beside contacts") {
  Random random(17);
  ConeProblem cone;
  for (int k = 0; k < 200; ++k) {
    Problem p = random_contacts(random);
    const int contacts_rows = std::min(p.rows(), 3 * static_cast<int>(random.between(0, 4)));
    const int joints = 1 + static_cast<int>(random.between(0, 4)), most = contacts_rows + 3 * joints;
    const int m = 1 + static_cast<int>(random.between(0, most + 3));
    Matrix G(most, m);
    for (int i = 0; i < G.size(); ++i) G.data()[i] = random.normal();
    std::vector<ConeProblem::Disc> discs(p.discs.begin(), p.discs.begin() + contacts_rows / 3);
    int rows = contacts_rows;
    for (int j = 0; j < joints; ++j) {
      const int count = 1 + static_cast<int>(random.between(0, 3));
      discs.push_back({.first = rows, .rows = count, .radius = random.between(0, 1) < 0.2 ? 0 : random.between(0, 2)});
      rows += count;
    }
    const Matrix used = G.topRows(rows), W = used * used.transpose();
    const Eigen::VectorXd q = used * Eigen::VectorXd::NullaryExpr(m, [&] { return random.normal(); });
    p.W.assign(W.data(), W.data() + W.size());
    p.q.assign(q.data(), q.data() + q.size());
    cone.set(rows, discs);
    Vector s(p.q.size(), 0.0);
    REQUIRE(cone.solve(p.W, p.q, 1e-10, s).solved);
    p.discs.assign(discs.begin(), discs.begin() + contacts_rows / 3);
    for (const ConeProblem::Disc& d : discs) {
      if (d.source >= 0) continue;
      double size = 0, rate = 0, power = 0;
      for (int r = d.first; r < d.first + d.rows; ++r) {
        double c = p.q[at(r)];
        for (int j = 0; j < rows; ++j) c += p.W[at(r * rows + j)] * s[at(j)];
        size = std::hypot(size, s[at(r)]);
        rate = std::hypot(rate, c);
        power += s[at(r)] * c;
      }
      CHECK(size <= d.radius * (1 + 1e-12));
      // it sticks, or the friction is against the slip
      CHECK(std::min(rate, std::abs(power + d.radius * rate)) < 1e-8);
    }
  }
}
