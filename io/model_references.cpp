// Second pass over a model: names that must exist, kinds that must fit, things that must be used. Works on documents
// with errors too, and is silent about what the first pass has complained of.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "io/json_source.hpp"
#include "io/model_spec.hpp"

namespace carom {

using nlohmann::json;
using spec::FoundReference;
using spec::suggestion;
using spec::Target;

namespace {

/// A member of an object that is a string; empty otherwise.
std::string text_of(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A list of the model; empty when it is none.
const json& list_of(const json& model, const char* key) {
  static const json empty = json::array();
  if (!model.is_object()) return empty;
  const auto found = model.find(key);
  return found != model.end() && found->is_array() ? *found : empty;
}

std::vector<std::string> names_of(const json& list) {
  std::vector<std::string> names;
  for (const json& item : list) {
    std::string name = text_of(item, "name");
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

bool is_number_word(std::string_view s) {
  return !s.empty() && s.size() < 10 && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class References {
 public:
  explicit References(ModelDocument& document) : document_(document), model_(document.resolved) {
    for (const json& body : list_of(model_, "bodies")) bodies_.emplace(text_of(body, "name"), &body);
    bodies_.erase("");
    bodies_.erase("ground");  // a name that cannot be given
    materials_ = names_of(list_of(model_, "materials"));
    sections_ = names_of(list_of(model_, "sections"));
    ground_ = names_of(list_of(model_, "ground"));
  }

  void check(const FoundReference& reference) {
    switch (reference.target) {
      case Target::material:
        return check_name(reference, "material", materials_, used_materials_);
      case Target::section:
        return check_name(reference, "section", sections_, used_sections_);
      case Target::rigid_body:
        if (const json* body = find_body(reference.pointer, reference.text)) {
          const std::string type = text_of(*body, "type");
          if (type == "bar" || type == "point_mass")
            complain(reference.pointer, "expected the name of a rigid body, got " + in_quotes(reference.text) +
                                            ", which has no rotation (type " + in_quotes(type) + ")");
        }
        return;
      case Target::sphere:
        return check_sphere(reference);
      case Target::point:
        return check_point(reference.pointer, reference.text, false, false);
      case Target::point_or_ground:
        return check_point(reference.pointer, reference.text, true, false);
      case Target::point_or_points:
        return check_point(reference.pointer, reference.text, false, true);
      case Target::node_of_bar:
        return check_own_node(reference);
      case Target::probed:
      case Target::none:
        return;
    }
  }

  /// Names that cannot be given.
  void check_bodies() {
    const json& bodies = list_of(model_, "bodies");
    for (std::size_t i = 0; i < bodies.size(); ++i)
      if (text_of(bodies[i], "name") == "ground")
        complain("/bodies/" + std::to_string(i) + "/name", "\"ground\" is the inertial frame; choose another name");
  }

  /// What joints can connect.
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
        if (bodies.back() == nullptr || text_of(joints[i], "type") != "fixed") continue;
        const std::string type = text_of(*bodies.back(), "type");
        if (type == "bar" || type == "point_mass")
          complain(here + "/" + std::to_string(k),
                   "a fixed joint holds rotations too: expected a point of a rigid body, got " + in_quotes(text) +
                       " of a body of type " + in_quotes(type));
      }
      if (bodies.size() == 2 && bodies[0] != nullptr && bodies[0] == bodies[1] &&
          text_of(*bodies[0], "type") == "rigid")
        complain(here, "expected points of two bodies, got two points of " + in_quotes(text_of(*bodies[0], "name")));
    }
  }

  /// What a quantity is observed of.
  void check_probes() {
    if (!model_.contains("output")) return;
    const json& probes = list_of(model_["output"], "probes");
    for (std::size_t i = 0; i < probes.size(); ++i) {
      const Quantity* quantity = find_quantity(text_of(probes[i], "quantity"));
      if (quantity == nullptr) continue;
      const std::string here = "/output/probes/" + std::to_string(i);
      const bool has_of = probes[i].contains("of");
      const std::string of = text_of(probes[i], "of");
      if (quantity->of == Quantity::Of::nothing) {
        if (has_of)
          complain(here + "/of", in_quotes(quantity->name) + " belongs to the whole model and takes no \"of\"");
        continue;
      }
      if (!has_of) {
        const char* noun = quantity->of == Quantity::Of::contact ? "contact"
                           : quantity->of == Quantity::Of::joint ? "joint"
                                                                 : "point or body";
        complain(here, "missing key \"of\": expected the name of a " + std::string(noun) + " for " +
                           in_quotes(quantity->name));
      } else if (probes[i]["of"].is_string()) {
        check_probed(*quantity, here + "/of", of);
      }
    }
  }

  void check_unused(const std::vector<std::string>& parameters, bool bodies_are_right, bool all_is_right) {
    // A name that was not understood may be the use.
    const auto unused = [&](const char* noun, const std::string& key, const std::set<std::string>& used) {
      const json& list = list_of(model_, key.c_str());
      for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string name = text_of(list[i], "name");
        if (!name.empty() && !used.contains(name))
          complain("/" + key + "/" + std::to_string(i), std::string(noun) + " " + in_quotes(name) + " is not used");
      }
    };
    if (bodies_are_right) {
      unused("material", "materials", used_materials_);
      unused("section", "sections", used_sections_);
    }
    if (!all_is_right) return;
    for (const std::string& name : parameters)
      document_.add_issue_at_key("/parameters/" + name, "parameter " + in_quotes(name) + " is not used");
  }

 private:
  void complain(const std::string& pointer, const std::string& message) { document_.add_issue(pointer, message); }

  /// Whether a whole section could not be read.
  bool is_broken(const std::string& section) const {
    return std::any_of(document_.issues.begin(), document_.issues.end(),
                       [&](const ModelIssue& issue) { return issue.pointer == section; });
  }

  /// A search through all names: nobody reads more than so many.
  std::string suggest(const std::string& given, const std::vector<std::string>& names) const {
    return document_.issues.size() < 100 ? suggestion(given, names) : std::string();
  }

  void check_name(const FoundReference& reference, const std::string& noun, const std::vector<std::string>& names,
                  std::set<std::string>& used) {
    used.insert(reference.text);
    if (std::find(names.begin(), names.end(), reference.text) != names.end() || is_broken("/" + noun + "s")) return;
    complain(reference.pointer,
             "no " + noun + " named " + in_quotes(reference.text) +
                 (names.empty() ? "; the model has no " + noun + "s" : suggest(reference.text, names)));
  }

  const json* find_body(const std::string& pointer, const std::string& name) {
    const auto found = bodies_.find(name);
    if (found != bodies_.end()) return found->second;
    if (bodies_.empty()) return nullptr;  // said already
    if (body_names_.empty())
      for (const auto& [known, body] : bodies_) body_names_.push_back(known);
    complain(pointer, "no body named " + in_quotes(name) + suggest(name, body_names_));
    return nullptr;
  }

  void check_sphere(const FoundReference& reference) {
    const json* body = find_body(reference.pointer, reference.text);
    if (body == nullptr) return;
    const std::string type = text_of(*body, "type");
    bool is_sphere = true;
    if (type == "rigid") is_sphere = body->contains("shape") && text_of((*body)["shape"], "type") == "sphere";
    if (type == "point_mass") is_sphere = !body->contains("radius") || (*body)["radius"] != 0;
    if (type == "bar" || !is_sphere)
      complain(reference.pointer,
               "expected a rigid body with the shape of a sphere or a point mass with a radius > 0, got " +
                   in_quotes(reference.text));
  }

  /// "body", "body.point", "body.node.3", "ground", "ground.point".
  void check_point(const std::string& pointer, const std::string& text, bool ground, bool several) {
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
    const std::string name = text.substr(0, dot);
    const json* body = find_body(pointer, name);
    if (body == nullptr) return;
    const std::string type = text_of(*body, "type");
    const std::string point = dot == std::string::npos ? "" : text.substr(dot + 1);
    if (type == "bar")
      return check_bar_point(pointer, text, *body, dot == std::string::npos ? nullptr : &point, several);
    if (dot == std::string::npos) return;
    if (type == "rigid") return check_rigid_point(pointer, text, *body, point, several);
    if (type == "point_mass")
      complain(pointer, "a point mass has no points: expected " + in_quotes(name) + ", got " + in_quotes(text));
  }

  void check_rigid_point(const std::string& pointer, const std::string& text, const json& body,
                         const std::string& point, bool several) {
    std::vector<std::string> points = names_of(list_of(body, "points"));
    if (std::find(points.begin(), points.end(), "center") == points.end()) points.emplace_back("center");
    // A shape that is not known may be a box.
    const std::string shape = body.contains("shape") ? text_of(body["shape"], "type") : "none";
    const bool is_box = shape != "none" && shape != "sphere" && shape != "cylinder" && shape != "mesh";
    if (point == "vertices" && is_box) {
      if (!several) complain(pointer, "expected one point, got " + in_quotes(text) + ", which is several");
      return;
    }
    if (several && is_box) points.emplace_back("vertices");
    if (std::find(points.begin(), points.end(), point) == points.end())
      complain(pointer, "body " + in_quotes(text_of(body, "name")) + " has no point " + in_quotes(point) +
                            suggestion(point, points));
  }

  void check_bar_point(const std::string& pointer, const std::string& text, const json& body, const std::string* point,
                       bool several) {
    const std::string name = text_of(body, "name");
    if (point == nullptr) {
      complain(pointer, in_quotes(text) + " is a bar: expected one of its points, " + in_quotes(name + ".start") +
                            ", " + in_quotes(name + ".end") + " or " + in_quotes(name + ".node.0") + " and so on" +
                            (several ? ", or all of them, " + in_quotes(name + ".nodes") : ""));
      return;
    }
    if (*point == "nodes") {
      if (!several) complain(pointer, "expected one point, got " + in_quotes(text) + ", which is several");
      return;
    }
    const std::string message = node_message(body, *point, several);
    if (!message.empty()) complain(pointer, message);
  }

  /// What is wrong with "start", "end" or "node.3" of a bar; empty when nothing is.
  static std::string node_message(const json& body, const std::string& point, bool several) {
    if (point == "start" || point == "end") return {};
    std::string message = "body " + in_quotes(text_of(body, "name")) + " has no point " + in_quotes(point);
    if (!point.starts_with("node.") || !is_number_word(std::string_view(point).substr(5))) {
      std::vector<std::string> words = {"start", "end", "node.0"};
      if (several) words.emplace_back("nodes");
      const std::string nearest = suggestion(point, words);
      if (nearest.starts_with("; did") || !body.contains("elements") || !body["elements"].is_number_integer())
        return message + nearest;
      return message + "; its points are \"start\", \"end\" and \"node.0\" to \"node." + body["elements"].dump() +
             "\"" + (several ? ", all of them \"nodes\"" : "");
    }
    if (!body.contains("elements") || !body["elements"].is_number_integer()) return {};
    const auto last = body["elements"].get<std::int64_t>();
    if (std::stol(point.substr(5)) <= last || last < 1) return {};
    return message + "; its nodes are node.0 to node." + std::to_string(last);
  }

  /// A bar's own node: the pointer is /bodies/I/fixed/K.
  void check_own_node(const FoundReference& reference) {
    const json::json_pointer body_pointer(reference.pointer.substr(0, reference.pointer.find('/', 8)));
    const std::string message = node_message(model_.at(body_pointer), reference.text, false);
    if (!message.empty()) complain(reference.pointer, message);
  }

  void check_probed(const Quantity& quantity, const std::string& pointer, const std::string& of) {
    switch (quantity.of) {
      case Quantity::Of::point:
        return check_point(pointer, of, false, false);
      case Quantity::Of::rotating_point: {
        const auto body = bodies_.find(of.substr(0, of.find('.')));
        const std::string type = body == bodies_.end() ? "" : text_of(*body->second, "type");
        if (type == "bar" || type == "point_mass")
          complain(pointer, in_quotes(quantity.name) + " needs a rigid body, got " + in_quotes(of) + " of type " +
                                in_quotes(type));
        else
          check_point(pointer, of, false, false);
        return;
      }
      case Quantity::Of::joint:
        return check_member(pointer, of, "joint", "joints");
      case Quantity::Of::contact: {
        // "floor" or "floor[3]".
        const std::size_t bracket = of.find('[');
        if (bracket != std::string::npos && (!of.ends_with(']') || !is_number_word(std::string_view(of).substr(
                                                                       bracket + 1, of.size() - bracket - 2)))) {
          complain(pointer,
                   "expected the name of a contact, or of one of its points as in \"floor[3]\", got " + in_quotes(of));
          return;
        }
        const std::vector<std::string> stops = stop_names();
        if (std::find(stops.begin(), stops.end(), of) != stops.end()) return;
        return check_member(pointer, of.substr(0, bracket), "contact", "contacts");
      }
      case Quantity::Of::nothing:
        return;
    }
  }

  /// "hinge.upper" of a joint with stops.
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

  void check_member(const std::string& pointer, const std::string& name, const std::string& noun, const char* list) {
    const std::vector<std::string> names = names_of(list_of(model_, list));
    if (std::find(names.begin(), names.end(), name) == names.end() && !is_broken("/" + noun + "s"))
      complain(pointer, "no " + noun + " named " + in_quotes(name) +
                            (names.empty() ? "; the model has no " + noun + "s" : suggest(name, names)));
  }

  ModelDocument& document_;
  const json& model_;
  std::map<std::string, const json*> bodies_;
  std::vector<std::string> materials_, sections_, ground_;
  std::vector<std::string> body_names_;  // of bodies_, once needed
  std::set<std::string> used_materials_, used_sections_;
};

}  // namespace

void check_references(ModelDocument& document, const std::vector<FoundReference>& references,
                      const std::vector<std::string>& unused_parameters) {
  References second_pass(document);
  const bool all_is_right = document.ok();
  for (const FoundReference& reference : references) second_pass.check(reference);
  second_pass.check_bodies();
  second_pass.check_joints();
  second_pass.check_probes();

  // A material that nothing uses may be the one that a wrong name or an unread body meant.
  const bool bodies_are_right =
      std::none_of(document.issues.begin(), document.issues.end(),
                   [](const ModelIssue& issue) { return issue.pointer.empty() || issue.pointer.starts_with("/bod"); });
  second_pass.check_unused(unused_parameters, bodies_are_right, all_is_right);
}

}  // namespace carom
