// Files that stay readable whatever happens: whole ones that appear at once, and tables that grow by whole rows.
//
// A process killed while it writes leaves what the kernel has taken, and that in whole pages; nothing here waits for
// the disk, so a power failure is another matter. Failures are FileError with the system's reason.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace carom {

[[noreturn]] void fail_to_write(const std::filesystem::path& path, int error);

/// The file has either its old content or all of the new: it is written beside and renamed.
void write_atomically(const std::filesystem::path& path, std::string_view content);

/// The shortest text that reads back as the same number.
void append_number(std::string& text, double value);

/// A file open for writing at any place.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() { close(); }

  /// False, with the reason in errno, if it cannot be opened; `flags` beside O_WRONLY.
  bool open(const std::filesystem::path& path, int flags = 0);
  /// False, with the reason in errno, if not all could be written.
  bool write(std::string_view bytes, std::size_t at);
  bool truncate(std::size_t size);
  bool close();

 private:
  int descriptor_ = -1;
};

/// A table of comma separated values that grows by rows. A row that would cross the border of a page begins with blanks
/// up to it, so that a killed process leaves whole rows only (unless a row is longer than a page).
class CsvFile {
 public:
  /// The file is made by open(). Columns: "t,x,y".
  CsvFile(std::filesystem::path path, std::string columns) : path_(std::move(path)), columns_(std::move(columns)) {}

  /// A new file, or the first `resume` bytes of an earlier one. An earlier one with other columns is kept beside, as
  /// NAME.before.csv, and a new one begun. FileError if the earlier one is shorter.
  void open(std::optional<std::size_t> resume = std::nullopt);

  CsvFile& cell(double value);
  CsvFile& cell(std::string_view text);  ///< quoted where it must be
  CsvFile& empty_cell();
  void end_row();

  /// Hands everything to the system.
  void flush();
  /// Bytes, with those not yet handed over.
  std::size_t size() const { return written_ + buffer_.size(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  void add_row(std::string_view row);

  std::filesystem::path path_;
  std::string columns_, row_, buffer_;
  bool row_begun_ = false;
  std::size_t written_ = 0;
  OutputFile file_;
};

}  // namespace carom
