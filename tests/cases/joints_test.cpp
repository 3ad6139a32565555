// Joints of the model file: constraints and free motions, drivers, springs, stops, and probes.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <Eigen/Geometry>
#include <cmath>
#include <functional>

#include "case_runner.hpp"
#include "core/mechanics/row_rank.hpp"
#include "elements/joints/joint_coordinate.hpp"
#include "integrators/common/energy_ledger.hpp"
#include "io/results/probes.hpp"
#include "tests/contract/differences.hpp"
#include "tests/support/model_run.hpp"

namespace {

using namespace carom;
using namespace carom::cases;
using carom::test::Random;

std::string vector_text(const Vec3& v) { return fmt::format("[{:.17g}, {:.17g}, {:.17g}]", v[0], v[1], v[2]); }

// ---- constraints and free motions

// A motion of B relative to A that the joint permits, in inertial axes at the start: x -> p + Q (x - p) + c.
struct Relative {
  Mat3 Q = Mat3::Identity();
  Vec3 c = Vec3::Zero();
};

struct JointCase {
  std::string type, keys;
  int rows;
  std::function<Relative(double, double, double)> free;  // with three parameters
  Vec3 apart = Vec3::Zero();                             // from A's point to B's
};

const Vec3 axis = Vec3(1, -2, 2).normalized(), second = Vec3(2, 2, 1).normalized(), third = axis.cross(second);

Mat3 turn(const Vec3& about, double angle) { return so3::exp(Vec3(angle * about)); }

std::vector<JointCase> joint_cases() {
  const std::string along = "\"axis\": [1, -2, 2]";
  const Vec3 span(0.4, 0.3, -0.2);
  return {
      {"fixed", "", 6, [](double, double, double) { return Relative(); }},
      {"revolute", along, 5, [](double a, double, double) { return Relative{turn(axis, a)}; }},
      {"spherical", "", 3, [](double a, double b, double c) { return Relative{so3::exp(Vec3(a, b, c))}; }},
      {"prismatic", along, 5,
       [](double a, double, double) {
         return Relative{Mat3::Identity(), a * axis};
       }},
      {"cylindrical", along, 4,
       [](double a, double b, double) {
         return Relative{turn(axis, a), b * axis};
       }},
      {"universal", along + ", \"second_axis\": [2, 2, 1]", 4,
       [](double a, double b, double) { return Relative{turn(axis, a) * turn(second, b)}; }},
      {"planar", "\"normal\": [1, -2, 2]", 3,
       [](double a, double b, double c) {
         return Relative{turn(axis, a), b * second + c * third};
       }},
      {"rigid_link", "", 6, [](double, double, double) { return Relative(); }, span},
      {"distance", "", 1,
       [span](double a, double b, double c) {
         // B's point moves around A's point, and B rotates about its own point
         const Vec3 w(a, b, c);
         return Relative{so3::exp(Vec3(2 * w)), so3::exp(w) * span - span};
       },
       span},
  };
}

// Two bodies at random positions, or the ground and a body, with a joint between two of their points.
struct Joined {
  Joined(const JointCase& joint, bool to_ground, unsigned seed) : random(seed) {
    const Vec3 arm_a(0.2, -0.1, 0.3), arm_b(-0.3, 0.2, 0.1);
    x_a = to_ground ? Vec3::Zero() : random.vector();
    q_a = to_ground ? Quaternion(1, 0, 0, 0) : random.rotation();
    q_b = random.rotation();
    p = x_a + so3::quaternion_to_matrix(q_a) * arm_a + joint.apart;
    x_b = p - so3::quaternion_to_matrix(q_b) * arm_b;
    const auto body = [](const std::string& name, const Vec3& x, const Quaternion& q, const Vec3& arm) {
      return fmt::format(
          R"({{"name": "{}", "type": "rigid", "mass": 2, "inertia": [1, 2, 2.5], "position": {}, "orientation":
             {{"quaternion": [{:.17g}, {:.17g}, {:.17g}, {:.17g}]}}, "points": [{{"name": "p", "at": {}}}]}})",
          name, vector_text(x), q[0], q[1], q[2], q[3], vector_text(arm));
    };
    const std::string bodies = (to_ground ? "" : body("a", x_a, q_a, arm_a) + ", ") + body("b", x_b, q_b, arm_b);
    const std::string text = fmt::format(
        R"({{"format": 1, "bodies": [{}], "ground": [{{"name": "p", "at": {}}}],
            "joints": [{{"name": "joint", "type": "{}", "of": ["{}.p", "b.p"]{}{}}}],
            "integrator": {{"type": "nsga_decoupled", "step": 1e-3, "duration": 1}}}})",
        bodies, vector_text(x_a + arm_a), joint.type, to_ground ? "ground" : "a", joint.keys.empty() ? "" : ", ",
        joint.keys);
    model = std::make_unique<Case>(Case::from_text(text));
    ground = to_ground;
  }

  // The configuration after a relative motion and, for two bodies, a common motion by Q_0 and c_0.
  Vector configuration(const Relative& r, const Mat3& Q_0 = Mat3::Identity(), const Vec3& c_0 = Vec3::Zero()) const {
    Vector q;
    const auto append = [&](const Vec3& x, const Mat3& R) {
      const Quaternion p_R = so3::matrix_to_quaternion(R);
      q.insert(q.end(), {x[0], x[1], x[2], p_R[0], p_R[1], p_R[2], p_R[3]});
    };
    if (!ground) append(Q_0 * x_a + c_0, Q_0 * so3::quaternion_to_matrix(q_a));
    append(Q_0 * (p + r.Q * (x_b - p) + r.c) + c_0, Q_0 * r.Q * so3::quaternion_to_matrix(q_b));
    return q;
  }

  Random random;
  Vec3 x_a, x_b, p;
  Quaternion q_a, q_b;
  bool ground;
  std::unique_ptr<Case> model;
};

double largest_gap(const System& system, const Vector& q) {
  Vector g(static_cast<std::size_t>(system.rows()));
  system.gaps(q, 0, all_rows, g);
  return test::largest(g);
}

TEST_CASE("joints: each has its number of rows, independent where the bodies start") {
  for (const JointCase& joint : joint_cases())
    for (const bool to_ground : {true, false}) {
      CAPTURE(joint.type);
      CAPTURE(to_ground);
      Joined two(joint, to_ground, 3);
      const std::vector<int>& rows = two.model->rows("joint");
      CHECK(static_cast<int>(rows.size()) == joint.rows);
      CHECK(two.model->system().bilateral() == joint.rows);
      CHECK(row_rank(two.model->system(), two.model->state().q, 0, rows).rank == joint.rows);
      CHECK(largest_gap(two.model->system(), two.model->state().q) < 1e-14);
    }
}

TEST_CASE("joints: free motions keep every row, by any amount and however both bodies move together") {
  for (const JointCase& joint : joint_cases())
    for (unsigned seed = 1; seed <= 5; ++seed) {
      CAPTURE(joint.type);
      Joined two(joint, seed % 2 == 0, seed);
      Random& random = two.random;
      const double a = random.between(-3, 3), b = random.between(-3, 3), c = random.between(-3, 3);
      const Relative r = joint.free(a, b, c);
      CHECK(largest_gap(two.model->system(), two.configuration(r)) < 3e-14);
      if (two.ground) continue;
      const Mat3 Q = random.rotation_matrix();
      CHECK(largest_gap(two.model->system(), two.configuration(r, Q, random.vector())) < 3e-14);
    }
}

TEST_CASE("joints: reactions do no work on free motions, and motions that are not free change a row") {
  for (const JointCase& joint : joint_cases()) {
    CAPTURE(joint.type);
    Joined two(joint, true, 9);
    const System& system = two.model->system();
    Random& random = two.random;
    const double a = random.between(-1, 1), b = random.between(-1, 1), c = random.between(-1, 1);
    const Vector q = two.configuration(joint.free(a, b, c));
    // G at the moved state, one row per constraint
    test::Matrix G = test::Matrix::Zero(joint.rows, 6);
    SparseRow row;
    for (int i = 0; i < joint.rows; ++i) {
      system.row_gradient(i, q, 0, nullptr, row);
      for (std::size_t k = 0; k < row.equation.size(); ++k) G(i, row.equation[k]) = row.value[k];
    }
    // velocities of the free motions by differences: one column per free direction
    test::Matrix V = test::Matrix::Zero(6, 3);
    for (int k = 0; k < 3; ++k) {
      const auto at = [&](double e) {
        return two.configuration(joint.free(a + (k == 0 ? e : 0), b + (k == 1 ? e : 0), c + (k == 2 ? e : 0)));
      };
      const Vector rate = test::derivative([&](double e) {
        const Vector moved = at(e);
        const Mat3 R = so3::quaternion_to_matrix(Quaternion(q.data() + 3)),
                   R_e = so3::quaternion_to_matrix(Quaternion(moved.data() + 3));
        const Vec3 w = so3::log(Mat3(R.transpose() * R_e));
        return Vector{moved[0], moved[1], moved[2], w[0], w[1], w[2]};
      });
      for (int i = 0; i < 6; ++i) V(i, k) = rate[static_cast<std::size_t>(i)];
    }
    CHECK(test::largest(test::Matrix(G * V)) < 1e-9);
    CHECK(Eigen::FullPivLU<test::Matrix>(G).rank() == joint.rows);
    if (joint.type != "distance") {
      Eigen::FullPivLU<test::Matrix> free(V);
      free.setThreshold(1e-6);
      CHECK(free.rank() == 6 - joint.rows);
    }
  }
}

// ---- drivers, springs and stops along free coordinates

// A rotor on the ground: moment of inertia 2 about its axis, centre of mass on the axis; or a block of mass 2 on rails.
std::string rotor(const std::string& keys, const std::string& more = "") {
  return R"({"format": 1, "bodies": [{"name": "rotor", "type": "rigid", "mass": 3, "inertia": [1, 1.5, 2],
             "angular_velocity": [0, 0, 1.5]}],
             "joints": [{"name": "hinge", "type": "revolute", "of": ["ground", "rotor"], "axis": [0, 0, 1])" +
         (keys.empty() ? "" : ", " + keys) + R"(}],
             "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 10})" +
         (more.empty() ? "" : ", " + more) + "}";
}
std::string slider(const std::string& keys) {
  return R"({"format": 1, "bodies": [{"name": "block", "type": "rigid", "mass": 2, "inertia": [1, 1.5, 2],
             "velocity": [2, 1, -2]}],
             "joints": [{"name": "rail", "type": "prismatic", "of": ["ground", "block"], "axis": [2, 1, -2])" +
         (keys.empty() ? "" : ", " + keys) + R"(}],
             "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 10}})";
}

double probe(Case& c, const std::string& of, const std::string& quantity) {
  const auto find = [&](const JointInfo& j) { return j.name == of; };
  const auto joint = std::find_if(c.model().joints.begin(), c.model().joints.end(), find);
  REQUIRE(joint != c.model().joints.end());
  const auto& coordinate = quantity == "angle" ? joint->angle : joint->displacement;
  REQUIRE(coordinate);
  const System& system = c.system();
  const auto node = [&](int n) { return n < 0 ? nullptr : c.state().q.data() + system.dofs().configuration_offset(n); };
  CoordinateState s;
  evaluate_coordinate(*coordinate, node(coordinate->node_a), NodeKind::frame, node(coordinate->node_b), NodeKind::frame,
                      CoordinateOrder::value, s);
  return s.value;
}

TEST_CASE("joints: a stop reverses the rate by its restitution, also beyond half a turn") {
  for (const double upper : {0.5, 4.0, 6.0})
    for (const double e : {0.0, 0.6, 1.0}) {
      Case c = Case::from_text(rotor(fmt::format(R"("stops": {{"upper": {}, "restitution": {}}})", upper, e)));
      double largest = 0;
      long impacts = 0;
      const RunStatus status = c.run_for(upper / 1.5 + 0.1, [&](const StepView& v) {
        largest = std::max(largest, probe(c, "hinge", "angle"));
        impacts += v.report.impacts;
      });
      CHECK(status == RunStatus::completed);
      CHECK(impacts == 1);
      CHECK(c.angular_velocity("rotor").z() == doctest::Approx(-e * 1.5).epsilon(1e-12));
      CHECK(largest < upper + 1e-11);
      CHECK(largest > upper - 2e-3);
    }
}

TEST_CASE("joints: a block between two stops goes to and fro, and loses (1 - e^2) of its energy each time") {
  // between -0.5 and 1 at speed 3, e = 0.5: impacts after 1/3, 1/3 + 1.5/1.5, ... seconds
  Case c = Case::from_text(slider(R"("stops": {"lower": -0.5, "upper": 1, "restitution": 0.5})"));
  double low = 0, high = 0;
  c.run_for(3.4, [&](const StepView&) {
    low = std::min(low, probe(c, "rail", "displacement"));
    high = std::max(high, probe(c, "rail", "displacement"));
  });
  CHECK(low > -0.5 - 1e-11);
  CHECK(low < -0.49);
  CHECK(high < 1 + 1e-11);
  CHECK(high > 0.99);
  // impacts at 1/3, 4/3, 10/3 s; speed 3/8 after the third
  CHECK(c.velocity("block").norm() == doctest::Approx(3.0 / 8).epsilon(1e-12));
}

TEST_CASE("joints: a torsion spring and a spring along an axis make oscillators of the right frequency") {
  // J = 2, k = 8: omega = 2; m = 2, k = 18: omega = 3
  Case turning = Case::from_text(rotor(R"("spring": {"stiffness": 8})"));
  turning.run_for(3);
  CHECK(probe(turning, "hinge", "angle") == doctest::Approx(0.75 * std::sin(6.0)).epsilon(1e-4));
  Case sliding = Case::from_text(slider(R"("spring": {"stiffness": 18})"));
  sliding.run_for(3);
  CHECK(probe(sliding, "rail", "displacement") == doctest::Approx(std::sin(9.0)).epsilon(1e-4));
  // with rest position and damping: u'' + 2 d u' + 4 u = 0 of u = angle - 1, u(0) = -1, u'(0) = 1.5, d = 0.25
  Case damped = Case::from_text(rotor(R"("spring": {"stiffness": 8, "damping": 1, "rest": 1})"));
  damped.run_for(3);
  const double d = 0.25, w = std::sqrt(4 - d * d);
  const double u = std::exp(-3 * d) * (-std::cos(3 * w) + (1.5 - d) / w * std::sin(3 * w));
  CHECK(probe(damped, "hinge", "angle") == doctest::Approx(1 + u).epsilon(1e-4));
}

TEST_CASE("joints: a driver prescribes an angle over many turns, exactly at every step") {
  Case c = Case::from_text(rotor(R"("driver": {"angle": "1.5*t + 2*t^2"})"));
  double worst = 0, worst_rate = 0, torque = 0;
  c.run_for(4, [&](const StepView&) {
    const double t = c.t();
    worst = std::max(worst, std::abs(std::remainder(probe(c, "hinge", "angle") - 1.5 * t - 2 * t * t, 4 * M_PI)));
    worst_rate = std::max(worst_rate, std::abs(c.angular_velocity("rotor").z() - 1.5 - 4 * t));
    if (t > 0.1) torque = std::max(torque, std::abs(c.force(c.rows("hinge").back()) - 8));
  });
  CHECK(worst < 1e-10);
  CHECK(worst_rate < 1e-9);
  CHECK(torque < 1e-8);  // J theta'' = 2 * 4
}

TEST_CASE("joints: the ledger of a driven joint closes, and its work is the gain of energy") {
  Case c = Case::from_text(rotor(R"_("driver": {"angle": "1.5*t + 0.3*(1 - cos(2*t))"})_"));
  EnergyLedger ledger;
  Simulation simulation(c.model().system, c.integrator(), c.model().state, c.model().simulation);
  simulation.add_observer(ledger);
  CHECK(simulation.run() == RunStatus::completed);
  const EnergyBalance& b = ledger.balance();
  CHECK(b.largest_closure < 1e-10 * b.scale);
  const double rate = 1.5 + 0.6 * std::sin(20.0);
  CHECK(b.drivers == doctest::Approx(rate * rate - 1.5 * 1.5).epsilon(1e-4));
}

TEST_CASE("joints: a driven length pulls a mass along, a distance keeps it on its circle") {
  const std::string text = R"({"format": 1, "gravity": [0, 0, -9.81], "bodies": [
      {"name": "bob", "type": "point_mass", "mass": 2, "position": [0, 0, -1], "velocity": [1, 0, 0]}],
      "ground": [{"name": "nail", "at": [0, 0, 0]}],
      "joints": [{"name": "rope", "type": "distance", "of": ["ground.nail", "bob"], "length": LENGTH}],
      "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 2}})";
  const auto with = [&](const std::string& length) {
    std::string s = text;
    return s.replace(s.find("LENGTH"), 6, length);
  };
  Case pendulum = Case::from_text(with("1"));
  const double energy = pendulum.energy();
  double worst = 0;
  pendulum.run([&](const StepView&) { worst = std::max(worst, std::abs(pendulum.position("bob").norm() - 1)); });
  CHECK(worst < 1e-11);
  CHECK(pendulum.energy() == doctest::Approx(energy).epsilon(1e-5));
  // the pendulum is shortened: without gravity the angular momentum about the nail is conserved
  Case pulled = Case::from_text(with("\"1 - 0.1*t^2\""), {"/gravity=[0,0,0]"});
  worst = 0;
  pulled.run([&](const StepView&) {
    worst = std::max(worst, std::abs(pulled.position("bob").norm() - 1 + 0.1 * pulled.t() * pulled.t()));
  });
  CHECK(worst < 1e-11);
  CHECK(pulled.momenta().angular.norm() == doctest::Approx(2).epsilon(1e-5));
}

TEST_CASE("joints: a rail carries a point mass too") {
  // a bead on an inclined wire: slides by g sin(alpha) t^2/2
  Case c = Case::from_text(R"({"format": 1, "gravity": [0, 0, -10],
      "bodies": [{"name": "bead", "type": "point_mass", "mass": 2}],
      "joints": [{"name": "wire", "type": "prismatic", "of": ["ground", "bead"], "axis": [4, 0, -3]}],
      "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})");
  CHECK(c.rows("wire").size() == 2);
  CHECK(c.system().linear());
  c.run();
  CHECK((c.position("bead") - 3 * Vec3(0.8, 0, -0.6)).norm() < 1e-10);
}

}  // namespace

// A state tells an angle within two turns only.
TEST_CASE("joints: a run ends where springs, stops and conditions lose an angle") {
  const auto run_of = [](const std::string& rate, const std::string& keys, const std::string& rest,
                         const std::string& method) {
    return test::ModelRun::of_text(R"x({"format": 1,
      "bodies": [{"name": "b", "type": "rigid", "mass": 1, "inertia": [0.2, 0.2, 0.2], "angular_velocity": [0, 0, )x" +
                                   rate + R"x(]}, {"name": "c", "type": "rigid", "mass": 1, "inertia": [0.2, 0.2, 0.2],
                  "position": [3, 0, 0]}],
      "ground": [{"name": "h", "at": [3, 0, 0]}],
      "joints": [{"name": "j", "type": "revolute", "of": ["ground", "b"], "axis": [0, 0, 1])x" +
                                   keys + R"x(}, {"name": "k", "type": "revolute", "of": ["ground.h", "c"],
                  "axis": [0, 0, 1]}])x" +
                                   rest + R"x(, "integrator": {"type": ")x" + method +
                                   R"x(", "step": 1e-3, "duration": 1}})x");
  };
  const auto check = [&](test::ModelRun run, double t) {
    CHECK(run.run() == RunStatus::failed);
    CHECK(text_of(run.report.reason) == std::string(text_of(FailureReason::lost_angle)));
    CHECK(run.report.failed_item == "j");
    CHECK(run.state().t == doctest::Approx(t).epsilon(2e-3));
  };
  const double turn = 2 * M_PI;
  for (const char* method : {"nsga_decoupled", "moreau_jean", "event_driven"}) {
    CAPTURE(method);
    check(run_of("-20", R"(, "stops": {"upper": 1, "restitution": 0.5})", "", method), turn / 20);
    // s = s_0 + 30/w sin(w t), w^2 = 15
    check(run_of("30", R"(, "spring": {"stiffness": 3})", "", method),
          std::asin(turn * std::sqrt(15) / 30) / std::sqrt(15));
  }
  const std::string switching = R"x(, "switching": [{"name": "s", "type": "joints",
      "measures": [{"type": "joint_angle", "name": "phi", "joint": "j"}, {"type": "joint_angle", "name": "psi", "joint": "k"}],
      "modes": [{"name": "A", "condition": "7-phi", "constraints": ["psi"]},
                {"name": "B", "condition": "phi-7", "constraints": ["psi-(phi-7)"]}]}])x";
  check(run_of("10", "", switching, "nsga_decoupled"), turn / 10);
  // dampers and drivers need no angle
  CHECK(run_of("20", R"(, "spring": {"stiffness": 0, "damping": 1e-3})", "", "nsga_decoupled").run() ==
        RunStatus::completed);
}

// q and -q are one rotation: angles are those of the shorter way, however the orientations are written.
TEST_CASE("joints: the angle of a joint with relative_orientation is that of the shorter way at the start") {
  struct Turn {
    double a, b, relative, angle;  // degrees
  };
  for (const Turn& c : {Turn{170, -170, 0, 20},
                        {-170, 170, 0, -20},
                        {20, 40, 0, 20},
                        {0, 20, 350, 30},
                        {0, 20, -10, 30},
                        {350, 20, 0, 30},
                        {90, -90, 170, 10}}) {
    CAPTURE(c.a);
    CAPTURE(c.b);
    CAPTURE(c.relative);
    const double degree = M_PI / 180;
    for (const double sign : {1.0, -1.0}) {
      Case run = Case::from_text(fmt::format(
          R"x({{"format": 1, "bodies": [
          {{"name": "a", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "fixed": ["translation", "rotation"],
            "orientation": {{"axis": [0, 0, 1], "angle": {}}}}},
          {{"name": "b", "type": "rigid", "mass": 1, "inertia": [1, 1, 1],
            "orientation": {{"quaternion": [{}, 0, 0, {}]}}}}],
          "joints": [{{"name": "j", "type": "revolute", "of": ["a", "b"], "axis": [0, 0, 1],
                       "relative_orientation": {{"axis": [0, 0, 1], "angle": {}}},
                       "spring": {{"stiffness": 1, "rest": 0}}}}],
          "integrator": {{"type": "nsga_decoupled", "step": 1e-3, "duration": 0.5}}}})x",
          c.a * degree, sign * std::cos(0.5 * c.b * degree), sign * std::sin(0.5 * c.b * degree), c.relative * degree));
      const double angle = c.angle * degree;
      CHECK(run.energies().elastic == doctest::Approx(0.5 * angle * angle));
      REQUIRE(run.run() == RunStatus::completed);
      CHECK(run.angular_velocity("b").z() == doctest::Approx(-angle * std::sin(0.5)).epsilon(1e-5));
    }
  }
}

// The second point keeps its place in the axes of the first, which may be turned at the start.
TEST_CASE("joints: a rigid link with relative_orientation holds the second point where it is at the start") {
  for (const char* const more : {"", R"(, "relative_orientation": {"axis": [0, 0, 1], "angle": 0})"}) {
    CAPTURE(more);
    Case run = Case::from_text(fmt::format(
        R"x({{"format": 1, "bodies": [
        {{"name": "a", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "fixed": ["translation", "rotation"],
          "orientation": {{"axis": [0, 0, 1], "angle": 1.3}}}},
        {{"name": "b", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "position": [1, 0.5, 0],
          "orientation": {{"axis": [0, 0, 1], "angle": 1.3}}}}],
        "joints": [{{"name": "j", "type": "rigid_link", "of": ["a", "b"]{}}}],
        "integrator": {{"type": "nsga_decoupled", "step": 1e-2, "duration": 0.1}}}})x",
        more));
    REQUIRE(run.run() == RunStatus::completed);
    CHECK((run.position("b") - Vec3(1, 0.5, 0)).norm() < 1e-12);
  }
}

TEST_CASE(
    "joints: a rigid link from the ground turns the second body about its point, which stays, until the body fits") {
  Case run = Case::from_text(R"x({"format": 1, "bodies": [
    {"name": "b", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "position": [0.8, 0.1, 0.2],
     "orientation": {"axis": [1, 2, 3], "angle": 0.4}, "points": [{"name": "q", "at": [-0.1, 0, 0.05]}]}],
    "ground": [{"name": "o", "at": [0, 0, 0]}], "initial_state": {"project": "positions"},
    "joints": [{"name": "j", "type": "rigid_link", "of": ["ground.o", "b.q"],
                "relative_orientation": {"axis": [0, 0, 1], "angle": 1}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 0.1}})x");
  const Mat3 start = Eigen::AngleAxisd(0.4, Vec3(1, 2, 3).normalized()).toRotationMatrix(),
             fit = Eigen::AngleAxisd(1, Vec3::UnitZ()).toRotationMatrix();
  const Vec3 arm(-0.1, 0, 0.05), q = Vec3(0.8, 0.1, 0.2) + start * arm;
  REQUIRE(run.run() == RunStatus::completed);
  CHECK((run.position("b.q") - q).norm() < 1e-9);
  CHECK((run.position("b") - (q - fit * arm)).norm() < 1e-9);
}
