// ContactBuilder: converts the contacts of a model document to contact blocks and obstacles and, after
// System::finalize(), to the rows of each contact.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/model/build_context.hpp"

namespace carom {

class ContactBuilder {
 public:
  explicit ContactBuilder(BuildContext& context) : context_(context) {}

  /// Reads all contacts, adds their blocks to the system and their obstacles to the model; errors are added to the
  /// document.
  void read();
  /// The rows of every contact. Precondition: rows are numbered.
  std::vector<RowGroup> groups() const;
  /// Adds an error for every contact that touches at the start where its direction is undefined. Precondition: as
  /// above.
  void check_directions(const State& state) const;

 private:
  struct Contact {
    std::string name;
    std::vector<const ConstraintBlock*> blocks;
    std::string pointer;
    /// Of each block: the item that touches without a direction, or -1.
    std::vector<std::function<int(const ConstraintInput&)>> undirected;
  };
  struct TouchingPoint {
    AttachedPoint at;
    double radius;
    std::string label;
  };

  bool take_candidates(std::size_t more, const std::string& pointer);
  void read_spheres(const nlohmann::json& contact, const std::string& pointer);
  void read_obstacle(const nlohmann::json& contact, const std::string& pointer);
  std::vector<TouchingPoint> touching_points(const std::string& reference, const std::string& pointer) const;
  void remark_gaps(const std::string& contact, const std::string& reference, std::span<const TouchingPoint> points,
                   const Obstacle& obstacle, const std::function<double(const TouchingPoint&)>& radius) const;
  void check_friction(const nlohmann::json& contact, const std::string& pointer) const;
  std::shared_ptr<const PrescribedMotion> read_motion(const nlohmann::json& obstacle, const std::string& pointer);
  double picture_size(double distance) const;

  BuildContext& context_;
  std::vector<Contact> contacts_;
  std::size_t candidates_ = 0;
};

}  // namespace carom
