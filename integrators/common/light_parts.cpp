#include "integrators/common/light_parts.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/index.hpp"
#include "core/mechanics/nodal_mass.hpp"

namespace carom {

namespace {

constexpr double light_mass = 1e-5;     // of a node, over the largest
constexpr double light_inertia = 1e-4;  // over the largest mass times length^2
constexpr double found = 1e-7;          // the last correction of a motion that is found
constexpr double shrinking = 0.5;       // of a correction that helps, over the one before
// spin over the last correction, beyond which it is none that a stiff beam takes, but one that is still missing
constexpr double stiff_spin = 30;

}  // namespace

LightParts::LightParts(const System& system, double length, bool bodies, bool frames) {
  if (!bodies && (!frames || system.dofs().frames() == 0)) return;
  const std::vector<NodalMass> masses = nodal_masses(system, system.initial_configuration());
  double smallest = std::numeric_limits<double>::infinity(), largest = 0;
  for (const NodalMass& node : masses)
    if (const double mass = node.largest(); mass > 0) {
      smallest = std::min(smallest, mass);
      largest = std::max(largest, mass);
    }
  bodies_ = bodies && smallest < light_mass * largest;
  for (int node = 0; frames && node < system.dofs().nodes(); ++node) {
    if (system.dofs().frame_index(node) < 0) continue;
    const Eigen::SelfAdjointEigenSolver<Mat3> principal(masses[at(node)].inertia);
    const Vec3& J = principal.eigenvalues();
    Vec3 inverse = Vec3::Zero();
    for (int i = 0; i < 3; ++i)
      if (J[i] > std::numeric_limits<double>::epsilon() * J[2]) inverse[i] = 1 / J[i];
    if (inverse.maxCoeff() * light_inertia * largest * length * length > 1)
      frames_.push_back({system.dofs().equation(node, 3),
                         principal.eigenvectors() * inverse.asDiagonal() * principal.eigenvectors().transpose()});
  }
}

double LightParts::largest_spin(In r) const {
  double largest = 0;
  for (const Frame& frame : frames_)
    largest = std::max(largest, (frame.inverse * Eigen::Map<const Vec3>(r.data() + frame.equation)).norm());
  return largest;
}

bool LightParts::neglected(double correction, double before, double spin, bool in_turn) const {
  if (!std::isfinite(correction) || correction <= found || correction > shrinking * before) return false;
  if (bodies_ || in_turn) return bodies_;
  // the next correction, should they go on to shrink as they do
  const bool shrinks = std::isfinite(before) && spin <= stiff_spin * correction;
  return std::min(shrinks ? correction / before * correction : spin, spin) > found;
}

}  // namespace carom
