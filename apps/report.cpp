// carom report: the results of a run as one HTML page.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "apps/commands.hpp"
#include "io/results/atomic_file.hpp"
#include "io/schema/json_source.hpp"
#include "io/studies/report_page.hpp"
#include "io/studies/study_words.hpp"

namespace carom {

namespace {

namespace fs = std::filesystem;

class Report final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("results", results_, "Directory of the results of a run")
        ->option_text("DIR")
        ->required()
        ->check(reject_empty);
    app.add_option("-o,--output", page_, "The page (default: report.html in the directory)")
        ->option_text("NAME.html")
        ->check(reject_empty);
    app.add_option("--picture", picture_,
                   "A picture of the model for the page (default: picture.png in the directory, if it exists)")
        ->option_text("NAME.png")
        ->check(reject_empty);
    app.add_flag("-q,--quiet", quiet_, "Only errors");
    app.footer(
        "Examples:\n"
        "    carom report results/brick -o brick.html\n"
        "    xvfb-run -a -s -noreset pvpython results/brick/view.py \\\n"
        "        --png results/brick/picture.png\n"
        "    carom report results/brick");
  }

  int run() override {
    try {
      const fs::path page = page_.empty() ? fs::path(results_) / "report.html" : fs::path(page_);
      if (page.extension() != ".html")
        throw StudyError("--output: expected a name that ends in .html, got " + in_quotes(page.string()));
      const Results results = read_results(results_);
      std::vector<ReportPicture> pictures = report_pictures(results);
      const fs::path picture = picture_.empty() ? fs::path(results_) / "picture.png" : fs::path(picture_);
      std::error_code error;
      if (!picture_.empty() || fs::exists(picture, error)) pictures.push_back(model_picture(picture));
      write_atomically(page, report_page(results, pictures));
      for (const ReportPicture& drawn : pictures)
        if (drawn.element.empty() && !quiet_)
          for (const std::string& note : drawn.notes)
            fmt::print(stderr, "carom report: note: no picture {}: {}\n", in_quotes(drawn.heading), note);
      if (!quiet_) fmt::print("{}\n", page.string());
      return exit_done;
    } catch (const StudyError& e) {
      fmt::print(stderr, "carom report: {}\nSee: carom report --help\n", e.what());
      return exit_command_line;
    }
  }

 private:
  std::string results_, page_, picture_;
  bool quiet_ = false;
};

}  // namespace

Command& report_command() {
  static Report command;
  return command;
}

}  // namespace carom
