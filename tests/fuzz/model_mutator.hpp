// Changes model files so that most of them stay nearly valid: values come from the declarations of ModelSpec, places
// from the tree of the document. The mutator reads all facts about models from spec::Node, so new keys need no edit
// here.
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

  /// Changes one to four values.
  void mutate(nlohmann::json& model);
  /// Removes an override "/json/pointer=value", or adds an override for a value of the model.
  void mutate(std::vector<std::string>& overrides, nlohmann::json& model);
  /// Copies a part of `other` over a value of the same kind in `model`.
  void cross(nlohmann::json& model, nlohmann::json& other);

 private:
  /// A value of a document and its declaration; null if there is none.
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
  std::vector<std::string> names_;  ///< names of the model that references may use
};

}  // namespace carom::fuzz
