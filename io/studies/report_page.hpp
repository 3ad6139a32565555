// The page of `carom report`: the results of one run as a single HTML file. The page loads nothing: pictures are inline
// SVG, there are no scripts, and all text is escaped.
#pragma once

#include <string>
#include <vector>

#include "io/studies/results_reader.hpp"

namespace carom {

struct ReportPicture {
  std::string heading, svg;        ///< svg: an element, or empty
  std::vector<std::string> notes;  ///< sentences below it
};

/// The pictures of a run: probes, energies, events. Without gnuplot there are notes instead.
std::vector<ReportPicture> report_pictures(const Results& run);

std::string report_page(const Results& run, const std::vector<ReportPicture>& pictures);

}  // namespace carom
