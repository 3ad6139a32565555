#include "io/studies/convergence_report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/errors.hpp"
#include "io/results/atomic_file.hpp"
#include "io/results/summary.hpp"
#include "io/studies/error_figure.hpp"

namespace carom {

using nlohmann::json;

namespace {

/// The sub-problems of all runs: those of methods may differ, when the method varies.
std::vector<std::string> subproblems_of(const Study& s) {
  std::vector<std::string> names;
  for (const StudyRun& r : s.runs)
    for (const std::string& name : r.subproblems)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

std::optional<std::size_t> subproblem(const StudyRun& r, const std::string& name) {
  const auto it = std::find(r.subproblems.begin(), r.subproblems.end(), name);
  return it == r.subproblems.end() ? std::nullopt : std::optional(static_cast<std::size_t>(it - r.subproblems.begin()));
}

void write_study_csv(const Study& s, const std::filesystem::path& path) {
  std::vector<CsvColumn> columns = {{s.label, s.unit}};
  for (std::size_t q = 0; q < s.quantities.size(); ++q) {
    const bool absolute =
        std::ranges::any_of(s.runs, [&](const StudyRun& r) { return !r.errors.empty() && !r.errors[q].relative; });
    for (CsvColumn& column : error_columns(s.quantities[q], !absolute)) columns.push_back(std::move(column));
  }
  columns.insert(columns.end(), {{"steps"}, {"subdivided_steps"}, {"rejected_steps"}});
  const std::vector<std::string> subproblems = subproblems_of(s);
  for (const std::string& name : subproblems)
    columns.insert(columns.end(), {{name + ".iterations_mean"}, {name + ".iterations_max"}});
  columns.insert(columns.end(), {{"seconds", "s"}, {"status"}});
  CsvFile file(path, columns);
  file.open();
  const auto cell = [&](const std::optional<double>& x) { x ? file.cell(*x) : file.empty_cell(); };
  for (std::size_t i = 0; i < s.runs.size(); ++i) {
    const StudyRun& r = s.runs[i];
    s.numbers ? file.cell(r.value) : file.cell(r.word);
    for (std::size_t q = 0; q < s.quantities.size(); ++q) {
      const bool known = !r.errors.empty();
      const auto error = [&](double ProbeError::*e) { return known ? std::optional(r.errors[q].*e) : std::nullopt; };
      cell(error(&ProbeError::mean));
      cell(s.orders[q].mean[i]);
      cell(error(&ProbeError::max));
      cell(s.orders[q].max[i]);
      cell(error(&ProbeError::end));
      cell(s.orders[q].end[i]);
    }
    for (const long n : {r.statistics.nominal_steps, r.statistics.subdivided_steps, r.statistics.rejected})
      file.cell(std::to_string(n));
    for (const std::string& name : subproblems) {
      const auto k = subproblem(r, name);
      if (k)
        file.cell(r.statistics.mean_iterations(*k)).cell(std::to_string(r.statistics.iterations[*k].max));
      else
        file.empty_cell().empty_cell();
    }
    file.cell(r.seconds).cell(status_word(r.status));
    file.end_row();
  }
  file.flush();
}

std::string study_json(const Study& s) {
  const auto number = [](const std::optional<double>& x) { return x ? json(*x) : json(); };
  const auto value = [&](const StudyRun& r) { return s.numbers ? json(r.value) : json(r.word); };
  json out = {{"model", s.file},
              {"status", status_word(s.status)},
              {"varied", s.pointer},
              {"versions", {{"carom", CAROM_VERSION}, {"format", 1}}}};
  out["window"] = s.window ? json{s.window->from, s.window->to} : json();
  out["reference"] = s.reference.empty() ? json() : json(s.reference);
  out["runs"] = json::array();
  out["probes"] = json::array();
  for (const StudyRun& r : s.runs) {
    json iterations = json::object();
    for (std::size_t k = 0; k < r.subproblems.size(); ++k)
      iterations[r.subproblems[k]] = {{"mean", r.statistics.mean_iterations(k)},
                                      {"max", r.statistics.iterations[k].max}};
    json run = {{"value", value(r)},
                {"status", status_word(r.status)},
                {"steps", r.statistics.nominal_steps},
                {"subdivided_steps", r.statistics.subdivided_steps},
                {"rejected_steps", r.statistics.rejected},
                {"iterations", iterations},
                {"seconds", r.seconds}};
    if (!r.failure.empty()) run["failure"] = r.failure;
    out["runs"].push_back(run);
  }
  for (std::size_t q = 0; q < s.quantities.size(); ++q) {
    const StudyOrders& o = s.orders[q];
    json probe = {{"name", s.quantities[q].name},
                  {"columns", s.quantities[q].columns},
                  {"fitted_order",
                   {{"mean", number(o.fitted_mean)}, {"max", number(o.fitted_max)}, {"end", number(o.fitted_end)}}},
                  {"errors", json::array()}};
    for (std::size_t i = 0; i < s.runs.size(); ++i) {
      const StudyRun& r = s.runs[i];
      if (r.errors.empty()) continue;
      const ProbeError& e = r.errors[q];
      probe["errors"].push_back(
          {{"value", value(r)},
           {"mean", e.mean},
           {"max", e.max},
           {"end", e.end},
           {"relative", e.relative},
           {"interpolated_steps", e.interpolated},
           {"order", {{"mean", number(o.mean[i])}, {"max", number(o.max[i])}, {"end", number(o.end[i])}}}});
    }
    out["probes"].push_back(std::move(probe));
  }
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Figure picture(const Study& s) {
  Figure figure;
  figure.title = "Convergence of " + s.model;
  figure.subtitle =
      s.reference.empty() ? "no reference" : "against " + s.reference + (s.window ? ", " + s.window->text() : "");
  if (!s.numbers)
    for (const StudyRun& r : s.runs) figure.places.push_back(r.word);
  figure.x_label = with_unit(s.label, s.unit);
  figure.logarithmic = s.numbers;
  std::vector<ErrorCurve> curves;
  for (std::size_t q = 0; q < s.quantities.size(); ++q) {
    ErrorCurve curve{s.quantities[q].name, {}, {}, s.orders[q].fitted_mean};
    for (std::size_t i = 0; i < s.runs.size(); ++i) {
      if (s.runs[i].errors.empty()) continue;
      curve.x.push_back(s.numbers ? s.runs[i].value : static_cast<double>(i));
      curve.y.push_back(s.runs[i].errors[q].mean);
    }
    curves.push_back(std::move(curve));
  }
  figure.panels.push_back(error_panel("mean error", curves, s.finer_is_smaller, !s.numbers));
  set_decades(figure);
  return figure;
}

}  // namespace

StudyOrders orders_of(const std::vector<StudyRun>& runs, std::size_t q, int sign) {
  StudyOrders out;
  Vector x, mean, max, end;
  const auto turned = [sign](std::optional<double> order) {
    return order ? std::optional(sign * *order) : std::nullopt;
  };
  const StudyRun* before = nullptr;
  for (const StudyRun& r : runs) {
    const bool both = before != nullptr && !r.errors.empty();
    const auto order = [&](double ProbeError::*error) {
      return both ? turned(order_between(before->value, before->errors[q].*error, r.value, r.errors[q].*error))
                  : std::nullopt;
    };
    out.mean.push_back(order(&ProbeError::mean));
    out.max.push_back(order(&ProbeError::max));
    out.end.push_back(order(&ProbeError::end));
    if (r.errors.empty()) continue;
    before = &r;
    x.push_back(r.value);
    mean.push_back(r.errors[q].mean);
    max.push_back(r.errors[q].max);
    end.push_back(r.errors[q].end);
  }
  out.fitted_mean = turned(fitted_order(x, mean));
  out.fitted_max = turned(fitted_order(x, max));
  out.fitted_end = turned(fitted_order(x, end));
  return out;
}

void find_orders(Study& study) {
  study.orders.clear();
  for (std::size_t q = 0; q < study.quantities.size(); ++q) {
    study.orders.push_back(orders_of(study.runs, q, study.finer_is_smaller ? 1 : -1));
    if (study.numbers) continue;
    StudyOrders& none = study.orders.back();
    for (auto* orders : {&none.mean, &none.max, &none.end}) orders->assign(study.runs.size(), std::nullopt);
    none.fitted_mean = none.fitted_max = none.fitted_end = std::nullopt;
  }
}

std::string study_table(const Study& s) {
  std::string out;
  const std::string& label = s.label;
  std::size_t first = std::max<std::size_t>(12, label.size() + 2);
  for (const StudyRun& r : s.runs) first = std::max(first, r.word.size() + 2);
  const auto head = [&](const std::string& words) { out += fmt::format("\n{}\n", words); };
  if (s.reference.empty())
    out += "\nno errors: there is no reference\n";
  else
    out += fmt::format("\nerrors against {}{}\n", s.reference, s.window ? ", " + s.window->text() : "");
  for (std::size_t q = 0; q < s.quantities.size() && !s.reference.empty(); ++q) {
    bool relative = true;
    long interpolated = 0;
    for (const StudyRun& r : s.runs)
      if (!r.errors.empty()) {
        relative = relative && r.errors[q].relative;
        interpolated = std::max(interpolated, r.errors[q].interpolated);
      }
    head(fmt::format("{}{}{}", s.quantities[q].name, relative ? "" : "   (absolute: the reference is zero)",
                     interpolated > 0 ? "   (reference interpolated)" : ""));
    out += fmt::format("  {:<{}}{:>12}{:>8}{:>12}{:>8}{:>12}{:>8}\n", label, first, "mean error", "order", "max error",
                       "order", "end error", "order");
    for (std::size_t i = 0; i < s.runs.size(); ++i) {
      const StudyRun& r = s.runs[i];
      out += fmt::format("  {:<{}}", r.word, first);
      if (r.errors.empty()) {
        out += r.status == RunStatus::failed ? "failed\n" : "\n";
        continue;
      }
      const StudyOrders& o = s.orders[q];
      out += fmt::format("{:>12.4e}{:>8}{:>12.4e}{:>8}{:>12.4e}{:>8}\n", r.errors[q].mean,
                         optional_text(o.mean[i], "{:.2f}"), r.errors[q].max, optional_text(o.max[i], "{:.2f}"),
                         r.errors[q].end, optional_text(o.end[i], "{:.2f}"));
    }
    if (s.numbers)
      out +=
          fmt::format("  {:<{}}{:>20}{:>20}{:>20}\n", "fitted", first, optional_text(s.orders[q].fitted_mean, "{:.2f}"),
                      optional_text(s.orders[q].fitted_max, "{:.2f}"), optional_text(s.orders[q].fitted_end, "{:.2f}"));
  }
  head("iterations per step, mean and max");
  out += fmt::format("  {:<{}}{:>10}", label, first, "steps");
  const std::vector<std::string> subproblems = subproblems_of(s);
  for (const std::string& name : subproblems) out += fmt::format("{:>16}", name);
  out += fmt::format("{:>12}{:>14}\n", "subdivided", "time");
  for (const StudyRun& r : s.runs) {
    out += fmt::format("  {:<{}}{:>10}", r.word, first, r.statistics.nominal_steps);
    for (const std::string& name : subproblems) {
      const auto i = subproblem(r, name);
      out += fmt::format(
          "{:>16}",
          i ? fmt::format("{:.2f}  {:>3}", r.statistics.mean_iterations(*i), r.statistics.iterations[*i].max) : "-");
    }
    out += fmt::format("{:>12}{:>14}\n", r.statistics.subdivided_steps, fmt::format("{:.3g} s", r.seconds));
  }
  return out + "\n";
}

std::vector<std::string> study_files() {
  std::vector<std::string> out = with_companions({"convergence.svg"});
  out.insert(out.end(), {"convergence.csv", "convergence.json"});
  return out;
}

void prepare_study(const std::filesystem::path& directory, const std::vector<std::string>& files) {
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  if (code) throw FileError("cannot create " + directory.string() + ": " + code.message());
  for (const std::string& name : files) {
    const std::filesystem::path file = directory / name;
    if (std::filesystem::exists(file, code) && ::access(file.c_str(), W_OK) != 0) fail_to_write(file, errno);
    if (std::filesystem::is_directory(file, code)) fail_to_write(file, EISDIR);
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) fail_to_write(directory, errno);
}

std::vector<std::string> write_study(const Study& study, const std::filesystem::path& directory) {
  write_study_csv(study, directory / "convergence.csv");
  write_atomically(directory / "convergence.json", study_json(study));
  std::vector<std::string> notes;
  draw_for_study(picture(study), directory / "convergence.svg", notes);
  return notes;
}

}  // namespace carom
