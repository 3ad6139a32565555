#include "contact/gap/sphere_contact.hpp"

#include <algorithm>
#include <limits>

#include "contact/gap/passing.hpp"
#include "contact/gap/tangent_basis.hpp"

namespace carom {

namespace {

Topology topology_of(const std::vector<SpherePair>& pairs) {
  std::vector<int> nodes;
  for (const SpherePair& p : pairs) nodes.insert(nodes.end(), {p.node_a, p.node_b});
  return {static_cast<int>(pairs.size()), {{0, 6}, {0, 6}}, std::move(nodes)};
}

int rows_of(const std::vector<SpherePair>& pairs) {
  if (pairs.empty() || !(pairs.front().friction > 0)) return 1;
  return pairs.front().rolling > 0 || pairs.front().pivoting > 0 ? most_contact_rows : slip_rows;
}

ConstraintTraits traits_of(const std::vector<SpherePair>& pairs, bool searching) {
  return {.kind = RowKind::unilateral,
          .searching = searching,
          .passable = true,
          .rolling = rows_of(pairs) > 1,
          .turning = std::ranges::any_of(
              pairs, [](const SpherePair& p) { return !p.offset_a.isZero(0) || !p.offset_b.isZero(0); })};
}

using Mat3x12 = Eigen::Matrix<double, 3, 12>;

}  // namespace

struct SphereContactBlock::Geometry {
  PointState a, b;
  Vec3 n;
  double length = 0;
  Mat3 hessian() const {
    return length > 0 ? Mat3((Mat3::Identity() - n * n.transpose()) / length) : Mat3(Mat3::Zero());
  }
};

// Where the spheres touch and in which directions they slip.
struct SphereContactBlock::Friction {
  TangentBasis basis;
  double l_a, l_b;
  Friction(const SpherePair& pair, const Geometry& g)
      : basis(generic_tangent_reference(), g.n),
        l_a(0.5 * (g.length + pair.radius_a - pair.radius_b)),
        l_b(g.length - l_a) {}
  Vec3 arm_a(const SpherePair& pair, const Geometry& g) const {
    return pair.offset_a + l_a * (g.a.R.transpose() * g.n);
  }
  Vec3 arm_b(const SpherePair& pair, const Geometry& g) const {
    return pair.offset_b - l_b * (g.b.R.transpose() * g.n);
  }
};

SphereContactBlock::SphereContactBlock(std::string name, std::vector<SpherePair> pairs)
    : ConstraintBlock(std::move(name), topology_of(pairs), rows_of(pairs), traits_of(pairs, false)),
      pairs_(std::move(pairs)) {}

SphereContactBlock::SphereContactBlock(std::string name, std::vector<SpherePair> pairs, double far)
    : ConstraintBlock(std::move(name), topology_of(pairs), rows_of(pairs), traits_of(pairs, true)),
      pairs_(std::move(pairs)),
      far_(far) {}

SphereContactBlock::Geometry SphereContactBlock::geometry(const ConstraintInput& in, int i) const {
  const SpherePair& pair = pairs_[static_cast<std::size_t>(i)];
  Geometry g;
  g.a = point_state(configuration(in, i, 0), node_kind(i, 0), pair.offset_a);
  g.b = point_state(configuration(in, i, 1), node_kind(i, 1), pair.offset_b);
  const Vec3 span = g.b.x - g.a.x;
  g.length = span.norm();
  // shorter parts of the radii are rounding of the places, and have no direction
  const bool directed = g.length > 1e-12 * (pair.radius_a + pair.radius_b);
  g.n = directed ? Vec3(span / g.length) : Vec3(Vec3::Constant(std::numeric_limits<double>::quiet_NaN()));
  return g;
}

std::string SphereContactBlock::missed_contact(const ConstraintInput& start, const ConstraintInput& end,
                                               double closing_turn) const {
  for (int i = 0; i < topology().items; ++i) {
    if (!paired(i)) continue;
    const SpherePair& pair = pairs_[static_cast<std::size_t>(i)];
    const auto centre = [&](const ConstraintInput& in, int slot, const Vec3& offset) {
      const double* const node = configuration(in, i, slot);
      // most centres are the nodes: no rotation is needed
      return node != nullptr && offset.isZero(0) ? Vec3(node) : point_state(node, node_kind(i, slot), offset).x;
    };
    const auto span = [&](const ConstraintInput& in) {
      return Vec3(centre(in, 1, pair.offset_b) - centre(in, 0, pair.offset_a));
    };
    if (passes(span(start), span(end), pair.radius_a + pair.radius_b, closing_turn)) return item_name(i);
  }
  return {};
}

int SphereContactBlock::undirected(const ConstraintInput& in) const {
  for (int i = 0; i < topology().items; ++i)
    if (paired(i) && !geometry(in, i).n.allFinite()) return i;
  return -1;
}

void SphereContactBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  const std::size_t rows = static_cast<std::size_t>(this->rows());
  for (int i = range.first; i < range.last; ++i) {
    const SpherePair& pair = pairs_[static_cast<std::size_t>(i)];
    const std::size_t item = static_cast<std::size_t>(i - range.first), local = rows * item;
    if (!paired(i)) {
      for (double* const value : {values.gap, values.rate, values.bias})
        if (value != nullptr) std::fill_n(value + local, rows, 0.0);
      if (values.gap != nullptr) values.gap[local] = far_;
      for (double* const value : {values.gradient, values.rate_gradient, values.gap_gradient})
        if (value != nullptr) std::fill_n(value + 12 * local, 12 * rows, 0.0);
      continue;
    }
    const Geometry g = geometry(in, i);
    if (values.gap != nullptr) values.gap[local] = g.length - (pair.radius_a + pair.radius_b);
    for (double* const gradient : {values.gradient, values.gap_gradient}) {
      if (gradient == nullptr) continue;
      double* G = gradient + 12 * local;
      for (int k = 0; k < 12; ++k) G[k] = 0;
      add_point_force(g.a, pair.offset_a, -g.n, G);
      add_point_force(g.b, pair.offset_b, g.n, G + 6);
    }
    if (rows > 1) {
      evaluate_step(i, item, in, g, values);
      evaluate_slip(i, item, in, g, values);
    }
    if (rows > slip_rows) evaluate_spin(i, item, in, g, values);
    if (in.v == nullptr) continue;
    const double* v = in.v + 12 * item;
    const Vec3 w = point_velocity(g.b, pair.offset_b, v + 6) - point_velocity(g.a, pair.offset_a, v);
    if (values.rate != nullptr) values.rate[local] = g.n.dot(w);
    if (values.bias != nullptr)
      values.bias[local] = w.dot(g.hessian() * w) + g.n.dot(point_centripetal(g.b, pair.offset_b, v + 6) -
                                                            point_centripetal(g.a, pair.offset_a, v));
    if (values.rate_gradient != nullptr) {
      const Eigen::RowVector3d along = w.transpose() * g.hessian();
      Eigen::Map<Eigen::Matrix<double, 1, 12>> D(values.rate_gradient + 12 * local);
      D << -along * point_jacobian(g.a, pair.offset_a), along * point_jacobian(g.b, pair.offset_b);
      const auto add_rotation = [&](const PointState& p, const Vec3& offset, const double* vp, double sign,
                                    int column) {
        if (!p.rotates) return;
        D.segment<3>(column) -= sign * g.n.transpose() * p.R * so3::hat(Vec3(Vec3(vp[3], vp[4], vp[5]).cross(offset)));
      };
      add_rotation(g.a, pair.offset_a, v, -1, 3);
      add_rotation(g.b, pair.offset_b, v + 6, 1, 9);
    }
  }
}

void SphereContactBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  for (int i = range.first; i < range.last; ++i, s += rows(), f += 12) {
    const bool rubs = rows() > 1 && (s[1] != 0 || s[2] != 0), resists = acts_by_moment(s, rows());
    if (*s == 0 && !rubs && !resists) continue;
    const SpherePair& pair = pairs_[static_cast<std::size_t>(i)];
    const Geometry g = geometry(in, i);
    add_point_force(g.a, pair.offset_a, -*s * g.n, f);
    add_point_force(g.b, pair.offset_b, *s * g.n, f + 6);
    if (!rubs && !resists) continue;
    const Friction friction(pair, g);
    if (resists) {
      const Vec3 M = pair.lever * ContactAxes(friction.basis, g.n).moment(s + slip_rows);
      if (g.a.rotates) Eigen::Map<Vec3>(f + 3) -= g.a.R.transpose() * M;
      if (g.b.rotates) Eigen::Map<Vec3>(f + 9) += g.b.R.transpose() * M;
    }
    const Vec3 F = friction.basis.force(s + 1);
    add_point_force(g.a, friction.arm_a(pair, g), -F, f);
    add_point_force(g.b, friction.arm_b(pair, g), F, f + 6);
  }
}

void SphereContactBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                               double* A) const {
  for (int i = range.first; i < range.last; ++i, s += rows(), A += 144) {
    const bool rubs = rows() > 1 && (s[1] != 0 || s[2] != 0), resists = acts_by_moment(s, rows());
    if (*s == 0 && !rubs && !resists) continue;
    const SpherePair& pair = pairs_[static_cast<std::size_t>(i)];
    const Geometry g = geometry(in, i);
    Eigen::Matrix<double, 3, 12> J;
    J << -point_jacobian(g.a, pair.offset_a), point_jacobian(g.b, pair.offset_b);
    Eigen::Map<Eigen::Matrix<double, 12, 12, Eigen::RowMajor>> block(A);
    block += c * *s * J.transpose() * g.hessian() * J;
    if (g.a.rotates) block.block<3, 3>(3, 3) -= c * *s * point_force_gradient(g.a, pair.offset_a, g.n);
    if (g.b.rotates) block.block<3, 3>(9, 9) += c * *s * point_force_gradient(g.b, pair.offset_b, g.n);
    if (!rubs && !resists) continue;
    // the force F on B and -F on A; moments offset x R^T F + arm R^T (n x F)
    const Friction friction(pair, g);
    const Vec3 F = friction.basis.force(s + 1);
    const Mat3x12 N = g.hessian() * J, B = friction.basis.force_gradient(s + 1) * N,
                  M = so3::hat(g.n) * B - so3::hat(F) * N;
    const Eigen::Matrix<double, 1, 12> dl = 0.5 * g.n.transpose() * J;
    const auto add_side = [&](const PointState& p, const Vec3& offset, double arm, double sign_of_arm, double sign,
                              int row) {
      block.middleRows<3>(row) += sign * c * B;
      if (!p.rotates) return;
      const Mat3 Rt = p.R.transpose();
      const Vec3 nF = Rt * g.n.cross(F);
      block.middleRows<3>(row + 3) += sign * c * (so3::hat(offset) * Rt * B + sign_of_arm * (arm * Rt * M + nF * dl));
      block.block<3, 3>(row + 3, row + 3) +=
          sign * c * (so3::hat(offset) * so3::hat(Vec3(Rt * F)) + sign_of_arm * arm * so3::hat(nF));
    };
    add_side(g.a, pair.offset_a, friction.l_a, 1, -1, 0);
    add_side(g.b, pair.offset_b, friction.l_b, -1, 1, 6);
    if (!resists) continue;
    // the moments R^T m
    const ContactAxes axes(friction.basis, g.n);
    const Vec3 m = pair.lever * axes.moment(s + slip_rows);
    const Mat3x12 dm = pair.lever * axes.moment_gradient(s + slip_rows) * N;
    const auto add_moment = [&](const PointState& p, double sign, int row) {
      if (!p.rotates) return;
      block.middleRows<3>(row) += sign * c * p.R.transpose() * dm;
      block.block<3, 3>(row, row) += sign * c * so3::hat(Vec3(p.R.transpose() * m));
    };
    add_moment(g.a, -1, 3);
    add_moment(g.b, 1, 9);
  }
}

ContactParameters SphereContactBlock::law(int item, int row) const {
  const SpherePair& pair = pairs_[static_cast<std::size_t>(item)];
  if (row >= slip_rows) return resistance_law(row, pair.rolling, pair.pivoting, pair.lever);
  return {.restitution = row == 0 ? pair.restitution : pair.tangential_restitution, .friction = pair.friction};
}

ConstraintBlock::Place SphereContactBlock::place(int item, int row, const ConstraintInput& in) const {
  if (!paired(item)) return {};
  const Geometry g = geometry(in, item);
  if (row > 0) {
    const Friction friction(pairs_[static_cast<std::size_t>(item)], g);
    return {g.a.x + friction.l_a * g.n, contact_row_direction(row, g.n, friction.basis)};
  }
  return {g.a.x + pairs_[static_cast<std::size_t>(item)].radius_a * g.n, g.n};
}

ConstraintBlock::Turn SphereContactBlock::tangent_turn(int item, const ConstraintInput& in) const {
  if (rows() == 1 || in.start == nullptr || !paired(item)) return {};
  const Vec3 n = geometry(in, item).n, n_n = geometry({in.start->q, nullptr, in.start->t, nullptr}, item).n;
  const TangentReference& reference = generic_tangent_reference();
  return TangentBasis(reference, n).turn_from(TangentBasis(reference, n_n), n, n_n);
}

// Slip velocity u = t . w: its gradient, its time derivative and its derivative.
void SphereContactBlock::evaluate_slip(int item, std::size_t place, const ConstraintInput& in, const Geometry& g,
                                       const ConstraintValues& values) const {
  if (values.gradient == nullptr && in.v == nullptr) return;
  const SpherePair& pair = pairs_[static_cast<std::size_t>(item)];
  const Friction friction(pair, g);
  const TangentBasis& basis = friction.basis;
  const std::size_t first = static_cast<std::size_t>(rows()) * place + 1;
  for (std::size_t k = 0; k < 2 && values.gradient != nullptr; ++k) {
    double* G = values.gradient + 12 * (first + k);
    std::fill_n(G, 12, 0.0);
    add_point_force(g.a, friction.arm_a(pair, g), -basis.t[k], G);
    add_point_force(g.b, friction.arm_b(pair, g), basis.t[k], G + 6);
  }
  if (in.v == nullptr) return;
  const double* v = in.v + 12 * place;
  const auto body_spin = [](const PointState& p, const double* vp) {
    return p.rotates ? Vec3(vp[3], vp[4], vp[5]) : Vec3(Vec3::Zero());
  };
  const Vec3 Omega_a = body_spin(g.a, v), Omega_b = body_spin(g.b, v + 6), omega_a = g.a.R * Omega_a,
             omega_b = g.b.R * Omega_b, rolling = friction.l_a * omega_a + friction.l_b * omega_b;
  const Vec3 span_rate = point_velocity(g.b, pair.offset_b, v + 6) - point_velocity(g.a, pair.offset_a, v);
  const Vec3 w = span_rate - rolling.cross(g.n);
  for (std::size_t k = 0; k < 2; ++k)
    if (values.rate != nullptr) values.rate[first + k] = basis.t[k].dot(w);
  const Mat3 H = g.hessian();
  if (values.bias != nullptr) {
    const Vec3 n_t = H * span_rate;
    const Vec3 w_t = point_centripetal(g.b, pair.offset_b, v + 6) - point_centripetal(g.a, pair.offset_a, v) -
                     0.5 * g.n.dot(span_rate) * (omega_a + omega_b).cross(g.n) - rolling.cross(n_t);
    for (std::size_t k = 0; k < 2; ++k) values.bias[first + k] = (basis.D[k] * n_t).dot(w) + basis.t[k].dot(w_t);
  }
  if (values.rate_gradient == nullptr) return;
  Mat3x12 J;
  J << -point_jacobian(g.a, pair.offset_a), point_jacobian(g.b, pair.offset_b);
  const Mat3x12 N = H * J;
  Mat3x12 W = -so3::hat(rolling) * N + g.n.cross(omega_a + omega_b) * (0.5 * g.n.transpose() * J);
  const auto add_rotation = [&](const PointState& p, const Vec3& offset, const Vec3& Omega, double arm, double sign,
                                int column) {
    if (!p.rotates) return;
    W.middleCols<3>(column) -=
        sign * p.R * so3::hat(Vec3(Omega.cross(offset))) + arm * so3::hat(g.n) * p.R * so3::hat(Omega);
  };
  add_rotation(g.a, pair.offset_a, Omega_a, friction.l_a, -1, 3);
  add_rotation(g.b, pair.offset_b, Omega_b, friction.l_b, 1, 9);
  for (std::size_t k = 0; k < 2; ++k)
    Eigen::Map<Eigen::Matrix<double, 1, 12>>(values.rate_gradient + 12 * (first + k)) =
        (w.transpose() * basis.D[k]) * N + basis.t[k].transpose() * W;
}

struct SphereContactBlock::StepMotion {
  const SpherePair& pair;
  Geometry before;
  Friction friction;
  ContactAxes axes;
  Vec3 psi_a, psi_b;  // rotations
  // Only for gradients: of the distance between the centres and of the normal.
  Mat3x12 J, N;
};

void SphereContactBlock::evaluate_step(int item, std::size_t place, const ConstraintInput& in, const Geometry& g,
                                       const ConstraintValues& values) const {
  if (values.gap == nullptr && values.gap_gradient == nullptr) return;
  if (in.start == nullptr) {
    const std::size_t first = static_cast<std::size_t>(rows()) * place + 1, n = static_cast<std::size_t>(rows()) - 1;
    if (values.gap != nullptr) std::fill_n(values.gap + first, n, 0.0);
    if (values.gap_gradient != nullptr) std::fill_n(values.gap_gradient + 12 * first, 12 * n, 0.0);
    return;
  }
  const SpherePair& pair = pairs_[static_cast<std::size_t>(item)];
  const Geometry before = geometry({in.start->q, nullptr, in.start->t, nullptr}, item);
  const Friction friction(pair, g);
  const auto rotation = [](const PointState& p, const PointState& p_n) {
    return p.rotates ? Vec3(so3::log(Mat3(p.R * p_n.R.transpose()))) : Vec3(Vec3::Zero());
  };
  StepMotion step{
      pair, before, friction, ContactAxes(friction.basis, g.n), rotation(g.a, before.a), rotation(g.b, before.b),
      {},   {}};
  step.axes.go_to_middle(before.n);
  if (values.gap_gradient != nullptr) {
    step.J << -point_jacobian(g.a, pair.offset_a), point_jacobian(g.b, pair.offset_b);
    step.N = g.hessian() * step.J;
  }
  evaluate_displacement(place, step, g, values);
  if (rows() > slip_rows) evaluate_rotation(place, step, g, values);
}

// Slip displacement of the step, t . e, and its derivative.
void SphereContactBlock::evaluate_displacement(std::size_t place, const StepMotion& step, const Geometry& g,
                                               const ConstraintValues& values) const {
  const std::size_t first = static_cast<std::size_t>(rows()) * place + 1;
  const auto& [pair, before, friction, axes, psi_a, psi_b, J, N] = step;
  const Vec3 rolling = friction.l_a * psi_a + friction.l_b * psi_b;
  const Vec3& m = axes.a[2];
  const Vec3 e = (g.b.x - before.b.x) - (g.a.x - before.a.x) - rolling.cross(m);
  for (std::size_t k = 0; k < 2; ++k)
    if (values.gap != nullptr) values.gap[first + k] = axes.a[k].dot(e);
  if (values.gap_gradient == nullptr) return;
  Mat3x12 E = J - so3::hat(rolling) * axes.D[2] * N + m.cross(psi_a + psi_b) * (0.5 * g.n.transpose() * J);
  if (g.a.rotates) E.middleCols<3>(3) += friction.l_a * so3::hat(m) * so3::tangent_inverse(Vec3(-psi_a)) * g.a.R;
  if (g.b.rotates) E.middleCols<3>(9) += friction.l_b * so3::hat(m) * so3::tangent_inverse(Vec3(-psi_b)) * g.b.R;
  for (std::size_t k = 0; k < 2; ++k)
    Eigen::Map<Eigen::Matrix<double, 1, 12>>(values.gap_gradient + 12 * (first + k)) =
        (e.transpose() * axes.D[k]) * N + axes.a[k].transpose() * E;
}

// Rows of resistance, the relative angular velocity L a . (omega_B - omega_A): gradients, time derivatives and
// derivatives.
void SphereContactBlock::evaluate_spin(int item, std::size_t place, const ConstraintInput& in, const Geometry& g,
                                       const ConstraintValues& values) const {
  if (values.gradient == nullptr && in.v == nullptr) return;
  const SpherePair& pair = pairs_[static_cast<std::size_t>(item)];
  const ContactAxes axes(Friction(pair, g).basis, g.n);
  const double L = pair.lever;
  const std::size_t first = static_cast<std::size_t>(rows()) * place + slip_rows;
  for (std::size_t k = 0; k < 3 && values.gradient != nullptr; ++k) {
    Eigen::Map<Eigen::Matrix<double, 12, 1>> G(values.gradient + 12 * (first + k));
    G.setZero();
    if (g.a.rotates) G.segment<3>(3) = -L * (g.a.R.transpose() * axes.a[k]);
    if (g.b.rotates) G.segment<3>(9) = L * (g.b.R.transpose() * axes.a[k]);
  }
  if (in.v == nullptr) return;
  const double* v = in.v + 12 * place;
  const auto body_spin = [](const PointState& p, const double* vp) {
    return p.rotates ? Vec3(vp[3], vp[4], vp[5]) : Vec3(Vec3::Zero());
  };
  const Vec3 Omega_a = body_spin(g.a, v), Omega_b = body_spin(g.b, v + 6), w = g.b.R * Omega_b - g.a.R * Omega_a;
  const Vec3 n_t = g.hessian() * (point_velocity(g.b, pair.offset_b, v + 6) - point_velocity(g.a, pair.offset_a, v));
  Mat3x12 J;
  J << -point_jacobian(g.a, pair.offset_a), point_jacobian(g.b, pair.offset_b);
  const Mat3x12 N = g.hessian() * J;
  for (std::size_t k = 0; k < 3; ++k) {
    if (values.rate != nullptr) values.rate[first + k] = L * axes.a[k].dot(w);
    if (values.bias != nullptr) values.bias[first + k] = L * (axes.D[k] * n_t).dot(w);
    if (values.rate_gradient == nullptr) continue;
    Eigen::Map<Eigen::Matrix<double, 1, 12>> D(values.rate_gradient + 12 * (first + k));
    D = L * (w.transpose() * axes.D[k]) * N;
    if (g.a.rotates) D.segment<3>(3) += L * axes.a[k].transpose() * g.a.R * so3::hat(Omega_a);
    if (g.b.rotates) D.segment<3>(9) -= L * axes.a[k].transpose() * g.b.R * so3::hat(Omega_b);
  }
}

// Relative rotation of the step, L a . (psi_B - psi_A), and its derivative.
void SphereContactBlock::evaluate_rotation(std::size_t place, const StepMotion& step, const Geometry& g,
                                           const ConstraintValues& values) const {
  const std::size_t first = static_cast<std::size_t>(rows()) * place + slip_rows;
  const auto& [pair, before, friction, axes, psi_a, psi_b, J, N] = step;
  const double L = pair.lever;
  const Vec3 turn = psi_b - psi_a;
  for (std::size_t k = 0; k < 3; ++k) {
    if (values.gap != nullptr) values.gap[first + k] = L * axes.a[k].dot(turn);
    if (values.gap_gradient == nullptr) continue;
    Eigen::Map<Eigen::Matrix<double, 1, 12>> D(values.gap_gradient + 12 * (first + k));
    D = L * (turn.transpose() * axes.D[k]) * N;
    if (g.a.rotates) D.segment<3>(3) -= L * axes.a[k].transpose() * so3::tangent_inverse(Vec3(-psi_a)) * g.a.R;
    if (g.b.rotates) D.segment<3>(9) += L * axes.a[k].transpose() * so3::tangent_inverse(Vec3(-psi_b)) * g.b.R;
  }
}

}  // namespace carom
