// The contract of constraints, for every one there is. A new joint or obstacle: one line in one of the lists below.
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "contact/gap/obstacle.hpp"
#include "contact/gap/point_contact.hpp"
#include "contact/gap/sphere_contact.hpp"
#include "elements/bodies/coordinate_frame.hpp"
#include "elements/bodies/coordinates.hpp"
#include "elements/joints/joint.hpp"
#include "elements/joints/joint_coordinate.hpp"
#include "elements/joints/joint_friction.hpp"
#include "tests/contract/constraint_contract.hpp"
#include "tests/contract/samples.hpp"

namespace {

using namespace carom;
using namespace carom::test;

// ---- joints

template <class MakeA, class MakeB>
void coordinate_rows(System& s, Coordinate kind, const MakeA& a, const MakeB& b, const ConstraintTraits& traits) {
  std::vector<CoordinateRow> rows;
  for (const JointCoordinate& c : coordinates(s, kind, a, b)) {
    CoordinateRow row;
    row.coordinate = c;
    row.value = traits.moving ? TimeFunction::formula("0.2 + 0.4*sin(1.5*t)") : TimeFunction::constant(0.3);
    row.sign = rows.empty() ? -1 : 1;
    row.restitution = traits.kind != RowKind::bilateral ? 0.4 : 0;
    rows.push_back(row);
  }
  s.add(std::make_unique<CoordinateBlock>("coordinates", rows, traits));
}

template <class MakeA, class MakeB>
void joint_frictions(System& s, Coordinate kind, const MakeA& a, const MakeB& b, int rows, bool linear = false) {
  std::vector<JointFriction> items;
  for (const JointCoordinate& c : coordinates(s, kind, a, b)) {
    JointFriction item;
    item.coordinate = item.angle = c;
    item.angle.kind = Coordinate::angle;
    item.lever = 0.3;
    items.push_back(item);
  }
  s.add(std::make_unique<JointFrictionBlock>("friction", items, rows, linear));
}

template <class MakeA, class MakeB>
void coincidences(System& s, const MakeA& a, const MakeB& b, bool rotating) {
  std::vector<Coincidence> list;
  for (int i = 0; i < 2; ++i) {
    const Ends e = ends(s, a, b);
    list.push_back({.node_a = e.node_a, .node_b = e.node_b, .offset_a = e.offset_a, .offset_b = e.offset_b});
  }
  s.add(std::make_unique<CoincidenceBlock>("coincidences", list, rotating));
}
template <class MakeA, class MakeB>
void orthogonalities(System& s, const MakeA& a, const MakeB& b) {
  Random random(5);
  std::vector<Orthogonality> list;
  for (int i = 0; i < 2; ++i) {
    const Ends e = ends(s, a, b);
    list.push_back({.node_a = e.node_a, .node_b = e.node_b, .alpha = random.direction(), .beta = random.direction()});
  }
  s.add(std::make_unique<OrthogonalityBlock>("orthogonalities", list));
}
void parallels(System& s, bool to_ground) {
  Random random(6);
  const int a = to_ground ? -1 : frame(s), b = frame(s);
  const Mat3 R_A = to_ground ? Mat3(Mat3::Identity()) : random.rotation_matrix(), R_B = random.rotation_matrix();
  s.add(std::make_unique<OrthogonalityBlock>("parallel frames", parallel_frames(a, R_A, b, R_B)));
}
// The position of a moment is only defined if the two directions are orthogonal: rotate beta's frame until they are.
void make_orthogonal(const System& s, Random&, Motion& m) {
  for (int iteration = 0; iteration < 30; ++iteration) {
    Vector g(at(s.rows())), dx(at(s.size()), 0.0);
    s.gaps(m.q, m.t, all_rows, g);
    Matrix G = Matrix::Zero(s.rows(), s.size());
    for (int row = 0; row < s.rows(); ++row) {
      SparseRow r;
      s.row_gradient(row, m.q, m.t, nullptr, r);
      for (std::size_t k = 0; k < r.equation.size(); ++k) G(row, r.equation[k]) = r.value[k];
    }
    if (largest(g) < 1e-15) break;
    const ColumnVector step = -G.completeOrthogonalDecomposition().solve(column(g));
    Eigen::Map<ColumnVector>(dx.data(), step.size()) = step;
    m.q = moved(s, m.q, dx, 1);
  }
}

// ---- obstacles: each with points in its own frame where the distance is smooth

struct Obstruction {
  std::string name;
  std::shared_ptr<const Obstacle> obstacle;
  std::function<Vec3(Random&)> sample;
};

std::vector<Obstruction> obstructions() {
  const Vec3 center(0.3, -0.2, 0.5), axis = Vec3(1, 2, -1).normalized();
  // a point given by its distance from the axis and its height
  const auto around_axis = [=](double rho, double z, Random& random) {
    const Vec3 u = axis.unitOrthogonal(), w = axis.cross(u);
    const double angle = random.between(0, 6.2);
    return Vec3(center + z * axis + rho * (std::cos(angle) * u + std::sin(angle) * w));
  };
  const auto anywhere = [](Random& r) { return r.in_box(2); };
  const auto near_sphere = [=](Random& r) { return Vec3(center + r.between(0.3, 1.6) * r.direction()); };
  const auto near_mantle = [=](Random& r) { return around_axis(r.between(0.5, 1.6), r.between(-0.5, 0.5), r); };
  const auto near_cap = [=](Random& r) { return around_axis(r.between(0, 0.6), r.sign() * r.between(0.98, 2), r); };
  const auto near_rim = [=](Random& r) { return around_axis(r.between(1, 1.6), r.sign() * r.between(1.2, 2), r); };
  return {
      {"plane", make_plane(center, Vec3(1, -2, 3)), anywhere},
      {"sphere, outside", make_sphere(center, 0.8, false), near_sphere},
      {"sphere, inside", make_sphere(center, 0.8, true), near_sphere},
      {"cylinder, outside", make_cylinder(center, axis, 0.8, 0, false), near_mantle},
      {"cylinder, inside", make_cylinder(center, axis, 0.8, 0, true), near_mantle},
      {"finite cylinder, inside", make_cylinder(center, axis, 0.8, 2, true), near_mantle},
      {"finite cylinder, mantle", make_cylinder(center, axis, 0.8, 2, false), near_mantle},
      {"finite cylinder, cap", make_cylinder(center, axis, 0.8, 2, false), near_cap},
      {"finite cylinder, rim", make_cylinder(center, axis, 0.8, 2, false), near_rim},
  };
}

struct NamedMotion {
  std::string name;
  std::shared_ptr<const PrescribedMotion> motion;
};

std::vector<NamedMotion> motions() {
  const auto make = [](bool translates, bool rotates, bool fixed, bool belt = false) {
    auto motion = std::make_shared<PrescribedMotion>();
    motion->axis = Vec3(2, -1, 2).normalized();
    motion->about = Vec3(0.5, 0.1, -0.4);
    if (translates)
      motion->translation = {TimeFunction::formula("0.3*sin(2*t)"), TimeFunction::formula("0.2*t - 0.1*t^2"),
                             TimeFunction::formula("0.4*cos(t)")};
    if (rotates) motion->angle = TimeFunction::formula("0.9*sin(1.5*t) + 0.3*t");
    if (fixed) {
      motion->translation = {TimeFunction::constant(0.2), TimeFunction::constant(-0.6), TimeFunction::constant(0.1)};
      motion->angle = TimeFunction::constant(1.1);
    }
    if (belt)
      motion->surface = {TimeFunction::formula("0.5*cos(2*t)"), TimeFunction::constant(0.3),
                         TimeFunction::formula("0.2*t")};
    return motion;
  };
  return {{"fixed", nullptr},
          {"displaced", make(false, false, true)},
          {"translating", make(true, false, false)},
          {"rotating", make(false, true, false)},
          {"translating and rotating", make(true, true, false)},
          {"with a surface that moves", make(false, true, false, true)}};
}

// Three points or spheres against one obstacle.
ConstraintCase point_contact(const Obstruction& o, const NamedMotion& motion, NodeKind kind, double friction,
                             double resistance = 0) {
  ConstraintCase c;
  c.name = o.name + ", " + motion.name + (kind == F ? ", points of frames" : ", points") +
           (friction > 0 ? ", friction" : "") + (resistance > 0 ? ", resistance" : "");
  const auto offset = [](int i) { return Vec3(i * arm_a); };
  c.build = [=](System& s) {
    std::vector<ContactPoint> points;
    for (int i = 0; i < 3; ++i)
      points.push_back({.name = "tip",
                        .node = node(s, kind),
                        .offset = offset(i),
                        .radius = i == 1 && resistance == 0 ? 0 : 0.15 * (i + 1),
                        .restitution = 0.4 * i,
                        .friction = friction,
                        .tangential_restitution = friction > 0 ? 0.3 : 0,
                        .rolling = resistance,
                        .pivoting = 2 * resistance});
    s.add(std::make_unique<PointContactBlock>("contacts", points, o.obstacle, motion.motion, kind == F));
  };
  c.place = [=](const System& s, Random& random, Motion& m) {
    for (int i = 0; i < 3; ++i) {
      Vec3 x = o.sample(random);
      if (motion.motion != nullptr) {
        const PrescribedMotion::Pose pose = motion.motion->at(m.t);
        x = pose.origin + pose.Q * (x - motion.motion->about);
      }
      double* q = m.q.data() + s.dofs().configuration_offset(i);
      const Mat3 R = kind == F ? so3::quaternion_to_matrix(Quaternion(q[3], q[4], q[5], q[6])) : Mat3(Mat3::Identity());
      Eigen::Map<Vec3>{q} = x - R * offset(i);
    }
  };
  c.distance = true;
  return c;
}

// Formulas of the coordinates x, y, z and of t.
void formula_rows(System& s, const std::vector<std::string>& formulas, RowKind kind) {
  const CoordinateNames names = coordinate_names(s, 3);
  std::vector<FormulaRow> rows;
  for (const std::string& formula : formulas)
    rows.push_back({formula, {{formula, names.q_t}, formula}, kind == RowKind::bilateral ? 0 : 0.4});
  s.add(std::make_unique<FormulaRowBlock>("body", names.nodes, rows, kind, std::array<int, 3>{0, 1, 2}));
}

// A frame placed by formulas of x, y, z and t.
void coordinate_frame(System& s, const std::vector<std::string>& place,
                      const std::vector<std::pair<Vec3, std::string>>& rotations) {
  const CoordinateNames names = coordinate_names(s, 3);
  CoordinateFrame f{"frame", names.nodes, frame(s), {}, {}};
  for (const std::string& p : place) f.position.push_back({{p, names.q_t}, p});
  for (const auto& [axis, angle] : rotations) f.rotations.push_back({axis.normalized(), {{angle, names.q_t}, angle}});
  s.add(std::make_unique<CoordinateFrameBlock>(std::move(f)));
}

void sphere_pairs(System& s, NodeKind a, NodeKind b, double friction = 0, double resistance = 0) {
  std::vector<SpherePair> pairs;
  for (int i = 0; i < 2; ++i)
    pairs.push_back({.name = "pair",
                     .node_a = node(s, a),
                     .node_b = node(s, b),
                     .offset_a = i * arm_a,
                     .offset_b = arm_b,
                     .radius_a = 0.2,
                     .radius_b = 0.3 * i,
                     .restitution = 0.5,
                     .friction = friction,
                     .rolling = resistance,
                     .pivoting = 2 * resistance,
                     .lever = 0.25});
  s.add(std::make_unique<SphereContactBlock>("pairs", pairs));
}

std::vector<ConstraintCase> constraints() {
  constexpr Reaction force = Reaction::force, moment = Reaction::moment, contact = Reaction::contact,
                     none = Reaction::none;
  constexpr Coordinate along = Coordinate::displacement, apart = Coordinate::distance, about = Coordinate::angle;
  std::vector<ConstraintCase> list = {
      {"coincidence, frame to frame", [](System& s) { coincidences(s, frame, frame, true); }, force},
      {"coincidence, frame to ground", [](System& s) { coincidences(s, frame, ground, true); }, force},
      {"coincidence, ground to frame", [](System& s) { coincidences(s, ground, frame, true); }, force},
      {"coincidence, point to frame", [](System& s) { coincidences(s, point, frame, true); }, force},
      {"coincidence, frame to point", [](System& s) { coincidences(s, frame, point, true); }, force},
      {"coincidence, point to point", [](System& s) { coincidences(s, point, point, false); }, force},
      {"coincidence, point to ground", [](System& s) { coincidences(s, point, ground, false); }, force},
      {"orthogonality, frame to frame", [](System& s) { orthogonalities(s, frame, frame); }, moment, make_orthogonal},
      {"orthogonality, frame to ground", [](System& s) { orthogonalities(s, frame, ground); }, moment, make_orthogonal},
      {"orthogonality, ground to frame", [](System& s) { orthogonalities(s, ground, frame); }, moment, make_orthogonal},
      {"orthogonality, anywhere", [](System& s) { orthogonalities(s, frame, frame); }, Reaction::none},
      {"displacement, frame to frame", [](System& s) { coordinate_rows(s, along, frame, frame, {}); }, contact},
      {"displacement, frame to ground", [](System& s) { coordinate_rows(s, along, frame, ground, {}); }, contact},
      {"displacement, ground to frame", [](System& s) { coordinate_rows(s, along, ground, frame, {}); }, contact},
      {"displacement, frame to point", [](System& s) { coordinate_rows(s, along, frame, point, {}); }, contact},
      {"displacement, ground to point", [](System& s) { coordinate_rows(s, along, ground, point, {.linear = true}); },
       contact},
      {"driven displacement", [](System& s) { coordinate_rows(s, along, frame, frame, {.moving = true}); }, contact},
      {"stop of a displacement",
       [](System& s) { coordinate_rows(s, along, frame, frame, {.kind = RowKind::unilateral}); }, contact},
      {"distance, frame to frame", [](System& s) { coordinate_rows(s, apart, frame, frame, {}); }, contact},
      {"distance, point to frame", [](System& s) { coordinate_rows(s, apart, point, frame, {}); }, contact},
      {"distance, ground to point", [](System& s) { coordinate_rows(s, apart, ground, point, {}); }, contact},
      {"driven distance", [](System& s) { coordinate_rows(s, apart, frame, point, {.moving = true}); }, contact},
      {"stop of a distance", [](System& s) { coordinate_rows(s, apart, point, point, {.kind = RowKind::unilateral}); },
       contact},
      {"angle, frame to frame", [](System& s) { coordinate_rows(s, about, frame, frame, {}); }, none, near_start},
      {"angle, frame to ground", [](System& s) { coordinate_rows(s, about, frame, ground, {}); }, none, near_start},
      {"angle, ground to frame", [](System& s) { coordinate_rows(s, about, ground, frame, {}); }, none, near_start},
      {"driven angle", [](System& s) { coordinate_rows(s, about, frame, frame, {.moving = true}); }, none, near_start},
      {"stop of an angle", [](System& s) { coordinate_rows(s, about, frame, frame, {.kind = RowKind::unilateral}); },
       none, near_start},
      {"friction of a displacement, frame to frame", [](System& s) { joint_frictions(s, along, frame, frame, 1); },
       contact},
      {"friction of a displacement, ground to point",
       [](System& s) { joint_frictions(s, along, ground, point, 1, true); }, contact},
      {"friction of an angle, frame to ground", [](System& s) { joint_frictions(s, about, frame, ground, 1); }, none,
       near_start},
      {"friction of a cylindrical joint, frame to frame", [](System& s) { joint_frictions(s, along, frame, frame, 2); },
       none, near_start},
      {"friction of a spherical joint, frame to frame", [](System& s) { joint_frictions(s, along, frame, frame, 3); },
       moment},
      {"friction of a spherical joint, ground to frame", [](System& s) { joint_frictions(s, along, ground, frame, 3); },
       moment},
      {"parallel frames", [](System& s) { parallels(s, false); }, Reaction::none},
      {"parallel frames, one of them ground", [](System& s) { parallels(s, true); }, Reaction::none},
      {"formulas",
       [](System& s) {
         formula_rows(s, {"(x^2 + y^2 - 2)/2", "x*sin(y) + z^3"}, RowKind::bilateral);
       },
       none},
      {"formulas of t",
       [](System& s) {
         formula_rows(s, {"x*sin(t) - y*cos(2*t) + t^2", "z - exp(x*t)/3"}, RowKind::bilateral);
       },
       none},
      {"linear formulas",
       [](System& s) {
         formula_rows(s, {"2*x - (y - z)/3 + 1", "z"}, RowKind::bilateral);
       },
       none},
      {"linear formulas of t", [](System& s) { formula_rows(s, {"2*x - y + sin(t)"}, RowKind::bilateral); }, none},
      {"gaps by formulas of t",
       [](System& s) {
         formula_rows(s, {"x^2 - y*t + 1", "cos(x*y*z)"}, RowKind::unilateral);
       },
       none},
      {"linear gaps by formulas",
       [](System& s) {
         formula_rows(s, {"y + 1", "2 - x"}, RowKind::unilateral);
       },
       none},
      {"frame of coordinates",
       [](System& s) {
         coordinate_frame(s, {"x*cos(y)", "x*sin(y)", "2*z"}, {});
       },
       none},
      {"frame of linear coordinates",
       [](System& s) {
         coordinate_frame(s, {"x - 2*y", "0", "3*z + 1"}, {});
       },
       none},
      {"frame of coordinates that turns",
       [](System& s) {
         coordinate_frame(s, {"x*y", "1", "z^2"}, {{{0, 0, 1}, "x"}, {{1, 0.2, 0}, "y*z"}, {{0.3, -0.5, 1}, "sin(z)"}});
       },
       none},
      {"frame of coordinates and t that turns",
       [](System& s) {
         coordinate_frame(s, {"x + sin(t)", "y*t", "z - t^2"},
                          {{{1, 2, 0}, "x*t"}, {{0, 1, -1}, "0.3"}, {{0, 1, 1}, "t^2 - y"}});
       },
       none},
      {"spheres, frame against frame", [](System& s) { sphere_pairs(s, F, F); }, contact, {}, true},
      {"spheres, frame against point", [](System& s) { sphere_pairs(s, F, P); }, contact, {}, true},
      {"spheres, point against frame", [](System& s) { sphere_pairs(s, P, F); }, contact, {}, true},
      {"spheres, point against point", [](System& s) { sphere_pairs(s, P, P); }, contact, {}, true},
      {"spheres with friction, frame against frame", [](System& s) { sphere_pairs(s, F, F, 0.4); }, contact, {}, true},
      {"spheres with friction, frame against point", [](System& s) { sphere_pairs(s, F, P, 0.4); }, contact, {}, true},
      {"spheres with friction, point against frame", [](System& s) { sphere_pairs(s, P, F, 0.4); }, contact, {}, true},
      {"spheres with friction, point against point", [](System& s) { sphere_pairs(s, P, P, 0.4); }, contact, {}, true},
      {"spheres with resistance, frame against frame",
       [](System& s) { sphere_pairs(s, F, F, 0.4, 0.02); },
       contact,
       {},
       true},
  };
  for (const Obstruction& o : obstructions())
    for (const NamedMotion& motion : motions()) list.push_back(point_contact(o, motion, F, 0.6, 0.02));
  for (const Obstruction& o : obstructions())
    for (const NamedMotion& motion : motions())
      for (const NodeKind kind : {F, P})
        for (const double friction : {0.0, 0.6}) list.push_back(point_contact(o, motion, kind, friction));
  return list;
}

template <class Check>
void for_constraints(const Check& check) {
  for (const ConstraintCase& c : constraints()) check(c);
}

}  // namespace

TEST_CASE("every constraint: G is the gradient of the gap") { for_constraints(check_gradient); }
TEST_CASE("every contact with friction: the gradient of the slip displacement") { for_constraints(check_gap_gradient); }
TEST_CASE("every constraint: the rate is G v + g_t, the derivative of the gap along the motion") {
  for_constraints(check_rate);
}
TEST_CASE("every constraint: the bias is the derivative of the rate at constant velocity") {
  for_constraints(check_bias);
}
TEST_CASE("every constraint: the rate's gradient is its derivative") { for_constraints(check_rate_gradient); }
TEST_CASE("every constraint: the reaction is F^T s") { for_constraints(check_reaction); }
TEST_CASE("every constraint: the reaction's gradient is its derivative") { for_constraints(check_reaction_gradient); }
TEST_CASE("every constraint: its traits and contact law are honest") { for_constraints(check_constraint_traits); }
TEST_CASE("every constraint: a zero multiplier adds nothing") { for_constraints(check_zero_multipliers); }
TEST_CASE("every constraint: a force along the normal at the place is the reaction") { for_constraints(check_place); }
TEST_CASE("every contact: the gap is a distance") { for_constraints(check_distance); }
TEST_CASE("every constraint: a range gives what the whole gives there") { for_constraints(check_constraint_ranges); }
TEST_CASE("every constraint: values are overwritten and reactions are added") {
  for_constraints(check_constraint_accumulation);
}
TEST_CASE("every constraint: each value can be asked for alone") { for_constraints(check_single_values); }
TEST_CASE("every constraint: no call allocates") { for_constraints(check_constraint_no_allocation); }
