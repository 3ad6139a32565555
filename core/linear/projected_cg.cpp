#include "core/linear/projected_cg.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/index.hpp"
#include "core/base/simd4.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr int most_with_old_factors = 40;

// Appends all numbers of a row.
void append(const SparseRow& row, Vector& image) {
  image.push_back(static_cast<double>(row.equation.size()));
  for (std::size_t k = 0; k < row.equation.size(); ++k) {
    image.push_back(row.equation[k]);
    image.push_back(row.value[k]);
  }
}

}  // namespace

void ProjectedCg::analyse(const SparsePattern& pattern, std::span<const int> node, int first_row, int threads) {
  // without the nodes that joints hold
  condensation_.analyse(pattern, node, first_row, threads);
  std::vector<int> kept_node(node.begin(), node.end());
  int kept_first_row = first_row;
  if (!condensation_.empty()) {
    kept_node.clear();
    kept_first_row = 0;
    for (const int i : condensation_.kept()) {
      kept_node.push_back(node[at(i)]);
      kept_first_row += i < first_row ? 1 : 0;
    }
    for (Vector* x : {&b_, &reaction_}) x->assign(at(pattern.rows), 0.0);
    for (Vector* x : {&reduced_, &reduced_x_}) x->assign(kept_node.size(), 0.0);
  }
  const SparsePattern& kept_pattern = condensation_.empty() ? pattern : condensation_.pattern();
  A_.analyse(kept_pattern, kept_node, threads);
  rows_.analyse(A_);
  rest_.analyse(kept_pattern, A_.node_of(), kept_first_row, threads);
  if (A_.rows() >= 3) {
    sweeps_.analyse(A_);
    modes_.analyse(A_, sweeps_.part_of());
  }
  for (Vector* x : {&x_, &r_, &z_, &p_, &Sp_, &p_hat_, &t_}) x->assign(at(kept_pattern.rows), 0.0);
  r_hat_.assign(at(kept_pattern.rows) + lane_count, 0.0);
  for (Vector* x : {&partial_, &square_}) x->assign(at(A_.chunks()), 0.0);
  node_row_numbers_.clear();
  rest_row_numbers_.clear();
  node_row_image_.clear();
  rest_row_image_.clear();
}

bool ProjectedCg::prepare(std::span<const double> values, Preconditioner preconditioner,
                          std::span<const double> motions, bool old_factors) {
  if (!condensation_.empty() && !condensation_.reduce(values)) return false;
  const std::span<const double> kept_values = condensation_.empty() ? values : condensation_.values();
  preconditioner_ = preconditioner;
  may_keep_factors_ = old_factors;
  old_factors_ = false;
  motions_.assign(motions.begin(), motions.end());
  if (!motions.empty() && !condensation_.empty()) {
    motions_.resize(6 * at(A_.rows()));
    for (std::size_t i = 0; i < at(A_.rows()); ++i)
      std::copy_n(motions.begin() + 6 * condensation_.kept()[i], 6,
                  motions_.begin() + 6 * static_cast<std::ptrdiff_t>(i));
  }
  blocks_stale_ = values_stale_ = whole_stale_ = rest_stale_ = true;
  if (!A_.prepare(kept_values, !by_blocks())) return false;
  rest_.prepare(kept_values, A_.scale());
  return true;
}

bool ProjectedCg::set_rows(std::span<const SparseRow* const> G, std::span<const SparseRow* const> F, double factor) {
  if (condensation_.empty()) return set_kept_rows(G, F, factor);
  // in the places of the matrix that is left
  given_G_.assign(G.begin(), G.end());
  given_F_.assign(F.empty() ? G.begin() : F.begin(), F.empty() ? G.end() : F.end());
  reduced_rows_.resize(std::max(reduced_rows_.size(), 2 * G.size()));
  reduced_pointers_.clear();
  for (std::size_t i = 0; i < G.size(); ++i) {
    condensation_.reduce_row(*given_G_[i], reduced_rows_[i]);
    reduced_pointers_.push_back(&reduced_rows_[i]);
  }
  for (std::size_t i = 0; i < G.size(); ++i) {
    SparseRow& direction = reduced_rows_[G.size() + i];
    condensation_.reduce_direction(*given_F_[i], direction);
    reduced_pointers_.push_back(&direction);
  }
  const std::span<const SparseRow* const> all(reduced_pointers_);
  return set_kept_rows(all.first(G.size()), all.subspan(G.size()), factor);
}

bool ProjectedCg::set_kept_rows(std::span<const SparseRow* const> G, std::span<const SparseRow* const> F,
                                double factor) {
  const std::span<const int> node_of = A_.node_of();
  node_row_numbers_.clear();
  rest_row_numbers_.clear();
  rest_G_.clear();
  rest_F_.clear();
  image_.clear();
  for (std::size_t i = 0; i < G.size(); ++i) {
    const std::vector<int>& equations = G[i]->equation;
    const int node = equations.empty() ? 0 : node_of[at(equations.front())];
    if (node >= 0 && std::ranges::all_of(equations, [&](int e) { return node_of[at(e)] == node; })) {
      node_row_numbers_.push_back(static_cast<int>(i));
      image_.push_back(static_cast<double>(i));
      append(*G[i], image_);
      continue;
    }
    rest_row_numbers_.push_back(static_cast<int>(i));
    rest_G_.push_back(G[i]);
    rest_F_.push_back(F.empty() ? G[i] : F[i]);
  }
  // rows that are known need no new blocks, hierarchy or factors
  if (image_ != node_row_image_) {
    blocks_stale_ = whole_stale_ = rest_stale_ = true;
    node_row_image_.clear();
    if (!rows_.set(G, node_row_numbers_)) {
      rows_.set({}, {});
      return false;
    }
    node_row_image_.swap(image_);
  }
  rest_factor_ = -factor * A_.scale();
  image_.assign(1, rest_factor_);
  for (std::size_t i = 0; i < rest_G_.size(); ++i) {
    append(*rest_G_[i], image_);
    append(*rest_F_[i], image_);
  }
  if (rest_G_.empty()) image_.clear();
  if (image_ != rest_row_image_) {
    rest_.set_rows(rest_G_, rest_F_, rest_factor_);
    rest_stale_ = true;
  }
  rest_row_image_.swap(image_);
  return true;
}

double ProjectedCg::inconsistency(int matrix_row) const {
  const int row = condensation_.empty() ? matrix_row : condensation_.place(matrix_row);
  return left_.empty() || row < 0 ? 0.0 : left_[at(rest_.place(row))] / A_.scale();
}

double ProjectedCg::contradiction() const {
  double largest = 0;
  for (std::size_t i = rest_.matrix_rows().size(); i < left_.size(); ++i)
    largest = std::max(largest, std::abs(left_[i] / rest_factor_));
  return largest;
}

ProjectedCg::Status ProjectedCg::solve(In r, In c, double relative, double reference, double enough, int limit, Out x,
                                       Out dl) {
  if (condensation_.empty()) return solve_kept(r, c, relative, reference, enough, limit, x, dl);
  scale_into(-1.0, r, b_);
  condensation_.reduce_right_side(b_, reduced_);
  for (double& ri : reduced_) ri = -ri;
  c_.assign(c.begin(), c.end());
  for (std::size_t i = 0; i < c_.size(); ++i) c_[i] += condensation_.row_constant(*given_G_[i]);
  const Status status = solve_kept(reduced_, c_, relative, reference, enough, limit, reduced_x_, dl);
  if (status != Status::converged) return status;
  // the equations that were eliminated feel the rows outside of the matrix too
  set_zero(reaction_);
  for (std::size_t i = 0; i < given_F_.size(); ++i)
    for (std::size_t k = 0; k < given_F_[i]->equation.size(); ++k)
      reaction_[at(given_F_[i]->equation[k])] -= dl[i] * given_F_[i]->value[k];
  condensation_.expand(reduced_x_, reaction_, x);
  return status;
}

ProjectedCg::Status ProjectedCg::solve_kept(In r, In c, double relative, double reference, double enough, int limit,
                                            Out dx, Out dl) {
  iterations_ = 0;
  used_gmres_ = new_factors_ = old_factors_failed_ = false;
  const auto attempt = [&](int most) {
    if (const Status status = prepare_preconditioner(); status != Status::converged) return status;
    start(r, c);
    return iterate(relative, reference, enough, most);
  };
  Status status = attempt(std::min(limit, old_factors_known() ? most_with_old_factors : limit));
  if (status != Status::converged && old_factors_) {
    old_factors_failed_ = true;
    may_keep_factors_ = false;
    whole_stale_ = true;
    status = attempt(limit);
  }
  if (status != Status::converged) return status;

  const std::span<const int> rest = rest_.matrix_rows();
  copy(x_, dx);
  for (std::size_t i = 0; i < rest.size(); ++i) dx[at(rest[i])] = rest_x_[i];
  for (std::size_t i = 0; i < rest_row_numbers_.size(); ++i)
    dl[at(rest_row_numbers_[i])] = -rest_factor_ / A_.scale() * rest_x_[rest.size() + i];
  set_zero(Sp_);
  if (!rest_.empty()) add_reactions(rest_x_, 1, Sp_, x_);
  rows_.find_multipliers(x_.data(), Sp_, r, dl);
  return Status::converged;
}

void ProjectedCg::build_factors() {
  if (factors_.build(A_, rows_, motions_)) whole_stale_ = false;
}

// Rows of single nodes do not turn with a solid.
bool ProjectedCg::old_factors_known() const {
  return may_keep_factors_ && preconditioner_ == Preconditioner::factors && node_row_numbers_.empty() &&
         factors_.can_follow();
}

ProjectedCg::Status ProjectedCg::prepare_preconditioner() {
  if (blocks_stale_) rows_.restrict_blocks();
  if (blocks_stale_ || rest_stale_) {
    by_sweeps_ = may_sweep();
    if (by_sweeps_) prepare_sweeps();
  }
  blocks_stale_ = false;
  if (!by_blocks() && whole_stale_) {
    const bool factors = preconditioner_ == Preconditioner::factors;
    old_factors_ = old_factors_known() && factors_.follow(motions_);
    new_factors_ = factors && !old_factors_ && factors_.build(A_, rows_, motions_);
    if (factors && !old_factors_ && !new_factors_) preconditioner_ = Preconditioner::multigrid;
    if (preconditioner_ == Preconditioner::multigrid && !multigrid_.build(A_, rows_, motions_))
      return Status::indefinite;
    whole_stale_ = false;
    rest_stale_ = true;
  }
  if (rest_.empty() || !rest_stale_) return Status::converged;
  if (!by_blocks() && !may_be_whole()) return Status::slow;
  const auto M = [&](const double* b, double* z, int vectors) { apply_whole(b, z, vectors); };
  const bool regular = by_sweeps_    ? factorise_rest_by_sweeps()
                       : by_blocks() ? rest_.factorise(rows_.blocks(), A_.sizes())
                                     : rest_.factorise(M);
  if (!regular) return Status::singular;
  for (Vector* w : {&rest_x_, &rest_z_, &rest_p_}) w->assign(at(rest_.size()), 0.0);
  rest_stale_ = false;
  return Status::converged;
}

// The first iterate x_, rest_x_, which satisfies the rest and all rows, its residual r_, not projected yet, and p_ = 0.
// Vectors are scaled as the matrix is, and zero in the places of the rest.
void ProjectedCg::start(In r, In c) {
  set_zero(x_);
  set_zero(p_);
  set_zero(rest_p_);
  left_.clear();
  const bool moved = rows_.subtract_offset(c, x_.data());
  A_.for_chunks([&](int chunk, int first, int last) {
    if (moved) A_.multiply_nodes(first, last, x_.data(), r_.data());
    for (const NodeMatrix::Node& node : A_.nodes().subspan(at(first), at(last - first)))
      for (int i = node.first; i < node.first + node.size; ++i)
        r_[at(i)] = -A_.scale() * r[at(i)] - (moved ? r_[at(i)] : 0.0);
    if (!rest_.empty()) rows_.project_chunk(chunk, r_.data());
  });
  if (rest_.empty()) return;

  // one solution of the preconditioner fulfils the equations and rows of the rest
  const std::span<const int> rest = rest_.matrix_rows();
  for (std::size_t i = 0; i < rest.size(); ++i) rest_z_[i] = -A_.scale() * r[at(rest[i])];
  for (std::size_t i = 0; i < rest_row_numbers_.size(); ++i)
    rest_z_[rest.size() + i] = -rest_factor_ * c[at(rest_row_numbers_[i])];
  if (moved) rest_.subtract_reactions(x_.data(), rest_z_);
  precondition();
  if (rest_.redundant()) left_ = rest_.residual();
  axpy(1.0, z_, x_);
  rest_x_ = rest_z_;
  A_.for_chunks([&](int, int first, int last) {
    A_.multiply_nodes(first, last, z_.data(), Sp_.data());
    const auto [begin, end] = A_.matrix_rows(first, last);
    for (int i = begin; i < end; ++i) r_[at(i)] -= Sp_[at(i)];
  });
  add_reactions(rest_z_, -1, r_, z_);
}

// z = M r_ of the nodes [first, last) with node blocks; returns r . z, without the nodes that the rest is coupled with,
// whose z is not complete.
double ProjectedCg::apply_blocks(int first, int last) {
  const std::span<const NodeMatrix::Node> nodes = A_.nodes();
  const std::span<const double* const> blocks = rows_.blocks();
  const bool has_rest = !rest_.empty();
  const double* const r = r_.data();
  double* const z = z_.data();
  double rz = 0;
  for (int g = first; g < last; ++g) {
    const NodeMatrix::Node& node = nodes[at(g)];
    const double* const M = blocks[at(g)];
    const double* const own = r + node.first;
    double share = 0;
    if (node.size == 3) {
      for (int i = 0; i < 3; ++i) z[node.first + i] = M[3 * i] * own[0] + M[3 * i + 1] * own[1] + M[3 * i + 2] * own[2];
      share = z[node.first] * own[0] + z[node.first + 1] * own[1] + z[node.first + 2] * own[2];
    } else {
      for (int i = 0; i < node.size; ++i) {
        double s = 0;
        for (int j = 0; j < node.size; ++j) s += M[i * node.size + j] * own[j];
        z[node.first + i] = s;
        share += s * own[i];
      }
    }
    if (!has_rest || !rest_.coupled(g)) rz += share;
  }
  return rz;
}

// z = M r with multigrid or factors; several vectors, one after the other.
void ProjectedCg::apply_whole(const double* r, double* z, int vectors) {
  if (preconditioner_ == Preconditioner::factors) {
    factors_.apply(r, z, vectors);
    return;
  }
  const std::size_t rows = at(A_.rows());
  for (int k = 0; k < vectors; ++k) multigrid_.apply(r + at(k) * rows, z + at(k) * rows);
}

// After z = M r_ with node blocks, or nothing: z of the rest, whose right-hand side is in rest_z_, and its share in z.
// `rz` is r . z as apply_blocks() returns it; returns r . z.
double ProjectedCg::complete_preconditioner(double rz) {
  if (!by_blocks()) apply_whole(r_.data(), z_.data(), 1);
  if (!rest_.empty()) {
    rest_.subtract_reactions(z_.data(), rest_z_);
    rest_.solve(rest_z_);
    if (!by_blocks()) {
      rest_.subtract_columns(rest_z_.data(), z_);
    } else {
      rest_.each_coupled(rest_z_.data(), [&](int g, const double* force) {
        const NodeMatrix::Node& node = A_.nodes()[at(g)];
        const double* const M = rows_.blocks()[at(g)];
        for (int i = 0; i < node.size; ++i) {
          double& z = z_[at(node.first + i)];
          for (int j = 0; j < node.size; ++j) z -= M[i * node.size + j] * force[j];
          rz += r_[at(node.first + i)] * z;
        }
      });
    }
  }
  return by_blocks() ? rz : A_.dot(r_, z_);
}

// z_ and rest_z_ = P^-1 (r_, rest_z_)
void ProjectedCg::precondition() {
  if (by_sweeps_) return precondition_by_sweeps();
  if (by_blocks()) A_.for_chunks([&](int, int first, int last) { apply_blocks(first, last); });
  complete_preconditioner(0);
}

// y += sign B w; returns B w . along
double ProjectedCg::add_reactions(const Vector& w, double sign, Vector& y, const Vector& along) const {
  double sum = 0;
  rest_.each_coupled(w.data(), [&](int g, const double* force) {
    const NodeMatrix::Node& node = A_.nodes()[at(g)];
    for (int i = 0; i < node.size; ++i) {
      y[at(node.first + i)] += sign * force[i];
      sum += along[at(node.first + i)] * force[i];
    }
  });
  return sum;
}

ProjectedCg::Status ProjectedCg::iterate(double relative, double reference, double enough, int limit) {
  if (by_sweeps_) return iterate_by_sweeps(relative, reference, enough, limit);
  const bool has_rest = !rest_.empty();
  double* const x = x_.data();
  double* const r = r_.data();
  double* const z = z_.data();
  double* const p = p_.data();
  double* const Sp = Sp_.data();
  // z = P^-1 r; returns r . z, and |r|^2 in `square`, from sums that the chunks have left
  const auto precondition_chunk = [&](int chunk, int first, int last) {
    rows_.project_chunk(chunk, r);
    partial_[at(chunk)] = by_blocks() ? apply_blocks(first, last) : 0.0;
    double sum = 0;
    const auto [begin, end] = A_.matrix_rows(first, last);
    for (int i = begin; i < end; ++i) sum += r[i] * r[i];
    square_[at(chunk)] = sum;
  };
  const auto complete = [&] {
    set_zero(rest_z_);
    return complete_preconditioner(NodeMatrix::sum(partial_));
  };

  A_.for_chunks(precondition_chunk);
  double square = NodeMatrix::sum(square_), beta = 0;
  const double start = std::sqrt(square), scale = A_.scale();
  const double target = std::max(relative * std::max(start, scale * reference), scale * enough);
  if (!std::isfinite(start)) return Status::not_finite;
  if (square <= target * target) return Status::converged;
  double rz = complete();
  bool indefinite = !(rz > 0);
  while (!indefinite) {
    if (iterations_ == limit) return Status::slow;
    ++iterations_;
    A_.for_chunks([&](int, int first, int last) {
      const auto [begin, end] = A_.matrix_rows(first, last);
      for (int i = begin; i < end; ++i) p[i] = z[i] + beta * p[i];
    });
    for (std::size_t i = 0; i < rest_p_.size(); ++i) rest_p_[i] = rest_z_[i] + beta * rest_p_[i];
    A_.for_chunks([&](int chunk, int first, int last) {
      A_.multiply_nodes(first, last, p, Sp);
      double curvature = 0;
      const auto [begin, end] = A_.matrix_rows(first, last);
      for (int i = begin; i < end; ++i) curvature += p[i] * Sp[i];
      partial_[at(chunk)] = curvature;
    });
    double curvature = NodeMatrix::sum(partial_);
    if (has_rest) curvature += add_reactions(rest_p_, 1, Sp_, p_);
    if (!std::isfinite(curvature)) return Status::not_finite;
    indefinite = !(curvature > 0);
    if (indefinite) break;
    const double alpha = rz / curvature;
    A_.for_chunks([&](int chunk, int first, int last) {
      const auto [begin, end] = A_.matrix_rows(first, last);
      for (int i = begin; i < end; ++i) {
        x[i] += alpha * p[i];
        r[i] -= alpha * Sp[i];
      }
      precondition_chunk(chunk, first, last);
    });
    axpy(alpha, rest_p_, rest_x_);
    square = NodeMatrix::sum(square_);
    if (!std::isfinite(square)) return Status::not_finite;
    if (square <= target * target) return Status::converged;
    const double next = complete();
    if (!std::isfinite(next)) return Status::not_finite;
    indefinite = !(next > 0);
    // Polak and Ribiere: z . (r - r_old) = -alpha z . Sp
    beta = (has_rest || !by_blocks() ? -alpha * A_.dot(z_, Sp_) : next) / rz;
    rz = next;
  }
  if (old_factors_) return Status::indefinite;
  return solve_by_gmres(std::max(gmres_reduction * target, scale * enough), limit);
}

// Goes on from x_, rest_x_ and their residual r_.
ProjectedCg::Status ProjectedCg::solve_by_gmres(double target, int limit) {
  used_gmres_ = true;
  Vector residual = r_;
  Gmres::Problem problem;
  problem.apply = [&](const Vector& v, Vector& y) {
    r_ = v;
    set_zero(rest_z_);
    precondition();
    A_.for_chunks([&](int, int first, int last) { A_.multiply_nodes(first, last, z_.data(), y.data()); });
    if (!rest_.empty()) add_reactions(rest_z_, 1, y, z_);
    rows_.project(y.data());
  };
  problem.take = [&] {
    axpy(1.0, z_, x_);
    axpy(1.0, rest_z_, rest_x_);
  };
  problem.dot = [&](const Vector& a, const Vector& b) { return A_.dot(a, b); };
  problem.add_and_dot = [&](double c, const Vector& x, Vector& y, const Vector& z) {
    return A_.add_and_dot(c, x, y, z);
  };
  switch (gmres_.solve(problem, residual, target, limit, iterations_)) {
    case Gmres::Status::converged:
      return Status::converged;
    case Gmres::Status::slow:
      return Status::slow;
    case Gmres::Status::not_finite:
      return Status::not_finite;
    case Gmres::Status::breakdown:
      break;
  }
  return Status::indefinite;
}

}  // namespace carom
