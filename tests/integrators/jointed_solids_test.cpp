// Solids in joints: conjugate gradients with the constraint preconditioner against factors, on matrices of models.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "core/base/vector_ops.hpp"
#include "core/mechanics/saddle_point.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;
using nlohmann::json;

namespace {

json solid(const char* name, double x, double z) {
  return {{"name", name},
          {"type", "solid"},
          {"material", "m"},
          {"law", "neo_hookean"},
          {"mesh", {{"type", "box"}, {"size", {0.1, 0.1, 0.1}}, {"divisions", {4, 4, 5}}}},
          {"position", {x, 0, z}}};
}

json rigid(const char* name, double x, double z) {
  return {{"name", name},
          {"type", "rigid"},
          {"mass", 1},
          {"inertia", {0.01, 0.01, 0.01}},
          {"position", {x, 0, z}},
          {"points",
           {{{"name", "l"}, {"at", {-0.05, 0, 0}}},
            {{"name", "r"}, {"at", {0.05, 0, 0}}},
            {{"name", "t"}, {"at", {0, 0, 0.05}}}}}};
}

json joint(const char* name, const char* type, const char* a, const char* b) {
  json j = {{"name", name}, {"type", type}, {"of", {a, b}}};
  if (j["type"] == "revolute") j["axis"] = {0, 1, 0};
  return j;
}

struct Jointed {
  std::string name;
  json bodies, joints, springs, contacts;
  bool redundant = false;  // bilateral rows
  bool redundant_contacts = false;

  std::string text() const {
    json model = {{"format", 1},
                  {"bodies", bodies},
                  {"gravity", {0, 0, -9.81}},
                  {"ground", {{{"name", "g"}, {"at", {0, 0, 0}}}}},
                  {"materials",
                   {{{"name", "m"}, {"type", "linear_elastic"}, {"young", 5e7}, {"poisson", 0.3}, {"density", 1200}}}},
                  {"integrator", {{"type", "nsga_decoupled"}, {"step", 1e-3}, {"duration", 1}}}};
    if (!joints.empty()) model["joints"] = joints;
    if (!springs.empty()) model["springs"] = springs;
    if (!contacts.empty()) model["contacts"] = contacts;
    return model.dump();
  }
};

std::vector<Jointed> jointed_models() {
  const json floor = {{"type", "plane"}, {"normal", {0, 0, 1}}};
  const json spring = {
      {{"name", "s"}, {"of", {"a.node.70", "r"}}, {"stiffness", 1000}, {"damping", 2}, {"natural_length", 0.1}}};
  json driven = joint("j", "revolute", "ground.g", "a.left");
  driven["driver"] = {{"angle", "0.5*(1-cos(20*t))"}};
  // bodies before, between and behind solids: their equations lie anywhere among those of the nodes
  return {
      {"hinge and spring",
       {solid("a", 0.05, 0), rigid("r", 0.1, -0.2)},
       {joint("j", "revolute", "ground.g", "a.left")},
       spring,
       {}},
      {"body first", {rigid("r", 0, 0), solid("a", 0.1, 0)}, {joint("j", "fixed", "r.r", "a.left")}, {}, {}},
      {"body between",
       {solid("a", -0.1, 0), rigid("r", 0, 0), solid("b", 0.1, 0)},
       {joint("j", "revolute", "a.right", "r.l"), joint("k", "fixed", "r.r", "b.left")},
       {},
       {}},
      {"driven", {solid("a", 0.05, 0)}, {driven}, {}, {}},
      {"face to face",
       {solid("a", 0.05, 0), solid("b", 0.15, 0)},
       {joint("j", "fixed", "ground.g", "a.left"), joint("k", "fixed", "a.right", "b.left")},
       {},
       {}},
      {"a node", {solid("a", 0.05, 0)}, {joint("j", "spherical", "ground.g", "a.node.60")}, {}, {}},
      {"contacts",
       {rigid("r", 0, 0.05), solid("a", 0.1, 0.05)},
       {joint("j", "fixed", "r.r", "a.left")},
       {},
       {{{"name", "floor"}, {"on", {"a.bottom", "r.l", "a.left"}}, {"obstacle", floor}}},
       false,
       true},
      {"redundant",
       {solid("a", 0, 0), rigid("r", 0, 0)},
       {joint("j", "fixed", "r.l", "a.left"), joint("k", "fixed", "r.r", "a.right"),
        joint("l", "fixed", "r.t", "a.top")},
       {},
       {},
       true},
  };
}

}  // namespace

TEST_CASE("jointed solids: conjugate gradients give the step that factors give") {
  for (const Jointed& model : jointed_models()) {
    CAPTURE(model.name);
    ModelRun run = ModelRun::of_text(model.text());
    const System& system = run.system();
    const std::size_t n = at(system.size()), n_b = at(system.bilateral());
    std::mt19937_64 engine(5);
    const auto random_vector = [&](std::size_t size) {
      Vector x(size);
      for (double& xi : x) xi = static_cast<double>(engine() >> 11) * 0x1p-52 - 1;
      return x;
    };
    const Vector &q = run.state().q, v(n, 0.0), r = random_vector(n);
    // rows that fit each other have a solution, redundant or not: c = -G x of some x
    const Vector x = random_vector(n);
    const auto rows_times = [&](const Vector& u) {
      Vector Gu(at(system.rows())), driven(Gu.size());
      system.rates(q, u, 0, all_rows, Gu);
      system.rates(q, v, 0, all_rows, driven);
      axpy(-1.0, driven, Gu);
      return Gu;
    };
    Vector c = rows_times(x);
    std::vector<int> active;
    for (int i = 0; i < system.conditional(); i += 2) active.push_back(system.bilateral() + i);
    Vector c_A;
    for (const int row : active) c_A.push_back(c[at(row)]);
    c.resize(n_b);

    Linearisation request;
    request.c_M = 1;
    request.c_K = 2.5e-7;
    request.q_M = request.q = q.data();
    request.v = v.data();
    request.row_scale = 0.01;
    Vector scratch;
    SaddlePoint cg, direct;
    cg.analyse(system, {false, false, true}, &scratch, 0.1, true);
    direct.analyse(system, {false, false}, nullptr, 0.1, true);
    Vector dx[2] = {Vector(n), Vector(n)}, dl_b[2] = {Vector(n_b), Vector(n_b)},
           dl_A[2] = {Vector(active.size()), Vector(active.size())};
    for (int k = 0; k < 2; ++k) {
      SaddlePoint& saddle = k == 0 ? direct : cg;
      REQUIRE(saddle.factorise(request));
      saddle.set_active(active, q, 0, nullptr);
      REQUIRE(saddle.solve(r, c, c_A, dx[k], dl_b[k], dl_A[k], {1e-12, 0}));
      CHECK(saddle.iterative() == (k == 1));
      // conjugate gradients do not tell which rows beside the nodes are redundant
      CHECK(saddle.redundant() == (model.redundant || (k == 1 && model.redundant_contacts)));
    }
    CHECK(cg.counters().cg_iterations > 5);
    CHECK(cg.counters().fallbacks == 0);
    // the solids' matrix is single precision
    const auto compare = [](const Vector& a, const Vector& b) {
      const double size = max_abs(a);
      for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) <= 2e-5 * size);
    };
    compare(dx[0], dx[1]);
    if (!model.redundant && !model.redundant_contacts) {
      compare(dl_b[0], dl_b[1]);
      compare(dl_A[0], dl_A[1]);
    }
    // rows are exact in the preconditioner, but for the refinement of redundant ones
    const double tolerance = model.redundant || model.redundant_contacts ? 1e-8 : 1e-11;
    const Vector rates = rows_times(dx[1]);
    for (std::size_t i = 0; i < n_b; ++i) CHECK(std::abs(rates[i] + c[i]) < tolerance);
    for (std::size_t i = 0; i < active.size(); ++i) CHECK(std::abs(rates[at(active[i])] + c_A[i]) < tolerance);

    // blocks of nodes that are not positive: factors take over, of the matrix that both saddle points share
    request.c_K = -1;
    for (int k = 0; k < 2; ++k) {
      SaddlePoint& saddle = k == 0 ? direct : cg;
      REQUIRE(saddle.factorise(request));
      saddle.set_active(active, q, 0, nullptr);
      REQUIRE(saddle.solve(r, c, c_A, dx[k], dl_b[k], dl_A[k]));
      CHECK(!saddle.iterative());
    }
    CHECK(cg.counters().fallbacks > 0);
    for (std::size_t i = 0; i < n; ++i) CHECK(std::abs(dx[0][i] - dx[1][i]) <= 1e-6 * max_abs(dx[0]));

    // conjugate gradients go on after the direct solution, which may have met redundant rows; rows have columns
    request.c_K = 2.5e-7;
    std::vector<SparseRow> rows(active.size());
    for (std::size_t i = 0; i < active.size(); ++i) system.row_gradient(active[i], q, 0, nullptr, rows[i]);
    for (int k = 0; k < 2; ++k) {
      SaddlePoint& saddle = k == 0 ? direct : cg;
      REQUIRE(saddle.factorise(request));
      saddle.set_active(active, rows, rows, true);
      REQUIRE(saddle.solve(r, c, c_A, dx[k], dl_b[k], dl_A[k], {1e-12, 0}));
      CHECK(saddle.iterative() == (k == 1));
      CHECK(saddle.constraint_inconsistency() < 1e-6);
    }
    compare(dx[0], dx[1]);

    // an interruption is answered between the columns, which are found anew afterwards
    if (active.empty()) continue;
    volatile std::sig_atomic_t flag = 1;
    cg.stop_on(&flag);
    REQUIRE(cg.factorise(request));
    for (const bool stopped : {true, false}) {
      flag = stopped ? 1 : 0;
      cg.set_active(active, rows, rows, true);
      CHECK(cg.solve(r, c, c_A, dx[1], dl_b[1], dl_A[1], {1e-12, 0}) == !stopped);
    }
    compare(dx[0], dx[1]);
  }
}

TEST_CASE("jointed solids: a face that is joined twice moves as one that is joined once") {
  // to the ground, where nothing but redundant rows remains beside the nodes; to a body
  for (const bool ground : {true, false}) {
    std::vector<Vec3> ends;
    for (const int joints : {1, 2}) {
      Jointed model{"", {solid("a", 0.05, 0)}, {}, {}, {}};
      if (!ground) model.bodies.push_back(rigid("r", -0.05, 0));
      const char* const other = ground ? "ground.g" : "r.r";
      for (int j = 0; j < joints; ++j) model.joints.push_back(joint(j == 0 ? "j" : "k", "fixed", other, "a.left"));
      ModelRun run = ModelRun::of_text(model.text(), {"/integrator/duration=0.02"});
      CAPTURE(ground);
      CAPTURE(joints);
      REQUIRE(run.run() == RunStatus::completed);
      CHECK(run.statistics.subdivided_steps == 0);
      CHECK(run.integrator->linear_counters().cg_solves > 0);
      CHECK(run.integrator->linear_counters().fallbacks == 0);
      ends.push_back(run.position("a.node.149"));
    }
    CHECK((ends[0] - ends[1]).norm() < 1e-9);
    CHECK(ends[0].norm() > 0.05);
  }
}

// The plate hardly moves, so that the block swings as it does on the ground.
TEST_CASE("jointed solids: a light soft block hinged to a large steel plate swings as on the ground") {
  const auto tip = [](bool plate, double step) {
    json model = {
        {"format", 1},
        {"gravity", {0, 0, -9.81}},
        {"materials", {{{"name", "soft"}, {"type", "neo_hookean"}, {"young", 1e4}, {"poisson", 0.3}, {"density", 10}}}},
        {"bodies",
         {{{"name", "b"},
           {"type", "solid"},
           {"material", "soft"},
           {"mesh", {{"type", "box"}, {"size", {0.02, 0.004, 0.004}}, {"divisions", {8, 4, 4}}}},
           {"position", {0.01, 0, 0}}}}},
        {"joints",
         {{{"name", "j"},
           {"type", "revolute"},
           {"of", {plate ? "H.right" : "ground", "b.left"}},
           {"axis", {0, 1, 0}}}}},
        {"output", {{"vtu", {{"enabled", false}}}}},
        {"integrator", {{"type", "nsga_decoupled"}, {"step", step}, {"duration", 0.16}}}};
    if (plate) {
      model["materials"].push_back(
          {{"name", "steel"}, {"type", "linear_elastic"}, {"young", 2.1e11}, {"poisson", 0.3}, {"density", 7850}});
      model["bodies"].push_back({{"name", "H"},
                                 {"type", "solid"},
                                 {"material", "steel"},
                                 {"mesh", {{"type", "box"}, {"size", {1, 1, 0.2}}, {"divisions", {5, 5, 2}}}},
                                 {"position", {-0.5, 0, 0}},
                                 {"fixed", {{{"on", "left"}}}}});
    }
    ModelRun run = ModelRun::of_text(model.dump());
    REQUIRE(run.run() == RunStatus::completed);
    return run.position("b.node.224");
  };
  for (const double step : {1e-3, 2e-3}) {
    CAPTURE(step);
    CHECK((tip(true, step) - tip(false, step)).norm() < 5e-5);  // the sag of the plate
  }
}

// A joint that repeats rows of another: the reaction of the first hinge follows from the momentum alone.
TEST_CASE("jointed solids: a redundant joint on stiff steel does not disturb the reactions of others") {
  for (const char* method : {"generalized_alpha", "nsga_decoupled"}) {
    CAPTURE(std::string(method));
    const auto history = [&](bool twice) {
      json model = {{"format", 1},
                    {"gravity", {1, 2, -9.81}},
                    {"materials",
                     {{{"name", "s"}, {"type", "neo_hookean"}, {"young", 2e11}, {"poisson", 0.3}, {"density", 1000}}}},
                    {"bodies",
                     {{{"name", "b"},
                       {"type", "solid"},
                       {"material", "s"},
                       {"mesh", {{"type", "box"}, {"size", {0.4, 0.2, 0.2}}, {"divisions", {10, 2, 2}}}},
                       {"position", {0.2, 0, 0}}},
                      {{"name", "R"},
                       {"type", "rigid"},
                       {"mass", 3},
                       {"inertia", {0.02, 0.03, 0.04}},
                       {"position", {0.4, 0, 0}}}}},
                    {"joints",
                     {{{"name", "j1"}, {"type", "revolute"}, {"of", {"ground", "b.left"}}, {"axis", {0, 1, 0}}},
                      {{"name", "j2"}, {"type", "fixed"}, {"of", {"b.right", "R"}}}}},
                    {"output", {{"vtu", {{"enabled", false}}}}},
                    {"integrator", {{"type", method}, {"step", 1e-3}, {"duration", 0.02}}}};
      if (twice)
        model["joints"].push_back(
            {{"name", "j3"}, {"type", "revolute"}, {"of", {"R", "b.right"}}, {"axis", {0, 1, 0}}});
      ModelRun run = ModelRun::of_text(model.dump());
      const int first = run.joint("j1").rows.front();
      Vector forces;
      REQUIRE(run.run([&](const StepView& view) {
        for (int i = 0; i < 3; ++i) forces.push_back(view.state.lambda[at(first + i)]);
      }) == RunStatus::completed);
      CHECK(run.statistics.position_residual < 2e-11 * run.model->scales.length);
      return forces;
    };
    const Vector once = history(false), twice = history(true);
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < once.size(); ++i) {
      largest = std::max(largest, std::abs(once[i]));
      difference = std::max(difference, std::abs(twice[i] - once[i]));
    }
    CHECK(largest > 10);
    CHECK(difference < 1e-3 * largest);
  }
}
