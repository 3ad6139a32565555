// NamedArrays: arrays and numbers with names. Parts of a run store their inner state in this form in a checkpoint.
//
// Values keep every bit. Integers are stored as doubles, exact up to 2^53.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/types.hpp"

namespace carom {

struct NamedArrays {
  struct Entry {
    std::string name;
    Vector values;
  };
  std::vector<Entry> entries;

  void set(std::string name, Vector values) { entries.push_back({std::move(name), std::move(values)}); }
  void set_number(std::string name, double value) { set(std::move(name), Vector{value}); }

  /// Null if no entry has this name.
  const Vector* find(std::string_view name) const {
    for (const Entry& e : entries)
      if (e.name == name) return &e.values;
    return nullptr;
  }
  /// The first value of an entry; `otherwise` if no entry has this name.
  double number(std::string_view name, double otherwise = 0) const {
    const Vector* values = find(name);
    return values == nullptr || values->empty() ? otherwise : values->front();
  }
};

}  // namespace carom
