#include "io/studies/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

#include "core/base/errors.hpp"
#include "io/results/csv_head.hpp"
#include "io/schema/json_source.hpp"
#include "io/studies/gnuplot.hpp"
#include "io/studies/run_figures.hpp"

namespace carom {

namespace {

using nlohmann::json;

constexpr std::size_t most_probes = 30, most_events = 500;

constexpr const char* style = R"(
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; font: 15px/1.45 "DejaVu Sans", Helvetica, Arial, sans-serif;
  color: #222; background: #fff; }
h1 { font-size: 1.6rem; margin-bottom: 0.2rem; }
h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; font-size: 14px; }
th, td { padding: 0.15rem 1.2rem 0.15rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #eee; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
td, p, li, h1 { overflow-wrap: anywhere; }
svg, img { max-width: 100%; height: auto; }
pre { background: #f6f6f6; padding: 0.8rem; overflow-x: auto; font-size: 13px; }
.bad { color: #b00020; font-weight: bold; }
.muted { color: #666; }
)";

/// Text of an element.
std::string without_markup(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

/// Text of a page, without control characters.
std::string escaped(const std::string& text) { return without_markup(drawn_text(text, 4000)); }

/// A value of a JSON document as text: the number, the word.
std::string plain_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The value at a pointer; null without.
json at_pointer(const json& document, const std::string& pointer) {
  const json::json_pointer place(pointer);
  return document.contains(place) ? document.at(place) : json();
}

class Page {
 public:
  explicit Page(const Results& run) : run_(run) {}

  std::string text(const std::vector<ReportPicture>& pictures) {
    const json title = at_pointer(run_.model, "/title");
    const std::string name =
        title.is_string() && !title.get_ref<const std::string&>().empty() ? title.get<std::string>() : run_.name();
    out_ =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
        "'unsafe-inline'\">\n";
    out_ += "<title>" + escaped(name) + "</title>\n<style>" + style + "</style>\n</head>\n<body>\n";
    out_ += "<h1>" + escaped(name) + "</h1>\n<p class=\"muted\">Results in " + escaped(run_.name()) +
            ", written by carom " + escaped(text_or(at_pointer(run_.summary, "/versions/carom"), CAROM_VERSION)) +
            "</p>\n";
    for (const ReportPicture& picture : pictures)
      if (picture.heading.empty()) out_ += picture.element;
    account();
    failure();
    list("Warnings", at_pointer(run_.summary, "/warnings"));
    expectations();
    for (const ReportPicture& picture : pictures) {
      if (picture.heading.empty()) continue;
      heading(picture.heading);
      out_ += picture.element;
      for (const std::string& note : picture.notes) paragraph(note, "muted");
    }
    events();
    model();
    return out_ + "</body>\n</html>\n";
  }

 private:
  static std::string text_or(const json& value, const std::string& otherwise) {
    return value.is_null() ? otherwise : plain_text(value);
  }
  void heading(const std::string& words) { out_ += "<h2>" + escaped(words) + "</h2>\n"; }
  void paragraph(const std::string& words, const std::string& kind) {
    out_ += "<p class=\"" + kind + "\">" + escaped(words) + "</p>\n";
  }
  void row(const std::string& name, const std::string& value, bool bad = false) {
    out_ +=
        "<tr><th>" + escaped(name) + "</th><td" + (bad ? " class=\"bad\"" : "") + ">" + escaped(value) + "</td></tr>\n";
  }

  void account() {
    heading("Account");
    if (run_.summary.is_null()) return paragraph("There is no summary.json: the run goes on or was killed.", "bad");
    const json& s = run_.summary;
    const auto value = [&](const std::string& pointer) { return text_or(at_pointer(s, pointer), "-"); };
    out_ += "<table>\n";
    row("status", value("/status"), s.value("status", json()) != "completed");
    row("time", value("/time/start") + " to " + value("/time/end"));
    if (s.contains("ended_by")) row("ended by", value("/ended_by/criterion"));
    if (s.contains("restarted_from")) row("restarted from", value("/restarted_from"));
    row("steps", value("/steps") + " (" + value("/subdivided_steps") + " subdivided, " + value("/rejected_steps") +
                     " trials rejected)");
    row("wall time", value("/wall_seconds/total") + " s (set-up " + value("/wall_seconds/setup") + ", steps " +
                         value("/wall_seconds/step") + ", output " + value("/wall_seconds/output") + ")");
    for (const std::string& name : subproblems())
      row("iterations, " + name,
          value("/iterations/" + name + "/mean") + " mean, " + value("/iterations/" + name + "/max") + " max per step");
    row("size", value("/size/equations") + " equations, " + value("/size/bilateral") + " bilateral and " +
                    value("/size/unilateral") + " unilateral rows");
    row("linear systems", value("/linear/factorisations") + " factorisations, " + value("/linear/solves") + " solves");
    row("residual of positions", value("/residuals/position") + " of the length " + value("/scales/length"));
    row("residual of velocities", value("/residuals/velocity") + " of the speed " + value("/scales/speed"));
    row("largest penetration", value("/max_penetration"));
    row("impacts", value("/impacts"));
    row("energy", value("/energy/initial") + " at the start, " + value("/energy/final") + " at the end, " +
                      value("/energy/max") + " at most");
    const json energy = at_pointer(s, "/energy");
    if (energy.is_object())
      for (const auto& entry : energy.items()) {
        std::string key = entry.key();
        if (key == "initial" || key == "final" || key == "max" || key == "scale" || key == "growth" ||
            entry.value() == 0)
          continue;
        std::ranges::replace(key, '_', ' ');
        row(key == "closure" ? "closure of the balance" : "work: " + key, plain_text(entry.value()));
      }
    if (at_pointer(energy, "/growth").is_number())
      row("unexplained growth of the energy", value("/energy/growth") + " of the energies of the run");
    out_ += "</table>\n";
  }

  /// The sub-problems in the order in which a step solves them, which iterations.csv has and JSON has not.
  std::vector<std::string> subproblems() const {
    std::vector<std::string> out;
    const json iterations = at_pointer(run_.summary, "/iterations");
    if (!iterations.is_object()) return out;
    for (const auto& entry : iterations.items()) out.push_back(entry.key());
    const auto place = [&](const std::string& name) {
      const auto column = run_.iterations ? run_.iterations->find(name + ".mean") : std::nullopt;
      return column.value_or(std::numeric_limits<std::size_t>::max());
    };
    std::ranges::stable_sort(out, {}, place);
    return out;
  }

  void failure() {
    const json failure = at_pointer(run_.summary, "/failure");
    if (!failure.is_object()) return;
    heading("Failure");
    out_ += "<table>\n";
    for (const auto& entry : failure.items()) row(entry.key(), plain_text(entry.value()), entry.key() == "reason");
    out_ += "</table>\n";
  }

  void list(const std::string& words, const json& entries) {
    if (!entries.is_array() || entries.empty()) return;
    heading(words);
    out_ += "<ul>\n";
    for (const json& entry : entries) out_ += "<li>" + escaped(plain_text(entry)) + "</li>\n";
    out_ += "</ul>\n";
  }

  void expectations() {
    const json all = at_pointer(run_.summary, "/expectations");
    if (!all.is_array() || all.empty()) return;
    heading("Expectations");
    out_ += "<table>\n<tr><th>probe</th><th>t</th><th>expected</th><th>tolerance</th><th>found</th><th></th></tr>\n";
    for (const json& e : all) {
      out_ += "<tr>";
      for (const char* key : {"/probe", "/time", "/value", "/tolerance", "/found"})
        out_ += "<td>" + escaped(text_or(at_pointer(e, key), "-")) + "</td>";
      const std::string status = text_or(at_pointer(e, "/status"), "-");
      out_ += std::string("<td") + (status == "met" ? "" : " class=\"bad\"") + ">" + escaped(status) + "</td></tr>\n";
    }
    out_ += "</table>\n";
  }

  void events() {
    if (!run_.events || run_.events->rows() == 0) return;
    const ResultsTable& table = *run_.events;
    std::vector<std::size_t> shown;
    for (const char* name :
         {"t", "event", "contact", "gap_velocity_start", "gap_velocity_end", "impulse", "total_impulse",
          "friction_work", "mode_before", "mode", "cosine", "kinetic_energy_change"})
      if (const auto column = table.find(name)) shown.push_back(*column);
    heading("Events");
    if (table.rows() > most_events)
      paragraph(fmt::format("The first {} of {} events; all are in events.csv.", most_events, table.rows()), "muted");
    out_ += fmt::format("<details{}><summary>{} events</summary>\n<table>\n<tr>", table.rows() <= 40 ? " open" : "",
                        table.rows());
    for (const std::size_t i : shown) out_ += "<th>" + escaped(with_unit(table.names[i], table.units[i])) + "</th>";
    out_ += "</tr>\n";
    for (std::size_t k = 0; k < std::min(most_events, table.rows()); ++k) {
      out_ += "<tr>";
      for (const std::size_t i : shown)
        out_ += !table.texts[i].empty() ? "<td>" + escaped(table.texts[i][k]) + "</td>"
                : std::isfinite(table.columns[i][k])
                    ? fmt::format("<td class=\"number\">{:.6g}</td>", table.columns[i][k])
                    : "<td></td>";
      out_ += "</tr>\n";
    }
    out_ += "</table>\n</details>\n";
  }

  /// "3 of type rigid, 1 of type beam"
  static std::string counts(const json& list) {
    std::map<std::string, std::size_t> count;
    for (const json& entry : list) ++count[text_or(at_pointer(entry, "/type"), "")];
    std::string out;
    for (const auto& [type, n] : count)
      out += fmt::format("{}{}{}", out.empty() ? "" : ", ", n, type.empty() ? "" : " of type " + type);
    return out;
  }

  void model() {
    heading("Model");
    if (run_.model.is_null()) return paragraph("There is no run.json.", "muted");
    out_ += "<table>\n";
    for (const char* key : {"bodies", "joints", "springs", "contacts", "loads"}) {
      const json list = at_pointer(run_.model, std::string("/") + key);
      if (list.is_array() && !list.empty()) row(key, counts(list));
    }
    const json integrator = at_pointer(run_.model, "/integrator");
    if (integrator.is_object())
      for (const auto& entry : integrator.items()) row("integrator, " + entry.key(), plain_text(entry.value()));
    // the text keeps its lines; JSON has no control characters
    out_ += "</table>\n<details><summary>run.json, with which carom run repeats the run</summary>\n<pre>" +
            without_markup(run_.model.dump(2, ' ', false, json::error_handler_t::replace)) + "</pre>\n</details>\n";
  }

  const Results& run_;
  std::string out_;
};

std::string base64(const std::string& bytes) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8U | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? digits[group >> (18 - 6 * k) & 63U] : '=';
  }
  return out;
}

}  // namespace

ReportPicture model_picture(const std::filesystem::path& png) {
  std::ifstream stream(png, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw FileError("cannot read " + png.string() + ": " + std::strerror(errno));
  if (!bytes.starts_with("\x89PNG\r\n\x1a\n")) throw StudyError(in_quotes(png.string()) + " is no PNG picture");
  return {"", "<p><img alt=\"the model\" src=\"data:image/png;base64," + base64(bytes) + "\"></p>\n", {}};
}

std::vector<ReportPicture> report_pictures(const Results& run) {
  std::vector<ReportPicture> out;
  const auto add = [&](const std::string& heading, const FigureRequest& request) {
    ReportPicture picture{heading, "", {}};
    try {
      const Figure figure = figure_of({run}, request, picture.notes);
      if (!figure.panels.empty()) picture.element = inline_svg(figure, fmt::format("picture_{}_", out.size()));
    } catch (const StudyError& e) {
      picture.notes.emplace_back(e.what());
    } catch (const FileError& e) {
      picture.notes.emplace_back(e.what());
    }
    out.push_back(std::move(picture));
  };
  FigureRequest probes, energy, events, iterations;
  probes.probes = probe_names({run});
  const std::size_t count = probes.probes.size();
  probes.probes.resize(std::min(most_probes, count));
  if (count > 0) add("Probes", probes);
  if (count > most_probes)
    out.back().notes.push_back(fmt::format("The first {} of {} probes; carom plot draws others.", most_probes, count));
  energy.energy = true;
  if (run.energy) add("Energy", energy);
  iterations.iterations = true;
  if (run.iterations) add("Iterations", iterations);
  events.events = true;
  if (run.events) add("Contacts over time", events);
  return out;
}

std::string report_page(const Results& run, const std::vector<ReportPicture>& pictures) {
  return Page(run).text(pictures);
}

}  // namespace carom
