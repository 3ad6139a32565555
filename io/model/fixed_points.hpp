// The key "fixed" of flexible bodies: which of their points cannot move in which directions.
#pragma once

#include "io/model/types/registry.hpp"

namespace carom {

/// The key; `rotates` of bodies whose nodes are frames.
spec::Key fixed_points(bool rotates);

/// Fixes what the body's key says, after its nodes and points are known.
void fix_points(BuildContext& context, const BodySource& source);

}  // namespace carom
