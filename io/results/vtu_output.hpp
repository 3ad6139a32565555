// VtuOutput: the VTU series of a run. Bodies appear with their shape and lines to their named points, flexible bodies
// with their elements, frames of coordinates with their axes; obstacles as surfaces; joints and stops as
// joint_pictures.hpp says; contact candidates as vertices.
//
// Point fields: displacement since the start; velocity (on contacts: velocity of the body's point); contact_force
// (vector, zero away from contacts); gap (zero away from contacts); nodal output fields of the elements, averaged over
// the elements at a node, and output fields of beams and bars, continuous along them (line_values.hpp) (zero
// elsewhere). Cell fields: kind (0 body, 1 obstacle, 2 contact, 3 spring, 4 joint, 5 stop); body (number in the model
// file, -1 otherwise); block (number of its name in the field data "blocks", such as "bodies/arm" or
// "stops/hinge.upper"); other output fields of the elements (zero elsewhere).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/lie/se3.hpp"
#include "integrators/common/observer.hpp"
#include "io/model/model.hpp"
#include "io/results/joint_pictures.hpp"
#include "io/results/vtu_series.hpp"

namespace carom {

class VtuOutput final : public Observer {
 public:
  /// Writes <directory>/<name>.pvd and <directory>/vtu/.
  VtuOutput(const Model& model, const std::filesystem::path& directory, const std::string& name);

  /// Throws FileError, like all functions that write.
  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  void finish(const StepView& view, RunStatus status) override;
  std::string record_name() const override { return "pictures"; }
  void save(NamedArrays& record) override;
  void restore(const NamedArrays& record, bool same_files) override;

  /// Writes a picture of this state, even if no picture is due.
  void write(const StepView& view);

  /// The grid with its fields at this state. The points of contacts come last, one per entry of contact_rows().
  const VtuPiece& fill(const StepView& view);
  /// The node to which each point belongs; -1 for none. Points of contacts have none.
  std::vector<int> point_nodes() const;
  /// The unilateral rows that are drawn: all but gaps of coordinates without place.
  const std::vector<int>& contact_rows() const { return contact_rows_; }

 private:
  struct Part {
    std::size_t first_point = 0, first_cell = 0;
    const BodyInfo* body = nullptr;
    const ObstacleInfo* obstacle = nullptr;
    std::optional<StopPicture> stop{};
    std::vector<int> attached{};  // of joints and springs: the node of each point; -1: ground
    SurfaceMesh mesh{};           // in axes of the nodes or of the obstacle

    /// The node to which a point of a body belongs; for arms and bodies with one node the first node.
    int node(std::size_t i) const { return i < body->mesh_nodes.size() ? body->mesh_nodes[i] : body->nodes[0]; }
  };
  struct MaterialPoint {
    Vec3 x, displacement, velocity;
  };
  struct SectionMotion {
    se3::Frame<double> now, start;
    se3::Vector6<double> v = se3::Vector6<double>::Zero();  ///< of the section, in its axes
  };
  enum PointField { displacement, velocity, contact_force, gap };
  enum CellField { kind, body_number, block_number };
  enum Kind { body_kind, obstacle_kind, contact_kind, spring_kind, joint_kind, stop_kind };

  /// A field of some elements. `place`: index in piece_.point_fields or piece_.cell_fields.
  struct ElementField {
    OutputField field;
    bool on_points = false;
    std::size_t place = 0;
  };

  void add_part(Part part, Kind kind, const std::string& block, int body = -1);
  void add_unit(const std::string& field, const std::string& si);
  void add_joints();
  void add_fixed_points();
  void add_contacts();
  void mark_cells(Kind kind, const std::string& block, int body);
  void write_regular(const StepView& view);
  void fill_moving_obstacle(const StepView& view, const Part& part);
  void fill_body(const StepView& view, const Part& part);
  void add_element_fields();
  void fill_element_fields(const StepView& view, const Part& part);
  void fill_line_field(const StepView& view, const Part& part, const ElementField& field);
  void fill_point(std::size_t point, const MaterialPoint& p);
  void fill_stop(const StepView& view, const Part& part);
  void fill_contacts(const StepView& view);
  static MaterialPoint coordinate_point(const StepView& view, const BodyInfo& body);
  MaterialPoint material_point(const StepView& view, int node, const Vec3& offset) const;
  SectionMotion section_motion(const StepView& view, const HelixSection& section) const;

  const Model& model_;
  std::filesystem::path directory_;
  std::string name_;
  std::optional<VtuSeries> series_;
  VtuPiece piece_;
  std::vector<Part> parts_;
  std::vector<double> kinds_, bodies_, blocks_;  // of the cells
  std::vector<Vec3> stop_points_;
  std::vector<ElementField> element_fields_;
  Vector element_values_, velocities_,
      node_sums_;  // sums of one field per node, then the number of contributions
  std::size_t first_contact_point_ = 0;
  std::vector<int> contact_rows_;  // drawn: all but those of coordinates without place
  long every_ = 0;
  bool given_stride_ = false;
  double interval_ = 0, next_ = 0;
  double last_written_ = 0, last_regular_ = 0, start_time_ = 0;
  std::optional<double> resume_;  // keeps the frames of an earlier series up to this time
  bool filled_ = false, restored_ = false, same_interval_ = true;
};

}  // namespace carom
