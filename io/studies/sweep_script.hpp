// Scripts that solve the points of a sweep on several machines: an array of Slurm, or GNU parallel. Every task calls
// `carom sweep ... --points FIRST-LAST`; the tasks share the directory of the sweep.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace carom {

struct SweepScript {
  std::string name;                  ///< of the job
  std::vector<std::string> command;  ///< the program and its options
  std::vector<std::string> last;     ///< what stands behind further options
  std::size_t points = 0;
  std::optional<std::size_t> jobs;  ///< tasks side by side
  std::filesystem::path directory;  ///< of the sweep, absolute
};

/// Each task solves a block of points, so that there are at most 1000 tasks: Slurm takes 1000 by default.
std::string slurm_script(const SweepScript& script);
/// A process per point.
std::string parallel_script(const SweepScript& script);

}  // namespace carom
