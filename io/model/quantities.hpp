// The table of what probes can record. The schema, the reference page, the completion of words, the checks of a model
// file and the evaluation at a step all read this table.
//
// Adding a quantity of a point, contact, joint or the whole model: one entry with its function in the file of its
// group, quantities_*.cpp. A quantity of elements needs none: every OutputField of a type of body is a quantity by its
// name.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace carom {

struct Model;
struct StepView;

/// Reads all components of a quantity off a step.
using Evaluate = std::function<void(const StepView& view, double* values)>;

/// What a probe can record.
struct Quantity {
  /// The thing that a probe's "of" names. Of an element or a node of elements: a field of its block.
  enum class Of { model, point, rotating_point, element, element_node, contact, joint, coordinate, constraint, modes };
  static constexpr int most_components = 6;

  std::string name;    ///< without component
  int components = 1;  ///< 1, 3, 4 or 6: see component_words
  Of of = Of::model;
  std::string unit, help;
  /// Finds the thing named `of` in a built model. Null, with a message in `error`, if the model has no such thing.
  std::function<Evaluate(const Model& model, const std::string& of, std::string& error)> make;
  bool summed = false;  ///< the value is that of a step; a probe sums the steps since the start of the run
  double period = 0;    ///< > 0: a state gives the value modulo this period; a probe counts the periods over the run
  std::string unit_of_angle{};  ///< where the gap that "of" names is an angle; empty: the same unit

  std::string unit_for(const Model& model, const std::string& of_what) const;
};

const std::vector<Quantity>& quantities();

/// Words after the dot: none for one component, x, y, z for three, w, x, y, z for four, xx, yy, zz, xy, yz, xz for six.
const std::vector<std::string>& component_words(int components);

/// The quantity of a probe's word and the component that the word names: (position, 1) for "position.y", (position,
/// -1) for "position", which means all components. An unknown word has no quantity.
struct ProbedQuantity {
  const Quantity* quantity = nullptr;
  int component = -1;
  /// What is appended to a probe's name in probes.csv, for each of its columns: "" or ".x", ".y", ".z".
  std::vector<std::string> columns() const;
};
ProbedQuantity find_quantity(std::string_view word);

/// An owner of quantities in words.
struct QuantityOwner {
  std::string words;  ///< "a point": on the reference page
  std::string noun;   ///< "point or body": where "of" is missing; empty for the whole model, which takes no "of"
};
const QuantityOwner& owner_of(Quantity::Of of);

}  // namespace carom
