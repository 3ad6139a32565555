// SwitchingJointBlock: a switch from one mode to the next, and reactions that both modes share during it.

#include "elements/joints/switching_joints.hpp"

namespace carom {

bool SwitchingJointBlock::set_switch(int from, int to, const ConstraintInput& in, double E, SwitchMetric* metric) {
  if (metric == nullptr) return false;
  SwitchedRows switched;
  const Vector z = formula_gradient(modes_[at(from)].condition, in);
  if (!metric->measure(*this, gradients(from, in), switched.old_rows) ||
      !metric->measure(*this, gradients(to, in), switched.new_rows) ||
      !metric->measure(*this, Eigen::Map<const Eigen::RowVectorXd>(z.data(), topology().local_size), switched.surface))
    return false;
  Vector rates(at(rows()));
  ConstraintValues wanted;
  wanted.rate = rates.data();
  fill(to, in, wanted);
  switched.new_rates.resize(switched.new_rows.x.cols());
  Eigen::Index k = 0;
  for (int row = 0; row < rows(); ++row)
    if (holds(to, row)) switched.new_rates[k++] = rates[at(row)];
  switched.surface_rate = -crossing_rate(from, in);
  switched.E = E;
  switched.may_hold_surface = modes_[at(from)].next == to;
  const auto found = intermediate_gradient(switched);
  if (!found) return false;
  mode_ = to;
  old_ = from;
  holds_surface_ = found->holds_surface;
  cosine_ = found->cosine;
  const auto store = [&](const Matrix& A, int mode, Matrix& all) {
    all.setZero();
    for (Eigen::Index i = 0, row = 0; row < rows(); ++row) {
      if (!holds(mode, static_cast<int>(row))) continue;
      for (Eigen::Index j = 0, column = 0; column < rows(); ++column)
        if (holds(to, static_cast<int>(column))) all(row, column) = A(i, j++);
      ++i;
    }
  };
  store(found->A_old, from, A_old_);
  store(found->A_new, to, A_new_);
  return true;
}

// A_- s and A_+ s of a switch; false outside of switches.
bool SwitchingJointBlock::share_reactions(const double* s) const {
  if (old_ < 0) return false;
  const Eigen::Map<const Column> given(s, rows());
  Eigen::Map<Column>(s_old_.data(), rows()) = A_old_ * given;
  Eigen::Map<Column>(s_new_.data(), rows()) = A_new_ * given;
  return true;
}

void SwitchingJointBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  if (range.size() == 0) return;
  if (old_ >= 0 && show_old_) return add_reactions(old_, in, s, f);
  if (!share_reactions(s)) return add_reactions(mode_, in, s, f);
  add_reactions(old_, in, s_old_.data(), f);
  add_reactions(mode_, in, s_new_.data(), f);
}

void SwitchingJointBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                                double* A) const {
  if (range.size() == 0) return;
  if (!share_reactions(s)) return add_gradients(mode_, in, s, c, A);
  add_gradients(old_, in, s_old_.data(), c, A);
  add_gradients(mode_, in, s_new_.data(), c, A);
}

void SwitchingJointBlock::direction(const ConstraintInput& in, double* F) const {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  ConstraintInput place = in;
  place.v = nullptr;
  Eigen::Map<RowMajor> directions(F, rows(), topology().local_size);
  ConstraintValues wanted;
  wanted.gradient = F;
  if (old_ < 0) return fill(mode_, place, wanted);
  RowMajor old_rows(rows(), topology().local_size);
  fill(mode_, place, wanted);
  wanted.gradient = old_rows.data();
  fill(old_, place, wanted);
  directions = (A_old_.transpose() * old_rows + A_new_.transpose() * directions).eval();
}

}  // namespace carom
