// Tells of an equilibrium that a small disturbance leaves.
#pragma once

#include <string>

#include "io/model/model.hpp"

namespace carom {

/// Whether a small disturbance leads away from the equilibrium in which the state of the model is: a remark, or
/// nothing. `where`: "start" or "end" of the run. Nothing is known, and told, where contacts are closed or have
/// friction, where loads follow the motion, and of more than 10 000 equations.
std::string stability_remark(const Model& model, const char* where);

}  // namespace carom
