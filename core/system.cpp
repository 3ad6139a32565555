#include "core/system.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>

#include "core/so3.hpp"
#include "core/system_tables.hpp"
#include "core/vector_ops.hpp"

namespace carom {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Equations of the local components of every item of a topology.
LocalEquations local_equations(const Topology& topology, const DofMap& dofs) {
  LocalEquations equations;
  equations.of.reserve(at(topology.items) * at(topology.local_size));
  for (int item = 0; item < topology.items; ++item)
    for (std::size_t k = 0; k < topology.slots.size(); ++k) {
      const Slot slot = topology.slots[k];
      const int node = topology.node(item, static_cast<int>(k));
      for (int c = 0; c < slot.components; ++c) {
        equations.of.push_back(dofs.equation(node, slot.first_component + c));
        equations.complete = equations.complete && equations.of.back() >= 0;
      }
    }
  return equations;
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

void System::finalize() {
  dofs_.number();

  // what every equation is
  equation_nodes_.assign(at(size()), -1);
  is_rotation_.assign(at(size()), 0);
  for (int node = 0; node < dofs_.nodes(); ++node)
    for (int c = 0; c < DofMap::components(dofs_.kind(node)); ++c)
      if (const int e = dofs_.equation(node, c); e >= 0) equation_nodes_[at(e)] = node;
  for (const DofMap::Frame& f : dofs_.rotating_frames())
    for (int c = 0; c < 3; ++c) is_rotation_[at(f.equation + c)] = 1;

  // rows: bilateral blocks first, then unilateral ones
  std::stable_partition(constraints_.begin(), constraints_.end(),
                        [](const auto& block) { return !block->traits().unilateral; });
  rows_ = bilateral_ = 0;
  for (std::size_t b = 0; b < constraints_.size(); ++b) {
    ConstraintBlock& block = *constraints_[b];
    block.bind(dofs_);
    first_row_.push_back(rows_);
    for (int item = 0; item < block.topology().items; ++item)
      for (int row = 0; row < block.rows(); ++row) {
        places_.push_back({static_cast<int>(b), item, row});
        laws_.push_back(block.law(item, row));
      }
    rows_ += block.topology().items * block.rows();
    if (!block.traits().unilateral) bilateral_ = rows_;
  }

  // traits of the whole
  for (const auto& block : elements_) {
    block->bind(dofs_);
    const BlockTraits& t = block->traits();
    linear_ = linear_ && t.linear && t.constant_mass;
    symmetric_ = symmetric_ && t.symmetric;
    velocity_dependent_ = velocity_dependent_ || t.velocity_dependent;
    constant_mass_ = constant_mass_ && t.constant_mass;
  }
  for (const auto& block : constraints_)
    if (!block->traits().unilateral) {
      linear_ = linear_ && block->traits().linear;
      symmetric_ = symmetric_ && block->traits().linear && !block->traits().own_direction;
    }

  // the saddle-point pattern: elements, geometric terms of every candidate constraint, bilateral rows, diagonal
  const int n = size();
  PatternBuilder builder(n + bilateral_, n + bilateral_);
  for (int i = 0; i < n + bilateral_; ++i) builder.add(i, i);
  for (const auto& block : elements_) {
    auto tables = std::make_unique<ElementTables>();
    tables->equations = local_equations(block->topology(), dofs_);
    tables->frames = frame_columns(block->topology(), dofs_);
    const std::size_t m = at(block->topology().local_size);
    if (block->traits().has_mass || block->traits().has_stiffness || block->traits().velocity_dependent)
      for (std::size_t e = 0; e < at(block->topology().items); ++e) {
        const std::span<const int> local(tables->equations.of.data() + e * m, m);
        builder.add_block(local, local);
      }
    uses_T_ = uses_T_ || (block->traits().has_stiffness && !tables->frames.empty());
    element_tables_.push_back(std::move(tables));
  }
  std::size_t largest_rows = 1, largest_local = 1;
  for (std::size_t b = 0; b < constraints_.size(); ++b) {
    const ConstraintBlock& block = *constraints_[b];
    auto tables = std::make_unique<ConstraintTables>();
    tables->equations = local_equations(block.topology(), dofs_);
    tables->frames = frame_columns(block.topology(), dofs_);
    const std::size_t m = at(block.topology().local_size);
    largest_rows = std::max(largest_rows, at(block.rows()));
    largest_local = std::max(largest_local, m);
    for (std::size_t i = 0; i < at(block.topology().items); ++i) {
      const std::span<const int> local(tables->equations.of.data() + i * m, m);
      if (!block.traits().linear) builder.add_block(local, local);
      if (block.traits().unilateral) continue;
      for (int r = 0; r < block.rows(); ++r) {
        const int row[1] = {n + first_row_[b] + static_cast<int>(i) * block.rows() + r};
        builder.add_block(row, local);
        builder.add_block(local, row);
      }
    }
    uses_T_ = uses_T_ || !tables->frames.empty();
    constraint_tables_.push_back(std::move(tables));
  }
  saddle_ = builder.build();

  // where every local matrix entry goes
  const auto positions = [&](std::span<const int> rows, std::span<const int> cols, std::vector<int>& out) {
    for (int r : rows)
      for (int c : cols) out.push_back(r < 0 || c < 0 ? -1 : saddle_.find(r, c));
  };
  for (std::size_t b = 0; b < elements_.size(); ++b) {
    ElementTables& tables = *element_tables_[b];
    const std::size_t m = at(elements_[b]->topology().local_size);
    tables.contributes_matrix = elements_[b]->traits().has_mass || elements_[b]->traits().has_stiffness ||
                                elements_[b]->traits().velocity_dependent;
    if (!tables.contributes_matrix) continue;
    for (std::size_t e = 0; e < at(elements_[b]->topology().items); ++e) {
      const std::span<const int> local(tables.equations.of.data() + e * m, m);
      positions(local, local, tables.positions);
    }
  }
  for (std::size_t b = 0; b < constraints_.size(); ++b) {
    ConstraintTables& tables = *constraint_tables_[b];
    const ConstraintBlock& block = *constraints_[b];
    const std::size_t m = at(block.topology().local_size);
    for (std::size_t i = 0; i < at(block.topology().items); ++i) {
      const std::span<const int> local(tables.equations.of.data() + i * m, m);
      if (!block.traits().linear) positions(local, local, tables.positions);
      if (block.traits().unilateral) continue;
      for (int r = 0; r < block.rows(); ++r) {
        const int row[1] = {n + first_row_[b] + static_cast<int>(i) * block.rows() + r};
        positions(row, local, tables.lower);
        positions(local, row, tables.upper);
      }
    }
  }

  work_->build(elements_, element_tables_, n, saddle_.nonzeros(), threads_, largest_rows, largest_local);

  // gravity is M gamma with gamma the field on all translations, fixed ones included
  has_gravity_ = gravity_ != Vec3::Zero();
  gravity_force_.assign(at(n), 0.0);
  if (has_gravity_ && constant_mass_) add_gravity(initial_configuration_, gravity_force_);

  // is there an equation without mass?
  massless_ = false;
  Vector diagonal(at(saddle_.nonzeros()));
  SaddleRequest mass;
  mass.c_M = 1;
  mass.q_M = initial_configuration_.data();
  mass.q = initial_configuration_.data();
  assemble(mass, diagonal);
  double sum = 0;
  int count = 0;
  for (int i = 0; i < n; ++i) {
    const double m = diagonal[at(saddle_.find(i, i))];
    if (!(m > 0)) massless_ = true;
    if (!(m > 0) || is_rotation_[at(i)] != 0) continue;
    sum += m;
    ++count;
  }
  if (count > 0) mean_nodal_mass_ = sum / count;
}

std::string System::row_name(int row) const {
  const RowPlace p = row_place(row);
  const ConstraintBlock& block = *constraints_[at(p.block)];
  std::string name = block.item_name(p.item);
  if (block.rows() > 1) name += " row " + std::to_string(p.row + 1);
  return name;
}

std::string System::equation_name(int equation) const {
  static const char* const names[] = {"x", "y", "z", "rotation x", "rotation y", "rotation z"};
  const int node = equation_node(equation);
  for (int c = 0; c < DofMap::components(dofs_.kind(node)); ++c)
    if (dofs_.equation(node, c) == equation)
      return node_names_[at(node)] + (dofs_.kind(node) == NodeKind::scalar ? "" : std::string(" ") + names[c]);
  return node_names_[at(node)];
}

// ---- kinematics

void System::retract(In q, In d, Out q_out) const {
  if (q.data() != q_out.data()) copy(q, q_out);
  for (const DofMap::Translation& c : dofs_.translations()) q_out[at(c.entry)] += d[at(c.equation)];
  for (const DofMap::Frame& f : dofs_.rotating_frames()) {
    const Vec3 w(d[at(f.equation)], d[at(f.equation + 1)], d[at(f.equation + 2)]);
    Eigen::Map<Quaternion> p(q_out.data() + f.entry);
    const Quaternion product = so3::quaternion_product(Quaternion(p), so3::exp_quaternion(w));
    p = so3::quaternion_normalise(product);
  }
}

void System::tangent_operators(In d, TangentOperators& T) const {
  const auto frames = dofs_.rotating_frames();
  T.frames.resize(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const int e = frames[i].equation;
    T.frames[i] = so3::tangent(Vec3(d[at(e)], d[at(e + 1)], d[at(e + 2)]));
  }
}

double System::speed(In v, double length) const {
  if (dofs_.frames() == 0) return max_abs(v);
  double largest = 0;
  for (std::size_t i = 0; i < v.size(); ++i)
    largest = std::max(largest, std::abs(v[i]) * (is_rotation_[i] ? length : 1.0));
  return largest;
}

double System::largest_angular_velocity(In v) const {
  double largest = 0;
  for (const DofMap::Frame& f : dofs_.rotating_frames()) {
    const std::size_t e = at(f.equation);
    largest = std::max(largest, v[e] * v[e] + v[e + 1] * v[e + 1] + v[e + 2] * v[e + 2]);
  }
  return std::sqrt(largest);
}

double System::largest_position(In q) const {
  double largest = 0;
  for (const DofMap::Translation& c : dofs_.translations()) largest = std::max(largest, std::abs(q[at(c.entry)]));
  return largest;
}

double System::force_norm(In f, double length) const {
  if (dofs_.frames() == 0) return norm(f);
  double sum = 0;
  const double c = 1.0 / length;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double fi = is_rotation_[i] ? c * f[i] : f[i];
    sum += fi * fi;
  }
  return std::sqrt(sum);
}

// ---- element vectors

namespace {

// Local values of a range of items from an array over equations.
void gather(const Topology& topology, const LocalEquations& equations, Range range, const double* global,
            double* local) {
  const std::size_t m = at(topology.local_size);
  equations.gather(at(range.first) * m, at(range.size()) * m, global, local);
}

}  // namespace

template <class Kernel>
void System::assemble_vector(const Kernel& kernel, Out f) const {
  set_zero(f);
  // one thread: scatter chunk after chunk; the same chunks as below, since a compiler may round the vectorised part of
  // a loop and its remainder differently
  if (threads_ == 1) {
    double* local = work_->local_out.data();
    for (std::size_t b = 0; b < elements_.size(); ++b) {
      const Topology& topology = elements_[b]->topology();
      const std::size_t m = at(topology.local_size);
      const int step = work_->chunk(topology.local_size * topology.local_size);
      for (int first = 0; first < topology.items; first += step) {
        const Range range{first, std::min(first + step, topology.items)};
        const std::size_t count = at(range.size()) * m;
        std::fill_n(local, count, 0.0);
        if (!kernel(b, range, work_->thread_scratch[0], local)) break;
        element_tables_[b]->equations.scatter(at(first) * m, count, local, f.data());
      }
    }
    return;
  }
  // several threads: all contributions into one array, then every equation summed in the same order as above
  work_->for_all_ranges(elements_, threads_, [&](std::size_t b, Range range, ThreadScratch& scratch) {
    const std::size_t m = at(elements_[b]->topology().local_size);
    double* local = work_->vector_parts.data() + work_->vector_first[b] + at(range.first) * m;
    std::fill_n(local, at(range.size()) * m, 0.0);
    kernel(b, range, scratch, local);
  });
  work_->vector_gather.sum(work_->vector_parts.data(), f, threads_);
}

void System::forces(In q, In v, double t, unsigned parts, Out f) const {
  assemble_vector(
      [&](std::size_t b, Range range, ThreadScratch& scratch, double* local) {
        const ElementBlock& block = *elements_[b];
        if (!block.traits().has_forces) return false;
        ElementInput in{q.data(), nullptr, t};
        if (block.traits().velocity_dependent) {
          gather(block.topology(), element_tables_[b]->equations, range, v.data(), scratch.v.data());
          in.v = scratch.v.data();
        }
        block.add_forces(range, in, parts, local);
        return true;
      },
      f);
  if (has_gravity_ && (parts & force_external) != 0) {
    if (constant_mass_)
      axpy(1.0, gravity_force_, f);
    else
      add_gravity(q, f);
  }
}

void System::add_gravity_field(const Topology& topology, Range range, double c, double* a) const {
  for (int e = range.first; e < range.last; ++e)
    for (std::size_t k = 0; k < topology.slots.size(); ++k) {
      const Slot slot = topology.slots[k];
      const int node = topology.node(e, static_cast<int>(k));
      const bool placed = node < 0 || dofs_.kind(node) != NodeKind::scalar;
      for (int i = 0; i < slot.components; ++i, ++a)
        if (placed && slot.first_component + i < 3) *a += c * gravity_[slot.first_component + i];
    }
}

void System::add_gravity(In q, Out f) const {
  // set-up, and systems whose mass depends on the configuration
  double* field = work_->thread_scratch[0].a.data();
  double* local = work_->local_out.data();
  for (std::size_t b = 0; b < elements_.size(); ++b) {
    const ElementBlock& block = *elements_[b];
    if (!block.traits().has_mass) continue;
    const Topology& topology = block.topology();
    const std::size_t m = at(topology.local_size);
    for (int e = 0; e < topology.items; ++e) {
      std::fill_n(field, m, 0.0);
      std::fill_n(local, m, 0.0);
      add_gravity_field(topology, {e, e + 1}, 1.0, field);
      block.add_mass_times({e, e + 1}, {q.data(), nullptr, 0}, field, MassKind::consistent, local);
      element_tables_[b]->equations.scatter(at(e) * m, m, local, f.data());
    }
  }
}

void System::mass_times(In q, In a, Out f, MassKind kind) const {
  assemble_vector(
      [&](std::size_t b, Range range, ThreadScratch& scratch, double* local) {
        const ElementBlock& block = *elements_[b];
        if (!block.traits().has_mass) return false;
        gather(block.topology(), element_tables_[b]->equations, range, a.data(), scratch.a.data());
        block.add_mass_times(range, {q.data(), nullptr, 0}, scratch.a.data(), kind, local);
        return true;
      },
      f);
}

double System::noise_force(double length_scale) const {
  double largest = 0;
  for (const auto& block : elements_) largest = std::max(largest, block->noise_force(length_scale));
  return largest;
}

void System::tangent_times(const SaddleRequest& request, In x, Out y) const {
  assemble_vector(
      [&](std::size_t b, Range range, ThreadScratch& scratch, double* local) {
        if (!element_tables_[b]->contributes_matrix) return false;
        const Topology& topology = elements_[b]->topology();
        const std::size_t m = at(topology.local_size);
        for (int e = range.first; e < range.last; ++e) {
          element_matrices(b, {e, e + 1}, request, scratch, scratch.matrix.data());
          gather(topology, element_tables_[b]->equations, {e, e + 1}, x.data(), scratch.v.data());
          double* out = local + at(e - range.first) * m;
          for (std::size_t i = 0; i < m; ++i)
            for (std::size_t j = 0; j < m; ++j) out[i] += scratch.matrix[i * m + j] * scratch.v[j];
        }
        return true;
      },
      y);
}

// ---- matrices

void System::element_matrices(std::size_t b, Range range, const SaddleRequest& r, ThreadScratch& scratch,
                              double* A) const {
  const ElementBlock& block = *elements_[b];
  const BlockTraits& traits = block.traits();
  const Topology& topology = block.topology();
  const ElementTables& tables = *element_tables_[b];
  const std::size_t m = at(topology.local_size);
  std::fill_n(A, at(range.size()) * m * m, 0.0);

  // stiffness at (q, v, t), then T on its columns
  ElementInput in{r.q, nullptr, r.t};
  if (traits.velocity_dependent && (r.c_K != 0 || r.c_C != 0)) {
    gather(topology, tables.equations, range, r.v, scratch.v.data());
    in.v = scratch.v.data();
  }
  if (traits.has_stiffness && r.c_K != 0) {
    ElementTangent K;
    K.c_K = r.c_K;
    if (!traits.constant_mass && (r.a != nullptr || has_gravity_)) {
      // gravity is the force M(q) gamma, so that D(M a) - Df has D(M (a - gamma))
      if (r.a != nullptr)
        gather(topology, tables.equations, range, r.a, scratch.a.data());
      else
        std::fill_n(scratch.a.data(), at(range.size()) * m, 0.0);
      if (has_gravity_) add_gravity_field(topology, range, -1.0, scratch.a.data());
      K.a = scratch.a.data();
    }
    block.add_tangent(range, in, K, A);
    if (r.T != nullptr && !tables.frames.empty()) apply_columns(tables.frames, topology.local_size, range, *r.T, A);
  }

  // damping at (q, v, t), mass at q_M
  if (traits.velocity_dependent && r.c_C != 0) {
    ElementTangent C;
    C.c_C = r.c_C;
    block.add_tangent(range, in, C, A);
  }
  if (traits.has_mass && r.c_M != 0) {
    ElementTangent M;
    M.c_M = r.c_M;
    in.q = r.q_M;
    block.add_tangent(range, in, M, A);
  }
}

void System::apply_columns(const std::vector<FrameColumn>& columns, int local_size, Range range,
                           const TangentOperators& T, double* A, int rows) {
  const int m = rows < 0 ? local_size : rows;
  auto it = std::lower_bound(columns.begin(), columns.end(), range.first,
                             [](const FrameColumn& c, int item) { return c.item < item; });
  for (; it != columns.end() && it->item < range.last; ++it) {
    const Mat3& t = T.frames[at(it->frame)];
    double* block = A + at(it->item - range.first) * at(m) * at(local_size) + it->column;
    for (int i = 0; i < m; ++i, block += local_size) {
      const double x = block[0], y = block[1], z = block[2];
      for (int j = 0; j < 3; ++j) block[j] = x * t(0, j) + y * t(1, j) + z * t(2, j);
    }
  }
}

void System::assemble(const SaddleRequest& request, Out values) const {
  set_zero(values);
  if (threads_ == 1) {
    double* local = work_->local_out.data();
    for (std::size_t b = 0; b < elements_.size(); ++b) {
      const ElementTables& tables = *element_tables_[b];
      if (!tables.contributes_matrix) continue;
      const Topology& topology = elements_[b]->topology();
      const std::size_t m2 = at(topology.local_size) * at(topology.local_size);
      const int step = work_->chunk(topology.local_size * topology.local_size);
      for (int first = 0; first < topology.items; first += step) {
        const Range range{first, std::min(first + step, topology.items)};
        element_matrices(b, range, request, work_->thread_scratch[0], local);
        const int* p = tables.positions.data() + at(first) * m2;
        const std::size_t count = at(range.size()) * m2;
        for (std::size_t i = 0; i < count; ++i)
          if (p[i] >= 0) values[at(p[i])] += local[i];
      }
    }
  } else {
    work_->for_all_ranges(elements_, threads_, [&](std::size_t b, Range range, ThreadScratch& scratch) {
      if (!element_tables_[b]->contributes_matrix) return;
      const std::size_t m = at(elements_[b]->topology().local_size);
      element_matrices(b, range, request, scratch,
                       work_->matrix_parts.data() + work_->matrix_first[b] + at(range.first) * m * m);
    });
    work_->matrix_gather.sum(work_->matrix_parts.data(), values, threads_);
  }
  add_constraint_terms(request, values);
}

void System::add_constraint_terms(const SaddleRequest& r, Out values) const {
  Vector& A = work_->constraint_matrix;
  Vector& v_local = work_->constraint_v;
  for (std::size_t b = 0; b < constraints_.size(); ++b) {
    const ConstraintBlock& block = *constraints_[b];
    const ConstraintTables& tables = *constraint_tables_[b];
    const ConstraintTraits& traits = block.traits();
    const std::size_t m = at(block.topology().local_size), rows = at(block.rows());
    const bool geometric = r.c_s != 0 && r.s != nullptr && !traits.linear;
    if (traits.unilateral && !geometric) continue;

    for (int i = 0; i < block.topology().items; ++i) {
      const Range item{i, i + 1};
      const std::size_t first_row = at(first_row_[b]) + at(i) * rows;
      ConstraintInput in{r.q, nullptr, r.t};

      // -c_s D(F^T s) T into S
      const double* s = r.s == nullptr ? nullptr : r.s + first_row;
      if (geometric && std::any_of(s, s + rows, [](double x) { return x != 0; })) {
        std::fill_n(A.data(), m * m, 0.0);
        block.add_reaction_gradient(item, in, s, -r.c_s, A.data());
        if (r.T != nullptr) apply_columns(tables.frames, static_cast<int>(m), item, *r.T, A.data());
        const int* p = tables.positions.data() + at(i) * m * m;
        for (std::size_t k = 0; k < m * m; ++k)
          if (p[k] >= 0) values[at(p[k])] += A[k];
      }
      if (traits.unilateral) continue;

      // -k F^T into the columns of the multipliers, -k (G + c_rate D(G v + g_t) T) into the rows
      ConstraintValues wanted;
      wanted.gradient = A.data();
      double* rate_gradient = A.data() + rows * m;
      if (r.c_rate != 0 && !traits.linear) {
        gather(block.topology(), tables.equations, item, r.v, v_local.data());
        in.v = v_local.data();
        wanted.rate_gradient = rate_gradient;
      }
      double* direction = A.data() + 2 * rows * m;
      if (traits.own_direction) wanted.direction = direction;
      block.evaluate(item, in, wanted);
      const double* F = traits.own_direction ? direction : A.data();
      const int* upper = tables.upper.data() + at(i) * rows * m;
      const int* lower = tables.lower.data() + at(i) * rows * m;
      for (std::size_t k = 0; k < rows * m; ++k)
        if (upper[k] >= 0) values[at(upper[k])] -= r.row_scale * F[k];
      if (r.rows_through_T && r.T != nullptr)
        apply_columns(tables.frames, static_cast<int>(m), item, *r.T, A.data(), block.rows());
      if (wanted.rate_gradient != nullptr && r.T != nullptr)
        apply_columns(tables.frames, static_cast<int>(m), item, *r.T, rate_gradient, block.rows());
      for (std::size_t k = 0; k < rows * m; ++k) {
        if (lower[k] < 0) continue;
        values[at(lower[k])] -= r.row_scale * A[k];
        if (wanted.rate_gradient != nullptr) values[at(lower[k])] -= r.row_scale * r.c_rate * rate_gradient[k];
      }
    }
  }
}

// ---- constraints

template <class Visit>
void System::for_blocks(RowSet set, const Visit& visit) const {
  for (std::size_t b = 0; b < constraints_.size(); ++b) {
    const bool unilateral = constraints_[b]->traits().unilateral;
    if ((unilateral && set == RowSet::bilateral) || (!unilateral && set == RowSet::unilateral)) continue;
    const Topology& topology = constraints_[b]->topology();
    const int step = work_->constraint_chunk(topology.local_size);
    for (int first = 0; first < topology.items; first += step)
      visit(b, Range{first, std::min(first + step, topology.items)});
  }
}

void System::gaps(In q, double t, RowSet set, Out g) const {
  for_blocks(set, [&](std::size_t b, Range range) {
    ConstraintValues wanted;
    wanted.gap = g.data() + first_row_[b] + range.first * constraints_[b]->rows();
    constraints_[b]->evaluate(range, {q.data(), nullptr, t}, wanted);
  });
}

void System::rates(In q, In v, double t, RowSet set, Out rate) const {
  for_blocks(set, [&](std::size_t b, Range range) {
    gather(constraints_[b]->topology(), constraint_tables_[b]->equations, range, v.data(), work_->constraint_v.data());
    ConstraintValues wanted;
    wanted.rate = rate.data() + first_row_[b] + range.first * constraints_[b]->rows();
    constraints_[b]->evaluate(range, {q.data(), work_->constraint_v.data(), t}, wanted);
  });
}

void System::biases(In q, In v, double t, RowSet set, Out h) const {
  for_blocks(set, [&](std::size_t b, Range range) {
    gather(constraints_[b]->topology(), constraint_tables_[b]->equations, range, v.data(), work_->constraint_v.data());
    ConstraintValues wanted;
    wanted.bias = h.data() + first_row_[b] + range.first * constraints_[b]->rows();
    constraints_[b]->evaluate(range, {q.data(), work_->constraint_v.data(), t}, wanted);
  });
}

void System::add_reactions(In q, double t, In s, RowSet set, Out f) const {
  for_blocks(set, [&](std::size_t b, Range range) {
    const ConstraintBlock& block = *constraints_[b];
    const std::size_t m = at(block.topology().local_size), rows = at(block.rows());
    for (int i = range.first; i < range.last; ++i) {
      const double* si = s.data() + at(first_row_[b]) + at(i) * rows;
      if (std::all_of(si, si + rows, [](double x) { return x == 0; })) continue;
      double* local = work_->constraint_out.data();
      std::fill_n(local, m, 0.0);
      block.add_reaction({i, i + 1}, {q.data(), nullptr, t}, si, local);
      constraint_tables_[b]->equations.scatter(at(i) * m, m, local, f.data());
    }
  });
}

double System::row_gap(int row, In q, double t) const {
  const RowPlace p = row_place(row);
  ConstraintValues wanted;
  wanted.gap = work_->constraint_out.data();
  constraints_[at(p.block)]->evaluate({p.item, p.item + 1}, {q.data(), nullptr, t}, wanted);
  return wanted.gap[p.row];
}

double System::row_rate(int row, In q, In v, double t) const {
  const RowPlace p = row_place(row);
  const Range item{p.item, p.item + 1};
  const ConstraintBlock& block = *constraints_[at(p.block)];
  gather(block.topology(), constraint_tables_[at(p.block)]->equations, item, v.data(), work_->constraint_v.data());
  ConstraintValues wanted;
  wanted.rate = work_->constraint_out.data();
  block.evaluate(item, {q.data(), work_->constraint_v.data(), t}, wanted);
  return wanted.rate[p.row];
}

void System::sparse_row(const RowPlace& p, const double* values, SparseRow& row) const {
  const std::size_t m = at(constraints_[at(p.block)]->topology().local_size);
  const int* e = constraint_tables_[at(p.block)]->equations.of.data() + at(p.item) * m;
  row.equation.clear();
  row.value.clear();
  for (std::size_t k = 0; k < m; ++k) {
    if (e[k] < 0) continue;
    row.equation.push_back(e[k]);
    row.value.push_back(values[at(p.row) * m + k]);
  }
}

void System::row_gradient(int row, In q, double t, const TangentOperators* T, SparseRow& G) const {
  const RowPlace p = row_place(row);
  const ConstraintBlock& block = *constraints_[at(p.block)];
  ConstraintValues wanted;
  wanted.gradient = work_->constraint_matrix.data();
  block.evaluate({p.item, p.item + 1}, {q.data(), nullptr, t}, wanted);
  if (T != nullptr)
    apply_columns(constraint_tables_[at(p.block)]->frames, block.topology().local_size, {p.item, p.item + 1}, *T,
                  wanted.gradient, block.rows());
  sparse_row(p, wanted.gradient, G);
}

void System::row_direction(int row, In q, double t, SparseRow& F) const {
  const RowPlace p = row_place(row);
  const ConstraintBlock& block = *constraints_[at(p.block)];
  ConstraintValues wanted;
  (block.traits().own_direction ? wanted.direction : wanted.gradient) = work_->constraint_matrix.data();
  block.evaluate({p.item, p.item + 1}, {q.data(), nullptr, t}, wanted);
  sparse_row(p, work_->constraint_matrix.data(), F);
}

ConstraintBlock::Place System::row_contact_place(int row, In q, In v, double t) const {
  const RowPlace p = row_place(row);
  const ConstraintBlock& block = *constraints_[at(p.block)];
  gather(block.topology(), constraint_tables_[at(p.block)]->equations, {p.item, p.item + 1}, v.data(),
         work_->constraint_v.data());
  return block.place(p.item, p.row, {q.data(), work_->constraint_v.data(), t});
}

// ---- energies and momenta

Energies System::energies(In q, In v, double t) const {
  Energies sum;
  for (std::size_t b = 0; b < elements_.size(); ++b) {
    const Topology& topology = elements_[b]->topology();
    const int step = work_->chunk(topology.local_size);
    for (int first = 0; first < topology.items; first += step) {
      const Range range{first, std::min(first + step, topology.items)};
      ThreadScratch& scratch = work_->thread_scratch[0];
      gather(topology, element_tables_[b]->equations, range, v.data(), scratch.v.data());
      const ElementInput in{q.data(), scratch.v.data(), t};
      const Energies part = elements_[b]->energies(range, in);
      sum.elastic += part.elastic;
      sum.potential += part.potential;
      if (!elements_[b]->traits().has_mass) continue;
      // kinetic energy and, through the mass-weighted position, the potential of gravity
      const std::size_t count = at(range.size()) * at(topology.local_size);
      double* momentum = work_->local_out.data();
      std::fill_n(momentum, count, 0.0);
      elements_[b]->add_mass_times(range, in, scratch.v.data(), MassKind::consistent, momentum);
      sum.kinetic += 0.5 * dot({scratch.v.data(), count}, {momentum, count});
      if (has_gravity_) sum.potential -= gravity_.dot(first_moment(b, range, q));
    }
  }
  return sum;
}

Vec3 System::first_moment(std::size_t b, Range range, In q) const {
  // M applied to the positions of the nodes is the mass-weighted position, since translations are interpolated linearly
  const Topology& topology = elements_[b]->topology();
  ThreadScratch& scratch = work_->thread_scratch[0];
  std::size_t i = 0;
  for (int e = range.first; e < range.last; ++e)
    for (std::size_t k = 0; k < topology.slots.size(); ++k) {
      const Slot slot = topology.slots[k];
      const int node = topology.node(e, static_cast<int>(k));
      const bool placed = node >= 0 && dofs_.kind(node) != NodeKind::scalar;
      for (int c = 0; c < slot.components; ++c, ++i) {
        const int component = slot.first_component + c;
        scratch.a[i] = placed && component < 3 ? q[at(dofs_.configuration_offset(node) + component)] : 0.0;
      }
    }
  double* moment = work_->local_out.data();
  std::fill_n(moment, i, 0.0);
  elements_[b]->add_mass_times(range, {q.data(), nullptr, 0}, scratch.a.data(), MassKind::consistent, moment);
  Vec3 sum = Vec3::Zero();
  i = 0;
  for (int e = range.first; e < range.last; ++e)
    for (const Slot& slot : topology.slots)
      for (int c = 0; c < slot.components; ++c, ++i)
        if (slot.first_component + c < 3) sum[slot.first_component + c] += moment[i];
  return sum;
}

Momenta System::momenta(In q, In v) const {
  Momenta sum;
  for (std::size_t b = 0; b < elements_.size(); ++b) {
    if (!elements_[b]->traits().has_mass) continue;
    const Topology& topology = elements_[b]->topology();
    const int step = work_->chunk(topology.local_size);
    for (int first = 0; first < topology.items; first += step) {
      const Range range{first, std::min(first + step, topology.items)};
      ThreadScratch& scratch = work_->thread_scratch[0];
      gather(topology, element_tables_[b]->equations, range, v.data(), scratch.v.data());
      double* momentum = work_->local_out.data();
      std::fill_n(momentum, at(range.size()) * at(topology.local_size), 0.0);
      elements_[b]->add_mass_times(range, {q.data(), scratch.v.data(), 0}, scratch.v.data(), MassKind::consistent,
                                   momentum);
      std::size_t i = 0;
      for (int e = range.first; e < range.last; ++e)
        for (std::size_t k = 0; k < topology.slots.size(); ++k) {
          const Slot slot = topology.slots[k];
          const int node = topology.node(e, static_cast<int>(k));
          Vec3 p = Vec3::Zero(), l = Vec3::Zero();
          for (int c = 0; c < slot.components; ++c, ++i) {
            const int component = slot.first_component + c;
            if (component < 3)
              p[component] = momentum[i];
            else
              l[component - 3] = momentum[i];
          }
          if (node < 0 || dofs_.kind(node) == NodeKind::scalar) continue;
          const double* x = q.data() + dofs_.configuration_offset(node);
          sum.linear += p;
          sum.angular += Vec3(x[0], x[1], x[2]).cross(p);
          if (dofs_.kind(node) == NodeKind::frame)
            sum.angular += so3::quaternion_to_matrix(Quaternion(x[3], x[4], x[5], x[6])) * l;
        }
    }
  }
  return sum;
}

}  // namespace carom
