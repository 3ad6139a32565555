// The inventory of a model against closed forms.

#include "io/studies/inventory.hpp"

#include <doctest/doctest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/lie/so3.hpp"
#include "core/mechanics/element_frequency.hpp"
#include "io/results/prepared_run.hpp"

using namespace carom;

namespace {

Inventory inventory_of(const std::string& bodies, const std::string& rest = R"("gravity": [0, 0, 0])",
                       const std::string& integrator = R"("step": 1e-3, "duration": 1)") {
  const ModelDocument document = parse_model(R"({"format": 1, "bodies": [)" + bodies + "], " + rest +
                                                 R"(, "integrator": {"type": "nsga_decoupled", )" + integrator + "}}",
                                             "test.json");
  ModelIssues issues = document.issues();
  const auto model = build_model(document, {}, issues);
  REQUIRE_MESSAGE(issues.empty(), issues.report());
  return inspect_model(*model, document);
}

std::string steel_bar(const std::string& keys) {
  return R"("materials": [{"name": "m", "type": "linear_elastic", "young": 200, "density": 8}],
            "sections": [{"name": "s", "type": "area", "area": 0.5}])" +
         keys;
}

bool mentions(const std::vector<std::string>& remarks, const std::string& words) {
  return std::ranges::any_of(remarks, [&](const std::string& r) { return r.find(words) != std::string::npos; });
}

std::vector<std::string> names(const std::vector<Inventory::Redundant>& rows) {
  std::vector<std::string> list;
  for (const Inventory::Redundant& r : rows) list.push_back(r.joint + " " + r.component);
  return list;
}

}  // namespace

TEST_CASE("stock: masses, centres and principal inertias are those of the bodies") {
  // J = R diag(1, 2, 2.5) R^T as a tensor
  const Mat3 R = so3::exp(Vec3(0.3, -0.7, 0.4)), J = R * Vec3(1, 2, 2.5).asDiagonal() * R.transpose();
  std::string tensor = "[";
  for (const double x : {J(0, 0), J(1, 1), J(2, 2), J(0, 1), J(0, 2), J(1, 2)})
    tensor += (tensor.size() > 1 ? ", " : "") + std::to_string(x);
  const Inventory s = inventory_of(
      R"({"name": "tilted", "type": "rigid", "mass": 4, "inertia": )" + tensor + R"(], "position": [1, 0, 0]},
         {"name": "ball", "type": "rigid", "density": 3, "shape": {"type": "sphere", "radius": 0.5}, "position": [0, 2, 0],
          "fixed": ["translation"]},
         {"name": "dot", "type": "point_mass", "mass": 2, "position": [0, 0, 3]},
         {"name": "none", "type": "point_mass", "mass": 0, "position": [7, 7, 7], "fixed": ["x", "y", "z"]},
         {"name": "line", "type": "bar", "material": "m", "section": "s", "from": [0, 0, 0], "to": [0, 3, 4],
          "elements": 5, "fixed": ["start"]},
         {"name": "flat", "type": "bar", "material": "m", "section": "s", "from": [0, 0, 0], "to": [2, 0, 0],
          "elements": 4, "kinematics": "linear", "mass": "lumped"})",
      steel_bar(""));
  REQUIRE(s.bodies.size() == 6);
  REQUIRE(s.bodies[0].inertia.has_value());
  CHECK((*s.bodies[0].inertia - Vec3(1, 2, 2.5)).norm() < 1e-5);  // six digits in the text
  CHECK(s.bodies[0].mass == 4);
  const double ball = 3 * 4.0 / 3.0 * M_PI * 0.125;
  CHECK(s.bodies[1].mass == doctest::Approx(ball));
  CHECK((*s.bodies[1].inertia - Vec3::Constant(0.4 * ball * 0.25)).norm() < 1e-14);
  CHECK(s.bodies[1].equations == 3);
  CHECK_FALSE(s.bodies[2].inertia.has_value());
  CHECK(s.bodies[3].mass == 0);
  CHECK(s.bodies[3].center == Vec3(7, 7, 7));
  // rho A L, fixed nodes included
  CHECK(s.bodies[4].mass == doctest::Approx(8 * 0.5 * 5));
  CHECK(*s.bodies[4].length == doctest::Approx(5));
  CHECK((s.bodies[4].center - Vec3(0, 1.5, 2)).norm() < 1e-14);
  CHECK(s.bodies[5].mass == doctest::Approx(8 * 0.5 * 2));
  CHECK((s.bodies[5].center - Vec3(1, 0, 0)).norm() < 1e-14);
  const double mass = 4 + ball + 2 + 20 + 8;
  CHECK(s.mass == doctest::Approx(mass));
  const Vec3 moment = Vec3(4, 0, 0) + ball * Vec3(0, 2, 0) + Vec3(0, 0, 6) + 20 * Vec3(0, 1.5, 2) + Vec3(8, 0, 0);
  CHECK((s.center - moment / mass).norm() < 1e-14);
}

TEST_CASE("stock: of two joints side by side the second one's rows are redundant, all by name") {
  const Inventory s = inventory_of(R"(
      {"name": "A", "type": "rigid", "mass": 2, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 1],
       "points": [{"name": "left", "at": [-0.2, 0, -0.3]}, {"name": "right", "at": [0.2, 0, -0.3]}]},
      {"name": "B", "type": "rigid", "mass": 3, "inertia": [0.2, 0.1, 0.2], "position": [0.1, 0, 0.4],
       "points": [{"name": "left", "at": [-0.3, 0, 0.3]}, {"name": "right", "at": [0.1, 0, 0.3]}]})",
                                   R"("joints": [{"name": "hang", "type": "fixed", "of": ["ground", "A"]},
                {"name": "left", "type": "fixed", "of": ["A.left", "B.left"]},
                {"name": "right", "type": "fixed", "of": ["A.right", "B.right"]}])");
  CHECK(s.joint_rows == 18);
  CHECK(s.rank == 12);
  CHECK(s.freedom == 0);
  CHECK(names(s.redundant) == std::vector<std::string>{"right x", "right y", "right z", "right rotation x",
                                                       "right rotation y", "right rotation z"});
  REQUIRE(s.joints.size() == 3);
  CHECK(s.joints[2].redundant == 6);
  CHECK(s.joints[0].redundant + s.joints[1].redundant == 0);
  CHECK(s.joints[0].fits);
}

TEST_CASE("stock: a door on three hinge points in a line has one degree of freedom") {
  const auto door = [](const std::string& order) {
    return inventory_of(
        R"({"name": "door", "type": "rigid", "mass": 5, "inertia": [1, 1.2, 0.3], "position": [0.5, 0, 0],
        "points": [{"name": "a", "at": [-0.5, 0, -1]}, {"name": "b", "at": [-0.5, 0, 0]}, {"name": "c", "at": [-0.5, 0, 1]}]})",
        R"("joints": [)" + order + "]");
  };
  const auto joint = [](const std::string& p) {
    return R"({"name": "j)" + p + R"(", "type": "spherical", "of": ["ground", "door.)" + p + R"("]})";
  };
  // three rows of the first point, x and y of the second, none of the third, in any order
  const Inventory s = door(joint("a") + "," + joint("b") + "," + joint("c"));
  CHECK(s.rank == 5);
  CHECK(s.freedom == 1);
  CHECK(names(s.redundant) == std::vector<std::string>{"jb z", "jc x", "jc y", "jc z"});
  CHECK(names(door(joint("c") + "," + joint("a") + "," + joint("b")).redundant) ==
        std::vector<std::string>{"ja z", "jb x", "jb y", "jb z"});
}

TEST_CASE("stock: a box that stands on four vertices has one contact more than it needs") {
  const Inventory s = inventory_of(
      R"({"name": "box", "type": "rigid", "mass": 1, "shape": {"type": "box", "size": [1, 1, 1]}, "position": [0, 0, 0.5]},
         {"name": "low", "type": "point_mass", "mass": 1, "position": [5, 0, -0.25], "velocity": [0, 0, -2]},
         {"name": "high", "type": "point_mass", "mass": 1, "position": [5, 0, 0.125], "velocity": [0, 0, -3]})",
      R"("contacts": [{"name": "floor", "on": "box.vertices", "obstacle": {"type": "plane", "normal": [0, 0, 1]}},
                      {"name": "dots", "on": ["low", "high"], "obstacle": {"type": "plane", "normal": [0, 0, 1]}}])");
  REQUIRE(s.contacts.size() == 2);
  CHECK(s.contacts[0].candidates == 8);
  CHECK(s.contacts[0].touching == 4);
  CHECK(s.contacts[0].penetrating == 0);
  CHECK(s.contacts[0].impacts == 0);
  CHECK(s.contacts[1].penetrating == 1);
  CHECK(s.contacts[1].touching == 0);
  CHECK(s.contacts[1].smallest_gap == -0.25);
  CHECK(s.contacts[1].nearest == "dots[low]");
  CHECK(s.contacts[1].approach == 3);
  CHECK(s.contacts[1].impacts == 1);
  CHECK(s.candidates == 10);
  CHECK(s.touching == 5);
  CHECK(s.rank == 0);
  CHECK(s.rank_with_contacts == 4);
  REQUIRE(s.redundant_contacts.size() == 1);
  CHECK(s.redundant_contacts[0].joint == "floor");
  CHECK(s.freedom == 12);
}

TEST_CASE("stock: joints that do not fit are named with their largest gap and rate") {
  const Inventory s = inventory_of(
      R"({"name": "a", "type": "point_mass", "mass": 1},
                              {"name": "b", "type": "point_mass", "mass": 1, "position": [0, -0.5, 0.1]},
                              {"name": "c", "type": "point_mass", "mass": 1, "position": [2, 0, 0], "velocity": [1, 0, 4]},
                              {"name": "d", "type": "point_mass", "mass": 1})",
      R"("ground": [{"name": "n", "at": [2, 0, 0]}, {"name": "m", "at": [0, 0, 0]}], "scales": {"length": 5, "speed": 8},
       "joints": [{"name": "open", "type": "spherical", "of": ["a", "b"]},
                  {"name": "fast", "type": "spherical", "of": ["ground.n", "c"]},
                  {"name": "good", "type": "spherical", "of": ["ground.m", "d"]},
                  {"name": "again", "type": "rigid_link", "of": ["ground.m", "d"]}])");
  CHECK_FALSE(s.joints[0].fits);
  CHECK(s.joints[0].gap.value == doctest::Approx(0.5));
  CHECK(s.joints[0].gap.relative == doctest::Approx(0.1));
  CHECK(s.joints[0].gap.component == "y");
  CHECK_FALSE(s.joints[1].fits);
  CHECK(s.joints[1].gap.value == 0);
  CHECK(s.joints[1].rate.value == 4);
  CHECK(s.joints[1].rate.relative == 0.5);
  CHECK(s.joints[1].rate.component == "z");
  CHECK(s.joints[2].fits);
  CHECK(s.joints[2].redundant == 0);
  CHECK(s.joints[3].fits);
  CHECK(s.joints[3].redundant == 3);
  CHECK(mentions(s.remarks, "largest gap 0.5 (open y)"));
  CHECK(mentions(s.remarks, "largest rate 4 (fast z)"));
  CHECK(inventory_text(s).find("2 of 4 joints do not fit") != std::string::npos);
}

TEST_CASE("stiffest element: a mass on a spring has sqrt(k/m), two masses have sqrt(k/m_1 + k/m_2)") {
  const Inventory one = inventory_of(R"({"name": "m", "type": "point_mass", "mass": 2, "position": [1, 1, 1]})",
                                     R"("ground": [{"name": "o", "at": [0, 0, 0]}],
                                "springs": [{"name": "soft", "of": ["ground.o", "m"], "stiffness": 1e-3},
                                            {"name": "stiff", "of": ["ground.o", "m"], "stiffness": 800}])");
  REQUIRE(one.frequencies.size() == 1);
  CHECK(one.frequencies[0].element == "stiff");
  CHECK(one.frequencies[0].omega == doctest::Approx(20).epsilon(1e-5));
  CHECK(one.frequencies[0].period == doctest::Approx(2 * M_PI / 20).epsilon(1e-5));
  CHECK(one.frequencies[0].steps == doctest::Approx(2 * M_PI / 20 / 1e-3).epsilon(1e-5));
  CHECK(one.stiffness_remark.find("all vibrations are resolved") != std::string::npos);

  const Inventory two = inventory_of(R"({"name": "a", "type": "point_mass", "mass": 2},
                                {"name": "b", "type": "point_mass", "mass": 0.5, "position": [0.6, 0, 0.8]})",
                                     R"("springs": [{"name": "s", "of": ["a", "b"], "stiffness": 1000}])",
                                     R"("step": 0.1, "duration": 1, "rho_infinity": 0.5)");
  CHECK(two.frequencies[0].omega == doctest::Approx(std::sqrt(1000 * (1 / 2.0 + 1 / 0.5))).epsilon(1e-12));
  CHECK(two.stiffness_remark.find("rho_infinity = 0.5") != std::string::npos);
  CHECK(two.stiffness_remark.find("resolves natural frequencies up to") != std::string::npos);
}

TEST_CASE("stiffest element: a soft spring beside a stiff bar keeps a frequency of its own") {
  const Inventory s = inventory_of(R"({"name": "bar", "type": "bar", "material": "m", "section": "s", "from": [0, 0, 0],
                               "to": [1, 0, 0], "elements": 2, "mass": "lumped", "fixed": ["start"]})",
                                   steel_bar(R"(, "ground": [{"name": "o", "at": [2, 0, 0]}],
                               "springs": [{"name": "soft", "of": ["bar.end", "ground.o"], "stiffness": 1}])"));
  REQUIRE(s.frequencies.size() == 2);
  // a quarter of the bar's mass rho A L = 4 belongs to the end
  const auto soft = s.frequencies[0].kind == "springs" ? 0U : 1U;
  CHECK(s.frequencies[soft].omega == doctest::Approx(1).epsilon(1e-12));
  CHECK(s.stiffness_remark.find("bar[") != std::string::npos);
}

TEST_CASE("stiffest element: a spring off a body's centre turns it too") {
  // free body, spring along z at (a, 0, 0) from the centre: omega^2 = k (1/m + a^2/J_yy)
  const Inventory s = inventory_of(R"({"name": "b", "type": "rigid", "mass": 2, "inertia": [0.3, 0.4, 0.5],
                               "points": [{"name": "p", "at": [0.7, 0, 0]}]})",
                                   R"("ground": [{"name": "o", "at": [0.7, 0, -1]}],
                              "springs": [{"name": "s", "of": ["ground.o", "b.p"], "stiffness": 50}])");
  CHECK(s.frequencies[0].omega == doctest::Approx(std::sqrt(50 * (1 / 2.0 + 0.49 / 0.4))).epsilon(1e-12));
}

TEST_CASE("stiffest element: a uniform bar has twice the speed of sound over the element's length") {
  // lumped masses: omega_max = 2 sqrt(E/rho)/l, in a long bar to first order in 1/n^2
  for (const char* kinematics : {"linear", "nonlinear"}) {
    const Inventory s =
        inventory_of(R"({"name": "bar", "type": "bar", "material": "m", "section": "s", "from": [0, 0, 0],
                                 "to": [10, 0, 0], "elements": 50, "kinematics": ")" +
                         std::string(kinematics) + "\"}",
                     steel_bar(""));
    REQUIRE(s.frequencies.size() == 1);
    CHECK(s.frequencies[0].elements == 50);
    CHECK(s.frequencies[0].omega == doctest::Approx(2 * std::sqrt(200.0 / 8) / 0.2).epsilon(1e-12));
  }
}

TEST_CASE("stiffest element: the highest frequency of the model with lumped masses is just below the estimate") {
  // a bar and springs of very different stiffness on common nodes
  const PreparedRun run = prepare_run(parse_model(
      R"({"format": 1, "materials": [{"name": "m", "type": "linear_elastic", "young": 200, "density": 8}],
          "sections": [{"name": "s", "type": "area", "area": 0.5}],
          "bodies": [{"name": "bar", "type": "bar", "material": "m", "section": "s", "from": [0, 0, 0], "to": [3, 1, 2],
                      "elements": 6, "velocity": [1, 2, 3]},
                     {"name": "a", "type": "point_mass", "mass": 0.3, "position": [1, 2, 0]},
                     {"name": "r", "type": "rigid", "mass": 0.7, "inertia": [0.1, 0.2, 0.25], "position": [0, 2, 1],
                      "orientation": {"rotation_vector": [0.3, 1, -0.4]}, "points": [{"name": "p", "at": [0.3, -0.2, 0.1]}]}],
          "springs": [{"name": "s1", "of": ["bar.node.2", "a"], "stiffness": 500},
                      {"name": "s2", "of": ["a", "r.p"], "stiffness": 90, "damping": 3},
                      {"name": "s3", "of": ["bar.end", "r.p"], "stiffness": 2000},
                      {"name": "s4", "of": ["bar.end", "a"], "stiffness": 10, "natural_length": 0.5}],
          "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})",
      "test.json"));
  REQUIRE_MESSAGE(run.ok(), run.issues.report());
  const Model* const model = run.model.get();
  const System& system = model->system;
  const int n = system.size();
  const SparsePattern& pattern = system.saddle_pattern();
  const auto matrix = [&](double c_M, double c_K) {
    Linearisation request;
    request.c_M = c_M;
    request.c_K = c_K;
    request.mass = MassKind::lumped;
    request.q = request.q_M = model->state.q.data();
    const Vector rest(at(n), 0.0);
    request.v = rest.data();
    Vector values(at(pattern.nonzeros()));
    system.assemble(request, values);
    Eigen::MatrixXd A = Eigen::MatrixXd::Zero(n, n);
    for (int i = 0; i < n; ++i)
      for (int k = pattern.row_start[at(i)]; k < pattern.row_start[at(i + 1)]; ++k)
        A(i, pattern.column[at(k)]) = values[at(k)];
    return Eigen::MatrixXd(0.5 * (A + A.transpose()));
  };
  const Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::MatrixXd> exact(matrix(0, 1), matrix(1, 0));
  const double highest = std::sqrt(exact.eigenvalues()[n - 1]);
  double sum = 0;
  for (const BlockFrequency& f : element_frequencies(system, model->state.q, 0)) sum += f.omega * f.omega;
  CHECK(std::sqrt(sum) >= highest);
  CHECK(std::sqrt(sum) < 1.6 * highest);
}

TEST_CASE("stock: a model without joints, contacts and springs has empty lists") {
  const Inventory s = inventory_of(R"({"name": "a", "type": "point_mass", "mass": 1})");
  CHECK(s.joints.empty());
  CHECK(s.contacts.empty());
  CHECK(s.frequencies.empty());
  CHECK(s.redundant.empty());
  CHECK(s.remarks.empty());
  CHECK(s.stiffness_remark.empty());
  CHECK(s.freedom == 3);
  const nlohmann::json j = nlohmann::json::parse(inventory_json(s));
  CHECK(j["joints"]["list"].empty());
  CHECK(j["contacts"]["list"].empty());
  CHECK(j["stiffness"]["list"].empty());
  CHECK(inventory_text(s).find("joints at the start") == std::string::npos);

  // no component can move
  const Inventory held = inventory_of(R"({"name": "a", "type": "point_mass", "mass": 1, "fixed": ["x", "y", "z"]})");
  CHECK(held.equations == 0);
  CHECK(held.freedom == 0);
}

TEST_CASE("stock: bodies that fall for ever, and components that nothing accelerates, are remarked upon") {
  const std::string gravity = R"("gravity": [0, 0, -9.81])";
  CHECK(
      mentions(inventory_of(R"({"name": "stone", "type": "point_mass", "mass": 1})", gravity).remarks, "stone falls"));
  CHECK(inventory_of(R"({"name": "stone", "type": "point_mass", "mass": 1})").remarks.empty());
  CHECK(inventory_of(R"({"name": "bead", "type": "point_mass", "mass": 1, "fixed": ["x"]})", gravity).remarks.empty());
  // attached to a fixed point
  CHECK(inventory_of(R"({"name": "bead", "type": "point_mass", "mass": 1, "fixed": ["x"]},
                    {"name": "bob", "type": "point_mass", "mass": 1, "position": [0, 0, -1]})",
                     gravity + R"(, "springs": [{"name": "s", "of": ["bead", "bob"], "stiffness": 1}])")
            .remarks.empty());

  const std::string rod = R"({"name": "rod", "type": "rigid", "mass": 1, "inertia": [1, 1, 1],
                              "points": [{"name": "tip", "at": [1, 0, 0]}]},
                             {"name": "tip", "type": "point_mass", "mass": 0, "position": [1, 0, 0]})";
  const Inventory linked =
      inventory_of(rod, R"("joints": [{"name": "l", "type": "rigid_link", "of": ["rod", "tip"]}])");
  CHECK(mentions(linked.remarks, "3 of 9 equations have no mass; joints hold them"));
  const Inventory loose = inventory_of(rod, R"("springs": [{"name": "s", "of": ["rod", "tip"], "stiffness": 1}])");
  CHECK(mentions(loose.remarks, "nothing determines the acceleration of tip x"));
}

TEST_CASE("stock: a consistent mass matrix that an explicit method lumps is remarked upon") {
  const auto remarks = [](const std::string& mass, const std::string& type) {
    const ModelDocument document = parse_model(
        R"({"format": 1, )" +
            steel_bar(R"(, "bodies": [{"name": "bar", "type": "bar", "material": "m", "section": "s", "elements": 2,
                         "from": [0, 0, 0], "to": [1, 0, 0], "fixed": ["start"])" +
                      mass + R"(}])") +
            R"(, "integrator": {"step": 1e-3, "duration": 1, "type": ")" + type + R"("}})",
        "test.json");
    ModelIssues issues = document.issues();
    const auto model = build_model(document, {}, issues);
    REQUIRE_MESSAGE(issues.empty(), issues.report());
    return inspect_model(*model, document).remarks;
  };
  const std::string told = "the mass of bar is lumped at the nodes, because cd_lagrange needs a diagonal mass matrix";
  CHECK(mentions(remarks("", "cd_lagrange"), told));
  CHECK_FALSE(mentions(remarks(R"(, "mass": "lumped")", "cd_lagrange"), "lumped"));
  CHECK_FALSE(mentions(remarks("", "nsga_decoupled"), "lumped"));
}
