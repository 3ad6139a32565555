#include "io/model/quantity_groups.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "integrators/common/observer.hpp"
#include "io/model/element_field.hpp"
#include "io/model/model.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

namespace {

using Of = Quantity::Of;

// Where a field can be read: elements of blocks, and for nodal fields the slot of a node.
struct FieldSource {
  const ElementBlock* block;
  int element, slot;
};

// The places where "body.element.3" or, of a nodal field, "body.point" offers the field.
std::vector<FieldSource> field_sources(const Model& model, const OutputField& field, const std::string& of) {
  std::vector<FieldSource> sources;
  const BodyInfo* body = model.find_body(of.substr(0, of.find('.')));
  const auto point = field.nodal ? model.find_point(of) : std::nullopt;
  if (body == nullptr || (field.nodal && !point)) return sources;
  const std::string word = body->name + ".element.";
  long number = of.starts_with(word) ? std::strtol(of.c_str() + word.size(), nullptr, 10) : -1;
  for (const BodyElements& elements : body->elements) {
    const auto fields = elements.block->output_fields();
    const bool has_field = std::any_of(fields.begin(), fields.end(), [&](const OutputField& f) {
      return f.name == field.name && f.nodal == field.nodal;
    });
    const Topology& topology = elements.block->topology();
    if (has_field && field.nodal) {
      for (int e = elements.range.first; e < elements.range.last; ++e)
        for (int slot = 0; slot < static_cast<int>(topology.slots.size()); ++slot)
          if (topology.node(e, slot) == point->node) sources.push_back({elements.block, e, slot});
    } else if (has_field && number >= 0 && number < elements.range.size()) {
      sources.push_back({elements.block, elements.range.first + static_cast<int>(number), 0});
    }
    number -= elements.range.size();
  }
  return sources;
}

// A field of one element, or the mean of a nodal one over the elements at a node.
Evaluate field_value(const OutputField& field, const std::vector<FieldSource>& sources) {
  const std::size_t width = at(field.components);
  std::size_t slots = 1;
  for (const FieldSource& s : sources)
    if (field.nodal) slots = std::max(slots, s.block->topology().slots.size());
  return [field, sources, width, buffer = Vector(width * slots), velocities = Vector()](const StepView& v,
                                                                                        double* values) mutable {
    std::fill_n(values, width, 0.0);
    for (const FieldSource& s : sources) {
      read_element_field(v.system, *s.block, field.name, {s.element, s.element + 1}, v.state, velocities,
                         buffer.data());
      const double* value = buffer.data() + (field.nodal ? width * at(s.slot) : 0);
      for (std::size_t c = 0; c < width; ++c) values[c] += value[c] / static_cast<double>(sources.size());
    }
  };
}

Quantity of_field(const OutputField& field) {
  return {field.name,
          field.components,
          field.nodal ? Of::element_node : Of::element,
          field.unit,
          field.help,
          [field](const Model& model, const std::string& of, std::string& error) -> Evaluate {
            const std::vector<FieldSource> sources = field_sources(model, field, of);
            if (!sources.empty()) return field_value(field, sources);
            error = unknown_node(model, of);
            if (error.empty())
              error = std::string("no ") + (field.nodal ? "node" : "element") + " with the quantity " +
                      in_quotes(field.name) + " named " + in_quotes(of);
            return {};
          }};
}

}  // namespace

std::vector<Quantity> field_quantities() {
  std::vector<Quantity> all;
  for (const BodyType& type : body_types())
    if (type.fields != nullptr)
      for (const OutputField& field : type.fields()) all.push_back(of_field(field));
  return all;
}

}  // namespace carom
