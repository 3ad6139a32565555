// Geometrically exact, shear-flexible beams: two frame nodes joined by a helix. Derivation: docs/elements/beam.md.
//
//   d = (u, w) = log(H_A^-1 H_B),  eps = (d - d_0)/L,  n = K_s (eps + tau eps')     section forces, 6
//   f_int + f_damp = S^T n,   S = P B,   P = [-T^-1(-d), T^-1(d)],   B = diag(R_A^T, 1, R_B^T, 1),   eps' = S v/L
//   M: m L/6 [2 1; 1 2] for the translations, L/2 J per node for the rotations;   f_gyr = (0, Omega x (L/2 J) Omega)
//
// H_A and H_B are the section frames at the two ends: the node frames, or frames rotated against the node frames by a
// constant rotation (at corners). The x axis lies along the beam, y and z are the axes of the section. Strains are
// ordered as in beam_section.hpp.
//
// The strain is constant along an element and unchanged by rigid motions. Bending to a circle and twisting are exact,
// and shear does not lock. d_0 describes any curved and twisted reference shape. F = T_SO3^-1(w) and its derivative D
// along u are the blocks of both inverses: T^-1(d) = [F D; 0 F] and T^-1(-d) = [F^T D^T; 0 F^T]. The forces on the two
// nodes are N = R_A F n_f and -N, so linear momentum is conserved to the last bit. M is constant, and angular momentum
// is conserved to the order of the integrator. (A rotary inertia computed from interpolated angular velocities would
// not conserve angular momentum.) Nodes lie on the line of mass centres.
// Limits: the sections at the two ends of an element must be rotated against each other by less than pi.
//
// Reference: V. Sonneville, A. Cardona, O. Bruels, Geometrically exact beam finite element formulated on the special
// Euclidean group SE(3), Comput. Methods Appl. Mech. Engrg. 268 (2014) 451-474.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/lie/se3.hpp"
#include "core/mechanics/element_block.hpp"
#include "elements/beam/beam_section.hpp"

namespace carom {

struct Beam {
  int node_a = 0, node_b = 0;   ///< frame nodes
  int section = 0;              ///< index into the block's sections
  double length = 0;            ///< L of the reference curve, > 0
  Vec6 d_0 = Vec6::Zero();      ///< log(H_A^-1 H_B) of the reference shape
  Mat3 R_a = Mat3::Identity();  ///< rotation from section axes to node axes at A
  Mat3 R_b = Mat3::Identity();  ///< rotation from section axes to node axes at B
};

/// Sets d_0 and the length L = |u_0| of the helix between two section frames.
void set_reference(Beam& beam, const se3::Frame<double>& H_A, const se3::Frame<double>& H_B);

class BeamBlock final : public ElementBlock {
 public:
  /// damping: the relaxation time tau of the Kelvin-Voigt law, >= 0.
  BeamBlock(std::string name, std::vector<BeamSection> sections, const std::vector<Beam>& beams, double damping = 0);

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override;
  void add_mass_times(Range range, const ElementInput& in, const double* a, MassKind kind, double* f) const override;
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range range, const ElementInput& in) const override;
  double roundoff_force(double length_scale) const override;

  /// section_force and section_moment (with damping where velocities are given), section_strain, section_curvature in
  /// section axes; axial_force.
  static std::vector<OutputField> fields();
  std::vector<OutputField> output_fields() const override { return fields(); }
  void output(std::string_view field, Range range, const ElementInput& in, double* values) const override;

  double length(int e) const { return element(e).length; }
  /// Rotation from section axes to node axes at end 0 or 1 of element e.
  Mat3 section_axes(int e, int end) const;
  std::string remark(int item, const ElementInput& in) const override;
  /// An element whose ends are turned by more than 2.8 rad against each other.
  int inverted_item(Range range, const ElementInput& in) const override;
  std::string item_name(int item) const override { return name() + ".element." + std::to_string(item); }

 private:
  struct Element {
    int section = 0;
    int turned = -1;  // index into turned_, -1 if section axes are node axes
    double length = 0;
    Vec6 d_0;
  };
  struct Turned {
    Mat3 R_a, R_b;
    Quaternion p_a, p_b;
  };
  struct Ends;
  struct Kinematics;

  const Element& element(int e) const { return elements_[static_cast<std::size_t>(e)]; }
  const BeamSection& section(int e) const { return sections_[static_cast<std::size_t>(element(e).section)]; }
  const Turned* turned(int e) const;
  /// From the axes of the first and the second end section to inertial axes.
  std::pair<Quaternion, Quaternion> section_rotations(const ElementInput& in, int e) const;
  Ends ends(const ElementInput& in, int e) const;
  Vec6 strain(const ElementInput& in, int e) const;
  Vec6 strain_rate(const Kinematics& k, int e, const double* v) const;
  void add_gyroscopic_force(Range range, const double* v, double* f) const;
  void add_mass(Range range, double c_M, MassKind kind, double* A) const;
  void add_gyroscopic_tangent(Range range, const double* v, double c_C, double* A) const;
  void add_section_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const;

  std::vector<BeamSection> sections_;
  std::vector<Element> elements_;
  std::vector<Turned> turned_;
  std::vector<Mat3> inertia_;  // L/2 J in node axes for each element and end
  double damping_;
};

}  // namespace carom
