// Probes: quantities of points, contacts, joints and the whole model over time, as columns of probes.csv.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "integrators/observer.hpp"
#include "io/model.hpp"

namespace carom {

/// One probe: what it is called and how it is read off a step. `width` values, 1 or 3.
struct Probe {
  std::vector<std::string> columns;
  int every = 1;
  std::function<void(const StepView&, double*)> evaluate;
};

/// Builds the probes of a model; unknown names are added to the document as errors.
std::vector<Probe> make_probes(const Model& model, ModelDocument& document);

/// Writes probes.csv: first column t, then a column per probe and component, every value so that it reads back exactly.
class ProbeWriter final : public Observer {
 public:
  /// Throws FileError if the file cannot be written.
  ProbeWriter(const std::filesystem::path& file, std::vector<Probe> probes);

  void start(const StepView& view) override { write(view); }
  void after_step(const StepView& view) override {
    if (view.nominal) write(view);
  }
  void finish(const StepView& view, RunStatus status) override;

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  void write(const StepView& view);
  void flush();

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<Probe> probes_;
  std::string buffer_;
};

}  // namespace carom
