// The key "fixed" of flexible bodies: the points that cannot move, and the fixed directions.
#pragma once

#include "io/model/types/registry.hpp"

namespace carom {

/// The key. rotates: true for bodies whose nodes are frames.
spec::Key fixed_points(bool rotates);

/// Fixes the points of the body's key. Precondition: nodes and points of the body are known.
void fix_points(BuildContext& context, const BodySource& source);

}  // namespace carom
