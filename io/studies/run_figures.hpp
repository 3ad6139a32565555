// What `carom plot` and `carom report` draw of the results of one or several runs over one another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/studies/gnuplot.hpp"
#include "io/studies/results_reader.hpp"
#include "io/studies/study_words.hpp"

namespace carom {

struct FigureRequest {
  std::vector<std::string> probes;                    ///< probes or their columns, "tip" or "tip.z": a panel each
  bool energy = false;                                ///< the energies, and the work that changes them
  bool iterations = false;                            ///< per step, of the sub-problems
  bool events = false;                                ///< impacts and releases, a row for each contact
  std::optional<TimeWindow> window;                   ///< only this time
  bool logarithmic_x = false, logarithmic_y = false;  ///< the axis of time, those of values
  std::string title;
};

/// Names of the probes of all runs, in the order of their columns.
std::vector<std::string> probe_names(const std::vector<Results>& runs);

/// Throws StudyError for a probe that no run has, a window without rows, a logarithmic axis without positive values,
/// and for a table that no run has. `notes` gets a sentence for everything that is left out.
Figure figure_of(const std::vector<Results>& runs, const FigureRequest& request, std::vector<std::string>& notes);

}  // namespace carom
