// Declarations of bodies and obstacles.

#include <algorithm>
#include <cmath>

#include "io/json_source.hpp"
#include "io/model_spec.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

json zero3() { return json::array({0, 0, 0}); }

Key body_name() { return required("name", name(), "name of the body"); }

// ---- Rigid bodies

Node shape_spec() {
  const Node length = number("length").above(0);
  return tagged("shape",
                {
                    {"box",
                     "a box along the body's axes",
                     {required("size", list("lengths", length).of_length({3}), "edge lengths")}},
                    {"sphere", "a ball", {required("radius", length, "radius")}},
                    {"cylinder",
                     "a cylinder about one of the body's axes",
                     {required("radius", length, "radius"), required("length", length, "length along its axis"),
                      preset("axis", choice({{"x", "the body's first axis"}, {"y", "the second"}, {"z", "the third"}}),
                             "z", "its axis")}},
                    {"mesh",
                     "a closed surface from an STL file",
                     {required("file", string("path"), "the file, relative to the model"),
                      preset("scale", number().above(0), 1, "factor of its coordinates")}},
                });
}

Node orientation_spec() {
  return object(
             "orientation",
             {
                 optional("axis", nonzero_vector3("number"), "axis of a rotation, of any length"),
                 optional("angle", number("angle"), "its angle"),
                 optional("quaternion",
                          list("numbers", number()).of_length({4}).with([](const json& q, std::string&) -> std::string {
                            for (const json& x : q)
                              if (x.get<double>() != 0.0) return {};
                            return "expected a quaternion that is not zero, got " + brief(q);
                          }),
                          "[w, x, y, z]; it is normalised"),
                 optional("rotation_vector", vector3("angle"), "axis times angle"),
             })
      .exactly_one({{"axis", "angle"}, {"quaternion"}, {"rotation_vector"}});
}

/// What a homogeneous body can have: moments >= 0 that obey the triangle inequality.
std::string check_inertia(const json& inertia, std::string&) {
  const auto at = [&](std::size_t i) { return inertia[i].get<double>(); };
  double scale = 0.0;
  for (const json& x : inertia) scale = std::max(scale, std::abs(x.get<double>()));
  const double small = 1e-9 * scale;

  if (inertia.size() == 6) {
    // sum(r r^T dm) = trace(J)/2 I - J must be positive semidefinite: all its principal minors are >= 0.
    const double half = 0.5 * (at(0) + at(1) + at(2));
    const double a = half - at(0), b = half - at(1), c = half - at(2), d = -at(3), e = -at(4), f = -at(5);
    const double determinant = a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e);
    const double least = std::min({a, b, c});
    const double minor = std::min({a * b - d * d, a * c - e * e, b * c - f * f});
    if (least >= -small && minor >= -small * scale && determinant >= -small * scale * scale) return {};
    return "expected an inertia that a body can have (sum of r r^T dm not negative), got " + brief(inertia);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (at(i) < 0.0) return "expected moments of inertia >= 0, got " + brief(inertia);
    if (at(i) > at((i + 1) % 3) + at((i + 2) % 3) + small)
      return "expected moments of inertia none of which is larger than the sum of the others, got " + brief(inertia);
  }
  return {};
}

std::string check_rigid(const json& body, std::string& where) {
  const json& fixed = body["fixed"];
  const bool rotates = std::find(fixed.begin(), fixed.end(), "rotation") == fixed.end();
  if (rotates && !body.contains("shape") && !body.contains("inertia"))
    return "expected the key \"inertia\" or \"shape\": a body that rotates needs an inertia";
  const json& points = body["points"];
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i]["name"] != "center" && points[i]["name"] != "vertices") continue;
    where = "/points/" + std::to_string(i) + "/name";
    return "the name " + brief(points[i]["name"]) + " has a meaning of its own; choose another";
  }
  return {};
}

const std::vector<Word>& translations() {
  static const std::vector<Word> words = {
      {"x", "translation along x"}, {"y", "translation along y"}, {"z", "translation along z"}};
  return words;
}

Node rigid_spec() {
  std::vector<Word> fixed = translations();
  fixed.push_back({"translation", "all three translations"});
  fixed.push_back({"rotation", "all three rotations"});
  const Node point = object("point", {required("name", name(), "name of the point: referred to as \"body.point\""),
                                      required("at", vector3("length"), "place from the centre of mass, body axes")});
  return object(
             "rigid body",
             {
                 body_name(),
                 optional("mass", number("mass").at_least(0), "mass"),
                 optional("density", number("density").above(0), "mass per volume of the shape"),
                 optional("inertia",
                          list("moments of inertia", number("moment of inertia")).of_length({3, 6}).with(check_inertia),
                          "about the centre of mass, body axes: 3 principal moments, or xx, yy, zz, xy, xz, yz of "
                          "the tensor (default: that of the homogeneous shape)"),
                 optional("shape", shape_spec(), "shape, centred at the centre of mass"),
                 preset("position", vector3("length"), zero3(), "initial place of the centre of mass"),
                 optional("orientation", orientation_spec(),
                          "initial rotation from inertial to body axes (default: none)"),
                 preset("velocity", vector3("velocity"), zero3(), "initial velocity of the centre of mass"),
                 preset("angular_velocity", vector3("angular velocity"), zero3(),
                        "initial angular velocity, body axes"),
                 preset("points", list("points", point), json::array(), "named points of the body"),
                 preset("fixed", list("directions", choice(fixed)).unique(), json::array(), "what cannot move"),
             })
      .exactly_one({{"mass"}, {"density"}})
      .needs("density", "shape")
      .with(check_rigid);
}

// ---- Point masses and bars

Node point_mass_spec() {
  return object("point mass", {
                                  body_name(),
                                  required("mass", number("mass").at_least(0), "mass"),
                                  preset("position", vector3("length"), zero3(), "initial place"),
                                  preset("velocity", vector3("velocity"), zero3(), "initial velocity"),
                                  preset("radius", number("length").at_least(0), 0, "radius for contact and drawing"),
                                  preset("fixed", list("directions", choice(translations())).unique(), json::array(),
                                         "what cannot move"),
                              });
}

Node bar_spec() {
  return object(
             "bar",
             {
                 body_name(),
                 required("from", vector3("length"), "place of the first node, \"start\""),
                 required("to", vector3("length"), "place of the last node, \"end\""),
                 preset("elements", integer().at_least(1).at_most(1000000), 1,
                        "elements of equal length; nodes are counted from 0"),
                 required("material", reference("material", Target::material), "name of its material"),
                 required("section", reference("section", Target::section), "name of its cross section"),
                 preset("kinematics",
                        choice({{"linear", "small axial displacements along the bar, one degree of freedom per node"},
                                {"nonlinear", "large displacements in space, no bending stiffness"}}),
                        "nonlinear", "what its nodes can do"),
                 preset("mass",
                        choice({{"consistent", "from the linear interpolation"},
                                {"lumped", "half of each element's mass at its nodes"}}),
                        "consistent", "the mass matrix"),
                 preset("velocity", vector3("velocity"), zero3(), "initial velocity of all nodes"),
                 preset("fixed", list("points of the bar", reference("point of the bar", Target::node_of_bar)).unique(),
                        json::array(), "nodes that cannot move: \"start\", \"end\", \"node.3\""),
             })
      .with([](const json& bar, std::string& where) -> std::string {
        if (bar["from"] != bar["to"]) return {};
        where = "/to";
        return "expected a place different from \"from\", got " + brief(bar["to"]);
      });
}

// ---- Obstacles

Node motion_spec() {
  const Node rotation = object("rotation", {required("axis", nonzero_vector3("number"), "axis, of any length"),
                                            required("angle", time_function("angle"), "angle as a function of time"),
                                            preset("about", vector3("length"), zero3(), "a point on the axis")});
  return object("motion", {optional("translation", list("components", time_function("length")).of_length({3}),
                                    "displacement as functions of time"),
                           optional("rotation", rotation, "rotation as a function of time, before the translation")})
      .at_least_one({{"translation"}, {"rotation"}});
}

}  // namespace

Node bodies_spec() {
  return list("bodies", tagged("body",
                               {
                                   {"rigid", "a rigid body", rigid_spec()},
                                   {"point_mass", "a mass without rotation", point_mass_spec()},
                                   {"bar", "a straight bar that takes axial forces", bar_spec()},
                               }))
      .nonempty();
}

Node obstacle_spec() {
  const Node length = number("length").above(0);
  const Key motion = optional("motion", motion_spec(), "prescribed motion (default: at rest)");
  const Key side = preset("side", choice({{"outside", "bodies are outside"}, {"inside", "bodies are inside"}}),
                          "outside", "where the free space is");
  return tagged(
      "obstacle",
      {
          {"plane",
           "a half space",
           {preset("point", vector3("length"), zero3(), "a point of the plane"),
            required("normal", nonzero_vector3("number"), "normal into the free space, of any length"), motion,
            optional("draw_size", length, "edge length of its picture (default: that of the model)")}},
          {"sphere",
           "a ball, or the inside of one",
           {required("center", vector3("length"), "centre"), required("radius", length, "radius"), side, motion}},
          {"cylinder",
           "a cylinder, or the inside of one",
           {required("center", vector3("length"), "a point of the axis: the middle of its length"),
            required("axis", nonzero_vector3("number"), "direction of the axis, of any length"),
            required("radius", length, "radius"), optional("length", length, "length (default: infinite)"), side,
            motion,
            optional("draw_size", length, "length of the picture of an infinite one (default: that of the model)")}},
      });
}

}  // namespace carom
