#include "io/model/types/registry.hpp"

#include <algorithm>
#include <utility>

namespace carom {

namespace {

template <class Type>
std::vector<Type> joined(const std::vector<std::vector<Type>>& lists) {
  std::vector<Type> all;
  for (const std::vector<Type>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::vector<JointType>& all_joint_types() {
  static std::vector<JointType> kinds = joined<JointType>({rigid_joint_types()});
  return kinds;
}

}  // namespace

const std::vector<MaterialType>& material_types() {
  static const std::vector<MaterialType> kinds = joined<MaterialType>({elastic_material_types()});
  return kinds;
}

const MaterialType* find_material_type(const std::string& type) {
  const auto& kinds = material_types();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const MaterialType& k) { return k.type == type; });
  return kind == kinds.end() ? nullptr : &*kind;
}

const std::vector<BodyType>& body_types() {
  static const std::vector<BodyType> kinds = {
      rigid_type(),       point_mass_type(),      bar_type(), beam_type(), solid_type(),
      coordinates_type(), coordinate_frame_type()};
  return kinds;
}

const BodyType* find_body_type(const std::string& type) {
  const auto& kinds = body_types();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const BodyType& k) { return k.type == type; });
  return kind == kinds.end() ? nullptr : &*kind;
}

const std::vector<JointType>& joint_types() { return all_joint_types(); }

void add_joint_type(JointType type) { all_joint_types().push_back(std::move(type)); }

const std::vector<ObstacleType>& obstacle_types() {
  static const std::vector<ObstacleType> kinds = joined<ObstacleType>({analytic_obstacle_types()});
  return kinds;
}

const std::vector<IntegratorType>& integrator_types() {
  static const std::vector<IntegratorType> kinds =
      joined<IntegratorType>({{nsga_decoupled_type()},
                              coupled_nsga_types(),
                              {generalized_alpha_type(), event_driven_type(), moreau_jean_type()},
                              explicit_types(),
                              {static_type()}});
  return kinds;
}

const MethodInfo& method_of(const nlohmann::json& integrator) { return find_type(integrator_types(), integrator).info; }

}  // namespace carom
