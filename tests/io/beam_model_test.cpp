// Beams from model files: shapes, sections, loads, fixed points, pictures.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "core/mechanics/body_point.hpp"
#include "elements/beam/beam.hpp"
#include "io/model/model.hpp"
#include "io/results/vtu_output.hpp"
#include "tests/contract/differences.hpp"

using namespace carom;
using carom::test::column;
using carom::test::largest;

namespace {

// A model with one beam "arm". keys: keys of the beam; more: other keys of the model.
std::unique_ptr<Model> build(const std::string& keys, const std::string& more = "", const std::string& section = "") {
  const std::string shape =
      section.empty() ? R"({"name": "s", "type": "rectangle", "width": 0.1, "height": 0.2})" : section;
  const std::string material = section.find("general") == std::string::npos ? R"("material": "m", )" : "";
  const ModelDocument document = parse_model(
      R"({"format": 1, )" + more +
          (material.empty()
               ? ""
               : R"("materials": [{"name": "m", "type": "linear_elastic", "young": 1e9, "density": 500}],)") +
          R"("sections": [)" + shape + R"(], "bodies": [{"name": "arm", "type": "beam", "section": "s", )" + material +
          keys + R"(}], "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})",
      "test.json", {});
  ModelIssues issues = document.issues();
  auto model = build_model(document, {}, issues);
  INFO(issues.report());
  REQUIRE(model != nullptr);
  return model;
}

Mat3 axes(const Model& m, int node) {
  const int first = m.system.dofs().configuration_offset(m.bodies[0].nodes[at(node)]);
  return point_state(m.state.q.data() + first, NodeKind::frame, Vec3::Zero()).R;
}
Vec3 place(const Model& m, const std::string& point) { return m.place(*m.find_point("arm." + point), m.state.q); }
Vec3 node_place(const Model& m, int node) { return place(m, "node." + std::to_string(node)); }

Vector forces(const Model& m, unsigned parts) {
  Vector f(at(m.system.size()));
  m.system.forces(m.state.q, m.state.v, m.state.t, parts, f);
  return f;
}
Vec3 block(const Vector& f, int first) { return Eigen::Map<const Vec3>(f.data() + first); }

// The drawn shape of the beam at the start, as a mesh.
SurfaceMesh drawn(const Model& m) {
  SurfaceMesh mesh = m.bodies[0].mesh;
  for (std::size_t i = 0; i < mesh.points.size(); ++i)
    mesh.points[i] = m.place({m.bodies[0].mesh_nodes[i], mesh.points[i]}, m.state.q);
  return mesh;
}

const double area = 0.02;

}  // namespace

TEST_CASE("beam model: every reference shape has its length, mass and places, and is free of forces") {
  struct Shape {
    std::string keys;
    double length;
    Vec3 end;
    int elements;
  };
  const std::vector<Shape> shapes = {
      {R"("from": [1, 0, 0], "to": [1, 3, 4])", 5, {1, 3, 4}, 8},
      {R"("shape": {"type": "polyline", "points": [[0, 0, 0], [2, 0, 0], [2, 1, 0], [2, 1, 1]]}, "elements": 5)",
       4,
       {2, 1, 1},
       5},
      {R"("shape": {"type": "arc", "from": [2, 0, 1], "center": [0, 0, 5], "axis": [0, 0, 3], "angle": 1.5})",
       3,
       {2 * std::cos(1.5), 2 * std::sin(1.5), 1},
       8},
      {R"("shape": {"type": "helix", "from": [2, 0, 1], "center": [0, 0, 0], "axis": [0, 0, 1], "angle": -12,
           "pitch": 3}, "elements": 40)",
       12 * std::hypot(2, 3 / (2 * M_PI)),
       {2 * std::cos(12), -2 * std::sin(12), 1 - 36 / (2 * M_PI)},
       40},
      {R"("from": [0, 0, 0], "to": [0, 0, 2], "twist": 2.5)", 2, {0, 0, 2}, 8},
      {R"("shape": {"type": "frames", "nodes": [{"at": [0, 0, 0]}, {"at": [1, 0, 0]},
           {"at": [2, 0.1, 0], "orientation": {"rotation_vector": [0.2, 0, 0.2]}}]})",
       0,
       {2, 0.1, 0},
       2},
  };
  for (const Shape& shape : shapes) {
    CAPTURE(shape.keys);
    const auto m = build(shape.keys);
    const auto& beam = static_cast<const BeamBlock&>(*m->bodies[0].elements[0].block);
    CHECK(beam.topology().items == shape.elements);
    double length = 0;
    for (int e = 0; e < shape.elements; ++e) length += beam.length(e);
    if (shape.length > 0) CHECK(length == doctest::Approx(shape.length).epsilon(1e-12));
    CHECK(m->total_mass == doctest::Approx(500 * area * length));
    CHECK((place(*m, "end") - shape.end).norm() < 1e-12);
    CHECK(largest(forces(*m, force_internal)) < 1e-12 * 1e9 * area);

    // the drawn mesh is closed; for a straight beam its volume is the volume of the beam
    if (shape.keys.find("polyline") != std::string::npos)
      continue;  // each side of a polyline has its own ends at the corners
    const double volume = mass_properties(drawn(*m), 1).volume;
    CHECK(volume == doctest::Approx(area * length).epsilon(shape.elements == 8 ? 0.03 : 0.1));
  }
}

TEST_CASE("beam model: sections are oriented as documented") {
  // x along the frame, y horizontal by default
  const auto plain = build(R"("from": [0, 0, 0], "to": [1, 0, 0])");
  CHECK((axes(*plain, 0) - Mat3::Identity()).norm() < 1e-15);
  const auto across = build(R"("from": [0, 0, 0], "to": [0, 2, 0])");
  CHECK((axes(*across, 3).col(0) - Vec3(0, 1, 0)).norm() < 1e-15);
  CHECK((axes(*across, 3).col(2) - Vec3(0, 0, 1)).norm() < 1e-15);
  const auto upright = build(R"("from": [0, 0, 0], "to": [0, 0, 2])");
  CHECK((axes(*upright, 8).col(1) - Vec3(0, 1, 0)).norm() < 1e-15);
  const auto given = build(R"("from": [0, 0, 0], "to": [0, 0, 2], "orientation": [3, 3, 8])");
  CHECK((axes(*given, 8).col(1) - Vec3(1, 1, 0).normalized()).norm() < 1e-15);
  // y rotates along an arc, and with a pre-twist about the tangent
  const auto arc = build(
      R"("shape": {"type": "arc", "from": [1, 0, 0], "center": [0, 0, 0], "axis": [0, 0, 1], "angle": 1}, "elements": 2)");
  CHECK((axes(*arc, 2) - so3::exp(Vec3(0, 0, 1)) * axes(*arc, 0)).norm() < 1e-15);
  CHECK((axes(*arc, 0).col(0) - Vec3(0, 1, 0)).norm() < 1e-15);
  const auto twisted = build(R"("from": [0, 0, 0], "to": [1, 0, 0], "twist": 2, "elements": 4)");
  CHECK((axes(*twisted, 1) - so3::exp(Vec3(0.5, 0, 0))).norm() < 1e-15);
  // the node at a corner has the axes of the preceding side
  const auto corner =
      build(R"("shape": {"type": "polyline", "points": [[0, 0, 0], [1, 0, 0], [1, 1, 0]]}, "elements": 2)");
  CHECK((axes(*corner, 1) - Mat3::Identity()).norm() < 1e-15);
  CHECK((axes(*corner, 2).col(0) - Vec3(0, 1, 0)).norm() < 1e-15);
  CHECK((axes(*corner, 2).col(2) - Vec3(0, 0, 1)).norm() < 1e-15);
}

TEST_CASE("beam model: the initial velocity is a rigid motion about the start") {
  const auto m = build(R"("from": [1, 0, 0], "to": [1, 2, 0], "velocity": [1, 0, 0], "angular_velocity": [0, 0, 3])");
  const Momenta p = m->system.momenta(m->state.q, m->state.v);
  // centre of mass (1, 1, 0): v + omega x (0, 1, 0)
  CHECK((p.linear - m->total_mass * Vec3(1 - 3, 0, 0)).norm() < 1e-12 * m->total_mass);
  const Vector f = forces(*m, force_internal | force_damping);
  CHECK(largest(f) < 1e-12 * 1e9 * area);
}

TEST_CASE("beam model: points hold what \"fixed\" says") {
  const auto m = build(
      R"("from": [0, 0, 0], "to": [1, 0, 0], "elements": 3,
         "fixed": [{"on": "start"}, {"on": ["node.1", "end"], "directions": ["y", "rotation"]}])");
  CHECK(m->system.size() == 24 - 6 - 2 * 4);
  const auto equation = [&](int node, int c) { return m->system.dofs().equation(m->bodies[0].nodes[at(node)], c); };
  CHECK(equation(0, 5) < 0);
  CHECK(equation(1, 1) < 0);
  CHECK(equation(1, 0) >= 0);
  CHECK(equation(2, 1) >= 0);
  CHECK(equation(3, 3) < 0);
}

TEST_CASE("beam model: distributed loads add up, in model axes and in axes of the sections") {
  const std::string arc =
      R"("elements": 40, "shape": {"type": "arc", "from": [1, 0, 0], "center": [0, 0, 0], "axis": [0, 0, 1], "angle": 3.14159265358979})";
  const auto load = [](const std::string& type, const std::string& frame) {
    return R"("loads": [{"name": "l", "type": ")" + type + R"(", "on": "arm", "value": [0, "2 + t", 0], "frame": ")" +
           frame + R"("}],)";
  };
  const auto sums = [](const Model& m, Vec3& force, Vec3& moment) {
    const Vector f = forces(m, force_external);
    force = moment = Vec3::Zero();
    for (int k = 0; k <= 40; ++k) {
      force += block(f, 6 * k);
      moment += node_place(m, k).cross(block(f, 6 * k)) + axes(m, k) * block(f, 6 * k + 3);
    }
  };
  Vec3 force, moment;
  // dead load: 2 pi along y, at the centroid of the arc, (0, 2/pi)
  sums(*build(arc, load("line_force", "inertial")), force, moment);
  CHECK((force - Vec3(0, 2 * M_PI, 0)).norm() < 1e-12);
  CHECK(std::abs(moment.z()) < 1e-12);
  // y of the section points to the centre (z x tangent): pressure from outside, -2 times the diameter along y
  sums(*build(arc, load("line_force", "body")), force, moment);
  CHECK((force - Vec3(0, -4, 0)).norm() < 4e-3);
  CHECK(moment.norm() < 1e-12);
  sums(*build(arc, load("line_torque", "inertial")), force, moment);
  CHECK((moment - Vec3(0, 2 * M_PI, 0)).norm() < 1e-12);
  CHECK(force.norm() == 0);
}

TEST_CASE("beam model: a load in section axes turns at a corner") {
  const auto m =
      build(R"("shape": {"type": "polyline", "points": [[0, 0, 0], [2, 0, 0], [2, 3, 0]]}, "elements": 2)",
            R"("loads": [{"name": "l", "type": "line_force", "on": "arm", "value": [1, 0, 0], "frame": "body"}],)");
  const Vector f = forces(*m, force_external);
  CHECK((block(f, 0) - Vec3(1, 0, 0)).norm() < 1e-15);
  CHECK((block(f, 6) - Vec3(1, 1.5, 0)).norm() < 1e-15);
  CHECK((block(f, 12) - Vec3(0, 1.5, 0)).norm() < 1e-15);
}

TEST_CASE(
    "beam model: with the mass centre beside the axis, points stay on the axis and momentum is that of the mass") {
  // diagonal stiffness about the axis; mass 2 per length at c = (0, 0.1, -0.2), inertia (0.1, 0.05, 0.05) about c
  const std::string section = R"({"name": "s", "type": "general", "size": [0.3, 0.1],
    "stiffness": [[1e6, 0, 0, 0, 0, 0], [0, 4e5, 0, 0, 0, 0], [0, 0, 4e5, 0, 0, 0],
                  [0, 0, 0, 100, 0, 0], [0, 0, 0, 0, 200, 0], [0, 0, 0, 0, 0, 300]],
    "mass": [[2, 0, 0, 0, -0.4, -0.2], [0, 2, 0, 0.4, 0, 0], [0, 0, 2, 0.2, 0, 0],
             [0, 0.4, 0.2, 0.2, 0, 0], [-0.4, 0, 0, 0, 0.13, 0.04], [-0.2, 0, 0, 0, 0.04, 0.07]]})";
  const auto m = build(R"("from": [0, 0, 0], "to": [3, 0, 0], "elements": 3, "angular_velocity": [0, 0, 2],
                          "fixed": [{"on": "start"}])",
                       R"("gravity": [0, 0, -10], )", section);
  CHECK((place(*m, "end") - Vec3(3, 0, 0)).norm() < 1e-15);
  CHECK((node_place(*m, 1) - Vec3(1, 0, 0)).norm() < 1e-15);
  const Vec3 node = m->place({m->bodies[0].nodes[1]}, m->state.q);
  CHECK((node - Vec3(1, 0.1, -0.2)).norm() < 1e-15);
  // the section is drawn around the axis
  Vec3 low = Vec3::Constant(1e9), high = -low;
  for (const Vec3& p : drawn(*m).points) low = low.cwiseMin(p), high = high.cwiseMax(p);
  CHECK((low - Vec3(0, -0.15, -0.05)).norm() < 1e-14);
  CHECK((high - Vec3(3, 0.15, 0.05)).norm() < 1e-14);
  // a force on the axis stretches without bending: displacement u of all points by 1e-3 x/L
  Vector q = m->state.q;
  for (int k = 0; k <= 3; ++k) q[at(m->system.dofs().configuration_offset(m->bodies[0].nodes[at(k)]))] += 1e-3 * k;
  const auto& beam = *m->bodies[0].elements[0].block;
  double n[3];
  beam.output("section_moment", {1, 2}, {q.data(), nullptr, 0}, n);
  for (const double x : n) CHECK(std::abs(x) < 1e-9);
  // and anywhere forces are the matrix of the axis times strains
  Vector d(at(m->system.size()));
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = 1e-2 * std::sin(3.0 * static_cast<double>(i) + 1);
  m->system.retract(m->state.q, d, q);
  double output[4][3];
  const char* const fields[] = {"section_strain", "section_curvature", "section_force", "section_moment"};
  for (int k = 0; k < 4; ++k) beam.output(fields[k], {1, 2}, {q.data(), nullptr, 0}, output[k]);
  const double K[2][3] = {{1e6, 4e5, 4e5}, {100, 200, 300}};
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < 3; ++i)
      CHECK(output[2 + k][i] == doctest::Approx(K[k][i] * output[k][i]).epsilon(1e-9).scale(1e-3));
}
