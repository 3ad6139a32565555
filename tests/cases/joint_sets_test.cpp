// Joints with sets of nodes of solids.

#include <doctest/doctest.h>

#include <cmath>

#include "case_runner.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

// A stiff block of 1000 kg/m^3 and 0.2 x 0.1 x 0.1 m. Its face x = min rotates on a hinge along z; gravity along -y.
std::string block(const std::string& joint) {
  return R"({"format": 1, "gravity": [0, -9.81, 0],
    "materials": [{"name": "hard", "type": "linear_elastic", "young": 1e9, "poisson": 0.3, "density": 1000}],
    "bodies": [{"name": "block", "type": "solid", "material": "hard", "law": "saint_venant_kirchhoff",
                "mesh": {"type": "box", "size": [0.2, 0.1, 0.1], "divisions": [2, 1, 1]}}],
    "joints": [)" +
         joint + R"(],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.3, "rho_infinity": 0.8}})";
}

TEST_CASE("joint of a set: a block hung by a face swings as a rigid body about the hinge") {
  Case c = Case::from_text(
      block(R"({"name": "hinge", "type": "revolute", "of": ["ground", "block.left"], "axis": [0, 0, 1]})"));
  // four nodes of three rows, and the hinge
  CHECK(c.rows("hinge").size() == 17);
  CHECK(c.system().has_massless_equation());
  const Vec3 start = c.position("block.node.0");
  double gap = 0;
  const RunStatus status = c.run([&](const StepView&) {
    for (const int row : c.rows("hinge")) gap = std::max(gap, std::abs(c.gap(row)));
  });
  CHECK(status == RunStatus::completed);
  CHECK(gap < 1.1e-11 * c.scales().length);
  // pendulum of length 0.1 and radius of gyration (0.2^2 + 0.1^2)/12 about the centre, released at a right angle:
  // th'' = -g a/(a^2 + k^2) cos th; the angle below the horizontal is -th
  const double a = 0.1, k2 = (0.2 * 0.2 + 0.1 * 0.1) / 12, factor = 9.81 * a / (a * a + k2);
  double th = 0, w = 0;
  const double dt = 1e-5;
  for (int i = 0; i < 30000; ++i) {  // leapfrog
    w -= 0.5 * dt * factor * std::cos(th);
    th += dt * w;
    w -= 0.5 * dt * factor * std::cos(th);
  }
  // a node of the hinged face rotates rigidly with the face: its position before and after
  const AttachedPoint hinge = c.model().joints[0].point;
  const Vec3 center = c.model().place(hinge, c.state().q);
  const Vec3 before = start - c.model().place(hinge, c.model().state_at_start.q),
             now = c.position("block.node.0") - center;
  const double turned = std::atan2(before.cross(now).z(), before.head<2>().dot(now.head<2>()));
  CHECK(turned == doctest::Approx(th).epsilon(0.01));
}

TEST_CASE("joint of a set: a block fixed by a face and driven along a rail follows its driver") {
  Case c = Case::from_text(block(
      R"_({"name": "rail", "type": "prismatic", "of": ["ground", "block.left"], "axis": [1, 0, 0],
          "driver": {"displacement": "0.01*(1 - cos(20*t))"}})_"));
  const Vec3 start = c.position("block.node.0");
  double worst = 0;
  const RunStatus status = c.run([&](const StepView&) {
    worst =
        std::max(worst, (c.position("block.node.0") - start - Vec3(0.01 * (1 - std::cos(20 * c.t())), 0, 0)).norm());
  });
  CHECK(status == RunStatus::completed);
  CHECK(worst < 1e-10);
}

TEST_CASE("joint of a set: joints of the same face act on one frame") {
  const std::string fixed = R"({"name": "a", "type": "fixed", "of": ["ground", "block.left"]})";
  const auto run_of = [](const std::string& joints, std::size_t rows) {
    Case c = Case::from_text(block(joints));
    CHECK(c.system().bilateral() == static_cast<int>(rows));
    CHECK(c.run() == RunStatus::completed);
    return c.position("block.node.7");
  };
  const Vec3 once = run_of(fixed, 12 + 6);
  const Vec3 twice = run_of(fixed + R"(, {"name": "b", "type": "fixed", "of": ["block.left", "ground"]})", 12 + 6 + 6);
  CHECK((once - twice).norm() < 1e-9);
}

}  // namespace
