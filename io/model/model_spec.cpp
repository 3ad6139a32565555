#include "io/model/model_spec.hpp"

#include <cstdint>
#include <utility>

#include "io/model/quantities.hpp"
#include "io/model/reference_target.hpp"
#include "io/model/sections.hpp"
#include "io/model/switching_builder.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

json zero3() { return json::array({0, 0, 0}); }

// ---- Materials

Node materials_spec() {
  std::vector<Variant> variants;
  for (const MaterialType& kind : material_types()) {
    std::vector<Key> keys = {required("name", name().like("steel"), "name of the material")};
    for (Key& key : kind.keys()) keys.push_back(std::move(key));
    variants.emplace_back(kind.type, kind.help, std::move(keys));
  }
  return list("materials", tagged("material", std::move(variants)));
}

// ---- Springs, joints, loads

/// Two different points, not both on the ground.
Node two_points() {
  return list("points", reference("point", Target::point_or_ground))
      .of_length({2})
      .like({"arm.end", "rod.start"})
      .with([](const json& of, std::string&) -> std::string {
        return of[0] == of[1] ? "expected two different points, got " + brief(of[0]) + " twice" : "";
      });
}

Node ground_spec() {
  return list(
      "points",
      object("point", {required("name", name().like("wall"), "name of the point: referred to as \"ground.NAME\""),
                       required("at", vector3("length"), "place")}));
}

Node springs_spec() {
  return list(
      "springs",
      object("spring",
             {
                 required("name", name().like("spring"), "name of the spring"),
                 required("of", two_points(), "the points it connects; \"ground.NAME\" is a point of the ground"),
                 preset("stiffness", number("stiffness").at_least(0), 0, "force per change of length"),
                 preset("damping", number("damping").at_least(0), 0, "force per rate of the length"),
                 optional("natural_length", number("length").at_least(0),
                          "length without force (default: the initial distance of its points)"),
             })
          .at_least_one({{"stiffness"}, {"damping"}}));
}

Node joints_spec() {
  const std::vector<Key> shared = {
      required("name", name().like("joint"), "name of the joint"),
      required("of", two_points(),
               "the points it connects; \"ground\" is the ground where the other point starts, \"ground.NAME\" one of "
               "its points; a group of a solid's nodes, \"block.top\", is held as one rigid frame at its centre"),
      optional("relative_orientation", orientation_spec(),
               "orientation of the second body relative to the first one where the joint fits; directions are then "
               "given in the axes of the first body (default: the joint fits the start, and directions are given in "
               "the axes of the model)"),
  };
  std::vector<Variant> variants;
  for (const JointType& kind : joint_types()) {
    std::vector<Key> keys = shared;
    for (Key& key : kind.keys()) keys.push_back(std::move(key));
    variants.emplace_back(kind.type, kind.help, std::move(keys));
  }
  return list("joints", tagged("joint", std::move(variants)));
}

Node loads_spec() {
  const Key load_name = required("name", name().like("pull"), "name of the load");
  const Key frame =
      preset("frame", choice({{"inertial", "axes of the model"}, {"body", "axes of the body, following its rotation"}}),
             "inertial", "the axes of its components");
  const Key line_frame =
      preset("frame", choice({{"inertial", "axes of the model"}, {"body", "axes of each section, following it"}}),
             "inertial", "the axes of its components");
  const auto components = [](const std::string& quantity) {
    return list("components", time_function(quantity)).of_length({3}).like({0, 0, "10*sin(20*t)"});
  };
  return list(
      "loads",
      tagged(
          "load",
          {
              {"force",
               "a force at a point, or spread over a set of points",
               {load_name,
                required(
                    "on", reference("point or group", Target::point_or_points),
                    "the point it acts at, or what it is spread over evenly: a group of a solid (\"block.top\") by "
                    "area, length or volume, all nodes of a solid, bar or beam (\"arm.nodes\")"),
                required("value", components("force"), "its components as functions of time; over a group their total"),
                frame}},
              {"pressure",
               "a pressure on faces of a solid",
               {load_name,
                required("on", reference("group of faces", Target::point_or_points).like("block.top"),
                         "the group of faces"),
                required("value", time_function("pressure"), "the pressure as a function of time, positive inwards"),
                preset("follows", boolean(), true,
                       "whether it stays normal to the deformed faces and grows with their area; otherwise it keeps "
                       "the forces of the undeformed ones")}},
              {"torque",
               "a free torque",
               {load_name,
                required("on", reference("point", Target::rotating_point), "the body or node of a beam it acts on"),
                required("value", components("torque"), "its components as functions of time"), frame}},
              {"line_force",
               "a force distributed evenly along a beam",
               {load_name, required("on", reference("beam", Target::beam), "the beam it acts on"),
                required("value", components("force per length"), "its components as functions of time"), line_frame}},
              {"line_torque",
               "a torque distributed evenly along a beam",
               {load_name, required("on", reference("beam", Target::beam), "the beam it acts on"),
                required("value", components("torque per length"), "its components as functions of time"), line_frame}},
          }));
}

// ---- Bodies and contacts

/// Limits the size of a model to reasonable memory and time.
std::string check_size(const json& bodies, std::string& where) {
  constexpr std::int64_t most = 1000000;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const json& body = bodies[i];
    const bool is_box = body.contains("mesh") && body["mesh"].contains("divisions");
    if (is_box) {
      std::int64_t product = 1;
      for (const json& n : body["mesh"]["divisions"]) product *= n.get<std::int64_t>();
      elements += product;
    } else if (body.contains("elements")) {
      elements += body["elements"].get<std::int64_t>();
    }
    if (elements <= most) continue;
    where = "/" + std::to_string(i) + (is_box ? "/mesh/divisions" : "/elements");
    return "expected at most " + std::to_string(most) + " elements in all bodies, got " + std::to_string(elements) +
           " up to this one";
  }
  return {};
}

Node bodies_spec() {
  std::vector<Variant> variants;
  for (const BodyType& kind : body_types()) variants.emplace_back(kind.type, kind.help, kind.keys());
  return list("bodies", tagged("body", std::move(variants))).nonempty().with(check_size);
}

Node motion_spec() {
  const Node rotation =
      object("rotation", {required("axis", nonzero_vector3("number"), "axis, of any length"),
                          required("angle", time_function("angle"), "angle as a function of time"),
                          preset("about", vector3("length"), json::array({0, 0, 0}), "a point on the axis")});
  return object("motion", {optional("translation", list("components", time_function("length")).of_length({3}),
                                    "displacement as functions of time"),
                           optional("rotation", rotation, "rotation as a function of time, before the translation")})
      .at_least_one({{"translation"}, {"rotation"}});
}

Node obstacle_spec() {
  std::vector<Variant> variants;
  for (const ObstacleType& kind : obstacle_types()) {
    std::vector<Key> keys = kind.keys();
    keys.push_back(optional("motion", motion_spec(), "prescribed motion (default: at rest)"));
    keys.push_back(optional("surface_velocity", list("components", time_function("velocity")).of_length({3}),
                            "velocity of the surface over the obstacle, of a conveyor belt: its tangential part drags "
                            "what touches with friction; in axes of the obstacle"));
    variants.emplace_back(kind.type, kind.help, std::move(keys));
  }
  return tagged("obstacle", std::move(variants));
}

Node contacts_spec() {
  return list(
      "contacts",
      object(
          "contact",
          {
              required("name", name().like("floor"), "name of the contact"),
              optional(
                  "on",
                  one_or_list("points", reference("point or body", Target::point_or_points)).unique().like("arm.end"),
                  "what touches the obstacle: points, all nodes of a bar (\"arm.nodes\"), or a body: the vertices "
                  "of its box or mesh (\"box.vertices\"), the rims of its cylinder (\"wheel.rims\", 24 points "
                  "each: what rolls on a rim loses energy at every point), its sphere, or else its centre "
                  "(\"box.center\")"),
              optional("between", list("bodies", reference("sphere", Target::sphere)).at_least_items(2).unique(),
                       "spheres that touch each other, in all pairs; with more than 20 of them rows belong to pairs "
                       "that are near"),
              optional("radius", number("length").at_least(0),
                       "distance to the obstacle at which each point of \"on\" touches it (default: the radius of a "
                       "body's sphere, otherwise 0)"),
              preset("restitution", number().at_least(0).at_most(1), 0,
                     "Newton's coefficient: velocity after over velocity before the impact"),
              preset("friction", number().at_least(0), 0,
                     "Coulomb's coefficient: largest tangential over normal force; methods for smooth motion, "
                     "\"event_driven\", \"paoli_schatzman\" and \"carpenter\" take none"),
              preset("tangential_restitution", number().at_least(0).at_most(1), 0,
                     "the same of slip velocities, as far as friction is able to turn them round"),
              preset("rolling_resistance", number("length").at_least(0), 0,
                     "largest moment against rolling over the normal force, of spheres with friction"),
              preset(
                  "pivoting_resistance", number("length").at_least(0), 0,
                  "largest moment against pivoting about the normal over the normal force, of spheres with friction"),
              optional("obstacle", obstacle_spec(), "what is touched"),
          })
          .exactly_one({{"on", "obstacle"}, {"between"}})
          .needs("radius", "on"));
}

// ---- Integrator

Node integrator_spec() {
  std::vector<Variant> variants;
  for (const IntegratorType& kind : integrator_types()) variants.emplace_back(kind.type, kind.help, kind.keys());
  return tagged("integrator", std::move(variants));
}

// ---- Output

Node quantity_choice() {
  std::vector<Word> words;
  for (const Quantity& q : quantities()) {
    words.push_back({q.name, q.help});
    for (const std::string& component : component_words(q.components))
      words.push_back({q.name + "." + component, "component " + component});
  }
  Node node = choice(std::move(words));
  node.what = "quantity";
  return node;
}

Node output_spec() {
  const Node vtu = object("picture series",
                          {
                              preset("enabled", boolean(), true, "whether it is written"),
                              optional("every", integer().at_least(1), "steps from one picture to the next"),
                              optional("interval", number("time").above(0),
                                       "time from one picture to the next (neither given: about 200 pictures)"),
                          })
                       .at_most_one({{"every"}, {"interval"}});
  const Node probe =
      object("probe",
             {
                 required("name", name().like("tip"), "name of its column; of a vector .x, .y and .z are appended"),
                 optional("of", reference("point, body, contact or joint", Target::probed),
                          "what is observed; nothing for quantities of the whole model"),
                 required("quantity", quantity_choice(), "what is recorded"),
                 optional("every", integer().at_least(1),
                          "steps from one value to the next (default: probes_every); cells between are empty"),
             })
          .with([](const json& value, std::string& where) -> std::string {
            if (value["name"] != "t") return {};
            where = "/name";
            return "expected another name than \"t\", the column of time";
          });
  const Node events = object("list of events", {preset("enabled", boolean(), true, "whether it is written")});
  const Node energy =
      object("energy ledger",
             {
                 preset("enabled", boolean(), true, "whether it is kept and written"),
                 optional("every", integer().at_least(1), "steps from one row to the next (default: about 1000 rows)"),
             });
  const Node checkpoint = object(
      "checkpoint setting",
      {
          preset("enabled", boolean(), true, "whether checkpoints are written, at the end too"),
          optional("every", integer().at_least(1), "steps from one checkpoint to the next"),
          preset("wall_interval", number("time").above(0), 60, "wall time from one checkpoint to the next, in seconds"),
          preset("keep", integer().at_least(1), 2, "how many of the newest are kept"),
      });
  return object(
      "output",
      {
          preset("vtu", vtu, json::object(), "pictures for ParaView"),
          preset("events", events, json::object(), "impacts and releases: events.csv"),
          preset("energy", energy, json::object(), "where the energy goes: energy.csv"),
          preset("checkpoint", checkpoint, json::object(), "what a restart needs"),
          preset("probes", list("probes", probe).like({{{"name", "tip"}, {"of", "arm.end"}, {"quantity", "position"}}}),
                 json::array(), "columns of probes.csv"),
          preset("probes_every", integer().at_least(1), 1, "steps from one row to the next"),
          preset("units", choice({{"SI", "in brackets, as in \"tip.z [m]\""}, {"none", "names alone"}}), "SI",
                 "units in the heads of CSV tables; \"none\" for a model in another system of units"),
      });
}

Node expect_spec() {
  return list(
      "expectations",
      object(
          "expectation",
          {
              required("probe", string().like("tip.z"), "a column of probes.csv, as in \"x.z\" of a vector"),
              required("value", number(), "what it should be"),
              required("tolerance", number().at_least(0).like(0.01), "how far it may be off"),
              optional(
                  "time", number("time"),
                  "when (default: at the end of the model's duration, also with --until); between steps interpolated"),
          }));
}

Node until_spec() {
  const auto keys = [](std::vector<Key> own) {
    own.push_back(preset("for", number("time").at_least(0), 0,
                         "how long it must hold without a break: what turns round has no kinetic energy for a moment"));
    own.push_back(optional("after", number("time"), "time before which it does not count"));
    return own;
  };
  return list(
      "end criteria",
      tagged("end criterion",
             {{"kinetic_energy", "the kinetic energy is small",
               keys({required("below", number("energy").above(0).like(1e-6), "bound of the kinetic energy")})},
              {"inertial_impulse",
               "what a viscous term does in a step is small beside the impulses of the contacts: the model rests, "
               "whatever its damping",
               keys({required("below", number().above(0).like(1e-3), "bound of their ratio"),
                     required("damping", number().above(0), "rate c of the model's viscous term -c M v, 1/s")})},
              {"formula", "a formula of probes and t is not zero",
               keys({required("probes", list("probes", variable_name("name of a probe")).unique().like({"z"}),
                              "probes of one column that the formula names"),
                     required("formula",
                              formula("condition",
                                      [](const json& owner) -> std::optional<std::vector<std::string>> {
                                        if (!owner.contains("probes") || !owner["probes"].is_array()) return {};
                                        std::vector<std::string> names;
                                        for (const json& probe : owner["probes"]) {
                                          if (!probe.is_string()) return {};
                                          const std::string name = probe.get<std::string>();
                                          if (!is_variable_name(name) || std::ranges::find(names, name) != names.end())
                                            return {};
                                          names.push_back(name);
                                        }
                                        names.emplace_back("t");
                                        return names;
                                      })
                                  .like("z < 0.1 && t > 1"),
                              "such as \"abs(v) < 1e-3 && t > 1\"")})}}));
}

// ---- The model

Node whole_model() {
  const Node scales =
      object("set of scales", {optional("length", number("length").above(0), "a typical length (default: computed)"),
                               optional("speed", number("velocity").above(0), "a typical speed (default: computed)"),
                               optional("mass", number("mass").above(0), "a typical mass (default: computed)")});
  const Node initial_state =
      object("initial state",
             {preset("project",
                     choice({{"none", "positions and velocities are taken as they are given"},
                             {"velocities",
                              "velocities are changed as little as possible, in the metric of the mass "
                              "matrix, so that the joints keep their rates"},
                             {"positions",
                              "bodies are moved as little as possible, in the same metric, so that the "
                              "joints fit and no contact penetrates"},
                             {"all", "positions, then velocities"}})
                         .like("all"),
                     "none", "what of the start is made to fit the joints"),
              preset("equilibrium", boolean(), false,
                     "whether a run begins in static equilibrium: with the loads, joints and contacts as they "
                     "are at its beginning, found from the given positions; velocities are as given")});
  return object(
      "model",
      {
          optional("$schema", string().like("carom.schema.json"), "address of the JSON Schema, for editors"),
          required("format", integer().at_least(1).at_most(1), "version of the file format"),
          optional("title", string().like("A pendulum"), "a line for people"),
          optional("parameters", parameters(),
                   "numbers by name, for \"=formula\" values and formulas of t; reserved are t, pi, e and the names of "
                   "functions"),
          optional("inserted_parameters", parameters(),
                   "numbers that \"=formula\" values have used: run.json lists them for programs that read it, "
                   "and a run ignores them"),
          preset("gravity", vector3("acceleration").like({0, 0, -9.81}), zero3(), "acceleration of gravity"),
          optional("scales", scales, "what tolerances are relative to"),
          preset("materials", materials_spec(), json::array(), "materials of flexible bodies"),
          preset("sections", sections_spec(), json::array(), "cross sections of bars and beams"),
          required("bodies", bodies_spec(), "what moves"),
          preset("ground", ground_spec(), json::array(), "named points of the ground, for springs and joints"),
          preset("springs", springs_spec(), json::array(), "springs and dampers between two points"),
          preset("joints", joints_spec(), json::array(), "what holds points together"),
          preset("switching", switching_spec(), json::array(), "joints that hold in some modes only"),
          preset("loads", loads_spec(), json::array(), "prescribed forces and torques"),
          preset("contacts", contacts_spec(), json::array(), "what can touch what"),
          preset("initial_state", initial_state, json::object(), "how the start is made consistent"),
          required("integrator", integrator_spec(), "the method, its step and the simulated time"),
          preset("output", output_spec(), json::object(), "what is written"),
          preset("until", until_spec(), json::array(),
                 "criteria that end the run before the end of its duration, as completed"),
          preset("expect", expect_spec(), json::array(),
                 "what the run should find: if it does not, it ends with exit code 6"),
      });
}

}  // namespace

Key mass_matrix(const std::string& consistent, const std::string& lumped) {
  return preset("mass", choice({{"consistent", consistent}, {"lumped", lumped}}), "consistent",
                "the mass matrix; `cd_lagrange`, `paoli_schatzman` and the explicit `carpenter` always take `lumped`");
}

Key body_name() { return required("name", name().like("arm"), "name of the body"); }

const std::vector<Word>& translation_words() {
  static const std::vector<Word> words = {
      {"x", "translation along x"}, {"y", "translation along y"}, {"z", "translation along z"}};
  return words;
}

const Node& model_spec() {
  static const Node node = whole_model();
  return node;
}

}  // namespace carom
