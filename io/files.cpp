#include "io/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/errors.hpp"

namespace carom {

namespace fs = std::filesystem;

namespace {
constexpr std::size_t page = 4096;
constexpr std::size_t buffered = 16 * page;
}  // namespace

void fail_to_write(const fs::path& path, int error) {
  throw FileError("cannot write " + path.string() + ": " + std::generic_category().message(error));
}

bool OutputFile::open(const fs::path& path, int flags) {
  close();
  descriptor_ = ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0666);
  return descriptor_ >= 0;
}

bool OutputFile::write(std::string_view bytes, std::size_t at) {
  while (!bytes.empty()) {
    const ::ssize_t n = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<::off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
    at += static_cast<std::size_t>(n);
  }
  return true;
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

void append_number(std::string& text, double value) {
  std::array<char, 32> digits{};
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void CsvFile::open(std::optional<std::size_t> resume) {
  std::error_code error;
  if (resume) {
    std::string columns;
    std::ifstream earlier(path_);
    const bool readable = static_cast<bool>(std::getline(earlier, columns));
    earlier.close();
    const std::uintmax_t size = fs::file_size(path_, error);
    if (error || !readable) throw FileError("cannot continue " + path_.string() + ": it cannot be read");
    if (size < *resume)
      throw FileError("cannot continue " + path_.string() + ": it is shorter than when the checkpoint was written");
    if (columns == columns_) {
      if (!file_.open(path_) || !file_.truncate(*resume)) fail_to_write(path_, errno);
      written_ = *resume;
      return;
    }
    fs::path kept = path_;
    kept.replace_extension(".before.csv");
    fs::rename(path_, kept, error);
  }
  if (!file_.open(path_, O_CREAT | O_TRUNC)) fail_to_write(path_, errno);
  add_row(columns_ + '\n');
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
  if (text.find_first_of(",\"\n") == std::string_view::npos) {
    row_ += text;
    return *this;
  }
  row_ += '"';
  for (const char c : text) row_ += c == '"' ? std::string("\"\"") : std::string(1, c);
  row_ += '"';
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
  if (buffer_.size() >= buffered) flush();
}

void CsvFile::flush() {
  if (buffer_.empty()) return;
  if (!file_.write(buffer_, written_)) fail_to_write(path_, errno);
  written_ += buffer_.size();
  buffer_.clear();
}

}  // namespace carom
