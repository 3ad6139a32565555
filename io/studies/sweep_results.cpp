#include "io/studies/sweep_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "core/base/errors.hpp"
#include "io/results/atomic_file.hpp"
#include "io/results/csv_head.hpp"
#include "io/results/energy_writer.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/spec.hpp"
#include "io/studies/study_words.hpp"

namespace carom {

using nlohmann::json;

namespace {

namespace fs = std::filesystem;

using From = SweepResult::From;
using Which = SweepResult::Which;

constexpr std::array<std::pair<const char*, Which>, 3> choices = {
    {{"last", Which::last}, {"min", Which::min}, {"max", Which::max}}};

/// A number of a run, as a place in summary.json.
struct RunNumber {
  const char *name, *pointer, *unit;
};
constexpr std::array<RunNumber, 9> numbers = {{{"end", "/time/end", "s"},
                                               {"steps", "/steps", ""},
                                               {"subdivided_steps", "/subdivided_steps", ""},
                                               {"impacts", "/impacts", ""},
                                               {"events", "", ""},
                                               {"iterations.mean", "", ""},
                                               {"iterations.max", "", ""},
                                               {"max_penetration", "/max_penetration", "m"},
                                               {"energy_change", "", "J"}}};

struct Extremes {
  double last = std::numeric_limits<double>::quiet_NaN(), min = HUGE_VAL, max = -HUGE_VAL;
  bool any = false;
  void take(double x) {
    last = x;
    min = std::min(min, x);
    max = std::max(max, x);
    any = true;
  }
  double of(Which which) const { return which == Which::last ? last : which == Which::min ? min : max; }
};

/// Extremes of all columns of a table of numbers, whose rows may begin with blanks (CsvFile); empty cells do not count.
std::map<std::string, Extremes> extremes_of(const fs::path& file) {
  const std::string text = read_content(file);
  std::string_view rest(text);
  const auto line_of = [&] {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    return line;
  };
  const std::vector<CsvColumn> head = read_csv_head(std::string(line_of()));
  std::vector<Extremes> columns(head.size());
  for (std::size_t number = 2; !rest.empty(); ++number) {
    std::string_view line = line_of();
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
    if (line.empty()) continue;
    const char *at = line.data(), *const end = at + line.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (at != end && *at != ',') {
        double x = 0;
        const auto [stop, code] = std::from_chars(at, end, x);
        if (code != std::errc())
          throw FileError(fmt::format("{}:{}: expected a number for {}", file.string(), number, head[i].name));
        columns[i].take(x);
        at = stop;
      }
      const bool last = i + 1 == columns.size();
      if (last ? at != end : (at == end || *at != ','))
        throw FileError(fmt::format("{}:{}: expected {} cells", file.string(), number, columns.size()));
      if (!last) ++at;
    }
  }
  std::map<std::string, Extremes> out;
  for (std::size_t i = 0; i < head.size(); ++i) out[head[i].name] = columns[i];
  return out;
}

/// Rows of events.csv. Names in cells have no line ends.
double count_rows(const fs::path& file) {
  const std::string text = read_content(file);
  return std::max(0.0, static_cast<double>(std::count(text.begin(), text.end(), '\n')) - 1);
}

std::optional<double> run_number(const fs::path& directory, const json& summary, const std::string& name) {
  std::error_code error;
  if (name == "events") {
    if (!fs::exists(directory / "events.csv", error)) return std::nullopt;
    return count_rows(directory / "events.csv");
  }
  if (name == "energy_change") {
    if (!summary.contains("energy")) return std::nullopt;
    return summary["energy"].value("final", 0.0) - summary["energy"].value("initial", 0.0);
  }
  if (name.starts_with("iterations.")) {
    double sum = 0, most = 0;
    for (const auto& part : summary.value("iterations", json::object())) {
      sum += part.value("mean", 0.0);
      most = std::max(most, part.value("max", 0.0));
    }
    return name == "iterations.mean" ? sum : most;
  }
  for (const RunNumber& number : numbers)
    if (name == number.name) {
      const json::json_pointer pointer(number.pointer);
      if (summary.contains(pointer) && summary[pointer].is_number()) return summary[pointer].get<double>();
    }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> run_numbers() {
  std::vector<std::string> out;
  for (const RunNumber& number : numbers) out.emplace_back(number.name);
  return out;
}

std::vector<SweepResult> sweep_results(const PreparedRun& run, const std::vector<std::string>& requested) {
  std::vector<SweepResult> out;
  std::vector<std::string> known;
  const std::vector<ProbeSettings>& probes = run.model->output.probes;
  std::vector<CsvColumn> energies = energy_columns(*run.model);
  energies.erase(energies.begin());  // t
  // the columns of a word without its choice; none if the word is unknown
  const auto columns_of = [&](const std::string& word) {
    std::vector<SweepResult> found;
    for (std::size_t i = 0; i < probes.size(); ++i)
      for (const std::string& column : run.probes[i].columns)
        if (column == word || probes[i].name == word)
          found.push_back({column, run.probes[i].unit, From::probes, column, Which::last});
    if (!found.empty()) return found;
    for (const CsvColumn& column : energies)
      if (word == "energy." + column.name) found.push_back({word, column.unit, From::energy, column.name, Which::last});
    return found;
  };
  const auto add = [&](SweepResult result) {
    const auto same = [&](const SweepResult& r) { return r.name == result.name; };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(result));
  };
  const auto add_number = [&](const RunNumber& number) {
    add({number.name, run.model->output.unit(number.unit), From::run, number.name, Which::last});
  };
  for (const ProbeSettings& probe : probes) known.push_back(probe.name);
  for (const CsvColumn& column : energies) known.push_back("energy." + column.name);
  for (const RunNumber& number : numbers) known.emplace_back(number.name);

  if (requested.empty()) {
    for (const ProbeSettings& probe : probes)
      for (const SweepResult& column : columns_of(probe.name))
        for (const auto& [word, which] : choices) {
          SweepResult result = column;
          result.name += std::string(":") + word;
          result.which = which;
          add(std::move(result));
        }
    for (const RunNumber& number : numbers) add_number(number);
    return out;
  }
  for (const std::string& word : requested) {
    const std::size_t colon = word.rfind(':');
    const std::string name = word.substr(0, colon),
                      choice = colon == std::string::npos ? "last" : word.substr(colon + 1);
    const auto* const which =
        std::find_if(choices.begin(), choices.end(), [&](const auto& entry) { return choice == entry.first; });
    if (which == choices.end())
      throw StudyError("--result: expected NAME:last, NAME:min or NAME:max, got " + in_quotes(word));
    const std::vector<SweepResult> columns = columns_of(name);
    for (SweepResult result : columns) {
      result.name += ":" + choice;
      result.which = which->second;
      add(std::move(result));
    }
    if (!columns.empty()) continue;
    const auto* const number =
        std::find_if(numbers.begin(), numbers.end(), [&](const RunNumber& n) { return name == n.name; });
    if (number == numbers.end() || colon != std::string::npos)
      throw StudyError(number != numbers.end() ? "--result: " + name + " is one number of a run, without :" + choice
                                               : "--result: no probe and no number of a run " + in_quotes(name) +
                                                     spec::suggestion(name, known));
    add_number(*number);
  }
  return out;
}

std::string PointRecord::status() const {
  switch (exit_code) {
    case 0:
      return "completed";
    case 3:
      return "invalid";
    case 4:
      return "failed";
    case 5:
      return "file error";
    case 6:
      return "missed expectation";
    default:
      return exit_code > 128 ? "killed" : "internal error";
  }
}

std::map<std::string, double> read_values(const fs::path& directory, const std::vector<SweepResult>& results) {
  std::map<std::string, double> out;
  const auto wants = [&](From from) {
    return std::any_of(results.begin(), results.end(), [&](const SweepResult& r) { return r.from == from; });
  };
  std::error_code error;
  const auto table = [&](From from, const char* name) {
    return wants(from) && fs::exists(directory / name, error) ? extremes_of(directory / name)
                                                              : std::map<std::string, Extremes>();
  };
  const auto probes = table(From::probes, "probes.csv"), energy = table(From::energy, "energy.csv");
  json summary;
  if (wants(From::run)) {
    summary = json::parse(read_content(directory / "summary.json"), nullptr, false);
    if (!summary.is_object()) throw FileError((directory / "summary.json").string() + " is no JSON object");
  }
  for (const SweepResult& result : results) {
    std::optional<double> value;
    if (result.from == From::run) {
      value = run_number(directory, summary, result.column);
    } else {
      const auto& columns = result.from == From::probes ? probes : energy;
      const auto it = columns.find(result.column);
      if (it != columns.end() && it->second.any) value = it->second.of(result.which);
    }
    if (value) out[result.name] = *value;
  }
  return out;
}

std::optional<PointRecord> read_record(const fs::path& directory, const std::vector<SweepResult>& results) {
  const fs::path file = directory / "point.json";
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  const json read = json::parse(read_content(file), nullptr, false);
  if (!read.is_object() || !read.contains("exit_code") || !read["exit_code"].is_number_integer())
    throw FileError(file.string() + " is no record of a point, as carom sweep writes it");
  PointRecord out;
  out.exit_code = read["exit_code"].get<int>();
  out.reason = read.value("reason", "");
  if (!out.has_values()) return out;
  const json values = read.value("values", json::object());
  // null: the run has no such column
  for (const SweepResult& result : results) {
    if (!values.contains(result.name)) {
      if (!fs::exists(directory / "summary.json", error)) return std::nullopt;
      out.values = read_values(directory, results);
      return out;
    }
    if (values[result.name].is_number()) out.values[result.name] = values[result.name].get<double>();
  }
  return out;
}

void write_record(const fs::path& directory, const PointRecord& record, const std::vector<SweepResult>& results) {
  json values = json::object();
  for (const SweepResult& result : results) {
    const auto it = record.values.find(result.name);
    values[result.name] = it == record.values.end() ? json() : json(it->second);
  }
  json out = {{"exit_code", record.exit_code}, {"status", record.status()}};
  if (!record.reason.empty()) out["reason"] = record.reason;
  if (record.has_values()) out["values"] = std::move(values);
  write_atomically(directory / "point.json", out.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

std::string sweep_table(const SweepPlan& plan, const std::vector<SweepResult>& results,
                        const std::vector<std::optional<PointRecord>>& records) {
  std::vector<CsvColumn> head = {{"point"}};
  for (const SweepKey& key : plan.keys()) head.push_back({key.label, key.unit});
  head.insert(head.end(), {{"status"}, {"exit_code"}});
  for (const SweepResult& result : results) head.push_back({result.name, result.unit});
  head.push_back({"reason"});
  std::string out = csv_head(head) + "\n";
  for (std::size_t i = 0; i < records.size(); ++i) {
    out += std::to_string(i + 1);
    for (const std::string& value : plan.point(i)) out += "," + csv_cell(value);
    const std::optional<PointRecord>& record = records[i];
    out += record ? fmt::format(",{},{}", record->status(), record->exit_code) : ",missing,";
    for (const SweepResult& result : results) {
      out += ",";
      if (!record) continue;
      const auto it = record->values.find(result.name);
      if (it != record->values.end()) append_number(out, it->second);
    }
    out += "," + (record ? csv_cell(record->reason) : "") + "\n";
  }
  return out;
}

}  // namespace carom
