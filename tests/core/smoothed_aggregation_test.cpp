#include "core/linear/smoothed_aggregation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "core/lie/so3.hpp"
#include "core/linear/linear_solver.hpp"
#include "core/linear/projected_cg.hpp"
#include "core/mechanics/system.hpp"
#include "elements/solid/elastic_laws.hpp"

using namespace carom;

namespace {

using Preconditioner = ProjectedCg::Preconditioner;

// A block of steel of nx x ny x nz hexahedra, clamped at x = 0, and its matrix M + h^2 K with the rigid motions of
// every equation.
struct SteelBlock {
  System system;
  Vector values, motions;
  std::vector<int> node;

  // `turn`: of the whole block, clamped or not.
  SteelBlock(int nx, int ny, int nz, Vec3 size, double h, const Mat3& turn = Mat3::Identity(), bool clamped = true) {
    const auto number = [&](int x, int y, int z) { return x + (nx + 1) * (y + (ny + 1) * z); };
    SolidMesh mesh;
    std::vector<Vec3> places;
    for (int z = 0; z <= nz; ++z)
      for (int y = 0; y <= ny; ++y)
        for (int x = 0; x <= nx; ++x) {
          places.emplace_back(size.x() * x / nx, size.y() * y / ny, size.z() * z / nz);
          const int i = system.add_node(NodeKind::point, std::span(places.back().data(), 3), "node");
          for (int c = 0; c < 3 && x == 0 && clamped; ++c) system.fix(i, c);
        }
    const int corner[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
    for (int z = 0; z < nz; ++z)
      for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x)
          for (const auto& k : corner) {
            mesh.nodes.push_back(number(x + k[0], y + k[1], z + k[2]));
            mesh.reference.push_back(places[at(mesh.nodes.back())]);
          }
    system.add(saint_venant_kirchhoff(2.1e11, 0.3)("block", mesh, 7850, {}));
    system.finalize();
    Vector q = system.initial_configuration();
    const Vector v(at(system.size()), 0.0);
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[i] = turn * places[i];
      std::copy_n(places[i].data(), 3, q.data() + 3 * i);
    }
    Linearisation request;
    request.c_M = 1;
    request.c_K = h * h;
    request.q_M = request.q = q.data();
    request.v = v.data();
    values.assign(at(system.saddle_pattern().nonzeros()), 0.0);
    system.assemble(request, values);
    for (int i = 0; i < system.size(); ++i) {
      node.push_back(system.equation_node(i));
      const Vec3 a = places[at(node.back())] / size.norm();
      const Mat3 about{{0, a.z(), -a.y()}, {-a.z(), 0, a.x()}, {a.y(), -a.x(), 0}};
      int c = 0;
      while (system.dofs().equation(node.back(), c) != i) ++c;
      for (int k = 0; k < 3; ++k) motions.push_back(k == c ? 1 : 0);
      for (int k = 0; k < 3; ++k) motions.push_back(about(c, k));
    }
  }

  // Iterations that reduce the residual to 1e-8; the solution in x.
  int iterations(Preconditioner preconditioner, const Vector& b, Vector& x,
                 std::span<const SparseRow* const> rows = {}) const {
    ProjectedCg cg;
    cg.analyse(system.saddle_pattern(), node, system.size(), 1);
    REQUIRE(cg.prepare(values, preconditioner, motions));
    REQUIRE(cg.set_rows(rows));
    x.assign(b.size(), 0.0);
    Vector r(b.size()), c(rows.size(), 0.0), dl(rows.size());
    for (std::size_t i = 0; i < b.size(); ++i) r[i] = -b[i];
    const auto status = cg.solve(r, c, 1e-8, 0, 0, 2000, x, dl);
    CHECK((status == ProjectedCg::Status::converged || status == ProjectedCg::Status::slow));
    return cg.iterations();
  }
};

Vector random_vector(int n) {
  std::mt19937_64 engine(5);
  Vector x(at(n));
  for (double& xi : x) xi = static_cast<double>(engine() >> 11) * 0x1p-52 - 1;
  return x;
}

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

TEST_CASE("multigrid: a V-cycle is symmetric and positive definite") {
  const SteelBlock block(9, 6, 7, {0.3, 0.2, 0.2}, 1e-3);
  const SparsePattern& p = block.system.saddle_pattern();
  const int nodes = p.rows / 3;
  std::vector<int> start{0}, column;
  Vector blocks;
  for (int i = 0; i < nodes; ++i) {
    for (int k = p.row_start[at(3 * i)]; k < p.row_start[at(3 * i + 1)]; k += 3) {
      column.push_back(p.column[at(k)] / 3);
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) blocks.push_back(block.values[at(p.find(3 * i + r, p.column[at(k)] + c))]);
    }
    start.push_back(static_cast<int>(column.size()));
  }
  SmoothedAggregation multigrid;
  REQUIRE(multigrid.build(start, column, blocks, block.motions));
  CHECK(multigrid.levels() >= 2);
  CHECK(multigrid.complexity() < 2);
  const Vector a = random_vector(p.rows);
  Vector b = a, Ma(a.size()), Mb(a.size());
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::sin(static_cast<double>(7 * i)) + 0.1;
  multigrid.apply(a.data(), Ma.data());
  multigrid.apply(b.data(), Mb.data());
  CHECK(dot(b, Ma) == doctest::Approx(dot(a, Mb)).epsilon(1e-5));
  CHECK(dot(a, Ma) > 0);
  CHECK(dot(b, Mb) > 0);
}

TEST_CASE("multigrid: stiff and slender solids need few iterations, whatever their mesh, and lose no digits") {
  int before = 0;
  for (const int refined : {1, 2}) {
    const SteelBlock plate(20 * refined, 10 * refined, 2 * refined, {0.1, 0.05, 0.005}, 1e-3);
    const Vector b = random_vector(plate.system.size());
    Vector x, y;
    const int blocks = plate.iterations(Preconditioner::blocks, b, y);
    const int multigrid = plate.iterations(Preconditioner::multigrid, b, x);
    CAPTURE(multigrid);
    CAPTURE(blocks);
    CHECK(multigrid < 80);
    CHECK(blocks > 4 * multigrid);
    CHECK(multigrid < 1.6 * (before == 0 ? multigrid : before));
    before = multigrid;

    LinearSolver direct;
    direct.analyse(plate.system.saddle_pattern(), {true, true});
    REQUIRE(direct.factorise(plate.values) == FactorStatus::ok);
    Vector exact = b;
    direct.solve(exact);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      error = std::max(error, std::abs(x[i] - exact[i]));
      size = std::max(size, std::abs(exact[i]));
    }
    CHECK(error < 1e-5 * size);
  }
}

TEST_CASE("multigrid and factors: active rows are held and cost no iterations") {
  const SteelBlock plate(16, 8, 2, {0.4, 0.2, 0.005}, 1e-3);
  const Vector b = random_vector(plate.system.size());
  Vector x, y;
  const int without = plate.iterations(Preconditioner::multigrid, b, x);
  std::vector<SparseRow> rows;
  for (int i = 0; i + 2 < plate.system.size(); i += 3)
    if (i % 9 == 0) rows.push_back({{i, i + 1, i + 2}, {0.1, -0.2, 1}});
  std::vector<const SparseRow*> pointers;
  for (const SparseRow& row : rows) pointers.push_back(&row);
  CHECK(plate.iterations(Preconditioner::multigrid, b, x, pointers) <= 1.5 * without);
  // factors solve at once; further iterations correct their rounding
  CHECK(plate.iterations(Preconditioner::factors, b, y, pointers) <= 2);
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error = std::max(error, std::abs(x[i] - y[i]));
    largest = std::max(largest, std::abs(y[i]));
  }
  CHECK(error < 1e-5 * largest);
  for (const Vector& solution : {x, y})
    for (const SparseRow& row : rows) {
      double gap = 0, size = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        gap += row.value[k] * solution[at(row.equation[k])];
        size += std::abs(row.value[k] * solution[at(row.equation[k])]);
      }
      CHECK(std::abs(gap) <= 1e-12 * size);
    }
}

TEST_CASE("factors: those of a solid serve it after any turn, and make way where they do not fit") {
  const Vec3 size(0.3, 0.06, 0.03);
  const SteelBlock at_first(20, 4, 3, size, 1e-3, Mat3::Identity(), false);
  const Vector b = random_vector(at_first.system.size());
  Vector r(b.size()), x(b.size()), exact(b.size()), none;
  for (std::size_t i = 0; i < b.size(); ++i) r[i] = -b[i];
  for (const double angle : {0.02, 1.0, 3.0}) {
    const SteelBlock turned(20, 4, 3, size, 1e-3, so3::exp(angle * Vec3(0.3, -0.5, 0.8).normalized()), false);
    turned.iterations(Preconditioner::factors, b, exact);
    for (const bool old : {true, false}) {
      CAPTURE(angle);
      CAPTURE(old);
      ProjectedCg cg;
      cg.analyse(at_first.system.saddle_pattern(), at_first.node, at_first.system.size(), 1);
      REQUIRE(cg.prepare(at_first.values, Preconditioner::factors, at_first.motions));
      REQUIRE(cg.solve(r, none, 1e-8, 0, 0, 2000, x, none) == ProjectedCg::Status::converged);
      CHECK(cg.has_new_factors());
      CHECK(cg.factors_last());
      REQUIRE(cg.prepare(turned.values, Preconditioner::factors, turned.motions, old));
      REQUIRE(cg.solve(r, none, 1e-8, 0, 0, 2000, x, none) == ProjectedCg::Status::converged);
      CHECK(cg.has_old_factors() == old);
      CHECK(cg.iterations() <= 2);
      double error = 0, largest = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        error = std::max(error, std::abs(x[i] - exact[i]));
        largest = std::max(largest, std::abs(exact[i]));
      }
      CHECK(error < 1e-7 * largest);
    }
  }

  // motions that tell nothing of the turn
  const SteelBlock turned(20, 4, 3, size, 1e-3, so3::exp(Vec3(0, 0, 1)), false);
  ProjectedCg cg;
  cg.analyse(at_first.system.saddle_pattern(), at_first.node, at_first.system.size(), 1);
  REQUIRE(cg.prepare(at_first.values, Preconditioner::factors, at_first.motions));
  REQUIRE(cg.solve(r, none, 1e-8, 0, 0, 2000, x, none) == ProjectedCg::Status::converged);
  REQUIRE(cg.prepare(turned.values, Preconditioner::factors, at_first.motions, true));
  REQUIRE(cg.solve(r, none, 1e-8, 0, 0, 2000, x, none) == ProjectedCg::Status::converged);
  CHECK(cg.old_factors_failed());
  CHECK(cg.has_new_factors());
  CHECK_FALSE(cg.has_old_factors());
  turned.iterations(Preconditioner::factors, b, exact);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == doctest::Approx(exact[i]).epsilon(1e-6));
}
