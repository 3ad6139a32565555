#include "core/mechanics/system.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "core/base/parallel.hpp"
#include "core/base/vector_ops.hpp"
#include "core/mechanics/system_tables.hpp"

namespace carom {

namespace {

// Equations of the local components of an item, and of all items of a topology.
void locate_equations(const Topology& topology, const DofMap& dofs, int item, LocalEquations& equations) {
  int* e = equations.of.data() + at(item) * at(topology.local_size);
  for (std::size_t k = 0; k < topology.slots.size(); ++k) {
    const Slot slot = topology.slots[k];
    const int node = topology.node(item, static_cast<int>(k));
    for (int c = 0; c < slot.components; ++c, ++e) {
      *e = dofs.equation(node, slot.first_component + c);
      equations.complete = equations.complete && *e >= 0;
    }
  }
}

LocalEquations local_equations(const Topology& topology, const DofMap& dofs) {
  LocalEquations equations;
  equations.of.resize(at(topology.items) * at(topology.local_size));
  for (int item = 0; item < topology.items; ++item) locate_equations(topology, dofs, item, equations);
  return equations;
}

// Bodies in a packing have about as many neighbours; more pairs are candidates of which most stay apart.
constexpr double most_pairs_per_node = 4;

// Of the nodes that touch other nodes.
double pairs_per_node(const std::vector<std::unique_ptr<ConstraintBlock>>& blocks, int nodes) {
  std::vector<char> touches(at(nodes), 0);
  double pairs = 0, touching = 0;
  for (const auto& block : blocks) {
    const Topology& topology = block->topology();
    if (block->traits().kind == RowKind::bilateral || topology.slots.size() < 2) continue;
    pairs += topology.items;
    for (const int node : topology.nodes)
      if (node >= 0 && touches[at(node)] == 0) {
        touches[at(node)] = 1;
        ++touching;
      }
  }
  return touching > 0 ? pairs / touching : 0;
}

}  // namespace

std::vector<FrameColumn> frame_columns(const Topology& topology, const DofMap& dofs) {
  std::vector<FrameColumn> columns;
  for (int item = 0; item < topology.items; ++item) {
    int local = 0;
    for (std::size_t k = 0; k < topology.slots.size(); ++k) {
      const Slot slot = topology.slots[k];
      const int frame = dofs.frame_index(topology.node(item, static_cast<int>(k)));
      const bool has_rotation = slot.first_component <= 3 && slot.first_component + slot.components >= 6;
      if (frame >= 0 && has_rotation) columns.push_back({item, local + 3 - slot.first_component, frame});
      local += slot.components;
    }
  }
  return columns;
}

System::System() : work_(std::make_unique<Workspace>()) {}
System::~System() = default;

int System::add_node(NodeKind kind, std::span<const double> configuration, std::string name) {
  const int node = dofs_.add_node(kind);
  initial_configuration_.insert(initial_configuration_.end(), configuration.begin(), configuration.end());
  assert(initial_configuration_.size() == at(dofs_.configuration_size()));
  node_names_.push_back(std::move(name));
  return node;
}

ElementBlock& System::add(std::unique_ptr<ElementBlock> block) {
  elements_.push_back(std::move(block));
  return *elements_.back();
}

ConstraintBlock& System::add(std::unique_ptr<ConstraintBlock> block) {
  constraints_.push_back(std::move(block));
  return *constraints_.back();
}

void System::find_solid_nodes() {
  solid_nodes_.assign(at(dofs_.nodes()), 0);
  const auto mark = [&](const Topology& topology, char as) {
    for (const int node : topology.nodes)
      if (node >= 0) solid_nodes_[at(node)] = as;
  };
  const auto points = [&](const Topology& topology) {
    return std::ranges::all_of(topology.nodes,
                               [&](int node) { return node < 0 || dofs_.kind(node) == NodeKind::point; });
  };
  for (const auto& block : elements_)
    if (block->topology().slots.size() >= 4 && points(block->topology())) mark(block->topology(), 1);
  for (const auto& block : elements_) {
    if (block->traits().symmetric) continue;
    if (points(block->topology()))
      solids_symmetric_ = false;
    else
      mark(block->topology(), 0);
  }
}

void System::finalize() {
  dofs_.number();

  // node of every equation, and which equations are rotations
  equation_nodes_.assign(at(size()), -1);
  is_rotation_.assign(at(size()), 0);
  for (int node = 0; node < dofs_.nodes(); ++node)
    for (int c = 0; c < DofMap::components(dofs_.kind(node)); ++c)
      if (const int e = dofs_.equation(node, c); e >= 0) equation_nodes_[at(e)] = node;
  for (const DofMap::Frame& f : dofs_.rotating_frames())
    for (int c = 0; c < 3; ++c) is_rotation_[at(f.equation + c)] = 1;

  // rows: bilateral blocks first, then the others
  std::stable_partition(constraints_.begin(), constraints_.end(),
                        [](const auto& block) { return block->traits().kind == RowKind::bilateral; });
  rows_ = bilateral_ = 0;
  for (std::size_t b = 0; b < constraints_.size(); ++b) {
    ConstraintBlock& block = *constraints_[b];
    block.bind(dofs_);
    searching_ = searching_ || block.traits().searching;
    passable_ = passable_ || block.traits().passable;
    rolling_ = rolling_ || block.traits().rolling;
    has_formulas_ = has_formulas_ || block.traits().has_formulas;
    for (int row = 0; row < block.rows(); ++row) row_kinds_ = row_kinds_ | block.row_kind(row);
    first_row_.push_back(rows_);
    for (int item = 0; item < block.topology().items; ++item)
      for (int row = 0; row < block.rows(); ++row) {
        places_.push_back({static_cast<int>(b), item, row});
        laws_.push_back(block.law(item, row));
      }
    rows_ += block.topology().items * block.rows();
    if (block.traits().kind == RowKind::bilateral)
      bilateral_ = rows_;
    else
      obstacles_move_ = obstacles_move_ || block.traits().moving;
  }

  find_solid_nodes();

  // traits of the system
  bool only_points = true;  // have unsymmetric elements
  for (const auto& block : elements_) {
    block->bind(dofs_);
    const BlockTraits& t = block->traits();
    linear_ = linear_ && t.linear && t.constant_mass;
    force_parts_ |= t.force_parts;
    symmetric_ = symmetric_ && t.symmetric;
    velocity_dependent_ = velocity_dependent_ || t.velocity_dependent;
    constant_mass_ = constant_mass_ && t.constant_mass;
    has_formulas_ = has_formulas_ || t.has_formulas;
    only_points = only_points && (t.symmetric || std::ranges::none_of(block->topology().nodes, [&](int node) {
                                    return node >= 0 && dofs_.kind(node) == NodeKind::scalar;
                                  }));
  }
  for (const auto& block : constraints_)
    if ((block->traits().kind == RowKind::bilateral)) {
      linear_ = linear_ && block->traits().linear;
      driven_ = driven_ || block->traits().moving;
      symmetrisable_ = symmetrisable_ && block->traits().linear;
    }
  symmetric_ = symmetric_ && symmetrisable_;
  symmetrisable_ = symmetric_ || (symmetrisable_ && only_points && dofs_.frames() == 0);

  const int n = size();
  for (const auto& block : elements_) {
    auto tables = std::make_unique<ElementTables>();
    tables->equations = local_equations(block->topology(), dofs_);
    tables->equations.find_triples(block->topology().local_size);
    tables->frames = frame_columns(block->topology(), dofs_);
    tables->contributes_matrix =
        block->traits().has_mass || block->traits().has_stiffness || block->traits().velocity_dependent;
    uses_T_ = uses_T_ || (block->traits().has_stiffness && !tables->frames.empty());
    element_tables_.push_back(std::move(tables));
  }
  std::size_t largest_rows = 1, largest_local = 1;
  for (const auto& block : constraints_) {
    auto tables = std::make_unique<ConstraintTables>();
    tables->equations = local_equations(block->topology(), dofs_);
    tables->frames = frame_columns(block->topology(), dofs_);
    largest_rows = std::max(largest_rows, at(block->rows()));
    largest_local = std::max(largest_local, at(block->topology().local_size));
    uses_T_ = uses_T_ || !tables->frames.empty();
    if (block->traits().searching) tables->nodes = block->topology().nodes;
    constraint_tables_.push_back(std::move(tables));
  }

  // Up to 20,000 matrix entries the synchronisation of threads costs more than it saves; results are identical.
  std::size_t entries = 0;
  for (std::size_t b = 0; b < elements_.size(); ++b)
    if (element_tables_[b]->contributes_matrix)
      entries += element_tables_[b]->equations.of.size() * at(elements_[b]->topology().local_size);
  parallel_ = threads_ > 1 && entries > 20000;
  work_->build(elements_, element_tables_, n, parallel_ ? threads_ : 1, largest_rows, largest_local);

  // gravity is M gamma, where gamma acts on all translations, including the fixed ones
  has_gravity_ = gravity_ != Vec3::Zero();
  gravity_force_.assign(at(n), 0.0);
  weights_.assign(has_gravity_ ? initial_configuration_.size() : 0, 0.0);
  if (has_gravity_ && constant_mass_) {
    add_gravity(initial_configuration_, gravity_force_);
    find_weights(initial_configuration_);
  }

  // find equations without mass, and the mean mass of the others
  massless_ = false;
  Vector diagonal(at(n), 0.0);
  Linearisation mass;
  mass.c_M = 1;
  mass.q_M = initial_configuration_.data();
  mass.q = initial_configuration_.data();
  double* const local = work_->local_out.data();
  for (std::size_t b = 0; b < elements_.size(); ++b) {
    if (!elements_[b]->traits().has_mass) continue;
    const Topology& topology = elements_[b]->topology();
    const std::size_t m = at(topology.local_size);
    const int step = work_->chunk(topology.local_size * topology.local_size);
    for (int first = 0; first < topology.items; first += step) {
      const Range range{first, std::min(first + step, topology.items)};
      element_matrices(b, range, mass, work_->thread_scratch[0], local);
      const int* e = element_tables_[b]->equations.of.data() + at(first) * m;
      for (std::size_t k = 0; k < at(range.size()) * m; ++k)
        if (e[k] >= 0) diagonal[at(e[k])] += local[k / m * m * m + k % m * (m + 1)];
    }
  }
  double sum = 0;
  int count = 0;
  for (int i = 0; i < n; ++i) {
    const double m = diagonal[at(i)];
    if (!(m > 0)) massless_ = true;
    if (!(m > 0) || is_rotation_[at(i)] != 0) continue;
    sum += m;
    ++count;
  }
  if (count > 0) mean_nodal_mass_ = sum / count;
}

// Elements, geometric terms of every candidate constraint, bilateral rows, diagonal. Methods without a matrix never ask
// for it: it takes more memory than all else.
const SparsePattern& System::saddle_pattern() const {
  if (has_pattern_) return saddle_;
  has_pattern_ = true;
  const int n = size();
  PatternBuilder builder(n + bilateral_, n + bilateral_);
  for (int i = 0; i < n + bilateral_; ++i) builder.add(i, i);
  for (std::size_t b = 0; b < elements_.size(); ++b) {
    if (!element_tables_[b]->contributes_matrix) continue;
    const std::size_t m = at(elements_[b]->topology().local_size);
    for (std::size_t e = 0; e < at(elements_[b]->topology().items); ++e) {
      const std::span<const int> local(element_tables_[b]->equations.of.data() + e * m, m);
      builder.add_block(local, local);
    }
  }
  const bool few_pairs = pairs_per_node(constraints_, dofs_.nodes()) <= most_pairs_per_node;
  for (std::size_t b = 0; b < constraints_.size(); ++b) {
    const ConstraintBlock& block = *constraints_[b];
    const std::size_t m = at(block.topology().local_size);
    // Geometric terms of contacts between all pairs of many bodies would fill the matrix, though few pairs ever touch
    // at the same time. If the pairs are many, or many for their nodes, the terms that couple two nodes are left out;
    // Newton then converges linearly there, by a factor of about h v/radius.
    const std::size_t pairs = block.topology().slots.size() > 1 ? at(block.topology().items) : 0;
    const bool couple =
        (block.traits().kind == RowKind::bilateral) || pairs == 0 || (few_pairs && pairs * m * m <= 40000);
    for (std::size_t i = 0; i < at(block.topology().items); ++i) {
      const std::span<const int> local(constraint_tables_[b]->equations.of.data() + i * m, m);
      if (!block.traits().linear) {
        if (couple) {
          builder.add_block(local, local);
        } else {
          std::size_t first = 0;
          for (const Slot& slot : block.topology().slots) {
            const auto own = local.subspan(first, at(slot.components));
            builder.add_block(own, own);
            first += own.size();
          }
        }
      }
      if (block.traits().kind != RowKind::bilateral) continue;
      for (int r = 0; r < block.rows(); ++r) {
        const int row[1] = {n + first_row_[b] + static_cast<int>(i) * block.rows() + r};
        builder.add_block(row, local);
        builder.add_block(local, row);
      }
    }
  }
  saddle_ = builder.build();

  // positions of all local matrix entries in the global matrix
  for (std::size_t b = 0; b < elements_.size(); ++b)
    if (element_tables_[b]->contributes_matrix) element_tables_[b]->locate(elements_[b]->topology(), saddle_);
  for (std::size_t b = 0; b < constraints_.size(); ++b) locate_rows(b);
  return saddle_;
}

// Positions of a block's geometric terms in the saddle-point matrix; for bilateral blocks also of rows and columns.
void System::locate_rows(std::size_t b) const {
  ConstraintTables& tables = *constraint_tables_[b];
  const ConstraintBlock& block = *constraints_[b];
  const std::size_t items = at(block.topology().items), m = at(block.topology().local_size);
  if (!block.traits().linear) tables.positions.resize(items * m * m);
  if (block.traits().kind == RowKind::bilateral)
    for (std::vector<int>* list : {&tables.lower, &tables.upper}) list->resize(items * at(block.rows()) * m);
  for (std::size_t i = 0; i < items; ++i) {
    locate_item(b, i);
    if (block.traits().searching) left_out_ += left_out_of(b, i);
  }
}

void System::locate_item(std::size_t b, std::size_t i) const {
  ConstraintTables& tables = *constraint_tables_[b];
  const ConstraintBlock& block = *constraints_[b];
  const std::size_t m = at(block.topology().local_size), rows = at(block.rows());
  const std::span<const int> local(tables.equations.of.data() + i * m, m);
  const auto position = [&](int r, int c) { return r < 0 || c < 0 ? -1 : saddle_.find(r, c); };
  if (!block.traits().linear)
    for (std::size_t r = 0; r < m; ++r)
      for (std::size_t c = 0; c < m; ++c) tables.positions[(i * m + r) * m + c] = position(local[r], local[c]);
  if (block.traits().kind != RowKind::bilateral) return;
  for (std::size_t r = 0; r < rows; ++r) {
    const int row = size() + first_row_[b] + static_cast<int>(i * rows + r);
    for (std::size_t c = 0; c < m; ++c) {
      tables.lower[(i * rows + r) * m + c] = position(row, local[c]);
      tables.upper[(i * rows + r) * m + c] = position(local[c], row);
    }
  }
}

// Entries of an item's geometric term that the pattern does not have.
long System::left_out_of(std::size_t b, std::size_t i) const {
  const ConstraintTables& tables = *constraint_tables_[b];
  const std::size_t m = at(constraints_[b]->topology().local_size);
  if (tables.positions.empty()) return 0;
  const int* const e = tables.equations.of.data() + i * m;
  long count = 0;
  for (std::size_t r = 0; r < m; ++r)
    for (std::size_t c = 0; c < m; ++c)
      count += e[r] >= 0 && e[c] >= 0 && tables.positions[(i * m + r) * m + c] < 0 ? 1 : 0;
  return count;
}

// Renews the tables of items that were bound to other nodes.
void System::update_items(std::size_t b) {
  ConstraintBlock& block = *constraints_[b];
  ConstraintTables& tables = *constraint_tables_[b];
  const Topology& topology = block.topology();
  block.bind(dofs_);
  tables.frames = frame_columns(topology, dofs_);
  const std::size_t slots = topology.slots.size();
  for (std::size_t i = 0; i < at(topology.items); ++i) {
    const auto first = static_cast<std::ptrdiff_t>(i * slots), last = first + static_cast<std::ptrdiff_t>(slots);
    const auto now = topology.nodes.begin();
    if (std::equal(now + first, now + last, tables.nodes.begin() + first)) continue;
    if (has_pattern_) left_out_ -= left_out_of(b, i);
    locate_equations(topology, dofs_, static_cast<int>(i), tables.equations);
    if (!has_pattern_) continue;
    locate_item(b, i);
    left_out_ += left_out_of(b, i);
  }
  tables.nodes = topology.nodes;
}

void System::find_candidates(In q, In v, double t, double h) {
  if (!searching_) return;
  for (std::size_t b = 0; b < constraints_.size(); ++b)
    if (constraints_[b]->traits().searching && constraints_[b]->find_candidates(q.data(), v.data(), t, h))
      update_items(b);
}

Vector System::candidates() const {
  Vector nodes;
  for (const auto& block : constraints_)
    if (block->traits().searching)
      nodes.insert(nodes.end(), block->topology().nodes.begin(), block->topology().nodes.end());
  return nodes;
}

void System::restore_candidates(In nodes) {
  std::size_t first = 0;
  for (std::size_t b = 0; b < constraints_.size(); ++b) {
    if (!constraints_[b]->traits().searching) continue;
    const std::size_t count = constraints_[b]->topology().nodes.size();
    if (first + count > nodes.size()) throw std::invalid_argument("System: the candidates do not fit");
    const In own = nodes.subspan(first, count);
    constraints_[b]->restore_candidates(std::vector<int>(own.begin(), own.end()));
    update_items(b);
    first += count;
  }
  if (first != nodes.size()) throw std::invalid_argument("System: the candidates do not fit");
}

std::string System::row_name(int row) const {
  const RowPlace p = row_place(row);
  const ConstraintBlock& block = *constraints_[at(p.block)];
  const std::string component = block.row_name(p.item, p.row);
  return block.item_name(p.item) + (component.empty() ? "" : " " + component);
}

std::string System::row_component(int row) const {
  const RowPlace p = row_place(row);
  return constraints_[at(p.block)]->row_name(p.item, p.row);
}

void System::set_initial_configuration(In q) { copy(q, initial_configuration_); }

std::string System::equation_name(int equation) const {
  static const char* const names[] = {"x", "y", "z", "rotation x", "rotation y", "rotation z"};
  const int node = equation_node(equation);
  for (int c = 0; c < DofMap::components(dofs_.kind(node)); ++c)
    if (dofs_.equation(node, c) == equation)
      return node_names_[at(node)] + (dofs_.kind(node) == NodeKind::scalar ? "" : std::string(" ") + names[c]);
  return node_names_[at(node)];
}

}  // namespace carom
