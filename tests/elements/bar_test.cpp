#include "elements/beam/bar.hpp"

#include <doctest/doctest.h>

#include <Eigen/Eigenvalues>
#include <memory>

#include "core/mechanics/system.hpp"
#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using namespace carom::test;

int point(System& s, const Vec3& x) { return s.add_node(NodeKind::point, std::span(x.data(), 3), "p"); }

Vector internal_forces(const System& s, const Vector& q) {
  Vector f(at(s.size())), v(at(s.size()), 0.0);
  s.forces(q, v, 0, force_internal, f);
  return f;
}

Matrix mass_matrix(const System& s, MassKind kind = MassKind::consistent) {
  Matrix M(s.size(), s.size());
  for (int i = 0; i < s.size(); ++i) {
    Vector e(at(s.size()), 0.0), f(at(s.size()));
    e[at(i)] = 1;
    s.mass_times(s.initial_configuration(), e, f, kind);
    M.col(i) = column(f);
  }
  return M;
}

// A rod of n linear bars along an axis, its first node fixed.
void rod(System& s, int n, double length, double EA, double rho_A, int axis, MassKind mass, double direction) {
  std::vector<Bar> bars;
  int last = -1;
  for (int i = 0; i <= n; ++i) {
    const int p = point(s, direction * i * length / n * Vec3::Unit(axis));
    for (int c = 0; c < 3; ++c)
      if (c != axis || i == 0) s.fix(p, c);
    if (i > 0) bars.push_back({last, p, direction * length / n, EA, rho_A});
    last = p;
  }
  s.add(std::make_unique<LinearBarBlock>("rod", bars, axis, mass));
  s.finalize();
}

}  // namespace

TEST_CASE("linear bar: a stretch u gives EA u/L, also when it lies in the negative direction") {
  for (const double direction : {1.0, -1.0}) {
    System s;
    rod(s, 1, 2, 6, 1, 1, MassKind::consistent, direction);
    Vector q = s.initial_configuration();
    CHECK(largest(internal_forces(s, q)) == 0);
    q[4] += direction * 0.3;
    CHECK(internal_forces(s, q)[0] == doctest::Approx(-direction * 6 * 0.3 / 2));
    CHECK(s.energies(q, Vector(1, 0.0), 0).elastic == doctest::Approx(0.5 * 3 * 0.09));
    double axial = 0;
    s.elements()[0]->output("axial_force", {0, 1}, {q.data(), nullptr, 0}, &axial);
    CHECK(axial == doctest::Approx(0.9));
    // the node's equation is its second component
    CHECK(s.roundoff_force(0.1) == doctest::Approx(0.3));
  }
}

TEST_CASE("linear bar: consistent and lumped masses are those of a uniform rod") {
  System s;
  const int a = point(s, Vec3::Zero()), b = point(s, Vec3(2, 0, 0));
  for (int p : {a, b})
    for (int c = 1; c < 3; ++c) s.fix(p, c);
  s.add(std::make_unique<LinearBarBlock>("bar", std::vector<Bar>{{a, b, 2, 1, 3}}, 0, MassKind::consistent));
  s.finalize();
  Matrix consistent(2, 2), lumped(2, 2);
  consistent << 2, 1, 1, 2;
  lumped << 3, 0, 0, 3;
  CHECK(relative_error(mass_matrix(s), consistent) < 1e-15);
  CHECK(relative_error(mass_matrix(s, MassKind::lumped), lumped) < 1e-15);
}

// Waves in a uniform lattice: with theta = k h and c^2 = E/rho, (w h/c)^2 = 6 (1 - cos theta)/(2 + cos theta) for the
// consistent mass and 2 (1 - cos theta) for the lumped one; a free end allows k = (2 j - 1) pi/(2 L).
TEST_CASE("linear bar: a clamped rod vibrates with the frequencies of the discrete wave equation") {
  constexpr int n = 12;
  const double pi = std::acos(-1.0), length = 1.5, EA = 20, rho_A = 0.3, h = length / n;
  for (const MassKind kind : {MassKind::consistent, MassKind::lumped}) {
    System s;
    rod(s, n, length, EA, rho_A, 2, kind, 1);
    Linearisation request;
    request.c_K = 1;
    request.q = request.q_M = s.initial_configuration().data();
    const Matrix K = assembled(s, request);
    const ColumnVector squares = Eigen::GeneralizedSelfAdjointEigenSolver<Matrix>(K, mass_matrix(s)).eigenvalues();
    for (int j = 1; j <= n; ++j) {
      const double theta = (2 * j - 1) * pi / (2 * length) * h, c = std::cos(theta);
      const double expected =
          EA / rho_A / (h * h) * (kind == MassKind::consistent ? 6 * (1 - c) / (2 + c) : 2 * (1 - c));
      CHECK(squares[j - 1] == doctest::Approx(expected).epsilon(1e-10));
    }
  }
}

TEST_CASE("bar: the force is EA times the engineering strain along the deformed bar") {
  System s;
  const int a = point(s, Vec3::Zero()), b = point(s, Vec3(2, 0, 0));
  s.add(std::make_unique<BarBlock>("bar", std::vector<Bar>{{a, b, 2, 6, 1}}, MassKind::consistent));
  s.finalize();
  CHECK(largest(internal_forces(s, s.initial_configuration())) == 0);
  // rotated to the direction (2, 3, 6)/7 and stretched to 3.5
  const Vec3 n = Vec3(2, 3, 6) / 7, x(0.4, -1, 0.7), y = x + 3.5 * n;
  const Vector q = {x[0], x[1], x[2], y[0], y[1], y[2]}, f = internal_forces(s, q);
  const double N = 6 * 1.5 / 2;
  CHECK((Vec3(f.data()) - N * n).norm() < 1e-14);
  CHECK((Vec3(f.data() + 3) + N * n).norm() < 1e-14);
  double axial = 0;
  s.elements()[0]->output("axial_force", {0, 1}, {q.data(), nullptr, 0}, &axial);
  CHECK(axial == doctest::Approx(N));
  CHECK(s.energies(q, Vector(6, 0.0), 0).elastic == doctest::Approx(0.5 * 3 * 1.5 * 1.5));
}

TEST_CASE("bar: under tension it is a string with the lateral stiffness N/l, without it has none") {
  System s;
  const int a = point(s, Vec3::Zero()), b = point(s, Vec3(2, 0, 0));
  for (int c = 0; c < 3; ++c) s.fix(a, c);
  s.add(std::make_unique<BarBlock>("bar", std::vector<Bar>{{a, b, 2, 6, 1}}, MassKind::consistent));
  s.finalize();
  for (const double l : {2.0, 2.5, 1.2}) {
    const Vector q = {0, 0, 0, l, 0, 0};
    Linearisation request;
    request.c_K = 1;
    request.q = request.q_M = q.data();
    Vector values(at(s.saddle_pattern().nonzeros()));
    s.assemble(request, values);
    const auto entry = [&](int i) { return values[at(s.saddle_pattern().find(i, i))]; };
    CHECK(entry(0) == doctest::Approx(3));
    CHECK(entry(1) == doctest::Approx(6 * (l - 2) / 2 / l));
    CHECK(entry(2) == doctest::Approx(6 * (l - 2) / 2 / l));
  }
}

TEST_CASE("bar: a chain weighs what its bars weigh") {
  for (const MassKind kind : {MassKind::consistent, MassKind::lumped}) {
    System s;
    std::vector<Bar> bars;
    int last = point(s, Vec3::Zero());
    double mass = 0;
    for (int i = 0; i < 7; ++i) {
      const int next = point(s, Vec3(i + 1, 0, 0));
      bars.push_back({last, next, 0.5 + 0.1 * i, 1, 2.0 + i});
      mass += (0.5 + 0.1 * i) * (2.0 + i);
      last = next;
    }
    s.add(std::make_unique<BarBlock>("chain", bars, kind));
    s.finalize();
    // total mass in each direction: all nodes with unit velocity
    const Matrix M = mass_matrix(s);
    for (int c = 0; c < 3; ++c) {
      ColumnVector unit = ColumnVector::Zero(s.size());
      for (int i = c; i < s.size(); i += 3) unit[i] = 1;
      CHECK(unit.dot(M * unit) == doctest::Approx(mass).epsilon(1e-14));
    }
    if (kind == MassKind::lumped) CHECK(largest(Matrix(M - Matrix(M.diagonal().asDiagonal()))) == 0);
  }
}
