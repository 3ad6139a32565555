#include "io/kinds.hpp"

namespace carom {

const std::vector<BodyKind>& body_kinds() {
  static const std::vector<BodyKind> kinds = {rigid_kind(), point_mass_kind(), bar_kind()};
  return kinds;
}

const std::vector<JointKind>& joint_kinds() {
  static const std::vector<JointKind> kinds = rigid_joint_kinds();
  return kinds;
}

const std::vector<ObstacleKind>& obstacle_kinds() {
  static const std::vector<ObstacleKind> kinds = analytic_obstacle_kinds();
  return kinds;
}

const std::vector<IntegratorKind>& integrator_kinds() {
  static const std::vector<IntegratorKind> kinds = {nsga_decoupled_kind(), static_kind()};
  return kinds;
}

}  // namespace carom
