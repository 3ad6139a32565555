// Pressure on quadrangles (bilinear, 2 x 2 Gauss points) and triangles (linear, one point) of solids' surfaces.
//
//   follower   f_a = - p sum w N_a (x_xi x x_eta)       normal to the deformed face, p times its present area
//   dead       f_a = - p sum w N_a (X_xi x X_eta)       force of the undeformed face
//
// Faces turn counter-clockwise seen from outside; positive pressure pushes inwards. The follower's tangent is exact and
// unsymmetric where a face has an edge that is free. What a pressure gives is work: it has no potential here.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/formula/time_function.hpp"
#include "core/mechanics/element_block.hpp"

namespace carom {

struct PressureFace {
  std::array<int, 4> nodes{-1, -1, -1, -1};  ///< of a triangle the last is -1
  std::array<Vec3, 4> reference{};           ///< undeformed places
  int load = 0;                              ///< which of the block's pressures
};

/// Integrals of the shape functions over a face of 3 or 4 nodes: the area that belongs to each of them.
std::array<double, 4> nodal_areas(const std::array<Vec3, 4>& places, int nodes);

class PressureBlock final : public ElementBlock {
 public:
  /// Faces of one block all have three, or all four nodes.
  PressureBlock(std::string name, std::vector<PressureFace> faces, std::vector<TimeFunction> pressures, bool follower);

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override;
  void add_mass_times(Range, const ElementInput&, const double*, MassKind, double*) const override {}
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range, const ElementInput&) const override { return {}; }

 private:
  /// Places of the nodes that the normal is taken from.
  std::array<Vec3, 4> places(const ElementInput& in, int face) const;

  std::vector<PressureFace> faces_;
  std::vector<TimeFunction> pressures_;
  bool follower_;
  int nodes_;
};

}  // namespace carom
