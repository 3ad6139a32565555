// What the tests of System share: models that mix frames, points, scalars, fixed components, joints and contacts, and
// what System computes as dense vectors and matrices.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "contact/gap/obstacle.hpp"
#include "contact/gap/point_contact.hpp"
#include "contact/gap/sphere_contact.hpp"
#include "core/base/vector_ops.hpp"
#include "core/mechanics/body_point.hpp"
#include "core/mechanics/system.hpp"
#include "elements/beam/bar.hpp"
#include "elements/bodies/point_mass.hpp"
#include "elements/bodies/rigid_body.hpp"
#include "elements/joints/joint.hpp"
#include "elements/joints/spring_damper.hpp"
#include "elements/loads/load.hpp"
#include "tests/contract/differences.hpp"

namespace carom::test {

constexpr double derivative_tolerance = 1e-9, rounding = 1e-12;

// ---- an element that no model has: its mass depends on the configuration

// M(q) = phi(q) B on a frame, phi = 2 + sin(k . x)/2 + 0.3 n . R e, B constant.
class VariableMassBlock final : public ElementBlock {
 public:
  explicit VariableMassBlock(int node) : ElementBlock("variable mass", {1, {{0, 6}}, {node}}, traits_of()) {
    B_ = Matrix6::Identity() * 0.8;
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) B_(i, j) += 0.05 * (i + j) / (1.0 + std::abs(i - j));
  }
  void add_forces(Range, const ElementInput&, unsigned, double*) const override {}
  void add_mass_times(Range, const ElementInput& in, const double* a, MassKind, double* f) const override {
    Eigen::Map<Vector6>{f} += phi(in) * B_ * Eigen::Map<const Vector6>(a);
  }
  void add_tangent(Range, const ElementInput& in, const ElementTangent& r, double* A) const override {
    Eigen::Map<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>> block(A);
    block += r.c_M * phi(in) * B_;
    if (r.c_K == 0 || r.a == nullptr) return;
    const PointState p = place(in);
    Eigen::Matrix<double, 1, 6> D;
    D << 0.5 * std::cos(k_.dot(p.x)) * k_.transpose(), -0.3 * n_.transpose() * p.R * so3::hat(e_);
    block += r.c_K * (B_ * Eigen::Map<const Vector6>(r.a)) * D;
  }
  Energies energies(Range, const ElementInput&) const override { return {}; }

 private:
  using Vector6 = Eigen::Matrix<double, 6, 1>;
  using Matrix6 = Eigen::Matrix<double, 6, 6>;
  static BlockTraits traits_of() {
    BlockTraits t;
    t.has_mass = t.has_stiffness = true;
    t.constant_mass = false;
    t.force_parts = 0;
    return t;
  }
  PointState place(const ElementInput& in) const {
    return point_state(configuration(in, 0, 0), node_kind(0, 0), Vec3::Zero());
  }
  double phi(const ElementInput& in) const {
    const PointState p = place(in);
    return 2 + 0.5 * std::sin(k_.dot(p.x)) + 0.3 * n_.dot(p.R * e_);
  }

  Matrix6 B_;
  Vec3 k_{0.4, -0.7, 0.5}, n_{0.6, 0, 0.8}, e_{0, 0.6, -0.8};
};

// ---- models

inline int frame(System& s, const std::string& name) {
  const double q[7] = {0.1 * s.dofs().nodes(), 0.2, -0.3, 1, 0, 0, 0};
  return s.add_node(NodeKind::frame, q, name);
}
inline int point(System& s, const std::string& name) {
  const double q[3] = {0.1 * s.dofs().nodes(), -0.2, 0.3};
  return s.add_node(NodeKind::point, q, name);
}
inline int scalar(System& s, const std::string& name) {
  const double q[1] = {0.5};
  return s.add_node(NodeKind::scalar, q, name);
}

// Everything at once. `special` adds the blocks above.
inline void mixed_model(System& s, bool special, int threads = 1) {
  Random random(41);
  const int f0 = frame(s, "free"), f1 = frame(s, "pendulum"), p0 = point(s, "mass"), f2 = frame(s, "slider"),
            u0 = scalar(s, "u0"), p1 = point(s, "guided"), f3 = frame(s, "top"), p2 = point(s, "massless"),
            u1 = scalar(s, "u1");
  for (int c = 0; c < 3; ++c) {
    s.fix(f1, c);
    s.fix(f2, 3 + c);
  }
  s.fix(p1, 1);
  s.set_gravity({1.1, -2.3, 0.7});
  s.set_threads(threads);

  // contacts first: rows must be sorted all the same
  auto motion = std::make_shared<PrescribedMotion>();
  motion->axis = Vec3(1, 2, 2) / 3;
  motion->angle = TimeFunction::formula("0.5*sin(t)");
  motion->translation[1] = TimeFunction::formula("0.3*t^2");
  s.add(std::make_unique<PointContactBlock>(
      "floor",
      std::vector<ContactPoint>{{"foot", f0, Vec3(0.2, 0.1, -0.3), 0.1, 0.5}, {"heel", f1, Vec3(-0.1, 0, 0.2), 0, 0.2}},
      make_plane(Vec3(0, -1, 0), Vec3(0.2, 1, 0.1)), motion, true));
  s.add(std::make_unique<CoincidenceBlock>(
      "coincidence",
      std::vector<Coincidence>{{"hinge", f0, f1, Vec3(0.1, 0.2, -0.1), Vec3(0.2, 0, 0.1)},
                               {"foot point", p2, f3, Vec3::Zero(), Vec3(0, 0.1, -0.2)}},
      true));
  s.add(std::make_unique<SphereContactBlock>(
      "balls", std::vector<SpherePair>{{"top and guided", f3, p1, Vec3(0.1, -0.1, 0), Vec3::Zero(), 0.2, 0.1, 0.9}}));
  s.add(std::make_unique<OrthogonalityBlock>(
      "orthogonality", std::vector<Orthogonality>{{"cardan", f2, f3, Vec3(1, 0, 0), Vec3(0, 0.6, 0.8)}}));

  std::vector<RigidBody> bodies;
  for (int f : {f0, f1, f2, f3}) bodies.push_back({f, 1.0 + f, random.inertia()});
  s.add(std::make_unique<RigidBodyBlock>("bodies", bodies));
  s.add(std::make_unique<PointMassBlock>("masses", std::vector<PointMass>{{p0, 0.7}, {p2, 0.0}}));
  s.add(std::make_unique<BarBlock>("bars", std::vector<Bar>{{p0, p1, 0.9, 5.0, 0.6}}, MassKind::consistent));
  s.add(std::make_unique<LinearBarBlock>("linear bars", std::vector<Bar>{{u0, u1, 0.4, 3.0, 0.5}}, 0,
                                         MassKind::consistent));
  s.add(std::make_unique<SpringDamperBlock>(
      "springs", std::vector<SpringDamper>{{f0, f2, Vec3(0.1, 0.1, 0), Vec3(0, 0.2, 0.1), 4.0, 0.8, 0.5},
                                           {-1, f3, Vec3(3, 3, -3), Vec3(0.1, -0.2, 0), 2.0, 0.0, 1.0},
                                           {p0, f1, Vec3::Zero(), Vec3(0, 0, 0.2), 3.0, 0.4, 0.0}}));
  const auto constant = [](double x, double y, double z) {
    return std::array{TimeFunction::constant(x), TimeFunction::constant(y), TimeFunction::constant(z)};
  };
  s.add(std::make_unique<LoadBlock>(
      "loads",
      std::vector<Load>{{Load::Kind::force, f0, Vec3(0.1, 0, 0.2), special, constant(1, -2, 0.5)},
                        {Load::Kind::force, f2, Vec3(0, 0.3, 0), false, constant(-1, 0.4, 0.6)}},
      true));
  if (!special) return;
  s.add(std::make_unique<LoadBlock>(
      "torques", std::vector<Load>{{Load::Kind::torque, f3, Vec3::Zero(), false, constant(0.3, 0.9, -0.5)}}, true));
  s.add(std::make_unique<VariableMassBlock>(f0));
}

// A cloud of free bodies, points, springs and bars in empty space.
inline void free_model(System& s) {
  Random random(43);
  std::vector<int> frames, points;
  for (int i = 0; i < 3; ++i) frames.push_back(frame(s, "body"));
  for (int i = 0; i < 3; ++i) points.push_back(point(s, "point"));
  std::vector<RigidBody> bodies;
  for (int f : frames) bodies.push_back({f, 1.0 + f, random.inertia()});
  s.add(std::make_unique<RigidBodyBlock>("bodies", bodies));
  s.add(std::make_unique<BarBlock>(
      "bars", std::vector<Bar>{{points[0], points[1], 0.7, 4, 1.1}, {points[1], points[2], 1.2, 6, 0.4}},
      MassKind::consistent));
  const Vec3 arm(0.2, -0.1, 0.1);
  s.add(std::make_unique<SpringDamperBlock>(
      "springs", std::vector<SpringDamper>{{frames[0], frames[1], arm, -arm, 3, 0.9, 0.4},
                                           {frames[1], frames[2], -2 * arm, arm, 2, 0.3, 0.0},
                                           {points[0], frames[2], Vec3::Zero(), arm, 5, 1.2, 1.0}}));
}

inline Vector unit_vector(int n, int i) {
  Vector x(at(n), 0.0);
  x[at(i)] = 1;
  return x;
}

inline Vector forces(const System& s, const Vector& q, const Vector& v, double t, unsigned parts = force_all) {
  Vector f(at(s.size()), 1e9);
  s.forces(q, v, t, parts, f);
  return f;
}
inline Vector mass_times(const System& s, const Vector& q, const Vector& a) {
  Vector f(at(s.size()), 1e9);
  s.mass_times(q, a, f);
  return f;
}
inline Matrix mass_matrix(const System& s, const Vector& q) {
  Matrix M(s.size(), s.size());
  for (int i = 0; i < s.size(); ++i) M.col(i) = column(mass_times(s, q, unit_vector(s.size(), i)));
  return M;
}
inline Vector gaps(const System& s, const Vector& q, double t, RowSelection set = all_rows) {
  Vector g(at(s.rows()), 0.0);
  s.gaps(q, t, set, g);
  return g;
}
inline Vector rates(const System& s, const Vector& q, const Vector& v, double t, RowSelection set = all_rows) {
  Vector g(at(s.rows()), 0.0);
  s.rates(q, v, t, set, g);
  return g;
}
// The rows of F^T as columns, by unit multipliers.
inline Matrix directions(const System& s, const Vector& q, double t, int rows) {
  Matrix F(s.size(), rows);
  for (int j = 0; j < rows; ++j) {
    Vector f(at(s.size()), 0.0);
    s.add_reactions(q, t, unit_vector(s.rows(), j), all_rows, f);
    F.col(j) = column(f);
  }
  return F;
}
inline Vector sum(const Vector& a, double c, const Vector& b) {
  Vector x(a);
  axpy(c, b, x);
  return x;
}
// All entries of A, block by block.
inline void check_saddle(const System& s, const Matrix& A, const Matrix& S, const Matrix& lower, const Matrix& upper) {
  const int n = s.size(), b = s.bilateral();
  CHECK(relative_error(A.topLeftCorner(n, n), S) < derivative_tolerance);
  CHECK(relative_error(A.bottomLeftCorner(b, n), lower) < derivative_tolerance);
  CHECK(relative_error(A.topRightCorner(n, b), upper) < rounding);
  CHECK(largest(Matrix(A.bottomRightCorner(b, b))) == 0);
}

// A model large enough that every block is cut into many pieces.
inline void large_model(System& s, int threads) {
  Random random(47);
  s.set_threads(threads);
  s.set_gravity({0, 0, -9.81});
  std::vector<Bar> bars, linear;
  int last = -1;
  for (int i = 0; i <= 5000; ++i) {
    const int p = point(s, "p");
    if (last >= 0) bars.push_back({last, p, 1 + 0.1 * random.normal(), 7 + random.normal(), 0.3});
    if (last >= 0 && i % 3 != 0) linear.push_back({last, p, 1.5, 3 + random.between(0, 1), 0.2 + random.between(0, 1)});
    if (i % 100 == 0) s.fix(p, 1);
    last = p;
  }
  std::vector<RigidBody> bodies;
  std::vector<SpringDamper> springs;
  std::vector<Coincidence> joints;
  std::vector<ContactPoint> contacts;
  for (int i = 0; i < 700; ++i) {
    const int f = frame(s, "f");
    bodies.push_back({f, random.between(1, 2), random.inertia()});
    springs.push_back({f,
                       i % 2 == 0                   ? f - 1
                       : random.between(0, 1) < 0.5 ? -1
                                                    : 17,
                       random.vector(), random.vector(), random.between(1, 2), random.between(0, 1),
                       random.between(0, 1)});
    if (i % 5 == 0) joints.push_back({"joint", f, 3 * i, random.vector(), Vec3::Zero()});
    if (i % 4 == 0) contacts.push_back({"contact", f, random.vector(), 0.1, 0.0});
  }
  s.add(std::make_unique<BarBlock>("bars", bars, MassKind::consistent));
  s.add(std::make_unique<LinearBarBlock>("linear bars", linear, 2, MassKind::consistent));
  s.add(std::make_unique<RigidBodyBlock>("bodies", bodies));
  s.add(std::make_unique<SpringDamperBlock>("springs", springs));
  s.add(std::make_unique<CoincidenceBlock>("joints", joints, true));
  s.add(std::make_unique<PointContactBlock>("contacts", contacts, make_sphere(Vec3::Zero(), 2, false), nullptr, true));
}

inline bool same_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace carom::test
