// Surfaces of bodies and obstacles for pictures, and surfaces from STL files.
//
// Cells are flat lists in the layout of VTK's unstructured grids: the points of cell i are connectivity[offsets[i-1] ..
// offsets[i]) with offsets[-1] = 0. Faces of closed surfaces are counter-clockwise seen from outside. Lengths have the
// model's unit; shapes are centred at the origin unless stated otherwise.
//
// Limits: at most 2^31 - 1 entries of connectivity; STL files up to 1 GiB.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/base/types.hpp"

namespace carom {

/// Kinds of cells, with VTK's numbers.
enum class CellType : unsigned char { vertex = 1, line = 3, triangle = 5, quad = 9, tetrahedron = 10, hexahedron = 12 };

/// Points and cells.
struct SurfaceMesh {
  std::vector<Vec3> points;
  std::vector<int> connectivity;     ///< point numbers of all cells, each cell in VTK's node order
  std::vector<int> offsets;          ///< end of each cell in connectivity
  std::vector<unsigned char> types;  ///< CellType of each cell

  std::size_t cell_count() const { return types.size(); }
  std::span<const int> cell(std::size_t i) const;
  void add_cell(CellType type, std::initializer_list<int> nodes) {
    add_cell(type, std::span(nodes.begin(), nodes.size()));
  }
  void add_cell(CellType type, std::span<const int> nodes);
};

/// A box with edge lengths `size` as one hexahedron. Point i lies at +x if bit 0 of i is set, at +y for bit 1, at +z
/// for bit 2.
SurfaceMesh make_box(const Vec3& size);

/// A sphere of `resolution` (at least 3) meridians and max(2, resolution / 2) bands, poles on the z axis, points on the
/// sphere.
SurfaceMesh make_sphere(double radius, int resolution = 24);

enum class Axis { x, y, z };

/// A cylinder along an axis: a prism over a regular polygon with `resolution` (at least 3) corners on the circle. With
/// caps the surface is closed.
SurfaceMesh make_cylinder(double radius, double length, Axis axis, int resolution = 24, bool caps = true);

/// A square of edge length `size` centred at `point`, with normal `normal` (of any nonzero length).
SurfaceMesh make_plane_patch(const Vec3& point, const Vec3& normal, double size);

/// One line cell between each two consecutive points; a vertex cell for a single point.
SurfaceMesh make_polyline(std::span<const Vec3> points);

/// The triangles of a binary or ASCII STL file; coordinates are multiplied by `scale` > 0. Equal vertices are merged,
/// and triangles that use a vertex twice are dropped. The order of the vertices defines the outside; normals in the
/// file are ignored. Throws FileError if the file is missing, truncated, malformed, empty or too large.
SurfaceMesh read_stl(const std::filesystem::path& path, double scale = 1.0);

/// Mass properties of the solid inside a surface.
struct MassProperties {
  double volume = 0;
  double mass = 0;
  Vec3 center = Vec3::Zero();  ///< centre of mass
  Mat3 inertia =
      Mat3::Zero();  ///< int rho (|r|^2 I - r r^T) dV with r from the centre of mass, in the axes of the mesh
};

/// Mass properties of the homogeneous solid bounded by the faces of `mesh` (triangles, planar quads, hexahedra with
/// planar faces), from the divergence theorem: a sum over signed tetrahedra between a fixed point and each triangle.
/// Cavities are allowed; their faces have the opposite orientation. Throws ModelError (without pointer) if the surface
/// is not closed, not consistently oriented, inside out or without volume.
MassProperties mass_properties(const SurfaceMesh& mesh, double density);

}  // namespace carom
