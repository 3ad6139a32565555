#include "tests/contract/element_contract.hpp"

#include <doctest/doctest.h>

#include "core/mechanics/body_point.hpp"
#include "tests/contract/differences.hpp"
#include "tests/support/counting_allocator.hpp"

namespace carom::test {

namespace {

constexpr int states = 4;
constexpr double derivative_tolerance = 1e-9, rounding = 1e-12, range_tolerance = 1e-14;

class Fixture {
 public:
  explicit Fixture(const ElementCase& c) : random(17), place_(c.place) {
    c.build(system);
    system.finalize();
    REQUIRE(system.elements().size() == 1);
    REQUIRE(system.constraints().empty());
    REQUIRE(system.dofs().nodes() > 0);
  }

  const ElementBlock& block() const { return *system.elements().front(); }
  const Topology& topology() const { return block().topology(); }
  const BlockTraits& traits() const { return block().traits(); }
  int items() const { return topology().items; }
  std::size_t m() const { return at(topology().local_size); }
  Range all() const { return {0, items()}; }
  Motion motion() {
    if (!place_) return random_motion(system, random);
    Motion m = random_motion(system, random, 0);
    place_(system, random, m);
    return m;
  }
  Vector local(const Vector& global) const { return gathered(system, topology(), global); }

  // Local results of the whole block. Velocities are passed only to blocks that depend on velocities.
  Vector forces(const Vector& q, const Vector& v, double t, unsigned parts = force_all) const {
    Vector f(at(items()) * m(), 0.0);
    const Vector v_local = local(v);
    block().add_forces(all(), {q.data(), traits().velocity_dependent ? v_local.data() : nullptr, t}, parts, f.data());
    return f;
  }
  Vector mass_times(const Vector& q, const Vector& a, MassKind kind = MassKind::consistent) const {
    Vector f(at(items()) * m(), 0.0);
    const Vector a_local = local(a);
    block().add_mass_times(all(), {q.data(), nullptr, 0}, a_local.data(), kind, f.data());
    return f;
  }
  Vector tangent(const Motion& s, double c_M, double c_C, double c_K, const Vector* a = nullptr,
                 MassKind kind = MassKind::consistent) const {
    Vector A(at(items()) * m() * m(), 0.0);
    const Vector v_local = local(s.v), a_local = a == nullptr ? Vector() : local(*a);
    ElementTangent request{c_M, c_C, c_K, a == nullptr ? nullptr : a_local.data(), kind};
    block().add_tangent(all(), {s.q.data(), traits().velocity_dependent ? v_local.data() : nullptr, s.t}, request,
                        A.data());
    return A;
  }
  Matrix spread_tangent(const Vector& A) const {
    return without_surplus(spread(system, topology(), A, topology().local_size));
  }
  Matrix without_surplus(Matrix D) const {
    drop_surplus(equations_of(system, topology()), D);
    return D;
  }
  // Sum over the items, one entry per equation.
  Vector assembled(const Vector& f_local) const {
    const std::vector<int> equations = equations_of(system, topology());
    Vector f(at(system.size()), 0.0);
    for (std::size_t i = 0; i < equations.size(); ++i)
      if (equations[i] >= 0) f[at(equations[i])] += f_local[i];
    return f;
  }
  Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>> item_matrix(const Vector& A, int item) const {
    const auto size = static_cast<Eigen::Index>(m());
    return {A.data() + at(item) * m() * m(), size, size};
  }
  Energies energies(const Vector& q, double t) const { return block().energies(all(), {q.data(), nullptr, t}); }

  System system;
  Random random;

 private:
  std::function<void(const System&, Random&, Motion&)> place_;
};

// Every check runs at several states; a failure message contains the name of the case.
template <class Check>
void at_random_states(const ElementCase& c, const Check& check) {
  INFO("element: " << c.name);
  Fixture f(c);
  for (int i = 0; i < states; ++i) check(f, f.motion());
}

}  // namespace

void check_stiffness_is_derivative(const ElementCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const double scale = largest(f.forces(s.q, s.v, s.t));
    const Matrix minus_Df = f.without_surplus(
        -configuration_gradient(f.system, s.q, [&](const Vector& q) { return f.forces(q, s.v, s.t); }));
    CHECK(relative_error(f.spread_tangent(f.tangent(s, 0, 0, 1)), minus_Df, scale) < derivative_tolerance);

    // with the acceleration, times a factor
    const Matrix DMa =
        f.without_surplus(configuration_gradient(f.system, s.q, [&](const Vector& q) { return f.mass_times(q, s.a); }));
    CHECK(relative_error(f.spread_tangent(f.tangent(s, 0, 0, -2.5, &s.a)), -2.5 * (DMa + minus_Df), scale) <
          derivative_tolerance);
  });
}

void check_damping_is_derivative(const ElementCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const double scale = largest(f.forces(s.q, s.v, s.t));
    const Matrix minus_df = f.without_surplus(-gradient(s.v, [&](const Vector& v) { return f.forces(s.q, v, s.t); }));
    CHECK(relative_error(f.spread_tangent(f.tangent(s, 0, -1.5, 0)), -1.5 * minus_df, scale) < derivative_tolerance);
  });
}

void check_mass_matrix(const ElementCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    for (const MassKind kind : {MassKind::consistent, MassKind::lumped}) {
      const Vector M = f.tangent(s, 1, 0, 0, nullptr, kind);
      if (!f.traits().has_mass) CHECK(largest(M) == 0);
      for (int item = 0; item < f.items(); ++item) {
        const Matrix Mi = f.item_matrix(M, item);
        CHECK(relative_error(Mi, Mi.transpose()) < rounding);
        const double lowest = Eigen::SelfAdjointEigenSolver<Matrix>(Mi).eigenvalues().minCoeff();
        CHECK(lowest >= -rounding * largest(Mi));
      }
      // M a = matrix times a
      const Matrix Ma = f.spread_tangent(M) * column(s.a);
      CHECK(relative_error(Ma, f.without_surplus(column(f.mass_times(s.q, s.a, kind)))) < rounding);
      CHECK(relative_error(column(f.tangent(s, -3, 0, 0, nullptr, kind)), -3 * column(M)) < rounding);
    }
  });
}

void check_lumped_mass(const ElementCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Vector consistent = f.tangent(s, 1, 0, 0), lumped = f.tangent(s, 1, 0, 0, nullptr, MassKind::lumped);
    // component of every local entry: 0, 1, 2 are translations
    std::vector<int> components;
    for (const Slot& slot : f.topology().slots)
      for (int k = 0; k < slot.components; ++k) components.push_back(slot.first_component + k);
    for (int item = 0; item < f.items(); ++item) {
      const Matrix M = f.item_matrix(consistent, item), L = f.item_matrix(lumped, item);
      for (int axis = 0; axis < 3; ++axis) {
        ColumnVector unit = ColumnVector::Zero(M.rows());
        for (Eigen::Index i = 0; i < M.rows(); ++i) unit[i] = components[static_cast<std::size_t>(i)] == axis ? 1 : 0;
        const double total = unit.dot(M * unit), total_lumped = unit.dot(L * unit);
        CHECK(std::abs(total - total_lumped) <= rounding * largest(M));
      }
      // translations uncouple; a matrix of scalar coordinates has no lumped form
      const int node = f.topology().node(item, 0);  // negative: the ground
      if (node >= 0 && f.system.dofs().kind(node) == NodeKind::scalar) continue;
      for (Eigen::Index i = 0; i < L.rows(); ++i)
        for (Eigen::Index j = 0; j < L.cols(); ++j)
          if (i != j && components[static_cast<std::size_t>(i)] < 3) CHECK(L(i, j) == 0);
    }
  });
}

void check_forces_from_energy(const ElementCase& c) {
  at_random_states(c, [&c](Fixture& f, const Motion& s) {
    const auto energy_gradient = [&](auto part) {
      return configuration_gradient(f.system, s.q, [&](const Vector& q) { return Vector{part(f.energies(q, s.t))}; });
    };
    const Vector internal = f.assembled(f.forces(s.q, s.v, s.t, force_internal));
    const Energies E = f.energies(s.q, s.t);
    CHECK(E.elastic >= 0);
    const Matrix slope = energy_gradient([](const Energies& e) { return e.elastic + e.potential; });
    CHECK(relative_error(column(internal).transpose(), -slope, E.elastic + std::abs(E.potential)) <
          derivative_tolerance);
    // work of loads is accounted separately: loads have no potential
    if (!c.potential) CHECK(E.potential == 0);
  });
}

void check_force_parts(const ElementCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    // forces with energies are the same
    const Vector v = f.local(s.v);
    for (const unsigned parts : {unsigned{force_internal}, force_all & ~force_internal, unsigned{force_all}}) {
      Vector both(at(f.items()) * f.m(), 0.0);
      const Energies e = f.block().add_forces_with_energies(f.all(), {s.q.data(), v.data(), s.t}, parts, both.data());
      CHECK(relative_error(both, f.forces(s.q, s.v, s.t, parts)) < rounding);
      CHECK(e.elastic == doctest::Approx(f.energies(s.q, s.t).elastic).epsilon(rounding));
      CHECK(e.potential == doctest::Approx(f.energies(s.q, s.t).potential).epsilon(rounding));
    }
    Vector sum(at(f.items()) * f.m(), 0.0);
    for (const unsigned part : {force_internal, force_damping, force_gyroscopic, force_external}) {
      const Vector one = f.forces(s.q, s.v, s.t, part);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
    }
    CHECK(relative_error(sum, f.forces(s.q, s.v, s.t, force_all)) < rounding);
    CHECK(largest(f.forces(s.q, s.v, s.t, 0)) == 0);
  });
}

void check_power(const ElementCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const auto power = [&](unsigned part) {
      const Vector force = f.assembled(f.forces(s.q, s.v, s.t, part));
      return std::pair{column(force).cwiseProduct(column(s.v)).sum(), largest(force)};
    };
    const auto [dissipated, damping] = power(force_damping);
    CHECK(dissipated <= rounding * damping);
    // gyroscopic forces give what a changing mass takes: f_gyr . v + 1/2 v . M' v = 0
    const auto [gyroscopic_power, gyroscopic] = power(force_gyroscopic);
    double mass_power = 0;
    if (!f.traits().constant_mass)
      mass_power = derivative([&](double t) {
                     const Vector momentum = f.assembled(f.mass_times(moved(f.system, s.q, s.v, t), s.v));
                     return Vector{0.5 * column(momentum).cwiseProduct(column(s.v)).sum()};
                   }).front();
    const double tolerance = f.traits().constant_mass ? rounding : derivative_tolerance;
    CHECK(std::abs(gyroscopic_power + mass_power) <= tolerance * gyroscopic * (1 + largest(s.v)));
  });
}

void check_traits(const ElementCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const BlockTraits& traits = f.traits();
    const Motion other = f.motion();
    const Vector f_s = f.forces(s.q, s.v, s.t), K = f.tangent(s, 0, 0, 1, &s.a), C = f.tangent(s, 0, 1, 0),
                 M = f.tangent(s, 1, 0, 0);

    // undeclared force parts are zero, alone and together; System has the parts of its blocks
    CHECK(largest(f.forces(s.q, s.v, s.t, force_all & ~traits.force_parts)) == 0);
    for (const unsigned part : {force_internal, force_damping, force_gyroscopic, force_external}) {
      const bool announced = (traits.force_parts & part) != 0;
      CHECK(f.system.has_forces(part) == announced);
      if (!announced) CHECK(largest(f.forces(s.q, s.v, s.t, part)) == 0);
    }
    CHECK((traits.force_parts & force_gravity) == 0);  // gravity belongs to System
    if (!traits.has_stiffness) {
      CHECK(largest(K) == 0);
      CHECK(relative_error(f_s, f.forces(other.q, s.v, s.t)) < rounding);
    }
    // blocks that do not depend on velocities do not get velocities
    if (!traits.velocity_dependent) CHECK(largest(C) == 0);
    if (!traits.has_mass) {
      CHECK(largest(M) == 0);
      CHECK(largest(f.mass_times(s.q, s.a)) == 0);
    }
    if (traits.constant_mass) CHECK(relative_error(M, f.tangent(other, 1, 0, 0)) < rounding);
    if (traits.linear) {
      CHECK(relative_error(K, f.tangent(other, 0, 0, 1, &other.a)) < rounding);
      CHECK(relative_error(C, f.tangent(other, 0, 1, 0)) < rounding);
      CHECK(relative_error(M, f.tangent(other, 1, 0, 0)) < rounding);
    }
    if (traits.symmetric)
      for (int item = 0; item < f.items(); ++item) {
        const Matrix K_i = f.item_matrix(K, item), C_i = f.item_matrix(C, item);
        CHECK(relative_error(K_i, K_i.transpose()) < rounding);
        CHECK(relative_error(C_i, C_i.transpose()) < rounding);
      }
  });
}

// Equal only up to rounding, because a compiler may contract a b + c d differently in the vectorised part and in the
// remainder of a loop.
void check_ranges(const ElementCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const std::size_t m = f.m();
    const Vector v = f.local(s.v), a = f.local(s.a);
    const Vector forces = f.forces(s.q, s.v, s.t), Ma = f.mass_times(s.q, s.a),
                 lumped = f.mass_times(s.q, s.a, MassKind::lumped), tangent = f.tangent(s, 1.1, 1.2, 1.3, &s.a);
    Energies sum;
    for (int first = 0; first < f.items(); ++first) {
      for (int last = first + 1; last <= f.items(); ++last) {
        const std::size_t start = at(first) * m, count = at(last - first) * m;
        const ElementInput in{s.q.data(), f.traits().velocity_dependent ? v.data() + start : nullptr, s.t};
        Vector part(count, 0.0), A(count * m, 0.0);
        f.block().add_forces({first, last}, in, force_all, part.data());
        CHECK(relative_error(part, slice(forces, start, count)) < range_tolerance);
        for (const MassKind kind : {MassKind::consistent, MassKind::lumped}) {
          std::fill(part.begin(), part.end(), 0.0);
          f.block().add_mass_times({first, last}, in, a.data() + start, kind, part.data());
          CHECK(relative_error(part, slice(kind == MassKind::consistent ? Ma : lumped, start, count)) <
                range_tolerance);
        }
        f.block().add_tangent({first, last}, in, {1.1, 1.2, 1.3, a.data() + start, MassKind::consistent}, A.data());
        CHECK(relative_error(A, slice(tangent, start * m, count * m)) < range_tolerance);
      }
      const Energies e = f.block().energies({first, first + 1}, {s.q.data(), nullptr, s.t});
      sum.elastic += e.elastic;
      sum.potential += e.potential;
    }
    const Energies whole = f.energies(s.q, s.t);
    CHECK(sum.elastic == doctest::Approx(whole.elastic).epsilon(rounding));
    CHECK(sum.potential == doctest::Approx(whole.potential).epsilon(rounding));

    // output fields
    for (const OutputField& field : f.block().output_fields()) {
      const std::size_t n = static_cast<std::size_t>(field.components) * (field.nodal ? f.topology().slots.size() : 1);
      Vector values(at(f.items()) * n, 1e300), one(n);
      f.block().output(field.name, f.all(), {s.q.data(), v.data(), s.t}, values.data());
      for (int item = 0; item < f.items(); ++item) {
        f.block().output(field.name, {item, item + 1}, {s.q.data(), v.data() + at(item) * m, s.t}, one.data());
        CHECK(relative_error(one, slice(values, at(item) * n, n)) < range_tolerance);
        CHECK(largest(one) < 1e200);
      }
    }
  });
}

void check_accumulation(const ElementCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Vector v = f.local(s.v), a = f.local(s.a);
    const ElementInput in{s.q.data(), v.data(), s.t};
    const int n = static_cast<int>(v.size());
    const auto check_added = [](const Vector& before, const Vector& after, const Vector& added) {
      CHECK(relative_error(column(after) - column(before), column(added), 1) < rounding);
    };
    const Vector start = f.random.normals(n);
    Vector y = start;
    f.block().add_forces(f.all(), in, force_all, y.data());
    check_added(start, y, f.forces(s.q, s.v, s.t));
    y = start;
    f.block().add_mass_times(f.all(), in, a.data(), MassKind::consistent, y.data());
    check_added(start, y, f.mass_times(s.q, s.a));

    // matrices; the parts of a request add up
    const Vector A_start = f.random.normals(n * f.topology().local_size);
    Vector A = A_start;
    f.block().add_tangent(f.all(), in, {0.7, -0.4, 1.9, a.data(), MassKind::consistent}, A.data());
    const Vector M = f.tangent(s, 0.7, 0, 0), C = f.tangent(s, 0, -0.4, 0), K = f.tangent(s, 0, 0, 1.9, &s.a);
    Vector sum(A.size());
    for (std::size_t i = 0; i < A.size(); ++i) sum[i] = M[i] + C[i] + K[i];
    check_added(A_start, A, sum);
  });
}

// Superposed rigid motion x -> Q x + c, R -> Q R: forces rotate with Q, torques (body axes) and energy do not change;
// internal and damping forces do no work in a rigid velocity.
void check_objectivity(const ElementCase& c) {
  if (!c.free) return;
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const DofMap& dofs = f.system.dofs();
    // the quaternions of a state turn continuously: keep angles beyond half a turn
    const Quaternion turn = f.random.rotation();
    const Mat3 Q = so3::quaternion_to_matrix(turn);
    const Vec3 shift = f.random.vector(), velocity = f.random.vector(), omega = f.random.vector();
    Motion turned = s;
    Vector rigid(s.v.size(), 0.0);
    const auto translation = [&](Vector& x, int node) { return Eigen::Map<Vec3>(x.data() + dofs.equation(node, 0)); };
    for (int node = 0; node < dofs.nodes(); ++node) {
      Eigen::Map<Vec3> x(turned.q.data() + dofs.configuration_offset(node));
      const Vec3 x_old = x;
      x = Q * x_old + shift;
      translation(turned.v, node) = (Q * translation(turned.v, node)).eval();
      translation(rigid, node) = velocity + omega.cross(x_old);
      if (dofs.kind(node) != NodeKind::frame) continue;
      Eigen::Map<Quaternion> p(turned.q.data() + dofs.configuration_offset(node) + 3);
      const Mat3 R = so3::quaternion_to_matrix(Quaternion(p));
      p = so3::quaternion_product(turn, Quaternion(p));
      Eigen::Map<Vec3>(rigid.data() + dofs.equation(node, 3)) = R.transpose() * omega;
    }
    for (const unsigned part : {force_internal, force_damping, force_gyroscopic}) {
      Vector expected = f.assembled(f.forces(s.q, s.v, s.t, part));
      const Vector before = expected;
      for (int node = 0; node < dofs.nodes(); ++node)
        translation(expected, node) = (Q * translation(expected, node)).eval();
      CHECK(relative_error(f.assembled(f.forces(turned.q, turned.v, s.t, part)), expected) < rounding);
      if (part != force_gyroscopic)
        CHECK(std::abs(column(before).cwiseProduct(column(rigid)).sum()) <=
              rounding * largest(before) * (1 + largest(rigid)) * 10);
    }
    CHECK(f.energies(turned.q, s.t).elastic == doctest::Approx(f.energies(s.q, s.t).elastic).epsilon(rounding));
  });
}

void check_no_allocation(const ElementCase& c) {
  at_random_states(c, [](Fixture& f, const Motion& s) {
    const Vector v = f.local(s.v), a = f.local(s.a);
    Vector y(v.size()), A(v.size() * f.m());
    const ElementInput in{s.q.data(), v.data(), s.t};
    const AllocationCount count;
    f.block().add_forces(f.all(), in, force_all, y.data());
    f.block().add_mass_times(f.all(), in, a.data(), MassKind::consistent, y.data());
    f.block().add_mass_times(f.all(), in, a.data(), MassKind::lumped, y.data());
    f.block().add_tangent(f.all(), in, {1, 1, 1, a.data(), MassKind::consistent}, A.data());
    const Energies e = f.block().energies(f.all(), in);
    const long allocations = count.value();
    CHECK(allocations == 0);
    CHECK(std::isfinite(e.elastic));
  });
}

}  // namespace carom::test
