// Beams: keys, nodes and elements along the reference shape, and the drawn box or tube.

#include <algorithm>
#include <cmath>

#include "elements/beam/beam.hpp"
#include "io/model/beam_shapes.hpp"
#include "io/model/fixed_points.hpp"
#include "io/model/sections.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/tolerant_json.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;
using Frame = se3::Frame<double>;

namespace {

Node beam_spec() {
  std::vector<Key> keys = {
      body_name(),
      optional("material", reference("material", Target::material),
               "name of its material; not for a section that is given by matrices"),
      required("section", reference("section", Target::section), "name of its cross section"),
  };
  for (Key& key : beam_shape_keys()) keys.push_back(std::move(key));
  keys.push_back(preset("velocity", vector3("velocity"), json::array({0, 0, 0}), "initial velocity of its start"));
  keys.push_back(preset("angular_velocity", vector3("angular velocity"), json::array({0, 0, 0}),
                        "initial angular velocity of the whole beam as a rigid body, axes of the model"));
  keys.push_back(preset("damping", number("time").at_least(0), 0,
                        "of Kelvin and Voigt: the time by which rates of strain count like strains"));
  keys.push_back(fixed_points(true));
  return object("beam", std::move(keys)).exactly_one({{"from", "to"}, {"shape"}}).with(check_beam_shape);
}

// ---- the picture

// Adds the outline of the section at one end of an element, in axes of its node; returns its first point in the mesh.
int add_ring(BodyInfo& info, const std::vector<std::vector<Vec3>>& outline, int node, const Mat3& axes,
             const Vec3& center, const LinePlace& place) {
  const int first = static_cast<int>(info.mesh.points.size());
  for (const auto& curve : outline)
    for (const Vec3& p : curve) {
      info.mesh.points.emplace_back(axes * (p - center));
      info.mesh_nodes.push_back(node);
      info.mesh_places.push_back(place);
    }
  return first;
}

// The outline between the ends of an element, in axes of a section on the helix.
int add_ring_between(BodyInfo& info, const std::vector<std::vector<Vec3>>& outline, const Beam& beam,
                     const LinePlace& place, const Vec3& center) {
  const int first =
      add_ring(info, outline, place.share < 0.5 ? beam.node_a : beam.node_b, Mat3::Identity(), center, place);
  info.mesh_sections.resize(at(first), -1);
  info.mesh_sections.resize(info.mesh.points.size(), static_cast<int>(info.sections.size()));
  info.sections.push_back({beam.node_a, beam.node_b, beam.R_a, beam.R_b, place.share});
  return first;
}

// The walls between two outlines, with outward orientation.
void add_walls(SurfaceMesh& mesh, const std::vector<std::vector<Vec3>>& outline, int ring_a, int ring_b) {
  int first = 0;
  for (std::size_t c = 0; c < outline.size(); ++c) {
    const int n = static_cast<int>(outline[c].size());
    for (int i = 0; i < n; ++i) {
      const int p = first + i, q = first + (i + 1) % n;
      if (c == 0)
        mesh.add_cell(CellType::quad, {ring_a + p, ring_a + q, ring_b + q, ring_b + p});
      else
        mesh.add_cell(CellType::quad, {ring_a + q, ring_a + p, ring_b + p, ring_b + q});
    }
    first += n;
  }
}

// The end face at a section; front: the end that faces along x.
void add_cap(SurfaceMesh& mesh, const std::vector<std::vector<Vec3>>& outline, int ring, bool front) {
  const int n = static_cast<int>(outline[0].size());
  if (outline.size() == 2) {
    for (int i = 0; i < n; ++i) {
      const int p = ring + i, q = ring + (i + 1) % n;
      if (front)
        mesh.add_cell(CellType::quad, {p, q, n + q, n + p});
      else
        mesh.add_cell(CellType::quad, {q, p, n + p, n + q});
    }
  } else if (n == 4) {
    if (front)
      mesh.add_cell(CellType::quad, {ring, ring + 1, ring + 2, ring + 3});
    else
      mesh.add_cell(CellType::quad, {ring + 3, ring + 2, ring + 1, ring});
  } else {
    for (int i = 1; i + 1 < n; ++i) {
      if (front)
        mesh.add_cell(CellType::triangle, {ring, ring + i, ring + i + 1});
      else
        mesh.add_cell(CellType::triangle, {ring, ring + i + 1, ring + i});
    }
  }
}

// Elements of few are drawn in several pieces along their helix, so that a bent beam looks bent.
constexpr int most_pieces = 8, pieces_of_beam = 32;

// Cells element after element; the first and the last element include the end faces.
void draw_beams(BodyInfo& info, const BeamBlock& block, const std::vector<Beam>& beams, const json& section,
                const Vec3& center) {
  const auto outline = section_outline(section);
  const int last = static_cast<int>(beams.size()) - 1;
  const int pieces = std::clamp(pieces_of_beam / (last + 1), 1, most_pieces);
  int ring = -1;
  std::size_t cells = 0;
  const auto close_group = [&](int first_element, int end_element) {
    if (end_element <= first_element) return;
    const std::size_t more = info.mesh.cell_count() - cells;
    info.elements.push_back(
        {&block, {first_element, end_element}, cells, more / static_cast<std::size_t>(end_element - first_element)});
    cells = info.mesh.cell_count();
  };
  for (int e = 0; e <= last; ++e) {
    const Beam& beam = beams[static_cast<std::size_t>(e)];
    info.line.push_back({beam.length, e > 0 && beam.R_a != Mat3::Identity()});
    if (e == 0 || info.line.back().corner) ring = add_ring(info, outline, beam.node_a, beam.R_a, center, {e, 0});
    if (e == 0) add_cap(info.mesh, outline, ring, false);
    if (e == last && last > 0) close_group(1, last);
    for (int k = 1; k <= pieces; ++k) {
      const int next = k < pieces ? add_ring_between(info, outline, beam, {e, static_cast<double>(k) / pieces}, center)
                                  : add_ring(info, outline, beam.node_b, beam.R_b, center, {e, 1});
      add_walls(info.mesh, outline, ring, next);
      ring = next;
    }
    if (e == last) add_cap(info.mesh, outline, ring, true);
    if (e == 0) close_group(0, 1);
  }
  if (last > 0) close_group(last, last + 1);
  if (!info.sections.empty()) info.mesh_sections.resize(info.mesh.points.size(), -1);
}

// ---- the body

void build_beam(BuildContext& context, const BodySource& source) {
  const json& body = *source.json;
  BodyInfo& info = *source.info;
  const json& section = context.section(text(body["section"]));
  std::string where, message;
  const BeamShape shape = beam_shape(body, where, message);
  if (!message.empty()) {
    context.error(source.pointer + where, message);
    return;
  }
  const BeamSection properties =
      read_beam_section(section, body.contains("material") ? context.material(text(body["material"])) : json());
  const Vec3& center = properties.center;
  const bool corners =
      std::any_of(shape.pieces.begin(), shape.pieces.end(), [](const BeamShape::Piece& piece) { return piece.corner; });
  if (corners && center != Vec3::Zero()) {
    context.error(source.pointer + "/shape",
                  "expected no corners: the mass centre of the section lies beside its axis");
    return;
  }

  // nodes are at the mass centres of the sections; the node at a corner has the axes of the preceding side
  const Frame C{Mat3::Identity(), center};
  const Vec3 start = shape.pieces.front().A.x, velocity = vec3(body["velocity"]),
             omega = vec3(body["angular_velocity"]);
  std::vector<Frame> frames;
  const auto add_node = [&](const Frame& axis_frame) {
    const Frame H = se3::compose(axis_frame, C);
    const Quaternion p = so3::matrix_to_quaternion(H.R);
    const double q[7] = {H.x[0], H.x[1], H.x[2], p[0], p[1], p[2], p[3]};
    info.nodes.push_back(context.add_node(NodeKind::frame, q, info.name + ".node." + std::to_string(frames.size()),
                                          velocity + omega.cross(H.x - start), H.R.transpose() * omega));
    // the rotation of the node, exact to the last bit
    frames.push_back({so3::quaternion_to_matrix(p), H.x});
  };
  add_node(shape.pieces.front().A);
  for (const BeamShape::Piece& piece : shape.pieces) add_node(piece.B);

  info.is_line = true;
  PointSet& set = info.sets["nodes"];
  for (std::size_t k = 0; k < info.nodes.size(); ++k) {
    const std::string label = "node." + std::to_string(k);
    set.points.push_back({info.nodes[k], -center});
    set.labels.push_back(label);
    if (center != Vec3::Zero()) info.points[label] = set.points.back();
  }
  std::vector<double> lengths;
  for (const BeamShape::Piece& piece : shape.pieces) lengths.push_back(piece.length);
  set.shares = line_shares(lengths);
  info.points["start"] = set.points.front();
  info.points["end"] = set.points.back();
  fix_points(context, source);

  // elements
  std::vector<Beam> beams;
  double length = 0, shortest = shape.pieces[0].length;
  for (std::size_t k = 0; k < shape.pieces.size(); ++k) {
    const BeamShape::Piece& piece = shape.pieces[k];
    Beam beam;
    beam.node_a = info.nodes[k];
    beam.node_b = info.nodes[k + 1];
    Frame A = frames[k];
    if (piece.corner) {
      beam.R_a = A.R.transpose() * piece.A.R;
      A.R = piece.A.R;
    }
    set_reference(beam, A, frames[k + 1]);
    beam.length = piece.length;
    length += piece.length;
    shortest = std::min(shortest, piece.length);
    beams.push_back(beam);
  }
  const double mass = properties.line_density * length;
  if (!(properties.stiffness / shortest).allFinite() || !std::isfinite(mass) ||
      !(properties.inertia * length).allFinite()) {
    context.error(
        source.pointer,
        "the stiffness or the mass of this beam is not a finite number: see its length, material and section");
    return;
  }
  const auto& block = static_cast<const BeamBlock&>(context.model.system.add(
      std::make_unique<BeamBlock>(info.name, std::vector{properties}, beams, body["damping"].get<double>())));
  draw_beams(info, block, beams, section, center);
  context.total_mass += mass;
  context.size = std::max(context.size, length);
}

// Half of each element's length at each of its nodes: work-equivalent to an even load for linearly interpolated
// positions.
std::vector<LineShare> line_load_shares(const BodyInfo& body) {
  const auto& block = static_cast<const BeamBlock&>(*body.elements.front().block);
  const PointSet& nodes = body.sets.at("nodes");
  std::vector<LineShare> shares;
  for (int e = 0; e < block.topology().items; ++e)
    for (const int end : {0, 1})
      shares.push_back({nodes.points[static_cast<std::size_t>(e) + static_cast<std::size_t>(end)],
                        0.5 * block.length(e), block.section_axes(e, end)});
  return shares;
}

// A section by its shape needs a material, a section by matrices contains one; not each section suits a beam.
std::vector<Problem> section_problems(const json& body, const json* section, const json*) {
  if (section == nullptr) return {};
  if (const std::string message = beam_section_error(*section); !message.empty()) return {{"/section", message}};
  const std::string name = in_quotes(text_of(body, "section"));
  const bool needed = needs_material(*section), given = body.contains("material");
  if (needed && !given) return {{"", "missing key \"material\": the section " + name + " is a shape and needs one"}};
  if (!needed && given)
    return {{"/material", "expected no material: the section " + name + " says stiffness and mass itself"}};
  return {};
}

void build_beams(BuildContext& context, const std::vector<BodySource>& bodies) {
  for (const BodySource& body : bodies) build_beam(context, body);
}

}  // namespace

BodyType beam_type() {
  return {.type = "beam",
          .help = "a beam",
          .rotates = true,
          .keys = beam_spec,
          .build = build_beams,
          .point_error =
              [](const json& body, const std::string* point, PointUse use) {
                return line_point_error(body, point, use, "a beam", beam_element_count(body));
              },
          .fields = BeamBlock::fields,
          .takes_material = is_linear_elastic,
          .problems = section_problems,
          .line_load_shares = line_load_shares,
          .references = {"sonneville_2014", "bruels_cardona_arnold_2012"}};
}

}  // namespace carom
