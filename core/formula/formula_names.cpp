#include "core/formula/formula_names.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "core/base/spelling.hpp"
#include "core/formula/formula_tokens.hpp"

namespace carom::formula_detail {

namespace {

constexpr std::array functions{
    NamedFunction{"sin", Op::sin, 1},
    NamedFunction{"cos", Op::cos, 1},
    NamedFunction{"tan", Op::tan, 1},
    NamedFunction{"asin", Op::asin, 1},
    NamedFunction{"acos", Op::acos, 1},
    NamedFunction{"atan", Op::atan, 1},
    NamedFunction{"atan2", Op::atan2, 2},
    NamedFunction{"sinh", Op::sinh, 1},
    NamedFunction{"cosh", Op::cosh, 1},
    NamedFunction{"tanh", Op::tanh, 1},
    NamedFunction{"exp", Op::exp, 1},
    NamedFunction{"log", Op::log, 1},
    NamedFunction{"log10", Op::log10, 1},
    NamedFunction{"sqrt", Op::sqrt, 1},
    NamedFunction{"cbrt", Op::cbrt, 1},
    NamedFunction{"abs", Op::abs, 1},
    NamedFunction{"sign", Op::sign, 1},
    NamedFunction{"floor", Op::floor, 1},
    NamedFunction{"step", Op::step, 1},
    NamedFunction{"min", Op::min, 2},
    NamedFunction{"max", Op::max, 2},
    NamedFunction{"pow", Op::power, 2},
    NamedFunction{"hypot", Op::hypot, 2},
    NamedFunction{"mod", Op::mod, 2},
    NamedFunction{"smoothstep", Op::smoothstep, 3},
};
struct Constant {
  std::string_view name;
  double value;
};

constexpr std::array constants{Constant{"pi", std::numbers::pi}, Constant{"e", std::numbers::e}};

/// Names that other languages use for our functions.
constexpr std::array<std::array<std::string_view, 2>, 4> other_names{
    {{"ln", "log"}, {"sgn", "sign"}, {"heaviside", "step"}, {"power", "pow"}}};
template <class Table>
auto find_name(const Table& table, std::string_view name) -> decltype(table.data()) {
  const auto entry = std::find_if(table.begin(), table.end(), [&](const auto& e) { return e.name == name; });
  return entry == table.end() ? nullptr : &*entry;
}

std::string to_lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// The first of the candidates nearest to `name`; empty if no candidate is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t longest = 64;
  if (name.size() > longest) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > longest) continue;
    const std::size_t distance = edit_distance(to_lower(name), to_lower(candidate));
    if (distance < best_distance && distance < std::max(name.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

std::string reserved_names() {
  std::string names;
  for (const Constant& c : constants) names.append(names.empty() ? "" : ", ").append(c.name);
  for (const NamedFunction& f : functions) names.append(", ").append(f.name);
  return names;
}

const NamedFunction* find_function(std::string_view name) { return find_name(functions, name); }

const double* find_constant(std::string_view name) {
  const Constant* c = find_name(constants, name);
  return c == nullptr ? nullptr : &c->value;
}

UnknownName unknown_name(std::string_view name, bool is_call, std::span<const std::string_view> values) {
  std::vector<std::string_view> candidates;
  if (!is_call) {
    candidates.assign(values.begin(), values.end());
    for (const Constant& c : constants) candidates.push_back(c.name);
  }
  const std::size_t known = candidates.size();
  for (const NamedFunction& f : functions) candidates.push_back(f.name);

  std::string_view nearest;
  for (const auto& [theirs, ours] : other_names)
    if (to_lower(name.substr(0, 16)) == theirs) nearest = ours;
  if (nearest.empty()) nearest = nearest_name(name, candidates);

  std::string message = std::string("unknown ") + (is_call ? "function " : "name ") + quoted(name);
  if (!nearest.empty()) {
    message += "; did you mean " + quoted(nearest) + "?";
  } else if (is_call) {
    message += "; functions are";
    for (const NamedFunction& f : functions) message.append(" ").append(f.name);
  } else {
    constexpr std::size_t shown = 20;
    message += "; known are";
    for (std::size_t i = 0; i < std::min(known, shown); ++i) message.append(" ").append(candidates[i]);
    message += known > shown ? " ... and functions" : " and functions";
  }
  return {std::move(message), std::string(nearest)};
}

}  // namespace carom::formula_detail
