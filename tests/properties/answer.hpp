// What a run of a model answers, body by body, for comparison with the answer of the same physics written down in
// another way.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "integrators/common/simulation.hpp"
#include "tests/properties/model_transform.hpp"

namespace carom::properties {

/// Places and velocities of the nodes of a body at the end of a run.
struct BodyAnswer {
  std::vector<Vec3> x, v;
};

struct Answer {
  RunStatus status = RunStatus::failed;
  std::map<std::string, BodyAnswer> bodies;
  double length = 0;        ///< largest distance from the origin at the end
  double speed = 0;         ///< largest speed of the run
  double energy = 0;        ///< kinetic and elastic, at the end
  double energy_scale = 0;  ///< its largest value of the run
  long impacts = 0;
  long steps = 0;       ///< with those of subdivided steps
  long iterations = 0;  ///< of all sub-problems
};

/// `file`: where relative paths of meshes begin, and for messages.
Answer answer_of(const nlohmann::json& model, const std::string& file);

/// Largest difference between the answer b and the answer a after `place` and `velocity`, over their length and speed.
double difference(const Answer& a, const Answer& b, const std::function<Vec3(const Vec3&)>& place,
                  const std::function<Vec3(const Vec3&)>& velocity);

}  // namespace carom::properties
