// FrictionSet: active set, slip states and multipliers of the contacts of one sub-problem that has tangential rows.
//
// Where ContactSet evaluates the active set once per iteration of Newton's method, a FrictionSet has the
// complementarity and Coulomb's law of all contacts at hand solved to the end in every iteration (ConeProblem), on the
// linearised rows: contacts may open, stick and slip within one linear solve, and the outer iteration is that of a
// smooth problem. The contacts at hand are those that wanted to close in some iteration of the solve so far; their
// number only grows, so that nothing can cycle. Whether a contact is closed follows from sigma_N = s_N - p c_N > 0.
//
// Joints with friction have discs without a normal row, which are always at hand. Their radii follow the reactions of
// bilateral rows, which are unknowns of the outer iteration: they are frozen in a linear solve, and find_limits() takes
// the next ones by Anderson's mixing (FixedPoint), since plain repetition gains only a factor of about the friction
// over the lever arm.
//
// A contact has one disc for its slip and, with resistance, one for rolling and one for pivoting; the radii of all
// follow the multiplier of its normal row. Contacts without friction in the same model have no tangential rows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "contact/law/cone_problem.hpp"
#include "contact/law/fixed_point.hpp"
#include "core/base/index.hpp"
#include "core/linear/delassus.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

class FrictionSet final : public CondensedLaw {
 public:
  using Flags = std::vector<std::uint8_t>;

  explicit FrictionSet(const System& system);

  /// Weights over which the rows are lengths (one per conditional row; empty: 1).
  void measure(In weights) { weights_.assign(weights.begin(), weights.end()); }
  /// A solve begins. All flags are per conditional row and read at normal rows: `candidates`, which may close (null:
  /// all); `held`, which were closed before (null: none); `frictionless`, whose friction is left out (null: none);
  /// `first`, of the candidates, which are at hand as soon as they are candidates (null: none).
  void begin(const Flags* candidates, const Flags* held, const Flags* frictionless, const Flags* first);
  /// Multipliers near which the first linear system's solution may lie, those of the step before (one per conditional
  /// row, times `factor`): where the iteration of the first cone problem starts.
  void guess(In multipliers, double factor);
  /// Evaluates the set from the row values c (one per conditional row); `penalty` and `band` as in ContactSet::update.
  /// Returns the number of contacts that closed or opened.
  int update(In c, double penalty, double band);
  /// Whether discs of joints are present; update() and defects() then need limits() filled before.
  bool has_joints() const { return !joint_rows_.empty(); }
  /// The first rows of these discs, global, and their radii at the present multipliers, to be filled.
  std::span<const int> joint_rows() const { return joint_rows_; }
  Out limits() { return limits_; }
  /// Largest friction of a row of a joint, given by its global number, in the next solve().
  double joint_radius(int row) const { return used_.x()[at(contact_of(row - first_).joint)]; }
  /// Of a row of a joint, global: the rate of what counts as a length over the rate of the row, which may be an angle.
  double lever(int row) const { return 1 / weight(row - first_); }
  /// Takes the values of limits(), which the caller has filled, as radii of the next solve().
  void find_limits();
  /// What the law leaves, (s - projection of (s - p c))/p, in the order of working_rows().
  void defects(In c, Out defects) const;
  /// Whether a contact that wants to close, or a joint that friction may brake, moves at all: |c| > band, a length.
  /// What defects() tells before the first linear system is a guess, since p is not known then, and may be far too
  /// small.
  bool may_act(In c, double band) const;
  /// Whether one of these defects of tangential rows exceeds the tolerance; true at most once in a solve.
  bool creeps(In defects, double tolerance);
  /// Whether the radius of a joint that slips is not yet that of the present multipliers; true a few times in a solve
  /// at most, where rounding hides the answer.
  bool limits_move();
  /// The next linear system begins, whose islands solve() is called for; tolerance in the unit of c.
  void begin_linear(double tolerance) {
    tolerance_ = tolerance;
    inconsistency_ = free_ = 0;
  }
  /// The largest length or speed that a row of this linear system would have without the multipliers.
  double free_value() const { return free_; }
  bool solve(std::span<const std::size_t> rows, In D, const SparsePattern* pattern, In b, Out l) override;
  bool follows(std::size_t row) const override;
  bool takes_sparse() const override { return true; }
  /// solve() ends without a solution while *flag is not zero; null: never.
  void stop_on(const volatile std::sig_atomic_t* flag) { cone_.stop_on(flag); }
  /// The rows are linear, so another linearisation does not help: every cone problem is solved exactly.
  void solve_exactly() { exact_ = true; }
  /// Whether linear systems since begin() were solved but approximately.
  bool approximate() const { return approximate_; }
  /// Largest defect of the approximate solutions of the last linear system, in the unit of c.
  double inconsistency() const { return inconsistency_; }
  /// The normal row of a contact, or the first row of a joint, for which the last solve() that failed, or was
  /// approximate, found no solution; -1: none.
  int failed_row() const { return failed_row_; }

  /// Rows of the contacts at hand, ascending; add_increment adds in this order.
  std::span<const int> working_rows() const { return working_rows_; }
  /// Rows of the closed contacts, ascending: the normal and the tangential ones.
  std::span<const int> active_rows() const { return active_rows_; }
  /// Per conditional row: 1 for closed normal rows, a SlipState for tangential rows.
  const Flags& flags() const { return flags_; }
  Vector& multipliers() { return multipliers_; }
  const Vector& multipliers() const { return multipliers_; }
  void add_increment(In increments);
  /// The projections of s - p c, which estimate the multipliers to come.
  void augmented(In c, Out s) const;

 private:
  struct Disc {
    int first = 0, rows = 0;  // tangential rows, among the conditional rows
    double friction = 0;      // radius over the multiplier of the normal row
  };
  struct Contact {
    int row = 0;   // its normal row, among the conditional rows; of a joint the first row of its disc
    int rows = 0;  // those behind
    std::array<Disc, 3> of{};
    int count = 0;   // of discs
    int joint = -1;  // number among the joints; -1: a contact
    bool working = false, frictionless = false;
    bool at_limit = false;  // of a joint: the augmented multipliers lie beyond it
    std::span<const Disc> discs() const { return {of.data(), frictionless ? 0 : at(count)}; }
  };

  void gather_working();
  double weight(int i) const { return weights_.empty() ? 1 : weights_[at(i)]; }
  double p(int i, double penalty) const { return p_[at(i)] > 0 ? p_[at(i)] : penalty / (weight(i) * weight(i)); }
  const Contact& contact_of(int row) const;
  double radius(const Contact& c, const Disc& disc, double normal) const {
    return c.joint >= 0 ? limits_[at(c.joint)] : c.frictionless || !(normal > 0) ? 0.0 : disc.friction * normal;
  }
  bool of_joint(int i) const { return contact_of(i).joint >= 0; }
  In with_levers(std::span<const std::size_t> rows, In D, const SparsePattern* pattern);
  int tangential(const Contact& c) const { return c.frictionless ? 0 : c.rows; }
  // s - p c of the rows of a disc; returns the length.
  double augmented(const Disc& disc, In c, double penalty, double* sigma) const;
  bool moves(const Disc& disc, const double* sigma, double radius) const;

  int first_ = 0;
  std::vector<Contact> contacts_;
  std::vector<int> joint_rows_;
  Vector limits_;    // at the present multipliers
  FixedPoint used_;  // in the next linear system, and before() in the last one
  const Flags *candidates_ = nullptr, *held_ = nullptr, *first_flags_ = nullptr;
  Flags flags_;
  std::vector<int> working_rows_, active_rows_;
  Vector multipliers_;
  Vector weights_;
  Vector p_;  // of the last linear systems; 0: not known yet
  double penalty_ = 1, tolerance_ = 0;
  int updates_ = 0, failed_row_ = -1;
  double inconsistency_ = 0, free_ = 0;
  bool approximate_ = false, exact_ = false, final_ = false;

  ConeProblem cone_;
  std::vector<ConeProblem::Disc> discs_;
  Vector q_, s_, present_;
  Vector levers_, W_;  // of the rows of a cone problem that has joints: its rows and multipliers are those of lengths
  int moves_ = 0;      // limits_move() was true
  bool refined_ = false;  // creeps() was true
  bool guessed_ = false;  // the next solve() starts from guess_
  Vector guess_;
};

}  // namespace carom
