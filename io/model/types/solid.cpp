// Solids: keys, meshes, nodes, elements and groups.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/lie/so3.hpp"
#include "elements/solid/solid.hpp"
#include "io/mesh/gmsh_mesh.hpp"
#include "io/mesh/mesh.hpp"
#include "io/model/fixed_points.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/tolerant_json.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

// ---- keys

Node mesh_spec() {
  return tagged(
      "mesh",
      {
          {"box",
           "a box of equal hexahedra, centred at the origin; its sides are the groups \"left\", \"right\" (x), "
           "\"front\", \"back\" (y), \"bottom\", \"top\" (z)",
           {required("size", list("lengths", number("length").above(0)).of_length({3}), "edge lengths"),
            required(
                "divisions",
                list("numbers of elements", integer("number of elements").at_least(1).at_most(1000000)).of_length({3}),
                "elements along x, y and z")}},
          {"gmsh",
           "a mesh from Gmsh: .msh, or .geo and .step, which are meshed; its physical groups are the groups",
           {required("file", string("path").with(check_path).like("part.msh"), "the file, relative to the model"),
            optional("volume", string("name of a physical group"),
                     "physical group of volumes whose elements are taken (default: all)"),
            preset("scale", number().above(0), 1, "factor of its coordinates")}},
      });
}

// The types of materials that "law" can name, which take the constants of a linear elastic one.
std::vector<Word> law_words() {
  std::vector<Word> words;
  for (const char* type : {"saint_venant_kirchhoff", "corotational", "neo_hookean"})
    words.push_back({type, find_material_type(type)->help});
  return words;
}

Node solid_spec() {
  const Node damping = object(
      "damping", {preset("mass", number("rate").at_least(0), 0, "factor of the mass matrix: resistance to any motion"),
                  preset("stiffness", number("time").at_least(0), 0,
                         "factor of the stiffness: viscous stress, in proportion to the rate of strain")});
  return object(
      "solid",
      {
          body_name(),
          required("material", reference("material", Target::material), "name of its material"),
          required("mesh", mesh_spec(), "its elements and groups"),
          optional("law", choice(law_words()),
                   "another way to name the law of a \"linear_elastic\" material, whose default is "
                   "\"saint_venant_kirchhoff\"; all agree for small strains"),
          preset("locking",
                 choice({{"none", "plain trilinear hexahedra: too stiff in bending and near poisson = 0.5"},
                         {"incompatible_modes",
                          "hexahedra that bend: three incompatible modes each, at about three "
                          "times the cost"}}),
                 "none", "what is done about locking; tetrahedra are always plain"),
          mass_matrix("from the shape functions", "its row sums, at the nodes"),
          preset("damping", damping, json::object(), "damping of Rayleigh's kind"),
          preset("position", vector3("length"), json::array({0, 0, 0}), "initial place of the mesh's origin"),
          optional("orientation", orientation_spec(), "initial rotation of the mesh about its origin (default: none)"),
          preset("velocity", vector3("velocity"), json::array({0, 0, 0}), "initial velocity of the mesh's origin"),
          preset("angular_velocity", vector3("angular velocity"), json::array({0, 0, 0}),
                 "initial angular velocity, in the axes of the mesh"),
          fixed_points(false),
      });
}

// ---- references

// Numbers of elements and nodes, if the model determines them.
std::optional<std::int64_t> box_count(const json& body, std::int64_t more) {
  if (!body.contains("mesh") || text_of(body["mesh"], "type") != "box") return std::nullopt;
  const json& divisions = list_of(body["mesh"], "divisions");
  if (divisions.size() != 3) return std::nullopt;
  std::int64_t product = 1;
  for (const json& n : divisions) {
    if (!n.is_number_integer() || n.get<std::int64_t>() < 1 || n.get<std::int64_t>() > 1000000) return std::nullopt;
    product *= n.get<std::int64_t>() + more;
  }
  return product;
}

std::string solid_point_error(const json& body, const std::string* point, PointUse use) {
  const std::string name = text_of(body, "name");
  const bool several = use == PointUse::several,
             is_box = body.contains("mesh") && text_of(body["mesh"], "type") == "box";
  if (use == PointUse::element) {
    const std::string message =
        "body " + in_quotes(name) + " has no element " + in_quotes(point == nullptr ? "" : *point);
    if (point == nullptr)
      return in_quotes(name) + " is a solid: expected one of its elements, " + in_quotes(name + ".element.0") +
             " and so on";
    return is_numbered(*point, "element") ? number_error(*point, "element", box_count(body, 0), message)
                                          : message + "; its elements are \"element.0\" and so on";
  }
  if (point == nullptr)
    return in_quotes(name) + " is a solid: expected " +
           (several ? "all its nodes, " + in_quotes(name + ".nodes") + ", a group of them as in " +
                          in_quotes(name + ".bottom") + ", or one, " + in_quotes(name + ".node.0") + " and so on"
                    : "one of its nodes, " + in_quotes(name + ".node.0") + " and so on");
  const bool is_group = std::find(box_groups().begin(), box_groups().end(), *point) != box_groups().end();
  if (*point == "nodes" || *point == "surface" || (is_box && is_group))
    return several ? "" : "expected one point, got " + in_quotes(name + "." + *point) + ", which is several";
  const std::string message = "body " + in_quotes(name) + " has no point " + in_quotes(*point);
  if (is_numbered(*point, "node")) return number_error(*point, "node", box_count(body, 1), message);
  if (!is_box) return {};  // only the file can tell
  std::vector<std::string> words = {"node.0"};
  if (several) {
    words.insert(words.end(), {"nodes", "surface"});
    words.insert(words.end(), box_groups().begin(), box_groups().end());
  }
  return message + suggestion(*point, words);
}

// The law of a body belongs to a material that leaves it open.
std::vector<Problem> law_problems(const json& body, const json*, const json* material) {
  const MaterialType* type = material == nullptr ? nullptr : find_material_type(text_of(*material, "type"));
  if (type == nullptr || is_linear_elastic(*type) || !body.contains("law")) return {};
  return {{"/law", "expected no law: the material " + in_quotes(text_of(*material, "name")) + " is of type " +
                       in_quotes(type->type) + ", which is one"}};
}

// ---- building

Mesh read_mesh(BuildContext& context, const json& mesh, const std::string& pointer) {
  if (text(mesh["type"]) == "gmsh") {
    const std::filesystem::path file = context.file(text(mesh["file"]), pointer + "/file");
    const double scale = mesh["scale"].get<double>();
    const auto volume = mesh.contains("volume") ? std::optional(text(mesh["volume"])) : std::nullopt;
    try {
      return read_gmsh(file, volume, scale);
    } catch (const UnknownVolume& e) {
      context.error(pointer + "/volume", e.what());
    } catch (const std::runtime_error& e) {
      context.error(pointer + "/file", e.what());
    }
    return {};
  }
  const json& n = mesh["divisions"];
  return box_mesh(vec3(mesh["size"]), {n[0].get<int>(), n[1].get<int>(), n[2].get<int>()});
}

void add_nodes(BuildContext& context, const json& body, const Mesh& mesh, BodyInfo& info) {
  const Mat3 R = so3::quaternion_to_matrix(orientation(body));
  const Vec3 x = vec3(body["position"]), v = vec3(body["velocity"]), Omega = vec3(body["angular_velocity"]);
  for (std::size_t k = 0; k < mesh.nodes.size(); ++k) {
    const Vec3 place = x + R * mesh.nodes[k], velocity = v + R * Omega.cross(mesh.nodes[k]);
    info.nodes.push_back(
        context.add_node(NodeKind::point, {place.data(), 3}, info.name + ".node." + std::to_string(k), velocity));
  }
  info.add_node_set(volume_shares(mesh));
  for (const auto& [name, group] : mesh.groups) {
    for (const MeshFace& face : group.faces) {
      std::array<int, 4> nodes{-1, -1, -1, -1};
      for (std::size_t k = 0; k < static_cast<std::size_t>(face.count()); ++k)
        nodes[k] = info.nodes[static_cast<std::size_t>(face.nodes[k])];
      info.faces[name].push_back(nodes);
    }
    PointSet& set = info.sets[name];
    set.shares = group.shares;
    for (const int k : group.nodes) {
      set.points.push_back({info.nodes[static_cast<std::size_t>(k)], Vec3::Zero()});
      set.labels.push_back("node." + std::to_string(k));
    }
  }
}

struct SolidMaterial {
  SolidLaw law;
  double density;
};

template <class Elements>
void add_elements(BuildContext& context, SolidShape shape, const Elements& elements,
                  const std::vector<std::string>& names, const SolidMaterial& material, const SolidOptions& options,
                  BodyInfo& info) {
  if (elements.empty()) return;
  SolidMesh mesh;
  mesh.shape = shape;
  const std::size_t first_cell = info.mesh.cell_count();
  for (std::size_t e = 0; e < elements.size(); ++e) {
    for (const int k : elements[e]) {
      const int node = info.nodes[static_cast<std::size_t>(k)];
      mesh.nodes.push_back(node);
      mesh.reference.push_back(context.initial_place({node, Vec3::Zero()}));
    }
    mesh.names.push_back(info.name + ".element." + std::to_string(first_cell + e) +
                         (e < names.size() ? " (" + names[e] + " of the mesh)" : ""));
    info.mesh.add_cell(shape == SolidShape::hexahedra ? CellType::hexahedron : CellType::tetrahedron, elements[e]);
  }
  auto block = material.law(info.name, std::move(mesh), material.density, options);
  for (std::size_t e = 0; e < elements.size(); ++e)
    context.total_mass += material.density * block->volume(static_cast<int>(e));
  info.elements.push_back(
      {&context.model.system.add(std::move(block)), {0, static_cast<int>(elements.size())}, first_cell, 1});
}

void build_solid(BuildContext& context, const BodySource& source) {
  const json& body = *source.json;
  BodyInfo& info = *source.info;
  Mesh mesh = read_mesh(context, body["mesh"], source.pointer + "/mesh");
  if (mesh.nodes.empty()) return;  // the reason has been reported
  if (const std::string bad = bad_elements(mesh); !bad.empty()) {
    context.error(source.pointer + "/mesh", "expected elements with a volume, got: " + bad);
    return;
  }
  add_surface(mesh);
  add_nodes(context, body, mesh, info);
  fix_points(context, source);

  const json& m = context.material(text(body["material"]));
  const SolidMaterial material{find_material_type(text(body.contains("law") ? body["law"] : m["type"]))->law(m),
                               m["density"].get<double>()};
  SolidOptions options;
  options.incompatible_modes = text(body["locking"]) == "incompatible_modes";
  // a method's lumped mass matrix is that of the damping, too
  const bool lumped = text(body["mass"]) == "lumped" || context.model.system.lumped_mass();
  options.mass = lumped ? MassKind::lumped : MassKind::consistent;
  options.mass_damping = body["damping"]["mass"].get<double>();
  options.stiffness_damping = body["damping"]["stiffness"].get<double>();

  // the drawn mesh is the mesh itself
  info.mesh.points.assign(info.nodes.size(), Vec3::Zero());
  info.mesh_nodes = info.nodes;
  add_elements(context, SolidShape::hexahedra, mesh.hexahedra, mesh.hexahedron_names, material, options, info);
  add_elements(context, SolidShape::tetrahedra, mesh.tetrahedra, mesh.tetrahedron_names, material, options, info);

  Vec3 low = mesh.nodes.front(), high = low;
  for (const Vec3& x : mesh.nodes) {
    low = low.cwiseMin(x);
    high = high.cwiseMax(x);
  }
  context.size = std::max(context.size, (high - low).maxCoeff());
  const double noise = info.elements.front().block->roundoff_force(context.size);
  if (!std::isfinite(noise) || !std::isfinite(context.total_mass))
    context.error(source.pointer,
                  "the stiffness or the mass of this solid is not a finite number: see its size and material");
}

void build_solids(BuildContext& context, const std::vector<BodySource>& bodies) {
  for (const BodySource& body : bodies) build_solid(context, body);
}

}  // namespace

BodyType solid_type() {
  return {.type = "solid",
          .help = "a solid of hexahedra and tetrahedra",
          .rotates = false,
          .keys = solid_spec,
          .build = build_solids,
          .point_error = solid_point_error,
          .sets_in_joints = true,
          .fields = solid_fields,
          .takes_material = [](const MaterialType& type) { return type.law != nullptr; },
          .problems = law_problems,
          .option_references =
              [](const json& body) {
                std::vector<std::string> keys;
                if (text(body["locking"]) == "incompatible_modes") keys.emplace_back("taylor_1976");
                if (text(body["mesh"]["type"]) == "gmsh") keys.emplace_back("geuzaine_remacle_2009");
                return keys;
              }};
}

}  // namespace carom
