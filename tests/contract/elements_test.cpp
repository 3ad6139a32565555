// The contract of elements, for every one there is. A new element: one line in the list below.
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "elements/beam/bar.hpp"
#include "elements/beam/beam.hpp"
#include "elements/bodies/coordinates.hpp"
#include "elements/bodies/point_mass.hpp"
#include "elements/bodies/rigid_body.hpp"
#include "elements/joints/joint_coordinate.hpp"
#include "elements/joints/spring_damper.hpp"
#include "elements/loads/load.hpp"
#include "elements/solid/elastic_laws.hpp"
#include "elements/solid/pressure.hpp"
#include "elements/solid/solid.hpp"
#include "tests/contract/element_contract.hpp"
#include "tests/contract/samples.hpp"
#include "tests/support/polar_mass.hpp"

namespace {

using namespace carom;
using namespace carom::test;

void rigid_bodies(System& s, bool isotropic) {
  Random random(3);
  std::vector<RigidBody> bodies;
  for (int i = 0; i < 3; ++i) {
    const Mat3 J = isotropic ? Mat3((0.4 + i) * Mat3::Identity()) : random.inertia();
    bodies.push_back({.node = frame(s), .mass = 1.0 + i, .inertia = J});
  }
  s.add(std::make_unique<RigidBodyBlock>("bodies", bodies));
}

void point_masses(System& s) {
  std::vector<PointMass> masses;
  for (double m : {2.0, 0.0, 0.3}) masses.push_back({.node = point(s), .mass = m});
  s.add(std::make_unique<PointMassBlock>("masses", masses));
}

// Coordinates x, y, z (as many as the matrix has rows) with formulas of masses, lower triangle, and of a potential.
void coordinate_masses(System& s, const std::vector<std::vector<std::string>>& masses, const std::string& potential) {
  const CoordinateNames names = coordinate_names(s, masses.size());
  CoordinateMasses body{"body", names.nodes, names.q, {}, {}, 0};
  for (const auto& row : masses) {
    body.rows.emplace_back();
    for (const std::string& mass : row) body.rows.back().push_back({{mass, names.q}, mass});
  }
  if (!potential.empty()) body.potential.push_back({{potential, names.q}, potential});
  s.add(std::make_unique<CoordinateMassBlock>(std::move(body)));
}
void coordinate_forces(System& s, const std::vector<std::string>& forces) {
  const CoordinateNames names = coordinate_names(s, forces.size());
  CoordinateForces body{"body", names.nodes, {}};
  for (const std::string& force : forces) body.forces.push_back({{force, names.q_v_t}, force});
  s.add(std::make_unique<CoordinateForceBlock>(std::move(body)));
}

void polar_masses(System& s) {
  std::vector<PolarMass> masses;
  for (double m : {2.0, 0.3}) masses.push_back({.node = point(s), .mass = m, .stiffness = 3 * m});
  s.add(std::make_unique<PolarMassBlock>("particles", masses));
}

// A chain of bars of different properties, one of them in the negative direction.
std::vector<Bar> chain_of_bars(System& s, bool negative) {
  std::vector<int> nodes;
  for (int i = 0; i < 6; ++i) nodes.push_back(point(s));
  std::vector<Bar> bars;
  for (int i = 0; i < 5; ++i)
    bars.push_back({.node_a = nodes[at(i)],
                    .node_b = nodes[at(i + 1)],
                    .length = (negative && i == 1 ? -1 : 1) * (0.8 + 0.2 * i),
                    .axial_stiffness = 3.0 + i,
                    .line_density = 0.7 + 0.3 * i});
  return bars;
}
void linear_bars(System& s, int axis, MassKind mass) {
  s.add(std::make_unique<LinearBarBlock>("bars", chain_of_bars(s, true), axis, mass));
}
void bars(System& s, MassKind mass) { s.add(std::make_unique<BarBlock>("bars", chain_of_bars(s, false), mass)); }

// A chain of beams with two sections with full matrices, curved and twisted. `turned`: section axes differ from the
// nodes' axes.
void beams(System& s, double damping, bool turned, bool plain_section = false) {
  Random random(8);
  std::vector<BeamSection> sections(2);
  for (int i = 0; i < 2; ++i) {
    BeamSection& section = sections[at(i)];
    if (plain_section) {
      section = homogeneous_section(rectangle_section(0.2 + 0.1 * i, 0.4), 50, 0.3, 2);
      continue;
    }
    Mat6 root;
    for (int j = 0; j < 6; ++j) root.col(j) << random.vector(), random.vector();
    section.stiffness = root * root.transpose();
    section.line_density = 0.7 + i;
    section.inertia = random.inertia();
  }
  std::vector<Beam> list;
  int last = frame(s);
  for (int i = 0; i < 4; ++i) {
    Beam beam{.node_a = last, .node_b = frame(s), .section = i % 2, .length = 0.8 + 0.2 * i};
    beam.d_0 << beam.length, 0, 0, 0.1 * i, -0.2, 0.3;
    if (turned && i > 0) beam.R_a = random.rotation_matrix(), beam.R_b = random.rotation_matrix();
    list.push_back(beam);
    last = beam.node_b;
  }
  s.add(std::make_unique<BeamBlock>("beams", sections, list, damping));
}

// Two springs with the same kind of attachment; on a frame the point has an offset. Ground: a point outside the nodes'
// box.
enum class End { frame, point, ground };
const Vec3 far_away(3.5, -3.2, 3.8);
void springs(System& s, End a, End b, double damping, double natural_length) {
  const auto attach = [&](End end, const Vec3& arm, int& n, Vec3& offset) {
    n = end == End::frame ? frame(s) : end == End::point ? point(s) : -1;
    offset = end == End::frame ? arm : end == End::point ? Vec3(0.3 * arm) : far_away;
  };
  std::vector<SpringDamper> list(2);
  for (SpringDamper& spring : list) {
    attach(a, arm_a, spring.node_a, spring.offset_a);
    attach(b, arm_b, spring.node_b, spring.offset_b);
    spring.stiffness = 2.5 + s.dofs().nodes();
    spring.damping = damping;
    spring.natural_length = natural_length;
  }
  if (damping != 0) list.back().damping *= 3;
  s.add(std::make_unique<SpringDamperBlock>("springs", list));
}

std::array<TimeFunction, 3> constant_load() {
  return {TimeFunction::constant(1.5), TimeFunction::constant(-0.7), TimeFunction::constant(2.1)};
}
std::array<TimeFunction, 3> varying_load() {
  return {TimeFunction::formula("2*sin(3*t)"), TimeFunction::formula("1 - t^2"), TimeFunction::constant(0.4)};
}
void loads(System& s, Load::Kind kind, bool body_axes, NodeKind on, const std::array<TimeFunction, 3>& value) {
  std::vector<Load> list;
  for (int i = 0; i < 3; ++i)
    list.push_back({.kind = kind,
                    .node = node(s, on),
                    .offset = i * arm_a,
                    .body_axes = body_axes,
                    .value = value,
                    .factor = so3::exp(Vec3(0.3 * i, -0.2 * i, 0.5 * i)) * (1 - 0.3 * i),
                    .as_before = i == 2});
  s.add(std::make_unique<LoadBlock>("loads", list, on == F));
}

template <class MakeA, class MakeB>
void coordinate_springs(System& s, Coordinate kind, const MakeA& a, const MakeB& b, double damping) {
  std::vector<CoordinateSpring> springs;
  for (const JointCoordinate& c : coordinates(s, kind, a, b))
    springs.push_back({.coordinate = c, .stiffness = 2.5, .damping = springs.empty() ? 0 : damping, .rest = 0.4});
  s.add(std::make_unique<CoordinateSpringBlock>("springs", springs));
}

// A row of distorted hexahedra, or of the tetrahedra at their corners.
void solids(System& s, const SolidLaw& law, SolidShape shape, int count, const SolidOptions& options) {
  Random random(5);
  std::vector<Vec3> places;
  for (int layer = 0; layer <= count; ++layer)
    for (const Vec3& corner : {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(1, 1, 0), Vec3(0, 1, 0)}) {
      places.emplace_back(corner + Vec3(0, 0, 0.9 * layer) + random.in_box(0.12));
      s.add_node(NodeKind::point, std::span(places.back().data(), 3), "node");
    }
  SolidMesh mesh;
  mesh.shape = shape;
  for (int e = 0; e < count; ++e)
    for (int k : {0, 1, 2, 3, 4, 5, 6, 7}) {
      constexpr int corner[8] = {0, 1, 3, 4, 4, 5, 6, 7};
      if (shape == SolidShape::tetrahedra && k > 3) break;
      const int node = 4 * e + (shape == SolidShape::tetrahedra ? corner[k] : k);
      mesh.nodes.push_back(node);
      mesh.reference.push_back(places[at(node)]);
    }
  s.add(law("solid", mesh, 0.7, options));
}
// Rotates the solid by any rotation and strains it without inverting an element.
void deform_solid(const System& s, Random& random, Motion& m) {
  const Mat3 R = random.rotation_matrix();
  for (int node = 0; node < s.dofs().nodes(); ++node) {
    const int i = s.dofs().configuration_offset(node);
    const Vec3 X(s.initial_configuration().data() + i);
    Eigen::Map<Vec3>(m.q.data() + i) = R * (X + random.in_box(0.12)) + Vec3(0.3, -0.2, 0.5);
  }
}
std::vector<ElementCase> solid_cases() {
  std::vector<ElementCase> list;
  for (const auto& [law, law_name] : {std::pair{saint_venant_kirchhoff(2.5, 0.3), "Saint Venant-Kirchhoff"},
                                      {neo_hookean(2.5, 0.3), "neo-Hookean"},
                                      {corotational(2.5, 0.3), "corotational"}})
    for (const auto& [shape, modes, shape_name] : {std::tuple{SolidShape::hexahedra, false, "hexahedra"},
                                                   {SolidShape::hexahedra, true, "hexahedra with incompatible modes"},
                                                   {SolidShape::tetrahedra, false, "tetrahedra"}})
      for (const double mass_damping : {0.0, 0.4})
        for (const double stiffness_damping : {0.0, 0.7}) {
          SolidOptions options;
          options.incompatible_modes = modes;
          options.mass_damping = mass_damping;
          options.stiffness_damping = stiffness_damping;
          const bool damped = mass_damping + stiffness_damping > 0;
          if (damped) options.mass = MassKind::lumped;
          std::string name = std::string(shape_name) + ", " + law_name;
          if (mass_damping > 0) name += ", mass damped";
          if (stiffness_damping > 0) name += ", stiffness damped";
          // damping by the mass is the resistance of a medium at rest
          list.push_back({name,
                          [=, l = law, s = shape](System& system) { solids(system, l, s, damped ? 2 : 5, options); },
                          mass_damping == 0, deform_solid});
        }
  return list;
}

void pressures(System& s, int nodes, bool follower) {
  Random random(7);
  std::vector<PressureFace> faces(2);
  for (PressureFace& face : faces)
    for (int k = 0; k < nodes; ++k) {
      face.nodes[at(k)] = point(s);
      face.reference[at(k)] = random.vector();
    }
  faces[1].load = 1;
  s.add(std::make_unique<PressureBlock>(
      "pressures", faces, std::vector{TimeFunction::constant(1.3), TimeFunction::formula("sin(2*t)")}, follower));
}

std::vector<ElementCase> elements() {
  constexpr MassKind consistent = MassKind::consistent, lumped = MassKind::lumped;
  constexpr Coordinate along = Coordinate::displacement, apart = Coordinate::distance, about = Coordinate::angle;
  using K = Load::Kind;
  std::vector<ElementCase> list = {
      {"rigid bodies, full inertia", [](System& s) { rigid_bodies(s, false); }, true},
      {"rigid bodies, isotropic inertia", [](System& s) { rigid_bodies(s, true); }, true},
      {"point masses, one of them zero", [](System& s) { point_masses(s); }, true},
      {"particles in polar coordinates, M(q)", [](System& s) { polar_masses(s); }},
      {"coordinates, constant masses",
       [](System& s) {
         coordinate_masses(s, {{"2"}, {"-0.4", "0.7"}}, "3*x^2/2 - x*y + 2*(y - 0.3)^2 - 1");
       },
       false,
       {},
       true},
      {"coordinates, M(q)",
       [](System& s) {
         coordinate_masses(
             s, {{"2 + x^2"}, {"0.4*cos(x - y)", "1.5 + 0.2*(y*z)^2"}, {"0.2*sin(x*z)", "0.3*exp(-z^2)", "1"}},
             "sin(x)*y + exp(0.3*z)*x^2");
       },
       false,
       {},
       true},
      {"a coordinate, M(q)", [](System& s) { coordinate_masses(s, {{"1 + x^2"}}, ""); }},
      {"linear forces of coordinates",
       [](System& s) {
         coordinate_forces(s, {"-3*x - 0.2*x' + sin(t)", "t^2 - 2*(y - 1)/3"});
       }},
      {"coupled linear forces of coordinates",
       [](System& s) {
         coordinate_forces(s, {"y - y'", "x*2 - 4*x'"});
       }},
      {"forces of coordinates",
       [](System& s) {
         coordinate_forces(s, {"(1 - x^2)*x' - x", "t*y*z - y'*x'", "cos(x*y') + z'^3"});
       }},
      {"linear bars along x, consistent mass", [](System& s) { linear_bars(s, 0, consistent); }},
      {"linear bars along y, consistent mass", [](System& s) { linear_bars(s, 1, consistent); }},
      {"linear bars along z, consistent mass", [](System& s) { linear_bars(s, 2, consistent); }},
      {"linear bars along x, lumped mass", [](System& s) { linear_bars(s, 0, lumped); }},
      {"linear bars along z, lumped mass", [](System& s) { linear_bars(s, 2, lumped); }},
      {"bars, consistent mass", [](System& s) { bars(s, consistent); }, true},
      {"bars, lumped mass", [](System& s) { bars(s, lumped); }, true},
      {"beams of rectangular section", [](System& s) { beams(s, 0, false, true); }, true},
      {"beams", [](System& s) { beams(s, 0, false); }, true},
      {"beams, section axes turned", [](System& s) { beams(s, 0, true); }, true},
      {"damped beams", [](System& s) { beams(s, 0.3, false); }, true},
      {"damped beams, section axes turned", [](System& s) { beams(s, 0.3, true); }, true},
      {"springs, frame to frame", [](System& s) { springs(s, End::frame, End::frame, 0, 0.6); }, true},
      {"springs, frame to ground", [](System& s) { springs(s, End::frame, End::ground, 0, 0.6); }},
      {"springs, ground to frame", [](System& s) { springs(s, End::ground, End::frame, 0, 0.6); }},
      {"springs, point to point", [](System& s) { springs(s, End::point, End::point, 0, 0.6); }},
      {"springs, point to frame", [](System& s) { springs(s, End::point, End::frame, 0, 0.6); }},
      {"springs, ground to point", [](System& s) { springs(s, End::ground, End::point, 0, 0.6); }},
      {"springs of no length, frame to frame", [](System& s) { springs(s, End::frame, End::frame, 0, 0); }, true},
      {"springs of no length, point to frame", [](System& s) { springs(s, End::point, End::frame, 0, 0); }},
      {"dampers, frame to frame", [](System& s) { springs(s, End::frame, End::frame, 1.3, 0.6); }, true},
      {"dampers, frame to ground", [](System& s) { springs(s, End::frame, End::ground, 1.3, 0.6); }},
      {"dampers, ground to frame", [](System& s) { springs(s, End::ground, End::frame, 1.3, 0.6); }},
      {"dampers, point to point", [](System& s) { springs(s, End::point, End::point, 1.3, 0.6); }},
      {"dampers, point to frame", [](System& s) { springs(s, End::point, End::frame, 1.3, 0); }},
      {"dampers, point to ground", [](System& s) { springs(s, End::point, End::ground, 1.3, 0); }},
      {"springs of displacements", [](System& s) { coordinate_springs(s, along, frame, frame, 0); }, true},
      {"dampers of displacements", [](System& s) { coordinate_springs(s, along, frame, frame, 1.3); }, true},
      {"dampers of displacements, ground to point",
       [](System& s) { coordinate_springs(s, along, ground, point, 1.3); }},
      {"dampers of distances", [](System& s) { coordinate_springs(s, apart, frame, point, 1.3); }},
      {"springs of angles", [](System& s) { coordinate_springs(s, about, frame, frame, 0); }, true},
      {"dampers of angles", [](System& s) { coordinate_springs(s, about, frame, frame, 1.3); }, true},
      {"dampers of angles, frame to ground", [](System& s) { coordinate_springs(s, about, frame, ground, 1.3); }},
      {"dead force on frames", [](System& s) { loads(s, K::force, false, F, constant_load()); }},
      {"dead force on points", [](System& s) { loads(s, K::force, false, P, constant_load()); }},
      {"varying force on frames", [](System& s) { loads(s, K::force, false, F, varying_load()); }},
      {"varying force on points", [](System& s) { loads(s, K::force, false, P, varying_load()); }},
      {"follower force on frames", [](System& s) { loads(s, K::force, true, F, varying_load()); }},
      {"torque in inertial axes", [](System& s) { loads(s, K::torque, false, F, constant_load()); }},
      {"varying torque in inertial axes", [](System& s) { loads(s, K::torque, false, F, varying_load()); }},
      {"torque in body axes", [](System& s) { loads(s, K::torque, true, F, varying_load()); }},
  };
  for (const int nodes : {3, 4})
    for (const bool follower : {false, true})
      list.push_back(
          {std::string(follower ? "following" : "dead") + " pressure on " + (nodes == 3 ? "tri" : "quadr") + "angles",
           [=](System& s) { pressures(s, nodes, follower); }});
  for (ElementCase& c : solid_cases()) list.push_back(std::move(c));
  return list;
}

template <class Check>
void for_elements(const Check& check) {
  for (const ElementCase& c : elements()) check(c);
}

}  // namespace

TEST_CASE("every element: its stiffness is the derivative of its forces and of M a") {
  for_elements(check_stiffness_is_derivative);
}
TEST_CASE("every element: its damping matrix is the derivative of its forces by the velocity") {
  for_elements(check_damping_is_derivative);
}
TEST_CASE("every element: its mass matrix is symmetric, positive semidefinite, and gives M a") {
  for_elements(check_mass_matrix);
}
TEST_CASE("every element: its lumped mass is diagonal in translations and keeps the total mass") {
  for_elements(check_lumped_mass);
}
TEST_CASE("every element: internal forces are minus the gradient of its elastic energy") {
  for_elements(check_forces_from_energy);
}
TEST_CASE("every element: the parts of its force sum to the whole") { for_elements(check_force_parts); }
TEST_CASE("every element: damping takes energy and gyroscopic forces give what a changing mass takes") {
  for_elements(check_power);
}
TEST_CASE("every element: its traits are honest") { for_elements(check_traits); }
TEST_CASE("every element: a range gives what the whole gives there") { for_elements(check_ranges); }
TEST_CASE("every element: results are added to what is there") { for_elements(check_accumulation); }
TEST_CASE("every free element: its forces follow a rigid motion and do no work in one") {
  for_elements(check_objectivity);
}
TEST_CASE("every element: no call allocates") { for_elements(check_no_allocation); }
