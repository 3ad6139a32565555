// Multifrontal LU: matrices of contacts between bodies, as ConeProblem has them.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "tests/core/solver_matrices.hpp"

using namespace carom;
using namespace carom::solver_test;

namespace {

// The rows of contacts between bodies in a grid with n x n x n nodes couple where they share a body. A contact has one
// to six rows. row_of: first row of every contact, and the number of rows.
Matrix contact_matrix(int n, Kind kind, Random& random, std::vector<int>* row_of = nullptr) {
  const int bodies = n * n * n;
  std::vector<int> first, partner, start{0};
  const auto add = [&](int a, int b) {
    first.push_back(a);
    partner.push_back(b);
    start.push_back(start.back() + 1 + static_cast<int>(5.99 * std::abs(random())));
  };
  for (int body = 0; body < bodies; ++body) {
    const int x = body % n, y = body / n % n, z = body / n / n;
    if (z == 0) add(body, -1);
    if (x + 1 < n && random() > -0.6) add(body, body + 1);
    if (y + 1 < n && random() > -0.6) add(body, body + n);
    if (z + 1 < n) add(body, body + n * n);
  }
  const int rows = start.back();
  PatternBuilder builder(rows, rows);
  for (std::size_t i = 0; i < first.size(); ++i)
    for (std::size_t j = 0; j < first.size(); ++j) {
      const auto touches = [&](int body) { return body >= 0 && (body == first[j] || body == partner[j]); };
      if (touches(first[i]) || touches(partner[i]))
        builder.add_block(range(start[i], start[i + 1] - start[i]), range(start[j], start[j + 1] - start[j]));
    }
  Matrix m = zero_matrix(builder.build());
  fill(m, kind, random);
  if (row_of != nullptr) *row_of = start;
  return m;
}

}  // namespace

TEST_CASE("frontal LU: contacts of bodies are solved as by UMFPACK") {
  Random random;
  for (const Kind kind : {Kind::unsymmetric, Kind::symmetric, Kind::definite})
    for (const int n : {1, 2, 3, 5, 7}) {
      const Matrix m = contact_matrix(n, kind, random);
      CAPTURE(n);
      CAPTURE(static_cast<int>(kind));
      LinearSolver s = solver_for(m, as_unsymmetric, Method::frontal),
                   general = solver_for(m, as_unsymmetric, Method::umfpack);
      REQUIRE(s.factorise(m.values) == FactorStatus::ok);
      REQUIRE(general.factorise(m.values) == FactorStatus::ok);
      CHECK(s.method_name() == "frontal");
      CHECK(s.counters().fallbacks == 0);
      CHECK(residual(s, m, 2, random) < 1e-12);
      Vector x(static_cast<std::size_t>(m.pattern.rows));
      for (double& v : x) v = random();
      Vector y = x;
      s.solve(x);
      general.solve(y);
      double largest = 0, difference = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        largest = std::max(largest, std::abs(y[i]));
        difference = std::max(difference, std::abs(x[i] - y[i]));
      }
      CHECK(difference < 1e-10 * largest);
    }
}

TEST_CASE("frontal LU: pivots come from the rows of a contact") {
  Random random;
  std::vector<int> start;
  Matrix m = contact_matrix(4, Kind::definite, random, &start);
  // the rows of every contact in reverse order: the diagonal has small entries
  Matrix turned = m;
  turned.each([&](int i, int j, double& v) {
    const auto contact = static_cast<std::size_t>(std::upper_bound(start.begin(), start.end(), i) - start.begin() - 1);
    v = m(start[contact] + start[contact + 1] - 1 - i, j);
  });
  LinearSolver s = solver_for(turned, as_unsymmetric, Method::frontal);
  REQUIRE(s.factorise(turned.values) == FactorStatus::ok);
  CHECK(s.method_name() == "frontal");
  CHECK(residual(s, turned, 1, random) < 1e-12);
}

TEST_CASE("frontal LU: a matrix that needs pivots of another contact is left to UMFPACK, and one singular is found") {
  Random random;
  // five contacts of three rows, each of which couples with the thirty rows behind
  PatternBuilder builder(45, 45);
  builder.add_block(range(15, 30), range(15, 30));
  for (int contact = 0; contact < 5; ++contact) {
    std::vector<int> rows = range(3 * contact, 3), all = range(15, 30);
    all.insert(all.begin(), rows.begin(), rows.end());
    builder.add_block(rows, all);
    builder.add_block(all, rows);
  }
  Matrix good = zero_matrix(builder.build());
  fill(good, Kind::definite, random);
  for (const double tiny : {0.0, 1e-20, 1e-15}) {
    Matrix bad = good;
    bad.each([&](int i, int j, double& v) {
      if (i < 15 && j < 15) v *= tiny;
      if ((i < 15) != (j < 15)) v = 1 + 0.5 * random();
    });
    CAPTURE(tiny);
    LinearSolver s = solver_for(good, as_unsymmetric, Method::frontal);
    REQUIRE(s.factorise(bad.values) == FactorStatus::ok);
    CHECK(s.method_name() == "umfpack");
    CHECK(s.counters().fallbacks == 1);
    CHECK(residual(s, bad, 1, random) < 1e-12);
    REQUIRE(s.factorise(good.values) == FactorStatus::ok);
    CHECK(s.method_name() == "frontal");
    CHECK(residual(s, good, 1, random) < 1e-12);
  }
  Matrix singular = good;
  singular.each([&](int i, int, double& v) {
    if (i == 4) v = 0;
  });
  LinearSolver s = solver_for(good, as_unsymmetric, Method::frontal);
  CHECK(s.factorise(singular.values) == FactorStatus::singular);
  CHECK(s.suspicious_row() == 4);
}

TEST_CASE("frontal LU: a pattern that is not symmetric goes to UMFPACK") {
  Random random;
  PatternBuilder builder(3, 3);
  builder.add_block(range(0, 3), range(0, 2));
  builder.add_block(range(2, 1), range(2, 1));
  Matrix m = zero_matrix(builder.build());
  fill(m, Kind::unsymmetric, random);
  LinearSolver s = solver_for(m, as_unsymmetric, Method::frontal);
  REQUIRE(s.factorise(m.values) == FactorStatus::ok);
  CHECK(s.method_name() == "umfpack");
  CHECK(residual(s, m, 1, random) < 1e-13);
}
