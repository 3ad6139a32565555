#include "io/mesh/surface_mesh.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <Eigen/Geometry>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "core/base/errors.hpp"

namespace {

using namespace carom;
constexpr double pi = std::numbers::pi;

/// A file that is removed at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    static int number = 0;
    path = std::filesystem::temp_directory_path() /
           ("carom_shapes_" + std::to_string(::getpid()) + "_" + std::to_string(number++) + ".stl");
    std::ofstream(path, std::ios::binary) << content;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path); }

  std::filesystem::path path;
};

std::string message_of_reading(const std::string& content) {
  const TemporaryFile file(content);
  try {
    read_stl(file.path);
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

std::string message_of_properties(const SurfaceMesh& mesh) {
  try {
    mass_properties(mesh, 1);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void append_bytes(std::string& to, const void* from, std::size_t n) { to.append(static_cast<const char*>(from), n); }

/// Binary STL of triangles given by nine floats each.
std::string binary_stl(const std::vector<std::array<float, 9>>& triangles, const std::string& header = "a surface") {
  std::string bytes = header;
  bytes.resize(80, ' ');
  const auto count = static_cast<std::uint32_t>(triangles.size());
  append_bytes(bytes, &count, 4);
  for (const auto& triangle : triangles) {
    const float normal[3] = {0, 0, 0};
    append_bytes(bytes, normal, 12);
    append_bytes(bytes, triangle.data(), 36);
    bytes.append(2, '\0');
  }
  return bytes;
}

/// The corner of a unit cube, x + y + z <= 1, of volume 1/6.
const std::vector<std::array<float, 9>> corner{{{0, 0, 0, 0, 1, 0, 1, 0, 0}},
                                               {{0, 0, 0, 1, 0, 0, 0, 0, 1}},
                                               {{0, 0, 0, 0, 0, 1, 0, 1, 0}},
                                               {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};

std::string ascii_stl(const std::vector<std::array<float, 9>>& triangles) {
  std::string text = "solid corner of a cube\n";
  for (const auto& t : triangles) {
    text += "  facet normal nan 0 0\n    outer loop\n";
    for (std::size_t i = 0; i < 9; i += 3) {
      text += "      vertex " + std::to_string(t[i]) + " +" + std::to_string(t[i + 1]) + "e0 " +
              std::to_string(t[i + 2]) + "\n";
    }
    text += "    endloop\n  ENDFACET\r\n";
  }
  return text + "endsolid corner of a cube\n";
}

double area(const SurfaceMesh& mesh) {
  double sum = 0;
  for (std::size_t c = 0; c < mesh.cell_count(); ++c) {
    const auto nodes = mesh.cell(c);
    const auto x = [&](std::size_t i) { return mesh.points[static_cast<std::size_t>(nodes[i])]; };
    for (std::size_t i = 1; i + 1 < nodes.size(); ++i) sum += 0.5 * (x(i) - x(0)).cross(x(i + 1) - x(0)).norm();
  }
  return sum;
}

void check_close(const Mat3& a, const Mat3& b, double tolerance) {
  CAPTURE(a);
  CAPTURE(b);
  CHECK((a - b).cwiseAbs().maxCoeff() <= tolerance * b.cwiseAbs().maxCoeff());
}

TEST_CASE("box: points are numbered by bits and the hexahedron has a positive Jacobian at every node") {
  const Vec3 size(2, 3, 5);
  const SurfaceMesh box = make_box(size);
  REQUIRE(box.points.size() == 8);
  for (int i = 0; i < 8; ++i) {
    for (int k = 0; k < 3; ++k) {
      CHECK(box.points[static_cast<std::size_t>(i)][k] == ((i >> k) & 1 ? 0.5 : -0.5) * size[k]);
    }
  }

  // In VTK's order node n has the neighbours n+1, n-1 in its face and n+4 above.
  REQUIRE(box.cell_count() == 1);
  CHECK(box.types[0] == 12);
  const auto nodes = box.cell(0);
  const auto x = [&](std::size_t i) { return box.points[static_cast<std::size_t>(nodes[i])]; };
  for (std::size_t n = 0; n < 4; ++n) {
    const std::size_t next = (n + 1) % 4, last = (n + 3) % 4;
    CHECK((x(next) - x(n)).cross(x(last) - x(n)).dot(x(n + 4) - x(n)) == doctest::Approx(30));
    CHECK((x(next + 4) - x(n + 4)).cross(x(last + 4) - x(n + 4)).dot(x(n + 4) - x(n)) == doctest::Approx(30));
  }
}

TEST_CASE("box: mass, centre and inertia are those of the textbook") {
  const SurfaceMesh box = make_box({2, 3, 5});
  const MassProperties p = mass_properties(box, 7);
  CHECK(p.volume == doctest::Approx(30));
  CHECK(p.mass == doctest::Approx(210));
  CHECK(p.center.norm() < 1e-15);
  const Mat3 expected = 210.0 / 12 * Vec3(9 + 25, 4 + 25, 4 + 9).asDiagonal();
  check_close(p.inertia, expected, 1e-14);
}

TEST_CASE("sphere: volume and area approach 4/3 pi r^3 and 4 pi r^2 with the square of the resolution") {
  const double r = 1.7, volume = 4.0 / 3 * pi * r * r * r, surface = 4 * pi * r * r;
  double volume_error[2], area_error[2];
  for (int i = 0; i < 2; ++i) {
    const SurfaceMesh sphere = make_sphere(r, 40 << i);
    for (const Vec3& x : sphere.points) CHECK(x.norm() == doctest::Approx(r).epsilon(1e-14));
    const MassProperties p = mass_properties(sphere, 1);
    CHECK(p.center.norm() < 1e-14);
    volume_error[i] = volume - p.volume;
    area_error[i] = surface - area(sphere);
    // the inertia of a body of nearly this shape is nearly 2/5 m r^2
    check_close(p.inertia, 0.4 * p.mass * r * r * Mat3::Identity(), i == 0 ? 1e-2 : 2.5e-3);
  }
  CHECK(volume_error[1] > 0);
  CHECK(volume_error[0] / volume_error[1] == doctest::Approx(4).epsilon(0.01));
  CHECK(area_error[0] / area_error[1] == doctest::Approx(4).epsilon(0.01));
}

TEST_CASE("sphere and cylinder: the coarsest are closed and bad resolutions are raised to them") {
  for (const int resolution : {-5, 0, 3, 4, 5, 7}) {
    CHECK(mass_properties(make_sphere(1, resolution), 1).volume > 0);
    CHECK(mass_properties(make_cylinder(1, 1, Axis::y, resolution), 1).volume > 0);
  }
}

TEST_CASE("cylinder: volume and area are those of the prism, along each axis") {
  const double r = 0.3, length = 2;
  const int n = 12;
  for (const Axis axis : {Axis::x, Axis::y, Axis::z}) {
    const SurfaceMesh closed = make_cylinder(r, length, axis, n);
    const SurfaceMesh open = make_cylinder(r, length, axis, n, false);
    const double base = n * r * r * std::sin(pi / n) * std::cos(pi / n);
    const double side = 2 * n * r * std::sin(pi / n) * length;
    const MassProperties p = mass_properties(closed, 2);
    CHECK(p.volume == doctest::Approx(base * length).epsilon(1e-14));
    CHECK(area(closed) == doctest::Approx(2 * base + side).epsilon(1e-14));
    CHECK(area(open) == doctest::Approx(side).epsilon(1e-14));
    CHECK(contains(message_of_properties(open), "not closed: 24 open edges"));

    // A regular polygon has the second moment A R^2 (2 + cos 2 pi / n) / 12 about each axis in its plane.
    const int k = static_cast<int>(axis);
    const double in_plane = p.mass * r * r * (2 + std::cos(2 * pi / n)) / 12;
    Vec3 expected = Vec3::Constant(in_plane + p.mass * length * length / 12);
    expected[k] = 2 * in_plane;
    check_close(p.inertia, expected.asDiagonal(), 1e-13);
    for (const Vec3& x : closed.points) CHECK(std::abs(x[k]) == doctest::Approx(length / 2));
  }
}

TEST_CASE("plane patch: a square of the given size about the point, facing along the normal") {
  for (const Vec3& normal : {Vec3(0, 0, 1), Vec3(0, 0, -1), Vec3(3, 0, 0), Vec3(0, 2, 0), Vec3(1, 2, -3),
                             Vec3(1e-200, 1e-200, 0), Vec3(1, 1, 1)}) {
    CAPTURE(normal);
    const Vec3 point(1, 2, 3);
    const SurfaceMesh patch = make_plane_patch(point, normal, 4);
    REQUIRE(patch.cell_count() == 1);
    const auto& x = patch.points;
    CHECK(area(patch) == doctest::Approx(16));
    CHECK((0.25 * (x[0] + x[1] + x[2] + x[3]) - point).norm() < 1e-14);
    const Vec3 n = (x[1] - x[0]).cross(x[2] - x[1]) / 16;
    CHECK((n - normal.stableNormalized()).norm() < 1e-14);
    CHECK((x[1] - x[0]).norm() == doctest::Approx(4));
    CHECK((x[2] - x[1]).norm() == doctest::Approx(4));
  }
}

TEST_CASE("polyline: one line between each two points, a vertex for one, nothing for none") {
  const std::vector<Vec3> points{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}};
  const SurfaceMesh line = make_polyline(points);
  CHECK(line.points.size() == 3);
  CHECK(line.connectivity == std::vector<int>{0, 1, 1, 2});
  CHECK(line.offsets == std::vector<int>{2, 4});
  CHECK(line.types == std::vector<unsigned char>{3, 3});
  CHECK(make_polyline(std::span(points).first(1)).types == std::vector<unsigned char>{1});
  CHECK(make_polyline({}).cell_count() == 0);
  CHECK(contains(message_of_properties(line), "without area"));
  CHECK(contains(message_of_properties(make_polyline({})), "no faces"));
}

TEST_CASE("STL: binary and ASCII give the same surface with merged vertices") {
  const TemporaryFile binary(binary_stl(corner)), solid(binary_stl(corner, "solid by a careless program"));
  const TemporaryFile ascii(ascii_stl(corner)), twice("\xEF\xBB\xBF \n" + ascii_stl(corner) + ascii_stl(corner));
  const SurfaceMesh mesh = read_stl(binary.path);
  CHECK(mesh.points.size() == 4);
  CHECK(mesh.cell_count() == 4);
  for (const auto& path : {solid.path, ascii.path}) {
    const SurfaceMesh other = read_stl(path);
    CHECK(other.points == mesh.points);
    CHECK(other.connectivity == mesh.connectivity);
    CHECK(other.types == mesh.types);
  }
  CHECK(read_stl(twice.path).points.size() == 4);
  CHECK(read_stl(twice.path).cell_count() == 8);
}

TEST_CASE("STL: volume, centre and inertia of a corner of a cube, scaled and moved") {
  const TemporaryFile file(binary_stl(corner));
  // Closed forms of the tetrahedron x + y + z <= a: V = a^3 / 6, centre a / 4 (1, 1, 1),
  // int x^2 dV = a^5 / 60, int x y dV = a^5 / 120.
  const double a = 2e-3, density = 7800, volume = a * a * a / 6;
  SurfaceMesh mesh = read_stl(file.path, a);
  const Mat3 second = std::pow(a, 5) / 120 * (Mat3::Ones() + Mat3::Identity());
  const Mat3 central = second - volume * a * a / 16 * Mat3::Ones();
  const Mat3 inertia = density * (central.trace() * Mat3::Identity() - central);
  const MassProperties p = mass_properties(mesh, density);
  CHECK(p.volume == doctest::Approx(volume).epsilon(1e-14));
  CHECK(p.mass == doctest::Approx(density * volume).epsilon(1e-14));
  CHECK((p.center - Vec3::Constant(a / 4)).norm() < 1e-14 * a);
  check_close(p.inertia, inertia, 1e-13);

  // far from the origin only the digits of the coordinates themselves are lost
  const Mat3 R = Eigen::AngleAxisd(0.7, Vec3(1, 2, 3).normalized()).toRotationMatrix();
  const Vec3 offset(1, -2, 3);
  for (Vec3& x : mesh.points) x = R * x + offset;
  const MassProperties moved = mass_properties(mesh, density);
  CHECK((moved.center - (offset + R * Vec3::Constant(a / 4))).norm() < 1e-14);
  check_close(moved.inertia, R * inertia * R.transpose(), 1e-11);
}

TEST_CASE("mass properties: a cavity is subtracted") {
  SurfaceMesh hollow = make_sphere(2, 16);
  const SurfaceMesh hole = make_sphere(1, 16);
  const int shift = static_cast<int>(hollow.points.size());
  hollow.points.insert(hollow.points.end(), hole.points.begin(), hole.points.end());
  for (std::size_t i = 0; i < hole.cell_count(); ++i) {
    const auto n = hole.cell(i);
    for (std::size_t k = 1; k + 1 < n.size(); ++k) {
      hollow.add_cell(CellType::triangle, {shift + n[0], shift + n[k + 1], shift + n[k]});
    }
  }
  const MassProperties outer = mass_properties(make_sphere(2, 16), 3), inner = mass_properties(hole, 3);
  const MassProperties p = mass_properties(hollow, 3);
  CHECK(p.mass == doctest::Approx(outer.mass - inner.mass).epsilon(1e-13));
  check_close(p.inertia, outer.inertia - inner.inertia, 1e-13);
}

TEST_CASE("mass properties: open, twisted, inverted and flat surfaces are refused") {
  auto triangles = corner;
  triangles.pop_back();
  const TemporaryFile open(binary_stl(triangles));
  CHECK(contains(message_of_properties(read_stl(open.path)), "3 open edges"));

  triangles = corner;
  for (std::size_t i = 0; i < 3; ++i) std::swap(triangles[1][i], triangles[1][i + 3]);
  const TemporaryFile twisted(binary_stl(triangles));
  CHECK(contains(message_of_properties(read_stl(twisted.path)), "3 edges where they disagree"));

  triangles = corner;
  for (auto& t : triangles) {
    for (std::size_t i = 0; i < 3; ++i) std::swap(t[i], t[i + 3]);
  }
  const TemporaryFile inverted(binary_stl(triangles));
  CHECK(contains(message_of_properties(read_stl(inverted.path)), "inside out"));

  const TemporaryFile flat(binary_stl({{{0, 0, 0, 1, 0, 0, 0, 1, 0}}, {{0, 0, 0, 0, 1, 0, 1, 0, 0}}}));
  CHECK(contains(message_of_properties(read_stl(flat.path)), "no volume"));
}

TEST_CASE("STL: every bad file is refused with its reason") {
  CHECK_THROWS_AS(read_stl("no/such/file.stl"), FileError);
  CHECK_THROWS_AS(read_stl(std::filesystem::temp_directory_path()), FileError);
  CHECK_THROWS_AS(read_stl("/dev/zero"), FileError);
  CHECK(contains(message_of_reading(""), "is empty"));
  CHECK(contains(message_of_reading("hello"), "not an STL file"));
  CHECK(contains(message_of_reading(binary_stl({})), "no triangle"));
  CHECK(contains(message_of_reading("solid nothing\nendsolid nothing\n"), "no triangle"));
  CHECK(contains(message_of_reading(binary_stl({{{0, 0, 0, 1, 0, 0, 1, 0, 0}}})), "no triangle"));

  // binary: cut at every length, too long, a hostile count, values that are not numbers
  const std::string binary = binary_stl(corner, "solid");
  for (std::size_t n = 0; n < binary.size(); ++n) {
    CAPTURE(n);
    CHECK(message_of_reading(binary.substr(0, n)) != "no error");
  }
  CHECK(contains(message_of_reading(binary.substr(0, 200)), "truncated: 4 triangles as in its header need 284 bytes"));
  CHECK(contains(message_of_reading(binary + "x"), "need 284 bytes, it has 285"));
  std::string hostile = binary_stl(corner);
  hostile.replace(80, 4, "\xFF\xFF\xFF\xFF");
  CHECK(contains(message_of_reading(hostile), "4294967295 triangles"));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    auto triangles = corner;
    triangles[2][4] = bad;
    CHECK(contains(message_of_reading(binary_stl(triangles)), "triangle 3 has a coordinate that is not finite"));
  }
  auto damaged = corner;
  damaged[2][4] = -1e38F;
  CHECK(contains(message_of_reading(binary_stl(damaged)), "triangle 3 has the coordinate -9.99"));
  CHECK(contains(message_of_reading(binary_stl(damaged)), ", beyond 1e+15"));

  // ASCII: cut at any place before the last keyword, wrong words, wrong numbers; the message contains the line
  const std::string ascii = ascii_stl(corner);
  for (std::size_t n = 0; n < ascii.rfind("endsolid") + 8; ++n) {
    CAPTURE(n);
    CHECK(message_of_reading(ascii.substr(0, n)) != "no error");
  }
  const auto replaced = [&](const std::string& what, const std::string& by) {
    std::string text = ascii;
    return text.replace(text.find(what), what.size(), by);
  };
  CHECK(contains(message_of_reading(replaced("outer", "inner")), ":3: ASCII STL: expected \"outer\", got \"inner\""));
  CHECK(contains(message_of_reading(replaced("0.000000", "0,5")), ":4: ASCII STL: expected a number, got \"0,5\""));
  CHECK(contains(message_of_reading(replaced("0.000000", "1e999")), "expected a number"));
  CHECK(contains(message_of_reading(replaced("0.000000", "inf")), "not finite"));
  CHECK(
      contains(message_of_reading(replaced("0.000000", "1e38")), ": ASCII STL: the triangle has the coordinate 1e+38"));
  CHECK(contains(message_of_reading(replaced("endloop", "vertex 1 2 3 endloop")), "expected \"endloop\""));
  CHECK(contains(message_of_reading(ascii + "garbage"), "expected \"solid\", got \"garbage\""));

  // finite numbers may overflow after scaling
  const TemporaryFile file(binary);
  CHECK_THROWS_AS(read_stl(file.path, 1e308 * 10), std::invalid_argument);
  CHECK_THROWS_AS(read_stl(file.path, -1), std::invalid_argument);
  const TemporaryFile large(binary_stl({{{0, 0, 0, 1e30F, 0, 0, 0, 1, 0}}}));
  CHECK_THROWS_AS(read_stl(large.path, 1e300), FileError);
}

}  // namespace
