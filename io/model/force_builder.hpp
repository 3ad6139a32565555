// Converts the springs and loads of a model document to blocks of the system. Errors are added to the issues of the
// context. Precondition: the bodies are read.
#pragma once

namespace carom {

class BuildContext;

/// Adds the block of all springs, and the model's springs for pictures and probes.
void read_springs(BuildContext& context);
/// Adds the blocks of all loads and pressures.
void read_loads(BuildContext& context);

}  // namespace carom
