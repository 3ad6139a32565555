// MonolithicNewton on a stabilised implicit Euler method, whose two problems depend on each other:
//
//   M (v - v_n) - h f(q, v) - G(q)^T P = 0,   G(q) v = 0 for rods and the contacts that close
//   M U - G(q)^T nu = 0,                      g(q) = 0 for rods,  0 <= g(q)  perp  nu >= 0 for contacts
//   q = q_n + h v + U

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "contact/gap/obstacle.hpp"
#include "contact/gap/point_contact.hpp"
#include "core/base/vector_ops.hpp"
#include "elements/bodies/point_mass.hpp"
#include "integrators/common/monolithic_newton.hpp"
#include "integrators/common/step_scales.hpp"

using namespace carom;

namespace {

// Massless rods between points: g = (|x|^2 - L^2)/(2 L), x = x_2 - x_1.
class Rods final : public ConstraintBlock {
 public:
  Rods(const std::vector<int>& nodes, double length)
      : ConstraintBlock("rods", {static_cast<int>(nodes.size()) / 2, {{0, 3}, {0, 3}}, nodes}, 1, ConstraintTraits{}),
        length_(length) {}

  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override {
    for (int i = range.first, k = 0; i < range.last; ++i, ++k) {
      const Vec3 x = span(in, i);
      if (values.gap != nullptr) values.gap[k] = (x.squaredNorm() - length_ * length_) / (2 * length_);
      Vec3 u = Vec3::Zero();
      for (int c = 0; in.v != nullptr && c < 3; ++c) u[c] = in.v[6 * k + 3 + c] - in.v[6 * k + c];
      if (values.rate != nullptr) values.rate[k] = x.dot(u) / length_;
      if (values.bias != nullptr) values.bias[k] = u.squaredNorm() / length_;
      for (int c = 0; c < 3; ++c) {
        if (values.gradient != nullptr) values.gradient[6 * k + c] = -(values.gradient[6 * k + 3 + c] = x[c] / length_);
        if (values.rate_gradient != nullptr)
          values.rate_gradient[6 * k + c] = -(values.rate_gradient[6 * k + 3 + c] = u[c] / length_);
      }
    }
  }
  void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const override {
    for (int i = range.first; i < range.last; ++i, ++s, f += 6)
      for (int c = 0; c < 3; ++c) {
        f[c] -= *s * span(in, i)[c] / length_;
        f[3 + c] += *s * span(in, i)[c] / length_;
      }
  }
  void add_reaction_gradient(Range range, const ConstraintInput&, const double* s, double c, double* A) const override {
    for (int i = range.first; i < range.last; ++i, ++s, A += 36)
      for (int k = 0; k < 6; ++k) {
        A[6 * k + k] += c * *s / length_;
        A[6 * k + (k + 3) % 6] -= c * *s / length_;
      }
  }
  Place place(int, int, const ConstraintInput&) const override { return {}; }

 private:
  Vec3 span(const ConstraintInput& in, int i) const {
    const double *a = configuration(in, i, 0), *b = configuration(in, i, 1);
    return {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
  }
  double length_;
};

constexpr double gravity = 9.81, rod = 0.5;

// A chain of four masses that falls onto a ball; `doubled`: every rod twice.
struct Chain {
  explicit Chain(bool doubled) {
    std::vector<PointMass> masses;
    std::vector<ContactPoint> points;
    std::vector<int> rods;
    for (int i = 0; i < 4; ++i) {
      const double x[3] = {i * rod * 0.8 - 0.5, 0.05 * i, (i % 2) * rod * 0.6};
      const double place[3] = {x[0], 0, x[2]};
      const int node = system.add_node(NodeKind::point, place, "mass");
      masses.push_back({node, 1.0 + 0.3 * i});
      points.push_back({"mass", node, Vec3::Zero(), 0.0, 0.0});
      if (i == 0) continue;
      for (int k = 0; k < (doubled ? 2 : 1); ++k) rods.insert(rods.end(), {node - 1, node});
    }
    system.add(std::make_unique<PointMassBlock>("masses", masses));
    system.add(std::make_unique<Rods>(rods, rod));
    system.add(std::make_unique<PointContactBlock>("ball", points, make_sphere(Vec3(0.1, 0, -1.02), 1.0, false),
                                                   nullptr, false));
    system.set_gravity(Vec3(0.3, 0, -gravity));
    system.finalize();
  }
  System system;
};

class StabilisedEuler final : public CoupledProblem {
 public:
  StabilisedEuler(const System& system, bool coupled)
      : system_(system), coupled_(coupled), velocity_(*this), position_(*this) {
    q_n = q = system.initial_configuration();
    for (Vector* x : {&v_n, &v, &U, &f_, &d_, &Mx_, &reaction_}) x->assign(at(system.size()), 0.0);
  }

  // One step; the number of iterations, 0 if it fails.
  int step(double h) {
    h_ = h;
    q_n = q;
    v_n = v;
    set_zero(U);
    update();
    reset(report, {"velocity", "position"});
    StepScales scales;
    scales.model = {.length = 1, .mass = 1, .force = gravity};
    scales.t = h;
    scales.h = h;
    scales.roundoff = gravity;
    scales.start = {q_n.data(), v_n.data(), 0};
    const ProblemScales both[2] = {scales.momenta(1), scales.positions(1)};
    // contacts that the motion without them closes are candidates at velocity level
    Vector gaps(at(system_.rows()));
    system_.gaps(q, h, unilateral_rows, gaps);
    std::vector<std::uint8_t> near(at(system_.conditional()));
    for (std::size_t i = 0; i < near.size(); ++i) near[i] = gaps[at(system_.bilateral()) + i] < 1e-9 ? 1 : 0;
    solvers_[0].begin(report, {.candidates = &near});
    solvers_[1].begin(report, {.candidates = &near});
    closed = static_cast<int>(std::count(near.begin(), near.end(), 1));
    return newton_.solve(*this, both, report) ? report.subproblems[0].iterations : 0;
  }

  MixedProblem& part(int i) override { return i == 0 ? static_cast<MixedProblem&>(velocity_) : position_; }
  bool couple(int i, int j, In, Linearisation& S) override {
    if (!coupled_) return false;
    S.q = q.data();
    S.v = v.data();
    if (i == 0 && j == 1) {
      S.c_K = h_;
      S.c_s = 1;
      S.c_row = 0;
      S.c_rate = 1;
    } else {
      S.c_s = h_;
      S.c_row = h_;
    }
    return true;
  }
  bool update() override {
    combine(h_, v, 1.0, U, d_);
    system_.retract(q_n, d_, q);
    return true;
  }
  const MixedNewton& solver(int i) const { return solvers_[at(i)]; }

  Vector q_n, v_n, q, v, U;
  StepReport report;
  int closed = 0;

 private:
  struct Velocity final : MixedProblem {
    explicit Velocity(StabilisedEuler& method) : m(method) {}
    void rows(Out c) override { m.system_.rates(m.q, m.v, m.h_, bilateral_rows | unilateral_rows, c); }
    double residual(In s, Out r) override {
      combine(1.0, m.v, -1.0, m.v_n, m.d_);
      m.system_.mass_times(m.q, m.d_, m.Mx_);
      m.system_.forces(m.q, m.v, m.h_, force_all, m.f_);
      combine(1.0, m.Mx_, -m.h_, m.f_, r);
      return m.subtract_reaction(s, r) + m.h_ * m.system_.force_norm(m.f_, 1);
    }
    RowPoint row_point() override { return {m.q}; }
    void linearise(In, Linearisation& S) override {
      S.c_M = 1;
      S.c_C = S.c_s = S.c_rate = m.h_;
      S.c_K = m.h_ * m.h_;
      S.q_M = S.q = m.q.data();
      S.v = m.v.data();
    }
    bool move(double share, In dv) override {
      axpy(share, dv, m.v);
      return true;
    }
    StabilisedEuler& m;
  };
  struct Position final : MixedProblem {
    explicit Position(StabilisedEuler& method) : m(method) {}
    void rows(Out c) override { m.system_.gaps(m.q, m.h_, bilateral_rows | unilateral_rows, c); }
    double residual(In s, Out r) override {
      m.system_.mass_times(m.q, m.U, m.Mx_);
      copy(m.Mx_, r);
      return m.subtract_reaction(s, r);
    }
    RowPoint row_point() override { return {m.q}; }
    void linearise(In, Linearisation& S) override {
      S.c_M = S.c_s = 1;
      S.q_M = S.q = m.q.data();
    }
    bool move(double share, In dU) override {
      axpy(share, dU, m.U);
      return true;
    }
    StabilisedEuler& m;
  };

  double subtract_reaction(In s, Out r) {
    set_zero(reaction_);
    system_.add_reactions(q, h_, s, bilateral_rows | unilateral_rows, reaction_);
    axpy(-1.0, reaction_, r);
    return system_.force_norm(Mx_, 1) + system_.force_norm(reaction_, 1);
  }

  const System& system_;
  bool coupled_;
  double h_ = 0;
  Vector f_, d_, Mx_, reaction_;
  Velocity velocity_;
  Position position_;
  Scales model_{.length = 1, .mass = 1, .force = gravity};
  NewtonOptions options_{.max_iterations = 60};
  MixedNewton solvers_[2] = {
      {system_, options_, {.name = "velocity", .rows = bilateral_rows | unilateral_rows}, model_, 0, nullptr},
      {system_, options_, {.name = "position", .rows = bilateral_rows | unilateral_rows}, model_, 1, nullptr}};
  MixedNewton* pointers_[2] = {&solvers_[0], &solvers_[1]};
  MonolithicNewton newton_{system_, pointers_, 1.0};
};

}  // namespace

TEST_CASE("monolithic: rods and contacts hold at both levels, and the convergence is quadratic") {
  const Chain chain(false);
  StabilisedEuler exact(chain.system, true), jacobi(chain.system, false);
  int most = 0, most_jacobi = 0, contacts = 0;
  const double h = 0.02;
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const int iterations = exact.step(h);
    REQUIRE(iterations > 0);
    most = std::max(most, iterations);
    contacts = std::max(contacts, exact.closed);
    CHECK(exact.solver(0).largest_row() < 1e-10);
    CHECK(exact.solver(1).largest_row() < 1e-10);
    // the error of an iteration is about the square of the one before
    const SubproblemReport& sub = exact.report.subproblems[1];
    if (const int last = sub.iterations; last >= 3 && sub.history_at(last - 1) > 1e3)
      CHECK(sub.history_at(last) < 1e-2 * sub.history_at(last - 1));
    // without coupling terms the same solution comes, by more iterations
    const int slow = jacobi.step(h);
    REQUIRE(slow > 0);
    most_jacobi = std::max(most_jacobi, slow);
    for (std::size_t k = 0; k < exact.q.size(); ++k) {
      CHECK(std::abs(exact.q[k] - jacobi.q[k]) < 1e-8);
      CHECK(std::abs(exact.v[k] - jacobi.v[k]) < 1e-7);
    }
  }
  CHECK(contacts >= 2);
  CHECK(most <= 7);
  CHECK(most_jacobi >= most + 4);
}

TEST_CASE("monolithic: doubled rods move as single ones and share their forces") {
  const Chain single(false), doubled(true);
  StabilisedEuler a(single.system, true), b(doubled.system, true);
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    REQUIRE(a.step(0.02) > 0);
    REQUIRE(b.step(0.02) > 0);
    for (std::size_t k = 0; k < a.q.size(); ++k) CHECK(std::abs(a.q[k] - b.q[k]) < 1e-9);
    for (int r = 0; r < 3; ++r) {
      const double one = b.solver(0).multipliers()[at(2 * r)], other = b.solver(0).multipliers()[at(2 * r + 1)];
      CHECK(one == doctest::Approx(other).epsilon(1e-6));
      CHECK(one + other == doctest::Approx(a.solver(0).multipliers()[at(r)]).epsilon(1e-6));
    }
  }
}
