#include "elements/bodies/point_mass.hpp"

namespace carom {

namespace {

Topology topology_of(const std::vector<PointMass>& masses) {
  std::vector<int> nodes;
  nodes.reserve(masses.size());
  for (const PointMass& m : masses) nodes.push_back(m.node);
  return {static_cast<int>(masses.size()), {{0, 3}}, std::move(nodes)};
}

BlockTraits point_mass_traits() {
  BlockTraits t;
  t.has_mass = true;
  t.force_parts = 0;
  t.linear = t.symmetric = true;
  return t;
}

}  // namespace

PointMassBlock::PointMassBlock(std::string name, const std::vector<PointMass>& masses)
    : ElementBlock(std::move(name), topology_of(masses), point_mass_traits()) {
  for (const PointMass& m : masses) masses_.push_back(m.mass);
}

void PointMassBlock::add_mass_times(Range range, const ElementInput&, const double* a, MassKind, double* f) const {
  for (int e = range.first; e < range.last; ++e, a += 3, f += 3)
    for (int i = 0; i < 3; ++i) f[i] += masses_[static_cast<std::size_t>(e)] * a[i];
}

void PointMassBlock::add_tangent(Range range, const ElementInput&, const ElementTangent& request, double* A) const {
  for (int e = range.first; e < range.last; ++e, A += 9)
    for (int i = 0; i < 3; ++i) A[4 * i] += request.c_M * masses_[static_cast<std::size_t>(e)];
}

}  // namespace carom
