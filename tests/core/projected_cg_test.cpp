#include "core/linear/projected_cg.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "contact/gap/obstacle.hpp"
#include "contact/gap/point_contact.hpp"
#include "core/base/named_arrays.hpp"
#include "core/linear/linear_solver.hpp"
#include "core/mechanics/saddle_point.hpp"
#include "elements/solid/elastic_laws.hpp"

using namespace carom;

namespace {

using Status = ProjectedCg::Status;
using Preconditioner = ProjectedCg::Preconditioner;

struct Random {
  std::mt19937_64 engine{11};
  double operator()() { return static_cast<double>(engine() >> 11) * 0x1p-52 - 1.0; }  // [-1, 1)
};

// Symmetric positive definite, nodes of a grid coupled with all their neighbours; some unknowns of the first nodes are
// missing. Values are single precision numbers, which the conjugate gradients represent exactly.
struct Grid {
  SparsePattern pattern;
  Vector values;
  std::vector<int> node;
  std::vector<std::vector<int>> unknowns;  // unknowns of each node

  Grid(int n, bool fixed, Random& random) {
    int equations = 0;
    for (int i = 0; i < n * n * n; ++i) {
      unknowns.emplace_back();
      for (int c = 0; c < 3; ++c) {
        if (fixed && i < 5 && c != i % 3) continue;
        unknowns.back().push_back(equations++);
        node.push_back(i);
      }
    }
    PatternBuilder builder(equations, equations);
    const auto each_pair = [&](auto&& visit) {
      for (int a = 0; a < n * n * n; ++a)
        for (int z = -1; z <= 1; ++z)
          for (int y = -1; y <= 1; ++y)
            for (int x = -1; x <= 1; ++x) {
              const int X = a % n + x, Y = a / n % n + y, Z = a / n / n + z;
              if (X >= 0 && Y >= 0 && Z >= 0 && X < n && Y < n && Z < n) visit(a, X + n * (Y + n * Z));
            }
    };
    each_pair([&](int a, int b) { builder.add_block(unknowns[at(a)], unknowns[at(b)]); });
    pattern = builder.build();
    values.assign(at(pattern.nonzeros()), 0.0);
    each_pair([&](int a, int b) {
      for (const int i : unknowns[at(a)])
        for (const int j : unknowns[at(b)]) {
          if (i < j) continue;
          const double v = static_cast<double>(static_cast<float>(i == j ? 30 + random() : 0.3 * random()));
          values[at(pattern.find(i, j))] = values[at(pattern.find(j, i))] = v;
        }
    });
  }
};

// Solution of the saddle point by LU.
struct Direct {
  Vector dx, dl;
  Direct(const Grid& grid, const std::vector<SparseRow>& rows, In r, In c) {
    const int n = grid.pattern.rows, m = static_cast<int>(rows.size());
    PatternBuilder builder(n + m, n + m);
    for (int i = 0; i < n; ++i)
      for (int k = grid.pattern.row_start[at(i)]; k < grid.pattern.row_start[at(i + 1)]; ++k)
        builder.add(i, grid.pattern.column[at(k)]);
    for (int i = 0; i < m; ++i)
      for (const int j : rows[at(i)].equation) {
        builder.add(n + i, j);
        builder.add(j, n + i);
      }
    const SparsePattern pattern = builder.build();
    Vector values(at(pattern.nonzeros())), b(at(n + m));
    for (int i = 0; i < n; ++i)
      for (int k = grid.pattern.row_start[at(i)]; k < grid.pattern.row_start[at(i + 1)]; ++k)
        values[at(pattern.find(i, grid.pattern.column[at(k)]))] = grid.values[at(k)];
    for (int i = 0; i < m; ++i)
      for (std::size_t k = 0; k < rows[at(i)].equation.size(); ++k) {
        const int j = rows[at(i)].equation[k];
        values[at(pattern.find(n + i, j))] = values[at(pattern.find(j, n + i))] = -rows[at(i)].value[k];
      }
    LinearSolver solver;
    solver.analyse(pattern, {true, false});
    REQUIRE(solver.factorise(values) == FactorStatus::ok);
    for (int i = 0; i < n; ++i) b[at(i)] = -r[at(i)];
    for (int i = 0; i < m; ++i) b[at(n + i)] = c[at(i)];
    solver.solve(b);
    dx.assign(b.begin(), b.begin() + n);
    dl.assign(b.begin() + n, b.end());
  }
};

Vector random_vector(int n, Random& random) {
  Vector x(at(n));
  for (double& xi : x) xi = random();
  return x;
}

// A grid of nodes with a rest: `bodies` blocks of six equations, multipliers that hold some nodes to a body (three rows
// a node), others that hold bodies, and springs between nodes and bodies. Upper and lower multiplier columns differ a
// little, as they do where bodies turn.
struct Mechanism {
  SparsePattern pattern;
  Vector values;
  std::vector<int> node;
  int equations = 0;

  Mechanism(const Grid& grid, int bodies, bool unsymmetric, Random& random) {
    const int solid = grid.pattern.rows;
    equations = solid + 6 * bodies;
    node = grid.node;
    struct Row {
      std::vector<int> columns;
      Vector lower, upper;
    };
    std::vector<Row> rows;
    for (int b = 0; b < bodies; ++b) {
      const int first = solid + 6 * b;
      // nodes of a face move with the body; nodes 0..4 may lack unknowns
      for (int s = 0; s < 9; ++s)
        for (int c = 0; c < 3; ++c) {
          Row row;
          for (const int u : grid.unknowns[at(10 + 12 * b + s)])
            row.columns.push_back(u), row.lower.push_back(random());
          row.lower[at(c)] += 4;
          for (int k = 0; k < 6; ++k) row.columns.push_back(first + k), row.lower.push_back(random());
          rows.push_back(row);
        }
      // the body is held in four directions
      for (int c = 0; c < 4; ++c) {
        Row row;
        for (int k = 0; k < 6; ++k) row.columns.push_back(first + k), row.lower.push_back(random());
        rows.push_back(row);
      }
    }
    for (Row& row : rows) {
      row.upper = row.lower;
      if (unsymmetric)
        for (std::size_t k = 0; k < row.upper.size(); ++k)
          if (row.columns[k] >= solid) row.upper[k] += 1e-3 * random();
    }
    const int n = equations + static_cast<int>(rows.size());
    node.resize(at(n), -1);
    PatternBuilder builder(n, n);
    for (int i = 0; i < n; ++i) builder.add(i, i);
    for (int i = 0; i < solid; ++i)
      for (int k = grid.pattern.row_start[at(i)]; k < grid.pattern.row_start[at(i + 1)]; ++k)
        builder.add(i, grid.pattern.column[at(k)]);
    std::vector<std::vector<int>> springs;
    for (int b = 0; b < bodies; ++b) {
      std::vector<int> body;
      for (int k = 0; k < 6; ++k) body.push_back(solid + 6 * b + k);
      builder.add_block(body, body);
      std::vector<int> spring = grid.unknowns[at(40 + b)];
      spring.insert(spring.end(), body.begin(), body.end());
      springs.push_back(spring);
      builder.add_block(spring, spring);
    }
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (const int j : rows[r].columns) {
        builder.add(equations + static_cast<int>(r), j);
        builder.add(j, equations + static_cast<int>(r));
      }
    pattern = builder.build();
    values.assign(at(pattern.nonzeros()), 0.0);
    const auto add = [&](int i, int j, double x) { values[at(pattern.find(i, j))] += x; };
    for (int i = 0; i < solid; ++i)
      for (int k = grid.pattern.row_start[at(i)]; k < grid.pattern.row_start[at(i + 1)]; ++k)
        add(i, grid.pattern.column[at(k)], grid.values[at(k)]);
    for (int i = solid; i < equations; ++i) add(i, i, 20 + random());
    for (const std::vector<int>& spring : springs) {
      const Vector direction = random_vector(static_cast<int>(spring.size()), random);
      for (std::size_t i = 0; i < spring.size(); ++i)
        for (std::size_t j = 0; j < spring.size(); ++j) add(spring[i], spring[j], direction[i] * direction[j]);
    }
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t k = 0; k < rows[r].columns.size(); ++k) {
        add(equations + static_cast<int>(r), rows[r].columns[k], -rows[r].lower[k]);
        add(rows[r].columns[k], equations + static_cast<int>(r), -rows[r].upper[k]);
      }
  }
};

// Largest error of A x - G^T dl = -r, G x = -c, against the largest terms.
double saddle_error(const SparsePattern& pattern, In values, const std::vector<SparseRow>& rows, In r, In c, In x,
                    In dl) {
  Vector left(r.begin(), r.end());
  double size = 1;
  for (std::size_t i = 0; i < left.size(); ++i)
    for (int k = pattern.row_start[i]; k < pattern.row_start[i + 1]; ++k) {
      const double term = values[at(k)] * x[at(pattern.column[at(k)])];
      left[i] += term;
      size = std::max(size, std::abs(term));
    }
  double worst = 0;
  for (std::size_t a = 0; a < rows.size(); ++a) {
    double gap = c[a];
    for (std::size_t k = 0; k < rows[a].equation.size(); ++k) {
      gap += rows[a].value[k] * x[at(rows[a].equation[k])];
      left[at(rows[a].equation[k])] -= rows[a].value[k] * dl[a];
    }
    worst = std::max(worst, std::abs(gap));
  }
  for (const double l : left) worst = std::max(worst, std::abs(l));
  return worst / size;
}

std::vector<const SparseRow*> pointers(const std::vector<SparseRow>& rows) {
  std::vector<const SparseRow*> list;
  for (const SparseRow& row : rows) list.push_back(&row);
  return list;
}

}  // namespace

TEST_CASE("conjugate gradients: with active rows of single nodes they find the solution of the saddle point") {
  Random random;
  for (const bool fixed : {false, true})
    for (const int rows_per_node : {0, 1, 2, 3}) {
      const Grid grid(5, fixed, random);
      const int n = grid.pattern.rows;
      std::vector<SparseRow> rows;
      for (int i = 20; i < 60; ++i)
        for (int k = 0; k < rows_per_node; ++k) {
          rows.push_back({grid.unknowns[at(i)], {}});
          for (std::size_t j = 0; j < 3; ++j)
            rows.back().value.push_back((random() + (static_cast<int>(j) == k ? 3 : 0)) * std::pow(10.0, i % 4));
        }
      const int m = static_cast<int>(rows.size());
      const Vector r = random_vector(n, random), c = random_vector(m, random);
      ProjectedCg cg;
      cg.analyse(grid.pattern, grid.node, grid.pattern.rows, 1);
      REQUIRE(cg.prepare(grid.values));
      REQUIRE(cg.set_rows(pointers(rows)));
      CHECK(!cg.redundant());
      Vector dx(at(n)), dl(at(m));
      REQUIRE(cg.solve(r, c, 1e-13, 0, 0, 500, dx, dl) == Status::converged);
      CHECK(cg.iterations() > 3);
      const Direct exact(grid, rows, r, c);
      CAPTURE(rows_per_node);
      for (std::size_t i = 0; i < dx.size(); ++i) CHECK(std::abs(dx[i] - exact.dx[i]) < 1e-9);
      for (std::size_t i = 0; i < dl.size(); ++i)
        CHECK(std::abs(dl[i] - exact.dl[i]) < 1e-8 * (1 + std::abs(exact.dl[i])));
    }
}

TEST_CASE(
    "conjugate gradients: rows and matrices that change between solves are noticed, those that stay are not needed") {
  Random random;
  const Grid grid(5, false, random);
  const Mechanism mechanism(grid, 2, false, random);
  Vector values = mechanism.values;
  const int n = mechanism.pattern.rows;
  std::vector<int> pair = grid.unknowns[100];
  pair.insert(pair.end(), {grid.pattern.rows, grid.pattern.rows + 1});
  std::vector<SparseRow> rows{{grid.unknowns[70], random_vector(3, random)}, {pair, random_vector(5, random)}};
  ProjectedCg cg;
  cg.analyse(mechanism.pattern, mechanism.node, mechanism.equations, 1);
  REQUIRE(cg.prepare(values));
  const Vector r = random_vector(n, random), c = random_vector(2, random);
  for (int change = 0; change < 6; ++change) {
    CAPTURE(change);
    if (change == 1) rows[0].value = random_vector(3, random);
    if (change == 2) rows[1].value = random_vector(5, random);
    if (change == 3) std::swap(rows[0], rows[1]);
    if (change == 4) rows[1].equation = grid.unknowns[71];
    if (change == 5) {
      for (int i = 0; i < mechanism.equations; ++i) values[at(mechanism.pattern.find(i, i))] += 5;
      REQUIRE(cg.prepare(values));
    }
    for (int repeat = 0; repeat < 2; ++repeat) {
      REQUIRE(cg.set_rows(pointers(rows), {}, 3.0));
      Vector x(at(n)), dl(2);
      REQUIRE(cg.solve(r, c, 1e-12, 0, 0, 500, x, dl) == Status::converged);
      CHECK(saddle_error(mechanism.pattern, values, rows, r, c, x, dl) < 1e-6);
    }
  }
}

TEST_CASE("conjugate gradients: redundant rows of a node share their force, with least norm") {
  Random random;
  const Grid grid(4, false, random);
  const int n = grid.pattern.rows;
  const std::vector<SparseRow> one{{grid.unknowns[7], {0, 0.6, 0.8}}};
  const std::vector<SparseRow> twice{{grid.unknowns[7], {0, 0.6, 0.8}}, {grid.unknowns[7], {0, 0.6, 0.8}}};
  const Vector r = random_vector(n, random);
  ProjectedCg cg;
  cg.analyse(grid.pattern, grid.node, grid.pattern.rows, 1);
  REQUIRE(cg.prepare(grid.values));
  Vector x(at(n)), y(at(n)), a(1), b(2);
  REQUIRE(cg.set_rows(pointers(one)));
  REQUIRE(cg.solve(r, Vector{0.1}, 1e-12, 0, 0, 500, x, a) == Status::converged);
  REQUIRE(cg.set_rows(pointers(twice)));
  CHECK(cg.redundant());
  REQUIRE(cg.solve(r, Vector{0.1, 0.1}, 1e-12, 0, 0, 500, y, b) == Status::converged);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == doctest::Approx(y[i]).epsilon(1e-9));
  CHECK(b[0] == doctest::Approx(a[0] / 2));
  CHECK(b[1] == doctest::Approx(a[0] / 2));
}

TEST_CASE("conjugate gradients: joints, bodies, springs and rows of several nodes are exact") {
  Random random;
  for (const int bodies : {0, 1, 3})
    for (const bool unsymmetric : {false, true})
      for (const bool fixed : {false, true})
        for (const Preconditioner preconditioner :
             {Preconditioner::blocks, Preconditioner::multigrid, Preconditioner::factors}) {
          const Grid grid(5, fixed, random);
          const Mechanism mechanism(grid, bodies, unsymmetric, random);
          const int n = mechanism.pattern.rows;
          // rows of one node, of two nodes, of a node that a joint holds, of a body and a node, of a body
          std::vector<SparseRow> rows;
          const auto row = [&](std::vector<int> equations) {
            const Vector values = random_vector(static_cast<int>(equations.size()), random);
            rows.push_back({std::move(equations), values});
          };
          const auto both = [](std::vector<int> a, const std::vector<int>& b) {
            a.insert(a.end(), b.begin(), b.end());
            return a;
          };
          for (int i = 60; i < 80; ++i) row(grid.unknowns[at(i)]);
          for (int i = 80; i < 84; ++i) row(both(grid.unknowns[at(i)], grid.unknowns[at(i + 10)]));
          if (bodies > 0) {
            const std::vector<int> body{grid.pattern.rows, grid.pattern.rows + 1, grid.pattern.rows + 2};
            row(grid.unknowns[12]);
            row(both(grid.unknowns[100], body));
          }
          const Vector r = random_vector(n, random), c = random_vector(static_cast<int>(rows.size()), random);
          ProjectedCg cg;
          cg.analyse(mechanism.pattern, mechanism.node, mechanism.equations, 1);
          // any six vectors serve as motions
          const Vector motions = random_vector(6 * n, random);
          REQUIRE(cg.prepare(mechanism.values, preconditioner, motions));
          REQUIRE(cg.set_rows(pointers(rows), {}, 3.0));
          Vector x(at(n)), dl(rows.size());
          CAPTURE(bodies);
          CAPTURE(unsymmetric);
          CAPTURE(fixed);
          CAPTURE(static_cast<int>(preconditioner));
          REQUIRE(cg.solve(r, c, 1e-12, 0, 0, 500, x, dl) == Status::converged);
          CHECK(!cg.redundant());
          // springs round in single precision
          CHECK(saddle_error(mechanism.pattern, mechanism.values, rows, r, c, x, dl) <
                (preconditioner == Preconditioner::blocks ? 1e-6 : 1e-10));
          if (preconditioner == Preconditioner::factors) CHECK(cg.iterations() <= (unsymmetric ? 4 : 2));
        }
}

TEST_CASE("conjugate gradients: redundant rows beside a mechanism are satisfied with finite multipliers") {
  Random random;
  const Grid grid(5, false, random);
  const Mechanism mechanism(grid, 2, false, random);
  const int n = mechanism.pattern.rows;
  std::vector<int> pair = grid.unknowns[70];
  pair.insert(pair.end(), grid.unknowns[90].begin(), grid.unknowns[90].end());
  const SparseRow one{pair, random_vector(6, random)};
  const Vector r = random_vector(n, random);
  ProjectedCg cg;
  cg.analyse(mechanism.pattern, mechanism.node, mechanism.equations, 1);
  REQUIRE(cg.prepare(mechanism.values));
  Vector x(at(n)), y(at(n)), a(1), b(2);
  const std::vector<SparseRow> single{one}, twice{one, one};
  REQUIRE(cg.set_rows(pointers(single)));
  REQUIRE(cg.solve(r, Vector{0.1}, 1e-11, 0, 0, 500, x, a) == Status::converged);
  CHECK(!cg.redundant());
  REQUIRE(cg.set_rows(pointers(twice)));
  REQUIRE(cg.solve(r, Vector{0.1, 0.1}, 1e-11, 0, 0, 500, y, b) == Status::converged);
  CHECK(cg.redundant());
  for (std::size_t i = 0; i < at(mechanism.equations); ++i) CHECK(x[i] == doctest::Approx(y[i]).epsilon(1e-7));
  CHECK(b[0] == doctest::Approx(a[0] / 2).epsilon(1e-6));
  CHECK(b[1] == doctest::Approx(a[0] / 2).epsilon(1e-6));
}

TEST_CASE("conjugate gradients: too many rows of a node are refused, indefinite and broken matrices are told") {
  Random random;
  Grid grid(4, false, random);
  const int n = grid.pattern.rows;
  ProjectedCg cg;
  cg.analyse(grid.pattern, grid.node, grid.pattern.rows, 1);
  REQUIRE(cg.prepare(grid.values));
  const std::vector<SparseRow> many(9, {{3, 4, 5}, {1, -1, 2}});
  CHECK(!cg.set_rows(pointers(many)));
  REQUIRE(cg.set_rows({}));
  const Vector r = random_vector(n, random);
  Vector x(at(n));
  CHECK(cg.solve(r, {}, 1e-12, 0, 0, 3, x, {}) == Status::slow);
  const Vector definite = grid.values;
  // blocks of nodes are positive definite, the matrix is indefinite
  for (int i = 0; i < n; ++i)
    for (int k = grid.pattern.row_start[at(i)]; k < grid.pattern.row_start[at(i + 1)]; ++k)
      if (grid.pattern.column[at(k)] / 3 != i / 3) grid.values[at(k)] = 25;
  REQUIRE(cg.prepare(grid.values));
  REQUIRE(cg.solve(r, {}, 1e-9, 0, 0, 500, x, {}) == Status::converged);
  CHECK(cg.used_gmres());
  const Direct exact(grid, {}, r, {});
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(x[i] - exact.dx[i]) < 1e-7);
  // the same after a matrix that factors of an earlier one have solved
  const Vector at_rest(6 * at(n), 0.0), indefinite = grid.values;
  for (const bool old : {false, true}) {
    REQUIRE(cg.prepare(definite, Preconditioner::factors, at_rest, old));
    REQUIRE(cg.solve(r, {}, 1e-9, 0, 0, 500, x, {}) == Status::converged);
    REQUIRE(cg.has_old_factors() == old);
  }
  REQUIRE(cg.prepare(indefinite));
  REQUIRE(cg.solve(r, {}, 1e-9, 0, 0, 500, x, {}) == Status::converged);
  CHECK(cg.used_gmres());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(x[i] - exact.dx[i]) < 1e-7);
  grid.values[at(grid.pattern.find(5, 5))] = -1;
  CHECK(!cg.prepare(grid.values));
  grid.values[at(grid.pattern.find(5, 5))] = std::numeric_limits<double>::quiet_NaN();
  CHECK(!cg.prepare(grid.values));
}

TEST_CASE("conjugate gradients: the same bits with one thread and with three") {
  Random random;
  const Grid grid(12, true, random);
  const int n = grid.pattern.rows;
  REQUIRE(n > 3000);
  std::vector<SparseRow> rows;
  for (int i = 5; i < 140; ++i) rows.push_back({grid.unknowns[at(i)], {random(), random(), 1}});
  const Vector r = random_vector(n, random), c = random_vector(static_cast<int>(rows.size()), random);
  std::vector<Vector> results;
  for (const int threads : {1, 3}) {
    ProjectedCg cg;
    cg.analyse(grid.pattern, grid.node, grid.pattern.rows, threads);
    REQUIRE(cg.prepare(grid.values));
    REQUIRE(cg.set_rows(pointers(rows)));
    Vector dx(at(n)), dl(rows.size());
    REQUIRE(cg.solve(r, c, 1e-8, 0, 0, 500, dx, dl) == Status::converged);
    results.push_back(dx);
    results.push_back(dl);
  }
  CHECK(results[0] == results[2]);
  CHECK(results[1] == results[3]);
}

namespace {

// n^3 hexahedra of side 1, E = 90, rho = 1; a plane lies below their bottom.
void build_cube(System& system, int n) {
  const int m = n + 1;
  const auto node = [m](int x, int y, int z) { return x + m * (y + m * z); };
  for (int i = 0; i < m * m * m; ++i) {
    const int layer = i / m / m;
    const double x[] = {1.0 * (i % m), 1.0 * (i / m % m), 1.0 * layer};
    system.add_node(NodeKind::point, x, "node");
  }
  SolidMesh mesh;
  const int corner[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
  for (int i = 0; i < n * n * n; ++i)
    for (const auto& k : corner) {
      const int x = i % n + k[0], y = i / n % n + k[1], z = i / n / n + k[2];
      mesh.nodes.push_back(node(x, y, z));
      mesh.reference.emplace_back(x, y, z);
    }
  system.add(saint_venant_kirchhoff(90, 0.3)("cube", mesh, 1, {}));
  std::vector<ContactPoint> points;
  for (int i = 0; i < m * m; ++i) points.push_back({"point", i, Vec3::Zero(), 0, 0});
  system.add(
      std::make_unique<PointContactBlock>("floor", points, make_plane(Vec3::Zero(), Vec3::UnitZ()), nullptr, false));
  system.finalize();
}

// A step of such a cube of 5^3 hexahedra, with random residuals r.
struct CubeStep {
  System system;
  Random random;
  Vector q, v, r, scratch;
  Linearisation request;

  CubeStep() {
    build_cube(system, 5);
    q = system.initial_configuration();
    v.assign(at(system.size()), 0.0);
    r = random_vector(system.size(), random);
    request.c_M = 1;
    request.c_K = 0.01;
    request.q_M = request.q = q.data();
    request.v = v.data();
  }
};

}  // namespace

TEST_CASE("saddle point: conjugate gradients and factors give a solid with contacts the same step") {
  CubeStep cube;
  const System& system = cube.system;
  const Vector &q = cube.q, &r = cube.r;
  const int n = system.size();
  SaddlePoint cg, direct;
  cg.analyse(system, {true, true, true}, &cube.scratch);
  direct.analyse(system, {true, true});
  std::vector<int> active;
  for (int i = 0; i < system.conditional(); i += 2) active.push_back(i);
  const Vector c = random_vector(static_cast<int>(active.size()), cube.random);
  for (int repeat = 0; repeat < 3; ++repeat) {
    // positive definite; indefinite; indefinite with indefinite blocks of nodes
    cube.request.c_K = repeat == 0 ? 0.01 : repeat == 1 ? -0.001 : -1;
    CAPTURE(repeat);
    Vector dx[2] = {Vector(at(n)), Vector(at(n))}, dl[2] = {Vector(c.size()), Vector(c.size())};
    REQUIRE(direct.factorise(cube.request));
    direct.set_active(active, q, 0, nullptr);
    REQUIRE(direct.solve(r, {}, c, dx[0], {}, dl[0]));
    REQUIRE(cg.factorise(cube.request));
    cg.set_active(active, q, 0, nullptr);
    int attempts = 1;
    for (; !cg.solve(r, {}, c, dx[1], {}, dl[1], {1e-10, 0}) && attempts < 3; ++attempts) {
      REQUIRE(cg.gave_up());
      REQUIRE(repeat == 1);
      REQUIRE(cg.factorise(cube.request));
      cg.set_active(active, q, 0, nullptr);
    }
    CHECK(attempts == (repeat == 1 ? 3 : 1));  // node blocks; factors, then multigrid in their place; factors of all
    CHECK(cg.iterative() == (repeat == 0));
    CHECK(cg.counters().fallbacks == 2 * repeat);  // to CHOLMOD, to UMFPACK
    double size = 0, force = 0;
    for (const double x : dx[0]) size = std::max(size, std::abs(x));
    for (const double x : dl[0]) force = std::max(force, std::abs(x));
    // the matrix is single precision
    for (std::size_t i = 0; i < dx[0].size(); ++i) CHECK(std::abs(dx[1][i] - dx[0][i]) < 1e-5 * size);
    for (std::size_t i = 0; i < c.size(); ++i) CHECK(std::abs(dl[1][i] - dl[0][i]) < 1e-5 * force);
  }
  CHECK(cg.counters().cg_solves == 3);
  CHECK(cg.counters().cg_iterations > 10);
  CHECK(direct.counters().cg_solves == 0);
}

TEST_CASE("saddle point: after a restart no column of conjugate gradients is found that was known") {
  CubeStep cube;
  const System& system = cube.system;
  const Vector &q = cube.q, &r = cube.r;
  const int n = system.size();
  SaddlePoint whole, restarted;
  whole.analyse(system, {true, true, true}, &cube.scratch);
  restarted.analyse(system, {true, true, true}, &cube.scratch);
  const auto solve = [&](SaddlePoint& saddle, const std::vector<int>& active) {
    std::vector<SparseRow> rows(active.size());
    for (std::size_t i = 0; i < active.size(); ++i) system.row_gradient(active[i], q, 0, nullptr, rows[i]);
    saddle.set_active(active, rows, rows, true);
    const Vector c(active.size(), 1.0);
    Vector dx(at(n)), dl(active.size());
    REQUIRE(saddle.solve(r, {}, c, dx, {}, dl, {1e-10, 0}));
    return dl;
  };
  REQUIRE(whole.factorise(cube.request));
  solve(whole, {0, 1, 2, 3, 4, 5});
  REQUIRE(whole.factorise(cube.request));
  solve(whole, {0, 1, 4, 5});
  solve(whole, {0, 1});
  NamedArrays record;
  whole.save(record, "", true);
  restarted.restore(record, "");
  const long before = whole.counters().cg_solves;
  REQUIRE(restarted.counters().cg_solves == before);
  for (const std::vector<int>& active : {std::vector{0, 1, 2}, {0, 1, 4}, {5, 2, 7}, {0, 4, 1, 3}}) {
    CHECK(solve(whole, active) == solve(restarted, active));
    CHECK(whole.counters().cg_solves == restarted.counters().cg_solves);
  }
  // a row without column takes its place from another: columns for 2, 4, 2, 7, 4, 1 and 3, beside one solution each
  CHECK(whole.counters().cg_solves == before + 7 + 4);
}

TEST_CASE("saddle point: small solids and exact systems are factorised") {
  System small;
  build_cube(small, 2);
  Vector scratch;
  SaddlePoint saddle;
  saddle.analyse(small, {true, true, true}, &scratch);
  CHECK(!saddle.iterative());
  System large;
  build_cube(large, 5);
  saddle.analyse(large, {true, true, true}, &scratch);
  CHECK(saddle.iterative());
  saddle.analyse(large, {true, false, false}, &scratch);
  CHECK(!saddle.iterative());
}
