// Screws: the displacement s of two bodies along an axis follows their angle phi about it, with the lead p per turn:
//
//   g(q) = s(q) - p phi(q)/(2 pi) = 0
//
// Value, gradient and second derivative are those of the coordinates s and phi; see joint_coordinate.hpp. An angle is
// known up to two turns, g therefore up to 2 p.
#pragma once

#include <string>
#include <vector>

#include "elements/joints/joint_coordinate.hpp"

namespace carom {

struct Screw {
  std::string name;
  JointCoordinate displacement, angle;  ///< of the same nodes and axis
  double lead = 0;                      ///< p, a length per turn; negative for a left-handed thread
};

class ScrewBlock final : public ConstraintBlock {
 public:
  explicit ScrewBlock(std::vector<Screw> items);

  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override;
  void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const override;
  void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                             double* A) const override;
  std::string item_name(int item) const override { return items_[static_cast<std::size_t>(item)].name; }
  /// The force along the axis at the second point.
  Place place(int item, int row, const ConstraintInput& in) const override;

 private:
  CoordinateState state(const ConstraintInput& in, int item, CoordinateOrder order) const;

  std::vector<Screw> items_;
};

}  // namespace carom
