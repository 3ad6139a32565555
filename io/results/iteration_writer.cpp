#include "io/results/iteration_writer.hpp"

#include <algorithm>
#include <cmath>

namespace carom {

namespace {

std::vector<CsvColumn> iteration_columns(const Model& model, const std::vector<std::string>& subproblems) {
  std::vector<CsvColumn> out = {{"t", model.output.unit("s")}, {"steps"}, {"rejected"}};
  for (const std::string& name : subproblems) {
    out.push_back({name + ".mean"});
    out.push_back({name + ".max"});
  }
  return out;
}

}  // namespace

IterationWriter::IterationWriter(const Model& model, const std::vector<std::string>& subproblems,
                                 const std::filesystem::path& file)
    : file_(file, iteration_columns(model, subproblems)),
      every_(model.output.energy_every.value_or(
          std::max(1L, std::lround(model.simulation.duration / model.simulation.step / 1000)))),
      given_stride_(model.output.energy_every.has_value()),
      step_(model.simulation.step),
      sums_(subproblems.size(), 0.0),
      most_(subproblems.size(), 0.0) {}

void IterationWriter::start(const StepView& view) {
  if (!file_.open(resume_)) last_regular_ = view.state.t;
  regular_size_ = file_.size();
}

void IterationWriter::after_step(const StepView& view) {
  ++steps_;
  const auto& parts = view.report.subproblems;
  for (std::size_t i = 0; i < std::min(parts.size(), sums_.size()); ++i) {
    sums_[i] += parts[i].iterations;
    most_[i] = std::max(most_[i], static_cast<double>(parts[i].iterations));
  }
  if (!view.nominal || view.state.step % every_ != 0) return;
  write(view.state.t);
  last_regular_ = view.state.t;
  regular_size_ = file_.size();
  steps_ = rejected_ = 0;
  std::fill(sums_.begin(), sums_.end(), 0.0);
  std::fill(most_.begin(), most_.end(), 0.0);
}

void IterationWriter::rejected(const StepView&) { ++rejected_; }

void IterationWriter::finish(const StepView& view, RunStatus) {
  // a restart goes on from the last regular row
  if (view.state.t > last_regular_ || rejected_ > 0) write(view.state.t);
  file_.flush();
}

void IterationWriter::write(double t) {
  file_.cell(t).cell(steps_).cell(rejected_);
  for (std::size_t i = 0; i < sums_.size(); ++i) file_.cell(sums_[i] / std::max(1.0, steps_)).cell(most_[i]);
  file_.end_row();
}

void IterationWriter::save(NamedArrays& record) {
  file_.save(record, regular_size_);
  record.set("place", {last_regular_, static_cast<double>(every_), step_, steps_, rejected_});
  record.set("sums", sums_);
  record.set("most", most_);
}

void IterationWriter::restore(const NamedArrays& record, bool same_files) {
  const Vector *const place = record.find("place"), *const sums = record.find("sums"),
                      *const most = record.find("most");
  if (!same_files || place == nullptr || place->size() != 5 || sums == nullptr || sums->size() != sums_.size() ||
      most == nullptr || most->size() != most_.size())
    return;
  resume_ = CsvFile::place(record);
  last_regular_ = (*place)[0];
  if (!given_stride_ && (*place)[2] == step_) every_ = static_cast<long>((*place)[1]);
  steps_ = (*place)[3];
  rejected_ = (*place)[4];
  sums_ = *sums;
  most_ = *most;
}

}  // namespace carom
