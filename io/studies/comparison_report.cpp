// The reports of a comparison: tables for the terminal, Markdown and LaTeX, comparison.csv and .json, and pictures.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/results/atomic_file.hpp"
#include "io/results/summary.hpp"
#include "io/studies/comparison.hpp"
#include "io/studies/error_figure.hpp"
#include "io/studies/report_table.hpp"

namespace carom {

using nlohmann::json;

namespace {

/// A number with few digits, for tables.
std::string brief_number(double x, const char* format = "{:.2e}") {
  return x == 0 ? "0" : fmt::format(fmt::runtime(format), x);
}

std::string against(const Comparison& c) {
  return c.reference.empty() ? "no errors: there is no reference"
                             : "errors against " + c.reference + (c.window ? ", " + c.window->text() : "");
}

/// Calls row(first cells of label and step, run, its index) for all runs; the label stands at the first run only.
template <class Row>
void for_runs(const MethodRuns& method, const Row& row) {
  for (std::size_t i = 0; i < method.runs.size(); ++i)
    row(std::vector<std::string>{i == 0 ? method.label : "", method.runs[i].word}, method.runs[i], i);
}

ReportTable error_table(const Comparison& c, std::size_t q) {
  bool relative = true;
  long interpolated = 0;
  for (const MethodRuns& method : c.methods)
    for (const StudyRun& r : method.runs)
      if (!r.errors.empty()) {
        relative = relative && r.errors[q].relative;
        interpolated = std::max(interpolated, r.errors[q].interpolated);
      }
  ReportTable table;
  table.caption = fmt::format("{}{}{}", c.quantities[q].name, relative ? "" : "   (absolute: the reference is zero)",
                              interpolated > 0 ? "   (reference interpolated)" : "");
  table.head = {"method", "step", "mean error", "order", "max error", "order", "end error", "order"};
  table.left = 2;
  for (const MethodRuns& method : c.methods) {
    for_runs(method, [&](std::vector<std::string> cells, const StudyRun& r, std::size_t i) {
      const StudyOrders& o = method.orders[q];
      if (r.errors.empty())
        cells.emplace_back(r.status == RunStatus::failed ? "failed" : "-");
      else
        for (const auto& [error, order] :
             {std::pair(r.errors[q].mean, o.mean[i]), {r.errors[q].max, o.max[i]}, {r.errors[q].end, o.end[i]}}) {
          cells.push_back(brief_number(error, "{:.4e}"));
          cells.push_back(optional_text(order, "{:.2f}"));
        }
      table.rows.push_back(std::move(cells));
    });
    if (method.runs.size() < 2) continue;
    const StudyOrders& o = method.orders[q];
    table.rows.push_back({"", "fitted", "", optional_text(o.fitted_mean, "{:.2f}"), "",
                          optional_text(o.fitted_max, "{:.2f}"), "", optional_text(o.fitted_end, "{:.2f}")});
  }
  return table;
}

ReportTable cost_table(const Comparison& c) {
  ReportTable table;
  table.caption = "work: iterations per step (mean of all sub-problems, largest of one), linear systems, time of steps";
  table.head = {"method", "step", "steps", "mean", "max", "factors", "solves", "subdivided", "time"};
  table.left = 2;
  for (const MethodRuns& method : c.methods)
    for_runs(method, [&](std::vector<std::string> cells, const StudyRun& r, std::size_t) {
      for (std::string cell :
           {fmt::format("{}", r.statistics.nominal_steps), fmt::format("{:.2f}", r.mean_iterations()),
            fmt::format("{}", r.max_iterations()), fmt::format("{}", r.linear.factorisations),
            fmt::format("{}", r.linear.solves + r.linear.cg_solves), fmt::format("{}", r.statistics.subdivided_steps),
            fmt::format("{:.3g} s", r.statistics.step_seconds)})
        cells.push_back(std::move(cell));
      table.rows.push_back(std::move(cells));
    });
  return table;
}

ReportTable residual_table(const Comparison& c) {
  ReportTable table;
  table.caption = "constraints, over the scales of the model (the largest of the run; drift: at its end), and energy";
  table.head = {"method", "step", "position", "velocity", "acceleration", "drift", "energy change"};
  table.left = 2;
  for (const MethodRuns& method : c.methods)
    for_runs(method, [&](std::vector<std::string> cells, const StudyRun& r, std::size_t) {
      const RunMeasures& m = r.measures;
      for (std::string cell :
           {brief_number(m.position), brief_number(m.velocity), m.acceleration ? brief_number(*m.acceleration) : "-",
            brief_number(m.drift), brief_number(m.energy_change, "{:+.2e}")})
        cells.push_back(std::move(cell));
      table.rows.push_back(std::move(cells));
    });
  return table;
}

std::vector<ReportTable> tables(const Comparison& c) {
  std::vector<ReportTable> out;
  const bool any = std::any_of(c.methods.begin(), c.methods.end(), [](const MethodRuns& m) { return !m.runs.empty(); });
  if (!any) return out;
  for (std::size_t q = 0; q < c.quantities.size() && !c.reference.empty(); ++q) out.push_back(error_table(c, q));
  out.push_back(cost_table(c));
  out.push_back(residual_table(c));
  return out;
}

/// Methods and runs without results, with the reasons.
std::vector<std::string> reasons(const Comparison& c) {
  std::vector<std::string> out;
  for (const MethodRuns& method : c.methods) {
    if (!method.refusal.empty()) out.push_back(method.label + ": refused: " + method.refusal);
    for (const StudyRun& r : method.runs)
      if (!r.failure.empty()) out.push_back(fmt::format("{}, step {}: {}", method.label, r.word, r.failure));
  }
  return out;
}

void write_comparison_csv(const Comparison& c, const std::filesystem::path& path) {
  const auto unit = [&](const char* si) { return c.units ? si : ""; };
  std::vector<CsvColumn> columns = {{"method"}, {"type"}, {"step", unit("s")}};
  for (std::size_t q = 0; q < c.quantities.size(); ++q) {
    const bool absolute = std::ranges::any_of(c.methods, [&](const MethodRuns& m) {
      return std::ranges::any_of(m.runs, [&](const StudyRun& r) { return !r.errors.empty() && !r.errors[q].relative; });
    });
    for (CsvColumn& column : error_columns(c.quantities[q], !absolute)) columns.push_back(std::move(column));
  }
  columns.insert(columns.end(), {{"steps"},
                                 {"subdivided_steps"},
                                 {"rejected_steps"},
                                 {"iterations_mean"},
                                 {"iterations_max"},
                                 {"factorisations"},
                                 {"solves"},
                                 {"cg_iterations"},
                                 {"residual_position"},
                                 {"residual_velocity"},
                                 {"residual_acceleration"},
                                 {"drift"},
                                 {"penetration", unit("m")},
                                 {"impacts"},
                                 {"energy_initial", unit("J")},
                                 {"energy_final", unit("J")},
                                 {"energy_change"},
                                 {"step_seconds", "s"},
                                 {"seconds", "s"},
                                 {"status"},
                                 {"reason"}});
  CsvFile file(path, columns);
  file.open();
  const auto cell = [&](const std::optional<double>& x) { x ? file.cell(*x) : file.empty_cell(); };
  const auto count = [&](long n) { file.cell(std::to_string(n)); };
  for (const MethodRuns& method : c.methods) {
    if (!method.refusal.empty()) {
      file.cell(method.label).cell(method.type);
      for (std::size_t i = 0; i < 1 + 6 * c.quantities.size() + 19; ++i) file.empty_cell();
      file.cell("refused").cell(method.refusal);
      file.end_row();
    }
    for (std::size_t i = 0; i < method.runs.size(); ++i) {
      const StudyRun& r = method.runs[i];
      file.cell(method.label).cell(method.type).cell(r.value);
      for (std::size_t q = 0; q < c.quantities.size(); ++q) {
        const StudyOrders& o = method.orders[q];
        const auto error = [&](double ProbeError::*e) {
          return r.errors.empty() ? std::nullopt : std::optional(r.errors[q].*e);
        };
        cell(error(&ProbeError::mean));
        cell(o.mean[i]);
        cell(error(&ProbeError::max));
        cell(o.max[i]);
        cell(error(&ProbeError::end));
        cell(o.end[i]);
      }
      count(r.statistics.nominal_steps);
      count(r.statistics.subdivided_steps);
      count(r.statistics.rejected);
      file.cell(r.mean_iterations());
      count(r.max_iterations());
      count(r.linear.factorisations);
      count(r.linear.solves + r.linear.cg_solves);
      count(r.linear.cg_iterations);
      const RunMeasures& m = r.measures;
      file.cell(m.position).cell(m.velocity);
      cell(m.acceleration);
      file.cell(m.drift).cell(m.penetration);
      count(r.statistics.impacts);
      file.cell(m.energy_initial).cell(m.energy_final).cell(m.energy_change);
      file.cell(r.statistics.step_seconds).cell(r.seconds).cell(status_word(r.status)).cell(r.failure);
      file.end_row();
    }
  }
  file.flush();
}

std::string comparison_json(const Comparison& c) {
  const auto number = [](const std::optional<double>& x) { return x ? json(*x) : json(); };
  const auto orders = [&](const std::optional<double>& mean, const std::optional<double>& max,
                          const std::optional<double>& end) {
    return json{{"mean", number(mean)}, {"max", number(max)}, {"end", number(end)}};
  };
  json out = {{"model", c.file},
              {"status", status_word(c.status)},
              {"reference", c.reference.empty() ? json() : json(c.reference)},
              {"window", c.window ? json{c.window->from, c.window->to} : json()},
              {"methods", json::array()},
              {"versions", {{"carom", CAROM_VERSION}, {"format", 1}}}};
  for (const MethodRuns& method : c.methods) {
    json entry = {{"label", method.label}, {"integrator", method.section}, {"runs", json::array()}};
    if (!method.overrides.empty()) entry["set"] = method.overrides;
    if (!method.refusal.empty()) entry["refused"] = method.refusal;
    for (std::size_t q = 0; q < c.quantities.size() && !method.runs.empty(); ++q) {
      const StudyOrders& o = method.orders[q];
      entry["fitted_orders"][c.quantities[q].name] = orders(o.fitted_mean, o.fitted_max, o.fitted_end);
    }
    for (std::size_t i = 0; i < method.runs.size(); ++i) {
      const StudyRun& r = method.runs[i];
      const RunMeasures& m = r.measures;
      json iterations = json::object(), errors = json::object();
      for (std::size_t k = 0; k < r.subproblems.size(); ++k)
        iterations[r.subproblems[k]] = {{"mean", r.statistics.mean_iterations(k)},
                                        {"max", r.statistics.iterations[k].max}};
      for (std::size_t q = 0; q < r.errors.size(); ++q) {
        const ProbeError& e = r.errors[q];
        const StudyOrders& o = method.orders[q];
        errors[c.quantities[q].name] = {{"mean", e.mean},
                                        {"max", e.max},
                                        {"end", e.end},
                                        {"relative", e.relative},
                                        {"interpolated_steps", e.interpolated},
                                        {"order", orders(o.mean[i], o.max[i], o.end[i])}};
      }
      json run = {
          {"step", r.value},
          {"status", status_word(r.status)},
          {"errors", errors},
          {"steps", r.statistics.nominal_steps},
          {"subdivided_steps", r.statistics.subdivided_steps},
          {"rejected_steps", r.statistics.rejected},
          {"impacts", r.statistics.impacts},
          {"iterations", iterations},
          {"linear",
           {{"factorisations", r.linear.factorisations},
            {"solves", r.linear.solves},
            {"cg_solves", r.linear.cg_solves},
            {"cg_iterations", r.linear.cg_iterations}}},
          {"residuals", {{"position", m.position}, {"velocity", m.velocity}, {"acceleration", number(m.acceleration)}}},
          {"drift", m.drift},
          {"max_penetration", m.penetration},
          {"energy", {{"initial", m.energy_initial}, {"final", m.energy_final}, {"change", m.energy_change}}},
          {"wall_seconds", {{"step", r.statistics.step_seconds}, {"total", r.seconds}}}};
      if (!r.failure.empty()) run["failure"] = r.failure;
      entry["runs"].push_back(std::move(run));
    }
    out["methods"].push_back(std::move(entry));
  }
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

// ---- pictures

constexpr std::size_t most_panels = 12;

/// Mean errors of every probe over what `abscissa` says of a run; orders: with lines of whole orders.
template <class Abscissa>
Figure error_picture(const Comparison& c, const std::string& x_label, bool orders, const Abscissa& abscissa) {
  Figure figure;
  figure.title = "Mean errors of " + c.model;
  figure.subtitle = against(c);
  figure.x_label = x_label;
  figure.logarithmic = true;
  for (std::size_t q = 0; q < std::min(most_panels, c.quantities.size()); ++q) {
    std::vector<ErrorCurve> curves;
    for (const MethodRuns& method : c.methods) {
      ErrorCurve curve{method.label, {}, {}, orders ? method.orders[q].fitted_mean : std::nullopt};
      for (const StudyRun& r : method.runs)
        if (!r.errors.empty()) curve.x.push_back(abscissa(r)), curve.y.push_back(r.errors[q].mean);
      curves.push_back(std::move(curve));
    }
    figure.panels.push_back(error_panel(c.quantities[q].name, curves, true));
  }
  if (figure.panels.size() < c.quantities.size())
    figure.subtitle += fmt::format("; {} more probes are not shown", c.quantities.size() - figure.panels.size());
  set_decades(figure);
  return figure;
}

Figure::Curve curve_of(const Samples& samples, const std::string& column, const std::optional<TimeWindow>& window) {
  Figure::Curve curve;
  const auto index = samples.find(column);
  if (!index) return curve;
  const double slack = samples.t.size() > 1 ? 1e-6 * (samples.t[1] - samples.t[0]) : 0;
  for (std::size_t i = 0; i < samples.t.size(); ++i) {
    if (window && !window->contains(samples.t[i], slack)) continue;
    curve.x.push_back(samples.t[i]);
    curve.y.push_back(samples.columns[*index][i]);
  }
  return curve;
}

/// The probes of the finest run of every method over those of the reference.
Figure probe_picture(const Comparison& c) {
  Figure figure;
  figure.title = "Probes of " + c.model;
  figure.x_label = with_unit("t", c.units ? "s" : "");
  struct Shown {
    std::string name;
    const Samples* samples;
    Figure::Style style;
  };
  std::vector<Shown> shown;
  if (!c.reference_samples.t.empty()) {
    figure.subtitle = "reference: " + c.reference;
    shown.push_back({"reference", &c.reference_samples, Figure::Style::background});
  }
  for (const MethodRuns& method : c.methods) {
    const auto finest = std::find_if(method.runs.rbegin(), method.runs.rend(),
                                     [](const StudyRun& r) { return r.status == RunStatus::completed; });
    if (finest != method.runs.rend())
      shown.push_back({fmt::format("{}, step {}", method.label, finest->word), &finest->samples, Figure::Style::line});
  }
  std::size_t left_out = 0;
  for (const StudyQuantity& q : c.quantities)
    for (const std::string& column : q.columns) {
      if (figure.panels.size() == most_panels) {
        ++left_out;
        continue;
      }
      Figure::Panel panel;
      panel.label = with_unit(column, q.unit);
      for (const Shown& s : shown) {
        panel.curves.push_back(curve_of(*s.samples, column, c.window));
        panel.curves.back().name = s.name;
        panel.curves.back().style = s.style;
      }
      figure.panels.push_back(std::move(panel));
    }
  if (left_out > 0)
    figure.subtitle += fmt::format("{}{} more columns are not shown", figure.subtitle.empty() ? "" : "; ", left_out);
  return figure;
}

}  // namespace

std::string comparison_table(const Comparison& c) {
  std::string out = "\n" + against(c) + "\n";
  for (const ReportTable& table : tables(c)) out += "\n" + text_of(table, 26);
  for (const std::string& reason : reasons(c)) out += "\n" + reason + "\n";
  return out + "\n";
}

std::string comparison_markdown(const Comparison& c) {
  std::string out = "# " + escaped_markdown(c.model) + "\n\n" + escaped_markdown(against(c)) + "\n";
  for (const ReportTable& table : tables(c)) out += "\n" + markdown_of(table);
  const std::vector<std::string> without = reasons(c);
  if (!without.empty()) out += "\n";
  for (const std::string& reason : without) out += "- " + escaped_markdown(reason) + "\n";
  return out;
}

std::string comparison_latex(const Comparison& c) {
  std::string out = "% carom " CAROM_VERSION " compare; needs \\usepackage{booktabs}\n";
  for (ReportTable table : tables(c)) {
    table.caption = c.model + ": " + table.caption;
    out += latex_of(table);
  }
  // an empty paragraph would be left by a list without items
  for (const std::string& reason : reasons(c)) out += escaped_latex(reason) + "\\par\n";
  return out;
}

std::vector<std::string> comparison_files() {
  std::vector<std::string> out = with_companions({"errors.svg", "work.svg", "probes.svg"});
  out.insert(out.end(), {"comparison.csv", "comparison.json", "comparison.md", "comparison.tex"});
  return out;
}

std::vector<std::string> write_comparison(const Comparison& c, const std::filesystem::path& directory) {
  write_comparison_csv(c, directory / "comparison.csv");
  write_atomically(directory / "comparison.json", comparison_json(c));
  write_atomically(directory / "comparison.md", comparison_markdown(c));
  write_atomically(directory / "comparison.tex", comparison_latex(c));
  std::vector<std::string> notes;
  draw_for_study(
      error_picture(c, with_unit("step", c.units ? "s" : ""), true, [](const StudyRun& r) { return r.value; }),
      directory / "errors.svg", notes);
  draw_for_study(
      error_picture(c, "wall time of the steps, s", false, [](const StudyRun& r) { return r.statistics.step_seconds; }),
      directory / "work.svg", notes);
  draw_for_study(probe_picture(c), directory / "probes.svg", notes);
  return notes;
}

}  // namespace carom
