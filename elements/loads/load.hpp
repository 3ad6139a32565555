// Forces and torques at points: constant, tabulated, or formulas of t.
//
//   force at a point of a node:  f = J^T F        torque on a frame:  f = (0, R^T M) or (0, M)
//
// The value is in inertial axes (dead load) or in body axes (follower load). No load has a potential: its energy is
// accounted as work.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/formula/time_function.hpp"
#include "core/mechanics/body_point.hpp"
#include "core/mechanics/element_block.hpp"

namespace carom {

struct Load {
  enum class Kind { force, torque };
  Kind kind = Kind::force;
  int node = 0;
  Vec3 offset = Vec3::Zero();  ///< point of application in body axes; for forces only
  bool body_axes = false;
  std::array<TimeFunction, 3> value;
  /// Multiplies the value: the loaded length of a distributed load, the share of a total, or a rotation of axes.
  Mat3 factor = Mat3::Identity();
  bool as_before = false;  ///< use the value of the preceding load of the block without evaluating it again
};

class LoadBlock final : public ElementBlock {
 public:
  /// on_frame: true if all nodes are frames, false if all nodes are translational. A block must not mix the two.
  LoadBlock(std::string name, std::vector<Load> loads, bool on_frame);

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override;
  void add_mass_times(Range, const ElementInput&, const double*, MassKind, double*) const override {}
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range, const ElementInput&) const override { return {}; }

 private:
  std::vector<Load> loads_;
};

}  // namespace carom
