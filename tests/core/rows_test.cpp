// Kinds of rows, their selection, rows that refer to the start of a step, pairs of gradient and direction that a caller
// hands in, and candidates that change without renumbering.

#include <doctest/doctest.h>

#include <memory>

#include "contact/law/contact_set.hpp"
#include "core/mechanics/saddle_point.hpp"
#include "core/mechanics/system.hpp"
#include "elements/bodies/point_mass.hpp"
#include "elements/joints/joint.hpp"

using namespace carom;

namespace {

int add_point(System& s, double x, double y, double z, const std::string& name) {
  const double place[3] = {x, y, z};
  return s.add_node(NodeKind::point, place, name);
}

// Points above the plane z = 0, each with a normal row and two tangential ones.
class RoughFloor final : public ConstraintBlock {
 public:
  explicit RoughFloor(const std::vector<int>& nodes)
      : ConstraintBlock("floor", {static_cast<int>(nodes.size()), {{0, 3}}, nodes}, 3,
                        ConstraintTraits{.kind = RowKind::unilateral, .linear = true}) {}
  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override {
    for (int i = range.first; i < range.last; ++i) {
      const std::size_t k = at(i - range.first);
      for (std::size_t row = 0; row < 3; ++row) {
        const std::size_t axis = row == 0 ? 2 : row - 1;
        if (values.gap != nullptr) values.gap[3 * k + row] = row == 0 ? configuration(in, i, 0)[2] : 0.0;
        if (values.rate != nullptr) values.rate[3 * k + row] = in.v[3 * k + axis];
        if (values.bias != nullptr) values.bias[3 * k + row] = 0;
        for (std::size_t c = 0; c < 3; ++c) {
          if (values.gradient != nullptr) values.gradient[(3 * k + row) * 3 + c] = c == axis ? 1 : 0;
          if (values.rate_gradient != nullptr) values.rate_gradient[(3 * k + row) * 3 + c] = 0;
        }
      }
    }
  }
  void add_reaction(Range range, const ConstraintInput&, const double* s, double* f) const override {
    for (int i = 0; i < range.size(); ++i, s += 3, f += 3) f[0] += s[1], f[1] += s[2], f[2] += s[0];
  }
  void add_reaction_gradient(Range, const ConstraintInput&, const double*, double, double*) const override {}
  Place place(int, int, const ConstraintInput&) const override { return {Vec3::Zero(), Vec3::UnitZ()}; }
};

// A point that keeps its distance of the start of the step from the origin, to first order: g = x_n . (x - x_n).
class StartRow final : public ConstraintBlock {
 public:
  explicit StartRow(int node)
      : ConstraintBlock("start", {1, {{0, 3}}, {node}}, 1, ConstraintTraits{.kind = RowKind::unilateral}) {}
  void evaluate(Range, const ConstraintInput& in, const ConstraintValues& values) const override {
    const double* const x = configuration(in, 0, 0);
    const ConstraintInput before{in.start->q, nullptr, in.start->t};
    const double* const n = configuration(before, 0, 0);
    if (values.gap != nullptr) *values.gap = 0;
    if (values.rate != nullptr) *values.rate = 0;
    for (int c = 0; c < 3; ++c) {
      if (values.gap != nullptr) *values.gap += n[c] * (x[c] - n[c]);
      if (values.rate != nullptr) *values.rate += n[c] * in.v[c];
      if (values.gradient != nullptr) values.gradient[c] = n[c];
    }
  }
  void add_reaction(Range, const ConstraintInput& in, const double* s, double* f) const override {
    const ConstraintInput before{in.start->q, nullptr, in.start->t};
    for (int c = 0; c < 3; ++c) f[c] += *s * configuration(before, 0, 0)[c];
  }
  void add_reaction_gradient(Range, const ConstraintInput&, const double*, double, double*) const override {}
  Place place(int, int, const ConstraintInput&) const override { return {Vec3::Zero(), Vec3::UnitX()}; }
};

// A slave point that keeps the distance r from the nearest of several master points.
class NearestMaster final : public ConstraintBlock {
 public:
  NearestMaster(int slave, std::vector<int> masters, std::vector<double> places)
      : ConstraintBlock("bead", {1, {{0, 3}, {0, 3}}, {slave, masters.front()}}, 1,
                        ConstraintTraits{.kind = RowKind::unilateral, .searching = true}),
        masters_(std::move(masters)),
        places_(std::move(places)) {}
  bool find_candidates(const double* q, const double*, double, double) override {
    const ConstraintInput in{q, nullptr, 0};
    const double x = configuration(in, 0, 0)[0];
    std::size_t nearest = 0;
    for (std::size_t i = 1; i < places_.size(); ++i)
      if (std::abs(places_[i] - x) < std::abs(places_[nearest] - x)) nearest = i;
    return bind_slot(0, 1, masters_[nearest]);
  }
  void evaluate(Range, const ConstraintInput& in, const ConstraintValues& values) const override {
    const Vec3 d = between(in), n = d.normalized();
    if (values.gap != nullptr) *values.gap = d.norm() - 0.1;
    if (values.gradient != nullptr)
      for (int c = 0; c < 3; ++c) values.gradient[c] = n[c], values.gradient[3 + c] = -n[c];
    if (values.rate != nullptr) *values.rate = n.dot(Vec3(in.v[0] - in.v[3], in.v[1] - in.v[4], in.v[2] - in.v[5]));
  }
  void add_reaction(Range, const ConstraintInput& in, const double* s, double* f) const override {
    const Vec3 n = between(in).normalized();
    for (int c = 0; c < 3; ++c) f[c] += *s * n[c], f[3 + c] -= *s * n[c];
  }
  void add_reaction_gradient(Range, const ConstraintInput& in, const double* s, double c, double* A) const override {
    const Vec3 d = between(in), n = d.normalized();
    const Mat3 H = c * *s / d.norm() * (Mat3::Identity() - n * n.transpose());
    Eigen::Map<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>> block(A);
    block.topLeftCorner<3, 3>() += H;
    block.bottomRightCorner<3, 3>() += H;
    block.topRightCorner<3, 3>() -= H;
    block.bottomLeftCorner<3, 3>() -= H;
  }
  std::string item_name(int) const override { return "bead"; }
  Place place(int, int, const ConstraintInput& in) const override { return {Vec3::Zero(), between(in).normalized()}; }

 private:
  Vec3 between(const ConstraintInput& in) const {
    const double *a = configuration(in, 0, 0), *b = configuration(in, 0, 1);
    return Vec3(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
  }
  std::vector<int> masters_;
  std::vector<double> places_;
};

void add_masses(System& s, const std::vector<int>& nodes, double mass) {
  std::vector<PointMass> masses;
  for (const int node : nodes) masses.push_back({node, mass});
  s.add(std::make_unique<PointMassBlock>("masses", masses));
}

}  // namespace

TEST_CASE("rows: bilateral rows come first; a contact of three rows has a normal and two tangential ones") {
  System s;
  const int a = add_point(s, 0, 0, 1, "a"), b = add_point(s, 1, 0, 2, "b");
  s.add(std::make_unique<RoughFloor>(std::vector<int>{a, b}));
  s.add(std::make_unique<CoincidenceBlock>("pin", std::vector<Coincidence>{{"pin", a, -1, Vec3::Zero(), Vec3(0, 0, 1)}},
                                           false));
  add_masses(s, {a, b}, 2);
  s.finalize();
  REQUIRE(s.bilateral() == 3);
  REQUIRE(s.conditional() == 6);
  for (int row = 0; row < 3; ++row) CHECK(s.row_kind(row) == RowKind::bilateral);
  for (int i = 0; i < 2; ++i) {
    CHECK(s.row_kind(3 + 3 * i) == RowKind::unilateral);
    CHECK(s.row_kind(4 + 3 * i) == RowKind::tangential);
    CHECK(s.row_kind(5 + 3 * i) == RowKind::tangential);
  }

  // a selection: forces of the selected kinds only
  const Vector multipliers{0, 0, 0, 5, 7, 11, 0, 0, 0};
  const auto force = [&](RowSelection rows) {
    Vector f(6, 0.0);
    s.add_reactions(s.initial_configuration(), 0, multipliers, rows, f);
    return f;
  };
  CHECK(force(unilateral_rows) == Vector{0, 0, 5, 0, 0, 0});
  CHECK(force(RowKind::tangential) == Vector{7, 11, 0, 0, 0, 0});
  CHECK(force(all_rows) == Vector{7, 11, 5, 0, 0, 0});
  CHECK(force(bilateral_rows) == Vector(6, 0.0));
  CHECK(position_rows.has(RowKind::unilateral));
  CHECK_FALSE(position_rows.has(RowKind::tangential));
  CHECK(all_rows.covers(conditional_rows));
  CHECK_FALSE(bilateral_rows.covers(unilateral_rows));

  // blocks without a selected kind leave their entries alone
  Vector g(9, -3.0);
  s.gaps(s.initial_configuration(), 0, bilateral_rows, g);
  for (std::size_t row = 0; row < 9; ++row) CHECK(g[row] == (row < 3 ? 0.0 : -3.0));
}

TEST_CASE("rows: only normal rows have a law by themselves") {
  System s;
  const int a = add_point(s, 0, 0, -1, "a"), b = add_point(s, 1, 0, -1, "b");
  s.add(std::make_unique<RoughFloor>(std::vector<int>{a, b}));
  add_masses(s, {a, b}, 1);
  s.finalize();
  ContactSet set;
  set.resize(s, unilateral_rows);
  const Vector c{-1, -1, -1, -1, -1, -1};
  CHECK(set.update(c, 1.0) == 2);
  REQUIRE(set.active_rows().size() == 2);
  CHECK(set.active_rows()[0] == 0);
  CHECK(set.active_rows()[1] == 3);
  set.resize(s, bilateral_rows);
  CHECK(set.flags().empty());
}

TEST_CASE("rows: a block reads the state at the start of the step") {
  System s;
  const int a = add_point(s, 1, 2, 2, "a");
  s.add(std::make_unique<StartRow>(a));
  add_masses(s, {a}, 1);
  s.finalize();
  const Vector q{1.5, 2, 2}, q_n{1, 2, 2}, v_n{0, 0, 0}, v{1, 1, 0};
  const StepStart start{q_n.data(), v_n.data(), 0.5};
  Vector g(1), rate(1), f(3, 0.0);
  s.gaps(q, 0, all_rows, g, &start);
  s.rates(q, v, 0, all_rows, rate, &start);
  s.add_reactions(q, 0, Vector{2}, all_rows, f, &start);
  SparseRow G;
  s.row_gradient(0, q, 0, nullptr, G, &start);
  CHECK(g[0] == 0.5);
  CHECK(rate[0] == 3.0);
  CHECK(s.row_gap(0, q, 0, &start) == 0.5);
  CHECK(s.row_rate(0, q, v, 0, &start) == 3.0);
  CHECK(f == Vector{2, 4, 4});
  CHECK(G.value == Vector{1, 2, 2});
}

TEST_CASE("rows: finished pairs of gradient and direction solve the unsymmetric system") {
  // M dx - F^T ds = -r, G dx = -c with M = m 1 and two rows of different directions
  System s;
  const int a = add_point(s, 0, 0, 1, "a");
  s.add(std::make_unique<RoughFloor>(std::vector<int>{a}));
  const double m = 2;
  add_masses(s, {a}, m);
  s.finalize();
  SaddlePoint saddle;
  saddle.analyse(s, {true, true});
  Linearisation request;
  request.c_M = 1;
  request.q_M = request.q = s.initial_configuration().data();
  REQUIRE(saddle.factorise(request));
  const std::vector<SparseRow> G{{{0, 1, 2}, {0, 0, 1}}, {{0, 1, 2}, {1, 0, 0}}},
      F{{{0, 1, 2}, {0.3, 0.1, 1}}, {{0, 1, 2}, {1, 0.2, -0.1}}};
  const std::vector<int> rows{0, 1};
  saddle.set_active(rows, G, F);
  const Vector r{1, -2, 0.5}, c{0.25, -0.75};
  Vector dx(3), none, ds(2);
  REQUIRE(saddle.solve(r, none, c, dx, none, ds));
  for (std::size_t e = 0; e < 3; ++e)
    CHECK(m * dx[e] - F[0].value[e] * ds[0] - F[1].value[e] * ds[1] == doctest::Approx(-r[e]).epsilon(1e-14));
  CHECK(dx[2] == doctest::Approx(-c[0]).epsilon(1e-14));
  CHECK(dx[0] == doctest::Approx(-c[1]).epsilon(1e-14));

  // the same rows with F = G are those that the system computes by itself
  Vector own(3), own_ds(2);
  saddle.set_active(rows, G, G);
  REQUIRE(saddle.solve(r, none, c, dx, none, ds));
  saddle.set_active(rows, s.initial_configuration(), 0, nullptr);
  REQUIRE(saddle.solve(r, none, c, own, none, own_ds));
  CHECK(dx == own);
  CHECK(ds == own_ds);
}

TEST_CASE("rows: a slave point changes its master and keeps its row") {
  System s;
  const std::vector<int> masters{add_point(s, 0, 0, 0, "m0"), add_point(s, 1, 0, 0, "m1"), add_point(s, 2, 0, 0, "m2")};
  const int bead = add_point(s, 0.1, 0, 0.5, "bead");
  s.add(std::make_unique<NearestMaster>(bead, masters, std::vector<double>{0, 1, 2}));
  std::vector<int> all = masters;
  all.push_back(bead);
  add_masses(s, all, 1);
  s.finalize();
  REQUIRE(s.rows() == 1);

  Vector q = s.initial_configuration();
  const Vector v(12, 0.0);
  SparseRow G;
  for (const double x : {0.1, 1.2, 1.9, 0.9, -0.3}) {
    q[9] = x;
    s.find_candidates(q, v, 0, 0.1);
    const int nearest = x < 0.5 ? 0 : x < 1.5 ? 1 : 2;
    CHECK(s.rows() == 1);
    CHECK(s.row_name(0) == "bead");
    CHECK(s.row_gap(0, q, 0) == doctest::Approx(std::hypot(x - nearest, 0.5) - 0.1).epsilon(1e-14));
    s.row_gradient(0, q, 0, nullptr, G);
    REQUIRE(G.equation.size() == 6);
    CHECK(G.equation[0] == s.dofs().equation(bead, 0));
    CHECK(G.equation[3] == s.dofs().equation(masters[at(nearest)], 0));
    // the force acts on the two nodes, and on no other
    Vector f(12, 0.0);
    s.add_reactions(q, 0, Vector{1}, all_rows, f);
    for (int k = 0; k < 3; ++k)
      for (int c = 0; c < 3; ++c) CHECK((f[at(3 * k + c)] == 0 || k == nearest));

    // the part of D(G^T s) between nodes that the pattern does not couple is left out, and counted
    CHECK(s.left_out() == (nearest == 0 ? 0 : 18));
    Linearisation request;
    request.c_s = 1;
    request.q_M = request.q = q.data();
    const Vector one{1};
    request.s = one.data();
    Vector values(at(s.saddle_pattern().nonzeros()));
    s.assemble(request, values);
    const int e = s.dofs().equation(bead, 1);
    // D(G^T s) across the line of centres is 1/distance
    CHECK(values[at(s.saddle_pattern().find(e, e))] ==
          doctest::Approx(-1 / std::hypot(x - nearest, 0.5)).epsilon(1e-13));
  }
}
