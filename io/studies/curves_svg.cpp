// Curves over time as SVG: panels above each other with one axis of time, see plot_svg.hpp.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "io/studies/plot_svg.hpp"

namespace carom {

namespace {

// the sheet and its panels
constexpr double left = 92, right = 690, top = 74, panel_height = 190, panel_gap = 26, below = 62;
// broken lines, so that curves above each other can be told apart
constexpr std::array<const char*, 4> dashes = {"", "9 4", "4 3", "12 3 3 3"};

struct Range {
  double low = 0, high = 0;
  bool empty = true;
  void add(double x) {
    if (!std::isfinite(x)) return;
    low = empty ? x : std::min(low, x);
    high = empty ? x : std::max(high, x);
    empty = false;
  }
};

/// A linear axis with round numbers at its ticks.
struct Axis {
  double low, high, from, to, tick;
  double place(double x) const { return from + (to - from) * (x - low) / (high - low); }
};

Axis axis_over(Range range, double from, double to, double margin, int ticks) {
  if (range.empty) range = {0, 1, false};
  // a constant gets an axis that does not show its rounding
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  double span = range.high - range.low;
  if (!(span > 1e-12 * size) || span == 0) {
    const double half = size > 0 ? 0.1 * size : 1;
    range.low -= half;
    range.high += half;
    span = 2 * half;
  }
  const double rough = span / ticks, decade = std::pow(10.0, std::floor(std::log10(rough)));
  const double part = rough / decade;
  const double tick = decade * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
  return {range.low - margin * span, range.high + margin * span, from, to, tick};
}

class Sheet {
 public:
  explicit Sheet(const CurvePlot& plot) : plot_(plot) {
    Range t;
    for (const CurvePlot::Panel& panel : plot.panels)
      for (const CurvePlot::Curve& curve : panel.curves)
        for (const double x : curve.x) t.add(x);
    x_ = axis_over(t, left, right, 0, 8);
    width_ = right + 30;
    for (const std::string& name : plot.names)
      width_ = std::max(width_, right + 76 + 7.6 * static_cast<double>(name.size()));
    const double n = static_cast<double>(std::max<std::size_t>(1, plot.panels.size()));
    height_ = std::max(top + n * panel_height + (n - 1) * panel_gap + below,
                       top + 40 + 20 * static_cast<double>(plot.names.size()));
  }

  std::string text() {
    out_ = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' height='{1:.0f}' "
        "font-family='DejaVu Sans, Helvetica, Arial, sans-serif' font-size='13' fill='#222'>\n"
        "<rect width='{0:.0f}' height='{1:.0f}' fill='white'/>\n",
        width_, height_);
    label(left, 34, "start", plot_.title, "font-size='17' font-weight='bold'");
    label(left, 56, "start", plot_.subtitle, "fill='#555'");
    for (std::size_t i = 0; i < plot_.panels.size(); ++i) panel(i);
    legend();
    return out_ + "</svg>\n";
  }

 private:
  void label(double x, double y, const char* anchor, const std::string& words, const char* style = "") {
    if (!words.empty())
      out_ += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}' {}>{}</text>\n", x, y, anchor, style,
                          svg_escaped(words));
  }

  void panel(std::size_t i) {
    const CurvePlot::Panel& panel = plot_.panels[i];
    const double high = top + static_cast<double>(i) * (panel_height + panel_gap), low = high + panel_height;
    Range range;
    for (const CurvePlot::Curve& curve : panel.curves)
      for (const double y : curve.y) range.add(y);
    const Axis y = axis_over(range, low, high, 0.06, 5);
    const bool last = i + 1 == plot_.panels.size();
    const auto each_tick = [](const Axis& axis, const auto& draw) {
      for (double k = std::ceil(axis.low / axis.tick - 1e-9); k * axis.tick <= axis.high + 1e-9 * axis.tick; k += 1)
        draw(k * axis.tick);
    };
    const auto number = [](double x, double tick) { return fmt::format("{:.6g}", std::abs(x) < 1e-9 * tick ? 0 : x); };
    each_tick(x_, [&](double t) {
      out_ += fmt::format("<line x1='{0:.1f}' y1='{1:.1f}' x2='{0:.1f}' y2='{2:.1f}' stroke='#dddddd'/>\n", x_.place(t),
                          high, low);
      if (last) label(x_.place(t), low + 20, "middle", number(t, x_.tick));
    });
    each_tick(y, [&](double v) {
      out_ += fmt::format("<line x1='{0:.1f}' y1='{2:.1f}' x2='{1:.1f}' y2='{2:.1f}' stroke='#dddddd'/>\n", left, right,
                          y.place(v));
      label(left - 8, y.place(v) + 4.5, "end", number(v, y.tick));
    });
    for (std::size_t k = 0; k < panel.curves.size(); ++k) curve(panel.curves[k], k, y);
    out_ += fmt::format("<rect x='{}' y='{:.1f}' width='{}' height='{}' fill='none' stroke='#444'/>\n", left, high,
                        right - left, panel_height);
    out_ += fmt::format("<text transform='translate({},{:.1f}) rotate(-90)' text-anchor='middle'>{}</text>\n", 24,
                        0.5 * (high + low), svg_escaped(panel.y_label));
    if (last) label(0.5 * (left + right), low + 46, "middle", plot_.x_label);
  }

  std::string style(std::size_t k) const {
    if (plot_.first_is_reference && k == 0) return "stroke='#bbbbbb' stroke-width='5'";
    const std::size_t i = k - (plot_.first_is_reference ? 1 : 0);
    const char* const dash = dashes[i % dashes.size()];
    return fmt::format("stroke='{}' stroke-width='1.6'{}", series_colour(i),
                       *dash == '\0' ? "" : fmt::format(" stroke-dasharray='{}'", dash));
  }

  // More points than the sheet can show are replaced by the first, the extreme and the last points of short spans.
  void curve(const CurvePlot::Curve& c, std::size_t k, const Axis& y) {
    constexpr std::size_t spans = 700;
    const std::size_t n = std::min(c.x.size(), c.y.size());
    std::vector<std::size_t> shown;
    if (n <= 4 * spans) {
      for (std::size_t i = 0; i < n; ++i) shown.push_back(i);
    } else {
      for (std::size_t s = 0; s < spans; ++s) {
        const std::size_t first = s * n / spans, end = (s + 1) * n / spans;
        std::size_t least = first, most = first;
        for (std::size_t i = first; i < end; ++i) {
          if (c.y[i] < c.y[least]) least = i;
          if (c.y[i] > c.y[most]) most = i;
        }
        std::array<std::size_t, 4> points = {first, least, most, end - 1};
        std::sort(points.begin(), points.end());
        for (const std::size_t p : points)
          if (shown.empty() || shown.back() != p) shown.push_back(p);
      }
    }
    std::string path;
    for (const std::size_t i : shown)
      if (std::isfinite(c.x[i]) && std::isfinite(c.y[i]))
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_.place(c.x[i]), y.place(c.y[i]));
    if (!path.empty()) out_ += fmt::format("<path d='{}' fill='none' stroke-linejoin='round' {}/>\n", path, style(k));
  }

  void legend() {
    double y = top + 10;
    for (std::size_t k = 0; k < plot_.names.size(); ++k, y += 20) {
      const double x = right + 18;
      out_ += fmt::format("<line x1='{0:.1f}' y1='{2:.1f}' x2='{1:.1f}' y2='{2:.1f}' {3}/>\n", x, x + 36, y, style(k));
      label(x + 44, y + 4.5, "start", plot_.names[k]);
    }
  }

  const CurvePlot& plot_;
  Axis x_{};
  double width_ = 0, height_ = 0;
  std::string out_;
};

}  // namespace

std::string svg_text(const CurvePlot& plot) { return Sheet(plot).text(); }

}  // namespace carom
