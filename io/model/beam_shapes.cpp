#include "io/model/beam_shapes.hpp"

#include <algorithm>
#include <cmath>

#include "io/model/build_context.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/tolerant_json.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;
using Frame = se3::Frame<double>;

namespace {

constexpr int default_elements = 8;
constexpr double largest_turn = 3;  // largest rotation per element: below pi, with a margin for the motion

Node beam_shape_spec() {
  const Key from = required("from", vector3("length").like({1, 0, 0}), "place of the first node, \"start\"");
  const Key center = required("center", vector3("length").like({0, 0, 0}), "a point on its axis");
  const Key axis = required("axis", nonzero_vector3("number"), "direction of its axis, of any length");
  const Key angle = required("angle", number("angle").with([](const json& x, std::string&) {
    return x.get<double>() == 0 ? "expected an angle that is not 0" : "";
  }),
                             "angle about the axis from start to end; a negative one turns the other way");
  const Node frame =
      object("frame", {required("at", vector3("length"), "place of the node"),
                       optional("orientation", orientation_spec(),
                                "rotation of the section's frame: x along the beam, y and z the section's axes")});
  return tagged(
      "shape",
      {
          {"polyline",
           "straight sides with rigid corners",
           {required("points", list("places", vector3("length")).at_least_items(2), "start, corners and end")}},
          {"arc", "part of a circle", {from, center, axis, angle}},
          {"helix",
           "a screw line",
           {from, center, axis, angle,
            required("pitch", number("length"), "way along the axis during a turn of the angle by 2 pi")}},
          {"frames",
           "any curve, by the frames of its nodes; an element between two of them is a helix",
           {required("nodes", list("frames", frame).at_least_items(2), "one per node, start to end")}},
      });
}

// The unit vector along the part of y perpendicular to x; empty if y is parallel to x.
std::optional<Vec3> across(const Vec3& x, const Vec3& y) {
  const Vec3 unit = y.stableNormalized(), rest = unit - unit.dot(x) * x;
  if (rest.norm() < 1e-6) return std::nullopt;
  return rest.normalized();
}

Mat3 frame_axes(const Vec3& x, const Vec3& y) {
  Mat3 R;
  R << x, y, x.cross(y);
  return R;
}

// The section's axes for a tangent, from "orientation" or the default; empty if "orientation" is along the beam.
std::optional<Mat3> section_axes(const json& body, const Vec3& x) {
  std::optional<Vec3> y;
  if (body.contains("orientation"))
    y = across(x, vec3(body["orientation"]));
  else
    y = across(x, std::hypot(x[0], x[1]) > 1e-6 ? Vec3(Vec3::UnitZ().cross(x)) : Vec3(Vec3::UnitY()));
  if (!y) return std::nullopt;
  return frame_axes(x, *y);
}

// The smallest rotation from unit vector a to unit vector b, which must not be opposite.
Mat3 smallest_rotation(const Vec3& a, const Vec3& b) {
  const Vec3 c = a.cross(b);
  const Mat3 W = so3::hat(c);
  return Mat3::Identity() + W + W * W / (1 + a.dot(b));
}

std::int64_t sides_of(const json& shape) { return static_cast<std::int64_t>(list_of(shape, "points").size()) - 1; }

class Shaper {
 public:
  Shaper(const json& body, std::string& where, std::string& message) : body_(body), where_(where), message_(message) {}

  BeamShape make() {
    const std::string type = body_.contains("shape") ? text(body_["shape"]["type"]) : "straight";
    if (type == "straight" || type == "polyline")
      polyline(type);
    else if (type == "frames")
      listed();
    else
      helix(body_["shape"]);
    if (message_.empty()) twist();
    if (message_.empty()) check_turns();
    return std::move(shape_);
  }

 private:
  void complain(const std::string& where, const std::string& message) {
    if (!message_.empty()) return;
    where_ = where;
    message_ = message;
  }
  std::int64_t elements() const { return *beam_element_count(body_); }

  void polyline(const std::string& type) {
    std::vector<Vec3> points;
    if (type == "straight")
      points = {vec3(body_["from"]), vec3(body_["to"])};
    else
      for (const json& p : body_["shape"]["points"]) points.push_back(vec3(p));
    const auto place = [&](std::size_t side) {
      return type == "straight" ? "/to" : "/shape/points/" + std::to_string(side + 1);
    };

    std::vector<double> lengths;
    std::vector<Mat3> axes;
    for (std::size_t side = 0; side + 1 < points.size(); ++side) {
      const Vec3 d = points[side + 1] - points[side];
      const double length = d.stableNorm();
      if (!(length > 0) || !std::isfinite(length))
        return complain(place(side), length > 0 ? "the length of the beam is too large for double precision"
                                                : "expected a place different from the one before");
      const Vec3 x = d / length;
      if (side > 0 && x.dot(axes.back().col(0)) < -1 + 1e-9)
        return complain(place(side), "expected a side that does not run back along the one before");
      if (side > 0 && !body_.contains("orientation")) {
        axes.emplace_back(smallest_rotation(axes.back().col(0), x) * axes.back());
      } else if (const auto R = section_axes(body_, x)) {
        axes.push_back(*R);
      } else {
        return complain("/orientation", "expected a direction across the beam, got one along " +
                                            std::string(type == "straight" ? "it" : "one of its sides"));
      }
      lengths.push_back(length);
    }

    // each side has at least one element; further elements go to the side with the longest elements
    std::vector<int> counts(lengths.size(), 1);
    for (std::int64_t k = static_cast<std::int64_t>(lengths.size()); k < elements() && lengths.size() > 1; ++k) {
      std::size_t longest = 0;
      for (std::size_t side = 1; side < lengths.size(); ++side)
        if (lengths[side] / counts[side] > lengths[longest] / counts[longest] * (1 + 1e-12)) longest = side;
      ++counts[longest];
    }
    if (lengths.size() == 1) counts[0] = static_cast<int>(elements());

    for (std::size_t side = 0; side < lengths.size(); ++side) {
      const int n = counts[side];
      const auto at = [&](int k) {
        return Frame{axes[side], points[side] + (points[side + 1] - points[side]) * (static_cast<double>(k) / n)};
      };
      for (int k = 0; k < n; ++k) shape_.pieces.push_back({at(k), at(k + 1), lengths[side] / n, side > 0 && k == 0});
    }
  }

  void helix(const json& s) {
    const Vec3 from = vec3(s["from"]), center = vec3(s["center"]), n = vec3(s["axis"]).stableNormalized();
    const double angle = s["angle"].get<double>(),
                 rise = s.contains("pitch") ? s["pitch"].get<double>() / (2 * M_PI) : 0;
    const Vec3 arm = from - center, along = n.dot(arm) * n, radius = arm - along;
    const double slope = std::hypot(radius.norm(), rise), length = std::abs(angle) * slope;
    if (radius.norm() < 1e-9 * std::max(arm.norm(), std::abs(rise)) || radius.norm() == 0)
      return complain("/shape/from", "expected a place beside the axis");
    if (!std::isfinite(length)) return complain("/shape", "its length is too large for double precision");
    const double sign = angle > 0 ? 1 : -1;
    const Vec3 x = sign * (n.cross(radius) + rise * n) / slope;
    const auto axes = section_axes(body_, x);
    if (!axes) return complain("/orientation", "expected a direction across the beam at its start, got one along it");
    const std::int64_t count = elements();
    const auto at = [&](std::int64_t k) {
      const double phi = angle * static_cast<double>(k) / static_cast<double>(count);
      const Mat3 Q = so3::exp(Vec3(phi * n));
      return Frame{Q * *axes, center + along + Q * radius + rise * phi * n};
    };
    for (std::int64_t k = 0; k < count; ++k)
      shape_.pieces.push_back({at(k), at(k + 1), length / static_cast<double>(count)});
  }

  void listed() {
    const json& frames = body_["shape"]["nodes"];
    for (std::size_t k = 0; k + 1 < frames.size(); ++k) {
      const auto at = [&](std::size_t i) {
        return Frame{so3::quaternion_to_matrix(orientation(frames[i])), vec3(frames[i]["at"])};
      };
      const std::string here = "/shape/nodes/" + std::to_string(k + 1);
      const Frame A = at(k), B = at(k + 1), relative = se3::relative(A, B);
      const double turn = so3::log(relative.R).norm();
      if (turn > largest_turn)
        return complain(here,
                        "expected a frame turned by at most 3 rad against the one before, got " + brief(json(turn)));
      const se3::Vector6<double> d = se3::log(relative);
      const double length = d.head<3>().norm();
      if (!(length > 0) || !std::isfinite(length))
        return complain(here + "/at", "expected a place different from the one before");
      if (d[0] < 0.5 * length)
        return complain(here,
                        "expected a place in the direction of the first axis of the frame before: x is along the "
                        "beam");
      shape_.pieces.push_back({A, B, length});
    }
  }

  void twist() {
    const double angle = body_.contains("twist") ? body_["twist"].get<double>() : 0;
    if (angle == 0) return;
    double total = 0, s = 0;
    for (const BeamShape::Piece& p : shape_.pieces) total += p.length;
    const auto turn = [&](Frame& H) { H.R = (H.R * so3::exp(Vec3(angle * s / total, 0, 0))).eval(); };
    for (BeamShape::Piece& p : shape_.pieces) {
      turn(p.A);
      s += p.length;
      turn(p.B);
    }
  }

  void check_turns() {
    const std::string type = body_.contains("shape") ? text(body_["shape"]["type"]) : "straight";
    if (type == "frames") return;
    // rotations of arcs and twists are distributed evenly along the beam, except over the sides of a polyline
    const double twist = body_.contains("twist") ? std::abs(body_["twist"].get<double>()) : 0;
    const double arc = type == "arc" || type == "helix" ? std::abs(body_["shape"]["angle"].get<double>()) : 0;
    double total = 0, longest = 0;
    for (const BeamShape::Piece& p : shape_.pieces) total += p.length, longest = std::max(longest, p.length);
    const double turn = (twist + arc) * longest / total;
    if (turn <= largest_turn) return;
    complain(body_.contains("elements") ? "/elements" : "",
             "expected more elements: each would turn by " + brief(json(turn)) + " rad, at most 3 are possible");
  }

  const json& body_;
  std::string &where_, &message_;
  BeamShape shape_;
};

}  // namespace

std::vector<Key> beam_shape_keys() {
  return {
      optional("from", vector3("length").like({0, 0, 0}), "place of the first node, \"start\", of a straight beam"),
      optional("to", vector3("length").like({1, 0, 0}), "place of the last node, \"end\""),
      optional("shape", beam_shape_spec(), "reference shape of a beam that is not straight"),
      optional("elements", integer().at_least(1).at_most(1000000),
               "elements; nodes are counted from 0 (default: 8, or one per side of a polyline if that is more; listed "
               "frames have one between two)"),
      optional("orientation", nonzero_vector3("number"),
               "direction of the section's first axis y, as far as it is across the beam (default: horizontal, or y "
               "where the beam starts along z; z of the section follows as tangent x y)"),
      optional("twist", number("angle"), "pre-twist from start to end, evenly about the tangent (default: 0)"),
  };
}

std::string check_beam_shape(const json& body, std::string& where) {
  // all other errors appear when the nodes are placed
  const auto placed = [&] {
    std::string message;
    beam_shape(body, where, message);
    return message;
  };
  if (!body.contains("shape")) {
    if (body["from"] != body["to"]) return placed();
    where = "/to";
    return "expected a place different from \"from\", got " + brief(body["to"]);
  }
  const json& shape = body["shape"];
  const std::string type = text(shape["type"]);
  if (type == "frames")
    for (const char* key : {"elements", "orientation", "twist"})
      if (body.contains(key)) {
        where = "/" + std::string(key);
        return "listed frames say this already: expected no key " + in_quotes(key);
      }
  if (type != "polyline" || !body.contains("elements")) return placed();
  if (body["elements"].get<std::int64_t>() >= sides_of(shape)) return placed();
  where = "/elements";
  return "expected at least one element per side, " + std::to_string(sides_of(shape)) + ", got " +
         brief(body["elements"]);
}

std::optional<std::int64_t> beam_element_count(const json& body) {
  const bool shaped = body.contains("shape") && body["shape"].is_object();
  const json none = json::object();
  const json& shape = shaped ? body["shape"] : none;
  const std::string type = text_of(shape, "type");
  if (type == "frames") {
    const auto frames = static_cast<std::int64_t>(list_of(shape, "nodes").size());
    return frames < 2 ? std::nullopt : std::optional(frames - 1);
  }
  if (body.contains("elements")) return element_count(body);
  return type == "polyline" ? std::max<std::int64_t>(default_elements, sides_of(shape)) : default_elements;
}

BeamShape beam_shape(const json& body, std::string& where, std::string& message) {
  return Shaper(body, where, message).make();
}

}  // namespace carom
