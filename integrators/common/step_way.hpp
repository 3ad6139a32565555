// StepWay: contacts that a step has missed on a way that is not straight.
//
// The ends of a step show neither that an arm has swept through a ball between them, nor that its tip has dipped into a
// floor, nor that an obstacle has gone through a body. Where bodies turn, or spheres and cylinders move as obstacles,
// the way is cut into pieces: rotations have a constant rate, places the cubic with the velocities of both ends where
// bodies turn, and obstacles their prescribed motion. Pieces are straight (System::missed_contact), and a gap that is
// open at both ends of the step may not be closed at an end of a piece. Refused steps are halved, until bodies turn by
// less than `least_turn`: an arm of length L may then still dip by L least_turn^2/8.
#pragma once

#include <string>

#include "core/mechanics/state.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

class StepWay {
 public:
  static constexpr double least_turn = 0.05;  // rad

  explicit StepWay(const System& system);
  /// The contact that the step between two states has missed; empty if none (System::missed_contact).
  std::string missed_contact(const State& from, const State& to, double closing_turn);

 private:
  int pieces(double turn) const;
  void find_place(const State& from, const State& to, double turn, double share, Vector& q);

  const System* system_;
  bool turning_ = false, moving_ = false;  // contacts of arms, or of obstacles that move
  Vector q_, q_next_, move_, gaps_, gaps_from_, gaps_to_, deepest_, bent_;
  double bend_ = 0;  // the largest distance of a node from its straight way
};

}  // namespace carom
