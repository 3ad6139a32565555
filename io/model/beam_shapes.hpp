// Reference shapes of beams: section frames along straight lines, polylines, arcs, helices and listed frames.
//
// x along the beam, y the first axis of the section. Without an "orientation", y is horizontal (z_model x tangent), or
// along y of the model where the beam starts along z; it follows arcs and helices as a rigid motion about their axis
// would move it, and corners of polylines by the smallest rotation. A pre-twist turns sections about x, evenly along
// the length.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/lie/se3.hpp"
#include "io/schema/spec.hpp"

namespace carom {

struct BeamShape {
  /// An element between two section frames.
  struct Piece {
    se3::Frame<double> A, B;
    double length = 0;
    bool corner = false;  ///< its first section is turned against the last one of the piece before
  };
  std::vector<Piece> pieces;
};

/// The keys "elements", "from", "to", "shape", "orientation", "twist".
std::vector<spec::Key> beam_shape_keys();
/// What these keys owe each other.
std::string check_beam_shape(const nlohmann::json& body, std::string& where);
/// Number of elements of a beam that may be wrong in other respects.
std::optional<std::int64_t> beam_element_count(const nlohmann::json& body);

/// The frames, or a complaint: `where` a pointer within the body.
BeamShape beam_shape(const nlohmann::json& body, std::string& where, std::string& message);

}  // namespace carom
