// ConeProblem: unilateral contact and Coulomb friction of one island of condensed rows.
//
//   c = q + W s
//   normal rows:  0 <= c_N  perp  s_N >= 0
//   discs:        -c_T in the normal cone at s_T of the disc |s_T| <= R,   R = radius + friction s_source
//
// With sigma = s - p c, p_N = 1/|W_NN| and p_T = 2/(|W_11| + |W_22|), the law of a contact is a semi-smooth system
// A ds + B dc = -rho, scaled so that the rows of what is closed are the rates [Alart, Curnier, A mixed formulation for
// frictional contact problems prone to Newton like solution methods, CMAME 92 (1991) 353]:
//
//                rho                          A                                        B
//   open         s/p                          1/p                                      0
//   closed: N    c_N                          0                                        1
//   stick:  T    c_T                          0                                        1
//   slip:   T    (s_T - R(sigma_N) tau)/p_T   A_TT = (1 - kappa P)/p_T                 B_TT = kappa P
//                                             A_TN = -friction tau/p_T                 B_TN = friction tau p_N/p_T
//
// tau = sigma_T/|sigma_T|, P = 1 - tau tau^T, kappa = R/|sigma_T|. An iteration solves (A + B W_r) ds = -rho with
// W_r = W + 1e-11 mean(diag W) 1, a proximal step, so that redundant rows do no harm. Newton's method alone does not
// always converge; solve() goes up a ladder until a stage succeeds:
//
//   1  Newton's method, 12 iterations (nearly all problems of time stepping)
//   2  the same with a line search on |rho|^2, 30 iterations
//   3  10 and then 40 more sweeps of a Gauss-Seidel method with exact solutions of each contact, which give starts
//   4  W with a compliance that moves the rows by less than 5, then 50 tolerances: a least-squares method; then Newton
//   5  proximal point: W + a D, q - a D s_k with D = diag W; a falls on success and grows on failure
//
// Problems of many rows have stages of their own. More than 12 rows that an outer iteration linearises, those of piles
// and of flat bodies on more than four points, nearly always contradict each other by a tolerance or more (below), so
// that Newton's method without a compliance goes astray. Large piles have sparse matrices. Multipliers with defects
// below 6 tolerances stay if the caller wants so; else:
//
//   1  in a pile without friction, whose matrix is symmetric: the projected Newton method, 50 iterations
//   1  Newton's method: up to 48 rows 12 iterations, in a pile 4, each of which must gain a digit
//   3  in a pile: up to 500 iterations of the splitting method
//   4  a compliance of 6 tolerances: Newton's method with a line search, 12 iterations
//   1  Newton's method without it from there, 4 iterations; unless in a pile, 8 from the start where that has failed
//   4  6, then 50 tolerances: an interior-point method, unless discs have no source or share one, and Newton's method
//   5  proximal point
//
// More than 48 rows of a linear problem, of velocities, have a solution. In a pile the start stays if its defect is
// within the tolerance. With tolerances above 1e-6 of q piles have no stage 1, here and above; few digits need none.
//
//   1  the projected Newton method, as above; Newton's method, 4 iterations, in a pile as above
//   3  up to 2000 iterations of the splitting method; after 400, 3 tolerances are enough if these are above 1e-6 of q
//   5  proximal point
//
// The splitting method is the alternating direction method of multipliers. Its iterations solve with one factorised
// matrix, W and a share of its diagonal, and project on the cones in turn; de Saxce's shift of the normal rates follows
// the iteration. A load gets through a pile in one solution, while sweeps carry it from contact to contact: problems of
// 1 000 spheres that 1000 sweeps, even accelerated, did not solve to 1e-4 take 100 to 400 iterations. Where many digits
// are wanted, Newton's method is tried from there now and then. [Tasora, Mangoni, Benatti, Garziera, Solving
// variational inequalities and cone complementarity problems in nonsmooth dynamics using the alternating direction
// method of multipliers, Int. J. Numer. Methods Eng. 122 (2021) 4093; Carpentier, Le Lidec, Montaut, From compliant to
// rigid contact simulation: a unified and efficient approach, Robotics: Science and Systems 2024].
//
// The projected Newton method finds the least value over s >= 0 of 1/2 s.W s + q.s + 1/2 (s - z).a D (s - z), D = diag
// W, a = 1e-8 and z = 0, then 1e-11 and the last s where contacts are nearly redundant. Rows with s > 0 or a negative
// gradient are free: an iteration solves for these and goes along max(0, s + share ds), which opens any number of
// contacts at once, for as long as the value falls. It converges from any start. Piles of 1 000 spheres near rest take
// 3 to 15 iterations, each of which changes a few rows, so that one Cholesky factor serves nearly all of them
// (core/linear/free_rows.hpp). Newton's method above, in which contacts enter and leave freely, nearly always goes
// astray there. [Bertsekas, Projected Newton methods for optimization problems with simple constraints, SIAM J. Control
// Optim. 20 (1982) 221].
//
// The interior-point method does not wander among the sets of contacts that slip and stick, as Newton's method does
// where many contacts share what a few would carry. With de Saxce's form of the law, x = (friction s_N, s_T) and
// y = (c_N/friction + |c_T|, c_T) lie in the same second-order cone and are orthogonal. Newton's method with the
// scaling of Nesterov and Todd follows x o y = eps 1 for eps -> 0, the derivative of |c_T| included; eps does not run
// ahead of what y still misses. [Acary, Armand, Nguyen, Shpakovych, Second-order cone programming for frictional
// contact mechanics using interior point algorithm, Optim. Methods Softw. 39 (2024) 634].
//
// The least-squares method is for contacts at the limit between stick and slip and for redundant rows, where the
// matrix of Newton's method is singular: (J^T J + lambda D) ds = -J^T rho, lambda in proportion to |rho| (Levenberg,
// Marquardt), still converges quadratically where the distance from the solutions is of the size of |rho| [Yamashita,
// Fukushima, On the rate of convergence of the Levenberg-Marquardt method, Computing Suppl. 15 (2001) 239].
//
// Rows of places are linearised. Those of bodies that stick to each other in closed loops then contradict each other by
// the error of the linearisation, and no impulses solve them, or only such as are far too large. The compliance gives
// impulses of the right size, with which an outer iteration goes on (Result::approximate).
//
// Problems of many rows, most of whose entries are zero, may be given as sparse matrices. The rows of a normal row and
// of its discs must have the same pattern. A multifrontal LU factorises them (core/linear).
//
// Where W = 0 but for rounding, no multipliers of a disc move its rows: a driver or other joints prescribe its slip.
// Defects in the unit of c, those of multipliers over p_T, are then small for any multipliers. The penalty of a contact
// is therefore 1e4 p_N at most, and callers give the rows of joints, which no normal row has, a compliance
// (least_compliance).
//
// The problem of a single contact is solved with certainty if W is positive definite: with S the Schur complement,
// s_T(k) = -(S + k)^-1 q~ and |s_T(k)| = R(s_N(k)) has a root k >= 0 unless the contact sticks. Several contacts with
// large friction may have no solution, or several (Painleve).
#pragma once

#include <array>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/base/index.hpp"
#include "core/base/types.hpp"
#include "core/linear/dense_lu.hpp"
#include "core/linear/free_rows.hpp"
#include "core/linear/linear_solver.hpp"

namespace carom {

enum class SlipState : std::uint8_t { open, stick, slip };

class ConeProblem {
 public:
  /// splitting_stage: the splitting method in problems of many rows; in problems of few rows stage 3 is the
  /// Gauss-Seidel method.
  static constexpr int stages = 5, splitting_stage = 3;
  struct Disc {
    int first = 0;        ///< its first row
    int rows = 2;         ///< 1 or 2; without source also 3 (a ball)
    int source = -1;      ///< normal row whose multiplier the radius follows; -1: none
    double friction = 0;  ///< radius over that multiplier
    double radius = 0;    ///< constant part of the radius
  };
  struct Result {
    bool solved = false;
    bool approximate = false;  ///< not solved, but better than at `present`
    int stage = 0;             ///< of the ladder, from 1 to `stages`
    int iterations = 0;        ///< of Newton's method, in all stages
    double defect = 0;         ///< of an approximate solution
    int worst = -1;            ///< row of the largest defect, if the problem is not solved
  };

  /// Stages end without a solution while *flag is not zero; null: never.
  void stop_on(const volatile std::sig_atomic_t* flag) { stop_ = flag; }
  bool stopped() const { return stop_ != nullptr && *stop_ != 0; }
  /// Memory for problems of so many rows.
  void reserve(int rows);
  /// The rows of the problem: those of the discs, and normal rows, which are all others.
  /// `pattern`: that of W if it is sparse; it lives until the next set(). `spreads`: among many solutions that of
  /// contacts which are all alike in their compliance is wanted.
  void set(int rows, std::span<const Disc> discs, const SparsePattern* pattern = nullptr, bool spreads = false);
  /// W: rows x rows, row-major, or the values of the pattern; q: one value per row; s: multipliers, the start and the
  /// solution. `tolerance`: of the defects of all rows, in the unit of q. In a solution the multipliers of open
  /// contacts are zero to the bit, and those of discs do not leave them. Without a solution s has the multipliers with
  /// the least defect that the ladder met. `present`: the multipliers of an outer iteration whose rows are linearised
  /// here (empty: none). Redundant rows may then contradict each other by the error of the linearisation, and another
  /// linearisation helps more than the solution of this one. `keep`: `present` is the solution of more than 12 rows if
  /// its defects are below 6 tolerances.
  Result solve(In W, In q, double tolerance, Out s, In present = {}, bool keep = false);
  /// The least entry on the diagonal of W of a row of a joint. penalty: of the rows of the model, a mass. Callers pass
  /// the multipliers of an outer iteration, which this compliance is a step of the proximal-point method for.
  static constexpr double least_compliance(double penalty) { return 1e-4 / penalty; }
  /// p of a row in the last problem.
  double penalty(int row) const { return p_[static_cast<std::size_t>(row)]; }
  /// The largest defect of a row in the unit of q: |s - projection of (s - p c)|/p.
  double defect(In W, In q, In s);
  /// rho and A + B W_r at s (rows entries and as many as W has).
  void linearise(In W, In q, In s, Out rho, Out J);

 private:
  static constexpr double any_gain = std::numeric_limits<double>::infinity();  // of an iteration
  static constexpr double proximal_share = 1e-11;  // of the mean diagonal of W, in the matrix of an iteration
  struct Unit {  // a step of the Gauss-Seidel method: a normal row with one disc, or one of them alone
    int normal, disc;
  };
  struct DiscAxes {                      // of the symmetric part of its rows and columns of W
    std::array<double, 3> eigenvalue{};  // descending
    Mat3 axis;                           // rows
  };
  struct UnitBlock {  // the rows of a unit, the normal row first
    int rows = 0;
    std::array<std::size_t, 3> row{};
    std::array<std::array<double, 3>, 3> W{};  // of these rows, with a shift
    DiscAxes alone, pressed;                   // pressed: behind the normal row (Schur complement)
    bool same_columns = false;                 // in the pattern
  };

  // a normal row with its disc, or without: x and y as above
  struct ConePoint {
    std::array<double, 3> x, y;
  };

  class Factors {  // of a dense or sparse matrix
   public:
    void reserve(int rows) { dense_.reserve(rows); }
    /// False if the matrix is singular. `pattern`: null if the matrix is dense.
    bool factorise(In A, int rows, const SparsePattern* pattern);
    /// b becomes the solution.
    void solve(Out b);

   private:
    bool is_sparse_ = false;
    DenseLu dense_;
    SparsePattern analysed_;
    LinearSolver sparse_;
  };

  // where a row begins in the values of a matrix, how many it has, and where an entry is, which the pattern has
  std::size_t first(std::size_t row) const { return pattern_ != nullptr ? at(pattern_->row_start[row]) : row * at(n_); }
  std::size_t entries(std::size_t row) const {
    return pattern_ != nullptr ? at(pattern_->row_start[row + 1] - pattern_->row_start[row]) : at(n_);
  }
  std::size_t place(std::size_t i, std::size_t j) const {
    return pattern_ != nullptr ? at(pattern_->find(static_cast<int>(i), static_cast<int>(j))) : i * at(n_) + j;
  }
  double times(In W, std::size_t row, In s, double sum = 0) const;  // sum + W s
  // the vectors with one entry per row
  std::array<Vector*, 13> row_vectors() {
    return {&p_,     &u_,         &rho_,   &ds_,    &trial_, &trial_u_, &trial_rho_,
            &start_, &shifted_q_, &begin_, &swept_, &best_,  &one_way_};
  }
  void prepare(In W);
  void rates(In W, In q, In s, Out u) const;
  static double length(const double* x, int rows) {
    return rows == 1 ? std::abs(x[0]) : rows == 2 ? std::hypot(x[0], x[1]) : std::hypot(x[0], x[1], x[2]);
  }
  double radius(const Disc& disc, double source) const {
    return disc.radius + disc.friction * (source > 0 ? source : 0.0);
  }
  double natural_defect(In s, In u);
  void evaluate(In s, In u, Out rho, In W, bool with_matrix);
  bool newton(In W, In q, double tolerance, bool search, int iterations, Out s, double gain = any_gain);
  bool touches_without_load(In s) const;
  double spread(In W, In q, double tolerance, double defect, Out s);
  void refine(In W, In q, double defect, Out s);
  void remember(In s, double defect);
  bool is_enough() const { return least_defect_ <= enough_; }
  double measure(In W, In q, In s);
  bool has_interior() const;
  bool interior_point(In W, In q, double tolerance, Out s);
  bool least_squares(In W, In q, double tolerance, int iterations, Out s);
  bool sweep(In W, In q, double tolerance, int sweeps, Out s);
  void project(In v, Out s) const;
  bool split(In W, In q, double tolerance, int iterations, Out s);
  bool projected_newton(In W, In q, double tolerance, Out s);
  double projected_share(In W, In g, In ds, In s, double compliance, Out change, bool& bounded) const;
  bool proximal_point(In W, In q, double tolerance, int iterations, Out s);
  void prepare_units(In W);
  static DiscAxes axes_of(const Mat3& S, int m);
  void rates_of_others(const UnitBlock& block, In W, In q, In s, double* rates) const;
  void solve_unit(const Unit& unit, const UnitBlock& block, In W, In q, Out s) const;
  void sweep_once(In W, In q, Out s) const;
  void set_compliant(In W, In q, double excess);
  bool climb(In W, In q, double tolerance, Out s, In present, int& stage);
  bool climb_large(In W, In q, double tolerance, Out s, int& stage);
  bool climb_linearised(In W, In q, double tolerance, Out s, In present, bool keep, int& stage);
  bool solve_compliant(In W, In q, double tolerance, int level, bool from_start, Out s);
  void clean(In W, In q, Out s);

  int n_ = 0, iterations_ = 0, worst_ = -1;
  std::vector<Disc> discs_;
  std::vector<int> disc_of_;                 // per row; -1: normal
  std::vector<int> first_disc_, next_disc_;  // per row and per disc: those with this source; -1: none
  std::vector<Unit> units_;
  std::vector<UnitBlock> blocks_;  // of these
  double shift_ = 0;               // of the diagonal of W_r
  double least_defect_ = 0, enough_ = 0;
  bool spreads_ = false;
  const double* given_ = nullptr;  // the matrix of the problem, not a shifted one
  Vector p_, u_, rho_, ds_, trial_, trial_u_, trial_rho_, J_, start_, shifted_, shifted_q_, begin_, swept_, best_,
      one_way_, compliant_;
  const volatile std::sig_atomic_t* stop_ = nullptr;
  const SparsePattern* pattern_ = nullptr;  // null: dense
  Factors lu_, metric_;                     // of J_ in Newton's and other methods, and in the splitting method
  std::vector<std::uint8_t> free_;          // rows of the projected Newton method
  FreeRows free_rows_;                      // J_ on these
  std::vector<ConePoint> points_, directions_;
  std::vector<std::array<double, 9>> scalings_;
};

}  // namespace carom
