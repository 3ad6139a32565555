// Volume meshes of solids: nodes, hexahedra, tetrahedra, and named groups of nodes with their boundary faces.
//
// Elements list their nodes in the order of VTK and Gmsh (elements/solid_shape.hpp). Faces have 3 or 4 nodes and turn
// counter-clockwise seen from outside.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/types.hpp"

namespace carom {

/// A triangle or a quadrangle; of a triangle the last node is -1.
struct MeshFace {
  std::array<int, 4> nodes{-1, -1, -1, -1};

  int count() const { return nodes[3] < 0 ? 3 : 4; }
};

struct Mesh {
  struct Group {
    std::vector<int> nodes;       ///< each once, ascending
    std::vector<MeshFace> faces;  ///< those of the body's surface, if the group has any
  };

  std::vector<Vec3> nodes;
  std::vector<std::array<int, 8>> hexahedra;
  std::vector<std::array<int, 4>> tetrahedra;
  std::vector<std::string> hexahedron_names, tetrahedron_names;  ///< for messages: "element 17"
  std::map<std::string, Group> groups;
};

/// Names of the groups of a box: "left", "right" (x), "front", "back" (y), "bottom", "top" (z), the lower side first.
const std::vector<std::string>& box_groups();

/// A box of equal hexahedra, centred at the origin, with the groups above. Nodes and elements are numbered with x
/// fastest, then y, then z.
Mesh box_mesh(const Vec3& size, const std::array<int, 3>& divisions);

/// The six faces of a hexahedron and the four of a tetrahedron, by places in the element.
const std::array<std::array<int, 4>, 6>& hexahedron_faces();
const std::array<std::array<int, 3>, 4>& tetrahedron_faces();

/// A line per element that is flat, inverted or too thin to compute with, at most `most` of them and then how many
/// more.
std::string bad_elements(const Mesh& mesh, std::size_t most = 5);

}  // namespace carom
