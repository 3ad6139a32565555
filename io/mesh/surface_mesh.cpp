#include "io/mesh/surface_mesh.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "core/base/errors.hpp"

namespace carom {
namespace {

constexpr std::uintmax_t largest_stl_bytes = std::uintmax_t{1} << 30;
constexpr double largest_coordinate = 1e15;   // larger ones come from damaged files
constexpr std::size_t stl_header_bytes = 84;  // 80 of text, 4 of the number of triangles
constexpr std::size_t stl_record_bytes = 50;  // normal, three vertices, attribute

static_assert(std::endian::native == std::endian::little, "binary STL is read as little endian");

int to_index(std::size_t n) {
  assert(n <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
  return static_cast<int>(n);
}

std::string to_text(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string to_text(const Vec3& x) { return "(" + to_text(x[0]) + ", " + to_text(x[1]) + ", " + to_text(x[2]) + ")"; }

// ---- STL

/// Collects triangles and merges equal vertices.
class TriangleCollector {
 public:
  explicit TriangleCollector(double scale) : scale_(scale) {}

  /// Returns an empty text, or the coordinate that no surface can have.
  std::string add(const std::array<Vec3, 3>& corners) {
    std::array<int, 3> nodes{};
    for (std::size_t i = 0; i < 3; ++i) {
      const Vec3 x = scale_ * corners[i];
      if (!x.allFinite()) return "a coordinate that is not finite";
      for (const double c : x)
        if (std::abs(c) > largest_coordinate)
          return "the coordinate " + to_text(c) + ", beyond " + to_text(largest_coordinate);
      nodes[i] = number_of(x);
    }
    if (nodes[0] != nodes[1] && nodes[1] != nodes[2] && nodes[2] != nodes[0]) {
      mesh_.add_cell(CellType::triangle, {nodes[0], nodes[1], nodes[2]});
    }
    return {};
  }

  SurfaceMesh take() { return std::move(mesh_); }

 private:
  using Key = std::array<std::uint64_t, 3>;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t h = 0;
      for (const std::uint64_t k : key) {
        h = (h ^ k) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
      }
      return static_cast<std::size_t>(h);
    }
  };

  int number_of(const Vec3& x) {
    // adding zero turns -0 into +0, so equal numbers have equal bits
    const Key key{std::bit_cast<std::uint64_t>(x[0] + 0.0), std::bit_cast<std::uint64_t>(x[1] + 0.0),
                  std::bit_cast<std::uint64_t>(x[2] + 0.0)};
    const auto [place, is_new] = numbers_.try_emplace(key, to_index(mesh_.points.size()));
    if (is_new) mesh_.points.push_back(x);
    return place->second;
  }

  double scale_;
  SurfaceMesh mesh_;
  std::unordered_map<Key, int, Hash> numbers_;
};

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw FileError(path.string() + ": " + what);
}

SurfaceMesh read_binary_stl(const std::filesystem::path& path, std::string_view bytes, double scale) {
  TriangleCollector triangles(scale);
  std::size_t number = 1;
  for (std::size_t at = stl_header_bytes; at + stl_record_bytes <= bytes.size(); at += stl_record_bytes, ++number) {
    std::array<float, 9> numbers{};
    std::memcpy(numbers.data(), bytes.data() + at + 3 * sizeof(float), sizeof numbers);
    std::array<Vec3, 3> corners;
    for (std::size_t i = 0; i < 3; ++i) {
      corners[i] = Vec3(numbers[3 * i], numbers[3 * i + 1], numbers[3 * i + 2]);
    }
    if (const std::string wrong = triangles.add(corners); !wrong.empty())
      fail(path, "triangle " + std::to_string(number) + " has " + wrong);
  }
  return triangles.take();
}

/// Reads `solid NAME { facet normal x y z outer loop { vertex x y z } x 3 endloop endfacet } endsolid NAME`, one or
/// more times.
class AsciiStlReader {
 public:
  AsciiStlReader(const std::filesystem::path& path, std::string_view text) : path_(path), text_(text) {}

  SurfaceMesh read(double scale) {
    TriangleCollector triangles(scale);
    std::string_view word = next_word();
    while (!word.empty()) {
      expect("solid", word);
      skip_line();
      for (word = next_word(); is(word, "facet"); word = next_word()) read_facet(triangles);
      expect("endsolid", word);
      skip_line();
      word = next_word();
    }
    return triangles.take();
  }

 private:
  void read_facet(TriangleCollector& triangles) {
    expect("normal", next_word());
    for (int i = 0; i < 3; ++i) next_word();
    expect("outer", next_word());
    expect("loop", next_word());
    std::array<Vec3, 3> corners;
    for (Vec3& x : corners) {
      expect("vertex", next_word());
      for (int i = 0; i < 3; ++i) x[i] = read_number();
    }
    if (const std::string wrong = triangles.add(corners); !wrong.empty()) fail_here("the triangle has " + wrong);
    expect("endloop", next_word());
    expect("endfacet", next_word());
  }

  double read_number() {
    std::string_view word = next_word();
    const std::string_view all = word;
    if (word.starts_with('+')) word.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) fail_here("expected a number, got " + quoted(all));
    return value;
  }

  std::string_view next_word() {
    while (at_ < text_.size() && is_space(text_[at_])) {
      if (text_[at_] == '\n') ++line_;
      ++at_;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_space(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void expect(std::string_view keyword, std::string_view word) const {
    if (!is(word, keyword)) fail_here("expected " + quoted(keyword) + ", got " + quoted(word));
  }

  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  /// True if the word is this keyword (given in lower case).
  static bool is(std::string_view word, std::string_view keyword) {
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; };
    return std::equal(word.begin(), word.end(), keyword.begin(), keyword.end(), same);
  }

  /// A word in printable form: short and without control characters.
  static std::string quoted(std::string_view word) {
    if (word.empty()) return "the end of the file";
    std::string text(word.substr(0, 40));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return "\"" + text + (word.size() > 40 ? "...\"" : "\"");
  }

  [[noreturn]] void fail_here(const std::string& what) const {
    throw FileError(path_.string() + ":" + std::to_string(line_) + ": ASCII STL: " + what);
  }

  const std::filesystem::path& path_;
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

// ---- Faces

/// Calls f(i, j, k) for each triangle of the faces of the mesh.
template <class F>
void for_each_triangle(const SurfaceMesh& mesh, F f) {
  // Faces of VTK's hexahedron, counter-clockwise from outside.
  constexpr std::array<std::array<std::size_t, 4>, 6> faces{
      {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}}};
  for (std::size_t i = 0; i < mesh.cell_count(); ++i) {
    const std::span<const int> n = mesh.cell(i);
    switch (static_cast<CellType>(mesh.types[i])) {
      case CellType::triangle:
        f(n[0], n[1], n[2]);
        break;
      case CellType::quad:
        f(n[0], n[1], n[2]);
        f(n[0], n[2], n[3]);
        break;
      case CellType::hexahedron:
        for (const auto& q : faces) {
          f(n[q[0]], n[q[1]], n[q[2]]);
          f(n[q[0]], n[q[2]], n[q[3]]);
        }
        break;
      case CellType::tetrahedron:
        f(n[0], n[2], n[1]);
        f(n[0], n[1], n[3]);
        f(n[1], n[2], n[3]);
        f(n[0], n[3], n[2]);
        break;
      case CellType::vertex:
      case CellType::line:
        throw ModelError("", "the surface has points or lines without area, so it bounds no solid");
    }
  }
}

/// Throws unless the edges of the triangles cancel, as the divergence theorem requires, and no triangle occurs twice.
void check_closed(const SurfaceMesh& mesh) {
  struct Uses {
    int forward = 0, backward = 0;
  };
  std::map<std::pair<int, int>, Uses> edges;
  std::set<std::array<int, 3>> triangles;  // the smallest node first
  const auto corner = [&](int node) { return to_text(mesh.points[static_cast<std::size_t>(node)]); };
  for_each_triangle(mesh, [&](int i, int j, int k) {
    std::array<int, 3> triangle = {i, j, k};
    std::rotate(triangle.begin(), std::min_element(triangle.begin(), triangle.end()), triangle.end());
    if (!triangles.insert(triangle).second)
      throw ModelError("", "the surface has the triangle between " + corner(i) + ", " + corner(j) + " and " +
                               corner(k) + " more than once");
    for (const auto& [a, b] : {std::pair{i, j}, std::pair{j, k}, std::pair{k, i}}) {
      Uses& uses = edges[std::minmax(a, b)];
      ++(a < b ? uses.forward : uses.backward);
    }
  });

  std::size_t open = 0, turned = 0;
  std::pair<int, int> first_open, first_turned;
  for (const auto& [edge, uses] : edges) {
    if (uses.forward == uses.backward) continue;
    const bool is_open = (uses.forward + uses.backward) % 2 != 0;
    if ((is_open ? open : turned)++ == 0) (is_open ? first_open : first_turned) = edge;
  }
  const auto place = [&](const std::pair<int, int>& edge) {
    return " between " + corner(edge.first) + " and " + corner(edge.second);
  };
  if (open > 0) {
    throw ModelError(
        "", "the surface is not closed: " + std::to_string(open) + " open edges, one of them" + place(first_open));
  }
  if (turned > 0) {
    throw ModelError("", "the faces of the surface are not turned the same way: " + std::to_string(turned) +
                             " edges where they disagree, one of them" + place(first_turned));
  }
}

}  // namespace

std::span<const int> SurfaceMesh::cell(std::size_t i) const {
  const auto begin = static_cast<std::size_t>(i == 0 ? 0 : offsets[i - 1]);
  return std::span(connectivity).subspan(begin, static_cast<std::size_t>(offsets[i]) - begin);
}

void SurfaceMesh::add_cell(CellType type, std::span<const int> nodes) {
  connectivity.insert(connectivity.end(), nodes.begin(), nodes.end());
  offsets.push_back(to_index(connectivity.size()));
  types.push_back(static_cast<unsigned char>(type));
}

SurfaceMesh make_box(const Vec3& size) {
  SurfaceMesh mesh;
  for (int i = 0; i < 8; ++i) {
    const Vec3 corner((i & 1) != 0 ? 0.5 : -0.5, (i & 2) != 0 ? 0.5 : -0.5, (i & 4) != 0 ? 0.5 : -0.5);
    mesh.points.emplace_back(corner.cwiseProduct(size));
  }
  // VTK numbers the lower face around, then the upper face
  mesh.add_cell(CellType::hexahedron, {0, 1, 3, 2, 4, 5, 7, 6});
  return mesh;
}

SurfaceMesh make_sphere(double radius, int resolution) {
  const int meridians = std::max(3, resolution);
  const int bands = std::max(2, resolution / 2);
  SurfaceMesh mesh;

  // points: south pole, circles of latitude, north pole
  mesh.points.emplace_back(0, 0, -radius);
  for (int i = 1; i < bands; ++i) {
    const double polar = std::numbers::pi * i / bands;
    for (int j = 0; j < meridians; ++j) {
      const double azimuth = 2 * std::numbers::pi * j / meridians;
      mesh.points.emplace_back(
          radius * Vec3(std::sin(polar) * std::cos(azimuth), std::sin(polar) * std::sin(azimuth), -std::cos(polar)));
    }
  }
  mesh.points.emplace_back(0, 0, radius);

  // cells: triangles at the poles, quads between them
  const int north = to_index(mesh.points.size()) - 1;
  const auto point = [&](int circle, int j) { return 1 + (circle - 1) * meridians + j % meridians; };
  for (int j = 0; j < meridians; ++j) {
    mesh.add_cell(CellType::triangle, {0, point(1, j + 1), point(1, j)});
    for (int i = 1; i + 1 < bands; ++i) {
      mesh.add_cell(CellType::quad, {point(i, j), point(i, j + 1), point(i + 1, j + 1), point(i + 1, j)});
    }
    mesh.add_cell(CellType::triangle, {north, point(bands - 1, j), point(bands - 1, j + 1)});
  }
  return mesh;
}

SurfaceMesh make_cylinder(double radius, double length, Axis axis, int resolution, bool caps) {
  const int corners = std::max(3, resolution);
  // axes in cyclic order, so that the orientation of the faces stays the same
  const int k = static_cast<int>(axis), i = (k + 1) % 3, j = (k + 2) % 3;
  const auto at = [&](double u, double v, double w) {
    Vec3 x;
    x[i] = u;
    x[j] = v;
    x[k] = w;
    return x;
  };

  // points in pairs: lower and upper circle
  SurfaceMesh mesh;
  for (int n = 0; n < corners; ++n) {
    const double angle = 2 * std::numbers::pi * n / corners;
    for (const double end : {-0.5, 0.5}) {
      mesh.points.push_back(at(radius * std::cos(angle), radius * std::sin(angle), end * length));
    }
  }
  const auto lower = [&](int n) { return 2 * (n % corners); };
  const auto upper = [&](int n) { return lower(n) + 1; };
  for (int n = 0; n < corners; ++n) {
    mesh.add_cell(CellType::quad, {lower(n), lower(n + 1), upper(n + 1), upper(n)});
  }
  if (caps) {
    const int bottom = to_index(mesh.points.size());
    mesh.points.push_back(at(0, 0, -0.5 * length));
    mesh.points.push_back(at(0, 0, 0.5 * length));
    for (int n = 0; n < corners; ++n) {
      mesh.add_cell(CellType::triangle, {bottom, lower(n + 1), lower(n)});
      mesh.add_cell(CellType::triangle, {bottom + 1, upper(n), upper(n + 1)});
    }
  }
  return mesh;
}

SurfaceMesh make_plane_patch(const Vec3& point, const Vec3& normal, double size) {
  const Vec3 n = normal.stableNormalized();
  // One edge is as parallel to a coordinate axis as possible, so patches of coordinate planes have edges along the
  // axes.
  Eigen::Index most = 0;
  n.cwiseAbs().maxCoeff(&most);
  const Vec3 next = Vec3::Unit((most + 1) % 3);
  const Vec3 u = (next - n.dot(next) * n).normalized();
  const Vec3 v = n.cross(u);
  SurfaceMesh mesh;
  const double h = 0.5 * size;
  mesh.points = {point - h * u - h * v, point + h * u - h * v, point + h * u + h * v, point - h * u + h * v};
  mesh.add_cell(CellType::quad, {0, 1, 2, 3});
  return mesh;
}

SurfaceMesh make_polyline(std::span<const Vec3> points) {
  SurfaceMesh mesh;
  mesh.points.assign(points.begin(), points.end());
  const int count = to_index(points.size());
  if (count == 1) mesh.add_cell(CellType::vertex, {0});
  for (int i = 0; i + 1 < count; ++i) mesh.add_cell(CellType::line, {i, i + 1});
  return mesh;
}

SurfaceMesh read_stl(const std::filesystem::path& path, double scale) {
  if (!(scale > 0) || !std::isfinite(scale)) throw std::invalid_argument("read_stl: scale must be positive and finite");

  // open only regular files of reasonable size: reading other files may never end
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) fail(path, "no such file");
  if (error) fail(path, error.message());
  if (!std::filesystem::is_regular_file(status)) fail(path, "not a file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) fail(path, error.message());
  if (size == 0) fail(path, "the file is empty");
  if (size > largest_stl_bytes) fail(path, "the file is larger than 1 GiB, too large for a surface");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, std::generic_category().message(errno));

  // The file is binary if its size fits the number of triangles. The text of a binary header may begin with "solid".
  std::string bytes(static_cast<std::size_t>(std::min<std::uintmax_t>(size, stl_header_bytes)), '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::uintmax_t count = 0;
  bool is_binary = false;
  if (bytes.size() == stl_header_bytes) {
    std::uint32_t stored = 0;
    std::memcpy(&stored, bytes.data() + 80, sizeof stored);
    count = stored;
    is_binary = size == stl_header_bytes + stl_record_bytes * count;
  }
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  std::size_t begin = bytes.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  begin = std::min(bytes.find_first_not_of(" \t\r\n", begin), bytes.size());
  std::string word = bytes.substr(begin, 5);
  std::transform(word.begin(), word.end(), word.begin(), [](char c) { return static_cast<char>(c | 0x20); });
  // A text has no zero bytes. A header that begins with "solid" and contains zero bytes belongs to a truncated binary
  // file.
  const bool is_text = word == "solid" && bytes.find('\0') == std::string::npos;
  if (!is_binary && !is_text) {
    if (bytes.size() < stl_header_bytes) fail(path, "not an STL file: shorter than the header of a binary one");
    fail(path, "not an STL file, or truncated: " + std::to_string(count) + " triangles as in its header need " +
                   std::to_string(stl_header_bytes + stl_record_bytes * count) + " bytes, it has " +
                   std::to_string(size));
  }

  // read the rest at once
  const std::size_t head = bytes.size();
  bytes.resize(static_cast<std::size_t>(size));
  stream.read(bytes.data() + head, static_cast<std::streamsize>(bytes.size() - head));
  if (bytes.size() > head && stream.gcount() != static_cast<std::streamsize>(bytes.size() - head)) {
    fail(path, "the file could not be read to its end");
  }
  SurfaceMesh mesh = is_binary ? read_binary_stl(path, bytes, scale)
                               : AsciiStlReader(path, std::string_view(bytes).substr(begin)).read(scale);
  if (mesh.cell_count() == 0) fail(path, "the file has no triangle with an area");
  return mesh;
}

MassProperties mass_properties(const SurfaceMesh& mesh, double density) {
  check_closed(mesh);
  if (mesh.cell_count() == 0) throw ModelError("", "the surface has no faces, so it bounds no solid");

  // Moments about the middle of the points, so that a distant body loses no digits. A tetrahedron (0, a, b, c) of
  // volume V has int x dV = V (a + b + c) / 4 and int x x^T dV = V (a a^T + b b^T + c c^T + s s^T) / 20 with
  // s = a + b + c.
  Vec3 middle = Vec3::Zero();
  for (const Vec3& x : mesh.points) middle += x / static_cast<double>(mesh.points.size());
  double volume = 0, sum_of_parts = 0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();
  for_each_triangle(mesh, [&](int i, int j, int k) {
    const Vec3 a = mesh.points[static_cast<std::size_t>(i)] - middle;
    const Vec3 b = mesh.points[static_cast<std::size_t>(j)] - middle;
    const Vec3 c = mesh.points[static_cast<std::size_t>(k)] - middle;
    const Vec3 s = a + b + c;
    const double part = a.dot(b.cross(c)) / 6;
    volume += part;
    sum_of_parts += std::abs(part);
    first += part / 4 * s;
    second += part / 20 * (a * a.transpose() + b * b.transpose() + c * c.transpose() + s * s.transpose());
  });
  if (volume < -1e-10 * sum_of_parts) {
    throw ModelError("", "the surface is turned inside out: its faces are clockwise seen from outside");
  }
  if (!(volume > 1e-10 * sum_of_parts)) throw ModelError("", "the surface encloses no volume");

  MassProperties result;
  result.volume = volume;
  result.mass = density * volume;
  const Vec3 offset = first / volume;
  result.center = middle + offset;
  const Mat3 central = second - volume * offset * offset.transpose();
  result.inertia = density * (central.trace() * Mat3::Identity() - central);
  return result;
}

}  // namespace carom
