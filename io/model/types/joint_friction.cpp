#include "io/model/types/joint_friction.hpp"

#include <memory>
#include <utility>

#include "elements/joints/joint_friction.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

template <int rows, bool linear>
const ConstraintBlock* add_block(System& system, std::vector<JointFriction> items) {
  return &system.add(std::make_unique<JointFrictionBlock>("joint friction", std::move(items), rows, linear));
}
const JointPool<JointFriction> of_one_row{75, add_block<1, false>}, of_two_rows{76, add_block<2, false>},
    of_three_rows{77, add_block<3, false>}, of_one_linear_row{78, add_block<1, true>};

bool is_moment(FrictionOf of) { return of == FrictionOf::angle || of == FrictionOf::rotation; }

}  // namespace

Key friction_key(FrictionOf of) {
  const std::string constant = is_moment(of) ? "torque" : "force", what = is_moment(of) ? "moment" : "force";
  const std::string reaction = of == FrictionOf::rotation ? "the force of the joint" : "the force across the axis";
  std::vector<Key> keys = {optional("coefficient", number().at_least(0),
                                    "Coulomb's coefficient of " + reaction + ", by which friction follows the load")};
  if (of != FrictionOf::displacement) {
    const Key radius{"radius",
                     number("length").above(0),
                     of == FrictionOf::both,
                     {},
                     of == FrictionOf::rotation ? "radius of the ball" : "radius of the bearing"};
    keys.push_back(radius);
  }
  if (of == FrictionOf::angle)
    keys.push_back(optional("thrust_radius", number("length").above(0),
                            "mean radius of the collar that takes the force along the axis; without the key that force "
                            "has no friction"));
  if (of != FrictionOf::rotation)
    keys.push_back(optional("length", number("length").above(0),
                            "length of the bearing, whose ends take moments across the axis by opposite forces; "
                            "its middle is the joint's second point, with which it moves; without the key such moments "
                            "have no friction"));
  keys.push_back(optional(constant, time_function(constant),
                          "part of the largest " + what +
                              " that does not follow the load, such as that of a brake or "
                              "of a preload, as a function of time; negative values count as zero"));
  Node node = object("friction", std::move(keys)).at_least_one({{"coefficient"}, {constant}});
  if (is_moment(of)) node = node.needs("coefficient", "radius").needs("radius", "coefficient");
  if (of == FrictionOf::angle) node = node.needs("thrust_radius", "coefficient");
  if (of != FrictionOf::rotation) node = node.needs("length", "coefficient");
  return optional("friction", std::move(node), "dry friction with stiction, against every relative motion it leaves");
}

void add_friction(BuildContext& context, const JointSource& joint, FrictionOf of, const Vec3& axis, JointParts& parts) {
  if (!joint.json->contains("friction")) return;
  const json& f = (*joint.json)["friction"];
  const std::string pointer = joint.pointer + "/friction";
  if (joint.json->contains("driver"))
    return context.error(pointer,
                         "expected a joint without a driver, which would hold the motion whatever the friction");
  if (of == FrictionOf::rotation && !joint.both_oriented())
    return context.error(pointer,
                         "expected joints of bodies with rotation, or of one with the ground: points without "
                         "rotation have no relative rotation that friction could resist");
  JointFriction item;
  item.name = joint.name;
  item.axis = joint.R_a.transpose() * axis;
  const auto number = [&](const char* key, double otherwise) {
    return f.contains(key) ? f[key].get<double>() : otherwise;
  };
  item.coefficient = number("coefficient", 0);
  item.thrust_radius = number("thrust_radius", 0);
  item.length = number("length", 0);
  if (of == FrictionOf::both)
    item.lever = number("radius", 1);
  else if (of != FrictionOf::displacement)
    item.radius = number("radius", 1);
  const char* const constant = is_moment(of) ? "torque" : "force";
  if (f.contains(constant)) {
    item.constant = context.time_function(f[constant], pointer + "/" + constant);
    if (item.constant.is_constant() && item.constant.value(0) < 0)
      return context.error(pointer + "/" + constant,
                           "expected a " + std::string(constant) + " >= 0, got " + brief(f[constant]));
  }
  item.coordinate = displacement_along(joint, axis);
  if (of == FrictionOf::angle) item.coordinate = angle_about(joint, axis);
  if (of == FrictionOf::both) item.angle = angle_about(joint, axis);
  const bool linear = of == FrictionOf::displacement && !joint.a_is_frame && !joint.b_is_frame;
  parts.append_friction(of == FrictionOf::both       ? of_two_rows
                        : of == FrictionOf::rotation ? of_three_rows
                        : linear                     ? of_one_linear_row
                                                     : of_one_row,
                        std::move(item));
}

}  // namespace carom
