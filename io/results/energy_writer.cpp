#include "io/results/energy_writer.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "integrators/common/constraint_switches.hpp"

namespace carom {

std::vector<CsvColumn> energy_columns(const Model& model) {
  std::vector<CsvColumn> out = {{"t", model.output.unit("s")}};
  const auto add = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) out.push_back({name, model.output.unit("J")});
  };
  add({"kinetic", "elastic", "potential", "total", "loads", "drivers", "damping", "numerical", "position_correction",
       "impacts", "contacts", "constraints", "force_correction", "closure"});
  if (model.system.row_kinds().meets(friction_rows)) add({"friction"});
  if (ConstraintSwitches::count(model.system) > 0) add({"switches", "switch_correction"});
  return out;
}

EnergyWriter::EnergyWriter(const Model& model, const EnergyLedger& ledger, const std::filesystem::path& file)
    : ledger_(ledger),
      friction_(model.system.row_kinds().meets(friction_rows)),
      switches_(ConstraintSwitches::count(model.system) > 0),
      file_(file, energy_columns(model)),
      every_(model.output.energy_every.value_or(
          std::max(1L, std::lround(model.simulation.duration / model.simulation.step / 1000)))),
      given_stride_(model.output.energy_every.has_value()),
      step_(model.simulation.step) {}

void EnergyWriter::start(const StepView& view) {
  if (file_.open(resume_)) {
    last_written_ = last_regular_;
  } else {
    write(view);
    last_regular_ = view.state.t;
  }
  regular_size_ = file_.size();
}

void EnergyWriter::after_step(const StepView& view) {
  if (!view.nominal || view.state.step % every_ != 0) return;
  write(view);
  last_regular_ = view.state.t;
  regular_size_ = file_.size();
}

void EnergyWriter::finish(const StepView& view, RunStatus) {
  if (view.state.t > last_written_) write(view);
  file_.flush();
}

void EnergyWriter::write(const StepView& view) {
  const EnergyBalance& b = ledger_.balance();
  for (const double x :
       {view.state.t, b.energy.kinetic, b.energy.elastic, b.energy.potential, b.total(), b.loads, b.drivers, b.damping,
        b.numerical, b.position, b.impacts, b.contacts, b.constraints, b.corrections, b.closure})
    file_.cell(x);
  if (friction_) file_.cell(b.friction);
  if (switches_) file_.cell(b.switches).cell(b.switch_corrections);
  file_.end_row();
  last_written_ = view.state.t;
}

void EnergyWriter::save(NamedArrays& record) {
  file_.save(record, regular_size_);
  record.set_number("last", last_regular_);
  record.set("stride", {static_cast<double>(every_), step_});
}

void EnergyWriter::restore(const NamedArrays& record, bool same_files) {
  if (!same_files) return;
  resume_ = CsvFile::place(record);
  last_regular_ = record.number("last");
  const Vector* const stride = record.find("stride");
  if (!given_stride_ && stride != nullptr && stride->size() == 2 && stride->back() == step_)
    every_ = static_cast<long>(stride->front());
}

}  // namespace carom
