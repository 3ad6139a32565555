#include "io/results/vtu_series.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/errors.hpp"
#include "io/results/atomic_file.hpp"

namespace carom {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view pvd_head =
    "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n  "
    "<Collection>";
constexpr std::string_view pvd_tail = "  </Collection>\n</VTKFile>\n";
constexpr std::size_t first_reserve = 64;

std::string shortest_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

std::string frame_name(const std::string& series, std::size_t number) {
  const std::string digits = std::to_string(number);
  return series + "_" + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits + ".vtu";
}

std::string pvd_entry(double t, const std::string& series, std::size_t number) {
  return "    <DataSet timestep=\"" + shortest_text(t) + "\" part=\"0\" file=\"vtu/" +
         xml_escaped(frame_name(series, number)) + "\"/>";
}

/// The number in a file name SERIES_<digits>.vtu, also if .tmp follows.
std::optional<std::size_t> frame_number(std::string_view file, std::string_view series) {
  if (file.ends_with(".tmp")) file.remove_suffix(4);
  if (!file.ends_with(".vtu") || !file.starts_with(series)) return std::nullopt;
  file.remove_suffix(4);
  file.remove_prefix(series.size());
  if (file.size() < 7 || file[0] != '_') return std::nullopt;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(file.data() + 1, file.data() + file.size(), number);
  if (error != std::errc() || end != file.data() + file.size()) return std::nullopt;
  return number;
}

/// Times of the frames listed in a PVD file of this class.
std::vector<double> listed_times(const fs::path& path) {
  std::vector<double> times;
  std::ifstream stream(path);
  constexpr std::string_view key = "<DataSet timestep=\"";
  for (std::string line; std::getline(stream, line);) {
    const std::size_t at = line.find(key);
    if (at == std::string::npos) continue;
    double t = 0;
    if (std::from_chars(line.data() + at + key.size(), line.data() + line.size(), t).ec != std::errc()) break;
    times.push_back(t);
  }
  return times;
}

/// Removes the frames from number `first` on.
void remove_frames(const fs::path& directory, const std::string& series, std::size_t first) {
  std::error_code error;
  std::vector<fs::path> stale;
  for (fs::directory_iterator it(directory / "vtu", error), end; !error && it != end; it.increment(error)) {
    const auto number = frame_number(it->path().filename().string(), series);
    if (number && (*number >= first || it->path().extension() == ".tmp")) stale.push_back(it->path());
  }
  for (const fs::path& path : stale) fs::remove(path, error);
}

/// The list of frames; the header vtu_series.hpp describes its format.
class PvdFile {
 public:
  PvdFile(fs::path path, std::string series) : path_(std::move(path)), series_(std::move(series)) {
    // space for times and numbers of any length
    width_ = std::bit_ceil(pvd_entry(-1.2345678901234567e-300, series_, 1'000'000'000).size() + 1);
  }

  void begin(const std::vector<double>& times) {
    for (std::size_t i = 0; i < times.size(); ++i) records_ += record(times[i], i);
    rewrite();
  }

  void add(double t) {
    const std::string text = record(t, count());
    if (count() < reserved_) {
      if (!file_.write(text, head().size() + records_.size())) fail_to_write(path_, errno);
      records_ += text;
    } else {
      records_ += text;
      rewrite();
    }
  }

  void close() {
    file_.close();
    write_atomically(path_, head() + records_ + std::string(pvd_tail));
  }

  std::size_t count() const { return records_.size() / width_; }
  const fs::path& path() const { return path_; }

 private:
  std::string padded(std::string text, std::size_t size) const {
    assert(text.size() < size);
    text.resize(size - 1, ' ');
    return text + '\n';
  }

  /// The opening tags, padded to a whole number of records.
  std::string head() const { return padded(std::string(pvd_head), (pvd_head.size() + width_) / width_ * width_); }

  std::string record(double t, std::size_t number) const { return padded(pvd_entry(t, series_, number), width_); }

  /// Writes the whole file, with as many blank records as used records.
  void rewrite() {
    const std::size_t reserved = std::max(first_reserve, 2 * count());
    std::string text = head() + records_;
    const std::string blank = padded("", width_);
    for (std::size_t i = count(); i < reserved; ++i) text += blank;
    write_atomically(path_, text.append(pvd_tail));
    if (!file_.open(path_)) fail_to_write(path_, errno);
    reserved_ = reserved;
  }

  fs::path path_;
  std::string series_;
  std::size_t width_ = 0;
  std::string records_;
  std::size_t reserved_ = 0;
  OutputFile file_;
};

class StopWatch {
 public:
  explicit StopWatch(double& seconds) : seconds_(seconds) {}
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;
  ~StopWatch() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

struct VtuSeries::Impl {
  Impl(fs::path folder, std::string series)
      : directory(std::move(folder)), name(std::move(series)), pvd(directory / (name + ".pvd"), name) {}

  void begin(std::optional<double> resume_from);

  fs::path directory;
  std::string name;
  PvdFile pvd;
  VtuFile file;
  double seconds = 0;
  bool closed = false;
};

void VtuSeries::Impl::begin(std::optional<double> resume_from) {
  std::error_code error;
  fs::create_directories(directory / "vtu", error);
  if (error) throw FileError("cannot create " + (directory / "vtu").string() + ": " + error.message());

  std::vector<double> kept;
  if (resume_from) {
    kept = listed_times(pvd.path());
    const auto end = std::find_if(kept.begin(), kept.end(), [&](double t) { return !(t <= *resume_from); });
    kept.erase(end, kept.end());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (!fs::exists(directory / "vtu" / frame_name(name, i), error)) kept.resize(i);
    }
  }
  pvd.begin(kept);

  // a frame that is not listed would be mistaken for a part of the series
  remove_frames(directory, name, kept.size());
}

void remove_series(const fs::path& directory, const std::string& name) {
  std::error_code error;
  fs::remove(directory / (name + ".pvd"), error);
  remove_frames(directory, name, 0);
}

VtuSeries::VtuSeries(fs::path directory, std::string name, std::optional<double> resume_from)
    : impl_(std::make_unique<Impl>(std::move(directory), std::move(name))) {
  const StopWatch watch(impl_->seconds);
  impl_->begin(resume_from);
}

VtuSeries::~VtuSeries() {
  try {
    if (impl_) close();
  } catch (const std::exception&) {  // the list is also valid without this change
  }
}

VtuSeries::VtuSeries(VtuSeries&&) noexcept = default;
VtuSeries& VtuSeries::operator=(VtuSeries&&) noexcept = default;

void VtuSeries::write(double t, const VtuPiece& piece) {
  if (impl_->closed) throw std::logic_error("VtuSeries: write after close");
  const StopWatch watch(impl_->seconds);
  write_atomically(impl_->directory / "vtu" / frame_name(impl_->name, impl_->pvd.count()), impl_->file.bytes(t, piece));
  impl_->pvd.add(t);
}

void VtuSeries::close() {
  if (std::exchange(impl_->closed, true)) return;
  const StopWatch watch(impl_->seconds);
  impl_->pvd.close();
}

std::size_t VtuSeries::frames() const { return impl_->pvd.count(); }
double VtuSeries::seconds_spent() const { return impl_->seconds; }
const fs::path& VtuSeries::pvd_path() const { return impl_->pvd.path(); }

}  // namespace carom
