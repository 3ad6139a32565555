// What every integrator owes its users (integrators/common/integrator.hpp), checked on small models by the physics and
// by comparison of runs. A case is one line: the keys of the method and what its paper claims.
#pragma once

#include <string>

namespace carom::test {

struct MethodCase {
  std::string name;
  /// The object "integrator" of a model without step and duration: {"type": "nsga_decoupled"}.
  std::string keys;
  bool dynamic = true;  ///< false: a path of equilibria, for which only restart, rejection and memory are checked
  double order = 2;     ///< of positions and velocities in smooth motions
  double multiplier_order = 1;  ///< of the joints' forces in smooth motions, at least; 0: no claim
  bool position_level = true;   ///< bilateral and closed unilateral rows hold at the end of a step: g = 0
  bool velocity_level = true;   ///< likewise G v + g_t = 0
  bool contacts_at_end = true;  ///< the impact law holds with the gradients at the end of the step
  bool law_at_impact = false;   ///< the law reflects the rate at the impact, not that at the start of the step
  bool keeps_matrices = false;  ///< of earlier steps, so that a rejected step changes the rounding of later ones
  bool chooses_pivots = false;  ///< of matrices without structure, anew where they change: that allocates
  bool contacts = true;         ///< false: the models are those without contacts
  bool frames = true;           ///< false: the models have nodes without rotation only
  bool restitution = true;      ///< false: contacts have none
  double steps = 1;             ///< how many times smaller the steps are, for explicit methods
  double friction = 0;          ///< of the contacts
  bool keeps_energy = false;    ///< of free bodies without dampers, to rounding
};

/// Errors in a smooth motion of a flexible pendulum with a joint fall with the claimed order.
void check_order(const MethodCase& c);
/// Joints and closed contacts hold at the claimed levels at the end of every step.
void check_levels(const MethodCase& c);
/// A run that goes on from a copy of the state and the integrator's record is the same to the last bit.
void check_restart(const MethodCase& c);
/// A step that fails leaves the state untouched to the last bit, and later steps as if it had not been tried, unless
/// matrices are kept.
void check_rejected_step(const MethodCase& c);
/// No step allocates once all contacts have been met.
void check_steps_without_allocation(const MethodCase& c);
/// Free bodies keep their linear momentum to rounding, through impacts among them; without impacts their angular
/// momentum to the method's order, and their energy where claimed.
void check_momentum(const MethodCase& c);

}  // namespace carom::test
