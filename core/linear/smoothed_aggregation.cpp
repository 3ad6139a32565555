#include "core/linear/smoothed_aggregation.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"
#include "core/base/simd4.hpp"

namespace carom {

namespace {

constexpr int motion_count = 6;
constexpr int coarsest_nodes = 60;       // the dense factorisation is then cheaper than another level
constexpr double strength = 0.08;        // of a coupling against the diagonals, by Frobenius norms
constexpr std::size_t row_limit = 4096;  // collected couplings, until repetitions are removed
constexpr double rank_tolerance = 1e-6;  // a motion that an aggregate has not
constexpr int power_iterations = 12;
constexpr double eigenvalue_margin = 1.1, smallest_share = 0.1;  // of the Chebyshev interval

using Floats [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;
inline Lanes load(const float* p) { return __builtin_convertvector(*reinterpret_cast<const Floats*>(p), Lanes); }

template <int rows, int cols, class Real = double>
using Block = Eigen::Matrix<Real, rows, cols, Eigen::RowMajor>;
template <int rows, int cols, class Real>
Eigen::Map<const Block<rows, cols, Real>> block(const Real* x, std::size_t k) {
  return Eigen::Map<const Block<rows, cols, Real>>(x + k * rows * cols);
}
// Sums of products of blocks, column by column, with vectors. Kernels read whole lanes beyond the last entry.
template <int size>
struct Sum;
template <>
struct Sum<3> {
  Lanes s{};
  void add(const float* A, const double* x) {
    s += load(A) * x[0];
    s += load(A + 3) * x[1];
    s += load(A + 6) * x[2];
  }
  double operator[](std::size_t i) const { return s[i]; }
};
template <>
struct Sum<6> {
  Lanes low{}, high{};
  void add(const float* A, const double* x) {
    for (int c = 0; c < 6; ++c) {
      low += load(A + 6 * c) * x[c];
      high += load(A + 6 * c + 4) * x[c];
    }
  }
  double operator[](std::size_t i) const { return i < 4 ? low[i] : high[i - 4]; }
};

template <int size>
Eigen::Map<Eigen::Matrix<double, size, 1>> part(double* x, std::size_t i) {
  return Eigen::Map<Eigen::Matrix<double, size, 1>>(x + i * size);
}
template <int size>
Eigen::Map<const Eigen::Matrix<double, size, 1>> part(const double* x, std::size_t i) {
  return Eigen::Map<const Eigen::Matrix<double, size, 1>>(x + i * size);
}

// Blocks column by column, with room for a whole vector behind the last.
template <int size>
void store_columns(const Vector& blocks, std::vector<float>& columns) {
  columns.resize(blocks.size() + lane_count);
  for (std::size_t k = 0; k < blocks.size(); k += size * size)
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) columns[k + j * size + i] = static_cast<float>(blocks[k + i * size + j]);
}

}  // namespace

double SmoothedAggregation::complexity() const {
  double sum = 0;
  for (const Level& l : levels_) sum += static_cast<double>(l.blocks.size());
  return levels_.empty() ? 0 : sum / static_cast<double>(levels_.front().blocks.size());
}

bool SmoothedAggregation::build(std::span<const int> start, std::span<const int> column, std::span<const double> blocks,
                                std::span<const double> motions) {
  levels_.clear();
  levels_.emplace_back();
  Level& finest = levels_.front();
  finest.nodes = static_cast<int>(start.size()) - 1;
  finest.start.assign(start.begin(), start.end());
  finest.column.assign(column.begin(), column.end());
  finest.motions.assign(motions.begin(), motions.end());
  return set_up<3>(0, blocks);
}

// Aggregates of strongly coupled nodes: first whole neighbourhoods, in the order of the nodes, then the nodes left
// over, with the neighbour to which they are coupled most.
template <int size>
void SmoothedAggregation::aggregate(Level& l, std::span<const double> blocks) {
  const std::size_t n = at(l.nodes);
  Vector weight(l.column.size()), diagonal(n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (int k = l.start[i]; k < l.start[i + 1]; ++k) {
      weight[at(k)] = block<size, size>(blocks.data(), at(k)).squaredNorm();
      if (at(l.column[at(k)]) == i) diagonal[i] = std::sqrt(weight[at(k)]);
    }
  const auto strong = [&](std::size_t i, int k) {
    const std::size_t j = at(l.column[at(k)]);
    return j != i && weight[at(k)] > strength * strength * diagonal[i] * diagonal[j];
  };
  l.aggregate.assign(n, -1);
  l.aggregates = 0;
  for (std::size_t i = 0; i < n; ++i) {
    bool whole = l.aggregate[i] < 0;
    for (int k = l.start[i]; k < l.start[i + 1] && whole; ++k)
      whole = !strong(i, k) || l.aggregate[at(l.column[at(k)])] < 0;
    if (!whole) continue;
    l.aggregate[i] = l.aggregates;
    for (int k = l.start[i]; k < l.start[i + 1]; ++k)
      if (strong(i, k)) l.aggregate[at(l.column[at(k)])] = l.aggregates;
    ++l.aggregates;
  }
  const std::vector<int> first = l.aggregate;
  for (std::size_t i = 0; i < n; ++i) {
    if (first[i] >= 0) continue;
    double most = 0;
    for (int k = l.start[i]; k < l.start[i + 1]; ++k)
      if (const int a = first[at(l.column[at(k)])]; a >= 0 && strong(i, k) && weight[at(k)] > most) {
        most = weight[at(k)];
        l.aggregate[i] = a;
      }
    if (l.aggregate[i] < 0) l.aggregate[i] = l.aggregates++;
  }
}

template <int size>
void SmoothedAggregation::largest_eigenvalue(Level& l, std::span<const double> blocks,
                                             std::span<const double> inverse) {
  const std::size_t n = at(l.nodes);
  Vector x(n * size), y(n * size);
  // a start with all wave lengths, the same in every run
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>((i * 2654435761U) % 1024) / 512 - 1;
  l.largest = 1;
  for (int sweep = 0; sweep < power_iterations; ++sweep) {
    double square = 0;
    for (std::size_t i = 0; i < n; ++i) {
      Eigen::Matrix<double, size, 1> sum = Eigen::Matrix<double, size, 1>::Zero();
      for (int k = l.start[i]; k < l.start[i + 1]; ++k)
        sum.noalias() += block<size, size>(blocks.data(), at(k)) * part<size>(x.data(), at(l.column[at(k)]));
      part<size>(y.data(), i).noalias() = block<size, size>(inverse.data(), i) * sum;
      square += part<size>(y.data(), i).squaredNorm();
    }
    l.largest = std::sqrt(square);
    if (!(l.largest > 0)) break;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = y[i] / l.largest;
  }
}

template <int size>
bool SmoothedAggregation::set_up(std::size_t level, std::span<const double> blocks) {
  Vector values(blocks.begin(), blocks.end());
  Level& l = levels_[level];
  l.size = size;
  const std::size_t n = at(l.nodes), area = size * size;

  // inverse diagonal blocks; a coarse unknown without motion gets a diagonal of its own
  Vector inverse(n * area);
  for (std::size_t i = 0; i < n; ++i)
    for (int k = l.start[i]; k < l.start[i + 1]; ++k) {
      if (at(l.column[at(k)]) != i) continue;
      Eigen::Map<Block<size, size>> d(values.data() + at(k) * area);
      const double scale = d.diagonal().maxCoeff();
      for (int c = 0; c < size; ++c)
        if (!(d(c, c) > 0)) d(c, c) = scale > 0 ? scale : 1;
      if (!d.allFinite()) return false;
      const Eigen::LLT<Block<size, size>> cholesky(d);
      Eigen::Map<Block<size, size>> own(inverse.data() + i * area);
      if (cholesky.info() == Eigen::Success) {
        own = cholesky.solve(Block<size, size>::Identity());
        continue;
      }
      // of an indefinite matrix: smooth by the absolute values
      const Eigen::SelfAdjointEigenSolver<Block<size, size>> spectrum(d);
      const Eigen::Matrix<double, size, 1> sizes = spectrum.eigenvalues().cwiseAbs();
      own = spectrum.eigenvectors() * sizes.cwiseMax(rank_tolerance * sizes.maxCoeff()).cwiseInverse().asDiagonal() *
            spectrum.eigenvectors().transpose();
    }
  store_columns<size>(values, l.blocks);
  store_columns<size>(inverse, l.inverse);
  for (Vector* x : {&l.x, &l.r, &l.d, &l.z, &l.b}) x->assign(n * size, 0.0);
  if (l.nodes <= coarsest_nodes) {
    levels_.resize(level + 1);
    Eigen::MatrixXd A = Eigen::MatrixXd::Zero(l.nodes * size, l.nodes * size);
    for (std::size_t i = 0; i < n; ++i)
      for (int k = l.start[i]; k < l.start[i + 1]; ++k)
        A.block<size, size>(static_cast<int>(i) * size, l.column[at(k)] * size) =
            block<size, size>(values.data(), at(k));
    coarsest_.compute(A);
    return A.allFinite();
  }
  largest_eigenvalue<size>(l, values, inverse);
  aggregate<size>(l, values);
  if (2 * l.aggregates > l.nodes) {
    // couplings too weak to coarsen: smooth only
    l.aggregates = 0;
    levels_.resize(level + 1);
    return true;
  }
  // tentative prolongation: orthonormal motions of every aggregate, by Gram and Schmidt, twice
  const std::size_t coarse = at(l.aggregates);
  std::vector<int> member_start(coarse + 1, 0), members(n);
  for (const int a : l.aggregate) ++member_start[at(a) + 1];
  for (std::size_t a = 0; a < coarse; ++a) member_start[a + 1] += member_start[a];
  std::vector<int> next(member_start.begin(), member_start.end() - 1);
  for (std::size_t i = 0; i < n; ++i) members[at(next[at(l.aggregate[i])]++)] = static_cast<int>(i);
  Vector tentative(n * size * motion_count, 0.0), coarse_motions(coarse * motion_count * motion_count, 0.0);
  for (std::size_t a = 0; a < coarse; ++a) {
    const int first = member_start[a], count = member_start[a + 1] - first;
    Eigen::MatrixXd B(count * size, motion_count);
    for (int m = 0; m < count; ++m)
      B.middleRows<size>(m * size) = block<size, motion_count>(l.motions.data(), at(members[at(first + m)]));
    Eigen::Map<Block<motion_count, motion_count>> R(coarse_motions.data() + a * motion_count * motion_count);
    for (int j = 0; j < motion_count; ++j) {
      const double before = B.col(j).norm();
      for (int sweep = 0; sweep < 2; ++sweep)
        for (int k = 0; k < j; ++k) {
          const double share = B.col(k).dot(B.col(j));
          R(k, j) += share;
          B.col(j) -= share * B.col(k);
        }
      const double left = B.col(j).norm();
      if (left > rank_tolerance * before) {
        R(j, j) = left;
        B.col(j) /= left;
      } else {
        B.col(j).setZero();
      }
    }
    for (int m = 0; m < count; ++m)
      Eigen::Map<Block<size, motion_count>>(tentative.data() + at(members[at(first + m)]) * size * motion_count) =
          B.middleRows<size>(m * size);
  }

  // P = (1 - 4/(3 lambda) D^-1 A) P_0: pattern and values
  l.p_start.assign(1, 0);
  l.p_column.clear();
  for (std::size_t i = 0; i < n; ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(l.p_column.size());
    for (int k = l.start[i]; k < l.start[i + 1]; ++k) l.p_column.push_back(l.aggregate[at(l.column[at(k)])]);
    std::sort(l.p_column.begin() + begin, l.p_column.end());
    l.p_column.erase(std::unique(l.p_column.begin() + begin, l.p_column.end()), l.p_column.end());
    l.p_start.push_back(static_cast<int>(l.p_column.size()));
  }
  constexpr std::size_t p_area = size * motion_count;
  const double omega = 4 / (3 * l.largest);
  Vector P(l.p_column.size() * p_area, 0.0);
  std::vector<int> place(coarse, -1);
  for (std::size_t i = 0; i < n; ++i) {
    for (int k = l.p_start[i]; k < l.p_start[i + 1]; ++k) place[at(l.p_column[at(k)])] = k;
    const Block<size, size> damped = -omega * block<size, size>(inverse.data(), i);
    for (int k = l.start[i]; k < l.start[i + 1]; ++k) {
      const std::size_t j = at(l.column[at(k)]);
      const Block<size, size> DA = damped * block<size, size>(values.data(), at(k));
      Eigen::Map<Block<size, motion_count>>(P.data() + at(place[at(l.aggregate[j])]) * p_area).noalias() +=
          DA * block<size, motion_count>(tentative.data(), j);
    }
    Eigen::Map<Block<size, motion_count>>(P.data() + at(place[at(l.aggregate[i])]) * p_area) +=
        block<size, motion_count>(tentative.data(), i);
  }
  l.p_blocks.assign(P.begin(), P.end());

  // coarse matrix P^T A P, one row of A P at a time: two aggregates are coupled if a node of one meets a node of the
  // other through P^T A P
  levels_.resize(level + 2);
  Level& fine = levels_[level];
  Level& next_level = levels_[level + 1];
  {
    std::vector<std::vector<int>> rows(coarse);
    std::vector<int> reached, mark(coarse, -1);
    for (std::size_t i = 0; i < n; ++i) {
      reached.clear();
      for (int k = fine.start[i]; k < fine.start[i + 1]; ++k) {
        const std::size_t j = at(fine.column[at(k)]);
        for (int p = fine.p_start[j]; p < fine.p_start[j + 1]; ++p)
          if (const int a = fine.p_column[at(p)]; mark[at(a)] != static_cast<int>(i)) {
            mark[at(a)] = static_cast<int>(i);
            reached.push_back(a);
          }
      }
      for (int p = fine.p_start[i]; p < fine.p_start[i + 1]; ++p) {
        std::vector<int>& row = rows[at(fine.p_column[at(p)])];
        row.insert(row.end(), reached.begin(), reached.end());
        if (row.size() < row_limit) continue;
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
      }
    }
    next_level.nodes = static_cast<int>(coarse);
    next_level.start.assign(1, 0);
    next_level.column.clear();
    for (std::vector<int>& row : rows) {
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      next_level.column.insert(next_level.column.end(), row.begin(), row.end());
      next_level.start.push_back(static_cast<int>(next_level.column.size()));
    }
  }
  constexpr std::size_t c_area = motion_count * motion_count;
  Vector coarse_values(next_level.column.size() * c_area, 0.0);
  std::vector<int> reached, of(coarse, -1);
  Vector row;
  for (std::size_t i = 0; i < n; ++i) {
    reached.clear();
    row.clear();
    for (int k = fine.start[i]; k < fine.start[i + 1]; ++k) {
      const std::size_t j = at(fine.column[at(k)]);
      const Block<size, size> A = block<size, size>(values.data(), at(k));
      for (int p = fine.p_start[j]; p < fine.p_start[j + 1]; ++p) {
        const std::size_t a = at(fine.p_column[at(p)]);
        if (of[a] < 0) {
          of[a] = static_cast<int>(reached.size());
          reached.push_back(static_cast<int>(a));
          row.resize(row.size() + p_area, 0.0);
        }
        Eigen::Map<Block<size, motion_count>>(row.data() + at(of[a]) * p_area).noalias() +=
            A * block<size, motion_count>(P.data(), at(p));
      }
    }
    for (int p = fine.p_start[i]; p < fine.p_start[i + 1]; ++p) {
      const std::size_t a = at(fine.p_column[at(p)]);
      for (int k = next_level.start[a]; k < next_level.start[a + 1]; ++k) {
        const int s = of[at(next_level.column[at(k)])];
        if (s < 0) continue;
        Eigen::Map<Block<motion_count, motion_count>>(coarse_values.data() + at(k) * c_area).noalias() +=
            block<size, motion_count>(P.data(), at(p)).transpose() * block<size, motion_count>(row.data(), at(s));
      }
    }
    for (const int a : reached) of[at(a)] = -1;
  }
  next_level.motions = std::move(coarse_motions);
  return set_up<motion_count>(level + 1, coarse_values);
}

// x of the level for the right-hand side r
template <int size>
void SmoothedAggregation::cycle(std::size_t level, const double* r) {
  Level& l = levels_[level];
  const std::size_t n = at(l.nodes);
  if (l.nodes <= coarsest_nodes) {
    const Eigen::Map<const Eigen::VectorXd> b(r, l.nodes * size);
    Eigen::Map<Eigen::VectorXd>(l.x.data(), l.nodes * size) = coarsest_.solve(b);
    return;
  }
  // Chebyshev of degree two for the eigenvalues of D^-1 A between a tenth of the largest and somewhat above it
  const double upper = eigenvalue_margin * l.largest, lower = smallest_share * l.largest;
  const double middle = (upper + lower) / 2, half = (upper - lower) / 2, s = middle / half;
  const double rho = 1 / (2 * s - 1 / s);
  const auto product = [&](const double* x, std::size_t i) {
    Sum<size> sum;
    for (int k = l.start[i]; k < l.start[i + 1]; ++k)
      sum.add(&l.blocks[at(k) * size * size], x + at(l.column[at(k)]) * size);
    return sum;
  };
  // x grows by both corrections of the residual l.r
  const auto smooth = [&] {
    for (std::size_t i = 0; i < n; ++i) {
      Sum<size> d;
      d.add(&l.inverse[i * size * size], &l.r[i * size]);
      for (std::size_t c = 0; c < size; ++c) l.d[i * size + c] = d[c] / middle;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Sum<size> Ad = product(l.d.data(), i);
      double left[size];
      for (std::size_t c = 0; c < size; ++c) left[c] = l.r[i * size + c] - Ad[c];
      Sum<size> second;
      second.add(&l.inverse[i * size * size], left);
      for (std::size_t c = 0; c < size; ++c)
        l.x[i * size + c] += (1 + rho / s) * l.d[i * size + c] + 2 * rho / half * second[c];
    }
  };
  const auto new_residual = [&] {
    for (std::size_t i = 0; i < n; ++i) {
      const Sum<size> Ax = product(l.x.data(), i);
      for (std::size_t c = 0; c < size; ++c) l.r[i * size + c] = r[i * size + c] - Ax[c];
    }
  };
  std::fill(l.x.begin(), l.x.end(), 0.0);
  std::copy_n(r, n * size, l.r.begin());
  smooth();
  new_residual();
  if (l.aggregates > 0) {
    Level& c = levels_[level + 1];
    std::fill(c.b.begin(), c.b.end(), 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (int k = l.p_start[i]; k < l.p_start[i + 1]; ++k) {
        const float* const P = &l.p_blocks[at(k) * size * motion_count];
        double* const b = &c.b[at(l.p_column[at(k)]) * motion_count];
        for (std::size_t row = 0; row < size; ++row)
          for (std::size_t j = 0; j < motion_count; ++j)
            b[j] += static_cast<double>(P[row * motion_count + j]) * l.r[i * size + row];
      }
    cycle(level + 1, c.b.data());
    for (std::size_t i = 0; i < n; ++i)
      for (int k = l.p_start[i]; k < l.p_start[i + 1]; ++k) {
        const float* const P = &l.p_blocks[at(k) * size * motion_count];
        const double* const e = &c.x[at(l.p_column[at(k)]) * motion_count];
        for (std::size_t row = 0; row < size; ++row) {
          double sum = 0;
          for (std::size_t j = 0; j < motion_count; ++j) sum += static_cast<double>(P[row * motion_count + j]) * e[j];
          l.x[i * size + row] += sum;
        }
      }
    new_residual();
  }
  smooth();
}

void SmoothedAggregation::cycle(std::size_t level, const double* r) {
  if (level == 0)
    cycle<3>(level, r);
  else
    cycle<motion_count>(level, r);
}

void SmoothedAggregation::apply(const double* r, double* z) {
  cycle(0, r);
  std::copy(levels_[0].x.begin(), levels_[0].x.end(), z);
}

}  // namespace carom
