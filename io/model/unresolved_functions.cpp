#include "io/model/unresolved_functions.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace carom {

namespace {

constexpr long most_steps = 2000;           // that are looked at
constexpr std::size_t most_points = 20000;  // of a table, whose steps are looked at
// for Simpson's rule: of a step or between two points of a table, and of all
constexpr long least_pieces_of_step = 16, most_pieces_of_step = 1000, all_pieces = 32000;

// Numbers of the steps that are looked at.
std::set<double> steps_of(std::span<const double> points, double start, double step, double duration) {
  const double count = std::round(duration / step);
  std::set<double> numbers;
  if (!(count >= 1)) return numbers;
  const double stride = std::max(1.0, std::floor(count / most_steps));
  for (double k = 0; k < count; k += stride) numbers.insert(k);
  for (std::size_t i = 0; i < points.size(); i += 1 + points.size() / most_points)
    if (const double k = std::floor((points[i] - start) / step); k >= 0 && k < count) numbers.insert(k);
  return numbers;
}

}  // namespace

double unresolved_share(const TimeFunction& f, Given given, double start, double step, double duration) {
  if (f.is_constant()) return 0;
  return unresolved_share([&](double t) { return given == Given::place ? f.evaluate(t).rate : f.value(t); }, f.points(),
                          given, start, step, duration);
}

double unresolved_share(const std::function<double(double)>& acts, std::span<const double> points, Given given,
                        double start, double step, double duration) {
  double missed = 0, size = 0;
  std::vector<double> cuts;
  const std::set<double> steps = steps_of(points, start, step, duration);
  const long pieces = std::clamp(all_pieces / static_cast<long>(1 + steps.size() + points.size()), least_pieces_of_step,
                                 most_pieces_of_step);
  for (const double k : steps) {
    const double a = start + k * step, b = start + (k + 1) * step, at_a = acts(a), slope = (acts(b) - at_a) / step;
    // tables are smooth between their points
    cuts.assign(1, a);
    for (auto t = std::ranges::upper_bound(points, a); t != points.end() && *t < b; ++t) cuts.push_back(*t);
    cuts.push_back(b);
    double difference = 0, distance = 0;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
      for (long j = 0; j < pieces; ++j) {
        const double length = (cuts[i + 1] - cuts[i]) / static_cast<double>(pieces),
                     from = cuts[i] + static_cast<double>(j) * length;
        // Simpson's rule; the values of a point belong to the piece behind it
        for (const auto& [place, weight] : {std::pair(0.0, 1.0), {0.5, 4.0}, {1 - 1e-9, 1.0}}) {
          const double t = from + place * length, y = acts(t), off = y - at_a - slope * (t - a);
          difference += length / 6 * weight * off;
          distance += length / 6 * weight * std::abs(off);
          size += length / 6 * weight * std::abs(y);
        }
      }
    missed += given == Given::force ? std::abs(difference) : distance;
  }
  return size > 0 ? missed / size : size;
}

double largest_change(const TimeFunction& f, double start, double step, double duration) {
  double largest = 0;
  if (f.is_constant()) return largest;
  for (const double k : steps_of(f.points(), start, step, duration))
    largest = std::max(largest, std::abs(f.value(start + (k + 1) * step) - f.value(start + k * step)));
  return largest;
}

}  // namespace carom
