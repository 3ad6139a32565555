// Files that stay readable whatever happens: whole ones that appear at once, and tables that grow by whole rows.
//
// A process killed while it writes leaves what the kernel has taken, and that in whole pages; nothing here waits for
// the disk, so a power failure is another matter. Failures are FileError with the system's reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/named_arrays.hpp"

namespace carom {

[[noreturn]] void fail_to_write(const std::filesystem::path& path, int error);

/// The file has either its old content or all of the new: it is written beside and renamed.
void write_atomically(const std::filesystem::path& path, std::string_view content);
/// For a full disk: the text takes the place of that in an existing file, in the page that it has.
/// False if that is not possible.
bool write_in_place(const std::filesystem::path& path, std::string content);

/// Whether a file is one of those in a directory.
bool is_one_of(const std::filesystem::path& file, const std::filesystem::path& directory,
               const std::vector<std::string>& names);

/// The shortest text that reads back as the same number.
void append_number(std::string& text, double value);

/// Gives a table a second name beside, NAME.before.csv, or NAME.before2.csv and so on. Nothing if it is not there.
void keep_table(const std::filesystem::path& path);

/// A file open for writing at any place.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() { close(); }

  /// False, with the reason in errno, if it cannot be opened; `flags` beside O_WRONLY.
  bool open(const std::filesystem::path& path, int flags = 0);
  /// False, with the reason in errno, if not all could be written; `done`: how much was.
  bool write(std::string_view bytes, std::size_t at, std::size_t* done = nullptr);
  bool truncate(std::size_t size);
  bool close();

 private:
  int descriptor_ = -1;
};

/// A table of comma separated values that grows by rows. A row that would cross the border of a page begins with blanks
/// up to it, so that a killed process leaves whole rows only, with blanks at most behind the last one (unless a row is
/// longer than a page). Where the disk is full, the file ends with the last row that it has room for.
class CsvFile {
 public:
  /// The file is made by open(). Columns: "t,x,y"; `meaning`: what they hold, where their names do not say it.
  CsvFile(std::filesystem::path path, std::string columns, std::string meaning = "")
      : path_(std::move(path)), columns_(std::move(columns)), meaning_(std::move(meaning)) {}

  /// Where a file stood when a checkpoint was written.
  struct Place {
    std::string columns, meaning;
    std::size_t size = 0;
  };

  /// A new file, or an earlier one up to the place. An earlier one with other columns than this, or others by the same
  /// names, is kept beside, as NAME.before.csv, and a new one begun. FileError if the earlier one is shorter, or no
  /// longer what it was. Returns whether an earlier one is continued.
  bool open(const std::optional<Place>& resume = std::nullopt);

  /// The place for a checkpoint: hands all rows over, and counts the first `size` bytes.
  void save(NamedArrays& record, std::size_t size);
  void save(NamedArrays& record) { save(record, size()); }
  /// None if the record has none.
  static std::optional<Place> place(const NamedArrays& record);

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
  void begin();
  void add_row(std::string_view row);

  std::filesystem::path path_;
  std::string columns_, meaning_, row_, buffer_;
  bool row_begun_ = false;
  std::size_t written_ = 0;
  std::chrono::steady_clock::time_point flushed_;  // who watches a slow run sees its rows within a second or so
  OutputFile file_;
};

}  // namespace carom
