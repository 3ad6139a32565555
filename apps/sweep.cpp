// carom sweep: solves a model at the points of a grid or of a sample, each by a process of its own, and writes one
// table.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <thread>

#include "apps/commands.hpp"
#include "apps/process_pool.hpp"
#include "core/base/errors.hpp"
#include "io/results/atomic_file.hpp"
#include "io/results/directory_lock.hpp"
#include "io/schema/json_source.hpp"
#include "io/studies/study_words.hpp"
#include "io/studies/sweep_results.hpp"
#include "io/studies/sweep_script.hpp"

namespace carom {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char* plan_name = "sweep.json";

class Sweep final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("model", model_, "Model file (JSON)")->required()->option_text("FILE");
    app.add_option("--vary", vary_,
                   "A key and its values: KEY=a,b,c (list), KEY=FROM:TO:COUNT[:log] (range), KEY=FROM:TO[:log] "
                   "(interval, for samples). KEY: a pointer, a parameter, a key of the integrator. Several: all "
                   "combinations")
        ->option_text("KEY=VALUES")
        ->allow_extra_args(false)
        ->required();
    auto* const random = app.add_option("--random", random_, "A sample of so many points, drawn evenly")
                             ->option_text("N")
                             ->check(CLI::Range(std::size_t{1}, SweepPlan::most_points));
    app.add_option("--latin", latin_, "A Latin hypercube of so many points")
        ->option_text("N")
        ->check(CLI::Range(std::size_t{1}, SweepPlan::most_points))
        ->excludes(random);
    app.add_option("--seed", seed_, "Chooses the sample (default: 1)")->option_text("N");
    app.add_option("--result", requested_,
                   "A column of the table: a probe, energy.COLUMN or a column of probes.csv, with :last, :min or :max; "
                   "or a number of the run (may be repeated; default: all of these probes and numbers)")
        ->option_text("NAME")
        ->allow_extra_args(false);
    app.add_option("--jobs", jobs_, "Processes side by side (default: one per processor)")
        ->option_text("N")
        ->check(CLI::Range(std::size_t{1}, ProcessPool::most_processes));
    app.add_option("--table", table_, "The table (default: table.csv in the directory)")
        ->option_text("FILE")
        ->check(reject_empty);
    app.add_option("--keep", keep_, "Which points keep the files of their runs (default: all)")
        ->option_text("all|failed|none")
        ->check(CLI::IsMember({"all", "failed", "none"}));
    auto* const points = app.add_option("--points", points_, "Only these points, without table: 17 or 1-50")
                             ->option_text("A-B")
                             ->check(reject_empty);
    app.add_option("--script", script_, "Solve nothing; write a job that does: an array of Slurm, or GNU parallel")
        ->option_text("slurm|parallel")
        ->check(CLI::IsMember({"slurm", "parallel"}))
        ->excludes(points);
    app.add_flag("--anew", anew_, "Delete the points that the directory holds, and begin again");
    app.add_option("--set", overrides_, "Override a value of the model: /json/pointer=value (may be repeated)")
        ->option_text("/KEY=VALUE")
        ->allow_extra_args(false)
        ->check(reject_malformed_override);
    app.add_option("-o,--output", directory_, "Directory of the results (default: results/<model>-sweep)")
        ->option_text("DIR")
        ->check(reject_empty);
    app.add_flag("-q,--quiet", quiet_, "Only errors");
    app.footer(
        "Examples:\n"
        "    carom sweep brick.json --vary /contacts/0/restitution=0:1:11\n"
        "    carom sweep brick.json --latin 1000 --vary step=1e-4:1e-3:log \\\n"
        "        --vary /contacts/0/restitution=0:1 --result x.z:max -o results/sample\n"
        "    carom sweep brick.json --vary /gravity/2=-9.81,-1.62 --script slurm \\\n"
        "        -o results/moon\n"
        "    sbatch results/moon/sweep.slurm");
  }

  int run() override {
    std::signal(SIGXFSZ, SIG_IGN);
    try {
      return sweep();
    } catch (const StudyError& e) {
      fmt::print(stderr, "carom sweep: {}\nSee: carom sweep --help\n", e.what());
      return exit_command_line;
    }
  }

 private:
  // ---- the request

  /// What every point overrides: no pictures unless the user wants them, and no expectations, which hold for the model
  /// as it is.
  std::vector<std::string> shared_overrides() const {
    std::vector<std::string> out = {"/output/vtu/enabled=false", "/expect=[]"};
    out.insert(out.end(), overrides_.begin(), overrides_.end());
    return out;
  }

  ModelDocument document_with(const std::vector<std::string>& more) const {
    std::vector<std::string> all = shared_overrides();
    all.insert(all.end(), more.begin(), more.end());
    return load_model(model_, all);
  }

  /// A key of which no value is possible is a mistake, unless the values of the other keys make it possible.
  std::optional<ModelIssues> impossible_key(const SweepPlan& plan) const {
    if (document_with(plan.overrides(0)).ok()) return std::nullopt;
    for (const SweepKey& key : plan.keys()) {
      std::vector<std::string> words = key.words;
      if (words.empty()) words = {fmt::format("{}", key.from), fmt::format("{}", key.to)};
      std::optional<ModelIssues> first;
      for (const std::string& word : words) {
        const ModelDocument changed = document_with({key.pointer + "=" + word});
        if (changed.ok()) {
          first.reset();
          break;
        }
        if (!first) first = changed.issues();
      }
      if (first) return first;
    }
    return std::nullopt;
  }

  /// The points to solve, counted from 0: first and last.
  std::pair<std::size_t, std::size_t> chosen_points(std::size_t count) const {
    if (points_.empty()) return {0, count - 1};
    const std::size_t dash = points_.find('-', 1);
    const auto first = number_of(points_.substr(0, dash));
    const auto last = dash == std::string::npos ? first : number_of(points_.substr(dash + 1));
    const auto whole = [](const std::optional<double>& x) { return x && *x == std::floor(*x) && *x >= 1; };
    if (!whole(first) || !whole(last) || *first > *last || *last > static_cast<double>(count))
      throw StudyError(fmt::format("--points: expected a number from 1 to {}, or two as in 1-{}, got {}", count, count,
                                   in_quotes(points_)));
    return {static_cast<std::size_t>(*first) - 1, static_cast<std::size_t>(*last) - 1};
  }

  json description(const SweepPlan& plan) const {
    std::ifstream file(model_, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    json out = plan.description();
    out["model"] = fs::path(model_).filename().string();
    out["model_hash"] = fmt::format("{:016x}", hash);
    out["set"] = overrides_;
    out["versions"] = {{"carom", CAROM_VERSION}, {"format", 1}};
    return out;
  }

  /// Refuses a directory with another sweep; true if the directory holds this sweep.
  bool holds_this_sweep(const fs::path& directory, const json& mine) const {
    std::error_code error;
    if (anew_ || !fs::exists(directory / plan_name, error)) return false;
    std::ifstream file(directory / plan_name);
    const json other = json::parse(file, nullptr, false);
    if (other == mine) return true;
    static const std::vector<std::pair<const char*, const char*>> parts = {{"model", "model file"},
                                                                           {"model_hash", "content of the model file"},
                                                                           {"set", "overrides by --set"},
                                                                           {"vary", "keys and values"},
                                                                           {"sampling", "way of sampling"},
                                                                           {"points", "number of points"},
                                                                           {"seed", "seed"},
                                                                           {"versions", "version of carom"}};
    std::vector<std::string> differ;
    for (const auto& [key, words] : parts)
      if (!other.is_object() || other.value(key, json()) != mine.value(key, json())) differ.emplace_back(words);
    throw StudyError(fmt::format(
        "{} holds a sweep that differs in the {}: expected another directory, with -o, or --anew, which deletes its "
        "points",
        directory.string(), fmt::join(differ, " and the ")));
  }

  // ---- the points

  fs::path directory_of(std::size_t i) const { return points_folder_ / fmt::format("{:0{}}", i + 1, digits_); }

  std::vector<std::string> arguments_of(const SweepPlan& plan, std::size_t i) const {
    std::vector<std::string> out = {"run", "--quiet", "--restart", "auto", "--output", directory_of(i).string()};
    for (const std::vector<std::string>& overrides : {shared_overrides(), plan.overrides(i)})
      for (const std::string& text : overrides) out.push_back("--set=" + text);
    out.emplace_back("--");
    out.push_back(model_);
    return out;
  }

  /// The first message of a run without the program's name.
  static std::string reason_of(const ProcessPool::Ended& ended) {
    std::string line = ended.errors.substr(0, ended.errors.find('\n'));
    for (const char* prefix : {"carom: ", "carom run: "})
      if (line.starts_with(prefix)) line.erase(0, std::string_view(prefix).size());
    if (!line.empty()) return line;
    return ended.exit_code > 128 ? fmt::format("ended by signal {}", ended.exit_code - 128) : "without a message";
  }

  /// Deletes the files of a run but for its record.
  static void delete_files(const fs::path& directory) {
    std::error_code error;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory, error))
      if (entry.path().filename() != "point.json") files.push_back(entry.path());
    for (const fs::path& file : files) fs::remove_all(file, error);
  }

  PointRecord record_of(std::size_t i, const ProcessPool::Ended& ended, const std::vector<SweepResult>& results) const {
    const fs::path directory = directory_of(i);
    PointRecord record;
    record.exit_code = ended.exit_code;
    if (ended.exit_code != 0) record.reason = reason_of(ended);
    if (record.has_values()) record.values = read_values(directory, results);
    if (!record.final()) return record;
    std::error_code error;
    fs::create_directories(directory, error);  // an invalid model leaves none
    write_record(directory, record, results);
    if (keep_ == "none" || (keep_ == "failed" && ended.exit_code == 0)) delete_files(directory);
    return record;
  }

  struct Progress {
    std::size_t total = 0, before = 0, done = 0, failed = 0;
    Clock::time_point begin = Clock::now(), said = Clock::now();
  };

  void say(Progress& p, std::size_t i, const PointRecord& record) const {
    constexpr std::size_t most_lines = 20;
    const bool terminal = isatty(STDERR_FILENO) != 0;
    ++p.done;
    if (!record.has_values() && ++p.failed <= most_lines && !quiet_)
      fmt::print(stderr, "{}point {}: {} ({}): {}\n{}", terminal ? "\r\033[K" : "", i + 1, record.status(),
                 record.exit_code, record.reason,
                 p.failed == most_lines ? "more points that fail are in the table only\n" : "");
    const auto now = Clock::now();
    const double since = std::chrono::duration<double>(now - p.said).count();
    if (quiet_ || since < (terminal ? 0.2 : 10.0)) return;
    p.said = now;
    const double rate = static_cast<double>(p.done) / std::chrono::duration<double>(now - p.begin).count();
    fmt::print(stderr, "{}{} of {} points, {:.3g} per second, {:.0f} s left{}", terminal ? "\r\033[K" : "",
               p.before + p.done, p.total, rate, static_cast<double>(p.total - p.before - p.done) / rate,
               terminal ? "" : "\n");
    std::fflush(stderr);
  }

  /// Waits a little for the lock: the processes of a sweep that was just killed hold its lock for a moment.
  static void acquire(DirectoryLock& lock, const fs::path& directory) {
    for (int trials = 30;; --trials) {
      try {
        return lock.acquire(directory);
      } catch (const FileError&) {
        if (trials == 0) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
  }

  /// Solves the points without a record.
  void solve(const SweepPlan& plan, const std::vector<SweepResult>& results, std::pair<std::size_t, std::size_t> chosen,
             std::vector<std::optional<PointRecord>>& records) const {
    std::vector<std::size_t> open;
    for (std::size_t i = chosen.first; i <= chosen.second; ++i)
      if (!records[i]) open.push_back(i);
    Progress progress;
    progress.total = chosen.second - chosen.first + 1;
    progress.before = progress.total - open.size();
    if (progress.before > 0 && !quiet_)
      fmt::print(stderr, "note: goes on: {} of {} points are done\n", progress.before, progress.total);
    const std::size_t jobs = jobs_.value_or(std::max(1U, std::thread::hardware_concurrency()));
    ProcessPool pool;
    std::set<std::size_t> tried;  // points with a file error, which are tried once more
    for (std::size_t next = 0; next < open.size() || pool.size() > 0;) {
      if (ProcessPool::stopped()) next = open.size();
      while (next < open.size() && pool.size() < jobs) {
        pool.start(open[next], arguments_of(plan, open[next]));
        ++next;
      }
      if (pool.size() == 0) break;
      const ProcessPool::Ended ended = pool.wait();
      // a point that was interrupted goes on later
      if (ProcessPool::stopped() && (ended.exit_code == exit_interrupted || ended.exit_code > 128)) continue;
      // a process of a sweep that was just killed may still hold the point's directory
      if (ended.exit_code == exit_file && tried.insert(ended.id).second) {
        open.push_back(ended.id);
        continue;
      }
      records[ended.id] = record_of(ended.id, ended, results);
      say(progress, ended.id, *records[ended.id]);
    }
    if (!quiet_ && isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
  }

  // ---- the sweep

  int sweep() {
    std::error_code error;
    if (!fs::is_regular_file(model_, error) && fs::exists(model_, error))
      throw StudyError("expected a regular file as the model, which every point reads again, got " + in_quotes(model_));
    const std::string name = fs::path(model_).stem().string();
    const fs::path directory = directory_.empty() ? fs::path("results") / (name + "-sweep") : directory_;
    const PreparedRun base = prepare_run(document_with({}));
    if (!base.ok()) return refuse(base.issues);
    std::vector<SweepKey> keys;
    for (const std::string& text : vary_) keys.push_back(sweep_key(text, base.document));
    const Sampling sampling = random_ ? Sampling::random : latin_ ? Sampling::latin_hypercube : Sampling::grid;
    const SweepPlan plan(std::move(keys), sampling, random_ ? *random_ : latin_.value_or(0), seed_);
    const std::vector<SweepResult> results = sweep_results(base, requested_);
    const auto chosen = chosen_points(plan.size());
    if (const auto issues = impossible_key(plan)) return refuse(*issues);

    const fs::path table = table_.empty() ? directory / "table.csv" : fs::path(table_);
    points_folder_ = directory / "points";
    digits_ = std::max<std::size_t>(4, std::to_string(plan.size()).size());
    if (is_one_of(model_, directory, {plan_name, "table.csv", "sweep.slurm", "sweep.sh"}) ||
        fs::equivalent(model_, table, error))
      throw StudyError(fmt::format("the results in {} would overwrite {}: expected another directory, with -o",
                                   directory.string(), model_));
    const json mine = description(plan);
    const bool goes_on = holds_this_sweep(directory, mine);
    fs::create_directories(points_folder_, error);
    if (error) throw FileError("cannot create " + points_folder_.string() + ": " + error.message());
    DirectoryLock lock;
    if (points_.empty()) acquire(lock, directory);  // jobs with --points share the directory
    if (!goes_on) {
      fs::remove_all(points_folder_, error);
      fs::create_directories(points_folder_, error);
      write_atomically(directory / plan_name, mine.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
    }
    if (!script_.empty()) return write_script(plan, directory);

    std::vector<std::optional<PointRecord>> records(plan.size());
    for (std::size_t i = chosen.first; i <= chosen.second; ++i) records[i] = read_record(directory_of(i), results);
    solve(plan, results, chosen, records);
    return close(table, plan, results, chosen, records);
  }

  /// Writes the table and says how the points ended.
  int close(const fs::path& table, const SweepPlan& plan, const std::vector<SweepResult>& results,
            std::pair<std::size_t, std::size_t> chosen, const std::vector<std::optional<PointRecord>>& records) const {
    if (points_.empty()) write_atomically(table, sweep_table(plan, results, records));
    std::map<std::string, std::size_t> counts;
    for (std::size_t i = chosen.first; i <= chosen.second; ++i) ++counts[records[i] ? records[i]->status() : "missing"];
    if (!quiet_) {
      fmt::print("{} points:", chosen.second - chosen.first + 1);
      const char* separator = " ";
      for (const char* status : {"completed", "missed expectation", "failed", "invalid", "file error", "internal error",
                                 "killed", "missing"})
        if (counts.contains(status)) {
          fmt::print("{}{} {}", separator, counts[status], status);
          separator = ", ";
        }
      fmt::print("{}\n", points_.empty() ? "; table in " + table.string() : "");
    }
    if (ProcessPool::stopped()) return exit_interrupted;
    if (counts.contains("file error")) return exit_file;
    return counts.contains("completed") || counts.contains("missed expectation") ? exit_done : exit_not_converged;
  }

  int write_script(const SweepPlan& plan, const fs::path& directory) const {
    SweepScript script;
    script.name = fs::path(model_).stem().string();
    script.points = plan.size();
    script.jobs = jobs_;
    script.directory = fs::absolute(directory).lexically_normal();
    script.command = {fs::read_symlink("/proc/self/exe").string(), "sweep", "--output", script.directory.string()};
    for (const std::string& text : vary_) script.command.push_back("--vary=" + text);
    if (random_) script.command.push_back("--random=" + std::to_string(*random_));
    if (latin_) script.command.push_back("--latin=" + std::to_string(*latin_));
    script.command.push_back("--seed=" + std::to_string(seed_));
    for (const std::string& text : requested_) script.command.push_back("--result=" + text);
    for (const std::string& text : overrides_) script.command.push_back("--set=" + text);
    if (!keep_.empty()) script.command.push_back("--keep=" + keep_);
    script.last = {"--", model_};
    const bool slurm = script_ == "slurm";
    const fs::path file = directory / (slurm ? "sweep.slurm" : "sweep.sh");
    if (slurm) fs::create_directories(directory / "slurm");
    write_atomically(file, slurm ? slurm_script(script) : parallel_script(script));
    fs::permissions(file, fs::perms::owner_exec, fs::perm_options::add);
    if (!quiet_)
      fmt::print("{}: {}\nwhen all points are done, the same command without --script writes the table\n",
                 file.string(), slurm ? "submit it with sbatch" : "run it where GNU parallel is");
    return exit_done;
  }

  static int refuse(const ModelIssues& issues) {
    fmt::print(stderr, "{}", issues.report(width_of_stderr()));
    return exit_invalid_model;
  }

  std::string model_;
  std::vector<std::string> vary_, requested_, overrides_;
  std::optional<std::size_t> random_, latin_, jobs_;
  std::uint64_t seed_ = 1;
  std::string table_, keep_, points_, script_;
  fs::path directory_, points_folder_;
  std::size_t digits_ = 4;
  bool anew_ = false, quiet_ = false;
};

}  // namespace

Command& sweep_command() {
  static Sweep command;
  return command;
}

}  // namespace carom
