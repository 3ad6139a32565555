#include "elements/beam/beam_section.hpp"

#include <algorithm>
#include <cmath>

#include "core/lie/se3.hpp"

namespace carom {

namespace {

// a b^3 (1/3 - 64/pi^5 b/a sum over odd n of tanh(n pi a/(2 b))/n^5), a >= b
double rectangle_torsion_constant(double a, double b) {
  if (a < b) std::swap(a, b);
  double sum = 0;
  for (int n = 39; n >= 1; n -= 2) sum += std::tanh(n * M_PI * a / (2 * b)) / std::pow(n, 5);
  return a * b * b * b * (1.0 / 3.0 - 64.0 / std::pow(M_PI, 5) * b / a * sum);
}

}  // namespace

SectionGeometry rectangle_section(double width, double height) {
  SectionGeometry s;
  s.area = width * height;
  s.I_y = width * height * height * height / 12;
  s.I_z = height * width * width * width / 12;
  s.J = rectangle_torsion_constant(width, height);
  s.k_y = s.k_z = 5.0 / 6.0;
  return s;
}

SectionGeometry circle_section(double radius, double poisson) { return tube_section(radius, 0, poisson); }

SectionGeometry tube_section(double outer_radius, double inner_radius, double poisson) {
  SectionGeometry s;
  const double outer = outer_radius * outer_radius, inner = inner_radius * inner_radius;
  s.area = M_PI * (outer - inner);
  s.I_y = s.I_z = M_PI / 4 * (outer - inner) * (outer + inner);
  s.J = 2 * s.I_y;
  const double m = inner_radius / outer_radius, m2 = m * m, nu = poisson, sum = (1 + m2) * (1 + m2);
  s.k_y = s.k_z = 6 * (1 + nu) * sum / ((7 + 6 * nu) * sum + (20 + 12 * nu) * m2);
  return s;
}

BeamSection homogeneous_section(const SectionGeometry& s, double young, double poisson, double density) {
  const double G = young / (2 * (1 + poisson));
  BeamSection section;
  section.stiffness.diagonal() << young * s.area, s.k_y * G * s.area, s.k_z * G * s.area, G * s.J, young * s.I_y,
      young * s.I_z;
  section.line_density = density * s.area;
  section.inertia.diagonal() = density * Vec3(s.I_y + s.I_z, s.I_y, s.I_z);
  return section;
}

BeamSection general_section(const Mat6& stiffness, const Mat6& mass) {
  BeamSection section;
  section.line_density = mass.topLeftCorner<3, 3>().trace() / 3;
  const Mat3 moment = mass.bottomLeftCorner<3, 3>();
  if (section.line_density > 0) section.center = so3::vee(moment) / section.line_density;
  const Mat3 hat = so3::hat(section.center);
  section.inertia = mass.bottomRightCorner<3, 3>() + section.line_density * hat * hat;

  // Strains at the reference axis follow from strains at the line of mass centres: eps = Ad(C) eps_C, C = (1, c).
  const Mat6 Ad = se3::adjoint(se3::Frame<double>{Mat3::Identity(), section.center});
  section.stiffness = Ad.transpose() * stiffness * Ad;
  return section;
}

}  // namespace carom
