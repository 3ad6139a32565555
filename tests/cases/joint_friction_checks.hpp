// What the tests of friction of joints share: machines, and the law after every step.
#pragma once

#include <string>

#include "case_runner.hpp"

namespace carom::cases {

/// The model of rigid bodies and joints, with the rest of the file.
Case machine(const std::string& body, const std::string& joints, double h, double duration,
             const std::string& method = "nsga_decoupled", const std::string& gravity = "[0, 0, -9.81]",
             const std::string& more = "");

/// A method for machine(), whose impacts are at their instants.
inline const char* const located = R"(nsga_decoupled", "impact": "located)";

// Bodies, each with the joint that holds it.

inline const char* const wheel = R"({"name": "wheel", "type": "rigid", "mass": 2, "inertia": [0.01, 0.02, 0.01],
  "angular_velocity": [0, 10, 0]})";
std::string bearing(const std::string& friction);

/// A rod that falls from the horizontal; rod_angle: where it is at t = 0.5 in continuous time.
inline const char* const rod = R"({"name": "rod", "type": "rigid", "mass": 1, "inertia": [0.001, 0.08333333333333333,
  0.08333333333333333], "position": [0.5, 0, 0], "points": [{"name": "pin", "at": [-0.5, 0, 0]}]})";
inline const char* const pin = R"({"name": "pin", "type": "revolute", "of": ["ground", "rod.pin"], "axis": [0, 1, 0],
  "friction": {"coefficient": 0.5, "radius": 0.2}})";
constexpr double rod_angle = -1.43025651;

inline const char* const ball = R"({"name": "ball", "type": "rigid", "mass": 2, "inertia": [0.02, 0.02, 0.02],
  "angular_velocity": [6, -3, 6], "orientation": {"axis": [1, 2, 3], "angle": 0.7}})";
inline const char* const socket = R"({"name": "socket", "type": "spherical", "of": ["ground", "ball"],
  "friction": {"coefficient": 0.3, "radius": 0.05}})";

inline const char* const ring = R"({"name": "ring", "type": "rigid", "mass": 2, "inertia": [0.02, 0.02, 0.02],
  "velocity": [0.3, 0, 0], "angular_velocity": [4, 0, 0]})";
inline const char* const shaft = R"({"name": "shaft", "type": "cylindrical", "of": ["ground", "ring"],
  "axis": [1, 0, 0], "friction": {"coefficient": 0.1, "radius": 0.1}})";

/// The first joint.
const JointInfo& joint_of(Case& c);
/// Its angle, where it is a revolute joint from the ground to the first body.
double angle_of_joint(Case& c);

/// The multipliers of friction are in their discs at both levels, after every step; friction takes energy.
class JointLawCheck {
 public:
  explicit JointLawCheck(Case& c);
  void see(const StepView& v);

  double outside = 0;  ///< |s| - R over R, at most
  double gain = 0;     ///< of the energy in a step, over its largest value

 private:
  Vector before_, q_before_;
  double energy_, scale_;
};

}  // namespace carom::cases
