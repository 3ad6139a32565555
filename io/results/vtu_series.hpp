// A series of VTU files and the PVD file that lists them, in the form that ParaView opens:
//
//   DIRECTORY/NAME.pvd, DIRECTORY/vtu/NAME_000000.vtu, DIRECTORY/vtu/NAME_000001.vtu, ...
//
// Values are stored in double precision, appended raw and compressed by LZ4; the time also as field data `TimeValue`.
//
// Even if the program is killed, the series on disk is complete and readable: a VTU file gets its name only when
// complete, and is listed afterwards. The PVD file consists of records of equal width, a power of two, with blank
// records in reserve. One write into a blank record adds a frame; a record never crosses a page. When the reserve is
// used up, a file with twice the records replaces the old file. So the cost of a frame does not depend on the length of
// the series. (A power failure may lose data, because the program does not wait for the disk.)
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
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

  /// Adds a field of zeros for the present points or cells. Returns its index in point_fields or cell_fields.
  std::size_t add_point_field(std::string name, int components);
  std::size_t add_cell_field(std::string name, int components);
};

/// Removes a series, that is, its list and its frames.
void remove_series(const std::filesystem::path& directory, const std::string& name);

/// Writes a series. Errors of files and disk throw FileError; earlier frames stay readable.
class VtuSeries {
 public:
  /// Begins the series with an empty list and removes frames of an earlier series of the same name. With `resume_from`,
  /// frames of the earlier series up to and including this time are kept, and the series continues.
  VtuSeries(std::filesystem::path directory, std::string name, std::optional<double> resume_from = std::nullopt);
  ~VtuSeries();
  VtuSeries(const VtuSeries&) = delete;
  VtuSeries& operator=(const VtuSeries&) = delete;
  VtuSeries(VtuSeries&&) noexcept;
  VtuSeries& operator=(VtuSeries&&) noexcept;

  /// Adds a frame. VTK reads points and fields without a copy; cells are copied and checked only if they differ from
  /// the cells of the previous frame. Throws std::invalid_argument if the sizes do not fit together.
  void write(double t, const VtuPiece& piece);

  /// Cuts off the blank records. No frame can follow. The destructor calls close() and ignores its errors.
  void close();

  std::size_t frames() const;    ///< number of listed frames, including kept frames
  double seconds_spent() const;  ///< time spent in the constructor, write and close
  const std::filesystem::path& pvd_path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace carom
