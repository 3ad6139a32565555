// EventLog: events.csv, a row for every impact and release of every contact, and every switch of constraints.
//
// An impact is the step in which an open row gets an impulse. A release is the first step without an impulse. In
// between the contact is closed. Times are interpolated inside steps:
//   impact   the gap of the smooth motion falls through zero; the gap is the cubic through gaps and gap velocities at
//            both ends of the step
//   release  the contact force vanishes. The gap's acceleration without this force is -dg'/h in the last closed step
//            (dg': the jump of the gap velocity), (g'_{n+1} - g'_n)/h in the following step, and linear between the
//            middles of the two steps. A contact that was closed in one step only, or bounced off in its last step,
//            opens at the end of this step.
// Columns:
//   t, step (number of the nominal step), event (impact or release), contact,
//   x, y, z, normal_x, normal_y, normal_z            point and direction of the force at the end of the step
//   gap_velocity_start                               at t_n, of impacts at their instants before the jump: the impact
//                                                    law reflects this value
//   gap_velocity_smooth, gap_velocity_end            at the end of the step, or at the instant of the impact, before
//                                                    and after the velocity jump
//   impulse, total_impulse                           of the step; of the contact since its impact
// Models with friction have two more events, at the end of the step in which a closed contact begins to stick or to
// slip, and more columns:
//   slip_velocity, friction_impulse                  sizes at the end of the step and of the step, of impacts at their
//                                                    instants of the jump
//   friction_work                                    of the contact since its impact, with resistance: negative
// Models whose constraints switch have the event "switch" of a body, in the column contact, at the time at which the
// step meets the surface, and more columns, which are empty for contacts as the others are for switches:
//   mode_before, mode, cosine                        of the angle between their tangents
//   kinetic_energy_change                            in the velocity jump of the step
// Joints with friction have the events stick and slip and their columns too; what belongs to gaps is zero, and their
// work is that since the start of the run. Slip and impulse of rows of angles are those of angles and torques. A
// contact that carries a force from the start counts as an impact of the first step, with hardly any gap velocity.
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
  /// Data of a closed row.
  struct Contact {
    double began = 0;  ///< time of the impact
    double steps = 0;
    double impulse = 0;
    double friction_work = 0;
    double located_work = 0;   ///< of it, by impacts at their instants in the present step
    double force_impulse = 0;  ///< of forces in the motions of the present step, as far as it is not counted
  };
  /// Slip velocity, impulse and work of friction in a step.
  struct Slip {
    double velocity = 0, impulse = 0;
  };

  /// The motion and, if the velocity jumps after it, the jump by which contacts close or open at t.
  struct Passage {
    const Stage *motion, *jump;
    double t;
  };

  void note(const StepView& view, const Passage& passage, const Stage& stage, bool last);
  void note_switches(const StepView& view);
  void note_joint(const StepView& view, const Passage& passage, std::size_t i, bool last, bool changes, bool slips);
  static double impact_time(const System& system, const Passage& passage, int row);
  double release_time(const StepView& view, const Passage& passage, int row, const Contact& contact) const;
  void write(const StepView& view, const Passage& passage, int row, const char* event, double t, const Contact& contact,
             double impulse);
  static void add_friction_work(const StepView& view, const Passage& passage, int row, bool last, Contact& contact);
  static int first_slip_row(const System& system, int row);
  static Slip slip_of(const StepView& view, const Passage& passage, int row);

  const Model& model_;
  bool friction_, switches_, joints_;
  CsvFile file_;
  std::vector<std::uint8_t> closed_;  // rows before the step
  std::vector<Contact> contacts_;
  Vector v_smooth_;  // of the last step with a closed row
  double h_ = 0;     // and its size
  std::optional<CsvFile::Place> resume_;
};

}  // namespace carom
