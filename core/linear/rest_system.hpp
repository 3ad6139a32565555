// RestSystem: the exact part of the constraint preconditioner of ProjectedCg.
//
// The matrix couples the nodes of solids, which are iterated over, with the rest: bodies, beams, multipliers of joints,
// and active rows that no single node holds. The preconditioner keeps the whole matrix but for the couplings of
// different nodes of solids,
//
//   P = [ M^-1  B ]    z = M (r_s - B w),   R w = r_w - C M r_s,   R = D - C M B
//       [ C     D ]
//
// with M the inverse node blocks, sweeps, or any operator. The residual of a solution of P is zero in the rest, and
// stays zero in all iterations that follow. [Gould, Hribar & Nocedal, SIAM J. Sci. Comput. 23 (2001) 1376; Keller,
// Gould & Wathen, SIAM J. Matrix Anal. Appl. 21 (2000) 1300]
//
// R is factorised by a LinearSolver. Redundant rows make R singular; the multiplier diagonal is then regularised
// proximally, with refinement. Results depend on the present values and rows only, not on earlier ones.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/linear_solver.hpp"
#include "core/linear/proximal.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

class RestSystem {
 public:
  /// node[i] is the iterated node of the matrix row i, -1 for the rest; nodes are numbered from 0 and have at most
  /// three rows, which are consecutive. Rows from `first_row` on are multipliers. The pattern, which outlives this, is
  /// structurally symmetric and contains the diagonal.
  void analyse(const SparsePattern& pattern, std::span<const int> node, int first_row, int threads);
  bool empty() const { return rest_.empty() && rows_ == 0; }
  /// Matrix rows of the rest, ascending; extra rows follow them.
  std::span<const int> matrix_rows() const { return rest_; }
  int size() const { return static_cast<int>(rest_.size()) + rows_; }

  /// Copies B, C and D times `scale`.
  void prepare(std::span<const double> values, double scale);
  /// Extra rows (active contacts): gradients G, lower left, and directions F, upper right; they are multiplied by
  /// `factor`.
  void set_rows(std::span<const SparseRow* const> G, std::span<const SparseRow* const> F, double factor);
  /// Factorises R with the inverse node blocks (3 x 3, row-major, of the node's size); false if R is singular beyond
  /// repair.
  bool factorise(std::span<const double* const> inverse_blocks, std::span<const int> sizes);
  /// The same with M any operator on vectors over matrix rows, z = M b, one after the other. For every unknown of the
  /// rest that is coupled with nodes it costs one vector.
  using Operator = std::function<void(const double* b, double* z, int vectors)>;
  bool factorise(const Operator& M);
  /// The same with M of the nodes that the rest is coupled with alone: x, over matrix rows, becomes M x in place of
  /// their rows, and is not read elsewhere. For every unknown of the rest that is coupled with nodes it is called once.
  bool factorise_coupled(const std::function<void(double* x)>& M);
  /// Unknowns of the rest that are coupled with nodes, for the last rows.
  int couplings() const { return couplings_; }
  /// After factorise(M): z -= M B w
  void subtract_columns(const double* w, Out z) const;
  /// The last factorisation met rows that depend on each other.
  bool redundant() const { return regularised_; }
  void expect_redundant() { expected_ = true; }
  bool expects_redundant() const { return expected_; }

  /// w becomes R^-1 w.
  void solve(Out w);
  /// With redundant rows: what the last solve left of w.
  const Vector& residual() const { return refinement_.residual(); }
  int place(int matrix_row) const { return place_[static_cast<std::size_t>(matrix_row)]; }
  /// w -= C z
  void subtract_reactions(const double* z, Out w) const;
  /// Calls visit(node, B w of the node) for every node that is coupled with the rest, in ascending order.
  template <class Visit>
  void each_coupled(const double* w, const Visit& visit) const {
    for (const Coupled& c : coupled_) {
      double force[3] = {0, 0, 0};
      for (const Entry& e : std::span(entries_).subspan(c.first, c.count))
        for (int i = 0; i < 3; ++i) force[i] += e.b[i] * w[e.place];
      visit(c.node, static_cast<const double*>(force));
    }
  }
  /// Calls visit(node) for the same nodes.
  template <class Visit>
  void each_coupled_node(const Visit& visit) const {
    for (const Coupled& c : coupled_) visit(c.node);
  }
  /// By node: 1 if the rest is coupled with it.
  std::span<const char> coupled_flags() const { return is_coupled_; }
  int coupled_nodes() const { return static_cast<int>(coupled_.size()); }
  bool coupled(int node) const { return is_coupled_[static_cast<std::size_t>(node)] != 0; }

 private:
  int threads_ = 1;
  // Coupling of a node with one unknown of the rest: a column of B and a row of C, zero beyond the node's size.
  struct Entry {
    std::size_t place = 0;  // in the rest
    double b[3] = {0, 0, 0}, c[3] = {0, 0, 0};
  };
  struct Coupled {
    int node = 0;
    std::size_t first = 0, count = 0;  // of entries
  };
  // Entries outside of the matrix's own ones.
  struct RowEntry {
    int node = 0;
    Entry entry;
  };
  struct RowValue {
    int row, column;  // in the rest
    double value;
  };
  void join();
  void build_pattern(bool dense);
  bool begin_factorisation(bool dense);
  bool factorise_values();
  int size_of(int node) const;
  bool factorise_regularised();
  std::vector<int> coupled_places() const;

  const SparsePattern* pattern_ = nullptr;
  int rows_ = 0;  // extra rows
  double scale_ = 1;
  std::vector<int> rest_, place_;                  // place of a matrix row in the rest, -1: iterated
  std::vector<int> node_, first_of_node_;          // node of a matrix row, first matrix row of a node
  std::vector<Coupled> matrix_coupled_, coupled_;  // of the matrix alone, with the extra rows
  std::vector<Entry> matrix_entries_, entries_;
  std::vector<int> b_value_, c_value_;  // places of matrix_entries_ in the values, three each, -1: no entry
  std::vector<int> D_value_;            // places of D's entries in the values, row by row
  Vector D_;
  std::vector<RowEntry> row_entries_;
  std::vector<RowValue> row_D_;
  std::vector<char> is_coupled_, is_coupling_;  // nodes; unknowns of the rest
  int couplings_ = 0;

  std::shared_ptr<SparsePattern> R_;
  Vector values_;
  ProximalRefinement refinement_;
  std::vector<int> D_place_, row_D_place_, diagonal_, clique_;  // places in R
  int first_multiplier_ = 0;                                    // of the rest
  std::vector<int> column_places_;                              // of M B
  Vector columns_;
  Vector column_, reaction_;  // of one column
  bool pattern_known_ = false, dense_ = false, regularised_ = false, expected_ = false;
  LinearSolver solver_;
};

}  // namespace carom
