#include "io/model/contact_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "contact/gap/near_spheres.hpp"
#include "contact/gap/point_contact.hpp"
#include "contact/gap/sphere_contact.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;

namespace {

// Beyond, most pairs are far apart, and a search finds those that may touch.
constexpr std::size_t most_spheres_with_all_pairs = 20;
constexpr std::size_t most_points_for_gaps = 3000;  // all of which are compared

std::string json_text(double value) { return json(value).dump(); }

/// The largest ball that fits into a hollow obstacle has its centre in the obstacle's centre; infinite for obstacles
/// that are touched from outside.
double largest_radius(const json& obstacle, const std::vector<ObstacleSurface>& surfaces) {
  double radius = std::numeric_limits<double>::infinity();
  if (obstacle.value("side", "") != "inside") return radius;
  for (const ObstacleSurface& surface : surfaces)
    radius = std::min(radius, surface.obstacle->distance(vec3(obstacle["center"])));
  return radius;
}

}  // namespace

void ContactBuilder::read() {
  const json& list = context_.root()["contacts"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = "/contacts/" + std::to_string(i);
    if (list[i].contains("between"))
      read_spheres(list[i], pointer);
    else
      read_obstacle(list[i], pointer);
  }
}

std::vector<RowGroup> ContactBuilder::groups() const {
  std::vector<RowGroup> groups;
  for (const Contact& contact : contacts_) {
    RowGroup group{contact.name, {}, true, {}, contact.pointer};
    for (const ConstraintBlock* block : contact.blocks)
      for (int row = 0, first = context_.first_row(*block); row < block->topology().items * block->rows();
           row += block->rows())
        group.rows.push_back(first + row);  // the gap; rows of friction follow
    groups.push_back(std::move(group));
  }
  return groups;
}

void ContactBuilder::check_directions(const State& state) const {
  for (const Contact& contact : contacts_)
    for (std::size_t b = 0; b < contact.blocks.size(); ++b) {
      const int item = contact.undirected[b]({state.q.data(), nullptr, state.t});
      if (item < 0) continue;
      const bool pair = contact.blocks[b]->topology().slots.size() > 1;
      context_.error(
          contact.pointer + (pair ? "/between" : "/on"),
          "the contact " + contact.blocks[b]->item_name(item) + " has no direction at the start: " +
              (pair ? "the centres of the two spheres are at one place"
                    : "the point is at the centre or on the axis of the obstacle, or as far from two sides") +
              "; begin with the bodies apart");
    }
}

// Counts contact candidates. Returns false, after an error message, if the model would need too much memory or time.
bool ContactBuilder::take_candidates(std::size_t more, const std::string& pointer) {
  constexpr std::size_t most = 2000000;
  candidates_ += more;
  if (candidates_ <= most) return true;
  context_.error(pointer, "expected at most " + std::to_string(most) + " points and pairs that may touch, got " +
                              std::to_string(candidates_) + " up to this contact");
  return false;
}

void ContactBuilder::read_spheres(const json& contact, const std::string& pointer) {
  const std::string name = text(contact["name"]);
  const double restitution = contact["restitution"].get<double>(), friction = contact["friction"].get<double>(),
               tangential = contact["tangential_restitution"].get<double>(),
               rolling = contact["rolling_resistance"].get<double>(),
               pivoting = contact["pivoting_resistance"].get<double>();
  const bool resists = rolling > 0 || pivoting > 0;
  check_friction(contact, pointer);
  const json& between = contact["between"];
  std::vector<ContactSphere> spheres;
  for (std::size_t i = 0; i < between.size(); ++i) {
    const BodyInfo* body = context_.model.find_body(text(between[i]));
    if (body != nullptr && body->radius > 0 && resists && !context_.is_frame({body->nodes[0], Vec3::Zero()}))
      context_.error(pointer + "/between/" + std::to_string(i),
                     "expected a body with the shape of a sphere, because a point mass does not rotate and has no "
                     "resistance to rolling and pivoting");
    else if (body != nullptr && body->radius > 0)
      spheres.push_back({body->name, body->nodes[0], body->radius});
    else
      context_.error(pointer + "/between/" + std::to_string(i),
                     "expected a body with the shape of a sphere, or a point mass with a radius > 0");
  }
  if (spheres.size() < between.size()) return;
  std::unique_ptr<SphereContactBlock> block;
  if (between.size() > most_spheres_with_all_pairs) {
    if (!take_candidates(NearSpheresBlock::rows_per_sphere * between.size(), pointer)) return;
    block = std::make_unique<NearSpheresBlock>(name, std::move(spheres), restitution, friction, tangential, rolling,
                                               pivoting);
  } else {
    if (!take_candidates(between.size() * (between.size() - 1) / 2, pointer)) return;
    std::vector<SpherePair> pairs;
    double lever = 0;
    for (const ContactSphere& sphere : spheres) lever = std::max(lever, sphere.radius);
    for (auto a = spheres.begin(); a != spheres.end(); ++a)
      for (auto b = a + 1; b != spheres.end(); ++b) {
        SpherePair pair;
        pair.name = name + (between.size() > 2 ? "[" + a->name + "," + b->name + "]" : "");
        pair.node_a = a->node;
        pair.node_b = b->node;
        pair.radius_a = a->radius;
        pair.radius_b = b->radius;
        pair.restitution = restitution;
        pair.friction = friction;
        pair.tangential_restitution = tangential;
        pair.rolling = rolling;
        pair.pivoting = pivoting;
        pair.lever = lever;
        pairs.push_back(std::move(pair));
      }
    block = std::make_unique<SphereContactBlock>(name, std::move(pairs));
  }
  const auto undirected = [b = block.get()](const ConstraintInput& in) { return b->undirected(in); };
  contacts_.push_back({name, {&context_.model.system.add(std::move(block))}, pointer, {undirected}});
}

void ContactBuilder::read_obstacle(const json& contact, const std::string& pointer) {
  const std::string name = text(contact["name"]);
  std::vector<ContactPoint> on_frames, on_points;
  std::vector<TouchingPoint> touching;
  std::vector<std::size_t> ends;  // of the references in `touching`
  const json& on = contact["on"];
  // Node and offset, and whether a set names the point: two sets may share a point; naming the same point twice is an
  // error.
  std::map<std::array<double, 4>, std::pair<std::string, bool>> known;
  for (std::size_t i = 0; i < on.size(); ++i) {
    const std::string here = pointer + "/on/" + std::to_string(i);
    const std::string reference = text(on[i]);
    const BodyInfo* const body = context_.model.find_body(reference);
    const bool of_set = context_.point_set(reference) != nullptr || (body != nullptr && !body->shape_points.empty());
    for (TouchingPoint& p : touching_points(reference, here)) {
      const Vec3& x = p.at.offset;
      if (on.size() > 1) {
        const auto [first, is_new] =
            known.try_emplace({static_cast<double>(p.at.node), x[0], x[1], x[2]}, std::pair(p.label, of_set));
        if (!is_new && of_set && first->second.second) continue;
        if (!is_new)
          context_.error(here, "\"" + p.label + "\" is the same point as \"" + first->second.first + "\" of this list");
      }
      touching.push_back(std::move(p));
    }
    ends.push_back(touching.size());
  }
  if (!take_candidates(touching.size(), pointer)) return;
  const auto radius = [&](const TouchingPoint& p) {
    return contact.contains("radius") ? contact["radius"].get<double>() : p.radius;
  };
  for (const TouchingPoint& p : touching) {
    ContactPoint c;
    c.name = touching.size() > 1 ? name + "[" + p.label + "]" : name;
    c.node = p.at.node;
    c.offset = p.at.offset;
    c.radius = radius(p);
    c.restitution = contact["restitution"].get<double>();
    c.friction = contact["friction"].get<double>();
    c.tangential_restitution = contact["tangential_restitution"].get<double>();
    c.rolling = contact["rolling_resistance"].get<double>();
    c.pivoting = contact["pivoting_resistance"].get<double>();
    if ((c.rolling > 0 || c.pivoting > 0) && !(c.radius > 0 && context_.is_frame(p.at)))
      return context_.error(pointer + (c.rolling > 0 ? "/rolling_resistance" : "/pivoting_resistance"),
                            "expected 0, because " + p.label +
                                " is no sphere that rotates: resistance needs a \"radius\" above 0 and a body with a "
                                "rotation");
    (context_.is_frame(p.at) ? on_frames : on_points).push_back(std::move(c));
  }
  ObstacleInfo info;
  info.contact = name;
  check_friction(contact, pointer);
  const json& o = contact["obstacle"];
  info.motion = read_motion(o, pointer + "/obstacle");
  if (!context_.issues.empty()) return;
  Contact built{name, {}, pointer, {}};
  const ObstacleType& kind = find_type(obstacle_types(), o);
  const std::vector<ObstacleSurface> surfaces = kind.surfaces(o);
  const double room = largest_radius(o, surfaces);
  for (const TouchingPoint& p : touching)
    if (radius(p) >= room)
      return context_.error(pointer + "/obstacle", "a ball inside must have a radius below " + json_text(room) +
                                                       ", but " + p.label + " has the radius " + json_text(radius(p)));
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t first = i > 0 ? ends[i - 1] : 0;
    remark_gaps(name, text(on[i]), std::span(touching).subspan(first, ends[i] - first), *surfaces.front().obstacle,
                radius);
  }
  const double distance = surfaces.front().obstacle->distance(context_.initial_place(touching.front().at));
  info.mesh =
      kind.picture(o, o.contains("draw_size") ? o["draw_size"].get<double>() : picture_size(std::abs(distance)));
  for (const ObstacleSurface& surface : surfaces) {
    for (const bool rotating : {true, false}) {
      std::vector<ContactPoint> points = rotating ? on_frames : on_points;
      if (points.empty()) continue;
      for (ContactPoint& p : points) p.name += surface.suffix;
      auto block =
          std::make_unique<PointContactBlock>(name, std::move(points), surface.obstacle, info.motion, rotating);
      built.undirected.emplace_back([b = block.get()](const ConstraintInput& in) { return b->undirected(in); });
      built.blocks.push_back(&context_.model.system.add(std::move(block)));
    }
  }
  contacts_.push_back(std::move(built));
  context_.model.obstacles.push_back(std::move(info));
}

// An obstacle that is smaller than the distance of neighbouring points passes between them.
void ContactBuilder::remark_gaps(const std::string& contact, const std::string& reference,
                                 std::span<const TouchingPoint> points, const Obstacle& obstacle,
                                 const std::function<double(const TouchingPoint&)>& radius) const {
  if (points.size() < 2 || points.size() > most_points_for_gaps) return;
  if (obstacle.contains() || !std::isfinite(obstacle.radius())) return;
  std::vector<Vec3> places;
  for (const TouchingPoint& p : points) places.push_back(context_.initial_place(p.at));
  double widest = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    double nearest = std::numeric_limits<double>::infinity();  // squared
    for (std::size_t j = 0; j < places.size(); ++j)
      if (j != i) nearest = std::min(nearest, (places[i] - places[j]).squaredNorm());
    widest = std::max(widest, std::sqrt(nearest) - 2 * radius(points[i]));
  }
  if (widest > 2 * obstacle.radius())
    context_.model.warnings.push_back(
        fmt::format("contact {}: only points of {} touch, which are {:.3g} apart, and an obstacle as small as this "
                    "one, {:.3g} thick, passes between them: let more points touch, or spheres",
                    in_quotes(contact), in_quotes(reference), widest, 2 * obstacle.radius()));
}

// The points of a reference: a point, a set of points, or a body, which means the points of its shape, its sphere, or
// its centre.
std::vector<ContactBuilder::TouchingPoint> ContactBuilder::touching_points(const std::string& reference,
                                                                           const std::string& pointer) const {
  const std::size_t dot = reference.find('.');
  const BodyInfo* body = context_.model.find_body(reference.substr(0, dot));
  const std::string part = dot != std::string::npos ? reference.substr(dot + 1)
                           : body != nullptr        ? body->shape_points
                                                    : "";
  std::vector<TouchingPoint> points;
  if (body != nullptr && body->sets.contains(part)) {
    const PointSet& set = body->sets.at(part);
    for (std::size_t k = 0; k < set.points.size(); ++k)
      points.push_back({set.points[k], 0, body->name + "." + set.labels[k]});
  } else if (const auto p = context_.model.find_point(reference)) {
    points.push_back({*p, body != nullptr && part.empty() ? body->radius : 0.0, reference});
  } else {
    context_.error(pointer, context_.unknown_point(reference));
  }
  return points;
}

// Keys that do nothing without friction.
void ContactBuilder::check_friction(const json& contact, const std::string& pointer) const {
  if (contact["friction"].get<double>() > 0) return;
  if (contact["tangential_restitution"].get<double>() > 0)
    context_.error(pointer + "/tangential_restitution", "expected a contact with a \"friction\" above 0");
  for (const char* const key : {"rolling_resistance", "pivoting_resistance"})
    if (contact[key].get<double>() > 0)
      context_.error(pointer + "/" + key, "expected a contact with a \"friction\" above 0");
  if (contact.contains("obstacle") && contact["obstacle"].contains("surface_velocity"))
    context_.error(pointer + "/obstacle/surface_velocity", "expected a contact with a \"friction\" above 0");
}

std::shared_ptr<const PrescribedMotion> ContactBuilder::read_motion(const json& obstacle, const std::string& pointer) {
  if (!obstacle.contains("motion") && !obstacle.contains("surface_velocity")) return nullptr;
  auto motion = std::make_shared<PrescribedMotion>();
  constexpr auto needs = BuildContext::Needs::rate;
  if (obstacle.contains("surface_velocity"))
    motion->surface = context_.time_functions(obstacle["surface_velocity"], pointer + "/surface_velocity", needs,
                                              BuildContext::Moves::surface);
  if (!obstacle.contains("motion")) return motion;
  const json& m = obstacle["motion"];
  if (m.contains("translation"))
    motion->translation =
        context_.time_functions(m["translation"], pointer + "/motion/translation", needs, BuildContext::Moves::place);
  if (m.contains("rotation")) {
    motion->axis = vec3(m["rotation"]["axis"]).stableNormalized();
    motion->angle = context_.time_function(m["rotation"]["angle"], pointer + "/motion/rotation/angle", needs,
                                           BuildContext::Moves::turn);
    motion->about = vec3(m["rotation"]["about"]);
  }
  return motion;
}

// Drawn size of an infinite obstacle: enough for the bodies and for their distance to the obstacle.
double ContactBuilder::picture_size(double distance) const {
  Vec3 low = Vec3::Constant(std::numeric_limits<double>::infinity()), high = -low;
  for (int node = 0; node < context_.model.system.dofs().nodes(); ++node) {
    if (!context_.in_space(node)) continue;
    const Vec3 x = context_.initial_place({node, Vec3::Zero()});
    low = low.cwiseMin(x);
    high = high.cwiseMax(x);
  }
  return std::max(4 * context_.size, 2 * std::max((high - low).norm(), distance));
}

}  // namespace carom
