#include "core/linear/condensation.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"

namespace carom {

namespace {

constexpr int most_masters = 12;
constexpr double least_determinant = 1e-8;  // of the rows of a node, with rows of unit length

using Mat3r = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

// The inverse of a 3 x 3 matrix whose entries are values at `places`; false if it is nearly singular.
bool invert(std::span<const double> values, const int* places, double* inverse) {
  Mat3r M;
  for (int i = 0; i < 9; ++i) M(i / 3, i % 3) = places[i] < 0 ? 0.0 : values[at(places[i])];
  const double size = M.row(0).norm() * M.row(1).norm() * M.row(2).norm();
  if (!(std::abs(M.determinant()) > least_determinant * size)) return false;
  Eigen::Map<Mat3r>{inverse} = M.inverse();
  return true;
}

}  // namespace

void Condensation::analyse(const SparsePattern& pattern, std::span<const int> node, int first_row, int threads) {
  *this = Condensation();
  threads_ = threads;
  pattern_ = &pattern;
  const auto row = [&](int i) {
    return std::span(pattern.column)
        .subspan(at(pattern.row_start[at(i)]), at(pattern.row_start[at(i + 1)] - pattern.row_start[at(i)]));
  };
  slave_of_.assign(at(pattern.rows), -1);
  std::vector<char> taken(at(pattern.rows), 0);
  for (int i = 0; i + 2 < first_row; ++i) {
    if (node[at(i)] < 0 || node[at(i)] != node[at(i + 2)] || (i > 0 && node[at(i - 1)] == node[at(i)])) continue;
    if (i + 3 < first_row && node[at(i + 3)] == node[at(i)]) continue;
    // the multipliers that touch the node: three, which touch no other slave
    std::vector<int> rows;
    for (int c = 0; c < 3; ++c)
      for (const int j : row(i + c))
        if (j >= first_row) rows.push_back(j);
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    if (rows.size() != 3) continue;
    std::vector<int> masters;
    bool fits = true;
    for (const int r : rows)
      for (const int j : row(r)) {
        fits = fits && taken[at(r)] == 0 && (j < first_row || j == r) && slave_of_[at(j)] < 0;
        if (j < first_row && (j < i || j > i + 2)) masters.push_back(j);
      }
    std::sort(masters.begin(), masters.end());
    masters.erase(std::unique(masters.begin(), masters.end()), masters.end());
    if (!fits || masters.size() > most_masters) continue;
    // a master stays
    if (std::ranges::any_of(masters, [&](int m) { return slave_of_[at(m)] >= 0; })) continue;
    if (taken[at(i)] != 0 || taken[at(i + 1)] != 0 || taken[at(i + 2)] != 0) continue;
    Slave slave{i, {rows[0], rows[1], rows[2]}, masters_.size(), static_cast<int>(masters.size())};
    masters_.insert(masters_.end(), masters.begin(), masters.end());
    for (int c = 0; c < 3; ++c) slave_of_[at(i + c)] = static_cast<int>(slaves_.size());
    for (const int r : rows) taken[at(r)] = 1;
    for (const int m : masters) taken[at(m)] = 1;
    slaves_.push_back(slave);
  }
  if (slaves_.empty()) return;

  place_.assign(at(pattern.rows), 0);
  for (const Slave& s : slaves_)
    for (int c = 0; c < 3; ++c) place_[at(s.first + c)] = place_[at(s.rows[c])] = -1;
  for (int i = 0; i < pattern.rows; ++i)
    if (place_[at(i)] == 0) {
      place_[at(i)] = static_cast<int>(kept_.size());
      kept_.push_back(i);
    }

  const auto masters_of = [&](const Slave& s) { return std::span(masters_).subspan(s.masters, at(s.count)); };
  PatternBuilder builder(static_cast<int>(kept_.size()), static_cast<int>(kept_.size()));
  for (const int i : kept_)
    for (const int j : row(i))
      if (place_[at(j)] >= 0) builder.add(place_[at(i)], place_[at(j)]);
  // couplings of a slave become those of its masters
  for (const Slave& slave : slaves_)
    for (int c = 0; c < 3; ++c)
      for (const int j : row(slave.first + c)) {
        const auto mine = masters_of(slave);
        if (place_[at(j)] >= 0) {
          for (const int m : mine) {
            builder.add(place_[at(m)], place_[at(j)]);
            builder.add(place_[at(j)], place_[at(m)]);
          }
        } else if (slave_of_[at(j)] >= 0) {
          for (const int m : mine)
            for (const int o : masters_of(slaves_[at(slave_of_[at(j)])])) builder.add(place_[at(m)], place_[at(o)]);
        }
      }
  reduced_ = builder.build();
  values_.assign(at(reduced_.nonzeros()), 0.0);
  copied_from_.assign(values_.size(), -1);
  for (const int i : kept_)
    for (int k = pattern.row_start[at(i)]; k < pattern.row_start[at(i + 1)]; ++k)
      if (const int j = place_[at(pattern.column[at(k)])]; j >= 0)
        copied_from_[at(reduced_.find(place_[at(i)], j))] = k;
  // couplings of slaves with the same masters are summed before they are written
  std::map<std::pair<std::vector<int>, std::vector<int>>, std::size_t> sums;
  const auto add_pair = [&](int s, int o) {
    const auto mine = masters_of(slaves_[at(s)]), others = masters_of(slaves_[at(o)]);
    const auto [place, is_new] =
        sums.try_emplace({std::vector<int>(mine.begin(), mine.end()), std::vector<int>(others.begin(), others.end())},
                         sum_places_.size());
    if (is_new)
      for (const int m : mine)
        for (const int n : others) sum_places_.push_back(reduced_.find(place_[at(m)], place_[at(n)]));
    Pair pair{s, o, {}, place->second};
    for (int i = 0; i < 9; ++i)
      pair.value[i] = pattern.find(slaves_[at(s)].first + i / 3, slaves_[at(o)].first + i % 3);
    pairs_.push_back(pair);
  };
  std::vector<int> seen(slaves_.size(), -1);
  for (std::size_t s = 0; s < slaves_.size(); ++s) {
    const Slave& slave = slaves_[s];
    const auto mine = masters_of(slave);
    for (int c = 0; c < 3; ++c)
      for (int k = pattern.row_start[at(slave.first + c)]; k < pattern.row_start[at(slave.first + c + 1)]; ++k) {
        const int j = pattern.column[at(k)];
        Term term{static_cast<int>(s), c, k, places_.size(), place_[at(j)], true};
        if (place_[at(j)] >= 0) {
          for (const int m : mine) places_.push_back(reduced_.find(place_[at(m)], place_[at(j)]));
          terms_.push_back(term);
          term.upper = false;
          term.value = pattern.find(j, slave.first + c);
          term.places = places_.size();
          for (const int m : mine) places_.push_back(reduced_.find(place_[at(j)], place_[at(m)]));
          terms_.push_back(term);
        } else if (slave_of_[at(j)] >= 0 && seen[at(slave_of_[at(j)])] != static_cast<int>(s)) {
          seen[at(slave_of_[at(j)])] = static_cast<int>(s);
          add_pair(static_cast<int>(s), slave_of_[at(j)]);
        }
      }
    for (int i = 0; i < 3; ++i)
      for (int c = 0; c < 3; ++c) {
        gs_.push_back(pattern.find(slave.rows[i], slave.first + c));
        fs_.push_back(pattern.find(slave.first + i, slave.rows[c]));
      }
    for (const int r : slave.rows)
      for (const int m : mine) {
        gm_.push_back(pattern.find(r, m));
        fm_.push_back(pattern.find(m, r));
      }
  }
  W_.assign(gm_.size(), 0.0);
  V_.assign(fm_.size(), 0.0);
  G_inverse_.assign(9 * slaves_.size(), 0.0);
  F_inverse_.assign(9 * slaves_.size(), 0.0);
  y_.assign(3 * slaves_.size(), 0.0);
  b_s_.assign(3 * slaves_.size(), 0.0);
  term_values_.assign(terms_.size(), 0.0);
  pair_values_.assign(9 * pairs_.size(), 0.0);
  sums_.assign(sum_places_.size(), 0.0);
}

bool Condensation::reduce(std::span<const double> values) {
  const auto value = [&](int k) { return k < 0 ? 0.0 : values[at(k)]; };
  for (std::size_t s = 0; s < slaves_.size(); ++s) {
    const Slave& slave = slaves_[s];
    double* const G = G_inverse_.data() + 9 * s;
    double* const F = F_inverse_.data() + 9 * s;
    if (!invert(values, &gs_[9 * s], G) || !invert(values, &fs_[9 * s], F)) return false;
    // W: 3 x count, V: count x 3 stored as its transpose
    const std::size_t first = 3 * slave.masters, count = at(slave.count);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t m = 0; m < count; ++m) {
        double w = 0, v = 0;
        for (std::size_t k = 0; k < 3; ++k) {
          w -= G[3 * i + k] * value(gm_[first + k * count + m]);
          v -= value(fm_[first + k * count + m]) * F[3 * k + i];
        }
        W_[first + i * count + m] = w;
        V_[first + i * count + m] = v;
      }
  }
  for_ranges(values_.size(), 16384, threads_, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) values_[k] = value(copied_from_[k]);
  });
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const Term& term = terms_[t];
    const double a = term_values_[t] = value(term.value);
    const Slave& slave = slaves_[at(term.slave)];
    const std::size_t count = at(slave.count), first = 3 * slave.masters + at(term.component) * count;
    const int* const places = places_.data() + term.places;
    const Vector& factor = term.upper ? V_ : W_;
    for (std::size_t m = 0; m < count; ++m) values_[at(places[m])] += factor[first + m] * a;
  }
  std::fill(sums_.begin(), sums_.end(), 0.0);
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    const Pair& pair = pairs_[p];
    double* const A = pair_values_.data() + 9 * p;
    for (int i = 0; i < 9; ++i) A[i] = value(pair.value[i]);
    const Slave &slave = slaves_[at(pair.slave)], &other = slaves_[at(pair.other)];
    const int count = slave.count, others = other.count;
    const double* const V = V_.data() + 3 * slave.masters;
    const double* const W = W_.data() + 3 * other.masters;
    for (int i = 0; i < 3; ++i) {
      double AW[most_masters];
      for (int o = 0; o < others; ++o)
        AW[o] = A[3 * i] * W[o] + A[3 * i + 1] * W[others + o] + A[3 * i + 2] * W[2 * others + o];
      double* row = sums_.data() + pair.sum;
      for (int m = 0; m < count; ++m, row += others)
        for (int o = 0; o < others; ++o) row[o] += V[i * count + m] * AW[o];
    }
  }
  for (std::size_t k = 0; k < sums_.size(); ++k) values_[at(sum_places_[k])] += sums_[k];
  return true;
}

// left -= A x for the couplings of slaves; unknowns(slave): its three of x
template <class Unknowns>
void Condensation::subtract_pairs(const Unknowns& unknowns, Vector& left) const {
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    const double* const A = pair_values_.data() + 9 * p;
    const double* const x = unknowns(pairs_[p].other);
    double* const own = &left[3 * at(pairs_[p].slave)];
    for (int i = 0; i < 3; ++i) own[i] -= A[3 * i] * x[0] + A[3 * i + 1] * x[1] + A[3 * i + 2] * x[2];
  }
}

void Condensation::reduce_right_side(std::span<const double> b, Out reduced) {
  for (std::size_t s = 0; s < slaves_.size(); ++s)
    for (std::size_t i = 0; i < 3; ++i) {
      y_[3 * s + i] = 0;
      for (std::size_t k = 0; k < 3; ++k) y_[3 * s + i] += G_inverse_[9 * s + 3 * i + k] * b[at(slaves_[s].rows[k])];
      b_s_[3 * s + i] = b[at(slaves_[s].first) + i];
    }
  for (std::size_t i = 0; i < kept_.size(); ++i) reduced[i] = b[at(kept_[i])];
  // b - A y, then V times the equations of the slaves
  Vector left = b_s_;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const Term& term = terms_[t];
    const std::size_t own = 3 * at(term.slave) + at(term.component);
    if (!term.upper) reduced[at(term.column)] -= term_values_[t] * y_[own];
  }
  subtract_pairs([&](int slave) { return &y_[3 * at(slave)]; }, left);
  for (std::size_t s = 0; s < slaves_.size(); ++s) {
    const Slave& slave = slaves_[s];
    const std::size_t count = at(slave.count);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t m = 0; m < count; ++m)
        reduced[at(place_[at(masters_[slave.masters + m])])] += V_[3 * slave.masters + i * count + m] * left[3 * s + i];
  }
}

void Condensation::reduce(const SparseRow& row, const Vector& factors, SparseRow& reduced) const {
  reduced.equation.clear();
  reduced.value.clear();
  for (std::size_t k = 0; k < row.equation.size(); ++k) {
    const int e = row.equation[k], s = slave_of_[at(e)];
    if (s < 0) {
      reduced.equation.push_back(place_[at(e)]);
      reduced.value.push_back(row.value[k]);
      continue;
    }
    const Slave& slave = slaves_[at(s)];
    const std::size_t count = at(slave.count), first = 3 * slave.masters + at(e - slave.first) * count;
    for (std::size_t m = 0; m < count; ++m) {
      reduced.equation.push_back(place_[at(masters_[slave.masters + m])]);
      reduced.value.push_back(row.value[k] * factors[first + m]);
    }
  }
}

double Condensation::row_constant(const SparseRow& G) const {
  double sum = 0;
  for (std::size_t k = 0; k < G.equation.size(); ++k)
    if (const int s = slave_of_[at(G.equation[k])]; s >= 0)
      sum += G.value[k] * y_[3 * at(s) + at(G.equation[k] - slaves_[at(s)].first)];
  return sum;
}

void Condensation::expand(std::span<const double> x, std::span<const double> forces, Out all) const {
  for (std::size_t i = 0; i < kept_.size(); ++i) all[at(kept_[i])] = x[i];
  for (std::size_t s = 0; s < slaves_.size(); ++s) {
    const Slave& slave = slaves_[s];
    const std::size_t count = at(slave.count);
    for (std::size_t i = 0; i < 3; ++i) {
      double value = y_[3 * s + i];
      for (std::size_t m = 0; m < count; ++m)
        value += W_[3 * slave.masters + i * count + m] * x[at(place_[at(masters_[slave.masters + m])])];
      all[at(slave.first) + i] = value;
    }
  }
  Vector left = b_s_;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const Term& term = terms_[t];
    const std::size_t own = 3 * at(term.slave) + at(term.component);
    if (term.upper) left[own] -= term_values_[t] * x[at(term.column)];
  }
  subtract_pairs([&](int slave) { return &all[at(slaves_[at(slave)].first)]; }, left);
  for (std::size_t s = 0; s < slaves_.size(); ++s)
    for (std::size_t i = 0; i < 3; ++i) {
      if (!forces.empty()) left[3 * s + i] -= forces[at(slaves_[s].first) + i];
    }
  for (std::size_t s = 0; s < slaves_.size(); ++s)
    for (std::size_t i = 0; i < 3; ++i) {
      double l = 0;
      for (std::size_t k = 0; k < 3; ++k) l += F_inverse_[9 * s + 3 * i + k] * left[3 * s + k];
      all[at(slaves_[s].rows[i])] = l;
    }
}

}  // namespace carom
