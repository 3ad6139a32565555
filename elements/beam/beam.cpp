#include "elements/beam/beam.hpp"

#include <algorithm>
#include <cmath>

namespace carom {

namespace {

using Coefficients = so3::Coefficients<double>;
using Mat12 = Eigen::Matrix<double, 12, 12, Eigen::RowMajor>;

Topology topology_of(const std::vector<Beam>& beams) {
  std::vector<int> nodes;
  nodes.reserve(2 * beams.size());
  for (const Beam& b : beams) nodes.insert(nodes.end(), {b.node_a, b.node_b});
  return {static_cast<int>(beams.size()), {{0, 6}, {0, 6}}, std::move(nodes)};
}

// The ends of an element against each other, rad: beyond pi the strain jumps, because it is the logarithm of the
// relative rotation.
constexpr double most_turned = 2.8;

BlockTraits traits_of(const std::vector<BeamSection>& sections, double damping) {
  const auto any = [&](const auto& test) { return std::any_of(sections.begin(), sections.end(), test); };
  const bool gyroscopic =
      any([](const BeamSection& s) { return s.inertia != Mat3(s.inertia(0, 0) * Mat3::Identity()); });
  BlockTraits t;
  t.has_mass = any([](const BeamSection& s) { return s.line_density != 0 || !s.inertia.isZero(0); });
  t.force_parts = force_internal;
  if (damping > 0) t.force_parts |= force_damping;
  if (gyroscopic) t.force_parts |= force_gyroscopic;
  t.velocity_dependent = damping > 0 || gyroscopic;
  t.has_stiffness = t.mixed_tangent = t.may_invert = true;
  return t;
}

Vec3 velocity(const double* v, int first) { return {v[first], v[first + 1], v[first + 2]}; }

void add_to(double* f, const Vec3& x) {
  for (int i = 0; i < 3; ++i) f[i] += x[i];
}

// D_w [F(w) a] without the constant term -hat(a)/2 of hat(w)/2, with F = 1 + hat(w)/2 + r hat(w)^2. The result also
// serves F^T, whose hat term has the opposite sign.
Mat3 even_derivative(const Coefficients& c, const Vec3& w, const Vec3& a) {
  const double wa = w.dot(a);
  const Vec3 WWa = wa * w - w.squaredNorm() * a;
  const Vec3 left = 2 * c.r1 * WWa - 2 * c.r * a;
  Mat3 E = left * w.transpose() + (c.r * w) * a.transpose();
  E.diagonal().array() += c.r * wa;
  return E;
}

// D_w [D(w, u) a], D the derivative of F along u. The term hat(w)/2 of F contributes nothing, so the result serves D^T
// too.
Mat3 second_derivative(const Coefficients& c, const Vec3& w, const Vec3& u, const Vec3& a) {
  const double wu = w.dot(u), wa = w.dot(a), ua = u.dot(a);
  const Vec3 WWa = wa * w - w.squaredNorm() * a;
  const Vec3 S = u * wa + w * ua - 2 * wu * a;
  const double two_r1 = 2 * c.r1;
  const Vec3 along_w = two_r1 * S + (4 * wu * c.r2) * WWa - (2 * two_r1 * wu) * a;
  const Vec3 along_u = two_r1 * WWa - 2 * c.r * a;
  const Vec3 along_a = c.r * u + (two_r1 * wu) * w;
  Mat3 E = along_w * w.transpose() + along_u * u.transpose() + along_a * a.transpose();
  E.diagonal().array() += c.r * ua + two_r1 * wu * wa;
  return E;
}

}  // namespace

void set_reference(Beam& beam, const se3::Frame<double>& H_A, const se3::Frame<double>& H_B) {
  beam.d_0 = se3::log(se3::relative(H_A, H_B));
  beam.length = beam.d_0.head<3>().norm();
}

// R_A: rotation of the section at A. r, w: position and rotation vector of the section at B relative to the section at
// A.
struct BeamBlock::Ends {
  Mat3 R_A;
  Vec3 r, w;
};

struct BeamBlock::Kinematics {
  Mat3 R_A, F, D;
  Vec3 u, w;
  Coefficients c;

  template <int Order>
  static Kinematics of(const Ends& ends) {
    Kinematics k;
    k.R_A = ends.R_A;
    k.w = ends.w;
    k.c = so3::tangent_inverse_coefficients<Order>(k.w.squaredNorm());
    k.F = so3::polynomial(k.c, k.w);
    k.u.noalias() = k.F.transpose() * ends.r;
    k.D = so3::polynomial_along(k.c, k.w, k.u);
    return k;
  }
  Vec6 d() const {
    Vec6 d;
    d << u, w;
    return d;
  }
};

BeamBlock::BeamBlock(std::string name, std::vector<BeamSection> sections, const std::vector<Beam>& beams,
                     double damping)
    : ElementBlock(std::move(name), topology_of(beams), traits_of(sections, damping)),
      sections_(std::move(sections)),
      damping_(damping) {
  elements_.reserve(beams.size());
  inertia_.reserve(2 * beams.size());
  for (const Beam& b : beams) {
    Element e;
    e.section = b.section;
    e.length = b.length;
    e.d_0 = b.d_0;
    if (b.R_a != Mat3::Identity() || b.R_b != Mat3::Identity()) {
      e.turned = static_cast<int>(turned_.size());
      turned_.push_back({b.R_a, b.R_b, so3::matrix_to_quaternion(b.R_a), so3::matrix_to_quaternion(b.R_b)});
    }
    elements_.push_back(e);
    const Mat3 J = 0.5 * b.length * sections_[at(b.section)].inertia;
    inertia_.emplace_back(b.R_a * J * b.R_a.transpose());
    inertia_.emplace_back(b.R_b * J * b.R_b.transpose());
  }
}

const BeamBlock::Turned* BeamBlock::turned(int e) const {
  const int i = element(e).turned;
  return i < 0 ? nullptr : &turned_[at(i)];
}

Mat3 BeamBlock::section_axes(int e, int end) const {
  const Turned* t = turned(e);
  if (t == nullptr) return Mat3::Identity();
  return end == 0 ? t->R_a : t->R_b;
}

std::pair<Quaternion, Quaternion> BeamBlock::section_rotations(const ElementInput& in, int e) const {
  const double *a = configuration(in, e, 0), *b = configuration(in, e, 1);
  Quaternion p_a(a[3], a[4], a[5], a[6]), p_b(b[3], b[4], b[5], b[6]);
  if (const Turned* t = turned(e)) {
    p_a = so3::quaternion_product(p_a, t->p_a);
    p_b = so3::quaternion_product(p_b, t->p_b);
  }
  return {p_a, p_b};
}

BeamBlock::Ends BeamBlock::ends(const ElementInput& in, int e) const {
  const double *a = configuration(in, e, 0), *b = configuration(in, e, 1);
  const auto [p_a, p_b] = section_rotations(in, e);
  Ends ends;
  ends.R_A = so3::quaternion_to_matrix(p_a);
  ends.r.noalias() = ends.R_A.transpose() * Vec3(b[0] - a[0], b[1] - a[1], b[2] - a[2]);
  ends.w = so3::log_quaternion(so3::quaternion_product(so3::quaternion_conjugate(p_a), p_b));
  return ends;
}

std::string BeamBlock::remark(int item, const ElementInput& in) const {
  const double angle = ends(in, item).w.norm();
  if (!(angle > most_turned)) return {};
  return "whose ends are turned by " + std::to_string(angle).substr(0, 4) +
         " rad against each other: the beam has too few elements";
}

int BeamBlock::inverted_item(Range range, const ElementInput& in) const {
  static const double cosine = std::cos(0.5 * most_turned);
  for (int e = range.first; e < range.last; ++e) {
    const auto [p_a, p_b] = section_rotations(in, e);
    if (std::abs(p_a.dot(p_b)) < cosine) return e;
  }
  return -1;
}

Vec6 BeamBlock::strain(const ElementInput& in, int e) const {
  const Ends x = ends(in, e);
  Vec6 d;
  d.head<3>() = so3::polynomial(so3::tangent_inverse_coefficients<0>(x.w.squaredNorm()), x.w).transpose() * x.r;
  d.tail<3>() = x.w;
  return (d - element(e).d_0) / element(e).length;
}

Vec6 BeamBlock::strain_rate(const Kinematics& k, int e, const double* v) const {
  Vec3 a = velocity(v, 3), b = velocity(v, 9);
  if (const Turned* t = turned(e)) {
    a = (t->R_a.transpose() * a).eval();
    b = (t->R_b.transpose() * b).eval();
  }
  const Vec3 y = k.R_A.transpose() * (velocity(v, 6) - velocity(v, 0));
  Vec6 rate;
  rate.head<3>() = k.F.transpose() * y + k.D * b - k.D.transpose() * a;
  rate.tail<3>() = k.F * b - k.F.transpose() * a;
  return rate / element(e).length;
}

// ---- forces

void BeamBlock::add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const {
  if ((parts & traits().force_parts & force_gyroscopic) != 0) add_gyroscopic_force(range, in.v, f);
  const bool internal = (parts & force_internal) != 0, damped = (parts & traits().force_parts & force_damping) != 0;
  if (!internal && !damped) return;
  for (int e = range.first; e < range.last; ++e, f += 12) {
    const Kinematics k = Kinematics::of<1>(ends(in, e));
    Vec6 eps = Vec6::Zero();
    if (internal) eps = (k.d() - element(e).d_0) / element(e).length;
    if (damped) eps += damping_ * strain_rate(k, e, in.v + 12 * (e - range.first));
    const Vec6 n = section(e).stiffness * eps;
    const Vec3 n_f = n.head<3>(), n_m = n.tail<3>();

    const Vec3 N = k.R_A * (k.F * n_f);
    Vec3 m_A = k.D * n_f + k.F * n_m, m_B = k.D.transpose() * n_f + k.F.transpose() * n_m;
    if (const Turned* t = turned(e)) {
      m_A = (t->R_a * m_A).eval();
      m_B = (t->R_b * m_B).eval();
    }
    add_to(f, N);
    add_to(f + 3, m_A);
    add_to(f + 6, -N);
    add_to(f + 9, -m_B);
  }
}

void BeamBlock::add_gyroscopic_force(Range range, const double* v, double* f) const {
  for (int i = 2 * range.first; i < 2 * range.last; ++i, v += 6, f += 6) {
    const Vec3 Omega = velocity(v, 3);
    add_to(f + 3, -Omega.cross(inertia_[at(i)] * Omega));
  }
}

// ---- mass

namespace {
// Mass matrix entries for one translational component, as fractions of the element's mass: `same` on the diagonal,
// `other` between the nodes.
struct MassFractions {
  double same, other;
};
MassFractions mass_fractions(MassKind kind) {
  return kind == MassKind::lumped ? MassFractions{0.5, 0.0} : MassFractions{1.0 / 3.0, 1.0 / 6.0};
}
}  // namespace

void BeamBlock::add_mass_times(Range range, const ElementInput&, const double* a, MassKind kind, double* f) const {
  const MassFractions m = mass_fractions(kind);
  for (int e = range.first; e < range.last; ++e, a += 12, f += 12) {
    const double mass = section(e).line_density * element(e).length;
    for (int i = 0; i < 3; ++i) {
      f[i] += mass * (m.same * a[i] + m.other * a[6 + i]);
      f[6 + i] += mass * (m.other * a[i] + m.same * a[6 + i]);
    }
    add_to(f + 3, inertia_[at(2 * e)] * velocity(a, 3));
    add_to(f + 9, inertia_[at(2 * e + 1)] * velocity(a, 9));
  }
}

void BeamBlock::add_mass(Range range, double c_M, MassKind kind, double* A) const {
  const MassFractions m = mass_fractions(kind);
  for (int e = range.first; e < range.last; ++e, A += 144) {
    Eigen::Map<Mat12> block(A);
    const double mass = c_M * section(e).line_density * element(e).length;
    for (int i = 0; i < 3; ++i) {
      block(i, i) += mass * m.same;
      block(6 + i, 6 + i) += mass * m.same;
      block(i, 6 + i) += mass * m.other;
      block(6 + i, i) += mass * m.other;
    }
    block.block<3, 3>(3, 3) += c_M * inertia_[at(2 * e)];
    block.block<3, 3>(9, 9) += c_M * inertia_[at(2 * e + 1)];
  }
}

// ---- tangents

void BeamBlock::add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const {
  if (request.c_M != 0) add_mass(range, request.c_M, request.mass, A);
  if (request.c_C != 0 && (traits().force_parts & force_gyroscopic) != 0)
    add_gyroscopic_tangent(range, in.v, request.c_C, A);
  if (request.c_K != 0 || (request.c_C != 0 && damping_ > 0)) add_section_tangent(range, in, request, A);
}

// D_Omega (Omega x J Omega) = hat(Omega) J - hat(J Omega)
void BeamBlock::add_gyroscopic_tangent(Range range, const double* v, double c_C, double* A) const {
  for (int e = range.first; e < range.last; ++e, A += 144, v += 12) {
    Eigen::Map<Mat12> block(A);
    for (int end = 0; end < 2; ++end) {
      const Mat3& J = inertia_[at(2 * e + end)];
      const Vec3 Omega = velocity(v, 6 * end + 3);
      const Mat3 C = c_C * (so3::hat(Omega) * J - so3::hat(Vec3(J * Omega)));
      if (end == 0)
        block.block<3, 3>(3, 3) += C;
      else
        block.block<3, 3>(9, 9) += C;
    }
  }
}

// In the section axes at A, with the variation z = (R_A^T (dx_B - dx_A), a, b): span, then the rotations a of A and b
// of B:
//   dd = S z,   S = [F^T -D^T D; 0 -F^T F],   tangent of S^T n = S^T dn/dd S + Gamma S + (hat part of R_A)
void BeamBlock::add_section_tangent(Range range, const ElementInput& in, const ElementTangent& request,
                                    double* A) const {
  const double c_K = request.c_K, c_C = request.c_C;
  const ElementInput before{request.mixed_q, nullptr, in.t};
  // nine rows, padded to whole SIMD vectors
  using Rows6 = Eigen::Matrix<double, 12, 6>;
  using Rows9 = Eigen::Matrix<double, 12, 9>;
  for (int e = range.first; e < range.last; ++e, A += 144) {
    const Kinematics k = Kinematics::of<2>(ends(in, e));
    const double inverse_length = 1 / element(e).length;
    const Mat6& K_s = section(e).stiffness;
    const double* v = damping_ > 0 ? in.v + 12 * (e - range.first) : nullptr;

    Rows6 St = Rows6::Zero();
    St.block<3, 3>(0, 0) = k.F;
    St.block<3, 3>(3, 0) = -k.D;
    St.block<3, 3>(6, 0) = k.D.transpose();
    St.block<3, 3>(3, 3) = -k.F;
    St.block<3, 3>(6, 3) = k.F.transpose();

    // Y is the left factor of Y S: the material part, then the derivative of S^T at constant n.
    const double material = (c_K + damping_ * c_C) * inverse_length;
    Rows6 Y = St.lazyProduct(K_s);
    Rows9 Z = Rows9::Zero();
    if (c_K != 0) {
      Vec6 eps;
      if (request.mixed_q == nullptr) {
        eps = (k.d() - element(e).d_0) * inverse_length;
      } else {
        const Kinematics k_0 = Kinematics::of<1>(ends(before, e));
        eps = (k_0.d() - element(e).d_0) * inverse_length;
        eps += strain_rate(k_0, e, request.mixed_d + 12 * (e - range.first));
      }
      if (v != nullptr) eps += damping_ * strain_rate(k, e, v);
      const Vec6 n = c_K * (K_s * eps);
      const Vec3 n_f = n.head<3>(), n_m = n.tail<3>();
      const Mat3 E_f = even_derivative(k.c, k.w, n_f), odd_f = so3::hat(Vec3(-0.5 * n_f));
      const Mat3 E_m = second_derivative(k.c, k.w, k.u, n_f) + even_derivative(k.c, k.w, n_m);
      const Mat3 odd_m = so3::hat(Vec3(-0.5 * n_m));

      if (v != nullptr) {
        // D(S v) at constant v: one row per component of d', one column per component of z
        Vec3 a = velocity(v, 3), b = velocity(v, 9);
        if (const Turned* t = turned(e)) {
          a = (t->R_a.transpose() * a).eval();
          b = (t->R_b.transpose() * b).eval();
        }
        const Vec3 y = k.R_A.transpose() * (velocity(v, 6) - velocity(v, 0)), sum = a + b, difference = b - a;
        const Mat3 Q = even_derivative(k.c, k.w, difference) - so3::hat(Vec3(0.5 * sum));
        const Mat3 Q_u =
            even_derivative(k.c, k.w, y) + so3::hat(Vec3(0.5 * y)) + second_derivative(k.c, k.w, k.u, difference);
        Mat6 V;
        V.topLeftCorner<3, 3>() = Q;
        V.topRightCorner<3, 3>() = Q_u;
        V.bottomLeftCorner<3, 3>().setZero();
        V.bottomRightCorner<3, 3>() = Q;
        const double viscous = c_K * damping_ * inverse_length;
        Z.middleCols<3>(3).noalias() += viscous * (Y.leftCols<3>() * (k.F.transpose() * so3::hat(y)));
        const Rows6 YV = viscous * Y.lazyProduct(V);
        Y = material * Y + YV;
      } else {
        Y *= material;
      }
      Y.block<3, 3>(0, 3) += E_f + odd_f;
      Y.block<3, 3>(3, 0) -= E_f + odd_f;
      Y.block<3, 3>(6, 0) += E_f - odd_f;
      Y.block<3, 3>(3, 3) -= E_m + odd_m;
      Y.block<3, 3>(6, 3) += E_m - odd_m;
      Z.block<3, 3>(0, 3) -= so3::hat(Vec3(k.F * n_f));
    } else {
      Y *= material;
    }
    Z.noalias() += Y.lazyProduct(St.topRows<9>().transpose());

    // transform the columns and rows of the span to inertial axes, those of the rotations to node axes
    Z.leftCols<3>() = (Z.leftCols<3>() * k.R_A.transpose()).eval();
    Z.topRows<3>() = (k.R_A * Z.topRows<3>()).eval();
    if (const Turned* t = turned(e)) {
      Z.middleCols<3>(3) = (Z.middleCols<3>(3) * t->R_a.transpose()).eval();
      Z.rightCols<3>() = (Z.rightCols<3>() * t->R_b.transpose()).eval();
      Z.middleRows<3>(3) = (t->R_a * Z.middleRows<3>(3)).eval();
      Z.middleRows<3>(6) = (t->R_b * Z.middleRows<3>(6)).eval();
    }
    Eigen::Map<Mat12> block(A);
    const auto add = [&](int row, int local_row, double sign) {
      block.block<3, 3>(row, 0) -= sign * Z.block<3, 3>(local_row, 0);
      block.block<3, 3>(row, 3) += sign * Z.block<3, 3>(local_row, 3);
      block.block<3, 3>(row, 6) += sign * Z.block<3, 3>(local_row, 0);
      block.block<3, 3>(row, 9) += sign * Z.block<3, 3>(local_row, 6);
    };
    add(0, 0, -1);
    add(3, 3, 1);
    add(6, 0, 1);
    add(9, 6, 1);
  }
}

// ---- energies and output

Energies BeamBlock::energies(Range range, const ElementInput& in) const {
  Energies sum;
  for (int e = range.first; e < range.last; ++e) {
    const Vec6 eps = strain(in, e);
    sum.elastic += 0.5 * element(e).length * eps.dot(section(e).stiffness * eps);
  }
  return sum;
}

double BeamBlock::roundoff_force(double length_scale) const {
  double largest = 0;
  for (const Element& e : elements_)
    largest = std::max(largest, sections_[at(e.section)].stiffness.diagonal().head<3>().maxCoeff() / e.length);
  return largest * length_scale;
}

std::vector<OutputField> BeamBlock::fields() {
  return {
      {"section_force", 3, false, "N", "of a beam's element, section axes: axial force, two shear forces"},
      {"section_moment", 3, false, "N m", "of a beam's element, section axes: torque, two bending moments"},
      {"section_strain", 3, false, "", "of a beam's element: axial strain, two shear strains"},
      {"section_curvature", 3, false, "1/m", "of a beam's element: twist, two curvatures, from the reference"},
      {"axial_force", 1, false, "N", "axial force of an element, positive in tension"},
  };
}

void BeamBlock::output(std::string_view field, Range range, const ElementInput& in, double* values) const {
  const bool strains = field == "section_strain" || field == "section_curvature";
  const int first = field == "section_moment" || field == "section_curvature" ? 3 : 0;
  const int count = field == "axial_force" ? 1 : 3;
  for (int e = range.first; e < range.last; ++e) {
    Vec6 x = strain(in, e);
    if (!strains) {
      if (damping_ > 0 && in.v != nullptr)
        x += damping_ * strain_rate(Kinematics::of<1>(ends(in, e)), e, in.v + 12 * (e - range.first));
      x = (section(e).stiffness * x).eval();
    }
    // about the axis of the model, from those at the mass centre
    const Vec3& c = section(e).center;
    if (strains)
      x.head<3>() += c.cross(Vec3(x.tail<3>()));
    else
      x.tail<3>() += c.cross(Vec3(x.head<3>()));
    for (int i = 0; i < count; ++i) *values++ = x[first + i];
  }
}

}  // namespace carom
