// Errors and orders of convergence of probes over several runs.
//
// A run is compared with a reference at the run's own steps t_n, n = 0 ... N, by three errors:
//
//   mean   sum |f_n - f(t_n)| / sum |f(t_n)|            [DS20] eq. 52
//   max    max |f_n - f(t_n)| / max |f(t_n)|
//   end    |f_N - f(t_N)|
//
// with the Euclidean norm of vectors. If the reference is zero throughout, mean is the mean of |f_n| and max the
// largest |f_n|: both are absolute then. With a window of time only the steps in the window count, and N is the last of
// them. If the reference has no value at a step, a cubic through four neighbouring values interpolates; the
// interpolation is accurate only if the reference is smooth there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/types.hpp"
#include "integrators/common/observer.hpp"
#include "io/results/probes.hpp"
#include "io/studies/study_words.hpp"

namespace carom {

/// Values over time, column by column.
struct Samples {
  Vector t;
  std::vector<std::string> names;  ///< of the columns
  std::vector<std::string> units;  ///< of the columns; empty without one
  std::vector<Vector> columns;

  /// Index of a column; nullopt if there is no such column.
  std::optional<std::size_t> find(const std::string& name) const;
};

/// The table of a CSV file whose first column is t, ascending. Throws FileError.
Samples read_samples(const std::filesystem::path& file);

/// Records the values of probes at every nominal step.
class Recorder final : public Observer {
 public:
  explicit Recorder(std::vector<Probe> probes);
  void start(const StepView& view) override { take(view); }
  void after_step(const StepView& view) override {
    if (view.nominal) take(view);
  }
  Samples& samples() { return samples_; }

 private:
  void take(const StepView& view);
  std::vector<Probe> probes_;
  Samples samples_;
};

struct ProbeError {
  double mean = 0, max = 0, end = 0;
  bool relative = true;   ///< false: mean and max are absolute because the reference is zero
  long interpolated = 0;  ///< number of steps at which the reference was interpolated
};

/// Compares the columns `of` at the steps in the window. Throws std::invalid_argument if there are none, or if the
/// reference does not cover them.
ProbeError compare(const Samples& run, const Samples& reference, const std::vector<std::string>& of,
                   const std::optional<TimeWindow>& window = std::nullopt);

/// log(e_1/e_2)/log(x_1/x_2); nullopt unless both errors are positive and finite and x_1 != x_2.
std::optional<double> order_between(double x_1, double e_1, double x_2, double e_2);
/// Least-squares slope of log e over log x for the points with e > 0; nullopt for fewer than two points.
std::optional<double> fitted_order(const Vector& x, const Vector& e);

}  // namespace carom
