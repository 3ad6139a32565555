#include "core/linear/node_sweeps.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/base/vector_ops.hpp"
#include "core/linear/linear_solver.hpp"
#include "core/linear/projected_cg.hpp"

using namespace carom;

namespace {

using Status = ProjectedCg::Status;

struct Random {
  std::mt19937_64 engine;
  double operator()() { return static_cast<double>(engine() >> 11) * 0x1p-52 - 1.0; }  // [-1, 1)
};

// Solids of n^3 nodes that springs to all neighbours hold together, M = 1, and in a step c_K K = stiffness: A = 1 + K.
// The rigid motions are free. Some unknowns of the first nodes may be missing.
struct Solids {
  SparsePattern pattern;
  Vector values, motions;
  std::vector<int> node;
  std::vector<std::vector<int>> unknowns;
  int equations = 0;

  Solids(int n, int solids, double stiffness, bool fixed, const std::vector<SparseRow>& joints = {}) {
    const int nodes = n * n * n;
    for (int i = 0; i < solids * nodes; ++i) {
      unknowns.emplace_back();
      for (int c = 0; c < 3; ++c) {
        if (fixed && i < 5 && c != i % 3) continue;
        unknowns.back().push_back(equations++);
        node.push_back(i);
        const Vec3 x = place(i % nodes, n), e = Vec3::Unit(c);
        const Vec3 turned[] = {Vec3::UnitX().cross(x), Vec3::UnitY().cross(x), Vec3::UnitZ().cross(x)};
        for (int k = 0; k < 3; ++k) motions.push_back(e[k]);
        for (const Vec3& t : turned) motions.push_back(t[c]);
      }
    }
    const int size = equations + static_cast<int>(joints.size());
    node.resize(at(size), -1);
    motions.resize(6 * at(size), 0.0);
    PatternBuilder builder(size, size);
    for (int i = 0; i < size; ++i) builder.add(i, i);
    const auto each_pair = [&](auto&& visit) {
      for (int i = 0; i < solids * nodes; ++i)
        for (int j = i / nodes * nodes; j < i; ++j)
          if (const Vec3 d = place(i % nodes, n) - place(j % nodes, n); d.cwiseAbs().maxCoeff() < 1.5)
            visit(i, j, Vec3(d.normalized()));
    };
    each_pair([&](int i, int j, const Vec3&) {
      std::vector<int> both = unknowns[at(i)];
      both.insert(both.end(), unknowns[at(j)].begin(), unknowns[at(j)].end());
      builder.add_block(both, both);
    });
    for (int i = 0; i < size - equations; ++i)
      for (const int j : joints[at(i)].equation) builder.add(equations + i, j), builder.add(j, equations + i);
    pattern = builder.build();
    values.assign(at(pattern.nonzeros()), 0.0);
    const auto add = [&](int i, int j, double x) { values[at(pattern.find(i, j))] += x; };
    for (int i = 0; i < equations; ++i) add(i, i, 1);
    each_pair([&](int i, int j, const Vec3& d) {
      for (const int a : {i, j})
        for (const int b : {i, j})
          for (std::size_t k = 0; k < unknowns[at(a)].size(); ++k)
            for (std::size_t l = 0; l < unknowns[at(b)].size(); ++l)
              add(unknowns[at(a)][k], unknowns[at(b)][l],
                  (a == b ? 1.0 : -1.0) * stiffness * d[component(a, k, fixed)] * d[component(b, l, fixed)]);
    });
    // numbers that single precision represents
    for (double& v : values) v = static_cast<double>(static_cast<float>(v));
    for (int i = 0; i < size - equations; ++i)
      for (std::size_t k = 0; k < joints[at(i)].equation.size(); ++k) {
        add(equations + i, joints[at(i)].equation[k], -joints[at(i)].value[k]);
        add(joints[at(i)].equation[k], equations + i, -joints[at(i)].value[k]);
      }
  }

  static Vec3 place(int i, int n) { return {1.0 * (i % n), 1.0 * (i / n % n), 1.0 * (i / n / n)}; }
  static Eigen::Index component(int node, std::size_t k, bool fixed) {
    return fixed && node < 5 ? node % 3 : static_cast<Eigen::Index>(k);
  }
  Vector times(In x) const {
    Vector y(x.size(), 0.0);
    for (std::size_t i = 0; i < y.size(); ++i)
      for (int k = pattern.row_start[i]; k < pattern.row_start[i + 1]; ++k)
        y[i] += values[at(k)] * x[at(pattern.column[at(k)])];
    return y;
  }
};

Vector random_vector(int n, Random& random) {
  Vector x(at(n));
  for (double& xi : x) xi = random();
  return x;
}

double largest_difference(In a, In b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// Inverse blocks of all nodes.
std::vector<const double*> inverses(const NodeMatrix& A) {
  std::vector<const double*> blocks;
  for (std::size_t g = 0; g < A.nodes().size(); ++g) blocks.push_back(A.inverse(g));
  return blocks;
}

// Sweeps of a matrix, every seventh node of some part of it among those that come last.
struct Sweeps {
  NodeMatrix A;
  NodeSweeps sweeps;
  std::vector<char> last;
  Sweeps(const Solids& s, bool some_last, int threads) {
    A.analyse(s.pattern, s.node, threads);
    REQUIRE(A.prepare(s.values, false));
    last.assign(A.nodes().size(), 0);
    for (std::size_t g = 0; g < last.size() / 3 && some_last; g += 7) last[g] = 1;
    sweeps.analyse(A);
    REQUIRE(sweeps.arrange(last));
    CHECK(!sweeps.arrange(last));
    sweeps.copy_values();
    sweeps.set_inverses(inverses(A));
  }
};

}  // namespace

TEST_CASE("node sweeps: triangles and diagonal are those of the matrix") {
  Random random{std::mt19937_64(3)};
  struct Kind {
    int n, solids;
    bool fixed;
  };
  for (const Kind& kind : {Kind{4, 1, false}, Kind{4, 2, true}, Kind{11, 1, true}})
    for (const bool some_last : {false, true}) {
      const Solids solids(kind.n, kind.solids, 3, kind.fixed);
      const Sweeps s(solids, some_last, 1);
      const int n = solids.pattern.rows;
      const Vector b = random_vector(n, random);
      Vector y(at(n), 0.0), z(y), p(y), t(y), q(y), Ap(y);
      // (D + L) y = b
      s.sweeps.forward(b.data(), y.data());
      s.sweeps.lower_product(y.data(), z.data());
      CHECK(largest_difference(z, b) < 1e-12);
      // A p = (D + L) q with q = (D + L)^-1 A p from (D + U) p = b
      s.sweeps.backward(b.data(), p.data());
      const double curvature = s.sweeps.find_product(b.data(), p.data(), nullptr, t.data());
      for (std::size_t i = 0; i < q.size(); ++i) q[i] = p[i] + t[i];
      s.sweeps.lower_product(q.data(), z.data());
      s.A.multiply_nodes(0, static_cast<int>(s.A.nodes().size()), p.data(), Ap.data());
      CHECK(largest_difference(z, Ap) < 1e-12);
      CHECK(curvature == doctest::Approx(dot(p, Ap)).epsilon(1e-12));
      // p^ = z + beta p^
      Vector direction = b, other(at(n), 0.0);
      s.sweeps.find_direction(y.data(), -0.3, direction.data(), other.data());
      for (std::size_t i = 0; i < direction.size(); ++i) CHECK(direction[i] == doctest::Approx(y[i] - 0.3 * b[i]));
      s.sweeps.backward(direction.data(), z.data());
      CHECK(largest_difference(z, other) == 0);
      // (D + U) of six vectors
      const std::size_t room = 6 * at(n) + 4;
      Vector six(room, 0.0), products(room, 0.0);
      for (std::size_t i = 0; i < at(n); ++i) six[6 * i + 2] = p[i], six[6 * i + 5] = -p[i];
      s.sweeps.upper_products(six.data(), products.data());
      for (std::size_t i = 0; i < at(n); ++i) {
        CHECK(std::abs(products[6 * i + 2] - b[i]) < 1e-12);
        CHECK(products[6 * i + 5] == -products[6 * i + 2]);
        CHECK(products[6 * i] == 0);
      }
    }
}

TEST_CASE("node sweeps: nodes that come last have the factors of their own blocks") {
  Random random{std::mt19937_64(4)};
  const Solids solids(5, 1, 3, true);
  const Sweeps s(solids, true, 1);
  const int n = solids.pattern.rows;
  Vector b = random_vector(n, random), y(at(n), 0.0);
  for (int i = 0; i < n; ++i)
    if (s.last[at(s.A.node_of()[at(i)])] == 0) b[at(i)] = 0;
  s.sweeps.forward(b.data(), y.data());
  Vector x = b;
  s.sweeps.forward_last(x.data());
  CHECK(largest_difference(x, y) < 1e-14);
  CHECK(max_abs(x) > 0.01);
  // of the upper triangle the last nodes read their own places alone
  const Vector c = random_vector(n, random);
  s.sweeps.backward(c.data(), y.data());
  x = c;
  s.sweeps.backward_last(x.data());
  double largest = 0;
  for (int i = 0; i < n; ++i)
    if (s.last[at(s.A.node_of()[at(i)])] != 0) largest = std::max(largest, std::abs(x[at(i)] - y[at(i)]));
  CHECK(largest < 1e-14);
}

TEST_CASE("node sweeps: the same bits with one thread and with two") {
  Random random{std::mt19937_64(5)};
  const Solids solids(11, 1, 100, true);
  const int n = solids.pattern.rows;
  REQUIRE(n > 3000);
  const Vector r = random_vector(n, random);
  std::vector<SparseRow> rows;
  for (int i = 5; i < 100; ++i) rows.push_back({solids.unknowns[at(i)], {random(), random(), 1}});
  std::vector<const SparseRow*> G;
  for (const SparseRow& row : rows) G.push_back(&row);
  const Vector c(G.size(), 0.0);
  std::vector<Vector> results;
  for (const int threads : {1, 2, 3}) {
    ProjectedCg cg;
    cg.analyse(solids.pattern, solids.node, solids.equations, threads);
    REQUIRE(cg.prepare(solids.values, ProjectedCg::Preconditioner::blocks, solids.motions));
    REQUIRE(cg.set_rows(G));
    CHECK(cg.by_blocks());
    Vector x(at(n)), dl(G.size());
    REQUIRE(cg.solve(r, c, 1e-8, 0, 0, 500, x, dl) == Status::converged);
    CHECK(cg.uses_sweeps());
    results.push_back(x);
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEST_CASE("node sweeps: rigid motions of stiff solids cost no iterations") {
  Random random{std::mt19937_64(6)};
  for (const int solids : {1, 2}) {
    const Solids stiff(7, solids, 1e4, false);
    const int n = stiff.pattern.rows;
    const Vector r = random_vector(n, random);
    Vector minus_r(at(n));
    scale_into(-1.0, r, minus_r);
    // free, and with a face that slides
    for (const bool slides : {false, true}) {
      CAPTURE(solids);
      CAPTURE(slides);
      std::vector<SparseRow> rows;
      for (int i = 0; i < 49 && slides; ++i) rows.push_back({{stiff.unknowns[at(i)][2]}, {1.0}});
      std::vector<const SparseRow*> G;
      for (const SparseRow& row : rows) G.push_back(&row);
      const Vector c(G.size(), 0.0);
      int iterations[2] = {};
      Vector x[2] = {Vector(at(n)), Vector(at(n))}, dl(G.size());
      for (const bool modes : {false, true}) {
        ProjectedCg cg;
        cg.analyse(stiff.pattern, stiff.node, stiff.equations, 1);
        REQUIRE(cg.prepare(stiff.values, ProjectedCg::Preconditioner::blocks, modes ? In(stiff.motions) : In()));
        REQUIRE(cg.set_rows(G));
        REQUIRE(cg.solve(r, c, 1e-6, 0, 0, 500, x[modes ? 1 : 0], dl) == Status::converged);
        iterations[modes ? 1 : 0] = cg.iterations();
      }
      CHECK(iterations[1] < (solids == 1 ? 0.7 : 0.6) * iterations[0]);
      Vector residual = stiff.times(x[1]);
      axpy(1.0, r, residual);
      for (std::size_t k = 0; k < rows.size(); ++k) residual[at(rows[k].equation[0])] -= dl[k];
      CHECK(norm(residual) < 1e-5 * norm(r));
    }
  }
}

TEST_CASE("node sweeps: joints between stiff solids are exact") {
  Random random{std::mt19937_64(7)};
  for (const int links : {1, 5, 40}) {
    CAPTURE(links);
    const int nodes = 343;
    // links between nodes of both solids; with many of them node blocks take the place of the sweeps
    const Solids free(7, 2, 300, true);
    std::vector<SparseRow> joints;
    for (int k = 0; k < links; ++k)
      for (int i = 0; i < 2; ++i) {
        SparseRow row;
        for (const int g : {nodes - 1 - k, nodes + 10 + k}) {
          const std::vector<int>& own = free.unknowns[at(g)];
          for (const int e : own) row.equation.push_back(e), row.value.push_back(random());
        }
        row.value[at(i)] += 2;
        joints.push_back(row);
      }
    const Solids solids(7, 2, 300, true, joints);
    const int n = solids.pattern.rows;
    const Vector r = random_vector(n, random);
    ProjectedCg cg;
    cg.analyse(solids.pattern, solids.node, solids.equations, 1);
    REQUIRE(cg.prepare(solids.values, ProjectedCg::Preconditioner::blocks, solids.motions));
    REQUIRE(cg.set_rows({}));
    Vector x(at(n));
    REQUIRE(cg.solve(r, {}, 1e-9, 0, 0, 1000, x, {}) == Status::converged);
    CHECK(cg.uses_sweeps() == (links < 40));
    const Vector Ax = solids.times(x);
    double in_solids = 0, in_joints = 0;
    for (int i = 0; i < n; ++i) {
      double& worst = i < solids.equations ? in_solids : in_joints;
      worst = std::max(worst, std::abs(Ax[at(i)] + r[at(i)]));
    }
    CHECK(in_solids < 1e-6);
    CHECK(in_joints < 1e-9);
  }
}
