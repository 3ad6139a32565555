#include "contact/gap/near_spheres.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>

using namespace carom;

namespace {

// Points in a box, a third of them fast, of two sizes.
struct Cloud {
  DofMap dofs;
  std::vector<ContactSphere> spheres;
  Vector q, v;
  std::mt19937 engine{3};

  explicit Cloud(int count) {
    for (int i = 0; i < count; ++i) {
      spheres.push_back({"s" + std::to_string(i), dofs.add_node(NodeKind::point), i % 5 == 0 ? 0.1 : 0.04});
      for (int c = 0; c < 3; ++c) q.push_back(random());
    }
    // one that is held has no velocity
    for (int c = 0; c < 3; ++c) dofs.fix(7, c);
    dofs.number();
    for (int i = 0; i < dofs.equations(); ++i) v.push_back((i / 3) % 3 == 0 ? 5 * random() - 2.5 : 0.0);
  }
  double random() { return static_cast<double>(engine()) / static_cast<double>(std::mt19937::max()); }
  std::unique_ptr<NearSpheresBlock> block() {
    auto block = std::make_unique<NearSpheresBlock>("c", spheres, 0.5);
    block->bind(dofs);
    return block;
  }
  Vec3 place(int i) const { return {q[at(3 * i)], q[at(3 * i + 1)], q[at(3 * i + 2)]}; }
  Vec3 velocity(int i) const {
    Vec3 out = Vec3::Zero();
    for (int c = 0; c < 3; ++c)
      if (const int e = dofs.equation(i, c); e >= 0) out[c] = v[at(e)];
    return out;
  }
  void move(double h) {
    for (int i = 0; i < static_cast<int>(spheres.size()); ++i)
      for (int c = 0; c < 3; ++c)
        if (const int e = dofs.equation(i, c); e >= 0) {
          double& x = q[at(3 * i + c)];
          x += h * v[at(e)];
          if (x < 0 || x > 1) v[at(e)] *= -1;
        }
  }
};

std::map<std::pair<int, int>, int> pairs_of(const NearSpheresBlock& block) {
  std::map<std::pair<int, int>, int> rows;
  for (int i = 0; i < block.topology().items; ++i) {
    const int a = block.topology().node(i, 0), b = block.topology().node(i, 1);
    REQUIRE((a < 0) == (b < 0));
    if (a >= 0) REQUIRE(rows.try_emplace({a, b}, i).second);  // a pair has one row
  }
  return rows;
}

}  // namespace

TEST_CASE("near spheres: every pair that may touch has a row, and keeps the row while near") {
  Cloud cloud(150);
  const auto block = cloud.block();
  CHECK(block->topology().items == 1500);
  std::map<std::pair<int, int>, int> before;
  const double h = 0.01;
  std::size_t came = 0, left = 0;
  for (int step = 0; step < 60; ++step) {
    block->find_candidates(cloud.q.data(), cloud.v.data(), 0, h);
    block->bind(cloud.dofs);
    const auto now = pairs_of(*block);
    REQUIRE(now.size() < 1500);
    for (int a = 0; a < 150; ++a)
      for (int b = a + 1; b < 150; ++b) {
        const double radii = cloud.spheres[at(a)].radius + cloud.spheres[at(b)].radius;
        const Vec3 span = cloud.place(b) - cloud.place(a), way = h * (cloud.velocity(b) - cloud.velocity(a));
        double nearest = span.norm();
        for (int s = 1; s <= 1000; ++s) nearest = std::min(nearest, (span + s / 1000.0 * way).norm());
        const double margin = nearest - 1.25 * radii;
        if (std::abs(margin) > 1e-5) CHECK(now.contains({a, b}) == (margin < 0));
      }
    for (const auto& [pair, row] : before) {
      const auto found = now.find(pair);
      if (found == now.end())
        ++left;
      else
        CHECK(found->second == row);
    }
    for (const auto& [pair, row] : now) came += before.contains(pair) ? 0 : 1;
    before = now;
    cloud.move(h);
  }
  CHECK(came > 500);
  CHECK(left > 100);
}

TEST_CASE("near spheres: rows measure the distance of their pair, rows without a pair are open and act on nothing") {
  Cloud cloud(60);
  const auto block = cloud.block();
  block->find_candidates(cloud.q.data(), cloud.v.data(), 0, 0.01);
  block->bind(cloud.dofs);
  const int items = block->topology().items;
  Vector gap(at(items)), gradient(12 * at(items), 1.0);
  ConstraintValues values;
  values.gap = gap.data();
  values.gradient = gradient.data();
  block->evaluate({0, items}, {cloud.q.data(), nullptr, 0, nullptr}, values);
  int free = 0;
  for (int i = 0; i < items; ++i) {
    CAPTURE(i);
    const int a = block->topology().node(i, 0), b = block->topology().node(i, 1);
    const Vec3 towards_b(gradient[12 * at(i) + 6], gradient[12 * at(i) + 7], gradient[12 * at(i) + 8]);
    if (a < 0) {
      ++free;
      CHECK(gap[at(i)] == 0.2);
      CHECK(towards_b == Vec3::Zero());
      CHECK(block->place(i, 0, {cloud.q.data(), nullptr, 0, nullptr}).normal == Vec3::Zero());
      continue;
    }
    const Vec3 span = cloud.place(b) - cloud.place(a);
    CHECK(gap[at(i)] ==
          doctest::Approx(span.norm() - cloud.spheres[at(a)].radius - cloud.spheres[at(b)].radius).epsilon(1e-12));
    CHECK((towards_b - span.normalized()).norm() < 1e-14);
    CHECK(block->item_name(i) == "c[s" + std::to_string(a) + ",s" + std::to_string(b) + "]");
    CHECK(block->law(i, 0).restitution == 0.5);
  }
  CHECK(free > 0);
  CHECK(free < items);
}

TEST_CASE("near spheres: a block with restored rows goes on as the block that was never interrupted") {
  Cloud cloud(100);
  const auto block = cloud.block();
  const double h = 0.01;
  for (int step = 0; step < 20; ++step, cloud.move(h)) block->find_candidates(cloud.q.data(), cloud.v.data(), 0, h);
  const auto other = cloud.block();
  other->restore_candidates(block->topology().nodes);
  CHECK(other->topology().nodes == block->topology().nodes);
  for (int step = 0; step < 20; ++step, cloud.move(h)) {
    CHECK(other->find_candidates(cloud.q.data(), cloud.v.data(), 0, h) ==
          block->find_candidates(cloud.q.data(), cloud.v.data(), 0, h));
    REQUIRE(other->topology().nodes == block->topology().nodes);
  }
  std::vector<int> wrong = block->topology().nodes;
  wrong[0] = 100;
  CHECK_THROWS_AS(other->restore_candidates(wrong), std::invalid_argument);
}

TEST_CASE("near spheres: where more pairs are near than there are rows, the nearest have them") {
  // all at one place but for little: 1225 pairs, 500 rows
  Cloud cloud(50);
  for (double& x : cloud.q) x *= 0.01;
  for (double& x : cloud.v) x = 0;
  const auto block = cloud.block();
  block->find_candidates(cloud.q.data(), cloud.v.data(), 0, 0.01);
  const auto rows = pairs_of(*block);
  REQUIRE(rows.size() == 500);
  const auto gap = [&](int a, int b) {
    return (cloud.place(b) - cloud.place(a)).norm() - cloud.spheres[at(a)].radius - cloud.spheres[at(b)].radius;
  };
  double largest = -HUGE_VAL;
  for (const auto& [pair, row] : rows) largest = std::max(largest, gap(pair.first, pair.second));
  for (int a = 0; a < 50; ++a)
    for (int b = a + 1; b < 50; ++b) CHECK((rows.contains({a, b}) || gap(a, b) >= largest));
}

TEST_CASE("near spheres: pairs that touch keep their rows beside any number of pairs that come near") {
  // two columns of three balls that touch, and a swarm whose 946 pairs all meet within the step; 500 rows
  Cloud cloud(50);
  for (int i = 0; i < 50; ++i) {
    cloud.spheres[at(i)].radius = 0.05;
    const Vec3 x = i < 6 ? Vec3(i < 3 ? 5 : 6, 0, 0.1 * (i % 3)) : Vec3(0.3 * (i - 28), 0, 0);
    for (int c = 0; c < 3; ++c) {
      cloud.q[at(3 * i + c)] = x[c];
      if (const int e = cloud.dofs.equation(i, c); e >= 0) cloud.v[at(e)] = i < 6 ? 0 : -100 * x[c];
    }
  }
  const auto block = cloud.block();
  block->find_candidates(cloud.q.data(), cloud.v.data(), 0, 0.01);
  const auto rows = pairs_of(*block);
  CHECK(rows.size() == 500);
  for (const int a : {0, 1, 3, 4}) CHECK(rows.contains({a, a + 1}));
}

TEST_CASE("near spheres: pairs without a row that overlap or pass each other are told, and the nearest of them") {
  Cloud cloud(30);
  for (int i = 0; i < 30; ++i)
    for (int c = 0; c < 3; ++c) cloud.q[at(3 * i + c)] = c == 0 ? i : 0;
  for (double& v : cloud.v) v = 0;
  const auto block = cloud.block();
  block->find_candidates(cloud.q.data(), cloud.v.data(), 0, 0.01);
  CHECK(pairs_of(*block).empty());
  const auto missed = [&](double x) {
    Vector end = cloud.q;
    end[3 * 4] = x;
    return block->missed_contact({cloud.q.data(), nullptr, 0, nullptr}, {end.data(), nullptr, 0, nullptr}, 0.17);
  };
  // radii of 4 and 5: 0.04 and 0.1
  CHECK(missed(4.85).empty());
  CHECK(missed(4.87) == "c[s4,s5]");
  CHECK(missed(5.5) == "c[s4,s5]");  // through the fifth
  CHECK(missed(7.5) == "c[s4,s5]");  // and others
  const auto nearest = block->nearest_without_item(cloud.q.data(), cloud.v.data());
  CHECK(nearest.gap == doctest::Approx(1 - 0.14));
  CHECK(nearest.name == "c[s0,s1]");
  CHECK(nearest.rate == 0);
  for (int i = 0; i < block->topology().items; ++i) CHECK(block->vacant(i));
}
