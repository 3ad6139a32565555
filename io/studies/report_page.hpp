// The page of `carom report`: the results of one run as a single HTML file. The page loads nothing: pictures are inline
// SVG or PNG, there are no scripts, and all text is escaped.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/studies/results_reader.hpp"

namespace carom {

struct ReportPicture {
  std::string heading, element;    ///< element: svg or img, or empty
  std::vector<std::string> notes;  ///< sentences below it
};

/// The pictures of a run: probes, energies, events. Without gnuplot there are notes instead.
std::vector<ReportPicture> report_pictures(const Results& run);

/// The picture of the model, for the top of the page. Throws FileError if the file cannot be read, StudyError if it is
/// no PNG picture.
ReportPicture model_picture(const std::filesystem::path& png);

/// A picture without heading stands below the title, the others behind the account.
std::string report_page(const Results& run, const std::vector<ReportPicture>& pictures);

}  // namespace carom
