#include "io/results/vtu_file.hpp"

#include <lz4.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace carom {

namespace {

static_assert(std::endian::native == std::endian::little, "the files say that their numbers are little-endian");

constexpr std::size_t block_size = 32768;  // bytes that are compressed together; VTK's default

/// Appends the values as compressed blocks: number of blocks, bytes of a block, bytes of a last, shorter block or 0,
/// compressed bytes of each block, and the blocks.
void append_compressed(std::string& data, const char* values, std::size_t size) {
  const std::size_t blocks = (size + block_size - 1) / block_size;
  const std::size_t head = data.size();
  data.resize(head + sizeof(std::uint32_t) * (3 + blocks));
  const auto set_head = [&](std::size_t entry, std::size_t value) {
    const auto number = static_cast<std::uint32_t>(value);
    std::memcpy(data.data() + head + sizeof number * entry, &number, sizeof number);
  };
  set_head(0, blocks);
  set_head(1, block_size);
  set_head(2, size % block_size);
  for (std::size_t i = 0; i < blocks; ++i) {
    const int length = static_cast<int>(std::min(block_size, size - i * block_size));
    const int capacity = LZ4_compressBound(length);
    const std::size_t begin = data.size();
    data.resize(begin + static_cast<std::size_t>(capacity));
    const int compressed = LZ4_compress_default(values + i * block_size, data.data() + begin, length, capacity);
    assert(compressed > 0);
    data.resize(begin + static_cast<std::size_t>(compressed));
    set_head(3 + i, static_cast<std::size_t>(compressed));
  }
}

void check_fields(const std::vector<VtuPiece::Field>& fields, std::size_t count, const char* what) {
  for (const VtuPiece::Field& field : fields) {
    if (field.components < 1 || field.values.size() != count * static_cast<std::size_t>(field.components)) {
      throw std::invalid_argument("field " + field.name + " has " + std::to_string(field.values.size()) +
                                  " values; needed are " + std::to_string(field.components) + " for each of " +
                                  std::to_string(count) + " " + what);
    }
    const auto same_name = [&](const VtuPiece::Field& other) { return other.name == field.name; };
    if (std::count_if(fields.begin(), fields.end(), same_name) > 1)
      throw std::invalid_argument("two fields have the name " + field.name);
  }
}

}  // namespace

std::string xml_escaped(std::string_view text) {
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

// For field data VTK wants the number of values; elsewhere the number follows from points and cells.
void VtuFile::Arrays::add_value(std::string_view name, double x) {
  elements += "        <DataArray type=\"Float64\" Name=\"" + xml_escaped(name) +
              "\" NumberOfTuples=\"1\" format=\"appended\" offset=\"" + std::to_string(data.size()) + "\"/>\n";
  append_compressed(data, reinterpret_cast<const char*>(&x), sizeof x);
}

// VTK stores texts with a zero byte behind each.
void VtuFile::Arrays::add_texts(std::string_view name, const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) bytes.append(text).push_back('\0');
  elements += "        <Array type=\"String\" Name=\"" + xml_escaped(name) + "\" NumberOfTuples=\"" +
              std::to_string(texts.size()) + "\" format=\"appended\" offset=\"" + std::to_string(data.size()) +
              "\"/>\n";
  append_compressed(data, bytes.data(), bytes.size());
}

void VtuFile::Arrays::add(const char* type, std::string_view name, int components, const void* values,
                          std::size_t bytes) {
  elements += std::string("        <DataArray type=\"") + type + "\" Name=\"" + xml_escaped(name) +
              "\" NumberOfComponents=\"" + std::to_string(components) + "\" format=\"appended\" offset=\"" +
              std::to_string(data.size()) + "\"/>\n";
  append_compressed(data, static_cast<const char*>(values), bytes);
}

void VtuFile::Arrays::add_fields(const std::vector<VtuPiece::Field>& fields) {
  for (const VtuPiece::Field& field : fields)
    add("Float64", field.name, field.components, field.values.data(), field.values.size() * sizeof(double));
}

void VtuFile::set_cells(const VtuPiece& piece) {
  const bool first = cells_.elements.empty();
  if (!first && piece.types == types_ && piece.offsets == offsets_ && piece.connectivity == connectivity_) return;

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
  points_needed_ = static_cast<std::size_t>(largest) + 1;  // 0 without cells
  connectivity_ = piece.connectivity;
  offsets_ = piece.offsets;
  types_ = piece.types;
  cells_ = {};
  cells_.add("Int32", "connectivity", 1, connectivity_.data(), connectivity_.size() * sizeof(int));
  cells_.add("Int32", "offsets", 1, offsets_.data(), offsets_.size() * sizeof(int));
  cells_.add("UInt8", "types", 1, types_.data(), types_.size());
}

std::string_view VtuFile::bytes(double t, const VtuPiece& piece) {
  set_cells(piece);
  if (piece.points.size() % 3 != 0)
    throw std::invalid_argument("points: the number of coordinates is no multiple of 3");
  if (piece.point_count() < points_needed_) throw std::invalid_argument("a cell uses a point that does not exist");
  check_fields(piece.point_fields, piece.point_count(), "points");
  check_fields(piece.cell_fields, piece.cell_count(), "cells");

  // the appended data: cells, time, points, fields; each array's element contains its place
  Arrays arrays;
  arrays.data = cells_.data;
  std::string& elements = arrays.elements;
  elements =
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
      "header_type=\"UInt32\" compressor=\"vtkLZ4DataCompressor\">\n  <UnstructuredGrid>\n    <FieldData>\n";
  arrays.add_value("TimeValue", t);
  for (const auto& [name, x] : piece.numbers) arrays.add_value(name, x);
  if (!piece.blocks.empty()) arrays.add_texts("blocks", piece.blocks);
  if (!piece.units.empty()) arrays.add_texts("units", piece.units);
  elements += "    </FieldData>\n    <Piece NumberOfPoints=\"" + std::to_string(piece.point_count()) +
              "\" NumberOfCells=\"" + std::to_string(piece.cell_count()) + "\">\n      <Cells>\n" + cells_.elements +
              "      </Cells>\n      <Points>\n";
  arrays.add("Float64", "Points", 3, piece.points.data(), piece.points.size() * sizeof(double));
  elements += "      </Points>\n      <PointData>\n";
  arrays.add_fields(piece.point_fields);
  elements += "      </PointData>\n      <CellData>\n";
  arrays.add_fields(piece.cell_fields);
  elements += "      </CellData>\n    </Piece>\n  </UnstructuredGrid>\n  <AppendedData encoding=\"raw\">\n   _";

  bytes_ = elements;
  bytes_ += arrays.data;
  bytes_ += "\n  </AppendedData>\n</VTKFile>\n";
  return bytes_;
}

}  // namespace carom
