// Second check of a model: names must exist, kinds must fit, definitions must be used. The check accepts documents with
// errors and does not report errors of the first check again.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "io/model/model_spec.hpp"
#include "io/model/quantities.hpp"
#include "io/model/reference_target.hpp"
#include "io/model/sections.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/tolerant_json.hpp"

namespace carom {

using nlohmann::json;
using spec::FoundReference;
using spec::suggestion;

namespace {

class References {
 public:
  References(const json& model, ModelIssues& issues) : issues_(issues), model_(model) {
    for (const json& body : list_of(model_, "bodies")) bodies_.emplace(text_of(body, "name"), &body);
    bodies_.erase("");
    bodies_.erase("ground");  // a reserved name
    materials_ = names_of(list_of(model_, "materials"));
    sections_ = names_of(list_of(model_, "sections"));
    ground_ = names_of(list_of(model_, "ground"));
  }

  void check(const FoundReference& reference) {
    switch (target_of(reference)) {
      case Target::material:
        return check_name(reference, "material", materials_);
      case Target::section:
        return check_name(reference, "section", sections_);
      case Target::rotating_point:
        return check_rotating_point(reference.pointer, reference.text);
      case Target::sphere:
        return check_sphere(reference);
      case Target::point:
        return check_point(reference.pointer, reference.text, false);
      case Target::point_or_ground:
        return check_point(reference.pointer, reference.text, true,
                           may_be_set(reference) ? PointUse::several : PointUse::one);
      case Target::point_or_points:
        return check_point(reference.pointer, reference.text, false, PointUse::several);
      case Target::own_point:
        return check_own_point(reference, PointUse::one);
      case Target::own_points:
        return check_own_point(reference, PointUse::several);
      case Target::beam:
        return check_beam(reference);
      case Target::coordinates:
        return check_coordinates(reference);
      case Target::probed:
      case Target::none:
        return;
    }
  }

  /// Reports reserved names.
  void check_bodies() {
    const json& bodies = list_of(model_, "bodies");
    for (std::size_t i = 0; i < bodies.size(); ++i)
      if (text_of(bodies[i], "name") == "ground")
        complain("/bodies/" + std::to_string(i) + "/name", "\"ground\" is the inertial frame; choose another name");
    // probes know gaps of coordinates and stops of joints by names of one form
    const std::vector<std::string> stops = stop_names();
    for (const std::string& gap : formula_names(&FormulaNames::gaps))
      if (std::find(stops.begin(), stops.end(), gap) != stops.end())
        complain("/bodies", "the gap " + in_quotes(gap) + " of a body has the name of a stop of a joint");
  }

  /// What depends on a body's section and material, and files that must be there.
  void check_materials_and_files() {
    const json& bodies = list_of(model_, "bodies");
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const std::string here = "/bodies/" + std::to_string(i);
      if (const BodyType* kind = bodies[i].is_object() ? kind_of(bodies[i]) : nullptr; kind != nullptr) {
        const json *section = named(bodies[i], "section", "sections"),
                   *material = named(bodies[i], "material", "materials");
        if (material != nullptr) check_material(*kind, bodies[i], *material, here + "/material");
        if (kind->problems != nullptr)
          for (const spec::Problem& problem : kind->problems(bodies[i], section, material))
            complain(here + problem.pointer, problem.message);
      }
      for (const char* key : {"mesh", "shape"}) {
        if (!bodies[i].is_object() || !bodies[i].contains(key)) continue;
        const std::string file = text_of(bodies[i][key], "file"), pointer = here + "/" + key + "/file";
        if (file.empty() || is_broken(pointer)) continue;
        const auto path = std::filesystem::path(issues_.source().file).parent_path() / file;
        std::error_code code;
        if (!std::filesystem::exists(path, code)) complain(pointer, path.string() + ": no such file");
      }
    }
  }

  /// Checks the ends of joints.
  void check_joints() {
    const json& joints = list_of(model_, "joints");
    for (std::size_t i = 0; i < joints.size(); ++i) {
      const json& of = list_of(joints[i], "of");
      const std::string here = "/joints/" + std::to_string(i) + "/of";
      std::vector<const json*> bodies;
      for (std::size_t k = 0; k < of.size(); ++k) {
        const std::string text = of[k].is_string() ? of[k].get<std::string>() : "";
        const auto found = bodies_.find(text.substr(0, text.find('.')));
        bodies.push_back(found == bodies_.end() ? nullptr : found->second);
        if (bodies.back() == nullptr || !holds_rotations(joints[i], k)) continue;
        if (const BodyType* kind = kind_of(*bodies.back());
            kind != nullptr && !kind->rotates && is_single(text, kind->type))
          complain(here + "/" + std::to_string(k),
                   "a " + text_of(joints[i], "type") + " joint holds rotations too: expected a point of " +
                       rotating_kinds() + ", got " + in_quotes(text) + " of a body of type " + in_quotes(kind->type));
      }
      if (bodies.size() == 2 && bodies[0] != nullptr && bodies[0] == bodies[1] && kind_of(*bodies[0]) != nullptr &&
          kind_of(*bodies[0])->one_node)
        complain(here, "expected points of two bodies, got two points of " + in_quotes(text_of(*bodies[0], "name")));
    }
  }

  /// Checks the objects of probes.
  void check_probes() {
    if (!model_.contains("output")) return;
    const json& probes = list_of(model_["output"], "probes");
    for (std::size_t i = 0; i < probes.size(); ++i) {
      const Quantity* quantity = find_quantity(text_of(probes[i], "quantity")).quantity;
      if (quantity == nullptr) continue;
      const std::string here = "/output/probes/" + std::to_string(i);
      const bool has_of = probes[i].contains("of");
      const std::string& noun = owner_of(quantity->of).noun;
      if (noun.empty()) {
        if (has_of)
          complain(here + "/of", in_quotes(quantity->name) + " belongs to the whole model and takes no \"of\"");
      } else if (!has_of) {
        complain(here, "missing key \"of\": expected the name of a " + noun + " for " + in_quotes(quantity->name));
      } else if (probes[i]["of"].is_string()) {
        check_probed(*quantity, here + "/of", text_of(probes[i], "of"));
      }
    }
  }

  /// Checks that expectations and end criteria name columns of probes.csv.
  void check_expectations() {
    const json none = json::object();
    const json& output = model_.contains("output") ? model_["output"] : none;
    const bool known = std::none_of(issues_.begin(), issues_.end(), [](const ModelIssue& issue) {
      return issue.pointer.empty() || issue.pointer.starts_with("/output");
    });
    if (!known) return;
    std::vector<std::string> columns;
    for (const json& probe : list_of(output, "probes")) {
      const std::string name = text_of(probe, "name"), word = text_of(probe, "quantity");
      const ProbedQuantity probed = find_quantity(word);
      if (probed.quantity == nullptr) return;
      for (const std::string& suffix : probed.columns()) columns.push_back(name + suffix);
    }
    const json& criteria = list_of(model_, "until");
    for (std::size_t i = 0; i < criteria.size(); ++i) {
      const json& names = list_of(criteria[i], "probes");
      for (std::size_t k = 0; k < names.size(); ++k) {
        if (!names[k].is_string()) continue;
        const std::string column = names[k].get<std::string>();
        if (std::find(columns.begin(), columns.end(), column) == columns.end())
          complain("/until/" + std::to_string(i) + "/probes/" + std::to_string(k),
                   "no probe with a column " + in_quotes(column) + suggest(column, columns));
      }
    }
    const json& expectations = list_of(model_, "expect");
    for (std::size_t i = 0; i < expectations.size(); ++i) {
      const json& e = expectations[i];
      if (!e.is_object() || !e.contains("probe") || !e["probe"].is_string()) continue;
      const std::string column = e["probe"].get<std::string>();
      if (std::find(columns.begin(), columns.end(), column) == columns.end())
        complain("/expect/" + std::to_string(i) + "/probe",
                 "no probe with a column " + in_quotes(column) + suggest(column, columns));
    }
  }

  void check_unused(const std::set<std::string>& parameters, const DefinedNames& used, bool bodies_are_right) {
    // an unknown name may have been meant for this definition
    const auto check = [&](const char* noun, const std::string& key, const std::set<std::string>& used_names) {
      const json& list = list_of(model_, key.c_str());
      for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string name = text_of(list[i], "name");
        if (!name.empty() && !used_names.contains(name))
          complain("/" + key + "/" + std::to_string(i), std::string(noun) + " " + in_quotes(name) + " is not used");
      }
    };
    if (bodies_are_right) {
      check("material", "materials", used.materials);
      check("section", "sections", used.sections);
    }
    // a formula with an unknown name may have been meant for one of these
    if (std::any_of(issues_.begin(), issues_.end(), [](const ModelIssue& issue) {
          return issue.pointer.empty() || issue.message.find(": unknown name '") != std::string::npos;
        }))
      return;
    for (const std::string& name : parameters)
      if (!used.parameters.contains(name))
        issues_.add_at_key("/parameters/" + name, "parameter " + in_quotes(name) + " is not used");
  }

 private:
  /// The entry of "materials" or "sections" that a body names; null if there is none or it has errors.
  const json* named(const json& body, const char* key, const std::string& list) const {
    const std::string name = text_of(body, key);
    const json& entries = list_of(model_, list.c_str());
    std::size_t i = 0;
    while (i < entries.size() && text_of(entries[i], "name") != name) ++i;
    const std::string place = "/" + list + "/" + std::to_string(i);
    const bool broken = std::any_of(issues_.begin(), issues_.end(), [&](const ModelIssue& issue) {
      return issue.pointer == place || issue.pointer.starts_with(place + "/");
    });
    return name.empty() || i == entries.size() || broken ? nullptr : &entries[i];
  }

  /// Whether a type of body takes the material.
  void check_material(const BodyType& kind, const json& body, const json& material, const std::string& pointer) {
    const MaterialType* type = find_material_type(text_of(material, "type"));
    if (type == nullptr || kind.takes_material == nullptr || kind.takes_material(*type)) return;
    std::vector<std::string> taken;
    for (const MaterialType& t : material_types())
      if (kind.takes_material(t)) taken.push_back(t.type);
    complain(pointer, "expected a material of type " + spec::in_words(taken, "or") + " for " +
                          spec::with_article(kind.type) + ", got " + in_quotes(text_of(body, "material")) +
                          " of type " + in_quotes(type->type));
  }

  /// A joint may hold a set of a body's nodes as one.
  bool may_be_set(const FoundReference& reference) const {
    const auto body = bodies_.find(reference.text.substr(0, reference.text.find('.')));
    return reference.pointer.starts_with("/joints/") && body != bodies_.end() && kind_of(*body->second) != nullptr &&
           kind_of(*body->second)->sets_in_joints;
  }

  /// True for a single node, which may have a rotation, false for a set.
  static bool is_single(const std::string& reference, std::string_view type) {
    const std::size_t dot = reference.find('.');
    const std::string part = dot == std::string::npos ? "" : reference.substr(dot + 1);
    // solids have no ends; the words may be groups of their mesh
    return part.empty() || part.starts_with("node.") || (type != "solid" && (part == "start" || part == "end"));
  }

  /// True if a joint constrains rotations of a side.
  static bool holds_rotations(const json& joint, std::size_t side) {
    const std::string type = text_of(joint, "type");
    const auto kind =
        std::find_if(joint_types().begin(), joint_types().end(), [&](const JointType& k) { return k.type == type; });
    if (kind == joint_types().end()) return false;
    return side == 0 ? kind->needs != JointType::Needs::nothing : kind->needs == JointType::Needs::two_frames;
  }

  void complain(const std::string& pointer, const std::string& message) { issues_.add(pointer, message); }

  /// True if a whole section could not be read.
  bool is_broken(const std::string& section) const {
    return std::any_of(issues_.begin(), issues_.end(),
                       [&](const ModelIssue& issue) { return issue.pointer == section; });
  }

  /// Searches the nearest name, but only for the first hundred errors, because each search compares all names.
  std::string suggest(const std::string& given, const std::vector<std::string>& names) const {
    return issues_.size() < 100 ? suggestion(given, names) : std::string();
  }

  void check_name(const FoundReference& reference, const std::string& noun, const std::vector<std::string>& names) {
    if (std::find(names.begin(), names.end(), reference.text) != names.end() || is_broken("/" + noun + "s")) return;
    complain(reference.pointer,
             "no " + noun + " named " + in_quotes(reference.text) +
                 (names.empty() ? "; the model has no " + noun + "s" : suggest(reference.text, names)));
  }

  const json* find_body(const std::string& pointer, const std::string& name) {
    const auto found = bodies_.find(name);
    if (found != bodies_.end()) return found->second;
    if (bodies_.empty()) return nullptr;  // already reported
    if (body_names_.empty())
      for (const auto& [known, body] : bodies_) body_names_.push_back(known);
    complain(pointer, "no body named " + in_quotes(name) + suggest(name, body_names_));
    return nullptr;
  }

  void check_sphere(const FoundReference& reference) {
    const json* body = find_body(reference.pointer, reference.text);
    if (body == nullptr) return;
    const BodyType* kind = kind_of(*body);
    if (kind == nullptr || (kind->is_sphere != nullptr && kind->is_sphere(*body))) return;
    std::string words;
    for (const BodyType& k : body_types())
      if (k.is_sphere != nullptr) words += (words.empty() ? "" : " or ") + k.sphere_words;
    complain(reference.pointer, "expected " + words + ", got " + in_quotes(reference.text));
  }

  void check_beam(const FoundReference& reference) {
    const json* body = find_body(reference.pointer, reference.text);
    const BodyType* kind = body == nullptr ? nullptr : kind_of(*body);
    if (kind == nullptr || kind->line_load_shares != nullptr) return;
    std::string words;
    for (const BodyType& k : body_types())
      if (k.line_load_shares != nullptr) words += (words.empty() ? "" : " or ") + k.help;
    complain(reference.pointer,
             "expected " + words + ", got " + in_quotes(reference.text) + " of type " + in_quotes(kind->type));
  }

  void check_coordinates(const FoundReference& reference) {
    const json* body = find_body(reference.pointer, reference.text);
    const BodyType* kind = body == nullptr ? nullptr : kind_of(*body);
    if (kind == nullptr || kind->formula_names != nullptr) return;
    complain(reference.pointer, "expected a body of type \"coordinates\", got " + in_quotes(reference.text) +
                                    " of type " + in_quotes(kind->type));
  }

  static const BodyType* kind_of(const json& body) { return find_body_type(text_of(body, "type")); }

  /// "a rigid body", and all other kinds with rotations.
  static std::string rotating_kinds() {
    std::vector<std::string> kinds;
    for (const BodyType& kind : body_types())
      if (kind.rotates) kinds.push_back(kind.help);
    std::string words = kinds.front();
    for (std::size_t i = 1; i < kinds.size(); ++i) words += (i + 1 < kinds.size() ? ", " : " or ") + kinds[i];
    return words;
  }

  /// Checks "body", "body.point", "body.node.3", "ground", "ground.point".
  void check_point(const std::string& pointer, const std::string& text, bool ground, PointUse use = PointUse::one) {
    if (text == "ground" || text.starts_with("ground.")) {
      if (!ground) return complain(pointer, "expected a point of a body, got " + in_quotes(text));
      const bool named = text != "ground";
      if (named && !is_broken("/ground") && std::find(ground_.begin(), ground_.end(), text.substr(7)) == ground_.end())
        complain(pointer,
                 "the ground has no point " + in_quotes(text.substr(7)) +
                     (ground_.empty() ? "; the model has no points of the ground" : suggest(text.substr(7), ground_)));
      if (!named && pointer.starts_with("/springs/"))
        complain(pointer, "expected a point of the ground, \"ground.NAME\", got \"ground\"; see: carom schema /ground");
      return;
    }
    const std::size_t dot = text.find('.');
    const json* body = find_body(pointer, text.substr(0, dot));
    if (body == nullptr) return;
    const BodyType* kind = kind_of(*body);
    if (kind == nullptr) return;
    const std::string point = dot == std::string::npos ? "" : text.substr(dot + 1);
    const std::string message = kind->point_error(*body, dot == std::string::npos ? nullptr : &point, use);
    if (!message.empty()) complain(pointer, message);
  }

  void check_rotating_point(const std::string& pointer, const std::string& text) {
    const auto body = bodies_.find(text.substr(0, text.find('.')));
    const BodyType* kind = body == bodies_.end() ? nullptr : kind_of(*body->second);
    if (kind != nullptr && !kind->rotates)
      complain(pointer, "expected a point of " + rotating_kinds() + ", got " + in_quotes(text) +
                            ", which has no rotation (type " + in_quotes(kind->type) + ")");
    else
      check_point(pointer, text, false);
  }

  /// Checks a point or points of the body that contains the reference, at /bodies/I/...
  void check_own_point(const FoundReference& reference, PointUse use) {
    const json& body = model_.at(json::json_pointer(reference.pointer.substr(0, reference.pointer.find('/', 8))));
    const BodyType* kind = kind_of(body);
    const std::string message = kind == nullptr ? "" : kind->point_error(body, &reference.text, use);
    if (!message.empty()) complain(reference.pointer, message);
  }

  /// The name of a thing that a quantity is observed of, by Quantity::Of.
  void check_probed(const Quantity& quantity, const std::string& pointer, const std::string& of) {
    using Check = void (References::*)(const Quantity&, const std::string&, const std::string&);
    static constexpr Check checks[] = {nullptr,
                                       &References::check_probed_point,
                                       &References::check_probed_rotation,
                                       &References::check_probed_element,
                                       &References::check_probed_point,
                                       &References::check_probed_contact,
                                       &References::check_probed_joint,
                                       &References::check_probed_coordinate,
                                       &References::check_probed_constraint,
                                       &References::check_probed_modes};
    (this->*checks[static_cast<std::size_t>(quantity.of)])(quantity, pointer, of);
  }
  void check_probed_point(const Quantity&, const std::string& pointer, const std::string& of) {
    check_point(pointer, of, false);
  }
  void check_probed_element(const Quantity&, const std::string& pointer, const std::string& of) {
    check_point(pointer, of, false, PointUse::element);
  }
  void check_probed_joint(const Quantity&, const std::string& pointer, const std::string& of) {
    check_member(pointer, of, "joint", "joints");
  }
  void check_probed_rotation(const Quantity& quantity, const std::string& pointer, const std::string& of) {
    const auto body = bodies_.find(of.substr(0, of.find('.')));
    const BodyType* kind = body == bodies_.end() ? nullptr : kind_of(*body->second);
    if (kind != nullptr && !kind->rotates)
      complain(pointer, in_quotes(quantity.name) + " needs " + rotating_kinds() + ", got " + in_quotes(of) +
                            " of type " + in_quotes(kind->type));
    else
      check_point(pointer, of, false);
  }
  /// "floor" or "floor[3]".
  void check_probed_contact(const Quantity&, const std::string& pointer, const std::string& of) {
    const std::size_t bracket = of.find('[');
    if (bracket != std::string::npos &&
        (!of.ends_with(']') || !is_number_word(std::string_view(of).substr(bracket + 1, of.size() - bracket - 2))))
      return complain(
          pointer, "expected the name of a contact, or of one of its points as in \"floor[3]\", got " + in_quotes(of));
    std::vector<std::string> more = stop_names();
    for (std::string& name : formula_names(&FormulaNames::gaps)) more.push_back(std::move(name));
    check_member(pointer, of.substr(0, bracket), "contact", "contacts", more);
  }
  void check_probed_coordinate(const Quantity& quantity, const std::string& pointer, const std::string& of) {
    check_formula_name(quantity, pointer, of, "coordinate", &FormulaNames::coordinates);
  }
  void check_probed_constraint(const Quantity& quantity, const std::string& pointer, const std::string& of) {
    check_formula_name(quantity, pointer, of, "constraint", &FormulaNames::constraints);
  }
  void check_probed_modes(const Quantity& quantity, const std::string& pointer, const std::string& of) {
    const auto body = bodies_.find(of);
    const BodyType* kind = body == bodies_.end() ? nullptr : kind_of(*body->second);
    if (is_broken("/bodies") ||
        (kind != nullptr && kind->formula_names != nullptr && kind->formula_names(*body->second).modes))
      return;
    const std::vector<std::string> groups = names_of(list_of(model_, "switching"));
    if (std::ranges::find(groups, of) != groups.end() || is_broken("/switching")) return;
    complain(pointer, in_quotes(quantity.name) +
                          " needs a body whose constraints switch or a group of joints that switches, got " +
                          in_quotes(of));
  }
  /// "body.name" of a body with formulas.
  void check_formula_name(const Quantity& quantity, const std::string& pointer, const std::string& of,
                          const std::string& noun, std::vector<std::string> FormulaNames::*list) {
    const std::vector<std::string> names = formula_names(list);
    if (std::find(names.begin(), names.end(), of) != names.end() || is_broken("/bodies")) return;
    complain(pointer, in_quotes(quantity.name) + " needs a " + noun + " of a body, \"BODY." +
                          (noun == "constraint" ? "NAME" : "COORDINATE") + "\", got " + in_quotes(of) +
                          (names.empty() ? "; no body has " + noun + "s" : suggest(of, names)));
  }
  /// Names such as "pendulum.rod" of one kind in all bodies.
  std::vector<std::string> formula_names(std::vector<std::string> FormulaNames::*list) const {
    std::vector<std::string> names;
    for (const auto& [name, body] : bodies_)
      if (const BodyType* kind = kind_of(*body); kind != nullptr && kind->formula_names != nullptr) {
        const FormulaNames own = kind->formula_names(*body);
        for (const std::string& word : own.*list) names.push_back(name + "." + word);
      }
    if (list != &FormulaNames::constraints) return names;
    for (const json& group : list_of(model_, "switching")) {
      std::size_t most = 0;
      for (const json& mode : list_of(group, "modes")) most = std::max(most, list_of(mode, "constraints").size());
      for (std::size_t row = 1; row <= most; ++row)
        names.push_back(text_of(group, "name") + ".switching." + std::to_string(row));
    }
    return names;
  }

  /// Names such as "hinge.upper" of the stops of all joints.
  std::vector<std::string> stop_names() const {
    std::vector<std::string> names;
    for (const json& joint : list_of(model_, "joints"))
      for (const auto& [key, prefix] : {std::pair("stops", "."), std::pair("angle_stops", ".angle_")}) {
        if (!joint.is_object() || !joint.contains(key) || !joint[key].is_object()) continue;
        for (const char* limit : {"lower", "upper"})
          if (joint[key].contains(limit)) names.push_back(text_of(joint, "name") + prefix + limit);
      }
    return names;
  }

  /// Checks that a name belongs to an entry of a list or is one of `more`.
  void check_member(const std::string& pointer, const std::string& name, const std::string& noun, const char* list,
                    const std::vector<std::string>& more = {}) {
    std::vector<std::string> names = names_of(list_of(model_, list));
    names.insert(names.end(), more.begin(), more.end());
    if (std::find(names.begin(), names.end(), name) == names.end() && !is_broken("/" + noun + "s"))
      complain(pointer, "no " + noun + " named " + in_quotes(name) +
                            (names.empty() ? "; the model has no " + noun + "s" : suggest(name, names)));
  }

  ModelIssues& issues_;
  const json& model_;
  std::map<std::string, const json*> bodies_;
  std::vector<std::string> materials_, sections_, ground_;
  std::vector<std::string> body_names_;  // names of bodies_; filled on first use
};

}  // namespace

void check_references(const json& model, const std::vector<FoundReference>& references,
                      const std::set<std::string>& parameters, const DefinedNames& used, ModelIssues& issues) {
  References second_pass(model, issues);
  for (const FoundReference& reference : references) second_pass.check(reference);
  second_pass.check_bodies();
  second_pass.check_materials_and_files();
  second_pass.check_joints();
  second_pass.check_probes();
  second_pass.check_expectations();

  // an unused material may have been meant by a wrong name or by a body that could not be read
  const bool bodies_are_right = std::none_of(issues.begin(), issues.end(), [](const ModelIssue& issue) {
    return issue.pointer.empty() || issue.pointer.starts_with("/bod");
  });
  second_pass.check_unused(parameters, used, bodies_are_right);
}

}  // namespace carom
