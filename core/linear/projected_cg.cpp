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
constexpr int gmres_restart = 60;
constexpr double gmres_reduction = 1e-3;  // beyond the target: Newton's method is not to lose its way here
constexpr double gmres_progress = 0.9;    // of the residual, in every cycle
constexpr int most_columns = 96;          // of the rest, with multigrid: each costs a cycle

using Doubles [[gnu::vector_size(32), gnu::aligned(8), gnu::may_alias]] = double;

inline Lanes load(const double* p) { return *reinterpret_cast<const Doubles*>(p); }
inline Lanes load(const float* p) { return __builtin_convertvector(*reinterpret_cast<const Floats*>(p), Lanes); }
inline double rounded(double x) { return static_cast<double>(static_cast<float>(x)); }

using Block = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, 3, 3>;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, largest_rows, 3>;
using RowsSquare = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, largest_rows, largest_rows>;
using BlockMap = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using ConstBlockMap = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

/// The inverse of a symmetric matrix, row-major. Of an indefinite one: that of the absolute values of its spectrum.
/// False if the matrix is not finite.
bool invert(int size, const double* block, double* inverse) {
  if (size == 3) {
    // cofactors; positive definite by its leading minors
    const double *const a = block, *const b = block + 3, *const c = block + 6;
    const double xx = b[1] * c[2] - b[2] * c[1], xy = b[2] * c[0] - b[0] * c[2], xz = b[0] * c[1] - b[1] * c[0];
    const double zz = a[0] * b[1] - a[1] * b[0], det = a[0] * xx + a[1] * xy + a[2] * xz, d = 1 / det;
    if (a[0] > 0 && zz > 0 && det > 0 && std::isfinite(d)) {
      const double yy = a[0] * c[2] - a[2] * c[0], yz = a[2] * b[0] - a[0] * b[2];
      const double result[] = {d * xx, d * xy, d * xz, d * xy, d * yy, d * yz, d * xz, d * yz, d * zz};
      std::copy_n(result, 9, inverse);
      return true;
    }
  }
  const Block A = ConstBlockMap(block, size, size);
  BlockMap out(inverse, size, size);
  if (!A.allFinite()) return false;
  const Eigen::LLT<Block> cholesky(A);
  if (size != 3 && cholesky.info() == Eigen::Success) {
    out = cholesky.solve(Block::Identity(size, size));
    return out.allFinite();
  }
  const Eigen::SelfAdjointEigenSolver<Block> spectrum(A);
  const Eigen::VectorXd sizes = spectrum.eigenvalues().cwiseAbs();
  out = spectrum.eigenvectors() * sizes.cwiseMax(rank_tolerance * sizes.maxCoeff()).cwiseInverse().asDiagonal() *
        spectrum.eigenvectors().transpose();
  return out.allFinite();
}

}  // namespace

void ProjectedCg::analyse(const SparsePattern& given, std::span<const int> given_node, int given_first_row,
                          int threads) {
  // without the nodes that joints hold
  condensation_.analyse(given, given_node, given_first_row);
  std::vector<int> node(given_node.begin(), given_node.end());
  int first_row = given_first_row;
  if (!condensation_.empty()) {
    node.clear();
    first_row = 0;
    for (const int i : condensation_.kept()) {
      node.push_back(given_node[at(i)]);
      first_row += i < given_first_row ? 1 : 0;
    }
    for (Vector* x : {&b_, &reaction_}) x->assign(at(given.rows), 0.0);
    for (Vector* x : {&reduced_, &reduced_x_}) x->assign(node.size(), 0.0);
  }
  const SparsePattern& pattern = condensation_.empty() ? given : condensation_.pattern();
  pattern_ = &pattern;
  n_ = pattern.rows;
  threads_ = n_ > 3000 ? threads : 1;
  groups_.clear();
  neighbours_.clear();
  offsets_.clear();
  sizes_.clear();
  group_of_.assign(at(n_), -1);
  block_start_.clear();
  block_entry_.clear();
  std::size_t entries = 0;
  for (int i = 0; i < n_;) {
    if (node[at(i)] < 0) {
      ++i;
      continue;
    }
    Group group{i, 0, 0, 0};
    while (i < n_ && node[at(i)] == node[at(group.first)] && group.size < largest_group) {
      group_of_[at(i++)] = static_cast<int>(groups_.size());
      ++group.size;
    }
    block_start_.push_back(entries);
    entries += at(group.size * group.size);
    groups_.push_back(group);
    sizes_.push_back(group.size);
  }
  rest_.analyse(pattern, group_of_, first_row);

  // find points whose three rows have the same columns and couple to points, and to the rest, only
  for (Group& group : groups_) {
    const int first = pattern.row_start[at(group.first)], length = pattern.row_start[at(group.first + 1)] - first;
    bool regular = group.size == 3;
    for (int r = 1; r < group.size && regular; ++r) {
      const int other = pattern.row_start[at(group.first + r)];
      regular = pattern.row_start[at(group.first + r + 1)] - other == length &&
                std::equal(pattern.column.begin() + first, pattern.column.begin() + first + length,
                           pattern.column.begin() + other);
    }
    group.neighbours = static_cast<int>(neighbours_.size());
    for (int k = 0; k < length && regular;) {
      const int j = pattern.column[at(first + k)];
      if (group_of_[at(j)] < 0) {
        ++k;
        continue;
      }
      const Group& other = groups_[at(group_of_[at(j)])];
      regular = j == other.first && other.size == 3 && k + 2 < length && pattern.column[at(first + k + 2)] == j + 2;
      neighbours_.push_back(j);
      offsets_.push_back(k);
      k += 3;
    }
    if (!regular) {
      neighbours_.resize(at(group.neighbours));
      offsets_.resize(at(group.neighbours));
    }
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

// Calls visit(place in values_, place in the pattern's values or -1) for all entries of a node's rows; -1: the rest's.
template <class Visit>
void ProjectedCg::each_value(const Group& group, const Visit& visit) const {
  const std::vector<int>& start = pattern_->row_start;
  const int first = start[at(group.first)], last = start[at(group.first + group.size)];
  if (group.neighbours == group.neighbours_end) {
    for (int k = first; k < last; ++k) visit(at(k), group_of_[at(pattern_->column[at(k)])] < 0 ? -1 : k);
    return;
  }
  const int length = (last - first) / 3;
  int own = first;
  for (int j = group.neighbours; j < group.neighbours_end; ++j)
    for (int c = offsets_[at(j)]; c < offsets_[at(j)] + 3; ++c)
      for (int r = 0; r < 3; ++r, ++own) visit(at(own), first + r * length + c);
}

bool ProjectedCg::prepare(std::span<const double> given, std::span<const double> motions) {
  if (!condensation_.empty() && !condensation_.reduce(given)) return false;
  const std::span<const double> values = condensation_.empty() ? given : condensation_.values();
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
  multigrid_on_ = !motions.empty();
  multigrid_.current = false;
  if (multigrid_on_) {
    exact_values_.assign(values_.size(), 0.0);
    multigrid_.motions.clear();
    for (int i = 0; i < n_; ++i) {
      const std::size_t row = at(condensation_.empty() ? i : condensation_.kept()[at(i)]);
      for (std::size_t k = 0; k < 6; ++k) multigrid_.motions.push_back(motions[6 * row + k]);
    }
  }

  for_chunks([&](int chunk, int first, int last) {
    double bad = 0;
    for (int g = first; g < last; ++g) {
      const Group& group = groups_[at(g)];
      each_value(group, [&](std::size_t own, int k) {
        const double value = k < 0 ? 0.0 : scale * values[at(k)];
        if (multigrid_on_)
          exact_values_[own] = value;
        else
          values_[own] = static_cast<float>(value);
      });
      double block[largest_group * largest_group];
      const std::size_t entries = at(group.size * group.size);
      for (std::size_t k = 0; k < entries; ++k) block[k] = rounded(scale * entry_of_block(block_start_[at(g)] + k));
      if (!invert(group.size, block, blocks_.data() + block_start_[at(g)])) bad = 1;
    }
    partial_a_[at(chunk)] = bad;
  });
  scale_ = scale;
  rest_.prepare(values, scale);
  rows_stale_ = rest_stale_ = true;
  return sum_partials(partial_a_) == 0;
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

bool ProjectedCg::set_kept_rows(std::span<const SparseRow* const> rows, std::span<const SparseRow* const> F,
                                double factor) {
  // rows of a single node, sorted by node; the others belong to the rest
  const auto group_of_row = [&](int i) {
    const SparseRow& row = *rows[at(i)];
    return row.equation.empty() ? 0 : group_of_[at(row.equation.front())];
  };
  const bool had_rest_rows = !rest_rows_.empty();
  row_order_.clear();
  rest_rows_.clear();
  rest_G_.clear();
  rest_F_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int group = group_of_row(static_cast<int>(i));
    const bool single =
        group >= 0 && std::ranges::all_of(rows[i]->equation, [&](int e) { return group_of_[at(e)] == group; });
    if (single) {
      row_order_.push_back(static_cast<int>(i));
      continue;
    }
    rest_rows_.push_back(static_cast<int>(i));
    rest_G_.push_back(rows[i]);
    rest_F_.push_back(F.empty() ? rows[i] : F[i]);
  }
  std::sort(row_order_.begin(), row_order_.end(), [&](int a, int b) {
    const int ga = group_of_row(a), gb = group_of_row(b);
    return ga != gb ? ga < gb : a < b;
  });
  rest_factor_ = -factor * scale_;
  if (had_rest_rows || !rest_rows_.empty()) {
    rest_.set_rows(rest_G_, rest_F_, rest_factor_);
    rest_stale_ = true;
  }

  constrained_.clear();
  std::size_t gradients = 0, inverses = 0, blocks = 0;
  for (std::size_t i = 0; i < row_order_.size();) {
    Constrained node;
    node.group = group_of_row(row_order_[i]);
    node.first = static_cast<int>(i);
    while (i < row_order_.size() && group_of_row(row_order_[i]) == node.group) ++i;
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
template <class Real>
void ProjectedCg::multiply_with(const Real* values, const Group& group, const double* x, double* y) const {
  const SparsePattern& p = *pattern_;
  if (group.neighbours == group.neighbours_end) {
    for (int r = 0; r < group.size; ++r) {
      double s = 0;
      for (int k = p.row_start[at(group.first + r)]; k < p.row_start[at(group.first + r + 1)]; ++k)
        s += static_cast<double>(values[at(k)]) * x[at(p.column[at(k)])];
      y[r] = s;
    }
    return;
  }
  // by columns of blocks, where the fourth lane is ignored; two independent sums hide the latency of the additions
  const Real* a = values + p.row_start[at(group.first)];
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

// The hierarchy of the matrix with the projected rows held: couplings along their gradients vanish.
bool ProjectedCg::build_multigrid() {
  Multigrid& m = multigrid_;
  m.current = true;
  const std::size_t nodes = groups_.size();
  // couplings of nodes
  m.start.assign(1, 0);
  m.column.clear();
  Vector blocks;
  const auto block_of = [&](std::size_t k) {
    return Eigen::Map<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(&blocks[9 * k]);
  };
  std::vector<int> place(nodes, -1);
  for (std::size_t g = 0; g < nodes; ++g) {
    const Group& group = groups_[g];
    const int begin = static_cast<int>(m.column.size());
    const auto couple = [&](int other) {
      if (place[at(other)] < begin) {
        place[at(other)] = static_cast<int>(m.column.size());
        m.column.push_back(other);
        blocks.resize(blocks.size() + 9, 0.0);
      }
      return at(place[at(other)]);
    };
    if (group.neighbours != group.neighbours_end) {
      const double* a = exact_values_.data() + pattern_->row_start[at(group.first)];
      for (int j = group.neighbours; j < group.neighbours_end; ++j, a += 9) {
        auto block = block_of(couple(group_of_[at(neighbours_[at(j)])]));
        for (int c = 0; c < 3; ++c)
          for (int r = 0; r < 3; ++r) block(r, c) = a[3 * c + r];
      }
    } else {
      for (int r = 0; r < group.size; ++r)
        for (int k = pattern_->row_start[at(group.first + r)]; k < pattern_->row_start[at(group.first + r + 1)]; ++k) {
          const int j = pattern_->column[at(k)], other = group_of_[at(j)];
          if (other < 0) continue;
          block_of(couple(other))(r, j - groups_[at(other)].first) = exact_values_[at(k)];
        }
      auto block = block_of(couple(static_cast<int>(g)));
      for (int c = group.size; c < 3; ++c) block(c, c) = block(0, 0);
    }
    m.start.push_back(static_cast<int>(m.column.size()));
  }
  // rows held
  Vector motions(18 * nodes, 0.0);
  using Block3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  std::vector<Block3> held;
  std::vector<int> held_of(nodes, -1);
  for (const Constrained& node : constrained_) {
    const Group& group = groups_[at(node.group)];
    Block3 free = Block3::Identity();
    const double* V = bases_.data() + node.gradients;
    for (int i = 0; i < node.rank; ++i, V += group.size)
      for (int r = 0; r < group.size; ++r)
        for (int c = 0; c < group.size; ++c) free(r, c) -= V[r] * V[c];
    held_of[at(node.group)] = static_cast<int>(held.size());
    held.push_back(free);
  }
  for (std::size_t g = 0; g < nodes; ++g) {
    for (int k = m.start[g]; k < m.start[g + 1]; ++k) {
      const int own = held_of[g], other = held_of[at(m.column[at(k)])];
      auto block = block_of(at(k));
      if (own >= 0) block = held[at(own)] * block;
      if (other >= 0) block = block * held[at(other)];
      if (own >= 0 && m.column[at(k)] == static_cast<int>(g)) {
        const double size = std::max(block.trace(), exact_trace(g)) / 3;
        block += size * (Block3::Identity() - held[at(own)]);
      }
    }
    Eigen::Map<Eigen::Matrix<double, 3, 6, Eigen::RowMajor>> own(&motions[18 * g]);
    for (int r = 0; r < groups_[g].size; ++r)
      for (int k = 0; k < 6; ++k) own(r, k) = multigrid_.motions[6 * at(groups_[g].first + r) + at(k)];
    if (held_of[g] >= 0) own = (held[at(held_of[g])] * own).eval();
  }
  m.r.assign(3 * nodes, 0.0);
  m.z.assign(3 * nodes, 0.0);
  return m.hierarchy.build(m.start, m.column, blocks, motions);
}

double ProjectedCg::exact_trace(std::size_t g) const {
  const double* const inverse = blocks_.data() + block_start_[g];
  double sum = 0;
  for (int i = 0; i < groups_[g].size; ++i) sum += 1 / inverse[i * groups_[g].size + i];
  return sum;
}

// z = M r, in the null space of the projected rows
void ProjectedCg::apply_multigrid(const double* r, double* z) {
  for (std::size_t g = 0; g < groups_.size(); ++g)
    std::copy_n(r + groups_[g].first, groups_[g].size, &multigrid_.r[3 * g]);
  multigrid_.hierarchy.apply(multigrid_.r.data(), multigrid_.z.data());
  for (std::size_t g = 0; g < groups_.size(); ++g)
    std::copy_n(&multigrid_.z[3 * g], groups_[g].size, z + groups_[g].first);
  for (const Constrained& node : constrained_) project(node, z);
}

// z and the rest of z from r; returns r . z
double ProjectedCg::precondition_by_multigrid() {
  apply_multigrid(r_.data(), z_.data());
  if (!rest_.empty()) {
    std::fill(rest_z_.begin(), rest_z_.end(), 0.0);
    rest_.subtract_reactions(z_.data(), rest_z_);
    rest_.solve(rest_z_);
    rest_.subtract_columns(rest_z_.data(), z_);
  }
  for_chunks([&](int chunk, int first, int last) {
    double sum = 0;
    for (int i = groups_[at(first)].first; i < groups_[at(last - 1)].first + groups_[at(last - 1)].size; ++i)
      sum += r_[at(i)] * z_[at(i)];
    partial_a_[at(chunk)] = sum;
  });
  return sum_partials(partial_a_);
}

// After z = M r for all nodes: the rest of z, its share in z at the coupled nodes, and r . z of these nodes.
double ProjectedCg::precondition_rest() {
  std::fill(rest_z_.begin(), rest_z_.end(), 0.0);
  rest_.subtract_reactions(z_.data(), rest_z_);
  return correct_coupled();
}

// rest_z_ becomes R^-1 rest_z_; z -= M B rest_z_ at the coupled nodes. Returns r . z of these.
double ProjectedCg::correct_coupled() {
  rest_.solve(rest_z_);
  double rz = 0;
  rest_.each_coupled(rest_z_.data(), [&](int g, const double* force) {
    const Group& group = groups_[at(g)];
    const double* const M = block_[at(g)];
    for (int i = 0; i < group.size; ++i) {
      double& z = z_[at(group.first + i)];
      for (int j = 0; j < group.size; ++j) z -= M[i * group.size + j] * force[j];
      rz += r_[at(group.first + i)] * z;
    }
  });
  return rz;
}

// r or Sp += sign B w
double ProjectedCg::add_reactions(const Vector& w, double sign, Vector& y, const Vector& along) const {
  double sum = 0;
  rest_.each_coupled(w.data(), [&](int g, const double* force) {
    const Group& group = groups_[at(g)];
    for (int i = 0; i < group.size; ++i) {
      y[at(group.first + i)] += sign * force[i];
      sum += along[at(group.first + i)] * force[i];
    }
  });
  return sum;
}

double ProjectedCg::inconsistency(int matrix_row) const {
  const int row = condensation_.empty() ? matrix_row : condensation_.place(matrix_row);
  return left_.empty() || row < 0 ? 0.0 : left_[at(rest_.place(row))] / scale_;
}

ProjectedCg::Status ProjectedCg::solve(In r, In c, double relative, double reference, double enough, int limit, Out x,
                                       Out dl) {
  if (condensation_.empty()) return solve_kept(r, c, relative, reference, enough, limit, x, dl);
  for (std::size_t i = 0; i < b_.size(); ++i) b_[i] = -r[i];
  condensation_.reduce_right_side(b_, reduced_);
  for (double& ri : reduced_) ri = -ri;
  c_.assign(c.begin(), c.end());
  for (std::size_t i = 0; i < c_.size(); ++i) c_[i] += condensation_.row_constant(*given_G_[i]);
  const Status status = solve_kept(reduced_, c_, relative, reference, enough, limit, reduced_x_, dl);
  if (status != Status::converged) return status;
  // the equations that were eliminated feel the rows outside of the matrix too
  std::fill(reaction_.begin(), reaction_.end(), 0.0);
  for (std::size_t i = 0; i < given_F_.size(); ++i)
    for (std::size_t k = 0; k < given_F_[i]->equation.size(); ++k)
      reaction_[at(given_F_[i]->equation[k])] -= dl[i] * given_F_[i]->value[k];
  condensation_.expand(reduced_x_, reaction_, x);
  return status;
}

// z and the rest of z from r
void ProjectedCg::precondition() {
  if (multigrid_on_) {
    precondition_by_multigrid();
    return;
  }
  for_chunks([&](int, int first, int last) {
    for (int g = first; g < last; ++g) {
      const Group& group = groups_[at(g)];
      const double* const M = block_[at(g)];
      for (int i = 0; i < group.size; ++i) {
        double sum = 0;
        for (int j = 0; j < group.size; ++j) sum += M[i * group.size + j] * r_[at(group.first + j)];
        z_[at(group.first + i)] = sum;
      }
    }
  });
  if (!rest_.empty()) precondition_rest();
}

// y = K x + B w, projected
void ProjectedCg::multiply(const Vector& x, const Vector& w, Vector& y) const {
  for_chunks([&](int, int first, int last) {
    for (int g = first; g < last; ++g) multiply_group(groups_[at(g)], x.data(), y.data() + groups_[at(g)].first);
  });
  if (!rest_.empty()) add_reactions(w, 1, y, x);
  for (const Constrained& node : constrained_) project(node, y.data());
}

// Goes on from x_, rest_x_ and their residual r_, with the preconditioner from the right, restarted.
ProjectedCg::Status ProjectedCg::solve_by_gmres(double target, int limit) {
  used_gmres_ = true;
  const auto dot = [&](const Vector& a, const Vector& b) {
    for_chunks([&](int chunk, int first, int last) {
      double sum = 0;
      for (int i = groups_[at(first)].first; i < groups_[at(last - 1)].first + groups_[at(last - 1)].size; ++i)
        sum += a[at(i)] * b[at(i)];
      partial_a_[at(chunk)] = sum;
    });
    return sum_partials(partial_a_);
  };
  Vector residual = r_;
  for (double before = HUGE_VAL;;) {
    const double size = std::sqrt(dot(residual, residual));
    if (!std::isfinite(size)) return Status::not_finite;
    if (size <= target) return Status::converged;
    if (iterations_ >= limit || !(size < gmres_progress * before)) return Status::slow;
    before = size;

    // Arnoldi's basis; the Hessenberg matrix becomes triangular by rotations
    basis_.resize(std::max<std::size_t>(basis_.size(), 1));
    basis_[0] = residual;
    for (double& x : basis_[0]) x /= size;
    std::vector<Vector> H;
    Vector cosine, sine, g{size};
    while (std::abs(g.back()) > target && static_cast<int>(H.size()) < gmres_restart && iterations_ < limit) {
      const std::size_t j = H.size();
      ++iterations_;
      r_ = basis_[j];
      precondition();
      multiply(z_, rest_z_, Sp_);
      Vector h(j + 2);
      for (std::size_t k = 0; k <= j; ++k) {
        h[k] = dot(Sp_, basis_[k]);
        for (std::size_t i = 0; i < Sp_.size(); ++i) Sp_[i] -= h[k] * basis_[k][i];
      }
      h[j + 1] = std::sqrt(dot(Sp_, Sp_));
      if (!std::isfinite(h[j + 1])) return Status::not_finite;
      basis_.resize(std::max(basis_.size(), j + 2));
      basis_[j + 1] = Sp_;
      if (h[j + 1] > 0)
        for (double& x : basis_[j + 1]) x /= h[j + 1];
      for (std::size_t k = 0; k < j; ++k) {
        const double upper = cosine[k] * h[k] + sine[k] * h[k + 1];
        h[k + 1] = cosine[k] * h[k + 1] - sine[k] * h[k];
        h[k] = upper;
      }
      const double length = std::hypot(h[j], h[j + 1]);
      if (!(length > 0)) return Status::indefinite;
      cosine.push_back(h[j] / length);
      sine.push_back(h[j + 1] / length);
      h[j] = length;
      g.push_back(-sine[j] * g[j]);
      g[j] *= cosine[j];
      H.push_back(std::move(h));
    }
    // the best combination of the basis
    Vector y(H.size());
    for (std::size_t k = H.size(); k-- > 0;) {
      double sum = g[k];
      for (std::size_t j = k + 1; j < H.size(); ++j) sum -= H[j][k] * y[j];
      y[k] = sum / H[k][k];
    }
    std::fill(r_.begin(), r_.end(), 0.0);
    for (std::size_t k = 0; k < y.size(); ++k)
      for (std::size_t i = 0; i < r_.size(); ++i) r_[i] += y[k] * basis_[k][i];
    precondition();
    multiply(z_, rest_z_, Sp_);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      x_[i] += z_[i];
      residual[i] -= Sp_[i];
    }
    for (std::size_t i = 0; i < rest_x_.size(); ++i) rest_x_[i] += rest_z_[i];
  }
}

ProjectedCg::Status ProjectedCg::solve_kept(In r_in, In c, double relative, double reference, double enough, int limit,
                                            Out dx, Out dl) {
  iterations_ = 0;
  used_gmres_ = false;
  if (rows_stale_) {
    restrict_blocks();
    rest_stale_ = true;
    multigrid_.current = false;
  }
  const bool has_rest = !rest_.empty(), multigrid = multigrid_on_;
  if (multigrid && !multigrid_.current) {
    if (!build_multigrid()) return Status::indefinite;
    rest_stale_ = true;
  }
  if (has_rest && rest_stale_) {
    if (multigrid && rest_.couplings() > most_columns) return Status::slow;
    const auto M = [&](const double* b, double* z) { apply_multigrid(b, z); };
    if (!(multigrid ? rest_.factorise(M) : rest_.factorise(block_, sizes_))) return Status::singular;
    for (Vector* w : {&rest_x_, &rest_z_, &rest_p_}) w->assign(at(rest_.size()), 0.0);
    rest_stale_ = false;
  }
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

  const auto equations = [&](int first, int last) {
    return std::pair(groups_[at(first)].first, groups_[at(last - 1)].first + groups_[at(last - 1)].size);
  };
  const auto project_chunk = [&](int chunk) {
    for (int i = chunk_constrained_[at(chunk)]; i < chunk_constrained_[at(chunk + 1)]; ++i)
      project(constrained_[at(i)], r);
  };
  // z = M r; returns r . z, without the coupled nodes, which are not finished
  const auto apply_blocks = [&](int first, int last) {
    double rz = 0;
    for (int g = first; g < last; ++g) {
      const Group& group = groups_[at(g)];
      const double* const B = block_[at(g)];
      const double* const own = r + group.first;
      double share = 0;
      if (group.size == 3) {
        for (int i = 0; i < 3; ++i)
          z[group.first + i] = B[3 * i] * own[0] + B[3 * i + 1] * own[1] + B[3 * i + 2] * own[2];
        share = z[group.first] * own[0] + z[group.first + 1] * own[1] + z[group.first + 2] * own[2];
      } else {
        for (int i = 0; i < group.size; ++i) {
          double s = 0;
          for (int j = 0; j < group.size; ++j) s += B[i * group.size + j] * own[j];
          z[group.first + i] = s;
          share += s * own[i];
        }
      }
      if (!has_rest || !rest_.coupled(g)) rz += share;
    }
    return rz;
  };
  // projects the residual of a chunk, preconditions it and returns r . z; |r|^2 in `square`
  const auto precondition = [&](int chunk, int first, int last, double& square) {
    project_chunk(chunk);
    const double rz = multigrid ? 0.0 : apply_blocks(first, last);
    square = 0;
    const auto [begin, end] = equations(first, last);
    for (int i = begin; i < end; ++i) square += r[i] * r[i];
    return rz;
  };

  // the residual r = -P (r_in + A x_0); r is scaled as the matrix is
  for_chunks([&](int chunk, int first, int last) {
    for (int g = first; g < last; ++g) {
      const Group& group = groups_[at(g)];
      if (moved) multiply_group(group, x, r + group.first);
      for (int i = group.first; i < group.first + group.size; ++i) {
        r[i] = -scale_ * r_in[at(i)] - (moved ? r[i] : 0.0);
        p[i] = 0;
      }
    }
    if (!has_rest) {
      partial_a_[at(chunk)] = precondition(chunk, first, last, partial_b_[at(chunk)]);
      return;
    }
    project_chunk(chunk);
    if (!multigrid) apply_blocks(first, last);
  });
  if (has_rest) {
    // one solution of the preconditioner fulfils the equations and rows of the rest
    const std::span<const int> rest = rest_.matrix_rows();
    for (std::size_t i = 0; i < rest.size(); ++i) rest_z_[i] = -scale_ * r_in[at(rest[i])];
    for (std::size_t i = 0; i < rest_rows_.size(); ++i) rest_z_[rest.size() + i] = -rest_factor_ * c[at(rest_rows_[i])];
    if (moved) rest_.subtract_reactions(x, rest_z_);
    if (multigrid) apply_multigrid(r, z);
    rest_.subtract_reactions(z, rest_z_);
    if (multigrid) {
      rest_.solve(rest_z_);
      rest_.subtract_columns(rest_z_.data(), z_);
    } else {
      correct_coupled();
    }
    left_.clear();
    if (rest_.redundant()) left_ = rest_.residual();
    for (std::size_t i = 0; i < x_.size(); ++i) x[i] += z[i];
    rest_x_ = rest_z_;
    std::fill(rest_p_.begin(), rest_p_.end(), 0.0);
    for_chunks([&](int, int first, int last) {
      for (int g = first; g < last; ++g) {
        const Group& group = groups_[at(g)];
        double force[largest_group];
        multiply_group(group, z, force);
        for (int i = 0; i < group.size; ++i) r[group.first + i] -= force[i];
      }
    });
    add_reactions(rest_z_, -1, r_, z_);
    for_chunks([&](int chunk, int first, int last) {
      partial_a_[at(chunk)] = precondition(chunk, first, last, partial_b_[at(chunk)]);
    });
  }
  double rz = sum_partials(partial_a_);
  if (multigrid)
    rz = precondition_by_multigrid();
  else if (has_rest)
    rz += precondition_rest();
  const double start = std::sqrt(sum_partials(partial_b_));
  const double target = std::max(relative * std::max(start, scale_ * reference), scale_ * enough);
  if (!std::isfinite(start)) return Status::not_finite;
  double square = start * start, beta = 0;
  bool indefinite = start > target && !(rz > 0);
  while (square > target * target && !indefinite) {
    if (iterations_ == limit) return Status::slow;
    ++iterations_;
    for_chunks([&](int, int first, int last) {
      const auto [begin, end] = equations(first, last);
      for (int i = begin; i < end; ++i) p[i] = z[i] + beta * p[i];
    });
    for (std::size_t i = 0; i < rest_p_.size(); ++i) rest_p_[i] = rest_z_[i] + beta * rest_p_[i];
    for_chunks([&](int chunk, int first, int last) {
      double curvature = 0;
      for (int g = first; g < last; ++g) {
        const Group& group = groups_[at(g)];
        multiply_group(group, p, Sp + group.first);
        for (int i = group.first; i < group.first + group.size; ++i) curvature += p[i] * Sp[i];
      }
      partial_a_[at(chunk)] = curvature;
    });
    double curvature = sum_partials(partial_a_);
    if (has_rest) curvature += add_reactions(rest_p_, 1, Sp_, p_);
    if (!std::isfinite(curvature)) return Status::not_finite;
    if (!(curvature > 0)) {
      indefinite = true;
      break;
    }
    const double alpha = rz / curvature;
    for_chunks([&](int chunk, int first, int last) {
      const auto [begin, end] = equations(first, last);
      for (int i = begin; i < end; ++i) {
        x[i] += alpha * p[i];
        r[i] -= alpha * Sp[i];
      }
      partial_a_[at(chunk)] = precondition(chunk, first, last, partial_b_[at(chunk)]);
    });
    for (std::size_t i = 0; i < rest_x_.size(); ++i) rest_x_[i] += alpha * rest_p_[i];
    double next = sum_partials(partial_a_);
    if (multigrid)
      next = precondition_by_multigrid();
    else if (has_rest)
      next += precondition_rest();
    square = sum_partials(partial_b_);
    if (!std::isfinite(next) || !std::isfinite(square)) return Status::not_finite;
    indefinite = square > target * target && !(next > 0);
    if (indefinite) break;
    beta = next / rz;
    if (has_rest || multigrid) {
      // z . (r - r_old) = -alpha z . Sp
      for_chunks([&](int chunk, int first, int last) {
        const auto [begin, end] = equations(first, last);
        double s = 0;
        for (int i = begin; i < end; ++i) s += z[i] * Sp[i];
        partial_a_[at(chunk)] = s;
      });
      beta = -alpha * sum_partials(partial_a_) / rz;
    }
    rz = next;
  }

  if (indefinite)
    if (const Status status = solve_by_gmres(std::max(gmres_reduction * target, scale_ * enough), limit);
        status != Status::converged)
      return status;

  // the multipliers balance the residual along the gradients
  std::fill(Sp_.begin(), Sp_.end(), 0.0);
  if (has_rest) add_reactions(rest_x_, 1, Sp_, x_);
  for (const Constrained& node : constrained_) {
    const Group& group = groups_[at(node.group)];
    const int k = node.last - node.first;
    const double* const G = gradients_.data() + node.gradients;
    const double* const N = normal_inverse_.data() + node.inverse;
    double force[largest_group], along[largest_rows] = {};
    multiply_group(group, x, force);
    for (int i = 0; i < k; ++i)
      for (int j = 0; j < group.size; ++j)
        along[i] += G[i * group.size + j] * ((force[j] + Sp[group.first + j]) / scale_ + r_in[at(group.first + j)]);
    for (int i = 0; i < k; ++i) {
      double s = 0;
      for (int j = 0; j < k; ++j) s += N[i * k + j] * along[j];
      dl[at(row_order_[at(node.first + i)])] = s;
    }
  }
  const std::span<const int> rest = rest_.matrix_rows();
  std::copy_n(x, n_, dx.data());
  for (std::size_t i = 0; i < rest.size(); ++i) dx[at(rest[i])] = rest_x_[i];
  for (std::size_t i = 0; i < rest_rows_.size(); ++i)
    dl[at(rest_rows_[i])] = -rest_factor_ / scale_ * rest_x_[rest.size() + i];
  return Status::converged;
}

}  // namespace carom
