// Matrices that are singular, or nearly look like it: what the linear solver says of them, and how it goes on.

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/core/solver_matrices.hpp"

using namespace carom;
using namespace carom::solver_test;

TEST_CASE("linear solver: badly scaled rows and multipliers are not taken for singular") {
  Random random;
  for (const double mass : {1e-9, 1e12}) {
    Matrix m = saddle_point(3, 0, true, false, random);
    m.each([&](int i, int j, double& v) {
      if (i < 18 && j < 18) v *= mass;
    });
    for (const Method method : {Method::dense, Method::klu, Method::umfpack}) {
      CAPTURE(static_cast<int>(method));
      LinearSolver s = solver_for(m, as_unsymmetric, method);
      CHECK(s.factorise(m.values) == FactorStatus::ok);
      CHECK(s.reciprocal_condition() > 1e-11);
    }
  }
}

TEST_CASE("linear solver: a redundant constraint is singular and named") {
  Random random;
  for (const int bodies : {2, 20}) {
    Matrix m = saddle_point(bodies, 0, true, false, random);
    // The last constraint repeats the one before it, in rows and columns.
    const int last = m.pattern.rows - 1;
    for (int j = 0; j < 6 * bodies; ++j) {
      if (m.pattern.find(last, j) < 0) continue;
      m(last, j) = 0.5 * m(last - 1, j);
      m(j, last) = 0.5 * m(j, last - 1);
    }
    for (const Method method : {Method::automatic, Method::dense, Method::klu, Method::umfpack}) {
      CAPTURE(bodies);
      CAPTURE(static_cast<int>(method));
      LinearSolver s = solver_for(m, as_unsymmetric, method);
      REQUIRE(s.factorise(m.values) == FactorStatus::singular);
      CHECK(s.reciprocal_condition() < 1e-13);
      CHECK((s.suspicious_row() == last || s.suspicious_row() == last - 1));
      std::vector<double> b(at(m.pattern.rows), 1.0);
      CHECK_THROWS_AS(s.solve(b), std::logic_error);
      // Values that are regular again are taken by the same object.
      Matrix good = m;
      good(last, last) = 1;
      REQUIRE(s.factorise(good.values) == FactorStatus::ok);
      CHECK(s.suspicious_row() == -1);
      CHECK(residual(s, good, 1, random) < 1e-12);
      // And the other way round, with pivots kept from the regular ones.
      CHECK(s.factorise(m.values) == FactorStatus::singular);
      CHECK(s.factorise(good.values) == FactorStatus::ok);
    }
  }
}

TEST_CASE("linear solver: zero rows, zero columns and structural deficiency are singular") {
  Random random;
  for (const Method method : all_methods)
    for (const Kind kind : {Kind::unsymmetric, Kind::symmetric, Kind::definite})
      for (const int n : {1, 6, 9, 40}) {
        CAPTURE(n);
        CAPTURE(static_cast<int>(method));
        CAPTURE(static_cast<int>(kind));
        Matrix m = band_matrix(n, 2, kind, random);
        const int zero = n / 2;
        m.each([&](int i, int j, double& v) {
          if (i == zero || j == zero) v = 0;
        });
        LinearSolver s = solver_for(m, properties_of(kind), method);
        CHECK(s.factorise(m.values) == FactorStatus::singular);
        CHECK(s.suspicious_row() == zero);
        // No values anywhere.
        std::fill(m.values.begin(), m.values.end(), 0.0);
        CHECK(s.factorise(m.values) == FactorStatus::singular);
        // A row and column the pattern does not have.
        PatternBuilder b(n, n);
        for (int i = 0; i < n; ++i)
          if (i != zero) b.add(i, i);
        Matrix hollow = zero_matrix(b.build());
        std::fill(hollow.values.begin(), hollow.values.end(), 1.0);
        LinearSolver t = solver_for(hollow, properties_of(kind), method);
        CHECK(t.factorise(hollow.values) == FactorStatus::singular);
        CHECK(t.suspicious_row() == zero);
      }
}

TEST_CASE("linear solver: two columns that share a single row are singular") {
  // Row counts are fine, a matching is not: rows 0 and 1 have one column only, and it is the same.
  for (const Method method : {Method::automatic, Method::dense, Method::klu, Method::umfpack}) {
    CAPTURE(static_cast<int>(method));
    const int n = 30;
    PatternBuilder b(n, n);
    b.add(0, 0);
    b.add(1, 0);
    for (int i = 2; i < n; ++i)
      for (int j = 0; j < n; ++j) b.add(i, j);
    Matrix m = zero_matrix(b.build());
    Random random;
    m.each([&](int i, int j, double& v) { v = random() + (i == j ? n : 0); });
    LinearSolver s = solver_for(m, as_unsymmetric, method);
    CHECK(s.factorise(m.values) == FactorStatus::singular);
    CHECK(s.factorise(m.values) == FactorStatus::singular);
  }
}

TEST_CASE("linear solver: a free-free chain is singular") {
  // Stiffness of springs in a row without support: positive semidefinite, rank n - 1.
  for (const int n : {2, 6, 20, 300}) {
    PatternBuilder b(n, n);
    for (int e = 0; e + 1 < n; ++e) b.add_block(range(e, 2), range(e, 2));
    Matrix m = zero_matrix(b.build());
    for (int e = 0; e + 1 < n; ++e) {
      m(e, e) += 0.7;
      m(e + 1, e + 1) += 0.7;
      m(e, e + 1) = m(e + 1, e) = -0.7;
    }
    for (const MatrixProperties p : {as_definite, as_symmetric, as_unsymmetric})
      for (const Method method : all_methods) {
        CAPTURE(n);
        CAPTURE(static_cast<int>(method));
        LinearSolver s = solver_for(m, p, method);
        CHECK(s.factorise(m.values) == FactorStatus::singular);
        CHECK(s.suspicious_row() >= 0);
        CHECK(s.suspicious_row() < n);
      }
  }
}

TEST_CASE("linear solver: values that are not finite are singular and harmless") {
  Random random;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const Method method : all_methods)
    for (const Kind kind : {Kind::unsymmetric, Kind::symmetric, Kind::definite})
      for (const int n : {1, 3, 6, 10, 24, 60})
        for (const double bad : {nan, inf, -inf})
          for (const bool diagonal : {true, false}) {
            CAPTURE(n);
            CAPTURE(bad);
            CAPTURE(diagonal);
            CAPTURE(static_cast<int>(method));
            CAPTURE(static_cast<int>(kind));
            const Matrix good = band_matrix(n, 3, kind, random);
            Matrix m = good;
            const int i = n / 2, j = diagonal ? i : std::max(0, i - 1);
            m(i, j) = m(j, i) = bad;
            LinearSolver s = solver_for(m, properties_of(kind), method);
            REQUIRE(s.factorise(m.values) == FactorStatus::singular);
            CHECK((s.suspicious_row() == i || s.suspicious_row() == j));
            // No trace is left.
            REQUIRE(s.factorise(good.values) == FactorStatus::ok);
            CHECK(residual(s, good, 1, random) < 1e-13);
            REQUIRE(s.factorise(m.values) == FactorStatus::singular);
            REQUIRE(s.factorise(good.values) == FactorStatus::ok);
            CHECK(residual(s, good, 1, random) < 1e-13);
          }
}
