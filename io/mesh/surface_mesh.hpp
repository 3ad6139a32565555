// Surfaces that bodies and obstacles are drawn with, and surfaces read from STL files.
//
// Cells are flat lists in the layout of VTK's unstructured grids: the points of cell i are
// connectivity[offsets[i-1] .. offsets[i]) with offsets[-1] = 0. Faces of closed surfaces turn counter-clockwise seen
// from outside. Lengths are those of the model; shapes are centred at the origin unless stated.
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

/// A box of edge lengths `size` as one hexahedron. Point i lies at +x when bit 0 of i is set, +y for bit 1, +z for
/// bit 2.
SurfaceMesh make_box(const Vec3& size);

/// A sphere of `resolution` (at least 3) meridians and max(2, resolution / 2) bands, poles on the z axis, points on the
/// sphere.
SurfaceMesh make_sphere(double radius, int resolution = 24);

enum class Axis { x, y, z };

/// A cylinder along an axis: a prism over a regular polygon of `resolution` (at least 3) corners on the circle.
/// With caps it is closed.
SurfaceMesh make_cylinder(double radius, double length, Axis axis, int resolution = 24, bool caps = true);

/// A square of edge length `size` centred at `point`, facing along `normal` (any length but zero).
SurfaceMesh make_plane_patch(const Vec3& point, const Vec3& normal, double size);

/// A line cell between each two consecutive points; a vertex if there is but one.
SurfaceMesh make_polyline(std::span<const Vec3> points);

/// The triangles of a binary or ASCII STL file, coordinates multiplied by `scale` > 0. Equal vertices are merged and
/// triangles that use one vertex twice dropped. The normals in the file are not used, the order of the vertices counts.
/// Throws FileError if the file is missing, truncated, malformed, without triangles or too large.
SurfaceMesh read_stl(const std::filesystem::path& path, double scale = 1.0);

/// Mass of the solid inside a surface.
struct MassProperties {
  double volume = 0;
  double mass = 0;
  Vec3 center = Vec3::Zero();  ///< centre of mass
  Mat3 inertia =
      Mat3::Zero();  ///< int rho (|r|^2 I - r r^T) dV with r from the centre of mass, in the axes of the mesh
};

/// Mass properties of the homogeneous solid bounded by the faces of `mesh` (triangles, planar quads, hexahedra with
/// planar faces), by the divergence theorem: the sum over signed tetrahedra between a fixed point and each triangle.
/// Cavities are allowed, bounded by faces that turn the other way. Throws ModelError (without pointer) if the surface
/// is not closed, not consistently oriented, turned inside out or without volume.
MassProperties mass_properties(const SurfaceMesh& mesh, double density);

}  // namespace carom
