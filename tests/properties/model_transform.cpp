#include "tests/properties/model_transform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <string_view>

#include "io/model/model_spec.hpp"
#include "io/schema/spec.hpp"

namespace carom::properties {

using nlohmann::json;
using spec::Node;

namespace {

// ---- units

// The factor of a product of units and their powers, "kg m^2".
double factor_of_product(std::string_view product, const Units& u) {
  double factor = 1;
  while (!product.empty()) {
    const std::size_t end = std::min(product.find(' '), product.size());
    std::string_view word = product.substr(0, end);
    product.remove_prefix(std::min(end + 1, product.size()));
    double power = 1;
    if (const std::size_t hat = word.find('^'); hat != std::string_view::npos) {
      power = std::stod(std::string(word.substr(hat + 1)));
      word = word.substr(0, hat);
    }
    const double newton = u.mass * u.length / (u.time * u.time);
    double base = 0;
    if (word == "m") base = u.length;
    if (word == "kg") base = u.mass;
    if (word == "s") base = u.time;
    if (word == "N") base = newton;
    if (word == "Pa") base = newton / (u.length * u.length);
    if (word == "rad") base = 1;
    if (base == 0) throw std::invalid_argument("no factor is known of the unit " + std::string(word));
    factor *= std::pow(base, power);
  }
  return factor;
}

double factor_of(const std::string& quantity, const Units& u) {
  if (quantity == "rate") return 1 / u.time;  // has no entry in unit_of()
  const std::string unit = spec::unit_of(quantity);
  const std::size_t slash = unit.find('/');
  if (slash == std::string::npos) return factor_of_product(unit, u);
  return factor_of_product(std::string_view(unit).substr(0, slash), u) /
         factor_of_product(std::string_view(unit).substr(slash + 1), u);
}

json scaled(const json& value, double factor) {
  if (!value.is_array()) return value.get<double>() * factor;
  json result = json::array();
  for (const json& x : value) result.push_back(scaled(x, factor));
  return result;
}

// factor f(t/time): the formula keeps its own units.
json scaled_function(const json& value, double factor, double time) {
  if (value.is_number()) return value.get<double>() * factor;
  if (value.is_string()) {
    static const std::regex t("\\bt\\b");
    const std::string inner = std::regex_replace(value.get<std::string>(), t, fmt::format("(t*{:.17g})", 1 / time));
    return fmt::format("{:.17g}*({})", factor, inner);
  }
  json table = value;
  table["times"] = scaled(value["times"], time);
  table["values"] = scaled(value["values"], factor);
  return table;
}

// Section matrices hold entries of several units, which their rows and columns give: forces with strains and moments
// with curvatures, or momenta with velocities and angular velocities.
json section_matrix(const json& matrix, double unit, double length) {
  json result = json::array();
  for (std::size_t i = 0; i < 6; ++i) {
    json row = json::array();
    for (std::size_t j = 0; j < 6; ++j)
      row.push_back(matrix[i][j].get<double>() * unit * (i < 3 ? 1 : length) * (j < 3 ? 1 : length));
    result.push_back(row);
  }
  return result;
}

json convert(const Node& node, const json& value, const Units& u) {
  switch (node.kind) {
    case spec::Kind::number:
      return value.get<double>() * factor_of(node.what, u);
    case spec::Kind::time_function:
      return scaled_function(value, factor_of(node.what, u), u.time);
    case spec::Kind::list:
    case spec::Kind::one_or_list: {
      if (!value.is_array()) return convert(node.item.front(), value, u);
      json result = json::array();
      for (const json& x : value) result.push_back(convert(node.item.front(), x, u));
      return result;
    }
    case spec::Kind::object:
    case spec::Kind::tagged: {
      const Node* object = &node;
      if (node.kind == spec::Kind::tagged) object = &node.find_variant(value["type"].get<std::string>())->object;
      json result = json::object();
      for (const auto& [name, x] : value.items()) {
        const spec::Key* key = object->find(name);
        result[name] = key == nullptr ? x : convert(key->value, x, u);
      }
      return result;
    }
    default:
      return value;
  }
}

// ---- place in space

json array_of(const Vec3& x) { return json::array({x[0], x[1], x[2]}); }
Vec3 vector_of(const json& x) { return {x[0].get<double>(), x[1].get<double>(), x[2].get<double>()}; }

class Mover {
 public:
  explicit Mover(const Placement& placement) : placement_(placement), Q_(placement.Q()) {}

  void direction(json& object, const char* key) const {
    if (object.contains(key)) object[key] = array_of(Q_ * vector_of(object[key]));
  }
  void place(json& object, const char* key) const {
    if (object.contains(key)) object[key] = array_of(Q_ * vector_of(object[key]) + placement_.shift);
  }
  void orientation(json& object) const {
    const Quaternion q = so3::quaternion_product(placement_.turn, given_orientation(object));
    object["orientation"] = {{"quaternion", json::array({q[0], q[1], q[2], q[3]})}};
  }
  // Components that are functions of time: formulas are added, a table must stand alone.
  void functions(json& components) const {
    json result = json::array();
    for (int i = 0; i < 3; ++i) {
      std::string sum;
      double constant = 0;
      json table;
      for (int j = 0; j < 3; ++j) {
        const json& f = components[static_cast<std::size_t>(j)];
        if (f.is_object()) {
          table = f;
          table["values"] = scaled(f["values"], Q_(i, j));
        }
        if (f.is_number()) constant += Q_(i, j) * f.get<double>();
        if (f.is_string()) sum += fmt::format("{:+.17g}*({})", Q_(i, j), f.get<std::string>());
      }
      if (!table.is_null() && (constant != 0 || !sum.empty()))
        throw std::invalid_argument("a table beside other components");
      if (!table.is_null())
        result.push_back(table);
      else if (!sum.empty())
        result.push_back(fmt::format("{:.17g}{}", constant, sum));
      else
        result.push_back(constant);
    }
    components = result;
  }

  void body(json& b) const {
    const std::string type = b["type"].get<std::string>();
    place(b, "position");
    direction(b, "velocity");
    for (const json& fixed : b.value("fixed", json::array()))
      if (fixed.is_string() && fixed.get<std::string>().size() == 1)
        throw std::invalid_argument("fixed along an axis of the model");
    if (type == "rigid" || type == "solid") orientation(b);
    if (type == "bar" && b["kinematics"] == "linear") throw std::invalid_argument("a bar of linear kinematics");
    if (type == "beam") {
      if (b.contains("shape")) throw std::invalid_argument("a beam of given shape");
      direction(b, "angular_velocity");
      if (!b.contains("orientation")) b["orientation"] = array_of(default_section_axis(b));
      direction(b, "orientation");
    }
    place(b, "from");
    place(b, "to");
  }
  void obstacle(json& o) const {
    place(o, "point");
    place(o, "center");
    direction(o, "normal");
    direction(o, "axis");
    if (!o.contains("motion")) return;
    json& motion = o["motion"];
    if (motion.contains("translation")) functions(motion["translation"]);
    if (motion.contains("rotation")) {
      direction(motion["rotation"], "axis");
      place(motion["rotation"], "about");
    }
  }

 private:
  static Quaternion given_orientation(const json& object) {
    if (!object.contains("orientation")) return {1, 0, 0, 0};
    const json& o = object["orientation"];
    if (o.contains("quaternion")) {
      const json& q = o["quaternion"];
      return Quaternion(q[0].get<double>(), q[1].get<double>(), q[2].get<double>(), q[3].get<double>()).normalized();
    }
    if (o.contains("rotation_vector")) return so3::exp_quaternion(vector_of(o["rotation_vector"]));
    return so3::exp_quaternion(Vec3(vector_of(o["axis"]).normalized() * o["angle"].get<double>()));
  }
  // The specification's words: horizontal, or y where the beam starts along z.
  static Vec3 default_section_axis(const json& beam) {
    const Vec3 tangent = (vector_of(beam["to"]) - vector_of(beam["from"])).normalized();
    const Vec3 across = Vec3::UnitZ().cross(tangent);
    return across.norm() < 1e-6 ? Vec3(Vec3::UnitY()) : across;
  }

  Placement placement_;
  Mat3 Q_;
};

}  // namespace

json in_units(const json& model, const Units& units) {
  json result = convert(model_spec(), model, units);
  // what is watched and expected, and the wall time between checkpoints, are no part of the physics
  result.erase("output");
  result.erase("expect");
  const double force = units.mass * units.length / (units.time * units.time);
  for (std::size_t i = 0; i < model["sections"].size(); ++i) {
    const json& section = model["sections"][i];
    if (section["type"] != "general") continue;
    result["sections"][i]["stiffness"] = section_matrix(section["stiffness"], force, units.length);
    result["sections"][i]["mass"] = section_matrix(section["mass"], units.mass / units.length, units.length);
  }
  for (json& body : result["bodies"])
    for (const char* key : {"mesh", "shape"})
      if (body.contains(key) && body[key].is_object() && body[key].contains("file"))
        body[key]["scale"] = body[key]["scale"].get<double>() * units.length;
  return result;
}

json moved(const json& model, const Placement& placement) {
  const Mover mover(placement);
  json result = model;
  result.erase("output");
  result.erase("expect");
  mover.direction(result, "gravity");
  for (json& body : result["bodies"]) mover.body(body);
  for (json& point : result["ground"]) mover.place(point, "at");
  for (json& joint : result["joints"])
    for (const char* key : {"axis", "second_axis", "normal"}) mover.direction(joint, key);
  for (json& load : result["loads"])
    if (load.contains("frame") && load["frame"] == "inertial") mover.functions(load["value"]);
  for (json& contact : result["contacts"])
    if (contact.contains("obstacle")) mover.obstacle(contact["obstacle"]);
  return result;
}

json reversed(const json& model) {
  json result = model;
  result.erase("output");
  result.erase("expect");
  for (const char* key : {"bodies", "springs", "joints", "loads", "contacts"})
    std::reverse(result[key].begin(), result[key].end());
  for (json& contact : result["contacts"])
    for (const char* key : {"on", "between"})
      if (contact.contains(key) && contact[key].is_array()) std::reverse(contact[key].begin(), contact[key].end());
  return result;
}

}  // namespace carom::properties
