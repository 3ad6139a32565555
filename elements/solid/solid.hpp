// Solid elements: 8-node hexahedra (trilinear, 2 x 2 x 2 Gauss points) and 4-node tetrahedra (one point) on
// translational nodes, total Lagrangian, hyperelastic. Derivation: docs/elements/solid.md.
//
//   f_int = -dE/dx,  E = sum w psi(F),   M_ab = int rho N_a N_b dV 1,   f_damp = -(alpha M v + beta-part)
//
// Laws (elements/solid/solid_law.hpp): Saint Venant-Kirchhoff ("geometrically nonlinear, linear material", the cube of
// [DS20] 4.4), compressible neo-Hookean, corotational linear. Damping of Rayleigh's kind: alpha M v and the viscous
// stress S = beta C : E' (E' rate of Green-Lagrange strain, C elasticity tensor). At the undeformed configuration the
// viscous force is beta K v; unlike beta K v it vanishes in rigid motions. Elements are evaluated in groups.
// Output at the nodes: Cauchy stress xx, yy, zz, xy, yz, xz (corotational law: its stress rotated with the element) and
// von Mises stress, extrapolated linearly from the Gauss points.
// Limits: a plain hexahedron is too stiff in bending, by the factor 1 + (G/E)(a/h)^2 for nu = 0 with one element of
// length a over the height h, and for nu near 1/2; use `incompatible_modes` there. A tetrahedron is always too stiff.
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
  std::vector<Vec3> reference;     ///< undeformed positions of these nodes
  std::vector<std::string> names;  ///< names of the elements for messages; may be empty
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

/// Von Mises stress of a stress xx, yy, zz, xy, yz, xz.
double von_mises(const double* stress);

/// The smallest det dX/dxi at the Gauss points and nodes of an element, divided by the mean edge length cubed: 1 for a
/// cube, <= 0 if inverted or flat. x: positions of the nodes.
double element_quality(SolidShape shape, const Vec3* x);

}  // namespace carom
