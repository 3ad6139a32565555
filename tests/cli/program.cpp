#include "tests/cli/program.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace carom::cli_test {

namespace fs = std::filesystem;

// ---- temporary directories

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (fs::temp_directory_path() / "carom_cli_XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  fs::remove_all(path_, error);
}

// ---- processes

Process::Process(const TemporaryDirectory& directory, const std::vector<std::string>& arguments)
    : directory_(directory.path()) {
  // all allocations happen before the fork
  std::vector<std::string> words = {CAROM_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string out = directory_ / ".stdout", err = directory_ / ".stderr";

  id_ = fork();
  REQUIRE(id_ >= 0);
  if (id_ > 0) return;
  const int input = open("/dev/null", O_RDONLY);
  const int o = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int e = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (chdir(directory_.c_str()) == 0 && dup2(input, 0) == 0 && dup2(o, 1) == 1 && dup2(e, 2) == 2)
    execv(pointers[0], pointers.data());
  _exit(126);
}

Process::~Process() {
  if (!ended_) {
    send(SIGKILL);
    waitpid(id_, &status_, 0);
  }
}

void Process::send(int signal) const { kill(id_, signal); }

bool Process::running() {
  if (!ended_) ended_ = waitpid(id_, &status_, WNOHANG) == id_;
  return !ended_;
}

Outcome Process::wait() {
  while (!ended_ && waitpid(id_, &status_, 0) != id_) REQUIRE(errno == EINTR);
  ended_ = true;
  Outcome outcome;
  outcome.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  outcome.out = read(directory_ / ".stdout");
  outcome.err = read(directory_ / ".stderr");
  return outcome;
}

Outcome run_carom(const TemporaryDirectory& directory, const std::vector<std::string>& arguments) {
  return Process(directory, arguments).wait();
}

// ---- files

std::string model_path(const std::string& name) {
  return std::string(CAROM_SOURCE_DIR) + "/data/models/" + name + ".json";
}

bool is_static_model(const std::string& name) {
  return read(model_path(name)).find("\"integrator\": {\"type\": \"static\"") != std::string::npos;
}

bool is_explicit_model(const std::string& name) {
  const std::string text = read(model_path(name));
  const auto uses = [&text](const std::string& type) {
    return text.find("\"integrator\": {\"type\": \"" + type + "\"") != std::string::npos;
  };
  return uses("cd_lagrange") || uses("paoli_schatzman") || uses("carpenter");
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(std::string(CAROM_SOURCE_DIR) + "/data/models"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (const std::size_t begin = line.find_first_not_of(' '); begin != std::string::npos)
      lines.push_back(line.substr(begin));
  return lines;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), "cannot read " << path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  REQUIRE(file.good());
}

void write_hinged_solid(const fs::path& path, const std::vector<double>& size, const std::vector<int>& divisions,
                        const nlohmann::json& integrator) {
  const nlohmann::json model = {
      {"format", 1},
      {"gravity", {0, 0, -9.81}},
      {"materials",
       {{{"name", "steel"}, {"type", "linear_elastic"}, {"young", 2.1e11}, {"poisson", 0.3}, {"density", 7850}}}},
      {"ground", {{{"name", "o"}, {"at", {-size[0] / 2, 0, 0}}}}},
      {"bodies",
       {{{"name", "a"},
         {"type", "solid"},
         {"material", "steel"},
         {"mesh", {{"type", "box"}, {"size", size}, {"divisions", divisions}}}}}},
      {"joints", {{{"name", "j"}, {"type", "revolute"}, {"of", {"ground.o", "a.left"}}, {"axis", {0, 1, 0}}}}},
      {"integrator", integrator}};
  write(path, model.dump());
}

nlohmann::json read_json(const fs::path& path) {
  nlohmann::json value = nlohmann::json::parse(read(path), nullptr, false);
  REQUIRE_MESSAGE(!value.is_discarded(), path.string() << " is no JSON");
  return value;
}

Table read_csv(const fs::path& path) {
  const std::string text = read(path);
  REQUIRE(text.ends_with('\n'));
  Table table;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream words(line + ",");
    for (std::string word; std::getline(words, word, ',');) cells.push_back(word);
    if (table.names.empty()) {
      for (const std::string& cell : cells) table.names.push_back(cell.substr(0, cell.find(" [")));  // without units
      continue;
    }
    REQUIRE(cells.size() == table.names.size());
    std::vector<double> row;
    for (const std::string& cell : cells) {
      char* end = nullptr;
      row.push_back(std::strtod(cell.c_str(), &end));
      REQUIRE(end == cell.c_str() + cell.size());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

namespace {

std::string attribute(const std::string& tag, const std::string& name) {
  const std::string begin = " " + name + "=\"";
  const std::size_t at = tag.find(begin);
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + begin.size();
  return tag.substr(from, tag.find('"', from) - from);
}

}  // namespace

std::vector<double> series_times(const fs::path& directory) {
  std::vector<fs::path> series;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (entry.path().extension() == ".pvd") series.push_back(entry.path());
  REQUIRE(series.size() == 1);
  const std::string text = read(series[0]);
  REQUIRE(text.starts_with("<?xml version=\"1.0\"?>\n"));

  // tags open and close in pairs, with only blanks between them
  std::vector<double> times;
  std::vector<std::string> open;
  std::size_t end = text.find('>') + 1;
  for (;;) {
    const std::size_t begin = text.find('<', end);
    const std::string between = text.substr(end, begin == std::string::npos ? begin : begin - end);
    REQUIRE(between.find_first_not_of(" \n") == std::string::npos);
    if (begin == std::string::npos) break;
    end = text.find('>', begin) + 1;
    REQUIRE(end != 0);
    const std::string tag = text.substr(begin + 1, end - begin - 2);
    const std::string name = tag.substr(0, tag.find(' '));
    if (tag.starts_with('/')) {
      REQUIRE(!open.empty());
      CHECK(tag.substr(1) == open.back());
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    } else {
      REQUIRE(name == "DataSet");
      times.push_back(std::stod(attribute(tag, "timestep")));
      CHECK(read(directory / attribute(tag, "file")).ends_with("</VTKFile>\n"));
    }
  }
  CHECK(open.empty());
  return times;
}

}  // namespace carom::cli_test
