// Multifrontal LU for matrices with a symmetric pattern of small blocks and little fill, many of which are factorised:
// contacts of piles. [Duff & Reid, The multifrontal solution of indefinite sparse symmetric linear equations, ACM TOMS
// 9 (1983) 302; Amestoy, Davis & Duff, An approximate minimum degree ordering algorithm, SIAM J. Matrix Anal. Appl. 17
// (1996) 886]
//
// Consecutive rows with the same columns, those of a contact, form a group; the groups are ordered by approximate
// minimum degree. A front eliminates some groups at once, `own` rows, and couples them to `rest` rows, which later
// fronts eliminate:
//
//   [ U        R ]    own rows: U with the factors of L below its diagonal, and the columns R = L^-1 A of the rest
//   [ L^T      C ]    the columns of L in the rest, transposed; C = A - L R goes to the parent of the front
//
// Pivots come from the own rows of a front: the diagonal entry unless it is below a tenth of the largest. Where a pivot
// is too small, or has grown too much, the general method takes the matrix.
#include <amd.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "core/base/index.hpp"
#include "core/base/simd4.hpp"
#include "core/linear/linear_solver.hpp"

namespace carom::detail {
namespace {

constexpr int largest_group = 6;
constexpr int largest_merged = 16;   // own rows of a front that a child joins although zeros fill
constexpr double zero_share = 0.12;  // of the entries of such a front
constexpr double diagonal_preference = 0.1;
constexpr double largest_growth = 1e7;  // of a pivot over its scale; Newton's method corrects the rounding error

struct Front {
  int own = 0, rest = 0;
  int first = 0;                        // own rows: first, ..., first + own - 1 in the order of elimination
  int width = 0, height = 0;            // own + rest, and rest, padded
  std::size_t rows = 0;                 // of the rest, in rows_
  std::size_t map = 0;                  // where the rest is in the parent, in map_
  std::size_t top = 0;                  // in factors_: own x width entries, then own x height
  std::size_t entry = 0, entries = 0;   // of the matrix, in source_ and target_
  std::size_t child = 0, children = 0;  // in children_
  std::size_t stack = 0;                // of C, in stack_
};

class Frontal final : public Factorisation {
 public:
  // mirror: of every entry its place on the other side of the diagonal
  Frontal(SharedPattern pattern, std::span<const int> mirror);

  Outcome factorise(std::span<const double> values, LinearCounters& counters) override {
    if (!scale_.compute(*pattern_, values, facts_)) return Outcome::singular;
    ++counters.factorisations;
    std::fill(factors_.begin(), factors_.end(), 0.0);
    double smallest = 1;
    for (const Front& f : fronts_) {
      double* const U = factors_.data() + f.top;
      for (std::size_t k = f.entry; k < f.entry + f.entries; ++k) U[target_[k]] = values[at(source_[k])];
      std::fill_n(front_.begin(), at(f.height) * at(f.height), 0.0);
      for (std::size_t c = f.child; c < f.child + f.children; ++c) add_update(fronts_[at(children_[c])], f, U);
      if (!eliminate(f, U, smallest)) return Outcome::unsuitable;
      update(f, U);
    }
    facts_.reciprocal_condition = smallest;
    return Outcome::ok;
  }

  void solve(double* b, int columns) override {
    for (int c = 0; c < columns; ++c, b += pattern_->rows) solve_one(b);
  }
  std::string_view name() const override { return "frontal"; }

 private:
  void find_groups();
  void order_groups();
  int rows_of(int group) const;
  struct Tree;
  struct Merged;
  Tree find_tree() const;
  void list_fronts(const Tree& tree, const Merged& merged);
  void lay_out();
  void place_entries(std::span<const int> mirror);
  void add_update(const Front& child, const Front& f, double* U);
  bool eliminate(const Front& f, double* U, double& smallest);
  void update(const Front& f, const double* U);
  void solve_one(double* b);

  SharedPattern pattern_;
  PivotScale scale_;
  // analysis; places are those in the order of elimination
  std::vector<int> group_start_, group_of_;  // of rows
  std::vector<int> group_order_;             // of elimination
  std::vector<int> row_of_, place_of_;       // rows by place, and places by row
  std::vector<Front> fronts_;                // children before their parents
  std::vector<int> children_;                // of all fronts, the last one of a front first
  std::vector<int> rows_;                    // places of the rests of all fronts, ascending
  std::vector<int> map_;                     // places of these rows in the parents
  std::vector<int> source_, target_;         // entries of the matrix, and where they go behind `top`
  // factors
  Vector factors_;
  std::vector<int> swap_;  // per place: own row that was exchanged with this one
  Vector front_, stack_;   // C of the front at hand, and of those that wait for their parents
  Vector work_, gathered_, row_scale_;
};

// Consecutive rows with the same columns, their own among them.
void Frontal::find_groups() {
  const SparsePattern& p = *pattern_;
  group_of_.resize(at(p.rows));
  const auto columns = [&](int row) {
    return std::span(p.column).subspan(at(p.row_start[at(row)]), at(p.row_start[at(row) + 1] - p.row_start[at(row)]));
  };
  for (int row = 0; row < p.rows; ++row) {
    const int first = group_start_.empty() ? row : group_start_.back();
    const bool same = row > first && row - first < largest_group && std::ranges::equal(columns(first), columns(row)) &&
                      p.find(first, row) >= 0;
    if (!same) group_start_.push_back(row);
    group_of_[at(row)] = static_cast<int>(group_start_.size()) - 1;
  }
  group_start_.push_back(p.rows);
}

void Frontal::order_groups() {
  const SparsePattern& p = *pattern_;
  const int groups = static_cast<int>(group_start_.size()) - 1;
  std::vector<int> start{0}, neighbour;
  for (int g = 0; g < groups; ++g) {
    const int row = group_start_[at(g)];
    int last = -1;
    for (int k = p.row_start[at(row)]; k < p.row_start[at(row) + 1]; ++k)
      if (const int other = group_of_[at(p.column[at(k)])]; std::exchange(last, other) != other)
        neighbour.push_back(other);
    start.push_back(static_cast<int>(neighbour.size()));
  }
  group_order_.resize(at(groups));
  if (amd_order(groups, start.data(), neighbour.data(), group_order_.data(), nullptr, nullptr) == AMD_OUT_OF_MEMORY)
    throw std::bad_alloc();
}

// A forest as lists of sons.
struct Forest {
  std::vector<int> parent, son, brother;
  explicit Forest(std::size_t size) : parent(size, -1), son(size, -1), brother(size, -1) {}
  void adopt(int k, int of) {
    brother[at(k)] = std::exchange(son[at(of)], k);
    parent[at(k)] = of;
  }
};

// The elimination tree of the groups, whose numbers here are their places in the order of elimination.
struct Frontal::Tree {
  Forest forest;
  std::vector<int> own, rest;      // rows of a group, and of the later groups to which it couples
  std::vector<int> couples;        // those groups, ascending
  std::vector<std::size_t> start;  // of a group in `couples`
  explicit Tree(std::size_t groups) : forest(groups), own(groups), rest(groups), start{0} {}
};

int Frontal::rows_of(int group) const { return group_start_[at(group) + 1] - group_start_[at(group)]; }

// The parent of a group is the first of the later groups to which it couples.
Frontal::Tree Frontal::find_tree() const {
  const SparsePattern& p = *pattern_;
  const int groups = static_cast<int>(group_order_.size());
  Tree tree(at(groups));
  std::vector<int> place(at(groups)), mark(at(groups), -1);
  for (int k = 0; k < groups; ++k) place[at(group_order_[at(k)])] = k;
  for (int k = 0; k < groups; ++k) {
    const int group = group_order_[at(k)];
    tree.own[at(k)] = rows_of(group);
    const auto see = [&](int other) {
      if (other <= k || std::exchange(mark[at(other)], k) == k) return;
      tree.couples.push_back(other);
      tree.rest[at(k)] += rows_of(group_order_[at(other)]);
    };
    const std::size_t row = at(group_start_[at(group)]), begin = tree.start.back();
    for (int e = p.row_start[row]; e < p.row_start[row + 1]; ++e) see(place[at(group_of_[at(p.column[at(e)])])]);
    for (int son = tree.forest.son[at(k)]; son >= 0; son = tree.forest.brother[at(son)])
      for (std::size_t c = tree.start[at(son)]; c < tree.start[at(son) + 1]; ++c) see(tree.couples[c]);
    std::sort(tree.couples.begin() + static_cast<std::ptrdiff_t>(begin), tree.couples.end());
    if (tree.couples.size() > begin) tree.forest.adopt(k, tree.couples[begin]);
    tree.start.push_back(tree.couples.size());
  }
  return tree;
}

// The fronts that are left when sons join their parents where few zeros fill. A front has the number of its last group;
// its groups are first[k], next[first[k]], ..., k.
struct Frontal::Merged {
  Forest forest;
  std::vector<int> own, first, next;
  explicit Merged(const Tree& tree) : forest(tree.own.size()), own(tree.own), first(own.size()), next(own.size(), -1) {
    std::vector<int> last(own.size());
    std::vector<double> zeros(own.size(), 0.0);
    for (int k = 0; k < static_cast<int>(own.size()); ++k) {
      first[at(k)] = last[at(k)] = k;
      const double rest = tree.rest[at(k)];
      for (int son = tree.forest.son[at(k)]; son >= 0; son = tree.forest.brother[at(son)]) {
        const int joint = own[at(son)] + own[at(k)];
        const double filled =
            zeros[at(son)] + zeros[at(k)] + 2.0 * own[at(son)] * (own[at(k)] + rest - tree.rest[at(son)]);
        const double entries = joint * (joint + 2 * rest);
        if (filled > 0 && (joint > largest_merged || filled > zero_share * entries)) {
          forest.adopt(son, k);
          continue;
        }
        own[at(k)] = joint;
        zeros[at(k)] = filled;
        next[at(last[at(son)])] = first[at(k)];
        first[at(k)] = first[at(son)];
        for (int grandson = forest.son[at(son)], after = -1; grandson >= 0; grandson = after) {
          after = forest.brother[at(grandson)];
          forest.adopt(grandson, k);
        }
      }
    }
  }
};

// Lists the fronts and the rows of their rests, children before their parents.
void Frontal::list_fronts(const Tree& tree, const Merged& merged) {
  const Forest& forest = merged.forest;
  const int groups = static_cast<int>(merged.own.size());
  constexpr int unseen = -1, seen = -2;
  std::vector<int> front_of(at(groups), unseen), first_place(at(groups)), open, last_group;
  place_of_.resize(at(pattern_->rows));
  for (int root = 0; root < groups; ++root) {
    if (tree.forest.parent[at(root)] >= 0) continue;
    open.push_back(root);
    while (!open.empty()) {
      const int k = open.back();
      if (std::exchange(front_of[at(k)], seen) == unseen) {
        for (int son = forest.son[at(k)]; son >= 0; son = forest.brother[at(son)]) open.push_back(son);
        continue;
      }
      open.pop_back();
      Front f;
      f.own = merged.own[at(k)];
      f.rest = tree.rest[at(k)];
      f.first = static_cast<int>(row_of_.size());
      for (int member = merged.first[at(k)]; member >= 0; member = member == k ? -1 : merged.next[at(member)]) {
        const int group = group_order_[at(member)];
        first_place[at(member)] = static_cast<int>(row_of_.size());
        for (int row = group_start_[at(group)]; row < group_start_[at(group) + 1]; ++row) {
          place_of_[at(row)] = static_cast<int>(row_of_.size());
          row_of_.push_back(row);
        }
      }
      f.child = children_.size();
      for (int son = forest.son[at(k)]; son >= 0; son = forest.brother[at(son)]) children_.push_back(front_of[at(son)]);
      f.children = children_.size() - f.child;
      front_of[at(k)] = static_cast<int>(fronts_.size());
      fronts_.push_back(f);
      last_group.push_back(k);
    }
  }
  for (std::size_t i = 0; i < fronts_.size(); ++i) {
    fronts_[i].rows = rows_.size();
    for (std::size_t c = tree.start[at(last_group[i])]; c < tree.start[at(last_group[i]) + 1]; ++c)
      for (int r = 0; r < rows_of(group_order_[at(tree.couples[c])]); ++r)
        rows_.push_back(first_place[at(tree.couples[c])] + r);
    std::sort(rows_.begin() + static_cast<std::ptrdiff_t>(fronts_[i].rows), rows_.end());
  }
}

// Places of the fronts in memory, and of their rests in their parents.
void Frontal::lay_out() {
  std::size_t factors = 0, largest = 0, stack = 0, highest = 0;
  int widest = 0, deepest = 0;
  std::vector<std::size_t> below;
  for (Front& f : fronts_) {
    f.width = padded(f.own + f.rest);
    f.height = padded(f.rest);
    f.top = factors;
    factors += at(f.own) * at(f.width + f.height);
    const std::size_t square = at(f.height) * at(f.height);
    largest = std::max(largest, square);
    widest = std::max(widest, f.width);
    deepest = std::max(deepest, f.own);
    for (std::size_t c = f.child; c < f.child + f.children; ++c) {
      stack = below.back();
      below.pop_back();
      Front& child = fronts_[at(children_[c])];
      child.map = map_.size();
      int k = 0;
      for (int r = 0; r < child.rest; ++r) {
        const int row = rows_[child.rows + at(r)];
        if (row >= f.first + f.own)
          while (rows_[f.rows + at(k)] < row) ++k;
        map_.push_back(row < f.first + f.own ? row - f.first : f.own + k);
      }
    }
    f.stack = stack;
    if (f.rest == 0) continue;
    below.push_back(stack);
    stack += square;
    highest = std::max(highest, stack);
  }
  factors_.resize(factors);
  front_.resize(largest);
  stack_.resize(highest);
  gathered_.resize(at(widest + lane_count));
  row_scale_.resize(at(deepest));
  facts_.fill = static_cast<double>(factors);
}

// Entries of the matrix go to the front that eliminates the earlier one of their row and column.
void Frontal::place_entries(std::span<const int> mirror) {
  const SparsePattern& p = *pattern_;
  std::vector<int> local(at(p.rows), -1);
  source_.reserve(p.column.size());
  target_.reserve(p.column.size());
  for (Front& f : fronts_) {
    for (int k = 0; k < f.own; ++k) local[at(f.first + k)] = k;
    for (int k = 0; k < f.rest; ++k) local[at(rows_[f.rows + at(k)])] = f.own + k;
    f.entry = source_.size();
    const auto add = [&](int entry, int place) {
      source_.push_back(entry);
      target_.push_back(place);
    };
    for (int k = 0; k < f.own; ++k) {
      const std::size_t row = at(row_of_[at(f.first + k)]);
      for (int e = p.row_start[row]; e < p.row_start[row + 1]; ++e) {
        const int place = place_of_[at(p.column[at(e)])];
        if (place < f.first) continue;
        const int j = local[at(place)];
        add(e, k * f.width + j);
        if (j >= f.own) add(mirror[at(e)], f.own * f.width + k * f.height + j - f.own);
      }
    }
    f.entries = source_.size() - f.entry;
  }
}

Frontal::Frontal(SharedPattern pattern, std::span<const int> mirror) : pattern_(std::move(pattern)) {
  find_groups();
  order_groups();
  const Tree tree = find_tree();
  list_fronts(tree, Merged(tree));
  lay_out();
  place_entries(mirror);
  work_.resize(at(pattern_->rows));
  swap_.resize(at(pattern_->rows));
}

// C of a child goes to its parent.
void Frontal::add_update(const Front& child, const Front& f, double* U) {
  const double* const C = stack_.data() + child.stack;
  const int* const map = map_.data() + child.map;
  double* const L = U + at(f.own) * at(f.width);
  int inner = 0;  // rows of the child that the parent eliminates
  while (inner < child.rest && map[inner] < f.own) ++inner;
  for (int i = 0; i < child.rest; ++i) {
    const double* const from = C + at(i) * at(child.height);
    if (i < inner) {
      double* const to = U + at(map[i]) * at(f.width);
      for (int j = 0; j < child.rest; ++j) to[map[j]] += from[j];
      continue;
    }
    const int row = map[i] - f.own;
    for (int j = 0; j < inner; ++j) L[at(map[j]) * at(f.height) + at(row)] += from[j];
    double* const to = front_.data() + at(row) * at(f.height) - f.own;
    for (int j = inner; j < child.rest; ++j) to[map[j]] += from[j];
  }
}

// U, R and L.
bool Frontal::eliminate(const Front& f, double* U, double& smallest) {
  double* const L = U + at(f.own) * at(f.width);
  double* const scale = row_scale_.data();  // exchanged like the rows
  for (int k = 0; k < f.own; ++k) scale[k] = scale_.row[at(row_of_[at(f.first + k)])];
  for (int k = 0; k < f.own; ++k) {
    double* const u = U + at(k) * at(f.width);
    double best = 0;
    int pivot = k;
    for (int i = k; i < f.own; ++i) {
      const double size = std::abs(U[at(i) * at(f.width) + at(k)]) / scale[i];
      if (size > best) {
        best = size;
        pivot = i;
      }
    }
    if (std::abs(u[k]) / scale[k] >= diagonal_preference * best) pivot = k;
    swap_[at(f.first + k)] = pivot;
    if (pivot != k) {
      std::swap_ranges(u, u + f.width, U + at(pivot) * at(f.width));
      std::swap(scale[k], scale[pivot]);
    }
    const double relative = std::abs(u[k]) / scale[k] * scale_.column[at(row_of_[at(f.first + k)])];
    if (!(relative > singular_tolerance && relative <= largest_growth)) return false;
    smallest = std::min(smallest, relative);
    const double inverse = 1 / u[k];
    for (int i = k + 1; i < f.own; ++i) {
      double* const x = U + at(i) * at(f.width);
      if (x[k] == 0) continue;
      const double factor = x[k] * inverse;
      for (int j = k + 1; j < f.own + f.rest; ++j) x[j] -= factor * u[j];
      x[k] = factor;
    }
    // column k of L
    double* const l = L + at(k) * at(f.height);
    for (int q = 0; q < k; ++q) {
      const double factor = U[at(q) * at(f.width) + at(k)];
      if (factor != 0) subtract(l, factor, L + at(q) * at(f.height), 0, f.height);
    }
    for (int j = 0; j < f.height; j += lane_count) lanes_at(l + j) *= lanes(inverse);
  }
  return true;
}

// Four rows and `blocks` lanes of C = (what the children gave) - L R.
template <int blocks>
void subtract_product(const double* from, const double* L, const double* R, int own, std::size_t height,
                      std::size_t width, double* C) {
  Lanes sum[4][blocks];
  for (std::size_t a = 0; a < 4; ++a)
    for (int b = 0; b < blocks; ++b) sum[a][b] = lanes_at(from + a * height + at(lane_count * b));
  for (int q = 0; q < own; ++q, L += height, R += width)
    for (std::size_t a = 0; a < 4; ++a)
      for (int b = 0; b < blocks; ++b) sum[a][b] -= L[a] * lanes_at(R + lane_count * b);
  for (std::size_t a = 0; a < 4; ++a)
    for (int b = 0; b < blocks; ++b) lanes_at(C + a * height + at(lane_count * b)) = sum[a][b];
}

// Padded rows and columns of C have no meaning: those of R are columns of the row behind.
void Frontal::update(const Front& f, const double* U) {
  const std::size_t h = at(f.height), w = at(f.width);
  const double* const L = U + at(f.own) * w;
  const double* const R = U + f.own;
  double* const C = stack_.data() + f.stack;
  for (std::size_t i = 0; i < h; i += 4) {
    std::size_t j = 0;
    for (; j + 8 <= h; j += 8) subtract_product<2>(front_.data() + i * h + j, L + i, R + j, f.own, h, w, C + i * h + j);
    if (j < h) subtract_product<1>(front_.data() + i * h + j, L + i, R + j, f.own, h, w, C + i * h + j);
  }
}

void Frontal::solve_one(double* b) {
  for (std::size_t k = 0; k < row_of_.size(); ++k) work_[k] = b[row_of_[k]];
  for (const Front& f : fronts_) {
    const double* const U = factors_.data() + f.top;
    const double* const L = U + at(f.own) * at(f.width);
    double* const x = work_.data() + f.first;
    for (int k = 0; k < f.own; ++k)
      if (const int pivot = swap_[at(f.first + k)]; pivot != k) std::swap(x[k], x[pivot]);
    for (int k = 1; k < f.own; ++k) {
      const double* const l = U + at(k) * at(f.width);
      double sum = x[k];
      for (int q = 0; q < k; ++q) sum -= l[q] * x[q];
      x[k] = sum;
    }
    if (f.rest == 0) continue;
    double* const y = gathered_.data();
    std::fill_n(y, f.height, 0.0);
    for (int k = 0; k < f.own; ++k) subtract(y, -x[k], L + at(k) * at(f.height), 0, f.height);
    const int* const rows = rows_.data() + f.rows;
    for (int r = 0; r < f.rest; ++r) work_[at(rows[r])] -= y[r];
  }
  for (std::size_t i = fronts_.size(); i-- > 0;) {
    const Front& f = fronts_[i];
    const double* const U = factors_.data() + f.top;
    double* const x = work_.data() + f.first;
    double* const y = gathered_.data();
    std::copy_n(x, f.own, y);
    const int* const rows = rows_.data() + f.rows;
    for (int r = 0; r < f.rest; ++r) y[f.own + r] = work_[at(rows[r])];
    std::fill_n(y + f.own + f.rest, lane_count, 0.0);
    for (int k = f.own; k-- > 0;) {
      const double* const u = U + at(k) * at(f.width);
      double sum = y[k];
      for (int j = k + 1; j < f.own; ++j) sum -= u[j] * y[j];
      Lanes other{};
      for (int j = f.own; j < f.own + f.rest; j += lane_count) other += lanes_at(u + j) * lanes_at(y + j);
      y[k] = (sum - carom::sum(other)) / u[k];
      x[k] = y[k];
    }
  }
  for (std::size_t k = 0; k < row_of_.size(); ++k) b[row_of_[k]] = work_[k];
}

}  // namespace

Backend make_frontal(SharedPattern pattern) {
  const SparsePattern& p = *pattern;
  std::vector<int> mirror(p.column.size()), next(p.row_start.begin(), p.row_start.end());
  for (int i = 0; i < p.rows; ++i) {
    bool diagonal = false;
    for (int k = p.row_start[at(i)]; k < p.row_start[at(i) + 1]; ++k) {
      const int j = p.column[at(k)], m = next[at(j)]++;
      if (m == p.row_start[at(j) + 1] || p.column[at(m)] != i) return nullptr;
      mirror[at(k)] = m;
      diagonal = diagonal || j == i;
    }
    if (!diagonal) return nullptr;
  }
  return std::make_unique<Frontal>(std::move(pattern), mirror);
}

}  // namespace carom::detail
