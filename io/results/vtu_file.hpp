// One unstructured grid with fields as a file of the type VTU, which ParaView reads.
//
// Values are stored in double precision, appended raw and compressed by LZ4 in blocks; the time also as field data
// `TimeValue`. [VTK File Formats, https://docs.vtk.org/en/latest/design_documents/VTKFileFormats.html]
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/types.hpp"
#include "io/mesh/surface_mesh.hpp"

namespace carom {

/// One unstructured grid with fields.
struct VtuPiece {
  struct Field {
    std::string name;
    int components = 1;
    std::vector<double> values;  ///< all components of the first point or cell, then of the second, ...
  };

  std::vector<double> points;        ///< x, y, z of each point
  std::vector<int> connectivity;     ///< point numbers of all cells, in VTK's node order
  std::vector<int> offsets;          ///< end of each cell in connectivity
  std::vector<unsigned char> types;  ///< VTK's cell types
  std::vector<Field> point_fields, cell_fields;

  std::size_t point_count() const { return points.size() / 3; }
  std::size_t cell_count() const { return types.size(); }

  /// Adds the mesh; each point y is placed at x + R y. Returns the number of the first added point. Fields do not
  /// change.
  std::size_t append(const SurfaceMesh& mesh, const Vec3& x = Vec3::Zero(), const Mat3& R = Mat3::Identity());

  /// Moves the points of an appended mesh to x + R y. Does not allocate.
  void place(std::size_t first_point, const SurfaceMesh& mesh, const Vec3& x, const Mat3& R);

  /// Numbers of the whole frame, by name: field data beside the time.
  std::vector<std::pair<std::string, double>> numbers;
  /// Names of blocks, to which a cell field may refer: field data "blocks" if there are any.
  std::vector<std::string> blocks;
  /// Fields with their units, "velocity [m/s]": field data "units" if there are any.
  std::vector<std::string> units;

  /// Adds a field of zeros for the present points or cells. Returns its index in point_fields or cell_fields.
  std::size_t add_point_field(std::string name, int components);
  std::size_t add_cell_field(std::string name, int components);
};

/// Makes the bytes of VTU files. The cells are checked and compressed only if they differ from those of the previous
/// file.
class VtuFile {
 public:
  /// The bytes are valid until the next call. Throws std::invalid_argument if the sizes of the piece do not fit
  /// together.
  std::string_view bytes(double t, const VtuPiece& piece);

 private:
  /// XML elements of arrays, and their compressed values.
  struct Arrays {
    std::string elements, data;
    void add(const char* type, std::string_view name, int components, const void* values, std::size_t bytes);
    void add_value(std::string_view name, double x);
    void add_texts(std::string_view name, const std::vector<std::string>& texts);
    void add_fields(const std::vector<VtuPiece::Field>& fields);
  };

  void set_cells(const VtuPiece& piece);

  std::vector<int> connectivity_, offsets_;  // of the previous file
  std::vector<unsigned char> types_;
  std::size_t points_needed_ = 0;
  Arrays cells_;  // at the beginning of the appended data, so that their offsets do not depend on the other arrays
  std::string bytes_;
};

/// The text with XML's special characters escaped.
std::string xml_escaped(std::string_view text);

}  // namespace carom
