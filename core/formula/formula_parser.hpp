// Internal to core/formula: recursive descent from the text of a formula to its postfix code.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/formula/formula.hpp"

namespace carom::formula_detail {

/// The code of `text` with constants folded. A variable's index is its position in `variables`. Throws FormulaError.
std::vector<Formula::Instruction> parse(std::string_view text, std::span<const std::string> variables,
                                        const Formula::Parameters& parameters);

}  // namespace carom::formula_detail
