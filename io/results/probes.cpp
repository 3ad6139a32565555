#include "io/results/probes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "io/model/quantities.hpp"

namespace carom {

namespace {

// A value that a state gives modulo a period, made continuous: the value moves by less than half a period per step. The
// memory is the last value of the state and the sum of the periods passed.
void count_periods(Probe& probe, double period) {
  probe.memory = std::make_shared<Vector>();
  probe.evaluate = [modulo = std::move(probe.evaluate), memory = probe.memory, period](const StepView& view,
                                                                                       double* value) {
    modulo(view, value);
    Vector& last = *memory;
    if (last.empty()) last = {*value, 0.0};
    last[1] += period * std::nearbyint((last[0] - *value) / period);
    last[0] = *value;
    if (last[1] != 0) *value += last[1];
  };
}

// The sum over the steps of a value that belongs to the last step.
void sum_steps(Probe& probe) {
  probe.memory = std::make_shared<Vector>();
  probe.evaluate = [of_step = std::move(probe.evaluate), memory = probe.memory](const StepView& view, double* value) {
    Vector& last = *memory;  // time and sum
    if (last.empty()) last = {view.state.t, 0.0};
    if (view.state.t != last[0]) {
      of_step(view, value);
      last = {view.state.t, last[1] + *value};
    }
    *value = last[1];
  };
}

}  // namespace

std::vector<Probe> make_probes(const Model& model, ModelIssues& issues) {
  std::vector<Probe> probes;
  for (const ProbeSettings& settings : model.output.probes) {
    const ProbedQuantity probed = find_quantity(settings.quantity);
    std::string error;
    Probe probe;
    probe.evaluate = probed.quantity->make(model, settings.of, error);
    if (!probe.evaluate) {
      issues.add(settings.pointer + "/of", error);
      continue;
    }
    if (probed.quantity->period > 0) count_periods(probe, probed.quantity->period);
    if (probed.quantity->summed) sum_steps(probe);
    probe.every = settings.every;
    probe.meaning = settings.quantity + " " + settings.of;
    probe.unit = model.output.unit(probed.quantity->unit_for(model, settings.of));
    for (const std::string& suffix : probed.columns()) probe.columns.push_back(settings.name + suffix);
    if (probed.component >= 0)
      probe.evaluate = [all = std::move(probe.evaluate), component = probed.component](const StepView& view,
                                                                                       double* value) {
        double values[Quantity::most_components];
        all(view, values);
        *value = values[component];
      };
    probes.push_back(std::move(probe));
  }
  return probes;
}

namespace {
std::vector<CsvColumn> probe_columns(const Model& model, const std::vector<Probe>& probes) {
  std::vector<CsvColumn> columns = {{"t", model.output.unit("s")}};
  for (const Probe& p : probes)
    for (const std::string& name : p.columns) columns.push_back({name, p.unit});
  return columns;
}

std::string meaning_of(const std::vector<Probe>& probes) {
  std::string meaning;
  for (const Probe& p : probes) meaning += p.meaning + "\n";
  return meaning;
}
}  // namespace

ProbeWriter::ProbeWriter(const Model& model, const std::filesystem::path& file, std::vector<Probe> probes)
    : file_(file, probe_columns(model, probes), meaning_of(probes)), probes_(std::move(probes)) {}

void ProbeWriter::start(const StepView& view) {
  if (!file_.open(resume_)) write(view);
}

void ProbeWriter::after_step(const StepView& view) {
  for (const Probe& p : probes_)
    if (p.memory != nullptr) {
      double values[Quantity::most_components];
      p.evaluate(view, values);
    }
  if (view.nominal) write(view);
}

void ProbeWriter::write(const StepView& view) {
  const auto due = [&](const Probe& p) { return view.state.step % p.every == 0; };
  if (!std::any_of(probes_.begin(), probes_.end(), due)) return;
  file_.cell(view.state.t);
  for (const Probe& p : probes_) {
    double values[Quantity::most_components] = {};
    const bool now = due(p);
    if (now) p.evaluate(view, values);
    for (std::size_t i = 0; i < p.columns.size(); ++i) now ? file_.cell(values[i]) : file_.empty_cell();
  }
  file_.end_row();
}

void ProbeWriter::save(NamedArrays& record) {
  file_.save(record);
  for (const Probe& p : probes_)
    if (p.memory != nullptr) record.set("memory of " + p.meaning, *p.memory);
}

void ProbeWriter::restore(const NamedArrays& record, bool same_files) {
  for (const Probe& p : probes_)
    if (p.memory != nullptr)
      if (const Vector* const memory = record.find("memory of " + p.meaning); memory != nullptr && memory->size() == 2)
        *p.memory = *memory;
  if (same_files) resume_ = CsvFile::place(record);
}

}  // namespace carom
