#include "elements/beam/beam.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "tests/support/beam_line.hpp"

namespace {

using namespace carom;
using namespace carom::test;

BeamSection steel() { return homogeneous_section(rectangle_section(0.02, 0.01), 2.1e11, 0.3, 7800); }

// A curved and twisted line with unequal elements.
std::vector<Frame> twisted_line() {
  std::vector<Frame> frames = {{so3::exp(Vec3(0.3, -0.2, 0.5)), Vec3(0.1, 0.2, -0.1)}};
  for (const double length : {0.3, 0.2, 0.4}) {
    Vec6 d;
    d << length, 0, 0, 0.2, -0.3 * length, 1.5 * length;
    frames.push_back(se3::compose(frames.back(), se3::exp(d)));
  }
  return frames;
}

// The configuration after a rigid motion x -> R x + c.
Vector moved(const System& s, const Vector& q, const Frame& motion) {
  Vector result;
  for (int node = 0; node < s.dofs().nodes(); ++node) {
    const Vector x = node_configuration(se3::compose(motion, node_frame(s, q, node)));
    result.insert(result.end(), x.begin(), x.end());
  }
  return result;
}

Vector output(const System& s, const BeamBlock& beam, const std::string& field, const Vector& q) {
  int components = 0;
  for (const OutputField& f : beam.output_fields())
    if (f.name == field) components = f.components;
  REQUIRE(components > 0);
  Vector values(at(beam.topology().items * components)), v(at(12 * beam.topology().items), 0.0);
  beam.output(field, {0, beam.topology().items}, {q.data(), v.data(), 0}, values.data());
  CHECK(s.size() > 0);
  return values;
}

}  // namespace

TEST_CASE("beam: the reference shape and any rigid motion of it are free of forces") {
  System s;
  add_beam_line(s, twisted_line(), steel());
  s.finalize();
  const double EA = steel().stiffness(0, 0);
  const Vector q = s.initial_configuration();
  CHECK(largest(static_forces(s, q, 0)) < 1e-12 * EA);
  Random random(4);
  for (int i = 0; i < 20; ++i) {
    const Vector q_moved = moved(s, q, {random.rotation_matrix(), random.in_box(1)});
    CHECK(largest(static_forces(s, q_moved, 0)) < 1e-12 * EA);
    CHECK(s.energies(q_moved, Vector(at(s.size()), 0.0), 0).elastic < 1e-24 * EA);
  }
}

TEST_CASE("beam: six constant strain states are exact, at any size, on a curved reference shape") {
  const BeamSection section = steel();
  const std::vector<Frame> frames = twisted_line();
  for (int state = 0; state <= 6; ++state) {
    // one strain component, or all together
    Vec6 eps = Vec6::Zero();
    if (state < 6)
      eps[state] = state < 3 ? 0.1 : 0.8;
    else
      eps << 0.05, -0.02, 0.04, 0.6, -0.9, 1.1;
    System s;
    const BeamBlock& beam = add_beam_line(s, frames, section);
    s.finalize();

    // every element is the helix of its own strain: H_B = H_A exp(d_0 + L eps)
    Vector q = node_configuration(frames[0]);
    Frame H = frames[0];
    double length = 0;
    for (std::size_t k = 0; k + 1 < frames.size(); ++k) {
      Beam reference;
      set_reference(reference, frames[k], frames[k + 1]);
      length += reference.length;
      H = se3::compose(H, se3::exp(Vec6(reference.d_0 + reference.length * eps)));
      const Vector x = node_configuration(H);
      q.insert(q.end(), x.begin(), x.end());
    }

    const Vec6 n = section.stiffness * eps;
    const Vector strain = output(s, beam, "section_strain", q), curvature = output(s, beam, "section_curvature", q),
                 force = output(s, beam, "section_force", q), moment = output(s, beam, "section_moment", q),
                 axial = output(s, beam, "axial_force", q);
    for (int e = 0; e < 3; ++e) {
      for (int c = 0; c < 3; ++c) {
        CHECK(std::abs(strain[at(3 * e + c)] - eps[c]) < 1e-14);
        CHECK(std::abs(curvature[at(3 * e + c)] - eps[3 + c]) < 1e-14);
        CHECK(std::abs(force[at(3 * e + c)] - n[c]) < 1e-12 * section.stiffness(c, c));
        CHECK(std::abs(moment[at(3 * e + c)] - n[3 + c]) < 1e-12 * section.stiffness(3 + c, 3 + c));
      }
      CHECK(axial[at(e)] == force[at(3 * e)]);
    }
    CHECK(s.energies(q, Vector(at(s.size()), 0.0), 0).elastic == doctest::Approx(0.5 * length * eps.dot(n)));
    // the resultant of all nodal forces and moments is zero
    const Vector f = static_forces(s, q, 0);
    Vec3 sum = Vec3::Zero(), torque = Vec3::Zero();
    for (int node = 0; node < 4; ++node) {
      const Frame H_node = node_frame(s, q, node);
      const Vec3 force_node = Eigen::Map<const Vec3>(f.data() + 6 * node);
      sum += force_node;
      torque += H_node.x.cross(force_node) + H_node.R * Eigen::Map<const Vec3>(f.data() + 6 * node + 3);
    }
    CHECK(sum.norm() <= 1e-15 * largest(f));
    CHECK(torque.norm() <= 1e-14 * largest(f));
  }
}

TEST_CASE("beam: a corner is straight on both sides") {
  // section axes follow each side; the node at the corner keeps the axes of the first side
  const BeamSection section = steel();
  System s;
  const Mat3 turn = so3::exp(Vec3(0, 0, M_PI / 2));
  const Frame a{Mat3::Identity(), Vec3::Zero()}, corner{Mat3::Identity(), Vec3(1, 0, 0)},
      end{Mat3::Identity(), Vec3(1, 2, 0)};
  for (const Frame& H : {a, corner, end}) s.add_node(NodeKind::frame, node_configuration(H), "node");
  std::vector<Beam> beams(2);
  beams[0].node_b = beams[1].node_a = 1;
  beams[1].node_b = 2;
  beams[1].R_a = beams[1].R_b = turn;
  set_reference(beams[0], a, corner);
  set_reference(beams[1], {turn, corner.x}, {turn, end.x});
  s.add(std::make_unique<BeamBlock>("beam", std::vector{section}, beams));
  s.finalize();
  const Mat6& K = section.stiffness;
  const Vector q = s.initial_configuration();
  CHECK(largest(static_forces(s, q, 0)) < 1e-12 * K(0, 0));

  // the second side has length 2, is stretched by u along y and twisted by phi about y: both are axial for this side
  const double u = 1e-3, phi = 0.2;
  Vector stretched = q, twisted = q;
  stretched[2 * 7 + 1] += u;
  const Quaternion p = so3::exp_quaternion(Vec3(0, phi, 0));
  std::copy(p.data(), p.data() + 4, twisted.begin() + 2 * 7 + 3);
  ColumnVector expected = ColumnVector::Zero(18);
  expected[12 + 1] = -K(0, 0) * u / 2;
  expected[6 + 1] = K(0, 0) * u / 2;
  CHECK(relative_error(column(static_forces(s, stretched, 0)), expected) < 1e-12);
  expected.setZero();
  expected[12 + 4] = -K(3, 3) * phi / 2;
  expected[6 + 4] = K(3, 3) * phi / 2;
  CHECK(relative_error(column(static_forces(s, twisted, 0)), expected, 1e-3 * K(0, 0)) < 1e-12);
}

TEST_CASE("beam: rigid rotations have the mass, angular momentum and energy of the beam") {
  const BeamSection section = steel();
  const double L = 1.5, m = section.line_density * L;
  System s;
  add_beam_line(s, straight_line(4, L), section);
  s.finalize();
  const Vec3 Omega(2, -3, 5);
  Vector v;
  for (int k = 0; k <= 4; ++k) {
    const Vec3 u = Omega.cross(node_frame(s, s.initial_configuration(), k).x);
    v.insert(v.end(), {u[0], u[1], u[2], Omega[0], Omega[1], Omega[2]});
  }
  // about the end: the translation is linear along the beam, and so is its interpolation
  const Mat3 J = Mat3(L * section.inertia) + m * L * L / 3 * Vec3(0, 1, 1).asDiagonal().toDenseMatrix();
  const Momenta p = s.momenta(s.initial_configuration(), v);
  CHECK(relative_error(p.linear, Vec3(m * Omega.cross(Vec3(L / 2, 0, 0)))) < 1e-13);
  CHECK(relative_error(p.angular, Vec3(J * Omega)) < 1e-13);
  CHECK(s.energies(s.initial_configuration(), v, 0).kinetic == doctest::Approx(0.5 * Omega.dot(J * Omega)));
}

TEST_CASE("beam: the energy of a spin does not depend on the axes of the nodes") {
  // two beams at one place, whose nodes have the axes of the section, or others
  const BeamSection section = steel();
  Random random(8);
  const Vec3 spin = random.in_box(3);
  double energy[2];
  for (const bool turned : {false, true}) {
    Beam beam;
    set_reference(beam, {Mat3::Identity(), Vec3::Zero()}, {Mat3::Identity(), Vec3(0.4, 0, 0)});
    if (turned) {
      beam.R_a = random.rotation_matrix();
      beam.R_b = random.rotation_matrix();
    }
    System s;
    Vector v;
    for (const Mat3& R : {beam.R_a, beam.R_b}) {
      const Mat3 axes = R.transpose();  // of the node, in inertial axes, since those of the section are inertial
      const Vec3 x(v.empty() ? 0.0 : beam.length, 0, 0), x_rate = spin.cross(x), body_spin = axes.transpose() * spin;
      (v.empty() ? beam.node_a : beam.node_b) = s.add_node(NodeKind::frame, node_configuration({axes, x}), "node");
      v.insert(v.end(), x_rate.begin(), x_rate.end());
      v.insert(v.end(), body_spin.begin(), body_spin.end());
    }
    s.add(std::make_unique<BeamBlock>("beam", std::vector<BeamSection>{section}, std::vector<Beam>{beam}));
    s.finalize();
    energy[turned ? 1 : 0] = s.energies(s.initial_configuration(), v, 0).kinetic;
  }
  CHECK(energy[1] == doctest::Approx(energy[0]).epsilon(1e-13));
}

TEST_CASE("beam: damping takes the power tau L eps' . K eps'") {
  const BeamSection section = steel();
  const double tau = 0.02;
  System s;
  const BeamBlock& beam = add_beam_line(s, twisted_line(), section, tau);
  s.finalize();
  Random random(2);
  const Vector v = random.normals(s.size()), q = s.initial_configuration();
  double power = 0;
  for (int e = 0; e < 3; ++e) {
    // rate of the strain by a difference quotient
    const auto strain = [&](double h) {
      Vector d = v, moved_q(q.size());
      for (double& x : d) x *= h;
      s.retract(q, d, moved_q);
      const Vector f = output(s, beam, "section_strain", moved_q), m = output(s, beam, "section_curvature", moved_q);
      Vec6 eps;
      for (int c = 0; c < 3; ++c) eps[c] = f[at(3 * e + c)], eps[3 + c] = m[at(3 * e + c)];
      return eps;
    };
    const double h = 1e-4;
    const Vec6 rate = (8 * (strain(h) - strain(-h)) - (strain(2 * h) - strain(-2 * h))) / (12 * h);
    Beam reference;
    set_reference(reference, twisted_line()[at(e)], twisted_line()[at(e + 1)]);
    power += tau * reference.length * rate.dot(section.stiffness * rate);
  }
  Vector f(at(s.size()));
  s.forces(q, v, 0, force_damping, f);
  CHECK(column(f).cwiseProduct(column(v)).sum() == doctest::Approx(-power).epsilon(1e-8));
}

TEST_CASE("beam section: areas, moments, torsion constants and shear factors of textbooks") {
  const SectionGeometry r = rectangle_section(0.2, 0.1);
  CHECK(r.area == doctest::Approx(0.02));
  CHECK(r.I_z == doctest::Approx(0.1 * 0.008 / 12));
  CHECK(r.I_y == doctest::Approx(0.2 * 0.001 / 12));
  // Timoshenko and Goodier, Theory of Elasticity, section 109, table of k_1: a b^3 k_1
  CHECK(rectangle_section(1, 1).J == doctest::Approx(0.1406).epsilon(5e-4));
  CHECK(rectangle_section(1.5, 1).J / 1.5 == doctest::Approx(0.1958).epsilon(5e-4));
  CHECK(r.J == doctest::Approx(0.229 * 0.2 * 0.001).epsilon(2e-3));
  CHECK(rectangle_section(0.1, 0.2).J == r.J);
  CHECK(rectangle_section(10, 1).J == doctest::Approx(0.312 * 10).epsilon(2e-3));
  const SectionGeometry c = circle_section(2, 0.3);
  CHECK(c.I_y == doctest::Approx(4 * M_PI));
  CHECK(c.J == doctest::Approx(8 * M_PI));
  CHECK(c.k_y == doctest::Approx(6 * 1.3 / 8.8));  // Cowper 1966: 6 (1 + nu)/(7 + 6 nu)
  // thin ring: 2 (1 + nu)/(4 + 3 nu)
  CHECK(tube_section(1, 1 - 1e-6, 0.3).k_z == doctest::Approx(2 * 1.3 / 4.9).epsilon(1e-5));
  CHECK(tube_section(1, 1 - 1e-6, 0.3).I_y == doctest::Approx(M_PI * 1e-6).epsilon(1e-5));
}

TEST_CASE("beam section: matrices about an axis beside the mass centre keep stiffness and kinetic energy") {
  Random random(9);
  const double m = 1.7;
  const Vec3 c(0, 0.3, -0.2);
  const Mat3 J_c = random.inertia();
  Mat6 mass = Mat6::Zero(), K;
  mass.topLeftCorner<3, 3>() = m * Mat3::Identity();
  mass.topRightCorner<3, 3>() = -m * so3::hat(c);
  mass.bottomLeftCorner<3, 3>() = m * so3::hat(c);
  mass.bottomRightCorner<3, 3>() = J_c - m * so3::hat(c) * so3::hat(c);
  for (int i = 0; i < 6; ++i) K.col(i) << random.vector(), random.vector();
  K = (K * K.transpose()).eval();

  const BeamSection section = general_section(K, mass);
  CHECK((section.center - c).norm() < 1e-15);
  CHECK((section.inertia - J_c).norm() < 1e-14);
  // the same helix seen from both axes: d = log(C exp(d_C) C^-1), C = (1, c)
  Vec6 d_C;
  d_C << 0.3, 0.1, -0.2, 0.5, 0.4, -0.6;
  const Frame C{Mat3::Identity(), c};
  const Vec6 d = se3::log(se3::compose(se3::compose(C, se3::exp(d_C)), se3::inverse(C)));
  CHECK(d_C.dot(section.stiffness * d_C) == doctest::Approx(d.dot(K * d)));
}
