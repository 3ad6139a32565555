#include "core/linear/node_rows.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"

namespace carom {

namespace {

constexpr double rank_tolerance = 1e-10;
constexpr int largest_node = NodeMatrix::largest_node, most_rows = NodeRows::most_rows;

using Block = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, largest_node, largest_node>;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, most_rows, largest_node>;
using RowsSquare = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, most_rows, most_rows>;
using BlockMap = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using ConstBlockMap = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

}  // namespace

void NodeRows::analyse(const NodeMatrix& matrix) {
  *this = NodeRows();
  matrix_ = &matrix;
  block_.assign(matrix.nodes().size(), nullptr);
  first_of_chunk_.assign(at(matrix.chunks() + 1), 0);
}

bool NodeRows::set(std::span<const SparseRow* const> rows, std::span<const int> own) {
  const auto node_of_row = [&](int i) {
    const SparseRow& row = *rows[at(i)];
    return row.equation.empty() ? 0 : matrix_->node_of()[at(row.equation.front())];
  };
  order_.assign(own.begin(), own.end());
  std::sort(order_.begin(), order_.end(), [&](int a, int b) {
    const int na = node_of_row(a), nb = node_of_row(b);
    return na != nb ? na < nb : a < b;
  });

  constrained_.clear();
  std::size_t gradients = 0, inverses = 0, blocks = 0;
  for (std::size_t i = 0; i < order_.size();) {
    Constrained node;
    node.node = node_of_row(order_[i]);
    node.first = static_cast<int>(i);
    while (i < order_.size() && node_of_row(order_[i]) == node.node) ++i;
    node.last = static_cast<int>(i);
    if (node.last - node.first > most_rows) return false;
    const std::size_t m = at(node_of(node).size), k = at(node.last - node.first);
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
  restricted_.assign(blocks, 0.0);
  redundant_ = false;
  for (Constrained& node : constrained_) build(node, rows);

  std::size_t next = 0;
  for (int chunk = 0; chunk < matrix_->chunks(); ++chunk) {
    first_of_chunk_[at(chunk)] = static_cast<int>(next);
    while (next < constrained_.size() && NodeMatrix::chunk_of(constrained_[next].node) == chunk) ++next;
  }
  first_of_chunk_.back() = static_cast<int>(next);
  return true;
}

void NodeRows::build(Constrained& constrained, std::span<const SparseRow* const> rows) {
  const NodeMatrix::Node& node = node_of(constrained);
  const int m = node.size, k = constrained.last - constrained.first;
  BlockMap G(gradients_.data() + constrained.gradients, k, m);
  Rows unit = Rows::Zero(k, m);
  Eigen::Matrix<double, Eigen::Dynamic, 1, 0, most_rows, 1> inverse_length(k);
  for (int i = 0; i < k; ++i) {
    const SparseRow& row = *rows[at(order_[at(constrained.first + i)])];
    for (std::size_t j = 0; j < row.equation.size(); ++j) G(i, row.equation[j] - node.first) += row.value[j];
    const double length = G.row(i).norm();
    inverse_length(i) = length > 0 ? 1 / length : 0.0;
    unit.row(i) = inverse_length(i) * G.row(i);
  }

  // (G G^T)^+ with rows of unit length, so that dependent rows share their force independently of their scales, and an
  // orthonormal basis of the row space
  const Eigen::SelfAdjointEigenSolver<RowsSquare> normal(unit * unit.transpose());
  RowsSquare inverse = RowsSquare::Zero(k, k);
  BlockMap basis(bases_.data() + constrained.gradients, k, m);
  constrained.rank = 0;
  for (int i = 0; i < k; ++i) {
    const double d = normal.eigenvalues()(i);
    if (!(d > rank_tolerance)) continue;
    const auto u = normal.eigenvectors().col(i);
    inverse += u * u.transpose() / d;
    basis.row(constrained.rank++) = u.transpose() * unit / std::sqrt(d);
  }
  redundant_ = redundant_ || constrained.rank < k;
  BlockMap(normal_inverse_.data() + constrained.inverse, k, k) =
      inverse_length.asDiagonal() * inverse * inverse_length.asDiagonal();
}

// A - A V^T (V A V^T)^-1 V A with A the inverse block and V the basis of the row space.
void NodeRows::restrict_blocks() {
  for (std::size_t g = 0; g < block_.size(); ++g) block_[g] = matrix_->inverse(g);
  for (const Constrained& node : constrained_) {
    const int m = node_of(node).size;
    const Block A = ConstBlockMap(matrix_->inverse(at(node.node)), m, m);
    BlockMap out(restricted_.data() + node.block, m, m);
    out = A;
    if (node.rank > 0) {
      const Block V = ConstBlockMap(bases_.data() + node.gradients, node.rank, m);
      const Block VA = V * A, VAV = VA * V.transpose();
      out -= VA.transpose() * VAV.llt().solve(VA);
    }
    block_[at(node.node)] = out.data();
  }
}

bool NodeRows::subtract_offset(In c, double* x) const {
  bool any = false;
  for (const Constrained& constrained : constrained_) {
    const NodeMatrix::Node& node = node_of(constrained);
    const int k = constrained.last - constrained.first;
    const double* const G = gradients_.data() + constrained.gradients;
    const double* const N = normal_inverse_.data() + constrained.inverse;
    for (int i = 0; i < k; ++i) {
      double s = 0;
      for (int j = 0; j < k; ++j) s += N[i * k + j] * c[at(order_[at(constrained.first + j)])];
      for (int j = 0; j < node.size; ++j) x[node.first + j] -= G[i * node.size + j] * s;
      any = any || s != 0;
    }
  }
  return any;
}

void NodeRows::project(const Constrained& constrained, double* x) const {
  const NodeMatrix::Node& node = node_of(constrained);
  const double* V = bases_.data() + constrained.gradients;
  double* const own = x + node.first;
  for (int i = 0; i < constrained.rank; ++i, V += node.size) {
    double s = 0;
    for (int j = 0; j < node.size; ++j) s += V[j] * own[j];
    for (int j = 0; j < node.size; ++j) own[j] -= s * V[j];
  }
}

void NodeRows::project_columns(double* x, int columns) const {
  for (const Constrained& constrained : constrained_) {
    const NodeMatrix::Node& node = node_of(constrained);
    const double* V = bases_.data() + constrained.gradients;
    for (int i = 0; i < constrained.rank; ++i, V += node.size)
      for (int c = 0; c < columns; ++c) {
        double* const own = x + static_cast<std::ptrdiff_t>(columns) * node.first + c;
        double s = 0;
        for (int j = 0; j < node.size; ++j) s += V[j] * own[j * columns];
        for (int j = 0; j < node.size; ++j) own[j * columns] -= s * V[j];
      }
  }
}

void NodeRows::find_multipliers(const double* x, const Vector& f, In r, Out dl) const {
  for (const Constrained& constrained : constrained_) {
    const NodeMatrix::Node& node = node_of(constrained);
    const int k = constrained.last - constrained.first;
    const double* const G = gradients_.data() + constrained.gradients;
    const double* const N = normal_inverse_.data() + constrained.inverse;
    double force[largest_node], along[most_rows] = {};
    matrix_->multiply_node(node, x, force);
    for (int i = 0; i < k; ++i)
      for (int j = 0; j < node.size; ++j) {
        const std::size_t e = at(node.first + j);
        along[i] += G[i * node.size + j] * ((force[j] + f[e]) / matrix_->scale() + r[e]);
      }
    for (int i = 0; i < k; ++i) {
      double s = 0;
      for (int j = 0; j < k; ++j) s += N[i * k + j] * along[j];
      dl[at(order_[at(constrained.first + i)])] = s;
    }
  }
}

}  // namespace carom
