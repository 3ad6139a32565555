// Mechanisms drawn at random: a tree of boxes joined by all kinds of joints, with springs, dampers, stops, point masses
// and a floor under them. The same seed gives the same model. No joint is redundant, and all starts are at rest.
#pragma once

#include <nlohmann/json.hpp>

namespace carom::properties {

nlohmann::json random_mechanism(unsigned seed);

/// The same with friction in all joints that take it.
nlohmann::json random_rubbing_mechanism(unsigned seed);

/// A chain of rigid bodies, beams, bars and solids of any stiffness on joints with springs, drivers and stops, over a
/// floor, at steps that are often far too large, with any options of the decoupled method.
nlohmann::json random_flexible_mechanism(unsigned seed);

}  // namespace carom::properties
