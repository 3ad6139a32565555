// The matrices and rates of System against finite differences of the residuals to which they belong.

#include "tests/core/system_models.hpp"

using namespace carom;
using namespace carom::test;

TEST_CASE("system: the velocity of q o exp(d(t)) is T(d) d'") {
  System s;
  mixed_model(s, true);
  s.finalize();
  Random random(2);
  const Motion m = random_motion(s, random);
  const Vector d = random.normals(s.size()), rate = random.normals(s.size());
  TangentOperators T;
  s.tangent_operators(d, T);
  CHECK(static_cast<int>(T.frames.size()) == s.dofs().frames());
  const auto configuration = [&](double e) { return moved(s, m.q, sum(d, e, rate), 1); };
  for (int node = 0; node < s.dofs().nodes(); ++node) {
    const int frame_index = s.dofs().frame_index(node);
    if (frame_index < 0) continue;
    const auto rotation = [&](double e) {
      const Vector q = configuration(e);
      const Mat3 R = so3::quaternion_to_matrix(Quaternion(q.data() + s.dofs().configuration_offset(node) + 3));
      return Vector(R.data(), R.data() + 9);
    };
    const Vector R = rotation(0), dR = derivative(rotation);
    const Mat3 spin = Mat3(R.data()).transpose() * Mat3(dR.data());
    const Vec3 Omega = T.frames[at(frame_index)] * Vec3(rate.data() + s.dofs().equation(node, 3));
    CHECK(largest(Matrix(so3::hat(Omega) - spin)) < 1e-9);
  }
}

TEST_CASE("system: the matrix of the smooth motion is the derivative of its residual") {
  System s;
  mixed_model(s, true);
  s.finalize();
  REQUIRE(s.bilateral() == 7);
  REQUIRE(s.conditional() == 3);
  Random random(3);
  for (int state = 0; state < 3; ++state) {
    const double c_a = 3.7, c_q = 0.3, k = 2.5;
    const Motion m = random_motion(s, random, 1.0);
    const Vector d = random.normals(s.size());
    Vector multipliers = random.normals(s.rows());
    std::fill(multipliers.begin() + s.bilateral(), multipliers.end(), 0.0);
    const auto residual = [&](const Vector& dv) {
      const Vector q = moved(s, m.q, sum(d, c_q, dv), 1), v = sum(m.v, 1, dv), a = sum(m.a, c_a, dv);
      Vector r = mass_times(s, q, a), reactions(at(s.size()), 0.0);
      s.add_reactions(q, m.t, multipliers, bilateral_rows, reactions);
      r = sum(sum(r, -1, forces(s, q, v, m.t)), -1, reactions);
      const Vector rows = rates(s, q, v, m.t, bilateral_rows);
      for (int j = 0; j < s.bilateral(); ++j) r.push_back(-k * rows[at(j)]);
      return r;
    };
    const Matrix D = gradient(Vector(at(s.size()), 0.0), residual);
    const Vector q = moved(s, m.q, d, 1);
    TangentOperators T;
    s.tangent_operators(d, T);
    Linearisation request;
    request.c_M = c_a;
    request.c_C = 1;
    request.c_K = request.c_s = request.c_rate = c_q;
    request.q_M = request.q = q.data();
    request.v = m.v.data();
    request.t = m.t;
    request.a = m.a.data();
    request.s = multipliers.data();
    request.T = &T;
    request.row_scale = k;
    check_saddle(s, assembled(s, request), D.topRows(s.size()), D.bottomRows(s.bilateral()),
                 -k * directions(s, q, m.t, s.bilateral()));
  }
}

TEST_CASE("system: the matrix of the position correction is the derivative of its residual") {
  System s;
  mixed_model(s, true);
  s.finalize();
  Random random(4);
  for (int state = 0; state < 3; ++state) {
    const double h = 0.7, k = 1.9;
    const Motion m = random_motion(s, random, 1.0);
    Vector U = random.normals(s.size());
    for (double& u : U) u *= 0.6;
    // lambda~ acts on bilateral rows, xi on all active rows; one contact is open
    const Vector lambda = random.normals(s.rows());
    Vector xi = random.normals(s.rows());
    xi[at(s.bilateral() + 1)] = 0;
    const auto residual = [&](const Vector& U_) {
      const Vector q = moved(s, m.q, U_, 1);
      Vector r = mass_times(s, m.q, U_), reactions(at(s.size()), 0.0), smooth(at(s.size()), 0.0);
      s.add_reactions(q, m.t, xi, all_rows, reactions);
      s.add_reactions(q, m.t, lambda, bilateral_rows, smooth);
      r = sum(sum(sum(r, -h * h, forces(s, q, m.v, m.t)), -1, reactions), -h * h, smooth);
      const Vector rows = gaps(s, q, m.t, bilateral_rows);
      for (int j = 0; j < s.bilateral(); ++j) r.push_back(-k * rows[at(j)]);
      return r;
    };
    const Matrix D = gradient(U, residual);
    const Vector q = moved(s, m.q, U, 1);
    TangentOperators T;
    s.tangent_operators(U, T);
    Vector multipliers(xi);
    for (int j = 0; j < s.bilateral(); ++j) multipliers[at(j)] += h * h * lambda[at(j)];
    Linearisation request;
    request.c_M = request.c_s = 1;
    request.c_K = h * h;
    request.q_M = m.q.data();
    request.q = q.data();
    request.v = m.v.data();
    request.t = m.t;
    request.s = multipliers.data();
    request.T = &T;
    request.rows_through_T = true;
    request.row_scale = k;
    check_saddle(s, assembled(s, request), D.topRows(s.size()), D.bottomRows(s.bilateral()),
                 -k * directions(s, q, m.t, s.bilateral()));
  }
}

TEST_CASE("system: the matrix of the velocity jump is the derivative of its residual") {
  System s;
  mixed_model(s, true);
  s.finalize();
  Random random(5);
  const double h = 0.7, k = 0.4;
  const Motion m = random_motion(s, random);
  const Matrix C = -gradient(m.v, [&](const Vector& v) { return forces(s, m.q, v, m.t); });
  const Matrix G = gradient(m.v, [&](const Vector& v) { return rates(s, m.q, v, m.t); }).topRows(s.bilateral());
  Linearisation request;
  request.c_M = 1;
  request.c_C = h;
  request.q_M = request.q = m.q.data();
  request.v = m.v.data();
  request.t = m.t;
  request.row_scale = k;
  check_saddle(s, assembled(s, request), mass_matrix(s, m.q) + h * C, -k * G,
               -k * directions(s, m.q, m.t, s.bilateral()));
}

TEST_CASE("system: rows one by one agree with rows all at once and with differences") {
  System s;
  mixed_model(s, true);
  s.finalize();
  Random random(7);
  const Motion m = random_motion(s, random);
  const Vector g = gaps(s, m.q, m.t), rate = rates(s, m.q, m.v, m.t), d = random.normals(s.size());
  const Matrix G = configuration_gradient(s, m.q, [&](const Vector& q) { return gaps(s, q, m.t); });
  const Matrix GT = gradient(d, [&](const Vector& x) { return gaps(s, moved(s, m.q, x, 1), m.t); });
  const Vector q_moved = moved(s, m.q, d, 1);
  const Matrix F = directions(s, m.q, m.t, s.rows());
  TangentOperators T;
  s.tangent_operators(d, T);
  const auto row_of = [&](const SparseRow& r) {
    Matrix x = Matrix::Zero(1, s.size());
    for (std::size_t i = 0; i < r.equation.size(); ++i) x(0, r.equation[i]) += r.value[i];
    return x;
  };
  SparseRow r;
  for (int row = 0; row < s.rows(); ++row) {
    INFO(s.row_name(row));
    CHECK(s.row_gap(row, m.q, m.t) == doctest::Approx(g[at(row)]).epsilon(1e-14));
    CHECK(s.row_rate(row, m.q, m.v, m.t) == doctest::Approx(rate[at(row)]).epsilon(1e-14));
    s.row_gradient(row, m.q, m.t, nullptr, r);
    CHECK(relative_error(row_of(r), G.row(row)) < derivative_tolerance);
    s.row_gradient(row, q_moved, m.t, &T, r);
    CHECK(relative_error(row_of(r), GT.row(row)) < derivative_tolerance);
    s.row_gradient(row, m.q, m.t, nullptr, r);
    CHECK(relative_error(row_of(r), F.col(row).transpose()) < rounding);
  }
  // rows outside of the set stay unchanged
  for (const RowSelection set : {bilateral_rows, conditional_rows}) {
    const bool bilateral = set == bilateral_rows;
    const Vector part = gaps(s, m.q, m.t, set), part_rates = rates(s, m.q, m.v, m.t, set);
    for (int row = 0; row < s.rows(); ++row) {
      const bool in_set = (row < s.bilateral()) == bilateral;
      CHECK(part[at(row)] == (in_set ? g[at(row)] : 0.0));
      CHECK(part_rates[at(row)] == (in_set ? rate[at(row)] : 0.0));
    }
  }
  // acceleration level: h is the derivative of the rate at constant velocity
  Vector bias(at(s.rows()), 0.0);
  s.biases(m.q, m.v, m.t, all_rows, bias);
  const Vector along = derivative([&](double e) { return rates(s, moved(s, m.q, m.v, e), m.v, m.t + e); });
  CHECK(relative_error(bias, along) < derivative_tolerance);
}

TEST_CASE("system: gravity and internal forces are minus the gradients of their energies") {
  System s;
  mixed_model(s, false);
  s.finalize();
  Random random(8);
  const Motion m = random_motion(s, random);
  const auto energy_gradient = [&](auto part) {
    const Matrix D =
        configuration_gradient(s, m.q, [&](const Vector& q) { return Vector{part(s.energies(q, m.v, m.t))}; });
    return Vector(D.data(), D.data() + D.size());
  };
  const Vector gravity = forces(s, m.q, m.v, m.t, force_gravity), internal = forces(s, m.q, m.v, m.t, force_internal);
  const Vector zero(gravity.size(), 0.0);
  CHECK(relative_error(sum(zero, -1, gravity), energy_gradient([](const Energies& e) { return e.potential; })) <
        derivative_tolerance);
  CHECK(relative_error(sum(zero, -1, internal), energy_gradient([](const Energies& e) { return e.elastic; })) <
        derivative_tolerance);
  // both at once
  const Energies apart = s.energies(m.q, m.v, m.t);
  for (const unsigned parts : {unsigned{force_internal}, unsigned{force_all}, unsigned{force_gravity}}) {
    Vector f(gravity.size());
    const Energies e = s.forces_with_energies(m.q, m.v, m.t, parts, f);
    CHECK(same_bits(f, forces(s, m.q, m.v, m.t, parts)));
    CHECK(e.elastic == apart.elastic);
    CHECK(e.potential == apart.potential);
    CHECK(e.kinetic == 0);
  }
  // kinetic energy
  const Vector momentum = mass_times(s, m.q, m.v);
  CHECK(s.energies(m.q, m.v, m.t).kinetic == doctest::Approx(0.5 * dot(m.v, momentum)).epsilon(1e-14));
}
