// A force on a set of points: its resultant; and a uniform traction gives exactly a uniform stress.
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/contract/differences.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;
using carom::test::Random;

namespace {

const Vec3 size(3, 1, 0.8);
constexpr int n[3] = {6, 3, 2};

// A bar of distorted hexahedra, or of six tetrahedra per hexahedron, as a Gmsh file: corners at 0 and `size`. Surfaces
// "left", "right" (x), "front" (y), "bottom" (z) and "middle" (inside, x = 1.5), the curve "edge" (x = 3, z = 0.8), the
// point "corner" (3, 1, 0.8), volumes "near" and "far" on both sides of the middle.
class BarFile {
 public:
  explicit BarFile(bool tetrahedra)
      : folder_(std::filesystem::temp_directory_path() / ("carom_spread_force_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    path = folder_ / "bar.msh";
    write_nodes();
    for (int z = 0; z < n[2]; ++z)
      for (int y = 0; y < n[1]; ++y)
        for (int x = 0; x < n[0]; ++x) add_cell(x, y, z, tetrahedra);
    for (int z = 0; z < n[2]; ++z)
      for (int y = 0; y < n[1]; ++y)
        for (const auto& [x, group] : {std::pair(0, 1), {n[0], 2}, {n[0] / 2, 5}})
          add_face({node(x, y, z), node(x, y + 1, z), node(x, y + 1, z + 1), node(x, y, z + 1)}, group, tetrahedra);
    for (int x = 0; x < n[0]; ++x) {
      for (int z = 0; z < n[2]; ++z)
        add_face({node(x, 0, z), node(x + 1, 0, z), node(x + 1, 0, z + 1), node(x, 0, z + 1)}, 3, tetrahedra);
      for (int y = 0; y < n[1]; ++y)
        add_face({node(x, y, 0), node(x + 1, y, 0), node(x + 1, y + 1, 0), node(x, y + 1, 0)}, 4, tetrahedra);
    }
    for (int y = 0; y < n[1]; ++y) add(1, 6, {node(n[0], y, n[2]), node(n[0], y + 1, n[2])});
    add(15, 7, {node(n[0], n[1], n[2])});
    std::ofstream(path) << "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n9\n2 1 \"left\"\n2 2 \"right\"\n"
                           "2 3 \"front\"\n2 4 \"bottom\"\n2 5 \"middle\"\n1 6 \"edge\"\n0 7 \"corner\"\n3 8 \"near\"\n"
                           "3 9 \"far\"\n$EndPhysicalNames\n$Nodes\n"
                        << nodes_ << "$EndNodes\n$Elements\n"
                        << count_ << "\n"
                        << elements_ << "$EndElements\n";
  }
  ~BarFile() { std::filesystem::remove_all(folder_); }
  BarFile(const BarFile&) = delete;
  BarFile& operator=(const BarFile&) = delete;

  std::filesystem::path path;

 private:
  static int node(int x, int y, int z) { return 1 + x + (n[0] + 1) * (y + (n[1] + 1) * z); }

  // inner nodes are moved; nodes of sides and of the middle stay on their surfaces
  void write_nodes() {
    Random random(11);
    nodes_ = std::to_string(node(n[0], n[1], n[2])) + "\n";
    for (int z = 0; z <= n[2]; ++z)
      for (int y = 0; y <= n[1]; ++y)
        for (int x = 0; x <= n[0]; ++x) {
          const int place[3] = {x, y, z};
          const Vec3 move = random.in_box(1);
          nodes_ += std::to_string(node(x, y, z));
          for (int c = 0; c < 3; ++c) {
            const bool free = place[c] > 0 && place[c] < n[c] && (c > 0 || 2 * x != n[0]);
            char text[40];
            std::snprintf(text, sizeof text, " %.17g", size[c] * (place[c] + (free ? 0.2 * move[c] : 0.0)) / n[c]);
            nodes_ += text;
          }
          nodes_ += "\n";
        }
  }

  void add(int type, int group, const std::vector<int>& nodes) {
    elements_ += std::to_string(++count_) + " " + std::to_string(type) + " 2 " + std::to_string(group) + " " +
                 std::to_string(group);
    for (const int k : nodes) elements_ += " " + std::to_string(k);
    elements_ += "\n";
  }

  // faces of tetrahedra are cut along the diagonal from the lowest to the highest corner
  void add_face(const std::array<int, 4>& q, int group, bool cut) {
    if (!cut) return add(3, group, {q[0], q[1], q[2], q[3]});
    add(2, group, {q[0], q[1], q[2]});
    add(2, group, {q[0], q[2], q[3]});
  }

  void add_cell(int x, int y, int z, bool cut) {
    const int group = 2 * x < n[0] ? 8 : 9;
    if (!cut)
      return add(5, group,
                 {node(x, y, z), node(x + 1, y, z), node(x + 1, y + 1, z), node(x, y + 1, z), node(x, y, z + 1),
                  node(x + 1, y, z + 1), node(x + 1, y + 1, z + 1), node(x, y + 1, z + 1)});
    // the paths along the axes from the lowest to the highest corner
    for (const std::array<int, 3>& order :
         {std::array{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}}) {
      int p[3] = {x, y, z};
      std::vector<int> path_nodes = {node(p[0], p[1], p[2])};
      for (const int axis : order) {
        ++p[axis];
        path_nodes.push_back(node(p[0], p[1], p[2]));
      }
      const bool even = order[1] == (order[0] + 1) % 3;
      if (!even) std::swap(path_nodes[1], path_nodes[2]);
      add(4, group, path_nodes);
    }
  }

  std::filesystem::path folder_;
  std::string nodes_, elements_;
  int count_ = 0;
};

std::string bar_model(const BarFile& file, const std::string& on, const std::string& value,
                      const std::string& more = "") {
  return R"({"format": 1,
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1000, "poisson": 0.3, "density": 2}],
    "bodies": [{"name": "bar", "type": "solid", "material": "m", "mesh": {"type": "gmsh", "file": ")" +
         file.path.string() + "\"" + more + R"(}],
    "loads": [{"name": "pull", "type": "force", "on": ")" +
         on + R"(", "value": )" + value + R"(}],
    "integrator": {"type": "static", "step": 0.5}})";
}

struct Resultant {
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();  ///< about the origin
  Vector all;
};
Resultant resultant(const ModelRun& run, double t) {
  const Model& m = *run.model;
  Resultant r;
  r.all.assign(at(m.system.size()), 0.0);
  m.system.forces(m.state.q, m.state.v, t, force_external, r.all);
  for (const BodyInfo& body : m.bodies)
    for (const int node : body.nodes) {
      Vec3 f = Vec3::Zero();
      for (int c = 0; c < 3; ++c)
        if (const int e = m.system.dofs().equation(node, c); e >= 0) f[c] = r.all[at(e)];
      r.force += f;
      r.moment += m.place({node, Vec3::Zero()}, m.state.q).cross(f);
    }
  return r;
}

}  // namespace

// The resultant of an evenly distributed force acts at the centroid of the points, curve, surface or volume.
TEST_CASE("force on a group: the sum is what is given, and acts at the centroid of the group") {
  struct Row {
    std::string group;
    Vec3 centroid;
  };
  const Vec3 half = size / 2, total(3, -4, 5);
  for (const bool tetrahedra : {false, true}) {
    const BarFile file(tetrahedra);
    for (const Row& row :
         {Row{"right", {3, half[1], half[2]}}, Row{"left", {0, half[1], half[2]}}, Row{"bottom", {half[0], half[1], 0}},
          Row{"middle", half}, Row{"edge", {3, half[1], size[2]}}, Row{"corner", size}, Row{"near", {0.75, 0.5, 0.4}},
          Row{"nodes", half}}) {
      const auto& group = row.group;
      const Vec3& centroid = row.centroid;
      CAPTURE(group);
      CAPTURE(tetrahedra);
      const ModelRun run = ModelRun::of_text(bar_model(file, "bar." + group, "[3, \"-t^2\", 5]", "}"));
      const Resultant r = resultant(run, 2);
      CHECK((r.force - total).norm() < 1e-14 * total.norm());
      CHECK((r.moment - centroid.cross(total)).norm() < 1e-13 * total.norm());
    }
  }
}

TEST_CASE("force on a group: a part of a mesh takes it by what it has of the group itself") {
  const BarFile file(false);
  const ModelRun run = ModelRun::of_text(bar_model(file, "bar.middle", "[1, 0, 0]", R"(, "volume": "near"})"));
  const Resultant r = resultant(run, 0);
  CHECK((r.force - Vec3(1, 0, 0)).norm() < 1e-14);
  CHECK((r.moment - Vec3(1.5, 0.5, 0.4).cross(Vec3(1, 0, 0))).norm() < 1e-13);
  // the near half of the bottom
  const ModelRun bottom = ModelRun::of_text(bar_model(file, "bar.bottom", "[0, 0, 1]", R"(, "volume": "near"})"));
  CHECK((resultant(bottom, 0).moment - Vec3(0.75, 0.5, 0).cross(Vec3(0, 0, 1))).norm() < 1e-13);
  // the neighbouring volume shares nodes of the middle, but no element
  CHECK_THROWS(ModelRun::of_text(bar_model(file, "bar.far", "[0, 0, 1]", R"(, "volume": "near"})")));
}

// First Piola-Kirchhoff stress of Saint Venant-Kirchhoff, uniaxial: P = lambda E (lambda^2 - 1)/2 along the bar,
// transverse strains E_22 = E_33 = -nu E_11. A dead force on the end's reference faces gives this stress.
TEST_CASE("force on a group: a bar of distorted elements stretches evenly") {
  const double P = 200, young = 1000, nu = 0.3;
  double along = 1.1;
  for (int i = 0; i < 30; ++i)
    along -= (along * young * (along * along - 1) / 2 - P) / (young * (3 * along * along - 1) / 2);
  const double across = std::sqrt(1 - nu * (along * along - 1));
  for (const bool tetrahedra : {false, true}) {
    CAPTURE(tetrahedra);
    const BarFile file(tetrahedra);
    ModelRun run = ModelRun::of_text(
        bar_model(file, "bar.right", "[" + std::to_string(P * size[1] * size[2]) + ", 0, 0]",
                  R"(}, "fixed": [{"on": "left", "directions": ["x"]}, {"on": "front", "directions": ["y"]},
                        {"on": "bottom", "directions": ["z"]}])"));
    const Vector start = run.model->state.q;
    REQUIRE(run.run() == RunStatus::completed);
    double worst = 0;
    for (std::size_t i = 0; i < start.size(); i += 3)
      worst = std::max(worst, (Vec3(start[i] * along, start[i + 1] * across, start[i + 2] * across) -
                               Eigen::Map<const Vec3>(&run.state().q[i]))
                                  .norm());
    CHECK(worst < 1e-10);
  }
}

TEST_CASE("force on a side of a box: equal elements give their corners a quarter each") {
  const ModelRun run = ModelRun::of_text(R"({"format": 1, "gravity": [0, 0, 0],
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1000, "density": 2}],
    "bodies": [{"name": "block", "type": "solid", "material": "m",
                "mesh": {"type": "box", "size": [1, 1, 1], "divisions": [2, 2, 1]}}],
    "loads": [{"name": "push", "type": "force", "on": "block.top", "value": [0, 0, -16]}],
    "integrator": {"type": "nsga_decoupled", "step": 0.1, "duration": 1}})");
  const Resultant r = resultant(run, 0);
  const double expected[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
  for (int k = 0; k < 9; ++k) {
    CHECK(r.all[at(3 * k + 2)] == 0);
    CHECK(r.all[at(3 * (9 + k) + 2)] == doctest::Approx(-expected[k]).epsilon(1e-14));
  }
}

TEST_CASE("force on all nodes of a beam: it is the line force of the same sum") {
  const auto beam = [](const std::string& load) {
    return ModelRun::of_text(R"_({"format": 1,
      "materials": [{"name": "m", "type": "linear_elastic", "young": 1e9, "density": 500}],
      "sections": [{"name": "s", "type": "circle", "radius": 0.1}],
      "bodies": [{"name": "arm", "type": "beam", "section": "s", "material": "m", "elements": 5, "from": [1, 0, 0],
                  "to": [3, 0, 0]}],
      "loads": [{"name": "load", "value": [1, 2, "sin(t)"], )_" +
                             load + R"(}], "integrator": {"type": "nsga_decoupled", "step": 0.1, "duration": 1}})");
  };
  const ModelRun spread = beam(R"("type": "force", "on": "arm.nodes")");
  const Resultant line = resultant(beam(R"("type": "line_force", "on": "arm")"), 0.7), all = resultant(spread, 0.7);
  CHECK((all.force - Vec3(1, 2, std::sin(0.7))).norm() < 1e-14);
  for (std::size_t i = 0; i < all.all.size(); ++i) CHECK(all.all[i] == doctest::Approx(line.all[i] / 2).epsilon(1e-14));
}

TEST_CASE("force on all nodes of a bar and on the vertices of a box: nodes at the ends get half, vertices an eighth") {
  const ModelRun run = ModelRun::of_text(R"({"format": 1,
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1e9, "density": 500}],
    "sections": [{"name": "s", "type": "circle", "radius": 0.1}],
    "bodies": [{"name": "rod", "type": "bar", "section": "s", "material": "m", "elements": 2, "from": [0, 0, 0],
                "to": [1, 1, 0]},
               {"name": "box", "type": "rigid", "density": 1, "shape": {"type": "box", "size": [1, 2, 3]},
                "orientation": {"axis": [0, 0, 1], "angle": "=pi/2"}}],
    "loads": [{"name": "a", "type": "force", "on": "rod.nodes", "value": [0, 0, 8]},
              {"name": "b", "type": "force", "on": "box.vertices", "frame": "body", "value": [5, 0, 0]}],
    "integrator": {"type": "nsga_decoupled", "step": 0.1, "duration": 1}})");
  const Vector f = resultant(run, 0).all;
  const auto of = [&](int body, int node, int c) {
    const int e = run.system().dofs().equation(run.model->bodies[at(body)].nodes[at(node)], c);
    return f[at(e)];
  };
  CHECK(of(0, 0, 2) == doctest::Approx(2));
  CHECK(of(0, 1, 2) == doctest::Approx(4));
  CHECK(of(0, 2, 2) == doctest::Approx(2));
  // the body's x axis is y; no torque
  CHECK(of(1, 0, 1) == doctest::Approx(5));
  for (const int c : {0, 2, 3, 4, 5}) CHECK(std::abs(of(1, 0, c)) < 1e-14);
}
