#include "contact/law/cone_problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr double proximal_share = 1e-11;  // of the mean diagonal of W, in the matrix of an iteration
constexpr double least_diagonal = 1e-14;  // of the largest, for the penalties
constexpr int plain_iterations = 12, searched_iterations = 30, restarted_iterations = 20;
constexpr int square_iterations = 40;
constexpr int first_sweeps = 10, more_sweeps = 40;
constexpr double start_share =
    1e-3;  // of the tolerance: a worse start is corrected, since errors add up over the steps
constexpr double noticed_share = 1e-4;   // of the multipliers: another distribution of them
constexpr double touching_share = 1e-3;  // of that: a gap or its rate, times the penalty
constexpr int spreading_iterations = 4;
constexpr double spreading_compliance = 1e-7;  // of the mean diagonal of W
constexpr double approximate_share = 0.03;  // of the defect at the start, with which another linearisation helps more
constexpr double compliant_excess[] = {5, 50};  // defects that compliance makes, over the tolerance
constexpr double inconsistent_excess = 2;       // over these: of rows that contradict each other
constexpr double large_excess[] = {6, 50};      // the same in problems of many rows
constexpr double large_defect[] = {10, 100};    // and what is then enough
constexpr double pile_defect = 3;               // of velocities, over the tolerance
constexpr double interior_excess = 0.5;         // of these defects: what the interior-point method may add
constexpr double gaining_share = 0.1;           // of the defect at the start, as long as the outer iteration gains
constexpr int compliant_iterations = 12, polishing_iterations = 4;
constexpr int most_splittings = 2000, most_linearised_splittings = 500;
constexpr int search_halvings = 10;
constexpr double search_decrease = 2e-2;
constexpr int proximal_steps = 400, final_iterations = 8;
constexpr int most_proximal_iterations = 1500;  // in all steps
constexpr int few_proximal_iterations = 60;     // for linearised rows of a pile
constexpr int few_rows = 48;                    // beyond, iterations are costly
constexpr int few_linearised_rows = 12;         // beyond, rows contradict each other
constexpr int few_iterations = 4;
constexpr double pile_gain = 0.1;      // of the defect, in an iteration that is worth a factorisation
constexpr double coarse_share = 1e-6;  // of the largest entry of q: a tolerance without need of Newton's method
constexpr double smallest_proximal = 1e-6, try_without = 1e-3;

struct ProximalRule {
  bool searches;   // along the directions of Newton's method in every other step
  int iterations;  // of a step
  double fall, growth;
};
constexpr ProximalRule proximal_of_few = {true, 25, 0.25, 5};
// with a search, problems of many rows end where |rho|^2 is least, but not zero
constexpr ProximalRule proximal_of_many = {false, 12, 0.5, 2.5};

}  // namespace

void ConeProblem::reserve(int rows) {
  const std::size_t n = at(rows);
  for (Vector* x : {&p_, &u_, &rho_, &ds_, &trial_, &trial_u_, &trial_rho_, &start_, &shifted_q_, &begin_, &swept_,
                    &best_, &one_way_})
    x->reserve(n);
  for (Vector* x : {&J_, &shifted_, &compliant_}) x->reserve(n * n);
  discs_.reserve(n);
  for (std::vector<int>* x : {&disc_of_, &first_disc_, &next_disc_}) x->reserve(n);
  units_.reserve(n);
  lu_.reserve(rows);
}

std::size_t ConeProblem::first(std::size_t row) const {
  return pattern_ != nullptr ? at(pattern_->row_start[row]) : row * at(n_);
}

std::size_t ConeProblem::entries(std::size_t row) const {
  return pattern_ != nullptr ? at(pattern_->row_start[row + 1] - pattern_->row_start[row]) : at(n_);
}

std::size_t ConeProblem::place(std::size_t i, std::size_t j) const {
  return pattern_ != nullptr ? at(pattern_->find(static_cast<int>(i), static_cast<int>(j))) : i * at(n_) + j;
}

double ConeProblem::times(In W, std::size_t row, In s, double sum) const {
  const std::size_t f = first(row), count = entries(row);
  if (pattern_ == nullptr)
    for (std::size_t j = 0; j < count; ++j) sum += W[f + j] * s[j];
  else
    for (std::size_t k = f; k < f + count; ++k) sum += W[k] * s[at(pattern_->column[k])];
  return sum;
}

// J_
bool ConeProblem::factorise() {
  if (pattern_ == nullptr) return lu_.factorise(J_, n_) > 0;
  if (pattern_->row_start != analysed_.row_start || pattern_->column != analysed_.column) {
    analysed_ = *pattern_;
    sparse_lu_.set_method(LinearMethod::umfpack);
    sparse_lu_.analyse(analysed_, {});
  }
  sparse_lu_.renew();
  return sparse_lu_.factorise(J_) == FactorStatus::ok;
}

void ConeProblem::solve_factorised(Out b) {
  if (pattern_ == nullptr)
    lu_.solve(b);
  else
    sparse_lu_.solve(b);
}

void ConeProblem::set(int rows, std::span<const Disc> discs, const SparsePattern* pattern, bool spreads) {
  n_ = rows;
  spreads_ = spreads;
  pattern_ = pattern;
  const std::size_t n = at(rows);
  discs_.assign(discs.begin(), discs.end());
  disc_of_.assign(n, -1);
  for (std::size_t d = 0; d < discs_.size(); ++d)
    for (int k = 0; k < discs_[d].rows; ++k) disc_of_[at(discs_[d].first + k)] = static_cast<int>(d);
  first_disc_.assign(n, -1);
  next_disc_.assign(discs_.size(), -1);
  for (std::size_t d = discs_.size(); d-- > 0;) {
    if (discs_[d].source < 0) continue;
    int& first = first_disc_[at(discs_[d].source)];
    next_disc_[d] = first;
    first = static_cast<int>(d);
  }
  // a normal row goes with the first disc of two or one rows that it feeds
  units_.clear();
  for (int i = 0; i < n_; ++i)
    if (disc_of_[at(i)] < 0) units_.push_back({i, -1});
  for (std::size_t d = 0; d < discs_.size(); ++d) {
    const auto unit = std::find_if(units_.begin(), units_.end(), [&](const Unit& u) {
      return u.normal >= 0 && u.normal == discs_[d].source && u.disc < 0;
    });
    if (unit != units_.end())
      unit->disc = static_cast<int>(d);
    else
      units_.push_back({-1, static_cast<int>(d)});
  }
  for (Vector* x : {&p_, &u_, &rho_, &ds_, &trial_, &trial_u_, &trial_rho_, &start_, &shifted_q_, &begin_, &swept_,
                    &best_, &one_way_})
    x->resize(n);
}

// Penalties and the shift of the diagonal.
void ConeProblem::prepare(In W) {
  const std::size_t n = at(n_);
  double sum = 0, largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double d = W[place(i, i)];
    sum += d;
    largest = std::max(largest, d);
  }
  const double least = std::max(least_diagonal * largest, std::numeric_limits<double>::min());
  for (std::size_t i = 0; i < n; ++i)
    if (disc_of_[i] < 0) p_[i] = 1 / std::max(W[place(i, i)], least);
  for (const Disc& disc : discs_) {
    const std::size_t f = at(disc.first);
    double mean = 0;
    for (std::size_t k = f; k < f + at(disc.rows); ++k) mean += W[place(k, k)] / disc.rows;
    for (int k = 0; k < disc.rows; ++k) p_[f + at(k)] = 1 / std::max(mean, least);
  }
  shift_ = proximal_share * sum / static_cast<double>(std::max<std::size_t>(1, n));
}

void ConeProblem::rates(In W, In q, In s, Out u) const {
  for (std::size_t i = 0; i < at(n_); ++i) u[i] = q[i] + times(W, i, s);
}

double ConeProblem::natural_defect(In s, In u) {
  double largest = 0;
  worst_ = -1;
  const auto see = [&](int row, double defect) {
    if (defect <= largest) return;
    largest = defect;
    worst_ = row;
  };
  for (int i = 0; i < n_; ++i) {
    const std::size_t r = at(i);
    if (disc_of_[r] >= 0) continue;
    const double defect = std::abs(s[r] - std::max(0.0, s[r] - p_[r] * u[r])) / p_[r];
    if (!(defect <= std::numeric_limits<double>::max())) {
      worst_ = i;
      return std::numeric_limits<double>::infinity();
    }
    see(i, defect);
  }
  for (const Disc& disc : discs_) {
    const std::size_t f = at(disc.first);
    double sigma[3] = {0, 0, 0}, rest[3] = {0, 0, 0};
    for (int k = 0; k < disc.rows; ++k) sigma[k] = s[f + at(k)] - p_[f] * u[f + at(k)];
    const double a = length(sigma, disc.rows), R = radius(disc, disc.source >= 0 ? s[at(disc.source)] : 0);
    const double share = a > R ? R / a : 1;
    for (int k = 0; k < disc.rows; ++k) rest[k] = s[f + at(k)] - share * sigma[k];
    const double defect = length(rest, disc.rows) / p_[f];
    if (!(defect <= std::numeric_limits<double>::max())) {
      worst_ = disc.first;
      return std::numeric_limits<double>::infinity();
    }
    see(disc.first, defect);
  }
  return largest;
}

double ConeProblem::defect(In W, In q, In s) {
  prepare(W);
  rates(W, q, s, u_);
  return natural_defect(s, u_);
}

// rho, and with the matrix J_ = A + B W_r.
void ConeProblem::evaluate(In s, In u, Out rho, In W, bool with_matrix) {
  const auto set_rate_row = [&](std::size_t row) {
    std::copy_n(W.data() + first(row), entries(row), J_.data() + first(row));
    J_[place(row, row)] += shift_;
  };
  const auto set_open = [&](std::size_t row) {
    rho[row] = s[row] / p_[row];
    if (!with_matrix) return;
    std::fill_n(J_.data() + first(row), entries(row), 0.0);
    J_[place(row, row)] = 1 / p_[row];
  };
  const auto set_closed = [&](std::size_t row) {
    rho[row] = u[row];
    if (with_matrix) set_rate_row(row);
  };
  for (std::size_t i = 0; i < at(n_); ++i) {
    if (disc_of_[i] >= 0) continue;
    if (s[i] - p_[i] * u[i] > 0)
      set_closed(i);
    else
      set_open(i);
  }
  for (const Disc& disc : discs_) {
    const std::size_t f = at(disc.first), m = at(disc.rows);
    const double p = p_[f];
    const double sigma_N = disc.source >= 0 ? s[at(disc.source)] - p_[at(disc.source)] * u[at(disc.source)] : 0.0;
    const double R = radius(disc, sigma_N);
    if (!(R > 0)) {
      for (std::size_t k = 0; k < m; ++k) set_open(f + k);
      continue;
    }
    double tau[3] = {0, 0, 0};
    for (std::size_t k = 0; k < m; ++k) tau[k] = s[f + k] - p * u[f + k];
    const double a = length(tau, disc.rows);
    if (a <= R) {
      for (std::size_t k = 0; k < m; ++k) set_closed(f + k);
      continue;
    }
    for (double& x : tau) x /= a;
    for (std::size_t k = 0; k < m; ++k) rho[f + k] = (s[f + k] - R * tau[k]) / p;
    if (!with_matrix) continue;
    const double kappa = R / a;
    const bool follows = disc.source >= 0 && sigma_N > 0;
    const std::size_t N = follows ? at(disc.source) : 0;
    for (std::size_t k = 0; k < m; ++k) {
      // in the pattern that these rows and those of the source share
      const std::size_t row = first(f + k), n = entries(f + k);
      const double along = follows ? disc.friction * tau[k] * p_[N] / p : 0;
      for (std::size_t j = 0; j < n; ++j) J_[row + j] = follows ? along * W[first(N) + j] : 0.0;
      if (follows) J_[place(f + k, N)] += along * shift_ - disc.friction * tau[k] / p;
      J_[place(f + k, f + k)] += 1 / p;
      for (std::size_t l = 0; l < m; ++l) {
        const double part = kappa * ((k == l ? 1.0 : 0.0) - tau[k] * tau[l]);
        if (m == 1) continue;  // a disc of one row has no other direction
        for (std::size_t j = 0; j < n; ++j) J_[row + j] += part * W[first(f + l) + j];
        J_[place(f + k, f + l)] += part * (shift_ - 1 / p);
      }
    }
  }
}

bool ConeProblem::newton(In W, In q, double tolerance, bool search, int iterations, Out s, double gain) {
  double before = std::numeric_limits<double>::infinity();
  J_.resize(W.size());
  rates(W, q, s, u_);
  for (int k = 0;; ++k) {
    const double defect = natural_defect(s, u_);
    if (W.data() == given_) remember(s, defect);
    if (defect <= (k == 0 ? start_share : 1.0) * tolerance) {
      if (k > 0) refine(W, q, spreads_ && W.data() == given_ ? spread(W, q, tolerance, defect, s) : defect, s);
      return true;
    }
    if (k == iterations || stopped() || !(defect < gain * before)) return false;
    before = defect;
    ++iterations_;
    evaluate(s, u_, rho_, W, true);
    if (!factorise()) return false;
    scale_into(-1.0, rho_, ds_);
    solve_factorised(ds_);
    if (!all_finite(ds_)) return false;
    double share = 1;
    if (search) {
      const double square = dot(rho_, rho_);
      for (int halving = 0; halving < search_halvings; ++halving) {
        combine(1.0, s, share, ds_, trial_);
        rates(W, q, trial_, trial_u_);
        evaluate(trial_, trial_u_, trial_rho_, W, false);
        if (dot(trial_rho_, trial_rho_) <= (1 - search_decrease * share) * square) break;
        share *= 0.5;
      }
    }
    axpy(share, ds_, s);
    rates(W, q, s, u_);
  }
}

void ConeProblem::remember(In s, double defect) {
  if (!(defect < least_defect_)) return;
  least_defect_ = defect;
  copy(s, best_);
}

// The defect of s, which is remembered if it is the least.
double ConeProblem::measure(In W, In q, In s) {
  rates(W, q, s, u_);
  const double defect = natural_defect(s, u_);
  remember(s, defect);
  return defect;
}

bool ConeProblem::touches_without_load(In s) const {
  const double load = noticed_share * max_abs(s);
  for (std::size_t i = 0; i < at(n_); ++i)
    if (disc_of_[i] < 0 && s[i] < load && p_[i] * std::abs(u_[i]) < touching_share * load) return true;
  return false;
}

// Redundant contacts share their load in many ways, between which the motion of a body that slides and turns has to
// choose. Takes the way of contacts that are all alike in their compliance, that of the shift of the matrix at hand;
// where contacts touch without load, a larger one finds from zero which of them carry. Either forgets the start.
// Returns the defect.
double ConeProblem::spread(In W, In q, double tolerance, double defect, Out s) {
  combine(1.0, u_, shift_, s, trial_u_);
  evaluate(s, trial_u_, rho_, W, false);
  scale_into(-1.0, rho_, ds_);
  solve_factorised(ds_);
  const bool touches = pattern_ == nullptr && touches_without_load(s);
  if (!touches && !(max_abs(ds_) > noticed_share * max_abs(s))) return defect;
  const auto defect_now = [&] {
    rates(W, q, s, u_);
    return natural_defect(s, u_);
  };
  const int worst = worst_;
  double other = std::numeric_limits<double>::infinity();
  copy(s, one_way_);
  spreads_ = false;
  if (!touches) {
    axpy(1.0, ds_, s);
    refine(W, q, defect_now(), s);
    if (pattern_ == nullptr) newton(W, q, tolerance, false, spreading_iterations, s);
    other = defect_now();
  }
  if (other > tolerance && pattern_ == nullptr) {
    compliant_.resize(W.size());
    copy(W, compliant_);
    for (std::size_t i = 0; i < at(n_); ++i) compliant_[place(i, i)] += spreading_compliance / proximal_share * shift_;
    set_zero(s);
    newton(compliant_, q, tolerance, false, plain_iterations, s);
    newton(W, q, tolerance, false, plain_iterations, s);
    other = defect_now();
  }
  spreads_ = true;
  worst_ = worst;
  if (other <= tolerance) return other;
  copy(one_way_, s);
  rates(W, q, s, u_);
  return defect;
}

// With the matrix at hand: takes back what the shift has left, which would add up over many steps.
void ConeProblem::refine(In W, In q, double defect, Out s) {
  evaluate(s, u_, rho_, W, false);
  scale_into(-1.0, rho_, ds_);
  solve_factorised(ds_);
  combine(1.0, s, 1.0, ds_, trial_);
  rates(W, q, trial_, trial_u_);
  const int worst = worst_;
  if (natural_defect(trial_, trial_u_) < defect) copy(trial_, s);
  worst_ = worst;
}

bool ConeProblem::proximal_point(In W, In q, double tolerance, int iterations, Out s) {
  const std::size_t n = at(n_);
  shifted_.resize(W.size());
  const double shift = shift_;
  const auto restore = [&] {
    prepare(W);
    shift_ = shift;
  };
  const ProximalRule& rule = pattern_ == nullptr ? proximal_of_few : proximal_of_many;
  copy(s, start_);
  spreads_ = false;
  double a = 1;
  const int most = iterations_ + iterations;
  for (int k = 0; k < proximal_steps && iterations_ < most && !stopped(); ++k) {
    restore();
    copy(W, shifted_);
    for (std::size_t i = 0; i < n; ++i) {
      const double add = a / p_[i];
      shifted_[place(i, i)] += add;
      shifted_q_[i] = q[i] - add * start_[i];
    }
    copy(start_, s);
    prepare(shifted_);
    if (!newton(shifted_, shifted_q_, tolerance, rule.searches && k % 2 == 0, rule.iterations, s)) {
      a *= rule.growth;
      continue;
    }
    copy(s, start_);
    restore();
    if (measure(W, q, s) <= tolerance) return true;
    a = std::max(rule.fall * a, smallest_proximal);
    if (a < try_without) {
      if (newton(W, q, tolerance, false, final_iterations, s)) return true;
      copy(start_, s);
    }
  }
  restore();
  return false;
}

// Open contacts are decided by sigma_N, never by what rounding has left of s_N, and discs are not left.
void ConeProblem::clean(In W, In q, Out s) {
  rates(W, q, s, u_);
  for (int i = 0; i < n_; ++i)
    if (disc_of_[at(i)] < 0 && !(s[at(i)] - p_[at(i)] * u_[at(i)] > 0 && s[at(i)] > 0)) s[at(i)] = 0;
  for (const Disc& disc : discs_) {
    double* const x = s.data() + disc.first;
    const double R = radius(disc, disc.source >= 0 ? s[at(disc.source)] : 0), a = length(x, disc.rows);
    if (a > R)
      for (int k = 0; k < disc.rows; ++k) x[k] *= R / a;
  }
}

// W with a compliance that makes defects of `excess` at most.
void ConeProblem::set_compliant(In W, In q, double excess) {
  double largest = max_abs(q);
  for (std::size_t i = 0; i < at(n_); ++i) largest = std::max(largest, std::abs(begin_[i]) / p_[i]);
  compliant_.resize(W.size());
  copy(W, compliant_);
  const double share = excess / largest;
  for (std::size_t i = 0; i < at(n_); ++i) compliant_[place(i, i)] += share / p_[i];
}

bool ConeProblem::climb(In W, In q, double tolerance, Out s, In present, int& stage) {
  const auto from = [&](In start) {
    copy(start, s);
    return s;
  };
  stage = 1;
  if (newton(W, q, tolerance, false, plain_iterations, s)) return true;
  if (!present.empty()) {
    rates(W, q, present, u_);
    enough_ = std::max(tolerance, approximate_share * natural_defect(present, u_));
  }
  stage = 2;
  if (newton(W, q, tolerance, true, searched_iterations, from(begin_))) return true;
  if (is_enough()) return false;
  stage = 3;
  copy(begin_, swept_);
  for (const int sweeps : {first_sweeps, more_sweeps}) {
    if (sweep(W, q, tolerance, sweeps, from(swept_))) return true;
    copy(s, swept_);
    if (newton(W, q, tolerance, false, restarted_iterations, s)) return true;
    if (newton(W, q, tolerance, true, restarted_iterations, from(swept_))) return true;
    if (is_enough()) return false;
  }
  stage = 4;
  for (const double excess : compliant_excess) {
    set_compliant(W, q, excess * tolerance);
    if (least_squares(compliant_, q, tolerance, square_iterations, from(best_))) {
      measure(W, q, s);
      if (newton(W, q, tolerance, false, final_iterations, s)) return true;
    }
    if (!present.empty()) enough_ = std::max(enough_, inconsistent_excess * excess * tolerance);
    if (is_enough()) return false;
  }
  stage = 5;
  return proximal_point(W, q, tolerance, most_proximal_iterations, from(swept_));
}

// W with a compliance: Newton's method from the start or from where the interior-point method ends. Whether W itself is
// solved well enough then.
bool ConeProblem::solve_compliant(In W, In q, double tolerance, int level, bool from_start, Out s) {
  set_compliant(W, q, large_excess[level] * tolerance);
  const auto enough = [&] {
    measure(W, q, s);
    enough_ = std::max(enough_, large_defect[level] * tolerance);
    return is_enough();
  };
  if (from_start) {
    copy(begin_, s);
    newton(compliant_, q, tolerance, true, compliant_iterations, s);
    if (enough()) return true;
  }
  if (!has_interior()) return false;
  interior_point(compliant_, q, interior_excess * large_excess[level] * tolerance, s);
  if (enough()) return true;
  newton(compliant_, q, tolerance, true, final_iterations, s);
  return enough();
}

// Of many rows, which are those of a linear problem.
bool ConeProblem::climb_large(In W, In q, double tolerance, Out s, int& stage) {
  const bool pile = pattern_ != nullptr, coarse = pile && tolerance > coarse_share * max_abs(q);
  stage = 1;
  if (pile && measure(W, q, s) <= tolerance) return true;
  if (!coarse && newton(W, q, tolerance, false, few_iterations, s, pile ? pile_gain : any_gain)) return true;
  stage = 3;
  copy(begin_, s);
  if (coarse) enough_ = pile_defect * tolerance;
  if (split(W, q, tolerance, most_splittings, s)) {
    if (pile) return true;
    // shares the load of redundant contacts, too
    copy(s, swept_);
    if (!newton(W, q, tolerance, false, few_iterations, s)) copy(swept_, s);
    return true;
  }
  if (is_enough()) return false;
  stage = 5;
  copy(best_, s);
  return proximal_point(W, q, tolerance, most_proximal_iterations, s);
}

// Of many rows, which an outer iteration linearises. Those of a pile, and of a flat body on many points, nearly always
// contradict each other, and Newton's method then goes astray without a compliance.
bool ConeProblem::climb_linearised(In W, In q, double tolerance, Out s, In present, bool keep, int& stage) {
  const bool pile = pattern_ != nullptr, coarse = pile && tolerance > coarse_share * max_abs(q);
  rates(W, q, present, u_);
  const double defect = natural_defect(present, u_);
  if (keep && defect <= large_excess[0] * tolerance) {
    copy(present, s);
    remember(s, defect);
    stage = 1;
    return true;
  }
  if ((pile && !coarse) || n_ <= few_rows) {
    stage = 1;
    if (newton(W, q, tolerance, false, pile ? few_iterations : plain_iterations, s, pile ? pile_gain : any_gain))
      return true;
    copy(begin_, s);
  }
  if (pile) {
    stage = 3;
    if (split(W, q, tolerance, most_linearised_splittings, s)) return true;
    copy(begin_, s);
  }
  stage = 4;
  set_compliant(W, q, large_excess[0] * tolerance);
  const bool solved = newton(compliant_, q, tolerance, true, compliant_iterations, s);
  measure(W, q, s);
  if (solved) {
    copy(s, swept_);
    stage = 1;
    if (newton(W, q, tolerance, false, polishing_iterations, s)) return true;
    stage = 4;
    enough_ = large_defect[0] * tolerance;
  } else if (!pile) {
    stage = 1;
    copy(begin_, s);
    if (newton(W, q, tolerance, false, final_iterations, s)) return true;
    stage = 4;
  }
  enough_ = std::max({enough_, tolerance, approximate_share * defect});
  if (is_enough()) return false;
  for (const int level : {0, 1})
    if (solve_compliant(W, q, tolerance, level, level > 0, s)) return false;
  enough_ = std::max(enough_, gaining_share * defect);
  if (is_enough()) return false;
  stage = 5;
  copy(best_, s);
  return proximal_point(W, q, tolerance, pattern_ != nullptr ? few_proximal_iterations : most_proximal_iterations, s);
}

ConeProblem::Result ConeProblem::solve(In W, In q, double tolerance, Out s, In present, bool keep) {
  Result result;
  iterations_ = 0;
  least_defect_ = std::numeric_limits<double>::infinity();
  enough_ = 0;
  given_ = W.data();
  prepare(W);
  copy(s, begin_);
  if (n_ <= (present.empty() ? few_rows : few_linearised_rows))
    result.solved = climb(W, q, tolerance, s, present, result.stage);
  else if (present.empty())
    result.solved = climb_large(W, q, tolerance, s, result.stage);
  else
    result.solved = climb_linearised(W, q, tolerance, s, present, keep, result.stage);
  result.iterations = iterations_;
  if (result.solved) {
    clean(W, q, s);
  } else {
    result.solved = least_defect_ <= tolerance;  // of a start that nothing betters
    result.approximate =
        !result.solved && least_defect_ <= std::max(enough_, inconsistent_excess * compliant_excess[1] * tolerance);
    copy(best_, s);
    clean(W, q, s);
    rates(W, q, s, u_);
    result.defect = natural_defect(s, u_);
    result.worst = worst_;
  }
  return result;
}

void ConeProblem::linearise(In W, In q, In s, Out rho, Out J) {
  prepare(W);
  J_.resize(W.size());
  rates(W, q, s, u_);
  evaluate(s, u_, rho, W, true);
  copy(J_, J);
}

}  // namespace carom
