#include "io/results/mode_series.hpp"

#include <algorithm>
#include <cmath>

#include "io/results/vtu_output.hpp"

namespace carom {

namespace {

constexpr int frames = 24;
constexpr double largest_mode_turn = 0.3;

double amplitude(const Model& model, const Vector& shape) {
  const DofMap& dofs = model.system.dofs();
  double shift = 0, turn = 0;
  for (int node = 0; node < dofs.nodes(); ++node)
    for (int c = 0; c < DofMap::components(dofs.kind(node)); ++c)
      if (const int i = dofs.equation(node, c); i >= 0)
        (c < 3 ? shift : turn) = std::max(c < 3 ? shift : turn, std::abs(shape[at(i)]));
  const double by_shift = shift > 0 ? 0.1 * model.scales.length / shift : HUGE_VAL;
  return std::min(by_shift, turn > 0 ? largest_mode_turn / turn : HUGE_VAL);
}

}  // namespace

void write_modes(const Model& model, Integrator& integrator, const NaturalModes& modes,
                 const std::filesystem::path& directory, const std::string& name) {
  StepReport report;
  for (std::size_t k = 0; k < modes.modes.size(); ++k) {
    const NaturalModes::Mode& mode = modes.modes[k];
    const double omega = std::sqrt(std::abs(mode.omega_squared)), A = amplitude(model, mode.shape);
    State state = model.state;
    Vector d(mode.shape.size());
    std::fill(state.v.begin(), state.v.end(), 0.0);
    VtuOutput output(model, directory, name + "_mode_" + std::to_string(k + 1));
    const StepView view{model.system, integrator, state, report, model.simulation.step, true};
    for (int frame = 0; frame <= frames; ++frame) {
      const double s = 2 * M_PI * frame / frames;
      for (std::size_t i = 0; i < d.size(); ++i) {
        d[i] = A * std::sin(s) * mode.shape[i];
        state.v[i] = A * omega * std::cos(s) * mode.shape[i];
      }
      model.system.retract(model.state.q, d, state.q);
      state.t = s / omega;
      if (frame == 0)
        output.start(view);
      else
        output.write(view);
    }
    output.finish(view, RunStatus::completed);
  }
  // of an earlier call with more modes
  for (std::size_t k = modes.modes.size() + 1;; ++k) {
    const std::string old = name + "_mode_" + std::to_string(k);
    if (!std::filesystem::exists(directory / (old + ".pvd"))) break;
    remove_series(directory, old);
  }
}

}  // namespace carom
