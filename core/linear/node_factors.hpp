// NodeFactors: Cholesky factors of the matrix of the nodes of solids with rows of single nodes held.
//
// The factors may serve later matrices: a solid that has only turned by R since has the matrix R K R^T. R is the
// rotation that fits the places of a solid's nodes best [Kabsch, Acta Cryst. A 32 (1976) 922].
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/held_nodes.hpp"
#include "core/linear/linear_solver.hpp"

namespace carom {

class NodeFactors {
 public:
  /// The matrix is in double precision; it and the rows outlive this. False if the matrix is not positive definite or
  /// not finite. The order of elimination is kept as long as nodes couple with the same nodes. `motions`: six rigid
  /// motions of every matrix row, the last three rotations about the axes and one point.
  bool build(const NodeMatrix& matrix, const NodeRows& rows, const Vector& motions);
  /// The factors may serve another matrix: no rows of single nodes are held, which do not turn with a solid.
  bool can_follow() const { return built_ && !held_.holds(); }
  /// The factors serve the matrix given to build(), whose values and motions are other ones now, if they can.
  bool follow(const Vector& motions);
  /// z = M r by matrix row, in the null space of the rows; several vectors, one after the other.
  void apply(const double* r, double* z, int vectors = 1);

 private:
  void find_solids();
  void find_places(const Vector& motions, std::vector<Vec3>& places) const;
  void turn(bool back, double* by_node, std::size_t first, std::size_t last) const;

  HeldNodes held_;
  bool built_ = false;
  int threads_ = 1;
  double scale_ = 1, factor_ = 1;    // of the matrix at build(); of z
  std::vector<Vec3> places_, now_;   // of the nodes, at build() and now
  std::vector<int> solid_of_;        // of a node
  std::vector<Mat3> rotation_;       // of a solid since build()
  std::vector<std::uint8_t> turns_;  // the solid may: all its nodes have three equations
  bool turned_ = false;
  std::vector<int> start_, column_;  // of the blocks that solver_ has analysed
  std::vector<int> order_;           // of the blocks, by node and column
  detail::SharedPattern pattern_;    // upper triangle
  detail::Backend solver_;
  Vector values_, x_;  // x_: three per node
};

}  // namespace carom
