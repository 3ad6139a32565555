#include "io/model/quantities.hpp"

#include <algorithm>
#include <utility>

#include "integrators/common/integrator.hpp"
#include "integrators/common/observer.hpp"
#include "io/model/model.hpp"
#include "io/model/quantity_groups.hpp"

namespace carom {

namespace {

using Of = Quantity::Of;

template <class Value>
Quantity of_model(std::string name, int components, std::string unit, std::string help, Value value) {
  return {std::move(name),
          components,
          Of::model,
          std::move(unit),
          std::move(help),
          [value](const Model&, const std::string&, std::string&) -> Evaluate {
            return [value](const StepView& v, double* values) { write(value(v), values); };
          }};
}

Energies energies(const StepView& v) { return v.system.energies(v.state.q, v.state.v, v.state.t); }
Momenta momenta(const StepView& v) { return v.system.momenta(v.state.q, v.state.v); }

std::vector<Quantity> model_quantities() {
  return {
      of_model("load_factor", 1, "", "factor of gravity and loads in a static run",
               [](const StepView& v) { return v.integrator.load_factor(v.state); }),
      of_model("energy.kinetic", 1, "J", "kinetic energy of the model",
               [](const StepView& v) { return energies(v).kinetic; }),
      of_model("energy.elastic", 1, "J", "elastic energy of the model",
               [](const StepView& v) { return energies(v).elastic; }),
      of_model("energy.potential", 1, "J", "energy in the field of gravity, and the potentials of coordinates",
               [](const StepView& v) { return energies(v).potential; }),
      of_model("energy.total", 1, "J", "their sum",
               [](const StepView& v) {
                 const Energies e = energies(v);
                 return e.kinetic + e.elastic + e.potential;
               }),
      of_model("momentum.linear", 3, "kg m/s", "momentum of the model, without what bodies of coordinates have",
               [](const StepView& v) { return momenta(v).linear; }),
      of_model("momentum.angular", 3, "kg m^2/s",
               "angular momentum about the origin, without what bodies of coordinates have",
               [](const StepView& v) { return momenta(v).angular; }),
  };
}

}  // namespace

const std::vector<Quantity>& quantities() {
  static const std::vector<Quantity> all = [] {
    std::vector<Quantity> table;
    for (const auto group : {point_quantities, field_quantities, contact_quantities, joint_quantities,
                             coordinate_quantities, model_quantities})
      for (Quantity& entry : group())  // several types of bodies have fields with the same name
        if (std::ranges::find(table, entry.name, &Quantity::name) == table.end()) table.push_back(std::move(entry));
    return table;
  }();
  return all;
}

std::string Quantity::unit_for(const Model& model, const std::string& of_what) const {
  const auto stop = std::ranges::find(model.stops, of_what, &RowGroup::name);
  return unit_of_angle.empty() || stop == model.stops.end() || !stop->angle ? unit : unit_of_angle;
}

const std::vector<std::string>& component_words(int components) {
  static const std::vector<std::string> none, three = {"x", "y", "z"}, four = {"w", "x", "y", "z"},
                                              six = {"xx", "yy", "zz", "xy", "yz", "xz"};
  return components == 6 ? six : components == 4 ? four : components == 3 ? three : none;
}

std::vector<std::string> ProbedQuantity::columns() const {
  std::vector<std::string> columns;
  if (component < 0)
    for (const std::string& word : component_words(quantity->components)) columns.push_back("." + word);
  if (columns.empty()) columns.emplace_back();
  return columns;
}

ProbedQuantity find_quantity(std::string_view word) {
  for (const Quantity& q : quantities()) {
    if (word == q.name) return {&q, -1};
    if (!word.starts_with(q.name)) continue;
    const std::vector<std::string>& components = component_words(q.components);
    for (std::size_t c = 0; c < components.size(); ++c)
      if (word == q.name + "." + components[c]) return {&q, static_cast<int>(c)};
  }
  return {};
}

const QuantityOwner& owner_of(Quantity::Of of) {
  static const QuantityOwner owners[] = {
      {"the model", ""},
      {"a point", "point or body"},
      {"a rigid body or a node of a beam", "point or body"},
      {"an element", "element"},
      {"a node of a solid", "point or body"},
      {"a contact", "contact"},
      {"a joint", "joint"},
      {"a coordinate", "coordinate"},
      {"a constraint of coordinates", "constraint"},
      {"a body with modes", "body"},
  };
  return owners[static_cast<std::size_t>(of)];
}

}  // namespace carom
