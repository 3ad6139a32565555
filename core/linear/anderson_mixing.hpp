// Anderson's mixing of the iterates of x := T(x): with f = T(x) - x and the changes df_i of f and dT_i of T(x) between
// the last iterates,
//
//   x := T(x) - sum_i gamma_i dT_i,   gamma minimises |f - sum_i gamma_i df_i|
//
// D. G. Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12 (1965) 547-560; H. F. Walker,
// P. Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numer. Anal. 49 (2011) 1715-1735.
#pragma once

#include "core/base/types.hpp"

namespace carom {

class AndersonMixing {
 public:
  static constexpr int largest_depth = 20;

  /// Memory for so many unknowns and so many changes, of which the oldest are replaced.
  void resize(std::size_t unknowns, int depth);
  /// Another T: neither the changes nor the last iterate are of use.
  void begin() {
    forget();
    seen_ = false;
  }
  /// Forgets the changes; the next one counts from the last iterate.
  void forget() { changes_ = known_ = 0; }
  /// The next iterate x and its f. `weight`: by which components are measured (empty: 1). The changes are forgotten
  /// where |f| has more than doubled: T may have changed its branch.
  void see(In x, In f, In weight);
  /// From T(x) of the iterate seen last to the next x, or from T(x) - x to its change.
  void mix(In f, In weight, Out T);

 private:
  std::size_t n_ = 0;
  int depth_ = 1, changes_ = 0, known_ = 0;  // known: changes whose products_ are there
  bool seen_ = false;                        // x_ and f_ are those of an iterate
  Vector x_, f_;
  Vector df_, dT_;   // depth rows
  Vector products_;  // df_k . df_l, lower triangle
};

}  // namespace carom
