// A log-log diagram as SVG: errors over steps, with decades, a legend and dashed lines of whole orders.
#pragma once

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
};

/// The complete file; text is escaped. Without points the axes are empty and cover one decade.
std::string svg_text(const LogPlot& plot);

}  // namespace carom
