// Changes model files so that most of them stay nearly valid: values are drawn from the declarations of ModelSpec, and
// places from the tree of the document. What it knows of a model it reads off spec::Node, so new keys need no edit.
#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "io/schema/spec.hpp"

namespace carom::fuzz {

class ModelMutator {
 public:
  explicit ModelMutator(unsigned seed) : random_(seed) {}

  /// Changes one to four places.
  void mutate(nlohmann::json& model);
  /// Removes a "/json/pointer=value", or adds one for a place of the model.
  void mutate(std::vector<std::string>& overrides, nlohmann::json& model);
  /// Moves a part of `other` to where `model` has a value of the same kind.
  void cross(nlohmann::json& model, nlohmann::json& other);

 private:
  /// A value of a document and its declaration, null where there is none.
  struct Place {
    nlohmann::json* value;
    const spec::Node* node;
  };

  std::vector<Place> places(nlohmann::json& model);
  void collect(nlohmann::json& value, const spec::Node* node, std::vector<Place>& out);
  void change(const Place& place);
  void change_list(const Place& place);
  void change_object(const Place& place);

  nlohmann::json generate(const spec::Node& node, int depth = 0);
  nlohmann::json generate_object(const spec::Node& node, int depth);
  nlohmann::json generate_number(const spec::Node& node);
  nlohmann::json generate_table();
  std::string generate_reference();
  std::string formula(int depth);
  std::string word();
  nlohmann::json odd_value();
  double number();

  std::size_t below(std::size_t n) { return n < 2 ? 0 : random_() % n; }
  bool once_in(std::size_t n) { return below(n) == 0; }
  template <class List>
  const auto& any(const List& list) {
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list))));
  }

  std::minstd_rand random_;
  std::vector<std::string> names_;  ///< of the model, to refer to
};

}  // namespace carom::fuzz
