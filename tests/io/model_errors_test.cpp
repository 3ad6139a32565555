// Valid models with one wrong value each: the exact messages.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "io/model/model_document.hpp"

namespace {

using carom::ModelDocument;
using carom::parse_model;

const char* const right_model = R"_({
  "format": 1,
  "materials": [{"name": "steel", "type": "linear_elastic", "young": 2.1e11, "density": 7800}],
  "sections": [{"name": "thin", "type": "rectangle", "width": 0.01, "height": 0.02}],
  "bodies": [
    {"name": "arm", "type": "bar", "material": "steel", "section": "thin", "from": [0, 0, 0], "to": [1, 0, 0], "elements": 8},
    {"name": "brick", "type": "rigid", "mass": 1, "shape": {"type": "box", "size": [1, 1, 1]}, "points": [{"name": "hook", "at": [0, 0, 1]}]},
    {"name": "ball", "type": "point_mass", "mass": 1, "radius": 0.1}],
  "springs": [{"name": "coil", "of": ["brick.hook", "ball"], "stiffness": 10}],
  "joints": [{"name": "pin", "type": "spherical", "of": ["brick", "arm.start"]}],
  "loads": [{"name": "push", "type": "force", "on": "arm.node.3", "value": [0, "sin(t)", 0]}],
  "contacts": [{"name": "floor", "on": ["arm.nodes", "brick.vertices"], "obstacle": {"type": "plane", "normal": [0, 1, 0]}}],
  "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1},
  "output": {"probes": [{"name": "tip", "of": "arm.end", "quantity": "position.y"}]}
})_";

/// A value set at a pointer, and "pointer: message" for each resulting error, one per line.
struct WrongValue {
  const char *pointer, *value, *errors;
};

// clang-format off
const std::vector<WrongValue> wrong_values = {
{R"_(/bodis)_", R"_([])_",
 R"_(/bodis: unknown key "bodis"; did you mean "bodies"?)_"},
{R"_(/format)_", R"_(2)_",
 R"_(/format: expected 1, got 2)_"},
{R"_(/format)_", R"_("1")_",
 R"_(/format: expected 1, got "1")_"},
{R"_(/title)_", R"_(3)_",
 R"_(/title: expected a string, got 3)_"},
{R"_(/gravity)_", R"_([0,1])_",
 R"_(/gravity: expected a list of 3 accelerations, got [0, 1])_"},
{R"_(/gravity)_", R"_([0,"up",0])_",
 R"_(/gravity/1: expected an acceleration, got "up")_"},
{R"_(/gravity)_", R"_(9.81)_",
 R"_(/gravity: expected a list of 3 accelerations, got 9.81)_"},
{R"_(/scales)_", R"_({"length":0})_",
 R"_(/scales/length: expected a length > 0, got 0)_"},
{R"_(/scales)_", R"_({"lenght":1})_",
 R"_(/scales/lenght: unknown key "lenght"; did you mean "length"?)_"},
{R"_(/parameters)_", R"_([1])_",
 R"_(/parameters: expected an object of names and numbers, got [1])_"},
{R"_(/parameters)_", R"_({"t":1})_",
 R"_(/parameters/t: expected another name than "t", the time; reserved are t, pi, e, sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, exp, log, log10, sqrt, cbrt, abs, sign, floor, step, min, max, pow, hypot, mod, smoothstep)_"},
{R"_(/parameters)_", R"_({"sin":1})_",
 R"_(/parameters/sin: expected another name than "sin", a function of formulas; reserved are t, pi, e, sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, exp, log, log10, sqrt, cbrt, abs, sign, floor, step, min, max, pow, hypot, mod, smoothstep)_"},
{R"_(/parameters)_", R"_({"a":"b"})_",
 R"_(/parameters/a: expected a number, got "b")_"},
{R"_(/parameters)_", R"_({"a":"=b","b":"=a"})_",
 R"_(/parameters/a: parameters refer to each other in a circle: a -> b -> a)_"},
{R"_(/parameters)_", R"_({"a":"=1/0"})_",
 R"_(/parameters/a: in "=1/0" at character 3: the constant value of '/' here is not a finite number)_"},
{R"_(/parameters)_", R"_({"a":1})_",
 R"_(/parameters/a: parameter "a" is not used)_"},
{R"_(/materials)_", R"_({})_",
 R"_(/materials: expected a list of materials, got {})_"},
{R"_(/materials/0/type)_", R"_("linear_elastik")_",
 R"_(/materials/0/type: expected one of "linear_elastic", "saint_venant_kirchhoff", "corotational" or "neo_hookean", got "linear_elastik"; did you mean "linear_elastic"?)_"},
{R"_(/materials/0/type)_", R"_(null)_",
 R"_(/materials/0/type: expected one of "linear_elastic", "saint_venant_kirchhoff", "corotational" or "neo_hookean", got null)_"},
{R"_(/materials/0)_", R"_({"name":"steel"})_",
 R"_(/materials/0: missing key "type": expected one of "linear_elastic", "saint_venant_kirchhoff", "corotational" or "neo_hookean")_"},
{R"_(/materials/0/young)_", R"_("=E")_",
 R"_(/materials/0/young: in "=E" at character 2: unknown name 'E'; did you mean 'e'?)_"},
{R"_(/materials/0/young)_", R"_(-1)_",
 R"_(/materials/0/young: expected a pressure > 0, got -1)_"},
{R"_(/materials/0/poisson)_", R"_(0.5)_",
 R"_(/materials/0/poisson: expected a number in (-1, 0.5), got 0.5)_"},
{R"_(/materials/0/youngs_modulus)_", R"_(1)_",
 R"_(/materials/0/youngs_modulus: unknown key "youngs_modulus" of type "linear_elastic"; did you mean "young"?)_"},
{R"_(/materials/-)_", R"_({"name":"steel","type":"linear_elastic","young":1,"density":1})_",
 R"_(/materials/1/name: the name "steel" is already taken by /materials/0)_"},
{R"_(/materials/-)_", R"_({"name":"wood","type":"linear_elastic","young":1,"density":1})_",
 R"_(/materials/1: material "wood" is not used)_"},
{R"_(/sections/0/width)_", R"_("thick")_",
 R"_(/sections/0/width: expected a length > 0, got "thick")_"},
{R"_(/sections/0/width)_", R"_(0)_",
 R"_(/sections/0/width: expected a length > 0, got 0)_"},
{R"_(/sections/0/radius)_", R"_(1)_",
 R"_(/sections/0/radius: unknown key "radius" of type "rectangle"; allowed are "name", "width", "height", "shear_factor", "torsion_constant", "second_moments" and "type")_"},
{R"_(/sections/0)_", R"_({"name":"thin","type":"tube","outer_radius":1,"inner_radius":2})_",
 R"_(/sections/0/inner_radius: expected a length < the outer radius 1, got 2)_"},
{R"_(/sections/0/name)_", R"_("a.b")_",
 R"_(/sections/0/name: expected a name (letters, digits, _ and -, beginning with a letter or _), got "a.b"
/bodies/0/section: no section named "thin"; allowed is "a.b")_"},
{R"_(/bodies)_", R"_([])_",
 R"_(/bodies: expected a list of bodies, not empty, got [])_"},
{R"_(/bodies/0/type)_", R"_("beem")_",
 R"_(/bodies/0/type: expected one of "rigid", "point_mass", "bar", "beam", "solid", "coordinates" or "coordinate_frame", got "beem"; did you mean "beam"?)_"},
{R"_(/bodies/0/elements)_", R"_(0)_",
 R"_(/bodies/0/elements: expected an integer in [1, 1000000], got 0)_"},
{R"_(/bodies/0/elements)_", R"_(2.5)_",
 R"_(/bodies/0/elements: expected an integer in [1, 1000000], got 2.5)_"},
{R"_(/bodies/0/elements)_", R"_(1000001)_",
 R"_(/bodies/0/elements: expected an integer in [1, 1000000], got 1000001)_"},
{R"_(/bodies/0/material)_", R"_("stel")_",
 R"_(/bodies/0/material: no material named "stel"; did you mean "steel"?)_"},
{R"_(/bodies/0/section)_", R"_(3)_",
 R"_(/bodies/0/section: expected the name of a section, got 3)_"},
{R"_(/bodies/0/to)_", R"_([0,0,0])_",
 R"_(/bodies/0/to: expected a place different from "from", got [0, 0, 0])_"},
{R"_(/bodies/0/kinematics)_", R"_("nonlinar")_",
 R"_(/bodies/0/kinematics: expected "linear" or "nonlinear", got "nonlinar"; did you mean "nonlinear"?)_"},
{R"_(/bodies/0/fixed)_", R"_(["start","start"])_",
 R"_(/bodies/0/fixed/1: "start" occurs twice in this list)_"},
{R"_(/bodies/0/fixed)_", R"_(["node.9"])_",
 R"_(/bodies/0/fixed/0: body "arm" has no point "node.9"; its nodes are node.0 to node.8)_"},
{R"_(/bodies/0/fixed)_", R"_(["begin"])_",
 R"_(/bodies/0/fixed/0: body "arm" has no point "begin"; its points are "start", "end" and "node.0" to "node.8")_"},
{R"_(/bodies/1/name)_", R"_("arm")_",
 R"_(/bodies/1/name: the name "arm" is already taken by /bodies/0
/springs/0/of/0: no body named "brick"; allowed are "arm" and "ball"
/joints/0/of/0: no body named "brick"; allowed are "arm" and "ball"
/contacts/0/on/1: no body named "brick"; allowed are "arm" and "ball")_"},
{R"_(/bodies/1/name)_", R"_("ground")_",
 R"_(/springs/0/of/0: no body named "brick"; allowed are "arm" and "ball"
/joints/0/of/0: no body named "brick"; allowed are "arm" and "ball"
/contacts/0/on/1: no body named "brick"; allowed are "arm" and "ball"
/bodies/1/name: "ground" is the inertial frame; choose another name)_"},
{R"_(/bodies/1/density)_", R"_(3)_",
 R"_(/bodies/1: expected exactly one of the keys "mass" and "density", got "mass" and "density")_"},
{R"_(/bodies/1)_", R"_({"name":"brick","type":"rigid","density":3,"inertia":[1,1,1],"points":[{"name":"hook","at":[0,0,0]}]})_",
 R"_(/bodies/1/density: "density" needs the key "shape"
/contacts/0/on/1: body "brick" has no point "vertices"; allowed are "hook" and "center")_"},
{R"_(/bodies/1/shape)_", R"_({"type":"ball","radius":1})_",
 R"_(/bodies/1/shape/type: expected one of "box", "sphere", "cylinder" or "mesh", got "ball")_"},
{R"_(/bodies/1/shape/size)_", R"_([1,1,0])_",
 R"_(/bodies/1/shape/size/2: expected a length > 0, got 0)_"},
{R"_(/bodies/1/inertia)_", R"_([1,1,3])_",
 R"_(/bodies/1/inertia: expected moments of inertia none of which is larger than the sum of the others, got [1, 1, 3])_"},
{R"_(/bodies/1/inertia)_", R"_([1,1])_",
 R"_(/bodies/1/inertia: expected a list of 3 or 6 moments of inertia, got [1, 1])_"},
{R"_(/bodies/1/inertia)_", R"_([1,1,1,0,0,2])_",
 R"_(/bodies/1/inertia: expected an inertia that a body can have (sum of r r^T dm not negative), got [1, 1, 1, 0, 0, 2])_"},
{R"_(/bodies/1/orientation)_", R"_({})_",
 R"_(/bodies/1/orientation: expected exactly one of the keys ("axis" and "angle"), "quaternion" and "rotation_vector", got none)_"},
{R"_(/bodies/1/orientation)_", R"_({"axis":[0,0,1]})_",
 R"_(/bodies/1/orientation: missing key "angle": the keys "axis" and "angle" belong together)_"},
{R"_(/bodies/1/orientation)_", R"_({"axis":[0,0,0],"angle":1})_",
 R"_(/bodies/1/orientation/axis: expected a vector that is not zero, got [0, 0, 0])_"},
{R"_(/bodies/1/orientation)_", R"_({"quaternion":[1,0,0,0],"rotation_vector":[0,0,0]})_",
 R"_(/bodies/1/orientation: expected exactly one of the keys ("axis" and "angle"), "quaternion" and "rotation_vector", got "quaternion" and "rotation_vector")_"},
{R"_(/bodies/1/orientation)_", R"_({"quaternion":[0,0,0,0]})_",
 R"_(/bodies/1/orientation/quaternion: expected a quaternion that is not zero, got [0, 0, 0, 0])_"},
{R"_(/bodies/1/fixed)_", R"_(["w"])_",
 R"_(/bodies/1/fixed/0: expected one of "x", "y", "z", "translation" or "rotation", got "w")_"},
{R"_(/bodies/1/points/0/name)_", R"_("center")_",
 R"_(/bodies/1/points/0/name: the name "center" has a meaning of its own; choose another
/springs/0/of/0: body "brick" has no point "hook"; allowed is "center")_"},
{R"_(/bodies/1/points/-)_", R"_({"name":"hook","at":[0,0,0]})_",
 R"_(/bodies/1/points/1/name: the name "hook" is already taken by /bodies/1/points/0)_"},
{R"_(/bodies/2/mass)_", R"_(-1)_",
 R"_(/bodies/2/mass: expected a mass >= 0, got -1)_"},
{R"_(/bodies/2/position)_", R"_([0,0])_",
 R"_(/bodies/2/position: expected a list of 3 lengths, got [0, 0])_"},
{R"_(/bodies/2/velocity)_", R"_([0,0,true])_",
 R"_(/bodies/2/velocity/2: expected a velocity, got true)_"},
{R"_(/springs/0/of)_", R"_(["ball"])_",
 R"_(/springs/0/of: expected a list of 2 points, got ["ball"])_"},
{R"_(/springs/0/of)_", R"_(["ball","ball"])_",
 R"_(/springs/0/of: expected two different points, got "ball" twice)_"},
{R"_(/springs/0/of)_", R"_(["ball","brick.hok"])_",
 R"_(/springs/0/of/1: body "brick" has no point "hok"; did you mean "hook"?)_"},
{R"_(/springs/0/stiffness)_", R"_(-10)_",
 R"_(/springs/0/stiffness: expected a stiffness >= 0, got -10)_"},
{R"_(/springs/0)_", R"_({"name":"coil","of":["ball","brick"]})_",
 R"_(/springs/0: expected at least one of the keys "stiffness" and "damping", got none)_"},
{R"_(/springs/0)_", R"_({"name":"coil","of":["ball","ground"],"stiffness":1})_",
 R"_(/springs/0/of/1: expected a point of the ground, "ground.NAME", got "ground"; see: carom schema /ground)_"},
{R"_(/springs/0)_", R"_({"name":"coil","of":["ball","ground.hook"],"stiffness":1})_",
 R"_(/springs/0/of/1: the ground has no point "hook"; the model has no points of the ground)_"},
{R"_(/joints/0/of/1)_", R"_("amr.start")_",
 R"_(/joints/0/of/1: no body named "amr"; did you mean "arm"?)_"},
{R"_(/joints/0/of/1)_", R"_("arm")_",
 R"_(/joints/0/of/1: "arm" is a bar: expected one of its points, "arm.start", "arm.end" or "arm.node.0" and so on)_"},
{R"_(/joints/0/of/1)_", R"_("arm.nodes")_",
 R"_(/joints/0/of/1: expected one point, got "arm.nodes", which is several)_"},
{R"_(/joints/0/of/1)_", R"_("brick.hook")_",
 R"_(/joints/0/of: expected points of two bodies, got two points of "brick")_"},
{R"_(/joints/0/type)_", R"_("fixed")_",
 R"_(/joints/0/of/1: a fixed joint holds rotations too: expected a point of a rigid body, a beam or a frame that coordinates move, got "arm.start" of a body of type "bar")_"},
{R"_(/joints/0/type)_", R"_("hinge")_",
 R"_(/joints/0/type: expected one of "fixed", "revolute", "spherical", "prismatic", "cylindrical", "universal", "planar", "rigid_link" or "distance", got "hinge")_"},
{R"_(/loads/0/on)_", R"_("ground")_",
 R"_(/loads/0/on: expected a point of a body, got "ground")_"},
{R"_(/loads/0/on)_", R"_("ball.center")_",
 R"_(/loads/0/on: a point mass has no points: expected "ball", got "ball.center")_"},
{R"_(/loads/0/value/1)_", R"_("sin(tt)")_",
 R"_(/loads/0/value/1: in "sin(tt)" at character 5: unknown name 'tt'; did you mean 't'?)_"},
{R"_(/loads/0/value/1)_", R"_("=sin(t)")_",
 R"_(/loads/0/value/1: in "=sin(t)" at character 6: unknown name 't'; a formula of t is written without '=')_"},
{R"_(/loads/0/value/1)_", R"_({"times":[0,1],"values":[1]})_",
 R"_(/loads/0/value/1/values: expected a list of at least 2 forces, got [1])_"},
{R"_(/loads/0/value/1)_", R"_({"times":[0,0],"values":[1,2]})_",
 R"_(/loads/0/value/1/times/1: expected a time later than the one before, 0, got 0)_"},
{R"_(/loads/0/value/1)_", R"_({"times":[0],"values":[1]})_",
 R"_(/loads/0/value/1/times: expected a list of at least 2 times, got [0]
/loads/0/value/1/values: expected a list of at least 2 forces, got [1])_"},
{R"_(/loads/0/frame)_", R"_("local")_",
 R"_(/loads/0/frame: expected "inertial" or "body", got "local")_"},
{R"_(/loads/0)_", R"_({"name":"turn","type":"torque","on":"ball","value":[0,0,1]})_",
 R"_(/loads/0/on: expected a point of a rigid body, a beam or a frame that coordinates move, got "ball", which has no rotation (type "point_mass"))_"},
{R"_(/contacts/0/on)_", R"_([])_",
 R"_(/contacts/0/on: expected the name of a point or body or a list of points, not empty, got [])_"},
{R"_(/contacts/0/on)_", R"_("brick.corner")_",
 R"_(/contacts/0/on: body "brick" has no point "corner"; allowed are "hook", "center" and "vertices")_"},
{R"_(/contacts/0/restitution)_", R"_(1.5)_",
 R"_(/contacts/0/restitution: expected a number in [0, 1], got 1.5)_"},
{R"_(/contacts/0/between)_", R"_(["ball","brick"])_",
 R"_(/contacts/0: expected exactly one of the keys ("on" and "obstacle") and "between", got ("on" and "obstacle") and "between"
/contacts/0/between/1: expected a rigid body with the shape of a sphere or a point mass with a radius > 0, got "brick")_"},
{R"_(/contacts/0)_", R"_({"name":"c","between":["ball","brick"]})_",
 R"_(/contacts/0/between/1: expected a rigid body with the shape of a sphere or a point mass with a radius > 0, got "brick")_"},
{R"_(/contacts/0)_", R"_({"name":"c","between":["ball"]})_",
 R"_(/contacts/0/between: expected a list of at least 2 bodies, got ["ball"])_"},
{R"_(/contacts/0)_", R"_({"name":"c","on":"ball"})_",
 R"_(/contacts/0: missing key "obstacle": the keys "on" and "obstacle" belong together)_"},
{R"_(/contacts/0/obstacle/normal)_", R"_([0,0,0])_",
 R"_(/contacts/0/obstacle/normal: expected a vector that is not zero, got [0, 0, 0])_"},
{R"_(/contacts/0/obstacle/radius)_", R"_(3)_",
 R"_(/contacts/0/obstacle/radius: unknown key "radius" of type "plane"; allowed are "point", "normal", "draw_size", "motion", "surface_velocity" and "type")_"},
{R"_(/contacts/0/obstacle)_", R"_({"type":"sphere","center":[0,0,0],"radius":1,"side":"in"})_",
 R"_(/contacts/0/obstacle/side: expected "outside" or "inside", got "in")_"},
{R"_(/contacts/0/obstacle/motion)_", R"_({})_",
 R"_(/contacts/0/obstacle/motion: expected at least one of the keys "translation" and "rotation", got none)_"},
{R"_(/contacts/0/obstacle/motion)_", R"_({"rotation":{"axis":[0,0,1]}})_",
 R"_(/contacts/0/obstacle/motion/rotation: missing key "angle": expected an angle (a number, a formula of t in a string, or an object with times and values))_"},
{R"_(/integrator/step)_", R"_(0)_",
 R"_(/integrator/step: expected a time > 0, got 0)_"},
{R"_(/integrator/step)_", R"_(true)_",
 R"_(/integrator/step: expected a time > 0, got true)_"},
{R"_(/integrator/step)_", R"_("1e-3")_",
 R"_(/integrator/step: expected a time > 0, got "1e-3")_"},
{R"_(/integrator/duration)_", R"_(-1)_",
 R"_(/integrator/duration: expected a time >= 0, got -1)_"},
{R"_(/integrator/rho_infinity)_", R"_(2)_",
 R"_(/integrator/rho_infinity: expected a number in [0, 1], got 2)_"},
{R"_(/integrator/force_corrections)_", R"_(1)_",
 R"_(/integrator/force_corrections: expected true or false, got 1)_"},
{R"_(/integrator/max_subdivisions)_", R"_(31)_",
 R"_(/integrator/max_subdivisions: expected an integer in [0, 30], got 31)_"},
{R"_(/integrator/newton)_", R"_({"tolerence":1})_",
 R"_(/integrator/newton/tolerence: unknown key "tolerence"; did you mean "tolerance"?)_"},
{R"_(/integrator)_", R"_({"type":"nsga"})_",
 R"_(/integrator/type: expected one of "nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "generalized_alpha", "event_driven", "moreau_jean", "cd_lagrange", "paoli_schatzman", "carpenter" or "static", got "nsga"; did you mean "nsga_decoupled"?)_"},
{R"_(/output/vtu)_", R"_({"every":1,"interval":1})_",
 R"_(/output/vtu: expected at most one of the keys "every" and "interval", got "every" and "interval")_"},
{R"_(/output/vtu)_", R"_({"every":0})_",
 R"_(/output/vtu/every: expected an integer >= 1, got 0)_"},
{R"_(/output/probes/0/quantity)_", R"_("positon.y")_",
 R"_(/output/probes/0/quantity: expected a quantity, got "positon.y"; did you mean "position.y"?)_"},
{R"_(/output/probes/0/quantity)_", R"_("position.w")_",
 R"_(/output/probes/0/quantity: expected a quantity, got "position.w"; did you mean "position.x"?)_"},
{R"_(/until)_", R"_([{"type":"formula","probes":["p.z"],"formula":"1"}])_",
 R"_(/until/0/probes/0: expected a name of letters, digits and _ that formulas can use, got "p.z"
/until/0/probes/0: no probe with a column "p.z"; allowed is "tip")_"},
{R"_(/until)_", R"_([{"type":"formula","probes":["e"],"formula":"e < 1"}])_",
 R"_(/until/0/probes/0: expected another name than "e", which formulas know as a constant
/until/0/probes/0: no probe with a column "e"; allowed is "tip")_"},
{R"_(/until)_", R"_([{"type":"formula","probes":["tip","tip"],"formula":"tip < 1"}])_",
 R"_(/until/0/probes/1: "tip" occurs twice in this list)_"},
{R"_(/output/probes/0/quantity)_", R"_("energy.total")_",
 R"_(/output/probes/0/of: "energy.total" belongs to the whole model and takes no "of")_"},
{R"_(/output/probes/0/quantity)_", R"_("gap")_",
 R"_(/output/probes/0/of: no contact named "arm.end"; allowed is "floor")_"},
{R"_(/output/probes/0/quantity)_", R"_("rotation")_",
 R"_(/output/probes/0/of: "rotation" needs a rigid body, a beam or a frame that coordinates move, got "arm.end" of type "bar")_"},
{R"_(/output/probes/0/name)_", R"_("t")_",
 R"_(/output/probes/0/name: expected another name than "t", the column of time)_"},
{R"_(/output/probes/0/of)_", R"_("floor")_",
 R"_(/output/probes/0/of: no body named "floor"; allowed are "arm", "ball" and "brick")_"},
{R"_(/output/probes/0)_", R"_({"name":"g","of":"floor[x]","quantity":"gap"})_",
 R"_(/output/probes/0/of: expected the name of a contact, or of one of its points as in "floor[3]", got "floor[x]")_"},
{R"_(/output/probes/0)_", R"_({"name":"g","of":"pni","quantity":"constraint_force"})_",
 R"_(/output/probes/0/of: no joint named "pni"; did you mean "pin"?)_"},
{R"_(/output/probes/0)_", R"_({"name":"g","quantity":"gap"})_",
 R"_(/output/probes/0: missing key "of": expected the name of a contact for "gap")_"},
};
// clang-format on

std::string errors_of(const ModelDocument& document) {
  std::string out;
  for (const carom::ModelIssue& issue : document.issues())
    out += (out.empty() ? "" : "\n") + issue.pointer + ": " + issue.message;
  return out;
}

}  // namespace

TEST_CASE("model errors: the model that the wrong values are put into is right") {
  CHECK(parse_model(right_model, "model.json").report() == "");
}

TEST_CASE("model errors: every wrong value gets a message that says what is allowed and what was found") {
  for (const WrongValue& wrong : wrong_values) {
    const std::string set = std::string(wrong.pointer) + "=" + wrong.value;
    INFO(set);
    const ModelDocument document = parse_model(right_model, "model.json", {set});
    CHECK_FALSE(document.ok());
    std::string found = errors_of(document);
    CHECK(found == wrong.errors);
  }
}
