// carom check: validates a model and takes stock of it, without a step.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/commands.hpp"
#include "core/vector_ops.hpp"
#include "io/expectations.hpp"
#include "io/model.hpp"
#include "io/probes.hpp"

namespace carom {

namespace {

class Check final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("model", model_, "Model file (JSON)")->required();
    app.add_option("--set", overrides_, "Override a value of the model: /json/pointer=value (may be repeated)")
        ->allow_extra_args(false);
  }

  int run() override {
    ModelDocument document = load_model(model_, overrides_);
    const std::unique_ptr<Model> model = build_model(document);
    if (model != nullptr) const Expectations checked(*model, make_probes(*model, document), document);
    if (!document.ok()) {
      fmt::print(stderr, "{}", document.report(width_of_stderr()));
      return exit_invalid_model;
    }
    report(*model);
    return exit_done;
  }

 private:
  static void report(const Model& model) {
    const System& system = model.system;
    const State& state = model.state;
    const Energies e = system.energies(state.q, state.v, state.t);
    const Momenta m = system.momenta(state.q, state.v);
    fmt::print("bodies                {}\n", model.bodies.size());
    fmt::print("mass                  {:.6g}\n", model.total_mass);
    fmt::print("equations             {}{}\n", system.size(), system.linear() ? " (linear)" : "");
    fmt::print("bilateral rows        {}\n", system.bilateral());
    fmt::print("contact candidates    {}\n", system.unilateral());
    const Scales& s = model.scales;
    fmt::print("scales                length {:.6g}, speed {:.6g}, mass {:.6g}\n", s.length, s.speed, s.mass);
    fmt::print("energy                kinetic {:.6g}, elastic {:.6g}, potential {:.6g}\n", e.kinetic, e.elastic,
               e.potential);
    fmt::print("momentum              {:.6g} {:.6g} {:.6g}\n", m.linear[0], m.linear[1], m.linear[2]);
    const std::size_t rows = static_cast<std::size_t>(system.rows());
    Vector g(rows), rate(rows);
    system.gaps(state.q, state.t, RowSet::all, g);
    system.rates(state.q, state.v, state.t, RowSet::all, rate);
    const std::size_t n = static_cast<std::size_t>(system.bilateral());
    if (n > 0)
      fmt::print("joints                largest gap {:.3g}, largest rate {:.3g}\n", max_abs(In(g).first(n)),
                 max_abs(In(rate).first(n)));
    for (const RowGroup& c : model.contacts) {
      int nearest = c.rows.front();
      for (int row : c.rows)
        if (g[static_cast<std::size_t>(row)] < g[static_cast<std::size_t>(nearest)]) nearest = row;
      fmt::print("contact {:<14}{} candidates, smallest gap {:.6g} ({})\n", c.name, c.rows.size(),
                 g[static_cast<std::size_t>(nearest)], system.row_name(nearest));
    }
    for (const std::string& w : model.warnings) fmt::print("note: {}\n", w);
    fmt::print("valid\n");
  }

  std::string model_;
  std::vector<std::string> overrides_;
};

}  // namespace

Command& check_command() {
  static Check command;
  return command;
}

}  // namespace carom
