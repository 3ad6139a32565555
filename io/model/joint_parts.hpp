// JointParts: the rows and springs of which a joint consists, collected so that those of one kind, of all joints, form
// one block.
//
//   const JointPool<Coincidence> points{20, [](System& system, std::vector<Coincidence> items) { ... }};
//   parts.append(points, {.name = joint.name, ...});
//
// A new kind of row: one more constant JointPool, beside the joints that use it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/mechanics/constraint_block.hpp"
#include "core/mechanics/system.hpp"
#include "elements/joints/joint.hpp"
#include "elements/joints/joint_coordinate.hpp"
#include "elements/joints/joint_friction.hpp"

namespace carom {

/// A kind of rows or springs.
template <class Item>
struct JointPool {
  /// Blocks enter the system in this order, and so do the numbers of their rows. carom's own kinds take 10 to 80.
  int order;
  /// Adds the block of all items to the system. Returns the block, or null if it is one of elements, without rows.
  const ConstraintBlock* (*add)(System& system, std::vector<Item> items);
};

/// The items of all pools of a model.
class JointPools {
  struct Pool {
    Pool(int order_of_block, const void* kind_of_items) : order(order_of_block), kind(kind_of_items) {}
    virtual ~Pool() = default;
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    virtual void add_block(System& system) = 0;
    int order;
    const void* kind;
    const ConstraintBlock* block = nullptr;
  };
  template <class Item>
  struct PoolOf final : Pool {
    explicit PoolOf(const JointPool<Item>& pool) : Pool(pool.order, &pool), add(pool.add) {}
    void add_block(System& system) override { block = add(system, std::move(items)); }
    const ConstraintBlock* (*add)(System& system, std::vector<Item> items);
    std::vector<Item> items;
  };

 public:
  /// One item of a pool: its rows, once they are numbered.
  struct Handle {
    const Pool* pool = nullptr;
    std::size_t item = 0;
  };

  template <class Item>
  Handle append(const JointPool<Item>& kind, Item item) {
    auto found = std::find_if(pools_.begin(), pools_.end(), [&](const auto& pool) { return pool->kind == &kind; });
    if (found == pools_.end()) found = pools_.insert(found, std::make_unique<PoolOf<Item>>(kind));
    auto& pool = static_cast<PoolOf<Item>&>(**found);
    pool.items.push_back(std::move(item));
    return {&pool, pool.items.size() - 1};
  }

  void add_blocks(System& system);
  /// The rows of an item after System::finalize(); none of an element.
  static std::vector<int> rows(const System& system, const Handle& handle);
  static JointSupport support(const System& system, const Handle& handle) {
    return {handle.pool->block, static_cast<int>(handle.item), rows(system, handle).front()};
  }

 private:
  std::vector<std::unique_ptr<Pool>> pools_;
};

/// One joint while it is read.
class JointParts {
 public:
  explicit JointParts(JointPools& pools) : pools_(&pools) {}

  /// Adds rows that the joint holds, or a spring.
  template <class Item>
  JointPools::Handle append(const JointPool<Item>& kind, Item item) {
    held_.push_back(pools_->append(kind, std::move(item)));
    return held_.back();
  }
  struct Stop {
    std::string name;  ///< that events and probes use
    JointPools::Handle row;
    bool angle = false;  ///< limits an angle
  };
  template <class Item>
  void append_stop(const JointPool<Item>& kind, std::string name, bool of_angle, Item item) {
    stops_.push_back({std::move(name), pools_->append(kind, std::move(item)), of_angle});
  }

  /// Adds rows of friction, whose limit follows the reactions of the rows that the joint holds so far.
  void append_friction(const JointPool<JointFriction>& kind, JointFriction item) {
    friction_.emplace();
    friction_->supports = std::make_shared<std::vector<JointSupport>>();
    friction_->of.assign(held_.begin() + static_cast<std::ptrdiff_t>(own_), held_.end());
    item.supports = friction_->supports;
    friction_->rows = pools_->append(kind, std::move(item));
  }
  /// What has been held so far does not press the joint's bearing: the points of a set in the frame of a side.
  void begin_own() { own_ = held_.size(); }

  struct Friction {
    JointPools::Handle rows;
    std::vector<JointPools::Handle> of;  ///< what presses the bearing
    std::shared_ptr<std::vector<JointSupport>> supports;
  };
  const std::optional<Friction>& friction() const { return friction_; }

  const std::vector<JointPools::Handle>& held() const { return held_; }
  const std::vector<Stop>& stops() const { return stops_; }

  std::optional<JointCoordinate> angle, displacement;                   ///< what the joint leaves free, for probes
  std::optional<JointPools::Handle> angle_driver, displacement_driver;  ///< their drivers

 private:
  JointPools* pools_;
  std::size_t own_ = 0;
  std::optional<Friction> friction_;
  std::vector<JointPools::Handle> held_;
  std::vector<Stop> stops_;
};

/// Points that stay together. `rotating`: one of them belongs to a frame, so that gradients change.
const JointPool<Coincidence>& coincidence_pool(bool rotating);

}  // namespace carom
