#include "contact/gap/near_spheres.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "core/base/index.hpp"

namespace carom {

namespace {

constexpr double skin = 0.25;  // of the radii

double largest_radius(const std::vector<ContactSphere>& spheres) {
  double largest = 0;
  for (const ContactSphere& s : spheres) largest = std::max(largest, s.radius);
  return largest;
}

std::vector<SpherePair> free_rows(std::size_t spheres, double restitution) {
  SpherePair none;
  none.node_a = none.node_b = -1;
  none.restitution = restitution;
  return {std::min(spheres * (spheres - 1) / 2, NearSpheresBlock::rows_per_sphere * spheres), none};
}

}  // namespace

NearSpheresBlock::NearSpheresBlock(std::string name, std::vector<ContactSphere> spheres, double restitution)
    : SphereContactBlock(std::move(name), free_rows(spheres.size(), restitution), 2 * largest_radius(spheres)),
      spheres_(std::move(spheres)) {}

std::string NearSpheresBlock::item_name(int item) const {
  for (const Pair& p : bound_)
    if (p.item == item) return name() + "[" + spheres_[at(p.a)].name + "," + spheres_[at(p.b)].name + "]";
  return name() + "[free row " + std::to_string(item) + "]";
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

// near_: all pairs that are near, or as many as there are rows.
void NearSpheresBlock::sweep(const double* q, const double* v, double h) {
  swept_.clear();
  Vec3 low = Vec3::Constant(HUGE_VAL), high = -low;
  for (std::size_t i = 0; i < spheres_.size(); ++i) {
    const double* const x = q + centres_[i].offset;
    double square = 0;
    for (int k = 0; k < 3; ++k) {
      low[k] = std::min(low[k], x[k]);
      high[k] = std::max(high[k], x[k]);
      const int e = centres_[i].equation[k];
      if (e >= 0) square += v[e] * v[e];
    }
    const double travel = h * std::sqrt(square);
    swept_.push_back({0, {x[0], x[1], x[2]}, (1 + skin) * spheres_[i].radius + travel, travel, static_cast<int>(i)});
  }
  Eigen::Index axis = 0;
  (high - low).maxCoeff(&axis);
  for (Swept& s : swept_) s.low = s.x[axis] - s.reach;
  std::sort(swept_.begin(), swept_.end(),
            [](const Swept& a, const Swept& b) { return std::tie(a.low, a.sphere) < std::tie(b.low, b.sphere); });

  near_.clear();
  for (std::size_t i = 0; i < swept_.size(); ++i) {
    const Swept& a = swept_[i];
    const double end = a.x[axis] + a.reach;
    for (std::size_t k = i + 1; k < swept_.size() && swept_[k].low < end; ++k) {
      const Swept& b = swept_[k];
      const double x = b.x[0] - a.x[0], y = b.x[1] - a.x[1], z = b.x[2] - a.x[2], reach = a.reach + b.reach;
      const double square = x * x + y * y + z * z;
      if (!(square < reach * reach)) continue;
      const auto [first, second] = std::minmax(a.sphere, b.sphere);
      const double radii = spheres_[at(first)].radius + spheres_[at(second)].radius;
      near_.push_back({first, second, -1, std::sqrt(square) - radii - a.travel - b.travel});
    }
  }
  const auto in_order = [](const Pair& a, const Pair& b) { return std::tie(a.a, a.b) < std::tie(b.a, b.b); };
  if (near_.size() > pairs_.size()) {
    std::sort(near_.begin(), near_.end(),
              [](const Pair& a, const Pair& b) { return std::tie(a.gap, a.a, a.b) < std::tie(b.gap, b.a, b.b); });
    near_.resize(pairs_.size());
  }
  std::sort(near_.begin(), near_.end(), in_order);
}

bool NearSpheresBlock::find_candidates(const double* q, const double* v, double, double h) {
  for (const Centre& c : centres_)
    if (!std::isfinite(q[c.offset] + q[c.offset + 1] + q[c.offset + 2])) return false;
  sweep(q, v, h);

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
    const Pair pair{sphere(nodes[2 * i]), sphere(nodes[2 * i + 1]), item, 0};
    set_pair(item, pair.a, pair.b);
    bound_.push_back(pair);
  }
  std::sort(bound_.begin(), bound_.end(),
            [](const Pair& a, const Pair& b) { return std::tie(a.a, a.b) < std::tie(b.a, b.b); });
}

}  // namespace carom
