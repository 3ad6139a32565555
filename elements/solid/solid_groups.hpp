// Groups of solid elements: fills the vectors of a kernel, one lane per element, and adds what comes out.
#pragma once

#include <cstddef>

#include "elements/solid/solid_kernel.hpp"

namespace carom::solid {

namespace {

// ---- Reference positions and Jacobians lie in blocks of eight elements, so that a group loads its lanes at once:
// component j of the elements 8 b to 8 b + 7, one after the other, then component j + 1.

constexpr int elements_per_block = 8;
static_assert(elements_per_block % lane_count == 0);

/// Place of component j of an element with `size` components.
constexpr std::size_t reference_place(int element, int j, int size) {
  const auto block = static_cast<std::size_t>(element / elements_per_block);
  return (block * static_cast<std::size_t>(size) + static_cast<std::size_t>(j)) * elements_per_block +
         static_cast<std::size_t>(element % elements_per_block);
}

/// Elements with a lane each; the lanes behind `count` repeat the last element.
struct Group {
  int element[lane_count];
  int count;
};
template <class Visit>
void for_groups(int first, int last, const Visit& visit) {
  for (; first < last; first += lane_count) {
    Group group{};
    group.count = last - first < lane_count ? last - first : lane_count;
    for (int l = 0; l < lane_count; ++l) group.element[l] = first + (l < group.count ? l : group.count - 1);
    visit(group);
  }
}

/// Component j of the group's elements.
template <int size>
[[gnu::always_inline]] inline Lanes load(const double* blocks, const Group& group, int j) {
  const int first = group.element[0];
  if (first % lane_count == 0 && group.count == lane_count)
    return *reinterpret_cast<const LooseLanes*>(blocks + reference_place(first, j, size));
  Lanes x;
  for (int l = 0; l < lane_count; ++l) x[l] = blocks[reference_place(group.element[l], j, size)];
  return x;
}

template <int nodes>
void positions(const PlacedMesh& mesh, const Group& group, Lanes (&x)[nodes][3]) {
  for (int a = 0; a < nodes; ++a) {
    int place[lane_count];
    for (int l = 0; l < lane_count; ++l) place[l] = mesh.offsets[group.element[l] * nodes + a];
    for (int i = 0; i < 3; ++i) x[a][i] = gather(mesh.q + i, place);
  }
}

template <class Kernel>
void place(Kernel& kernel, const PlacedMesh& mesh, const Group& group) {
  constexpr int nodes = Kernel::nodes;
  Lanes X[nodes][3], x[nodes][3];
  for (int a = 0; a < nodes; ++a)
    for (int i = 0; i < 3; ++i) X[a][i] = load<3 * nodes>(mesh.reference, group, 3 * a + i);
  positions(mesh, group, x);
  kernel.place(X, x);
}

/// For forces and energies, but not for the stiffness.
template <class Kernel>
void place_for_forces(Kernel& kernel, const PlacedMesh& mesh, const Group& group) {
  if constexpr (requires(Matrix3 & J, Lanes(&x)[Kernel::nodes][3]) { kernel.place_parallel(J, x); })
    if (mesh.jacobians != nullptr) {
      Matrix3 J;
      Lanes x[Kernel::nodes][3];
      for (int i = 0; i < 3; ++i)
        for (int axis = 0; axis < 3; ++axis) J[i][axis] = load<9>(mesh.jacobians, group, 3 * i + axis);
      positions(mesh, group, x);
      kernel.place_parallel(J, x);
      return;
    }
  place(kernel, mesh, group);
}

/// out[3 nodes (e - first) + 3 a + i] -= f[a][i] of the group's elements e.
template <int nodes>
void subtract_forces(const Group& group, int first, const Lanes (*f)[3], double* out) {
  const auto subtract = [&](int count) __attribute__((always_inline)) {
    for (int a = 0; a < nodes; ++a)
      for (int l = 0; l < count; ++l) {
        double* const to = out + static_cast<long>(group.element[l] - first) * (3 * nodes) + 3 * a;
        for (int i = 0; i < 3; ++i) to[i] -= f[a][i][l];
      }
  };
  // a constant number of lanes is faster
  if (group.count == lane_count)
    subtract(lane_count);
  else
    subtract(group.count);
}

/// See InternalForces.
template <class Kernel>
double add_internal_forces(const typename Kernel::Constants& constants, const PlacedMesh& mesh, int first, int last,
                           double* f) {
  double energy = 0;
  for_groups(first, last, [&](const Group& group) {
    Kernel kernel(constants);
    place_for_forces(kernel, mesh, group);
    kernel.template evaluate<false>();
    for (int l = 0; l < group.count; ++l) energy += kernel.energy[l];
    subtract_forces<Kernel::nodes>(group, first, kernel.f, f);
  });
  return energy;
}

/// By vectors of this file.
template <template <class, int> class Kernel>
auto forces_of(int nodes, bool incompatible_modes) {
  if (nodes == 4) return add_internal_forces<Kernel<Tetrahedron, 0>>;
  return incompatible_modes ? add_internal_forces<Kernel<Hexahedron, 3>> : add_internal_forces<Kernel<Hexahedron, 0>>;
}

}  // namespace

}  // namespace carom::solid
