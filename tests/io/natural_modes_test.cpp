// Natural frequencies of built models against closed forms.

#include "core/mechanics/natural_modes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/mechanics/sparse_modes.hpp"
#include "io/results/prepared_run.hpp"

using namespace carom;

namespace {

std::unique_ptr<Model> build(const std::string& keys) {
  const ModelDocument document = parse_model(
      R"({"format": 1, )" + keys + R"(, "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})",
      "test.json");
  ModelIssues issues = document.issues();
  auto model = build_model(document, {}, issues);
  REQUIRE_MESSAGE(issues.empty(), issues.report());
  return model;
}

NaturalModes modes_of(const std::string& keys, int count = 12) {
  const auto model = build(keys);
  return natural_modes(model->system, model->state.q, model->state.t, count, model->scales.length);
}

std::vector<double> omegas(const NaturalModes& modes) {
  INFO(modes.left_out);
  REQUIRE(modes.left_out.empty());
  std::vector<double> list;
  for (const auto& mode : modes.modes) {
    REQUIRE(mode.omega_squared > 0);
    list.push_back(std::sqrt(mode.omega_squared));
  }
  return list;
}

// A slender steel beam of length 1 with a rectangular section: it bends in two planes with different frequencies.
constexpr double young = 2e11, density = 8000, width = 0.004, height = 0.008;
std::string beam(int elements, const std::string& fixed, const std::string& more = "") {
  return R"("materials": [{"name": "m", "type": "linear_elastic", "young": 2e11, "poisson": 0.3, "density": 8000}],
    "sections": [{"name": "s", "type": "rectangle", "width": 0.004, "height": 0.008}],
    "bodies": [{"name": "b", "type": "beam", "material": "m", "section": "s", "from": [0, 0, 0], "to": [1, 0, 0],
                "elements": )" +
         std::to_string(elements) + fixed + "}]" + more;
}
// Euler and Bernoulli: (beta L)^2 sqrt(EI/(rho A)) with the radius of gyration thickness/sqrt(12)
double bending(double beta, double thickness) { return beta * beta * std::sqrt(young / density / 12) * thickness; }

}  // namespace

TEST_CASE("natural modes: a mass between springs, and a chain of masses, have the frequencies of the closed form") {
  // n masses between walls on n + 1 springs along x: 2 sqrt(k/m) sin(j pi/(2 (n + 1)))
  const int n = 7;
  const double k = 300, m = 0.2;
  for (const bool reversed : {false, true}) {
    std::string bodies, springs;
    for (int j = 0; j < n; ++j) {
      const int i = reversed ? n - j : j + 1;
      bodies += (j > 0 ? "," : "") + std::string(R"({"name": "m)") + std::to_string(i) +
                R"(", "type": "point_mass", "mass": 0.2, "fixed": ["y", "z"], "position": [)" + std::to_string(i) +
                ", 0, 0]}";
    }
    for (int i = 0; i <= n; ++i)
      springs += (i > 0 ? "," : "") + std::string(R"({"name": "s)") + std::to_string(i) + R"(", "of": [)" +
                 (i == 0 ? R"("ground.left")" : "\"m" + std::to_string(i) + '"') + ", " +
                 (i == n ? R"("ground.right")" : "\"m" + std::to_string(i + 1) + '"') +
                 R"(], "stiffness": 300, "natural_length": 1})";
    const NaturalModes modes =
        modes_of(R"("ground": [{"name": "left", "at": [0, 0, 0]}, {"name": "right", "at": [8, 0, 0]}], "bodies": [)" +
                 bodies + R"(], "springs": [)" + springs + "]");
    const std::vector<double> omega = omegas(modes);
    REQUIRE(omega.size() == 7);
    CHECK(modes.free_motions == 0);
    CHECK(modes.imbalance == 0);
    for (int j = 1; j <= n; ++j)
      CHECK(omega[at(j - 1)] ==
            doctest::Approx(2 * std::sqrt(k / m) * std::sin(j * M_PI / (2 * (n + 1)))).epsilon(1e-12));
  }
}

TEST_CASE("natural modes: a stretched string of masses vibrates across by its tension") {
  // T = k (L - L0) per spacing a: omega = 2 sqrt(T/(m a)) sin(j pi/(2 (n + 1))) across, in two planes
  std::string bodies, springs;
  for (int i = 1; i <= 3; ++i)
    bodies += (i > 1 ? "," : "") + std::string(R"({"name": "m)") + std::to_string(i) +
              R"(", "type": "point_mass", "mass": 0.5, "position": [)" + std::to_string(i) + ", 0, 0]}";
  for (int i = 0; i <= 3; ++i)
    springs += (i > 0 ? "," : "") + std::string(R"({"name": "s)") + std::to_string(i) + R"(", "of": [)" +
               (i == 0 ? R"("ground.left")" : "\"m" + std::to_string(i) + '"') + ", " +
               (i == 3 ? R"("ground.right")" : "\"m" + std::to_string(i + 1) + '"') +
               R"(], "stiffness": 1000, "natural_length": 0.9})";
  const std::vector<double> omega = omegas(
      modes_of(R"("ground": [{"name": "left", "at": [0, 0, 0]}, {"name": "right", "at": [4, 0, 0]}], "bodies": [)" +
               bodies + R"(], "springs": [)" + springs + "]"));
  REQUIRE(omega.size() == 9);
  for (int j = 1; j <= 3; ++j) {
    const double s = 2 * std::sin(j * M_PI / 8);
    CHECK(omega[at(2 * j - 2)] == doctest::Approx(s * std::sqrt(100 / 0.5)).epsilon(1e-10));
    CHECK(omega[at(2 * j - 1)] == doctest::Approx(s * std::sqrt(100 / 0.5)).epsilon(1e-10));
    CHECK(omega[at(5 + j)] == doctest::Approx(s * std::sqrt(1000 / 0.5)).epsilon(1e-10));
  }
}

TEST_CASE("natural modes: a physical pendulum swings with m g s/J about its equilibrium, and falls from the top") {
  // J about the hinge: 0.3 + 2 * 0.5^2; also in millimetres and tonnes, and with a second hinge that is redundant
  const double J = 0.3 + 2 * 0.25, square = 2 * 9.81 * 0.5 / J;
  const auto pendulum = [](double z, double length, double mass, int hinges, double spring) {
    const auto number = [](double x) { return std::to_string(x); };
    std::string joints;
    for (int i = 0; i < hinges; ++i)
      joints += (i > 0 ? "," : "") + std::string(R"({"name": "h)") + std::to_string(i) +
                R"(", "type": "revolute", "of": ["ground.o", "p.o"], "axis": [0, 1, 0])" +
                (spring > 0 ? R"(, "spring": {"stiffness": )" + number(spring) + "}}" : "}");
    const std::string inertia = number(0.3 * mass * length * length);
    return R"("gravity": [0, 0, )" + number(-9.81 * length) + R"(], "ground": [{"name": "o", "at": [0, 0, 0]}],
      "bodies": [{"name": "p", "type": "rigid", "mass": )" +
           number(2 * mass) + R"(, "inertia": [)" + inertia + "," + inertia + "," + inertia +
           R"(], "position": [0, 0, )" + number(z * length) + R"(], "points": [{"name": "o", "at": [0, 0, )" +
           number(-z * length) + R"(]}]}], "joints": [)" + joints + "]";
  };
  for (const int hinges : {1, 2})
    for (const double length : {1.0, 1000.0}) {
      const NaturalModes modes = modes_of(pendulum(-0.5, length, length == 1 ? 1 : 0.001, hinges, 0));
      REQUIRE(modes.modes.size() == 1);
      CHECK(modes.modes[0].omega_squared == doctest::Approx(square).epsilon(1e-6));
      CHECK(modes.imbalance < 1e-12);
      CHECK(modes.motions == 1);
    }
  CHECK(modes_of(pendulum(-0.5, 1, 1, 1, 0)).modes[0].omega_squared == doctest::Approx(square).epsilon(1e-12));
  CHECK(modes_of(pendulum(0.5, 1, 1, 1, 0)).modes[0].omega_squared == doctest::Approx(-square).epsilon(1e-12));
  CHECK(modes_of(pendulum(-0.5, 1, 1, 1, 7)).modes[0].omega_squared == doctest::Approx(square + 7 / J).epsilon(1e-12));
}

TEST_CASE("natural modes: two equal rods, hinged to each other, hang and swing with g/L (3 -+ 6/sqrt(7))") {
  const double g = 9.81, L = 0.8;
  const std::string rod = R"("type": "rigid", "mass": 1.5, "inertia": [0.08, 0.08, 0.0001],
    "points": [{"name": "top", "at": [0, 0, 0.4]}, {"name": "end", "at": [0, 0, -0.4]}])";  // m L^2/12 = 0.08
  const NaturalModes modes = modes_of(
      R"("gravity": [0, 0, -9.81], "ground": [{"name": "o", "at": [0, 0, 0]}],
      "bodies": [{"name": "a", "position": [0, 0, -0.4], )" +
      rod + R"(}, {"name": "b", "position": [0, 0, -1.2], )" + rod +
      R"(}], "joints": [{"name": "h", "type": "revolute", "of": ["ground.o", "a.top"], "axis": [0, 1, 0]},
        {"name": "k", "type": "revolute", "of": ["a.end", "b.top"], "axis": [0, 1, 0]}])");
  CHECK(modes.motions == 2);
  REQUIRE(modes.modes.size() == 2);
  for (const int sign : {-1, 1})
    CHECK(modes.modes[sign < 0 ? 0 : 1].omega_squared ==
          doctest::Approx(g / L * (3 + sign * 6 / std::sqrt(7.0))).epsilon(1e-9));
}

TEST_CASE("natural modes: a parallelogram of two cranks and a coupler, a closed loop with redundant joints, has one") {
  // T = (2 m/3 + M) L^2 phi'^2/2, V = -(m + M) g L cos(phi)
  const double g = 9.81, L = 0.5, m = 1.2, M = 2;
  const std::string crank = R"("type": "rigid", "mass": 1.2, "inertia": [0.025, 0.025, 0.0001],
    "points": [{"name": "top", "at": [0, 0, 0.25]}, {"name": "end", "at": [0, 0, -0.25]}])";  // m L^2/12 = 0.025
  const NaturalModes modes = modes_of(
      R"("gravity": [0, 0, -9.81], "ground": [{"name": "o", "at": [0, 0, 0]}, {"name": "p", "at": [0.6, 0, 0]}],
      "bodies": [{"name": "a", "position": [0, 0, -0.25], )" +
      crank + R"(}, {"name": "b", "position": [0.6, 0, -0.25], )" + crank +
      R"(}, {"name": "c", "type": "rigid", "mass": 2, "inertia": [0.001, 0.06, 0.06], "position": [0.3, 0, -0.5],
        "points": [{"name": "left", "at": [-0.3, 0, 0]}, {"name": "right", "at": [0.3, 0, 0]}]}],
      "joints": [{"name": "h1", "type": "revolute", "of": ["ground.o", "a.top"], "axis": [0, 1, 0]},
        {"name": "h2", "type": "revolute", "of": ["ground.p", "b.top"], "axis": [0, 1, 0]},
        {"name": "h3", "type": "revolute", "of": ["a.end", "c.left"], "axis": [0, 1, 0]},
        {"name": "h4", "type": "revolute", "of": ["b.end", "c.right"], "axis": [0, 1, 0]}])");
  CHECK(modes.motions == 1);
  REQUIRE(modes.modes.size() == 1);
  CHECK(modes.modes[0].omega_squared == doctest::Approx(g / L * (m + M) / (2 * m / 3 + M)).epsilon(1e-9));
}

TEST_CASE("natural modes: a free body has six free motions, and a hinged one without gravity one") {
  const std::string body = R"("bodies": [{"name": "p", "type": "rigid", "mass": 3, "inertia": [1, 2, 2.5]}])";
  const NaturalModes free = modes_of(body);
  CHECK(free.free_motions == 6);
  CHECK(free.modes.empty());
  const NaturalModes hinged =
      modes_of(body + R"(, "joints": [{"name": "h", "type": "revolute", "of": ["ground", "p"], "axis": [0, 0, 1]}])");
  CHECK(hinged.motions == 1);
  CHECK(hinged.free_motions == 1);
}

TEST_CASE("natural modes: a joint between a beam and the ground restricts the motions as fixed nodes do") {
  const std::vector<double> fixed = omegas(modes_of(beam(6, R"(, "fixed": [{"on": "start"}])")));
  const std::vector<double> joined =
      omegas(modes_of(beam(6, "", R"(, "joints": [{"name": "j", "type": "fixed", "of": ["ground", "b.start"]}])")));
  REQUIRE(fixed.size() == joined.size());
  for (std::size_t i = 0; i < fixed.size(); ++i) CHECK(joined[i] == doctest::Approx(fixed[i]).epsilon(1e-7));
}

TEST_CASE("natural modes: slender beams converge to Euler's and Bernoulli's frequencies with the second order") {
  struct Case {
    std::string fixed;
    int free_motions;
    double beta_1, beta_2;
  };
  const std::vector<Case> cases = {
      {R"(, "fixed": [{"on": "start"}])", 0, 1.8751040687119611, 4.6940911329741746},
      {R"(, "fixed": [{"on": "start"}, {"on": "end"}])", 0, 4.7300407448627040, 7.8532046240958376},
      {R"(, "fixed": [{"on": "start", "directions": "translation"}, {"on": "end", "directions": "translation"}])", 1,
       M_PI, 2 * M_PI},
      {"", 6, 4.7300407448627040, 7.8532046240958376},
  };
  for (const Case& c : cases) {
    CAPTURE(c.fixed);
    double errors[3];
    const int elements[3] = {8, 16, 32};
    for (int i = 0; i < 3; ++i) {
      const NaturalModes modes = modes_of(beam(elements[i], c.fixed));
      CHECK(modes.free_motions == c.free_motions);
      const std::vector<double> omega = omegas(modes);
      errors[i] = omega[0] / bending(c.beta_1, width) - 1;
      // the stiffer plane: the nearest frequency to twice the first
      if (i == 2) {
        for (const double expected : {bending(c.beta_1, height), bending(c.beta_2, width), bending(c.beta_2, height)})
          CHECK(std::ranges::any_of(omega, [&](double w) { return std::abs(w / expected - 1) < 0.01; }));
      }
    }
    CAPTURE(errors[0]);
    CAPTURE(errors[1]);
    CAPTURE(errors[2]);
    CHECK(std::abs(errors[2]) < 3e-3);
    CHECK(errors[0] / errors[1] == doctest::Approx(4).epsilon(0.15));
    CHECK(errors[1] / errors[2] == doctest::Approx(4).epsilon(0.15));
  }
}

TEST_CASE("natural modes: a clamped bar of solids without lateral strain vibrates along as a rod") {
  // consistent mass, n elements: omega^2 = 6 (E/rho)/h^2 (1 - cos t)/(2 + cos t), t = (2 j - 1) pi/(2 n)
  const int n = 10;
  const NaturalModes modes = modes_of(
      R"("materials": [{"name": "m", "type": "linear_elastic", "young": 200, "poisson": 0, "density": 8}],
         "bodies": [{"name": "b", "type": "solid", "material": "m",
                     "mesh": {"type": "box", "size": [2, 0.1, 0.1], "divisions": [10, 1, 1]},
                     "fixed": [{"on": "left"}, {"on": "nodes", "directions": ["y", "z"]}]}])",
      40);
  REQUIRE(modes.left_out.empty());
  CHECK(modes.motions == 40);
  for (int j = 1; j <= 3; ++j) {
    const double c = std::cos((2 * j - 1) * M_PI / (2 * n)), h = 2.0 / n;
    const double expected = std::sqrt(6 * (200 / 8.0) / (h * h) * (1 - c) / (2 + c));
    CHECK(std::ranges::any_of(
        modes.modes, [&](const auto& mode) { return std::abs(std::sqrt(mode.omega_squared) / expected - 1) < 1e-9; }));
  }
  CHECK(std::sqrt(modes.modes[0].omega_squared) == doctest::Approx(M_PI / 2 / 2 * 5).epsilon(2e-3));
}

TEST_CASE("natural modes: a motion without mass follows, and one without mass and stiffness is refused") {
  // a massless point between two springs: both act in series on the mass
  const auto chain = [](const std::string& fixed) {
    return R"("ground": [{"name": "o", "at": [0, 0, 0]}],
      "bodies": [{"name": "light", "type": "point_mass", "mass": 0, "position": [1, 0, 0], "fixed": )" +
           fixed +
           R"(}, {"name": "heavy", "type": "point_mass", "mass": 2, "position": [2, 0, 0], "fixed": ["y", "z"]}],
      "springs": [{"name": "a", "of": ["ground.o", "light"], "stiffness": 30, "natural_length": 1},
                  {"name": "b", "of": ["light", "heavy"], "stiffness": 60, "natural_length": 1}])";
  };
  const NaturalModes held = modes_of(chain(R"(["y", "z"])"));
  REQUIRE(held.modes.size() == 1);
  CHECK(held.massless == 1);
  CHECK(held.modes[0].omega_squared == doctest::Approx(10).epsilon(1e-12));
  CHECK(modes_of(chain("[]")).left_out.find("neither mass nor stiffness") != std::string::npos);
}

TEST_CASE("natural modes: modes fulfil K x = omega^2 M x by differences of the forces, and have unit mass") {
  const auto model = build(beam(5, R"(, "fixed": [{"on": "start"}])"));
  const System& system = model->system;
  const NaturalModes modes = natural_modes(system, model->state.q, 0, 4, model->scales.length);
  REQUIRE(modes.modes.size() == 4);
  const Vector rest(at(system.size()), 0.0);
  for (const auto& mode : modes.modes) {
    Vector Mx(rest), plus(rest), minus(rest), d(rest), q(model->state.q);
    system.mass_times(model->state.q, mode.shape, Mx);
    double mass = 0;
    for (std::size_t i = 0; i < d.size(); ++i) mass += mode.shape[i] * Mx[i];
    CHECK(mass == doctest::Approx(1).epsilon(1e-10));
    // beams stiffen as they bend, so the error of differences of second order is removed by extrapolation
    const auto work = [&](double e) {
      for (std::size_t i = 0; i < d.size(); ++i) d[i] = e * mode.shape[i];
      system.retract(model->state.q, d, q);
      system.forces(q, rest, 0, force_all, plus);
      for (double& x : d) x = -x;
      system.retract(model->state.q, d, q);
      system.forces(q, rest, 0, force_all, minus);
      double sum = 0;
      for (std::size_t i = 0; i < d.size(); ++i) sum -= mode.shape[i] * (plus[i] - minus[i]) / (2 * e);
      return sum;
    };
    CHECK((4 * work(5e-6) - work(1e-5)) / 3 == doctest::Approx(mode.omega_squared).epsilon(1e-5));
  }
}

TEST_CASE("natural modes: circulatory forces are reported, those with a potential are symmetric") {
  const auto with = [](const char* first, const char* second) {
    return modes_of(std::string(R"("bodies": [{"name": "q", "type": "coordinates", "coordinates": [{"name": "x"},
                    {"name": "y"}], "masses": [1, 1], "forces": [")") +
                    first + R"(", ")" + second + R"("]}])");
  };
  const NaturalModes flutter = with("-2*x - y", "-2*y + x"), sound = with("-2*x - y", "-2*y - x");
  CHECK(flutter.asymmetry == doctest::Approx(0.5).epsilon(1e-12));
  CHECK(omegas(flutter)[0] == doctest::Approx(std::sqrt(2.0)).epsilon(1e-12));
  CHECK(sound.asymmetry < 1e-14);
  CHECK(omegas(sound)[0] == doctest::Approx(1).epsilon(1e-12));
  CHECK(omegas(sound)[1] == doctest::Approx(std::sqrt(3.0)).epsilon(1e-12));
}

// ---- sparse matrices

TEST_CASE("natural modes: sparse matrices find what dense ones find, with joints, free bodies and equal frequencies") {
  // a square section: every bending frequency twice; three beams beside each other: everything three times
  const auto beams = [](int elements, const std::string& fixed, const std::string& more) {
    std::string out =
        R"("materials": [{"name": "m", "type": "linear_elastic", "young": 2e11, "poisson": 0.3, "density": 8000}],
           "sections": [{"name": "s", "type": "rectangle", "width": 0.02, "height": 0.02}], "bodies": [)";
    for (int i = 0; i < 3; ++i)
      out += std::string(i > 0 ? "," : "") + R"({"name": "b)" + std::to_string(i) +
             R"(", "type": "beam", "material": "m", "section": "s", "from": [0, )" + std::to_string(i) +
             R"(, 0], "to": [1, )" + std::to_string(i) + R"(, 0], "elements": )" + std::to_string(elements) + fixed +
             "}";
    return out + "]" + more;
  };
  const std::string clamp = R"(, "fixed": [{"on": "start"}])";
  const std::string hinges = R"(, "joints": [
    {"name": "j0", "type": "revolute", "of": ["ground", "b0.start"], "axis": [0, 0, 1]},
    {"name": "j1", "type": "fixed", "of": ["ground", "b1.start"]},
    {"name": "j2", "type": "spherical", "of": ["ground", "b2.start"]}])";
  struct Case {
    std::string fixed, more;
    int free_motions;
  };
  for (const Case& c : {Case{clamp, "", 0}, Case{"", "", 18}, Case{"", hinges, 4}}) {
    CAPTURE(c.more);
    CAPTURE(c.fixed);
    const auto model = build(beams(24, c.fixed, c.more));
    const System& system = model->system;
    REQUIRE(system.size() <= NaturalModes::most_equations);
    const NaturalModes dense = natural_modes(system, model->state.q, 0, 12, model->scales.length);
    const NaturalModes sparse = sparse_modes(system, model->state.q, 0, 12, model->scales.length);
    CHECK(sparse.left_out.empty());
    CHECK(dense.free_motions == c.free_motions);
    CHECK(sparse.free_motions == c.free_motions);
    CHECK(sparse.motions == dense.motions);
    CHECK(sparse.imbalance == doctest::Approx(dense.imbalance));
    REQUIRE(sparse.modes.size() == 12);
    for (std::size_t i = 0; i < 12; ++i) {
      CAPTURE(i);
      CHECK(sparse.modes[i].omega_squared == doctest::Approx(dense.modes[i].omega_squared).epsilon(1e-6));
    }
  }
}

TEST_CASE("natural modes: sparse matrices give the modes of dense ones where equations have no mass") {
  // a block on hinges, whose faces have frames without mass; a beam that another one without mass carries
  const std::string block = R"(
    "materials": [{"name": "m", "type": "linear_elastic", "young": 2e7, "poisson": 0.3, "density": 1000}],
    "bodies": [{"name": "b", "type": "solid", "material": "m",
                "mesh": {"type": "box", "size": [0.2, 0.2, 0.5], "divisions": [4, 4, 5]}}],
    "joints": [{"name": "j", "type": "revolute", "of": ["ground", "b.bottom"], "axis": [0, 1, 0]}])";
  const std::string beam = R"(
    "materials": [{"name": "light", "type": "linear_elastic", "young": 2e11, "poisson": 0.3, "density": 0},
                  {"name": "steel", "type": "linear_elastic", "young": 2e11, "poisson": 0.3, "density": 8000}],
    "sections": [{"name": "s", "type": "rectangle", "width": 0.02, "height": 0.03}],
    "bodies": [{"name": "a", "type": "beam", "material": "light", "section": "s", "from": [0, 0, 0], "to": [1, 0, 0],
                "elements": 10, "fixed": [{"on": "start"}]},
               {"name": "b", "type": "beam", "material": "steel", "section": "s", "from": [1, 0, 0], "to": [2, 0, 0.5],
                "elements": 50}],
    "joints": [{"name": "j", "type": "spherical", "of": ["a.end", "b.start"]}])";
  for (const std::string& text : {block, beam}) {
    const auto model = build(text);
    const System& system = model->system;
    REQUIRE(system.size() <= NaturalModes::most_equations);
    constexpr std::size_t count = 12;
    const NaturalModes dense = natural_modes(system, model->state.q, 0, count, model->scales.length);
    const NaturalModes sparse = sparse_modes(system, model->state.q, 0, count, model->scales.length);
    CHECK(dense.left_out == "");
    CHECK(sparse.left_out == "");
    CHECK(sparse.motions == dense.motions);
    CHECK(sparse.massless == dense.massless);
    CHECK(sparse.free_motions == dense.free_motions);
    REQUIRE(dense.modes.size() == count);
    REQUIRE(sparse.modes.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      CAPTURE(i);
      CHECK(sparse.modes[i].omega_squared == doctest::Approx(dense.modes[i].omega_squared).epsilon(1e-6));
    }
  }
}

TEST_CASE("natural modes: a pendulum of many rods about its upright position grows as with dense matrices") {
  // n rods on hinges: with the start above the hinge all motions grow
  const auto rods = [](int n) {
    std::string bodies, joints;
    for (int i = 0; i < n; ++i) {
      const std::string name = "r" + std::to_string(i), comma = i > 0 ? "," : "";
      bodies += comma + R"({"name": ")" + name + R"(", "type": "rigid", "mass": 2, "inertia": [0.2, 0.2, 0.01],
        "position": [0, 0, )" +
                std::to_string(i + 0.5) + R"(], "points": [{"name": "a", "at": [0, 0, -0.5]},
        {"name": "b", "at": [0, 0, 0.5]}]})";
      joints += comma + R"({"name": "j)" + std::to_string(i) + R"(", "type": "revolute", "of": [")" +
                (i == 0 ? std::string("ground") : "r" + std::to_string(i - 1) + ".b") + R"(", ")" + name +
                R"(.a"], "axis": [0, 1, 0]})";
    }
    return R"("gravity": [0, 0, -10], "bodies": [)" + bodies + R"(], "joints": [)" + joints + "]";
  };
  const auto model = build(rods(90));
  REQUIRE(model->system.size() == 540);
  const NaturalModes dense = natural_modes(model->system, model->state.q, 0, 2, model->scales.length);
  const NaturalModes sparse = sparse_modes(model->system, model->state.q, 0, 2, model->scales.length);
  INFO(sparse.left_out);
  REQUIRE(sparse.modes.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(sparse.modes[i].omega_squared < 0);
    CHECK(sparse.modes[i].omega_squared == doctest::Approx(dense.modes[i].omega_squared).epsilon(1e-7));
  }
}

TEST_CASE("natural modes: beams of many elements approach Euler's and Bernoulli's frequencies further") {
  // clamped at both ends; 300 elements have 1794 equations. What is left is the shear and the inertia of sections.
  const NaturalModes modes = modes_of(beam(300, R"(, "fixed": [{"on": "start"}, {"on": "end"}])"), 6);
  const std::vector<double> omega = omegas(modes);
  CHECK(modes.free_motions == 0);
  const double betas[] = {4.7300407448627040, 7.8532046240958376, 10.995607838001671};
  std::vector<double> expected;
  for (const double beta : betas)
    for (const double thickness : {width, height}) expected.push_back(bending(beta, thickness));
  std::ranges::sort(expected);
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    CHECK(omega[i] == doctest::Approx(expected[i]).epsilon(2e-3));
    CHECK(omega[i] < expected[i] * (1 + 1e-4));
  }
}

TEST_CASE("natural modes: a clamped plate of solids vibrates as Kirchhoff's plate") {
  // a square plate clamped all around, a/t = 50, nu = 0.3: omega = lambda sqrt(D/(rho t))/a^2 with 35.99, 73.39 twice,
  // 108.2 (A. W. Leissa, Vibration of plates, 1969, table 4.24); D = E t^3/(12 (1 - nu^2))
  const auto plate = [](int n) {
    return modes_of(
        R"("materials": [{"name": "m", "type": "linear_elastic", "young": 1e7, "poisson": 0.3, "density": 1000}],
           "bodies": [{"name": "p", "type": "solid", "material": "m", "locking": "incompatible_modes",
             "mesh": {"type": "box", "size": [1, 1, 0.02], "divisions": [)" +
            std::to_string(n) + ", " + std::to_string(n) + R"(, 1]},
             "fixed": [{"on": "left"}, {"on": "right"}, {"on": "front"}, {"on": "back"}]}])",
        4);
  };
  const double t = 0.02, D = 1e7 * t * t * t / (12 * (1 - 0.09)), unit = std::sqrt(D / (1000 * t));
  const std::vector<double> coarse = omegas(plate(12)), fine = omegas(plate(24));
  const double lambda[] = {35.99, 73.39, 73.39, 108.22};
  REQUIRE(fine.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    const double error_coarse = coarse[i] / (lambda[i] * unit) - 1, error = fine[i] / (lambda[i] * unit) - 1;
    CHECK(std::abs(error) < 0.02);
    CHECK(std::abs(error) < 0.4 * std::abs(error_coarse));
  }
  CHECK(fine[1] == doctest::Approx(fine[2]).epsilon(1e-8));
}

// All forces are rounding of places: they are in balance.
TEST_CASE("natural modes: an unloaded beam in any direction is in equilibrium") {
  for (const char* elements : {"6", "120"}) {
    CAPTURE(elements);
    const NaturalModes modes =
        modes_of(std::string(R"("materials": [{"name": "m", "type": "linear_elastic", "young": 2e11, "poisson": 0.3,
                                      "density": 7800}],
        "sections": [{"name": "s", "type": "rectangle", "width": 0.04, "height": 0.05}],
        "bodies": [{"name": "a", "type": "beam", "material": "m", "section": "s", "from": [0.1, 0.2, 0.3],
                    "to": [1.1, 0.7, 0.9], "fixed": [{"on": "start"}], "elements": )") +
                     elements + "}]",
                 2);
    CHECK(modes.imbalance < 1e-3);
    REQUIRE(modes.left_out.empty());
    CHECK(modes.modes[0].omega_squared > 0);
  }
}
