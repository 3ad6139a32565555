#include "io/studies/error_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

namespace carom {

namespace {

using Style = Figure::Style;

bool is_point(double x, double y, bool words) {
  return std::isfinite(x) && std::isfinite(y) && y > 0 && (words || x > 0);
}

/// Calls take(x, y) for the points of a panel that logarithmic axes show.
void for_points(const Figure::Panel& panel, bool words, const std::function<void(double, double)>& take) {
  for (const Figure::Curve& c : panel.curves)
    for (std::size_t i = 0; i < std::min(c.x.size(), c.y.size()); ++i)
      if (is_point(c.x[i], c.y[i], words)) take(c.x[i], c.y[i]);
}

/// Between these powers of ten, with 6 % of room and one decade at least.
Figure::Range decades(double low, double high) {
  if (!(low <= high)) return std::nullopt;
  const double room = 0.06 * std::max(1.0, high - low), more = std::max(0.0, 0.5 * (1 - (high - low) - 2 * room));
  return std::pair(std::pow(10, low - room - more), std::pow(10, high + room + more));
}

/// Lines of whole orders through one point at the fine end, which is so low that no line crosses a curve.
void add_orders(Figure::Panel& panel, const std::set<int>& orders, bool rises) {
  double x_0 = HUGE_VAL, x_1 = -HUGE_VAL, low = HUGE_VAL, high = -HUGE_VAL;
  for_points(panel, false, [&](double x, double y) {
    x_0 = std::min(x_0, std::log10(x)), x_1 = std::max(x_1, std::log10(x));
    low = std::min(low, std::log10(y)), high = std::max(high, std::log10(y));
  });
  if (!(x_0 < x_1)) return;
  const double fine = rises ? x_0 : x_1, coarse = rises ? x_1 : x_0;
  double start = HUGE_VAL;
  for (const int order : orders)
    for_points(panel, false, [&](double x, double y) {
      start = std::min(start, std::log10(y) - order * std::abs(std::log10(x) - fine));
    });
  start -= 0.06 * std::max(1.0, high - low);
  for (const int order : orders)
    panel.curves.push_back({fmt::format("order {}", order),
                            {std::pow(10, fine), std::pow(10, coarse)},
                            {std::pow(10, start), std::pow(10, start + order * std::abs(coarse - fine))},
                            Style::guide});
}

}  // namespace

Figure::Panel error_panel(std::string label, const std::vector<ErrorCurve>& curves, bool rises, bool words) {
  Figure::Panel panel;
  panel.label = std::move(label);
  panel.logarithmic = true;
  panel.tall = true;
  std::set<int> orders;
  for (const ErrorCurve& curve : curves) {
    // in the order of x, as a line needs it
    std::vector<std::pair<double, double>> points;
    for (std::size_t i = 0; i < std::min(curve.x.size(), curve.y.size()); ++i)
      if (is_point(curve.x[i], curve.y[i], words)) points.emplace_back(curve.x[i], curve.y[i]);
    std::sort(points.begin(), points.end());
    Figure::Curve drawn;
    drawn.name = curve.name + (curve.order ? fmt::format(", order {:.2f}", *curve.order) : "");
    drawn.style = words ? Style::points : Style::line_and_points;
    for (const auto& [x, y] : points) drawn.x.push_back(x), drawn.y.push_back(y);
    panel.curves.push_back(std::move(drawn));
    const int whole = curve.order ? static_cast<int>(std::lround(*curve.order)) : 0;
    if (!words && whole >= 1 && whole <= 8) orders.insert(whole);
  }
  add_orders(panel, orders, rises);
  return panel;
}

void set_decades(Figure& figure) {
  const bool words = !figure.places.empty();
  double x_0 = HUGE_VAL, x_1 = -HUGE_VAL;
  for (Figure::Panel& panel : figure.panels) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for_points(panel, words, [&](double x, double y) {
      if (!words) x_0 = std::min(x_0, std::log10(x)), x_1 = std::max(x_1, std::log10(x));
      low = std::min(low, std::log10(y)), high = std::max(high, std::log10(y));
    });
    panel.range = decades(low, high);
  }
  if (!words) figure.range = decades(x_0, x_1);
}

void draw_for_study(const Figure& figure, const std::filesystem::path& picture, std::vector<std::string>& notes) {
  try {
    draw(figure, picture);
  } catch (const PictureError& e) {
    notes.push_back("no picture " + picture.filename().string() + ": " + e.what() + "; its script is " +
                    script_beside(picture).filename().string());
  }
}

std::vector<std::string> with_companions(const std::vector<std::string>& pictures) {
  std::vector<std::string> out;
  for (const std::string& picture : pictures)
    for (const std::filesystem::path& file :
         {std::filesystem::path(picture), script_beside(picture), data_beside(picture)})
      out.push_back(file.string());
  return out;
}

}  // namespace carom
