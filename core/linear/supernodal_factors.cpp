#include "core/linear/supernodal_factors.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"

namespace carom::detail {

namespace {

constexpr long small = 100000;       // entries of L that two threads do not solve faster
constexpr double worthwhile = 0.85;  // of the entries that the longer way of two threads may have
constexpr int most_splits = 200;     // of the largest subtree
constexpr int group = 8;             // right-hand sides that are solved at once: a register of the vector unit

template <int W>
using Row = Eigen::Array<float, W, 1>;

// The rows of y, W entries in each.
template <int W>
struct Rows {
  float* entries;
  Eigen::Map<Row<W>> operator()(std::ptrdiff_t i) const { return Eigen::Map<Row<W>>(entries + W * i); }
};

// One supernode, L y = b and L^T y = b: its columns are a triangle above a rectangle. The columns j to j + B - 1:
template <int W, int B>
void forward_columns(const SupernodeValues& node, std::ptrdiff_t j, Rows<W> y) {
  const std::ptrdiff_t height = node.height;
  const float* const L = node.L + j * height;
  Row<W> x[B];
#pragma GCC unroll 8
  for (int k = 0; k < B; ++k) {
    x[k] = y(j + k);
#pragma GCC unroll 8
    for (int i = 0; i < k; ++i) x[k] -= L[i * height + j + k] * x[i];
    x[k] /= L[k * height + j + k];
    y(j + k) = x[k];
  }
  if constexpr (W > 1) {
    for (std::ptrdiff_t i = j + B; i < height; ++i) {
      Row<W> below = y(i);
#pragma GCC unroll 8
      for (int k = 0; k < B; ++k) below -= L[k * height + i] * x[k];
      y(i) = below;
    }
  } else {
    // the vector unit takes several rows
    float single[B];
    for (int k = 0; k < B; ++k) single[k] = x[k][0];
#pragma omp simd
    for (std::ptrdiff_t i = j + B; i < height; ++i) {
      float below = y.entries[i];
#pragma GCC unroll 8
      for (int k = 0; k < B; ++k) below -= L[k * height + i] * single[k];
      y.entries[i] = below;
    }
  }
}

template <int W, int B>
void backward_columns(const SupernodeValues& node, std::ptrdiff_t j, Rows<W> y) {
  const std::ptrdiff_t height = node.height;
  const float* const L = node.L + j * height;
  Row<W> x[B];
#pragma GCC unroll 8
  for (int k = 0; k < B; ++k) x[k] = y(j + k);
  std::ptrdiff_t i = j + B;
  if constexpr (W == 1) {
    // the vector unit takes several rows
    using Lanes = Row<group>;
    Lanes sum[B];
#pragma GCC unroll 8
    for (int k = 0; k < B; ++k) sum[k].setZero();
    for (; i + group <= height; i += group) {
      const Lanes below = Eigen::Map<const Lanes>(y.entries + i);
#pragma GCC unroll 8
      for (int k = 0; k < B; ++k) sum[k] += Eigen::Map<const Lanes>(L + k * height + i) * below;
    }
#pragma GCC unroll 8
    for (int k = 0; k < B; ++k) x[k] -= sum[k].sum();
  }
  for (; i < height; ++i) {
    const Row<W> below = y(i);
#pragma GCC unroll 8
    for (int k = 0; k < B; ++k) x[k] -= L[k * height + i] * below;
  }
#pragma GCC unroll 8
  for (int k = B - 1; k >= 0; --k) {
#pragma GCC unroll 8
    for (int l = k + 1; l < B; ++l) x[k] -= L[k * height + j + l] * x[l];
    x[k] /= L[k * height + j + k];
    y(j + k) = x[k];
  }
}

template <int W>
void forward(const SupernodeValues& node, Rows<W> y) {
  int j = 0;
  for (; j + 8 <= node.width; j += 8) forward_columns<W, 8>(node, j, y);
  for (; j + 3 <= node.width; j += 3) forward_columns<W, 3>(node, j, y);
  for (; j < node.width; ++j) forward_columns<W, 1>(node, j, y);
}

template <int W>
void backward(const SupernodeValues& node, Rows<W> y) {
  int j = node.width;
  const int eights = j / 8 * 8, threes = eights + (j - eights) / 3 * 3;
  while (j > threes) backward_columns<W, 1>(node, --j, y);
  while (j > eights) backward_columns<W, 3>(node, j -= 3, y);
  while (j > 0) backward_columns<W, 8>(node, j -= 8, y);
}

}  // namespace

void SupernodalFactors::set(const Supernodes& pattern, std::span<const float> values, int threads) {
  pattern_ = pattern;
  threads_ = threads;
  values_ = values;
  if (!divided_) divide();
  divided_ = true;
}

// Splits the largest subtree into those below its root, until two sets of subtrees and their common rest are shortest.
void SupernodalFactors::divide() {
  const std::size_t count = at(pattern_.count);
  for (std::size_t s = 0; s < count; ++s)
    largest_ = std::max(largest_, at(pattern_.first_row[s + 1] - pattern_.first_row[s]));
  parts_[0].nodes.resize(count);
  std::iota(parts_[0].nodes.begin(), parts_[0].nodes.end(), 0);
  if (static_cast<long>(values_.size()) <= small) return;

  std::vector<int> node_of(at(pattern_.unknowns)), parent(count, -1), part_of(count, -1);
  std::vector<long> own(count), subtree(count, 0);
  std::vector<std::vector<int>> children(count + 1);
  for (std::size_t s = 0; s < count; ++s) {
    const int width = pattern_.first_column[s + 1] - pattern_.first_column[s];
    const int height = pattern_.first_row[s + 1] - pattern_.first_row[s];
    std::fill_n(node_of.begin() + pattern_.first_column[s], width, static_cast<int>(s));
    own[s] = static_cast<long>(width) * height;
  }
  for (std::size_t s = 0; s < count; ++s) {
    const int width = pattern_.first_column[s + 1] - pattern_.first_column[s];
    if (pattern_.first_row[s] + width < pattern_.first_row[s + 1])
      parent[s] = node_of[at(pattern_.rows[pattern_.first_row[s] + width])];
    subtree[s] += own[s];
    children[parent[s] < 0 ? count : at(parent[s])].push_back(static_cast<int>(s));
    if (parent[s] >= 0) subtree[at(parent[s])] += subtree[s];
  }

  const long all = std::accumulate(own.begin(), own.end(), 0L);
  std::vector<int> roots = children[count];
  const auto smaller = [&](int a, int b) {
    return subtree[at(a)] != subtree[at(b)] ? subtree[at(a)] < subtree[at(b)] : a < b;
  };
  long top = 0, best = all;
  for (int splits = 0; splits < most_splits && !roots.empty(); ++splits) {
    std::sort(roots.begin(), roots.end(), smaller);
    std::array<long, 2> load{};
    std::vector<int> second_part;
    for (std::size_t k = roots.size(); k-- > 0;) {
      const std::size_t p = load[1] < load[0] ? 1 : 0;
      load[p] += subtree[at(roots[k])];
      if (p == 1) second_part.push_back(roots[k]);
    }
    if (const long way = top + std::max(load[0], load[1]); way < best) {
      best = way;
      std::fill(part_of.begin(), part_of.end(), -1);
      for (const int s : roots) part_of[at(s)] = 0;
      for (const int s : second_part) part_of[at(s)] = 1;
    }
    const int largest = roots.back();
    roots.pop_back();
    top += own[at(largest)];
    roots.insert(roots.end(), children[at(largest)].begin(), children[at(largest)].end());
  }
  if (static_cast<double>(best) > worthwhile * static_cast<double>(all)) return;
  // parents have larger numbers
  for (std::size_t s = count; s-- > 0;)
    if (part_of[s] < 0 && parent[s] >= 0) part_of[s] = part_of[at(parent[s])];
  parts_[0].nodes.clear();
  for (std::size_t s = 0; s < count; ++s)
    (part_of[s] < 0 ? top_ : parts_[at(part_of[s])].nodes).push_back(static_cast<int>(s));
}

void SupernodalFactors::solve(double* b, int columns) {
  while (columns > 0) {
    const int now = std::min(columns, group);
    if (now == 1)
      solve_group<1>(b, now);
    else
      solve_group<group>(b, now);
    b += at(now) * at(pattern_.unknowns);
    columns -= now;
  }
}

// L y = P b, L^T P x = y. The right-hand sides are scaled to 1, because single precision has no small numbers.
template <int W>
void SupernodalFactors::solve_group(double* b, int columns) {
  const std::size_t n = at(pattern_.unknowns), m = at(columns);
  const int parts = parts_[1].nodes.empty() ? 1 : 2;
  std::array<double, W> scale{};
  for (std::size_t c = 0; c < m; ++c) {
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(b[c * n + i]));
    scale[c] = largest > 0 ? largest : 1;
  }
  for (Part& part : parts_) {
    part.x.resize(n * W);
    part.dense.resize(largest_ * W);
  }
  const auto each_part = [&](const auto& work) { for_parts(parts, threads_, work); };
  float *const x = parts_[0].x.data(), *const x_second = parts_[1].x.data();
  const auto each_row = [&](const std::vector<int>& nodes, const auto& visit) {
    for (const int s : nodes)
      for (std::size_t i = at(pattern_.first_column[s]); i < at(pattern_.first_column[s + 1]); ++i) visit(i);
  };
  const auto load = [&](float* to, const std::vector<int>& nodes) {
    each_row(nodes, [&](std::size_t i) {
      const double* const from = b + pattern_.order[i];
      for (std::size_t c = 0; c < W; ++c) to[W * i + c] = c < m ? static_cast<float>(from[c * n] / scale[c]) : 0.0F;
    });
  };
  const auto store = [&](const float* from, const std::vector<int>& nodes) {
    each_row(nodes, [&](std::size_t i) {
      for (std::size_t c = 0; c < m; ++c)
        b[c * n + at(pattern_.order[i])] = scale[c] * static_cast<double>(from[W * i + c]);
    });
  };
  const auto each_of_top = [&](const auto& visit) {
    each_row(top_, [&](std::size_t i) {
      for (std::size_t k = W * i; k < W * (i + 1); ++k) visit(x[k], x_second[k]);
    });
  };

  load(x, top_);
  each_of_top([](float, float& second) { second = 0; });
  each_part([&](int p) {
    Part& part = parts_[at(p)];
    load(part.x.data(), part.nodes);
    for (const int s : part.nodes) eliminate<W>(s, part);
  });
  each_of_top([](float& first, float second) { first += second; });
  for (const int s : top_) eliminate<W>(s, parts_[0]);
  for (std::size_t k = top_.size(); k-- > 0;) substitute<W>(top_[k], parts_[0]);
  each_of_top([](float first, float& second) { second = first; });
  store(x, top_);
  each_part([&](int p) {
    Part& part = parts_[at(p)];
    for (std::size_t k = part.nodes.size(); k-- > 0;) substitute<W>(part.nodes[k], part);
    store(part.x.data(), part.nodes);
  });
}

// take(x of an unknown, its entry among the rows of supernode s)
template <int W, class Take>
void SupernodalFactors::each_entry(int s, Part& part, const Take& take) const {
  const int* const rows = pattern_.rows + pattern_.first_row[s];
  const std::size_t height = at(pattern_.first_row[s + 1] - pattern_.first_row[s]);
  for (std::size_t i = 0; i < height; ++i)
    for (std::size_t c = 0; c < W; ++c) take(part.x[W * at(rows[i]) + c], part.dense[W * i + c]);
}

SupernodeValues SupernodalFactors::node(int s) const {
  return {values_.data() + pattern_.first_value[s], pattern_.first_column[s + 1] - pattern_.first_column[s],
          pattern_.first_row[s + 1] - pattern_.first_row[s]};
}

template <int W>
void SupernodalFactors::eliminate(int s, Part& part) const {
  each_entry<W>(s, part, [](float x, float& y) { y = x; });
  forward(node(s), Rows<W>{part.dense.data()});
  each_entry<W>(s, part, [](float& x, float y) { x = y; });
}

template <int W>
void SupernodalFactors::substitute(int s, Part& part) const {
  each_entry<W>(s, part, [](float x, float& y) { y = x; });
  backward(node(s), Rows<W>{part.dense.data()});
  const std::size_t own = W * at(pattern_.first_column[s + 1] - pattern_.first_column[s]);
  std::copy_n(part.dense.data(), own, part.x.data() + W * at(pattern_.first_column[s]));
}

}  // namespace carom::detail
