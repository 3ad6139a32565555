#include "core/mechanics/dof_map.hpp"

#include <cassert>

namespace carom {

int DofMap::add_node(NodeKind kind) {
  kinds_.push_back(kind);
  offsets_.push_back(configuration_size_);
  first_component_.push_back(static_cast<int>(equation_of_component_.size()));
  frame_index_.push_back(-1);
  configuration_size_ += kind == NodeKind::scalar ? 1 : kind == NodeKind::point ? 3 : 7;
  equation_of_component_.resize(equation_of_component_.size() + static_cast<std::size_t>(components(kind)), 0);
  return nodes() - 1;
}

void DofMap::fix(int node, int component) {
  assert(component >= 0 && component < components(kind(node)));
  equation_of_component_[index(first_component_[index(node)] + component)] = -1;
}

void DofMap::number() {
  equations_ = 0;
  translations_.clear();
  frames_.clear();
  for (int node = 0; node < nodes(); ++node) {
    const int first = first_component_[index(node)];
    const int translational = kind(node) == NodeKind::scalar ? 1 : 3;
    for (int c = 0; c < components(kind(node)); ++c) {
      int& equation = equation_of_component_[index(first + c)];
      if (equation < 0) continue;
      equation = equations_++;
      if (c < translational) translations_.push_back({offsets_[index(node)] + c, equation});
    }
    if (kind(node) != NodeKind::frame) continue;
    const int rotation = equation_of_component_[index(first + 3)];
    assert((rotation < 0) == (equation_of_component_[index(first + 4)] < 0));
    assert((rotation < 0) == (equation_of_component_[index(first + 5)] < 0));
    if (rotation < 0) continue;
    frame_index_[index(node)] = static_cast<int>(frames_.size());
    frames_.push_back({offsets_[index(node)] + 3, rotation});
  }
}

int DofMap::equation(int node, int component) const {
  if (node < 0 || component >= components(kind(node))) return -1;
  return equation_of_component_[index(first_component_[index(node)] + component)];
}

}  // namespace carom
