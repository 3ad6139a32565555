// Frames whose place and rotation are formulas of the coordinates of a body.

#include "elements/bodies/coordinate_frame.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/tolerant_json.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

// ---- keys

// The variables belong to another body: building reads the formulas.
std::optional<std::vector<std::string>> of_another_body(const json&) { return std::nullopt; }

Node coordinate_frame_spec() {
  const Node rotation = object(
      "rotation", {required("axis", nonzero_vector3("number"), "its axis, in axes of the frame, of any length"),
                   required("angle", spec::formula("angle", of_another_body).like("phi"), "of coordinates and t")});
  const Node point =
      object("point", {required("name", name().like("tip"), "name of the point: referred to as \"body.point\""),
                       required("at", vector3("length"), "place from the frame, in its axes")});
  return object(
      "frame of coordinates",
      {
          body_name(),
          required("of", reference("body of coordinates", Target::coordinates),
                   "the body of type \"coordinates\" whose coordinates move the frame"),
          required("position",
                   list("lengths", spec::formula("length", of_another_body)).of_length({3}).like({"x", "y", 0}),
                   "place, one formula of coordinates and t for each of x, y and z"),
          preset("rotations", list("rotations", rotation), json::array(),
                 "rotations one after another from inertial axes, each about an axis that the earlier ones have "
                 "turned; at most " +
                     std::to_string(most_rotations)),
          preset("points", list("points", point), json::array(), "named points of the frame"),
      });
}

std::vector<Problem> frame_problems(const json& body, const json*, const json*) {
  std::vector<Problem> found;
  if (const std::size_t n = list_of(body, "rotations").size(); n > at(most_rotations))
    found.push_back({"/rotations",
                     "expected at most " + std::to_string(most_rotations) + " rotations, got " + std::to_string(n),
                     false});
  const json& points = list_of(body, "points");
  for (std::size_t i = 0; i < points.size(); ++i)
    if (text_of(points[i], "name") == "center")
      found.push_back({"/points/" + std::to_string(i) + "/name",
                       "the name \"center\" has a meaning of its own; choose another", false});
  return found;
}

std::string coordinate_frame_point_error(const json& body, const std::string* point, PointUse use) {
  if (use == PointUse::element) return "a frame of coordinates has no elements";
  if (point == nullptr) return {};
  std::vector<std::string> points = names_of(list_of(body, "points"));
  points.emplace_back("center");
  if (std::find(points.begin(), points.end(), *point) != points.end()) return {};
  return "body " + in_quotes(text_of(body, "name")) + " has no point " + in_quotes(*point) + suggestion(*point, points);
}

// ---- building

class FrameReader {
 public:
  FrameReader(BuildContext& context, const BodySource& source)
      : context_(context), body_(*source.json), pointer_(source.pointer), info_(*source.info) {}

  void read() {
    if (!read_coordinates()) return;
    CoordinateFrame frame;
    frame.name = info_.name;
    frame.nodes = nodes_;
    const std::size_t issues = context_.issues.size();
    bool moves = false;
    const auto read = [&](const json& value, const std::string& pointer) {
      NamedFormula f = formula(value, pointer);
      for (std::size_t i = 0; i < nodes_.size(); ++i) moves = moves || f.formula.depends_on(i);
      return f;
    };
    for (std::size_t c = 0; c < 3; ++c)
      frame.position.push_back(read(body_["position"][c], pointer_ + "/position/" + std::to_string(c)));
    const json& rotations = body_["rotations"];
    for (std::size_t k = 0; k < rotations.size(); ++k)
      frame.rotations.push_back({vec3(rotations[k]["axis"]).stableNormalized(),
                                 read(rotations[k]["angle"], pointer_ + "/rotations/" + std::to_string(k) + "/angle")});
    if (context_.issues.size() > issues) return;
    if (!moves) {
      context_.error(pointer_, "expected a place or rotation that depends on a coordinate of " +
                                   in_quotes(text(body_["of"])) + ", got none: use a point of the ground");
      return;
    }
    add(std::move(frame));
  }

 private:
  /// The body's coordinates, their nodes and values at the start; false after a complaint.
  bool read_coordinates() {
    const std::string of = text(body_["of"]);
    const BodyInfo& owner = *context_.model.find_body(of);
    const json& bodies = context_.root()["bodies"];
    const json& source = *std::find_if(bodies.begin(), bodies.end(), [&](const json& b) { return b["name"] == of; });
    if (!source["switching"].empty()) {
      context_.error(pointer_ + "/of", "expected a body without \"switching\", got " + in_quotes(of) +
                                           ": the jump at a switch is that of the body alone, without what is joined "
                                           "to its frames");
      return false;
    }
    if (owner.nodes.empty()) return false;  // the body has errors
    names_ = names_of(source["coordinates"]);
    nodes_ = owner.nodes;
    const System& system = context_.model.system;
    for (const int node : nodes_) {
      q_.push_back(system.initial_configuration()[at(system.dofs().configuration_offset(node))]);
      v_.push_back(context_.velocities()[at(node)].first[0]);
    }
    names_.emplace_back("t");
    q_.push_back(time_settings(context_.root()["integrator"]).start);
    v_.push_back(1);
    return true;
  }

  /// The formula of a value; value and derivatives must be finite at the start.
  NamedFormula formula(const json& value, const std::string& pointer) {
    const std::string source = value.is_string() ? text(value) : value.dump();
    std::string message;
    try {
      NamedFormula f{{source, names_, context_.document.parameters()}, pointer + " " + brief(value)};
      const std::size_t m = names_.size();
      std::vector<double> numbers(m + m * m + 1);
      const std::span<double> gradient(numbers.data(), m), hessian(numbers.data() + m, m * m);
      numbers.back() = f.formula.hessian(q_, gradient, hessian);
      if (std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); })) {
        context_.add_timed(f.name, f.formula, q_, true);
        return f;
      }
      message = "expected a finite value and finite derivatives at the start, got none from " + brief(value);
    } catch (const FormulaError& e) {
      message = "in " + in_quotes(source) + " at character " + std::to_string(e.offset() + 1) + ": " + e.message();
    } catch (const std::runtime_error& e) {
      message = e.what();
    }
    context_.error(pointer, message);
    return {{"0", names_}, pointer};
  }

  void add(CoordinateFrame frame) {
    System& system = context_.model.system;
    const FrameMotion start = frame_motion(frame, q_, v_);
    const Quaternion p = so3::matrix_to_quaternion(start.R);
    const double q[7] = {start.x[0], start.x[1], start.x[2], p[0], p[1], p[2], p[3]};
    frame.node = context_.add_node(NodeKind::frame, q, info_.name, start.v, start.Omega);
    if (frame.rotations.empty())
      for (int c = 3; c < 6; ++c) system.fix(frame.node, c);
    // data for pictures, joints and probes
    info_.nodes = {frame.node};
    info_.points["center"] = {frame.node, Vec3::Zero()};
    for (const json& point : body_["points"]) info_.points[text(point["name"])] = {frame.node, vec3(point["at"])};
    info_.mesh.points = {Vec3::Zero()};
    info_.mesh.add_cell(CellType::vertex, {0});
    for (const auto& [name, point] : info_.points) context_.size = std::max(context_.size, point.offset.norm());
    const ConstraintBlock& rows = system.add(std::make_unique<CoordinateFrameBlock>(std::move(frame)));
    for (int row = 0; row < rows.rows(); ++row)
      context_.formula_rows.push_back({info_.name + " " + rows.row_name(0, row), pointer_, &rows, row});
  }

  BuildContext& context_;
  const json& body_;
  std::string pointer_;
  BodyInfo& info_;
  std::vector<std::string> names_;  // of the coordinates, and t
  std::vector<int> nodes_;
  std::vector<double> q_, v_;  // of the variables at the start
};

void build_coordinate_frames(BuildContext& context, const std::vector<BodySource>& bodies) {
  for (const BodySource& body : bodies) FrameReader(context, body).read();
}

}  // namespace

BodyType coordinate_frame_type() {
  return {.type = "coordinate_frame",
          .help = "a frame that coordinates move",
          .rotates = true,
          .keys = coordinate_frame_spec,
          .build = build_coordinate_frames,
          .point_error = coordinate_frame_point_error,
          .one_node = true,
          .problems = frame_problems};
}

}  // namespace carom
