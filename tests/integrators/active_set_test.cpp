// The active set of a sub-problem and its residual: both have to be right before the sub-problem ends.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "elements/bodies/point_mass.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::SystemRun;

namespace {

// Half spaces of four coordinates: the place of a first point and x of a second one. g_i = l_i . (x, y, z, x_2) + b_i.
class HalfSpaces final : public ConstraintBlock {
 public:
  static constexpr int count = 4;
  using Rows = std::array<std::array<double, 4>, count>;
  HalfSpaces(int a, int b, const Rows& l, const std::array<double, count>& offsets)
      : ConstraintBlock("half spaces", {count, {{0, 3}, {0, 3}}, {a, b, a, b, a, b, a, b}}, 1,
                        ConstraintTraits{.kind = RowKind::unilateral, .linear = true}),
        l_(l),
        offsets_(offsets) {}

  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override {
    for (int i = range.first, k = 0; i < range.last; ++i, ++k) {
      const double *a = configuration(in, i, 0), *b = configuration(in, i, 1), *v = in.v;
      const auto& l = l_[at(i)];
      if (values.gap != nullptr)
        values.gap[k] = l[0] * a[0] + l[1] * a[1] + l[2] * a[2] + l[3] * b[0] + offsets_[at(i)];
      if (values.rate != nullptr)
        values.rate[k] = l[0] * v[6 * k] + l[1] * v[6 * k + 1] + l[2] * v[6 * k + 2] + l[3] * v[6 * k + 3];
      if (values.bias != nullptr) values.bias[k] = 0;
      for (int c = 0; c < 6; ++c) {
        if (values.gradient != nullptr) values.gradient[6 * k + c] = c < 4 ? l[at(c)] : 0;
        if (values.rate_gradient != nullptr) values.rate_gradient[6 * k + c] = 0;
      }
    }
  }
  void add_reaction(Range range, const ConstraintInput&, const double* s, double* f) const override {
    for (int i = range.first; i < range.last; ++i, ++s, f += 6)
      for (int c = 0; c < 4; ++c) f[c] += *s * l_[at(i)][at(c)];
  }
  void add_reaction_gradient(Range, const ConstraintInput&, const double*, double, double*) const override {}
  Place place(int, int, const ConstraintInput&) const override { return {}; }

 private:
  Rows l_;
  std::array<double, count> offsets_;
};

}  // namespace

// With unit masses the position correction is the linear complementarity problem c = L L^T s + b. From s = 0 the sets
// repeat themselves, {} {2 3} {0 1 2 3} {1 3} {2 3} {0 1 2 3} {1 3}, until the careful rule takes over. This rule lets
// row 1 go first, with s_1 = -1e-12. The residual is then far below its tolerance, but gap 2 is -5.5.
TEST_CASE("active set: a small residual does not end a sub-problem while another contact wants to close") {
  const HalfSpaces::Rows l = {{{2, 0, 0, 0}, {2, 1, 0, 0}, {-2, 1, 1, 0}, {0, -1, 1, 1}}};
  const double small = 1e-12;
  const std::array<double, 4> b = {2.9, 11.0 / 35 + 5 * small, -5.5, -33.0 / 35 - small};
  System system;
  const double origin[3] = {0, 0, 0};
  const int first = system.add_node(NodeKind::point, origin, "first"),
            second = system.add_node(NodeKind::point, origin, "second");
  system.add(std::make_unique<PointMassBlock>("points", std::vector<PointMass>{{first, 1.0}, {second, 1.0}}));
  system.add(std::make_unique<HalfSpaces>(first, second, l, b));
  system.finalize();
  SystemRun run(system, Vector(6, 0.0), 1.0);
  REQUIRE(run.step());

  // 0 <= gap perp nu >= 0 and q = L^T nu: by the definite L L^T there is one solution
  const Vector &q = run.state.q, &nu = run.state.nu;
  std::array<double, 4> x{};
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    const double gap = system.row_gap(i, q, run.state.t);
    CHECK(gap > -1e-9);
    CHECK(nu[at(i)] >= 0);
    CHECK(std::abs(nu[at(i)] * gap) < 1e-9);
    for (int c = 0; c < 4; ++c) x[at(c)] += nu[at(i)] * l[at(i)][at(c)];
  }
  for (int c = 0; c < 4; ++c) CHECK(std::abs(q[at(c)] - x[at(c)]) < 1e-9);
}
