// Shapes of solid elements: shape functions and their derivatives at the Gauss points, in natural coordinates.
//
//   hexahedron   8 nodes in the order of VTK and Gmsh: the face at zeta = -1 with (-,-), (+,-), (+,+), (-,+), then
//                the face at zeta = +1; trilinear, 2 x 2 x 2 points
//   tetrahedron  4 nodes; linear, one point
#pragma once

#include "elements/solid/solid_law.hpp"

namespace carom::solid {

namespace {

template <int node_count, int point_count>
struct ShapeTable {
  double N[point_count][node_count] = {};
  double dN[point_count][node_count][3] = {};
  double place[point_count][3] = {};  ///< natural coordinates
  double weight = 0;                  ///< the same for every point
};

struct Hexahedron {
  static constexpr int nodes = 8, points = 8;
  static constexpr double gauss = 0.57735026918962576451;  ///< 1/sqrt(3)
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
      for (int c = 0; c < 3; ++c) t.place[p][c] = sign(p, c) * gauss;
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

// ---- Sum factorisation of the hexahedron: the derivative of a field along a natural axis is, at a Gauss point, the
// bilinear interpolation of half of the differences along the four edges of this axis. Two Gauss points that differ
// along the axis only have the same value, so there are four values per axis.
// [Orszag, J. Comput. Phys. 37 (1980) 70; Melenk, Gerdes & Schwab, Comput. Methods Appl. Mech. Engrg. 190 (2001) 4339]

/// By axis, edge or pair of points, and component.
using AxisValues = Lanes[3][4][3];

struct HexahedronEdges {
  int minus[3][4] = {}, plus[3][4] = {};  ///< nodes at the ends of an edge
  int of_point[8][3] = {};                ///< place of a point's value among the four of an axis

  constexpr HexahedronEdges() {
    for (int a = 0; a < 8; ++a)
      for (int axis = 0; axis < 3; ++axis) {
        const int k =
            (Hexahedron::sign(a, (axis + 1) % 3) > 0 ? 1 : 0) + (Hexahedron::sign(a, (axis + 2) % 3) > 0 ? 2 : 0);
        (Hexahedron::sign(a, axis) > 0 ? plus : minus)[axis][k] = a;
        of_point[a][axis] = k;  // points have the signs of the nodes
      }
  }
};
inline constexpr HexahedronEdges hexahedron_edges;

/// From the edges to the points or, because the matrix is symmetric, from forces at the points to forces at the edges.
inline void interpolate_edges(Lanes (&values)[4][3]) {
  constexpr double near = 0.5 * (1 + Hexahedron::gauss), far = 0.5 * (1 - Hexahedron::gauss);
  for (int i = 0; i < 3; ++i) {
    Lanes first[4];
    for (int k = 0; k < 4; ++k) first[k] = near * values[k][i] + far * values[k ^ 1][i];
    for (int k = 0; k < 4; ++k) values[k][i] = near * first[k] + far * first[k ^ 2];
  }
}

/// Derivatives of x along the natural axes at the Gauss points.
inline void axis_derivatives(const Lanes (*x)[3], AxisValues& values) {
  for (int axis = 0; axis < 3; ++axis) {
    for (int k = 0; k < 4; ++k)
      for (int i = 0; i < 3; ++i)
        values[axis][k][i] = 0.5 * (x[hexahedron_edges.plus[axis][k]][i] - x[hexahedron_edges.minus[axis][k]][i]);
    interpolate_edges(values[axis]);
  }
}

/// f += the derivative of an energy by x from that by axis_derivatives(), which changes.
inline void add_axis_forces(AxisValues& values, Lanes (*f)[3]) {
  for (int axis = 0; axis < 3; ++axis) {
    interpolate_edges(values[axis]);
    for (int k = 0; k < 4; ++k)
      for (int i = 0; i < 3; ++i) {
        f[hexahedron_edges.plus[axis][k]][i] += 0.5 * values[axis][k][i];
        f[hexahedron_edges.minus[axis][k]][i] -= 0.5 * values[axis][k][i];
      }
  }
}

/// Derivatives at a point: D[i][axis].
inline void at_point(const AxisValues& values, int p, Matrix3& D) {
  for (int axis = 0; axis < 3; ++axis)
    for (int i = 0; i < 3; ++i) D[i][axis] = values[axis][hexahedron_edges.of_point[p][axis]][i];
}

}  // namespace

}  // namespace carom::solid
