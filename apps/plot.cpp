// carom plot: probes, energies and events of runs over time, drawn by gnuplot.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "apps/commands.hpp"
#include "io/schema/json_source.hpp"
#include "io/studies/run_figures.hpp"

namespace carom {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_panels = 12;  // of probes that nobody named

class Plot final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("results", words_,
                   "Directories of results, then probes or columns of probes.csv: tip, tip.z (default: all probes)")
        ->option_text("DIR... [PROBE...]")
        ->required();
    app.add_option("-o,--output", picture_,
                   "The picture: NAME.svg, NAME.pdf or NAME.png (default: plot.svg in the "
                   "first directory)")
        ->option_text("NAME.svg|.pdf|.png")
        ->check(reject_empty);
    app.add_option("--window", window_, "Only this time")->option_text("T0,T1")->check(reject_empty);
    app.add_flag("--energy", energy_, "The energies, and the work that changes them");
    app.add_flag("--iterations", iterations_, "Iterations per step of the sub-problems, and rejected trials");
    app.add_flag("--events", events_, "Impacts and releases, a row for each contact");
    app.add_option("--log", logarithmic_, "Logarithmic axes: of time (x), of values (y), both (xy)")
        ->option_text("x|y|xy")
        ->check(CLI::IsMember({"x", "y", "xy"}));
    app.add_option("--title", title_, "A line above the picture")->option_text("TEXT");
    app.add_flag("-q,--quiet", quiet_, "Only errors");
    app.footer(
        "Examples:\n"
        "    carom plot results/brick\n"
        "    carom plot results/coarse results/fine x.z --window 0.4,0.6 -o x.pdf\n"
        "    carom plot results/brick --energy --events --iterations");
  }

  int run() override {
    try {
      return plot();
    } catch (const StudyError& e) {
      fmt::print(stderr, "carom plot: {}\nSee: carom plot --help\n", e.what());
      return exit_command_line;
    }
  }

 private:
  fs::path picture() const {
    fs::path path = picture_.empty() ? fs::path(words_[0]) / "plot.svg" : fs::path(picture_);
    const std::string name = path.filename().string(), ending = path.extension().string();
    const auto& endings = picture_endings();
    if (std::find(endings.begin(), endings.end(), ending) == endings.end())
      throw StudyError("--output: expected a name that ends in .svg, .pdf or .png, got " + in_quotes(path.string()));
    if (printable(name, name.size()) != name)
      throw StudyError("--output: expected a name without control characters, in UTF-8, got " + in_quotes(name));
    return path;
  }

  int plot() {
    FigureRequest request;
    if (!window_.empty()) request.window = time_window(window_);
    request.logarithmic_x = logarithmic_.find('x') != std::string::npos;
    request.logarithmic_y = logarithmic_.find('y') != std::string::npos;
    request.energy = energy_;
    request.iterations = iterations_;
    request.events = events_;
    request.title = title_;
    const fs::path picture = this->picture();

    // a word is a directory until the first word that is none
    std::vector<Results> runs;
    std::error_code error;
    std::size_t i = 0;
    for (; i < words_.size(); ++i) {
      const bool looks_like_a_path = words_[i].find('/') != std::string::npos;
      if (i > 0 && !looks_like_a_path && !fs::is_directory(words_[i], error)) break;
      runs.push_back(read_results(words_[i]));
    }
    for (; i < words_.size(); ++i) request.probes.push_back(words_[i]);
    std::vector<std::string> notes;
    if (request.probes.empty() && !energy_ && !events_ && !iterations_) {
      request.probes = probe_names(runs);
      if (request.probes.empty())
        throw StudyError(
            "these results have no probes: expected --energy, --events or --iterations, or a model with output/probes");
      if (request.probes.size() > most_panels) {
        notes.push_back(fmt::format("the first {} of {} probes; name others after the directories", most_panels,
                                    request.probes.size()));
        request.probes.resize(most_panels);
      }
    }
    const Figure figure = figure_of(runs, request, notes);
    if (!quiet_)
      for (const std::string& note : notes) fmt::print(stderr, "carom plot: note: {}\n", note);
    if (figure.panels.empty()) throw StudyError("there is nothing to draw");
    draw(figure, picture);
    if (!quiet_)
      fmt::print("{}, drawn by {} from {}\n", picture.string(), script_beside(picture).filename().string(),
                 data_beside(picture).filename().string());
    return exit_done;
  }

  std::vector<std::string> words_;
  std::string picture_, window_, logarithmic_, title_;
  bool energy_ = false, events_ = false, iterations_ = false, quiet_ = false;
};

}  // namespace

Command& plot_command() {
  static Plot command;
  return command;
}

}  // namespace carom
