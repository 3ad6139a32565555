#include "io/results/expectations.hpp"

#include <algorithm>
#include <cmath>

#include "io/model/quantities.hpp"
#include "io/results/atomic_file.hpp"

namespace carom {

bool Expectation::met() const { return found && std::abs(*found - value) <= tolerance; }

Expectations::Expectations(const Model& model, const std::vector<Probe>& probes, ModelIssues& issues) {
  for (const ExpectationSettings& settings : model.output.expectations) {
    if (settings.time < model.state.t) {
      issues.add(settings.pointer + "/time", "expected a time not before the start of the run");
      continue;
    }
    for (const Probe& p : probes)
      for (std::size_t i = 0; i < p.columns.size(); ++i)
        if (p.columns[i] == settings.probe) {
          expectations_.push_back(
              {settings.probe, settings.pointer, settings.value, settings.tolerance, settings.time, std::nullopt});
          columns_.push_back({p, i, std::nullopt, 0});
        }
  }
}

void Expectations::start(const StepView& view) { look(view); }

void Expectations::after_step(const StepView& view) {
  if (view.nominal) look(view);
}

void Expectations::look(const StepView& view) {
  const double t = view.state.t, h = view.nominal_step;
  for (std::size_t i = 0; i < expectations_.size(); ++i) {
    Expectation& e = expectations_[i];
    if (e.found || t < e.time - 1.5 * h) continue;
    Column& c = columns_[i];
    double values[Quantity::most_components] = {};
    c.probe.evaluate(view, values);
    const double now = values[c.component];
    if (t < e.time - 1e-9 * h) {
      c.before_t = t;
      c.before = now;
    } else if (t <= e.time + 1e-9 * h) {
      e.found = now;
    } else if (c.before_t) {
      e.found = c.before + (now - c.before) * (e.time - *c.before_t) / (t - *c.before_t);
    }
  }
}

std::string Expectations::key(const Expectation& e) {
  std::string key = e.probe + " at ";
  append_number(key, e.time);
  return key;
}

void Expectations::save(NamedArrays& record) {
  for (std::size_t i = 0; i < expectations_.size(); ++i) {
    const Expectation& e = expectations_[i];
    const Column& c = columns_[i];
    if (e.found)
      record.set_number(key(e) + ", found", *e.found);
    else if (c.before_t)
      record.set(key(e) + ", before", {*c.before_t, c.before});
  }
}

void Expectations::restore(const NamedArrays& record, bool) {
  for (std::size_t i = 0; i < expectations_.size(); ++i) {
    Expectation& e = expectations_[i];
    if (const Vector* found = record.find(key(e) + ", found")) e.found = found->front();
    if (const Vector* before = record.find(key(e) + ", before"); before != nullptr && before->size() == 2) {
      columns_[i].before_t = (*before)[0];
      columns_[i].before = (*before)[1];
    }
  }
}

}  // namespace carom
