// Tangents with the stresses that a correction has predicted (ElementTangent::mixed_q).
#include <doctest/doctest.h>

#include "elements/beam/bar.hpp"
#include "elements/solid/elastic_laws.hpp"
#include "tests/support/beam_line.hpp"

using namespace carom;
using namespace carom::test;

namespace {

using Block = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Block tangent(const ElementBlock& block, const Vector& q, const double* mixed_q = nullptr,
              const double* mixed_d = nullptr) {
  const int m = block.topology().local_size;
  Block A = Block::Zero(m, m);
  const Vector v(at(m), 0.0);
  ElementTangent request;
  request.c_K = 1;
  request.mixed_q = mixed_q;
  request.mixed_d = mixed_d;
  block.add_tangent({0, 1}, {q.data(), v.data(), 0}, request, A.data());
  return A;
}

Vec6 strain(const BeamBlock& beam, const Vector& q) {
  Vec6 eps;
  beam.output("section_strain", {0, 1}, {q.data(), nullptr, 0}, eps.data());
  beam.output("section_curvature", {0, 1}, {q.data(), nullptr, 0}, eps.data() + 3);
  return eps;
}

}  // namespace

TEST_CASE("beam: a mixed tangent is that of an element with the predicted section forces") {
  const BeamSection section = homogeneous_section(rectangle_section(0.02, 0.01), 2.1e11, 0.3, 7800);
  Random random(7);
  const auto frame = [&](const Vec3& place) {
    return Frame{random.rotation_matrix(), Vec3(place + random.in_box(0.05))};
  };
  for (int sample = 0; sample < 10; ++sample) {
    const Frame A{random.rotation_matrix(), random.in_box(1)};
    Vec6 d_0, d_1;
    d_0 << 0.3, 0, 0, 0.2, -0.1, 0.4;
    d_1 << 0.31, 0.01, -0.02, 0.3, 0.5, -0.4;
    System s;
    const BeamBlock& beam = add_beam_line(s, {A, se3::compose(A, se3::exp(d_0))}, section);
    s.finalize();
    const auto configuration = [&](const Frame& a, const Vec6& d) {
      Vector q = node_configuration(a);
      const Vector b = node_configuration(se3::compose(a, se3::exp(d)));
      q.insert(q.end(), b.begin(), b.end());
      return q;
    };
    const Vector q = configuration(frame(Vec3::Zero()), d_0 + 0.1 * d_1), before = configuration(frame(A.x), d_1);
    Vector d(12);
    for (double& x : d) x = 0.02 * random.in_box(1).x();

    // the strain that d predicts, by differentiation
    constexpr double step = 1e-5;
    const auto strain_after = [&](double share) {
      Vector moved = before, scaled = d;
      for (double& x : scaled) x *= share;
      s.retract(before, scaled, moved);
      return strain(beam, moved);
    };
    const Vec6 predicted = strain(beam, before) + (strain_after(step) - strain_after(-step)) / (2 * step);

    // an element whose reference gives this strain at q
    System other;
    Beam turned;
    turned.node_a = other.add_node(NodeKind::frame, Vector(q.begin(), q.begin() + 7), "a");
    turned.node_b = other.add_node(NodeKind::frame, Vector(q.begin() + 7, q.end()), "b");
    turned.length = beam.length(0);
    turned.d_0 = d_0 + turned.length * (strain(beam, q) - predicted);
    const BeamBlock& same = static_cast<const BeamBlock&>(
        other.add(std::make_unique<BeamBlock>("same", std::vector{section}, std::vector{turned})));
    other.finalize();

    const Block mixed = tangent(beam, q, before.data(), d.data()), expected = tangent(same, q);
    CHECK((mixed - expected).norm() < 1e-8 * expected.norm());
    CHECK((mixed - tangent(beam, q)).norm() > 1e-3 * expected.norm());
    const Vector none(12, 0.0);
    CHECK((tangent(beam, q, q.data(), none.data()) - tangent(beam, q)).norm() <= 1e-14 * expected.norm());
  }
}

TEST_CASE("bar: a mixed tangent has the predicted axial force across the bar") {
  const double EA = 100, L = 2;
  System s;
  const Vector x_a = {0, 0, 0}, x_b = {0, 0, 2};
  const int a = s.add_node(NodeKind::point, x_a, "a"), b = s.add_node(NodeKind::point, x_b, "b");
  Bar bar;
  bar.node_a = a;
  bar.node_b = b;
  bar.length = L;
  bar.axial_stiffness = EA;
  const ElementBlock& block = s.add(std::make_unique<BarBlock>("bar", std::vector{bar}, MassKind::consistent));
  s.finalize();

  // from a bar along z, stretched to 2.2, a correction moves b by (0.3, 0, 0.1): l changes by 0.1 to first order
  const Vector q = {0, 0, 0, 0, 1.2, 1.6}, before = {0, 0, 0, 0, 0, 2.2}, d = {0.1, 0, 0, 0.4, 0, 0.1};
  const double N = EA * (2.2 + 0.1 - L) / L;
  const Vec3 n(0, 0.6, 0.8);
  const Mat3 K = (EA / L - N / 2) * n * n.transpose() + N / 2 * Mat3::Identity();
  const Block A = tangent(block, q, before.data(), d.data());
  CHECK((A.topLeftCorner(3, 3) - K).norm() < 1e-12 * EA);
  CHECK((A.topRightCorner(3, 3) + K).norm() < 1e-12 * EA);
  const Vector none(6, 0.0);
  CHECK(tangent(block, q, q.data(), none.data()) == tangent(block, q));
}

namespace {

constexpr double young = 3, poisson = 0.3;

// One element: a distorted hexahedron with its lower face near z = 0, or the tetrahedron of its nodes 0, 1, 3, 4.
struct OneSolid {
  System system;
  const SolidBlock* block = nullptr;
  std::vector<Vec3> X;

  OneSolid(const SolidLaw& law, SolidShape shape, bool incompatible_modes, double distortion) {
    Random random(5);
    SolidMesh mesh;
    mesh.shape = shape;
    std::vector<Vec3> corners = {{0, 0, 0},   {2, 0, 0},   {2, 1, 0},   {0, 1, 0},
                                 {0, 0, 0.5}, {2, 0, 0.5}, {2, 1, 0.5}, {0, 1, 0.5}};
    if (shape == SolidShape::tetrahedra) corners = {corners[0], corners[1], corners[3], corners[4]};
    for (const Vec3& corner : corners) {
      X.push_back(corner + random.in_box(distortion));
      mesh.nodes.push_back(system.add_node(NodeKind::point, std::span(X.back().data(), 3), "n"));
    }
    mesh.reference = X;
    SolidOptions options;
    options.incompatible_modes = incompatible_modes;
    block = static_cast<const SolidBlock*>(&system.add(law("solid", mesh, 1, options)));
    system.finalize();
  }
  template <class Map>
  Vector nodal(const Map& map) const {
    Vector out;
    for (const Vec3& x : X) {
      const Vec3 y = map(x);
      out.insert(out.end(), y.data(), y.data() + 3);
    }
    return out;
  }
};

Eigen::Map<const Eigen::VectorXd> dense(const Vector& x) { return {x.data(), static_cast<Eigen::Index>(x.size())}; }

}  // namespace

TEST_CASE("solid: a mixed tangent has the stress of the strain that the correction predicts, whatever the law") {
  // of a tetrahedron, whose gradients are constant: A + V (g_a . (S(E - (H^T H)/2) - S(E)) g_b) 1
  const double lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson)), mu = young / (2 * (1 + poisson));
  const Mat3 one = Mat3::Identity();
  const auto hooke = [&](const Mat3& E) { return Mat3(lambda * E.trace() * one + 2 * mu * E); };
  const auto rubber = [&](const Mat3& E) {
    const Mat3 C = one + 2 * E;
    return Mat3(mu * one + (0.5 * lambda * std::log(C.determinant()) - mu) * C.inverse());
  };
  const auto check = [&](const SolidLaw& law, const auto& stress) {
    const OneSolid s(law, SolidShape::tetrahedra, false, 0.1);
    const Mat3 H = 0.1 * (Mat3() << 1, -2, 3, 0.5, 1, -1, 2, 0, -1).finished();
    const Mat3 F = one + 0.3 * (Mat3() << 0, 1, 0.2, -1, 0.4, 0, 0.3, 0, 0.1).finished();
    const Vector q = s.nodal([&](const Vec3& x) { return Vec3(F * x); });
    const Vector d = s.nodal([&](const Vec3& x) { return Vec3(H * x); });

    Mat3 edges;
    for (int k = 0; k < 3; ++k) edges.col(k) = s.X[at(k + 1)] - s.X[0];
    Eigen::Matrix<double, 3, 4> g;
    g.rightCols<3>() = edges.inverse().transpose();
    g.col(0) = -g.rightCols<3>().rowwise().sum();
    const Mat3 E = 0.5 * (F.transpose() * F - one), change = stress(E - 0.5 * H.transpose() * H) - stress(E);
    Block expected = tangent(*s.block, q);
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b)
        expected.block<3, 3>(3 * a, 3 * b) += edges.determinant() / 6 * g.col(a).dot(change * g.col(b)) * one;
    CHECK((tangent(*s.block, q, q.data(), d.data()) - expected).norm() < 1e-13 * expected.norm());
    const Vector none(12, 0.0);
    CHECK(tangent(*s.block, q, q.data(), none.data()) == tangent(*s.block, q));
    // a predicted strain that no motion has: the stresses at q remain
    const Vector far = s.nodal([&](const Vec3& x) { return Vec3(30 * H * x); });
    CHECK(tangent(*s.block, q, q.data(), far.data()).allFinite());
  };
  check(saint_venant_kirchhoff(young, poisson), hooke);
  check(neo_hookean(young, poisson), rubber);
}

TEST_CASE("solid: after a correction that turns an element, the mixed tangent has no stress") {
  // x = (1 + W) X, W skew: the tangent does not resist a motion whose strain is zero, grad u = F^-T W'
  const Mat3 W = so3::hat(Vec3(0.4, -0.3, 0.5)), F = Mat3::Identity() + W;
  for (const SolidShape shape : {SolidShape::tetrahedra, SolidShape::hexahedra})
    for (const bool modes : {false, true}) {
      if (modes && shape == SolidShape::tetrahedra) continue;
      const OneSolid s(saint_venant_kirchhoff(young, poisson), shape, modes, 0.1);
      const Vector q = s.nodal([&](const Vec3& x) { return Vec3(F * x); });
      const Vector d = s.nodal([&](const Vec3& x) { return Vec3(W * x); });
      const Block mixed = tangent(*s.block, q, q.data(), d.data()), at_q = tangent(*s.block, q);
      for (const Vec3& axis : {Vec3(Vec3::UnitX()), Vec3(Vec3::UnitY()), Vec3(1, -2, 0.5)}) {
        const Mat3 gradient = F.inverse().transpose() * so3::hat(axis);
        const Vector u = s.nodal([&](const Vec3& x) { return Vec3(gradient * x); });
        CHECK((mixed * dense(u)).norm() < 1e-13 * mixed.norm() * dense(u).norm());
        CHECK((at_q * dense(u)).norm() > 1e-2 * at_q.norm() * dense(u).norm());
      }
    }
}
