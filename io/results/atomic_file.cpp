#include "io/results/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/base/errors.hpp"

namespace carom {

namespace fs = std::filesystem;

namespace {
constexpr std::size_t page = 4096;
constexpr std::size_t buffered = 16 * page;
}  // namespace

void fail_to_write(const fs::path& path, int error) {
  throw FileError("cannot write " + path.string() + ": " +
                  (error == ELOOP ? "it is a symbolic link" : std::generic_category().message(error)));
}

std::string read_content(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw FileError("cannot read " + path.string() + ": " + std::generic_category().message(errno));
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool OutputFile::open(const fs::path& path, int flags) {
  close();
  descriptor_ = ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0666);
  return descriptor_ >= 0;
}

bool OutputFile::write(std::string_view bytes, std::size_t at, std::size_t* done) {
  const std::size_t size = bytes.size();
  bool complete = true;
  while (!bytes.empty()) {
    const ::ssize_t n = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<::off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = ENOSPC;
      complete = false;
      break;
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
    at += static_cast<std::size_t>(n);
  }
  if (done != nullptr) *done = size - bytes.size();
  return complete;
}

bool OutputFile::truncate(std::size_t size) { return ::ftruncate(descriptor_, static_cast<::off_t>(size)) == 0; }

bool OutputFile::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  return descriptor < 0 || ::close(descriptor) == 0;
}

void write_atomically(const fs::path& path, std::string_view content) {
  fs::path temporary = path;
  temporary += ".tmp";
  OutputFile file;
  if (!file.open(temporary, O_CREAT | O_TRUNC)) fail_to_write(path, errno);
  if (!file.write(content, 0) || !file.close() || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    fail_to_write(path, error);
  }
}

bool is_one_of(const fs::path& file, const fs::path& directory, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    std::error_code error;
    return fs::equivalent(file, directory / name, error) && !error;
  });
}

bool write_in_place(const fs::path& path, std::string content) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size > page || content.empty() || content.size() > page) return false;
  // pad with blanks before the last character, a line end, up to the old size: one write within a page
  if (content.size() < size) content.insert(content.size() - 1, size - content.size(), ' ');
  OutputFile file;
  return file.open(path) && file.write(content, 0) && file.close();
}

void append_number(std::string& text, double value) {
  std::array<char, 32> digits{};
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void keep_table(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return;
  fs::path kept = path;
  kept.replace_extension(".before.csv");
  for (int i = 2; fs::exists(kept, error); ++i) {
    kept = path;
    kept.replace_extension(".before" + std::to_string(i) + ".csv");
  }
  // create a second name, so that a table exists at every moment
  fs::create_hard_link(path, kept, error);
  if (error) fs::copy_file(path, kept, error);
  if (error) throw FileError("cannot keep " + path.string() + " as " + kept.string() + ": " + error.message());
}

bool CsvFile::open(const std::optional<Place>& resume) {
  if (!resume) {
    begin();
    return false;
  }
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path_, error);  // size of a regular file; a device has none
  std::ifstream earlier;
  if (!error) earlier.open(path_, std::ios::binary);
  std::string columns;
  if (!std::getline(earlier, columns)) throw FileError("cannot continue " + path_.string() + ": it cannot be read");

  // columns differ from the checkpoint: an earlier restart with the present columns began a new file and was killed
  if (columns != resume->columns) {
    if (columns != columns_)
      throw FileError("cannot continue " + path_.string() + ": its columns are not those of the checkpoint");
    begin();
    return false;
  }
  // other quantities under the same names: an earlier restart may already have begun a new file, so the file may be
  // either
  if (columns == columns_ && !resume->meaning.empty() && resume->meaning != meaning_) {
    keep_table(path_);
    begin();
    return false;
  }
  if (size < resume->size)
    throw FileError("cannot continue " + path_.string() + ": it is shorter than when the checkpoint was written");
  earlier.seekg(static_cast<std::streamoff>(resume->size) - 1);
  if (resume->size == 0 || earlier.get() != '\n')
    throw FileError("cannot continue " + path_.string() + ": it has been changed since the checkpoint was written");
  earlier.close();
  if (columns != columns_) {
    keep_table(path_);
    begin();
    return false;
  }
  if (!file_.open(path_) || !file_.truncate(resume->size)) fail_to_write(path_, errno);
  written_ = resume->size;
  return true;
}

// Creates the file with its header line. A link is replaced by the file; a device is written to.
void CsvFile::begin() {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path_, error);
  const bool there = fs::exists(status);
  if (there && !fs::is_symlink(status) && ::access(path_.c_str(), W_OK) != 0) fail_to_write(path_, errno);
  const std::string head = columns_ + '\n';
  if (!there || fs::is_regular_file(status) || fs::is_symlink(status)) {
    write_atomically(path_, head);
    if (!file_.open(path_)) fail_to_write(path_, errno);
    written_ = head.size();
  } else {
    if (!file_.open(path_, O_CREAT | O_TRUNC)) fail_to_write(path_, errno);
    add_row(head);
    flush();
  }
}

void CsvFile::save(NamedArrays& record, std::size_t size) {
  flush();
  record.set_number("size", static_cast<double>(size));
  record.set("columns", Vector(columns_.begin(), columns_.end()));
  if (!meaning_.empty()) record.set("meaning", Vector(meaning_.begin(), meaning_.end()));
}

std::optional<CsvFile::Place> CsvFile::place(const NamedArrays& record) {
  const Vector* const columns = record.find("columns");
  if (columns == nullptr) return std::nullopt;
  Place place;
  place.size = static_cast<std::size_t>(record.number("size"));
  for (const double c : *columns) place.columns += static_cast<char>(c);
  if (const Vector* const meaning = record.find("meaning"))
    for (const double c : *meaning) place.meaning += static_cast<char>(c);
  return place;
}

CsvFile& CsvFile::empty_cell() {
  if (row_begun_) row_ += ',';
  row_begun_ = true;
  return *this;
}

CsvFile& CsvFile::cell(double value) {
  empty_cell();
  append_number(row_, value);
  return *this;
}

CsvFile& CsvFile::cell(std::string_view text) {
  empty_cell();
  row_ += csv_cell(text);
  return *this;
}

void CsvFile::end_row() {
  row_ += '\n';
  add_row(row_);
  row_.clear();
  row_begun_ = false;
}

void CsvFile::add_row(std::string_view row) {
  const std::size_t left = page - size() % page;
  if (row.size() > left && row.size() <= page) buffer_.append(left, ' ');
  buffer_ += row;
  if (buffer_.size() >= buffered || std::chrono::steady_clock::now() - flushed_ > std::chrono::seconds(1)) flush();
}

void CsvFile::flush() {
  if (buffer_.empty()) return;
  std::size_t done = 0;
  if (!file_.write(buffer_, written_, &done)) {
    // the disk is full: keep whole rows only
    const int error = errno;
    const std::size_t end = done == 0 ? std::string::npos : buffer_.rfind('\n', done - 1);
    file_.truncate(written_ + (end == std::string::npos ? 0 : end + 1));
    fail_to_write(path_, error);
  }
  written_ += buffer_.size();
  buffer_.clear();
  flushed_ = std::chrono::steady_clock::now();
}

}  // namespace carom
