// JointBuilder: converts the joints of a model document to constraint blocks and, after System::finalize(), to the data
// that probes, inventory and messages need.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "io/model/build_context.hpp"
#include "io/model/types/registry.hpp"

namespace carom {

class JointBuilder {
 public:
  explicit JointBuilder(BuildContext& context) : context_(context) {}

  /// Reads all joints and adds their blocks to the system; errors are added to the document.
  void read();
  /// Fills the model's joints and stops. Precondition: rows are numbered.
  void collect() const;

 private:
  // the lists of JointRows that become blocks
  enum List { linear_points, points, axes, linear_coordinates, coordinates, drivers, stops, springs, lists };
  using Sizes = std::array<std::size_t, lists>;
  struct Item {
    JointInfo info;
    Sizes first{}, last{};
  };

  Sizes sizes() const;
  AttachedPoint read_end(const JointSource& joint, int side);
  AttachedPoint frame_of_set(const JointSource& joint, int side, const PointSet& set);
  bool read_ends(JointSource& joint, const JointType& kind);
  void add_blocks();
  std::vector<int> rows_of(List list, const Item& item) const;

  BuildContext& context_;
  JointRows rows_;
  std::vector<Item> items_;
  std::vector<bool> driver_is_angle_;    // of the drivers in order
  std::vector<std::string> stop_names_;  // of the stops in order
  std::array<const ConstraintBlock*, lists> blocks_{};
};

}  // namespace carom
