// Factors of CHOLMOD in single precision.
#pragma once

#include "core/linear/linear_solver.hpp"

namespace carom::detail {

// The next solves by factors of make_cholmod() have the precision of single numbers, relative to each right-hand side,
// and take half of the memory and of the time: for factors that serve many solves as a preconditioner. factorise()
// makes exact factors again.
void round_factors(Factorisation& cholmod);

}  // namespace carom::detail
