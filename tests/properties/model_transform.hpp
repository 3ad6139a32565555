// The same physics written down in another way: other units, another place in space, another order of the bodies.
//
//   in_units     every number times its unit's factor, as the specification of the model declares it
//   moved        gravity, bodies, ground, joints, obstacles and loads turned by Q, then shifted by c: x -> Q x + c
//   reversed     bodies, springs, joints, loads and contacts in the opposite order
//
// All three take and give a resolved model (ModelDocument::resolved()).
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/types.hpp"
#include "core/lie/so3.hpp"

namespace carom::properties {

/// Factors by which numbers grow when units of length, mass and time become smaller by them.
struct Units {
  double length = 1, mass = 1, time = 1;
  double velocity() const { return length / time; }
  double energy() const { return mass * velocity() * velocity(); }
};

struct Placement {
  Quaternion turn = Quaternion(1, 0, 0, 0);
  Vec3 shift = Vec3::Zero();
  Mat3 Q() const { return so3::quaternion_to_matrix(turn); }
};

nlohmann::json in_units(const nlohmann::json& model, const Units& units);
/// std::invalid_argument where the model cannot be turned: what is linear, or fixed, along the axes of the model.
nlohmann::json moved(const nlohmann::json& model, const Placement& placement);
nlohmann::json reversed(const nlohmann::json& model);

}  // namespace carom::properties
