// NodeSweeps: symmetric block Gauss-Seidel as preconditioner of NodeMatrix,
//
//   A = L + D + U,   M = (D + U)^-1 D (D + L)^-1        D: node blocks, L and U = L^T: couplings with nodes before,
//   behind
//
// by a forward and a backward sweep over the nodes. Conjugate gradients in the variables (D + U) x have the matrix
// (D + L)^-1 A (D + U)^-1 and the preconditioner D. With p = (D + U)^-1 p^ the product is
//
//   q = (D + L)^-1 A p = p + t,   t = (D + L)^-1 (p^ - D p)
//
// so an iteration reads the matrix once, as with node blocks alone. [Eisenstat, SIAM J. Sci. Stat. Comput. 2 (1981) 1]
//
// Nodes follow each other in the order of Cuthill and McKee. In larger matrices the order runs from both ends to the
// middle, so that two threads sweep at once: the ends do not touch each other, and the nodes between them come last.
// Last of all come the nodes that the caller names: on these alone the inverse of D + L is the one of their own blocks.
//
// Nodes with rows have restricted inverse blocks (NodeRows), and all vectors lie in the null space of these rows.
// Vectors are by matrix row. Same bits for any number of threads.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/block_row.hpp"
#include "core/linear/node_matrix.hpp"

namespace carom {

class NodeSweeps {
 public:
  /// The matrix, which has at least three rows and outlives this.
  void analyse(const NodeMatrix& matrix);
  /// Orders the nodes; those with last[node] != 0 come last, by the order of the others. False, with
  /// nothing done, if these are the nodes of the call before.
  bool arrange(std::span<const char> last);
  /// Copies the present values of the matrix, which are in single precision.
  void copy_values();
  /// Inverse blocks of the nodes, row-major; the blocks outlive this.
  void set_inverses(std::span<const double* const> inverses);

  /// y = (D + L)^-1 b; b and y may not be one.
  void forward(const double* b, double* y) const;
  /// y = (D + U)^-1 b
  void backward(const double* b, double* y) const;
  /// The same of the nodes that come last and their blocks alone, in place.
  void forward_last(double* x) const;
  void backward_last(double* x) const;
  /// x of the nodes that come last becomes D x.
  void multiply_last(double* x) const;
  /// r = (D + L) x
  void lower_product(const double* x, double* r) const;

  /// Y = (D + U) X for six vectors, whose entries lie side by side for every matrix row. Reads and writes room for
  /// whole lanes beyond the end.
  void upper_products(const double* X, double* Y) const;
  /// By node: the number of the connected part of the graph of nodes, from 0.
  std::span<const int> part_of() const { return part_; }

  /// p^ = z + beta p^, p = (D + U)^-1 p^
  void find_direction(const double* z, double beta, double* p_hat, double* p) const;
  /// t = (D + L)^-1 (p^ - D p + f); returns p^ . (p + t). f is read at the nodes that come last only; null: zero.
  double find_product(const double* p_hat, const double* p, const double* f, double* t) const;
  /// y = D x of one node
  void multiply_diagonal(std::size_t node, const double* x, double* y) const {
    const float* const d = diagonal_.data() + 9 * node;
    const int size = matrix_->nodes()[node].size;
    double product[3] = {0, 0, 0};
    if (size == 3) {
      const Lanes lanes = block_product(d, x);
      for (int i = 0; i < 3; ++i) product[i] = lanes[i];
    } else {
      for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) product[i] += static_cast<double>(d[3 * j + i]) * x[j];
    }
    for (int i = 0; i < size; ++i) y[i] = product[i];
  }

 private:
  // The blocks left or right of the diagonal, by place in the order; those of the upper triangle from the last place
  // on.
  struct Triangle {
    std::vector<int> start;    // by place, from the first swept on; one more
    std::vector<int> column;   // first matrix rows
    std::vector<int> source;   // place of the first entry in the matrix's values; below 0: -1 - number in scattered_
    std::vector<float> value;  // 9 per block, and room for whole lanes
  };
  struct Place {
    int first = 0, size = 0;  // matrix rows of the node
  };
  void order_nodes();
  void copy_block(int source, float* block) const;
  void copy_triangle(Triangle& triangle) const;
  // Calls work(first place, last place, arm) for the two ends, which two threads do at once; the second may be empty.
  template <class Work>
  void for_arms(const Work& work) const;
  template <class Right>
  void sweep_forward(int first, int last, const Right& right, double* y) const;
  template <class Right>
  void sweep_backward(int first, int last, const Right& right, double* y) const;
  template <class Right>
  void sweep_all_backward(const Right& right, double* y) const;

  const NodeMatrix* matrix_ = nullptr;
  // the graph of the nodes, with the places of the blocks
  std::vector<int> start_, other_, source_, own_source_;
  std::vector<std::array<int, 9>> scattered_;  // entries of blocks that do not lie one after the other
  std::vector<int> base_order_;                // Cuthill and McKee
  std::vector<int> part_;                      // connected parts, by node
  std::vector<char> last_;
  bool arranged_ = false;

  std::vector<int> order_, position_;
  int arm_ = 0, middle_ = 0,
      first_last_ = 0;  // places: end of the first arm, of the second arm, first of the last nodes
  std::vector<Place> place_;
  Triangle lower_, upper_;
  std::vector<int> lower_last_;         // of the places from first_last_ on: the first block among the last nodes
  std::vector<float> diagonal_;         // by node
  std::vector<const double*> inverse_;  // by place
};

}  // namespace carom
