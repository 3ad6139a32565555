#include "io/results/probes.hpp"

#include <algorithm>
#include <utility>

#include "io/model/quantities.hpp"

namespace carom {

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
    probe.every = settings.every;
    probe.meaning = settings.quantity + " " + settings.of;
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
std::string columns_of(const std::vector<Probe>& probes) {
  std::string columns = "t";
  for (const Probe& p : probes)
    for (const std::string& c : p.columns) columns += "," + c;
  return columns;
}

std::string meaning_of(const std::vector<Probe>& probes) {
  std::string meaning;
  for (const Probe& p : probes) meaning += p.meaning + "\n";
  return meaning;
}
}  // namespace

ProbeWriter::ProbeWriter(const std::filesystem::path& file, std::vector<Probe> probes)
    : file_(file, columns_of(probes), meaning_of(probes)), probes_(std::move(probes)) {}

void ProbeWriter::start(const StepView& view) {
  if (!file_.open(resume_)) write(view);
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

void ProbeWriter::save(NamedArrays& record) { file_.save(record); }

void ProbeWriter::restore(const NamedArrays& record, bool same_files) {
  if (same_files) resume_ = CsvFile::place(record);
}

}  // namespace carom
