#include "case_runner.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "core/mechanics/body_point.hpp"

namespace carom::cases {

namespace {

// Hands every step to a function.
class Watch final : public Observer {
 public:
  Watch(const Case::Callback& callback, bool at_start) : callback_(callback), at_start_(at_start) {}
  void start(const StepView& view) override {
    if (at_start_ && callback_) callback_(view);
  }
  void after_step(const StepView& view) override {
    if (callback_) callback_(view);
  }

 private:
  const Case::Callback& callback_;
  bool at_start_;
};

AttachedPoint find(const Model& model, const std::string& point) {
  const auto p = model.find_point(point);
  if (!p) throw std::runtime_error("no point named " + point);
  return *p;
}

// The six velocity components of a node, 0 where it is fixed or has none.
void node_velocity(const System& system, In v, int node, double* out) {
  for (int c = 0; c < 6; ++c) {
    const int e = system.dofs().equation(node, c);
    out[c] = e < 0 ? 0.0 : v[static_cast<std::size_t>(e)];
  }
}

// Cases read the state itself. Probes of a model, and what it expects of them, may not fit a model that overrides
// change.
std::vector<std::string> without_probes(std::vector<std::string> overrides) {
  overrides.insert(overrides.end(), {"/output/probes=[]", "/expect=[]"});
  return overrides;
}

}  // namespace

Case::Case(const std::string& name, const std::vector<std::string>& overrides)
    : Case(load_model(std::string(CAROM_SOURCE_DIR) + "/data/models/" + name + ".json", without_probes(overrides))) {}

Case Case::from_text(const std::string& text, const std::vector<std::string>& overrides) {
  return Case(parse_model(text, "case.json", overrides));
}

Case::Case(ModelDocument document) : run_(prepare_run(std::move(document))) {
  if (!run_.ok()) throw std::runtime_error(run_.issues.report());
}

RunStatus Case::run(const Callback& after_step, bool at_start) {
  return run_for(run_.model->simulation.duration, after_step, at_start);
}

RunStatus Case::run_for(double duration, const Callback& after_step, bool at_start) {
  SimulationOptions options = run_.model->simulation;
  options.duration = duration;
  Simulation simulation(run_.model->system, *run_.integrator, run_.model->state, options);
  Watch watch(after_step, at_start);
  if (after_step) simulation.add_observer(watch);
  const RunStatus status = simulation.run();
  statistics_ = simulation.statistics();
  last_report_ = simulation.last_report();
  return status;
}

Vec3 Case::position(const std::string& point) const { return run_.model->place(find(*run_.model, point), state().q); }

Vec3 Case::velocity(const std::string& point) const {
  const AttachedPoint p = find(*run_.model, point);
  if (p.node < 0) return Vec3::Zero();
  const DofMap& dofs = system().dofs();
  double v[6];
  node_velocity(system(), state().v, p.node, v);
  const double* q = state().q.data() + dofs.configuration_offset(p.node);
  return point_velocity(point_state(q, dofs.kind(p.node), p.offset), p.offset, v);
}

Mat3 Case::rotation(const std::string& body) const {
  const int node = find(*run_.model, body).node;
  const double* q = state().q.data() + system().dofs().configuration_offset(node);
  return so3::quaternion_to_matrix(Quaternion(q[3], q[4], q[5], q[6]));
}

Vec3 Case::angular_velocity(const std::string& body) const {
  double v[6];
  node_velocity(system(), state().v, find(*run_.model, body).node, v);
  return {v[3], v[4], v[5]};
}

const std::vector<int>& Case::rows(const std::string& contact_or_joint) const {
  for (const auto* groups : {&run_.model->contacts, &run_.model->stops})
    for (const RowGroup& group : *groups)
      if (group.name == contact_or_joint) return group.rows;
  for (const JointInfo& joint : run_.model->joints)
    if (joint.name == contact_or_joint) return joint.rows;
  throw std::runtime_error("no contact or joint named " + contact_or_joint);
}

double Case::force(int row) const {
  const std::size_t i = static_cast<std::size_t>(row);
  return state().lambda[i] + state().impulse[i] / state().last_h;
}

double Case::energy() const {
  const Energies e = energies();
  return e.kinetic + e.elastic + e.potential;
}

double fitted_order(const std::vector<double>& h, const std::vector<double>& error) {
  const double n = static_cast<double>(h.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < h.size(); ++i) {
    const double a = std::log(h[i]), b = std::log(error[i]);
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

std::string set(const std::string& pointer, double value) { return fmt::format("{}={:.17g}", pointer, value); }

}  // namespace carom::cases
