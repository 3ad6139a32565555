// Pressure on faces of solids: quadrangles (bilinear, 2 x 2 Gauss points) and triangles (linear, one point).
//
//   follower   f_a = - p sum w N_a (x_xi x x_eta)       along the deformed normal, p times the deformed area
//   dead       f_a = - p sum w N_a (X_xi x X_eta)       the force on the undeformed face
//
// The nodes of a face are ordered counter-clockwise seen from outside; positive pressure pushes inwards. The tangent of
// a follower pressure is exact, and unsymmetric if the loaded surface has a free edge. Pressure has no potential here:
// its energy is accounted as work.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/formula/time_function.hpp"
#include "core/mechanics/element_block.hpp"

namespace carom {

struct PressureFace {
  std::array<int, 4> nodes{-1, -1, -1, -1};  ///< the last entry is -1 for a triangle
  std::array<Vec3, 4> reference{};           ///< undeformed positions
  int load = 0;                              ///< index into the block's pressures
};

/// Integrals of the shape functions over a face with 3 or 4 nodes: the area that belongs to each node.
std::array<double, 4> nodal_areas(const std::array<Vec3, 4>& places, int nodes);

class PressureBlock final : public ElementBlock {
 public:
  /// All faces of a block have three nodes, or all have four.
  PressureBlock(std::string name, std::vector<PressureFace> faces, std::vector<TimeFunction> pressures, bool follower);

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override;
  void add_mass_times(Range, const ElementInput&, const double*, MassKind, double*) const override {}
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range, const ElementInput&) const override { return {}; }

 private:
  /// Positions of the nodes that define the normal: deformed for a follower, undeformed for a dead pressure.
  std::array<Vec3, 4> places(const ElementInput& in, int face) const;

  std::vector<PressureFace> faces_;
  std::vector<TimeFunction> pressures_;
  bool follower_;
  int nodes_;
};

}  // namespace carom
