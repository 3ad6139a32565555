#include "io/studies/run_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "io/results/csv_head.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/spec.hpp"

namespace carom {

namespace {

constexpr std::size_t most_rows = 60;  // contacts with a name in the panel of events

/// The name of the probe to which a column belongs: "tip" for "tip.z".
std::string probe_of(const std::string& column) { return column.substr(0, column.find('.')); }

class FigureBuilder {
 public:
  FigureBuilder(const std::vector<Results>& runs, const FigureRequest& request, std::vector<std::string>& notes)
      : runs_(runs), request_(request), notes_(notes) {
    // directories of the same name are told apart by their paths
    std::vector<std::string> names;
    names.reserve(runs.size());
    for (const Results& run : runs) names.push_back(run.name());
    for (std::size_t i = 0; i < runs.size(); ++i)
      labels_.push_back(std::count(names.begin(), names.end(), names[i]) == 1 ? names[i] : runs[i].directory.string());
  }

  Figure build() {
    figure_.title = request_.title;
    figure_.x_label = with_unit("t", time_unit());
    figure_.logarithmic = request_.logarithmic_x;
    if (request_.window) figure_.range = {request_.window->from, request_.window->to};
    for (const std::string& probe : request_.probes) add_probe(probe);
    if (request_.energy) add_energy();
    if (request_.iterations) add_iterations();
    if (request_.events) add_events();
    if (request_.events && !request_.window && !request_.logarithmic_x) show_whole_runs();
    return std::move(figure_);
  }

 private:
  /// The part of a column in the window. False if the window has no row.
  bool cut(const ResultsTable& table, std::size_t column, Figure::Curve& curve) const {
    const std::vector<double>&t = table.columns[0], &y = table.columns[column];
    if (!request_.window) {
      curve.x = t;
      curve.y = y;
      return !t.empty();
    }
    const double slack = 1e-9 * (request_.window->to - request_.window->from);
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (!request_.window->contains(t[i], slack)) continue;
      curve.x.push_back(t[i]);
      curve.y.push_back(y[i]);
    }
    return !curve.x.empty();
  }

  /// The unit of time of the runs; empty if they differ or have none.
  std::string time_unit() const {
    std::vector<std::string> units;
    for (const Results& run : runs_)
      for (const auto* table : {&run.probes, &run.energy, &run.iterations, &run.events})
        if (*table) units.push_back((*table)->units[0]);
    return common(units);
  }

  static std::string common(const std::vector<std::string>& units) {
    return !units.empty() && std::ranges::count(units, units[0]) == std::ssize(units) ? units[0] : "";
  }

  std::string label_of(std::size_t run, const std::string& column) const {
    return runs_.size() == 1 ? column : labels_[run] + ": " + column;
  }

  /// Events alone would hide the time before the first and after the last.
  void show_whole_runs() {
    double from = HUGE_VAL, to = -HUGE_VAL;
    for (const Results& run : runs_)
      for (const auto* table : {&run.probes, &run.energy, &run.events})
        if (*table && (*table)->rows() > 0) {
          const auto [low, high] = std::minmax_element((*table)->columns[0].begin(), (*table)->columns[0].end());
          from = std::min(from, *low);
          to = std::max(to, *high);
        }
    if (from < to) figure_.range = {from, to};
  }

  /// Refuses a panel without points, with the reason.
  void add(Figure::Panel panel, const std::string& what) {
    if (panel.curves.empty()) {
      double from = HUGE_VAL, to = -HUGE_VAL;
      for (const Results& run : runs_)
        for (const auto* table : {&run.probes, &run.energy})
          if (*table && (*table)->rows() > 0) {
            from = std::min(from, (*table)->columns[0].front());
            to = std::max(to, (*table)->columns[0].back());
          }
      std::string message = what + ": no row";
      if (request_.window) message = "--window: no row of " + what + " in " + request_.window->text();
      if (from <= to) message += fmt::format("; the results go from t = {:.9g} to {:.9g}", from, to);
      throw StudyError(message);
    }
    std::size_t drawn = 0;
    for (const Figure::Curve& c : panel.curves) {
      if (can_be_drawn(c, figure_.logarithmic, panel.logarithmic))
        ++drawn;
      else
        notes_.push_back(
            what + ": " + c.name + " has no " +
            (figure_.logarithmic || panel.logarithmic ? "positive value for a logarithmic axis" : "number"));
    }
    if (drawn == 0)
      throw StudyError(what + (figure_.logarithmic || panel.logarithmic ? ": no positive value for the logarithmic axis"
                                                                        : ": no value is a number"));
    figure_.panels.push_back(std::move(panel));
  }

  void add_probe(const std::string& word) {
    Figure::Panel panel;
    panel.logarithmic = request_.logarithmic_y;
    std::vector<std::string> known, without, units;
    bool found = false;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      bool here = false;
      if (runs_[r].probes) {
        const ResultsTable& table = *runs_[r].probes;
        for (std::size_t i = 1; i < table.names.size(); ++i) {
          for (const std::string& name : {probe_of(table.names[i]), table.names[i]})
            if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
          if (table.names[i] != word && probe_of(table.names[i]) != word) continue;
          here = true;
          Figure::Curve curve;
          curve.name = label_of(r, table.names[i]);
          if (cut(table, i, curve)) panel.curves.push_back(std::move(curve));
          units.push_back(table.units[i]);
        }
      }
      if (!here) without.push_back(labels_[r]);
      found = found || here;
    }
    if (!found) {
      const std::string where = runs_.size() == 1 ? in_quotes(runs_[0].directory.string()) : "these results";
      throw StudyError(known.empty() ? where + " has no probes: no " + in_quotes(word)
                                     : "no directory and no probe " + in_quotes(word) + " in " + where +
                                           spec::suggestion(word, known));
    }
    for (const std::string& name : without) notes_.push_back(name + " has no probe " + in_quotes(word));
    panel.label = with_unit(word, common(units));
    add(std::move(panel), word);
  }

  void add_table(const std::string& what, const std::string& label, std::optional<ResultsTable> Results::*which,
                 const std::function<bool(const std::string&)>& wanted) {
    Figure::Panel panel;
    panel.logarithmic = request_.logarithmic_y;
    std::vector<std::string> units;
    bool all_zero = true;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      if (!(runs_[r].*which)) continue;
      const ResultsTable& table = *(runs_[r].*which);
      for (std::size_t i = 1; i < table.names.size(); ++i) {
        if (!wanted(table.names[i])) continue;
        // work that is never done is left out
        const std::vector<double>& y = table.columns[i];
        if (std::all_of(y.begin(), y.end(), [](double x) { return x == 0; })) continue;
        all_zero = false;
        Figure::Curve curve;
        curve.name = label_of(r, table.names[i]);
        if (cut(table, i, curve)) panel.curves.push_back(std::move(curve));
        units.push_back(table.units[i]);
      }
    }
    panel.label = with_unit(label, common(units));
    if (!panel.curves.empty() || (request_.window && !all_zero)) return add(std::move(panel), what);
    notes_.push_back(what + ": all values are zero");
  }

  void add_energy() {
    bool any = false;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      any = any || runs_[r].energy;
      if (!runs_[r].energy) notes_.push_back(labels_[r] + " has no energy.csv");
    }
    if (!any) throw StudyError("--energy: no run has energy.csv");
    const auto is_energy = [](const std::string& name) {
      return name == "kinetic" || name == "elastic" || name == "potential" || name == "total";
    };
    add_table("the energies", "energy", &Results::energy, is_energy);
    add_table("the work", "work since the start", &Results::energy,
              [&](const std::string& name) { return !is_energy(name); });
  }

  void add_iterations() {
    bool any = false;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      any = any || runs_[r].iterations;
      if (!runs_[r].iterations) notes_.push_back(labels_[r] + " has no iterations.csv");
    }
    if (!any) throw StudyError("--iterations: no run has iterations.csv");
    add_table("the iterations", "iterations per step, mean", &Results::iterations,
              [](const std::string& name) { return name.ends_with(".mean"); });
    add_table("the iterations", "iterations per step, largest", &Results::iterations,
              [](const std::string& name) { return name.ends_with(".max"); });
    add_table("the rejected trials", "rejected trials", &Results::iterations,
              [](const std::string& name) { return name == "rejected"; });
  }

  void add_events() {
    Figure::Panel panel;
    bool any = false;
    std::size_t rows = 0;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      if (!runs_[r].events) {
        notes_.push_back(labels_[r] + " has no events.csv");
        continue;
      }
      any = true;
      const ResultsTable& table = *runs_[r].events;
      const auto event = table.find("event"), contact = table.find("contact");
      if (!event || !contact)
        throw StudyError((runs_[r].directory / "events.csv").string() + " has no columns event and contact");
      rows += table.rows();
      std::vector<Figure::Curve> curves;  // one for each kind of event
      const double slack = request_.window ? 1e-9 * (request_.window->to - request_.window->from) : 0;
      for (std::size_t i = 0; i < table.rows(); ++i) {
        const double t = table.columns[0][i];
        if (request_.window && !request_.window->contains(t, slack)) continue;
        const std::string& name = table.texts[*contact][i];
        const auto row = std::find(panel.rows.begin(), panel.rows.end(), name);
        const auto place = static_cast<double>(row - panel.rows.begin());
        if (row == panel.rows.end()) panel.rows.push_back(name);
        const std::string kind = label_of(r, table.texts[*event][i]);
        auto curve = std::find_if(curves.begin(), curves.end(), [&](const Figure::Curve& c) { return c.name == kind; });
        if (curve == curves.end()) {
          curves.push_back({kind, {}, {}, Figure::Style::points});
          curve = curves.end() - 1;
        }
        curve->x.push_back(t);
        curve->y.push_back(place);
      }
      panel.curves.insert(panel.curves.end(), curves.begin(), curves.end());
    }
    if (!any) throw StudyError("--events: no run has events.csv");
    if (panel.curves.empty())
      return notes_.push_back("there are no events" + (rows > 0 ? " in " + request_.window->text() : std::string()));
    panel.label = "contact";
    if (panel.rows.size() > most_rows) {
      panel.rows.clear();
      panel.label = "contact, in the order of first events";
    }
    add(std::move(panel), "events.csv");
  }

  const std::vector<Results>& runs_;
  const FigureRequest& request_;
  std::vector<std::string>& notes_;
  std::vector<std::string> labels_;
  Figure figure_;
};

}  // namespace

std::vector<std::string> probe_names(const std::vector<Results>& runs) {
  std::vector<std::string> out;
  for (const Results& run : runs) {
    if (!run.probes) continue;
    for (std::size_t i = 1; i < run.probes->names.size(); ++i) {
      const std::string name = probe_of(run.probes->names[i]);
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
    }
  }
  return out;
}

Figure figure_of(const std::vector<Results>& runs, const FigureRequest& request, std::vector<std::string>& notes) {
  return FigureBuilder(runs, request, notes).build();
}

}  // namespace carom
