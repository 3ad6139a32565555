// Solid elements: 8-node hexahedra (trilinear, 2 x 2 x 2 Gauss points) and 4-node tetrahedra (one point) on
// translational nodes, total Lagrangian, hyperelastic (THEORY section 10).
//
//   f_int = -dE/dx,  E = sum w psi(F),   M_ab = int rho N_a N_b dV 1,   f_damp = -(alpha M v + beta-part)
//
// Laws (elements/solid/solid_law.hpp): Saint Venant-Kirchhoff ("geometrically nonlinear, linear material", the cube of
// [DS20] 4.4), compressible neo-Hookean, corotational linear. Damping of Rayleigh's kind: alpha M v, and the viscous
// stress S = beta C : E' (E' rate of Green-Lagrange strain, C the elasticities), which is beta K v at the undeformed
// configuration and, unlike that, gives nothing in a rigid motion. Elements are evaluated four at a time.
// Output: Cauchy stress (of the corotational law: its stress, turned with the element) xx, yy, zz, xy, yz, xz and von
// Mises' equivalent at the nodes, extrapolated from the Gauss points by the function that is linear between them.
// Limits: a plain hexahedron is too stiff in bending, by 1 + (G/E)(a/h)^2 for nu = 0 with one element of length a over
// the height h, and for nu near 1/2; `incompatible_modes` is the cure. A tetrahedron is too stiff always.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/mechanics/element_block.hpp"

namespace carom {

enum class SolidShape { hexahedra, tetrahedra };

struct SolidOptions {
  bool incompatible_modes = false;  ///< hexahedra only; elements/solid/solid_kernel.hpp
  MassKind mass = MassKind::consistent;
  double mass_damping = 0, stiffness_damping = 0;
};

struct SolidMesh {
  SolidShape shape = SolidShape::hexahedra;
  std::vector<int> nodes;          ///< 8 or 4 per element, in the order of VTK and Gmsh
  std::vector<Vec3> reference;     ///< undeformed place of each of these
  std::vector<std::string> names;  ///< of the elements, for messages; may be empty
};

inline int nodes_per_element(SolidShape shape) { return shape == SolidShape::hexahedra ? 8 : 4; }

class SolidBlock : public ElementBlock {
 public:
  using ElementBlock::ElementBlock;

  virtual SolidShape shape() const = 0;
  /// Reference volume of an element.
  virtual double volume(int element) const = 0;
};

/// A law with its constants makes the block of a mesh. Laws: elastic_laws.hpp; a new one: solid_law.hpp.
using SolidLaw = std::function<std::unique_ptr<SolidBlock>(std::string name, SolidMesh mesh, double density,
                                                           const SolidOptions& options)>;

/// The output of solids.
std::vector<OutputField> solid_fields();

/// von Mises' equivalent of a stress xx, yy, zz, xy, yz, xz.
double von_mises(const double* stress);

/// The least determinant dX/dxi at the Gauss points and nodes of an element over the mean edge length cubed: 1 for a
/// cube, <= 0 if inverted or flat. `x` are its nodes.
double element_quality(SolidShape shape, const Vec3* x);

}  // namespace carom
