// Two-node bars (axial members), in two forms.
//
// LinearBarBlock: small displacements u along a coordinate axis, one component per node,
//   f_int = EA/L [1 -1; -1 1] u                       the elastic bar of Cosimo et al. 2020, section 4.2
// BarBlock: three-dimensional, large displacements and rotations, engineering strain of the deformed length l,
//   N = EA (l - L)/L,  f_int = N n on node B and -N n on node A,  n = (x_B - x_A)/l
// Mass consistent rho A L/6 [2 1; 1 2] or lumped rho A L/2 per node, in every component the node moves in; constant.
// Limits: no bending; a nonlinear bar must not collapse to length zero.
#pragma once

#include <string>
#include <vector>

#include "core/mechanics/element_block.hpp"

namespace carom {

struct Bar {
  int node_a = 0, node_b = 0;
  double length = 0;           ///< L, undeformed, > 0
  double axial_stiffness = 0;  ///< EA, a force
  double line_density = 0;     ///< rho A, mass per length
};

/// The output of bars.
inline std::vector<OutputField> bar_fields() {
  return {{"axial_force", 1, false, "N", "axial force of an element, positive in tension"}};
}

class LinearBarBlock final : public ElementBlock {
 public:
  /// axis 0, 1 or 2: the coordinate along which all bars lie. Displacements are q - q_0 of that component.
  LinearBarBlock(std::string name, const std::vector<Bar>& bars, int axis, MassKind mass);

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override;
  void add_mass_times(Range range, const ElementInput& in, const double* a, MassKind kind, double* f) const override;
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range range, const ElementInput& in) const override;
  double roundoff_force(double length_scale) const override;
  std::vector<OutputField> output_fields() const override { return bar_fields(); }
  void output(std::string_view field, Range range, const ElementInput& in, double* values) const override;

 private:
  double elongation(const ElementInput& in, int element) const;

  int axis_;
  bool lumped_;
  std::vector<double> stiffness_, mass_, signed_length_;  // EA/L, rho A L, x_B - x_A undeformed
};

class BarBlock final : public ElementBlock {
 public:
  BarBlock(std::string name, std::vector<Bar> bars, MassKind mass);

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override;
  void add_mass_times(Range range, const ElementInput& in, const double* a, MassKind kind, double* f) const override;
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range range, const ElementInput& in) const override;
  double roundoff_force(double length_scale) const override;
  std::vector<OutputField> output_fields() const override { return bar_fields(); }
  void output(std::string_view field, Range range, const ElementInput& in, double* values) const override;

 private:
  Vec3 span(const ElementInput& in, int element) const;

  std::vector<Bar> bars_;
  bool lumped_;
};

}  // namespace carom
