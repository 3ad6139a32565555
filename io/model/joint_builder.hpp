// JointBuilder: converts the joints of a model document to constraint blocks and, after System::finalize(), to the data
// that probes, inventory and messages need.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/model/build_context.hpp"
#include "io/model/switching_builder.hpp"
#include "io/model/types/registry.hpp"

namespace carom {

class JointBuilder {
 public:
  explicit JointBuilder(BuildContext& context) : context_(context) {}

  /// Reads all joints and adds their blocks to the system; errors are added to the document.
  void read();
  /// Of joints that switch, after read(): the modes at the start.
  void find_start_modes(const State& state) { switching_.find_start_modes(state); }
  /// Fills the model's joints and stops. Precondition: rows are numbered.
  void collect() const;

 private:
  struct Item {
    JointInfo info;
    JointParts parts;
    bool switches = false;
  };

  AttachedPoint read_end(const JointSource& joint, int side, JointParts& parts);
  AttachedPoint frame_of_set(const JointSource& joint, int side, const PointSet& set, JointParts& parts);
  bool read_ends(JointSource& joint, const JointType& kind, JointParts& parts);

  BuildContext& context_;
  std::shared_ptr<System> switching_rows(const JointSource& joint, JointPools& pools, const JointParts& parts);

  JointPools pools_;
  SwitchingBuilder switching_{context_};
  std::vector<Item> items_;
  std::map<std::string, AttachedPoint> frames_;  // of groups of nodes
};

}  // namespace carom
