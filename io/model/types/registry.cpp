#include "io/model/types/registry.hpp"

#include <algorithm>

namespace carom {

const std::vector<BodyType>& body_types() {
  static const std::vector<BodyType> kinds = {rigid_type(), point_mass_type(), bar_type(), beam_type(), solid_type()};
  return kinds;
}

const BodyType* find_body_type(const std::string& type) {
  const auto& kinds = body_types();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const BodyType& k) { return k.type == type; });
  return kind == kinds.end() ? nullptr : &*kind;
}

const std::vector<JointType>& joint_types() {
  static const std::vector<JointType> kinds = rigid_joint_types();
  return kinds;
}

const std::vector<ObstacleType>& obstacle_types() {
  static const std::vector<ObstacleType> kinds = analytic_obstacle_types();
  return kinds;
}

const std::vector<IntegratorType>& integrator_types() {
  static const std::vector<IntegratorType> kinds = {nsga_decoupled_type(), static_type()};
  return kinds;
}

const MethodInfo& method_of(const nlohmann::json& integrator) { return find_type(integrator_types(), integrator).info; }

}  // namespace carom
