// Studies without the program: words of the command line, errors in windows, orders, tables, methods, bibliography.

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/base/errors.hpp"
#include "io/model/types/registry.hpp"
#include "io/studies/bibliography.hpp"
#include "io/studies/comparison.hpp"
#include "io/studies/error_figure.hpp"
#include "io/studies/report_table.hpp"

using namespace carom;
using nlohmann::json;
using Words = std::vector<std::string>;

namespace {

/// The message of a StudyError; empty without one.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const StudyError& e) {
    return e.what();
  }
  return "";
}

/// f over the times 0, h, 2h ... n h.
template <class Function>
Samples sampled(double h, int n, const Function& f) {
  Samples s;
  s.names = {"f"};
  s.units = {""};
  s.columns.resize(1);
  for (int i = 0; i <= n; ++i) {
    s.t.push_back(h * i);
    s.columns[0].push_back(f(h * i));
  }
  return s;
}

constexpr const char* model_text_with_keys = R"({
  "format": 1, "parameters": {"rho": 0.7},
  "bodies": [{"name": "b", "type": "point_mass", "mass": 1, "position": [0, 0, 0]}],
  "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 2, "start_time": 0.5, "rho_infinity": "=rho",
                 "force_corrections": false, "max_subdivisions": 3,
                 "newton": {"tolerance": 1e-9, "method": "full"}}})";

}  // namespace

TEST_CASE("study words: separators inside of brackets and quotes do not part") {
  CHECK(split_words("a,b,,c", ',') == Words{"a", "b", "", "c"});
  CHECK(split_words("[1,2],{\"x\":[3,4]},\"p,q\"", ',') == Words{"[1,2]", "{\"x\":[3,4]}", "\"p,q\""});
  CHECK(split_words("", ',') == Words{""});
  CHECK(number_of("1e-3") == 1e-3);
  CHECK(!number_of("1e-3x"));
  CHECK(!number_of("inf"));
  CHECK(!number_of(""));
}

TEST_CASE("study words: a window contains its ends up to rounding, and a run must have a step in it") {
  const TimeWindow w = time_window("0.1,0.5");
  CHECK(w.contains(0.5 + 1e-12, 1e-9));
  CHECK(!w.contains(0.5 + 1e-6, 1e-9));
  CHECK(w.contains(0.1 - 1e-12, 1e-9));
  CHECK(time_window("-1,2").from == -1);
  for (const char* wrong : {"0.5,0.1", "0.1,0.1", "0.1", "0.1,0.2,0.3", "a,b", ",", ""})
    CHECK(!refusal([&] { time_window(wrong); }).empty());
  CHECK(refusal([&] { check_window(w, 0, 1, 0.1); }).empty());
  CHECK(refusal([&] { check_window(w, 0, 1, 0.3); }).empty());      // 0.3
  CHECK(!refusal([&] { check_window(w, 0, 1, 0.6); }).empty());     // 0 and 0.6
  CHECK(refusal([&] { check_window(w, 0, 0.45, 0.6); }).empty());   // the run ends at 0.45
  CHECK(refusal([&] { check_window(w, 0.05, 1, 0.35); }).empty());  // 0.4
  CHECK(!refusal([&] { check_window(w, 0.6, 1, 0.01); }).empty());  // begins later
  CHECK(!refusal([&] { check_window(w, -2, 1, 0.01); }).empty());   // ends earlier
  CHECK(refusal([&] { check_window(std::nullopt, 0, 1, 5); }).empty());
}

TEST_CASE("study words: expected orders") {
  const ExpectedOrder e = expected_order("tip.x=2+-0.25");
  CHECK(e.name == "tip.x");
  CHECK(e.order == 2);
  CHECK(e.tolerance == 0.25);
  // a label with keys contains signs of its own
  CHECK(expected_order("x@moreau_jean:theta=0.6=-1+-0.1").name == "x@moreau_jean:theta=0.6");
  for (const char* wrong : {"x=2", "x2+-1", "x=2+--1", "x=two+-1", "x=2+-"})
    CHECK(!refusal([&] { expected_order(wrong); }).empty());
}

TEST_CASE("errors: against a shifted function they are the shift, in a window over the function there") {
  const auto right = [](double t) { return 1 + t; };
  const Samples run = sampled(0.1, 10, [&](double t) { return right(t) + (t > 0.45 ? 0.2 : 0.1); });
  const Samples reference = sampled(0.05, 20, right);
  const ProbeError all = compare(run, reference, {"f"});
  CHECK(all.end == doctest::Approx(0.2));
  CHECK(all.max == doctest::Approx(0.2 / 2));
  CHECK(all.mean == doctest::Approx((5 * 0.1 + 6 * 0.2) / 16.5));
  // the steps 0.2, 0.3, 0.4
  const ProbeError early = compare(run, reference, {"f"}, TimeWindow{0.2, 0.4});
  CHECK(early.end == doctest::Approx(0.1));
  CHECK(early.max == doctest::Approx(0.1 / 1.4));
  CHECK(early.mean == doctest::Approx(0.3 / (1.2 + 1.3 + 1.4)));
  CHECK(early.interpolated == 0);
  // a reference need only cover the window
  const Samples part = sampled(0.1, 4, right);
  CHECK(compare(run, part, {"f"}, TimeWindow{0.2, 0.4}).mean == doctest::Approx(early.mean));
  CHECK_THROWS_AS(compare(run, part, {"f"}, TimeWindow{0.2, 0.6}), std::invalid_argument);
  CHECK_THROWS_AS(compare(run, reference, {"f"}, TimeWindow{0.41, 0.49}), std::invalid_argument);
  // absolute where the reference is zero
  const Samples zero = sampled(0.1, 10, [](double) { return 0.0; });
  const ProbeError absolute = compare(run, zero, {"f"}, TimeWindow{0, 0.1});
  CHECK(!absolute.relative);
  CHECK(absolute.mean == doctest::Approx((1.1 + 1.2) / 2));
}

TEST_CASE("references: a table of carom is read with the blanks that fill its pages; wrong rows are named") {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("study_" + std::to_string(::getpid()));
  const auto read = [&](const std::string& text) {
    std::ofstream(file) << text;
    return read_samples(file);
  };
  const Samples table = read("t,\"a,b\"\r\n0,1\n      0.5,2\r\n    \n1,-3e-2\n");
  CHECK(table.t == Vector{0, 0.5, 1});
  CHECK(table.names == Words{"a,b"});
  CHECK(table.columns[0] == Vector{1, 2, -3e-2});
  for (const char* wrong : {"t,a\n0,x\n", "t,a\n0,1\n0,2\n", "t,a\n0\n", "x,a\n0,1\n", "t,a\n", ""})
    CHECK_THROWS_AS(read(wrong), FileError);
  std::filesystem::remove(file);
}

TEST_CASE("orders: c h^p has order p from step to step and in the fit, whatever failed between") {
  std::vector<StudyRun> runs;
  for (const double h : {0.08, 0.04, 0.02, 0.01}) {
    StudyRun r;
    r.value = h;
    if (h == 0.02)
      r.status = RunStatus::failed;
    else
      r.errors.push_back({3 * std::pow(h, 1.5), 5 * h * h, h, true, 0});
    runs.push_back(std::move(r));
  }
  const StudyOrders o = orders_of(runs, 0, 1);
  CHECK(o.fitted_mean.value() == doctest::Approx(1.5));
  CHECK(o.fitted_max.value() == doctest::Approx(2));
  CHECK(o.fitted_end.value() == doctest::Approx(1));
  CHECK(!o.mean[0]);
  CHECK(o.mean[1].value() == doctest::Approx(1.5));
  CHECK(!o.mean[2]);
  CHECK(orders_of(runs, 0, -1).fitted_max.value() == doctest::Approx(-2));
}

TEST_CASE("report tables: markup in names is text, numbers become powers of ten") {
  const ReportTable table{"a_b: 50 %", {"method", "error"}, {{"x_1&y|z", "1.20e-03"}, {"b", "-"}, {"c"}}, 1};
  CHECK(latex_of(table) ==
        "\\begin{table}\n\\centering\n\\caption{a\\_b: 50 \\%}\n\\begin{tabular}{lr}\n\\toprule\nmethod & error \\\\\n"
        "\\midrule\nx\\_1\\&y\\textbar{}z & $1.20 \\cdot 10^{-3}$ \\\\\nb & -- \\\\\nc &  \\\\\n\\bottomrule\n"
        "\\end{tabular}\n\\end{table}\n");
  CHECK(markdown_of(table) ==
        "a\\_b: 50 %\n\n| method | error |\n|---|---:|\n| x\\_1&y\\|z | 1.20e-03 |\n| b | - |\n| c |  |\n");
  CHECK(escaped_latex("\\{}$#^~<>\"") ==
        "\\textbackslash{}\\{\\}\\$\\#\\textasciicircum{}\\textasciitilde{}\\textless{}"
        "\\textgreater{}\\textquotedbl{}");
  CHECK(escaped_markdown("a*b`c<d>\n#[e]") == "a\\*b\\`c\\<d\\> \\#\\[e\\]");
  // on a terminal a long first cell stands above its row, and UTF-8 is counted by characters
  CHECK(text_of({"t", {"m", "n"}, {{"ééé", "1"}, {"a long name", "22"}}, 1}, 5) ==
        "t\n  m     n\n  ééé   1\n  a long name\n       22\n");
}

TEST_CASE("methods of a comparison: label, type and keys") {
  const MethodChoice plain = method_choice("nsga_decoupled", "--integrators");
  CHECK(plain.label == "nsga_decoupled");
  CHECK(plain.keys.empty());
  const auto list =
      method_choices("DSn=nsga_decoupled:force_corrections=false:test=paper,moreau_jean:theta=0.6:step=2e-3");
  REQUIRE(list.size() == 2);
  CHECK(list[0].label == "DSn");
  CHECK(list[0].type == "nsga_decoupled");
  REQUIRE(list[0].keys.size() == 2);
  CHECK(list[0].keys[0].first == "/force_corrections");
  CHECK(list[0].keys[0].second == false);
  CHECK(list[0].keys[1].first == "/newton/test");
  CHECK(list[0].keys[1].second == "paper");
  CHECK(list[1].label == "moreau_jean:theta=0.6:step=2e-3");
  CHECK(list[1].step == 2e-3);
  for (const IntegratorType& type : integrator_types())
    CHECK(refusal([&] { method_choice(type.type, "--integrators"); }).empty() == type.info.dynamic);
}

TEST_CASE("methods of a comparison: written keys of the model go over where the method has them, others are presets") {
  const ModelDocument document =
      parse_model(model_text_with_keys, "model.json", {"/integrator/newton/constraint_tolerance=1e-8"});
  REQUIRE(document.ok());
  const json own = integrator_section(method_choice("nsga_decoupled", ""), document, 5e-4);
  CHECK(own == json({{"type", "nsga_decoupled"},
                     {"step", 5e-4},
                     {"duration", 2},
                     {"start_time", 0.5},
                     {"rho_infinity", 0.7},
                     {"force_corrections", false},
                     {"max_subdivisions", 3},
                     {"newton", {{"tolerance", 1e-9}, {"method", "full"}, {"constraint_tolerance", 1e-8}}}}));
  const json other = integrator_section(method_choice("moreau_jean:theta=0.8", ""), document, 1e-3);
  CHECK(other == json({{"type", "moreau_jean"},
                       {"step", 1e-3},
                       {"duration", 2},
                       {"start_time", 0.5},
                       {"theta", 0.8},
                       {"max_subdivisions", 3},
                       {"newton", {{"tolerance", 1e-9}, {"constraint_tolerance", 1e-8}}}}));
  // what the list says goes before what the model says
  const json given =
      integrator_section(method_choice("nsga_decoupled:force_corrections=true:tolerance=1e-7", ""), document, 1e-3);
  CHECK(given["force_corrections"] == true);
  CHECK(given["newton"]["tolerance"] == 1e-7);
  CHECK(given["newton"]["method"] == "full");
  // a section that --set replaces is no longer that of the file
  const ModelDocument replaced =
      parse_model(model_text_with_keys, "model.json",
                  {R"(/integrator={"type": "moreau_jean", "step": 1, "duration": 2, "theta": 1})"});
  REQUIRE(replaced.ok());
  const json section = integrator_section(method_choice("nsga_decoupled", ""), replaced, 1e-3);
  CHECK(!section.contains("force_corrections"));
  CHECK(!section.contains("newton"));
}

TEST_CASE("keys of a study: bare names of the integrator section, unknown and doubtful ones are refused") {
  const ModelDocument document = parse_model(model_text_with_keys, "model.json");
  CHECK(pointer_of_key("/bodies/0/mass", "--vary", document) == "/bodies/0/mass");
  CHECK(pointer_of_key("force_corrections", "--vary", document) == "/integrator/force_corrections");
  CHECK(pointer_of_key("tolerance", "--vary", document) == "/integrator/newton/tolerance");
  CHECK(pointer_of_key("newton/tolerance", "--vary", document) == "/integrator/newton/tolerance");
  CHECK(refusal([&] { pointer_of_key("rho", "--vary", document); }).find("is a parameter of the model") !=
        std::string::npos);
  CHECK(refusal([&] { pointer_of_key("theta", "--vary", document); }).find("no key \"theta\"") != std::string::npos);
  const ModelDocument doubtful = parse_model(
      R"({"format": 1, "parameters": {"step": 1}, "integrator": {"type": "moreau_jean", "step": "=step", "duration": 1}})",
      "model.json");
  CHECK(refusal([&] { pointer_of_key("step", "--vary", doubtful); }) ==
        "--vary: \"step\" may be \"/integrator/step\" or \"/parameters/step\": expected one of these pointers");
}

TEST_CASE("bibliography: every key that a type names has an entry, and every entry is complete BibTeX") {
  std::set<std::string> keys;
  for (const BibliographyEntry& entry : bibliography()) {
    CAPTURE(entry.key);
    CHECK(keys.insert(entry.key).second);
    std::set<std::string> fields;
    for (const auto& [name, value] : entry.fields) {
      CHECK(fields.insert(name).second);
      CHECK(!value.empty());
      int depth = 0;
      for (const char c : value) {
        depth += c == '{' ? 1 : c == '}' ? -1 : 0;
        CHECK(depth >= 0);
        CHECK(static_cast<unsigned char>(c) < 0x80);
      }
      CHECK(depth == 0);
      CHECK(std::count(value.begin(), value.end(), '$') % 2 == 0);
    }
    const Words needed = entry.kind == "article"        ? Words{"author", "title", "journal", "year"}
                         : entry.kind == "incollection" ? Words{"author", "title", "booktitle", "publisher", "year"}
                                                        : Words{"author", "title", "note"};
    for (const std::string& name : needed) CHECK(fields.contains(name));
  }
  const auto check = [&](const Words& named) {
    for (const std::string& key : named) {
      CAPTURE(key);
      CHECK(find_entry(key) != nullptr);
    }
  };
  for (const IntegratorType& type : integrator_types()) check(type.references);
  for (const BodyType& type : body_types()) check(type.references);
  check(static_type().option_references({{"control", "arc_length"}}));
  check(solid_type().option_references({{"locking", "incompatible_modes"}, {"mesh", {{"type", "gmsh"}}}}));
  CHECK(find_entry("nobody_1900") == nullptr);
  CHECK(bibtex_of({"k", "misc", {{"author", "A"}, {"note", "N"}}}) == "@misc{k,\n  author = {A},\n  note = {N}\n}\n");
}

TEST_CASE("pictures: lines of whole orders lie below all points and have their slopes") {
  // errors h^2 and 5 h^1.2 over the step
  std::vector<ErrorCurve> curves = {{"a", {}, {}, 2.04}, {"b", {}, {}, 1.2}, {"zero", {}, {}, std::nullopt}};
  for (const double h : {1e-2, 1e-3, 1e-4}) {
    for (ErrorCurve& c : curves) c.x.push_back(h);
    curves[0].y.push_back(h * h);
    curves[1].y.push_back(5 * std::pow(h, 1.2));
    curves[2].y.push_back(0);
  }
  for (const bool rises : {true, false}) {
    CAPTURE(rises);
    if (!rises)
      for (ErrorCurve& c : curves)
        for (double& x : c.x) x = 1 / x;
    Figure figure;
    figure.panels.push_back(error_panel("errors", curves, rises));
    const std::vector<Figure::Curve>& drawn = figure.panels[0].curves;
    REQUIRE(drawn.size() == 5);
    CHECK(drawn[0].name == "a, order 2.04");
    CHECK(drawn[2].x.empty());
    CHECK(drawn[3].name == "order 1");
    CHECK(drawn[4].name == "order 2");
    for (std::size_t k = 3; k < 5; ++k) {
      const Figure::Curve& line = drawn[k];
      CHECK(line.style == Figure::Style::guide);
      const double slope = std::log(line.y[1] / line.y[0]) / std::log(line.x[1] / line.x[0]);
      CHECK(slope == doctest::Approx((rises ? 1.0 : -1.0) * static_cast<double>(k - 2)));
      for (std::size_t c = 0; c < 2; ++c)
        for (std::size_t i = 0; i < drawn[c].x.size(); ++i)
          CHECK(line.y[0] * std::pow(drawn[c].x[i] / line.x[0], slope) < drawn[c].y[i]);
    }
    set_decades(figure);
    CHECK(figure.range->first < (rises ? 1e-4 : 1e2));
    CHECK(figure.range->second > (rises ? 1e-2 : 1e4));
    CHECK(figure.panels[0].range->first < 1e-8);
  }
}
