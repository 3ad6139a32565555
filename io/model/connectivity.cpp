#include "io/model/connectivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace carom {

namespace {

// Disjoint sets of numbers.
class Sets {
 public:
  explicit Sets(int size) : parent_(at(size)) { std::iota(parent_.begin(), parent_.end(), 0); }
  int root(int i) {
    while (parent_[at(i)] != i) i = parent_[at(i)] = parent_[at(parent_[at(i)])];
    return i;
  }
  void join(int i, int j) { parent_[at(root(i))] = root(j); }

 private:
  std::vector<int> parent_;
};

// How many of these places are that of another one too.
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
  Sets sets(ground + 1);
  const auto join = [&](const Topology& topology, bool to_ground) {
    const int slots = static_cast<int>(topology.slots.size());
    for (int item = 0; item < topology.items; ++item) {
      const auto node = [&](int slot) {
        const int k = topology.node(item, slot);
        return k < 0 ? ground : k;
      };
      for (int k = 1; k < slots; ++k) sets.join(node(k), node(0));
      if (to_ground) sets.join(node(0), ground);
    }
  };
  for (const auto& block : system.elements())
    join(block->topology(), block->topology().slots.size() == 1 && !block->traits().has_mass);
  for (const auto& block : system.constraints())
    join(block->topology(), block->traits().kind != RowKind::bilateral && block->topology().slots.size() == 1);
  for (int node = 0; node < ground; ++node)
    for (int c = 0; c < DofMap::components(dofs.kind(node)); ++c)
      if (dofs.equation(node, c) < 0) sets.join(node, ground);
  std::vector<bool> tied;
  tied.reserve(at(ground));
  for (int node = 0; node < ground; ++node) tied.push_back(sets.root(node) == sets.root(ground));
  return tied;
}

std::vector<std::string> piece_remarks(const Model& model) {
  std::vector<std::string> remarks;
  std::vector<bool> tied;
  for (const BodyInfo& body : model.bodies) {
    if (body.elements.empty()) continue;
    Sets sets(model.system.dofs().nodes());
    const auto visit = [&](const auto& what) {
      for (const BodyElements& elements : body.elements)
        for (int e = elements.range.first; e < elements.range.last; ++e) what(*elements.block, e);
    };
    visit([&](const ElementBlock& block, int e) {
      const Topology& topology = block.topology();
      for (int k = 1; k < static_cast<int>(topology.slots.size()); ++k)
        sets.join(topology.node(e, k), topology.node(e, 0));
    });
    // elements of each piece, and the name of its first
    struct Piece {
      int elements = 0;
      std::string first;
    };
    std::map<int, Piece> pieces;
    visit([&](const ElementBlock& block, int e) {
      Piece& piece = pieces[sets.root(block.topology().node(e, 0))];
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
