#include "core/mechanics/lumped_mass.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/base/disjoint_sets.hpp"
#include "core/base/parallel.hpp"
#include "core/base/simd4.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr int chunk = 64;           // elements at a time
constexpr int most_equations = 64;  // of a group

// visit(equations, M) for every element with mass: its equations (-1: none) and its lumped mass matrix, row-major.
template <class Visit>
void for_masses(const System& system, In q, Vector& local, std::vector<int>& equations, const Visit& visit) {
  for (const auto& block : system.elements()) {
    if (!block->traits().has_mass) continue;
    const Topology& topology = block->topology();
    const std::size_t m = at(topology.local_size);
    local.resize(std::max(local.size(), at(chunk) * m * m));
    equations.resize(m);
    ElementTangent request;
    request.c_M = 1;
    request.mass = MassKind::lumped;
    for (int first = 0; first < topology.items; first += chunk) {
      const Range range{first, std::min(first + chunk, topology.items)};
      std::fill_n(local.begin(), at(range.size()) * m * m, 0.0);
      block->add_tangent(range, {q.data(), nullptr, 0}, request, local.data());
      for (int e = range.first; e < range.last; ++e) {
        std::size_t i = 0;
        for (std::size_t k = 0; k < topology.slots.size(); ++k) {
          const Slot slot = topology.slots[k];
          for (int c = 0; c < slot.components; ++c)
            equations[i++] = system.dofs().equation(topology.node(e, static_cast<int>(k)), slot.first_component + c);
        }
        // a body with formulas couples its coordinates, even where an entry happens to be zero
        visit(std::span<const int>(equations), local.data() + at(e - first) * m * m, !block->traits().constant_mass);
      }
    }
  }
}

// y_i = m_i x_i
void multiply_entries(In m, In x, Out y, int threads) {
  for_vector(m.size(), threads, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) y[i] = m[i] * x[i];
  });
}

double difference(const LumpedMass::Factors& of, std::size_t i) { return of.z.empty() ? of.y[i] : of.y[i] - of.z[i]; }

}  // namespace

LumpedMass::LumpedMass(const System& system, In q) : system_(&system) {
  const std::size_t n = at(system.size());
  mass_.assign(n, 0.0);
  inverse_.assign(n, 0.0);

  // equations that a mass matrix couples; the rotations of a frame belong together always
  std::vector<int> parent = disjoint_sets(system.size());
  for_masses(system, q, local_, equations_, [&](std::span<const int> equations, const double* M, bool all) {
    const std::size_t m = equations.size();
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (equations[i] >= 0 && equations[j] >= 0 && (all || M[i * m + j] != 0 || M[j * m + i] != 0))
          join_sets(parent, equations[i], equations[j]);
  });
  for (const DofMap::Frame& f : system.dofs().rotating_frames()) {
    join_sets(parent, f.equation, f.equation + 1);
    join_sets(parent, f.equation, f.equation + 2);
  }

  std::vector<int> size(n, 0), number(n, -1);
  for (std::size_t i = 0; i < n; ++i) ++size[at(root_of(parent, static_cast<int>(i)))];
  group_of_.assign(n, -1);
  place_.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t r = at(root_of(parent, static_cast<int>(i)));
    if (size[r] == 1) continue;
    if (number[r] < 0) {
      number[r] = static_cast<int>(groups_.size());
      groups_.emplace_back();
    }
    Group& group = groups_[at(number[r])];
    group_of_[i] = number[r];
    place_[i] = static_cast<int>(group.equations.size());
    group.equations.push_back(static_cast<int>(i));
  }
  for (Group& group : groups_) {
    if (group.equations.size() > at(most_equations))
      throw std::invalid_argument("LumpedMass: the masses of " + system.equation_name(group.equations.front()) +
                                  " are coupled with those of too many equations");
    const auto k = static_cast<Eigen::Index>(group.equations.size());
    group.M.setZero(k, k);
    group.inverse.setZero(k, k);
  }
  for (const DofMap::Frame& f : system.dofs().rotating_frames()) {
    frame_group_.push_back(group_of_[at(f.equation)]);
    frame_inertias_ = frame_inertias_ && groups_[at(frame_group_.back())].equations.size() == 3;
  }

  assemble(q);
  for (std::size_t i = 0; i < n && massless_ < 0; ++i)
    if (!(mass_[i] > 0)) massless_ = static_cast<int>(i);
  if (massless_ < 0) factorise();
}

void LumpedMass::assemble(In q) {
  set_zero(mass_);
  for (Group& group : groups_) group.M.setZero();
  for_masses(*system_, q, local_, equations_, [&](std::span<const int> equations, const double* M, bool) {
    const std::size_t m = equations.size();
    for (std::size_t i = 0; i < m; ++i) {
      const int e = equations[i];
      if (e < 0) continue;
      mass_[at(e)] += M[i * m + i];
      if (group_of_[at(e)] < 0) continue;
      Group& group = groups_[at(group_of_[at(e)])];
      for (std::size_t j = 0; j < m; ++j)
        if (equations[j] >= 0 && group_of_[at(equations[j])] == group_of_[at(e)])
          group.M(place_[at(e)], place_[at(equations[j])]) += M[i * m + j];
    }
  });
  if (groups_.empty()) return;
  lone_ = mass_;
  for (const Group& group : groups_)
    for (const int e : group.equations) lone_[at(e)] = 0;
}

bool LumpedMass::factorise() {
  for (std::size_t i = 0; i < mass_.size(); ++i) inverse_[i] = group_of_[i] < 0 ? 1 / mass_[i] : 0.0;
  for (Group& group : groups_) {
    group.factor.compute(group.M);
    if (group.factor.info() != Eigen::Success) return false;
    group.inverse.setIdentity();
    group.factor.solveInPlace(group.inverse);
  }
  return true;
}

bool LumpedMass::update(In q) {
  if (system_->constant_mass()) return true;
  assemble(q);
  return std::all_of(mass_.begin(), mass_.end(), [](double m) { return m > 0; }) && factorise();
}

void LumpedMass::times(In x, Out y) const {
  if (groups_.empty()) {
    multiply_entries(mass_, x, y, system_->threads());
    return;
  }
  double sums[most_equations];
  for (std::size_t i = 0; i < mass_.size(); ++i)
    if (group_of_[i] < 0) y[i] = mass_[i] * x[i];
  for (const Group& group : groups_) {
    const std::size_t k = group.equations.size();
    for (std::size_t i = 0; i < k; ++i) {
      sums[i] = 0;
      for (std::size_t j = 0; j < k; ++j)
        sums[i] += group.M(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) * x[at(group.equations[j])];
    }
    for (std::size_t i = 0; i < k; ++i) y[at(group.equations[i])] = sums[i];
  }
}

void LumpedMass::solve(In x, Out y) const {
  if (groups_.empty()) {
    multiply_entries(inverse_, x, y, system_->threads());
    return;
  }
  double sums[most_equations];
  for (std::size_t i = 0; i < mass_.size(); ++i)
    if (group_of_[i] < 0) y[i] = inverse_[i] * x[i];
  for (const Group& group : groups_) {
    const std::size_t k = group.equations.size();
    for (std::size_t i = 0; i < k; ++i) {
      sums[i] = 0;
      for (std::size_t j = 0; j < k; ++j)
        sums[i] +=
            group.inverse(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) * x[at(group.equations[j])];
    }
    for (std::size_t i = 0; i < k; ++i) y[at(group.equations[i])] = sums[i];
  }
}

template <std::size_t n>
std::array<double, n> LumpedMass::products(const std::array<Factors, n>& of) const {
  using Sums = std::array<double, n>;
  const In masses = groups_.empty() ? mass_ : lone_;
  Sums sums = reduce_vector(
      masses.size(), system_->threads(), Sums{},
      [&](std::size_t first, std::size_t last) {
        Lanes part[n] = {};
        std::size_t i = first;
        for (; i + lane_count <= last; i += lane_count) {
          const Lanes m = lanes_at(masses.data() + i);
          for (std::size_t k = 0; k < n; ++k) {
            Lanes y = lanes_at(of[k].y.data() + i);
            if (!of[k].z.empty()) y -= lanes_at(of[k].z.data() + i);
            part[k] += m * lanes_at(of[k].x.data() + i) * y;
          }
        }
        Sums parts;
        for (std::size_t k = 0; k < n; ++k) parts[k] = sum(part[k]);
        for (; i < last; ++i)
          for (std::size_t k = 0; k < n; ++k) parts[k] += masses[i] * of[k].x[i] * difference(of[k], i);
        return parts;
      },
      [](Sums a, const Sums& b) {
        for (std::size_t k = 0; k < n; ++k) a[k] += b[k];
        return a;
      });
  for (const Group& group : groups_)
    for (std::size_t i = 0; i < group.equations.size(); ++i)
      for (std::size_t j = 0; j < group.equations.size(); ++j) {
        const double M = group.M(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
        for (std::size_t k = 0; k < n; ++k)
          sums[k] += M * of[k].x[at(group.equations[i])] * difference(of[k], at(group.equations[j]));
      }
  return sums;
}

template std::array<double, 1> LumpedMass::products(const std::array<Factors, 1>& of) const;
template std::array<double, 5> LumpedMass::products(const std::array<Factors, 5>& of) const;

}  // namespace carom
