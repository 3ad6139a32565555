#include "integrators/common/step_way.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "core/lie/so3.hpp"

namespace carom {

namespace {

constexpr double turn_of_piece = 0.1;  // rad
constexpr int most_pieces = 16, pieces_of_moving = 4;
// of the way, beside turn^2/8: velocities at the ends whose mean differs more from that of the way belong to no smooth
// motion
constexpr double smooth_share = 0.01;
// depth of a gap that closes on the way: over the larger gap at the ends, over what the way bends the gap, and over
// what it bends the way of a node, whose cubic is not exact; gaps that are open at the ends exceed the last of these
constexpr double shallow_share = 1e-3, bent_share = 0.05, cubic_share = 1e-3;
// of what the way bends a gap: smaller gaps at the ends may be those of a contact that is about to open or to close
constexpr double open_share = 0.1;

}  // namespace

StepWay::StepWay(const System& system) : system_(&system) {
  for (const auto& block : system.constraints()) {
    if (block->traits().kind != RowKind::unilateral) continue;
    turning_ = turning_ || block->traits().turning;
    moving_ = moving_ || (block->traits().moving && block->traits().passable);
  }
  if (!turning_ && !moving_) return;
  for (Vector* x : {&q_, &q_next_}) x->assign(at(system.dofs().configuration_size()), 0.0);
  move_.assign(at(system.size()), 0.0);
  for (Vector* x : {&gaps_, &gaps_from_, &gaps_to_, &deepest_, &bent_}) x->assign(at(system.rows()), 0.0);
}

// turn: the largest of a body in the step, 0 if none turns far
int StepWay::pieces(double turn) const {
  const int least = moving_ ? pieces_of_moving : 1;
  if (turn == 0) return least;
  return std::clamp(static_cast<int>(std::min(std::ceil(turn / turn_of_piece), 1.0 * most_pieces)), 2, most_pieces);
}

void StepWay::find_place(const State& from, const State& to, double turn, double share, Vector& q) {
  const DofMap& dofs = system_->dofs();
  const double h = to.t - from.t, s = share, bend_0 = s * (1 - s) * (1 - s), bend_1 = s * s * (s - 1);
  for (const DofMap::Translation& c : dofs.translations()) {
    const double way = to.q[at(c.entry)] - from.q[at(c.entry)], v_0 = from.v[at(c.equation)],
                 v_1 = to.v[at(c.equation)];
    const double size = std::max({std::abs(way), h * std::abs(v_0), h * std::abs(v_1)});
    move_[at(c.equation)] = s * way;
    if (turn == 0 || std::abs(way - 0.5 * h * (v_0 + v_1)) > (smooth_share + turn * turn / 8) * size) continue;
    const double bend = bend_0 * (h * v_0 - way) + bend_1 * (h * v_1 - way);
    move_[at(c.equation)] += bend;
    bend_ = std::max(bend_, std::abs(bend));
  }
  for (const DofMap::Frame& f : dofs.rotating_frames()) {
    const auto rotation = [&](const Vector& x) { return Quaternion(Eigen::Map<const Quaternion>(x.data() + f.entry)); };
    Eigen::Map<Vec3>(move_.data() + f.equation) =
        s * so3::log_quaternion(so3::quaternion_product(so3::quaternion_conjugate(rotation(from.q)), rotation(to.q)));
  }
  system_->retract(from.q, move_, q);
}

std::string StepWay::missed_contact(const State& from, const State& to, double closing_turn) {
  double turn = 0;
  if (turning_)
    turn =
        (to.t - from.t) * std::max(system_->largest_angular_velocity(from.v), system_->largest_angular_velocity(to.v));
  if (!(turn > least_turn)) turn = 0;
  const int count = turning_ || moving_ ? pieces(turn) : 1;
  if (std::string item = system_->missed_contact(from.q, from.t, to.q, to.t, closing_turn); count == 1 || !item.empty())
    return item;
  const double h = to.t - from.t;
  system_->gaps(from.q, from.t, RowKind::unilateral, gaps_from_);
  system_->gaps(to.q, to.t, RowKind::unilateral, gaps_to_);
  copy(gaps_to_, deepest_);
  set_zero(bent_);
  bend_ = 0;
  copy(from.q, q_);
  for (int k = 1; k <= count; ++k) {
    const double s = static_cast<double>(k) / count, t = from.t + s * h;
    if (k < count) {
      find_place(from, to, turn, s, q_next_);
      system_->gaps(q_next_, t, RowKind::unilateral, gaps_);
      for (std::size_t i = at(system_->bilateral()); i < gaps_.size(); ++i) {
        deepest_[i] = std::min(deepest_[i], gaps_[i]);
        bent_[i] = std::max(bent_[i], (1 - s) * gaps_from_[i] + s * gaps_to_[i] - gaps_[i]);
      }
    } else {
      copy(to.q, q_next_);
    }
    if (std::string item = system_->missed_contact(q_, t - h / count, q_next_, t, 0); !item.empty()) return item;
    std::swap(q_, q_next_);
  }
  for (int row = system_->bilateral(); row < system_->rows(); ++row) {
    const std::size_t i = at(row), contact = i - at(system_->bilateral());
    if (system_->row_kind(row) != RowKind::unilateral || system_->row_vacant(row)) continue;
    const bool open = from.closed[contact] == 0 && to.closed[contact] == 0 && to.impulse[i] == 0 &&
                      std::min(gaps_from_[i], gaps_to_[i]) > std::max(open_share * bent_[i], cubic_share * bend_);
    if (open && -deepest_[i] > std::max({shallow_share * std::max(gaps_from_[i], gaps_to_[i]), bent_share * bent_[i],
                                         cubic_share * bend_}))
      return system_->row_name(row);
  }
  return {};
}

}  // namespace carom
