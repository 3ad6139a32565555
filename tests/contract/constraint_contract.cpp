#include "tests/contract/constraint_contract.hpp"

#include <doctest/doctest.h>

#include "core/mechanics/body_point.hpp"
#include "tests/support/counting_allocator.hpp"

namespace carom::test {

namespace {

constexpr int states = 4;
constexpr double derivative_tolerance = 1e-9, rounding = 1e-12, range_tolerance = 1e-14;

/// All results of evaluate().
struct Values {
  Vector gap, rate, bias, gradient, rate_gradient;
};

class Fixture {
 public:
  explicit Fixture(const ConstraintCase& c) : random(29), place_(c.place) {
    c.build(system);
    system.finalize();
    REQUIRE(system.constraints().size() == 1);
    REQUIRE(system.elements().empty());
    REQUIRE(system.dofs().nodes() > 0);
  }

  const ConstraintBlock& block() const { return *system.constraints().front(); }
  const Topology& topology() const { return block().topology(); }
  const ConstraintTraits& traits() const { return block().traits(); }
  int items() const { return topology().items; }
  int rows() const { return block().rows(); }
  std::size_t m() const { return at(topology().local_size); }
  Range all() const { return {0, items()}; }
  Motion motion() {
    Motion s = random_motion(system, random);
    if (place_) place_(system, random, s);
    return s;
  }
  Vector multipliers() { return random.normals(items() * rows()); }
  Vector local(const Vector& global) const { return gathered(system, topology(), global); }

  Values evaluate(const Vector& q, const Vector& v, double t) const {
    const std::size_t n = at(items() * rows());
    Values values{Vector(n), Vector(n), Vector(n), Vector(n * m()), Vector(n * m())};
    const Vector v_local = local(v);
    block().evaluate(all(), {q.data(), v_local.data(), t},
                     {values.gap.data(), values.rate.data(), values.bias.data(), values.gradient.data(),
                      values.rate_gradient.data()});
    return values;
  }
  Vector gap(const Vector& q, double t, const StepStart* start = nullptr) const {
    Vector g(at(items() * rows()));
    ConstraintValues wanted;
    wanted.gap = g.data();
    block().evaluate(all(), {q.data(), nullptr, t, start}, wanted);
    return g;
  }
  Vector gap_gradient(const Vector& q, double t, const StepStart& start) const {
    Vector G(at(items() * rows()) * m());
    ConstraintValues wanted;
    wanted.gap_gradient = G.data();
    block().evaluate(all(), {q.data(), nullptr, t, &start}, wanted);
    return G;
  }
  bool tangential(int row) const { return friction_rows.has(block().row_kind(row % rows())); }
  /// Of values per row, those of rows of friction.
  void drop_tangential(Matrix& values) const {
    for (int row = 0; row < items() * rows(); ++row)
      if (tangential(row)) values.row(row).setZero();
  }
  Vector rate(const Vector& q, const Vector& v, double t) const {
    Vector rates(at(items() * rows()));
    const Vector v_local = local(v);
    ConstraintValues wanted;
    wanted.rate = rates.data();
    block().evaluate(all(), {q.data(), v_local.data(), t}, wanted);
    return rates;
  }
  Vector reaction(const Vector& q, double t, const Vector& s) const {
    Vector f(at(items()) * m(), 0.0);
    block().add_reaction(all(), {q.data(), nullptr, t}, s.data(), f.data());
    return f;
  }
  Vector reaction_gradient(const Vector& q, double t, const Vector& s, double c) const {
    Vector A(at(items()) * m() * m(), 0.0);
    block().add_reaction_gradient(all(), {q.data(), nullptr, t}, s.data(), c, A.data());
    return A;
  }
  Matrix spread_rows(const Vector& G) const { return spread(system, topology(), G, rows()); }
  Matrix without_surplus(Matrix D) const {
    drop_surplus(equations_of(system, topology()), D);
    return D;
  }

  System system;
  Random random;

 private:
  std::function<void(const System&, Random&, Motion&)> place_;
};

template <class Check>
void at_random_states(const ConstraintCase& c, const Check& check) {
  INFO("constraint: " << c.name);
  Fixture f(c);
  for (int i = 0; i < states; ++i) check(f, f.motion());
}

}  // namespace

void check_gradient(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Matrix D = configuration_gradient(f.system, s.q, [&](const Vector& q) { return f.gap(q, s.t); });
    Matrix G = f.spread_rows(f.evaluate(s.q, s.v, s.t).gradient);
    f.drop_tangential(G);
    CHECK(relative_error(G, D) < derivative_tolerance);
  });
}

// Of rows of friction: of the slip displacement since the start of the step.
void check_gap_gradient(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    if (!friction_rows.has(f.block().row_kind(f.rows() - 1))) return;
    const double h = 0.07;
    const Vector q_n = moved(f.system, s.q, s.v, -h);
    const StepStart start{q_n.data(), s.v.data(), s.t - h};
    const Matrix D = configuration_gradient(f.system, s.q, [&](const Vector& q) { return f.gap(q, s.t, &start); });
    CHECK(relative_error(f.spread_rows(f.gap_gradient(s.q, s.t, start)), D) < derivative_tolerance);
  });
}

// rate = G v + g_t, and rate is the derivative of the gap along the motion.
void check_rate(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Values values = f.evaluate(s.q, s.v, s.t);
    Matrix g_t = column(derivative([&](double e) { return f.gap(s.q, s.t + e); }));
    const double scale = largest(s.v);
    const Vector at_rest = f.rate(s.q, Vector(s.v.size(), 0.0), s.t);
    for (int row = 0; row < f.items() * f.rows(); ++row)
      if (f.tangential(row)) g_t(row, 0) = at_rest[at(row)];
    CHECK(relative_error(column(values.rate), f.spread_rows(values.gradient) * column(s.v) + g_t, scale) <
          derivative_tolerance);
    // slip displacements count from the start of the step
    const StepStart start{s.q.data(), s.v.data(), s.t};
    const Vector along = derivative([&](double e) { return f.gap(moved(f.system, s.q, s.v, e), s.t + e, &start); });
    CHECK(relative_error(values.rate, along, scale) < derivative_tolerance);
  });
}

// bias is the derivative of the rate along the motion with constant velocity (translations inertial, rotations in the
// body).
void check_bias(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Vector along = derivative([&](double e) { return f.rate(moved(f.system, s.q, s.v, e), s.v, s.t + e); });
    CHECK(relative_error(f.evaluate(s.q, s.v, s.t).bias, along, largest(s.v)) < derivative_tolerance);
  });
}

void check_rate_gradient(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Matrix D = configuration_gradient(f.system, s.q, [&](const Vector& q) { return f.rate(q, s.v, s.t); });
    CHECK(relative_error(f.spread_rows(f.evaluate(s.q, s.v, s.t).rate_gradient), D, largest(s.v)) <
          derivative_tolerance);
  });
}

void check_reaction(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Vector multipliers = f.multipliers(), reaction = f.reaction(s.q, s.t, multipliers),
                 gradient = f.evaluate(s.q, s.v, s.t).gradient;
    // item by item: G^T s
    Vector expected(reaction.size(), 0.0);
    for (int item = 0; item < f.items(); ++item)
      for (int r = 0; r < f.rows(); ++r)
        for (std::size_t k = 0; k < f.m(); ++k)
          expected[at(item) * f.m() + k] +=
              gradient[at(item * f.rows() + r) * f.m() + k] * multipliers[at(item * f.rows() + r)];
    CHECK(relative_error(f.without_surplus(column(reaction)), f.without_surplus(column(expected))) < rounding);
  });
}

void check_reaction_gradient(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Vector multipliers = f.multipliers();
    const Matrix D = f.without_surplus(
        configuration_gradient(f.system, s.q, [&](const Vector& q) { return f.reaction(q, s.t, multipliers); }));
    const Matrix A = f.without_surplus(
        spread(f.system, f.topology(), f.reaction_gradient(s.q, s.t, multipliers, -1.7), f.topology().local_size));
    CHECK(relative_error(A, -1.7 * D, largest(multipliers)) < derivative_tolerance);
  });
}

// linear: G is constant, so neither the reaction nor G v + g_t changes with q. Not moving: g does not depend on t, and
// the rate at rest is zero to the last bit, so callers may skip g_t.
void check_constraint_traits(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Motion other = f.motion();
    const Vector multipliers = f.multipliers();
    const Values here = f.evaluate(s.q, s.v, s.t);
    if (f.traits().linear) {
      CHECK(relative_error(f.spread_rows(here.gradient),
                           f.spread_rows(f.evaluate(other.q, other.v, other.t).gradient)) < rounding);
      CHECK(largest(f.spread_rows(here.rate_gradient)) < rounding);
      const Vector A = f.reaction_gradient(s.q, s.t, f.multipliers(), 1);
      CHECK(largest(f.without_surplus(spread(f.system, f.topology(), A, f.topology().local_size))) < rounding);
    }
    if (!f.traits().moving) {
      const Vector rest(s.v.size(), 0.0);
      CHECK(largest(f.rate(s.q, rest, s.t)) == 0);
      CHECK(f.gap(s.q, s.t) == f.gap(s.q, other.t));
      CHECK(f.rate(s.q, s.v, s.t) == f.rate(s.q, s.v, other.t));
      CHECK(f.reaction(s.q, s.t, multipliers) == f.reaction(s.q, other.t, multipliers));
      CHECK(largest(f.evaluate(s.q, rest, s.t).bias) == 0);
    }
    // System::driven() is true if a bilateral block is moving
    CHECK(f.system.driven() == (f.traits().moving && (f.traits().kind == RowKind::bilateral)));
    for (int item = 0; item < f.items(); ++item)
      for (int row = 0; row < f.rows(); ++row) {
        const ContactParameters law = f.block().law(item, row);
        CHECK(law.restitution >= 0);
        CHECK(law.restitution <= 1);
        if (f.traits().kind == RowKind::bilateral) CHECK(law.restitution == 0);
        CHECK_FALSE(f.block().item_name(item).empty());
      }
  });
}

// A zero multiplier adds nothing and does not affect the next item.
void check_zero_multipliers(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const std::size_t rows = at(f.rows());
    Vector zero(at(f.items()) * rows, 0.0);
    CHECK(largest(f.reaction(s.q, s.t, zero)) == 0);
    CHECK(largest(f.reaction_gradient(s.q, s.t, zero, 1)) == 0);
    const Vector full = f.multipliers(), reaction = f.reaction(s.q, s.t, full),
                 gradient = f.reaction_gradient(s.q, s.t, full, 1);
    for (int item = 0; item < f.items(); ++item) {
      Vector one = zero;
      std::copy_n(full.begin() + item * f.rows(), f.rows(), one.begin() + item * f.rows());
      Vector expected(reaction.size(), 0.0), expected_gradient(gradient.size(), 0.0);
      const auto start = static_cast<std::ptrdiff_t>(at(item) * f.m()), m = static_cast<std::ptrdiff_t>(f.m());
      std::copy_n(reaction.begin() + start, m, expected.begin() + start);
      std::copy_n(gradient.begin() + start * m, m * m, expected_gradient.begin() + start * m);
      CHECK(relative_error(f.reaction(s.q, s.t, one), expected) < range_tolerance);
      CHECK(relative_error(f.reaction_gradient(s.q, s.t, one, 1), expected_gradient) < range_tolerance);
    }
  });
}

// A unit multiplier acts like a unit force along place().normal at place().point on the last slot's node; for contacts,
// also like the opposite force on the first slot's node. If a joint acts by moments, normal is the direction of the
// moment on the last node. Rows of resistance act by moments, multiplied by their lever.
void check_place(const ConstraintCase& c) {
  if (c.reaction == Reaction::none) return;
  at_random_states(c, [&](Fixture& f, const Motion& s) {
    const Vector v_local = f.local(s.v);
    const std::vector<int> equations = equations_of(f.system, f.topology());
    const int slots = static_cast<int>(f.topology().slots.size());
    for (int item = 0; item < f.items(); ++item)
      for (int row = 0; row < f.rows(); ++row) {
        const ConstraintBlock::Place place =
            f.block().place(item, row, {s.q.data(), v_local.data() + at(item) * f.m(), s.t});
        CHECK(place.normal.norm() == doctest::Approx(1).epsilon(rounding));
        Vector unit(at(f.items() * f.rows()), 0.0);
        unit[at(item * f.rows() + row)] = 1;
        const Vector reaction = f.reaction(s.q, s.t, unit);
        const int first = c.reaction == Reaction::contact ? 0 : slots - 1;
        for (int slot = first; slot < slots; ++slot) {
          const int node = f.topology().node(item, slot);
          if (node < 0) continue;
          const Vec3 normal = (slot == slots - 1 ? 1.0 : -1.0) * place.normal;
          const NodeKind kind = f.system.dofs().kind(node);
          const double* x = s.q.data() + f.system.dofs().configuration_offset(node);
          const PointState p = point_state(x, kind, Vec3::Zero());
          Vec3 force = normal, torque = (place.point - p.x).cross(normal);
          if (c.reaction == Reaction::moment) {
            force.setZero();
            torque = normal;
          }
          if (const double lever = f.block().law(item, row).lever; lever > 0) {
            force.setZero();
            torque = lever * normal;
          }
          ColumnVector expected(6);
          expected << force, p.R.transpose() * torque;
          const std::size_t start = at(item) * f.m() + 6 * at(slot);
          for (int k = 0; k < 6; ++k)
            if (equations[start + at(k)] >= 0) CHECK(std::abs(reaction[start + at(k)] - expected[k]) < 1e-11);
        }
      }
  });
}

void check_distance(const ConstraintCase& c) {
  if (!c.distance) return;
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Vector G = f.evaluate(s.q, s.v, s.t).gradient;
    for (int item = 0; item < f.items(); ++item)
      CHECK(Vec3(G.data() + at(item * f.rows()) * f.m()).norm() == doctest::Approx(1).epsilon(rounding));
  });
}

void check_constraint_ranges(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const std::size_t m = f.m(), rows = at(f.rows());
    const Vector v = f.local(s.v), multipliers = f.multipliers();
    const Values all = f.evaluate(s.q, s.v, s.t);
    const Vector reaction = f.reaction(s.q, s.t, multipliers), A = f.reaction_gradient(s.q, s.t, multipliers, 0.6);
    for (int first = 0; first < f.items(); ++first)
      for (int last = first + 1; last <= f.items(); ++last) {
        const std::size_t n = at(last - first) * rows, row = at(first) * rows, start = at(first) * m,
                          count = at(last - first) * m;
        const ConstraintInput in{s.q.data(), v.data() + start, s.t};
        Vector gap(n), rate(n), bias(n), G(n * m), D(n * m), part(count, 0.0), part_A(count * m, 0.0);
        f.block().evaluate({first, last}, in, {gap.data(), rate.data(), bias.data(), G.data(), D.data()});
        CHECK(relative_error(gap, slice(all.gap, row, n)) < range_tolerance);
        CHECK(relative_error(rate, slice(all.rate, row, n)) < range_tolerance);
        CHECK(relative_error(bias, slice(all.bias, row, n)) < range_tolerance);
        CHECK(relative_error(G, slice(all.gradient, row * m, n * m)) < range_tolerance);
        CHECK(relative_error(D, slice(all.rate_gradient, row * m, n * m)) < range_tolerance);
        f.block().add_reaction({first, last}, in, multipliers.data() + row, part.data());
        CHECK(relative_error(part, slice(reaction, start, count)) < range_tolerance);
        f.block().add_reaction_gradient({first, last}, in, multipliers.data() + row, 0.6, part_A.data());
        CHECK(relative_error(part_A, slice(A, start * m, count * m)) < range_tolerance);
      }
  });
}

// evaluate() overwrites its outputs; reactions and their gradients are added.
void check_constraint_accumulation(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Vector multipliers = f.multipliers();
    const int n = f.items() * f.topology().local_size;
    const auto check_added = [](const Vector& before, const Vector& after, const Vector& added) {
      CHECK(relative_error(column(after) - column(before), column(added), 1) < rounding);
    };
    const Vector start = f.random.normals(n);
    Vector y = start;
    f.block().add_reaction(f.all(), {s.q.data(), nullptr, s.t}, multipliers.data(), y.data());
    check_added(start, y, f.reaction(s.q, s.t, multipliers));
    const Vector A_start = f.random.normals(n * f.topology().local_size);
    Vector A = A_start;
    f.block().add_reaction_gradient(f.all(), {s.q.data(), nullptr, s.t}, multipliers.data(), 2.2, A.data());
    check_added(A_start, A, f.reaction_gradient(s.q, s.t, multipliers, 2.2));

    const Values expected = f.evaluate(s.q, s.v, s.t);
    Values filled = expected;
    for (Vector* x : {&filled.gap, &filled.rate, &filled.bias, &filled.gradient, &filled.rate_gradient})
      std::fill(x->begin(), x->end(), 1e9);
    const Vector v_local = f.local(s.v);
    f.block().evaluate(f.all(), {s.q.data(), v_local.data(), s.t},
                       {filled.gap.data(), filled.rate.data(), filled.bias.data(), filled.gradient.data(),
                        filled.rate_gradient.data()});
    CHECK(filled.gap == expected.gap);
    CHECK(filled.rate == expected.rate);
    CHECK(filled.bias == expected.bias);
    CHECK(filled.gradient == expected.gradient);
    CHECK(filled.rate_gradient == expected.rate_gradient);
  });
}

// Each value can be requested separately; gap and gradient without velocities.
void check_single_values(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Values all = f.evaluate(s.q, s.v, s.t);
    const Vector v_local = f.local(s.v);
    const auto alone = [&](double* ConstraintValues::*which, const Vector& expected, const double* v) {
      Vector x(expected.size());
      ConstraintValues wanted;
      wanted.*which = x.data();
      f.block().evaluate(f.all(), {s.q.data(), v, s.t}, wanted);
      CHECK(relative_error(x, expected) < rounding);
    };
    alone(&ConstraintValues::gap, all.gap, nullptr);
    alone(&ConstraintValues::gradient, all.gradient, nullptr);
    alone(&ConstraintValues::rate, all.rate, v_local.data());
    alone(&ConstraintValues::bias, all.bias, v_local.data());
    alone(&ConstraintValues::rate_gradient, all.rate_gradient, v_local.data());
  });
}

void check_constraint_no_allocation(const ConstraintCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Vector multipliers = f.multipliers(), v_local = f.local(s.v);
    Values values = f.evaluate(s.q, s.v, s.t);
    Vector y(v_local.size()), A(v_local.size() * f.m());
    const ConstraintInput in{s.q.data(), v_local.data(), s.t};
    const AllocationCount count;
    f.block().evaluate(f.all(), in,
                       {values.gap.data(), values.rate.data(), values.bias.data(), values.gradient.data(),
                        values.rate_gradient.data()});
    f.block().add_reaction(f.all(), in, multipliers.data(), y.data());
    f.block().add_reaction_gradient(f.all(), in, multipliers.data(), 1, A.data());
    const ConstraintBlock::Place place = f.block().place(0, 0, in);
    const long allocations = count.value();
    CHECK(allocations == 0);
    CHECK(place.normal.allFinite());
  });
}

}  // namespace carom::test
