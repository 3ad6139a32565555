#include "core/linear/delassus.hpp"

#include <Eigen/Dense>
#include <algorithm>

#include "tests/core/solver_matrices.hpp"

using namespace carom;
using namespace carom::solver_test;

namespace {

// B x - F^T l = b, G x = -c with B block diagonal, and its solution by dense matrices.
struct Problem {
  std::vector<int> first{0};  // equations of the blocks of B
  SparsePattern pattern;
  std::vector<double> values;
  Eigen::MatrixXd B;
  std::vector<CondensedRow> rows;
  Random random;

  explicit Problem(const std::vector<int>& sizes, bool symmetric = true) {
    for (const int size : sizes) first.push_back(first.back() + size);
    PatternBuilder builder(first.back(), first.back());
    B = Eigen::MatrixXd::Zero(first.back(), first.back());
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      std::vector<int> all;
      for (int i = first[k]; i < first[k + 1]; ++i) all.push_back(i);
      builder.add_block(all, all);
      for (const int i : all)
        for (const int j : all) B(i, j) = (i == j ? 3 * sizes[k] : 0) + random();
    }
    if (symmetric) B = (0.5 * (B + B.transpose())).eval();
    pattern = builder.build();
    for (int i = 0; i < pattern.rows; ++i)
      for (int k = pattern.row_start[at(i)]; k < pattern.row_start[at(i + 1)]; ++k)
        values.push_back(B(i, pattern.column[at(k)]));
  }

  // A row on up to three equations of each block.
  void add_row(std::initializer_list<int> blocks, bool reacts_along_itself = true) {
    CondensedRow row;
    for (const int b : blocks)
      for (int e = first[at(b)]; e < first[at(b + 1)] && e < first[at(b)] + 3; ++e) {
        row.G.equation.push_back(e);
        row.G.value.push_back(random());
      }
    row.F = row.G;
    if (!reacts_along_itself)
      for (double& x : row.F.value) x += 0.1 * random();
    rows.push_back(row);
  }
  void repeat_row(std::size_t row) { rows.push_back(CondensedRow(rows[row])); }

  std::vector<CondensedRow*> pointers() {
    std::vector<CondensedRow*> all;
    for (CondensedRow& row : rows) all.push_back(&row);
    return all;
  }
  Eigen::MatrixXd dense(SparseRow CondensedRow::*part) const {
    Eigen::MatrixXd A = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(rows.size()), B.rows());
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t k = 0; k < (rows[r].*part).equation.size(); ++k)
        A(static_cast<Eigen::Index>(r), (rows[r].*part).equation[k]) += (rows[r].*part).value[k];
    return A;
  }
};

struct Solution {
  Eigen::VectorXd x, l;
  int solves = 0;
  bool regularised = false;
};

Solution condensed(Problem& p, Delassus& delassus, const Eigen::VectorXd& b, const Eigen::VectorXd& c) {
  LinearSolver solver;
  solver.analyse(p.pattern, {});
  REQUIRE(solver.factorise(p.values) == FactorStatus::ok);
  Solution s;
  const auto rows = p.pointers();
  REQUIRE(delassus.find_columns(rows, [&](Vector& x) {
    solver.solve(x);
    ++s.solves;
    return true;
  }));
  REQUIRE(delassus.factorise(rows));
  s.regularised = delassus.regularised();
  Vector x(b.data(), b.data() + b.size());
  solver.solve(x);
  s.x = Eigen::VectorXd::Map(x.data(), b.size());
  s.l = -c - p.dense(&CondensedRow::G) * s.x;
  Vector l(s.l.data(), s.l.data() + s.l.size());
  delassus.solve(l);
  s.l = Eigen::VectorXd::Map(l.data(), s.l.size());
  for (std::size_t r = 0; r < rows.size(); ++r) delassus.add_column(*rows[r], l[r], x);
  s.x = Eigen::VectorXd::Map(x.data(), b.size());
  return s;
}

// The dense saddle point; redundant rows: multipliers of least norm over the roots of the diagonal of D.
Solution direct(const Problem& p, const Eigen::VectorXd& b, const Eigen::VectorXd& c) {
  const Eigen::MatrixXd G = p.dense(&CondensedRow::G), F = p.dense(&CondensedRow::F);
  const Eigen::MatrixXd columns = p.B.partialPivLu().solve(F.transpose()), D = G * columns;
  const Eigen::VectorXd scale = D.diagonal().cwiseAbs().cwiseSqrt().cwiseInverse();
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> factor;
  factor.setThreshold(1e-10);
  factor.compute(scale.asDiagonal() * D * scale.asDiagonal());
  Solution s;
  const Eigen::VectorXd free = p.B.partialPivLu().solve(b);
  s.l = scale.asDiagonal() * factor.solve(scale.asDiagonal() * (-c - G * free));
  s.x = free + columns * s.l;
  return s;
}

Eigen::VectorXd random_entries(Eigen::Index n, Random& random) {
  Eigen::VectorXd x(n);
  for (double& e : x) e = random();
  return x;
}

// Forces without effect are free where rows are redundant; `free` bounds what the multipliers have of them.
void check_against_direct(Problem& p, Delassus& delassus, double tolerance, double free = 0) {
  const Eigen::VectorXd b = random_entries(p.B.rows(), p.random);
  // values of the rows that can hold: those of some x
  const Eigen::VectorXd c = p.dense(&CondensedRow::G) * random_entries(p.B.rows(), p.random);
  const Solution expected = direct(p, b, c), found = condensed(p, delassus, b, c);
  CHECK((found.x - expected.x).lpNorm<Eigen::Infinity>() < tolerance * expected.x.lpNorm<Eigen::Infinity>());
  CHECK((found.l - expected.l).lpNorm<Eigen::Infinity>() <
        std::max(tolerance, free) * expected.l.lpNorm<Eigen::Infinity>());
  // the saddle point itself
  const Eigen::VectorXd force = p.B * found.x - p.dense(&CondensedRow::F).transpose() * found.l - b;
  CHECK(force.lpNorm<Eigen::Infinity>() < tolerance * (1 + found.l.lpNorm<Eigen::Infinity>()));
  CHECK((p.dense(&CondensedRow::G) * found.x + c).lpNorm<Eigen::Infinity>() < tolerance);
}

}  // namespace

TEST_CASE("components: the connected parts of a matrix, numbered by their first equations") {
  // 0 - 2 - 5, 1, 3 - 4
  PatternBuilder builder(6, 6);
  for (int i = 0; i < 6; ++i) builder.add(i, i);
  builder.add(5, 2);
  builder.add(2, 0);
  builder.add(3, 4);
  const Components components(builder.build());
  REQUIRE(components.count() == 3);
  const std::vector<std::vector<int>> expected{{0, 2, 5}, {1}, {3, 4}};
  for (int c = 0; c < 3; ++c) {
    const auto equations = components.equations(c);
    CHECK(std::vector<int>(equations.begin(), equations.end()) == expected[at(c)]);
    for (const int e : equations) {
      CHECK(components.of(e) == c);
      CHECK(equations[components.place(e)] == e);
    }
  }
}

TEST_CASE("delassus: islands give the solution of the whole saddle point") {
  for (const bool symmetric : {true, false}) {
    CAPTURE(symmetric);
    Problem p({6, 6, 3, 10, 6, 3}, symmetric);
    p.add_row({0}, symmetric);
    p.add_row({2, 4}, symmetric);
    p.add_row({0, 1}, symmetric);
    p.add_row({3}, symmetric);
    p.add_row({4}, symmetric);
    p.add_row({1}, symmetric);
    Delassus delassus;
    delassus.analyse(p.pattern, 0);
    check_against_direct(p, delassus, 1e-12);
    CHECK(delassus.islands() == 3);  // blocks 0 and 1; 2 and 4; 3
    CHECK(!delassus.regularised());
  }
}

TEST_CASE("delassus: rows of different components share solves") {
  Problem p(std::vector<int>(50, 6));
  for (int k = 0; k < 50; ++k)
    for (int i = 0; i < 3; ++i) p.add_row({k});
  Delassus delassus;
  delassus.analyse(p.pattern, 0);
  const Eigen::VectorXd b = random_entries(p.B.rows(), p.random), c = random_entries(150, p.random);
  CHECK(condensed(p, delassus, b, c).solves == 3);
  CHECK(delassus.islands() == 50);
}

TEST_CASE("delassus: an island has the same bits alone and beside others") {
  Problem alone({6, 6}), both({6, 6, 6});
  for (Problem* p : {&alone, &both}) {
    p->random = {};
    p->add_row({0, 1});
    p->add_row({1});
  }
  both.add_row({2});
  both.B.topLeftCorner(12, 12) = alone.B;
  std::copy(alone.values.begin(), alone.values.end(), both.values.begin());
  Eigen::VectorXd b = random_entries(18, both.random), c = random_entries(3, both.random);
  Delassus first, second;
  first.analyse(alone.pattern, 0);
  second.analyse(both.pattern, 0);
  const Solution one = condensed(alone, first, b.head(12), c.head(2)), two = condensed(both, second, b, c);
  CHECK(one.x == two.x.head(12));
  CHECK(one.l == two.l.head(2));
}

TEST_CASE("delassus: redundant rows of an island get multipliers of least norm, beside regular islands") {
  Problem p({6, 3, 6});
  p.add_row({0});
  p.add_row({1});
  p.repeat_row(0);
  p.add_row({2});
  p.repeat_row(1);
  Delassus delassus;
  delassus.analyse(p.pattern, 0);
  check_against_direct(p, delassus, 1e-7);
  CHECK(delassus.regularised());
  p.rows.erase(p.rows.begin() + 4);
  p.rows.erase(p.rows.begin() + 2);
  check_against_direct(p, delassus, 1e-12);
  CHECK(!delassus.regularised());
}

TEST_CASE("delassus: rows of bodies of very different mass are no redundant rows") {
  // the mass of the second component is 1e12 times as large; the rows of both form one island
  Problem p({3, 3});
  p.B.bottomRightCorner(3, 3) *= 1e12;
  for (std::size_t k = 9; k < 18; ++k) p.values[k] *= 1e12;
  p.add_row({0});
  p.add_row({0, 1});
  p.add_row({1});
  Delassus delassus;
  delassus.analyse(p.pattern, 0);
  check_against_direct(p, delassus, 1e-8);  // entries up to 1e6 in the scaled rows
  CHECK(delassus.islands() == 1);
  CHECK(!delassus.regularised());
}

TEST_CASE("delassus: a component with very many rows") {
  // 100 rows of 5 equations: redundant, and more columns than the component has equations
  Problem p({5, 3});
  for (int k = 0; k < 100; ++k) p.add_row({0});
  p.add_row({1});
  Delassus delassus;
  delassus.analyse(p.pattern, 0);
  const Eigen::VectorXd b = random_entries(8, p.random);
  const Eigen::VectorXd c = p.dense(&CondensedRow::G) * random_entries(8, p.random);
  CHECK(condensed(p, delassus, b, c).solves == 5);
  // in the multipliers, rounding of D, whose norm is at most 100, over the regularisation
  check_against_direct(p, delassus, 1e-8, 100 * 2.2e-16 / 1e-8);
}

TEST_CASE("delassus: large islands are solved as sparse matrices") {
  for (const bool symmetric : {true, false})
    for (const bool redundant : {false, true}) {
      CAPTURE(symmetric);
      CAPTURE(redundant);
      // a chain of bodies, each held to the next by two rows; 200 rows
      Problem p(std::vector<int>(101, 6), symmetric);
      for (int k = 0; k < 100; ++k)
        for (int i = 0; i < 2; ++i) p.add_row({k, k + 1}, symmetric);
      if (redundant)
        for (const std::size_t row : {3U, 57U}) p.repeat_row(row);
      Delassus delassus;
      delassus.analyse(p.pattern, 0);
      check_against_direct(p, delassus, redundant ? 1e-6 : 1e-11);
      CHECK(delassus.islands() == 1);
      CHECK(delassus.regularised() == redundant);

      // the same rows give the same bits, whatever was solved before
      const Eigen::VectorXd b = random_entries(p.B.rows(), p.random);
      const Eigen::VectorXd c = random_entries(static_cast<Eigen::Index>(p.rows.size()), p.random);
      const Solution again = condensed(p, delassus, b, c);
      Delassus other;
      other.analyse(p.pattern, 0);
      const Solution fresh = condensed(p, other, b, c);
      CHECK(again.x == fresh.x);
      CHECK(again.l == fresh.l);
    }
}

TEST_CASE("delassus: sweeps find the rows that carry, in islands and with redundant rows") {
  Problem p(std::vector<int>(40, 6));
  for (int k = 0; k < 40; ++k) p.add_row({k});
  for (int k = 1; k < 40; ++k)
    if (k != 20) p.add_row({k - 1, k});  // two islands
  p.repeat_row(3);
  const auto rows = p.pointers();
  LinearSolver solver;
  solver.analyse(p.pattern, {});
  REQUIRE(solver.factorise(p.values) == FactorStatus::ok);
  Delassus delassus;
  delassus.analyse(p.pattern, rows.size());
  REQUIRE(delassus.find_columns(rows, [&](Vector& x) {
    solver.solve(x);
    return true;
  }));
  const Eigen::MatrixXd G = p.dense(&CondensedRow::G), D = G * p.B.partialPivLu().solve(G.transpose());
  Eigen::VectorXd b = random_entries(D.rows(), p.random);
  b[D.rows() - 1] = b[3];
  const auto misses = [&](const Vector& found) {
    const Eigen::VectorXd l = Eigen::VectorXd::Map(found.data(), b.size()).cwiseMax(0), w = D * l - b;
    // rows that open are told apart from those that touch without a force
    for (Eigen::Index i = 0; i < b.size(); ++i)
      CHECK((found[at(static_cast<int>(i))] < 0) == (l[i] == 0 && w[i] > 1e-5 * b.lpNorm<Eigen::Infinity>()));
    // l and w in one unit
    return D.diagonal().cwiseProduct(l).cwiseMin(w).lpNorm<Eigen::Infinity>();
  };
  Vector l(rows.size(), 0.0);
  delassus.sweep(rows, Vector(b.data(), b.data() + b.size()), l);
  CHECK(delassus.islands() == 2);
  CHECK(misses(l) < 1e-6);
  long carrying = std::count_if(l.begin(), l.end(), [](double x) { return x > 0; });
  CHECK(carrying > 10);
  CHECK(carrying < 70);
  // the solution is a place to stay, whatever the start
  Vector other(rows.size(), 5.0);
  delassus.sweep(rows, Vector(b.data(), b.data() + b.size()), other);
  CHECK(misses(other) < 1e-6);
}
