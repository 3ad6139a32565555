#include "integrators/common/row_impulses.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {
constexpr int free_changes = 50;         // exchanges of all wrong rows before the least-index rule
constexpr int least_index_changes = 50;  // of redundant rows, which the rule may exchange for long: then a cone problem
constexpr double uncoupled = 1e-13;      // of entries of H that count as zero or equal
// rate error allowed to redundant rows, over the largest rate, and in roundoffs; the error of a contact that a driver
// contradicts is the whole rate
constexpr double missed_share = 1e-3, missed_roundoffs = 1e3;

// Whether a row that nothing moves demands a motion. Without a roundoff its rate may be rounding.
bool resists(double rate, bool bilateral, double roundoff) {
  const double most = missed_roundoffs * roundoff;
  return roundoff > 0 && (rate < -most || (bilateral && rate > most));
}

}  // namespace

RowImpulses::RowImpulses(const System& system, const LumpedMass& mass)
    : system_(&system), mass_(&mass), friction_(system) {
  representative_.resize(at(system.size()));
  for (std::size_t e = 0; e < representative_.size(); ++e) {
    const int group = mass.group_of(static_cast<int>(e));
    representative_[e] = group < 0 ? static_cast<int>(e) : mass.groups()[at(group)].equations.front();
  }
  owner_.assign(representative_.size(), -1);
  listed_.reserve(at(system.rows()));
  seen_.reserve(at(free_changes) + 1);
  coupled_.reserve(at(system.rows()));
  active_.reserve(at(system.rows()));
  in_set_.reserve(at(system.rows()));
  b_.reserve(at(system.rows()));
}

void RowImpulses::set_rows(std::span<const int> rows, In q_joints, In q, double t, const StepStart* start) {
  listed_.assign(rows.begin(), rows.end());
  if (rows_.size() < listed_.size()) rows_.resize(listed_.size());
  coupled_.clear();
  coupled_friction_ = false;
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    Row& row = rows_[i];
    system_->row_gradient(listed_[i], listed_[i] < system_->bilateral() ? q_joints : q, t, nullptr, row.G, start);
    row.single = true;
    row.rows = 1;
    row.contact = i;
    if (system_->row_kind(listed_[i]) == RowKind::tangential) {
      row.contact = rows_[i - 1].contact;
      ++rows_[row.contact].rows;
    }
    for (const int e : row.G.equation) {
      int& owner = owner_[at(representative_[at(e)])];
      const int me = static_cast<int>(row.contact);
      if (owner != me) owner = owner == -1 ? me : -2;
    }
  }
  for (std::size_t i = 0; i < listed_.size(); ++i)
    for (const int e : rows_[i].G.equation)
      if (owner_[at(representative_[at(e)])] == -2) rows_[rows_[i].contact].single = false;
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    for (const int e : rows_[i].G.equation) owner_[at(representative_[at(e)])] = -1;
    rows_[i].single = rows_[rows_[i].contact].single;
    if (rows_[i].single) continue;
    coupled_.push_back(i);
    coupled_friction_ = coupled_friction_ || rows_[i].contact != i;
  }
  if (!coupled_.empty() && !analysed_) {
    // the pattern of M: its groups are the components
    SparsePattern pattern;
    const std::size_t n = representative_.size();
    pattern.rows = pattern.cols = static_cast<int>(n);
    for (std::size_t e = 0; e < n; ++e) {
      const int group = mass_->group_of(static_cast<int>(e));
      if (group < 0)
        pattern.column.push_back(static_cast<int>(e));
      else
        for (const int other : mass_->groups()[at(group)].equations) pattern.column.push_back(other);
      pattern.row_start.push_back(pattern.nonzeros());
    }
    delassus_.analyse(pattern, at(system_->rows()));
    velocity_.assign(n, 0.0);
    analysed_ = true;
  }
  find_columns();
}

// M^-1 G^T of every listed row; of uncoupled rows only H_ii.
void RowImpulses::find_columns() {
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    Row& row = rows_[i];
    const SparseRow& G = row.G;
    if (row.single) {
      row.H = product(G, G);
      if (row.rows == 1) continue;
      row.W.resize(row.rows * row.rows);
      for (std::size_t a = 0; a < row.rows; ++a)
        for (std::size_t b = 0; b < row.rows; ++b) row.W[a * row.rows + b] = product(rows_[i + a].G, rows_[i + b].G);
      continue;
    }
    row.F = G;
    row.parts.clear();
    row.column.clear();
    for (std::size_t k = 0; k < G.equation.size(); ++k) {
      const int e = G.equation[k], component = delassus_.components().of(e), group = mass_->group_of(e);
      auto part = std::find_if(row.parts.begin(), row.parts.end(),
                               [&](const CondensedRow::Part& p) { return p.component == component; });
      const std::span<const int> equations = delassus_.components().equations(component);
      if (part == row.parts.end()) {
        row.parts.push_back({component, row.column.size()});
        row.column.resize(row.column.size() + equations.size(), 0.0);
        part = row.parts.end() - 1;
      }
      double* const column = row.column.data() + part->first;
      if (group < 0) {
        column[0] += mass_->inverse(e) * G.value[k];
        continue;
      }
      const Eigen::MatrixXd& inverse = mass_->groups()[at(group)].inverse;
      const auto place = static_cast<Eigen::Index>(delassus_.components().place(e));
      for (std::size_t j = 0; j < equations.size(); ++j)
        column[j] += inverse(static_cast<Eigen::Index>(j), place) * G.value[k];
    }
  }
}

// a M^-1 b^T
double RowImpulses::product(const SparseRow& a, const SparseRow& b) const {
  double sum = 0;
  for (std::size_t k = 0; k < a.equation.size(); ++k) {
    const int e = a.equation[k], group = mass_->group_of(e);
    if (group < 0) {
      for (std::size_t l = 0; l < b.equation.size(); ++l)
        if (b.equation[l] == e) sum += a.value[k] * b.value[l] * mass_->inverse(e);
      continue;
    }
    const Eigen::MatrixXd& inverse = mass_->groups()[at(group)].inverse;
    for (std::size_t l = 0; l < b.equation.size(); ++l)
      if (mass_->group_of(b.equation[l]) == group)
        sum += a.value[k] * b.value[l] * inverse(mass_->place(e), mass_->place(b.equation[l]));
  }
  return sum;
}

void RowImpulses::add_velocity(double factor, In r, Out v) const {
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    if (r[i] == 0) continue;
    const Row& row = rows_[i];
    if (!row.single) {
      delassus_.add_column(row, factor * r[i], v);
      continue;
    }
    for (std::size_t k = 0; k < row.G.equation.size(); ++k) {
      const int e = row.G.equation[k], group = mass_->group_of(e);
      if (group < 0) {
        v[at(e)] += factor * r[i] * row.G.value[k] * mass_->inverse(e);
        continue;
      }
      const LumpedMass::Group& g = mass_->groups()[at(group)];
      const int place = mass_->place(e);
      for (std::size_t j = 0; j < g.equations.size(); ++j)
        v[at(g.equations[j])] += factor * r[i] * row.G.value[k] * g.inverse(static_cast<Eigen::Index>(j), place);
    }
  }
}

void RowImpulses::add_reaction(double factor, In r, Out f) const {
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    const SparseRow& G = rows_[i].G;
    if (r[i] == 0) continue;
    for (std::size_t k = 0; k < G.equation.size(); ++k) f[at(G.equation[k])] += factor * r[i] * G.value[k];
  }
}

double RowImpulses::rate(std::size_t listed, In v) const {
  const SparseRow& G = rows_[listed].G;
  double sum = 0;
  for (std::size_t k = 0; k < G.equation.size(); ++k) sum += G.value[k] * v[at(G.equation[k])];
  return sum;
}

bool RowImpulses::solve(In c_0, double roundoff, Out r) {
  iterations_ = listed_.empty() ? 0 : 1;
  set_changes_ = 0;
  redundant_ = false;
  failed_row_ = -1;
  const int n_b = system_->bilateral();
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    if (!rows_[i].single || rows_[i].contact != i) continue;
    if (rows_[i].rows > 1) {
      solve_contact(i, c_0, roundoff, r);
      if (failed_row_ >= 0) return false;
      continue;
    }
    const bool bilateral = listed_[i] < n_b;
    // nothing that moves: the row cannot act
    if (!(rows_[i].H > 0)) {
      r[i] = 0;
      if (resists(c_0[i], bilateral, roundoff)) {
        failed_row_ = listed_[i];
        return false;
      }
      continue;
    }
    const bool held = r[i] > 0;
    r[i] = bilateral || c_0[i] < (held ? 0 : -roundoff) ? -c_0[i] / rows_[i].H : 0.0;
  }
  if (coupled_.empty()) return true;
  return coupled_friction_ ? solve_islands(c_0, roundoff, r) : solve_coupled(c_0, roundoff, r);
}

// A contact with friction that nothing else touches.
void RowImpulses::solve_contact(std::size_t first, In c_0, double roundoff, Out r) {
  const Row& contact = rows_[first];
  const std::size_t n = contact.rows;
  const double* const W = contact.W.data();
  if (!(contact.H > 0) && resists(c_0[first], false, roundoff)) failed_row_ = listed_[first];
  const bool closes = contact.H > 0 && c_0[first] < (r[first] > 0 ? 0 : -roundoff);
  if (!closes) {
    std::fill_n(r.begin() + static_cast<std::ptrdiff_t>(first), n, 0.0);
    return;
  }
  if (n == slip_rows) {
    const double small = uncoupled * contact.H;
    const double T = W[n + 1];
    if (T > 0 && std::abs(W[1]) <= small && std::abs(W[2]) <= small && std::abs(W[n + 2]) <= small &&
        std::abs(W[2 * n + 2] - T) <= uncoupled * T) {
      r[first] = -c_0[first] / contact.H;
      const double t[2] = {-c_0[first + 1] / T, -c_0[first + 2] / T}, size = std::hypot(t[0], t[1]),
                   radius = system_->contact_parameters(listed_[first + 1]).friction * r[first];
      const double share = size > radius ? radius / size : 1;
      for (std::size_t k = 0; k < 2; ++k) r[first + 1 + k] = share * t[k];
      return;
    }
  }
  places_.resize(n);
  std::iota(places_.begin(), places_.end(), std::size_t{0});
  friction_rows_.assign(listed_.begin() + static_cast<std::ptrdiff_t>(first),
                        listed_.begin() + static_cast<std::ptrdiff_t>(first + n));
  start_.assign(r.begin() + static_cast<std::ptrdiff_t>(first), r.begin() + static_cast<std::ptrdiff_t>(first + n));
  q_.resize(n);
  for (std::size_t k = 0; k < n; ++k) q_[k] = -c_0[first + k];
  friction_.begin(roundoff);
  friction_.add_rows(friction_rows_, start_);
  if (!friction_.solve(places_, contact.W, nullptr, q_, r.subspan(first, n))) failed_row_ = listed_[first];
}

// Islands that contain contacts with friction, each as a cone problem.
bool RowImpulses::solve_islands(In c_0, double roundoff, Out r) {
  active_.clear();
  b_.clear();
  start_.clear();
  friction_rows_.clear();
  for (const std::size_t i : coupled_) {
    active_.push_back(&rows_[i]);
    friction_rows_.push_back(listed_[i]);
    start_.push_back(r[i]);
    b_.push_back(-c_0[i]);
  }
  friction_.begin(roundoff);
  friction_.add_rows(friction_rows_, start_);
  if (!delassus_.solve(active_, friction_, b_)) {
    failed_row_ = friction_.failed_place() >= 0 ? friction_rows_[at(friction_.failed_place())] : -1;
    return false;
  }
  for (std::size_t k = 0; k < coupled_.size(); ++k) r[coupled_[k]] = b_[k];
  return true;
}

bool RowImpulses::solve_coupled(In c_0, double roundoff, Out r) {
  const int n_b = system_->bilateral();
  const std::size_t count = coupled_.size();
  in_set_.assign(count, 0);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = coupled_[k];
    in_set_[k] = listed_[i] < n_b || r[i] > 0 || c_0[i] < -roundoff ? 1 : 0;
  }
  const int most = free_changes + 10 * static_cast<int>(count) * static_cast<int>(std::min<std::size_t>(count, 100));
  seen_.clear();
  bool careful = false, contradicts = false;
  for (iterations_ = 1; iterations_ <= most; ++iterations_) {
    active_.clear();
    b_.clear();
    std::uint64_t hash = 14695981039346656037U;
    for (std::size_t k = 0; k < count; ++k) {
      r[coupled_[k]] = 0;
      if (in_set_[k] == 0) continue;
      active_.push_back(&rows_[coupled_[k]]);
      b_.push_back(-c_0[coupled_[k]]);
      hash = (hash ^ k) * 1099511628211U;
    }
    if (std::find(seen_.begin(), seen_.end(), hash) != seen_.end() || iterations_ > free_changes) careful = true;
    if (!careful) seen_.push_back(hash);
    if (redundant_ && iterations_ == free_changes + least_index_changes) {
      if (solve_islands(c_0, roundoff, r)) return true;
      failed_row_ = -1;
      continue;
    }
    if (!active_.empty()) {
      if (!delassus_.factorise(active_)) return false;
      redundant_ = redundant_ || delassus_.regularised();
      delassus_.solve(b_);
    }
    double largest = 0;
    for (std::size_t k = 0, a = 0; k < count; ++k)
      if (in_set_[k] != 0) {
        r[coupled_[k]] = b_[a++];
        largest = std::max(largest, std::abs(r[coupled_[k]]));
      }
    if (!std::isfinite(largest)) return false;

    // c of the rows outside of the set
    for (const std::size_t i : coupled_)
      if (r[i] != 0) delassus_.add_column(rows_[i], r[i], velocity_);
    bool changed = false;
    for (std::size_t k = 0; k < count && !(careful && changed); ++k) {
      const std::size_t i = coupled_[k];
      if (listed_[i] < n_b) continue;
      const bool wrong = in_set_[k] != 0 ? r[i] < -1e-14 * largest : c_0[i] + rate(i, velocity_) < -roundoff;
      if (!wrong) continue;
      in_set_[k] = in_set_[k] != 0 ? 0 : 1;
      changed = true;
      ++set_changes_;
    }
    if (redundant_ && !changed && roundoff > 0) {
      double fastest = 0, miss = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t i = coupled_[k];
        if (in_set_[k] == 0) continue;
        fastest = std::max(fastest, std::abs(c_0[i]));
        miss = std::max(miss, std::abs(c_0[i] + rate(i, velocity_)));
      }
      contradicts = miss > missed_share * fastest + missed_roundoffs * roundoff;
      // of rows that contradict each other, a contact tells more than a joint
      for (std::size_t k = 0; k < count && contradicts && failed_row_ < n_b; ++k)
        if (in_set_[k] != 0 && std::abs(c_0[coupled_[k]] + rate(coupled_[k], velocity_)) > 0.1 * miss)
          failed_row_ = listed_[coupled_[k]];
    }
    for (const std::size_t i : coupled_)
      if (r[i] != 0)
        for (const CondensedRow::Part& part : rows_[i].parts)
          for (const int e : delassus_.components().equations(part.component)) velocity_[at(e)] = 0;
    if (contradicts) return false;
    if (!changed) {
      for (const std::size_t i : coupled_)
        if (listed_[i] >= n_b) r[i] = std::max(0.0, r[i]);
      return true;
    }
  }
  return false;
}

}  // namespace carom
