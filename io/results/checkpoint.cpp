#include "io/results/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "core/base/errors.hpp"
#include "io/results/atomic_file.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int format = 2;
static_assert(std::endian::native == std::endian::little, "numbers in checkpoints are little-endian");

// ---- records as CBOR

json json_of(const Vector& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(double));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return json::binary(std::move(bytes));
}

Vector to_vector(const json& value) {
  const auto& bytes = value.get_binary();
  if (bytes.size() % sizeof(double) != 0) throw std::invalid_argument("an array has a broken number");
  Vector values(bytes.size() / sizeof(double));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

json json_of(const NamedArrays& record) {
  json out = json::object();
  for (const NamedArrays::Entry& e : record.entries) out[e.name] = json_of(e.values);
  return out;
}

NamedArrays to_record(const json& value) {
  NamedArrays record;
  for (const auto& [name, values] : value.items()) record.set(name, to_vector(values));
  return record;
}

// ---- the state

template <class T, class Visit>
void visit_vectors(T& state, const Visit& visit) {
  visit("q", state.q);
  visit("v", state.v);
  visit("acceleration", state.acceleration);
  visit("lambda", state.lambda);
  visit("nu", state.nu);
  visit("impulse", state.impulse);
}

NamedArrays state_record(const State& state) {
  NamedArrays record;
  record.set("time", {state.t, static_cast<double>(state.step), state.last_h});
  visit_vectors(state, [&](const char* name, const Vector& x) { record.set(name, x); });
  record.set("active", Vector(state.active.begin(), state.active.end()));
  record.set("closed", Vector(state.closed.begin(), state.closed.end()));
  // the file sorts by names, and methods find their arrays by place
  for (std::size_t i = 0; i < state.history.size(); ++i)
    record.set(fmt::format("history {:02} {}", i, state.history[i].name), state.history[i].values);
  return record;
}

State state_of_record(const NamedArrays& record) {
  State state;
  const auto get = [&](const char* name) -> const Vector& {
    const Vector* const x = record.find(name);
    if (x == nullptr) throw std::invalid_argument(std::string("the state has no ") + name);
    return *x;
  };
  if (get("time").size() != 3) throw std::invalid_argument("the state has no time");
  state.t = get("time")[0];
  state.step = static_cast<long>(get("time")[1]);
  state.last_h = get("time")[2];
  visit_vectors(state, [&](const char* name, Vector& x) { x = get(name); });
  for (const double x : get("active")) state.active.push_back(static_cast<std::uint8_t>(x));
  for (const double x : get("closed")) state.closed.push_back(static_cast<std::uint8_t>(x));
  constexpr std::string_view prefix = "history ";
  constexpr std::size_t number = 3;
  for (const NamedArrays::Entry& e : record.entries)
    if (e.name.starts_with(prefix) && e.name.size() > prefix.size() + number)
      state.history.push_back({e.name.substr(prefix.size() + number), e.values});
  return state;
}

// ---- the structure of a model, which defines the meaning of the state's arrays

std::string structure_of(const Model& model) {
  const System& system = model.system;
  std::string text;
  for (int node = 0; node < system.dofs().nodes(); ++node)
    text += fmt::format("{}:{}\n", system.node_name(node), static_cast<int>(system.dofs().kind(node)));
  for (int i = 0; i < system.size(); ++i) text += system.equation_name(i) + "\n";
  for (int row = 0; row < system.rows(); ++row) {
    // rows of searching blocks change their names with their partners
    const ConstraintBlock& block = *system.constraints()[at(system.row_place(row).block)];
    text += (block.traits().searching ? block.name() : system.row_name(row)) + "\n";
  }
  return text;
}

std::uint64_t fnv1a(const std::uint8_t* bytes, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3U;
  return hash;
}

/// Checks the fixed beginning of every checkpoint and that hardly anything follows the body: a foreign file can be
/// nested too deeply for a parser.
bool has_frame(const std::vector<std::uint8_t>& bytes) {
  constexpr std::string_view begin =
      "\xa3\x64"
      "body";
  if (bytes.size() < begin.size() + 1 || std::memcmp(bytes.data(), begin.data(), begin.size()) != 0) return false;
  const unsigned head = bytes[begin.size()];
  if (head < 0x40 || head > 0x5b) return false;
  // length of a byte string: in the head itself or in the next 1, 2, 4 or 8 bytes
  const std::size_t count = head < 0x58 ? 0 : std::size_t{1} << (head - 0x58);
  if (bytes.size() < begin.size() + 1 + count) return false;
  std::uint64_t length = head < 0x58 ? head - 0x40 : 0;
  for (std::size_t i = 0; i < count; ++i) length = length << 8 | bytes[begin.size() + 1 + i];
  const std::uint64_t rest = bytes.size() - begin.size() - 1 - count;
  return length <= rest && rest - length <= 64;
}

/// True if vectors are equal except for the last bits, which another compiler may compute differently.
bool nearly_equal(const Vector& a, const Vector& b) {
  if (a.size() != b.size()) return false;
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  return difference <= 1e-14 * largest;
}

fs::path folder_of(const fs::path& results) { return results / "checkpoint"; }

// Names sort in the order of steps; -1 stands for a name before all others.
std::string file_name(long step) { return step < 0 ? "" : fmt::format("{:012}.cbor", step); }

// Files with other names belong to the user.
bool is_file_name(const std::string& name) {
  return name.size() == 12 + 5 && name.ends_with(".cbor") &&
         std::all_of(name.begin(), name.begin() + 12, [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<fs::path> checkpoints_in(const fs::path& results) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder_of(results), error), end; !error && it != end; it.increment(error))
    if (is_file_name(it->path().filename().string())) files.push_back(it->path());
  std::sort(files.begin(), files.end());
  return files;
}

// ---- differences of models

void find_differences(const json& was, const json& now, const std::string& pointer,
                      std::vector<ModelDifference>& differences) {
  if (was == now) return;
  const auto child = [&](const std::string& key, const json* a, const json* b) {
    const std::string place = pointer + "/" + escape_pointer(key);
    if (a != nullptr && b != nullptr) {
      find_differences(*a, *b, place, differences);
    } else {
      const json& value = a != nullptr ? *a : *b;
      differences.push_back({place, a != nullptr ? brief(value) : "", b != nullptr ? brief(value) : "", false});
    }
  };
  if (was.is_object() && now.is_object()) {
    std::set<std::string> keys;
    for (const json* side : {&was, &now})
      for (const auto& [key, value] : side->items()) keys.insert(key);
    for (const std::string& key : keys)
      child(key, was.contains(key) ? &was[key] : nullptr, now.contains(key) ? &now[key] : nullptr);
  } else if (was.is_array() && now.is_array()) {
    for (std::size_t i = 0; i < std::max(was.size(), now.size()); ++i)
      child(std::to_string(i), i < was.size() ? &was[i] : nullptr, i < now.size() ? &now[i] : nullptr);
  } else {
    differences.push_back({pointer, brief(was), brief(now), false});
  }
}

bool only_outside(const std::vector<ModelDifference>& differences) {
  return std::all_of(differences.begin(), differences.end(), [](const ModelDifference& d) { return d.only_outside; });
}

void check_sizes(const State& state, const System& system, const State& start) {
  const std::size_t n = static_cast<std::size_t>(system.size()), rows = static_cast<std::size_t>(system.rows()),
                    unilateral = static_cast<std::size_t>(system.conditional());
  bool fits =
      state.q.size() == start.q.size() && state.active.size() == unilateral && state.closed.size() == unilateral;
  for (const Vector* x : {&state.v, &state.acceleration}) fits = fits && x->size() == n;
  for (const Vector* x : {&state.lambda, &state.nu, &state.impulse}) fits = fits && x->size() == rows;
  // explicit methods keep sums of energies beside arrays of equations and rows
  constexpr std::size_t sums = 5;
  for (const State::History& h : state.history) {
    const std::size_t size = h.values.size();
    fits = fits && (size == n || size == rows || (size > 0 && size <= sums));
  }
  if (!fits) throw std::invalid_argument("its state has other sizes");
}

}  // namespace

std::vector<ModelDifference> model_differences(const json& was, const json& now) {
  std::vector<ModelDifference> differences;
  find_differences(was, now, "", differences);
  for (ModelDifference& d : differences)
    d.only_outside = d.pointer == "/output" || d.pointer.starts_with("/output/") || d.pointer.starts_with("/expect") ||
                     d.pointer == "/title" || d.pointer.starts_with("/inserted_parameters") ||
                     d.pointer == "/$schema" || d.pointer == "/integrator/duration" ||
                     d.pointer == "/integrator/max_subdivisions";
  return differences;
}

// ---- reading and writing

void write_checkpoint(const fs::path& file, const RunParts& parts) {
  NamedArrays integrator, simulation;
  parts.integrator.save(integrator);
  parts.simulation.save(simulation);
  json observers = json::object();
  for (Observer* o : parts.observers) {
    if (o->record_name().empty()) continue;
    NamedArrays record;
    o->save(record);
    observers[o->record_name()] = json_of(record);
  }
  const json body = {
      {"version", CAROM_VERSION},
      {"model", parts.model_text},
      {"structure", structure_of(parts.model)},
      {"scales", json_of(Vector{parts.model.scales.length, parts.model.scales.speed, parts.model.scales.mass})},
      {"initial",
       {{"q", json_of(parts.model.state_at_start.q)},
        {"v", json_of(parts.model.state_at_start.v)},
        {"t", json_of(Vector{parts.model.state_at_start.t})}}},
      {"state", json_of(state_record(parts.state))},
      {"integrator", json_of(integrator)},
      {"simulation", json_of(simulation)},
      {"observers", observers}};
  std::vector<std::uint8_t> bytes = json::to_cbor(body);
  json whole = {{"carom checkpoint", format}, {"hash", fnv1a(bytes.data(), bytes.size())}};
  whole["body"] = json::binary(std::move(bytes));
  std::string text;
  json::to_cbor(whole, text);
  write_atomically(file, text);
}

Checkpoint read_checkpoint(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status))
    throw FileError("cannot read the checkpoint " + file.string() + ": " + (error ? error.message() : "no such file"));
  if (!fs::is_regular_file(status)) throw FileError("cannot read the checkpoint " + file.string() + ": it is no file");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw FileError("cannot read the checkpoint " + file.string());
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!has_frame(bytes)) throw FileError(file.string() + " is no checkpoint of carom, or it is damaged");
  const json whole = json::from_cbor(bytes, true, false);
  if (!whole.is_object() || !whole.contains("carom checkpoint") || !whole.contains("body") ||
      !whole["body"].is_binary() || !whole.contains("hash"))
    throw FileError(file.string() + " is no checkpoint of carom, or it is damaged");
  if (whole["carom checkpoint"] != format)
    throw FileError(file.string() + ": a checkpoint of another format; this program reads format " +
                    std::to_string(format));
  const auto& inner = whole["body"].get_binary();
  if (whole["hash"] != fnv1a(inner.data(), inner.size())) throw FileError(file.string() + " is damaged");
  try {
    const json body = json::from_cbor(inner);
    Checkpoint checkpoint;
    checkpoint.file = file;
    checkpoint.version = body.at("version").get<std::string>();
    checkpoint.model = std::make_shared<const json>(json::parse(body.at("model").get<std::string>()));
    checkpoint.structure = body.at("structure").get<std::string>();
    const Vector scales = to_vector(body.at("scales"));
    checkpoint.scales = {scales.at(0), scales.at(1), scales.at(2)};
    checkpoint.initial_q = to_vector(body.at("initial").at("q"));
    checkpoint.initial_v = to_vector(body.at("initial").at("v"));
    checkpoint.initial_t = to_vector(body.at("initial").at("t")).at(0);
    checkpoint.state = state_of_record(to_record(body.at("state")));
    checkpoint.integrator = to_record(body.at("integrator"));
    checkpoint.simulation = to_record(body.at("simulation"));
    for (const auto& [name, record] : body.at("observers").items())
      checkpoint.observers.emplace_back(name, to_record(record));
    return checkpoint;
  } catch (const std::exception& e) {
    throw FileError(file.string() + " is damaged: " + e.what());
  }
}

std::optional<Checkpoint> read_newest_checkpoint(const fs::path& results, std::vector<std::string>& unreadable) {
  const std::vector<fs::path> files = checkpoints_in(results);
  for (auto file = files.rbegin(); file != files.rend(); ++file) try {
      return read_checkpoint(*file);
    } catch (const FileError& e) {
      unreadable.emplace_back(e.what());
    }
  return std::nullopt;
}

void remove_checkpoints(const fs::path& results, long keep) {
  std::error_code error;
  for (const fs::path& file : checkpoints_in(results))
    if (file.filename().string() > file_name(keep)) fs::remove(file, error);
}

// ---- restart

std::optional<Scales> kept_scales(const Checkpoint& checkpoint, const std::vector<ModelDifference>& differences) {
  return only_outside(differences) ? std::optional(checkpoint.scales) : std::nullopt;
}

void check_restart(const Checkpoint& checkpoint, const Model& model, const std::vector<ModelDifference>& differences,
                   const RunOptions& options, ModelIssues& issues) {
  const auto shown = [](const std::string& value) { return value.empty() ? "none" : value; };
  for (const ModelDifference& d : differences)
    if (d.pointer == "/integrator/type")
      issues.add(d.pointer, fmt::format("a restart cannot change the integrator: each keeps a history of its "
                                        "own (checkpoint: {}, now: {})",
                                        shown(d.was), shown(d.now)));
  const double end = model.state_at_start.t + model.simulation.duration;
  if (end < checkpoint.state.t - 1e-9 * model.simulation.step) {
    const std::string message =
        fmt::format("the run would end at t = {:.9g}, before the checkpoint's t = {:.9g}", end, checkpoint.state.t);
    if (options.end_time)
      issues.add_for_option(fmt::format("--until {}", *options.end_time), message);
    else
      issues.add("/integrator/duration", message);
  }

  const bool same_structure = checkpoint.structure == structure_of(model);
  const State& start = model.state_at_start;
  const bool same_start = nearly_equal(checkpoint.initial_q, start.q) && nearly_equal(checkpoint.initial_v, start.v) &&
                          checkpoint.initial_t == start.t;
  if (same_structure && same_start) return;
  const char* const what = same_structure ? "a restart cannot change the initial state"
                                          : "a restart cannot change bodies, joints or contacts in number or kind";
  // report the decisive differences: parts that were added, removed or changed their kind, and positions and velocities
  const auto part = [&](const std::string& pointer) {
    const std::size_t last = pointer.rfind('/'), second = pointer.find('/', 1);
    const std::string key = pointer.substr(last + 1),
                      section = pointer.substr(1, second == std::string::npos ? second : second - 1);
    const auto any_of = [](const std::string& text, std::initializer_list<const char*> words) {
      return std::any_of(words.begin(), words.end(), [&](const char* w) { return text == w; });
    };
    if (same_structure)
      return any_of(section, {"ground", "initial_state"}) || pointer == "/integrator/start_time" ||
             (section == "bodies" &&
              (pointer.find("/position") != std::string::npos || pointer.find("velocity") != std::string::npos ||
               pointer.find("/orientation") != std::string::npos || pointer.find("/from") != std::string::npos ||
               pointer.find("/to") != std::string::npos));
    if (!any_of(section, {"bodies", "joints", "contacts"})) return false;
    return second == last || any_of(key, {"name", "type", "elements", "kinematics"}) ||
           any_of(pointer.substr(0, last).substr(pointer.substr(0, last).rfind('/') + 1),
                  {"on", "of", "between", "fixed"}) ||
           any_of(key, {"on", "of", "between", "fixed"});
  };
  bool told = false;
  for (const bool narrow : {true, false})
    for (const ModelDifference& d : differences) {
      const bool elsewhere = d.only_outside || d.pointer.starts_with("/gravity") || d.pointer == "/integrator/step";
      if ((narrow && !part(d.pointer)) || elsewhere || (!narrow && told)) continue;
      issues.add(d.pointer, fmt::format("{} (checkpoint: {}, now: {})", what, shown(d.was), shown(d.now)));
      told = told || narrow;
    }
  told = told || std::any_of(differences.begin(), differences.end(), [](const auto& d) {
           return !d.only_outside && !d.pointer.starts_with("/gravity") && d.pointer != "/integrator/step";
         });
  if (!told) issues.add("", std::string(what) + "; a file that the model names has changed");
}

void resume(const Checkpoint& checkpoint, const std::vector<ModelDifference>& differences, const RunParts& parts,
            double t_end, bool same_files) {
  const bool same_grid = std::none_of(differences.begin(), differences.end(),
                                      [](const auto& d) { return d.pointer == "/integrator/step"; });
  try {
    check_sizes(checkpoint.state, parts.model.system, parts.model.state_at_start);
    parts.state = checkpoint.state;
    if (only_outside(differences)) parts.integrator.restore(checkpoint.integrator);
    parts.simulation.restore(checkpoint.simulation, same_grid, t_end);
    for (Observer* o : parts.observers) {
      const auto known = std::find_if(checkpoint.observers.begin(), checkpoint.observers.end(),
                                      [&](const auto& entry) { return entry.first == o->record_name(); });
      if (known != checkpoint.observers.end())
        o->restore(known->second, same_files);
      else if (same_files && !o->record_name().empty())
        // a table of the earlier run that was not written in between
        keep_table(checkpoint.file.parent_path() / ".." / (o->record_name() + ".csv"));
    }
  } catch (const std::invalid_argument& e) {
    throw FileError(checkpoint.file.string() + " does not fit this model or program: " + e.what());
  }
}

// ---- times of checkpoints

CheckpointWriter::CheckpointWriter(fs::path results, RunParts parts, volatile std::sig_atomic_t* request,
                                   std::function<void(const StepView&)> on_request)
    : results_(std::move(results)), parts_(std::move(parts)), request_(request), on_request_(std::move(on_request)) {}

void CheckpointWriter::start(const StepView& view) {
  std::error_code error;
  fs::create_directories(folder_of(results_), error);
  if (error) throw FileError("cannot create " + folder_of(results_).string() + ": " + error.message());
  // Remove checkpoints of another continuation: all tables have been continued, so the run is possible.
  remove_checkpoints(results_, view.state.step);
  written_ = checkpoints_in(results_);
  // remove unfinished files of a killed process
  for (fs::directory_iterator it(folder_of(results_), error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".tmp") fs::remove(it->path(), error);
  last_ = std::chrono::steady_clock::now();
  last_t_ = view.state.t;
}

void CheckpointWriter::after_step(const StepView& view) {
  if (!view.nominal) return;
  if (*request_ != 0) {
    *request_ = 0;
    on_request_(view);
    write(view);
    return;
  }
  const OutputSettings& output = parts_.model.output;
  if (!output.checkpoint) return;
  const bool due = output.checkpoint_every && view.state.step % *output.checkpoint_every == 0;
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - last_;
  if (due || waited.count() >= output.checkpoint_wall_interval) write(view);
}

void CheckpointWriter::finish(const StepView& view, RunStatus) {
  if (parts_.model.output.checkpoint && (view.state.t > last_t_ || written_.empty())) write(view);
}

void CheckpointWriter::write(const StepView& view) {
  const fs::path file = folder_of(results_) / file_name(view.state.step);
  write_checkpoint(file, parts_);
  last_ = std::chrono::steady_clock::now();
  last_t_ = view.state.t;

  // keep only the newest checkpoints
  std::erase(written_, file);
  written_.push_back(file);
  const std::size_t keep = static_cast<std::size_t>(parts_.model.output.checkpoint_keep);
  std::error_code error;
  while (written_.size() > keep) {
    fs::remove(written_.front(), error);
    written_.erase(written_.begin());
  }
}

}  // namespace carom
