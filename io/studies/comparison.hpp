// A comparison of integrators: one model solved by several methods, with the same steps, against one reference.
//
// A method is written as on the command line,
//
//   [LABEL=]TYPE[:KEY=VALUE]...      nsga_decoupled    DSn=nsga_decoupled:force_corrections=false
//
// with the keys of the type's section; a key below another one is named by its path or, if the name is unique, by
// itself: newton/tolerance=1e-9, tolerance=1e-9. What the user does not give is taken over from the integrator section
// of the model, if it is written there and the type has the key; all other keys have their defaults. A key that begins
// with / is a pointer to any other value of the model: soft=nsga_decoupled:/materials/0/young=1e6.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/studies/convergence_report.hpp"
#include "io/studies/study_run.hpp"
#include "io/studies/study_words.hpp"

namespace carom {

struct MethodChoice {
  std::string label, type;
  std::vector<std::pair<std::string, nlohmann::json>> keys;  ///< pointers within the section, and values
  std::vector<std::string> overrides;                        ///< "/pointer=value" of other sections of the model
  std::optional<double> step;                                ///< the key "step", which is not among `keys`
};
/// One method; `option` is named in messages. Throws StudyError for unknown types and keys, and for static methods.
MethodChoice method_choice(const std::string& text, const std::string& option);
/// A list with commas between the methods, with different labels. vary: "KEY=VALUE,VALUE", with which every method that
/// has the key is repeated; empty: none. Throws StudyError.
std::vector<MethodChoice> method_choices(const std::string& text, const std::string& vary = "");

/// The integrator section of a method for this model, which is valid. Throws StudyError if the values do not suit.
nlohmann::json integrator_section(const MethodChoice& method, const ModelDocument& document, double step);

struct MethodRuns {
  std::string label, type;
  nlohmann::json section;              ///< with the first of its steps
  std::string refusal;                 ///< why the method does not take the model; empty: it does
  std::vector<StudyRun> runs;          ///< from large steps to small ones; StudyRun::value is the step
  std::vector<StudyOrders> orders;     ///< one per quantity
  std::vector<std::string> overrides;  ///< "/pointer=value" of other sections of the model

  bool completed() const;  ///< it has runs, and all are complete
};

struct Comparison {
  std::string model, file;
  std::vector<StudyQuantity> quantities;
  bool units = true;  ///< whether tables name units
  std::vector<MethodRuns> methods;
  std::string reference;  ///< description; empty: no reference
  Samples reference_samples;
  std::optional<TimeWindow> window;
  RunStatus status = RunStatus::completed;
};

/// Computes the orders of all methods.
void find_orders(Comparison& comparison);

/// For a terminal of 100 columns.
std::string comparison_table(const Comparison& comparison);
std::string comparison_markdown(const Comparison& comparison);
std::string comparison_latex(const Comparison& comparison);
/// The names of all files.
std::vector<std::string> comparison_files();
/// Writes the files. Returns sentences for what could not be drawn. Throws FileError.
std::vector<std::string> write_comparison(const Comparison& comparison, const std::filesystem::path& directory);

}  // namespace carom
