#include "io/results/until.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cfenv>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "io/model/quantities.hpp"

namespace carom {

EndCriteria::EndCriteria(const Model& model, const std::vector<Probe>& probes, ModelIssues& issues) {
  for (const UntilSettings& settings : model.until) {
    Criterion c{settings, {}, nullptr, {}};
    c.words.pointer = settings.pointer;
    const std::string duration = settings.duration > 0 ? fmt::format(" for {:.6g}", settings.duration) : "";
    switch (settings.type) {
      case UntilSettings::Type::kinetic_energy:
        c.words.words = fmt::format("kinetic energy < {:.6g}{}", settings.below, duration);
        break;
      case UntilSettings::Type::inertial_impulse:
        c.words.words = fmt::format("inertial impulse < {:.6g} of that of the contacts{}", settings.below, duration);
        break;
      case UntilSettings::Type::formula: {
        c.words.words = settings.formula + duration;
        std::vector<std::string> variables = settings.probes;
        variables.emplace_back("t");
        try {
          c.formula =
              std::make_shared<Formula>(settings.formula, std::span<const std::string>(variables), settings.parameters);
        } catch (const std::exception& error) {
          issues.add(settings.pointer + "/formula", error.what());
          continue;
        }
        for (std::size_t k = 0; k < settings.probes.size(); ++k) {
          bool found = false;
          for (const Probe& p : probes)
            for (std::size_t i = 0; i < p.columns.size(); ++i)
              if (p.columns[i] == settings.probes[k] && !found) {
                c.columns.push_back({p, i});
                found = true;
              }
          if (!found)
            issues.add(settings.pointer + "/probes/" + std::to_string(k),
                       "expected the name of a probe with one column, got \"" + settings.probes[k] + "\"");
        }
        break;
      }
    }
    criteria_.push_back(std::move(c));
  }
}

bool EndCriteria::holds(Criterion& c, const StepView& view) {
  const State& s = view.state;
  if (s.t < c.settings.after) return false;
  switch (c.settings.type) {
    case UntilSettings::Type::kinetic_energy:
      view.system.mass_times(s.q, s.v, momentum_);
      return 0.5 * dot(s.v, momentum_) < c.settings.below;
    case UntilSettings::Type::inertial_impulse: {
      view.system.mass_times(s.q, s.v, momentum_);
      double inertial = 0, contacts = 0;
      for (const double p : momentum_) inertial += std::abs(p);
      for (int row = view.system.bilateral(); row < view.system.rows(); ++row)
        if (view.system.row_kind(row) == RowKind::unilateral) contacts += std::abs(view.integrator.row_force(s, row));
      return c.settings.damping * inertial < c.settings.below * contacts;
    }
    case UntilSettings::Type::formula: {
      values_.clear();
      for (const Criterion::Column& column : c.columns) {
        double all[Quantity::most_components] = {};
        column.probe.evaluate(view, all);
        values_.push_back(all[column.component]);
      }
      values_.push_back(s.t);
      // comparisons with what is no number are false: only the processor's flag tells
      std::feclearexcept(FE_INVALID);
      const double value = c.formula->value(values_);
      if (std::fetestexcept(FE_INVALID) != 0 || !std::isfinite(value)) {
        if (c.undefined++ == 0) c.first_undefined = s.t;
        return false;
      }
      return value != 0;
    }
  }
  return false;
}

void EndCriteria::start(const StepView& view) {
  momentum_.assign(at(view.system.size()), 0.0);
  values_.reserve(64);
}

void EndCriteria::after_step(const StepView& view) {
  for (std::size_t i = 0; i < criteria_.size(); ++i) {
    Criterion& c = criteria_[i];
    const bool now = holds(c, view);
    if (now && !c.holds) c.since = view.state.t;
    c.holds = now;
    if (view.nominal && now && met_ < 0 && view.state.t - c.since >= c.settings.duration - 1e-9 * view.nominal_step)
      met_ = static_cast<int>(i);
  }
}

std::vector<std::string> EndCriteria::remarks() const {
  std::vector<std::string> remarks;
  for (const Criterion& c : criteria_)
    if (c.undefined > 0)
      remarks.push_back(
          fmt::format("{}: the formula had no value at {} steps, first at t = {:.6g}, and counted as not fulfilled",
                      c.settings.pointer, c.undefined, c.first_undefined));
  return remarks;
}

std::string EndCriteria::key(const Criterion& c) { return c.settings.pointer + " " + c.words.words; }

void EndCriteria::save(NamedArrays& record) {
  for (const Criterion& c : criteria_)
    if (c.holds) record.set(key(c), {c.since});
}

void EndCriteria::restore(const NamedArrays& record, bool) {
  for (Criterion& c : criteria_)
    if (const Vector* const since = record.find(key(c)); since != nullptr && since->size() == 1) {
      c.holds = true;
      c.since = since->front();
    }
}

}  // namespace carom
