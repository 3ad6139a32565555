// Cross sections of bars and beams: keys, properties, outlines for the picture.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "elements/beam/beam_section.hpp"
#include "io/mesh/surface_mesh.hpp"
#include "io/schema/spec.hpp"

namespace carom {

/// The list of sections.
spec::Node sections_spec();

/// Area of a section; 0 for a section given by matrices.
double section_area(const nlohmann::json& section);

/// True if a beam with this section needs a material; a section given by matrices does not.
bool needs_material(const nlohmann::json& section);
/// The reason why a beam cannot have this section; empty if it can.
std::string beam_section_error(const nlohmann::json& section);
/// The section of a beam. material: read only if the section needs a material.
BeamSection read_beam_section(const nlohmann::json& section, const nlohmann::json& material);

/// The outline of a section: closed curves of points (0, y, z), counter-clockwise seen from the tip of x. For a tube
/// the second curve is the inner wall.
std::vector<std::vector<Vec3>> section_outline(const nlohmann::json& section);

}  // namespace carom
