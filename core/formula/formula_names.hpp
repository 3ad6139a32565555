// The functions and constants of formulas, and messages about unknown names. Used by core/formula and by the reader of
// parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/formula/formula_program.hpp"

namespace carom::formula_detail {

struct NamedFunction {
  std::string_view name;
  Op op;
  int arguments;  // for min and max: the smallest number of arguments

  bool open_ended() const { return op == Op::min || op == Op::max; }
};

/// The names of all constants and functions: "pi, e, sin, cos, ...".
std::string reserved_names();
/// Null if the name is unknown.
const NamedFunction* find_function(std::string_view name);
const double* find_constant(std::string_view name);

/// The message about an unknown name, and the nearest known name; empty if no known name is near.
struct UnknownName {
  std::string message, nearest;
};
/// `values`: the variables and parameters; they are preferred to equally near functions and constants. If the name is
/// called, only functions are suggested.
UnknownName unknown_name(std::string_view name, bool is_call, std::span<const std::string_view> values);

}  // namespace carom::formula_detail
