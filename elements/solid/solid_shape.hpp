// Shapes of solid elements: shape functions and their derivatives at the Gauss points, in natural coordinates.
//
//   hexahedron   8 nodes in the order of VTK and Gmsh: the face at zeta = -1 with (-,-), (+,-), (+,+), (-,+), then
//                the face at zeta = +1; trilinear, 2 x 2 x 2 points
//   tetrahedron  4 nodes; linear, one point
#pragma once

#include "elements/solid/solid_law.hpp"

namespace carom::solid {

template <int node_count, int point_count>
struct ShapeTable {
  double N[point_count][node_count] = {};
  double dN[point_count][node_count][3] = {};
  double place[point_count][3] = {};  ///< natural coordinates
  double weight = 0;                  ///< the same for every point
};

struct Hexahedron {
  static constexpr int nodes = 8, points = 8;
  /// Sign of a natural coordinate of a node.
  static constexpr double sign(int node, int axis) {
    if (axis == 2) return node < 4 ? -1 : 1;
    const int k = node % 4;
    return axis == 0 ? (k == 1 || k == 2 ? 1 : -1) : (k >= 2 ? 1 : -1);
  }
  /// Shape functions and derivatives at the point xi.
  static constexpr void evaluate(const double xi[3], double N[nodes], double dN[nodes][3]) {
    for (int a = 0; a < nodes; ++a) {
      double f[3] = {};
      for (int c = 0; c < 3; ++c) f[c] = 0.5 * (1 + sign(a, c) * xi[c]);
      N[a] = f[0] * f[1] * f[2];
      for (int c = 0; c < 3; ++c) dN[a][c] = 0.5 * sign(a, c) * f[(c + 1) % 3] * f[(c + 2) % 3];
    }
  }
  static constexpr ShapeTable<nodes, points> make_table() {
    ShapeTable<nodes, points> t;
    t.weight = 1;
    for (int p = 0; p < points; ++p) {
      for (int c = 0; c < 3; ++c) t.place[p][c] = sign(p, c) * 0.57735026918962576451;
      evaluate(t.place[p], t.N[p], t.dN[p]);
    }
    return t;
  }
  static constexpr ShapeTable<nodes, 1> make_centre() {
    ShapeTable<nodes, 1> t;
    t.weight = 8;
    evaluate(t.place[0], t.N[0], t.dN[0]);
    return t;
  }
};

struct Tetrahedron {
  static constexpr int nodes = 4, points = 1;
  static constexpr ShapeTable<nodes, points> make_table() {
    ShapeTable<nodes, points> t;
    t.weight = 1.0 / 6;
    for (int c = 0; c < 3; ++c) {
      t.place[0][c] = 0.25;
      t.dN[0][0][c] = -1;
      t.dN[0][c + 1][c] = 1;
    }
    for (double& N : t.N[0]) N = 0.25;
    return t;
  }
  static constexpr ShapeTable<nodes, 1> make_centre() { return make_table(); }
};

template <class Shape>
inline constexpr auto table_of = Shape::make_table();
template <class Shape>
inline constexpr auto centre_of = Shape::make_centre();

/// Positions relative to the first node: this keeps all digits of an element far from the origin.
template <int nodes>
inline void from_first(const Lanes (&places)[nodes][3], Lanes (*relative)[3]) {
  for (int a = 0; a < nodes; ++a)
    for (int i = 0; i < 3; ++i) relative[a][i] = places[a][i] - places[0][i];
}

/// Inverse of the Jacobian dX/dxi: inverse[alpha][I] = d xi_alpha / d X_I. Returns the determinant.
template <int nodes>
inline Lanes inverse_jacobian(const Lanes (&X)[nodes][3], const double (&dN)[nodes][3], Matrix3& inverse) {
  Matrix3 J, cof;
  for (int i = 0; i < 3; ++i)
    for (int c = 0; c < 3; ++c) {
      J[i][c] = X[0][i] * dN[0][c];
      for (int a = 1; a < nodes; ++a) J[i][c] += X[a][i] * dN[a][c];
    }
  const Lanes det = cofactors(J, cof), factor = 1.0 / det;
  for (int i = 0; i < 3; ++i)
    for (int c = 0; c < 3; ++c) inverse[c][i] = cof[i][c] * factor;
  return det;
}

/// Gradients g_a of the shape functions with respect to X. Returns det dX/dxi.
template <int nodes>
inline Lanes reference_gradients(const Lanes (&X)[nodes][3], const double (&dN)[nodes][3], Lanes (*g)[3]) {
  Matrix3 inverse;
  const Lanes det = inverse_jacobian(X, dN, inverse);
  for (int a = 0; a < nodes; ++a)
    for (int i = 0; i < 3; ++i)
      g[a][i] = dN[a][0] * inverse[0][i] + dN[a][1] * inverse[1][i] + dN[a][2] * inverse[2][i];
  return det;
}

}  // namespace carom::solid
