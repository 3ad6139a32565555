#include "io/model/switching_builder.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "io/model/reference_target.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/tolerant_json.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

/// The names of the measures and t; nullopt if a name is missing or wrong or occurs twice.
std::optional<std::vector<std::string>> measures_and_time(const json& group) {
  std::vector<std::string> names;
  for (const json& measure : list_of(group, "measures")) {
    std::string name = text_of(measure, "name");
    if (!is_variable_name(name) || std::ranges::find(names, name) != names.end()) return std::nullopt;
    names.push_back(std::move(name));
  }
  names.emplace_back("t");
  return names;
}

}  // namespace

Node switching_spec() {
  const Key measure_name = required("name", variable_name("name").like("phi"), "name in formulas");
  const Key points = required("of", list("points", reference("point", Target::point_or_ground)).of_length({2}),
                              "the two points; \"ground.NAME\" is a point of the ground");
  const Node measure = tagged(
      "measure", {{"joint_angle",
                   "the angle of a joint",
                   {measure_name, required("joint", name().like("hinge"), "a joint with an angle")}},
                  {"joint_displacement",
                   "the displacement of a joint",
                   {measure_name, required("joint", name().like("slider"), "a joint with a displacement")}},
                  {"distance", "the distance of two points", {measure_name, points}},
                  {"displacement",
                   "the place of the second point relative to the first one along an axis of the first body",
                   {measure_name, points,
                    required("axis", nonzero_vector3("number"), "direction at the start, in the axes of the model")}}});
  const Node mode = object(
      "mode",
      {required("name", name().like("held"), "name of the mode: \"group.name\""),
       required("condition", formula("switching function", measures_and_time).like("1 - t"),
                "z of measures and t: the mode holds where z > 0; its surface z = 0 leads to the next mode"),
       preset("joints", list("joints", name().like("latch")).unique(), json::array(),
              "names of joints that hold in this mode; a joint that a mode names holds in no other mode"),
       preset("constraints", list("constraints", formula("constraint", measures_and_time).like("t - 1")), json::array(),
              "g of the constraints g = 0 of the mode, of measures and t"),
       optional("next", name().like("free"),
                "the mode behind the surface (default: the mode whose condition is positive there); a mode that is "
                "named so is entered in no other way, wherever its condition is positive")});
  const nlohmann::ordered_json modes = {{{"name", "held"}, {"condition", "1 - t"}, {"joints", {"latch"}}},
                                        {{"name", "free"}, {"condition", "t - 1"}}};
  return list(
      "switching constraints",
      tagged(
          "switching constraint",
          {{"joints",
            "joints between bodies that change",
            {required("name", name().like("lock"), "name, for probes and events"),
             preset("measures", list("measures", measure), json::array(), "what formulas of the modes depend on"),
             required("modes", list("modes", mode).at_least_items(2).like(modes), "modes of which exactly one holds"),
             optional("start_mode", name().like("held"),
                      "the mode at the start, where the conditions of several modes are positive")}}}));
}

std::vector<std::string> switching_joint_names(const json& root) {
  std::vector<std::string> names;
  for (const json& group : root["switching"])
    for (const json& mode : group["modes"])
      for (const json& joint : mode["joints"]) names.push_back(text(joint));
  return names;
}

void SwitchingBuilder::read(const std::vector<Joint>& joints) {
  const json& list = context_.root()["switching"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = "/switching/" + std::to_string(i);
    if (context_.model.find_body(text(list[i]["name"])) != nullptr)
      context_.error(pointer + "/name", "expected another name than that of a body, got " + brief(list[i]["name"]));
    read_group(list[i], pointer, joints);
  }
}

std::optional<JointCoordinate> SwitchingBuilder::read_measure(const json& measure, const std::string& pointer,
                                                              const std::vector<Joint>& joints) {
  const std::string type = text(measure["type"]);
  if (measure.contains("joint")) {
    const auto joint = std::ranges::find(joints, text(measure["joint"]), &Joint::name);
    const bool angle = type == "joint_angle";
    if (joint != joints.end())
      if (const auto& found = angle ? joint->angle : joint->displacement) return found;
    std::vector<std::string> names;
    for (const Joint& any : joints)
      if (angle ? any.angle : any.displacement) names.push_back(any.name);
    context_.error(pointer + "/joint", "expected a joint with " + std::string(angle ? "an angle" : "a displacement") +
                                           ", got " + brief(measure["joint"]) +
                                           (names.empty() ? "" : suggestion(text(measure["joint"]), names)));
    return {};
  }
  const AttachedPoint a = context_.point(measure["of"][0], pointer + "/of/0"),
                      b = context_.point(measure["of"][1], pointer + "/of/1");
  if (a.node == b.node) {
    context_.error(pointer + "/of", "expected points of two bodies, or of one and the ground");
    return {};
  }
  JointSource ends;
  ends.a = a;
  ends.b = b;
  ends.R_a = context_.initial_rotation(a);
  JointCoordinate c =
      displacement_along(ends, measure.contains("axis") ? vec3(measure["axis"]).stableNormalized() : Vec3::UnitX());
  if (type == "distance") c.kind = JointCoordinate::Kind::distance;
  return c;
}

void SwitchingBuilder::read_group(const json& group, const std::string& pointer, const std::vector<Joint>& joints) {
  const std::size_t issues = context_.issues.size();
  const std::vector<std::string> variables = *measures_and_time(group);
  std::vector<JointCoordinate> measures;
  for (std::size_t i = 0; i < group["measures"].size(); ++i)
    if (const auto found = read_measure(group["measures"][i], pointer + "/measures/" + std::to_string(i), joints)) {
      measures.push_back(*found);
      if (found->kind == JointCoordinate::Kind::angle)
        watch_angle(context_.model.system, *found, text(group["measures"][i]["joint"]));
    }
  const auto parameters = context_.document.parameters();
  const auto formula_of = [&](const json& value, const std::string& at) -> std::optional<JointFormula> {
    try {
      return JointFormula{{value.is_string() ? text(value) : value.dump(), variables, parameters},
                          at + " " + brief(value)};
    } catch (const FormulaError& error) {
      context_.error(at, error.what());
    }
    return {};
  };
  const std::vector<std::string> mode_names = names_of(group["modes"]);
  const auto find_mode = [&](const json& owner, const char* key, const std::string& at, const std::string& self) {
    const std::string named = text_of(owner, key);
    if (named.empty()) return -1;
    const auto found = std::ranges::find(mode_names, named);
    if (found == mode_names.end() || named == self)
      context_.error(at + "/" + key, "expected the name of " + std::string(self.empty() ? "a" : "another") +
                                         " mode, got " + in_quotes(named));
    return static_cast<int>(found - mode_names.begin());
  };
  Group built{nullptr, {}, {}, pointer, find_mode(group, "start_mode", pointer, "")};
  std::vector<SwitchingJoint> own;
  std::vector<JointMode> modes;
  bool constrained = false;
  for (std::size_t i = 0; i < group["modes"].size(); ++i) {
    const json& m = group["modes"][i];
    const std::string here = pointer + "/modes/" + std::to_string(i);
    const auto condition = formula_of(m["condition"], here + "/condition");
    if (!condition) continue;
    JointMode mode{text(m["name"]), *condition, {}, {}, find_mode(m, "next", here, text(m["name"]))};
    built.conditions.push_back(*condition);
    for (std::size_t k = 0; k < m["joints"].size(); ++k) {
      const std::string named = text(m["joints"][k]), at = here + "/joints/" + std::to_string(k);
      const auto joint = std::ranges::find(joints, named, &Joint::name);
      if (joint == joints.end() || joint->rows == nullptr) {
        std::vector<std::string> names;
        for (const Joint& any : joints) names.push_back(any.name);
        if (std::ranges::find(names, named) == names.end())
          context_.error(at, "no joint named " + in_quotes(named) + suggestion(named, names));
        continue;
      }
      if (std::ranges::any_of(groups_, [&](const Group& g) { return std::ranges::count(g.joints, named) > 0; })) {
        context_.error(at, "expected a joint that no other switching constraint names, got " + in_quotes(named));
        continue;
      }
      auto place = std::ranges::find(built.joints, named);
      mode.joints.push_back(static_cast<int>(place - built.joints.begin()));
      if (place != built.joints.end()) continue;
      built.joints.push_back(named);
      own.push_back({named, joint->rows});
    }
    for (std::size_t k = 0; k < m["constraints"].size(); ++k) {
      const std::string at = here + "/constraints/" + std::to_string(k);
      auto g = formula_of(m["constraints"][k], at);
      if (!g) continue;
      bool moves = false;
      for (std::size_t v = 0; v + 1 < variables.size(); ++v) moves = moves || g->formula.depends_on(v);
      if (!moves) context_.error(at, "expected a formula of measures, got " + brief(m["constraints"][k]));
      mode.constraints.push_back(std::move(*g));
    }
    constrained = constrained || !mode.joints.empty() || !mode.constraints.empty();
    modes.push_back(std::move(mode));
  }
  if (context_.issues.size() > issues) return;
  if (!constrained) return context_.error(pointer + "/modes", "expected a mode with joints or constraints, got none");
  auto block =
      std::make_unique<SwitchingJointBlock>(text(group["name"]), std::move(own), std::move(measures), std::move(modes));
  built.block = block.get();
  context_.model.system.add(std::move(block));
  groups_.push_back(std::move(built));
}

// On the surface the mode holds into which the motion leads.
void SwitchingBuilder::find_start_modes(const State& state) {
  const DofMap& dofs = context_.model.system.dofs();
  for (const Group& group : groups_) {
    Vector v;
    const Topology& topology = group.block->topology();
    for (std::size_t i = 0; i < topology.slots.size(); ++i)
      for (int c = 0; c < topology.slots[i].components; ++c) {
        const int equation = dofs.equation(topology.nodes[i], c);
        v.push_back(equation < 0 ? 0.0 : state.v[static_cast<std::size_t>(equation)]);
      }
    const ConstraintInput in{state.q.data(), v.data(), state.t, nullptr};
    std::vector<int> holding;
    for (int i = 0; i < group.block->modes(); ++i) {
      const double z = group.block->condition(i, in);
      if (!std::isfinite(z)) {
        context_.error(group.pointer + "/modes/" + std::to_string(i) + "/condition",
                       "the formula has no finite value at the start");
        return;
      }
      if ((z > 0 || (z == 0 && group.block->crossing_rate(i, in) < 0)) &&
          (group.start_mode < 0 || group.start_mode == i))
        holding.push_back(i);
    }
    const auto mode_name = [&](int i) {
      return in_quotes(group.block->mode_name(i).substr(group.block->name().size() + 1));
    };
    if (holding.empty())
      context_.error(group.pointer + (group.start_mode < 0 ? "/modes" : "/start_mode"),
                     group.start_mode < 0
                         ? "expected one mode that holds at the start, got none: no condition is positive"
                         : "expected a mode that holds at the start, got " + mode_name(group.start_mode) +
                               ", whose condition is not positive");
    else if (holding.size() > 1)
      context_.error(group.pointer + "/modes", "expected one mode that holds at the start, got " +
                                                   mode_name(holding[0]) + " and " + mode_name(holding[1]) +
                                                   ", whose conditions are both positive; \"start_mode\" tells which");
    else
      group.block->set_mode(holding.front());
  }
}

std::vector<int> SwitchingBuilder::rows_of(const std::string& joint) const {
  std::vector<int> rows;
  for (const Group& group : groups_)
    if (const auto found = std::ranges::find(group.joints, joint); found != group.joints.end()) {
      const Range own = group.block->rows_of_joint(static_cast<int>(found - group.joints.begin()));
      for (int row = own.first; row < own.last; ++row) rows.push_back(context_.first_row(*group.block) + row);
    }
  return rows;
}

void SwitchingBuilder::collect() const {
  for (const Group& group : groups_) {
    const Range own = group.block->rows_of_formulas();
    for (int row = own.first; row < own.last; ++row)
      context_.model.constraints.push_back({group.block->name() + ".switching." + std::to_string(row - own.first + 1),
                                            {context_.first_row(*group.block) + row},
                                            false,
                                            {},
                                            group.pointer});
  }
}

}  // namespace carom
