// Errors and orders of convergence of probes over several runs.
//
// A run is compared with a reference at the run's own steps t_n, n = 0 ... N, in three ways:
//
//   mean   sum |f_n - f(t_n)| / sum |f(t_n)|            [DS20] eq. 52
//   max    max |f_n - f(t_n)| / max |f(t_n)|
//   end    |f_N - f(t_N)|
//
// with the Euclidean norm of vectors. Where the reference is zero throughout, mean is that of |f_n| and max its
// largest: both absolute then. Steps that the reference does not meet are interpolated in it by cubics through four
// neighbours, which is only as good as the reference is smooth there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/types.hpp"
#include "integrators/common/observer.hpp"
#include "io/results/probes.hpp"

namespace carom {

/// Values over time, column by column.
struct Samples {
  Vector t;
  std::vector<std::string> names;  ///< of the columns
  std::vector<Vector> columns;

  /// Place of a column; nullopt if there is none.
  std::optional<std::size_t> find(const std::string& name) const;
};

/// The table of a CSV file whose first column is t, ascending. Throws FileError.
Samples read_samples(const std::filesystem::path& file);

/// Keeps the values of probes at every nominal step.
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
  bool relative = true;   ///< mean and max; false: the reference is zero
  long interpolated = 0;  ///< steps at which the reference was interpolated
};

/// Of the columns `of` of both. Throws std::invalid_argument if the reference ends earlier or begins later.
ProbeError compare(const Samples& run, const Samples& reference, const std::vector<std::string>& of);

/// log(e_1/e_2)/log(x_1/x_2); nullopt unless both errors are > 0 and finite and the x differ.
std::optional<double> order_between(double x_1, double e_1, double x_2, double e_2);
/// Slope of log e over log x by least squares, over the points with e > 0; nullopt if there are not two.
std::optional<double> fitted_order(const Vector& x, const Vector& e);

}  // namespace carom
