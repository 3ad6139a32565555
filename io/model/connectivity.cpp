#include "io/model/connectivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "core/base/disjoint_sets.hpp"

namespace carom {

namespace {

// Number of nodes whose position coincides with that of another node.
std::size_t coincident(const Model& model, const std::vector<int>& nodes) {
  std::vector<Vec3> places;
  double size = 0;
  for (const int node : nodes) {
    places.push_back(model.place({node, Vec3::Zero()}, model.state.q));
    size = std::max(size, (places.back() - places.front()).cwiseAbs().maxCoeff());
  }
  std::map<std::array<double, 3>, std::size_t> counts;
  for (const Vec3& x : places) {
    std::array<double, 3> key{};
    for (int c = 0; c < 3; ++c) key[at(c)] = std::round((x[c] - places.front()[c]) / (1e-9 * size));
    ++counts[key];
  }
  std::size_t count = 0;
  for (const auto& [place, number] : counts) count += number > 1 ? number : 0;
  return count;
}

}  // namespace

std::vector<bool> tied_to_ground(const System& system) {
  const DofMap& dofs = system.dofs();
  const int ground = dofs.nodes();
  std::vector<int> sets = disjoint_sets(ground + 1);
  const auto join = [&](const Topology& topology, bool to_ground) {
    const int slots = static_cast<int>(topology.slots.size());
    for (int item = 0; item < topology.items; ++item) {
      const auto node = [&](int slot) {
        const int k = topology.node(item, slot);
        return k < 0 ? ground : k;
      };
      for (int k = 1; k < slots; ++k) join_sets(sets, node(k), node(0));
      if (to_ground) join_sets(sets, node(0), ground);
    }
  };
  for (const auto& block : system.elements())
    join(block->topology(), block->topology().slots.size() == 1 && !block->traits().has_mass);
  for (const auto& block : system.constraints())
    join(block->topology(), block->traits().kind != RowKind::bilateral && block->topology().slots.size() == 1);
  for (int node = 0; node < ground; ++node)
    for (int c = 0; c < DofMap::components(dofs.kind(node)); ++c)
      if (dofs.equation(node, c) < 0) join_sets(sets, node, ground);
  std::vector<bool> tied;
  tied.reserve(at(ground));
  for (int node = 0; node < ground; ++node) tied.push_back(root_of(sets, node) == root_of(sets, ground));
  return tied;
}

std::vector<std::string> piece_remarks(const Model& model) {
  std::vector<std::string> remarks;
  std::vector<bool> tied;
  for (const BodyInfo& body : model.bodies) {
    if (body.elements.empty()) continue;
    std::vector<int> sets = disjoint_sets(model.system.dofs().nodes());
    const auto visit = [&](const auto& what) {
      for (const BodyElements& elements : body.elements)
        for (int e = elements.range.first; e < elements.range.last; ++e) what(*elements.block, e);
    };
    visit([&](const ElementBlock& block, int e) {
      const Topology& topology = block.topology();
      for (int k = 1; k < static_cast<int>(topology.slots.size()); ++k)
        join_sets(sets, topology.node(e, k), topology.node(e, 0));
    });
    // number of elements of each piece, and the name of its first element
    struct Piece {
      int elements = 0;
      std::string first;
    };
    std::map<int, Piece> pieces;
    visit([&](const ElementBlock& block, int e) {
      Piece& piece = pieces[root_of(sets, block.topology().node(e, 0))];
      if (piece.elements++ == 0) piece.first = block.item_name(e);
    });
    if (pieces.size() < 2) continue;
    const auto smallest = std::min_element(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) {
      return a.second.elements < b.second.elements;
    });
    if (tied.empty()) tied = tied_to_ground(model.system);
    const Piece& least = smallest->second;
    std::string text =
        fmt::format("the elements of {} form {} pieces without a common node; the smallest ", body.name, pieces.size());
    text += least.elements == 1 ? "is " + least.first
                                : fmt::format("has {} elements, one is {}", least.elements, least.first);
    const auto loose = std::count_if(pieces.begin(), pieces.end(), [&](const auto& p) { return !tied[at(p.first)]; });
    if (loose > 0 && loose < static_cast<long>(pieces.size()))
      text += fmt::format("; nothing holds {} of the pieces", loose);
    if (const std::size_t count = coincident(model, body.nodes); count > 0)
      text += fmt::format("; {} nodes lie where another one is: Gmsh makes them one by \"Coherence Mesh;\"", count);
    remarks.push_back(text);
  }
  return remarks;
}

}  // namespace carom
