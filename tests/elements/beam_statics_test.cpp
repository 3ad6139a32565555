// Static equilibria and eigenfrequencies of beams against closed forms and an independent solution of the rod
// equations.
#include <doctest/doctest.h>

#include <Eigen/Eigenvalues>

#include "tests/support/beam_line.hpp"

namespace {

using namespace carom;
using namespace carom::test;

constexpr Load::Kind force = Load::Kind::force, torque = Load::Kind::torque;

// ---- integration of the rod equations

// x' = R (e_1 + eps), R' = R hat(kappa), m' = -x' x n with dead force n and (eps, kappa) = (0, kappa_0) + K^-1 R^T (n,
// m)
struct Rod {
  Vec6 compliance;  // of the diagonal stiffness
  Vec3 kappa_0;     // of the reference shape
  double length = 0;
};
struct RodState {
  Frame H;
  Vec3 m;  // moment, inertial
};

Vec3 curvature(const Rod& rod, const Mat3& R, const Vec3& m) {
  return rod.kappa_0 + Vec3(rod.compliance.tail<3>().cwiseProduct(R.transpose() * m));
}
// d/ds of (x, rotation vector from R_0, m)
Eigen::Matrix<double, 9, 1> slope(const Rod& rod, const Mat3& R_0, const Vec3& n,
                                  const Eigen::Matrix<double, 9, 1>& y) {
  const Vec3 w = y.segment<3>(3), m = y.tail<3>();
  const Mat3 R = R_0 * so3::exp(w);
  const Vec3 dx = R * (Vec3::UnitX() + Vec3(rod.compliance.head<3>().cwiseProduct(R.transpose() * n)));
  Eigen::Matrix<double, 9, 1> dy;
  dy << dx, so3::tangent_inverse(w) * curvature(rod, R, m), -dx.cross(n);
  return dy;
}
// The state at the tip of a rod with the given start: Runge-Kutta of order 4.
RodState integrate(const Rod& rod, RodState state, const Vec3& n, int steps) {
  const double h = rod.length / steps;
  for (int i = 0; i < steps; ++i) {
    const Mat3 R_0 = state.H.R;
    Eigen::Matrix<double, 9, 1> y;
    y << state.H.x, Vec3::Zero(), state.m;
    const auto k1 = slope(rod, R_0, n, y), k2 = slope(rod, R_0, n, y + h / 2 * k1),
               k3 = slope(rod, R_0, n, y + h / 2 * k2), k4 = slope(rod, R_0, n, y + h * k3);
    y += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    state.H = {Mat3(R_0 * so3::exp(Vec3(y.segment<3>(3)))), y.head<3>()};
    state.m = y.tail<3>();
  }
  return state;
}
// The tip of a cantilever under a dead force at its tip. Newton's method (shooting) finds the moment at the root, in
// load steps.
Vec3 cantilever_tip(const Rod& rod, const Frame& root, const Vec3& F, int steps) {
  Vec3 m = Vec3::Zero(), tip = Vec3::Zero();
  for (const double load : {0.25, 0.5, 0.75, 1.0}) {
    const auto miss = [&](const Vec3& m_0) { return integrate(rod, {root, m_0}, load * F, steps).m; };
    for (int iteration = 0; iteration < 30; ++iteration) {
      const Vec3 r = miss(m);
      if (r.norm() < 1e-10 * F.norm() * rod.length) break;
      REQUIRE(iteration < 29);
      Mat3 J;
      const double d = 1e-4 * F.norm() * rod.length;
      for (int c = 0; c < 3; ++c) J.col(c) = (miss(m + d * Vec3::Unit(c)) - miss(m - d * Vec3::Unit(c))) / (2 * d);
      m -= J.partialPivLu().solve(r);
    }
    tip = integrate(rod, {root, m}, load * F, steps).H.x;
  }
  return tip;
}

bool determinant_is_positive(const Matrix& A) {
  const Eigen::PartialPivLU<Matrix> lu(A);
  bool positive = lu.permutationP().determinant() > 0;
  for (Eigen::Index i = 0; i < A.rows(); ++i) positive = positive == (lu.matrixLU()(i, i) > 0);
  return positive;
}

// ---- frequencies

// Frequencies omega of the reference shape, ascending.
ColumnVector frequencies(const System& s) {
  const Vector& q = s.initial_configuration();
  const Matrix M = dense_matrix(s, q, 0, 1, 0), K = dense_matrix(s, q, 0, 0, 1);
  const Matrix K_symmetric = 0.5 * (K + K.transpose());
  CHECK((K - K_symmetric).norm() < 1e-12 * K.norm());  // no force, no unsymmetry
  return Eigen::GeneralizedSelfAdjointEigenSolver<Matrix>(K_symmetric, M, Eigen::EigenvaluesOnly)
      .eigenvalues()
      .cwiseMax(0)
      .cwiseSqrt();
}

// A beam with a much larger bending stiffness about y than about z, so that its first modes lie in the x-y plane.
struct Plane {
  double L = 1, EI = 0, EA = 0, kGA = 0, m = 0, rho_I = 0;
  BeamSection section;
};
Plane plane_beam(double width) {
  Plane p;
  const double height = 8 * width, E = 2e11, nu = 0.3, rho = 7800;
  const SectionGeometry g = rectangle_section(width, height);
  p.section = homogeneous_section(g, E, nu, rho);
  p.EI = E * g.I_z;
  p.EA = E * g.area;
  p.kGA = p.section.stiffness(1, 1);
  p.m = rho * g.area;
  p.rho_I = rho * g.I_z;
  return p;
}

// Frequency omega of Timoshenko's beam near a start value, from the determinant of the boundary conditions of
//   kGA (y'' - psi') + m w^2 y = 0,   EI psi'' + kGA (y' - psi) + rho I w^2 psi = 0.
// The state (y, psi, V, M) at x = L follows from the state at 0 by the matrix exponential; bisection finds the root.
double timoshenko(const Plane& p, bool clamped, double low, double high) {
  const auto determinant = [&](double w) {
    Eigen::Matrix4d A = Eigen::Matrix4d::Zero();
    // y' = psi + V/kGA, psi' = M/EI, V' = -m w^2 y, M' = -V - rho I w^2 psi; scaled to sizes of one
    const double f = p.EI / (p.L * p.L), t = p.EI / p.L;
    A(0, 1) = 1;
    A(0, 2) = f / p.kGA;
    A(1, 3) = t * p.L / p.EI;
    A(2, 0) = -p.m * w * w * p.L * p.L / f;
    A(3, 2) = -f * p.L / t;
    A(3, 1) = -p.rho_I * w * w * p.L / t;
    // exp by scaling and squaring
    Eigen::Matrix4d X = Eigen::Matrix4d::Identity(), term = X;
    const Eigen::Matrix4d B = A / 1024;
    for (int k = 1; k < 12; ++k) {
      term = (term * B / k).eval();
      X += term;
    }
    for (int k = 0; k < 10; ++k) X = (X * X).eval();
    // V = M = 0 at the end, from V and M (clamped) or y and psi (free) at the start
    return clamped ? X.block<2, 2>(2, 2).determinant() : X.block<2, 2>(2, 0).determinant();
  };
  double a = determinant(low);
  REQUIRE(a * determinant(high) < 0);
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high), d = determinant(middle);
    if (d * a > 0)
      low = middle, a = d;
    else
      high = middle;
  }
  return low;
}

}  // namespace

TEST_CASE("beam: an end moment rolls a straight cantilever up to a circle, exactly, with any number of elements") {
  const BeamSection section = homogeneous_section(rectangle_section(0.1, 0.2), 1e6, 0.25, 1);
  const double L = 3, EI = section.stiffness(5, 5);
  for (const int elements : {3, 5, 16}) {
    System s;
    add_beam_line(s, straight_line(elements, L), section);
    const std::string moment = std::to_string(2 * M_PI) + "*t*" + std::to_string(EI / L);
    s.add(std::make_unique<LoadBlock>("moment", std::vector{node_load(torque, elements, {"0", "0", moment}, true)},
                                      true));
    clamp(s, 0);
    s.finalize();
    const Vector q = static_solution(s, 1e-10 * EI);
    // std::to_string keeps 6 digits, so the angle follows from the rounded moment
    const double angle = std::stod(std::to_string(2 * M_PI)) * std::stod(std::to_string(EI / L)) * L / EI;
    for (int k = 1; k <= elements; ++k) {
      const double phi = angle * k / elements, r = L / angle;
      const Frame H = node_frame(s, q, k);
      CHECK((H.x - Vec3(r * std::sin(phi), r * (1 - std::cos(phi)), 0)).norm() < 1e-9 * L);
      CHECK((H.R - so3::exp(Vec3(0, 0, phi))).norm() < 1e-9);
    }
  }
}

TEST_CASE("beam: a slender cantilever does not lock and has Timoshenko's tip deflection at second order of the mesh") {
  for (const double thickness : {0.2, 0.01}) {
    const BeamSection section = homogeneous_section(rectangle_section(thickness, 0.3), 1e9, 0.3, 1);
    const double EI = section.stiffness(5, 5), kGA = section.stiffness(1, 1), F = 1e-3 * EI;
    const double exact = F * (1 / (3 * EI) + 1 / kGA);
    double error[2];
    for (const int i : {0, 1}) {
      System s;
      const int elements = 4 << i;
      add_beam_line(s, straight_line(elements, 1), section);
      s.add(std::make_unique<LoadBlock>(
          "tip", std::vector{node_load(force, elements, {"0", std::to_string(1e9 * F) + "*1e-9*t", "0"})}, true));
      clamp(s, 0);
      s.finalize();
      const Vector q = static_solution(s, 1e-6 * F);
      error[i] = node_frame(s, q, elements).x[1] / exact - 1;
    }
    CHECK(std::abs(error[0]) < 0.02);
    CHECK(error[0] / error[1] == doctest::Approx(4).epsilon(0.02));
  }
}

TEST_CASE("beam: the 45-degree bend converges at second order to the solution of the rod equations") {
  // K. J. Bathe, S. Bolourchi, Int. J. Numer. Meth. Engng. 14 (1979) 961-986: R = 100, unit square, E = 1e7, nu = 0,
  // 600 across the plane of the bend. Section data as commonly used: shear 5/6, torsion G (I_y + I_z).
  SectionGeometry square = rectangle_section(1, 1);
  square.J = square.I_y + square.I_z;
  const BeamSection section = homogeneous_section(square, 1e7, 0, 1);
  Rod rod;
  rod.compliance = section.stiffness.diagonal().cwiseInverse();
  rod.kappa_0 = Vec3(0, 0, 0.01);
  rod.length = 100 * M_PI / 4;
  const Vec3 F(0, 0, 600);
  const Vec3 exact = cantilever_tip(rod, {}, F, 400);
  CHECK((exact - cantilever_tip(rod, {}, F, 200)).norm() < 1e-7);  // the accuracy of the limit

  std::vector<Vec3> tips;
  for (const int elements : {8, 16, 32}) {
    System s;
    add_beam_line(s, arc(elements, 100, M_PI / 4), section);
    s.add(std::make_unique<LoadBlock>("tip", std::vector{node_load(force, elements, {"0", "0", "600*t"})}, true));
    clamp(s, 0);
    s.finalize();
    tips.push_back(node_frame(s, static_solution(s, 1e-6, 1.0 / 6), elements).x);
  }
  const double e_8 = (tips[0] - exact).norm(), e_16 = (tips[1] - exact).norm(), e_32 = (tips[2] - exact).norm();
  MESSAGE("errors " << e_8 << " " << e_16 << " " << e_32 << ", tip " << exact.transpose());
  CHECK(std::log2(e_8 / e_16) == doctest::Approx(2).epsilon(0.02));
  CHECK(std::log2(e_16 / e_32) == doctest::Approx(2).epsilon(0.01));
  const Vec3 extrapolated = (4 * tips[2] - tips[1]) / 3;
  CHECK((extrapolated - exact).norm() < 1e-3);
  CHECK(e_8 < 0.2);

  // Published tip positions, of 8 elements each (carom's is 0.17 off then): Bathe and Bolourchi, and J. C. Simo, L.
  // Vu-Quoc,
  // Comput. Methods Appl. Mech. Engrg. 58 (1986) 79-116.
  CHECK((extrapolated - Vec3(47.2, 15.9, 53.4)).norm() < 0.3);
  CHECK((extrapolated - Vec3(47.23, 15.79, 53.37)).norm() < 0.2);
}

TEST_CASE("beam: a narrow cantilever buckles sideways at Prandtl's load") {
  // L. Prandtl 1899: P = 4.01260 sqrt(EI_z GJ)/L^2 for EI_y >> EI_z; A. G. M. Michell 1899 gives the factor for finite
  // ratios, 1/sqrt(1 - EI_z/EI_y) to first order.
  const double L = 10, width = 0.02, height = 1.0;
  const BeamSection section = homogeneous_section(rectangle_section(width, height), 1e9, 0.3, 1);
  const double EI_y = section.stiffness(4, 4), EI_z = section.stiffness(5, 5), GJ = section.stiffness(3, 3);
  const double prandtl = 4.01260 * std::sqrt(EI_z * GJ) / (L * L);
  CHECK(EI_z / EI_y < 1e-3);

  std::vector<double> critical;
  for (const int elements : {8, 16}) {
    System s;
    add_beam_line(s, straight_line(elements, L), section);
    s.add(std::make_unique<LoadBlock>("tip", std::vector{node_load(force, elements, {"0", "0", "t"})}, true));
    clamp(s, 0);
    s.finalize();
    // bisection for the load at which the tangent of the plane equilibrium is singular
    double low = 0.8 * prandtl, high = 1.2 * prandtl;
    Vector q = s.initial_configuration();
    const auto stable = [&](double P) {
      REQUIRE(find_equilibrium(s, q, P, 1e-6 * prandtl) >= 0);
      return determinant_is_positive(dense_matrix(s, q, P, 0, 1));
    };
    REQUIRE(stable(low));
    REQUIRE(!stable(high));
    while (high - low > 1e-7 * prandtl) {
      const double middle = 0.5 * (low + high);
      (stable(middle) ? low : high) = middle;
    }
    critical.push_back(low / prandtl);
  }
  const double extrapolated = (4 * critical[1] - critical[0]) / 3;
  MESSAGE("critical loads over Prandtl's: " << critical[0] << " " << critical[1] << " -> " << extrapolated);
  CHECK(std::abs(critical[1] - 1) < std::abs(critical[0] - 1));
  CHECK(extrapolated == doctest::Approx(1).epsilon(1e-3));
}

TEST_CASE("beam: free and clamped beams have Timoshenko's frequencies at discretisation accuracy") {
  const Plane p = plane_beam(0.05);
  struct Mode {
    double factor;  // (beta L)^2 of Euler-Bernoulli beams
    int index;
  };
  for (const bool clamped : {false, true}) {
    // free: six rigid motions first; axial and torsional modes lie above these
    const std::vector<Mode> modes =
        clamped ? std::vector<Mode>{{3.51602, 0}, {22.0345, 1}} : std::vector<Mode>{{22.3733, 6}, {61.6728, 7}};
    for (const Mode& mode : modes) {
      const double euler = mode.factor * std::sqrt(p.EI / p.m);
      const double exact = timoshenko(p, clamped, 0.8 * euler, 1.001 * euler);
      CHECK(exact == doctest::Approx(euler).epsilon(0.05));
      double error[2];
      for (const int i : {0, 1}) {
        System s;
        const int elements = 16 << i;
        add_beam_line(s, straight_line(elements, p.L), p.section);
        if (clamped) clamp(s, 0);
        s.finalize();
        const ColumnVector w = frequencies(s);
        // the nearest mode in the x-y plane
        double nearest = 1e300;
        for (Eigen::Index k = 0; k < w.size(); ++k)
          if (std::abs(w[k] - exact) < std::abs(nearest - exact)) nearest = w[k];
        error[i] = nearest / exact - 1;
        if (!clamped) {
          CHECK(w[5] < 1e-3 * exact);
          CHECK(w[6] > 0.1 * exact);
        }
      }
      MESSAGE(std::string(clamped ? "clamped" : "free") << " mode, relative errors " << error[0] << " " << error[1]);
      CHECK(std::abs(error[0]) < 0.03);
      CHECK(error[0] / error[1] == doctest::Approx(4).epsilon(0.05));
    }
  }
}

TEST_CASE("beam: stretching and twisting frequencies of a clamped beam") {
  // omega = (2 k - 1) pi/2 c/L, c^2 = EA/m and GJ/(rho (I_y + I_z))
  const BeamSection section = homogeneous_section(circle_section(0.02, 0.3), 2e11, 0.3, 7800);
  for (const bool twist : {false, true}) {
    const double c = twist ? std::sqrt(section.stiffness(3, 3) / section.inertia(0, 0))
                           : std::sqrt(section.stiffness(0, 0) / section.line_density);
    System s;
    const int elements = 20;
    add_beam_line(s, straight_line(elements, 1), section);
    clamp(s, 0);
    s.finalize();
    const ColumnVector w = frequencies(s);
    // consistent mass: omega^2 = 6 c^2/l^2 (1 - cos)/(2 + cos); lumped: 2 c^2/l^2 (1 - cos), cos of the phase per
    // element
    const double l = 1.0 / elements, phase = std::cos(M_PI / 2 / elements);
    const double discrete = c / l * std::sqrt(twist ? 2 * (1 - phase) : 6 * (1 - phase) / (2 + phase));
    CHECK((w.array() - discrete).abs().minCoeff() < 1e-9 * discrete);
    CHECK(discrete == doctest::Approx(M_PI / 2 * c).epsilon(1e-3));
  }
}
