// initial_state/project: moves the start onto the constraints, as little as possible in the metric of the mass matrix.

#include <doctest/doctest.h>

#include <Eigen/LU>
#include <cmath>
#include <filesystem>
#include <string>

#include "core/base/vector_ops.hpp"
#include "core/lie/so3.hpp"
#include "io/model/model.hpp"

using namespace carom;

namespace {

// A model with the key initial_state; the start of all models in these tests violates constraints.
std::unique_ptr<Model> build(const std::string& text, const std::string& project) {
  const ModelDocument document = parse_model(text, "test.json", {"/initial_state={\"project\":\"" + project + "\"}"});
  ModelIssues issues = document.issues();
  std::unique_ptr<Model> model = build_model(document, {}, issues);
  REQUIRE_MESSAGE(issues.empty(), issues.report());
  return model;
}

std::string with(const std::string& bodies, const std::string& rest) {
  return R"({"format": 1, "bodies": [)" + bodies + "], " + rest +
         R"(, "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})";
}

double largest_gap(const Model& m) {
  Vector g(at(m.system.rows()));
  m.system.gaps(m.state.q, m.state.t, all_rows, g);
  double largest = max_abs(In(g).first(at(m.system.bilateral())));
  for (std::size_t i = at(m.system.bilateral()); i < g.size(); ++i) largest = std::max(largest, -g[i]);
  return largest / m.scales.length;
}

double largest_rate(const Model& m) {
  Vector rate(at(m.system.bilateral()));
  m.system.rates(m.state.q, m.state.v, m.state.t, bilateral_rows, rate);
  return max_abs(rate) / m.scales.speed;
}

// d with q = q_0 o exp(d)
Vector increment(const System& s, In q_0, In q) {
  Vector d(at(s.size()));
  for (const DofMap::Translation& c : s.dofs().translations()) d[at(c.equation)] = q[at(c.entry)] - q_0[at(c.entry)];
  for (const DofMap::Frame& f : s.dofs().rotating_frames()) {
    const Quaternion p_0(q_0[at(f.entry)], q_0[at(f.entry + 1)], q_0[at(f.entry + 2)], q_0[at(f.entry + 3)]);
    const Quaternion p(q[at(f.entry)], q[at(f.entry + 1)], q[at(f.entry + 2)], q[at(f.entry + 3)]);
    const Vec3 w = so3::log_quaternion(so3::quaternion_product(so3::quaternion_conjugate(p_0), p));
    for (int i = 0; i < 3; ++i) d[at(f.equation + i)] = w[i];
  }
  return d;
}

// 1/2 d^T M d for the motion d from q_0 to q
double distance(const System& s, In q_0, In q) {
  const Vector d = increment(s, q_0, q);
  Vector Md(d.size());
  s.mass_times(q_0, d, Md);
  return 0.5 * dot(d, Md);
}

Eigen::MatrixXd gradient(const Model& m, const std::vector<int>& rows) {
  Eigen::MatrixXd G = Eigen::MatrixXd::Zero(static_cast<int>(rows.size()), m.system.size());
  SparseRow r;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    m.system.row_gradient(rows[i], m.state.q, m.state.t, nullptr, r);
    for (std::size_t k = 0; k < r.equation.size(); ++k) G(static_cast<int>(i), r.equation[k]) += r.value[k];
  }
  return G;
}

// Largest slope of the distance along the motions that the rows permit, over the gradient of the distance: zero at a
// minimum. Central differences, so the test uses no formula of the projection.
double slope(const Model& m, In q_0) {
  std::vector<int> rows;
  for (int row = 0; row < m.system.bilateral(); ++row) rows.push_back(row);
  Eigen::FullPivLU<Eigen::MatrixXd> lu(gradient(m, rows));
  lu.setThreshold(1e-9);
  const Eigen::MatrixXd free = lu.kernel();
  const auto derivative = [&](const Eigen::VectorXd& direction) {
    const double e = 1e-5;
    Vector w(at(m.system.size())), q(m.state.q.size());
    double value[2];
    for (const int side : {0, 1}) {
      for (std::size_t i = 0; i < w.size(); ++i) w[i] = (side == 0 ? -e : e) * direction[static_cast<int>(i)];
      m.system.retract(m.state.q, w, q);
      value[side] = distance(m.system, q_0, q);
    }
    return (value[1] - value[0]) / (2 * e);
  };
  double along = 0, all = 0;
  for (int k = 0; k < free.cols(); ++k) along = std::max(along, std::abs(derivative(free.col(k).normalized())));
  for (int k = 0; k < free.rows(); ++k)
    all = std::max(all, std::abs(derivative(Eigen::VectorXd::Unit(free.rows(), k))));
  return along / all;
}

// Two bodies are joined at off-centre points that do not coincide.
const char* const pair = R"(
  {"name": "A", "type": "rigid", "mass": 2, "inertia": [0.05, 0.2, 0.18], "position": [0, 0, 1],
   "orientation": {"rotation_vector": [0.4, -0.3, 0.9]}, "velocity": [0.1, 0.2, -0.4], "angular_velocity": [1, -2, 0.5],
   "points": [{"name": "p", "at": [0.3, 0.1, -0.3]}, {"name": "top", "at": [0, 0, 0.3]}]},
  {"name": "B", "type": "rigid", "mass": 0.7, "inertia": [0.02, 0.05, 0.04, 0.005, -0.003, 0.002],
   "position": [0.4, 0.1, 0.5], "orientation": {"rotation_vector": [-0.2, 0.7, 0.3]}, "velocity": [-0.6, 0, 0.3],
   "angular_velocity": [0.3, 0.4, 2], "points": [{"name": "p", "at": [-0.2, 0.15, 0.25]}]})";

}  // namespace

TEST_CASE("projection: two point masses meet in their centre of mass") {
  const std::string text = with(R"({"name": "a", "type": "point_mass", "mass": 1, "position": [0, 0, 0]},
                                   {"name": "b", "type": "point_mass", "mass": 3, "position": [0.4, -0.8, 0.2]})",
                                R"("joints": [{"name": "j", "type": "spherical", "of": ["a", "b"]}])");
  const auto m = build(text, "positions");
  for (const char* name : {"a", "b"})
    CHECK((m->place(*m->find_point(name), m->state.q) - Vec3(0.3, -0.6, 0.15)).norm() < 1e-15);
  CHECK(m->projection.position.translation == doctest::Approx(0.75 * Vec3(0.4, -0.8, 0.2).norm()));
  CHECK(m->projection.position.rotation == 0);
  // displacements in pictures and reference values of joints start from the projected configuration
  CHECK(m->system.initial_configuration() == m->state.q);
}

TEST_CASE("projection: bodies with rotated joints move as little as possible in the metric of the mass matrix") {
  const std::string text = with(pair, R"("joints": [{"name": "hang", "type": "spherical", "of": ["ground", "A.top"]},
                                                    {"name": "j", "type": "spherical", "of": ["A.p", "B.p"]}])");
  const auto given = build(text, "none"), m = build(text, "positions");
  CHECK(largest_gap(*given) > 0.05);
  CHECK(largest_gap(*m) < 1e-12);
  CHECK(m->projection.position.rotation > 0.05);
  CHECK(m->projection.position.iterations <= 8);  // Newton converges quadratically
  CHECK(distance(m->system, given->state.q, m->state.q) > 0);
  CHECK(slope(*m, given->state.q) < 1e-8);
  CHECK(m->state.v == given->state.v);
}

TEST_CASE("projection: a linkage with redundant joints is closed all the same") {
  // a door on three hinge points on one line: nine rows of rank five
  const std::string text = with(
      R"({"name": "door", "type": "rigid", "mass": 5, "inertia": [1, 1.2, 0.3], "position": [0.55, 0.1, 0.05],
          "orientation": {"rotation_vector": [0.1, 0.2, -0.3]}, "velocity": [0.1, 0.5, 0], "angular_velocity": [1, 2, 3],
          "points": [{"name": "a", "at": [-0.5, 0, -1]}, {"name": "b", "at": [-0.5, 0, 0]}, {"name": "c", "at": [-0.5, 0, 1]}]})",
      R"("ground": [{"name": "a", "at": [0, 0, -1]}, {"name": "b", "at": [0, 0, 0]}, {"name": "c", "at": [0, 0, 1]}],
         "joints": [{"name": "ja", "type": "spherical", "of": ["ground.a", "door.a"]},
                    {"name": "jb", "type": "spherical", "of": ["ground.b", "door.b"]},
                    {"name": "jc", "type": "spherical", "of": ["ground.c", "door.c"]}])");
  const auto given = build(text, "none"), m = build(text, "all");
  CHECK(largest_gap(*m) < 1e-12);
  CHECK(largest_rate(*m) < 1e-12);
  CHECK(slope(*m, given->state.q) < 1e-8);
  // the door can only rotate about the line of its hinges, the z axis
  const Vec3 axis(0, 0, 1), Omega(m->state.v[3], m->state.v[4], m->state.v[5]);
  const Mat3 R = so3::quaternion_to_matrix(Quaternion(m->state.q[3], m->state.q[4], m->state.q[5], m->state.q[6]));
  CHECK((R * Omega).cross(axis).norm() < 1e-12);
  CHECK((R.col(2) - axis).norm() < 1e-12);
}

TEST_CASE("projection: what has no mass comes all the way, and the heavy body stays") {
  const std::string text = with(
      R"({"name": "rod", "type": "rigid", "mass": 1.5, "inertia": [0.02, 0.03, 0.025], "angular_velocity": [0, 2, 0],
          "points": [{"name": "tip", "at": [0.3, 0, -0.1]}]},
         {"name": "tip", "type": "point_mass", "mass": 0, "position": [0.2, 0.1, 0]})",
      R"("joints": [{"name": "link", "type": "spherical", "of": ["rod.tip", "tip"]}])");
  const auto m = build(text, "all");
  CHECK((m->place(*m->find_point("tip"), m->state.q) - Vec3(0.3, 0, -0.1)).norm() < 1e-14);
  CHECK(m->place(*m->find_point("rod"), m->state.q).norm() < 1e-14);
  // velocity of the tip: Omega x (0.3, 0, -0.1)
  const Vec3 expected(-0.2, 0, -0.6);
  for (int i = 0; i < 3; ++i) CHECK(m->state.v[at(6 + i)] == doctest::Approx(expected[i]).epsilon(1e-12));
  CHECK(m->state.v[4] == doctest::Approx(2).epsilon(1e-13));
}

TEST_CASE("projection: penetrating contacts are lifted until they touch, others stay as they are") {
  const std::string floor =
      R"("contacts": [{"name": "floor", "on": ["a", "b"], "obstacle": {"type": "plane", "normal": [0, 0, 1]}},
                                            {"name": "touch", "between": ["a", "b"]}])";
  const std::string text =
      with(R"({"name": "a", "type": "point_mass", "mass": 1, "radius": 0.1, "position": [0, 0, 0.04]},
                                   {"name": "b", "type": "point_mass", "mass": 2, "radius": 0.1, "position": [1, 0, 0.3],
                                    "velocity": [0, 0, -1]})",
           floor);
  const auto m = build(text, "all");
  CHECK(m->state.q[0] == 0);
  CHECK(m->state.q[2] == doctest::Approx(0.1).epsilon(1e-14));
  CHECK(m->state.q[3] == 1);
  CHECK(m->state.q[5] == 0.3);
  // an approaching contact is an impact, not a wrong velocity
  CHECK(m->state.v[5] == -1);

  // two overlapping spheres move apart in inverse proportion to their masses
  const auto apart = build(with(R"({"name": "a", "type": "point_mass", "mass": 1, "radius": 0.1, "position": [0, 0, 1]},
                                   {"name": "b", "type": "point_mass", "mass": 2, "radius": 0.1, "position": [0.14, 0, 1]})",
                                floor),
                           "positions");
  CHECK(apart->state.q[0] == doctest::Approx(-0.04).epsilon(1e-13));
  CHECK(apart->state.q[3] == doctest::Approx(0.16).epsilon(1e-13));
}

TEST_CASE(
    "projection: a box deep in the floor rises and tilts until no vertex penetrates, pushed only where it touches") {
  const std::string text = with(
      R"({"name": "box", "type": "rigid", "mass": 2, "shape": {"type": "box", "size": [0.4, 0.2, 0.1]},
          "position": [0, 0, 0.1], "orientation": {"rotation_vector": [0.7, 0.6, 0]}})",
      R"("contacts": [{"name": "floor", "on": "box.vertices", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}])");
  const auto given = build(text, "none"), m = build(text, "positions");
  CHECK(largest_gap(*m) < 1e-12);
  // T^-T M d = sum of nu G^T over touching vertices, nu >= 0
  const Vector d = increment(m->system, given->state.q, m->state.q);
  Vector Md(6);
  m->system.mass_times(given->state.q, d, Md);
  Eigen::VectorXd force = Eigen::Map<Eigen::VectorXd>(Md.data(), 6);
  force.tail<3>() = so3::tangent_inverse(Vec3(-d[3], -d[4], -d[5])) * Vec3(Md[3], Md[4], Md[5]);
  std::vector<int> touching;
  for (int row = 0; row < 8; ++row)
    if (m->system.row_gap(row, m->state.q, 0) < 1e-9) touching.push_back(row);
  REQUIRE(!touching.empty());
  REQUIRE(touching.size() <= 3);
  const Eigen::MatrixXd G = gradient(*m, touching);
  const Eigen::VectorXd nu = G.transpose().colPivHouseholderQr().solve(force);
  CHECK((G.transpose() * nu - force).norm() < 1e-10 * force.norm());
  CHECK(nu.minCoeff() >= 0);
}

TEST_CASE("projection: velocities of bodies that hold only each other keep linear and angular momentum") {
  const std::string text = with(pair, R"("joints": [{"name": "j", "type": "spherical", "of": ["A.p", "B.p"]}])");
  const auto before = build(text, "positions"), after = build(text, "all");
  REQUIRE(before->state.q == after->state.q);
  CHECK(largest_rate(*before) > 0.1);
  CHECK(largest_rate(*after) < 1e-12);
  const Momenta p = before->system.momenta(before->state.q, before->state.v),
                p_after = after->system.momenta(after->state.q, after->state.v);
  CHECK((p.linear - p_after.linear).norm() < 1e-13 * p.linear.norm());
  CHECK((p.angular - p_after.angular).norm() < 1e-12 * p.angular.norm());

  // the change is orthogonal to the remaining velocity: the kinetic energies add up (Pythagoras, Carnot's theorem)
  Vector w(after->state.v.size()), Mw(w.size());
  combine(1.0, after->state.v, -1.0, before->state.v, w);
  after->system.mass_times(after->state.q, w, Mw);
  const double lost = before->system.energies(before->state.q, before->state.v, 0).kinetic -
                      after->system.energies(after->state.q, after->state.v, 0).kinetic;
  CHECK(lost > 0);
  CHECK(lost == doctest::Approx(0.5 * dot(w, Mw)).epsilon(1e-12));
}

TEST_CASE("projection: a slender light beam on a heavy body gets the velocities that it gets on the ground") {
  // the beam weighs 2e-6 kg, its rotary inertia is 1e-15 kg m^2; the body's velocity changes by the ratio of the masses
  const std::string beam = R"(
    {"name": "beam", "type": "beam", "from": [0, 0, 0], "to": [0.003, 0.012, 0.016], "elements": 1,
     "material": "plastic", "section": "strip", "velocity": [0.02, 0.2, 0.16]})";
  const std::string rest = R"(
    "materials": [{"name": "plastic", "type": "linear_elastic", "young": 5e9, "poisson": 0.3, "density": 430}],
    "sections": [{"name": "strip", "type": "rectangle", "width": 5e-4, "height": 3e-4}],
    "joints": [{"name": "j", "type": "universal", "axis": [0, 1, 0], "second_axis": [0.8, 0, 0.6], "of": )";
  const auto ground = build(with(beam, rest + R"(["ground", "beam.start"]}])"), "all");
  const double beam_mass = 430 * 5e-4 * 3e-4 * std::sqrt(0.003 * 0.003 + 0.012 * 0.012 + 0.016 * 0.016);
  for (const double mass : {1e-2, 49.0, 1e4, 1e8}) {
    CAPTURE(mass);
    const std::string body = R"({"name": "body", "type": "rigid", "shape": {"type": "box", "size": [0.05, 0.05, 0.05]},
                                 "mass": )" +
                             std::to_string(mass) + "},";
    const auto m = build(with(body + beam, rest + R"(["body", "beam.start"]}])"), "all");
    CHECK(m->projection.velocity.iterations > 0);
    CHECK(largest_rate(*m) < 1e-12);
    const int first = m->system.dofs().equation(m->find_body("beam")->nodes[0], 0);
    const double share = 100 * beam_mass / mass;
    for (int i = 0; i < 12; ++i) {
      const double expected = ground->state.v[at(i)], size = i % 6 < 3 ? 0.2 : 20;
      CHECK(std::abs(m->state.v[at(first + i)] - expected) < (share + 1e-9) * size);
    }
  }
}

TEST_CASE("projection: models whose start fits are not changed by a bit") {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::string(CAROM_SOURCE_DIR) + "/data/models")) {
    if (file.path().extension() != ".json") continue;
    ModelIssues issues;
    const auto a = build_model(load_model(file.path().string()), {}, issues),
               b = build_model(load_model(file.path().string(), {"/initial_state={\"project\":\"all\"}"}), {}, issues);
    REQUIRE(a != nullptr);
    REQUIRE(b != nullptr);
    CAPTURE(file.path().string());
    CHECK(a->state.q == b->state.q);
    CHECK(a->state.v == b->state.v);
    CHECK(a->warnings == b->warnings);
    CHECK(b->projection.position.iterations + b->projection.velocity.iterations == 0);
    ++count;
  }
  CHECK(count >= 9);
}

TEST_CASE("projection: joints that no motion can close are an error of the model, with the joint's name") {
  // hinge points 1 apart on the body, 2 apart on the ground
  const ModelDocument document =
      parse_model(with(R"({"name": "rod", "type": "rigid", "mass": 1, "inertia": [1, 1, 1],
                           "points": [{"name": "l", "at": [-0.5, 0, 0]}, {"name": "r", "at": [0.5, 0, 0]}]})",
                       R"("ground": [{"name": "l", "at": [-1, 0, 0]}, {"name": "r", "at": [1, 0, 0]}],
                          "initial_state": {"project": "positions"},
                          "joints": [{"name": "left", "type": "spherical", "of": ["ground.l", "rod.l"]},
                                     {"name": "right", "type": "spherical", "of": ["ground.r", "rod.r"]}])"),
                  "test.json");
  ModelIssues issues = document.issues();
  CHECK(build_model(document, {}, issues) == nullptr);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].pointer == "/initial_state/project");
  CHECK(issues[0].message.starts_with("cannot make the positions fit: "));
  CHECK(issues[0].message.find(" x is off by 0.5") != std::string::npos);
}

TEST_CASE("projection: a body without mass that no joint holds makes the matrix singular, which is said") {
  const ModelDocument document =
      parse_model(with(R"({"name": "a", "type": "point_mass", "mass": 0}, {"name": "b", "type": "point_mass", "mass": 0,
               "position": [1, 0, 0]})",
                       R"("initial_state": {"project": "positions"},
              "joints": [{"name": "j", "type": "spherical", "of": ["a", "b"]}])"),
                  "test.json");
  ModelIssues issues = document.issues();
  CHECK(build_model(document, {}, issues) == nullptr);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].pointer == "/initial_state/project");
}
