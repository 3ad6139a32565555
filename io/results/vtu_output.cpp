#include "io/results/vtu_output.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "contact/gap/prescribed_motion.hpp"
#include "core/lie/se3.hpp"
#include "core/mechanics/body_point.hpp"
#include "elements/joints/switching_joints.hpp"
#include "integrators/common/constraint_switches.hpp"
#include "io/model/element_field.hpp"
#include "io/results/atomic_file.hpp"
#include "io/results/csv_head.hpp"
#include "io/results/line_values.hpp"
#include "io/results/view_script.hpp"

namespace carom {

namespace {

// Draws a line from the centre to each named point outside the body's surface, which shows arms and pins.
void add_arms(const BodyInfo& body, SurfaceMesh& mesh) {
  if (body.nodes.size() != 1) return;
  Vec3 extent = Vec3::Zero();
  for (const Vec3& p : mesh.points) extent = extent.cwiseMax(p.cwiseAbs());
  for (const auto& [name, point] : body.points) {
    const Vec3& p = point.offset;
    if ((p.cwiseAbs() - extent).maxCoeff() <= 0) continue;
    const int first = static_cast<int>(mesh.points.size());
    mesh.points.emplace_back(Vec3::Zero());
    mesh.points.push_back(p);
    mesh.add_cell(CellType::line, {first, first + 1});
  }
}

// The body whose scalar coordinates a row contains; null for rows between points.
const BodyInfo* body_of_coordinates(const Model& model, int row) {
  const int node = model.system.row_block(row).topology().node(model.system.row_place(row).item, 0);
  if (node < 0 || model.system.dofs().kind(node) != NodeKind::scalar) return nullptr;
  const auto body = std::ranges::find_if(model.bodies, [node](const BodyInfo& b) {
    return !b.in_space && std::ranges::find(b.nodes, node) != b.nodes.end();
  });
  return body == model.bodies.end() ? nullptr : &*body;
}

bool has_place(const Model& model, int row) {
  const BodyInfo* const body = body_of_coordinates(model, row);
  return body == nullptr || body->has_place();
}

}  // namespace

VtuOutput::VtuOutput(const Model& model, const std::filesystem::path& directory, const std::string& name)
    : model_(model), directory_(directory), name_(name) {
  start_time_ = model.state_at_start.t;

  // intervals between frames: in steps, in time, or for about 200 frames
  const double steps = model.simulation.duration / model.simulation.step;
  if (model.output.vtu_interval)
    interval_ = *model.output.vtu_interval;
  else
    every_ = model.output.vtu_every.value_or(std::max(1L, std::lround(steps / 200)));
  given_stride_ = model.output.vtu_every || model.output.vtu_interval;

  // topology: every part once
  const JointPictures pictures(model);
  for (std::size_t b = 0; b < model.bodies.size(); ++b) {
    const BodyInfo& body = model.bodies[b];
    if (!body.has_place()) continue;
    Part part;
    part.body = &body;
    part.mesh = body.type == "coordinate_frame" ? pictures.frame_axes() : body.mesh;
    if (part.mesh.points.empty()) {
      part.mesh.points = {Vec3::Zero()};
      part.mesh.add_cell(CellType::vertex, {0});
    }
    add_arms(body, part.mesh);
    add_part(std::move(part), body_kind, "bodies/" + body.name, static_cast<int>(b));
  }
  for (const ObstacleInfo& obstacle : model.obstacles) {
    Part part;
    part.obstacle = &obstacle;
    part.mesh = obstacle.mesh;
    add_part(std::move(part), obstacle_kind, "obstacles/" + obstacle.contact);
  }
  for (const SpringInfo& spring : model.springs) {
    Part part;
    part.mesh.points = {spring.a.offset, spring.b.offset};
    part.mesh.add_cell(CellType::line, {0, 1});
    part.attached = {spring.a.node, spring.b.node};
    add_part(std::move(part), spring_kind, "springs/" + spring.name);
  }
  add_joints();
  add_fixed_points();
  add_contacts();

  piece_.add_point_field("displacement", 3);
  piece_.add_point_field("velocity", 3);
  piece_.add_point_field("contact_force", 3);
  piece_.add_point_field("gap", 1);
  add_unit("displacement", "m");
  add_unit("velocity", "m/s");
  add_unit("contact_force", "N");
  add_unit("gap", "m");
  piece_.add_cell_field("kind", 1);
  piece_.add_cell_field("body", 1);
  piece_.add_cell_field("block", 1);
  piece_.cell_fields[kind].values = std::move(kinds_);
  piece_.cell_fields[body_number].values = std::move(bodies_);
  piece_.cell_fields[block_number].values = std::move(blocks_);
  add_element_fields();
}

void VtuOutput::add_unit(const std::string& field, const std::string& si) {
  if (const std::string unit = model_.output.unit(si); !unit.empty()) piece_.units.push_back(with_unit(field, unit));
}

void VtuOutput::add_part(Part part, Kind kind_of_part, const std::string& block, int body) {
  part.first_cell = piece_.cell_count();
  part.first_point = piece_.append(part.mesh);
  parts_.push_back(std::move(part));
  mark_cells(kind_of_part, block, body);
}

// Of the cells that were added last.
void VtuOutput::mark_cells(Kind kind_of_cells, const std::string& block, int body) {
  if (piece_.blocks.empty() || piece_.blocks.back() != block) piece_.blocks.push_back(block);
  kinds_.resize(piece_.cell_count(), static_cast<double>(kind_of_cells));
  bodies_.resize(piece_.cell_count(), body);
  blocks_.resize(piece_.cell_count(), static_cast<double>(piece_.blocks.size() - 1));
}

// More joints or fixed points would hide the bodies and fill the files.
constexpr std::size_t most_joints = 200;

void VtuOutput::add_joints() {
  if (model_.joints.size() > most_joints) return;
  const JointPictures pictures(model_);
  for (const JointInfo& joint : model_.joints) {
    AttachedMesh picture = pictures.joint(joint);
    Part part;
    part.mesh = std::move(picture.mesh);
    part.attached = std::move(picture.nodes);
    add_part(std::move(part), joint_kind, "joints/" + joint.name);
  }
  for (const JointInfo& joint : model_.joints)
    for (StopPicture& stop : pictures.stops(joint)) {
      const std::string block = "stops/" + stop.name;
      Part part;
      part.stop = std::move(stop);
      part.mesh = StopPicture::block();
      add_part(std::move(part), stop_kind, block);
    }
}

void VtuOutput::add_fixed_points() {
  const JointPictures pictures(model_);
  for (const BodyInfo& body : model_.bodies) {
    AttachedMesh picture = pictures.fixed_points(body, most_joints);
    if (picture.mesh.points.empty()) continue;
    Part part;
    part.mesh = std::move(picture.mesh);
    part.attached = std::move(picture.nodes);
    add_part(std::move(part), joint_kind, "fixed/" + body.name);
  }
}

void VtuOutput::add_contacts() {
  std::map<int, const std::string*> names;
  for (const auto* groups : {&model_.contacts, &model_.stops, &model_.constraints})
    for (const RowGroup& group : *groups)
      for (const int row : group.rows) names[row] = &group.name;
  first_contact_point_ = piece_.point_count();
  SurfaceMesh vertex;
  vertex.points = {Vec3::Zero()};
  vertex.add_cell(CellType::vertex, {0});
  for (int i = 0; i < model_.system.conditional(); ++i) {
    const int row = model_.system.bilateral() + i;
    if (model_.system.row_kind(row) != RowKind::unilateral || !has_place(model_, row)) continue;
    contact_rows_.push_back(row);
    piece_.append(vertex);
    const auto found = names.find(row);
    mark_cells(contact_kind, "contacts/" + (found == names.end() ? std::string("others") : *found->second), -1);
  }
}

// Fields with one name form one field, whatever their body.
void VtuOutput::add_element_fields() {
  std::size_t most = 0, widest = 0;
  for (const BodyInfo& body : model_.bodies)
    for (const BodyElements& elements : body.elements)
      for (const OutputField& field : elements.block->output_fields()) {
        const std::size_t per_element =
            at(field.components) * (field.nodal ? elements.block->topology().slots.size() : 1);
        most = std::max(most, per_element * std::max(at(elements.range.size()), body.line.size()));
        if (field.nodal) widest = std::max(widest, at(field.components) + 1);
        if (std::any_of(element_fields_.begin(), element_fields_.end(),
                        [&](const ElementField& f) { return f.field.name == field.name; }))
          continue;
        add_unit(field.name, field.unit);
        const bool on_points = field.nodal || !body.line.empty();
        element_fields_.push_back({field, on_points,
                                   on_points ? piece_.add_point_field(field.name, field.components)
                                             : piece_.add_cell_field(field.name, field.components)});
      }
  element_values_.resize(most);
  node_sums_.resize(widest * at(model_.system.dofs().nodes()));
}

void VtuOutput::start(const StepView& view) {
  if (!restored_ || !same_interval_) next_ = view.state.t + interval_;
  series_.emplace(directory_, name_, resume_);
  write_atomically(directory_ / "view.py", view_script());
  if (series_->frames() == 0) write_regular(view);
}

void VtuOutput::save(NamedArrays& record) {
  record.set_number("next", next_);
  record.set_number("last", last_regular_);
  record.set("stride", {static_cast<double>(every_), interval_, model_.simulation.step});
}

void VtuOutput::restore(const NamedArrays& record, bool same_files) {
  // a continued series keeps its interval; another interval begins at the restart
  const Vector* const stride = record.find("stride");
  const bool known = stride != nullptr && stride->size() == 3;
  if (same_files && !given_stride_ && known && (*stride)[0] > 0 && (*stride)[2] == model_.simulation.step)
    every_ = static_cast<long>((*stride)[0]);
  same_interval_ = known && (*stride)[1] == interval_;
  next_ = record.number("next");
  restored_ = true;
  if (same_files) resume_ = last_regular_ = last_written_ = record.number("last");
}

void VtuOutput::after_step(const StepView& view) {
  if (!view.nominal) return;
  if (every_ > 0) {
    if (view.state.step % every_ == 0) write_regular(view);
    return;
  }
  if (view.state.t < next_ - 1e-9 * interval_) return;
  write_regular(view);
  // the next multiple of the interval; every step if the interval is below the rounding of time
  const double next = next_ + (std::floor((view.state.t - next_) / interval_ + 1e-9) + 1) * interval_;
  next_ = std::isfinite(next) && next > view.state.t ? next : view.state.t;
}

void VtuOutput::finish(const StepView& view, RunStatus) {
  // the series includes the last state, which is most important after a failure
  if (view.state.t > last_written_) write(view);
  series_->close();
}

void VtuOutput::write_regular(const StepView& view) {
  write(view);
  last_regular_ = view.state.t;
}

void VtuOutput::write(const StepView& view) {
  if (series_->frames() > 0 && view.state.t == last_written_)
    return;  // a picture was requested in a step with a regular picture
  fill(view);
  // modes of bodies whose constraints switch
  if (const Vector* const modes = ConstraintSwitches::modes_of(view.state); modes != nullptr) {
    piece_.numbers.clear();
    for (const BodyInfo& body : model_.bodies)
      if (const int place = ConstraintSwitches::place_of(view.system, body.name); place >= 0)
        piece_.numbers.emplace_back("mode of " + body.name, (*modes)[at(place)]);
    for (const auto& block : view.system.constraints())
      if (dynamic_cast<const SwitchingJointBlock*>(block.get()) != nullptr)
        piece_.numbers.emplace_back("mode of " + block->name(),
                                    (*modes)[at(ConstraintSwitches::place_of(view.system, block->name()))]);
  }
  series_->write(view.state.t, piece_);
  last_written_ = view.state.t;
}

std::vector<int> VtuOutput::point_nodes() const {
  std::vector<int> nodes(piece_.point_count(), -1);
  for (const Part& part : parts_) {
    if (part.body == nullptr || !part.body->in_space) continue;
    for (std::size_t i = 0; i < part.mesh.points.size(); ++i) nodes[part.first_point + i] = part.node(i);
  }
  return nodes;
}

const VtuPiece& VtuOutput::fill(const StepView& view) {
  for (const Part& part : parts_) {
    if (part.obstacle != nullptr) {
      if (part.obstacle->motion != nullptr)
        fill_moving_obstacle(view, part);
      else if (!filled_)
        piece_.place(part.first_point, part.mesh, Vec3::Zero(), Mat3::Identity());
    } else if (part.stop) {
      fill_stop(view, part);
    } else if (part.body == nullptr) {
      for (std::size_t i = 0; i < part.attached.size(); ++i)
        fill_point(part.first_point + i, material_point(view, part.attached[i], part.mesh.points[i]));
    } else {
      fill_body(view, part);
      fill_element_fields(view, part);
    }
  }
  fill_contacts(view);
  filled_ = true;
  return piece_;
}

void VtuOutput::fill_moving_obstacle(const StepView& view, const Part& part) {
  const PrescribedMotion& motion = *part.obstacle->motion;
  const PrescribedMotion::Pose pose = motion.at(view.state.t);
  const PrescribedMotion::Pose start = motion.at(start_time_);
  piece_.place(part.first_point, part.mesh, pose.origin - pose.Q * motion.about, pose.Q);
  double* u = piece_.point_fields[displacement].values.data() + 3 * part.first_point;
  double* v = piece_.point_fields[velocity].values.data() + 3 * part.first_point;
  for (const Vec3& p : part.mesh.points) {
    const Vec3 arm = p - motion.about, turned = pose.Q * arm;
    const Vec3 moved = pose.origin + turned - (start.origin + start.Q * arm);
    const Vec3 rate = pose.velocity + pose.omega.cross(turned);
    for (int c = 0; c < 3; ++c) {
      *u++ = moved[c];
      *v++ = rate[c];
    }
  }
}

void VtuOutput::fill_body(const StepView& view, const Part& part) {
  if (!part.body->in_space) return fill_point(part.first_point, coordinate_point(view, *part.body));
  const std::vector<int>& sections = part.body->mesh_sections;
  int current = -1;
  SectionMotion section;
  for (std::size_t i = 0; i < part.mesh.points.size(); ++i) {
    const Vec3& offset = part.mesh.points[i];
    if (i >= sections.size() || sections[i] < 0) {
      fill_point(part.first_point + i, material_point(view, part.node(i), offset));
      continue;
    }
    if (sections[i] != std::exchange(current, sections[i]))
      section = section_motion(view, part.body->sections[at(current)]);
    const Vec3 x = section.now.x + section.now.R * offset;
    fill_point(part.first_point + i, {x, x - (section.start.x + section.start.R * offset),
                                      section.now.R * (section.v.head<3>() + section.v.tail<3>().cross(offset))});
  }
}

// Displacements since the first picture are no matter for a block that only shows a limit.
void VtuOutput::fill_stop(const StepView& view, const Part& part) {
  part.stop->place(view, stop_points_);
  for (std::size_t i = 0; i < stop_points_.size(); ++i)
    fill_point(part.first_point + i, {stop_points_[i], Vec3::Zero(), Vec3::Zero()});
}

// Of a beam or bar, whose elements are in the order of the line.
void VtuOutput::fill_line_field(const StepView& view, const Part& part, const ElementField& field) {
  double* middles = element_values_.data();
  const int width = field.field.components;
  for (const BodyElements& elements : part.body->elements) {
    const auto fields = elements.block->output_fields();
    if (std::ranges::find(fields, field.field.name, &OutputField::name) == fields.end()) return;
    read_element_field(view.system, *elements.block, field.field.name, elements.range, view.state, velocities_,
                       middles);
    middles += width * elements.range.size();
  }
  double* to = piece_.point_fields[field.place].values.data() + at(width) * part.first_point;
  for (const LinePlace& place : part.body->mesh_places) {
    value_along(part.body->line, element_values_.data(), width, place, to);
    to += width;
  }
}

void VtuOutput::fill_element_fields(const StepView& view, const Part& part) {
  for (const ElementField& element_field : element_fields_) {
    if (!part.body->line.empty()) {
      fill_line_field(view, part, element_field);
      continue;
    }
    const auto& [field, on_points, place] = element_field;
    const std::size_t width = at(field.components), stride = width + 1;
    bool found = false;
    if (field.nodal) std::fill(node_sums_.begin(), node_sums_.end(), 0.0);
    for (const BodyElements& elements : part.body->elements) {
      const auto fields = elements.block->output_fields();
      if (std::ranges::find(fields, field.name, &OutputField::name) == fields.end()) continue;
      found = true;
      const Topology& topology = elements.block->topology();
      read_element_field(view.system, *elements.block, field.name, elements.range, view.state, velocities_,
                         element_values_.data());
      const double* value = element_values_.data();
      if (!field.nodal) {
        double* to = piece_.cell_fields[place].values.data() + width * (part.first_cell + elements.first_cell);
        for (int e = elements.range.first; e < elements.range.last; ++e, value += width)
          for (std::size_t cell = 0; cell < elements.cells_per_element; ++cell) to = std::copy_n(value, width, to);
        continue;
      }
      for (int e = elements.range.first; e < elements.range.last; ++e)
        for (int slot = 0; slot < static_cast<int>(topology.slots.size()); ++slot) {
          double* sum = node_sums_.data() + stride * at(topology.node(e, slot));
          for (std::size_t c = 0; c < width; ++c) sum[c] += *value++;
          sum[width] += 1;
        }
    }
    if (!field.nodal || !found) continue;
    double* to = piece_.point_fields[place].values.data() + width * part.first_point;
    for (std::size_t i = 0; i < part.mesh.points.size(); ++i) {
      const double* sum = node_sums_.data() + stride * at(part.node(i));
      for (std::size_t c = 0; c < width; ++c) *to++ = sum[width] > 0 ? sum[c] / sum[width] : 0.0;
    }
  }
}

void VtuOutput::fill_point(std::size_t point, const MaterialPoint& p) {
  for (int c = 0; c < 3; ++c) {
    const std::size_t i = 3 * point + at(c);
    piece_.points[i] = p.x[c];
    piece_.point_fields[displacement].values[i] = p.displacement[c];
    piece_.point_fields[velocity].values[i] = p.velocity[c];
  }
}

VtuOutput::MaterialPoint VtuOutput::material_point(const StepView& view, int node, const Vec3& offset) const {
  if (node < 0) return {offset, Vec3::Zero(), Vec3::Zero()};  // ground
  const System& system = view.system;
  const int o = system.dofs().configuration_offset(node);
  const NodeKind node_kind = system.dofs().kind(node);
  const PointState now = point_state(view.state.q.data() + o, node_kind, offset);
  const PointState start = point_state(system.initial_configuration().data() + o, node_kind, offset);
  std::array<double, 6> local{};
  for (int c = 0; c < 6; ++c)
    if (const int e = system.dofs().equation(node, c); e >= 0) local[at(c)] = view.state.v[at(e)];
  return {now.x, now.x - start.x, point_velocity(now, offset, local.data())};
}

// A section between two nodes, H(s) = H_A exp(s d) with d = log(H_A^-1 H_B), now and at the start, and its velocity:
//
//   v(s) = Ad(exp(s d))^-1 v_A + s T(s d) d',   d' = T^-1(d) v_B - T^-1(-d) v_A
VtuOutput::SectionMotion VtuOutput::section_motion(const StepView& view, const HelixSection& section) const {
  using Vec6 = se3::Vector6<double>;
  const System& system = view.system;
  const auto end_of = [&](In q, int node, const Mat3& R) {
    const double* const entries = q.data() + system.dofs().configuration_offset(node);
    const PointState p = point_state(entries, NodeKind::frame, Vec3::Zero());
    return se3::Frame<double>{p.R * R, p.x};
  };
  const auto rate_of = [&](const se3::Frame<double>& H, int node, const Mat3& R) {
    Vec6 v = Vec6::Zero();
    for (int c = 0; c < 6; ++c)
      if (const int e = system.dofs().equation(node, c); e >= 0) v[c] = view.state.v[at(e)];
    v.head<3>() = H.R.transpose() * v.head<3>().eval();
    v.tail<3>() = R.transpose() * v.tail<3>().eval();
    return v;
  };
  const double s = section.share;
  const se3::Frame<double> A = end_of(view.state.q, section.node_a, section.R_a),
                           B = end_of(view.state.q, section.node_b, section.R_b);
  const Vec6 d = se3::log(se3::compose(se3::inverse(A), B));
  const se3::Frame<double> part = se3::exp(Vec6(s * d));
  const Vec6 v_a = rate_of(A, section.node_a, section.R_a), v_b = rate_of(B, section.node_b, section.R_b);
  const Vec6 d_rate = se3::tangent_inverse(d) * v_b - se3::tangent_inverse(Vec6(-d)) * v_a;

  const In q_0 = system.initial_configuration();
  const se3::Frame<double> A_0 = end_of(q_0, section.node_a, section.R_a),
                           B_0 = end_of(q_0, section.node_b, section.R_b);
  const Vec6 d_0 = se3::log(se3::compose(se3::inverse(A_0), B_0));
  return {se3::compose(A, part), se3::compose(A_0, se3::exp(Vec6(s * d_0))),
          se3::adjoint_inverse(part) * v_a + s * (se3::tangent(Vec6(s * d)) * d_rate)};
}

// The point whose coordinates x, y and z are coordinates of a body.
VtuOutput::MaterialPoint VtuOutput::coordinate_point(const StepView& view, const BodyInfo& body) {
  const System& system = view.system;
  MaterialPoint p{Vec3::Zero(), Vec3::Zero(), Vec3::Zero()};
  for (int c = 0; c < 3; ++c) {
    const int node = body.axes[at(c)];
    if (node < 0) continue;
    const std::size_t entry = at(system.dofs().configuration_offset(node));
    p.x[c] = view.state.q[entry];
    p.displacement[c] = p.x[c] - system.initial_configuration()[entry];
    p.velocity[c] = view.state.v[at(system.dofs().equation(node, 0))];
  }
  return p;
}

void VtuOutput::fill_contacts(const StepView& view) {
  const System& system = view.system;
  for (std::size_t i = 0; i < contact_rows_.size(); ++i) {
    const int row = contact_rows_[i];
    const std::size_t point = first_contact_point_ + i;
    const ConstraintBlock::Place place = system.row_contact_place(row, view.state.q, view.state.v, view.state.t);
    const double force = view.integrator.row_force(view.state, row);
    // the body's contact point
    const System::RowPlace row_place = system.row_place(row);
    const Topology& topology = system.constraints()[at(row_place.block)]->topology();
    // the first side of a stop may be the ground; both sides of a row without a pair are
    int node = topology.node(row_place.item, 0);
    if (node < 0 && topology.slots.size() > 1) node = topology.node(row_place.item, 1);
    Vec3 offset = place.point;
    const BodyInfo* const body = body_of_coordinates(model_, row);
    if (body == nullptr && node >= 0) {
      const double* q = view.state.q.data() + system.dofs().configuration_offset(node);
      const PointState center = point_state(q, system.dofs().kind(node), Vec3::Zero());
      offset = center.R.transpose() * (place.point - center.x);
    }
    fill_point(point, body != nullptr ? coordinate_point(view, *body) : material_point(view, node, offset));
    Vec3 whole = force * place.normal;
    for (int k = 1; k < std::min(slip_rows, system.row_block(row).rows()); ++k)  // friction
      whole += view.integrator.row_force(view.state, row + k) *
               system.row_contact_place(row + k, view.state.q, view.state.v, view.state.t).normal;
    for (int c = 0; c < 3; ++c) piece_.point_fields[contact_force].values[3 * point + at(c)] = whole[c];
    piece_.point_fields[gap].values[point] = system.row_gap(row, view.state.q, view.state.t);
  }
}

}  // namespace carom
