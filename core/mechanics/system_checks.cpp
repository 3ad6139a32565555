// System: whether a step has passed over something that its ends do not show: a contact, a pole or a jump of a formula,
// whole turns of an angle, an inverted element.

#include <cmath>
#include <numbers>
#include <utility>

#include "core/formula/jump.hpp"
#include "core/formula/pole.hpp"
#include "core/mechanics/system.hpp"
#include "core/mechanics/system_tables.hpp"

namespace carom {

namespace {

constexpr double most_turn = 0.9 * std::numbers::pi;  // of a prescribed angle, in an increment

}  // namespace

std::string System::missed_contact(In q_0, double t_0, In q_1, double t_1, double closing_turn) const {
  if (!passable_) return {};
  const ConstraintInput start{q_0.data(), nullptr, t_0, nullptr}, end{q_1.data(), nullptr, t_1, nullptr};
  for (const auto& block : constraints_)
    if (block->traits().passable)
      if (std::string item = block->missed_contact(start, end, closing_turn); !item.empty()) return item;
  return {};
}

void System::watch(TimeFunction formula, FormulaUse use, std::string name) {
  watched_.push_back({std::move(formula), use, std::move(name)});
}

void System::watch_angle(std::function<double(const DofMap&, In)> angle, std::string name) {
  watched_angles_.push_back({std::move(angle), std::move(name)});
}

void System::watch_turn(TimeFunction angle, std::string name) {
  watched_turns_.emplace_back(std::move(angle), std::move(name));
}

std::string System::turning_formula(double from, double to) const {
  for (const auto& [angle, name] : watched_turns_)
    if (std::abs(angle.value(to) - angle.value(from)) > most_turn) return name;
  return {};
}

std::string System::lost_angle(In q_0, In q_1) const {
  for (const WatchedAngle& w : watched_angles_)
    if (std::abs(w.angle(dofs_, q_1) - w.angle(dofs_, q_0)) > 2 * std::numbers::pi) return w.name;
  return {};
}

std::string System::undefined_formula(double from, double to) const {
  for (const WatchedFormula& w : watched_) {
    const TimeValue x = w.formula.evaluate(to);
    if (!std::isfinite(x.value) || (w.use.rate && !std::isfinite(x.rate)) || has_pole(w.formula, from, to))
      return w.name;
  }
  return {};
}

std::string System::jumping_formula(double from, double to) const {
  for (const WatchedFormula& w : watched_)
    if (w.use.moves && !std::isnan(find_jump(w.formula, from, to, w.use.period))) return w.name;
  return {};
}

FormulaFault System::formula_fault(In q_0, In v_0, double t_0, In q_1, In v_1, double t_1) const {
  if (!has_formulas_) return {};
  ThreadScratch& scratch = work_->thread_scratch[0];
  for (std::size_t b = 0; b < elements_.size(); ++b) {
    const ElementBlock& block = *elements_[b];
    if (!block.traits().has_formulas) continue;
    const Range all{0, block.topology().items};
    gather(block.topology(), element_tables_[b]->equations, all, v_0.data(), scratch.v.data());
    gather(block.topology(), element_tables_[b]->equations, all, v_1.data(), scratch.a.data());
    FormulaFault fault = block.formula_fault({q_0.data(), scratch.v.data(), t_0}, {q_1.data(), scratch.a.data(), t_1});
    if (!fault.where.empty()) return fault;
  }
  for (const auto& block : constraints_)
    if (block->traits().has_formulas)
      if (std::string formula =
              block->undefined_formula({q_0.data(), nullptr, t_0, nullptr}, {q_1.data(), nullptr, t_1, nullptr});
          !formula.empty())
        return {std::move(formula), false};
  return {};
}

std::string System::inverted_element(In q, double t, bool with_forces) const {
  for (const auto& block : elements_) {
    if (with_forces && !block->traits().may_invert) continue;
    const int item = block->inverted_item({0, block->topology().items}, {q.data(), nullptr, t});
    if (item >= 0) return block->item_name(item);
  }
  return {};
}

}  // namespace carom
