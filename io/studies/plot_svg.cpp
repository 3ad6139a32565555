#include "io/studies/plot_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace carom {

namespace {

// the sheet, and the frame of the axes on the sheet
constexpr double height = 560, left = 92, right = 590, top = 74, bottom = 480;
constexpr double gap = 17;  // distance between lines of text

// colours that colour-blind readers can distinguish (Okabe, Ito 2008)
constexpr std::array<const char*, 7> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#000000"};

/// An axis: low and high are logarithms to base 10.
struct Axis {
  double low = 0, high = 1, from = 0, to = 1;  // from, to: positions on the sheet
  double place(double logarithm) const { return from + (to - from) * (logarithm - low) / (high - low); }
  double span() const { return high - low; }
};

/// Axis over the values with some margin; at least one decade.
Axis axis_over(const std::vector<double>& logarithms, double from, double to) {
  Axis axis{0, 1, from, to};
  if (logarithms.empty()) return axis;
  const auto [low, high] = std::minmax_element(logarithms.begin(), logarithms.end());
  const double room = 0.06 * std::max(1.0, *high - *low);
  axis.low = *low - room;
  axis.high = *high + room;
  if (axis.span() < 1) {
    const double more = 0.5 * (1 - axis.span());
    axis.low -= more;
    axis.high += more;
  }
  return axis;
}

// m 10^k
std::string number(int m, int k) {
  if (k >= -2 && k <= 2) return fmt::format("{:.6g}", m * std::pow(10.0, k));
  if (m != 1) return fmt::format("{}\u00b7", m) + number(1, k);
  return fmt::format("10<tspan dy='-6' font-size='10'>{}{}</tspan>", k < 0 ? "\u2212" : "", std::abs(k));
}

class Sheet {
 public:
  explicit Sheet(const LogPlot& plot) : plot_(plot) {
    std::vector<double> x, y;
    for (const LogPlot::Series& s : plot.series) {
      std::vector<std::pair<double, double>> points;
      for (std::size_t i = 0; i < std::min(s.x.size(), s.y.size()); ++i)
        if (!plot.categories.empty() && s.y[i] > 0 && std::isfinite(s.y[i]))
          points.emplace_back(s.x[i], std::log10(s.y[i]));
        else if (s.x[i] > 0 && s.y[i] > 0 && std::isfinite(s.x[i]) && std::isfinite(s.y[i]))
          points.emplace_back(std::log10(s.x[i]), std::log10(s.y[i]));
      std::sort(points.begin(), points.end());
      for (const auto& [a, b] : points) x.push_back(a), y.push_back(b);
      points_.push_back(std::move(points));
    }
    for (const LogPlot::Series& s : plot.series)
      width_ = std::max(width_, right + 66 + 7.6 * static_cast<double>(s.name.size()));
    x_ = axis_over(x, left, right);
    if (!plot.categories.empty()) x_ = {-0.5, static_cast<double>(plot.categories.size()) - 0.5, left, right};
    // space below for the lines of whole orders
    y_ = axis_over(y, bottom, top);
    if (!plot.slopes.empty()) y_.low -= 0.12 * y_.span();
  }

  double width() const { return width_; }

  std::string text() {
    out_ = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
        "font-family='DejaVu Sans, Helvetica, Arial, sans-serif' font-size='13' fill='#222'>\n"
        "<rect width='{0}' height='{1}' fill='white'/>\n",
        width_, height);
    label(left, 34, "start", plot_.title, "font-size='17' font-weight='bold'");
    label(left, 56, "start", plot_.subtitle, "fill='#555'");
    grid();
    slopes();
    for (std::size_t i = 0; i < points_.size(); ++i) curve(i);
    out_ += fmt::format("<rect x='{}' y='{}' width='{}' height='{}' fill='none' stroke='#444'/>\n", left, top,
                        right - left, bottom - top);
    label(0.5 * (left + right), bottom + 50, "middle", plot_.x_label);
    out_ += fmt::format("<text transform='translate({},{}) rotate(-90)' text-anchor='middle'>{}</text>\n", 26,
                        0.5 * (top + bottom), svg_escaped(plot_.y_label));
    legend();
    return out_ + "</svg>\n";
  }

 private:
  void label(double x, double y, const char* anchor, const std::string& words, const char* style = "") {
    if (!words.empty())
      out_ += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}' {}>{}</text>\n", x, y, anchor, style,
                          svg_escaped(words));
  }
  void line(double x1, double y1, double x2, double y2, const char* style) {
    out_ += fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' {}/>\n", x1, y1, x2, y2, style);
  }

  void grid() {
    for (const bool horizontal : {true, false}) {
      const Axis& axis = horizontal ? x_ : y_;
      if (horizontal && !plot_.categories.empty()) {
        for (std::size_t i = 0; i < plot_.categories.size(); ++i) {
          const double place = axis.place(static_cast<double>(i));
          line(place, top, place, bottom, "stroke='#cccccc'");
          tick(true, place, svg_escaped(plot_.categories[i]));
        }
        continue;
      }
      const int first = static_cast<int>(std::floor(axis.low)), last = static_cast<int>(std::ceil(axis.high));
      const int stride = std::max(1, (last - first) / 10);
      const auto rule = [&](double place, const char* style) {
        horizontal ? line(place, top, place, bottom, style) : line(left, place, right, place, style);
      };
      const auto inside = [&](double l) { return l >= axis.low && l <= axis.high; };
      // for few decades also label the numbers 2 and 5
      const bool detailed = axis.span() < 2.2;
      for (int k = first; k <= last; ++k) {
        for (int m = 2; m < 10 && stride == 1; ++m) {
          const double l = k + std::log10(m);
          if (!inside(l)) continue;
          rule(axis.place(l), "stroke='#eeeeee'");
          if (detailed && (m == 2 || m == 5)) tick(horizontal, axis.place(l), number(m, k));
        }
        if (!inside(k) || (k - first) % stride != 0) continue;
        rule(axis.place(k), "stroke='#cccccc'");
        tick(horizontal, axis.place(k), number(1, k));
      }
    }
  }
  // markup is not escaped
  void tick(bool horizontal, double place, const std::string& markup) {
    out_ +=
        horizontal
            ? fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>\n", place, bottom + 22, markup)
            : fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>{}</text>\n", left - 9, place + 4.5, markup);
  }

  // Dashed lines of whole orders through a point below the lowest curve, at the end of the finest runs.
  void slopes() {
    if (plot_.slopes.empty()) return;
    out_ += fmt::format("<clipPath id='axes'><rect x='{}' y='{}' width='{}' height='{}'/></clipPath>\n", left, top,
                        right - left, bottom - top);
    double x_0 = 0, x_1 = 0;
    bool any = false;
    for (const auto& points : points_)
      for (const auto& [a, b] : points) {
        x_0 = any ? std::min(x_0, a) : a;
        x_1 = any ? std::max(x_1, a) : a;
        any = true;
      }
    if (!any || x_1 <= x_0) return;
    // all lines pass through one point at the fine end, which is so low that no line crosses a curve
    const double fine = plot_.slopes.front() > 0 ? x_0 : x_1, coarse = plot_.slopes.front() > 0 ? x_1 : x_0;
    double start = HUGE_VAL;
    for (const int slope : plot_.slopes)
      for (const auto& points : points_)
        for (const auto& [a, b] : points) start = std::min(start, b + slope * (fine - a));
    start -= 0.06 * y_.span();
    for (const int slope : plot_.slopes) {
      const auto at = [&](double x) { return y_.place(start + slope * (x - fine)); };
      out_ += "<g clip-path='url(#axes)'>";
      line(x_.place(fine), at(fine), x_.place(coarse), at(coarse),
           "stroke='#888' stroke-width='1.2' stroke-dasharray='6 4'");
      const double x = fine + 0.85 * (coarse - fine);
      label(x_.place(x), at(x) + 4.5, "middle", "order " + std::to_string(std::abs(slope)),
            "fill='#666' font-size='12' stroke='white' stroke-width='6' paint-order='stroke'");
      out_ += "</g>\n";
    }
  }

  static std::string marker(std::size_t i, double x, double y) {
    const char* const colour = series_colour(i);
    const std::string style = fmt::format("fill='white' stroke='{}' stroke-width='1.8'", colour);
    switch (i % 4) {
      case 0:
        return fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='4' {}/>\n", x, y, style);
      case 1:
        return fmt::format("<rect x='{:.1f}' y='{:.1f}' width='7.4' height='7.4' {}/>\n", x - 3.7, y - 3.7, style);
      case 2:
        return fmt::format("<path d='M{:.1f} {:.1f}l4.8 8.2h-9.6z' {}/>\n", x, y - 5.2, style);
      default:
        return fmt::format("<path d='M{:.1f} {:.1f}l5 5l-5 5l-5 -5z' {}/>\n", x, y - 5, style);
    }
  }

  void curve(std::size_t i) {
    std::string path;
    for (const auto& [a, b] : points_[i])
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_.place(a), y_.place(b));
    if (path.empty()) return;
    if (plot_.categories.empty())
      out_ += fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='1.8'/>\n", path, series_colour(i));
    for (const auto& [a, b] : points_[i]) out_ += marker(i, x_.place(a), y_.place(b));
  }

  void legend() {
    constexpr std::size_t most = 22;
    double y = top + 10;
    for (std::size_t i = 0; i < plot_.series.size() && i < most; ++i, y += gap + 3) {
      const double x = right + 18;
      out_ +=
          fmt::format("<line x1='{0:.1f}' y1='{2:.1f}' x2='{1:.1f}' y2='{2:.1f}' stroke='{3}' stroke-width='1.8'/>\n",
                      x, x + 26, y, series_colour(i));
      out_ += marker(i, x + 13, y);
      label(x + 34, y + 4.5, "start", plot_.series[i].name);
    }
    if (plot_.series.size() > most)
      label(right + 52, y + 4.5, "start", fmt::format("and {} more", plot_.series.size() - most), "fill='#666'");
  }

  const LogPlot& plot_;
  std::vector<std::vector<std::pair<double, double>>> points_;
  Axis x_, y_;
  double width_ = 720;
  std::string out_;
};

}  // namespace

std::string svg_text(const LogPlot& plot) { return Sheet(plot).text(); }

std::string svg_text(const std::vector<LogPlot>& plots) {
  double width = 0;
  std::string inner;
  for (std::size_t i = 0; i < plots.size(); ++i) {
    Sheet sheet(plots[i]);
    width = std::max(width, sheet.width());
    // an svg in an svg is placed by x and y
    std::string text = sheet.text();
    text.insert(4, fmt::format(" y='{}'", static_cast<double>(i) * height));
    inner += text;
  }
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}'>\n{2}</svg>\n", width,
      height * static_cast<double>(plots.size()), inner);
}

std::string svg_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

const char* series_colour(std::size_t i) { return colours[i % colours.size()]; }

}  // namespace carom
