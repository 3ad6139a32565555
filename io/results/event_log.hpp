// EventLog: events.csv, a row for every impact and release of every contact.
//
// An impact is the step in which a row that was open gets an impulse, a release the first step without one; between
// them the contact is closed. Times are interpolated inside steps:
//   impact   where the gap of the smooth motion, as the cubic through gaps and gap velocities at both ends of the
//            step, falls through zero
//   release  where the contact force vanishes: the gap's acceleration without it is -dg'/h in the last closed step
//            (dg': the jump of its gap velocity), (g'_{n+1} - g'_n)/h in the step after, and linear between their
//            middles. A contact that was closed in one step only, or bounced off in its last, opens at the end of it.
// Columns:
//   t, step (the nominal one), event (impact or release), contact,
//   x, y, z, normal_x, normal_y, normal_z            point and direction of the force at the end of the step
//   gap_velocity_start                               at t_n, which the impact law reflects
//   gap_velocity_smooth, gap_velocity_end            at the end of the step, before and after the velocity jump
//   impulse, total_impulse                           of the step; of the contact since its impact
// A contact that carries a force from the start on is an impact of the first step, with hardly a gap velocity.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "integrators/common/observer.hpp"
#include "io/model/model.hpp"
#include "io/results/atomic_file.hpp"

namespace carom {

class EventLog final : public Observer {
 public:
  EventLog(const Model& model, const std::filesystem::path& file);

  /// Throws FileError if the file cannot be written.
  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  void finish(const StepView&, RunStatus) override { file_.flush(); }
  std::string record_name() const override { return "events"; }
  void save(NamedArrays& record) override;
  void restore(const NamedArrays& record, bool same_files) override;

 private:
  /// What is known of a row that is closed.
  struct Contact {
    double began = 0;  ///< time of the impact
    double steps = 0;
    double impulse = 0;
  };

  /// The motion and, if the velocity jumps after it, the jump by which contacts close or open at t.
  struct Passage {
    const Stage *motion, *jump;
    double t;
  };

  void note(const StepView& view, const Passage& passage, const Stage& stage);
  static double impact_time(const System& system, const Passage& passage, int row);
  double release_time(const StepView& view, const Passage& passage, int row, const Contact& contact) const;
  void write(const StepView& view, const Passage& passage, int row, bool impact, double t, const Contact& contact,
             double impulse);

  const Model& model_;
  CsvFile file_;
  std::vector<std::uint8_t> closed_;  // rows before the step
  std::vector<Contact> contacts_;
  Vector v_smooth_;  // of the last step with a closed row
  double h_ = 0;     // and its size
  std::optional<CsvFile::Place> resume_;
};

}  // namespace carom
