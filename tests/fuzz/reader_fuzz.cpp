// libFuzzer on the reader: text to document to mechanics, as `carom check` does. Run by ./carom fuzz.
//
// Beside crashes, hangs, leaks and what sanitizers see, it fails when a wrong document has no message, when a message
// is no UTF-8, when a valid model has no finite scales, or when the resolved model (run.json) does not read back as
// itself. Lines before the model are given to it as --set does (set_lines.hpp). Large models are valid and
// slow: they are read, but not built.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/vector_ops.hpp"
#include "io/model/model_spec.hpp"
#include "io/results/prepared_run.hpp"
#include "io/schema/json_source.hpp"
#include "tests/fuzz/model_mutator.hpp"
#include "tests/fuzz/set_lines.hpp"

namespace carom::fuzz {

namespace {

using nlohmann::json;

void require(bool holds, const char* what, const std::string& detail = {}) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: not so: %s\n%s\n", what, detail.c_str());
  std::abort();
}

bool is_small(const json& model) {
  constexpr double most = 300;
  double elements = 0;
  for (const json& body : model["bodies"])
    if (body.contains("elements")) elements += body["elements"].get<double>();
  return elements <= most;
}

void check_model(const Model& model) {
  const Scales& s = model.scales;
  for (const double x : {s.length, s.speed, s.mass, model.scales.force, model.simulation.step})
    require(std::isfinite(x) && x > 0, "the scales of a model are finite");
  const System& system = model.system;
  system.energies(model.state.q, model.state.v, model.state.t);
  system.momenta(model.state.q, model.state.v);
  Vector g(static_cast<std::size_t>(system.rows())), rate(g);
  system.gaps(model.state.q, model.state.t, all_rows, g);
  system.rates(model.state.q, model.state.v, model.state.t, all_rows, rate);
}

void read(std::string text) {
  std::string_view rest = text;
  const std::vector<std::string> overrides = take_set_lines(rest);
  ModelDocument document = parse_model(std::move(text), "data/models/model.json", overrides);
  ModelIssues issues = document.issues();
  if (document.ok()) {
    // One in four, since it takes as long as all the rest.
    const std::string resolved = model_text(document.resolved());
    if (resolved.size() % 4 == 0) {
      const ModelDocument again = parse_model(resolved, "data/models/model.json");
      require(again.ok(), "a resolved model is valid", resolved + again.report());
      require(again.resolved() == document.resolved(), "a resolved model resolves to itself", resolved);
    }
    if (is_small(document.resolved())) {
      const PreparedRun run = prepare_run(std::move(document));
      if (run.model != nullptr) check_model(*run.model);
      if (run.ok()) return;
      issues = run.issues;
    }
  }
  const std::string report = issues.report();
  require(issues.empty() || !report.empty(), "a wrong model has a message");
  require(is_utf8(report), "a report is UTF-8", report);
}

/// What the mutator works on.
struct Input {
  std::vector<std::string> overrides;
  json model;

  Input(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    overrides = take_set_lines(text);
    model = JsonSource(std::string(text)).parse().value;
  }

  /// 0 when there is no room.
  std::size_t write(std::uint8_t* data, std::size_t max_size) const {
    std::string text;
    for (const std::string& line : overrides) text.append(set_line).append(line) += '\n';
    text += model.dump(-1, ' ', false, json::error_handler_t::ignore);
    if (text.size() > max_size) return 0;
    std::copy(text.begin(), text.end(), data);
    return text.size();
  }
};

}  // namespace

}  // namespace carom::fuzz

// ---- What libFuzzer calls

// Names are libFuzzer's and the sanitizer's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

// Allocations are what takes longest: short stacks for them, and less memory kept to find late uses.
const char* __asan_default_options();
const char* __asan_default_options() { return "malloc_context_size=1:max_malloc_fill_size=64:quarantine_size_mb=4"; }

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  carom::fuzz::read(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  // One in eight on the bytes.
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  carom::fuzz::Input input(data, size);
  if (!input.model.is_object()) return LLVMFuzzerMutate(data, size, max_size);
  carom::fuzz::ModelMutator mutator(seed);
  if (seed % 16 == 1)
    mutator.mutate(input.overrides, input.model);
  else
    mutator.mutate(input.model);
  const std::size_t written = input.write(data, max_size);
  return written > 0 ? written : LLVMFuzzerMutate(data, size, max_size);
}

std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size, const std::uint8_t* b,
                                      std::size_t b_size, std::uint8_t* out, std::size_t max_size, unsigned seed) {
  carom::fuzz::Input input(a, a_size), other(b, b_size);
  if (!input.model.is_object() || !other.model.is_object()) return 0;
  carom::fuzz::ModelMutator(seed).cross(input.model, other.model);
  return input.write(out, max_size);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
