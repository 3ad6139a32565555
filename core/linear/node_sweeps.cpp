#include "core/linear/node_sweeps.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/linear/block_row.hpp"

namespace carom {

namespace {

constexpr int least_nodes_of_arms = 1000;
constexpr int largest_share = 4;  // two arms if the nodes between them are at most this part of all

// y = M z of a node with three rows or fewer
[[gnu::always_inline]] inline void apply(const double* M, int size, const double* z, double* y) {
  if (size == 3) {
    y[0] = M[0] * z[0] + M[1] * z[1] + M[2] * z[2];
    y[1] = M[3] * z[0] + M[4] * z[1] + M[5] * z[2];
    y[2] = M[6] * z[0] + M[7] * z[1] + M[8] * z[2];
    return;
  }
  for (int i = 0; i < size; ++i) {
    double s = 0;
    for (int j = 0; j < size; ++j) s += M[i * size + j] * z[j];
    y[i] = s;
  }
}

// y = M (b - sum); y may be b
[[gnu::always_inline]] inline void solve_node(const double* M, int size, const double* b, const Lanes& sum, double* y) {
  const double z[] = {b[0] - sum[0], size > 1 ? b[1] - sum[1] : 0.0, size > 2 ? b[2] - sum[2] : 0.0};
  apply(M, size, z, y);
}

}  // namespace

void NodeSweeps::analyse(const NodeMatrix& matrix) {
  *this = NodeSweeps();
  matrix_ = &matrix;
  const int rows = matrix.rows();
  const auto scatter = [&](const std::array<int, 9>& places) {
    scattered_.push_back(places);
    return -static_cast<int>(scattered_.size());
  };
  std::vector<NodeMatrix::BlockPlaces> blocks;
  std::size_t count = 0;
  for (std::size_t g = 0; g < matrix.nodes().size(); ++g) {
    matrix.blocks_of(g, blocks);
    count += blocks.size() - 1;
  }
  other_.reserve(count);
  source_.reserve(count);
  start_.assign(1, 0);
  for (std::size_t g = 0; g < matrix.nodes().size(); ++g) {
    matrix.blocks_of(g, blocks);
    for (const NodeMatrix::BlockPlaces& block : blocks) {
      bool dense = true;
      for (int k = 0; k < 9; ++k) dense = dense && block.place[at(k)] == block.place[0] + k;
      if (at(block.node) == g) {
        own_source_.push_back(dense ? block.place[0] : scatter(block.place));
        continue;
      }
      // a block of three columns must not begin in the last two matrix rows: the kernel would read beyond the vector
      const int first = matrix.nodes()[at(block.node)].first, shift = std::max(0, first - (rows - 3));
      if (shift > 0 || !dense) {
        std::array<int, 9> places;
        places.fill(-1);
        for (int c = 0; c + shift < 3; ++c)
          for (int r = 0; r < 3; ++r) places[at(3 * (c + shift) + r)] = block.place[at(3 * c + r)];
        source_.push_back(scatter(places));
      } else {
        source_.push_back(block.place[0]);
      }
      other_.push_back(block.node);
    }
    start_.push_back(static_cast<int>(other_.size()));
  }
  order_nodes();
  diagonal_.assign(9 * matrix.nodes().size() + lane_count, 0.0F);
}

// The order of Cuthill and McKee: level by level from a node at an end, neighbours with fewer couplings first. [Cuthill
// & McKee, Proc. 24th Nat. Conf. ACM (1969) 157]
void NodeSweeps::order_nodes() {
  const int nodes = static_cast<int>(start_.size()) - 1;
  const auto degree = [&](int g) { return start_[at(g + 1)] - start_[at(g)]; };
  std::vector<char> seen(at(nodes), 0);
  std::vector<int> levels;
  // appends the nodes that `from` reaches
  const auto walk = [&](int from, std::vector<int>& list) {
    std::size_t next = list.size();
    list.push_back(from);
    seen[at(from)] = 1;
    for (; next < list.size(); ++next) {
      const int g = list[next];
      const auto fresh = static_cast<std::ptrdiff_t>(list.size());
      for (int k = start_[at(g)]; k < start_[at(g + 1)]; ++k)
        if (const int other = other_[at(k)]; seen[at(other)] == 0) {
          seen[at(other)] = 1;
          list.push_back(other);
        }
      std::stable_sort(list.begin() + fresh, list.end(), [&](int a, int b) { return degree(a) < degree(b); });
    }
  };
  base_order_.clear();
  part_.assign(at(nodes), 0);
  int parts = 0;
  for (int g = 0; g < nodes; ++g) {
    if (seen[at(g)] != 0) continue;
    // the last node of a walk lies at an end of its solid
    levels.clear();
    walk(g, levels);
    for (const int other : levels) seen[at(other)] = 0;
    walk(levels.back(), base_order_);
    for (const int other : levels) part_[at(other)] = parts;
    ++parts;
  }
}

bool NodeSweeps::arrange(std::span<const char> last) {
  if (arranged_ && std::ranges::equal(last, last_)) return false;
  last_.assign(last.begin(), last.end());
  arranged_ = true;
  const std::size_t nodes = base_order_.size();
  order_.clear();
  for (const int g : base_order_)
    if (last_[at(g)] == 0) order_.push_back(g);
  first_last_ = static_cast<int>(order_.size());

  // the second half from its end on, then the nodes of the first half that touch the second
  position_.assign(nodes, static_cast<int>(nodes));
  for (std::size_t s = 0; s < order_.size(); ++s) position_[at(order_[s])] = static_cast<int>(s);
  arm_ = middle_ = first_last_;
  if (first_last_ >= least_nodes_of_arms) {
    const int half = first_last_ / 2;
    std::vector<int> between, arms;
    for (int s = 0; s < half; ++s) {
      const int g = order_[at(s)];
      bool touches = false;
      for (int k = start_[at(g)]; k < start_[at(g + 1)]; ++k) {
        const int other = position_[at(other_[at(k)])];
        touches = touches || (other >= half && other < first_last_);
      }
      (touches ? between : arms).push_back(g);
    }
    if (at(largest_share) * between.size() <= order_.size()) {
      arm_ = static_cast<int>(arms.size());
      arms.insert(arms.end(), order_.rbegin(), order_.rbegin() + (first_last_ - half));
      middle_ = static_cast<int>(arms.size());
      arms.insert(arms.end(), between.begin(), between.end());
      order_ = std::move(arms);
    }
  }
  for (const int g : base_order_)
    if (last_[at(g)] != 0) order_.push_back(g);

  place_.resize(nodes);
  for (std::size_t s = 0; s < nodes; ++s) {
    const NodeMatrix::Node& node = matrix_->nodes()[at(order_[s])];
    position_[at(order_[s])] = static_cast<int>(s);
    place_[s] = {node.first, node.size};
  }

  const int largest_first = matrix_->rows() - 3;
  const auto begin = [&](Triangle& triangle) {
    triangle.start.assign(1, 0);
    triangle.column.clear();
    triangle.source.clear();
    triangle.column.reserve(other_.size() / 2);
    triangle.source.reserve(other_.size() / 2);
  };
  const auto add = [&](Triangle& triangle, int k) {
    triangle.column.push_back(std::min(matrix_->nodes()[at(other_[at(k)])].first, largest_first));
    triangle.source.push_back(source_[at(k)]);
  };
  const auto end = [](Triangle& triangle) { triangle.start.push_back(static_cast<int>(triangle.column.size())); };
  begin(lower_);
  lower_last_.clear();
  for (int s = 0; s < static_cast<int>(nodes); ++s) {
    const int g = order_[at(s)];
    const auto add_between = [&](int from, int to) {
      for (int k = start_[at(g)]; k < start_[at(g + 1)]; ++k)
        if (const int other = position_[at(other_[at(k)])]; other >= from && other < to) add(lower_, k);
    };
    add_between(0, std::min(s, first_last_));
    if (s >= first_last_) {
      lower_last_.push_back(static_cast<int>(lower_.column.size()));
      add_between(first_last_, s);
    }
    end(lower_);
  }
  begin(upper_);
  for (int s = static_cast<int>(nodes) - 1; s >= 0; --s) {
    const int g = order_[at(s)];
    for (int k = start_[at(g)]; k < start_[at(g + 1)]; ++k)
      if (position_[at(other_[at(k)])] > s) add(upper_, k);
    end(upper_);
  }
  for (Triangle* triangle : {&lower_, &upper_}) triangle->value.assign(9 * triangle->column.size() + lane_count, 0.0F);
  return true;
}

void NodeSweeps::copy_block(int source, float* block) const {
  const float* const values = matrix_->floats();
  if (source >= 0) {
    std::copy_n(values + source, 9, block);
    return;
  }
  const std::array<int, 9>& places = scattered_[at(-1 - source)];
  for (std::size_t k = 0; k < 9; ++k) block[k] = places[k] < 0 ? 0.0F : values[places[k]];
}

void NodeSweeps::copy_triangle(Triangle& triangle) const {
  matrix_->for_chunks([&](int, int first, int last) {
    for (int k = triangle.start[at(first)]; k < triangle.start[at(last)]; ++k)
      copy_block(triangle.source[at(k)], triangle.value.data() + 9 * at(k));
  });
}

void NodeSweeps::copy_values() {
  copy_triangle(lower_);
  copy_triangle(upper_);
  for (std::size_t g = 0; g < own_source_.size(); ++g) copy_block(own_source_[g], diagonal_.data() + 9 * g);
}

void NodeSweeps::set_inverses(std::span<const double* const> inverses) {
  inverse_.resize(order_.size());
  for (std::size_t s = 0; s < order_.size(); ++s) inverse_[s] = inverses[at(order_[s])];
}

template <class Work>
void NodeSweeps::for_arms(const Work& work) const {
  const int threads = arm_ == middle_ ? 1 : std::min(matrix_->threads(), 2);
  for_parts(2, threads, [&](int arm) { work(arm == 0 ? 0 : arm_, arm == 0 ? arm_ : middle_, arm); });
}

// Calls right(place, node, sum), which finds y of the node, for the places [first, last); sum: L y of the node.
template <class Right>
void NodeSweeps::sweep_forward(int first, int last, const Right& right, double* y) const {
  const int* const column = lower_.column.data();
  const float* const value = lower_.value.data();
  for (int s = first; s < last; ++s) {
    const int from = lower_.start[at(s)], to = lower_.start[at(s + 1)];
    const Lanes sum = sum_blocks(value + 9 * at(from), column + from, column + to, y);
    right(s, place_[at(s)], sum);
  }
}

template <class Right>
inline void NodeSweeps::sweep_backward(int first, int last, const Right& right, double* y) const {
  const int* const column = upper_.column.data();
  const float* const value = upper_.value.data();
  const int places = static_cast<int>(place_.size());
  for (int s = last - 1; s >= first; --s) {
    const int from = upper_.start[at(places - 1 - s)], to = upper_.start[at(places - s)];
    const Lanes sum = sum_blocks(value + 9 * at(from), column + from, column + to, y);
    right(s, place_[at(s)], sum);
  }
}

template <class Right>
inline void NodeSweeps::sweep_all_backward(const Right& right, double* y) const {
  sweep_backward(middle_, static_cast<int>(place_.size()), right, y);
  for_arms([&](int first, int last, int) { sweep_backward(first, last, right, y); });
}

void NodeSweeps::forward(const double* b, double* y) const {
  const auto take = [&](int s, const Place& node, const Lanes& sum) {
    solve_node(inverse_[at(s)], node.size, b + node.first, sum, y + node.first);
  };
  for_arms([&](int first, int last, int) { sweep_forward(first, last, take, y); });
  sweep_forward(middle_, static_cast<int>(place_.size()), take, y);
}

void NodeSweeps::backward(const double* b, double* y) const {
  sweep_all_backward(
      [&](int s, const Place& node, const Lanes& sum) {
        solve_node(inverse_[at(s)], node.size, b + node.first, sum, y + node.first);
      },
      y);
}

void NodeSweeps::forward_last(double* x) const {
  for (int s = first_last_; s < static_cast<int>(place_.size()); ++s) {
    const Place& node = place_[at(s)];
    const int from = lower_last_[at(s - first_last_)], to = lower_.start[at(s + 1)];
    const Lanes sum =
        sum_blocks(lower_.value.data() + 9 * at(from), lower_.column.data() + from, lower_.column.data() + to, x);
    solve_node(inverse_[at(s)], node.size, x + node.first, sum, x + node.first);
  }
}

void NodeSweeps::backward_last(double* x) const {
  sweep_backward(
      first_last_, static_cast<int>(place_.size()),
      [&](int s, const Place& node, const Lanes& sum) {
        solve_node(inverse_[at(s)], node.size, x + node.first, sum, x + node.first);
      },
      x);
}

void NodeSweeps::multiply_last(double* x) const {
  for (int s = first_last_; s < static_cast<int>(place_.size()); ++s) {
    double* const own = x + place_[at(s)].first;
    multiply_diagonal(at(order_[at(s)]), own, own);
  }
}

void NodeSweeps::lower_product(const double* x, double* r) const {
  const int* const column = lower_.column.data();
  matrix_->for_chunks([&](int, int first, int last) {
    for (int s = first; s < last; ++s) {
      const Place& node = place_[at(s)];
      const int from = lower_.start[at(s)], to = lower_.start[at(s + 1)];
      const Lanes sum = sum_blocks(lower_.value.data() + 9 * at(from), column + from, column + to, x);
      multiply_diagonal(at(order_[at(s)]), x + node.first, r + node.first);
      for (int i = 0; i < node.size; ++i) r[node.first + i] += sum[i];
    }
  });
}

void NodeSweeps::upper_products(const double* X, double* Y) const {
  constexpr int columns = 6;
  const int places = static_cast<int>(place_.size());
  const auto add = [&](const float* block, const double* x, Lanes* sum) {
    for (int c = 0; c < 3; ++c) {
      const Lanes first = lanes_at(x + columns * c), second = lanes_at(x + columns * c + lane_count);
      for (int r = 0; r < 3; ++r) {
        const double a = static_cast<double>(block[3 * c + r]);
        sum[2 * r] += a * first;
        sum[2 * r + 1] += a * second;
      }
    }
  };
  matrix_->for_chunks([&](int, int begin, int end) {
    for (int s = begin; s < end; ++s) {
      const Place& node = place_[at(s)];
      Lanes sum[6] = {};
      for (int k = upper_.start[at(places - 1 - s)]; k < upper_.start[at(places - s)]; ++k)
        add(upper_.value.data() + 9 * at(k), X + columns * static_cast<std::ptrdiff_t>(upper_.column[at(k)]), sum);
      const float* const d = diagonal_.data() + 9 * at(order_[at(s)]);
      for (int c = 0; c < node.size; ++c) {
        const double* const x = X + columns * static_cast<std::ptrdiff_t>(node.first + c);
        for (int r = 0; r < node.size; ++r) {
          const double a = static_cast<double>(d[3 * c + r]);
          sum[2 * r] += a * lanes_at(x);
          sum[2 * r + 1] += a * lanes_at(x + lane_count);
        }
      }
      for (int r = 0; r < node.size; ++r) {
        double* const y = Y + columns * static_cast<std::ptrdiff_t>(node.first + r);
        lanes_at(y) = sum[2 * r];
        y[4] = sum[2 * r + 1][0];
        y[5] = sum[2 * r + 1][1];
      }
    }
  });
}

void NodeSweeps::find_direction(const double* z, double beta, double* p_hat, double* p) const {
  sweep_all_backward(
      [&](int s, const Place& node, const Lanes& sum) {
        for (int i = node.first; i < node.first + node.size; ++i) p_hat[i] = z[i] + beta * p_hat[i];
        solve_node(inverse_[at(s)], node.size, p_hat + node.first, sum, p + node.first);
      },
      p);
}

double NodeSweeps::find_product(const double* p_hat, const double* p, const double* f, double* t) const {
  double curvature[3] = {0, 0, 0};  // of the arms and of the middle
  const auto sweep = [&](int first, int last, int arm, const double* extra) {
    double total = 0;
    const auto take = [&](int s, const Place& node, const Lanes& sum) {
      double b[3] = {0, 0, 0}, Dp[3];
      multiply_diagonal(at(order_[at(s)]), p + node.first, Dp);
      for (int i = 0; i < node.size; ++i) b[i] = p_hat[node.first + i] - Dp[i] - sum[i];
      if (extra != nullptr)
        for (int i = 0; i < node.size; ++i) b[i] += extra[node.first + i];
      apply(inverse_[at(s)], node.size, b, t + node.first);
      for (int i = 0; i < node.size; ++i) total += p_hat[node.first + i] * (p[node.first + i] + t[node.first + i]);
    };
    sweep_forward(first, last, take, t);
    curvature[arm] += total;
  };
  for_arms([&](int first, int last, int arm) { sweep(first, last, arm, nullptr); });
  sweep(middle_, first_last_, 2, nullptr);
  sweep(first_last_, static_cast<int>(place_.size()), 2, f);
  return curvature[0] + curvature[1] + curvature[2];
}

}  // namespace carom
