// JointBuilder: from the joints of a model document to constraint blocks and, after System::finalize(), to what probes,
// stock and messages know of them.
#pragma once

#include <string>
#include <vector>

#include "io/model/build_context.hpp"
#include "io/model/types/registry.hpp"

namespace carom {

class JointBuilder {
 public:
  explicit JointBuilder(BuildContext& context) : context_(context) {}

  /// Reads all joints and adds their blocks to the system; errors go to the document.
  void read();
  /// Fills the model's joints and stops, once rows are numbered.
  void collect() const;

 private:
  struct Item {
    JointInfo info;
    JointParts parts;
  };

  AttachedPoint read_end(const JointSource& joint, int side, JointParts& parts);
  AttachedPoint frame_of_set(const JointSource& joint, int side, const PointSet& set, JointParts& parts);
  bool read_ends(JointSource& joint, const JointType& kind, JointParts& parts);

  BuildContext& context_;
  JointPools pools_;
  std::vector<Item> items_;
};

}  // namespace carom
