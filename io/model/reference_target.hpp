// The kinds of objects that references of a model name: values of spec::Node::target.
#pragma once

#include <string>
#include <utility>

#include "io/schema/spec.hpp"

namespace carom {

/// model_references.cpp checks that every named object exists and has the right kind.
enum class Target {
  none,
  material,
  section,
  rotating_point,
  sphere,
  point,
  point_or_ground,
  point_or_points,
  own_point,
  own_points,
  beam,
  coordinates,
  probed
};

inline spec::Node reference(std::string what, Target target) {
  const char* const example = target == Target::material      ? "steel"
                              : target == Target::section     ? "profile"
                              : target == Target::sphere      ? "ball"
                              : target == Target::own_point   ? "end"
                              : target == Target::own_points  ? "start"
                              : target == Target::beam        ? "rod"
                              : target == Target::coordinates ? "pendulum"
                                                              : "arm.end";
  return spec::reference(std::move(what), static_cast<int>(target)).like(example);
}

inline Target target_of(const spec::FoundReference& reference) { return static_cast<Target>(reference.target); }

}  // namespace carom
