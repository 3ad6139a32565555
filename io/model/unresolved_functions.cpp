#include "io/model/unresolved_functions.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace carom {

namespace {

constexpr long most_steps = 2000;           // that are looked at
constexpr std::size_t most_points = 20000;  // of a table, whose steps are looked at
constexpr int pieces = 16;                  // of a step, for Simpson's rule

}  // namespace

double unresolved_share(const TimeFunction& f, bool rates, double start, double step, double duration) {
  const double count = std::round(duration / step);
  if (f.is_constant() || !(count >= 1)) return 0;
  std::set<double> numbers;  // of steps
  const double stride = std::max(1.0, std::floor(count / most_steps));
  for (double k = 0; k < count; k += stride) numbers.insert(k);
  const std::span<const double> points = f.points();
  for (std::size_t i = 0; i < points.size(); i += 1 + points.size() / most_points)
    if (const double k = std::floor((points[i] - start) / step); k >= 0 && k < count) numbers.insert(k);

  const auto value = [&](double t) { return rates ? f.evaluate(t).rate : f.value(t); };
  double missed = 0, size = 0;
  std::vector<double> cuts;
  for (const double k : numbers) {
    const double a = start + k * step, b = start + (k + 1) * step;
    // tables are smooth between their points
    cuts.assign(1, a);
    for (auto t = std::ranges::upper_bound(points, a); t != points.end() && *t < b; ++t) cuts.push_back(*t);
    cuts.push_back(b);
    double integral = 0, absolute = 0;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
      for (int j = 0; j < pieces; ++j) {
        const double length = (cuts[i + 1] - cuts[i]) / pieces, from = cuts[i] + j * length;
        // the values of a point belong to the piece behind it
        const double y[] = {value(from), value(from + 0.5 * length), value(from + (1 - 1e-9) * length)};
        integral += length / 6 * (y[0] + 4 * y[1] + y[2]);
        absolute += length / 6 * (std::abs(y[0]) + 4 * std::abs(y[1]) + std::abs(y[2]));
      }
    missed += std::abs(0.5 * step * (value(a) + value(b)) - integral);
    size += absolute;
  }
  return size > 0 ? missed / size : size;
}

}  // namespace carom
