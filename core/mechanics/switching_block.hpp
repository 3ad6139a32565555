// SwitchingBlock: bilateral rows that change with the mode of a mechanism, g_Z(q) = g_i(q) in the mode i whose
// switching function z_i(q) is positive.
//
// Between switches the rows of the present mode are ordinary bilateral rows. While a method solves for the state behind
// a switch, the rows are those of the new mode, and their reactions act along an intermediate gradient G_E that the
// block holds (add_reaction, add_reaction_gradient, direction):
//
//   G_E(q)^T = G_-(q)^T A_- + G_+(q)^T A_+
//
// System::assemble writes G_E^T into the columns and G_+ into the rows of the matrix. The mode is a state of the block,
// as the nodes of a searching block are: the method sets it at the start of every step from State::history.
//
// Modes may have different numbers of constraints. The block has as many rows as the largest mode; the others are
// vacant in a smaller mode: value and gradient zero, and the matrix has the equation s = 0 for their multiplier.
//
// I. Patil, O. Brüls [SW24]; for several rows and persistent constraints elements/bodies/switching_rows.hpp.
#pragma once

#include <functional>
#include <string>

#include "core/mechanics/constraint_block.hpp"
#include "core/mechanics/intermediate_gradient.hpp"

namespace carom {

class SwitchingBlock;

/// The metric of the whole system at the configuration of a switch: its masses and all constraints but those of the
/// block that switches.
class SwitchMetric {
 public:
  virtual ~SwitchMetric() = default;
  /// `G`: rows with local_size entries of the block's item. False if masses and constraints are singular.
  virtual bool measure(const SwitchingBlock& block, const Eigen::MatrixXd& G, RowsInMetric& rows) = 0;
};

class SwitchingBlock : public ConstraintBlock {
 public:
  using ConstraintBlock::ConstraintBlock;

  virtual int modes() const = 0;
  virtual std::string mode_name(int mode) const = 0;
  /// The mode whose rows the block has at present.
  virtual int mode() const = 0;
  /// The rows of a mode; they act along their gradients. -1: none, all rows are vacant.
  virtual void set_mode(int mode) = 0;
  /// The present mode has no constraint in this row.
  virtual bool vacant_row(int row) const = 0;
  /// What the rows of the present mode measure (row_weights, saddle_point.hpp): the largest component of each gradient,
  /// those of rotations over `length`; rows() entries, positive. Rows of one mode may be of another unit or factor than
  /// those of the next.
  virtual void measure(const ConstraintInput& in, double length, double* weights) const = 0;
  /// z of a mode, positive where the mode holds.
  virtual double condition(int mode, const ConstraintInput& in) const = 0;

  /// Where the motion from `start` to `end` leaves a mode.
  struct Crossing {
    bool left = false;    ///< the mode does not hold at the end
    bool inside = false;  ///< the mode does not hold at a place between, but at the end: several switches
    int next = -1;        ///< the mode behind the surface; -1: none
    double share = 1;     ///< of the step before the surface is met
    std::string fault;    ///< modes that overlap, leave a hole or disagree on their surface; empty: none
  };
  /// `length` measures by what size modes may disagree.
  virtual Crossing find_crossing(int from, const ConstraintInput& start, const ConstraintInput& end,
                                 double length) const = 0;

  /// How far below zero z of `to` may be behind the surface of `from`, and in the mode itself (from = to): zero, but
  /// rounding for a mode that is entered because the model names it, and not because z is positive.
  double margin(int from, int to, const ConstraintInput& in, double length) const;
  /// A fault of the modes that shows at the start or along the path that the motion would follow for `duration` if it
  /// kept its direction and speed start.v: a start off its mode, modes that overlap, leave a hole, disagree or hold the
  /// motion on their surface; empty: none.
  virtual std::string find_fault(const ConstraintInput& start, double duration, double length) const = 0;

  /// The metric of a switch is that of the whole system: bodies of other blocks move, too.
  virtual bool needs_metric() const { return false; }
  /// The rows of `to`, with reactions along G_E from the gradients at `in`, for a motion with the velocity in.v.
  /// `metric` may be null unless needs_metric(). False if no sign leads through the surface, or the metric is singular.
  virtual bool set_switch(int from, int to, const ConstraintInput& in, double E, SwitchMetric* metric) = 0;
  /// During a switch, while `on`: reactions are those of the rows of the old mode along their gradients.
  virtual void show_old_reactions(bool on) = 0;
  /// During a switch: the rate at which the motion in.v leaves the old mode, -dz_from/dt.
  virtual double crossing_rate(int from, const ConstraintInput& in) const = 0;
  /// During a switch: the new constraints hold the motion on the surface of the old mode (a latch), z_from = 0.
  virtual bool holds_surface() const = 0;
  /// During a switch: cosine of the angle between the tangents of the modes where the constraints turn most; negative
  /// if the motion turns back by more than a right angle.
  virtual double cosine() const = 0;
  /// The directions of the reactions, rows() x local_size, row-major: G_E during a switch, otherwise G.
  virtual void direction(const ConstraintInput& in, double* F) const = 0;

 protected:
  /// The mode that a mode names as the next one; -1: that whose z is positive behind the surface.
  virtual int next(int mode) const = 0;
  /// z of a mode on its surface, but for rounding: 1e-9 of `length` along its gradient.
  virtual double rounding(int mode, const ConstraintInput& in, double length) const = 0;
  /// Another mode names it as the next one.
  bool named(int mode) const;
  /// The mode behind the surface of `from`, z(mode) being taken there; -1, with a fault, if there is none.
  int mode_behind(int from, const std::function<double(int mode)>& z, std::string& fault) const;
  /// Where the motion meets the surface of `from`: left, inside and share of a crossing. z(share): that of `from` at a
  /// share of the step.
  Crossing find_root(int from, const ConstraintInput& start, const ConstraintInput& end, double length,
                     const std::function<double(double share)>& z) const;
};

/// A row of an item without a constraint in the present mode.
inline bool vacant_row(const ConstraintBlock& block, int row) {
  const auto* const switching = dynamic_cast<const SwitchingBlock*>(&block);
  return switching != nullptr && switching->vacant_row(row);
}

}  // namespace carom
