// The joints: their constraints, and the drivers, springs and stops along their free coordinates.

#include <cmath>
#include <utility>

#include "io/model/types/joint_friction.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

// ---- keys

std::string check_stops(const json& stops, std::string& where) {
  if (!stops.contains("lower") || !stops.contains("upper") ||
      stops["lower"].get<double>() < stops["upper"].get<double>())
    return {};
  where = "/upper";
  return "expected an upper stop above the lower one at " + brief(stops["lower"]) + ", got " + brief(stops["upper"]);
}

// Angles are unique only within two turns of the start; see elements/joints/joint_coordinate.hpp.
Node coordinate_value(bool is_angle) {
  return is_angle ? number("angle").above(-2 * M_PI).below(2 * M_PI) : number("length");
}

// Angles wrap beyond 2 pi; the smooth motion may overshoot a stop within a step, so stops end at 6 rad.
constexpr double largest_stop = 6;

Key stops_key(const std::string& key, bool is_angle) {
  const std::string of = is_angle ? "angle" : "displacement";
  const auto value = [&] {
    return is_angle ? number("angle").at_least(-largest_stop).at_most(largest_stop) : number("length");
  };
  return optional(key,
                  object("pair of stops", {optional("lower", value(), "the smallest " + of),
                                           optional("upper", value(), "the largest " + of),
                                           preset("restitution", number().at_least(0).at_most(1), 0,
                                                  "Newton's coefficient: rate after over rate before the impact")})
                      .at_least_one({{"lower"}, {"upper"}})
                      .with(check_stops),
                  "unilateral limits of the " + of);
}

Key spring_key(const std::string& key, bool is_angle) {
  const std::string prefix = is_angle ? "torsion " : "", of = is_angle ? "angle" : "displacement";
  return optional(
      key,
      object(prefix + "spring",
             {preset("stiffness", number(prefix + "stiffness").at_least(0), 0,
                     std::string(is_angle ? "torque" : "force") + " per " + of),
              preset("damping", number(prefix + "damping").at_least(0), 0,
                     std::string(is_angle ? "torque" : "force") + " per rate of the " + of),
              preset("rest", coordinate_value(is_angle), 0, of + " without " + (is_angle ? "torque" : "force"))})
          .at_least_one({{"stiffness"}, {"damping"}}),
      "spring and damper of the " + of);
}

Key driven(const std::string& coordinate) {
  return optional(coordinate, time_function(coordinate == "angle" ? "angle" : "length"),
                  "its " + coordinate + " as a function of time");
}

Key driver_key(std::vector<Key> coordinates) {
  std::vector<std::vector<std::string>> names(coordinates.size());
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = {coordinates[i].name};
  return optional("driver", object("driver", std::move(coordinates)).at_least_one(names), "prescribed relative motion");
}

Key start_angle_key() {
  return preset("angle_at_start", coordinate_value(true), 0,
                "the angle of the start, or that of relative_orientation, from which angles are counted on");
}

// ---- rows

// Pools of all joints, in the order in which their blocks enter the system.
const ConstraintBlock* add_points(System& system, std::vector<Coincidence> items, bool rotating) {
  return &system.add(std::make_unique<CoincidenceBlock>("joints", std::move(items), rotating));
}
const ConstraintBlock* add_coordinates(System& system, std::vector<CoordinateRow> items, const char* name,
                                       ConstraintTraits traits) {
  return &system.add(std::make_unique<CoordinateBlock>(name, std::move(items), traits));
}
using Coordinates = std::vector<CoordinateRow>;
const JointPool<Coincidence> still_points{
    10, [](System& s, std::vector<Coincidence> items) { return add_points(s, std::move(items), false); }};
const JointPool<Coincidence> turning_points{
    20, [](System& s, std::vector<Coincidence> items) { return add_points(s, std::move(items), true); }};
const JointPool<Orthogonality> axes_across{
    30, [](System& s, std::vector<Orthogonality> items) -> const ConstraintBlock* {
      return &s.add(std::make_unique<OrthogonalityBlock>("joints", std::move(items)));
    }};
const JointPool<CoordinateRow> linear_coordinates{
    40, [](System& s, Coordinates items) { return add_coordinates(s, std::move(items), "joints", {.linear = true}); }};
const JointPool<CoordinateRow> coordinates{
    50, [](System& s, Coordinates items) { return add_coordinates(s, std::move(items), "joints", {}); }};
const JointPool<CoordinateRow> drivers{
    60, [](System& s, Coordinates items) { return add_coordinates(s, std::move(items), "drivers", {.moving = true}); }};
const JointPool<CoordinateRow> stops{70, [](System& s, Coordinates items) {
                                       return add_coordinates(s, std::move(items), "stops",
                                                              {.kind = RowKind::unilateral});
                                     }};
const JointPool<CoordinateSpring> springs{
    80, [](System& s, std::vector<CoordinateSpring> items) -> const ConstraintBlock* {
      s.add(std::make_unique<CoordinateSpringBlock>("joint springs", std::move(items)));
      return nullptr;
    }};

Coincidence coincidence(const JointSource& joint) {
  Coincidence c;
  c.name = joint.name;
  c.node_a = joint.a.node;
  c.node_b = joint.b.node;
  c.offset_a = joint.a.offset;
  c.offset_b = joint.b.offset;
  return c;
}

void add_coincidence(const JointSource& joint, JointParts& parts) {
  parts.append(coincidence_pool(joint.a_is_frame || joint.b_is_frame), coincidence(joint));
}

void add_parallel(const JointSource& joint, JointParts& parts) {
  for (Orthogonality& o : parallel_frames(joint.a.node, joint.R_a, joint.b.node, joint.R_b)) {
    o.name = joint.name;
    parts.append(axes_across, std::move(o));
  }
}

// The axis and two perpendicular directions, inertial, at the start, with their names in messages: letters if the axis
// is an axis of the model.
struct Axes {
  Vec3 along, across[2];
  std::string names[2];
};

Axes axes_of(const Vec3& axis) {
  Axes axes;
  axes.along = axis;
  for (int k = 0; k < 3; ++k)
    if (std::abs(axis[k]) > 1 - 1e-12) {
      for (int i = 0; i < 2; ++i) {
        axes.across[i] = Vec3::Unit((k + 1 + i) % 3);
        axes.names[i] = {"xyz"[(k + 1 + i) % 3]};
      }
      return axes;
    }
  axes.across[0] = axis.unitOrthogonal();
  axes.across[1] = axis.cross(axes.across[0]);
  axes.names[0] = "across 1";
  axes.names[1] = "across 2";
  return axes;
}

// The axis of A stays perpendicular to two directions of B: rotations about the axis are free.
void add_common_axis(const JointSource& joint, const Axes& axes, JointParts& parts) {
  for (int i = 0; i < 2; ++i)
    parts.append(axes_across, {.name = joint.name,
                               .node_a = joint.a.node,
                               .node_b = joint.b.node,
                               .alpha = joint.R_a.transpose() * axes.along,
                               .beta = joint.R_b.transpose() * axes.across[1 - i],
                               .holds = "rotation " + axes.names[i]});
}

// B's point keeps its place across a direction of A.
void hold_displacement(const JointSource& joint, const Vec3& direction, const std::string& name, JointParts& parts) {
  CoordinateRow row;
  row.name = joint.name;
  row.coordinate = displacement_along(joint, direction);
  row.holds = name;
  parts.append(joint.a_is_frame || joint.b_is_frame ? coordinates : linear_coordinates, std::move(row));
}

// The driver, spring and stops of a free coordinate.
struct CoordinateKeys {
  const char *driver, *spring, *stops;
  const char* prefix;  // prefix of the names of the stops
};

void add_free(BuildContext& context, const JointSource& joint, const JointCoordinate& coordinate,
              const CoordinateKeys& keys, JointParts& parts) {
  const json& j = *joint.json;
  const bool is_driven = j.contains("driver") && j["driver"].contains(keys.driver);
  const bool angle = coordinate.kind == JointCoordinate::Kind::angle;
  if (is_driven) {
    CoordinateRow row;
    row.name = joint.name;
    row.coordinate = coordinate;
    row.value = context.time_function(j["driver"][keys.driver], joint.pointer + "/driver/" + keys.driver,
                                      BuildContext::Needs::acceleration,
                                      angle ? BuildContext::Moves::angle : BuildContext::Moves::place);
    row.holds = "driver";
    (angle ? parts.angle_driver : parts.displacement_driver) = parts.append(drivers, std::move(row));
  }
  const bool elastic = j.contains(keys.spring) && j[keys.spring]["stiffness"].get<double>() != 0;
  if (angle && (elastic || j.contains(keys.stops))) watch_angle(context.model.system, coordinate, joint.name);
  if (j.contains(keys.spring)) {
    const json& s = j[keys.spring];
    parts.append(springs, {.name = joint.name,
                           .coordinate = coordinate,
                           .stiffness = s["stiffness"].get<double>(),
                           .damping = s["damping"].get<double>(),
                           .rest = s["rest"].get<double>()});
  }
  if (!j.contains(keys.stops)) return;
  if (is_driven)
    context.error(joint.pointer + "/" + keys.stops,
                  "a driven " + std::string(keys.driver) + " meets no stops; leave out the driver or the stops");
  for (const char* limit : {"lower", "upper"}) {
    if (!j[keys.stops].contains(limit)) continue;
    CoordinateRow row;
    row.name = joint.name + "." + keys.prefix + limit;
    row.coordinate = coordinate;
    row.value = TimeFunction::constant(j[keys.stops][limit].get<double>());
    row.sign = limit[0] == 'l' ? 1 : -1;
    row.restitution = j[keys.stops]["restitution"].get<double>();
    parts.append_stop(stops, row.name, angle, row);
  }
}

// ---- kinds

std::vector<Key> no_keys() { return {}; }

void build_fixed(BuildContext&, const JointSource& joint, JointParts& parts) {
  add_coincidence(joint, parts);
  add_parallel(joint, parts);
}

std::vector<Key> spherical_keys() { return {friction_key(FrictionOf::rotation)}; }

void build_spherical(BuildContext& context, const JointSource& joint, JointParts& parts) {
  add_coincidence(joint, parts);
  add_friction(context, joint, FrictionOf::rotation, Vec3::UnitZ(), parts);
}

// The link is part of a frame at one of its ends, or of the inertial axes between two points.
// The second point keeps its place in the axes of the first at the start, whatever "relative_orientation" says; the
// ground's axes are those of the model, in which the key tells how the second body fits.
void build_rigid_link(BuildContext& context, const JointSource& joint, JointParts& parts) {
  JointSource link = joint;
  const Vec3 span = joint.x_b - joint.x_a;
  const auto at_start = [&](const AttachedPoint& point) {
    return so3::quaternion_to_matrix(context.initial_quaternion(point));
  };
  if (joint.a_is_frame)
    link.a.offset += at_start(joint.a).transpose() * span;
  else if (joint.b_is_frame)
    link.b.offset -= (joint.a.node < 0 ? joint.R_b : at_start(joint.b)).transpose() * span;
  else
    link.a.offset += span;
  add_coincidence(link, parts);
  if (joint.both_oriented()) add_parallel(link, parts);
}

std::vector<Key> revolute_keys() {
  return {axis_key(),
          start_angle_key(),
          driver_key({driven("angle")}),
          spring_key("spring", true),
          stops_key("stops", true),
          friction_key(FrictionOf::angle)};
}

void build_revolute(BuildContext& context, const JointSource& joint, JointParts& parts) {
  const Axes axes = axes_of(direction(joint, "axis"));
  add_coincidence(joint, parts);
  add_common_axis(joint, axes, parts);
  parts.angle = angle_about(joint, axes.along, (*joint.json)["angle_at_start"].get<double>());
  add_friction(context, joint, FrictionOf::angle, axes.along, parts);
  add_free(context, joint, *parts.angle, {"angle", "spring", "stops", ""}, parts);
}

std::vector<Key> prismatic_keys() {
  return {axis_key(), driver_key({driven("displacement")}), spring_key("spring", false), stops_key("stops", false),
          friction_key(FrictionOf::displacement)};
}

void build_prismatic(BuildContext& context, const JointSource& joint, JointParts& parts) {
  const Axes axes = axes_of(direction(joint, "axis"));
  for (int i = 0; i < 2; ++i) hold_displacement(joint, axes.across[i], axes.names[i], parts);
  if (joint.both_oriented()) add_parallel(joint, parts);
  parts.displacement = displacement_along(joint, axes.along);
  add_friction(context, joint, FrictionOf::displacement, axes.along, parts);
  add_free(context, joint, *parts.displacement, {"displacement", "spring", "stops", ""}, parts);
}

std::vector<Key> cylindrical_keys() {
  return {axis_key(),
          start_angle_key(),
          driver_key({driven("angle"), driven("displacement")}),
          spring_key("spring", false),
          spring_key("torsion_spring", true),
          stops_key("stops", false),
          stops_key("angle_stops", true),
          friction_key(FrictionOf::both)};
}

void build_cylindrical(BuildContext& context, const JointSource& joint, JointParts& parts) {
  const Axes axes = axes_of(direction(joint, "axis"));
  hold_common_axis(joint, axes.along, parts);
  parts.displacement = displacement_along(joint, axes.along);
  parts.angle = angle_about(joint, axes.along, (*joint.json)["angle_at_start"].get<double>());
  add_friction(context, joint, FrictionOf::both, axes.along, parts);
  add_free(context, joint, *parts.displacement, {"displacement", "spring", "stops", ""}, parts);
  add_free(context, joint, *parts.angle, {"angle", "torsion_spring", "angle_stops", "angle_"}, parts);
}

std::vector<Key> universal_keys() {
  return {required("axis", nonzero_vector3("number"),
                   "direction of the cross's axis in the first body at the start, in the axes of the model"),
          required("second_axis", nonzero_vector3("number").like({1, 0, 0}),
                   "direction of the cross's axis in the second body, perpendicular to the first")};
}

void build_universal(BuildContext& context, const JointSource& joint, JointParts& parts) {
  const Vec3 first = direction(joint, "axis"), second = direction(joint, "second_axis");
  if (std::abs(first.dot(second)) > 1e-9)
    context.error(joint.pointer + "/second_axis", "expected a direction perpendicular to \"axis\", " +
                                                      brief((*joint.json)["axis"]) + ", got " +
                                                      brief((*joint.json)["second_axis"]));
  add_coincidence(joint, parts);
  parts.append(axes_across, {.name = joint.name,
                             .node_a = joint.a.node,
                             .node_b = joint.b.node,
                             .alpha = joint.R_a.transpose() * first,
                             .beta = joint.R_b.transpose() * second,
                             .holds = "rotation across"});
}

std::vector<Key> planar_keys() {
  return {required("normal", nonzero_vector3("number"),
                   "normal of the plane at the start, in the axes of the model, of any length")};
}

void build_planar(BuildContext&, const JointSource& joint, JointParts& parts) {
  const Axes axes = axes_of(direction(joint, "normal"));
  hold_displacement(joint, axes.along, "normal", parts);
  if (joint.both_oriented()) add_common_axis(joint, axes, parts);
}

std::vector<Key> distance_keys() {
  return {optional("length", time_function("length"),
                   "the distance of its points, constant or as a function of time (default: that of the start)")};
}

void build_distance(BuildContext& context, const JointSource& joint, JointParts& parts) {
  const double start = (joint.x_b - joint.x_a).norm();
  if (!(start > 1e-14 * std::max(joint.x_a.norm(), joint.x_b.norm())))
    return context.error(joint.pointer + "/of", "expected two points apart at the start: their direction is undefined");
  CoordinateRow row;
  row.name = joint.name;
  row.coordinate = displacement_along(joint, Vec3::UnitX());
  row.coordinate.kind = JointCoordinate::Kind::distance;
  parts.displacement = row.coordinate;
  row.holds = "length";
  row.value = TimeFunction::constant(start);
  if (joint.json->contains("length")) {
    const json& length = (*joint.json)["length"];
    row.value = context.time_function(length, joint.pointer + "/length", BuildContext::Needs::acceleration,
                                      BuildContext::Moves::place);
    const double t = time_settings(context.root()["integrator"]).start;
    if (const double l = row.value.value(t); !(l > 0))
      return context.error(joint.pointer + "/length", "expected a length > 0 at the start, got " + brief(json(l)));
  }
  if (row.value.is_constant())
    parts.append(coordinates, std::move(row));
  else
    parts.displacement_driver = parts.append(drivers, std::move(row));
}

}  // namespace

Key axis_key() {
  return required("axis", nonzero_vector3("number"),
                  "direction of its axis at the start, in the axes of the model, of any length");
}

Vec3 direction(const JointSource& joint, const char* key) { return vec3((*joint.json)[key]).stableNormalized(); }

JointCoordinate displacement_along(const JointSource& joint, const Vec3& axis) {
  JointCoordinate c;
  c.kind = JointCoordinate::Kind::displacement;
  c.node_a = joint.a.node;
  c.node_b = joint.b.node;
  c.offset_a = joint.a.offset;
  c.offset_b = joint.b.offset;
  c.axis = joint.R_a.transpose() * axis;
  return c;
}

void watch_angle(System& system, const JointCoordinate& angle, const std::string& name) {
  system.watch_angle(
      [angle](const DofMap& dofs, In q) { return coordinate_at(angle, dofs, q, CoordinateOrder::value).value; }, name);
}

JointCoordinate angle_about(const JointSource& joint, const Vec3& axis, double at_start) {
  JointCoordinate c = displacement_along(joint, axis);
  c.kind = JointCoordinate::Kind::angle;
  set_angle_frames(c, axis, joint.q_a, joint.q_b);
  const double half = 0.5 * at_start;
  c.frame_b = so3::quaternion_product(c.frame_b, Quaternion(std::cos(half), 0, 0, std::sin(half)));
  return c;
}

void hold_common_axis(const JointSource& joint, const Vec3& axis, JointParts& parts) {
  const Axes axes = axes_of(axis);
  for (int i = 0; i < 2; ++i) hold_displacement(joint, axes.across[i], axes.names[i], parts);
  add_common_axis(joint, axes, parts);
}

const JointPool<Coincidence>& coincidence_pool(bool rotating) { return rotating ? turning_points : still_points; }

std::vector<JointType> rigid_joint_types() {
  using Needs = JointType::Needs;
  return {
      {"fixed", "no relative motion of two frames", Needs::two_frames, no_keys, build_fixed},
      {"revolute", "rotation about a common axis is free", Needs::two_frames, revolute_keys, build_revolute},
      {"spherical", "two points stay together, rotations are free", Needs::nothing, spherical_keys, build_spherical},
      {"prismatic", "translation along an axis of the first body is free; of a point, its rotation is no matter",
       Needs::first_frame, prismatic_keys, build_prismatic},
      {"cylindrical", "translation along and rotation about a common axis are free", Needs::two_frames,
       cylindrical_keys, build_cylindrical},
      {"universal", "rotations about two axes that stay perpendicular, one of each body, are free", Needs::two_frames,
       universal_keys, build_universal},
      {"planar", "translations in a plane of the first body and rotation about its normal are free", Needs::first_frame,
       planar_keys, build_planar},
      {"rigid_link",
       "the second point keeps its place in the axes of the first (and two bodies their relative rotation) as if a "
       "rigid bar joined them; the axes of a point mass do not turn, so that two of them keep their direction: take a "
       "distance to let them turn",
       Needs::nothing, no_keys, build_rigid_link},
      {"distance", "two points keep their distance", Needs::nothing, distance_keys, build_distance},
  };
}

}  // namespace carom
