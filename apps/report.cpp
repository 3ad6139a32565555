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
    app.add_option("results", results_, "Directory of the results of a run")->required()->check(reject_empty);
    app.add_option("-o,--output", page_, "The page: NAME.html (default: report.html in the directory)")
        ->check(reject_empty);
    app.add_flag("-q,--quiet", quiet_, "Only errors");
    app.footer("Example:\n    carom report results/brick -o brick.html");
  }

  int run() override {
    try {
      const fs::path page = page_.empty() ? fs::path(results_) / "report.html" : fs::path(page_);
      if (page.extension() != ".html")
        throw StudyError("--output: expected a name that ends in .html, got " + in_quotes(page.string()));
      const Results results = read_results(results_);
      const std::vector<ReportPicture> pictures = report_pictures(results);
      write_atomically(page, report_page(results, pictures));
      for (const ReportPicture& picture : pictures)
        if (picture.svg.empty() && !quiet_)
          for (const std::string& note : picture.notes)
            fmt::print(stderr, "carom report: note: no picture {}: {}\n", in_quotes(picture.heading), note);
      if (!quiet_) fmt::print("{}\n", page.string());
      return exit_done;
    } catch (const StudyError& e) {
      fmt::print(stderr, "carom report: {}\nSee: carom report --help\n", e.what());
      return exit_command_line;
    }
  }

 private:
  std::string results_, page_;
  bool quiet_ = false;
};

}  // namespace

Command& report_command() {
  static Report command;
  return command;
}

}  // namespace carom
