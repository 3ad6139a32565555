// Point masses on translational nodes: M = m 1 (3 x 3). The mass may be zero if constraints determine the motion of the
// node.
#pragma once

#include <string>
#include <vector>

#include "core/mechanics/element_block.hpp"

namespace carom {

struct PointMass {
  int node = 0;
  double mass = 0;
};

class PointMassBlock final : public ElementBlock {
 public:
  PointMassBlock(std::string name, const std::vector<PointMass>& masses);

  void add_forces(Range, const ElementInput&, unsigned, double*) const override {}
  void add_mass_times(Range range, const ElementInput& in, const double* a, MassKind kind, double* f) const override;
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range, const ElementInput&) const override { return {}; }

 private:
  std::vector<double> masses_;
};

}  // namespace carom
