#include "io/model/types/registry.hpp"

#include <algorithm>

namespace carom {

const std::vector<BodyKind>& body_kinds() {
  static const std::vector<BodyKind> kinds = {rigid_kind(), point_mass_kind(), bar_kind(), beam_kind(), solid_kind()};
  return kinds;
}

const BodyKind* find_body_kind(const std::string& type) {
  const auto& kinds = body_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const BodyKind& k) { return k.type == type; });
  return kind == kinds.end() ? nullptr : &*kind;
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
