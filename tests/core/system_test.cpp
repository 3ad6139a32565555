// Properties of System apart from derivatives: order and names of rows, flags, resultants, threads, memory.
#include "core/mechanics/system.hpp"

#include "tests/core/system_models.hpp"
#include "tests/support/counting_allocator.hpp"

using namespace carom;
using namespace carom::test;

TEST_CASE("system: retraction moves free components only, and rotations by the exponential map") {
  System s;
  mixed_model(s, true);
  s.finalize();
  Random random(1);
  const Motion m = random_motion(s, random);
  const Vector d = random.normals(s.size()), q = moved(s, m.q, d, 1);
  const DofMap& dofs = s.dofs();
  for (int node = 0; node < dofs.nodes(); ++node) {
    const int o = dofs.configuration_offset(node), translations = dofs.kind(node) == NodeKind::scalar ? 1 : 3;
    for (int c = 0; c < translations; ++c) {
      const int e = dofs.equation(node, c);
      CHECK(q[at(o + c)] == (e < 0 ? m.q[at(o + c)] : m.q[at(o + c)] + d[at(e)]));
    }
    if (dofs.kind(node) != NodeKind::frame) continue;
    const Mat3 before = so3::quaternion_to_matrix(Quaternion(m.q.data() + o + 3)),
               after = so3::quaternion_to_matrix(Quaternion(q.data() + o + 3));
    const int e = dofs.equation(node, 3);
    const Mat3 expected = e < 0 ? before : Mat3(before * so3::exp(Vec3(d.data() + e)));
    CHECK(largest(Matrix(after - expected)) < 1e-14);
    CHECK(Quaternion(q.data() + o + 3).norm() == doctest::Approx(1).epsilon(1e-15));
  }
  // in place
  Vector in_place(m.q);
  s.retract(in_place, d, in_place);
  CHECK(same_bits(in_place, q));
}

TEST_CASE("system: bilateral rows come first and keep their blocks' order and names") {
  System s;
  mixed_model(s, true);
  s.finalize();
  const std::vector<std::string> names = {"hinge x",      "hinge y", "hinge z", "foot point x", "foot point y",
                                          "foot point z", "cardan",  "foot",    "heel",         "top and guided"};
  REQUIRE(s.rows() == static_cast<int>(names.size()));
  for (int row = 0; row < s.rows(); ++row) CHECK(s.row_name(row) == names[at(row)]);
  for (int b = 0; b < static_cast<int>(s.constraints().size()); ++b) {
    const System::RowPlace first = s.row_place(s.first_row(b));
    CHECK(first.block == b);
    CHECK(first.item == 0);
    CHECK(first.row == 0);
    CHECK((s.first_row(b) < s.bilateral()) == (s.constraints()[at(b)]->traits().kind == RowKind::bilateral));
  }
  CHECK(s.row_place(4).item == 1);
  CHECK(s.row_place(4).row == 1);
  CHECK(s.contact_parameters(7).restitution == 0.5);
  CHECK(s.contact_parameters(8).restitution == 0.2);
  CHECK(s.contact_parameters(9).restitution == 0.9);
  CHECK(s.contact_parameters(0).restitution == 0);

  // 4 frames less 3 translations and 3 rotations, 3 points less one component, 2 scalars
  CHECK(s.size() == 4 * 6 - 6 + 9 - 1 + 2);
  CHECK(s.equation_name(0) == "free x");
  CHECK(s.equation_name(5) == "free rotation z");
  CHECK(s.equation_name(6) == "pendulum rotation x");
  CHECK(s.equation_name(s.dofs().equation(5, 2)) == "guided z");
  CHECK(s.equation_name(s.dofs().equation(8, 0)) == "u1");
  CHECK(s.dofs().equation(5, 1) == -1);
  CHECK(s.node_name(s.equation_node(6)) == "pendulum");
}

TEST_CASE("system: flags tell what the model is") {
  const auto flags = [](const auto& build, const auto& check) {
    System s;
    build(s);
    s.finalize();
    check(s);
  };
  flags([](System& s) { mixed_model(s, true); },
        [](const System& s) {
          CHECK_FALSE(s.linear());
          CHECK_FALSE(s.symmetric());
          CHECK_FALSE(s.constant_mass());
          CHECK(s.velocity_dependent());
          CHECK(s.has_massless_equation());
          CHECK(s.uses_tangent_operators());
        });
  // linear bars on points whose other components have no mass
  const auto linear_bars = [](System& s, bool guided) {
    const int a = point(s, "a"), b = point(s, "b");
    for (int n : {a, b})
      for (int c = 1; c < 3 && guided; ++c) s.fix(n, c);
    s.add(std::make_unique<LinearBarBlock>("bars", std::vector<Bar>{{a, b, 0.1, 2, 6}}, 0, MassKind::consistent));
  };
  flags([&](System& s) { linear_bars(s, true); },
        [](const System& s) {
          CHECK(s.linear());
          CHECK(s.symmetric());
          CHECK(s.constant_mass());
          CHECK_FALSE(s.velocity_dependent());
          CHECK_FALSE(s.has_massless_equation());
          CHECK_FALSE(s.uses_tangent_operators());
          CHECK(s.mean_nodal_mass() == doctest::Approx(0.2));
        });
  flags([&](System& s) { linear_bars(s, false); }, [](const System& s) { CHECK(s.has_massless_equation()); });
  // a contact with a sphere makes the constraint nonlinear, but not the smooth motion
  flags(
      [&](System& s) {
        linear_bars(s, true);
        s.add(std::make_unique<PointContactBlock>("c", std::vector<ContactPoint>{{"c", 0, Vec3::Zero(), 0, 0}},
                                                  make_sphere(Vec3::Zero(), 1, false), nullptr, false));
      },
      [](const System& s) { CHECK(s.linear()); });
  flags(
      [&](System& s) {
        const int f = frame(s, "f"), p = point(s, "p");
        s.add(std::make_unique<RigidBodyBlock>("b", std::vector<RigidBody>{{f, 1, Mat3(2 * Mat3::Identity())}}));
        s.add(std::make_unique<PointMassBlock>("m", std::vector<PointMass>{{p, 1}}));
        s.add(std::make_unique<CoincidenceBlock>("j", std::vector<Coincidence>{{"j", f, p}}, true));
      },
      [](const System& s) {
        CHECK_FALSE(s.linear());
        CHECK_FALSE(s.velocity_dependent());
        CHECK_FALSE(s.has_massless_equation());
        CHECK(s.uses_tangent_operators());
      });
}

TEST_CASE("system: gravity is the mass times the field, also where neighbours are fixed or masses vary") {
  // a bar with one fixed end: the free end carries half the weight
  System bar;
  const int a = point(bar, "a"), b = point(bar, "b");
  for (int c = 0; c < 3; ++c) bar.fix(a, c);
  bar.set_gravity({0, 0, -10});
  bar.add(std::make_unique<BarBlock>("bar", std::vector<Bar>{{a, b, 2, 1, 3}}, MassKind::consistent));
  bar.finalize();
  const Vector v(at(bar.size()), 0.0), f = forces(bar, bar.initial_configuration(), v, 0, force_gravity);
  CHECK(f[2] == doctest::Approx(-30));
  CHECK(std::abs(f[0]) == 0);

  System s;
  mixed_model(s, true);
  s.finalize();
  Random random(9);
  const Motion m = random_motion(s, random);
  Vector without = forces(s, m.q, m.v, m.t, force_external | force_gravity);
  System weightless;
  mixed_model(weightless, true);
  weightless.set_gravity(Vec3::Zero());
  weightless.finalize();
  axpy(-1, forces(weightless, m.q, m.v, m.t, force_external | force_gravity), without);
  // on the free body without coupled neighbours: M times the field
  Vector field(at(s.size()), 0.0);
  for (int c = 0; c < 3; ++c) field[at(c)] = s.gravity()[c];
  const Vector expected = mass_times(s, m.q, field);
  for (std::size_t c = 0; c < 6; ++c) CHECK(without[c] == doctest::Approx(expected[c]).epsilon(1e-12));
}

TEST_CASE("system: internal and damping forces have no resultant and no moment") {
  System s;
  free_model(s);
  s.finalize();
  Random random(10);
  const Motion m = random_motion(s, random);
  for (const unsigned part : {force_internal, force_damping}) {
    const Vector f = forces(s, m.q, m.v, m.t, part);
    Vec3 force = Vec3::Zero(), moment = Vec3::Zero();
    for (int node = 0; node < s.dofs().nodes(); ++node) {
      const double* q = m.q.data() + s.dofs().configuration_offset(node);
      const Vec3 x(q), n(f.data() + s.dofs().equation(node, 0));
      force += n;
      moment += x.cross(n);
      if (s.dofs().kind(node) == NodeKind::frame)
        moment += so3::quaternion_to_matrix(Quaternion(q + 3)) * Vec3(f.data() + s.dofs().equation(node, 3));
    }
    CHECK(force.norm() < rounding * norm(f));
    CHECK(moment.norm() < rounding * norm(f));
  }
}

TEST_CASE("system: without outside forces linear and angular momentum are conserved, and damping alone takes energy") {
  System s;
  free_model(s);
  s.finalize();
  Random random(11);
  const Motion m = random_motion(s, random);
  const Vector f = forces(s, m.q, m.v, m.t);
  const Matrix a = mass_matrix(s, m.q).ldlt().solve(column(f));
  const Vector acceleration(a.data(), a.data() + a.size());
  const auto along = [&](const auto& quantity) {
    return derivative([&](double e) { return quantity(moved(s, m.q, m.v, e), sum(m.v, e, acceleration)); });
  };
  const Vector momenta_rate = along([&](const Vector& q, const Vector& v) {
    const Momenta p = s.momenta(q, v);
    return Vector{p.linear[0], p.linear[1], p.linear[2], p.angular[0], p.angular[1], p.angular[2]};
  });
  CHECK(largest(momenta_rate) < 1e-9);
  const Vector energy_rate = along([&](const Vector& q, const Vector& v) {
    const Energies e = s.energies(q, v, 0);
    return Vector{e.kinetic + e.elastic};
  });
  CHECK(energy_rate[0] == doctest::Approx(dot(forces(s, m.q, m.v, m.t, force_damping), m.v)).epsilon(1e-9));
  CHECK(energy_rate[0] < 0);

  // in a translation the linear momentum is the total mass times the velocity
  Vector translation(at(s.size()), 0.0);
  for (int node = 0; node < s.dofs().nodes(); ++node) translation[at(s.dofs().equation(node, 1))] = 2;
  const double total = 1 + 2 + 3 + 0.7 * 1.1 + 1.2 * 0.4;
  CHECK(s.momenta(m.q, translation).linear[1] == doctest::Approx(2 * total).epsilon(1e-14));
}

TEST_CASE("system: any number of threads gives the same bits") {
  System one, two, three;
  large_model(one, 1);
  large_model(two, 2);
  large_model(three, 3);
  one.finalize();
  two.finalize();
  three.finalize();
  Random random(12);
  const Motion m = random_motion(one, random, 0);
  const Vector d = random.normals(one.size()), multipliers = random.normals(one.rows());
  TangentOperators T;
  one.tangent_operators(d, T);
  Linearisation request;
  request.c_M = 1.3;
  request.c_C = 0.7;
  request.c_K = request.c_rate = 0.9;
  request.c_s = 1.1;
  request.q_M = request.q = m.q.data();
  request.v = m.v.data();
  request.s = multipliers.data();
  request.T = &T;
  const auto results = [&](const System& s) {
    Vector lumped(at(s.size())), matrix(at(s.saddle_pattern().nonzeros()));
    s.mass_times(m.q, m.a, lumped, MassKind::lumped);
    s.assemble(request, matrix);
    Vector f(at(s.size()));
    const Energies e = s.forces_with_energies(m.q, m.v, m.t, force_all, f);
    f.push_back(e.elastic);
    f.push_back(e.potential);
    return std::array{forces(s, m.q, m.v, m.t), mass_times(s, m.q, m.a), lumped, matrix, f};
  };
  const auto expected = results(one);
  for (const System* s : {&two, &three})
    for (int repetition = 0; repetition < 3; ++repetition) {
      const auto found = results(*s);
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], expected[i]));
    }
}

TEST_CASE("system: nothing allocates after finalize") {
  for (const int threads : {1, 2}) {
    System s;
    mixed_model(s, false, threads);
    s.finalize();
    Random random(13);
    const Motion m = random_motion(s, random);
    const Vector d = random.normals(s.size()), multipliers = random.normals(s.rows());
    Vector f(at(s.size())), g(at(s.rows())), values(at(s.saddle_pattern().nonzeros())), q(m.q.size());
    TangentOperators T;
    SparseRow row;
    Linearisation request;
    request.c_M = request.c_C = request.c_K = request.c_s = request.c_rate = 1;
    request.q_M = request.q = m.q.data();
    request.v = m.v.data();
    request.s = multipliers.data();
    request.T = &T;
    long allocations = 0;
    // repeat: the first call may start threads and allocate the caller's arrays
    for (int repetition = 0; repetition < 2; ++repetition) {
      const AllocationCount count;
      s.retract(m.q, d, q);
      s.tangent_operators(d, T);
      s.forces(q, m.v, m.t, force_all, f);
      s.mass_times(q, m.a, f);
      s.gaps(q, m.t, all_rows, g);
      s.rates(q, m.v, m.t, all_rows, g);
      s.biases(q, m.v, m.t, all_rows, g);
      s.add_reactions(q, m.t, multipliers, all_rows, f);
      for (int j = 0; j < s.rows(); ++j) {
        s.row_gradient(j, q, m.t, &T, row);
        s.row_contact_place(j, q, m.v, m.t);
      }
      s.assemble(request, values);
      s.energies(q, m.v, m.t);
      s.momenta(q, m.v);
      allocations = count.value();
    }
    CHECK(allocations == 0);
  }
}

TEST_CASE("system: scales measure rotations by a length") {
  System s;
  const int f = frame(s, "f"), p = point(s, "p");
  s.fix(p, 2);
  s.add(std::make_unique<RigidBodyBlock>("b", std::vector<RigidBody>{{f, 1, Mat3(Mat3::Identity())}}));
  s.add(std::make_unique<PointMassBlock>("m", std::vector<PointMass>{{p, 1}}));
  s.add(std::make_unique<SpringDamperBlock>("s",
                                            std::vector<SpringDamper>{{f, p, Vec3::Zero(), Vec3::Zero(), 30, 0, 1}}));
  s.finalize();
  const Vector v = {1, -2, 0.5, 0, 7, 0, 1.5, 0};
  CHECK(s.speed(v, 0.1) == 2);
  CHECK(s.speed(v, 0.5) == 3.5);
  CHECK(s.largest_angular_velocity(v) == 7);
  CHECK(s.force_norm(Vector{3, 0, 0, 0, 8, 0, 0, 0}, 2.0) == doctest::Approx(5));
  CHECK(s.roundoff_force(0.5) == 15);
  // the fixed component and the quaternion do not count
  const Vector q = {0.1, 0.2, -0.3, 1, 0, 0, 0, 0.2, -0.4, 9};
  CHECK(s.largest_position(q) == 0.4);
}
