// Files that stay readable in every failure: files that appear only when complete, and tables that grow by whole rows.
//
// If a process is killed while it writes, the data that the kernel has accepted remain, in whole pages. The functions
// do not wait for the disk, so a power failure may lose data. Failures throw FileError with the system's reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/named_arrays.hpp"
#include "io/results/csv_head.hpp"

namespace carom {

[[noreturn]] void fail_to_write(const std::filesystem::path& path, int error);

/// Replaces the file atomically: the new content is written to a temporary file, which is then renamed.
void write_atomically(const std::filesystem::path& path, std::string_view content);
/// For a full disk: overwrites the content of an existing file within its page. Returns false if that is not possible.
bool write_in_place(const std::filesystem::path& path, std::string content);

/// The content of a file. Throws FileError with the system's reason.
std::string read_content(const std::filesystem::path& path);

/// True if the file is one of the named files in the directory.
bool is_one_of(const std::filesystem::path& file, const std::filesystem::path& directory,
               const std::vector<std::string>& names);

/// Appends the shortest text that converts back to exactly the same number.
void append_number(std::string& text, double value);

/// Keeps a table under the additional name NAME.before.csv, NAME.before2.csv and so on, so that a new table can replace
/// it. Does nothing if the table does not exist.
void keep_table(const std::filesystem::path& path);

/// A file that can be written at any position.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() { close(); }

  /// Returns false, with the reason in errno, if the file cannot be opened; symbolic links are not followed. `flags`
  /// are added to O_WRONLY.
  bool open(const std::filesystem::path& path, int flags = 0);
  /// Returns false, with the reason in errno, if not all bytes were written; `done` returns the number of written
  /// bytes.
  bool write(std::string_view bytes, std::size_t at, std::size_t* done = nullptr);
  bool truncate(std::size_t size);
  bool close();

 private:
  int descriptor_ = -1;
};

/// A table of comma-separated values that grows by rows. A row that would cross the border of a page begins with blanks
/// up to this border. So a killed process leaves whole rows only, with at most blanks after the last row (unless a row
/// is longer than a page). If the disk is full, the file ends with the last row that fits.
class CsvFile {
 public:
  /// open() creates the file. meaning: content of the columns, if the names do not define it.
  CsvFile(std::filesystem::path path, const std::vector<CsvColumn>& columns, std::string meaning = "")
      : path_(std::move(path)), columns_(csv_head(columns)), meaning_(std::move(meaning)) {}

  /// Position in a file when a checkpoint was written.
  struct Place {
    std::string columns, meaning;  ///< columns: the head of the table
    std::size_t size = 0;
  };

  /// Opens a new file, or continues an earlier file from the given position and returns true. If the earlier file has
  /// other columns, or other quantities under the same names, it is kept as NAME.before.csv and a new file begins.
  /// Throws FileError if the earlier file is shorter than the position or has changed.
  bool open(const std::optional<Place>& resume = std::nullopt);

  /// Stores the position for a checkpoint: flushes all rows and records the first `size` bytes.
  void save(NamedArrays& record, std::size_t size);
  void save(NamedArrays& record) { save(record, size()); }
  /// Empty if the record has no position.
  static std::optional<Place> place(const NamedArrays& record);

  CsvFile& cell(double value);
  CsvFile& cell(std::string_view text);  ///< quoted if necessary
  CsvFile& empty_cell();
  void end_row();

  /// Passes all rows to the system.
  void flush();
  /// Number of bytes, including rows that are not flushed yet.
  std::size_t size() const { return written_ + buffer_.size(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  void begin();
  void add_row(std::string_view row);

  std::filesystem::path path_;
  std::string columns_, meaning_, row_, buffer_;
  bool row_begun_ = false;
  std::size_t written_ = 0;
  std::chrono::steady_clock::time_point
      flushed_;  // rows are flushed at least about once a second, so that slow runs can be watched
  OutputFile file_;
};

}  // namespace carom
