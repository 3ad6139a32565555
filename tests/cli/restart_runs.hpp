// Runs that are interrupted and go on: what tests of restarts share.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "tests/cli/program.hpp"

namespace carom::cli_test {

namespace fs = std::filesystem;

/// All files of a directory with their contents.
inline std::map<std::string, std::string> snapshot(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read(entry.path());
  return files;
}

inline fs::path newest(const fs::path& results) {
  fs::path last;
  for (const fs::directory_entry& entry : fs::directory_iterator(results / "checkpoint"))
    last = std::max(last, entry.path());
  REQUIRE(!last.empty());
  return last;
}

/// Checks that tables and pictures have the same bytes and that the counts of the summaries agree.
inline void check_same_results(const fs::path& a, const fs::path& b) {
  const auto results = [](const fs::path& folder) {
    std::map<std::string, std::string> files = snapshot(folder);
    std::erase_if(files, [](const auto& f) { return f.first.ends_with(".json") || f.first.ends_with(".cbor"); });
    return files;
  };
  const auto x = results(a), y = results(b);
  for (const auto& file : x) {
    CAPTURE(file.first);
    REQUIRE(y.contains(file.first));
    CHECK((y.at(file.first) == file.second));
  }
  CHECK(x.size() == y.size());
  nlohmann::json s = read_json(a / "summary.json"), t = read_json(b / "summary.json");
  for (nlohmann::json* summary : {&s, &t}) {
    for (const char* key : {"wall_seconds", "restarted_from"}) summary->erase(key);
    (*summary)["linear"].erase("solves");  // columns known before the restart are solved again
  }
  CHECK(s == t);
}

inline bool wait_for(const fs::path& path, Process& process) {
  for (int i = 0; i < 6000 && process.running(); ++i) {
    if (fs::exists(path)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// A run with other settings, for which the model's expectations need not hold.
inline Words chain(const std::string& results, const Words& more = {}) {
  return joined({"run", model_path("bead_chain"), "--set", "/expect=[]", "-q", "-o", results}, more);
}
inline Words brick(const std::string& results, const Words& more = {}) {
  return joined({"run", model_path("brick"), "--set", "/expect=[]", "-o", results}, more);
}

}  // namespace carom::cli_test
