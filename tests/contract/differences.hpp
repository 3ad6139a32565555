// What the checks by differentiation share: random states, finite differences, comparison of dense arrays.
#pragma once

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "core/lie/so3.hpp"
#include "core/mechanics/system.hpp"

namespace carom::test {

using Matrix = Eigen::MatrixXd;
using ColumnVector = Eigen::VectorXd;

class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}
  double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(generator_); }
  double sign() { return between(-1, 1) < 0 ? -1 : 1; }
  double normal() { return std::normal_distribution<double>()(generator_); }
  Vec3 vector() {
    const double x = normal(), y = normal(), z = normal();
    return {x, y, z};
  }
  Vec3 in_box(double half) {
    const double x = between(-half, half), y = between(-half, half), z = between(-half, half);
    return {x, y, z};
  }
  Vec3 direction() { return vector().normalized(); }
  /// Uniform over all rotations.
  Quaternion rotation() {
    const double w = normal();
    const Vec3 v = vector();
    return Quaternion(w, v[0], v[1], v[2]).normalized();
  }
  Mat3 rotation_matrix() { return so3::quaternion_to_matrix(rotation()); }
  /// Symmetric, positive definite.
  Mat3 inertia() {
    const Mat3 R = rotation_matrix();
    return R * Vec3(0.5, 0.9, 1.3).asDiagonal() * R.transpose();
  }
  Vector normals(int n) {
    Vector x(at(n));
    for (double& xi : x) xi = normal();
    return x;
  }

 private:
  std::mt19937 generator_;
};

/// A state of a whole system.
struct Motion {
  Vector q, v, a;
  double t = 0;
};

/// Positions in a box of half size 1.5, no two nodes nearer than `spacing`; any rotation, velocity, acceleration, time.
inline Motion random_motion(const System& system, Random& random, double spacing = 0.8) {
  const DofMap& dofs = system.dofs();
  Motion m;
  m.q.resize(at(dofs.configuration_size()));
  std::vector<Vec3> places;
  for (int node = 0; node < dofs.nodes(); ++node) {
    double* q = m.q.data() + dofs.configuration_offset(node);
    if (dofs.kind(node) == NodeKind::scalar) {
      *q = random.between(-1.5, 1.5);
      continue;
    }
    Vec3 x = random.in_box(1.5);
    const auto too_near = [&](const Vec3& y) { return (x - y).norm() < spacing; };
    while (std::any_of(places.begin(), places.end(), too_near)) x = random.in_box(1.5);
    places.push_back(x);
    Eigen::Map<Vec3>{q} = x;
    if (dofs.kind(node) == NodeKind::frame) Eigen::Map<Quaternion>(q + 3) = random.rotation();
  }
  m.v = random.normals(system.size());
  m.a = random.normals(system.size());
  m.t = random.between(0, 3);
  return m;
}

/// d/ds f(s) at s = 0 for f(double) -> Vector: central differences at three steps, extrapolated to O(h^6).
template <class F>
Vector derivative(const F& f, double h = 4e-3) {
  std::array<Vector, 3> D;
  for (Vector& d : D) {
    d = f(h);
    const Vector minus = f(-h);
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = (d[i] - minus[i]) / (2 * h);
    h /= 2;
  }
  Vector result(D[0].size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double coarse = (4 * D[1][i] - D[0][i]) / 3, fine = (4 * D[2][i] - D[1][i]) / 3;
    result[i] = (16 * fine - coarse) / 15;
  }
  return result;
}

/// q o exp(s w)
inline Vector moved(const System& system, const Vector& q, const Vector& w, double s) {
  Vector d(w), out(q.size());
  for (double& x : d) x *= s;
  system.retract(q, d, out);
  return out;
}

/// The derivative of f(q) -> Vector along q o exp(e w) for every unit w: one column per equation.
template <class F>
Matrix configuration_gradient(const System& system, const Vector& q, const F& f) {
  const int rows = static_cast<int>(f(q).size());
  Matrix D(rows, system.size());
  Vector w(at(system.size()), 0.0);
  for (int e = 0; e < system.size(); ++e) {
    w[at(e)] = 1;
    const Vector column = derivative([&](double s) { return f(moved(system, q, w, s)); });
    D.col(e) = Eigen::Map<const ColumnVector>(column.data(), rows);
    w[at(e)] = 0;
  }
  return D;
}

/// The derivative of f(x) -> Vector with respect to the entries of x.
template <class F>
Matrix gradient(const Vector& x, const F& f) {
  const int rows = static_cast<int>(f(x).size());
  Matrix D(rows, static_cast<int>(x.size()));
  for (std::size_t e = 0; e < x.size(); ++e) {
    const Vector column = derivative([&](double s) {
      Vector y(x);
      y[e] += s;
      return f(y);
    });
    D.col(static_cast<int>(e)) = Eigen::Map<const ColumnVector>(column.data(), rows);
  }
  return D;
}

inline Matrix column(const Vector& x) {
  return Eigen::Map<const ColumnVector>(x.data(), static_cast<Eigen::Index>(x.size()));
}

inline double largest(const Matrix& x) { return x.size() == 0 ? 0.0 : x.cwiseAbs().maxCoeff(); }
inline double largest(const Vector& x) { return largest(column(x)); }

/// |a - b| in units of the larger of both and of `scale`; infinite if not a number.
inline double relative_error(const Matrix& a, const Matrix& b, double scale = 0) {
  REQUIRE(a.rows() == b.rows());
  REQUIRE(a.cols() == b.cols());
  if (!a.allFinite() || !b.allFinite()) return std::numeric_limits<double>::infinity();
  const double difference = largest(Matrix(a - b));
  return difference == 0 ? 0 : difference / std::max({largest(a), largest(b), scale});
}
inline double relative_error(const Vector& a, const Vector& b, double scale = 0) {
  return relative_error(column(a), column(b), scale);
}

/// Local components of the items of a block, as the System would gather them.
inline Vector gathered(const System& system, const Topology& topology, const Vector& global) {
  Vector local;
  for (int item = 0; item < topology.items; ++item)
    for (std::size_t k = 0; k < topology.slots.size(); ++k)
      for (int c = 0; c < topology.slots[k].components; ++c) {
        const int e =
            system.dofs().equation(topology.node(item, static_cast<int>(k)), topology.slots[k].first_component + c);
        local.push_back(e < 0 ? 0.0 : global[at(e)]);
      }
  return local;
}

/// Equation of every local component, -1 without.
inline std::vector<int> equations_of(const System& system, const Topology& topology) {
  std::vector<int> list;
  for (int item = 0; item < topology.items; ++item)
    for (std::size_t k = 0; k < topology.slots.size(); ++k)
      for (int c = 0; c < topology.slots[k].components; ++c)
        list.push_back(
            system.dofs().equation(topology.node(item, static_cast<int>(k)), topology.slots[k].first_component + c));
  return list;
}

/// Local matrices of rows x local_size per item, one after the other, as one matrix with a column per equation.
inline Matrix spread(const System& system, const Topology& topology, const Vector& local, int rows) {
  const std::vector<int> equations = equations_of(system, topology);
  const int m = topology.local_size;
  Matrix D = Matrix::Zero(topology.items * rows, system.size());
  for (int item = 0; item < topology.items; ++item)
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < m; ++c)
        if (const int e = equations[at(item * m + c)]; e >= 0)
          D(item * rows + r, e) += local[at((item * rows + r) * m + c)];
  return D;
}

/// Zeroes the rows of local components that have no equation.
inline void drop_surplus(const std::vector<int>& equations, Matrix& D) {
  for (std::size_t i = 0; i < equations.size(); ++i)
    if (equations[i] < 0) D.row(static_cast<int>(i)).setZero();
}

// ---- parts of a vector, the assembled matrix

inline Vector slice(const Vector& x, std::size_t first, std::size_t count) {
  const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

inline Matrix dense(const System& s, const Vector& values) {
  const SparsePattern& p = s.saddle_pattern();
  Matrix A = Matrix::Zero(p.rows, p.cols);
  for (int i = 0; i < p.rows; ++i)
    for (int k = p.row_start[at(i)]; k < p.row_start[at(i + 1)]; ++k) A(i, p.column[at(k)]) = values[at(k)];
  return A;
}
inline Matrix assembled(const System& s, const Linearisation& request) {
  // filled with rubbish: assemble() overwrites
  Vector values(at(s.saddle_pattern().nonzeros()), 1e9);
  s.assemble(request, values);
  return dense(s, values);
}

}  // namespace carom::test
