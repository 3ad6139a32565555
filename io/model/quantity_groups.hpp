// The groups of the table of quantities (quantities.hpp) in its order, and what several of them need.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/mechanics/body_point.hpp"
#include "core/mechanics/system.hpp"
#include "io/model/quantities.hpp"

namespace carom {

struct AttachedPoint;

std::vector<Quantity> point_quantities();
std::vector<Quantity> field_quantities();  ///< of elements, and of the nodes of solids; names may repeat
std::vector<Quantity> contact_quantities();
std::vector<Quantity> joint_quantities();
std::vector<Quantity> coordinate_quantities();  ///< their constraints and modes too

template <int n>
void write(const Eigen::Matrix<double, n, 1>& x, double* values) {
  std::copy_n(x.data(), n, values);
}
inline void write(double x, double* values) { *values = x; }

/// The six velocity components of a node from an array over equations; zeros where it has fewer.
std::array<double, 6> node_velocity(const System& system, int node, const Vector& v);
PointState state_of(const System& system, const AttachedPoint& p, const Vector& q);
/// The message for "body.point" of a node that the mesh lacks, or of a group, which is no point; else empty.
std::string unknown_node(const Model& model, const std::string& of);
/// The quantity of a step, summed over the run by probes.
Quantity summed(Quantity quantity);

}  // namespace carom
