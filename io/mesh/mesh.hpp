// Volume meshes of solids: nodes, hexahedra, tetrahedra, and named groups of nodes with their boundary faces.
//
// Elements list their nodes in the order of VTK and Gmsh (elements/solid/solid_shape.hpp). Faces have 3 or 4 nodes in
// counter-clockwise order seen from outside.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/base/types.hpp"

namespace carom {

/// A triangle or a quadrangle; the last node of a triangle is -1.
struct MeshFace {
  std::array<int, 4> nodes{-1, -1, -1, -1};

  int count() const { return nodes[3] < 0 ? 3 : 4; }
};

struct Mesh {
  struct Group {
    std::vector<int> nodes;       ///< each node once, ascending
    std::vector<MeshFace> faces;  ///< faces on the body's surface, if the group has any
    /// Share of each node in a force that is distributed evenly over the group: by volume, area, length or number for
    /// groups of volumes, surfaces, curves or points. Empty if no element contains the group's pieces.
    std::vector<double> shares;
  };

  std::vector<Vec3> nodes;
  std::vector<std::array<int, 8>> hexahedra;
  std::vector<std::array<int, 4>> tetrahedra;
  std::vector<std::string> hexahedron_names, tetrahedron_names;  ///< names for messages: "element 17"
  std::map<std::string, Group> groups;
};

/// Names of the groups of a box: "left", "right" (x), "front", "back" (y), "bottom", "top" (z), the lower side first.
const std::vector<std::string>& box_groups();

/// The volume, area or length that belongs to each node of a mesh: integrals of the shape functions over pieces of the
/// mesh.
class NodalMeasure {
 public:
  explicit NodalMeasure(const Mesh& mesh) : mesh_(mesh), of_node_(mesh.nodes.size(), 0.0) {}

  void add_point(int node) { of_node_[static_cast<std::size_t>(node)] += 1; }
  void add_line(int a, int b);
  void add_face(const MeshFace& face);
  void add_element(const std::array<int, 8>& hexahedron);
  void add_element(const std::array<int, 4>& tetrahedron);

  /// Shares of the given nodes, with the sum 1; empty if their total is zero.
  std::vector<double> shares(const std::vector<int>& nodes) const;

 private:
  const Mesh& mesh_;
  std::vector<double> of_node_;
};

/// Shares of all nodes in a force that is distributed evenly over the volume.
std::vector<double> volume_shares(const Mesh& mesh);

/// A box of equal hexahedra, centred at the origin, with the groups above. In the numbering of nodes and
/// elements x runs fastest, then y, then z.
Mesh box_mesh(const Vec3& size, const std::array<int, 3>& divisions);

/// Adds the group "surface", the faces that belong to one element only, unless the mesh has a group of that name.
void add_surface(Mesh& mesh);

/// The six faces of a hexahedron and the four of a tetrahedron, as local node numbers.
const std::array<std::array<int, 4>, 6>& hexahedron_faces();
const std::array<std::array<int, 3>, 4>& tetrahedron_faces();

/// One line for each element that is flat, inverted or too thin for the computation: at most `most` lines, then the
/// number of further elements.
std::string bad_elements(const Mesh& mesh, std::size_t most = 5);

}  // namespace carom
