#include "io/model/method_checks.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "integrators/common/constraint_switches.hpp"
#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;

namespace {

/// The names of all methods for which `takes` is true, for a message.
template <class Condition>
std::string methods_that(const Condition& takes) {
  std::vector<std::string> names;
  for (const IntegratorType& type : integrator_types())
    if (takes(type.info)) names.push_back(type.type);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Options of a method that takes constraints that switch.
void check_switching_options(const json& integrator, Model& model, ModelIssues& issues) {
  if (integrator.contains("formulation") && !text(integrator["formulation"]).starts_with("index_"))
    issues.add(
        "/integrator/formulation",
        fmt::format("expected a formulation that takes constraints that switch, of which the model has some, got "
                    "\"{}\"; those that do: index_3, index_2, index_1",
                    text(integrator["formulation"])));
  if (const double E = integrator["intermediate_gradient"].get<double>(); E < 0.5)
    model.warnings.push_back(
        fmt::format("intermediate_gradient is {:.6g}: below 1/2 a switch may create kinetic energy", E));
  // [SW24], 5.1.4
  if (integrator.contains("fully_implicit") && integrator["intermediate_gradient"] != 1 &&
      !integrator["fully_implicit"].get<bool>())
    model.warnings.emplace_back(
        "the formulation index_2 has wrong energies behind a switch unless intermediate_gradient is 1 or "
        "fully_implicit is true");
}

void check_switching(const json& integrator, Model& model, ModelIssues& issues) {
  if (!ConstraintSwitches(model.system).present()) return;
  if (method_of(integrator).rows.has(RowKind::switching)) return check_switching_options(integrator, model, issues);
  issues.add("/integrator/type",
             fmt::format("expected a method that takes constraints that switch, of which the model has some, got "
                         "\"{}\"; methods that do: {}",
                         text(integrator["type"]),
                         methods_that([](const MethodInfo& info) { return info.rows.has(RowKind::switching); })));
}

void check_joint_friction(const json& integrator, const Model& model, const std::string& others, ModelIssues& issues) {
  if (method_of(integrator).rows.has(RowKind::joint_friction)) return;
  for (const JointInfo& joint : model.joints)
    if (!joint.friction.empty())
      issues.add(joint.pointer + "/friction",
                 fmt::format("expected none, because \"{}\" takes joints without friction only; methods with friction "
                             "of joints: {}",
                             text(integrator["type"]), others));
}

// A method for smooth motion takes neither contacts nor stops; another one may take those without friction.
void check_contacts(const json& root, const Model& model, const std::string& others, ModelIssues& issues) {
  const json& integrator = root["integrator"];
  const RowSelection taken = method_of(integrator).rows;
  if (taken.covers(contact_rows) || !model.system.row_kinds().meets(contact_rows)) return;
  if (!taken.has(RowKind::unilateral)) {
    const std::string first = model.system.row_name(model.system.bilateral());
    return issues.add("/integrator/type",
                      fmt::format("expected a method that takes contacts and stops, of which the model has some (such "
                                  "as {}), got \"{}\", which is for smooth motion; methods that do: {}",
                                  first, text(integrator["type"]), others));
  }
  const json& contacts = root["contacts"];
  for (std::size_t i = 0; i < contacts.size(); ++i)
    if (contacts[i]["friction"].get<double>() > 0)
      issues.add("/contacts/" + std::to_string(i) + "/friction",
                 fmt::format("expected 0, because \"{}\" takes contacts without friction only; methods with friction: "
                             "{}",
                             text(integrator["type"]), others));
}

}  // namespace

void check_method(const json& root, Model& model, ModelIssues& issues) {
  const json& integrator = root["integrator"];
  if (const IntegratorType& type = find_type(integrator_types(), integrator); type.problems != nullptr)
    for (const spec::Problem& p : type.problems(integrator)) issues.add("/integrator" + p.pointer, p.message);
  check_switching(integrator, model, issues);
  const RowSelection kinds = model.system.row_kinds();
  if (method_of(integrator).rows.covers(kinds)) return;
  const std::string others =
      methods_that([kinds](const MethodInfo& info) { return info.rows.covers(kinds) && info.dynamic; });
  check_joint_friction(integrator, model, others, issues);
  check_contacts(root, model, others, issues);
}

void check_arc_length(const json& root, const Model& model, ModelIssues& issues) {
  const json& integrator = root["integrator"];
  if (!integrator.contains("control") || integrator["control"] != "arc_length") return;
  if (root["loads"].empty() && vec3(root["gravity"]).isZero(0) && !model.system.has_forces(force_external))
    issues.add("/integrator/control",
               "the length of the path is measured by the growth of the loads: with \"arc_length\" expected loads or "
               "gravity");
}

}  // namespace carom
