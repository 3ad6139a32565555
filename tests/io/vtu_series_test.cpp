#include "io/results/vtu_series.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <Eigen/Geometry>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/base/errors.hpp"

// VTK reads the files back if its headers are available to the tests.
#if __has_include(<vtkXMLUnstructuredGridReader.h>)
#include <vtkCell.h>
#include <vtkCellData.h>
#include <vtkDataArray.h>
#include <vtkFieldData.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLUnstructuredGridReader.h>
#define CAROM_TEST_HAS_VTK
#endif

namespace {

using namespace carom;
namespace fs = std::filesystem;

/// A directory that is removed at the end of the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    static int number = 0;
    path = fs::temp_directory_path() / ("carom_vtu_" + std::to_string(::getpid()) + "_" + std::to_string(number++));
    fs::create_directories(path);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { fs::remove_all(path); }

  fs::path path;
};

std::string content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct Listed {
  double time;
  std::string file;
};

/// Entries of a PVD file. Fails the test unless every byte of the file is as expected.
std::vector<Listed> listed(const fs::path& path) {
  std::istringstream lines(content(path));
  std::string line;
  const auto next = [&] {
    REQUIRE(std::getline(lines, line));
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  CHECK(next() == "<?xml version=\"1.0\"?>");
  CHECK(next() == "<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">");
  CHECK(next() == "  <Collection>");
  std::vector<Listed> entries;
  const std::string begin = "    <DataSet timestep=\"", middle = "\" part=\"0\" file=\"", end = "\"/>";
  for (next(); line != "  </Collection>"; next()) {
    if (line.empty()) continue;
    const std::size_t at = line.find(middle);
    REQUIRE(line.starts_with(begin));
    REQUIRE(at != std::string::npos);
    REQUIRE(line.ends_with(end));
    const std::size_t file = at + middle.size();
    entries.push_back(
        {std::stod(line.substr(begin.size(), at - begin.size())), line.substr(file, line.size() - end.size() - file)});
  }
  CHECK(next() == "</VTKFile>");
  CHECK(!std::getline(lines, line));
  return entries;
}

/// Two boxes and a line, with a field of each kind.
VtuPiece some_piece(double t) {
  VtuPiece piece;
  piece.append(make_box({1, 1, 1}));
  piece.append(make_box({1, 2, 3}), Vec3(t, 0, 0), Eigen::AngleAxisd(t, Vec3::UnitZ()).toRotationMatrix());
  piece.append(make_polyline(std::vector<Vec3>{{0, 0, 0}, {1, 1, 1}}));
  auto& velocity = piece.point_fields[piece.add_point_field("velocity", 3)].values;
  for (std::size_t i = 0; i < velocity.size(); ++i) velocity[i] = std::sin(t + static_cast<double>(i));
  auto& body = piece.cell_fields[piece.add_cell_field("body", 1)].values;
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = t / (1.0 + static_cast<double>(i));
  return piece;
}

#ifdef CAROM_TEST_HAS_VTK
void check_values(vtkDataArray* array, const std::vector<double>& values, int components) {
  REQUIRE(array != nullptr);
  REQUIRE(array->GetDataType() == VTK_DOUBLE);
  REQUIRE(array->GetNumberOfComponents() == components);
  REQUIRE(static_cast<std::size_t>(array->GetNumberOfTuples() * components) == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double read = array->GetComponent(static_cast<vtkIdType>(i) / components, static_cast<int>(i) % components);
    const bool equal = read == values[i] || (std::isnan(read) && std::isnan(values[i]));
    if (!equal) FAIL_CHECK("value " << i << " is " << read << ", not " << values[i]);
  }
}

void check_file(const fs::path& path, double t, const VtuPiece& piece) {
  vtkNew<vtkXMLUnstructuredGridReader> reader;
  reader->SetFileName(path.c_str());
  reader->Update();
  REQUIRE(reader->GetErrorCode() == 0);
  vtkUnstructuredGrid* grid = reader->GetOutput();
  check_values(grid->GetPoints()->GetData(), piece.points, 3);
  check_values(grid->GetFieldData()->GetArray("TimeValue"), {t}, 1);
  REQUIRE(static_cast<std::size_t>(grid->GetPointData()->GetNumberOfArrays()) == piece.point_fields.size());
  for (const auto& field : piece.point_fields) {
    check_values(grid->GetPointData()->GetArray(field.name.c_str()), field.values, field.components);
  }
  REQUIRE(static_cast<std::size_t>(grid->GetCellData()->GetNumberOfArrays()) == piece.cell_fields.size());
  for (const auto& field : piece.cell_fields) {
    check_values(grid->GetCellData()->GetArray(field.name.c_str()), field.values, field.components);
  }
  REQUIRE(static_cast<std::size_t>(grid->GetNumberOfCells()) == piece.cell_count());
  std::size_t at = 0;
  for (std::size_t i = 0; i < piece.cell_count(); ++i) {
    vtkCell* cell = grid->GetCell(static_cast<vtkIdType>(i));
    CHECK(cell->GetCellType() == piece.types[i]);
    REQUIRE(static_cast<std::size_t>(cell->GetNumberOfPoints()) == static_cast<std::size_t>(piece.offsets[i]) - at);
    for (int k = 0; k < cell->GetNumberOfPoints(); ++k) CHECK(cell->GetPointId(k) == piece.connectivity[at++]);
  }
}
#else
void check_file(const fs::path& path, double, const VtuPiece&) { CHECK(content(path).ends_with("</VTKFile>\n")); }
#endif

TEST_CASE("VTU series: what VTK reads back equals what was written, bit for bit") {
  const TemporaryDirectory directory;
  VtuSeries series(directory.path / "new" / "results", "model");
  std::vector<VtuPiece> pieces{some_piece(0), some_piece(0.1), some_piece(1.0 / 3)};

  // other cells, points and fields; a field with NaN; an empty frame; and the first frame again
  VtuPiece other;
  other.append(make_sphere(1, 8), Vec3(1e-300, 1e300, -0.0));
  other.add_point_field("gap \"<&>\"", 1);
  other.point_fields[0].values[3] = std::numeric_limits<double>::quiet_NaN();
  other.add_point_field("stress", 6);
  pieces.push_back(other);
  pieces.push_back(VtuPiece{});
  pieces.push_back(some_piece(2));
  VtuPiece less = some_piece(3);
  less.cell_fields.clear();
  pieces.push_back(less);

  for (std::size_t i = 0; i < pieces.size(); ++i) series.write(0.1 * static_cast<double>(i), pieces[i]);
  series.close();
  const auto entries = listed(series.pvd_path());
  REQUIRE(entries.size() == pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    CAPTURE(i);
    CHECK(entries[i].time == 0.1 * static_cast<double>(i));
    check_file(series.pvd_path().parent_path() / entries[i].file, entries[i].time, pieces[i]);
  }
  CHECK(series.frames() == pieces.size());
  CHECK(series.seconds_spent() > 0);
  CHECK_THROWS_AS(series.write(9, pieces[0]), std::logic_error);
}

TEST_CASE("VTU series: points and fields changed in place are written anew") {
  const TemporaryDirectory directory;
  VtuSeries series(directory.path, "model");
  const SurfaceMesh box = make_box({1, 1, 1});
  VtuPiece piece = some_piece(0);
  for (int i = 0; i < 5; ++i) {
    piece.place(8, box, Vec3(i, 0, 0), Mat3::Identity());
    piece.point_fields[0].values[7] = i;
    series.write(i, piece);
    check_file(directory.path / "vtu" / ("model_00000" + std::to_string(i) + ".vtu"), i, piece);
  }
  CHECK(piece.points[3 * 8] == 3.5);
}

TEST_CASE("VTU series: the list is valid XML and names files that exist, after each of many frames") {
  const TemporaryDirectory directory;
  const VtuPiece piece = some_piece(0);
  const std::size_t frames = 300;
  {
    VtuSeries series(directory.path, "a & b");
    CHECK(listed(series.pvd_path()).empty());
    for (std::size_t i = 0; i < frames; ++i) {
      const double t = -1e-7 / 3 * static_cast<double>(i);
      series.write(t, piece);
      const auto entries = listed(series.pvd_path());
      REQUIRE(entries.size() == i + 1);
      CHECK(entries[i].time == t);
      CHECK(entries[i].file.starts_with("vtu/a &amp; b_000"));
    }
  }
  // the destructor closes the series: no reserved space remains
  const auto entries = listed(directory.path / "a & b.pvd");
  CHECK(entries.size() == frames);
  CHECK(fs::file_size(directory.path / "a & b.pvd") < (frames + 4) * 128);
  CHECK(std::distance(fs::directory_iterator(directory.path / "vtu"), {}) == static_cast<std::ptrdiff_t>(frames));
}

TEST_CASE("VTU series: after kill -9 the list is valid and every file in it whole") {
  for (const int milliseconds : {20, 45, 80}) {
    const TemporaryDirectory directory;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      VtuSeries series(directory.path, "model");
      for (int i = 0;; ++i) series.write(i, some_piece(i));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (!fs::exists(directory.path / "model.pvd")) continue;
    for (const Listed& entry : listed(directory.path / "model.pvd")) {
      check_file(directory.path / entry.file, entry.time, some_piece(entry.time));
    }
  }
}

TEST_CASE("VTU series: a new series removes the frames of the old one and nothing else") {
  const TemporaryDirectory directory;
  {
    VtuSeries series(directory.path, "model");
    for (int i = 0; i < 5; ++i) series.write(i, some_piece(i));
  }
  const std::vector<std::string> others{"model_2_000001.vtu", "model_000001.txt", "model_01.vtu", "mine.vtu"};
  for (const auto& name : others) std::ofstream(directory.path / "vtu" / name) << "mine";
  VtuSeries series(directory.path, "model");
  series.write(0, some_piece(0));
  for (const auto& name : others) CHECK(content(directory.path / "vtu" / name) == "mine");
  CHECK(std::distance(fs::directory_iterator(directory.path / "vtu"), {}) == 5);
  CHECK(listed(series.pvd_path()).size() == 1);
}

TEST_CASE("VTU series: a resumed series keeps the frames up to the time of the restart, closed or killed") {
  for (const bool closed : {false, true}) {
    const TemporaryDirectory directory;
    VtuSeries first(directory.path, "model");
    for (int i = 0; i < 5; ++i) first.write(0.1 * i, some_piece(i));
    if (closed) first.close();

    VtuSeries series(directory.path, "model", 0.1 * 2);
    CHECK(series.frames() == 3);
    CHECK(!fs::exists(directory.path / "vtu" / "model_000003.vtu"));
    series.write(0.25, some_piece(7));
    const auto entries = listed(series.pvd_path());
    REQUIRE(entries.size() == 4);
    CHECK(entries[2].time == 0.1 * 2);
    CHECK(entries[3].time == 0.25);
    check_file(directory.path / entries[2].file, 0.1 * 2, some_piece(2));
    check_file(directory.path / entries[3].file, 0.25, some_piece(7));
    if (!closed) first.close();
  }
  // an empty directory has nothing to resume
  const TemporaryDirectory directory;
  CHECK(VtuSeries(directory.path, "model", 1.0).frames() == 0);
}

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("VTU series: a directory that cannot be written is an error with path and reason") {
  const TemporaryDirectory directory;
  std::ofstream(directory.path / "file") << "not a directory";
  std::string message = message_of([&] { VtuSeries(directory.path / "file" / "results", "model"); });
  CHECK(message.find("file/results/vtu: Not a directory") != std::string::npos);

  // the path of the list, or of a frame, is occupied
  fs::create_directories(directory.path / "model.pvd");
  message = message_of([&] { VtuSeries(directory.path, "model"); });
  CHECK(message == "cannot write " + (directory.path / "model.pvd").string() + ": Is a directory");
  VtuSeries series(directory.path, "other");
  const fs::path frame = directory.path / "vtu" / "other_000000.vtu";
  fs::create_directories(frame / "full");
  message = message_of([&] { series.write(0, some_piece(0)); });
  CHECK(message == "cannot write " + frame.string() + ": Is a directory");
  CHECK(!fs::exists(frame.string() + ".tmp"));

  // the folder is removed while the program runs
  fs::remove_all(directory.path / "vtu");
  message = message_of([&] { series.write(0, some_piece(0)); });
  CHECK(message == "cannot write " + frame.string() + ": No such file or directory");
  CHECK(series.frames() == 0);

  // root is not bound by permissions
  if (::geteuid() != 0) {
    fs::create_directories(directory.path / "closed");
    ::chmod((directory.path / "closed").c_str(), 0500);
    message = message_of([&] { VtuSeries(directory.path / "closed", "model"); });
    CHECK(message.find("Permission denied") != std::string::npos);
  }
}

TEST_CASE("VTU series: when the disk takes no more, the error says so and the frames before stay") {
  const TemporaryDirectory directory;
  VtuSeries series(directory.path, "model");
  series.write(0, some_piece(0));
  VtuPiece large;
  large.append(make_sphere(1, 200));

  // a limit of the file size stands for a full disk
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit low{16384, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &low);
  const std::string message = message_of([&] { series.write(1, large); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);

  CHECK(message == "cannot write " + (directory.path / "vtu" / "model_000001.vtu").string() + ": File too large");
  CHECK(listed(series.pvd_path()).size() == 1);
  CHECK(std::distance(fs::directory_iterator(directory.path / "vtu"), {}) == 1);
  series.write(1, large);
  CHECK(listed(series.pvd_path()).size() == 2);
  check_file(directory.path / "vtu" / "model_000001.vtu", 1, large);
}

TEST_CASE("VTU series: sizes that do not fit together are refused and nothing is written") {
  const TemporaryDirectory directory;
  VtuSeries series(directory.path, "model");
  const auto refused = [&](const auto& spoil) {
    VtuPiece piece = some_piece(0);
    spoil(piece);
    CHECK_THROWS_AS(series.write(0, piece), std::invalid_argument);
  };
  refused([](VtuPiece& p) { p.points.pop_back(); });
  refused([](VtuPiece& p) { p.points.resize(p.points.size() - 3); });
  refused([](VtuPiece& p) { p.connectivity[3] = 1000; });
  refused([](VtuPiece& p) { p.connectivity[3] = -1; });
  refused([](VtuPiece& p) { p.connectivity.push_back(0); });
  refused([](VtuPiece& p) { p.offsets.pop_back(); });
  refused([](VtuPiece& p) { std::swap(p.offsets[0], p.offsets[1]); });
  refused([](VtuPiece& p) { p.types.push_back(1); });
  refused([](VtuPiece& p) { p.point_fields[0].values.pop_back(); });
  refused([](VtuPiece& p) { p.point_fields[0].components = 0; });
  refused([](VtuPiece& p) { p.cell_fields[0].components = 2; });
  refused([](VtuPiece& p) { p.point_fields.push_back(p.point_fields[0]); });
  CHECK(series.frames() == 0);
  series.write(0, some_piece(0));
  check_file(directory.path / "vtu" / "model_000000.vtu", 0, some_piece(0));
}

}  // namespace
