// Work space and checks of formulas of a body's coordinates: on the stack, so that steps do not allocate and threads do
// not share it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/base/index.hpp"
#include "core/formula/pole.hpp"

namespace carom {

inline constexpr int most_coordinates = 32;

namespace formula_values {

inline constexpr std::size_t most_variables = 2 * most_coordinates + 1;

using Values = std::array<double, most_variables>;
/// Second derivatives by coordinates and t.
using Hessian = std::array<double, at((most_coordinates + 1) * (most_coordinates + 1))>;

inline std::span<const double> first(const Values& x, std::size_t n) { return {x.data(), n}; }
inline std::span<double> first(Values& x, std::size_t n) { return {x.data(), n}; }
inline std::span<double> first(Hessian& h, std::size_t n) { return {h.data(), n}; }

inline bool all_finite(std::span<const double> x) {
  return std::all_of(x.begin(), x.end(), [](double xi) { return std::isfinite(xi); });
}

/// Whether a value or a derivative up to the order, 1 or 2, is not finite at x_1, or a pole lies between x_0 and x_1.
inline bool is_undefined(const Formula& f, const Values& x_0, const Values& x_1, std::size_t variables, int order) {
  if (f.is_constant()) return false;
  Values gradient;
  Hessian hessian;
  const std::span<const double> x = first(x_1, variables);
  const std::span<double> g = first(gradient, variables), h = first(hessian, order == 2 ? variables * variables : 0);
  const double value = order == 2 ? f.hessian(x, g, h) : f.gradient(x, g);
  if (!std::isfinite(value) || !all_finite(g) || !all_finite(h)) return true;
  std::array<double, 2 * most_variables> work{};
  return has_pole(f, first(x_0, variables), x, {work.data(), 2 * variables}, g);
}

}  // namespace formula_values

}  // namespace carom
