// A series of VTU files and the PVD file that lists them, in the form that ParaView opens:
//
//   DIRECTORY/NAME.pvd, DIRECTORY/vtu/NAME_000000.vtu, DIRECTORY/vtu/NAME_000001.vtu, ...
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

#include "io/results/vtu_file.hpp"

namespace carom {

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

  /// Adds a frame. Throws std::invalid_argument if the sizes do not fit together.
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
