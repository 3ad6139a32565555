#include "io/studies/convergence.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "core/base/errors.hpp"
#include "io/model/quantities.hpp"
#include "io/results/csv_head.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

namespace {

/// The value of the reference at t. Sets `interpolated` if the reference has no value at t.
double value_at(const Vector& times, const Vector& values, double t, bool& interpolated) {
  const auto n = times.size();
  auto k = static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), t) - times.begin());
  if (k > 0 && (k == n || t - times[k - 1] < times[k] - t)) --k;
  const double spacing = n < 2 ? 1.0 : k > 0 ? times[k] - times[k - 1] : times[1] - times[0];
  interpolated = std::abs(t - times[k]) > 1e-6 * std::abs(spacing);
  if (!interpolated) return values[k];
  // the four neighbours, or fewer in a short table
  const std::size_t count = std::min<std::size_t>(4, n);
  std::size_t first = times[k] > t ? (k >= 2 ? k - 2 : 0) : (k >= 1 ? k - 1 : 0);
  first = std::min(first, n - count);
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) {
    double weight = 1;
    for (std::size_t j = first; j < first + count; ++j)
      if (j != i) weight *= (t - times[j]) / (times[i] - times[j]);
    sum += weight * values[i];
  }
  return sum;
}

}  // namespace

std::optional<std::size_t> Samples::find(const std::string& name) const {
  const auto it = std::find(names.begin(), names.end(), name);
  return it == names.end() ? std::nullopt : std::optional(static_cast<std::size_t>(it - names.begin()));
}

Samples read_samples(const std::filesystem::path& file) {
  const std::string failure = "cannot read " + file.string() + ": ";
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (std::filesystem::is_directory(status)) throw FileError(failure + "it is a directory");
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw FileError(failure + "it is no regular file");
  errno = 0;
  std::ifstream in(file);
  if (!in) throw FileError(failure + (errno != 0 ? std::strerror(errno) : "unknown reason"));
  const auto fail = [&](std::size_t line, const std::string& message) {
    throw FileError(file.string() + ":" + std::to_string(line) + ": " + message);
  };
  std::string line;
  std::getline(in, line);
  if (line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  Samples samples;
  const std::vector<CsvColumn> head = read_csv_head(line);
  if (head.size() < 2 || head[0].name != "t")
    fail(1, "expected a header of which the first column is t, got " + in_quotes(line.substr(0, 60)));
  if (!head[0].unit.empty() && head[0].unit != "s") fail(1, "expected the time t in s, got " + in_quotes(head[0].unit));
  for (std::size_t i = 1; i < head.size(); ++i) {
    samples.names.push_back(head[i].name);
    samples.units.push_back(head[i].unit);
  }
  samples.columns.resize(samples.names.size());
  for (std::size_t number = 2; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \r") == std::string::npos) continue;
    // rows of carom's own tables may begin with blanks (CsvFile)
    const std::vector<std::string> cells = csv_cells(line.substr(std::min(line.find_first_not_of(' '), line.size())));
    if (cells.size() != head.size())
      fail(number, "expected " + std::to_string(head.size()) + " cells, got " + std::to_string(cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      double x = 0;
      const char* const end = cells[i].data() + cells[i].size();
      const auto [stop, code] = std::from_chars(cells[i].data(), end, x);
      if (code != std::errc() || stop != end || !std::isfinite(x))
        fail(number, "expected a number for " + head[i].name + ", got " + in_quotes(cells[i]));
      if (i == 0 && !samples.t.empty() && x <= samples.t.back())
        fail(number, "expected times that grow, got " + cells[i] + " after a row of the same time or a later one");
      (i == 0 ? samples.t : samples.columns[i - 1]).push_back(x);
    }
  }
  if (samples.t.empty()) fail(1, "expected rows below the header, got none");
  return samples;
}

Recorder::Recorder(std::vector<Probe> probes) : probes_(std::move(probes)) {
  for (const Probe& p : probes_) {
    samples_.names.insert(samples_.names.end(), p.columns.begin(), p.columns.end());
    samples_.units.insert(samples_.units.end(), p.columns.size(), p.unit);
  }
  samples_.columns.resize(samples_.names.size());
}

void Recorder::take(const StepView& view) {
  samples_.t.push_back(view.state.t);
  std::size_t column = 0;
  for (const Probe& p : probes_) {
    double values[Quantity::most_components] = {};
    p.evaluate(view, values);
    for (std::size_t i = 0; i < p.columns.size(); ++i) samples_.columns[column++].push_back(values[i]);
  }
}

ProbeError compare(const Samples& run, const Samples& reference, const std::vector<std::string>& of,
                   const std::optional<TimeWindow>& window) {
  const double slack = run.t.size() > 1 ? 1e-6 * (run.t[1] - run.t[0]) : 0;
  std::size_t first = 0, last = run.t.size();
  if (window) {
    while (first < last && !window->contains(run.t[first], slack)) ++first;
    while (last > first && !window->contains(run.t[last - 1], slack)) --last;
  }
  if (first == last) throw std::invalid_argument("compare: the run has no steps there");
  if (reference.t.empty() || reference.t.front() > run.t[first] + slack || reference.t.back() < run.t[last - 1] - slack)
    throw std::invalid_argument("compare: the reference does not cover the run");
  ProbeError error;
  double difference = 0, size = 0, largest_difference = 0, largest = 0;
  for (std::size_t n = first; n < last; ++n) {
    double d = 0, f = 0;
    bool interpolated = false;
    for (const std::string& name : of) {
      const double mine = run.columns[run.find(name).value()][n];
      const double right =
          value_at(reference.t, reference.columns[reference.find(name).value()], run.t[n], interpolated);
      d += (mine - right) * (mine - right);
      f += right * right;
    }
    d = std::sqrt(d);
    f = std::sqrt(f);
    error.interpolated += interpolated ? 1 : 0;
    difference += d;
    size += f;
    largest_difference = std::max(largest_difference, d);
    largest = std::max(largest, f);
    error.end = d;
  }
  error.relative = largest > 0;
  error.mean = difference / (error.relative ? size : static_cast<double>(last - first));
  error.max = largest_difference / (error.relative ? largest : 1.0);
  return error;
}

std::optional<double> order_between(double x_1, double e_1, double x_2, double e_2) {
  const double order = std::log(e_1 / e_2) / std::log(x_1 / x_2);
  return e_1 > 0 && e_2 > 0 && x_1 != x_2 && std::isfinite(order) ? std::optional(order) : std::nullopt;
}

std::optional<double> fitted_order(const Vector& x, const Vector& e) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(e[i] > 0) || !std::isfinite(e[i])) continue;
    const double a = std::log(x[i]), b = std::log(e[i]);
    n += 1;
    sx += a;
    sy += b;
    sxx += a * a;
    sxy += a * b;
  }
  const double determinant = n * sxx - sx * sx;
  if (n < 2 || !(determinant > 1e-12 * n * sxx)) return std::nullopt;
  return (n * sxy - sx * sy) / determinant;
}

}  // namespace carom
