// Reference shapes of beams: section frames along straight lines, polylines, arcs, helices and listed frames.
//
// The x axis lies along the beam; y is the first axis of the section. Without "orientation" y is horizontal
// (z_model x tangent), or along y of the model if the beam starts along z. Along arcs and helices y follows the rigid
// motion about their axis; at corners of polylines y follows the smallest rotation. A pre-twist rotates sections about
// x, evenly along the length.
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
    bool corner = false;  ///< the first section is rotated against the last section of the preceding piece
  };
  std::vector<Piece> pieces;
};

/// The keys "elements", "from", "to", "shape", "orientation", "twist".
std::vector<spec::Key> beam_shape_keys();
/// Checks the rules between these keys.
std::string check_beam_shape(const nlohmann::json& body, std::string& where);
/// Number of elements of a beam, whose other keys may be wrong.
std::optional<std::int64_t> beam_element_count(const nlohmann::json& body);

/// The frames. If the shape is impossible, sets `message` and `where`, a pointer within the body.
BeamShape beam_shape(const nlohmann::json& body, std::string& where, std::string& message);

}  // namespace carom
