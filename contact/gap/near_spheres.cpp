#include "contact/gap/near_spheres.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "contact/gap/passing.hpp"
#include "core/base/index.hpp"

namespace carom {

namespace {

constexpr double skin = 0.25;  // of the radii

double largest_radius(const std::vector<ContactSphere>& spheres) {
  double largest = 0;
  for (const ContactSphere& s : spheres) largest = std::max(largest, s.radius);
  return largest;
}

std::vector<SpherePair> free_rows(const std::vector<ContactSphere>& spheres, double restitution, double friction,
                                  double tangential_restitution, double rolling, double pivoting) {
  SpherePair none;
  none.restitution = restitution;
  none.friction = friction;
  none.tangential_restitution = tangential_restitution;
  none.rolling = rolling;
  none.pivoting = pivoting;
  none.node_a = none.node_b = -1;
  none.lever = largest_radius(spheres);
  const std::size_t n = spheres.size();
  return {std::min(n * (n - 1) / 2, NearSpheresBlock::rows_per_sphere * n), none};
}

}  // namespace

NearSpheresBlock::NearSpheresBlock(std::string name, std::vector<ContactSphere> spheres, double restitution,
                                   double friction, double tangential_restitution, double rolling, double pivoting)
    : SphereContactBlock(std::move(name),
                         free_rows(spheres, restitution, friction, tangential_restitution, rolling, pivoting),
                         2 * largest_radius(spheres)),
      spheres_(std::move(spheres)) {}

std::string NearSpheresBlock::item_name(int item) const {
  for (const Pair& p : bound_)
    if (p.item == item) return pair_name(p.a, p.b);
  return name() + "[free row " + std::to_string(item) + "]";
}

std::string NearSpheresBlock::pair_name(int a, int b) const {
  return name() + "[" + spheres_[at(a)].name + "," + spheres_[at(b)].name + "]";
}

void NearSpheresBlock::bind(const DofMap& dofs) {
  SphereContactBlock::bind(dofs);
  if (!centres_.empty()) return;
  for (const ContactSphere& s : spheres_) {
    Centre c;
    c.offset = dofs.configuration_offset(s.node);
    for (int k = 0; k < 3; ++k) c.equation[k] = dofs.equation(s.node, k);
    centres_.push_back(c);
  }
}

void NearSpheresBlock::set_pair(int item, int a, int b) {
  SpherePair& pair = pairs_[at(item)];
  const ContactSphere &A = spheres_[at(a)], &B = spheres_[at(b)];
  pair.node_a = A.node;
  pair.node_b = B.node;
  pair.radius_a = A.radius;
  pair.radius_b = B.radius;
  bind_slot(item, 0, A.node);
  bind_slot(item, 1, B.node);
}

void NearSpheresBlock::clear_pair(int item) {
  pairs_[at(item)].node_a = pairs_[at(item)].node_b = -1;
  bind_slot(item, 0, -1);
  bind_slot(item, 1, -1);
}

Vec3 NearSpheresBlock::velocity(std::size_t sphere, const double* v) const {
  Vec3 out = Vec3::Zero();
  for (int k = 0; k < 3; ++k)
    if (const int e = centres_[sphere].equation[k]; e >= 0) out[k] = v[e];
  return out;
}

NearSpheresBlock::Swept NearSpheresBlock::swept(const Vec3& from, const Vec3& to, double reach,
                                                std::size_t sphere) const {
  const Vec3 room = Vec3::Constant(reach);
  return {from, to, reach, static_cast<int>(sphere), from.cwiseMin(to) - room, from.cwiseMax(to) + room};
}

// Calls visit(a, b) for pairs of swept_ whose boxes overlap, a's sphere before b's, in an order that swept_ determines.
template <class Visit>
void NearSpheresBlock::sweep(const Visit& visit) const {
  Vec3 low = Vec3::Constant(HUGE_VAL), high = -low;
  for (const Swept& s : swept_) {
    low = low.cwiseMin(s.from);
    high = high.cwiseMax(s.from);
  }
  Eigen::Index axis = 0;
  (high - low).maxCoeff(&axis);
  std::sort(swept_.begin(), swept_.end(), [axis](const Swept& a, const Swept& b) {
    return a.low[axis] != b.low[axis] ? a.low[axis] < b.low[axis] : a.sphere < b.sphere;
  });
  for (std::size_t i = 0; i < swept_.size(); ++i) {
    const Swept& a = swept_[i];
    for (std::size_t k = i + 1; k < swept_.size() && swept_[k].low[axis] < a.high[axis]; ++k) {
      const Swept& b = swept_[k];
      if ((a.low.array() < b.high.array()).all() && (b.low.array() < a.high.array()).all())
        a.sphere < b.sphere ? visit(a, b) : visit(b, a);
    }
  }
}

// near_: all pairs that are near, or as many as there are rows.
void NearSpheresBlock::find_near(const double* q, const double* v, double h) {
  swept_.clear();
  for (std::size_t i = 0; i < spheres_.size(); ++i) {
    const Vec3 x(q + centres_[i].offset);
    swept_.push_back(swept(x, x + h * velocity(i, v), (1 + skin) * spheres_[i].radius, i));
  }
  near_.clear();
  sweep([&](const Swept& a, const Swept& b) {
    const double radii = spheres_[at(a.sphere)].radius + spheres_[at(b.sphere)].radius;
    const Vec3 x_0 = b.from - a.from;
    const double gap = closest_approach(x_0, b.to - a.to) - radii;
    if (!(gap < skin * radii)) return;
    const double now = x_0.norm() - radii;
    const bool touches = now < touching_gap * radii;
    near_.push_back({a.sphere, b.sphere, -1, touches ? now : gap, touches});
  });
  const auto in_order = [](const Pair& a, const Pair& b) { return std::tie(a.a, a.b) < std::tie(b.a, b.b); };
  if (near_.size() > pairs_.size()) {
    std::sort(near_.begin(), near_.end(), [](const Pair& a, const Pair& b) {
      return std::tie(b.touches, a.gap, a.a, a.b) < std::tie(a.touches, b.gap, b.a, b.b);
    });
    near_.resize(pairs_.size());
  }
  std::sort(near_.begin(), near_.end(), in_order);
}

bool NearSpheresBlock::has_row(int a, int b) const {
  const auto before = [](const Pair& x, const std::pair<int, int>& wanted) { return std::pair(x.a, x.b) < wanted; };
  const auto found = std::lower_bound(bound_.begin(), bound_.end(), std::pair(a, b), before);
  return found != bound_.end() && found->a == a && found->b == b;
}

ConstraintBlock::Neighbours NearSpheresBlock::nearest_without_item(const double* q, const double* v) const {
  Neighbours nearest;
  const auto centre = [&](std::size_t i) { return Vec3(q + centres_[i].offset); };
  std::pair<std::size_t, std::size_t> found(0, 0);
  for (std::size_t a = 0; a < spheres_.size(); ++a)
    for (std::size_t b = a + 1; b < spheres_.size(); ++b) {
      const double radii = spheres_[a].radius + spheres_[b].radius;
      const double gap = (centre(b) - centre(a)).norm() - radii;
      if (gap >= nearest.gap || has_row(static_cast<int>(a), static_cast<int>(b))) continue;
      nearest.gap = gap;
      found = {a, b};
    }
  if (!std::isfinite(nearest.gap)) return nearest;
  const auto [a, b] = found;
  nearest.name = pair_name(static_cast<int>(a), static_cast<int>(b));
  nearest.rate = (velocity(b, v) - velocity(a, v)).dot((centre(b) - centre(a)).normalized());
  return nearest;
}

// Vacant rows are drawn inside a sphere.
ConstraintBlock::Place NearSpheresBlock::place(int item, int row, const ConstraintInput& in) const {
  if (!vacant(item)) return SphereContactBlock::place(item, row, in);
  const std::size_t sphere = std::min(at(item) / rows_per_sphere, spheres_.size() - 1);
  return {Vec3(in.q + centres_[sphere].offset), Vec3::Zero()};
}

std::string NearSpheresBlock::missed_contact(const ConstraintInput& start, const ConstraintInput& end,
                                             double closing_turn) const {
  swept_.clear();
  for (std::size_t i = 0; i < spheres_.size(); ++i)
    swept_.push_back(
        swept(Vec3(start.q + centres_[i].offset), Vec3(end.q + centres_[i].offset), spheres_[i].radius, i));
  std::pair missed(-1, -1);
  sweep([&](const Swept& a, const Swept& b) {
    const std::pair pair(a.sphere, b.sphere);
    if (missed.first >= 0 && missed < pair) return;
    const double radii = spheres_[at(a.sphere)].radius + spheres_[at(b.sphere)].radius;
    const Vec3 x_0 = b.from - a.from, x_1 = b.to - a.to;
    if ((x_1.norm() < radii && !has_row(a.sphere, b.sphere)) || passes(x_0, x_1, radii, closing_turn)) missed = pair;
  });
  return missed.first < 0 ? "" : pair_name(missed.first, missed.second);
}

bool NearSpheresBlock::find_candidates(const double* q, const double* v, double, double h) {
  for (const Centre& c : centres_)
    if (!std::isfinite(q[c.offset] + q[c.offset + 1] + q[c.offset + 2])) return false;
  find_near(q, v, h);

  // pairs that stay near keep their rows
  bool changed = false;
  auto old = bound_.begin();
  std::size_t waiting = 0;
  for (Pair& p : near_) {
    for (; old != bound_.end() && std::tie(old->a, old->b) < std::tie(p.a, p.b); ++old) {
      clear_pair(old->item);
      changed = true;
    }
    if (old != bound_.end() && old->a == p.a && old->b == p.b)
      p.item = old++->item;
    else
      ++waiting;
  }
  for (; old != bound_.end(); ++old) {
    clear_pair(old->item);
    changed = true;
  }
  int row = 0;
  for (Pair& p : near_) {
    if (waiting == 0) break;
    if (p.item >= 0) continue;
    while (pairs_[at(row)].node_a >= 0) ++row;
    p.item = row;
    set_pair(row, p.a, p.b);
    changed = true;
    --waiting;
  }
  bound_.swap(near_);
  return changed;
}

void NearSpheresBlock::restore_candidates(std::span<const int> nodes) {
  std::vector<std::pair<int, int>> sphere_of;  // of a node, ascending
  for (std::size_t i = 0; i < spheres_.size(); ++i) sphere_of.emplace_back(spheres_[i].node, static_cast<int>(i));
  std::sort(sphere_of.begin(), sphere_of.end());
  const auto sphere = [&](int node) {
    const auto found = std::lower_bound(sphere_of.begin(), sphere_of.end(), std::pair(node, 0));
    if (found == sphere_of.end() || found->first != node)
      throw std::invalid_argument("NearSpheresBlock: the record does not fit");
    return found->second;
  };
  bound_.clear();
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const int item = static_cast<int>(i);
    clear_pair(item);
    if (nodes[2 * i] < 0) continue;
    const Pair pair{.a = sphere(nodes[2 * i]), .b = sphere(nodes[2 * i + 1]), .item = item};
    set_pair(item, pair.a, pair.b);
    bound_.push_back(pair);
  }
  std::sort(bound_.begin(), bound_.end(),
            [](const Pair& a, const Pair& b) { return std::tie(a.a, a.b) < std::tie(b.a, b.b); });
}

}  // namespace carom
