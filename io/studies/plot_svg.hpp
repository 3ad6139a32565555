// Diagrams as SVG: errors over steps with logarithmic axes, decades, a legend and dashed lines of whole orders; and
// curves over time, in panels above each other with linear axes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace carom {

struct LogPlot {
  struct Series {
    std::string name;          ///< for the legend
    std::vector<double> x, y;  ///< points that are not positive and finite are left out
  };
  std::string title, subtitle, x_label, y_label;
  std::vector<Series> series;
  std::vector<int> slopes;  ///< slopes of the dashed lines, all below the points
  /// Names of the places 0, 1, 2 ... of a horizontal axis without numbers; empty: the axis is logarithmic.
  std::vector<std::string> categories;
};

/// The complete file; text is escaped. Without points the axes are empty and cover one decade.
std::string svg_text(const LogPlot& plot);
/// Several plots above each other.
std::string svg_text(const std::vector<LogPlot>& plots);

struct CurvePlot {
  struct Curve {
    std::vector<double> x, y;  ///< points that are not finite are left out
  };
  struct Panel {
    std::string y_label;
    std::vector<Curve> curves;  ///< one per name; may be empty
  };
  std::string title, subtitle, x_label;
  std::vector<std::string> names;   ///< of the curves, in all panels, for the legend
  bool first_is_reference = false;  ///< the first curve is drawn grey and wide below the others
  std::vector<Panel> panels;
};

/// The complete file; text is escaped. Curves of very many points are drawn by the extremes of short spans.
std::string svg_text(const CurvePlot& plot);

/// Text for SVG; the colour of the i-th curve.
std::string svg_escaped(const std::string& text);
const char* series_colour(std::size_t i);

}  // namespace carom
