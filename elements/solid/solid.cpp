#include "elements/solid/solid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "elements/solid/solid_shape.hpp"

namespace carom {

using namespace solid;

std::vector<OutputField> solid_fields() {
  return {{"stress", 6, true, "Pa", "Cauchy stress at a node of a solid, averaged over its elements"},
          {"von_mises", 1, true, "Pa", "von Mises' equivalent stress at a node of a solid, averaged likewise"}};
}

double von_mises(const double* s) {
  const double a = s[0] - s[1], b = s[1] - s[2], c = s[2] - s[0];
  return std::sqrt(0.5 * (a * a + b * b + c * c) + 3 * (s[3] * s[3] + s[4] * s[4] + s[5] * s[5]));
}

double element_quality(SolidShape shape, const Vec3* x) {
  if (shape == SolidShape::tetrahedra) {
    double edges = 0;
    for (int a = 0; a < 4; ++a)
      for (int b = a + 1; b < 4; ++b) edges += (x[a] - x[b]).norm() / 6;
    const double six_volumes = (x[1] - x[0]).cross(x[2] - x[0]).dot(x[3] - x[0]);
    return std::sqrt(2.0) * six_volumes / (edges * edges * edges);
  }
  double edges = 0;
  for (int a = 0; a < 8; ++a)
    for (int b = a + 1; b < 8; ++b) {
      int differing = 0;
      for (int c = 0; c < 3; ++c) differing += Hexahedron::sign(a, c) != Hexahedron::sign(b, c) ? 1 : 0;
      if (differing == 1) edges += (x[a] - x[b]).norm() / 12;
    }
  double least = std::numeric_limits<double>::infinity();
  const auto meet = [&](const double(&dN)[8][3]) {
    Mat3 J = Mat3::Zero();
    for (int a = 0; a < 8; ++a) J += x[a] * Eigen::Map<const Vec3>(dN[a]).transpose();
    least = std::min(least, 8 * J.determinant() / (edges * edges * edges));
  };
  for (const auto& dN : table_of<Hexahedron>.dN) meet(dN);
  for (int a = 0; a < 8; ++a) {
    const double xi[3] = {Hexahedron::sign(a, 0), Hexahedron::sign(a, 1), Hexahedron::sign(a, 2)};
    double N[8], dN[8][3];
    Hexahedron::evaluate(xi, N, dN);
    meet(dN);
  }
  return least;
}

}  // namespace carom
