#include "elements/joints/joint.hpp"

namespace carom {

namespace {

template <class Item>
Topology topology_of(const std::vector<Item>& items) {
  std::vector<int> nodes;
  for (const Item& i : items) nodes.insert(nodes.end(), {i.node_a, i.node_b});
  return {static_cast<int>(items.size()), {{0, 6}, {0, 6}}, std::move(nodes)};
}

}  // namespace

// ---- coincident points

CoincidenceBlock::CoincidenceBlock(std::string name, std::vector<Coincidence> items, bool rotating)
    : ConstraintBlock(std::move(name), topology_of(items), 3, ConstraintTraits{.linear = !rotating}),
      items_(std::move(items)) {}

void CoincidenceBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  for (int i = range.first; i < range.last; ++i) {
    const Coincidence& c = items_[at(i)];
    const PointState a = point_state(configuration(in, i, 0), node_kind(i, 0), c.offset_a);
    const PointState b = point_state(configuration(in, i, 1), node_kind(i, 1), c.offset_b);
    const std::size_t local = at(i - range.first);
    const double* v = in.v == nullptr ? nullptr : in.v + 12 * local;

    if (values.gap != nullptr) Eigen::Map<Vec3>(values.gap + 3 * local) = b.x - a.x;
    if (values.rate != nullptr)
      Eigen::Map<Vec3>(values.rate + 3 * local) =
          point_velocity(b, c.offset_b, v + 6) - point_velocity(a, c.offset_a, v);
    if (values.bias != nullptr)
      Eigen::Map<Vec3>(values.bias + 3 * local) =
          point_centripetal(b, c.offset_b, v + 6) - point_centripetal(a, c.offset_a, v);
    using Matrix = Eigen::Matrix<double, 3, 12, Eigen::RowMajor>;
    if (values.gradient != nullptr)
      Eigen::Map<Matrix>(values.gradient + 36 * local) << -point_jacobian(a, c.offset_a), point_jacobian(b, c.offset_b);
    if (values.rate_gradient != nullptr) {
      Eigen::Map<Matrix> D(values.rate_gradient + 36 * local);
      D.setZero();
      const Vec3 Omega_a(v[3], v[4], v[5]), Omega_b(v[9], v[10], v[11]);
      if (a.rotates) D.middleCols<3>(3) = a.R * so3::hat(Vec3(Omega_a.cross(c.offset_a)));
      if (b.rotates) D.middleCols<3>(9) = -b.R * so3::hat(Vec3(Omega_b.cross(c.offset_b)));
    }
  }
}

void CoincidenceBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  for (int i = range.first; i < range.last; ++i, s += 3, f += 12) {
    const Coincidence& c = items_[at(i)];
    const Vec3 force(s[0], s[1], s[2]);
    add_point_force(point_state(configuration(in, i, 0), node_kind(i, 0), c.offset_a), c.offset_a, -force, f);
    add_point_force(point_state(configuration(in, i, 1), node_kind(i, 1), c.offset_b), c.offset_b, force, f + 6);
  }
}

void CoincidenceBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c_A,
                                             double* A) const {
  for (int i = range.first; i < range.last; ++i, s += 3, A += 144) {
    const Coincidence& c = items_[at(i)];
    const Vec3 force(s[0], s[1], s[2]);
    Eigen::Map<Eigen::Matrix<double, 12, 12, Eigen::RowMajor>> block(A);
    const PointState a = point_state(configuration(in, i, 0), node_kind(i, 0), c.offset_a);
    const PointState b = point_state(configuration(in, i, 1), node_kind(i, 1), c.offset_b);
    if (a.rotates) block.block<3, 3>(3, 3) -= c_A * point_force_gradient(a, c.offset_a, force);
    if (b.rotates) block.block<3, 3>(9, 9) += c_A * point_force_gradient(b, c.offset_b, force);
  }
}

ConstraintBlock::Place CoincidenceBlock::place(int item, int row, const ConstraintInput& in) const {
  const Coincidence& c = items_[at(item)];
  return {point_state(configuration(in, item, 1), node_kind(item, 1), c.offset_b).x, Vec3::Unit(row)};
}

// ---- orthogonal directions

OrthogonalityBlock::OrthogonalityBlock(std::string name, std::vector<Orthogonality> items)
    : ConstraintBlock(std::move(name), topology_of(items), 1, {}), items_(std::move(items)) {}

// With R = R_A^T R_B: p = R beta is the direction of B in the axes of A, u = R^T alpha the direction of A in the axes
// of B;
// g = alpha . p,  G_A = (alpha x p)^T,  G_B = (beta x u)^T.
struct OrthogonalityBlock::Geometry {
  Mat3 R;
  Vec3 p, u, G_A, G_B;
};

OrthogonalityBlock::Geometry OrthogonalityBlock::geometry(const ConstraintInput& in, int i) const {
  const Orthogonality& o = items_[at(i)];
  Geometry g;
  g.R.noalias() = point_state(configuration(in, i, 0), node_kind(i, 0), Vec3::Zero()).R.transpose() *
                  point_state(configuration(in, i, 1), node_kind(i, 1), Vec3::Zero()).R;
  g.p = g.R * o.beta;
  g.u = g.R.transpose() * o.alpha;
  g.G_A = o.alpha.cross(g.p);
  g.G_B = o.beta.cross(g.u);
  return g;
}

void OrthogonalityBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  for (int i = range.first; i < range.last; ++i) {
    const Orthogonality& o = items_[at(i)];
    const Geometry g = geometry(in, i);
    const std::size_t local = at(i - range.first);
    if (values.gap != nullptr) values.gap[local] = o.alpha.dot(g.p);
    if (values.gradient != nullptr) {
      Eigen::Map<Eigen::Matrix<double, 1, 12>> G(values.gradient + 12 * local);
      G.setZero();
      G.segment<3>(3) = g.G_A;
      G.segment<3>(9) = g.G_B;
    }
    if (in.v == nullptr) continue;
    const double* v = in.v + 12 * local;
    const Vec3 Omega_A(v[3], v[4], v[5]), Omega_B(v[9], v[10], v[11]);
    if (values.rate != nullptr) values.rate[local] = g.G_A.dot(Omega_A) + g.G_B.dot(Omega_B);
    if (values.rate_gradient == nullptr && values.bias == nullptr) continue;
    const Mat3 hat_alpha = so3::hat(o.alpha), hat_beta = so3::hat(o.beta);
    const Eigen::RowVector3d D_A =
        Omega_A.transpose() * hat_alpha * so3::hat(g.p) - Omega_B.transpose() * hat_beta * g.R.transpose() * hat_alpha;
    const Eigen::RowVector3d D_B =
        Omega_B.transpose() * hat_beta * so3::hat(g.u) - Omega_A.transpose() * hat_alpha * g.R * hat_beta;
    if (values.rate_gradient != nullptr) {
      Eigen::Map<Eigen::Matrix<double, 1, 12>> D(values.rate_gradient + 12 * local);
      D.setZero();
      D.segment<3>(3) = D_A;
      D.segment<3>(9) = D_B;
    }
    if (values.bias != nullptr) values.bias[local] = D_A.dot(Omega_A) + D_B.dot(Omega_B);
  }
}

void OrthogonalityBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  for (int i = range.first; i < range.last; ++i, ++s, f += 12) {
    const Geometry g = geometry(in, i);
    for (int k = 0; k < 3; ++k) {
      f[3 + k] += *s * g.G_A[k];
      f[9 + k] += *s * g.G_B[k];
    }
  }
}

void OrthogonalityBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                               double* A) const {
  for (int i = range.first; i < range.last; ++i, ++s, A += 144) {
    const Orthogonality& o = items_[at(i)];
    const Geometry g = geometry(in, i);
    const Mat3 hat_alpha = so3::hat(o.alpha), hat_beta = so3::hat(o.beta);
    Eigen::Map<Eigen::Matrix<double, 12, 12, Eigen::RowMajor>> block(A);
    block.block<3, 3>(3, 3) += c * *s * hat_alpha * so3::hat(g.p);
    block.block<3, 3>(3, 9) -= c * *s * hat_alpha * g.R * hat_beta;
    block.block<3, 3>(9, 3) -= c * *s * hat_beta * g.R.transpose() * hat_alpha;
    block.block<3, 3>(9, 9) += c * *s * hat_beta * so3::hat(g.u);
  }
}

ConstraintBlock::Place OrthogonalityBlock::place(int item, int, const ConstraintInput& in) const {
  const PointState b = point_state(configuration(in, item, 1), node_kind(item, 1), Vec3::Zero());
  const PointState a = point_state(configuration(in, item, 0), node_kind(item, 0), Vec3::Zero());
  const Orthogonality& o = items_[at(item)];
  // axis of the moment on B: the reaction of a joint is reported as acting on B
  return {b.x, (b.R * o.beta).cross(a.R * o.alpha).normalized()};
}

std::vector<Orthogonality> parallel_frames(int node_a, const Mat3& R_A, int node_b, const Mat3& R_B) {
  // alpha: unit vectors of A; beta: the same inertial directions in the axes of B
  const Mat3 to_b = R_B.transpose() * R_A;
  const auto row = [&](int i, int j, const char* holds) {
    return Orthogonality{
        .node_a = node_a, .node_b = node_b, .alpha = Vec3::Unit(i), .beta = to_b * Vec3::Unit(j), .holds = holds};
  };
  return {row(1, 2, "rotation x"), row(2, 0, "rotation y"), row(0, 1, "rotation z")};
}

}  // namespace carom
