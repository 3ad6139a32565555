#include "core/mechanics/element_frequency.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/mechanics/lumped_mass.hpp"

namespace carom {

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// visit(element, equations, K) is called for every element of a block.
using Visit = std::function<void(int, std::span<const int>, Eigen::Map<const Matrix>)>;
void for_stiffness(const System& system, const ElementBlock& block, In q, double t, const Visit& visit) {
  const Topology& topology = block.topology();
  const int m = topology.local_size, chunk = std::max(1, 16384 / (m * m));
  Vector K(at(chunk) * at(m) * at(m)), rest(at(chunk) * at(m), 0.0);
  std::vector<int> equations(at(m));
  ElementTangent request;
  request.c_K = 1;
  for (int first = 0; first < topology.items; first += chunk) {
    const Range range{first, std::min(first + chunk, topology.items)};
    std::fill(K.begin(), K.end(), 0.0);
    block.add_tangent(range, {q.data(), rest.data(), t}, request, K.data());
    for (int e = range.first; e < range.last; ++e) {
      std::size_t i = 0;
      for (std::size_t k = 0; k < topology.slots.size(); ++k) {
        const Slot slot = topology.slots[k];
        for (int c = 0; c < slot.components; ++c)
          equations[i++] = system.dofs().equation(topology.node(e, static_cast<int>(k)), slot.first_component + c);
      }
      visit(e, equations, Eigen::Map<const Matrix>(K.data() + at(e - first) * at(m) * at(m), m, m));
    }
  }
}

// The largest eigenvalue of the matrices seen so far.
struct Highest {
  double value = 0;

  /// Includes the rows and columns `moving` of K, scaled by `scale` from both sides. Returns true if they raise the
  /// maximum.
  bool meet(const Eigen::Map<const Matrix>& K, const std::vector<int>& moving, const Vector& scale) {
    const int n = static_cast<int>(moving.size());
    if (n == 0) return false;
    B_.resize(n, n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        B_(i, j) =
            0.5 * scale[at(i)] * scale[at(j)] * (K(moving[at(i)], moving[at(j)]) + K(moving[at(j)], moving[at(i)]));
    // no eigenvalue exceeds the Frobenius norm; for most elements the norm is the largest eigenvalue
    if (!(B_.norm() > value * (1 + 1e-9))) return false;
    solver_.compute(B_, Eigen::EigenvaluesOnly);
    const double eigenvalue = solver_.eigenvalues()[n - 1];
    if (!(eigenvalue > value * (1 + 1e-9))) return false;
    value = eigenvalue;
    return true;
  }

 private:
  Eigen::MatrixXd B_;
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver_;
};

}  // namespace

std::vector<BlockFrequency> element_frequencies(const System& system, In q, double t) {
  std::vector<BlockFrequency> result;
  const auto& blocks = system.elements();
  if (std::none_of(blocks.begin(), blocks.end(), [](const auto& b) { return b->traits().has_stiffness; }))
    return result;

  const LumpedMass lumped(system, q);
  const In mass = lumped.masses();
  Vector stiffness(mass.size());

  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!blocks[b]->traits().has_stiffness) continue;
    // sum of the block's stiffness per equation, by which its elements share the masses
    std::fill(stiffness.begin(), stiffness.end(), 0.0);
    for_stiffness(system, *blocks[b], q, t,
                  [&](int, std::span<const int> equations, const Eigen::Map<const Matrix>& K) {
                    for (int i = 0; i < K.rows(); ++i)
                      if (const int e = equations[at(i)]; e >= 0) stiffness[at(e)] += std::abs(K(i, i));
                  });

    BlockFrequency found;
    found.block = static_cast<int>(b);
    found.elements = blocks[b]->topology().items;
    Highest bound, alone;
    std::vector<int> moving;
    Vector whole, share;
    for_stiffness(system, *blocks[b], q, t,
                  [&](int e, std::span<const int> equations, const Eigen::Map<const Matrix>& K) {
                    // components that contribute: 1/sqrt of the node's mass and of the element's share of it
                    moving.clear();
                    whole.clear();
                    share.clear();
                    bool has_massless_equation = false;
                    for (int i = 0; i < K.rows(); ++i) {
                      const int equation = equations[at(i)];
                      if (equation < 0 || K(i, i) == 0) continue;
                      if (!(mass[at(equation)] > 0)) {
                        has_massless_equation = true;
                        continue;
                      }
                      moving.push_back(i);
                      whole.push_back(1 / std::sqrt(mass[at(equation)]));
                      share.push_back(whole.back() * std::sqrt(stiffness[at(equation)] / std::abs(K(i, i))));
                    }
                    found.massless_elements += has_massless_equation ? 1 : 0;
                    bound.meet(K, moving, share);
                    if (alone.meet(K, moving, whole)) found.element = e;
                  });
    found.omega = std::sqrt(bound.value);
    result.push_back(found);
  }
  return result;
}

double frequency_bound(const System& system, In q, double t) {
  double squares = 0;
  for (const BlockFrequency& f : element_frequencies(system, q, t)) squares += f.omega * f.omega;
  return std::sqrt(squares);
}

}  // namespace carom
