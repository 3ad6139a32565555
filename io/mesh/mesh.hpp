// Volume meshes of solids: nodes, hexahedra, tetrahedra, and named groups of nodes with their boundary faces.
//
// Elements list their nodes in the order of VTK and Gmsh (elements/solid/solid_shape.hpp). Faces have 3 or 4 nodes and
// turn counter-clockwise seen from outside.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/base/types.hpp"

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
    /// Parts of a force spread evenly over the group, of each of the nodes: by volume, area, length or number, as the
    /// group is one of volumes, surfaces, curves or points. Empty where none of these belongs to the elements.
    std::vector<double> shares;
  };

  std::vector<Vec3> nodes;
  std::vector<std::array<int, 8>> hexahedra;
  std::vector<std::array<int, 4>> tetrahedra;
  std::vector<std::string> hexahedron_names, tetrahedron_names;  ///< for messages: "element 17"
  std::map<std::string, Group> groups;
};

/// Names of the groups of a box: "left", "right" (x), "front", "back" (y), "bottom", "top" (z), the lower side first.
const std::vector<std::string>& box_groups();

/// What belongs to each node of a mesh, by the integrals of the shape functions over pieces of the mesh.
class NodalMeasure {
 public:
  explicit NodalMeasure(const Mesh& mesh) : mesh_(mesh), of_node_(mesh.nodes.size(), 0.0) {}

  void add_point(int node) { of_node_[static_cast<std::size_t>(node)] += 1; }
  void add_line(int a, int b);
  void add_face(const MeshFace& face);
  void add_element(const std::array<int, 8>& hexahedron);
  void add_element(const std::array<int, 4>& tetrahedron);

  /// Parts of the whole, which sum to 1; empty if there is nothing of it.
  std::vector<double> shares(const std::vector<int>& nodes) const;

 private:
  const Mesh& mesh_;
  std::vector<double> of_node_;
};

/// Parts of a force spread evenly over the volume, of every node.
std::vector<double> volume_shares(const Mesh& mesh);

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
