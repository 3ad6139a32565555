// EventLog: events.csv, a row for every impact and release of every contact.
//
// An impact is the step in which a row that was open gets an impulse, a release the first step without one. Its time is
// interpolated inside the step: for an impact where the gap of the smooth motion, taken as linear from t_n on, is zero;
// for a release by the gap and its rate at the end, as if the gap had opened with constant acceleration. Columns:
//   t, step, event (impact or release), contact,
//   x, y, z, normal_x, normal_y, normal_z            point and direction of the force at the end of the step
//   gap_velocity_start                               at t_n, which the impact law reflects
//   gap_velocity_smooth, gap_velocity_end            at the end of the step, before and after the velocity jump
//   impulse
// A contact that carries a force from the start on is an impact of the first step, with hardly a gap velocity.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "integrators/observer.hpp"
#include "io/files.hpp"
#include "io/model.hpp"

namespace carom {

class EventLog final : public Observer {
 public:
  EventLog(const Model& model, const std::filesystem::path& file);

  /// Throws FileError if the file cannot be written.
  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  void finish(const StepView&, RunStatus) override { file_.flush(); }
  std::string record_name() const override { return "events"; }
  void save(Record& record) override;
  void restore(const Record& record, bool same_files) override;

 private:
  void write(const StepView& view, int row, bool impact);

  const Model& model_;
  CsvFile file_;
  std::vector<std::uint8_t> closed_;  // rows before the step
  std::optional<CsvFile::Place> resume_;
};

}  // namespace carom
