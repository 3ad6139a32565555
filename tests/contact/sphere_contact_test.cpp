#include "contact/gap/sphere_contact.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "core/mechanics/system.hpp"
#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using namespace carom::test;

}  // namespace

TEST_CASE("spheres: a head-on approach closes the gap with the relative speed") {
  System s;
  const double x[3] = {0, 0, 0}, y[3] = {3, 4, 0};
  const int a = s.add_node(NodeKind::point, x, "a"), b = s.add_node(NodeKind::point, y, "b");
  s.add(std::make_unique<SphereContactBlock>(
      "pair", std::vector<SpherePair>{{"pair", a, b, Vec3::Zero(), Vec3::Zero(), 1, 1.5, 0.8}}));
  s.finalize();
  CHECK(s.row_gap(0, s.initial_configuration(), 0) == doctest::Approx(2.5));
  CHECK(s.row_rate(0, s.initial_configuration(), Vector{0.6, 0.8, 0, -1.2, -1.6, 0}, 0) == doctest::Approx(-3));
  // transverse velocity: the rate is zero, the bias is the centripetal v^2/l
  const Vector across = {0, 0, 0, -4, 3, 0};
  CHECK(std::abs(s.row_rate(0, s.initial_configuration(), across, 0)) < 1e-15);
  Vector h(1);
  s.biases(s.initial_configuration(), across, 0, all_rows, h);
  CHECK(h[0] == doctest::Approx(25.0 / 5));
  CHECK(s.contact_parameters(0).restitution == 0.8);
  const ConstraintBlock::Place place = s.row_contact_place(0, s.initial_configuration(), across, 0);
  CHECK((place.point - Vec3(0.6, 0.8, 0)).norm() < 1e-15);
  CHECK((place.normal - Vec3(0.6, 0.8, 0)).norm() < 1e-15);
}

TEST_CASE("spheres: spinning about their centres changes nothing, and forces are opposite and central") {
  System s;
  Random random(1);
  const double q[7] = {0, 0, 0, 1, 0, 0, 0};
  const int a = s.add_node(NodeKind::frame, q, "a"), b = s.add_node(NodeKind::frame, q, "b");
  s.add(std::make_unique<SphereContactBlock>(
      "pair", std::vector<SpherePair>{{"pair", a, b, Vec3::Zero(), Vec3::Zero(), 0.2, 0.2, 0}}));
  s.finalize();
  const Motion m = random_motion(s, random);
  CHECK(s.row_rate(0, m.q, Vector{0, 0, 0, 1, 2, 3, 0, 0, 0, -3, 1, 4}, 0) == 0);
  Vector f(12, 0.0);
  s.add_reactions(m.q, 0, Vector{2}, all_rows, f);
  CHECK((Vec3(f.data()) + Vec3(f.data() + 6)).norm() < 1e-15);
  CHECK(Vec3(f.data() + 6).norm() == doctest::Approx(2));
  CHECK(Vec3(f.data() + 3).norm() == 0);
  CHECK(Vec3(f.data() + 9).norm() == 0);
  // a positive multiplier pushes the spheres apart
  CHECK(Vec3(f.data() + 6).dot(Vec3(m.q.data() + 7) - Vec3(m.q.data())) > 0);
}

TEST_CASE("spheres: pairs whose centres are at one place are found") {
  System s;
  std::vector<SpherePair> pairs;
  for (const double z : {3.0, 3.5, 3.5}) s.add_node(NodeKind::point, Vector{1, 2, z}, "node");
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(1, 2)})
    pairs.push_back({"pair", a, b, Vec3::Zero(), Vec3::Zero(), 1, 1, 0});
  const auto& block = static_cast<const SphereContactBlock&>(s.add(std::make_unique<SphereContactBlock>("c", pairs)));
  s.finalize();
  Vector q = s.initial_configuration();
  CHECK(block.undirected({q.data(), nullptr, 0}) == 1);
  CHECK(std::isnan(s.row_rate(1, q, Vector(9, 1.0), 0)));
  q[8] += 1e-6;
  CHECK(block.undirected({q.data(), nullptr, 0}) == -1);
}

TEST_CASE("spheres: candidates between all pairs of many bodies leave the matrix sparse") {
  // a rotating frame couples its own six equations; neighbours in a row couple twelve
  const auto entries = [](int bodies, bool all) {
    System s;
    std::vector<SpherePair> pairs;
    for (int i = 0; i < bodies; ++i) {
      const double q[7] = {1.0 * i, 0, 0, 1, 0, 0, 0};
      s.add_node(NodeKind::frame, q, "body");
      for (int k = all ? 0 : std::max(0, i - 1); k < i; ++k)
        pairs.push_back({"pair", k, i, Vec3::Zero(), Vec3::Zero(), 0.1, 0.1, 0});
    }
    s.add(std::make_unique<SphereContactBlock>("c", std::move(pairs)));
    s.finalize();
    return s.saddle_pattern().nonzeros();
  };
  CHECK(entries(24, false) == 24 * 36 + 23 * 72);
  CHECK(entries(24, true) == 24 * 36);
  // few bodies keep all terms
  CHECK(entries(5, true) == 5 * 36 + 10 * 72);
}

TEST_CASE("spheres: a motion through each other between two open ends is told, a slide around each other is not") {
  System s;
  const double x[3] = {0, 0, 0}, y[3] = {3, 0, 0};
  const int a = s.add_node(NodeKind::point, x, "a"), b = s.add_node(NodeKind::point, y, "b");
  s.add(std::make_unique<SphereContactBlock>(
      "pair", std::vector<SpherePair>{{"pair", a, b, Vec3::Zero(), Vec3::Zero(), 0.4, 0.6, 0}}));
  s.finalize();
  const auto missed = [&](const Vec3& from, const Vec3& to) {
    Vector start = s.initial_configuration(), end = start;
    for (int c = 0; c < 3; ++c) {
      start[at(3 + c)] = from[c];
      // both move
      end[at(c)] = 7;
      end[at(3 + c)] = 7 + to[c];
    }
    return s.missed_contact(start, 0, end, 1, 0.17) == "pair";
  };
  CHECK(missed({3, 0, 0}, {-1.1, 0, 0}));
  CHECK(missed({3, 0.9, 0}, {-3, 0.9, 0}));
  CHECK(!missed({3, 1.1, 0}, {-3, 1.1, 0}));  // past each other
  CHECK(!missed({3, 0, 0}, {1.5, 0, 0}));     // towards each other
  CHECK(!missed({3, 0, 0}, {0.6, 0, 0}));     // a gap that contact rows see
  CHECK(!missed({0.5, 0, 0}, {3, 0, 0}));
  // too deep for a direction, or to another side: contacts that close turn by ten degrees at most
  CHECK(missed({3, 0, 0}, {0.4, 0, 0}));
  CHECK(missed({-0.4, 0, 0}, {3, 0, 0}));
  CHECK(!missed({1.1, 0, 0}, {std::cos(0.16), std::sin(0.16), 0}));
  CHECK(missed({1.1, 0, 0}, {std::cos(0.19), std::sin(0.19), 0}));
  // from within, where no impact may have been yet
  CHECK(missed({0.99, 0, 0}, {0.95 * std::cos(0.3), 0.95 * std::sin(0.3), 0}));
  // chords of depth 2e-3 and 5e-4 between open ends
  CHECK(missed({0.2, 0.998, 0}, {-0.2, 0.998, 0}));
  CHECK(!missed({0.2, 0.9995, 0}, {-0.2, 0.9995, 0}));
  // from touch to touch: half a right angle is a slide, the diameter is not
  CHECK(!missed({1, 0, 0}, {std::sqrt(0.5), std::sqrt(0.5), 0}));
  CHECK(missed({1, 0, 0}, {-1, 0, 0}));
}
