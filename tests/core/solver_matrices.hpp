// Shared by the tests of linear solvers: matrices of all kinds that occur in models, and the error of a solution.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "core/linear/linear_solver.hpp"
#include "core/linear/sparse.hpp"

namespace carom::solver_test {

using Method = LinearMethod;
constexpr MatrixProperties as_unsymmetric{};
constexpr MatrixProperties as_symmetric{true, false};
constexpr MatrixProperties as_definite{true, true};

// An own generator gives the same matrices with every standard library.
struct Random {
  std::mt19937_64 engine{7};
  double operator()() { return static_cast<double>(engine() >> 11) * 0x1p-52 - 1.0; }  // [-1, 1)
  int below(int n) { return static_cast<int>(engine() % static_cast<std::uint64_t>(n)); }
};

struct Matrix {
  SparsePattern pattern;
  std::vector<double> values;

  double& operator()(int i, int j) {
    const int k = pattern.find(i, j);
    REQUIRE(k >= 0);
    return values[at(k)];
  }
  template <class F>
  void each(F&& f) {
    for (int i = 0; i < pattern.rows; ++i)
      for (int k = pattern.row_start[at(i)]; k < pattern.row_start[at(i) + 1]; ++k)
        f(i, pattern.column[at(k)], values[at(k)]);
  }
};

inline Matrix zero_matrix(SparsePattern pattern) {
  Matrix m{std::move(pattern), {}};
  m.values.assign(m.pattern.column.size(), 0.0);
  return m;
}

inline std::vector<int> range(int first, int count) {
  std::vector<int> r(at(count));
  for (int i = 0; i < count; ++i) r[at(i)] = first + i;
  return r;
}

enum class Kind { unsymmetric, symmetric, definite };
inline MatrixProperties properties_of(Kind kind) {
  return kind == Kind::unsymmetric ? as_unsymmetric : kind == Kind::symmetric ? as_symmetric : as_definite;
}

// Random values on a symmetric pattern, well conditioned by a large diagonal; indefinite if the kind is only symmetric.
inline void fill(Matrix& m, Kind kind, Random& random) {
  std::vector<double> sum(at(m.pattern.rows), 0.0);
  m.each([&](int i, int j, double& v) {
    if (i == j) return;
    v = kind != Kind::unsymmetric && j < i ? m(j, i) : random();
  });
  m.each([&](int i, int j, double& v) {
    if (i != j) sum[at(i)] += std::fabs(v);
  });
  m.each([&](int i, int j, double& v) {
    if (i == j) v = (0.5 + 1.1 * sum[at(i)]) * (kind != Kind::definite && i % 3 == 1 ? -1.0 : 1.0);
  });
}

inline Matrix full_matrix(int n, Kind kind, Random& random) {
  PatternBuilder b(n, n);
  b.add_block(range(0, n), range(0, n));
  Matrix m = zero_matrix(b.build());
  fill(m, kind, random);
  return m;
}

inline Matrix scattered_matrix(int n, int per_row, Kind kind, Random& random) {
  PatternBuilder b(n, n);
  for (int i = 0; i < n; ++i) {
    b.add(i, i);
    for (int k = 0; k < per_row; ++k) {
      const int j = random.below(n);
      b.add(i, j);
      b.add(j, i);
    }
  }
  Matrix m = zero_matrix(b.build());
  fill(m, kind, random);
  return m;
}

inline Matrix band_matrix(int n, int width, Kind kind, Random& random) {
  PatternBuilder b(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = std::max(0, i - width); j <= std::min(n - 1, i + width); ++j) b.add(i, j);
  Matrix m = zero_matrix(b.build());
  fill(m, kind, random);
  return m;
}

// Two-node elements with `dofs` unknowns per node in a row.
inline Matrix block_chain(int nodes, int dofs, Kind kind, Random& random) {
  PatternBuilder b(nodes * dofs, nodes * dofs);
  for (int e = 0; e + 1 < nodes; ++e) b.add_block(range(e * dofs, 2 * dofs), range(e * dofs, 2 * dofs));
  Matrix m = zero_matrix(b.build());
  fill(m, kind, random);
  return m;
}

// Seven-point Laplacian of an n^3 grid with three unknowns per node, coupled within a node.
inline Matrix grid_laplacian(int n, bool convection) {
  const auto node = [n](int x, int y, int z) { return x + n * (y + n * z); };
  PatternBuilder b(3 * n * n * n, 3 * n * n * n);
  std::vector<std::pair<int, int>> edges;
  for (int z = 0; z < n; ++z)
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) {
        if (x + 1 < n) edges.emplace_back(node(x, y, z), node(x + 1, y, z));
        if (y + 1 < n) edges.emplace_back(node(x, y, z), node(x, y + 1, z));
        if (z + 1 < n) edges.emplace_back(node(x, y, z), node(x, y, z + 1));
      }
  for (const auto& [p, q] : edges) {
    b.add_block(range(3 * p, 3), range(3 * p, 3));
    b.add_block(range(3 * q, 3), range(3 * q, 3));
    b.add_block(range(3 * p, 3), range(3 * q, 3));
    b.add_block(range(3 * q, 3), range(3 * p, 3));
  }
  Matrix m = zero_matrix(b.build());
  for (const auto& [p, q] : edges)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const double c = i == j ? 1.0 : 0.2, drift = convection ? 0.3 : 0.0;
        m(3 * p + i, 3 * p + j) += c;
        m(3 * q + i, 3 * q + j) += c;
        m(3 * p + i, 3 * q + j) -= c - drift;
        m(3 * q + i, 3 * p + j) -= c + drift;
      }
  for (int i = 0; i < m.pattern.rows; ++i) m(i, i) += 0.1;
  return m;
}

// [[S, -G^T], [-G, 0]]: a chain of bodies with six unknowns, three constraints between neighbours and to the ground;
// the zero block has a stored diagonal or not. Every `massless`-th body has no S and is held by six constraints.
inline Matrix saddle_point(int bodies, int has_massless_equation, bool stored_diagonal, bool same_gradient,
                           Random& random) {
  const int n = 6 * bodies;
  std::vector<std::pair<int, int>> joints;  // body, other body or -1
  for (int i = 0; i < bodies; ++i) {
    joints.emplace_back(i, i - 1);
    if (has_massless_equation && i % has_massless_equation == has_massless_equation - 1) joints.emplace_back(i, i - 1);
  }
  const int rows = n + 3 * static_cast<int>(joints.size());
  PatternBuilder b(rows, rows);
  for (int i = 0; i < bodies; ++i) b.add_block(range(6 * i, 6), range(6 * i, 6));
  int row = n;
  const auto columns = [](const std::pair<int, int>& joint) {
    std::vector<int> c = range(6 * joint.first, 6);
    if (joint.second >= 0)
      for (const int j : range(6 * joint.second, 6)) c.push_back(j);
    return c;
  };
  for (const auto& joint : joints) {
    b.add_block(range(row, 3), columns(joint));
    b.add_block(columns(joint), range(row, 3));
    for (int i = row; stored_diagonal && i < row + 3; ++i) b.add(i, i);
    row += 3;
  }
  Matrix m = zero_matrix(b.build());
  for (int i = 0; i < bodies; ++i) {
    if (has_massless_equation && i % has_massless_equation == has_massless_equation - 1) continue;
    for (int p = 0; p < 6; ++p)
      for (int q = 0; q <= p; ++q) {
        const double v = p == q ? 2.0 + random() : 0.1 * random();
        m(6 * i + p, 6 * i + q) = v;
        m(6 * i + q, 6 * i + p) = same_gradient ? v : 0.9 * v;
      }
  }
  row = n;
  for (const auto& joint : joints) {
    // A second joint of the same body constrains its rotations.
    const int part = row > n && joint == joints[at((row - n) / 3 - 1)] ? 3 : 0;
    for (int c = 0; c < 3; ++c, ++row)
      for (const int j : columns(joint)) {
        const double v = (j == 6 * joint.first + part + c ? -2.0 : 0.0) + 0.2 * random();
        m(row, j) = v;
        m(j, row) = same_gradient ? v : v * (1 + 0.05 * random());
      }
  }
  return m;
}

inline double norm(std::span<const double> v) {
  double largest = 0;
  for (const double x : v) largest = std::max(largest, std::isfinite(x) ? std::fabs(x) : 1e300);
  return largest;
}

// Largest |A x - b| / (|A| |x| + |b|), maximum norms, over several right-hand sides.
inline double residual(LinearSolver& solver, const Matrix& m, int columns, Random& random) {
  const int n = m.pattern.rows;
  std::vector<double> b(at(n * columns)), ax(at(n)), row(at(n), 0.0), ones(at(n), 1.0), magnitude = m.values;
  for (double& x : b) x = random();
  for (double& x : magnitude) x = std::fabs(x);
  double worst = 0;
  std::vector<double> x = b;
  solver.solve(x, columns);
  multiply(m.pattern, magnitude, ones, row);
  for (int c = 0; c < columns; ++c) {
    const std::span<const double> xc(x.data() + at(c * n), at(n)), bc(b.data() + at(c * n), at(n));
    multiply(m.pattern, m.values, xc, ax);
    for (std::size_t i = 0; i < at(n); ++i) ax[i] -= bc[i];
    worst = std::max(worst, norm(ax) / (norm(row) * norm(xc) + norm(bc)));
  }
  return worst;
}

inline LinearSolver solver_for(const Matrix& m, MatrixProperties properties, Method method = Method::automatic) {
  LinearSolver s;
  s.set_method(method);
  s.analyse(m.pattern, properties);
  return s;
}

inline const std::vector<Method> all_methods{Method::automatic, Method::dense,   Method::banded,  Method::block_chain,
                                             Method::klu,       Method::frontal, Method::umfpack, Method::cholmod};

}  // namespace carom::solver_test
