#include "io/mesh/mesh.hpp"

#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "elements/solid/pressure.hpp"
#include "elements/solid/solid.hpp"
#include "elements/solid/solid_shape.hpp"

namespace carom {

namespace {

// Adds the integrals of the shape functions over an element to its nodes.
template <class Shape, std::size_t n>
void add_volumes(const std::vector<Vec3>& places, const std::array<int, n>& element, std::vector<double>& of_node) {
  constexpr auto& table = solid::table_of<Shape>;
  for (int p = 0; p < Shape::points; ++p) {
    Mat3 J = Mat3::Zero();
    for (std::size_t a = 0; a < n; ++a)
      J += places[at(element[a])] * Eigen::Map<const Eigen::RowVector3d>(table.dN[p][a]);
    const double volume = table.weight * J.determinant();
    for (std::size_t a = 0; a < n; ++a) of_node[at(element[a])] += table.N[p][a] * volume;
  }
}

}  // namespace

void NodalMeasure::add_line(int a, int b) {
  const double half = 0.5 * (mesh_.nodes[at(b)] - mesh_.nodes[at(a)]).norm();
  of_node_[at(a)] += half;
  of_node_[at(b)] += half;
}

void NodalMeasure::add_face(const MeshFace& face) {
  std::array<Vec3, 4> places{};
  for (int k = 0; k < face.count(); ++k) places[at(k)] = mesh_.nodes[at(face.nodes[at(k)])];
  const std::array<double, 4> areas = nodal_areas(places, face.count());
  for (int k = 0; k < face.count(); ++k) of_node_[at(face.nodes[at(k)])] += areas[at(k)];
}

void NodalMeasure::add_element(const std::array<int, 8>& hexahedron) {
  add_volumes<solid::Hexahedron>(mesh_.nodes, hexahedron, of_node_);
}

void NodalMeasure::add_element(const std::array<int, 4>& tetrahedron) {
  add_volumes<solid::Tetrahedron>(mesh_.nodes, tetrahedron, of_node_);
}

std::vector<double> NodalMeasure::shares(const std::vector<int>& nodes) const {
  std::vector<double> shares;
  shares.reserve(nodes.size());
  for (const int node : nodes) shares.push_back(of_node_[at(node)]);
  const double whole = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (!(whole > 0) || !std::isfinite(whole)) return {};
  for (double& share : shares) share /= whole;
  return shares;
}

std::vector<double> volume_shares(const Mesh& mesh) {
  NodalMeasure volume(mesh);
  for (const auto& element : mesh.hexahedra) volume.add_element(element);
  for (const auto& element : mesh.tetrahedra) volume.add_element(element);
  std::vector<int> all(mesh.nodes.size());
  std::iota(all.begin(), all.end(), 0);
  return volume.shares(all);
}

const std::vector<std::string>& box_groups() {
  static const std::vector<std::string> names = {"left", "right", "front", "back", "bottom", "top"};
  return names;
}

const std::array<std::array<int, 4>, 6>& hexahedron_faces() {
  static const std::array<std::array<int, 4>, 6> faces = {
      {{0, 4, 7, 3}, {1, 2, 6, 5}, {0, 1, 5, 4}, {3, 7, 6, 2}, {0, 3, 2, 1}, {4, 5, 6, 7}}};
  return faces;
}

const std::array<std::array<int, 3>, 4>& tetrahedron_faces() {
  static const std::array<std::array<int, 3>, 4> faces = {{{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}};
  return faces;
}

Mesh box_mesh(const Vec3& size, const std::array<int, 3>& divisions) {
  const std::array<int, 3>& n = divisions;
  Mesh mesh;
  const auto node = [&](int x, int y, int z) { return x + (n[0] + 1) * (y + (n[1] + 1) * z); };
  for (int z = 0; z <= n[2]; ++z)
    for (int y = 0; y <= n[1]; ++y)
      for (int x = 0; x <= n[0]; ++x) {
        const int place[3] = {x, y, z};
        Vec3 X;
        for (int c = 0; c < 3; ++c) X[c] = size[c] * (static_cast<double>(place[c]) / n[at(c)] - 0.5);
        // groups: the lower and the upper side in each direction
        for (int c = 0; c < 3; ++c) {
          if (place[c] == 0) mesh.groups[box_groups()[at(2 * c)]].nodes.push_back(static_cast<int>(mesh.nodes.size()));
          if (place[c] == n[at(c)])
            mesh.groups[box_groups()[at(2 * c + 1)]].nodes.push_back(static_cast<int>(mesh.nodes.size()));
        }
        mesh.nodes.push_back(X);
      }
  for (int z = 0; z < n[2]; ++z)
    for (int y = 0; y < n[1]; ++y)
      for (int x = 0; x < n[0]; ++x) {
        const std::array<int, 8> element = {
            node(x, y, z),     node(x + 1, y, z),     node(x + 1, y + 1, z),     node(x, y + 1, z),
            node(x, y, z + 1), node(x + 1, y, z + 1), node(x + 1, y + 1, z + 1), node(x, y + 1, z + 1)};
        const int place[3] = {x, y, z};
        for (int side = 0; side < 6; ++side) {
          if (place[side / 2] != (side % 2 == 0 ? 0 : n[at(side / 2)] - 1)) continue;
          MeshFace face;
          for (int k = 0; k < 4; ++k) face.nodes[at(k)] = element[at(hexahedron_faces()[at(side)][at(k)])];
          mesh.groups[box_groups()[at(side)]].faces.push_back(face);
        }
        mesh.hexahedra.push_back(element);
      }
  for (auto& [name, group] : mesh.groups) {
    NodalMeasure area(mesh);
    for (const MeshFace& face : group.faces) area.add_face(face);
    group.shares = area.shares(group.nodes);
  }
  return mesh;
}

void add_surface(Mesh& mesh) {
  if (mesh.groups.contains("surface")) return;
  // by its nodes in ascending order: the face, and whether two elements share it
  std::map<std::array<int, 4>, std::pair<MeshFace, bool>> faces;
  const auto add = [&](const MeshFace& face) {
    std::array<int, 4> key = face.nodes;
    std::sort(key.begin(), key.end());
    const auto [it, is_new] = faces.try_emplace(key, face, false);
    it->second.second = !is_new;
  };
  for (const auto& element : mesh.hexahedra)
    for (const auto& side : hexahedron_faces())
      add({{element[at(side[0])], element[at(side[1])], element[at(side[2])], element[at(side[3])]}});
  for (const auto& element : mesh.tetrahedra)
    for (const auto& side : tetrahedron_faces())
      add({{element[at(side[0])], element[at(side[1])], element[at(side[2])], -1}});
  Mesh::Group group;
  NodalMeasure area(mesh);
  std::set<int> nodes;
  for (const auto& [key, face] : faces) {
    if (face.second) continue;
    group.faces.push_back(face.first);
    area.add_face(face.first);
    for (int k = 0; k < face.first.count(); ++k) nodes.insert(face.first.nodes[at(k)]);
  }
  group.nodes.assign(nodes.begin(), nodes.end());
  group.shares = area.shares(group.nodes);
  mesh.groups["surface"] = std::move(group);
}

std::string bad_elements(const Mesh& mesh, std::size_t most) {
  std::string lines;
  std::size_t count = 0;
  const auto check = [&](SolidShape shape, const auto& elements, const std::vector<std::string>& names) {
    std::array<Vec3, 8> x;
    for (std::size_t e = 0; e < elements.size(); ++e) {
      for (std::size_t a = 0; a < elements[e].size(); ++a) x[a] = mesh.nodes[at(elements[e][a])];
      const double quality = element_quality(shape, x.data());
      if (quality > 1e-6 || ++count > most) continue;
      char text[160];
      std::snprintf(text, sizeof text, "%s%s %s", lines.empty() ? "" : ", ",
                    (e < names.size() ? names[e] : "element " + std::to_string(e)).c_str(),
                    quality < -1e-6 ? "is inverted" : "is degenerate");
      lines += text;
    }
  };
  check(SolidShape::hexahedra, mesh.hexahedra, mesh.hexahedron_names);
  check(SolidShape::tetrahedra, mesh.tetrahedra, mesh.tetrahedron_names);
  if (count > most) lines += " and " + std::to_string(count - most) + " more";
  return lines;
}

}  // namespace carom
