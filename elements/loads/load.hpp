// Forces and torques at points, constant, tabulated or by formulas of t.
//
//   force at a point of a node:  f = J^T F        torque on a frame:  f = (0, R^T M) or (0, M)
//
// given in inertial axes (a dead load) or in body axes (follower). What a load gives is work: none has a potential.
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
  Vec3 offset = Vec3::Zero();  ///< of the point, body axes; forces only
  bool body_axes = false;
  std::array<TimeFunction, 3> value;
  /// Of the value: a length that a distributed load acts on, a share of a total, axes other than the node's.
  Mat3 factor = Mat3::Identity();
  bool as_before = false;  ///< its value is that of the load before it in the block, which is not evaluated again
};

class LoadBlock final : public ElementBlock {
 public:
  /// on_frame: whether the node is a frame. Loads of a block are all on frames or all on translational nodes.
  LoadBlock(std::string name, std::vector<Load> loads, bool on_frame);

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override;
  void add_mass_times(Range, const ElementInput&, const double*, MassKind, double*) const override {}
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range, const ElementInput&) const override { return {}; }

 private:
  std::vector<Load> loads_;
};

}  // namespace carom
