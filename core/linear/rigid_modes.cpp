#include "core/linear/rigid_modes.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/base/vector_ops.hpp"
#include "core/linear/block_row.hpp"

namespace carom {

namespace {

constexpr int piece_nodes = 64;
constexpr int sample_nodes = 8;      // of a piece
constexpr int entries = 18;          // of Y, per node
constexpr double slow_share = 0.02;  // of V^T D V: V^T A V of a slow motion is smaller

using Columns = Eigen::Matrix<double, Eigen::Dynamic, RigidModes::modes, Eigen::RowMajor>;
using SmallColumns = Eigen::Matrix<double, Eigen::Dynamic, RigidModes::modes, Eigen::RowMajor, NodeMatrix::largest_node,
                                   RigidModes::modes>;
using Matrix6 = Eigen::Matrix<double, RigidModes::modes, RigidModes::modes, Eigen::RowMajor>;

}  // namespace

void RigidModes::analyse(const NodeMatrix& matrix, std::span<const int> solid) {
  *this = RigidModes();
  matrix_ = &matrix;
  solid_.assign(solid.begin(), solid.end());
  const int nodes = static_cast<int>(solid.size());
  for (int g = 0; g < nodes;) {
    Piece piece{g, g, solid[at(g)]};
    while (g < nodes && solid[at(g)] == piece.solid && g - piece.first < piece_nodes) ++g;
    piece.last = g;
    pieces_.push_back(piece);
    solids_ = std::max(solids_, piece.solid + 1);
  }
  partial_.assign(at(modes) * pieces_.size(), 0.0);
  ones_.assign(at(matrix.rows()), 1.0);
  whole_.assign(at(solids_), 0.0);
  diagonal_.assign(at(solids_), 0.0);
  stiff_.assign(at(solids_), 0);
  E_.assign(36 * at(solids_), 0.0);
  D_.assign(36 * at(solids_), 0.0);
}

// Whether a translation may be slow, solid by solid: elastic forces do not resist it, so the rows of A sum up to
// masses. Eight nodes of 64 tell.
bool RigidModes::find_stiff(const NodeSweeps& sweeps) {
  set_zero(whole_);
  set_zero(diagonal_);
  for (const Piece& piece : pieces_)
    for (int g = piece.first; g < std::min(piece.last, piece.first + sample_nodes); ++g) {
      const NodeMatrix::Node& node = matrix_->nodes()[at(g)];
      double sum[NodeMatrix::largest_node], own[NodeMatrix::largest_node];
      matrix_->multiply_node(node, ones_.data(), sum);
      sweeps.multiply_diagonal(at(g), ones_.data(), own);
      for (int i = 0; i < node.size; ++i) {
        whole_[at(piece.solid)] += sum[i];
        diagonal_[at(piece.solid)] += own[i];
      }
    }
  bool any = false;
  for (std::size_t k = 0; k < stiff_.size(); ++k) {
    stiff_[k] = whole_[k] < slow_share * diagonal_[k] ? 1 : 0;
    any = any || stiff_[k] != 0;
  }
  return any;
}

void RigidModes::build(const NodeSweeps& sweeps, const NodeRows& rows, std::span<const double> motions) {
  count_ = 0;
  place_.assign(at(solids_), -1);
  if (motions.empty() || !find_stiff(sweeps)) return;
  // V and Y = (D + U) V, six entries per matrix row
  V_.assign(motions.begin(), motions.end());
  V_.insert(V_.end(), lane_count, 0.0);
  rows.project_columns(V_.data(), modes);
  Y_.assign(V_.size(), 0.0);
  sweeps.upper_products(V_.data(), Y_.data());
  rows.project_columns(Y_.data(), modes);

  // E = V^T (D + U) V + V^T (D + L) V - V^T D V: twice the symmetric part of V^T (Y - D V / 2)
  set_zero(E_);
  set_zero(D_);
  const auto of = [](Vector& matrices, std::size_t solid) { return Eigen::Map<Matrix6>(matrices.data() + 36 * solid); };
  const std::span<const NodeMatrix::Node> nodes = matrix_->nodes();
  for (std::size_t g = 0; g < nodes.size(); ++g) {
    if (stiff_[at(solid_[g])] == 0) continue;
    const std::size_t first = at(modes * nodes[g].first);
    const int size = nodes[g].size;
    const Eigen::Map<const Columns> V(V_.data() + first, size, modes), Y(Y_.data() + first, size, modes);
    SmallColumns DV(size, modes);
    for (int k = 0; k < modes; ++k) {
      double column[NodeMatrix::largest_node], product[NodeMatrix::largest_node];
      for (int i = 0; i < size; ++i) column[i] = V(i, k);
      sweeps.multiply_diagonal(g, column, product);
      for (int i = 0; i < size; ++i) DV(i, k) = product[i];
    }
    of(D_, at(solid_[g])).noalias() += V.transpose().lazyProduct(DV);
    of(E_, at(solid_[g])).noalias() += V.transpose().lazyProduct(Y);
  }

  inverses_.clear();
  for (std::size_t solid = 0; solid < at(solids_); ++solid) {
    if (stiff_[solid] == 0) continue;
    const Matrix6 half = of(E_, solid) - 0.5 * of(D_, solid), E = half + half.transpose(), D = of(D_, solid);
    bool slow = false;
    for (int k = 0; k < modes; ++k) slow = slow || E(k, k) < slow_share * D(k, k);
    if (!slow) continue;
    // a motion that rows hold is left out
    Matrix6 scaled = E;
    Eigen::Matrix<double, modes, 1> scale;
    for (int k = 0; k < modes; ++k) scale[k] = scaled(k, k) > 0 ? 1 / std::sqrt(scaled(k, k)) : 0.0;
    scaled = scale.asDiagonal() * scaled * scale.asDiagonal();
    for (int k = 0; k < modes; ++k)
      if (scale[k] == 0) scaled(k, k) = 1;
    const Eigen::LLT<Matrix6> factor(scaled);
    if (factor.info() != Eigen::Success) continue;
    const Matrix6 inverse = scale.asDiagonal() * factor.solve(Matrix6::Identity()) * scale.asDiagonal();
    if (!inverse.allFinite()) continue;
    place_[solid] = count_++;
    inverses_.insert(inverses_.end(), inverse.data(), inverse.data() + inverse.size());
  }
  if (count_ == 0) return;
  blocks_.assign(at(entries) * nodes.size() + lane_count, 0.0F);
  for (std::size_t g = 0; g < nodes.size(); ++g)
    for (std::size_t k = 0; k < at(modes); ++k)
      for (std::size_t i = 0; i < at(nodes[g].size); ++i)
        blocks_[at(entries) * g + 3 * k + i] = static_cast<float>(Y_[at(modes) * (at(nodes[g].first) + i) + k]);
}

void RigidModes::restrict_to(const double* r, Out a) const {
  for_parts(static_cast<int>(pieces_.size()), matrix_->threads(), [&](int number) {
    const Piece& piece = pieces_[at(number)];
    if (place_[at(piece.solid)] < 0) return;
    Lanes sum[modes] = {};
    for (int g = piece.first; g < piece.last; ++g) {
      const Lanes own = lanes_at(r + matrix_->nodes()[at(g)].first);
      const float* const y = blocks_.data() + at(entries) * at(g);
      for (int k = 0; k < modes; ++k) sum[k] += load_lanes(y + 3 * k) * own;
    }
    for (int k = 0; k < modes; ++k) partial_[at(modes * number + k)] = sum[k][0] + sum[k][1] + sum[k][2];
  });
  set_zero(a);
  for (std::size_t number = 0; number < pieces_.size(); ++number)
    if (const int place = place_[at(pieces_[number].solid)]; place >= 0)
      for (std::size_t k = 0; k < at(modes); ++k) a[at(modes * place) + k] += partial_[at(modes) * number + k];
}

void RigidModes::subtract(int node, const double* v, Out a) const {
  const int place = place_[at(solid_[at(node)])], size = matrix_->sizes()[at(node)];
  if (place < 0) return;
  for (int k = 0; k < modes; ++k)
    for (int i = 0; i < size; ++i)
      a[at(modes * place + k)] -= static_cast<double>(blocks_[at(entries * node + 3 * k + i)]) * v[i];
}

void RigidModes::solve(Out a) const {
  for (int place = 0; place < count_; ++place) {
    const double* const own = inverse(place);
    double* const x = a.data() + modes * place;
    double result[modes];
    for (int i = 0; i < modes; ++i) {
      result[i] = 0;
      for (int j = 0; j < modes; ++j) result[i] += own[modes * i + j] * x[j];
    }
    std::copy_n(result, modes, x);
  }
}

void RigidModes::add(In a, double* z) const {
  for_parts(static_cast<int>(pieces_.size()), matrix_->threads(), [&](int number) {
    const Piece& piece = pieces_[at(number)];
    const int place = place_[at(piece.solid)];
    if (place < 0) return;
    const double* const own = a.data() + modes * place;
    for (int g = piece.first; g < piece.last; ++g) {
      const NodeMatrix::Node& node = matrix_->nodes()[at(g)];
      const float* const y = blocks_.data() + at(entries) * at(g);
      const Lanes sum = block_product(y, own) + block_product(y + 9, own + 3);
      for (int i = 0; i < node.size; ++i) z[node.first + i] += sum[i];
    }
  });
}

void RigidModes::add_node(int node, In a, double* z, double sign) const {
  const int place = place_[at(solid_[at(node)])];
  if (place < 0) return;
  for (int k = 0; k < modes; ++k)
    for (int i = 0; i < matrix_->sizes()[at(node)]; ++i)
      z[i] += sign * static_cast<double>(blocks_[at(entries * node + 3 * k + i)]) * a[at(modes * place + k)];
}

}  // namespace carom
