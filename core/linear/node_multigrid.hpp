// NodeMultigrid: smoothed aggregation for the matrix of the nodes of solids with rows of single nodes held.
//
// The rigid motions are held too, so that aggregates do not move through an obstacle.
#pragma once

#include "core/base/types.hpp"
#include "core/linear/held_nodes.hpp"
#include "core/linear/smoothed_aggregation.hpp"

namespace carom {

class NodeMultigrid {
 public:
  /// The matrix is in double precision; it and the rows outlive this. motions: six rigid motions of every matrix row.
  /// False if the matrix is not finite.
  bool build(const NodeMatrix& matrix, const NodeRows& rows, const Vector& motions);
  /// z = M r by matrix row, in the null space of the rows.
  void apply(const double* r, double* z);

 private:
  HeldNodes held_;
  SmoothedAggregation hierarchy_;
  Vector motions_, r_, z_;  // r_ and z_: three per node
};

}  // namespace carom
