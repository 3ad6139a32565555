// System against finite differences of the residuals it serves (THEORY section 4), on models that mix frames, points,
// scalars, fixed components, joints and contacts.
#include "core/system.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>

#include "contact/obstacle.hpp"
#include "contact/point_contact.hpp"
#include "contact/sphere_contact.hpp"
#include "core/body_point.hpp"
#include "core/vector_ops.hpp"
#include "elements/bar.hpp"
#include "elements/joint.hpp"
#include "elements/load.hpp"
#include "elements/point_mass.hpp"
#include "elements/rigid_body.hpp"
#include "elements/spring_damper.hpp"
#include "tests/contract/differences.hpp"
#include "tests/support/counting_allocator.hpp"

namespace {

using namespace carom;
using namespace carom::test;

constexpr double derivative_tolerance = 1e-9, rounding = 1e-12;

// ---- two blocks with what the stock lacks: a mass that depends on the configuration, a reaction of its own direction

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

// g = n . x_P - sin(t), but the force acts along another direction: F = d^T J_P.
class OwnDirectionBlock final : public ConstraintBlock {
 public:
  explicit OwnDirectionBlock(int node)
      : ConstraintBlock("own direction", {1, {{0, 6}}, {node}}, 1, ConstraintTraits{.own_direction = true}) {}
  void evaluate(Range, const ConstraintInput& in, const ConstraintValues& values) const override {
    const PointState p = place(in);
    if (values.gap != nullptr) *values.gap = n_.dot(p.x) - std::sin(in.t);
    if (values.gradient != nullptr) fill(p, n_, values.gradient);
    if (values.direction != nullptr) fill(p, d_, values.direction);
    if (in.v == nullptr) return;
    if (values.rate != nullptr) *values.rate = n_.dot(point_velocity(p, offset_, in.v)) - std::cos(in.t);
    if (values.bias != nullptr) *values.bias = n_.dot(point_centripetal(p, offset_, in.v)) + std::sin(in.t);
    if (values.rate_gradient != nullptr) {
      Eigen::Map<Eigen::Matrix<double, 1, 6>> D(values.rate_gradient);
      const Vec3 relative = Vec3(in.v[3], in.v[4], in.v[5]).cross(offset_);
      D << Vec3::Zero().transpose(), -n_.transpose() * p.R * so3::hat(relative);
    }
  }
  void add_reaction(Range, const ConstraintInput& in, const double* s, double* f) const override {
    add_point_force(place(in), offset_, *s * d_, f);
  }
  void add_reaction_gradient(Range, const ConstraintInput& in, const double* s, double c, double* A) const override {
    Eigen::Map<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>> block(A);
    block.bottomRightCorner<3, 3>() += c * *s * point_force_gradient(place(in), offset_, d_);
  }
  Place place(int, int, const ConstraintInput& in) const override { return {place(in).x, d_}; }

 private:
  PointState place(const ConstraintInput& in) const {
    return point_state(configuration(in, 0, 0), node_kind(0, 0), offset_);
  }
  void fill(const PointState& p, const Vec3& direction, double* out) const {
    std::fill_n(out, 6, 0.0);
    add_point_force(p, offset_, direction, out);
  }

  Vec3 n_{0.6, 0, 0.8}, d_{0, 1, 0}, offset_{0.1, 0.3, -0.2};
};

// ---- models

int frame(System& s, const std::string& name) {
  const double q[7] = {0.1 * s.dofs().nodes(), 0.2, -0.3, 1, 0, 0, 0};
  return s.add_node(NodeKind::frame, q, name);
}
int point(System& s, const std::string& name) {
  const double q[3] = {0.1 * s.dofs().nodes(), -0.2, 0.3};
  return s.add_node(NodeKind::point, q, name);
}
int scalar(System& s, const std::string& name) {
  const double q[1] = {0.5};
  return s.add_node(NodeKind::scalar, q, name);
}

// Everything at once. `special` adds the blocks above.
void mixed_model(System& s, bool special, int threads = 1) {
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
  if (special) s.add(std::make_unique<OwnDirectionBlock>(f1));

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
void free_model(System& s) {
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

Vector unit_vector(int n, int i) {
  Vector x(at(n), 0.0);
  x[at(i)] = 1;
  return x;
}

Matrix dense(const System& s, const Vector& values) {
  const SparsePattern& p = s.saddle_pattern();
  Matrix A = Matrix::Zero(p.rows, p.cols);
  for (int i = 0; i < p.rows; ++i)
    for (int k = p.row_start[at(i)]; k < p.row_start[at(i + 1)]; ++k) A(i, p.column[at(k)]) = values[at(k)];
  return A;
}
Matrix assembled(const System& s, const SaddleRequest& request) {
  // filled with rubbish: assemble() overwrites
  Vector values(at(s.saddle_pattern().nonzeros()), 1e9);
  s.assemble(request, values);
  return dense(s, values);
}

Vector forces(const System& s, const Vector& q, const Vector& v, double t, unsigned parts = force_all) {
  Vector f(at(s.size()), 1e9);
  s.forces(q, v, t, parts, f);
  return f;
}
Vector mass_times(const System& s, const Vector& q, const Vector& a) {
  Vector f(at(s.size()), 1e9);
  s.mass_times(q, a, f);
  return f;
}
Matrix mass_matrix(const System& s, const Vector& q) {
  Matrix M(s.size(), s.size());
  for (int i = 0; i < s.size(); ++i) M.col(i) = column(mass_times(s, q, unit_vector(s.size(), i)));
  return M;
}
Vector gaps(const System& s, const Vector& q, double t, RowSet set = RowSet::all) {
  Vector g(at(s.rows()), 0.0);
  s.gaps(q, t, set, g);
  return g;
}
Vector rates(const System& s, const Vector& q, const Vector& v, double t, RowSet set = RowSet::all) {
  Vector g(at(s.rows()), 0.0);
  s.rates(q, v, t, set, g);
  return g;
}
// The rows of F^T as columns, by unit multipliers.
Matrix directions(const System& s, const Vector& q, double t, int rows) {
  Matrix F(s.size(), rows);
  for (int j = 0; j < rows; ++j) {
    Vector f(at(s.size()), 0.0);
    s.add_reactions(q, t, unit_vector(s.rows(), j), RowSet::all, f);
    F.col(j) = column(f);
  }
  return F;
}
Vector sum(const Vector& a, double c, const Vector& b) {
  Vector x(a);
  axpy(c, b, x);
  return x;
}
// All entries of A, block by block.
void check_saddle(const System& s, const Matrix& A, const Matrix& S, const Matrix& lower, const Matrix& upper) {
  const int n = s.size(), b = s.bilateral();
  CHECK(relative_error(A.topLeftCorner(n, n), S) < derivative_tolerance);
  CHECK(relative_error(A.bottomLeftCorner(b, n), lower) < derivative_tolerance);
  CHECK(relative_error(A.topRightCorner(n, b), upper) < rounding);
  CHECK(largest(Matrix(A.bottomRightCorner(b, b))) == 0);
}

// A model large enough that every block is cut into many pieces.
void large_model(System& s, int threads) {
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

bool same_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

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
  REQUIRE(s.bilateral() == 8);
  REQUIRE(s.unilateral() == 3);
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
      s.add_reactions(q, m.t, multipliers, RowSet::bilateral, reactions);
      r = sum(sum(r, -1, forces(s, q, v, m.t)), -1, reactions);
      const Vector rows = rates(s, q, v, m.t, RowSet::bilateral);
      for (int j = 0; j < s.bilateral(); ++j) r.push_back(-k * rows[at(j)]);
      return r;
    };
    const Matrix D = gradient(Vector(at(s.size()), 0.0), residual);
    const Vector q = moved(s, m.q, d, 1);
    TangentOperators T;
    s.tangent_operators(d, T);
    SaddleRequest request;
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
    // lambda~ acts at bilateral rows, xi at all active ones; one contact is open
    const Vector lambda = random.normals(s.rows());
    Vector xi = random.normals(s.rows());
    xi[at(s.bilateral() + 1)] = 0;
    const auto residual = [&](const Vector& U_) {
      const Vector q = moved(s, m.q, U_, 1);
      Vector r = mass_times(s, m.q, U_), reactions(at(s.size()), 0.0), smooth(at(s.size()), 0.0);
      s.add_reactions(q, m.t, xi, RowSet::all, reactions);
      s.add_reactions(q, m.t, lambda, RowSet::bilateral, smooth);
      r = sum(sum(sum(r, -h * h, forces(s, q, m.v, m.t)), -1, reactions), -h * h, smooth);
      const Vector rows = gaps(s, q, m.t, RowSet::bilateral);
      for (int j = 0; j < s.bilateral(); ++j) r.push_back(-k * rows[at(j)]);
      return r;
    };
    const Matrix D = gradient(U, residual);
    const Vector q = moved(s, m.q, U, 1);
    TangentOperators T;
    s.tangent_operators(U, T);
    Vector multipliers(xi);
    for (int j = 0; j < s.bilateral(); ++j) multipliers[at(j)] += h * h * lambda[at(j)];
    SaddleRequest request;
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
  SaddleRequest request;
  request.c_M = 1;
  request.c_C = h;
  request.q_M = request.q = m.q.data();
  request.v = m.v.data();
  request.t = m.t;
  request.row_scale = k;
  check_saddle(s, assembled(s, request), mass_matrix(s, m.q) + h * C, -k * G,
               -k * directions(s, m.q, m.t, s.bilateral()));
}

TEST_CASE("system: tangent times x is the assembled matrix times x") {
  System s;
  mixed_model(s, true);
  s.finalize();
  Random random(6);
  const Motion m = random_motion(s, random), other = random_motion(s, random);
  const Vector d = random.normals(s.size()), x = random.normals(s.size());
  TangentOperators T;
  s.tangent_operators(d, T);
  SaddleRequest request;
  request.c_M = 1.3;
  request.c_C = -0.4;
  request.c_K = 2.1;
  request.q_M = other.q.data();
  request.q = m.q.data();
  request.v = m.v.data();
  request.a = m.a.data();
  request.t = m.t;
  request.T = &T;
  Vector y(at(s.size()), 1e9);
  s.tangent_times(request, x, y);
  CHECK(relative_error(column(y), assembled(s, request).topLeftCorner(s.size(), s.size()) * column(x)) < rounding);
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
    s.row_direction(row, m.q, m.t, r);
    CHECK(relative_error(row_of(r), F.col(row).transpose()) < rounding);
  }
  // the sets leave the other rows alone
  for (const RowSet set : {RowSet::bilateral, RowSet::unilateral}) {
    const bool bilateral = set == RowSet::bilateral;
    const Vector part = gaps(s, m.q, m.t, set), part_rates = rates(s, m.q, m.v, m.t, set);
    for (int row = 0; row < s.rows(); ++row) {
      const bool in_set = (row < s.bilateral()) == bilateral;
      CHECK(part[at(row)] == (in_set ? g[at(row)] : 0.0));
      CHECK(part_rates[at(row)] == (in_set ? rate[at(row)] : 0.0));
    }
  }
  // acceleration level: h is the derivative of the rate at constant velocity
  Vector bias(at(s.rows()), 0.0);
  s.biases(m.q, m.v, m.t, RowSet::all, bias);
  const Vector along = derivative([&](double e) { return rates(s, moved(s, m.q, m.v, e), m.v, m.t + e); });
  CHECK(relative_error(bias, along) < derivative_tolerance);
}

TEST_CASE("system: bilateral rows come first and keep their blocks' order and names") {
  System s;
  mixed_model(s, true);
  s.finalize();
  const std::vector<std::string> names = {"hinge x",      "hinge y",      "hinge z",       "foot point x",
                                          "foot point y", "foot point z", "cardan",        "own direction[0]",
                                          "foot",         "heel",         "top and guided"};
  REQUIRE(s.rows() == static_cast<int>(names.size()));
  for (int row = 0; row < s.rows(); ++row) CHECK(s.row_name(row) == names[at(row)]);
  for (int b = 0; b < static_cast<int>(s.constraints().size()); ++b) {
    const System::RowPlace first = s.row_place(s.first_row(b));
    CHECK(first.block == b);
    CHECK(first.item == 0);
    CHECK(first.row == 0);
    CHECK((s.first_row(b) < s.bilateral()) == !s.constraints()[at(b)]->traits().unilateral);
  }
  CHECK(s.row_place(4).item == 1);
  CHECK(s.row_place(4).row == 1);
  CHECK(s.row_law(8).restitution == 0.5);
  CHECK(s.row_law(9).restitution == 0.2);
  CHECK(s.row_law(10).restitution == 0.9);
  CHECK(s.row_law(0).restitution == 0);

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
          CHECK(s.massless());
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
          CHECK_FALSE(s.massless());
          CHECK_FALSE(s.uses_tangent_operators());
          CHECK(s.mean_nodal_mass() == doctest::Approx(0.2));
        });
  flags([&](System& s) { linear_bars(s, false); }, [](const System& s) { CHECK(s.massless()); });
  // a contact with a sphere bends the constraint but not the smooth motion
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
        CHECK_FALSE(s.massless());
        CHECK(s.uses_tangent_operators());
      });
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
  // kinetic energy
  const Vector momentum = mass_times(s, m.q, m.v);
  CHECK(s.energies(m.q, m.v, m.t).kinetic == doctest::Approx(0.5 * dot(m.v, momentum)).epsilon(1e-14));
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
  // on the free body no neighbour couples: M times the field
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

  // linear momentum is the total mass times the velocity in a translation
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
  SaddleRequest request;
  request.c_M = 1.3;
  request.c_C = 0.7;
  request.c_K = request.c_rate = 0.9;
  request.c_s = 1.1;
  request.q_M = request.q = m.q.data();
  request.v = m.v.data();
  request.s = multipliers.data();
  request.T = &T;
  const auto results = [&](const System& s) {
    Vector lumped(at(s.size())), matrix(at(s.saddle_pattern().nonzeros())), product(at(s.size()));
    s.mass_times(m.q, m.a, lumped, MassKind::lumped);
    s.assemble(request, matrix);
    s.tangent_times(request, m.a, product);
    return std::array{forces(s, m.q, m.v, m.t), mass_times(s, m.q, m.a), lumped, matrix, product};
  };
  const auto expected = results(one);
  for (const System* s : {&two, &three})
    for (int repetition = 0; repetition < 3; ++repetition) {
      const auto found = results(*s);
      CHECK(same_bits(found[0], expected[0]));
      CHECK(same_bits(found[1], expected[1]));
      CHECK(same_bits(found[2], expected[2]));
      CHECK(same_bits(found[3], expected[3]));
      CHECK(same_bits(found[4], expected[4]));
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
    SaddleRequest request;
    request.c_M = request.c_C = request.c_K = request.c_s = request.c_rate = 1;
    request.q_M = request.q = m.q.data();
    request.v = m.v.data();
    request.s = multipliers.data();
    request.T = &T;
    long allocations = 0;
    // the second time; the first may start threads and size what the caller owns
    for (int repetition = 0; repetition < 2; ++repetition) {
      const AllocationCount count;
      s.retract(m.q, d, q);
      s.tangent_operators(d, T);
      s.forces(q, m.v, m.t, force_all, f);
      s.mass_times(q, m.a, f);
      s.gaps(q, m.t, RowSet::all, g);
      s.rates(q, m.v, m.t, RowSet::all, g);
      s.biases(q, m.v, m.t, RowSet::all, g);
      s.add_reactions(q, m.t, multipliers, RowSet::all, f);
      for (int j = 0; j < s.rows(); ++j) {
        s.row_gradient(j, q, m.t, &T, row);
        s.row_direction(j, q, m.t, row);
        s.row_contact_place(j, q, m.v, m.t);
      }
      s.assemble(request, values);
      s.tangent_times(request, d, f);
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
  CHECK(s.noise_force(0.5) == 15);
  // the fixed component does not count, nor does the quaternion
  const Vector q = {0.1, 0.2, -0.3, 1, 0, 0, 0, 0.2, -0.4, 9};
  CHECK(s.largest_position(q) == 0.4);
}
