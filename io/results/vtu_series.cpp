#include "io/results/vtu_series.hpp"

#include <vtkCallbackCommand.h>
#include <vtkCellArray.h>
#include <vtkCellData.h>
#include <vtkDataSetAttributes.h>
#include <vtkDoubleArray.h>
#include <vtkFieldData.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkSmartPointer.h>
#include <vtkTypeInt32Array.h>
#include <vtkUnsignedCharArray.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLUnstructuredGridWriter.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
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

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\n':
        result += "&#10;";
        break;
      case '\r':
        result += "&#13;";
        break;
      case '\t':
        result += "&#9;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string to_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

std::string frame_name(const std::string& series, std::size_t number) {
  const std::string digits = std::to_string(number);
  return series + "_" + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits + ".vtu";
}

std::string pvd_entry(double t, const std::string& series, std::size_t number) {
  return "    <DataSet timestep=\"" + to_text(t) + "\" part=\"0\" file=\"vtu/" + escaped(frame_name(series, number)) +
         "\"/>";
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

/// VTK expects a non-const pointer, but the writer only reads.
template <class T>
T* unconst(const std::vector<T>& values) {
  return const_cast<T*>(values.data());
}

void check_fields(const std::vector<VtuPiece::Field>& fields, std::size_t count, const char* what) {
  for (const VtuPiece::Field& field : fields) {
    if (field.components < 1 || field.values.size() != count * static_cast<std::size_t>(field.components)) {
      throw std::invalid_argument("field " + field.name + " has " + std::to_string(field.values.size()) +
                                  " values; needed are " + std::to_string(field.components) + " for each of " +
                                  std::to_string(count) + " " + what);
    }
  }
}

/// Makes VTK's arrays refer to the values of the fields.
void set_fields(vtkDataSetAttributes& data, const std::vector<VtuPiece::Field>& fields) {
  const auto array = [&](std::size_t i) { return vtkDoubleArray::FastDownCast(data.GetArray(static_cast<int>(i))); };
  // VTK writes names to the XML without escaping
  bool same = static_cast<std::size_t>(data.GetNumberOfArrays()) == fields.size();
  for (std::size_t i = 0; same && i < fields.size(); ++i) {
    same = escaped(fields[i].name) == array(i)->GetName() && fields[i].components == array(i)->GetNumberOfComponents();
  }
  if (!same) {
    data.Initialize();
    for (const VtuPiece::Field& field : fields) {
      vtkNew<vtkDoubleArray> values;
      values->SetName(escaped(field.name).c_str());
      values->SetNumberOfComponents(field.components);
      data.AddArray(values);
    }
    // VTK treats two fields of one name as one field
    if (static_cast<std::size_t>(data.GetNumberOfArrays()) != fields.size()) {
      data.Initialize();
      throw std::invalid_argument("two fields have the same name");
    }
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    array(i)->SetArray(unconst(fields[i].values), static_cast<vtkIdType>(fields[i].values.size()), 1);
    array(i)->Modified();
  }
}

}  // namespace

std::size_t VtuPiece::append(const SurfaceMesh& mesh, const Vec3& x, const Mat3& R) {
  const std::size_t first = point_count();
  points.resize(points.size() + 3 * mesh.points.size());
  place(first, mesh, x, R);
  const int end = static_cast<int>(connectivity.size());
  for (const int node : mesh.connectivity) connectivity.push_back(static_cast<int>(first) + node);
  for (const int offset : mesh.offsets) offsets.push_back(end + offset);
  types.insert(types.end(), mesh.types.begin(), mesh.types.end());
  return first;
}

void VtuPiece::place(std::size_t first_point, const SurfaceMesh& mesh, const Vec3& x, const Mat3& R) {
  assert(first_point + mesh.points.size() <= point_count());
  double* to = points.data() + 3 * first_point;
  for (const Vec3& y : mesh.points) {
    const Vec3 moved = x + R * y;
    to = std::copy_n(moved.data(), 3, to);
  }
}

std::size_t VtuPiece::add_point_field(std::string name, int components) {
  point_fields.push_back(
      {std::move(name), components, std::vector<double>(point_count() * static_cast<std::size_t>(components))});
  return point_fields.size() - 1;
}

std::size_t VtuPiece::add_cell_field(std::string name, int components) {
  cell_fields.push_back(
      {std::move(name), components, std::vector<double>(cell_count() * static_cast<std::size_t>(components))});
  return cell_fields.size() - 1;
}

struct VtuSeries::Impl {
  Impl(fs::path folder, std::string series)
      : directory(std::move(folder)), name(std::move(series)), pvd(directory / (name + ".pvd"), name) {
    connect();
  }

  void begin(std::optional<double> resume_from);
  void connect();
  void set_cells(const VtuPiece& piece);
  void write_frame(double t, const VtuPiece& piece);

  fs::path directory;
  std::string name;
  PvdFile pvd;
  double seconds = 0;
  bool closed = false;

  // Cells of the last frame; the arrays below refer to them or are made from them.
  std::vector<int> connectivity, offsets;
  std::vector<unsigned char> types;
  std::size_t points_needed = 0;

  std::string vtk_error;
  vtkNew<vtkCallbackCommand> on_error;
  vtkNew<vtkDoubleArray> coordinates, time;
  vtkNew<vtkPoints> points;
  vtkNew<vtkUnstructuredGrid> grid;
  vtkNew<vtkXMLUnstructuredGridWriter> writer;
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

void VtuSeries::Impl::connect() {
  coordinates->SetNumberOfComponents(3);
  points->SetData(coordinates);
  grid->SetPoints(points);
  time->SetName("TimeValue");
  time->SetNumberOfTuples(1);
  grid->GetFieldData()->AddArray(time);

  // VTK produces the bytes and this class writes the file, so that the reason of a failure is known
  writer->SetInputData(grid);
  writer->SetDataModeToAppended();
  writer->EncodeAppendedDataOff();
  writer->SetCompressorTypeToLZ4();
  writer->WriteToOutputStringOn();
  on_error->SetClientData(&vtk_error);
  on_error->SetCallback([](vtkObject*, unsigned long, void* text, void* message) {
    *static_cast<std::string*>(text) = message != nullptr ? static_cast<const char*>(message) : "error";
  });
  writer->AddObserver(vtkCommand::ErrorEvent, on_error);
}

void VtuSeries::Impl::set_cells(const VtuPiece& piece) {
  if (grid->GetCells() != nullptr && piece.types == types && piece.offsets == offsets &&
      piece.connectivity == connectivity) {
    return;
  }

  // check before any change
  if (piece.offsets.size() != piece.types.size() ||
      (piece.offsets.empty() ? 0 : piece.offsets.back()) != static_cast<int>(piece.connectivity.size()) ||
      (!piece.offsets.empty() && piece.offsets.front() < 0) ||
      !std::is_sorted(piece.offsets.begin(), piece.offsets.end())) {
    throw std::invalid_argument("offsets of the cells do not fit their types or connectivity");
  }
  int largest = -1;
  for (const int node : piece.connectivity) {
    if (node < 0) throw std::invalid_argument("negative point number in a cell");
    largest = std::max(largest, node);
  }
  points_needed = static_cast<std::size_t>(largest) + 1;  // 0 without cells
  connectivity = piece.connectivity;
  offsets = piece.offsets;
  types = piece.types;

  // VTK's offsets begin with 0
  vtkNew<vtkTypeInt32Array> vtk_offsets, vtk_connectivity;
  vtk_offsets->SetNumberOfValues(static_cast<vtkIdType>(offsets.size()) + 1);
  vtk_offsets->SetValue(0, 0);
  std::copy(offsets.begin(), offsets.end(), vtk_offsets->GetPointer(0) + 1);
  vtk_connectivity->SetArray(connectivity.data(), static_cast<vtkIdType>(connectivity.size()), 1);
  vtkNew<vtkUnsignedCharArray> vtk_types;
  vtk_types->SetArray(types.data(), static_cast<vtkIdType>(types.size()), 1);
  vtkNew<vtkCellArray> cells;
  cells->SetData(vtk_offsets, vtk_connectivity);
  grid->SetCells(vtk_types, cells);
}

void VtuSeries::Impl::write_frame(double t, const VtuPiece& piece) {
  set_cells(piece);
  if (piece.points.size() % 3 != 0)
    throw std::invalid_argument("points: the number of coordinates is no multiple of 3");
  if (piece.point_count() < points_needed) throw std::invalid_argument("a cell uses a point that does not exist");
  check_fields(piece.point_fields, piece.point_count(), "points");
  check_fields(piece.cell_fields, piece.cell_count(), "cells");

  coordinates->SetArray(unconst(piece.points), static_cast<vtkIdType>(piece.points.size()), 1);
  coordinates->Modified();
  points->Modified();
  set_fields(*grid->GetPointData(), piece.point_fields);
  set_fields(*grid->GetCellData(), piece.cell_fields);
  time->SetValue(0, t);
  time->Modified();
  grid->Modified();

  const fs::path path = directory / "vtu" / frame_name(name, pvd.count());
  vtk_error.clear();
  if (writer->Write() == 0 || !vtk_error.empty()) {
    throw FileError("cannot write " + path.string() + ": VTK: " + (vtk_error.empty() ? "failed" : vtk_error));
  }
  write_atomically(path, writer->GetOutputString());
  pvd.add(t);
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
  impl_->write_frame(t, piece);
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
