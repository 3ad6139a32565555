#include "core/linear/projected_cg.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/index.hpp"
#include "core/base/simd4.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

namespace {

using Floats [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;
constexpr int largest_rows = 8;  // of one node
constexpr double rank_tolerance = 1e-10;

inline Lanes load(const float* p) { return __builtin_convertvector(*reinterpret_cast<const Floats*>(p), Lanes); }
inline double rounded(double x) { return static_cast<double>(static_cast<float>(x)); }

using Block = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, 6, 6>;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, largest_rows, 6>;
using RowsSquare = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, largest_rows, largest_rows>;
using BlockMap = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using ConstBlockMap = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

/// The inverse of a symmetric matrix, row-major; false if it is not positive definite.
template <int size>
bool invert_definite(const double* block, double* inverse) {
  using Fixed = Eigen::Matrix<double, size, size, Eigen::RowMajor>;
  const Eigen::LLT<Fixed> cholesky(Fixed::Map(block));
  Fixed::Map(inverse) = cholesky.solve(Fixed::Identity());
  return cholesky.info() == Eigen::Success && Fixed::Map(inverse).allFinite();
}
bool invert_definite(int size, const double* block, double* inverse) {
  if (size == 3) {
    // cofactors; positive definite by its leading minors
    const double *const a = block, *const b = block + 3, *const c = block + 6;
    const double xx = b[1] * c[2] - b[2] * c[1], xy = b[2] * c[0] - b[0] * c[2], xz = b[0] * c[1] - b[1] * c[0];
    const double zz = a[0] * b[1] - a[1] * b[0], det = a[0] * xx + a[1] * xy + a[2] * xz, d = 1 / det;
    if (!(a[0] > 0) || !(zz > 0) || !(det > 0) || !std::isfinite(d)) return false;
    const double yy = a[0] * c[2] - a[2] * c[0], yz = a[2] * b[0] - a[0] * b[2];
    const double result[] = {d * xx, d * xy, d * xz, d * xy, d * yy, d * yz, d * xz, d * yz, d * zz};
    std::copy_n(result, 9, inverse);
    return true;
  }
  if (size == 6) return invert_definite<6>(block, inverse);
  const Eigen::LLT<Block> cholesky(ConstBlockMap(block, size, size));
  BlockMap(inverse, size, size) = cholesky.solve(Block::Identity(size, size));
  return cholesky.info() == Eigen::Success && BlockMap(inverse, size, size).allFinite();
}

}  // namespace

void ProjectedCg::analyse(const SparsePattern& pattern, std::span<const int> node, Vector weight, int threads) {
  pattern_ = &pattern;
  n_ = pattern.rows;
  threads_ = n_ > 3000 ? threads : 1;
  weight_ = std::move(weight);
  groups_.clear();
  neighbours_.clear();
  group_of_.assign(at(n_), 0);
  block_start_.clear();
  block_entry_.clear();
  std::size_t entries = 0;
  for (int i = 0; i < n_;) {
    Group group{i, 0, 0, 0};
    while (i < n_ && node[at(i)] == node[at(group.first)] && group.size < largest_group) {
      group_of_[at(i++)] = static_cast<int>(groups_.size());
      ++group.size;
    }
    block_start_.push_back(entries);
    entries += at(group.size * group.size);
    groups_.push_back(group);
  }

  // find points whose three rows have the same columns and couple to points only
  for (Group& group : groups_) {
    const int first = pattern.row_start[at(group.first)], length = pattern.row_start[at(group.first + 1)] - first;
    bool regular = group.size == 3 && length % 3 == 0;
    for (int r = 1; r < group.size && regular; ++r) {
      const int other = pattern.row_start[at(group.first + r)];
      regular = pattern.row_start[at(group.first + r + 1)] - other == length &&
                std::equal(pattern.column.begin() + first, pattern.column.begin() + first + length,
                           pattern.column.begin() + other);
    }
    group.neighbours = static_cast<int>(neighbours_.size());
    for (int k = 0; k < length && regular; k += 3) {
      const int j = pattern.column[at(first + k)];
      const Group& other = groups_[at(group_of_[at(j)])];
      regular = j == other.first && other.size == 3 && pattern.column[at(first + k + 2)] == j + 2;
      neighbours_.push_back(j);
    }
    if (!regular) neighbours_.resize(at(group.neighbours));
    group.neighbours_end = static_cast<int>(neighbours_.size());
    for (int r = 0; r < group.size; ++r)
      for (int c = 0; c < group.size; ++c) block_entry_.push_back(pattern.find(group.first + r, group.first + c));
  }

  // extra room: kernels read whole lanes beyond the last entry
  values_.assign(at(pattern.nonzeros() + lane_count), 0.0F);
  blocks_.assign(entries, 0.0);
  block_.assign(groups_.size(), nullptr);
  for (Vector* x : {&x_, &r_, &z_, &p_, &Sp_}) x->assign(at(n_), 0.0);
  const std::size_t chunks = (groups_.size() + chunk_groups - 1) / chunk_groups;
  partial_a_.assign(chunks, 0.0);
  partial_b_.assign(chunks, 0.0);
  chunk_constrained_.assign(chunks + 1, 0);
  constrained_.clear();
}

SparsePattern ProjectedCg::node_graph() const {
  const int groups = static_cast<int>(groups_.size());
  PatternBuilder builder(groups, groups);
  for (int i = 0; i < n_; ++i) {
    if (i != groups_[at(group_of_[at(i)])].first) continue;
    int last = -1;
    for (int k = pattern_->row_start[at(i)]; k < pattern_->row_start[at(i + 1)]; ++k) {
      const int g = group_of_[at(pattern_->column[at(k)])];
      if (g != last) builder.add(group_of_[at(i)], g);
      last = g;
    }
  }
  return builder.build();
}

template <class Work>
void ProjectedCg::for_chunks(const Work& work) const {
  const int groups = static_cast<int>(groups_.size()), chunks = static_cast<int>(partial_a_.size());
  const auto one = [&](int c) { work(c, c * chunk_groups, std::min((c + 1) * chunk_groups, groups)); };
  if (threads_ == 1) {
    for (int c = 0; c < chunks; ++c) one(c);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int c = 0; c < chunks; ++c) one(c);
}

double ProjectedCg::sum_partials(const Vector& partials) const {
  return std::accumulate(partials.begin(), partials.end(), 0.0);
}

// Calls visit(place in values_, place in the pattern's values) for all entries of a node's rows.
template <class Visit>
void ProjectedCg::each_value(const Group& group, const Visit& visit) const {
  const std::vector<int>& start = pattern_->row_start;
  const int first = start[at(group.first)], last = start[at(group.first + group.size)];
  if (group.neighbours == group.neighbours_end) {
    for (int k = first; k < last; ++k) visit(at(k), at(k));
    return;
  }
  const int length = 3 * (group.neighbours_end - group.neighbours);
  for (int j = 0; j < length; ++j)
    for (int r = 0; r < 3; ++r) visit(at(first + 3 * j + r), at(first + r * length + j));
}

bool ProjectedCg::prepare(std::span<const double> values) {
  const auto entry_of_block = [&](std::size_t k) { return block_entry_[k] < 0 ? 0.0 : values[at(block_entry_[k])]; };
  // scale the largest entry to about one by a power of two; in a definite matrix that entry is on the diagonal
  double largest = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (std::size_t r = 0, m = at(groups_[g].size); r < m; ++r) {
      const double d = entry_of_block(block_start_[g] + r * (m + 1));
      if (!(d > 0) || !std::isfinite(d)) return false;
      largest = std::max(largest, d);
    }
  const double scale = std::exp2(-std::ilogb(largest));

  for_chunks([&](int chunk, int first, int last) {
    double bad = 0;
    for (int g = first; g < last; ++g) {
      const Group& group = groups_[at(g)];
      each_value(group, [&](std::size_t own, std::size_t k) { values_[own] = static_cast<float>(scale * values[k]); });
      double block[largest_group * largest_group];
      const std::size_t entries = at(group.size * group.size);
      for (std::size_t k = 0; k < entries; ++k) block[k] = rounded(scale * entry_of_block(block_start_[at(g)] + k));
      if (!invert_definite(group.size, block, blocks_.data() + block_start_[at(g)])) bad = 1;
    }
    partial_a_[at(chunk)] = bad;
  });
  scale_ = scale;
  rows_stale_ = true;
  return sum_partials(partial_a_) == 0;
}

bool ProjectedCg::set_rows(std::span<const SparseRow* const> rows) {
  // sort rows by node
  row_order_.resize(rows.size());
  std::iota(row_order_.begin(), row_order_.end(), 0);
  const auto group_of_row = [&](int i) {
    const SparseRow& row = *rows[at(i)];
    return row.equation.empty() ? 0 : group_of_[at(row.equation.front())];
  };
  for (const SparseRow* row : rows)
    for (const int e : row->equation)
      if (group_of_[at(e)] != group_of_[at(row->equation.front())]) return false;
  std::sort(row_order_.begin(), row_order_.end(), [&](int a, int b) {
    const int ga = group_of_row(a), gb = group_of_row(b);
    return ga != gb ? ga < gb : a < b;
  });

  constrained_.clear();
  std::size_t gradients = 0, inverses = 0, blocks = 0;
  for (std::size_t i = 0; i < rows.size();) {
    Constrained node;
    node.group = group_of_row(row_order_[i]);
    node.first = static_cast<int>(i);
    while (i < rows.size() && group_of_row(row_order_[i]) == node.group) ++i;
    node.last = static_cast<int>(i);
    if (node.last - node.first > largest_rows) return false;
    const std::size_t m = at(groups_[at(node.group)].size), k = at(node.last - node.first);
    node.gradients = gradients;
    node.inverse = inverses;
    node.block = blocks;
    gradients += k * m;
    inverses += k * k;
    blocks += m * m;
    constrained_.push_back(node);
  }
  gradients_.assign(gradients, 0.0);
  normal_inverse_.assign(inverses, 0.0);
  bases_.assign(gradients, 0.0);
  constrained_blocks_.assign(blocks, 0.0);
  redundant_ = false;
  for (Constrained& node : constrained_) build_constrained(node, rows);

  // ranges of constrained nodes per chunk
  std::size_t next = 0;
  for (std::size_t chunk = 0; chunk + 1 < chunk_constrained_.size(); ++chunk) {
    chunk_constrained_[chunk] = static_cast<int>(next);
    while (next < constrained_.size() && constrained_[next].group < static_cast<int>(chunk + 1) * chunk_groups) ++next;
  }
  chunk_constrained_.back() = static_cast<int>(next);
  rows_stale_ = true;
  return true;
}

void ProjectedCg::build_constrained(Constrained& node, std::span<const SparseRow* const> rows) {
  const Group& group = groups_[at(node.group)];
  const int m = group.size, k = node.last - node.first;
  BlockMap G(gradients_.data() + node.gradients, k, m);
  Rows unit = Rows::Zero(k, m);
  Eigen::Matrix<double, Eigen::Dynamic, 1, 0, largest_rows, 1> inverse_length(k);
  for (int i = 0; i < k; ++i) {
    const SparseRow& row = *rows[at(row_order_[at(node.first + i)])];
    for (std::size_t j = 0; j < row.equation.size(); ++j) G(i, row.equation[j] - group.first) += row.value[j];
    const double length = G.row(i).norm();
    inverse_length(i) = length > 0 ? 1 / length : 0.0;
    unit.row(i) = inverse_length(i) * G.row(i);
  }

  // (G G^T)^+ with rows of unit length, so that dependent rows share their force independently of their scales, and an
  // orthonormal basis of the row space
  const Eigen::SelfAdjointEigenSolver<RowsSquare> normal(unit * unit.transpose());
  RowsSquare inverse = RowsSquare::Zero(k, k);
  BlockMap basis(bases_.data() + node.gradients, k, m);
  node.rank = 0;
  for (int i = 0; i < k; ++i) {
    const double d = normal.eigenvalues()(i);
    if (!(d > rank_tolerance)) continue;
    const auto u = normal.eigenvectors().col(i);
    inverse += u * u.transpose() / d;
    basis.row(node.rank++) = u.transpose() * unit / std::sqrt(d);
  }
  redundant_ = redundant_ || node.rank < k;
  BlockMap(normal_inverse_.data() + node.inverse, k, k) =
      inverse_length.asDiagonal() * inverse * inverse_length.asDiagonal();
}

// B^-1 restricted to the null space of G: A - A V^T (V A V^T)^-1 V A with A = B^-1 and V a basis of the row space of G.
void ProjectedCg::restrict_blocks() {
  for (std::size_t g = 0; g < groups_.size(); ++g) block_[g] = blocks_.data() + block_start_[g];
  for (const Constrained& node : constrained_) {
    const int m = groups_[at(node.group)].size;
    const Block A = ConstBlockMap(blocks_.data() + block_start_[at(node.group)], m, m);
    BlockMap out(constrained_blocks_.data() + node.block, m, m);
    out = A;
    if (node.rank > 0) {
      const Block V = ConstBlockMap(bases_.data() + node.gradients, node.rank, m);
      const Block VA = V * A, VAV = VA * V.transpose();
      out -= VA.transpose() * VAV.llt().solve(VA);
    }
    block_[at(node.group)] = out.data();
  }
  rows_stale_ = false;
}

// y = the rows of S of one node times x.
void ProjectedCg::multiply_group(const Group& group, const double* x, double* y) const {
  const SparsePattern& p = *pattern_;
  if (group.neighbours == group.neighbours_end) {
    for (int r = 0; r < group.size; ++r) {
      double s = 0;
      for (int k = p.row_start[at(group.first + r)]; k < p.row_start[at(group.first + r + 1)]; ++k)
        s += static_cast<double>(values_[at(k)]) * x[at(p.column[at(k)])];
      y[r] = s;
    }
    return;
  }
  // by columns of blocks, where the fourth lane is ignored; two independent sums hide the latency of the additions
  const float* a = values_.data() + p.row_start[at(group.first)];
  const int* neighbour = neighbours_.data() + group.neighbours;
  const int* const end = neighbours_.data() + group.neighbours_end;
  Lanes s0{}, s1{}, s2{}, t0{}, t1{}, t2{};
  for (; neighbour + 1 < end; neighbour += 2, a += 18) {
    const double* const u = x + neighbour[0];
    const double* const w = x + neighbour[1];
    s0 += load(a) * u[0];
    s1 += load(a + 3) * u[1];
    s2 += load(a + 6) * u[2];
    t0 += load(a + 9) * w[0];
    t1 += load(a + 12) * w[1];
    t2 += load(a + 15) * w[2];
  }
  if (neighbour < end) {
    const double* const u = x + neighbour[0];
    s0 += load(a) * u[0];
    s1 += load(a + 3) * u[1];
    s2 += load(a + 6) * u[2];
  }
  const Lanes s = (s0 + t0) + (s1 + t1) + (s2 + t2);
  y[0] = s[0];
  y[1] = s[1];
  y[2] = s[2];
}

void ProjectedCg::project(const Constrained& node, double* r) const {
  const Group& group = groups_[at(node.group)];
  const double* V = bases_.data() + node.gradients;
  double* const own = r + group.first;
  for (int i = 0; i < node.rank; ++i, V += group.size) {
    double s = 0;
    for (int j = 0; j < group.size; ++j) s += V[j] * own[j];
    for (int j = 0; j < group.size; ++j) own[j] -= s * V[j];
  }
}

double ProjectedCg::weigh(int first, int last, const double* r) const {
  double s = 0;
  if (weight_.empty())
    for (int i = first; i < last; ++i) s += r[i] * r[i];
  else
    for (int i = first; i < last; ++i) s += weight_[at(i)] * r[i] * weight_[at(i)] * r[i];
  return s;
}

ProjectedCg::Status ProjectedCg::solve(In r_in, In c, double relative, double enough, int limit, Out dx, Out dl) {
  iterations_ = 0;
  if (rows_stale_) restrict_blocks();
  double* const x = x_.data();
  double* const r = r_.data();
  double* const z = z_.data();
  double* const p = p_.data();
  double* const Sp = Sp_.data();

  // x_0 = -G^T (G G^T)^+ c
  std::fill(x_.begin(), x_.end(), 0.0);
  bool moved = false;
  for (const Constrained& node : constrained_) {
    const Group& group = groups_[at(node.group)];
    const int k = node.last - node.first;
    const double* const G = gradients_.data() + node.gradients;
    const double* const N = normal_inverse_.data() + node.inverse;
    for (int i = 0; i < k; ++i) {
      double s = 0;
      for (int j = 0; j < k; ++j) s += N[i * k + j] * c[at(row_order_[at(node.first + j)])];
      for (int j = 0; j < group.size; ++j) x[group.first + j] -= G[i * group.size + j] * s;
      moved = moved || s != 0;
    }
  }

  // r = -P (r_in + S x_0), z = B^-1 r, p = z; r is scaled as the matrix is
  const auto equations = [&](int first, int last) {
    return std::pair(groups_[at(first)].first, groups_[at(last - 1)].first + groups_[at(last - 1)].size);
  };
  // projects the residual of a chunk, preconditions it and returns r . z; |r|^2 in `square`
  const auto precondition = [&](int chunk, int first, int last, double& square) {
    for (int i = chunk_constrained_[at(chunk)]; i < chunk_constrained_[at(chunk + 1)]; ++i)
      project(constrained_[at(i)], r);
    double rz = 0;
    for (int g = first; g < last; ++g) {
      const Group& group = groups_[at(g)];
      const double* const B = block_[at(g)];
      const double* const own = r + group.first;
      if (group.size == 3) {
        for (int i = 0; i < 3; ++i)
          z[group.first + i] = B[3 * i] * own[0] + B[3 * i + 1] * own[1] + B[3 * i + 2] * own[2];
        rz += z[group.first] * own[0] + z[group.first + 1] * own[1] + z[group.first + 2] * own[2];
        continue;
      }
      for (int i = 0; i < group.size; ++i) {
        double s = 0;
        for (int j = 0; j < group.size; ++j) s += B[i * group.size + j] * own[j];
        z[group.first + i] = s;
        rz += s * own[i];
      }
    }
    const auto [begin, end] = equations(first, last);
    square = weigh(begin, end, r);
    return rz;
  };
  for_chunks([&](int chunk, int first, int last) {
    for (int g = first; g < last; ++g) {
      const Group& group = groups_[at(g)];
      if (moved) multiply_group(group, x, r + group.first);
      for (int i = group.first; i < group.first + group.size; ++i) {
        r[i] = -scale_ * r_in[at(i)] - (moved ? r[i] : 0.0);
        p[i] = 0;
      }
    }
    partial_a_[at(chunk)] = precondition(chunk, first, last, partial_b_[at(chunk)]);
  });
  double rz = sum_partials(partial_a_);
  const double start = std::sqrt(sum_partials(partial_b_));
  const double target = std::max(relative * start, scale_ * enough);
  if (!std::isfinite(start)) return Status::not_finite;
  if (start > 0 && !(rz > 0)) return Status::indefinite;

  double square = start * start, beta = 0;
  while (square > target * target) {
    if (iterations_ == limit) return Status::slow;
    ++iterations_;
    for_chunks([&](int, int first, int last) {
      const auto [begin, end] = equations(first, last);
      for (int i = begin; i < end; ++i) p[i] = z[i] + beta * p[i];
    });
    for_chunks([&](int chunk, int first, int last) {
      double curvature = 0;
      for (int g = first; g < last; ++g) {
        const Group& group = groups_[at(g)];
        multiply_group(group, p, Sp + group.first);
        for (int i = group.first; i < group.first + group.size; ++i) curvature += p[i] * Sp[i];
      }
      partial_a_[at(chunk)] = curvature;
    });
    const double curvature = sum_partials(partial_a_);
    if (!std::isfinite(curvature)) return Status::not_finite;
    if (!(curvature > 0)) return Status::indefinite;
    const double alpha = rz / curvature;
    for_chunks([&](int chunk, int first, int last) {
      const auto [begin, end] = equations(first, last);
      for (int i = begin; i < end; ++i) {
        x[i] += alpha * p[i];
        r[i] -= alpha * Sp[i];
      }
      partial_a_[at(chunk)] = precondition(chunk, first, last, partial_b_[at(chunk)]);
    });
    const double next = sum_partials(partial_a_);
    square = sum_partials(partial_b_);
    if (!std::isfinite(next) || !std::isfinite(square)) return Status::not_finite;
    if (square > target * target && !(next > 0)) return Status::indefinite;
    beta = next / rz;
    rz = next;
  }

  // the multipliers balance the residual along the gradients
  for (const Constrained& node : constrained_) {
    const Group& group = groups_[at(node.group)];
    const int k = node.last - node.first;
    const double* const G = gradients_.data() + node.gradients;
    const double* const N = normal_inverse_.data() + node.inverse;
    double force[largest_group], along[largest_rows] = {};
    multiply_group(group, x, force);
    for (int i = 0; i < k; ++i)
      for (int j = 0; j < group.size; ++j)
        along[i] += G[i * group.size + j] * (force[j] / scale_ + r_in[at(group.first + j)]);
    for (int i = 0; i < k; ++i) {
      double s = 0;
      for (int j = 0; j < k; ++j) s += N[i * k + j] * along[j];
      dl[at(row_order_[at(node.first + i)])] = s;
    }
  }
  std::copy_n(x, n_, dx.data());
  return Status::converged;
}

}  // namespace carom
