#include "contact/law/cone_problem.hpp"

#include <algorithm>

#include "core/base/index.hpp"

namespace carom {

void ConeProblem::reserve(int rows) {
  const std::size_t n = at(rows);
  for (Vector* x : row_vectors()) x->reserve(n);
  for (Vector* x : {&J_, &shifted_, &compliant_}) x->reserve(n * n);
  discs_.reserve(n);
  for (std::vector<int>* x : {&disc_of_, &first_disc_, &next_disc_}) x->reserve(n);
  units_.reserve(n);
  lu_.reserve(rows);
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
  for (Vector* x : row_vectors()) x->resize(n);
}

bool ConeProblem::Factors::factorise(In A, int rows, const SparsePattern* pattern) {
  is_sparse_ = pattern != nullptr;
  if (!is_sparse_) return dense_.factorise(A, rows) > 0;
  if (pattern->row_start != analysed_.row_start || pattern->column != analysed_.column) {
    analysed_ = *pattern;
    sparse_.set_method(LinearMethod::frontal);
    sparse_.analyse(analysed_, {});
  }
  sparse_.renew();
  return sparse_.factorise(A) == FactorStatus::ok;
}

void ConeProblem::Factors::solve(Out b) {
  if (is_sparse_)
    sparse_.solve(b);
  else
    dense_.solve(b);
}

}  // namespace carom
