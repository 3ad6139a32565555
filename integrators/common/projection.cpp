#include "integrators/common/projection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/vector_ops.hpp"
#include "core/lie/so3.hpp"
#include "core/mechanics/nodal_mass.hpp"
#include "integrators/common/mixed_newton.hpp"

namespace carom {

namespace {

constexpr double accepted = 1e-12, wanted = 1e-13;  // of the scale; a state within `accepted` is left alone
constexpr double wanted_terms = 1e-12, accepted_terms = 1e-9;
constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double largest_turn = 0.5;  // rad of one iteration
constexpr int max_iterations = 100;   // rows that depend on each other only once they fit converge linearly, by 1/2

const NewtonOptions options{.method = NewtonMethod::full, .max_iterations = max_iterations, .tolerance = wanted_terms};

Vec3 three(In x, int first) { return {x[at(first)], x[at(first + 1)], x[at(first + 2)]}; }

// Largest norm of the translations, and of the rotations, of the nodes' parts of x.
void largest_parts(const System& system, In x, ProjectionReport& report) {
  const DofMap& dofs = system.dofs();
  for (int node = 0; node < dofs.nodes(); ++node) {
    double sums[2] = {0, 0};
    for (int c = 0; c < DofMap::components(dofs.kind(node)); ++c)
      if (const int e = dofs.equation(node, c); e >= 0) sums[c / 3] += x[at(e)] * x[at(e)];
    report.translation = std::max(report.translation, std::sqrt(sums[0]));
    report.rotation = std::max(report.rotation, std::sqrt(sums[1]));
  }
}

// The row that misses most, and by how much; bilateral rows are measured by their weights. Returns what it misses.
double set_worst(In values, In weights, ProjectionReport& report) {
  double largest = 0;
  report.residual = 0;
  report.worst_row = -1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double size = std::abs(values[i]) / (i < weights.size() ? weights[i] : 1.0);
    if (report.worst_row >= 0 && (size <= largest || std::isnan(largest))) continue;
    largest = size;
    report.residual = std::abs(values[i]);
    report.worst_row = static_cast<int>(i);
  }
  return largest;
}

// The factor k of the rows in [M, -k G^T; -k G, 0]: between the smallest and the largest mass, so that neither a light
// nor a heavy node disappears in rounding beside the rows. Rotations count by their inertia over length^2.
double row_scale_of(const System& system, In q, const Scales& scales) {
  double smallest = std::numeric_limits<double>::infinity(), largest = 0;
  const auto count = [&](double mass) {
    if (!(mass > 0)) return;
    smallest = std::min(smallest, mass);
    largest = std::max(largest, mass);
  };
  const std::vector<NodalMass> masses = nodal_masses(system, q);
  for (int node = 0; node < system.dofs().nodes(); ++node)
    for (int c = 0; c < DofMap::components(system.dofs().kind(node)); ++c) {
      if (system.dofs().equation(node, c) < 0) continue;
      const NodalMass& m = masses[at(node)];
      count(c < 3 ? m.mass[c] : m.inertia(c - 3, c - 3) / (scales.length * scales.length));
    }
  return largest > 0 ? std::sqrt(smallest * largest) : scales.mass;
}

// Residuals of a projection in units of masses times lengths (or speeds) of the size `scale`.
ProblemScales problem_scales(double mass, double row_scale, double scale, double rounding, double t) {
  ProblemScales s;
  s.t = t;
  s.floor = mass * rounding;
  s.row_scale = row_scale;
  s.penalty = mass;
  s.row_tolerance = wanted * scale + rounding;
  s.row_roundoff = rounding;
  s.stalled_rows = accepted * scale + rounding;
  s.stalled_terms = accepted_terms;
  return s;
}

bool run(MixedNewton& newton, MixedProblem& problem, const ProblemScales& scales, ProjectionReport& report) {
  StepReport step;
  reset(step, {newton.setup().name});
  newton.begin(step, {});
  report.converged = newton.solve(problem, scales, step);
  report.iterations = step.subproblems[0].iterations;
  report.reason = text_of(step.reason);
  if (step.reason == FailureReason::singular_matrix) report.singular = newton.saddle().suspicious_row();
  return report.converged;
}

class PositionProjection final : public MixedProblem {
 public:
  /// Without the curvature of constraints and rotations the matrix is [M, -G^T; G, 0].
  PositionProjection(const System& system, const Scales& scales, double t, In q, bool curvature)
      : system_(system),
        length_(scales.length),
        t_(t),
        curvature_(curvature),
        q_0_(q.begin(), q.end()),
        q_(q_0_),
        d_(at(system.size()), 0.0),
        Md_(d_),
        reaction_(d_),
        w_(d_) {}

  void rows(Out c) override { system_.gaps(q_, t_, position_rows, c); }

  // r = T(d)^-T M d - G^T nu
  double residual(In s, Out r) override {
    system_.mass_times(q_0_, d_, Md_);
    for (const DofMap::Frame& f : system_.dofs().rotating_frames()) {
      const Vec3 moment = so3::tangent_inverse(Vec3(-three(d_, f.equation))) * three(Md_, f.equation);
      for (int i = 0; i < 3; ++i) Md_[at(f.equation + i)] = moment[i];
    }
    set_zero(reaction_);
    system_.add_reactions(q_, t_, s, position_rows, reaction_);
    combine(1.0, Md_, -1.0, reaction_, r);
    return size(system_, Md_, length_) + size(system_, reaction_, length_);
  }

  RowPoint row_point() override { return {q_}; }

  void linearise(In, Linearisation& S) override {
    S.c_M = 1;
    S.c_s = curvature_ ? 1 : 0;
    S.q_M = q_0_.data();
    S.q = q_.data();
    if (!curvature_) return;
    turn_blocks();
    S.frame_blocks = blocks_;
  }

  // d so that q_0 o exp(d) = q o exp(share w)
  bool move(double share, In w) override {
    scale_into(share, w, w_);
    Vector& d_new = Md_;
    combine(1.0, d_, 1.0, w_, d_new);
    for (const DofMap::Frame& f : system_.dofs().rotating_frames()) {
      const Vec3 turned = so3::log_quaternion(so3::quaternion_product(so3::exp_quaternion(three(d_, f.equation)),
                                                                      so3::exp_quaternion(three(w_, f.equation))));
      for (int i = 0; i < 3; ++i) d_new[at(f.equation + i)] = turned[i];
    }
    d_.swap(d_new);
    system_.retract(q_0_, d_, q_);
    return true;
  }

  const Vector& q() const { return q_; }
  const Vector& d() const { return d_; }

 private:
  // What the turning of the tangent space adds to M: D(T(d)^-T M d) T(d)^-1 - J at every rotating frame.
  void turn_blocks() {
    const auto frames = system_.dofs().rotating_frames();
    if (inertia_.empty()) {
      // J, column by column: rotations of different nodes are not coupled by M
      inertia_.resize(frames.size());
      Vector& field = w_;
      for (int c = 0; c < 3; ++c) {
        set_zero(field);
        for (const DofMap::Frame& f : frames) field[at(f.equation + c)] = 1;
        system_.mass_times(q_0_, field, Md_);
        for (std::size_t k = 0; k < frames.size(); ++k) inertia_[k].col(c) = three(Md_, frames[k].equation);
      }
    }
    blocks_.resize(9 * frames.size());
    system_.mass_times(q_0_, d_, Md_);
    for (std::size_t k = 0; k < frames.size(); ++k) {
      const Vec3 w = three(d_, frames[k].equation), moment = three(Md_, frames[k].equation);
      const Mat3 T_inverse = so3::tangent_inverse(w);
      const Mat3 along = so3::tangent_inverse_transposed_derivative(w, moment) + T_inverse.transpose() * inertia_[k];
      Eigen::Map<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(blocks_.data() + 9 * k) =
          along * T_inverse - inertia_[k];
    }
  }

  const System& system_;
  double length_, t_;
  bool curvature_;
  Vector q_0_, q_, d_, Md_, reaction_, w_, blocks_;
  std::vector<Mat3> inertia_;
};

// M w = G_b^T mu,  G_b (v + w) + g_t = 0
class VelocityProjection final : public MixedProblem {
 public:
  VelocityProjection(const System& system, double length, In q, double t, In v)
      : system_(system),
        length_(length),
        t_(t),
        q_(q),
        v_0_(v),
        v_(v.begin(), v.end()),
        w_(at(system.size()), 0.0),
        Mw_(w_),
        reaction_(w_) {}

  void rows(Out c) override { system_.rates(q_, v_, t_, bilateral_rows, c); }
  double residual(In s, Out r) override {
    set_zero(reaction_);
    system_.add_reactions(q_, t_, s, bilateral_rows, reaction_);
    system_.mass_times(q_, w_, Mw_);
    combine(1.0, Mw_, -1.0, reaction_, r);
    return size(system_, Mw_, length_) + size(system_, reaction_, length_);
  }
  RowPoint row_point() override { return {q_}; }
  void linearise(In, Linearisation& S) override {
    S.c_M = 1;
    S.q_M = S.q = q_.data();
    S.v = v_0_.data();
  }
  bool move(double share, In dw) override {
    axpy(share, dw, w_);
    combine(1.0, v_0_, 1.0, w_, v_);
    return true;
  }

  const Vector& v() const { return v_; }
  const Vector& w() const { return w_; }

 private:
  const System& system_;
  double length_, t_;
  In q_, v_0_;
  Vector v_, w_, Mw_, reaction_;
};

}  // namespace

ProjectionReport project_positions(const System& system, const Scales& scales, double t, Vector& q) {
  ProjectionReport report;
  if (system.rows() == 0) return report;
  const std::size_t n_b = at(system.bilateral());
  const double rounding = 16 * epsilon * std::max(scales.length, system.largest_position(q));
  Vector g(at(system.rows()), 0.0);
  const Vector weights = row_weights(system, scales.length);
  // the residual of a contact is its penetration
  const auto measure = [&](In place) {
    system.gaps(place, t, position_rows, g);
    for (std::size_t i = n_b; i < g.size(); ++i) g[i] = std::min(g[i], 0.0);
    return set_worst(g, weights, report);
  };
  if (measure(q) <= accepted * scales.length + rounding) return report;

  const MixedSetup setup{
      .name = "projection", .rows = position_rows, .augmented_tangent = false, .largest_turn = largest_turn};
  const double row_scale = row_scale_of(system, q, scales);
  std::optional<PositionProjection> projection;
  for (const bool curvature : {true, false}) {
    projection.emplace(system, scales, t, q, curvature);
    MixedNewton newton(system, options, setup, scales, 0, nullptr);
    if (run(newton, *projection, problem_scales(scales.mass, row_scale, scales.length, rounding, t), report)) break;
    if (report.singular >= 0) break;
  }
  measure(projection->q());
  if (!report.converged) return report;
  largest_parts(system, projection->d(), report);
  q = projection->q();
  return report;
}

ProjectionReport project_velocities(const System& system, const Scales& scales, In q, double t, Vector& v) {
  ProjectionReport report;
  if (system.bilateral() == 0) return report;
  const double speed = std::max(scales.speed, system.speed(v, scales.length)), rounding = 16 * epsilon * speed;
  Vector rates(at(system.rows()), 0.0);
  const Vector weights = row_weights(system, scales.length);
  const auto measure = [&](In velocity) {
    system.rates(q, velocity, t, bilateral_rows, rates);
    return set_worst(In(rates).first(at(system.bilateral())), weights, report);
  };
  if (measure(v) <= accepted * scales.speed + rounding) return report;

  // linear: one solve, and the refinement that redundant rows need
  const MixedSetup setup{
      .name = "projection", .matrix = {system.symmetric(), false}, .constant_matrix = true, .augmented_tangent = false};
  VelocityProjection projection(system, scales.length, q, t, v);
  MixedNewton newton(system, options, setup, scales, 0, nullptr);
  run(newton, projection, problem_scales(scales.mass, row_scale_of(system, q, scales), scales.speed, rounding, t),
      report);
  measure(projection.v());
  if (!report.converged) return report;
  largest_parts(system, projection.w(), report);
  v = projection.v();
  return report;
}

}  // namespace carom
