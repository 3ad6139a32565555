#include "integrators/common/light_parts.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/disjoint_sets.hpp"
#include "core/base/index.hpp"

namespace carom {

namespace {

constexpr double light_mass = 1e-5;     // of a node, over the largest
constexpr double light_inertia = 1e-4;  // over the largest mass times length^2
constexpr double found = 1e-7;          // the last correction of a motion that is found
constexpr double shrinking = 0.5;       // of a correction that helps, over the one before
// spin over the last correction: up to this ratio a stiff beam is assumed to take the moment; beyond, the spin itself
// is a correction that is missing
constexpr double stiff_spin = 30;
constexpr double light_share = 0.1;  // of the rounding of all forces: parts below are judged on their own
// residuals of a part: allowed of its terms and of all terms; at most where they no longer shrink
constexpr double part_share = 1e-8, rounding_share = 1e-13;
constexpr double stalled_share = 1e-4, stalled_rounding = 1e-10, stalled_floors = 100;

// visit(first node of the item, node)
template <class Visit>
void each_node(const Topology& topology, const Visit& visit) {
  for (int item = 0; item < topology.items; ++item) {
    int first = -1;
    for (int slot = 0; slot < static_cast<int>(topology.slots.size()); ++slot)
      if (const int node = topology.node(item, slot); node >= 0) visit(first < 0 ? first = node : first, node);
  }
}

// The nodes that elements with mass connect.
std::vector<int> connected_nodes(const System& system) {
  std::vector<int> parent = disjoint_sets(system.dofs().nodes());
  for (const auto& block : system.elements())
    if (block->traits().has_mass) each_node(block->topology(), [&](int a, int b) { join_sets(parent, a, b); });
  return parent;
}

bool has_one_part(const System& system) {
  std::vector<int> parent = connected_nodes(system);
  for (int node = 1; node < static_cast<int>(parent.size()); ++node)
    if (root_of(parent, node) != root_of(parent, 0)) return false;
  return true;
}

}  // namespace

LightParts::LightParts(const System& system, double length, bool bodies, bool frames, bool parts) {
  parts = parts && !has_one_part(system);
  if (!parts && !bodies && (!frames || system.dofs().frames() == 0)) return;
  const std::vector<NodalMass> masses = nodal_masses(system, system.initial_configuration());
  if (parts) find_parts(system, length, masses);
  if (!bodies && (!frames || system.dofs().frames() == 0)) return;
  double smallest = std::numeric_limits<double>::infinity(), largest = 0;
  for (const NodalMass& node : masses)
    if (const double mass = node.largest(); mass > 0) {
      smallest = std::min(smallest, mass);
      largest = std::max(largest, mass);
    }
  bodies_ = bodies && smallest < light_mass * largest;
  for (int node = 0; frames && node < system.dofs().nodes(); ++node) {
    if (system.dofs().frame_index(node) < 0) continue;
    const Eigen::SelfAdjointEigenSolver<Mat3> principal(masses[at(node)].inertia);
    const Vec3& J = principal.eigenvalues();
    Vec3 inverse = Vec3::Zero();
    for (int i = 0; i < 3; ++i)
      if (J[i] > std::numeric_limits<double>::epsilon() * J[2]) inverse[i] = 1 / J[i];
    if (inverse.maxCoeff() * light_inertia * largest * length * length > 1)
      frames_.push_back({system.dofs().equation(node, 3),
                         principal.eigenvectors() * inverse.asDiagonal() * principal.eigenvectors().transpose()});
  }
}

void LightParts::find_parts(const System& system, double length, const std::vector<NodalMass>& masses) {
  const DofMap& dofs = system.dofs();
  std::vector<int> parent = connected_nodes(system);

  // mean masses of nodes, and the measure of rounding of internal forces
  struct Size {
    double mass = 0, force = 0;
    int massive = 0, equations = 0;
  };
  std::vector<Size> sizes(parent.size());
  Size all;
  for (const auto& block : system.elements()) {
    const double force = block->roundoff_force(1.0);
    all.force = std::max(all.force, force);
    each_node(block->topology(), [&](int, int node) {
      Size& size = sizes[at(root_of(parent, node))];
      size.force = std::max(size.force, force);
    });
  }
  for (int node = 0; node < dofs.nodes(); ++node)
    for (Size* size : {&sizes[at(root_of(parent, node))], &all}) {
      for (int c = 0; c < DofMap::components(dofs.kind(node)); ++c) size->equations += dofs.equation(node, c) >= 0;
      if (!(masses[at(node)].largest() > 0)) continue;
      size->mass += masses[at(node)].largest();
      ++size->massive;
    }
  std::vector<std::ptrdiff_t> number(parent.size(), -1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Size& size = sizes[i];
    if (size.massive == 0 || size.equations == 0) continue;
    const double mass = size.mass * all.massive / (all.mass * size.massive),
                 force = all.force > 0 ? size.force / all.force : 0.0,
                 share = std::max(mass, force) * std::sqrt(static_cast<double>(size.equations) / all.equations);
    if (share >= light_share) continue;
    number[i] = static_cast<std::ptrdiff_t>(parts_.size());
    parts_.push_back({.share = share});
    soft_ = soft_ || size.force > 0;
  }
  if (parts_.empty()) return;
  for (const auto& block : system.constraints()) {
    if (block->traits().kind == RowKind::unilateral) continue;
    const Topology& topology = block->topology();
    for (int item = 0; item < topology.items; ++item)
      for (int slot = 1; slot < static_cast<int>(topology.slots.size()); ++slot) {
        const int nodes[] = {topology.node(item, 0), topology.node(item, slot)};
        if (nodes[0] < 0 || nodes[1] < 0) continue;
        for (const int node : nodes)
          if (const std::ptrdiff_t part = number[at(root_of(parent, node))]; part >= 0)
            parts_[static_cast<std::size_t>(part)].joined = true;
      }
  }
  for (int node = 0; node < dofs.nodes(); ++node) {
    const std::ptrdiff_t part = number[at(root_of(parent, node))];
    for (int c = 0; part >= 0 && c < DofMap::components(dofs.kind(node)); ++c)
      if (const int e = dofs.equation(node, c); e >= 0)
        entries_.push_back(
            {e, static_cast<std::size_t>(part), c >= 3 && dofs.kind(node) == NodeKind::frame ? 1 / length : 1.0});
  }
}

void LightParts::clear_terms() {
  for (Part& part : parts_) part.terms = 0;
}

void LightParts::add_term(In term, double weight) {
  for (Part& part : parts_) part.square = 0;
  for (const Entry& entry : entries_) {
    const double value = entry.factor * term[at(entry.equation)];
    parts_[entry.part].square += value * value;
  }
  for (Part& part : parts_) part.terms += std::abs(weight) * std::sqrt(part.square);
}

bool LightParts::unsolved(In r, double floor, double terms, bool first) {
  wanted_ = std::numeric_limits<double>::infinity();
  for (Part& part : parts_) part.square = 0;
  for (const Entry& entry : entries_) {
    const double value = entry.factor * r[at(entry.equation)];
    parts_[entry.part].square += value * value;
  }
  for (Part& part : parts_) {
    const double norm = std::sqrt(part.square), rest = part.joined ? terms : 0.0,
                 allowed = part_share * part.terms + part.share * floor + rounding_share * rest;
    const bool shrinks = first || norm < shrinking * part.before;
    part.before = norm;
    if (norm > allowed && (shrinks || norm > std::max({stalled_share * part.terms, stalled_rounding * rest,
                                                       stalled_floors * part.share * floor})))
      wanted_ = std::min(wanted_, allowed);
  }
  return wanted_ < std::numeric_limits<double>::infinity();
}

double LightParts::largest_spin(In r) const {
  double largest = 0;
  for (const Frame& frame : frames_)
    largest = std::max(largest, (frame.inverse * Eigen::Map<const Vec3>(r.data() + frame.equation)).norm());
  return largest;
}

bool LightParts::neglected(double correction, double before, double spin, bool in_turn) const {
  if (!std::isfinite(correction) || correction <= found || correction > shrinking * before) return false;
  if (bodies_ || in_turn) return bodies_;
  // the next correction, should they go on to shrink as they do
  const bool shrinks = std::isfinite(before) && spin <= stiff_spin * correction;
  return std::min(shrinks ? correction / before * correction : spin, spin) > found;
}

}  // namespace carom
