// Conjugate gradients of ProjectedCg with sweeps over the nodes as preconditioner, in the variables of NodeSweeps:
//
//   r^ = (D + L)^-1 r,  p^ = (D + U) p,  z^ = (D + U) z = D (r^ - (D + L)^-1 B w)
//   R w = -C (D + U)^-1 D r^,   R = D_w - C M B
//
// The nodes that the rest is coupled with come last in the order, so B and C meet the factors of these nodes alone.
#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"
#include "core/linear/projected_cg.hpp"

namespace carom {

namespace {

constexpr int columns_per_node = 4;    // columns times nodes coupled with the rest, over all nodes
constexpr double certain_share = 0.9;  // of the estimate of the residual with which the last check failed

}  // namespace

// The factors of the nodes that the rest is coupled with are applied to every column of the rest.
bool ProjectedCg::may_sweep() const {
  if (!by_blocks() || A_.indefinite_blocks() || A_.rows() < 3) return false;
  if (rest_.empty()) return true;
  return may_be_whole() &&
         rest_.couplings() * rest_.coupled_nodes() <= columns_per_node * static_cast<int>(A_.nodes().size());
}

void ProjectedCg::prepare_sweeps() {
  const bool rows_alone = !values_stale_ && !blocks_stale_;
  const bool moved = sweeps_.arrange(rest_.coupled_flags());
  if (moved || values_stale_) sweeps_.copy_values();
  values_stale_ = false;
  sweeps_.set_inverses(rows_.blocks());
  if (!rows_alone || moved) modes_.build(sweeps_, rows_, motions_);
  a_.assign(at(modes_.size()), 0.0);
}

bool ProjectedCg::factorise_rest_by_sweeps() {
  return rest_.factorise_coupled([&](double* x) {
    sweeps_.forward_last(x);
    set_zero(a_);
    if (!modes_.empty()) rest_.each_coupled_node([&](int g) { modes_.subtract(g, x + A_.nodes()[at(g)].first, a_); });
    sweeps_.multiply_last(x);
    rows_.project(x);
    if (!modes_.empty()) {
      modes_.solve(a_);
      rest_.each_coupled_node([&](int g) { modes_.add_node(g, a_, x + A_.nodes()[at(g)].first, -1); });
    }
    sweeps_.backward_last(x);
  });
}

// From z^ = D r^ and the right-hand side of the rest, in rest_z_: w in rest_z_ and
//
//   z^ = D (r^ - v) + Y E^-1 Y^T (r^ - v),   v = (D + L)^-1 B w
//
// Returns what r^ . z^ grows. r^ has room for whole lanes.
double ProjectedCg::complete_by_sweeps(const Vector& r_hat, Vector& z_hat) {
  const bool has_modes = !modes_.empty();
  if (has_modes) {
    modes_.restrict_to(r_hat.data(), a_);
    along_ = a_;
  }
  double growth = 0;
  if (!rest_.empty()) {
    y_ = a_;
    if (has_modes) modes_.solve(y_);
    rest_.each_coupled_node([&](int g) {
      const NodeMatrix::Node& node = A_.nodes()[at(g)];
      for (int i = node.first; i < node.first + node.size; ++i) Sp_[at(i)] = z_hat[at(i)];
      if (has_modes) modes_.add_node(g, y_, Sp_.data() + node.first);
    });
    sweeps_.backward_last(Sp_.data());
    rest_.subtract_reactions(Sp_.data(), rest_z_);
    rest_.solve(rest_z_);
    take_reactions(rest_z_);
    sweeps_.forward_last(Sp_.data());
    if (has_modes)
      rest_.each_coupled_node([&](int g) { modes_.subtract(g, Sp_.data() + A_.nodes()[at(g)].first, a_); });
    sweeps_.multiply_last(Sp_.data());
    rows_.project(Sp_.data());
    rest_.each_coupled_node([&](int g) {
      const NodeMatrix::Node& node = A_.nodes()[at(g)];
      for (int i = node.first; i < node.first + node.size; ++i) {
        z_hat[at(i)] -= Sp_[at(i)];
        growth -= r_hat[at(i)] * Sp_[at(i)];
      }
    });
  }
  if (has_modes) {
    modes_.solve(a_);
    modes_.add(a_, z_hat.data());
    growth += dot(along_, a_);
  }
  return growth;
}

// Sp_ = B w at the nodes that the rest is coupled with
void ProjectedCg::take_reactions(const Vector& w) {
  rest_.each_coupled(w.data(), [&](int g, const double* force) {
    const NodeMatrix::Node& node = A_.nodes()[at(g)];
    for (int i = 0; i < node.size; ++i) Sp_[at(node.first + i)] = force[i];
  });
}

// z_ and rest_z_ = P^-1 (r_, rest_z_)
void ProjectedCg::precondition_by_sweeps() {
  sweeps_.forward(r_.data(), r_hat_.data());
  A_.for_chunks([&](int chunk, int first, int last) {
    for (int g = first; g < last; ++g) {
      const int i = A_.nodes()[at(g)].first;
      sweeps_.multiply_diagonal(at(g), r_hat_.data() + i, p_hat_.data() + i);
    }
    rows_.project_chunk(chunk, p_hat_.data());
  });
  complete_by_sweeps(r_hat_, p_hat_);
  sweeps_.backward(p_hat_.data(), z_.data());
}

ProjectedCg::Status ProjectedCg::iterate_by_sweeps(double relative, double reference, double enough, int limit) {
  const bool has_rest = !rest_.empty();
  double* const x = x_.data();
  double* const p = p_.data();
  double* const t = t_.data();
  double* const r_hat = r_hat_.data();
  double* const z_hat = z_.data();
  rows_.project(r_.data());
  const double start = std::sqrt(A_.dot(r_, r_)), scale = A_.scale();
  const double target = std::max(relative * std::max(start, scale * reference), scale * enough);
  if (!std::isfinite(start)) return Status::not_finite;
  if (start <= target) return Status::converged;

  // the residual is (D + L) r^; D r^ has about its size
  double estimate_target = target;
  sweeps_.forward(r_.data(), r_hat);
  set_zero(p_hat_);
  double alpha = 0, beta = 0, rz = 0;
  bool indefinite = false;
  for (;;) {
    A_.for_chunks([&](int chunk, int first, int last) {
      for (int g = first; g < last; ++g) {
        const NodeMatrix::Node& node = A_.nodes()[at(g)];
        if (alpha != 0)
          for (int i = node.first; i < node.first + node.size; ++i) {
            x[i] += alpha * p[i];
            r_hat[i] -= alpha * (p[i] + t[i]);
          }
        sweeps_.multiply_diagonal(at(g), r_hat + node.first, z_hat + node.first);
      }
      rows_.project_chunk(chunk, z_hat);
      const In z_rows = A_.rows_of(z_, first, last);
      partial_[at(chunk)] = dot(A_.rows_of(r_hat_, first, last), z_rows);
      square_[at(chunk)] = dot(z_rows, z_rows);
    });
    axpy(alpha, rest_p_, rest_x_);
    const double estimate = std::sqrt(NodeMatrix::sum(square_));
    if (!std::isfinite(estimate)) return Status::not_finite;
    if (estimate <= estimate_target) {
      find_residual_of_sweeps();
      const double residual = std::sqrt(A_.dot(r_, r_));
      if (residual <= target) return Status::converged;
      estimate_target = certain_share * target * estimate / residual;
    }
    set_zero(rest_z_);
    const double next = NodeMatrix::sum(partial_) + complete_by_sweeps(r_hat_, z_);
    if (!std::isfinite(next)) return Status::not_finite;
    indefinite = !(next > 0);
    if (indefinite) break;
    // Polak and Ribiere: z . (r - r_old) = -alpha z^ . q
    if (iterations_ > 0) beta = (has_rest ? -alpha * dot_with_product() : next) / rz;
    rz = next;
    if (iterations_ == limit) return Status::slow;
    ++iterations_;
    for (std::size_t i = 0; i < rest_p_.size(); ++i) rest_p_[i] = rest_z_[i] + beta * rest_p_[i];
    sweeps_.find_direction(z_hat, beta, p_hat_.data(), p);
    if (has_rest) take_reactions(rest_p_);
    const double curvature = sweeps_.find_product(p_hat_.data(), p, has_rest ? Sp_.data() : nullptr, t);
    if (!std::isfinite(curvature)) return Status::not_finite;
    indefinite = !(curvature > 0);
    if (indefinite) break;
    alpha = rz / curvature;
  }
  find_residual_of_sweeps();
  // triangles of an indefinite matrix may have inverses without bound
  by_sweeps_ = false;
  if (has_rest && !rest_.factorise(rows_.blocks(), A_.sizes())) return Status::singular;
  return solve_by_gmres(std::max(gmres_reduction * target, scale * enough), limit);
}

// r_ = (D + L) r^, projected
void ProjectedCg::find_residual_of_sweeps() {
  sweeps_.lower_product(r_hat_.data(), r_.data());
  rows_.project(r_.data());
}

// z^ . q
double ProjectedCg::dot_with_product() {
  A_.for_chunks([&](int chunk, int first, int last) {
    double products = 0;
    const auto [begin, end] = A_.matrix_rows(first, last);
    for (int i = begin; i < end; ++i) products += z_[at(i)] * (p_[at(i)] + t_[at(i)]);
    partial_[at(chunk)] = products;
  });
  return NodeMatrix::sum(partial_);
}

}  // namespace carom
