#include "elements/solid/pressure.hpp"

#include "core/lie/so3.hpp"

namespace carom {

namespace {

int count_nodes(const std::vector<PressureFace>& faces) { return faces.empty() || faces[0].nodes[3] >= 0 ? 4 : 3; }

Topology topology_of(const std::vector<PressureFace>& faces) {
  const int n = count_nodes(faces);
  std::vector<int> nodes;
  for (const PressureFace& face : faces) nodes.insert(nodes.end(), face.nodes.begin(), face.nodes.begin() + n);
  return {static_cast<int>(faces.size()), std::vector<Slot>(at(n), Slot{0, 3}), std::move(nodes)};
}

BlockTraits pressure_traits(bool follower) {
  BlockTraits t;
  t.force_parts = force_external;
  t.has_stiffness = follower;
  t.symmetric = t.linear = !follower;
  return t;
}

struct Point {
  double weight;
  std::array<double, 4> N, N_xi, N_eta;
};

// Gauss points of a face.
struct Points {
  int count;
  std::array<Point, 4> points;
};
const Points& points_of(int nodes) {
  static const Points quadrangle = [] {
    Points p{4, {}};
    constexpr double g = 0.57735026918962576451, xi[4] = {-1, 1, 1, -1}, eta[4] = {-1, -1, 1, 1};
    for (int i = 0; i < 4; ++i)
      for (int a = 0; a < 4; ++a) {
        const double u = 1 + xi[a] * g * xi[i], v = 1 + eta[a] * g * eta[i];
        Point& point = p.points[at(i)];
        point.weight = 1;
        point.N[at(a)] = 0.25 * u * v;
        point.N_xi[at(a)] = 0.25 * xi[a] * v;
        point.N_eta[at(a)] = 0.25 * u * eta[a];
      }
    return p;
  }();
  static const Points triangle = {1, {{{0.5, {1.0 / 3, 1.0 / 3, 1.0 / 3, 0}, {-1, 1, 0, 0}, {-1, 0, 1, 0}}}}};
  return nodes == 4 ? quadrangle : triangle;
}

// The tangent vectors of a face at a Gauss point. Their cross product is the normal times the area element.
struct Tangents {
  Vec3 along = Vec3::Zero(), across = Vec3::Zero();
};
Tangents tangents(const Point& point, const std::array<Vec3, 4>& x, int nodes) {
  Tangents t;
  for (std::size_t a = 0; a < at(nodes); ++a) {
    t.along += point.N_xi[a] * (x[a] - x[0]);
    t.across += point.N_eta[a] * (x[a] - x[0]);
  }
  return t;
}

}  // namespace

std::array<double, 4> nodal_areas(const std::array<Vec3, 4>& places, int nodes) {
  const Points& points = points_of(nodes);
  std::array<double, 4> areas{};
  for (int p = 0; p < points.count; ++p) {
    const Point& point = points.points[at(p)];
    const auto [along, across] = tangents(point, places, nodes);
    const double area = point.weight * along.cross(across).norm();
    for (std::size_t a = 0; a < at(nodes); ++a) areas[a] += point.N[a] * area;
  }
  return areas;
}

PressureBlock::PressureBlock(std::string name, std::vector<PressureFace> faces, std::vector<TimeFunction> pressures,
                             bool follower)
    : ElementBlock(std::move(name), topology_of(faces), pressure_traits(follower)),
      faces_(std::move(faces)),
      pressures_(std::move(pressures)),
      follower_(follower),
      nodes_(count_nodes(faces_)) {}

std::array<Vec3, 4> PressureBlock::places(const ElementInput& in, int face) const {
  if (!follower_) return faces_[at(face)].reference;
  std::array<Vec3, 4> x{};
  for (int a = 0; a < nodes_; ++a) x[at(a)] = Eigen::Map<const Vec3>(configuration(in, face, a));
  return x;
}

void PressureBlock::add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const {
  if ((parts & force_external) == 0) return;
  const Points& points = points_of(nodes_);
  for (int e = range.first; e < range.last; ++e, f += 3 * nodes_) {
    const double pressure = pressures_[at(faces_[at(e)].load)].value(in.t);
    const std::array<Vec3, 4> x = places(in, e);
    for (int p = 0; p < points.count; ++p) {
      const Point& point = points.points[at(p)];
      const auto [along, across] = tangents(point, x, nodes_);
      const Vec3 force = -pressure * point.weight * along.cross(across);
      for (int a = 0; a < nodes_; ++a)
        for (int i = 0; i < 3; ++i) f[3 * a + i] += point.N[at(a)] * force[i];
    }
  }
}

void PressureBlock::add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const {
  if (!follower_ || request.c_K == 0) return;
  const Points& points = points_of(nodes_);
  const int size = 3 * nodes_;
  for (int e = range.first; e < range.last; ++e, A += size * size) {
    const double pressure = pressures_[at(faces_[at(e)].load)].value(in.t);
    const std::array<Vec3, 4> x = places(in, e);
    for (int p = 0; p < points.count; ++p) {
      const Point& point = points.points[at(p)];
      const auto [along, across] = tangents(point, x, nodes_);
      // d (along x across) = N_xi dx x across + along x N_eta dx
      for (int b = 0; b < nodes_; ++b) {
        const Mat3 D = request.c_K * pressure * point.weight *
                       (point.N_eta[at(b)] * so3::hat(along) - point.N_xi[at(b)] * so3::hat(across));
        for (int a = 0; a < nodes_; ++a)
          for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k) A[(3 * a + i) * size + 3 * b + k] += point.N[at(a)] * D(i, k);
      }
    }
  }
}

}  // namespace carom
