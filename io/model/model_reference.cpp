#include "io/model/model_reference.hpp"

#include "io/model/model_spec.hpp"
#include "io/model/quantities.hpp"
#include "io/schema/documentation.hpp"

namespace carom {

std::string model_schema_text() { return json_schema(model_spec(), "carom model, format 1").dump(2) + "\n"; }

std::string model_reference() {
  std::string out =
      "# Model reference\n\n"
      "This page is printed by `carom schema --markdown`; a test keeps it in step with the program. "
      "`carom schema KEY` shows one key of it, `carom schema` the same as JSON Schema. The "
      "[user guide](user_guide.md) explains names of points, formulas and functions of time.\n\n"
      "A key without a default may be left out unless it is required. A name consists of letters, digits, `_` and "
      "`-` and begins with a letter or `_`. A number may also be a formula of the "
      "parameters, `\"=2*radius\"`. Units are SI when `gravity` and materials are given in SI; any other "
      "consistent system will do.\n" +
      markdown_tables(model_spec());
  out +=
      "\n## Quantities of probes\n\n"
      "| quantity | of | unit | what |\n|---|---|---|---|\n";
  for (const Quantity& q : quantities()) {
    out += "| `" + q.name + "`";
    for (const std::string& component : component_words(q.components)) out += ", `." + component + "`";
    out += " | " + owner_of(q.of).words + " | " + q.unit + " | " + markdown_cell(q.help) + " |\n";
  }
  return out;
}

}  // namespace carom
