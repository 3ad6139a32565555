#include "io/model/stability_remark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"
#include "core/mechanics/natural_modes.hpp"

namespace carom {

namespace {

constexpr int most_judged_equations = 10000;  // beyond, modes cost more than increments
// what remains of the forces; skew part of the tangent, of follower loads
constexpr double largest_imbalance = 1e-3, largest_asymmetry = 1e-6;

}  // namespace

std::string stability_remark(const Model& model, const char* where) {
  const System& system = model.system;
  const State& state = model.state;
  const auto closed = [](std::uint8_t flag) { return flag != 0; };
  if (std::any_of(state.active.begin(), state.active.end(), closed) || system.row_kinds().meets(friction_rows) ||
      system.size() > most_judged_equations)
    return "";
  const NaturalModes natural = natural_modes(system, state.q, state.t, 1, model.scales.length);
  if (!natural.left_out.empty() || natural.modes.empty() || !(natural.modes[0].omega_squared < 0) ||
      natural.imbalance > largest_imbalance || natural.asymmetry > largest_asymmetry)
    return "";
  const Vector& shape = natural.modes[0].shape;
  const auto largest =
      std::max_element(shape.begin(), shape.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  return fmt::format(
      "the equilibrium at the {} is unstable: a small disturbance, largest in {}, grows. The path of the loads has "
      "passed a point of buckling or snap-through, or began nearer to this equilibrium than to a stable one: smaller "
      "steps find the stable one where a load or a shape of the model disturbs the unstable one",
      where, system.equation_name(static_cast<int>(largest - shape.begin())));
}

}  // namespace carom
