// A log-log diagram as SVG: errors over steps, with decades, a legend and dashed lines of whole orders.
#pragma once

#include <string>
#include <vector>

namespace carom {

struct LogPlot {
  struct Series {
    std::string name;          ///< for the legend
    std::vector<double> x, y;  ///< points that are not > 0 and finite are left out
  };
  std::string title, subtitle, x_label, y_label;
  std::vector<Series> series;
  std::vector<int> slopes;  ///< of the dashed lines, each anchored below the points
};

/// The whole file; text is escaped. Without any point there are empty axes over one decade.
std::string svg_text(const LogPlot& plot);

}  // namespace carom
