#include "core/linear/linear_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/solver_matrices.hpp"

using namespace carom;
using namespace carom::solver_test;

TEST_CASE("linear solver: every method solves every kind of matrix it is given") {
  Random random;
  for (const Kind kind : {Kind::unsymmetric, Kind::symmetric, Kind::definite})
    for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 24, 25, 54, 130})
      for (const int shape : {0, 1, 2, 3}) {
        const Matrix m = shape == 0   ? full_matrix(n, kind, random)
                         : shape == 1 ? scattered_matrix(n, 3, kind, random)
                         : shape == 2 ? band_matrix(n, 1 + n % 9, kind, random)
                                      : band_matrix(n, 1, kind, random);
        for (const Method method : all_methods) {
          CAPTURE(n);
          CAPTURE(shape);
          CAPTURE(static_cast<int>(kind));
          CAPTURE(static_cast<int>(method));
          LinearSolver s = solver_for(m, properties_of(kind), method);
          // twice: KLU reuses its pivots the second time
          for (int repeat = 0; repeat < 2; ++repeat) {
            REQUIRE(s.factorise(m.values) == FactorStatus::ok);
            CHECK(s.suspicious_row() == -1);
            CHECK(s.reciprocal_condition() > 1e-8);
            CHECK(s.reciprocal_condition() <= 1);
            CHECK(residual(s, m, 3, random) < 1e-12);
          }
          CHECK(s.fill() >= n);
        }
      }
}

TEST_CASE("linear solver: dense LU survives matrices that need pivoting") {
  Random random;
  for (const int n : {2, 3, 4, 5, 6, 7, 12, 20, 24})
    for (int repeat = 0; repeat < 20; ++repeat) {
      PatternBuilder b(n, n);
      b.add_block(range(0, n), range(0, n));
      Matrix m = zero_matrix(b.build());
      m.each([&](int i, int j, double& v) { v = i == j ? 0.0 : random(); });
      if (n == 3 || n == 2) m(0, 1) = 1, m(1, 0) = 2;  // far from singular
      LinearSolver s = solver_for(m, as_unsymmetric);
      REQUIRE(s.factorise(m.values) == FactorStatus::ok);
      CHECK(residual(s, m, 1, random) < 1e-13);
      // the symmetric part too
      m.each([&](int i, int j, double& v) {
        if (j < i) v = m(j, i);
      });
      LinearSolver t = solver_for(m, as_symmetric);
      REQUIRE(t.factorise(m.values) == FactorStatus::ok);
      CHECK(residual(t, m, 1, random) < 1e-13);
    }
}

TEST_CASE("linear solver: saddle points with massless bodies") {
  Random random;
  for (const int bodies : {1, 2, 3, 5, 8, 40})
    for (const int has_massless_equation : {0, 1, 3})
      for (const bool stored : {false, true})
        for (const bool same : {false, true}) {
          const Matrix m = saddle_point(bodies, has_massless_equation, stored, same, random);
          for (const Method method :
               {Method::automatic, Method::dense, Method::klu, Method::umfpack, Method::cholmod}) {
            CAPTURE(bodies);
            CAPTURE(has_massless_equation);
            CAPTURE(stored);
            CAPTURE(same);
            CAPTURE(static_cast<int>(method));
            LinearSolver s = solver_for(m, same ? as_symmetric : as_unsymmetric, method);
            for (int repeat = 0; repeat < 2; ++repeat) {
              REQUIRE(s.factorise(m.values) == FactorStatus::ok);
              CHECK(residual(s, m, 2, random) < 1e-12);
            }
          }
        }
}

TEST_CASE("linear solver: an indefinite matrix given as positive definite is solved by another method") {
  Random random;
  struct Case {
    Matrix matrix;
    std::string first, then;
  };
  Case cases[] = {{band_matrix(100, 1, Kind::symmetric, random), "banded", "klu"},
                  {band_matrix(100, 4, Kind::symmetric, random), "banded", "klu"},
                  {full_matrix(20, Kind::symmetric, random), "dense", "dense"},
                  {grid_laplacian(8, false), "cholmod", "umfpack"}};
  for (Case& c : cases) {
    Matrix& m = c.matrix;
    CAPTURE(c.first);
    CAPTURE(m.pattern.rows);
    m(m.pattern.rows / 2, m.pattern.rows / 2) = -40;
    LinearSolver s = solver_for(m, as_definite);
    CHECK(s.method_name() == c.first);
    for (int k = 1; k <= 5; ++k) {
      REQUIRE(s.factorise(m.values) == FactorStatus::ok);
      CHECK(s.method_name() == c.then);
      CHECK(s.counters().fallbacks == k);
      CHECK(residual(s, m, 2, random) < 1e-12);
    }
    const LinearCounters& counters = s.counters();
    CHECK(counters.analyses == 2);
    // The chosen method is tried three times.
    CHECK(counters.factorisations == 8);
  }
}

TEST_CASE("linear solver: a method that fell back is tried again") {
  Random random;
  const Matrix good = band_matrix(100, 1, Kind::definite, random), bad = band_matrix(100, 1, Kind::symmetric, random);
  LinearSolver s = solver_for(good, as_definite);
  for (int k = 0; k < 5; ++k) {
    REQUIRE(s.factorise(bad.values) == FactorStatus::ok);
    CHECK(s.method_name() == "klu");
    REQUIRE(s.factorise(good.values) == FactorStatus::ok);
    CHECK(s.method_name() == "banded");
    CHECK(residual(s, good, 1, random) < 1e-13);
  }
}

TEST_CASE("linear solver: automatic follows the counts of the pattern") {
  Random random;
  const auto chosen = [](const Matrix& m, MatrixProperties p) { return solver_for(m, p).method_name(); };
  CHECK(chosen(full_matrix(6, Kind::definite, random), as_definite) == "dense");
  CHECK(chosen(full_matrix(24, Kind::unsymmetric, random), as_unsymmetric) == "dense");
  CHECK(chosen(full_matrix(54, Kind::unsymmetric, random), as_unsymmetric) == "dense");
  CHECK(chosen(band_matrix(200, 1, Kind::definite, random), as_definite) == "banded");
  CHECK(chosen(band_matrix(200, 8, Kind::definite, random), as_definite) == "banded");
  CHECK(chosen(band_matrix(200, 9, Kind::definite, random), as_definite) == "block_chain");
  CHECK(chosen(band_matrix(200, 1, Kind::symmetric, random), as_symmetric) == "klu");
  CHECK(chosen(block_chain(200, 6, Kind::unsymmetric, random), as_unsymmetric) == "block_chain");
  CHECK(chosen(block_chain(200, 6, Kind::definite, random), as_definite) == "block_chain");
  CHECK(chosen(block_chain(200, 2, Kind::unsymmetric, random), as_unsymmetric) == "klu");
  CHECK(chosen(saddle_point(4, 0, true, false, random), as_unsymmetric) == "block_chain");
  CHECK(chosen(scattered_matrix(200, 1, Kind::unsymmetric, random), as_unsymmetric) == "klu");
}

TEST_CASE("linear solver: solids go to CHOLMOD when symmetric positive definite, else to UMFPACK") {
  Random random;
  const Matrix spd = grid_laplacian(12, false), convective = grid_laplacian(12, true);
  LinearSolver s = solver_for(spd, as_definite);
  CHECK(s.method_name() == "cholmod");
  REQUIRE(s.factorise(spd.values) == FactorStatus::ok);
  CHECK(s.counters().fallbacks == 0);
  CHECK(residual(s, spd, 2, random) < 1e-13);
  LinearSolver t = solver_for(convective, as_unsymmetric);
  CHECK(t.method_name() == "umfpack");
  REQUIRE(t.factorise(convective.values) == FactorStatus::ok);
  CHECK(residual(t, convective, 2, random) < 1e-13);
  CHECK(t.fill() > s.fill());
}

TEST_CASE("linear solver: a shuffled chain becomes banded by reverse Cuthill-McKee") {
  Random random;
  for (const int width : {1, 2, 5}) {
    const int n = 150;
    Matrix straight = band_matrix(n, width, Kind::definite, random);
    std::vector<int> place = range(0, n);
    for (int i = n - 1; i > 0; --i) std::swap(place[at(i)], place[at(random.below(i + 1))]);
    PatternBuilder b(n, n);
    straight.each([&](int i, int j, double&) { b.add(place[at(i)], place[at(j)]); });
    Matrix m = zero_matrix(b.build());
    straight.each([&](int i, int j, double& v) { m(place[at(i)], place[at(j)]) = v; });
    LinearSolver s = solver_for(m, as_definite);
    CAPTURE(width);
    CHECK(s.method_name() == "banded");
    REQUIRE(s.factorise(m.values) == FactorStatus::ok);
    CHECK(residual(s, m, 3, random) < 1e-13);
    // The band is as narrow as the chain: w + 1 entries per row except in the corner.
    const int corner = width * (width + 1) / 2;
    CHECK(s.fill() == doctest::Approx(n * (width + 1) - corner));
    // indefinite values in the shuffled order
    m(place[70], place[70]) = -50;
    REQUIRE(s.factorise(m.values) == FactorStatus::ok);
    CHECK(s.method_name() == "klu");
    CHECK(residual(s, m, 1, random) < 1e-13);
  }
}

TEST_CASE("linear solver: KLU chooses new pivots when the old ones fail") {
  Random random;
  const int n = 60;
  const Matrix m = band_matrix(n, 2, Kind::unsymmetric, random);
  for (const double tiny : {1e-9, 1e-20, 0.0}) {
    LinearSolver s = solver_for(m, as_unsymmetric, Method::klu);
    REQUIRE(s.factorise(m.values) == FactorStatus::ok);
    REQUIRE(s.factorise(m.values) == FactorStatus::ok);
    CHECK(s.counters().refactorisations == 1);
    CHECK(s.counters().factorisations == 2);
    // The diagonal nearly vanishes, so neighbours become pivots.
    Matrix other = m;
    other.each([&](int i, int j, double& v) {
      if (i == j) v *= tiny;
      if (j == (i % 2 == 0 ? i + 1 : i - 1)) v = 20;
    });
    CAPTURE(tiny);
    REQUIRE(s.factorise(other.values) == FactorStatus::ok);
    CHECK(s.counters().refactorisations == 2);
    CHECK(s.counters().factorisations == 4);
    CHECK(residual(s, other, 2, random) < 1e-13);
    // The new pivots are kept too.
    REQUIRE(s.factorise(other.values) == FactorStatus::ok);
    CHECK(s.counters().factorisations == 5);
  }
}

TEST_CASE("linear solver: constraint rows that open and close keep the accuracy") {
  // A closed contact has the row [-G, 0], an open contact the row [0, 1].
  Random random;
  const int bodies = 12;
  const Matrix closed = saddle_point(bodies, 0, true, false, random);
  const int n = closed.pattern.rows;
  LinearSolver s = solver_for(closed, as_unsymmetric, Method::klu);
  LinearSolver t = solver_for(closed, as_unsymmetric);
  CHECK(t.method_name() == "block_chain");
  for (int step = 0; step < 50; ++step) {
    Matrix m = closed;
    for (int r = 6 * bodies; r < n; ++r) {
      if (random() > 0) continue;
      m.each([&](int i, int j, double& v) {
        if (i == r || j == r) v = i == j ? 1 : 0;
      });
    }
    for (LinearSolver* solver : {&s, &t}) {
      REQUIRE(solver->factorise(m.values) == FactorStatus::ok);
      CHECK(residual(*solver, m, 1, random) < 1e-12);
    }
  }
}

TEST_CASE("linear solver: a chain of blocks, with fixed ends, joints and closed loops, is solved block by block") {
  Random random;
  struct Joint {
    int a, b, rows;  // nodes (b = -1: ground), multipliers
  };
  struct Case {
    int nodes, dofs, fixed;   // fixed: missing unknowns of the first node
    std::vector<int> breaks;  // nodes without an element to the next node
    std::vector<Joint> joints;
  };
  const Case cases[] = {{9, 6, 0, {}, {}},
                        {9, 6, 3, {}, {}},
                        {201, 6, 0, {}, {{0, -1, 3}}},
                        {40, 6, 0, {}, {{0, -1, 5}, {39, -1, 2}, {20, -1, 1}}},
                        {22, 6, 0, {0, 20}, {{0, -1, 5}, {0, 1, 5}, {20, 21, 5}, {21, -1, 5}}},  // slider-crank
                        {40, 6, 0, {}, {{0, 39, 6}}},                                            // closed ring
                        {40, 6, 0, {}, {{0, 39, 3}, {5, 30, 3}, {0, -1, 3}}},
                        {12, 6, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {{3, 4, 6}, {4, 5, 5}}},
                        {30, 3, 1, {}, {{29, -1, 2}}},
                        {50, 9, 0, {}, {{49, -1, 3}}}};
  for (const Case& c : cases) {
    const int n = c.nodes * c.dofs - c.fixed;
    const auto dofs_of = [&](int node) {
      std::vector<int> list;
      for (int k = 0; node >= 0 && k < c.dofs; ++k)
        if (const int i = node * c.dofs + k - c.fixed; i >= 0) list.push_back(i);
      return list;
    };
    int multipliers = 0;
    for (const Joint& j : c.joints) multipliers += j.rows;
    PatternBuilder builder(n + multipliers, n + multipliers);
    for (int i = 0; i < n + multipliers; ++i) builder.add(i, i);
    for (int node = 0; node < c.nodes; ++node) {
      std::vector<int> local = dofs_of(node);
      builder.add_block(local, local);
      if (node + 1 == c.nodes || std::find(c.breaks.begin(), c.breaks.end(), node) != c.breaks.end()) continue;
      for (const int i : dofs_of(node + 1)) local.push_back(i);
      builder.add_block(local, local);
    }
    int row = n;
    for (const Joint& j : c.joints)
      for (int r = 0; r < j.rows; ++r, ++row)
        for (const int node : {j.a, j.b}) {
          const std::vector<int> local = dofs_of(node), self{row};
          builder.add_block(self, local);
          builder.add_block(local, self);
        }
    Matrix m = zero_matrix(builder.build());
    fill(m, Kind::unsymmetric, random);
    const double k = 1e6;  // multipliers in other units
    m.each([&](int i, int j, double& v) {
      if (i >= n && j >= n) v = 0;
      if ((i >= n) != (j >= n)) v *= k;
    });
    CAPTURE(n);
    CAPTURE(multipliers);
    LinearSolver chain = solver_for(m, as_unsymmetric, Method::block_chain),
                 general = solver_for(m, as_unsymmetric, Method::umfpack);
    REQUIRE(chain.method_name() == "block_chain");
    for (int repeat = 0; repeat < 2; ++repeat) {
      REQUIRE(chain.factorise(m.values) == FactorStatus::ok);
      CHECK(chain.counters().fallbacks == 0);
      CHECK(chain.reciprocal_condition() > 1e-8);
      CHECK(chain.reciprocal_condition() <= 1);
      CHECK(residual(chain, m, 2, random) < 1e-13);
    }
    REQUIRE(general.factorise(m.values) == FactorStatus::ok);
    std::vector<double> x(at(n + multipliers)), y;
    for (double& xi : x) xi = random();
    y = x;
    chain.solve(x);
    general.solve(y);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(x[i] - y[i]) < 1e-10 * (i < at(n) ? 1 : 1 / k));

    // a repeated constraint is singular, and so is a node without stiffness
    if (multipliers > 1) {
      Matrix twice = m;
      for (int j = 0; j < n; ++j)
        if (m.pattern.find(n, j) >= 0 && m.pattern.find(n + 1, j) >= 0) twice(n + 1, j) = m(n, j);
      if (c.joints[0].rows > 1) CHECK(chain.factorise(twice.values) == FactorStatus::singular);
    }
    Matrix loose = m;
    const int i = c.dofs * (c.nodes / 2);
    loose.each([&](int a, int b, double& v) {
      if (a == i || b == i) v = 0;
    });
    CHECK(chain.factorise(loose.values) == FactorStatus::singular);
    CHECK(chain.suspicious_row() == i);
    loose = m;
    loose(i, i) = std::numeric_limits<double>::quiet_NaN();
    CHECK(chain.factorise(loose.values) == FactorStatus::singular);
    CHECK(chain.suspicious_row() == i);
  }
}

TEST_CASE("linear solver: a chain that needs pivots of other blocks is given up, and taken again") {
  Random random;
  const Matrix good = block_chain(30, 6, Kind::unsymmetric, random);
  for (const double tiny : {0.0, 1e-20, 1e-9}) {
    // block 7 nearly vanishes; its coupling with block 8 keeps the matrix regular
    Matrix bad = good;
    bad.each([&](int i, int j, double& v) {
      if (i / 6 == 7 && j / 6 <= 7) v *= tiny;
      if ((i / 6 == 7 && j / 6 == 8) || (i / 6 == 8 && j / 6 == 7)) v = (i % 6 == j % 6 ? 40 : 0.1) + 0.1 * random();
    });
    CAPTURE(tiny);
    LinearSolver s = solver_for(good, as_unsymmetric);
    for (int k = 1; k <= 4; ++k) {
      REQUIRE(s.factorise(bad.values) == FactorStatus::ok);
      CHECK(s.method_name() == "klu");
      CHECK(s.counters().fallbacks == k);
      CHECK(residual(s, bad, 1, random) < 1e-13);
      REQUIRE(s.factorise(good.values) == FactorStatus::ok);
      CHECK(s.method_name() == "block_chain");
      CHECK(residual(s, good, 1, random) < 1e-13);
    }
  }
}

TEST_CASE("linear solver: counters count") {
  Random random;
  const Matrix m = block_chain(20, 6, Kind::unsymmetric, random);
  LinearSolver s = solver_for(m, as_unsymmetric, Method::klu);
  for (int k = 0; k < 4; ++k) REQUIRE(s.factorise(m.values) == FactorStatus::ok);
  std::vector<double> b(3 * at(m.pattern.rows), 1.0);
  s.solve(b, 3);
  s.solve(std::span(b).first(at(m.pattern.rows)));
  const LinearCounters& c = s.counters();
  CHECK(c.analyses == 1);
  CHECK(c.factorisations == 4);
  CHECK(c.refactorisations == 3);
  CHECK(c.solves == 4);
  CHECK(c.fallbacks == 0);
}

TEST_CASE("linear solver: another pattern may follow, also of other size and kind") {
  Random random;
  LinearSolver s;
  long analyses = 0;
  for (const int n : {40, 3, 0, 200, 1, 24}) {
    for (const Kind kind : {Kind::definite, Kind::unsymmetric, Kind::symmetric}) {
      const Matrix m = band_matrix(n, 2, kind, random);
      s.analyse(m.pattern, properties_of(kind));
      CHECK(s.counters().analyses == ++analyses);
      REQUIRE(s.factorise(m.values) == FactorStatus::ok);
      if (n) CHECK(residual(s, m, 2, random) < 1e-13);
    }
  }
}

TEST_CASE("linear solver: no unknowns, and one") {
  for (const Method method : all_methods)
    for (const MatrixProperties p : {as_unsymmetric, as_symmetric, as_definite}) {
      CAPTURE(static_cast<int>(method));
      LinearSolver s;
      s.set_method(method);
      s.analyse(SparsePattern{}, p);
      CHECK(s.factorise({}) == FactorStatus::ok);
      s.solve({}, 1);
      s.solve({}, 4);
      PatternBuilder b(1, 1);
      b.add(0, 0);
      s.analyse(b.build(), p);
      CHECK(s.factorise(std::vector<double>{4}) == FactorStatus::ok);
      std::vector<double> x{2, 6};
      s.solve(x, 2);
      CHECK(x == std::vector<double>{0.5, 1.5});
      CHECK(s.factorise(std::vector<double>{0}) == FactorStatus::singular);
      CHECK(s.suspicious_row() == 0);
    }
}

TEST_CASE("linear solver: the same input gives the same bits") {
  Random random;
  std::vector<std::pair<Matrix, MatrixProperties>> cases;
  cases.emplace_back(full_matrix(6, Kind::unsymmetric, random), as_unsymmetric);
  cases.emplace_back(full_matrix(20, Kind::symmetric, random), as_symmetric);
  cases.emplace_back(band_matrix(500, 1, Kind::definite, random), as_definite);
  cases.emplace_back(band_matrix(500, 5, Kind::definite, random), as_definite);
  cases.emplace_back(saddle_point(40, 3, true, false, random), as_unsymmetric);
  cases.emplace_back(block_chain(50, 6, Kind::unsymmetric, random), as_unsymmetric);
  cases.emplace_back(grid_laplacian(8, false), as_definite);
  cases.emplace_back(grid_laplacian(8, true), as_unsymmetric);
  for (const auto& [matrix, properties] : cases) {
    const Matrix& m = matrix;  // clang 14 captures no structured binding
    std::vector<std::vector<double>> results;
    for (int run = 0; run < 2; ++run) {
      LinearSolver s = solver_for(m, properties);
      for (int k = 0; k < 2; ++k) {
        REQUIRE(s.factorise(m.values) == FactorStatus::ok);
        std::vector<double> x(at(m.pattern.rows));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / static_cast<double>(i + 1);
        s.solve(x);
        s.solve(x);
        results.push_back(x);
      }
    }
    CAPTURE(m.pattern.rows);
    CHECK(results[0] == results[2]);
    CHECK(results[1] == results[3]);
  }
}

TEST_CASE("linear solver: one restored from a record goes on with the same bits, whatever happened before") {
  Random random;
  struct Case {
    Matrix matrix;
    MatrixProperties properties;
    Method method = Method::automatic;
  };
  Case cases[] = {{full_matrix(20, Kind::unsymmetric, random), as_unsymmetric, Method::automatic},
                  {full_matrix(20, Kind::symmetric, random), as_symmetric, Method::automatic},
                  {full_matrix(20, Kind::definite, random), as_definite, Method::automatic},
                  {band_matrix(100, 2, Kind::definite, random), as_definite, Method::banded},
                  {band_matrix(100, 2, Kind::unsymmetric, random), as_unsymmetric, Method::klu},
                  {saddle_point(12, 3, true, false, random), as_unsymmetric, Method::klu},
                  {block_chain(20, 6, Kind::unsymmetric, random), as_unsymmetric, Method::block_chain},
                  {saddle_point(12, 3, true, false, random), as_unsymmetric, Method::block_chain},
                  {saddle_point(12, 3, true, false, random), as_unsymmetric, Method::umfpack},
                  {grid_laplacian(6, true), as_unsymmetric, Method::umfpack},
                  {grid_laplacian(6, true), as_unsymmetric, Method::frontal},
                  {grid_laplacian(6, false), as_definite, Method::cholmod}};
  for (Case& c : cases) {
    CAPTURE(c.matrix.pattern.rows);
    CAPTURE(static_cast<int>(c.method));
    LinearSolver solver = solver_for(c.matrix, c.properties, c.method);
    std::vector<LinearSolver> copies;
    const int n = c.matrix.pattern.rows;
    // 0, 1: small changes; 2: other pivots; 3 to 6: indefinite, until the replacement stays; 7, 8: as at the beginning;
    // 9: singular; 10: not finite; 11: regular again
    for (int k = 0; k < 12; ++k) {
      CAPTURE(k);
      const auto values = [&](int step) {
        Matrix m = c.matrix;
        m.each([&](int i, int j, double& v) {
          const double sign = c.properties.symmetric ? i * j : i + 2 * j;
          v *= 1 + 1e-3 * std::sin(sign + step);
          if (step == 2 && i == j && !c.properties.symmetric && i % 2 == 0) v *= 1e-6;
          if (step >= 3 && step <= 6 && i == n / 2 && j == n / 2) v = -40;
          if (step == 9 && (i == 1 || j == 1)) v = 0;
          if (step == 10 && i == 1 && j == 1) v = std::numeric_limits<double>::infinity();
        });
        return m.values;
      };
      const auto solution = [&](LinearSolver& s) {
        std::vector<double> x(at(n));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / static_cast<double>(i + 1);
        s.solve(x);
        return x;
      };
      const std::vector<double> now = values(k);
      const FactorStatus status = solver.factorise(now);
      CHECK((status == FactorStatus::ok) == (k != 9 && k != 10));

      // solvers restored before this factorisation give the same result
      for (LinearSolver& copy : copies) {
        REQUIRE(copy.factorise(now) == status);
        CHECK(copy.method_name() == solver.method_name());
        CHECK(copy.counters().factorisations == solver.counters().factorisations);
        CHECK(copy.counters().fallbacks == solver.counters().fallbacks);
        CHECK(copy.counters().analyses == solver.counters().analyses);
        if (status == FactorStatus::ok) CHECK(solution(copy) == solution(solver));
      }

      // a solver that keeps its factors, and a solver that restores only the pivots
      NamedArrays record;
      solver.save(record, "a ");
      LinearSolver kept = solver_for(c.matrix, c.properties, c.method),
                   fresh = solver_for(c.matrix, c.properties, c.method);
      kept.restore(record, "a ", status == FactorStatus::ok ? std::span<const double>(now) : std::span<const double>());
      fresh.restore(record, "a ", {});
      if (status == FactorStatus::ok) {
        CHECK(solution(kept) == solution(solver));
        CHECK(kept.counters().solves == solver.counters().solves);
      }
      copies.clear();
      copies.push_back(std::move(kept));
      copies.push_back(std::move(fresh));
    }
  }
}

TEST_CASE("linear solver: several right-hand sides give the bits of one at a time") {
  Random random;
  for (const Matrix& m : {full_matrix(6, Kind::definite, random), band_matrix(80, 3, Kind::definite, random)}) {
    LinearSolver s = solver_for(m, as_definite);
    REQUIRE(s.factorise(m.values) == FactorStatus::ok);
    std::vector<double> b(5 * at(m.pattern.rows));
    for (double& x : b) x = random();
    std::vector<double> one = b;
    s.solve(b, 5);
    for (std::size_t c = 0; c < 5; ++c) s.solve(std::span(one).subspan(c * at(m.pattern.rows), at(m.pattern.rows)));
    CHECK(b == one);
  }
}

TEST_CASE("linear solver: it can be moved, and misuse is an exception") {
  Random random;
  const Matrix m = full_matrix(5, Kind::unsymmetric, random);
  LinearSolver s;
  CHECK_THROWS_AS(s.factorise(m.values), std::logic_error);
  CHECK_THROWS_AS(s.method_name(), std::logic_error);
  s.analyse(m.pattern, as_unsymmetric);
  std::vector<double> b(5, 1.0);
  CHECK_THROWS_AS(s.solve(b), std::logic_error);
  CHECK_THROWS_AS(s.factorise(std::vector<double>(3)), std::invalid_argument);
  REQUIRE(s.factorise(m.values) == FactorStatus::ok);
  CHECK_THROWS_AS(s.solve(b, 2), std::invalid_argument);
  PatternBuilder rectangular(2, 3);
  LinearSolver other;
  CHECK_THROWS_AS(other.analyse(rectangular.build(), as_unsymmetric), std::invalid_argument);
  LinearSolver moved = std::move(s);
  moved.solve(b);
  std::vector<double> ab(5);
  multiply(m.pattern, m.values, b, ab);
  for (const double x : ab) CHECK(x == doctest::Approx(1).epsilon(1e-13));
}
