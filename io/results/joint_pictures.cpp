#include "io/results/joint_pictures.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/index.hpp"
#include "core/mechanics/body_point.hpp"
#include "elements/joints/joint_coordinate.hpp"

namespace carom {

namespace {

// Shares of the extent of the model.
constexpr double radius_of_pin = 0.01, length_of_rail = 0.15, largest_reach = 0.1, length_of_axis = 0.06;

// The node to whose axes a drawn point of a body belongs.
int node_of(const BodyInfo& body, std::size_t point) {
  return point < body.mesh_nodes.size() ? body.mesh_nodes[point] : body.nodes[0];
}

bool on_section(const BodyInfo& body, std::size_t point) {
  return !body.mesh_sections.empty() && body.mesh_sections[point] >= 0;
}

Mat3 along_z(const Vec3& axis) { return Eigen::Quaterniond::FromTwoVectors(Vec3::UnitZ(), axis).toRotationMatrix(); }

}  // namespace

JointPictures::JointPictures(const Model& model) : model_(model) {
  Vec3 low = Vec3::Constant(std::numeric_limits<double>::infinity()), high = -low;
  for (const BodyInfo& body : model.bodies) {
    if (!body.in_space) continue;
    const auto include = [&](const Vec3& x) {
      low = low.cwiseMin(x);
      high = high.cwiseMax(x);
    };
    for (const int node : body.nodes) include(place(node, Vec3::Zero()));
    for (std::size_t i = 0; i < body.mesh.points.size(); ++i)
      if (!on_section(body, i)) include(place(node_of(body, i), body.mesh.points[i]));
  }
  size_ = (high - low).norm();
  if (!(size_ > 0) || !std::isfinite(size_)) size_ = model.scales.length;
}

const BodyInfo* JointPictures::body_of(int node) const {
  const auto body = std::ranges::find_if(
      model_.bodies, [node](const BodyInfo& b) { return std::ranges::find(b.nodes, node) != b.nodes.end(); });
  return node < 0 || body == model_.bodies.end() ? nullptr : &*body;
}

Mat3 JointPictures::rotation(int node) const {
  Mat3 R;
  for (int c = 0; c < 3; ++c) R.col(c) = place(node, Vec3::Unit(c)) - place(node, Vec3::Zero());
  return node < 0 ? Mat3(Mat3::Identity()) : R;
}

double JointPictures::reach(int node, const Vec3& x, const Vec3& direction) const {
  const BodyInfo* const body = body_of(node);
  double most = 0;
  if (body == nullptr) return most;
  for (std::size_t i = 0; i < body->mesh.points.size(); ++i)
    if (node_of(*body, i) == node && !on_section(*body, i))
      most = std::max(most, direction.dot(place(node, body->mesh.points[i]) - x));
  return most;
}

double JointPictures::half_thickness(int node, const Vec3& x, const Vec3& axis) const {
  return std::min(std::max(reach(node, x, axis), reach(node, x, -axis)), largest_reach * size_);
}

void JointPictures::add(const SurfaceMesh& mesh, int node, const Vec3& offset, const Mat3& R,
                        AttachedMesh& picture) const {
  const int first = static_cast<int>(picture.mesh.points.size());
  for (const Vec3& p : mesh.points) {
    picture.mesh.points.emplace_back(offset + R * p);
    picture.nodes.push_back(node);
  }
  for (std::size_t i = 0; i < mesh.cell_count(); ++i) {
    std::vector<int> cell(mesh.cell(i).begin(), mesh.cell(i).end());
    for (int& n : cell) n += first;
    picture.mesh.add_cell(static_cast<CellType>(mesh.types[i]), cell);
  }
}

void JointPictures::add_line(int node_a, const Vec3& a, int node_b, const Vec3& b, AttachedMesh& picture) const {
  SurfaceMesh line;
  line.points = {a, b};
  line.add_cell(CellType::line, {0, 1});
  add(line, node_a, Vec3::Zero(), Mat3::Identity(), picture);
  picture.nodes.back() = node_b;
}

SurfaceMesh JointPictures::frame_axes() const {
  SurfaceMesh mesh;
  mesh.points = {Vec3::Zero()};
  for (int c = 0; c < 3; ++c) {
    mesh.points.push_back(length_of_axis * size_ * Vec3::Unit(c));
    mesh.add_cell(CellType::line, {0, c + 1});
  }
  return mesh;
}

void JointPictures::add_pin(const JointInfo& joint, AttachedMesh& picture) const {
  const bool at_b = joint.point.node >= 0;
  const AttachedPoint& point = at_b ? joint.point : joint.a;
  const Vec3 axis = so3::quaternion_to_matrix(at_b ? joint.angle->frame_b : joint.angle->frame_a).col(2);
  const Vec3 x = place(point.node, point.offset), direction = rotation(point.node) * axis;
  const double half =
      std::max(half_thickness(joint.a.node, x, direction), half_thickness(joint.point.node, x, direction));
  const double radius = radius_of_pin * size_;
  add(make_cylinder(radius, 2 * (half + 1.5 * radius), Axis::z, 12), point.node, point.offset, along_z(axis), picture);
}

void JointPictures::add_rail(const JointInfo& joint, AttachedMesh& picture) const {
  const JointCoordinate& s = *joint.displacement;
  const Vec3 x = place(s.node_b, s.offset_b), origin = place(s.node_a, Vec3::Zero());
  const Mat3 R = rotation(s.node_a);
  const Vec3 here = s.node_a < 0 ? x : Vec3(R.transpose() * (x - origin));
  double back = length_of_rail * size_, ahead = back;
  for (const int row : joint.stops) {
    const Vec3 force =
        model_.system.row_contact_place(row, model_.state_at_start.q, model_.state_at_start.v, model_.state_at_start.t)
            .normal;
    const double room = model_.system.row_gap(row, model_.state_at_start.q, model_.state_at_start.t);
    const double to_stop = std::max(room, 0.0) + reach(s.node_b, x, -force);
    if (std::abs(force.dot(R * s.axis)) > 0.5) (force.dot(R * s.axis) > 0 ? back : ahead) = to_stop;
  }
  add_line(s.node_a, here - back * s.axis, s.node_a, here + ahead * s.axis, picture);
}

// Large enough to be seen on thin bodies. `share` of the radius of a pin at least.
double JointPictures::radius_of_ball(std::initializer_list<int> nodes, const Vec3& x, double share) const {
  double half = std::numeric_limits<double>::infinity();
  for (const int node : nodes)
    for (int c = 0; c < 3 && node >= 0; ++c)
      if (const double reach_here = half_thickness(node, x, rotation(node).col(c)); reach_here > 0)
        half = std::min(half, reach_here);
  return std::clamp(1.3 * half, share * radius_of_pin * size_, 3 * radius_of_pin * size_);
}

void JointPictures::add_ball(const JointInfo& joint, AttachedMesh& picture) const {
  const AttachedPoint& point = joint.point.node >= 0 ? joint.point : joint.a;
  const Vec3 x = place(point.node, point.offset);
  const double radius = radius_of_ball({joint.a.node, joint.point.node}, x, joint.type == "fixed" ? 0.6 : 1.2);
  add(make_sphere(radius, 12), point.node, point.offset, Mat3::Identity(), picture);
}

AttachedMesh JointPictures::fixed_points(const BodyInfo& body, std::size_t most) const {
  AttachedMesh picture;
  const DofMap& dofs = model_.system.dofs();
  const auto is_fixed = [&](int node, int first) {
    for (int c = first; c < first + 3; ++c)
      if (dofs.equation(node, c) >= 0) return false;
    return true;
  };
  std::vector<std::size_t> held;  // places in the list of nodes
  const bool is_solid = body.line.empty() && body.nodes.size() > 1;
  for (std::size_t k = 0; body.in_space && !is_solid && k < body.nodes.size(); ++k)
    if (is_fixed(body.nodes[k], 0)) held.push_back(k);
  if (held.size() > most) return picture;
  for (const std::size_t k : held) {
    const int node = body.nodes[k];
    const bool turns = dofs.kind(node) == NodeKind::point || !is_fixed(node, 3);
    const Vec3 x = place(node, Vec3::Zero());
    if (!body.line.empty() && !turns) {
      const bool is_start = k == 0, is_end = k + 1 == body.nodes.size();
      const double half = std::max({1.6 * half_thickness(node, x, rotation(node).col(1)),
                                    1.6 * half_thickness(node, x, rotation(node).col(2)), 2 * radius_of_pin * size_});
      const double depth = radius_of_pin * size_;
      const Vec3 center = Vec3::UnitX() * (is_start ? -0.5 * depth : is_end ? 0.5 * depth : 0.0);
      add(make_box({depth, 2 * half, 2 * half}), node, center, Mat3::Identity(), picture);
    } else if (!body.line.empty() || (turns && dofs.kind(node) != NodeKind::point)) {
      add(make_sphere(radius_of_ball({node}, x, 1.2), 12), node, Vec3::Zero(), Mat3::Identity(), picture);
    }
  }
  return picture;
}

AttachedMesh JointPictures::joint(const JointInfo& joint) const {
  AttachedMesh picture;
  const Vec3 a = place(joint.a.node, joint.a.offset), b = place(joint.point.node, joint.point.offset);
  if ((joint.type == "rigid_link" || joint.type == "distance") && (b - a).norm() > 1e-6 * size_) {
    add_line(joint.a.node, joint.a.offset, joint.point.node, joint.point.offset, picture);
    return picture;
  }
  const bool slides = joint.displacement && joint.displacement->kind == JointCoordinate::Kind::displacement;
  if (joint.angle) add_pin(joint, picture);
  if (slides) add_rail(joint, picture);
  if (!joint.angle && !slides) add_ball(joint, picture);
  return picture;
}

std::vector<StopPicture> JointPictures::stops(const JointInfo& joint) const {
  std::vector<StopPicture> pictures;
  const State& start = model_.state_at_start;
  for (const int row : joint.stops) {
    const auto named = std::ranges::find_if(model_.stops, [row](const RowGroup& g) { return g.rows.front() == row; });
    StopPicture stop;
    stop.name = named->name;
    stop.row = row;
    // stops of an angle beside a displacement have names of their own
    stop.is_angle = joint.angle && (!joint.displacement || named->name.starts_with(joint.name + ".angle_"));
    const bool b_moves = joint.point.node >= 0;
    stop.mover = b_moves ? joint.point : joint.a;
    stop.sign = b_moves ? 1 : -1;
    const Vec3 x = place(stop.mover.node, stop.mover.offset);
    const Mat3 R = rotation(stop.mover.node);
    const Vec3 force = stop.sign * model_.system.row_contact_place(row, start.q, start.v, start.t).normal;
    stop.thickness = 0.6 * radius_of_pin * size_;
    const int node = stop.mover.node;
    if (!stop.is_angle) {
      const Vec3 across = force.unitOrthogonal();
      stop.surface = reach(node, x, -force);
      stop.reach = std::max({1.2 * half_thickness(node, x, across), 1.2 * half_thickness(node, x, force.cross(across)),
                             2 * radius_of_pin * size_});
      pictures.push_back(std::move(stop));
      continue;
    }
    // the arm: from the joint to the middle of the body
    Vec3 middle = Vec3::Zero();
    double far = 0;
    if (const BodyInfo* const body = body_of(node); body != nullptr) {
      for (const int n : body->nodes) middle += (place(n, Vec3::Zero()) - x) / static_cast<double>(body->nodes.size());
      for (const int n : body->nodes) far = std::max(far, (place(n, Vec3::Zero()) - x).norm());
    }
    middle -= middle.dot(force) * force;
    if (middle.norm() < 1e-6 * size_) middle = force.unitOrthogonal();
    middle.normalize();
    stop.arm = R.transpose() * middle;
    far = std::max(far, reach(node, x, middle));
    stop.reach = std::min(far > 0 ? 0.8 * far : HUGE_VAL, 0.15 * size_);
    stop.width = std::max(1.2 * half_thickness(node, x, force), 1.5 * radius_of_pin * size_);
    stop.surface = std::min(reach(node, x, -force.cross(middle)), largest_reach * size_);
    pictures.push_back(std::move(stop));
  }
  return pictures;
}

void StopPicture::place(const StepView& view, std::vector<Vec3>& points) const {
  const System& system = view.system;
  const double gap = system.row_gap(row, view.state.q, view.state.t);
  const Vec3 force = sign * system.row_contact_place(row, view.state.q, view.state.v, view.state.t).normal;
  const double* const q = view.state.q.data() + system.dofs().configuration_offset(mover.node);
  const PointState at_joint = point_state(q, system.dofs().kind(mover.node), mover.offset);
  // axes of the block: its depth, away from the body; and two across
  Vec3 depth = -force, across = force.unitOrthogonal(), along = force.cross(across), center = at_joint.x;
  double half_across = reach, half_along = reach;
  if (is_angle) {
    along = Eigen::AngleAxisd(-gap, force) * (at_joint.R * arm);
    across = force;
    depth = -force.cross(along);
    half_across = width;
    half_along = 0.25 * reach;
    center += 0.75 * reach * along + surface * depth;
  } else {
    center += (gap + surface) * depth;
  }
  points.resize(8);
  for (std::size_t i = 0; i < 8; ++i)
    points[i] = center + ((i & 1) != 0 ? thickness : 0) * depth + ((i & 2) != 0 ? 1 : -1) * half_across * across +
                ((i & 4) != 0 ? 1 : -1) * half_along * along;
}

}  // namespace carom
