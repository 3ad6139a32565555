#include "elements/joints/joint.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "core/mechanics/system.hpp"
#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using namespace carom::test;

int frame(System& s) {
  const double q[7] = {0, 0, 0, 1, 0, 0, 0};
  return s.add_node(NodeKind::frame, q, "frame");
}

Vector gaps(const System& s, const Vector& q) {
  Vector g(at(s.rows()));
  s.gaps(q, 0, all_rows, g);
  return g;
}

Matrix gradient_of(const System& s, const Vector& q) {
  Matrix G = Matrix::Zero(s.rows(), s.size());
  SparseRow r;
  for (int row = 0; row < s.rows(); ++row) {
    s.row_gradient(row, q, 0, nullptr, r);
    for (std::size_t k = 0; k < r.equation.size(); ++k) G(row, r.equation[k]) += r.value[k];
  }
  return G;
}

// Two frames at a random state, welded as they stand: the points of both at the same place, the axes parallel.
struct Weld {
  explicit Weld(unsigned seed) : random(seed) {
    const int a = frame(s), b = frame(s);
    {
      System placed;
      frame(placed), frame(placed);
      placed.finalize();
      q = random_motion(placed, random).q;
    }
    R_A = so3::quaternion_to_matrix(Quaternion(q.data() + 3));
    R_B = so3::quaternion_to_matrix(Quaternion(q.data() + 10));
    const Vec3 arm = random.vector(), place = Vec3(q.data()) + R_A * arm;
    const Vec3 other_arm = R_B.transpose() * (place - Vec3(q.data() + 7));
    s.add(std::make_unique<CoincidenceBlock>("place", std::vector<Coincidence>{{"weld", a, b, arm, other_arm}}, true));
    s.add(std::make_unique<OrthogonalityBlock>("axes", parallel_frames(a, R_A, b, R_B)));
    s.finalize();
  }
  Random random;
  System s;
  Vector q;
  Mat3 R_A, R_B;
};

}  // namespace

TEST_CASE("joint: parallel frames and coincident points hold two bodies as they stand, in six independent rows") {
  for (unsigned seed = 1; seed < 6; ++seed) {
    const Weld weld(seed);
    CHECK(largest(gaps(weld.s, weld.q)) < 1e-14);
    const ColumnVector values = Eigen::JacobiSVD<Matrix>(gradient_of(weld.s, weld.q)).singularValues();
    CHECK(values.size() == 6);
    CHECK(values.minCoeff() > 0.1);
  }
}

TEST_CASE("joint: the motions a weld leaves free are the six of one rigid body") {
  const Weld weld(7);
  const Matrix G = gradient_of(weld.s, weld.q);
  for (int k = 0; k < 6; ++k) {
    const Vec3 velocity = k < 3 ? Vec3(Vec3::Unit(k)) : Vec3(Vec3::Zero()),
               omega = k < 3 ? Vec3(Vec3::Zero()) : Vec3(Vec3::Unit(k - 3));
    ColumnVector rigid(12);
    rigid << velocity + omega.cross(Vec3(weld.q.data())), weld.R_A.transpose() * omega,
        velocity + omega.cross(Vec3(weld.q.data() + 7)), weld.R_B.transpose() * omega;
    CHECK(largest(Matrix(G * rigid)) < 1e-13);
  }
}

TEST_CASE("joint: a relative rotation by a small angle shows in the row of its axis") {
  System s;
  const int f = frame(s);
  s.add(std::make_unique<OrthogonalityBlock>("axes", parallel_frames(-1, Mat3::Identity(), f, Mat3::Identity())));
  s.finalize();
  const double angle = 1e-3;
  for (int axis = 0; axis < 3; ++axis) {
    Vector w(6, 0.0);
    w[at(3 + axis)] = angle;
    const Vector g = gaps(s, moved(s, s.initial_configuration(), w, 1));
    // a_2 . b_3, a_3 . b_1, a_1 . b_2: minus the sine of the angle about 1, 2, 3
    for (int row = 0; row < 3; ++row) CHECK(g[at(row)] == doctest::Approx(row == axis ? -std::sin(angle) : 0));
  }
}

TEST_CASE("joint: the gap of a coincidence is the vector from A's point to B's") {
  System s;
  const double c = std::sqrt(0.5), q[7] = {1, 2, 3, c, 0, 0, c};  // turned by a right angle about z
  const int f = s.add_node(NodeKind::frame, q, "f");
  s.add(std::make_unique<CoincidenceBlock>(
      "pin", std::vector<Coincidence>{{"pin", -1, f, Vec3(1, 1, 1), Vec3(2, 0, 0.5)}}, true));
  s.finalize();
  CHECK(relative_error(gaps(s, s.initial_configuration()), Vector{0, 3, 2.5}) < 1e-15);
}
