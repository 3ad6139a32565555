// Small fixed-size types and the flat vector used throughout.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>
#include <vector>

#include "core/base/index.hpp"

namespace carom {

using Vec3 = Eigen::Vector3d;
using Mat3 = Eigen::Matrix3d;
using Quaternion = Eigen::Vector4d;  ///< unit quaternion in the order (w, x, y, z), body to inertial

/// A flat array over equations, rows or configuration entries.
using Vector = std::vector<double>;
using In = std::span<const double>;
using Out = std::span<double>;

}  // namespace carom
