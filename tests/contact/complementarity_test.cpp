// The active set against enumeration: random linear complementarity problems
//
//   c = W s + b,   0 <= c  perp  s >= 0
//
// with few enough rows for a look at every set A: c_A = 0 gives s_A = -W_AA^{-1} b_A, and the one with s >= 0 and c >=
// 0 is the solution, unique for a positive definite W (Cottle, Pang, Stone, The Linear Complementarity Problem, 1992,
// theorem 3.3.7).
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contact/gap/obstacle.hpp"
#include "contact/gap/point_contact.hpp"
#include "contact/law/contact_set.hpp"
#include "core/mechanics/saddle_point.hpp"
#include "core/mechanics/system.hpp"
#include "elements/bodies/point_mass.hpp"
#include "elements/joints/spring_damper.hpp"
#include "tests/contract/differences.hpp"
#include "tests/support/beam_line.hpp"

using namespace carom;
using namespace carom::test;

namespace {

using Flags = std::vector<std::uint8_t>;

struct Problem {
  Matrix W;
  ColumnVector b;
  int size() const { return static_cast<int>(b.size()); }
};

struct Solution {
  ColumnVector s, c;
};

Matrix part(const Matrix& W, const std::vector<int>& rows) {
  Matrix result(rows.size(), rows.size());
  for (Eigen::Index i = 0; i < result.rows(); ++i)
    for (Eigen::Index j = 0; j < result.cols(); ++j)
      result(i, j) = W(rows[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(j)]);
  return result;
}

// s of a set: c_A = 0, s = 0 elsewhere; nothing where W_AA is singular.
std::optional<Solution> solution_of_set(const Problem& p, const std::vector<int>& rows) {
  Solution x{ColumnVector::Zero(p.size()), p.b};
  if (rows.empty()) return x;
  const Matrix W_AA = part(p.W, rows);
  const Eigen::FullPivLU<Matrix> lu(W_AA);
  if (lu.rcond() < 1e-10) return std::nullopt;
  ColumnVector b_A(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) b_A[static_cast<Eigen::Index>(k)] = p.b[rows[k]];
  const ColumnVector s_A = lu.solve(-b_A);
  for (std::size_t k = 0; k < rows.size(); ++k) x.s[rows[k]] = s_A[static_cast<Eigen::Index>(k)];
  x.c = p.W * x.s + p.b;
  return x;
}

// By a look at every set of the candidates. Rows that are no candidates have s = 0 and any c.
std::optional<Solution> enumerated(const Problem& p, double tolerance, const Flags* candidates = nullptr) {
  const auto candidate = [&](int i) { return candidates == nullptr || (*candidates)[at(i)] != 0; };
  for (unsigned set = 0; set < 1U << static_cast<unsigned>(p.size()); ++set) {
    std::vector<int> rows;
    bool allowed = true;
    for (int i = 0; i < p.size(); ++i)
      if ((set >> static_cast<unsigned>(i) & 1U) != 0) {
        allowed = allowed && candidate(i);
        rows.push_back(i);
      }
    if (!allowed) continue;
    auto x = solution_of_set(p, rows);
    if (!x || x->s.minCoeff() < -tolerance) continue;
    bool open = true;
    for (int i = 0; i < p.size(); ++i) open = open && (!candidate(i) || x->c[i] >= -tolerance);
    if (open) return x;
  }
  return std::nullopt;
}

struct Iterated {
  Solution x;
  bool converged = false;
  int iterations = 0;
  int most_pending = 0;  ///< rows that the careful rule held back, at most
};

// The semi-smooth Newton method as the sub-problems of a step do it: set, residual, correction.
// `guess`: values of c by which the first set is chosen.
Iterated iterated(const Problem& p, double penalty, const Flags* held = nullptr, const Flags* candidates = nullptr,
                  const Vector* guess = nullptr) {
  ContactSet set;
  set.resize(0, p.size());
  set.reset();
  if (candidates != nullptr) set.restrict_to(*candidates);
  Iterated result;
  Vector c(at(p.size()));
  const double scale = 1 + p.b.cwiseAbs().maxCoeff();
  for (; result.iterations < 50 + (1 << p.size()); ++result.iterations) {
    ColumnVector s = column(set.multipliers());
    ColumnVector::Map(c.data(), p.size()) = p.W * s + p.b;
    if (guess != nullptr && result.iterations == 0) c = *guess;
    const int changes = set.update(c, penalty, 1e-13 * scale, held);
    result.most_pending = std::max(result.most_pending, set.pending());
    s = column(set.multipliers());
    const ColumnVector value = p.W * s + p.b;
    std::vector<int> rows(set.active_rows().begin(), set.active_rows().end());
    double residual = 0;
    ColumnVector c_A(rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) {
      c_A[static_cast<Eigen::Index>(k)] = value[rows[k]];
      residual = std::max(residual, std::abs(value[rows[k]]));
    }
    if (changes == 0 && set.pending() == 0 && residual < 1e-10 * scale) {
      result.x = {s, value};
      result.converged = true;
      return result;
    }
    const ColumnVector ds = rows.empty() ? c_A : ColumnVector(part(p.W, rows).fullPivLu().solve(-c_A));
    set.add_increment(Vector(ds.data(), ds.data() + ds.size()));
  }
  return result;
}

Problem random_problem(Random& random, int n, double coupling) {
  Matrix root(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j) root(i, j) = (i == j ? 1 : coupling) * random.normal();
  Problem p{root * root.transpose() + 1e-3 * Matrix::Identity(n, n), ColumnVector(n)};
  for (Eigen::Index i = 0; i < n; ++i) p.b[i] = random.normal();
  return p;
}

}  // namespace

TEST_CASE("active set: it finds the solution that a look at every set finds, whatever penalty and rows held before") {
  Random random(1);
  int careful = 0, active = 0;
  for (int k = 0; k < 1500; ++k) {
    CAPTURE(k);
    const Problem p = random_problem(random, 1 + k % 8, k % 3 == 0 ? 0.3 : 3);
    const auto exact = enumerated(p, 1e-12);
    REQUIRE(exact);
    Flags held(at(p.size()));
    for (auto& h : held) h = random.sign() > 0 ? 1 : 0;
    for (const double penalty : {1e-3, 1.0, 1e3})
      for (const Flags* before : {static_cast<const Flags*>(nullptr), static_cast<const Flags*>(&held)}) {
        const Iterated found = iterated(p, penalty, before);
        REQUIRE(found.converged);
        CHECK(relative_error(Matrix(found.x.s), Matrix(exact->s), 1) < 1e-6);
        CHECK(relative_error(Matrix(found.x.c), Matrix(exact->c), 1) < 1e-6);
        careful += found.most_pending > 0 ? 1 : 0;
      }
    active += (exact->s.array() > 0).any() ? 1 : 0;
  }
  CHECK(active > 1000);
  // some of them cycle without the careful rule, and it holds rows back there
  CHECK(careful > 5);
}

TEST_CASE("active set: rows that are no candidates stay open, and the others solve the smaller problem") {
  Random random(2);
  for (int k = 0; k < 500; ++k) {
    CAPTURE(k);
    const Problem p = random_problem(random, 2 + k % 6, 2);
    Flags candidates(at(p.size()));
    for (auto& c : candidates) c = random.sign() > 0 ? 1 : 0;
    const auto exact = enumerated(p, 1e-12, &candidates);
    REQUIRE(exact);
    const Iterated found = iterated(p, 1, nullptr, &candidates);
    REQUIRE(found.converged);
    CHECK(relative_error(Matrix(found.x.s), Matrix(exact->s), 1) < 1e-6);
    for (int i = 0; i < p.size(); ++i)
      if (candidates[at(i)] == 0) CHECK(found.x.s[i] == 0);
  }
}

TEST_CASE("active set: a problem whose sets repeat themselves for ever is solved by the least-index rule") {
  // I. Ben Gharbia, J. C. Gilbert, Nonconvergence of the plain Newton-min algorithm for linear complementarity problems
  // with a P-matrix, Math. Program. 134 (2012) 349-364: with W = [1 0 alpha; alpha 1 0; 0 alpha 1], alpha > 1, and b =
  // 1 the sets {1}, {2}, {3} follow each other without end; the solution is s = 0.
  for (const double alpha : {1.1, 1.5, 1.9}) {
    CAPTURE(alpha);
    Problem p{Matrix(3, 3), ColumnVector::Ones(3)};
    p.W << 1, 0, alpha, alpha, 1, 0, 0, alpha, 1;
    const Vector first_row_closed = {-1, 1, 1};
    const Iterated found = iterated(p, 1, nullptr, nullptr, &first_row_closed);
    REQUIRE(found.converged);
    CHECK(found.most_pending > 0);
    CHECK(found.x.s == ColumnVector::Zero(3));
  }
}

TEST_CASE("active set: the careful rule counts every row that it holds back") {
  ContactSet set;
  set.resize(0, 4);
  set.reset();
  // all rows flicker until the rule sets in; then the first one changes and three wait
  int changed = 4;
  for (int i = 0; i < 40 && changed == 4; ++i) {
    CHECK(set.pending() == 0);
    changed = set.update(i % 2 == 0 ? Vector(4, -1.0) : Vector(4, 1.0), 1);
  }
  CHECK(changed == 1);
  CHECK(set.pending() == 3);
  const std::uint8_t first = set.flags()[0];
  // each further update lets one more change, until none waits
  const Vector wanted(4, first != 0 ? -1.0 : 1.0);
  for (int waiting = 2; waiting >= 0; --waiting) {
    CHECK(set.update(wanted, 1) == 1);
    CHECK(set.pending() == waiting);
  }
  CHECK(set.update(wanted, 1) == 0);
  CHECK(set.pending() == 0);
}

namespace {

// Point masses on springs, each between planes drawn at random that leave a common point free; some planes twice, and
// more of them than a point has directions, so that active rows are redundant.
struct PlaneModel {
  PlaneModel(Random& random, int points, int planes) {
    std::vector<PointMass> masses;
    std::vector<SpringDamper> springs;
    for (int i = 0; i < points; ++i) {
      const Vec3 x = random.in_box(1);
      masses.push_back({.node = system.add_node(NodeKind::point, std::span(x.data(), 3), "p" + std::to_string(i)),
                        .mass = random.between(0.5, 2)});
      if (i > 0) springs.push_back({.node_a = masses[at(i - 1)].node, .node_b = masses[at(i)].node, .stiffness = 50});
      for (int k = 0; k < planes; ++k)
        if (k == 0 || k != planes - 1)
          normals.push_back(random.direction());
        else
          normals.push_back(normals.back());  // the same plane twice
      for (int k = 0; k < planes; ++k)
        system.add(std::make_unique<PointContactBlock>(
            "planes", std::vector<ContactPoint>{{"p", masses.back().node}},
            make_plane(x, normals[normals.size() - static_cast<std::size_t>(planes) + at(k)]), nullptr, false));
    }
    system.add(std::make_unique<PointMassBlock>("masses", masses));
    if (!springs.empty()) system.add(std::make_unique<SpringDamperBlock>("springs", springs));
    system.finalize();
  }

  System system;
  std::vector<Vec3> normals;  // per row
};

}  // namespace

TEST_CASE(
    "active set: with the saddle point it solves redundant contacts of coupled bodies as a look at every set does") {
  // S x - G^T s = f,   c = G x + d,   0 <= c perp s >= 0: the multipliers of redundant rows are not unique, x is
  Random random(3);
  int redundant = 0;
  for (int k = 0; k < 120; ++k) {
    CAPTURE(k);
    const PlaneModel model(random, 1 + k % 3, 4);
    const System& system = model.system;
    const Vector q = system.initial_configuration(), zero(at(system.size()), 0.0);
    const int n = system.size(), rows = system.rows();
    Linearisation request;
    request.c_M = 1;
    request.c_K = 0.01;
    request.q_M = request.q = q.data();
    request.v = zero.data();
    const Matrix S = dense_matrix(system, q, 0, request.c_M, request.c_K);
    Matrix G = Matrix::Zero(rows, n);
    for (int i = 0; i < rows; ++i) {
      SparseRow row;
      system.row_gradient(i, q, 0, nullptr, row);
      for (std::size_t j = 0; j < row.equation.size(); ++j) G(i, row.equation[j]) = row.value[j];
    }
    // d so that some x is allowed, on the boundary of some rows or inside
    const ColumnVector inside = column(random.normals(n)), f = 3 * column(random.normals(n));
    ColumnVector d = -G * inside;
    for (int i = 0; i < rows; ++i)
      if (i + 1 < rows && model.normals[at(i)] == model.normals[at(i + 1)]) {
        d[i + 1] = d[i];
      } else if (random.sign() > 0) {
        d[i] += std::abs(random.normal());
      }
    const Matrix S_inverse = S.inverse();
    const Problem p{G * S_inverse * G.transpose(), G * S_inverse * f + d};
    const auto exact = enumerated(p, 1e-9);
    REQUIRE(exact);
    const ColumnVector x_exact = S_inverse * (f + G.transpose() * exact->s);

    SaddlePoint saddle;
    saddle.analyse(system, {true, true});
    REQUIRE(saddle.factorise(request));
    ContactSet set;
    set.resize(0, rows);
    set.reset();
    Vector x(at(n), 0.0), c(at(rows)), r(at(n)), dx(at(n)), none;
    bool converged = false;
    for (int iteration = 0; iteration < 60 && !converged; ++iteration) {
      ColumnVector::Map(c.data(), rows) = G * column(x) + d;
      const int changes = set.update(c, 1, 1e-12);
      const auto active = set.active_rows();
      Vector c_A(active.size()), dl(active.size());
      for (std::size_t a = 0; a < active.size(); ++a) c_A[a] = c[at(active[a])];
      ColumnVector::Map(r.data(), n) = S * column(x) - f - G.transpose() * column(set.multipliers());
      converged = changes == 0 && set.pending() == 0 && largest(r) < 1e-9 && largest(c_A) < 1e-9;
      if (converged) break;
      saddle.set_active(active, q, 0, nullptr);
      REQUIRE(saddle.solve(r, {}, c_A, dx, {}, dl));
      redundant += saddle.regularised() ? 1 : 0;
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += dx[i];
      set.add_increment(dl);
    }
    REQUIRE(converged);
    CHECK(relative_error(column(x), Matrix(x_exact), 1) < 1e-7);
    for (const double s : set.multipliers()) CHECK(s >= -1e-9);
  }
  CHECK(redundant > 20);
}
