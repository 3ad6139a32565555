// Cross sections of beams: stiffness and mass per unit length.
//
//   section forces (N, V_y, V_z, M_x, M_y, M_z) = K (eps, gamma_y, gamma_z, kappa_x, kappa_y, kappa_z)
//   K = diag(E A, k_y G A, k_z G A, G J, E I_y, E I_z),   rotary inertia per length rho diag(I_y + I_z, I_y, I_z)
//
// The x axis lies along the beam; y and z are the section's axes through its centroid, I_y = int z^2 dA, I_z = int y^2
// dA.
// Shear factors: 5/6 for the rectangle (Reissner; Cowper for Poisson's ratio 0); for circle and ring from G. R. Cowper,
// The shear coefficient in Timoshenko's beam theory, J. Appl. Mech. 33 (1966) 335-340. Torsion constant of the
// rectangle: Saint-Venant's series (S. Timoshenko, J. N. Goodier, Theory of Elasticity, section 109).
// Limits: no warping; strains are coupled only if the stiffness is given as a matrix.
#pragma once

#include "core/base/types.hpp"

namespace carom {

using Mat6 = Eigen::Matrix<double, 6, 6>;
using Vec6 = Eigen::Matrix<double, 6, 1>;

/// Geometry of a homogeneous section.
struct SectionGeometry {
  double area = 0;
  double I_y = 0, I_z = 0;  ///< second moments of area
  double J = 0;             ///< torsion constant
  double k_y = 1, k_z = 1;  ///< shear factors
};

/// Rectangle with the given width along y and height along z.
SectionGeometry rectangle_section(double width, double height);
SectionGeometry circle_section(double radius, double poisson);
/// Precondition: 0 <= inner_radius < outer_radius.
SectionGeometry tube_section(double outer_radius, double inner_radius, double poisson);

/// The properties of a section that a beam element uses.
struct BeamSection {
  Mat6 stiffness = Mat6::Zero();  ///< symmetric, relative to the line of mass centres
  double line_density = 0;        ///< mass per length
  Mat3 inertia = Mat3::Zero();    ///< rotary inertia per length about the mass centre, section axes
  Vec3 center = Vec3::Zero();     ///< of mass, from the axis to which strains and forces of the output refer
};

BeamSection homogeneous_section(const SectionGeometry& s, double young, double poisson, double density);

/// Section from stiffness and mass matrices about a reference axis. The result refers to the line of mass centres.
/// mass = [m 1, -m hat(c); m hat(c), J], where c is the position of the mass centre in the section.
/// Precondition: mass has this form.
BeamSection general_section(const Mat6& stiffness, const Mat6& mass);

}  // namespace carom
