// Internal to core/formula: the functions and constants of the language, and what is said about an unknown name.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/formula/formula_program.hpp"

namespace carom::formula_detail {

struct NamedFunction {
  std::string_view name;
  Op op;
  int arguments;  // at least so many for min and max

  bool open_ended() const { return op == Op::min || op == Op::max; }
};

/// Null when there is none.
const NamedFunction* find_function(std::string_view name);
const double* find_constant(std::string_view name);

/// The complaint about a name that nobody knows, and the known one that may be meant; empty if none is near.
struct UnknownName {
  std::string message, nearest;
};
/// `values` are the variables and parameters, which come first among equally near names; where the name is called only
/// functions are suggested.
UnknownName unknown_name(std::string_view name, bool is_call, std::span<const std::string_view> values);

}  // namespace carom::formula_detail
