// RowImpulses: the constraint problem of an explicit step, with the Delassus operator H = G M^-1 G^T of a lumped mass.
//
//   c = c_0 + H r,   c = 0 on bilateral rows,   0 <= c  perp  r >= 0 on unilateral rows,   Coulomb's law on tangential
//   ones
//
// r are impulses and c rates. A row whose equations no other listed row touches has its closed form,
// r = max(0, -c_0/H_ii): nothing is assembled. All other rows form islands, whose active sets follow from Murty's
// least-index rule if the faster exchange of all wrong rows repeats a set; islands are factorised by Delassus, also
// with redundant rows.
//
// A contact with friction whose equations no other contact and no joint touches is solved alone. Where its part of H is
// diagonal, with equal entries of both slip rows (a node of lumped mass), this is r_N = max(0, -c_0N/H_N) and
// r_T = -c_0T/H_T shortened to mu r_N; else a ConeProblem. Islands with friction are cone problems too
// (CoupledFriction). Nothing allocates after all rows were met.
#pragma once

#include <span>
#include <vector>

#include "core/linear/delassus.hpp"
#include "core/mechanics/lumped_mass.hpp"
#include "integrators/common/coupled_friction.hpp"

namespace carom {

class RowImpulses {
 public:
  RowImpulses(const System& system, const LumpedMass& mass);

  /// Lists rows (global numbers, ascending, the bilateral rows first, tangential rows with their contact) with their
  /// gradients at (q, t).
  void set_rows(std::span<const int> rows, In q, double t, const StepStart* start) { set_rows(rows, q, q, t, start); }
  /// The same with gradients of bilateral rows at (q_joints, t).
  void set_rows(std::span<const int> rows, In q_joints, In q, double t, const StepStart* start);
  std::span<const int> rows() const { return listed_; }

  /// Solves for r; c_0 and `r` in the order of rows(). `r` holds a first guess of which rows are active. Rows are
  /// closed below -roundoff. False if H cannot be inverted, no active set was found, or friction has no solution.
  bool solve(In c_0, double roundoff, Out r);
  /// v += factor M^-1 G^T r, r in the order of rows().
  void add_velocity(double factor, In r, Out v) const;
  /// f += factor G^T r
  void add_reaction(double factor, In r, Out f) const;
  /// G v of a listed row.
  double rate(std::size_t listed, In v) const;

  int iterations() const { return iterations_; }    ///< active sets of the last solve
  int set_changes() const { return set_changes_; }  ///< rows that changed after the first set
  bool redundant() const { return redundant_; }
  /// All listed rows were uncoupled: H is diagonal.
  bool diagonal() const { return coupled_.empty(); }
  /// The normal row of a contact with friction for which the last solve() found no solution; -1: none.
  int failed_row() const { return failed_row_; }

 private:
  struct Row : CondensedRow {
    double H = 0;  // H_ii
    bool single = true;
    std::size_t contact = 0, rows = 1;  // place of its normal row; of a normal row with its tangential rows
    Vector W;                           // of a contact with friction: rows x rows
  };
  void find_columns();
  double product(const SparseRow& a, const SparseRow& b) const;
  void solve_contact(std::size_t first, In c_0, double roundoff, Out r);
  bool solve_coupled(In c_0, double roundoff, Out r);
  bool solve_islands(In c_0, double roundoff, Out r);

  const System* system_;
  const LumpedMass* mass_;
  std::vector<int> listed_;
  std::vector<Row> rows_;  // the first listed_.size() are in use
  // per equation: group representative; per representative: number of the row that touches it, -1: none, -2: several
  std::vector<int> representative_, owner_;
  std::vector<std::size_t> coupled_;  // places in listed_
  std::vector<CondensedRow*> active_;
  std::vector<std::uint8_t> in_set_;  // per coupled row
  std::vector<std::uint64_t> seen_;
  Vector b_, velocity_;  // velocity_: zero between calls
  Delassus delassus_;
  bool analysed_ = false, redundant_ = false, coupled_friction_ = false;
  int iterations_ = 0, set_changes_ = 0, failed_row_ = -1;
  CoupledFriction friction_;
  std::vector<int> friction_rows_;
  std::vector<std::size_t> places_;
  Vector start_, q_;
};

}  // namespace carom
