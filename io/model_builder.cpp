// From the resolved model document to System, State and settings.

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>

#include "contact/point_contact.hpp"
#include "contact/sphere_contact.hpp"
#include "core/errors.hpp"
#include "core/vector_ops.hpp"
#include "elements/bar.hpp"
#include "elements/joint.hpp"
#include "elements/load.hpp"
#include "elements/point_mass.hpp"
#include "elements/rigid_body.hpp"
#include "elements/spring_damper.hpp"
#include "io/model.hpp"

namespace carom {

using nlohmann::json;

namespace {

Vec3 vec3(const json& v) { return {v[0].get<double>(), v[1].get<double>(), v[2].get<double>()}; }
std::string text(const json& v) { return v.get<std::string>(); }

Mat3 inertia_from(const json& v) {
  Mat3 J = vec3(v).asDiagonal();
  if (v.size() == 6) {
    J(0, 1) = J(1, 0) = v[3].get<double>();
    J(0, 2) = J(2, 0) = v[4].get<double>();
    J(1, 2) = J(2, 1) = v[5].get<double>();
  }
  return J;
}

Quaternion orientation_from(const json& body) {
  if (!body.contains("orientation")) return {1, 0, 0, 0};
  const json& o = body["orientation"];
  if (o.contains("quaternion")) {
    const json& q = o["quaternion"];
    return Quaternion(q[0].get<double>(), q[1].get<double>(), q[2].get<double>(), q[3].get<double>()).normalized();
  }
  if (o.contains("rotation_vector")) return so3::exp_quaternion(vec3(o["rotation_vector"]));
  return so3::exp_quaternion(Vec3(o["angle"].get<double>() * vec3(o["axis"]).normalized()));
}

// Mass per unit density, inertia per unit mass, and surface of a shape.
struct ShapeData {
  SurfaceMesh mesh;
  double volume = 0;
  Mat3 inertia = Mat3::Zero();
  Vec3 center = Vec3::Zero();
};

class Builder {
 public:
  Builder(ModelDocument& document, int threads) : document_(document), root_(document.resolved) {
    model_ = std::make_unique<Model>();
    model_->system.set_threads(threads);
  }

  std::unique_ptr<Model> build() {
    for (const json& p : root_["ground"]) model_->ground_points[text(p["name"])] = vec3(p["at"]);
    read_bodies();
    read_springs();
    read_joints();
    read_loads();
    read_contacts();
    if (!document_.ok()) return nullptr;

    System& system = model_->system;
    system.set_gravity(vec3(root_["gravity"]));
    system.finalize();
    initial_state();
    collect_rows();
    read_settings();
    if (document_.ok()) remarks();
    return document_.ok() ? std::move(model_) : nullptr;
  }

 private:
  void error(const std::string& pointer, const std::string& message) { document_.add_issue(pointer, message); }

  TimeFunction time_function(const json& v, const std::string& pointer) {
    try {
      if (v.is_number()) return TimeFunction::constant(v.get<double>());
      if (v.is_string()) return TimeFunction::formula(text(v), document_.parameters());
      return TimeFunction::table(
          v["times"].get<std::vector<double>>(), v["values"].get<std::vector<double>>(),
          text(v["interpolation"]) == "cubic" ? Interpolation::cubic_natural : Interpolation::linear);
    } catch (const std::runtime_error& e) {
      error(pointer, e.what());
      return {};
    }
  }
  std::array<TimeFunction, 3> time_functions(const json& v, const std::string& pointer) {
    return {time_function(v[0], pointer + "/0"), time_function(v[1], pointer + "/1"),
            time_function(v[2], pointer + "/2")};
  }

  // ---- bodies

  void read_bodies() {
    const json& bodies = root_["bodies"];
    std::vector<RigidBody> rigid;
    std::vector<PointMass> masses;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const json& body = bodies[i];
      const std::string pointer = "/bodies/" + std::to_string(i), type = text(body["type"]);
      BodyInfo info;
      info.name = text(body["name"]);
      info.type = type;
      if (type == "rigid") rigid.push_back(read_rigid(body, pointer, info));
      if (type == "point_mass") masses.push_back(read_point_mass(body, info));
      if (type == "bar") read_bar(body, pointer, info);
      model_->bodies.push_back(std::move(info));
    }
    if (!rigid.empty()) model_->system.add(std::make_unique<RigidBodyBlock>("rigid bodies", std::move(rigid)));
    if (!masses.empty()) model_->system.add(std::make_unique<PointMassBlock>("point masses", masses));
  }

  int add_node(NodeKind kind, std::span<const double> q, const std::string& name, const Vec3& v, const Vec3& Omega) {
    velocities_.push_back({v, Omega});
    return model_->system.add_node(kind, q, name);
  }

  ShapeData read_shape(const json& shape, const std::string& pointer, BodyInfo& info) {
    ShapeData data;
    const std::string type = text(shape["type"]);
    if (type == "box") {
      const Vec3 a = vec3(shape["size"]), s = a.cwiseProduct(a) / 12;
      info.box = a;
      data.mesh = make_box(a);
      data.volume = a.prod();
      data.inertia = Vec3(s[1] + s[2], s[0] + s[2], s[0] + s[1]).asDiagonal();
    } else if (type == "sphere") {
      const double r = shape["radius"].get<double>();
      info.radius = r;
      data.mesh = make_sphere(r);
      data.volume = 4.0 / 3.0 * M_PI * r * r * r;
      data.inertia = 0.4 * r * r * Mat3::Identity();
    } else if (type == "cylinder") {
      const double r = shape["radius"].get<double>(), l = shape["length"].get<double>();
      const int axis = text(shape["axis"])[0] - 'x';
      data.mesh = make_cylinder(r, l, static_cast<Axis>(axis));
      data.volume = M_PI * r * r * l;
      Vec3 J = Vec3::Constant(r * r / 4 + l * l / 12);
      J[axis] = r * r / 2;
      data.inertia = J.asDiagonal();
    } else {
      const std::filesystem::path file = std::filesystem::path(document_.file).parent_path() / text(shape["file"]);
      try {
        data.mesh = read_stl(file, shape["scale"].get<double>());
        if (needs_mass_properties_) {
          const MassProperties p = mass_properties(data.mesh, 1.0);
          data.volume = p.volume;
          data.inertia = p.inertia / p.mass;
          data.center = p.center;
        }
      } catch (const std::runtime_error& e) {
        error(pointer + "/file", e.what());
      }
    }
    return data;
  }

  RigidBody read_rigid(const json& body, const std::string& pointer, BodyInfo& info) {
    ShapeData shape;
    needs_mass_properties_ = body.contains("density") || !body.contains("inertia");
    if (body.contains("shape")) shape = read_shape(body["shape"], pointer + "/shape", info);

    RigidBody rigid;
    rigid.mass = body.contains("mass") ? body["mass"].get<double>() : body["density"].get<double>() * shape.volume;
    rigid.inertia = body.contains("inertia") ? inertia_from(body["inertia"]) : Mat3(rigid.mass * shape.inertia);
    // the frame stands at the centre of mass: a mesh is moved there
    for (Vec3& p : shape.mesh.points) p -= shape.center;
    info.mesh = std::move(shape.mesh);

    const Vec3 x = vec3(body["position"]);
    const Quaternion p = orientation_from(body);
    const double q[7] = {x[0], x[1], x[2], p[0], p[1], p[2], p[3]};
    rigid.node = add_node(NodeKind::frame, q, info.name, vec3(body["velocity"]), vec3(body["angular_velocity"]));
    info.nodes = {rigid.node};
    for (const json& point : body["points"]) info.points[text(point["name"])] = vec3(point["at"]);
    for (const json& fixed : body["fixed"]) {
      const std::string word = text(fixed);
      const auto fix = [&](int first, int last) {
        for (int c = first; c < last; ++c) model_->system.fix(rigid.node, c);
      };
      if (word == "translation")
        fix(0, 3);
      else if (word == "rotation")
        fix(3, 6);
      else
        fix(word[0] - 'x', word[0] - 'x' + 1);
    }
    const bool rotates = model_->system.dofs().equation(rigid.node, 3) >= 0;
    if (rotates && rigid.mass > 0 && rigid.inertia.isZero(0) && info.points.empty())
      error(pointer + (body.contains("inertia") ? "/inertia" : ""),
            "expected an inertia that is not zero: nothing else resists the rotation of this body");
    total_mass_ += rigid.mass;
    size_ = std::max(size_, extent(info));
    return rigid;
  }

  static double extent(const BodyInfo& info) {
    double largest = info.radius;
    for (const Vec3& p : info.mesh.points) largest = std::max(largest, p.norm());
    for (const auto& [name, p] : info.points) largest = std::max(largest, p.norm());
    return largest;
  }

  PointMass read_point_mass(const json& body, BodyInfo& info) {
    const Vec3 x = vec3(body["position"]);
    PointMass mass{0, body["mass"].get<double>()};
    mass.node = add_node(NodeKind::point, {x.data(), 3}, info.name, vec3(body["velocity"]), Vec3::Zero());
    info.nodes = {mass.node};
    info.radius = body["radius"].get<double>();
    if (info.radius > 0) info.mesh = make_sphere(info.radius);
    for (const json& fixed : body["fixed"]) model_->system.fix(mass.node, text(fixed)[0] - 'x');
    total_mass_ += mass.mass;
    size_ = std::max(size_, info.radius);
    return mass;
  }

  double section_area(const std::string& name) const {
    for (const json& s : root_["sections"]) {
      if (s["name"] != name) continue;
      const std::string type = text(s["type"]);
      const auto number = [&](const char* key) { return s[key].get<double>(); };
      if (type == "rectangle") return number("width") * number("height");
      if (type == "circle") return M_PI * number("radius") * number("radius");
      if (type == "tube")
        return M_PI *
               (number("outer_radius") * number("outer_radius") - number("inner_radius") * number("inner_radius"));
      return number("area");
    }
    return 0;
  }

  void read_bar(const json& body, const std::string& pointer, BodyInfo& info) {
    const Vec3 from = vec3(body["from"]), to = vec3(body["to"]), v = vec3(body["velocity"]);
    const int elements = body["elements"].get<int>();
    const json* material = nullptr;
    for (const json& m : root_["materials"])
      if (m["name"] == body["material"]) material = &m;
    const double area = section_area(text(body["section"]));
    const double density = (*material)["density"].get<double>() * area;
    const bool linear = text(body["kinematics"]) == "linear";
    const MassKind mass = text(body["mass"]) == "lumped" ? MassKind::lumped : MassKind::consistent;

    // a linear bar lies along a coordinate axis: the only component its nodes have
    int axis = -1;
    for (int c = 0; c < 3; ++c)
      if (from[(c + 1) % 3] == to[(c + 1) % 3] && from[(c + 2) % 3] == to[(c + 2) % 3]) axis = c;
    if (linear && axis < 0) {
      error(pointer + "/to",
            "expected a bar along x, y or z, since its kinematics are linear (one degree of freedom "
            "per node); use \"nonlinear\" for other directions");
      return;
    }
    if (linear)
      for (int c = 0; c < 3; ++c)
        if (c != axis && v[c] != 0)
          error(pointer + "/velocity", "expected a velocity along the bar, since its kinematics are linear");

    for (int k = 0; k <= elements; ++k) {
      const Vec3 x = from + (to - from) * (static_cast<double>(k) / elements);
      const int node =
          add_node(NodeKind::point, {x.data(), 3}, info.name + ".node." + std::to_string(k), v, Vec3::Zero());
      info.nodes.push_back(node);
      if (linear)
        for (int c = 0; c < 3; ++c)
          if (c != axis) model_->system.fix(node, c);
    }
    for (const json& fixed : body["fixed"]) {
      const std::optional<int> k = bar_node(text(fixed), elements);
      if (k)
        for (int c = 0; c < 3; ++c) model_->system.fix(info.nodes[static_cast<std::size_t>(*k)], c);
    }
    const double length = (to - from).norm() / elements;
    std::vector<Bar> bars;
    for (std::size_t k = 0; k + 1 < info.nodes.size(); ++k)
      bars.push_back({info.nodes[k], info.nodes[k + 1], linear ? (to - from)[axis] / elements : length,
                      (*material)["young"].get<double>() * area, density});
    if (linear)
      info.elements = &model_->system.add(std::make_unique<LinearBarBlock>(info.name, bars, axis, mass));
    else
      info.elements = &model_->system.add(std::make_unique<BarBlock>(info.name, std::move(bars), mass));
    total_mass_ += density * (to - from).norm();
    size_ = std::max(size_, (to - from).norm());
  }

  static std::optional<int> bar_node(const std::string& point, int elements) {
    if (point == "start") return 0;
    if (point == "end") return elements;
    if (point.starts_with("node.")) {
      const int k = std::atoi(point.c_str() + 5);
      if (k >= 0 && k <= elements) return k;
    }
    return std::nullopt;
  }

  // ---- springs, joints, loads

  AttachedPoint point(const json& reference, const std::string& pointer) {
    if (const auto p = model_->find_point(text(reference))) return *p;
    error(pointer, "no point named \"" + text(reference) + "\"");
    return {};
  }
  bool is_frame(const AttachedPoint& p) const {
    return p.node >= 0 && model_->system.dofs().kind(p.node) == NodeKind::frame;
  }
  Vec3 initial_place(const AttachedPoint& p) const { return model_->place(p, model_->system.initial_configuration()); }
  Mat3 initial_rotation(const AttachedPoint& p) const {
    if (!is_frame(p)) return Mat3::Identity();
    const double* q =
        model_->system.initial_configuration().data() + model_->system.dofs().configuration_offset(p.node);
    return so3::quaternion_to_matrix(Quaternion(q[3], q[4], q[5], q[6]));
  }

  void read_springs() {
    std::vector<SpringDamper> springs;
    const json& list = root_["springs"];
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string pointer = "/springs/" + std::to_string(i);
      const AttachedPoint a = point(list[i]["of"][0], pointer + "/of/0"),
                          b = point(list[i]["of"][1], pointer + "/of/1");
      SpringDamper s;
      s.node_a = a.node;
      s.node_b = b.node;
      s.offset_a = a.offset;
      s.offset_b = b.offset;
      s.stiffness = list[i]["stiffness"].get<double>();
      s.damping = list[i]["damping"].get<double>();
      const double distance = (initial_place(b) - initial_place(a)).norm();
      s.natural_length = list[i].contains("natural_length") ? list[i]["natural_length"].get<double>() : distance;
      if (distance == 0 && (s.natural_length > 0 || s.damping > 0))
        error(pointer + "/of", "expected two points apart at the start: the direction of the spring is undefined");
      springs.push_back(s);
    }
    if (!springs.empty()) model_->system.add(std::make_unique<SpringDamperBlock>("springs", std::move(springs)));
  }

  void read_joints() {
    std::vector<Coincidence> linear, rotating;
    std::vector<Orthogonality> parallel;
    const json& list = root_["joints"];
    for (std::size_t i = 0; i < list.size(); ++i) {
      const json& joint = list[i];
      const std::string pointer = "/joints/" + std::to_string(i), type = text(joint["type"]),
                        name = text(joint["name"]);
      AttachedPoint a = point(joint["of"][0], pointer + "/of/0"), b = point(joint["of"][1], pointer + "/of/1");
      const bool frames = (is_frame(a) || a.node < 0) && (is_frame(b) || b.node < 0);
      if (a.node == b.node) {
        error(pointer + "/of", "expected points of two different bodies");
        continue;
      }
      if (type == "fixed" && !frames)
        error(pointer + "/of",
              "expected two rigid bodies (or one and the ground), since a fixed joint holds rotations; "
              "use \"spherical\" or \"rigid_link\" for point masses and bars");

      // bare "ground" is where the other point is; a rigid link spans the distance of its points
      const Vec3 x_a = initial_place(a), x_b = initial_place(b);
      if (a.node < 0 && text(joint["of"][0]) == "ground")
        a.offset = x_b;
      else if (b.node < 0 && text(joint["of"][1]) == "ground")
        b.offset = x_a;
      else if (type == "rigid_link") {
        if (is_frame(a))
          a.offset += initial_rotation(a).transpose() * (x_b - x_a);
        else if (is_frame(b))
          b.offset += initial_rotation(b).transpose() * (x_a - x_b);
        else
          a.offset += x_b - x_a;
      }
      Coincidence c;
      c.name = name;
      c.node_a = a.node;
      c.node_b = b.node;
      c.offset_a = a.offset;
      c.offset_b = b.offset;
      JointItems items{name, b, {}, {}, {}};
      if (is_frame(a) || is_frame(b)) {
        items.rotating = static_cast<int>(rotating.size());
        rotating.push_back(c);
      } else {
        items.linear = static_cast<int>(linear.size());
        linear.push_back(c);
      }
      if (type != "spherical" && frames) {
        items.parallel = static_cast<int>(parallel.size());
        for (Orthogonality& o : parallel_frames(a.node, initial_rotation(a), b.node, initial_rotation(b))) {
          o.name = name;
          parallel.push_back(std::move(o));
        }
      }
      joints_.push_back(std::move(items));
    }
    System& system = model_->system;
    if (!linear.empty()) linear_ = &system.add(std::make_unique<CoincidenceBlock>("joints", std::move(linear), false));
    if (!rotating.empty())
      rotating_ = &system.add(std::make_unique<CoincidenceBlock>("joints", std::move(rotating), true));
    if (!parallel.empty()) parallel_ = &system.add(std::make_unique<OrthogonalityBlock>("joints", std::move(parallel)));
  }

  void read_loads() {
    std::vector<Load> on_frames, on_points;
    const json& list = root_["loads"];
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string pointer = "/loads/" + std::to_string(i);
      const AttachedPoint p = point(list[i]["on"], pointer + "/on");
      Load load;
      load.kind = text(list[i]["type"]) == "torque" ? Load::Kind::torque : Load::Kind::force;
      load.node = p.node;
      load.offset = p.offset;
      load.body_axes = text(list[i]["frame"]) == "body";
      load.value = time_functions(list[i]["value"], pointer + "/value");
      if (load.body_axes && !is_frame(p))
        error(pointer + "/frame", "expected \"inertial\": a point without rotation has no axes of its own");
      (is_frame(p) ? on_frames : on_points).push_back(std::move(load));
    }
    System& system = model_->system;
    if (!on_frames.empty()) system.add(std::make_unique<LoadBlock>("loads", std::move(on_frames), true));
    if (!on_points.empty()) system.add(std::make_unique<LoadBlock>("loads", std::move(on_points), false));
  }

  // ---- contacts

  struct TouchingPoint {
    AttachedPoint at;
    double radius;
    std::string label;
  };

  // A point, all nodes of a bar, the vertices of a box, or a body: its sphere or its centre.
  std::vector<TouchingPoint> touching_points(const std::string& reference, const std::string& pointer) {
    const std::size_t dot = reference.find('.');
    const BodyInfo* body = model_->find_body(reference.substr(0, dot));
    const std::string part = dot == std::string::npos ? "" : reference.substr(dot + 1);
    std::vector<TouchingPoint> points;
    if (body != nullptr && part == "nodes") {
      for (std::size_t k = 0; k < body->nodes.size(); ++k)
        points.push_back({{body->nodes[k], Vec3::Zero()}, 0, body->name + ".node." + std::to_string(k)});
    } else if (body != nullptr && part == "vertices") {
      if (!body->box) {
        error(pointer, "expected a box, since only boxes offer \"vertices\"; \"" + body->name + "\" is none");
        return points;
      }
      for (int v = 0; v < 8; ++v) {
        const Vec3 sign((v & 1) != 0 ? 0.5 : -0.5, (v & 2) != 0 ? 0.5 : -0.5, (v & 4) != 0 ? 0.5 : -0.5);
        points.push_back(
            {{body->nodes[0], sign.cwiseProduct(*body->box)}, 0, body->name + ".vertex." + std::to_string(v)});
      }
    } else if (const auto p = model_->find_point(reference)) {
      points.push_back({*p, body != nullptr && part.empty() ? body->radius : 0.0, reference});
    } else {
      error(pointer, "no point named \"" + reference + "\"");
    }
    return points;
  }

  std::shared_ptr<const PrescribedMotion> read_motion(const json& obstacle, const std::string& pointer) {
    if (!obstacle.contains("motion")) return nullptr;
    const json& m = obstacle["motion"];
    auto motion = std::make_shared<PrescribedMotion>();
    if (m.contains("translation"))
      motion->translation = time_functions(m["translation"], pointer + "/motion/translation");
    if (m.contains("rotation")) {
      motion->axis = vec3(m["rotation"]["axis"]).normalized();
      motion->angle = time_function(m["rotation"]["angle"], pointer + "/motion/rotation/angle");
      motion->about = vec3(m["rotation"]["about"]);
    }
    return motion;
  }

  struct Surface {
    std::shared_ptr<const Obstacle> obstacle;
    std::string suffix;
  };

  // One obstacle of the file is one surface, but a closed container has a mantle and two lids.
  std::vector<Surface> read_obstacle(const json& o, SurfaceMesh& mesh) {
    const std::string type = text(o["type"]);
    if (type == "plane") {
      const Vec3 p = vec3(o["point"]), n = vec3(o["normal"]);
      mesh = make_plane_patch(p, n.normalized(), o.contains("draw_size") ? o["draw_size"].get<double>() : 4 * size_);
      return {{make_plane(p, n), ""}};
    }
    const Vec3 c = vec3(o["center"]);
    const double r = o["radius"].get<double>();
    const bool inside = text(o["side"]) == "inside";
    if (type == "sphere") {
      mesh = make_sphere(r, 36);
      for (Vec3& p : mesh.points) p += c;
      return {{make_sphere(c, r, inside), ""}};
    }
    const Vec3 axis = vec3(o["axis"]).normalized();
    const double length = o.contains("length") ? o["length"].get<double>() : 0;
    const double drawn = length > 0 ? length : o.contains("draw_size") ? o["draw_size"].get<double>() : 4 * size_;
    mesh = make_cylinder(r, drawn, Axis::z, 36, length > 0 && !inside);
    const Mat3 R = Eigen::Quaterniond::FromTwoVectors(Vec3::UnitZ(), axis).toRotationMatrix();
    for (Vec3& p : mesh.points) p = c + R * p;
    std::vector<Surface> surfaces = {{make_cylinder(c, axis, r, length, inside), ""}};
    if (inside && length > 0) {
      surfaces[0].suffix = ".mantle";
      surfaces.push_back({make_plane(c - 0.5 * length * axis, axis), ".bottom"});
      surfaces.push_back({make_plane(c + 0.5 * length * axis, -axis), ".top"});
    }
    return surfaces;
  }

  void read_contacts() {
    const json& list = root_["contacts"];
    for (std::size_t i = 0; i < list.size(); ++i) {
      const json& contact = list[i];
      const std::string pointer = "/contacts/" + std::to_string(i), name = text(contact["name"]);
      const double e = contact["restitution"].get<double>();
      if (contact.contains("between"))
        read_sphere_contact(contact, pointer, name, e);
      else
        read_obstacle_contact(contact, pointer, name, e);
    }
  }

  void read_sphere_contact(const json& contact, const std::string& pointer, const std::string& name, double e) {
    std::vector<SpherePair> pairs;
    const json& between = contact["between"];
    for (std::size_t i = 0; i < between.size(); ++i) {
      const BodyInfo* a = model_->find_body(text(between[i]));
      if (a == nullptr || !(a->radius > 0)) {
        error(pointer + "/between/" + std::to_string(i),
              "expected a body with the shape of a sphere, or a point mass with a radius > 0");
        continue;
      }
      for (std::size_t k = i + 1; k < between.size(); ++k) {
        const BodyInfo* b = model_->find_body(text(between[k]));
        if (b == nullptr || !(b->radius > 0)) continue;
        SpherePair pair;
        pair.name = name + (between.size() > 2 ? "[" + a->name + "," + b->name + "]" : "");
        pair.node_a = a->nodes[0];
        pair.node_b = b->nodes[0];
        pair.radius_a = a->radius;
        pair.radius_b = b->radius;
        pair.restitution = e;
        model_->thinnest_obstacle = std::min(model_->thinnest_obstacle, 2 * std::min(a->radius, b->radius));
        pairs.push_back(std::move(pair));
      }
    }
    if (pairs.empty()) return;
    contacts_.push_back({name, {&model_->system.add(std::make_unique<SphereContactBlock>(name, std::move(pairs)))}});
  }

  void read_obstacle_contact(const json& contact, const std::string& pointer, const std::string& name, double e) {
    std::vector<ContactPoint> on_frames, on_points;
    std::vector<TouchingPoint> touching;
    const json& on = contact["on"];
    for (std::size_t i = 0; i < on.size(); ++i)
      for (TouchingPoint& p : touching_points(text(on[i]), pointer + "/on/" + std::to_string(i)))
        touching.push_back(std::move(p));
    for (const TouchingPoint& p : touching) {
      ContactPoint c;
      c.name = touching.size() > 1 ? name + "[" + p.label + "]" : name;
      c.node = p.at.node;
      c.offset = p.at.offset;
      c.radius = contact.contains("radius") ? contact["radius"].get<double>() : p.radius;
      c.restitution = e;
      (is_frame(p.at) ? on_frames : on_points).push_back(std::move(c));
    }
    ObstacleInfo info;
    info.contact = name;
    const json& o = contact["obstacle"];
    info.motion = read_motion(o, pointer + "/obstacle");
    if (!document_.ok()) return;
    ContactGroup group{name, {}};
    for (const Surface& surface : read_obstacle(o, info.mesh)) {
      model_->thinnest_obstacle = std::min(model_->thinnest_obstacle, surface.obstacle->thickness());
      for (const bool rotating : {true, false}) {
        std::vector<ContactPoint> points = rotating ? on_frames : on_points;
        if (points.empty()) continue;
        for (ContactPoint& p : points) p.name += surface.suffix;
        group.blocks.push_back(&model_->system.add(
            std::make_unique<PointContactBlock>(name, std::move(points), surface.obstacle, info.motion, rotating)));
      }
    }
    contacts_.push_back(std::move(group));
    model_->obstacles.push_back(std::move(info));
  }

  // ---- after finalize

  void initial_state() {
    const System& system = model_->system;
    model_->state.q = system.initial_configuration();
    model_->state.v.assign(static_cast<std::size_t>(system.size()), 0.0);
    for (int node = 0; node < system.dofs().nodes(); ++node) {
      const auto& [v, Omega] = velocities_[static_cast<std::size_t>(node)];
      for (int c = 0; c < 6; ++c) {
        const int e = system.dofs().equation(node, c);
        if (e >= 0) model_->state.v[static_cast<std::size_t>(e)] = c < 3 ? v[c] : Omega[c - 3];
      }
    }
    model_->state.t = root_["integrator"]["start_time"].get<double>();
  }

  int first_row(const ConstraintBlock* block) const {
    const auto& blocks = model_->system.constraints();
    for (std::size_t b = 0; b < blocks.size(); ++b)
      if (blocks[b].get() == block) return model_->system.first_row(static_cast<int>(b));
    return -1;
  }

  void collect_rows() {
    const auto add = [&](RowGroup& group, const ConstraintBlock* block, int item, int rows) {
      for (int r = 0; r < rows; ++r) group.rows.push_back(first_row(block) + item + r);
    };
    for (const JointItems& j : joints_) {
      RowGroup group{j.name, {}, false, j.point};
      if (j.linear) add(group, linear_, 3 * *j.linear, 3);
      if (j.rotating) add(group, rotating_, 3 * *j.rotating, 3);
      if (j.parallel) add(group, parallel_, *j.parallel, 3);
      model_->joints.push_back(std::move(group));
    }
    for (const ContactGroup& c : contacts_) {
      RowGroup group{c.name, {}, true, {}};
      for (const ConstraintBlock* block : c.blocks) add(group, block, 0, block->topology().items);
      model_->contacts.push_back(std::move(group));
    }
  }

  void read_settings() {
    const json& in = root_["integrator"];
    SimulationOptions& simulation = model_->simulation;
    simulation.step = in["step"].get<double>();
    simulation.duration = in["duration"].get<double>();
    simulation.max_subdivisions = in["max_subdivisions"].get<int>();
    if (simulation.duration / simulation.step > 1e15)
      error("/integrator/step", "expected a step that is not so small: more than 1e15 steps would be needed");

    NsgaOptions& options = model_->integrator;
    options.rho_infinity = in["rho_infinity"].get<double>();
    options.force_corrections = in["force_corrections"].get<bool>();
    options.penalty = in["penalty"].get<double>();
    options.initial_acceleration =
        text(in["initial_acceleration"]) == "shifted" ? InitialAcceleration::shifted : InitialAcceleration::consistent;
    const json& newton = in["newton"];
    options.newton.method = text(newton["method"]) == "modified" ? NewtonMethod::modified : NewtonMethod::full;
    options.newton.max_iterations = newton["max_iterations"].get<int>();
    options.newton.tolerance = newton["tolerance"].get<double>();
    options.newton.constraint_tolerance = newton["constraint_tolerance"].get<double>();
    options.newton.test = text(newton["test"]) == "paper" ? ConvergenceTest::paper : ConvergenceTest::scaled;
    options.newton.predictor = text(newton["predictor"]) == "zero" ? Predictor::zero : Predictor::previous;
    options.scales = scales();
    const double g = model_->system.gravity().norm();
    const Scales& s = options.scales;
    options.weight = g > 0 && total_mass_ > 0 ? total_mass_ * g : s.mass * s.speed * s.speed / s.length;

    const json& output = root_["output"];
    model_->output.vtu = output["vtu"]["enabled"].get<bool>();
    if (output["vtu"].contains("every")) model_->output.vtu_every = output["vtu"]["every"].get<long>();
    if (output["vtu"].contains("interval")) model_->output.vtu_interval = output["vtu"]["interval"].get<double>();
    const json& probes = output["probes"];
    for (std::size_t i = 0; i < probes.size(); ++i) {
      const json& p = probes[i];
      model_->output.probes.push_back({text(p["name"]), p.contains("of") ? text(p["of"]) : "", text(p["quantity"]),
                                       "/output/probes/" + std::to_string(i),
                                       (p.contains("every") ? p["every"] : output["probes_every"]).get<int>()});
    }
  }

  Scales scales() const {
    const System& system = model_->system;
    const State& state = model_->state;
    Scales scales;
    const json given = root_.contains("scales") ? root_["scales"] : json::object();
    const auto take = [&](const char* key, double computed) {
      return given.contains(key) ? given[key].get<double>() : computed;
    };

    // length: extent of the nodes, of the bodies, or the distance from the obstacles
    double length = size_;
    Vec3 low = Vec3::Constant(std::numeric_limits<double>::infinity()), high = -low;
    for (int node = 0; node < system.dofs().nodes(); ++node) {
      const Vec3 x = initial_place({node, Vec3::Zero()});
      low = low.cwiseMin(x);
      high = high.cwiseMax(x);
    }
    length = std::max(length, (high - low).norm());
    if (system.unilateral() > 0) {
      Vector gaps(static_cast<std::size_t>(system.rows()));
      system.gaps(state.q, state.t, RowSet::unilateral, gaps);
      double nearest = std::numeric_limits<double>::infinity();
      for (int row = system.bilateral(); row < system.rows(); ++row)
        nearest = std::min(nearest, std::abs(gaps[static_cast<std::size_t>(row)]));
      length = std::max(length, nearest);
    }
    scales.length = take("length", length > 0 ? length : 1.0);

    // speed: at the start, or that of a fall through the length
    const double g = system.gravity().norm();
    double speed = std::max(system.speed(state.v, scales.length), std::sqrt(g * scales.length));
    if (!(speed > 0)) speed = scales.length / std::max(model_->simulation.duration, model_->simulation.step);
    scales.speed = take("speed", speed);
    scales.mass = take("mass", system.mean_nodal_mass() > 0 ? system.mean_nodal_mass() : 1.0);
    return scales;
  }

  void remarks() {
    const System& system = model_->system;
    const State& state = model_->state;
    const double length = model_->integrator.scales.length;
    // contacts that start penetrating
    for (int row = system.bilateral(); row < system.rows(); ++row) {
      const double gap = system.row_gap(row, state.q, state.t);
      if (gap < -1e-9 * length)
        model_->warnings.push_back("contact " + system.row_name(row) + " starts with a penetration of " +
                                   std::to_string(-gap) + "; the first step corrects it");
    }
    // joints that start open
    if (system.bilateral() > 0) {
      Vector g(static_cast<std::size_t>(system.rows())), rate(static_cast<std::size_t>(system.rows()));
      system.gaps(state.q, state.t, RowSet::bilateral, g);
      system.rates(state.q, state.v, state.t, RowSet::bilateral, rate);
      const std::size_t n = static_cast<std::size_t>(system.bilateral());
      const double gap = max_abs(In(g).first(n)), velocity = max_abs(In(rate).first(n));
      if (gap > 1e-9 * length)
        model_->warnings.push_back("the joints do not fit at the start: largest gap " + std::to_string(gap) +
                                   "; the first step closes it");
      if (velocity > 1e-9 * model_->integrator.scales.speed)
        model_->warnings.push_back("the initial velocities do not fit the joints: largest rate " +
                                   std::to_string(velocity) + "; the first step corrects them");
    }
  }

  struct JointItems {
    std::string name;
    AttachedPoint point;
    std::optional<int> linear, rotating, parallel;
  };
  struct ContactGroup {
    std::string name;
    std::vector<const ConstraintBlock*> blocks;
  };

  ModelDocument& document_;
  const json& root_;
  std::unique_ptr<Model> model_;
  std::vector<std::pair<Vec3, Vec3>> velocities_;  // per node
  std::vector<JointItems> joints_;
  std::vector<ContactGroup> contacts_;
  const ConstraintBlock *linear_ = nullptr, *rotating_ = nullptr, *parallel_ = nullptr;
  double total_mass_ = 0, size_ = 0;
  bool needs_mass_properties_ = false;
};

}  // namespace

const BodyInfo* Model::find_body(const std::string& name) const {
  for (const BodyInfo& b : bodies)
    if (b.name == name) return &b;
  return nullptr;
}

std::optional<AttachedPoint> Model::find_point(const std::string& reference) const {
  const std::size_t dot = reference.find('.');
  const std::string name = reference.substr(0, dot), part = dot == std::string::npos ? "" : reference.substr(dot + 1);
  if (name == "ground") {
    if (part.empty()) return AttachedPoint{};
    const auto it = ground_points.find(part);
    if (it == ground_points.end()) return std::nullopt;
    return AttachedPoint{-1, it->second};
  }
  const BodyInfo* body = find_body(name);
  if (body == nullptr || body->nodes.empty()) return std::nullopt;
  if (body->type == "bar") {
    if (part == "start") return AttachedPoint{body->nodes.front()};
    if (part == "end") return AttachedPoint{body->nodes.back()};
    if (part.starts_with("node.")) {
      const std::size_t k = static_cast<std::size_t>(std::strtoul(part.c_str() + 5, nullptr, 10));
      if (k < body->nodes.size()) return AttachedPoint{body->nodes[k]};
    }
    return std::nullopt;
  }
  if (part.empty() || part == "center") return AttachedPoint{body->nodes[0]};
  const auto it = body->points.find(part);
  if (it == body->points.end()) return std::nullopt;
  return AttachedPoint{body->nodes[0], it->second};
}

Vec3 Model::place(const AttachedPoint& point, In q) const {
  if (point.node < 0) return point.offset;
  const DofMap& dofs = system.dofs();
  return point_state(q.data() + dofs.configuration_offset(point.node), dofs.kind(point.node), point.offset).x;
}

std::string resolved_text(const ModelDocument& document) { return document.resolved.dump(2) + "\n"; }

void set_end_time(ModelDocument& document, double t_end) {
  if (!document.ok()) return;
  json& integrator = document.resolved["integrator"];
  const double duration = t_end - integrator["start_time"].get<double>();
  if (duration < 0)
    document.add_issue("/integrator/start_time", "expected a start before the end of the run, given with --until");
  else
    integrator["duration"] = duration;
}

std::unique_ptr<Model> build_model(ModelDocument& document, int threads) {
  if (!document.ok()) return nullptr;
  return Builder(document, threads).build();
}

}  // namespace carom
