// Condensation: eliminates the nodes of solids that a joint holds completely, with the three rows that hold them.
//
// The rows of such a node s, and no others, touch the node: G_s x_s + G_m x_m = b_r with an invertible 3 x 3 block G_s
// and masters m, such as the six equations of the body that a face of the solid is fixed to. So x_s = y_s + W x_m, and,
// with the directions F of the rows' forces, equation m takes V times equation s:
//
//   y_s = G_s^-1 b_r,   W = -G_s^-1 G_m,   V = -F_m F_s^-1,   l = F_s^-1 (b_s - A_s x)
//
// The solid is then coupled with the few equations of the masters instead of three multipliers per node. The
// elimination is exact and purely algebraic.
#pragma once

#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

class Condensation {
 public:
  /// node[i]: number of the solid's node that matrix row i belongs to, -1: none; rows from `first_row` on are
  /// multipliers. The pattern is structurally symmetric and outlives this.
  void analyse(const SparsePattern& pattern, std::span<const int> node, int first_row, int threads);
  bool empty() const { return slaves_.empty(); }
  /// Matrix rows that are left, ascending, and their couplings.
  std::span<const int> kept() const { return kept_; }
  const SparsePattern& pattern() const { return reduced_; }
  /// Place of a matrix row among kept(), -1: eliminated.
  int place(int matrix_row) const { return place_[static_cast<std::size_t>(matrix_row)]; }

  /// The matrix that is left; false if the rows of a node are singular there.
  bool reduce(std::span<const double> values);
  std::span<const double> values() const { return values_; }
  /// Right-hand side for the matrix that is left; keeps the part of the eliminated rows for expand().
  void reduce_right_side(std::span<const double> b, Out reduced);
  /// Rows on eliminated nodes become rows on their masters, in places of kept(). G: gradients, F: directions.
  void reduce_row(const SparseRow& G, SparseRow& reduced) const { reduce(G, W_, reduced); }
  void reduce_direction(const SparseRow& F, SparseRow& reduced) const { reduce(F, V_, reduced); }
  /// G_s y_s of a row, for the last right-hand side.
  double row_constant(const SparseRow& G) const;
  /// All unknowns; `forces` (one entry per matrix row, empty: none) is subtracted from the right-hand side of the
  /// eliminated equations: the reactions of rows that are not part of the matrix.
  void expand(std::span<const double> x, std::span<const double> forces, Out all) const;

 private:
  void reduce(const SparseRow& row, const Vector& factors, SparseRow& reduced) const;
  struct Slave {
    int first = 0;  // of its three equations
    int rows[3] = {0, 0, 0};
    std::size_t masters = 0;  // of masters_
    int count = 0;
  };
  // A coupling of a slave with an equation that is left.
  struct Term {
    int slave, component;
    int value;           // place in the values of A
    std::size_t places;  // of places_: the entries of the matrix that is left
    int column;          // in places of kept()
    bool upper;          // a row of the slave; else a column
  };
  // The coupling of two slaves, V_s A W_o, which is added to a sum.
  struct Pair {
    int slave, other;
    int value[9];     // places in the values of A, row by row, -1: zero
    std::size_t sum;  // first of its entries in sums_, row by row; shared by all slaves with the same masters
  };
  template <class Unknowns>
  void subtract_pairs(const Unknowns& unknowns, Vector& left) const;

  const SparsePattern* pattern_ = nullptr;
  int threads_ = 1;
  std::vector<int> place_, kept_, slave_of_;  // slave_of_: of a matrix row that is an equation of a slave, else -1
  std::vector<Slave> slaves_;
  std::vector<int> masters_;  // matrix rows
  SparsePattern reduced_;
  std::vector<int> copied_from_;  // place in the values of A of an entry of the matrix that is left, -1: none
  std::vector<Term> terms_;
  std::vector<Pair> pairs_;
  std::vector<int> places_, sum_places_;  // sum_places_: in the matrix that is left
  std::vector<int> gs_, fs_, gm_, fm_;    // places of the blocks in the values of A, -1: zero
  Vector values_, W_, V_, G_inverse_, F_inverse_;
  Vector term_values_, pair_values_, sums_, y_, b_s_;
};

}  // namespace carom
