#include "integrators/common/projection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "contact/law/contact_set.hpp"
#include "core/base/vector_ops.hpp"
#include "core/lie/so3.hpp"
#include "core/mechanics/saddle_point.hpp"

namespace carom {

namespace {

constexpr double accepted = 1e-12, wanted = 1e-13;  // of the scale; a state within `accepted` is left alone
constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double largest_turn = 0.5;  // rad of one iteration
constexpr int max_iterations = 100;   // rows that depend on each other only once they fit converge linearly, by 1/2

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

void set_worst(In values, int first, ProjectionReport& report) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (report.worst_row < 0 || !(std::abs(values[i]) <= report.residual)) {
      report.residual = std::abs(values[i]);
      report.worst_row = first + static_cast<int>(i);
    }
}

class PositionProjection {
 public:
  PositionProjection(const System& system, const ProjectionScales& scales, double t, In q)
      : system_(system),
        scales_(scales),
        t_(t),
        q_0_(q.begin(), q.end()),
        n_b_(at(system.bilateral())),
        n_u_(at(system.unilateral())) {
    const std::size_t n = at(system.size()), rows = at(system.rows());
    for (Vector* x : {&d_, &w_, &r_, &Md_, &reaction_}) x->resize(n);
    for (Vector* x : {&g_, &s_, &c_A_, &dl_A_}) x->resize(rows);
    for (Vector* x : {&nu_b_, &dl_b_}) x->resize(n_b_);
    contacts_.resize(system.bilateral(), system.unilateral());
    gap_rounding_ = 16 * epsilon * std::max(scales.length, system.largest_position(q));
  }

  bool fits() {
    system_.gaps(q_0_, t_, RowSet::all, g_);
    return violation() <= accepted * scales_.length + gap_rounding_;
  }

  // Newton's iteration; without the curvature of constraints and rotations the matrix is [M, -G^T; G, 0].
  bool solve(bool curvature, ProjectionReport& report) {
    saddle_.analyse(system_, {false, false});
    q_ = q_0_;
    set_zero(d_);
    set_zero(nu_b_);
    contacts_.reset();
    double before = std::numeric_limits<double>::infinity();
    report.reason = "no convergence";
    for (;; ++report.iterations) {
      // active set and residual
      system_.gaps(q_, t_, RowSet::all, g_);
      const In g_b = In(g_).first(n_b_);
      const int changes = contacts_.update(In(g_).subspan(n_b_, n_u_), scales_.mass, gap_rounding_);
      const auto active = contacts_.active_rows();
      for (std::size_t k = 0; k < active.size(); ++k) c_A_[k] = g_[at(active[k])];
      const double terms = residual();
      const double open = std::max(max_abs(g_b), max_abs(In(c_A_).first(active.size())));
      const double force = system_.force_norm(r_, scales_.length);
      if (!std::isfinite(open) || !std::isfinite(force)) return false;

      // converged: as far as wanted, or as far as rounding lets it
      const bool settled = changes == 0 && contacts_.pending() == 0;
      const double floor = scales_.mass * gap_rounding_;
      if (settled && report.iterations > 0) {
        if (open <= wanted * scales_.length + gap_rounding_ && force <= 1e-12 * terms + floor) return true;
        const bool stalls = open + force / scales_.mass > 0.9 * before;
        if (stalls && open <= accepted * scales_.length + gap_rounding_ && force <= 1e-9 * terms + floor) return true;
      }
      before = open + force / scales_.mass;
      if (report.iterations % (max_iterations + 1) == max_iterations) return false;

      // correction in the tangent space of q
      Linearisation request;
      request.c_M = 1;
      request.c_s = curvature ? 1 : 0;
      request.q_M = q_0_.data();
      request.q = q_.data();
      request.t = t_;
      request.s = s_.data();
      request.row_scale = scales_.mass;
      if (curvature) turn_blocks();
      if (!saddle_.factorise(system_, request, curvature ? In(blocks_) : In())) {
        report.reason = "singular matrix";
        report.singular = saddle_.suspicious_row();
        return false;
      }
      saddle_.set_active(system_, active, q_, t_, nullptr);
      const Out dl_A = Out(dl_A_).first(active.size());
      if (!saddle_.solve(r_, g_b, In(c_A_).first(active.size()), w_, dl_b_, dl_A)) return false;
      advance(dl_A);
    }
  }

  void finish(Vector& q, ProjectionReport& report) const {
    largest_parts(system_, d_, report);
    q = q_;
  }
  void worst(ProjectionReport& report) {
    report.residual = 0;
    report.worst_row = -1;
    for (std::size_t i = n_b_; i < g_.size(); ++i) g_[i] = std::min(g_[i], 0.0);
    set_worst(g_, 0, report);
  }

 private:
  double violation() const {
    double largest = max_abs(In(g_).first(n_b_));
    for (std::size_t i = n_b_; i < g_.size(); ++i) largest = std::max(largest, -g_[i]);
    return largest;
  }

  // r = T(d)^-T M d - G^T nu; returns the size of its terms.
  double residual() {
    std::copy(nu_b_.begin(), nu_b_.end(), s_.begin());
    std::copy(contacts_.multipliers().begin(), contacts_.multipliers().end(),
              s_.begin() + static_cast<std::ptrdiff_t>(n_b_));
    system_.mass_times(q_0_, d_, Md_);
    for (const DofMap::Frame& f : system_.dofs().rotating_frames()) {
      const Vec3 moment = so3::tangent_inverse(Vec3(-three(d_, f.equation))) * three(Md_, f.equation);
      for (int i = 0; i < 3; ++i) Md_[at(f.equation + i)] = moment[i];
    }
    set_zero(reaction_);
    system_.add_reactions(q_, t_, s_, RowSet::all, reaction_);
    combine(1.0, Md_, -1.0, reaction_, r_);
    return system_.force_norm(Md_, scales_.length) + system_.force_norm(reaction_, scales_.length);
  }

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

  // d so that q_0 o exp(d) = q o exp(c w), with c <= 1 small enough that no body turns far at once.
  void advance(In dl_A) {
    const double turn = system_.largest_angular_velocity(w_), c = turn > largest_turn ? largest_turn / turn : 1.0;
    for (double& x : w_) x *= c;
    Vector& d_new = Md_;
    combine(1.0, d_, 1.0, w_, d_new);
    for (const DofMap::Frame& f : system_.dofs().rotating_frames()) {
      const Vec3 turned = so3::log_quaternion(so3::quaternion_product(so3::exp_quaternion(three(d_, f.equation)),
                                                                      so3::exp_quaternion(three(w_, f.equation))));
      for (int i = 0; i < 3; ++i) d_new[at(f.equation + i)] = turned[i];
    }
    d_.swap(d_new);
    system_.retract(q_0_, d_, q_);
    axpy(c, dl_b_, nu_b_);
    for (double& x : dl_A_) x *= c;
    contacts_.add_increment(dl_A);
  }

  const System& system_;
  ProjectionScales scales_;
  double t_;
  Vector q_0_, q_;
  std::size_t n_b_, n_u_;
  std::vector<Mat3> inertia_;
  Vector blocks_;
  Vector d_, w_, r_, Md_, reaction_, g_, s_, c_A_, dl_A_, nu_b_, dl_b_;
  ContactSet contacts_;
  SaddlePoint saddle_;
  double gap_rounding_ = 0;
};

}  // namespace

ProjectionReport project_positions(const System& system, const ProjectionScales& scales, double t, Vector& q) {
  ProjectionReport report;
  if (system.rows() == 0) return report;
  PositionProjection projection(system, scales, t, q);
  if (projection.fits()) {
    projection.worst(report);
    return report;
  }
  report.converged = projection.solve(true, report);
  if (!report.converged && report.singular < 0) {
    report.iterations = 0;
    report.converged = projection.solve(false, report);
  }
  projection.worst(report);
  if (report.converged) {
    report.reason = "";
    projection.finish(q, report);
  }
  return report;
}

ProjectionReport project_velocities(const System& system, const ProjectionScales& scales, In q, double t, Vector& v) {
  ProjectionReport report;
  const std::size_t n = at(system.size()), n_b = at(system.bilateral());
  if (n_b == 0) return report;
  const double speed = std::max(scales.speed, system.speed(v, scales.length)), rounding = 16 * epsilon * speed;
  Vector rate(n_b), r(n), w(n), dw(n), mu(n_b), dmu(n_b), s(at(system.rows())), Mw(n), reaction(n), projected = v;
  const auto evaluate = [&] {
    system.rates(q, projected, t, RowSet::bilateral, rate);
    return max_abs(rate);
  };
  double open = evaluate();
  if (open > accepted * scales.speed + rounding) {
    SaddlePoint saddle;
    saddle.analyse(system, {system.symmetric(), false});
    Linearisation request;
    request.c_M = 1;
    request.q_M = request.q = q.data();
    request.v = v.data();
    request.t = t;
    request.row_scale = scales.mass;
    report.converged = saddle.factorise(system, request);
    if (!report.converged) {
      report.reason = "singular matrix";
      report.singular = saddle.suspicious_row();
    }
    // linear: one solve, and what refinement redundant rows need
    double before = std::numeric_limits<double>::infinity();
    while (report.converged) {
      std::copy(mu.begin(), mu.end(), s.begin());
      set_zero(reaction);
      system.add_reactions(q, t, s, RowSet::bilateral, reaction);
      system.mass_times(q, w, Mw);
      combine(1.0, Mw, -1.0, reaction, r);
      if (report.iterations > 0) {
        const double force = system.force_norm(r, scales.length), floor = scales.mass * rounding;
        const double terms = system.force_norm(Mw, scales.length) + system.force_norm(reaction, scales.length);
        if (open <= wanted * scales.speed + rounding && force <= 1e-12 * terms + floor) break;
        const bool stalls = open + force / scales.mass > 0.9 * before;
        if (stalls && open <= accepted * scales.speed + rounding && force <= 1e-9 * terms + floor) break;
        before = open + force / scales.mass;
      }
      saddle.set_active(system, {}, q, t, nullptr);
      if (report.iterations == max_iterations || !saddle.solve(r, rate, {}, dw, dmu, {})) {
        report.converged = false;
        report.reason = "no convergence";
        break;
      }
      ++report.iterations;
      axpy(1.0, dw, w);
      axpy(1.0, dmu, mu);
      combine(1.0, v, 1.0, w, projected);
      open = evaluate();
    }
  }
  set_worst(rate, 0, report);
  if (report.converged && report.iterations > 0) {
    largest_parts(system, w, report);
    v = projected;
  }
  return report;
}

}  // namespace carom
