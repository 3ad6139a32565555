// What a frame of the series shows: sections of beams along the helix, joints and stops, and the names of its blocks.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/index.hpp"
#include "io/results/vtu_output.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using test::ModelRun;

namespace {

struct Picture {
  explicit Picture(ModelRun& model_run) : run(model_run), output(*model_run.model, "unused", "unused") {}

  const VtuPiece& at_state(const State& state) {
    return output.fill({run.system(), *run.integrator, state, report, run.h(), true});
  }
  /// The places of the points of a block.
  std::vector<Vec3> points(const State& state, const std::string& block) {
    const VtuPiece& piece = at_state(state);
    const auto number = std::ranges::find(piece.blocks, block) - piece.blocks.begin();
    const auto& blocks = std::ranges::find(piece.cell_fields, std::string("block"), &VtuPiece::Field::name)->values;
    std::vector<int> used;
    for (std::size_t cell = 0; cell < piece.cell_count(); ++cell)
      if (blocks[cell] == static_cast<double>(number))
        for (int i = cell == 0 ? 0 : piece.offsets[cell - 1]; i < piece.offsets[cell]; ++i)
          used.push_back(piece.connectivity[at(i)]);
    std::ranges::sort(used);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    std::vector<Vec3> places;
    for (const int p : used) places.emplace_back(piece.points.data() + 3 * at(p));
    return places;
  }

  ModelRun& run;
  VtuOutput output;
  StepReport report;
};

std::string model(const std::string& parts) {
  return R"json({"format": 1, )json" + parts +
         R"json(, "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})json";
}

const std::string arc = R"json(
  "materials": [{"name": "steel", "type": "linear_elastic", "young": 2e11, "poisson": 0.3, "density": 7800}],
  "sections": [{"name": "wire", "type": "circle", "radius": 0.01}],
  "bodies": [{"name": "bow", "type": "beam", "material": "steel", "section": "wire", "elements": 2,
    "shape": {"type": "arc", "from": [1, 0, 0], "center": [0, 0, 0], "axis": [0, 0, 1], "angle": 1.5707963267948966}}])json";

}  // namespace

TEST_CASE("pictures: sections between the nodes of a beam lie on its helix") {
  ModelRun run = ModelRun::of_text(model(arc));
  Picture picture(run);
  const std::vector<Vec3> points = picture.points(run.state(), "bodies/bow");
  REQUIRE(points.size() > 24 * 3);  // more sections than nodes
  // a quarter of a torus of radii 1 and 0.01
  for (const Vec3& x : points)
    CHECK(std::hypot(std::hypot(x[0], x[1]) - 1, x[2]) == doctest::Approx(0.01).epsilon(1e-9));
}

TEST_CASE("pictures: velocities of sections between nodes are the rates of their places") {
  ModelRun run = ModelRun::of_text(model(arc));
  Picture picture(run);
  State state = run.state();
  for (std::size_t i = 0; i < state.v.size(); ++i) state.v[i] = std::sin(1.7 * static_cast<double>(i) + 0.3);
  const VtuPiece piece = picture.at_state(state);
  const double h = 1e-5;
  State before = state, after = state;
  Vector step(state.v.size());
  for (const double sign : {-1.0, 1.0}) {
    for (std::size_t i = 0; i < step.size(); ++i) step[i] = sign * h * state.v[i];
    run.system().retract(state.q, step, (sign < 0 ? before : after).q);
  }
  const std::vector<double> x_0 = picture.at_state(before).points, x_1 = picture.at_state(after).points;
  const auto& v = std::ranges::find(piece.point_fields, std::string("velocity"), &VtuPiece::Field::name)->values;
  REQUIRE(v.size() == x_0.size());
  double worst = 0;
  for (std::size_t i = 0; i < v.size(); ++i) worst = std::max(worst, std::abs((x_1[i] - x_0[i]) / (2 * h) - v[i]));
  CHECK(worst < 1e-7);
}

TEST_CASE("pictures: a body and the block of its stop are apart by the gap") {
  ModelRun run = ModelRun::of_text(model(R"json(
    "bodies": [{"name": "slider", "type": "rigid", "mass": 1, "shape": {"type": "box", "size": [0.2, 0.1, 0.1]},
                "position": [0.3, 0, 0]}],
    "joints": [{"name": "guide", "type": "prismatic", "of": ["ground", "slider"], "axis": [1, 0, 0],
                "stops": {"lower": -0.5, "upper": 0.25}}])json"));
  Picture picture(run);
  const auto extent = [&](const std::string& block, double sign) {
    double most = -HUGE_VAL;
    for (const Vec3& x : picture.points(run.state(), block)) most = std::max(most, sign * x[0]);
    return sign * most;
  };
  CHECK(extent("bodies/slider", 1) == doctest::Approx(0.4));
  CHECK(extent("stops/guide.upper", -1) == doctest::Approx(0.65));
  CHECK(extent("stops/guide.lower", 1) == doctest::Approx(-0.3));
  // the stop does not move with the body
  run.state().q[0] += 0.2;
  CHECK(extent("bodies/slider", 1) == doctest::Approx(0.6));
  CHECK(extent("stops/guide.upper", -1) == doctest::Approx(0.65));
}

TEST_CASE("pictures: an arm touches the block of its stop when the gap is zero") {
  ModelRun run = ModelRun::of_text(model(R"json(
    "bodies": [{"name": "arm", "type": "rigid", "mass": 1, "shape": {"type": "box", "size": [1, 0.1, 0.1]},
                "position": [0.5, 0, 0], "points": [{"name": "pin", "at": [-0.5, 0, 0]}]}],
    "joints": [{"name": "hinge", "type": "revolute", "of": ["ground", "arm.pin"], "axis": [0, 0, 1],
                "stops": {"upper": 0.5}}])json"));
  Picture picture(run);
  const Vec3 side(-std::sin(0.5), std::cos(0.5), 0), along(std::cos(0.5), std::sin(0.5), 0);
  const auto check = [&] {
    const std::vector<Vec3> stop = picture.points(run.state(), "stops/hinge.upper");
    REQUIRE(stop.size() == 8);
    double least = HUGE_VAL;
    for (const Vec3& x : stop) {
      least = std::min(least, side.dot(x));
      CHECK(along.dot(x) > 0);
    }
    CHECK(least == doctest::Approx(0.05));  // half of the arm's thickness, beside the arm at its limit
  };
  check();
  // turned by 0.3: the block stays
  State& s = run.state();
  const double turned[7] = {0.5 * std::cos(0.3), 0.5 * std::sin(0.3), 0, std::cos(0.15), 0, 0, std::sin(0.15)};
  std::copy(std::begin(turned), std::end(turned), s.q.begin());
  check();
}

TEST_CASE("pictures: every part has a block with its name") {
  ModelRun run = ModelRun::of_file("slider_crank");
  Picture picture(run);
  const VtuPiece& piece = picture.at_state(run.state());
  for (const BodyInfo& body : run.model->bodies) CHECK(std::ranges::count(piece.blocks, "bodies/" + body.name) == 1);
  for (const JointInfo& joint : run.model->joints) {
    CHECK(std::ranges::count(piece.blocks, "joints/" + joint.name) == 1);
    CHECK_FALSE(picture.points(run.state(), "joints/" + joint.name).empty());
  }
  for (const RowGroup& stop : run.model->stops) CHECK(std::ranges::count(piece.blocks, "stops/" + stop.name) == 1);
}
