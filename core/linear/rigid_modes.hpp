// RigidModes: the rigid motions of solids as a coarse space beside NodeSweeps,
//
//   M' = M + V E^-1 V^T,   E = V^T A V        V: six rigid motions of every solid
//
// A solid that is stiff in a step, c_K K >> M, has six eigenvalues far below the others: those of its rigid motions.
// Sweeps leave them, and conjugate gradients need many iterations for each. [Nicolaides, SIAM J. Numer. Anal. 24 (1987)
// 355] In the variables of the sweeps, M' is D + Y E^-1 Y^T with Y = (D + U) V.
//
// A solid is left out where its rigid motions are not slow. Vectors are by matrix row. Same bits for any number of
// threads.
#pragma once

#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/node_matrix.hpp"
#include "core/linear/node_rows.hpp"
#include "core/linear/node_sweeps.hpp"

namespace carom {

class RigidModes {
 public:
  static constexpr int modes = 6;

  /// solid[g]: number of the solid that the node g belongs to, from 0. The matrix outlives this.
  void analyse(const NodeMatrix& matrix, std::span<const int> solid);
  /// Takes Y and E from six motions of every matrix row, projected to the null space of the rows.
  void build(const NodeSweeps& sweeps, const NodeRows& rows, std::span<const double> motions);
  bool empty() const { return count_ == 0; }
  /// Six per solid that is not left out.
  int size() const { return modes * count_; }

  /// a = Y^T r; reads up to three entries beyond the end of r.
  void restrict_to(const double* r, Out a) const;
  /// a -= Y^T v for one node.
  void subtract(int node, const double* v, Out a) const;
  /// a becomes E^-1 a.
  void solve(Out a) const;
  /// z += Y a
  void add(In a, double* z) const;
  /// The same of one node; z of this node.
  void add_node(int node, In a, double* z, double sign = 1) const;

 private:
  // Consecutive nodes of one solid.
  struct Piece {
    int first = 0, last = 0, solid = 0;
  };
  const double* inverse(int place) const { return inverses_.data() + static_cast<std::size_t>(36 * place); }
  bool find_stiff(const NodeSweeps& sweeps);

  const NodeMatrix* matrix_ = nullptr;
  int solids_ = 0, count_ = 0;
  std::vector<int> solid_;  // of a node
  std::vector<int> place_;  // of a solid among those not left out, -1: left out
  std::vector<Piece> pieces_;
  Vector V_, Y_;               // six per matrix row
  std::vector<float> blocks_;  // Y: 18 per node, three rows of the first motion, of the second, ...
  Vector inverses_;            // of E, 36 per solid that is not left out
  Vector ones_, whole_, diagonal_, E_, D_;
  std::vector<char> stiff_;  // by solid
  mutable Vector partial_;
};

}  // namespace carom
