// System: values, reactions and gradients of constraint rows.

#include <algorithm>

#include "core/base/vector_ops.hpp"
#include "core/mechanics/system.hpp"
#include "core/mechanics/system_tables.hpp"

namespace carom {

template <class Visit>
void System::for_blocks(RowSelection set, const Visit& visit) const {
  for (std::size_t b = 0; b < constraints_.size(); ++b) {
    const ConstraintBlock& block = *constraints_[b];
    if (!set.has(block.row_kind(0)) && !(block.rows() > 1 && set.has(block.row_kind(1)))) continue;
    const Topology& topology = constraints_[b]->topology();
    const int step = work_->constraint_chunk(topology.local_size);
    for (int first = 0; first < topology.items; first += step)
      visit(b, Range{first, std::min(first + step, topology.items)});
  }
}

void System::gaps(In q, double t, RowSelection set, Out g, const StepStart* start) const {
  for_blocks(set, [&](std::size_t b, Range range) {
    // of contacts with friction only slip displacements depend on the start of the step
    const bool slips = set != unilateral_rows || constraints_[b]->rows() == 1;
    ConstraintValues wanted;
    wanted.gap = g.data() + first_row_[b] + range.first * constraints_[b]->rows();
    constraints_[b]->evaluate(range, {q.data(), nullptr, t, slips ? start : nullptr}, wanted);
  });
}

void System::rates(In q, In v, double t, RowSelection set, Out rate, const StepStart* start) const {
  for_blocks(set, [&](std::size_t b, Range range) {
    gather(constraints_[b]->topology(), constraint_tables_[b]->equations, range, v.data(), work_->constraint_v.data());
    ConstraintValues wanted;
    wanted.rate = rate.data() + first_row_[b] + range.first * constraints_[b]->rows();
    constraints_[b]->evaluate(range, {q.data(), work_->constraint_v.data(), t, start}, wanted);
  });
}

void System::biases(In q, In v, double t, RowSelection set, Out h, const StepStart* start) const {
  for_blocks(set, [&](std::size_t b, Range range) {
    gather(constraints_[b]->topology(), constraint_tables_[b]->equations, range, v.data(), work_->constraint_v.data());
    ConstraintValues wanted;
    wanted.bias = h.data() + first_row_[b] + range.first * constraints_[b]->rows();
    constraints_[b]->evaluate(range, {q.data(), work_->constraint_v.data(), t, start}, wanted);
  });
}

void System::accelerations(In q, In v, In a, double t, RowSelection set, Out c, const StepStart* start) const {
  for_blocks(set, [&](std::size_t b, Range range) {
    const ConstraintBlock& block = *constraints_[b];
    const std::size_t first = at(first_row_[b] + range.first * block.rows()), count = at(range.size() * block.rows());
    const Out values = c.subspan(first, count);
    double* const local = work_->constraint_v.data();
    Vector& rates = work_->constraint_rates;
    if (rates.size() < count) rates.resize(count);
    ConstraintValues wanted;
    wanted.bias = values.data();
    gather(block.topology(), constraint_tables_[b]->equations, range, v.data(), local);
    block.evaluate(range, {q.data(), local, t, start}, wanted);
    // G a is the rate at the velocity a without g_t
    wanted = {};
    wanted.rate = rates.data();
    gather(block.topology(), constraint_tables_[b]->equations, range, a.data(), local);
    block.evaluate(range, {q.data(), local, t, start}, wanted);
    axpy(1.0, In(rates).first(count), values);
    if (!block.traits().moving) return;
    std::fill_n(local, at(range.size() * block.topology().local_size), 0.0);
    block.evaluate(range, {q.data(), local, t, start}, wanted);
    axpy(-1.0, In(rates).first(count), values);
  });
}

void System::add_reactions(In q, double t, In s, RowSelection set, Out f, const StepStart* start) const {
  for_blocks(set, [&](std::size_t b, Range range) {
    const ConstraintBlock& block = *constraints_[b];
    const std::size_t m = at(block.topology().local_size), rows = at(block.rows());
    for (int i = range.first; i < range.last; ++i) {
      const double* si = s.data() + at(first_row_[b]) + at(i) * rows;
      double selected[most_contact_rows] = {};
      if (block.traits().kind == RowKind::unilateral && rows > 1) {
        // a contact with tangential rows: use only the selected rows
        for (int r = 0; r < block.rows(); ++r) selected[r] = set.has(block.row_kind(r)) ? si[r] : 0.0;
        si = selected;
      }
      if (std::all_of(si, si + rows, [](double x) { return x == 0; })) continue;
      double* local = work_->constraint_out.data();
      std::fill_n(local, m, 0.0);
      block.add_reaction({i, i + 1}, {q.data(), nullptr, t, start}, si, local);
      constraint_tables_[b]->equations.scatter(at(i) * m, m, local, f.data());
    }
  });
}

void System::item_values(int row, In q, In v, double t, const ConstraintValues& wanted, const StepStart* start) const {
  const RowPlace p = row_place(row);
  const Range item{p.item, p.item + 1};
  const ConstraintBlock& block = *constraints_[at(p.block)];
  ConstraintInput in{q.data(), nullptr, t, start};
  if (!v.empty() || size() == 0) {  // without equations every velocity is empty
    gather(block.topology(), constraint_tables_[at(p.block)]->equations, item, v.data(), work_->constraint_v.data());
    in.v = work_->constraint_v.data();
  }
  block.evaluate(item, in, wanted);
}

double System::row_gap(int row, In q, double t, const StepStart* start) const {
  if (row_kind(row) == RowKind::unilateral && row_block(row).rows() > 1) start = nullptr;
  ConstraintValues wanted;
  wanted.gap = work_->constraint_out.data();
  item_values(row, q, {}, t, wanted, start);
  return wanted.gap[row_place(row).row];
}

double System::row_rate(int row, In q, In v, double t, const StepStart* start) const {
  ConstraintValues wanted;
  wanted.rate = work_->constraint_out.data();
  item_values(row, q, v, t, wanted, start);
  return wanted.rate[row_place(row).row];
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

void System::row_gradient(int row, In q, double t, const TangentOperators* T, SparseRow& G,
                          const StepStart* start) const {
  sparse_gradient(&ConstraintValues::gradient, row, q, t, T, G, start);
}

void System::row_gap_gradient(int row, In q, double t, const TangentOperators* T, SparseRow& D,
                              const StepStart* start) const {
  const bool own = friction_rows.has(row_kind(row));
  sparse_gradient(own ? &ConstraintValues::gap_gradient : &ConstraintValues::gradient, row, q, t, T, D, start);
}

void System::sparse_gradient(double* ConstraintValues::*which, int row, In q, double t, const TangentOperators* T,
                             SparseRow& G, const StepStart* start) const {
  const RowPlace p = row_place(row);
  const ConstraintBlock& block = *constraints_[at(p.block)];
  ConstraintValues wanted;
  wanted.*which = work_->constraint_matrix.data();
  block.evaluate({p.item, p.item + 1}, {q.data(), nullptr, t, start}, wanted);
  if (T != nullptr)
    apply_columns(constraint_tables_[at(p.block)]->frames, block.topology().local_size, {p.item, p.item + 1}, *T,
                  wanted.*which, block.rows());
  sparse_row(p, wanted.*which, G);
}

void System::row_gradients(std::span<const int> rows, In q, double t, const TangentOperators* T, bool displacements,
                           std::span<SparseRow> F, std::span<SparseRow> D, const StepStart* start) const {
  for (std::size_t k = 0, next = 0; k < rows.size(); k = next) {
    const RowPlace first = row_place(rows[k]);
    const Range item{first.item, first.item + 1};
    const ConstraintBlock& block = *constraints_[at(first.block)];
    const int local_size = block.topology().local_size, end = rows[k] - first.row + block.rows();
    bool own = false;  // rows whose gap has another gradient than G
    for (next = k; next < rows.size() && rows[next] >= rows[k] && rows[next] < end; ++next)
      own = own || (displacements && friction_rows.has(row_kind(rows[next])));
    ConstraintValues wanted;
    wanted.gradient = work_->constraint_matrix.data();
    if (own) wanted.gap_gradient = wanted.gradient + block.rows() * local_size;
    block.evaluate(item, {q.data(), nullptr, t, start}, wanted);
    const auto place = [&](std::size_t i) { return RowPlace{first.block, first.item, rows[i] - rows[k] + first.row}; };
    for (std::size_t i = k; i < next; ++i) sparse_row(place(i), wanted.gradient, F[i]);
    if (T != nullptr)
      for (double* const values : {wanted.gradient, wanted.gap_gradient})
        if (values != nullptr)
          apply_columns(constraint_tables_[at(first.block)]->frames, local_size, item, *T, values, block.rows());
    for (std::size_t i = k; i < next; ++i)
      sparse_row(place(i), own && friction_rows.has(row_kind(rows[i])) ? wanted.gap_gradient : wanted.gradient, D[i]);
  }
}

void System::row_linearisation(int row, const Linearisation& r, SparseRow& derivative) const {
  const RowPlace p = row_place(row);
  const ConstraintBlock& block = *constraints_[at(p.block)];
  const ConstraintTables& tables = *constraint_tables_[at(p.block)];
  const Range item{p.item, p.item + 1};
  const int local_size = block.topology().local_size;
  const std::size_t entries = at(block.rows() * local_size);
  const bool rates = r.c_rate != 0 && !block.traits().linear;
  ConstraintInput in{r.q, nullptr, r.t, r.start};
  ConstraintValues wanted;
  wanted.gradient = work_->constraint_matrix.data();
  if (rates) {
    gather(block.topology(), tables.equations, item, r.v, work_->constraint_v.data());
    in.v = work_->constraint_v.data();
    wanted.rate_gradient = wanted.gradient + entries;
  }
  block.evaluate(item, in, wanted);
  if (r.T != nullptr && r.rows_through_T)
    apply_columns(tables.frames, local_size, item, *r.T, wanted.gradient, block.rows());
  if (r.T != nullptr && rates) apply_columns(tables.frames, local_size, item, *r.T, wanted.rate_gradient, block.rows());
  for (std::size_t k = 0; k < entries; ++k)
    wanted.gradient[k] = r.c_row * wanted.gradient[k] + (rates ? r.c_rate * wanted.rate_gradient[k] : 0.0);
  sparse_row(p, wanted.gradient, derivative);
}

ConstraintBlock::Place System::row_contact_place(int row, In q, In v, double t) const {
  const RowPlace p = row_place(row);
  const ConstraintBlock& block = *constraints_[at(p.block)];
  gather(block.topology(), constraint_tables_[at(p.block)]->equations, {p.item, p.item + 1}, v.data(),
         work_->constraint_v.data());
  return block.place(p.item, p.row, {q.data(), work_->constraint_v.data(), t});
}

}  // namespace carom
