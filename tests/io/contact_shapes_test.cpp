// What touches when a contact names a body: the points of its shape, its sphere, or its centre where that is asked for.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

namespace {

constexpr double height = 0.2;

// A body with `keys` at rest above the floor z = 0, or beside the wall x = 0, by `normal`; `on` touches.
ModelRun body(const std::string& keys, const std::string& on, const std::string& normal = "[0, 0, 1]") {
  return ModelRun::of_text(R"({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "die", "type": "rigid", "mass": 2, "position": [0, 0, )" +
                           std::to_string(height) + "], " + keys + R"(}],
    "contacts": [{"name": "table", "on": ")" +
                           on + R"(", "restitution": 0, "obstacle": {"type": "plane", "normal": )" + normal + R"(}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})");
}

// The gaps of all candidates at the start, ascending.
std::vector<double> gaps(const ModelRun& run) {
  std::vector<double> g;
  for (int row = 0; row < run.system().rows(); ++row)
    g.push_back(run.system().row_gap(row, run.model->state.q, run.model->state.t));
  std::sort(g.begin(), g.end());
  return g;
}

void check_gaps(const ModelRun& run, std::vector<double> expected) {
  std::sort(expected.begin(), expected.end());
  const std::vector<double> found = gaps(run);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 1e-15);
}

std::vector<double> several(std::size_t count, double value) { return std::vector<double>(count, value); }

std::vector<double> joined(std::vector<double> a, const std::vector<double>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::string box = R"("shape": {"type": "box", "size": [0.02, 0.04, 0.06]})";
const std::string cylinder = R"("shape": {"type": "cylinder", "radius": 0.05, "length": 0.08})";
const std::string sphere = R"("shape": {"type": "sphere", "radius": 0.03})";
const std::string bare = R"("inertia": [1, 1, 1])";

// A tetrahedron with corners at the origin and on the axes; every corner belongs to three facets.
class Tetrahedron {
 public:
  Tetrahedron() : path_(std::filesystem::temp_directory_path() / ("carom_on_" + std::to_string(::getpid()) + ".stl")) {
    std::ofstream stl(path_);
    stl << "solid t\n";
    for (const char* corners : {"0 0 0\nvertex 0 4 0\nvertex 4 0 0", "0 0 0\nvertex 4 0 0\nvertex 0 0 4",
                                "0 0 0\nvertex 0 0 4\nvertex 0 4 0", "4 0 0\nvertex 0 4 0\nvertex 0 0 4"})
      stl << "facet normal 0 0 0\nouter loop\nvertex " << corners << "\nendloop\nendfacet\n";
    stl << "endsolid t\n";
  }
  Tetrahedron(const Tetrahedron&) = delete;
  Tetrahedron& operator=(const Tetrahedron&) = delete;
  ~Tetrahedron() { std::filesystem::remove(path_); }

  std::string keys() const {
    return R"("shape": {"type": "mesh", "file": ")" + path_.string() + R"(", "scale": 0.01})";
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("contact: the surface of a solid is that of its mesh, whatever the elements") {
  for (const std::string& mesh :
       {std::string(R"({"type": "box", "size": [1, 1, 1], "divisions": [3, 4, 5]})"),
        R"({"type": "gmsh", "file": ")" + std::string(CAROM_SOURCE_DIR) + R"(/data/meshes/cube.geo"})"}) {
    CAPTURE(mesh);
    ModelRun run = ModelRun::of_text(R"({"format": 1,
      "materials": [{"name": "m", "type": "linear_elastic", "young": 1e6, "poisson": 0.3, "density": 1000}],
      "bodies": [{"name": "cube", "type": "solid", "material": "m", "mesh": )" +
                                     mesh + R"(}],
      "contacts": [{"name": "table", "on": "cube.surface", "obstacle": {"type": "plane", "point": [0, 0, -9],
                    "normal": [0, 0, 1]}}],
      "loads": [{"name": "p", "type": "pressure", "on": "cube.surface", "value": 7}],
      "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})");
    // every node on a side of the box that holds the mesh, and no other
    const System& system = run.system();
    Vec3 low = Vec3::Constant(1e9), high = -low;
    const auto place = [&](int node) {
      const double* q = run.model->state.q.data() + system.dofs().configuration_offset(node);
      return Vec3(q[0], q[1], q[2]);
    };
    for (int node = 0; node < system.dofs().nodes(); ++node) {
      low = low.cwiseMin(place(node));
      high = high.cwiseMax(place(node));
    }
    const double edge = (high - low).maxCoeff();
    int outside = 0;
    for (int node = 0; node < system.dofs().nodes(); ++node)
      outside += std::min((place(node) - low).minCoeff(), (high - place(node)).minCoeff()) < 1e-9 * edge ? 1 : 0;
    CHECK(system.rows() == outside);
    CHECK(outside < system.dofs().nodes());
    // a pressure on a closed surface has no resultant, and its virial is p times the area's projection
    Vector f(at(system.size())), v(f.size(), 0.0);
    system.forces(run.model->state.q, v, 0, force_external, f);
    Vec3 sum = Vec3::Zero();
    double virial = 0;
    for (std::size_t i = 0; i < f.size(); ++i) {
      sum[static_cast<int>(i % 3)] += f[i];
      virial += f[i] * run.model->state.q[i];
    }
    CHECK(sum.norm() < 1e-12 * 7 * edge * edge);
    CHECK(virial == doctest::Approx(-3 * 7 * (high - low).prod()).epsilon(1e-9));
  }
}

TEST_CASE("on: a box touches with its vertices, its center alone where that is named") {
  check_gaps(body(box, "die"), joined(several(4, height - 0.03), several(4, height + 0.03)));
  check_gaps(body(box, "die.vertices"), joined(several(4, height - 0.03), several(4, height + 0.03)));
  check_gaps(body(box, "die.center"), {height});
}

TEST_CASE("on: a mesh touches with every corner of its facets, once") {
  const Tetrahedron mesh;
  // the frame is at the centre of mass, at a quarter of the edge on each axis
  const std::vector<double> corners = joined(several(3, height - 0.01), {height + 0.03});
  check_gaps(body(mesh.keys(), "die"), corners);
  check_gaps(body(mesh.keys(), "die.vertices"), corners);
  check_gaps(body(mesh.keys(), "die.center"), {height});
}

TEST_CASE("on: a cylinder touches with 24 points of each rim, evenly spaced") {
  for (const char* on : {"die", "die.rims"}) {
    check_gaps(body(cylinder, on), joined(several(24, height - 0.04), several(24, height + 0.04)));
    std::vector<double> around;
    for (int k = 0; k < 24; ++k) around.insert(around.end(), 2, 0.05 * std::cos(2 * std::numbers::pi * k / 24));
    check_gaps(body(cylinder, on, "[1, 0, 0]"), around);
  }
  check_gaps(body(cylinder, "die.center"), {height});
}

TEST_CASE("on: a sphere touches with its surface, a body without a shape with its center") {
  check_gaps(body(sphere, "die"), {height - 0.03});
  check_gaps(body(sphere, "die.center"), {height});
  check_gaps(body(bare, "die"), {height});
}

TEST_CASE("on: a body dropped flat comes to rest on its shape") {
  const Tetrahedron mesh;
  const auto rest = [](const std::string& keys) {
    ModelRun run = body(keys, "die");
    REQUIRE(run.run() == RunStatus::completed);
    for (const double v : run.state().v) CHECK(std::abs(v) < 1e-12);
    return run.position("die").z();
  };
  CHECK(std::abs(rest(box) - 0.03) < 1e-12);
  CHECK(std::abs(rest(cylinder) - 0.04) < 1e-12);
  CHECK(std::abs(rest(mesh.keys()) - 0.01) < 1e-12);
  CHECK(std::abs(rest(sphere) - 0.03) < 1e-12);
  CHECK(std::abs(rest(bare)) < 1e-12);
}
