// The block of solid elements of any law: meets ElementBlock by groups of elements, which a kernel of the law
// evaluates. Only the files of laws include this header.
//
// A kernel is a class template Kernel<Shape, incompatible modes> with `Constants`, small_strain(constants), place(),
// evaluate(), stresses() and the results energy, f and K, and place_parallel() if parallelepipeds are simpler for the
// kernel; see solid_kernel.hpp. A law whose energy depends on F alone
// takes HyperelasticKernel and writes a class as those of solid_law.hpp.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/index.hpp"
#include "core/base/simd4.hpp"
#include "elements/solid/solid.hpp"
#include "elements/solid/solid_damping.hpp"
#include "elements/solid/solid_groups.hpp"

namespace carom::solid {

// Each law has a copy of its own, of internal linkage: the compiler then inlines the kernel, which decides speed.
namespace {

Topology topology_of(SolidMesh& mesh) {
  const int nodes = nodes_per_element(mesh.shape);
  const int items = static_cast<int>(mesh.nodes.size()) / nodes;
  return {items, std::vector<Slot>(at(nodes), Slot{0, 3}), std::move(mesh.nodes)};
}

BlockTraits traits_of(double density, const SolidOptions& options, bool may_invert, bool mixed_tangent) {
  const bool damped = options.mass_damping != 0 || options.stiffness_damping != 0;
  BlockTraits t;
  t.has_mass = density > 0;
  t.has_stiffness = true;
  t.force_parts = force_internal | (damped ? force_damping : 0u);
  t.velocity_dependent = damped;
  t.symmetric = options.stiffness_damping == 0;
  t.may_invert = may_invert;
  t.mixed_tangent = mixed_tangent;
  return t;
}

template <class Visit>
void for_groups(Range range, const Visit& visit) {
  for_groups(range.first, range.last, visit);
}

/// Forces by other vectors, by shape and options; null if there are none.
template <class Constants>
using OtherForces = double (*)(const Constants&, const PlacedMesh&, int first, int last, double* f);

template <class Shape, class Kernel>
class Block final : public SolidBlock {
 public:
  using Constants = typename Kernel::Constants;
  using Viscous = ViscousKernel<Shape, Kernel::incompatible_modes>;
  static constexpr int nodes = Shape::nodes, local = 3 * nodes, mass_pairs = nodes * (nodes + 1) / 2;

  Block(std::string name, SolidMesh mesh, const Constants& constants, double density, const SolidOptions& options,
        OtherForces<Constants> other_forces)
      : SolidBlock(std::move(name), topology_of(mesh),
                   traits_of(density, options, Kernel::defined_inverted, Kernel::mixed_tangent)),
        constants_(constants),
        small_strain_(Kernel::small_strain(constants)),
        options_(options),
        names_(std::move(mesh.names)),
        forces_(other_forces != nullptr ? other_forces : solid::add_internal_forces<Kernel>) {
    in_blocks(local, reference_, [&](int e, int j) { return mesh.reference[at(e * nodes + j / 3)][j % 3]; });
    if constexpr (nodes == 8)
      if (all_parallel(mesh.reference))
        in_blocks(9, jacobians_, [&](int e, int j) {
          const Vec3* X = mesh.reference.data() + at(e * nodes);
          const int i = j / 3, axis = j % 3;
          return 0.5 * (X[hexahedron_edges.plus[axis][0]][i] - X[hexahedron_edges.minus[axis][0]][i]);
        });
    compute_masses(density);
    for (const double V : volumes_)
      stiffness_scale_ = std::max(stiffness_scale_, (small_strain_.lambda + 2 * small_strain_.mu) * std::cbrt(V));
  }

  SolidShape shape() const override { return nodes == 8 ? SolidShape::hexahedra : SolidShape::tetrahedra; }
  double volume(int element) const override { return volumes_[at(element)]; }
  std::string item_name(int item) const override {
    return names_.empty() ? SolidBlock::item_name(item) : names_[at(item)];
  }
  double roundoff_force(double length_scale) const override { return stiffness_scale_ * length_scale; }

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override {
    if ((parts & force_internal) != 0) add_internal_forces(range, in, f);
    if ((parts & force_damping) != 0 && options_.stiffness_damping != 0)
      for_groups(range, [&](const Group& group) {
        Viscous kernel(small_strain_, options_.stiffness_damping);
        place(kernel, group, range, in);
        kernel.evaluate();
        subtract_forces<nodes>(group, range.first, kernel.f, f);
      });
    if ((parts & force_damping) != 0 && options_.mass_damping != 0)
      for (int e = range.first; e < range.last; ++e)
        add_mass_times(e, -options_.mass_damping, in.v + at(e - range.first) * local, options_.mass,
                       f + at(e - range.first) * local);
  }

  Energies add_forces_with_energies(Range range, const ElementInput& in, unsigned parts, double* f) const override {
    if ((parts & force_internal) == 0) return SolidBlock::add_forces_with_energies(range, in, parts, f);
    Energies sum;
    sum.elastic = add_internal_forces(range, in, f);
    if ((parts & ~force_internal) != 0) add_forces(range, in, parts & ~force_internal, f);
    return sum;
  }

  void add_mass_times(Range range, const ElementInput&, const double* a, MassKind kind, double* f) const override {
    for (int e = range.first; e < range.last; ++e, a += local, f += local)
      add_mass_times(e, 1.0, a, options_.mass == MassKind::lumped ? MassKind::lumped : kind, f);
  }

  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override {
    const double c_M = request.c_M + request.c_C * options_.mass_damping;
    const bool lumped = options_.mass == MassKind::lumped || request.mass == MassKind::lumped;
    if (c_M != 0)
      for (int e = range.first; e < range.last; ++e)
        add_mass(e, request.c_M, request.c_C * options_.mass_damping, lumped, A + at(e - range.first) * local * local);
    if (request.c_K != 0)
      for_groups(range, [&](const Group& group) {
        Kernel kernel(constants_);
        place(kernel, group, in);
        if constexpr (Kernel::mixed_tangent)
          if (request.mixed_q != nullptr) {
            Lanes d[nodes][3];
            for (int l = 0; l < lane_count; ++l)
              for (int a = 0; a < nodes; ++a)
                for (int i = 0; i < 3; ++i)
                  d[a][i][l] = request.mixed_d[at(group.element[l] - range.first) * local + at(3 * a + i)];
            kernel.set_correction(d);
          }
        kernel.template evaluate<true>();
        add_matrix(group, range, A, [&](int a, int b, int i, int k) {
          return request.c_K * (a <= b ? kernel.K[Kernel::pair(a, b)][i][k] : kernel.K[Kernel::pair(b, a)][k][i]);
        });
      });
    if (options_.stiffness_damping != 0 && (request.c_K != 0 || request.c_C != 0))
      for_groups(range, [&](const Group& group) {
        Viscous kernel(small_strain_, options_.stiffness_damping);
        place(kernel, group, range, in);
        kernel.evaluate_tangent(request.c_C, request.c_K);
        add_matrix(group, range, A, [&](int a, int b, int i, int k) { return kernel.K[a][b][i][k]; });
      });
  }

  int inverted_item(Range range, const ElementInput& in) const override {
    int found = -1;
    for_groups(range, [&](const Group& group) {
      if (found >= 0) return;
      Kernel kernel(constants_);
      place(kernel, group, in);
      Lanes upright;  // positive, or no number
      if constexpr (Kernel::defined_inverted) {
        upright = kernel.smallest_volume_ratio();
      } else {
        kernel.template evaluate<false>();
        upright = kernel.energy - kernel.energy + 1.0;
      }
      for (int l = group.count - 1; l >= 0; --l)
        if (!(upright[l] > 0)) found = group.element[l];
    });
    return found;
  }

  Energies energies(Range range, const ElementInput& in) const override {
    Energies sum;
    const PlacedMesh mesh = placed(in);
    for_groups(range, [&](const Group& group) {
      Kernel kernel(constants_);
      place_for_forces(kernel, mesh, group);
      kernel.template evaluate<false>();
      for (int l = 0; l < group.count; ++l) sum.elastic += kernel.energy[l];
    });
    return sum;
  }

  std::vector<OutputField> output_fields() const override { return solid_fields(); }

  void output(std::string_view field, Range range, const ElementInput& in, double* values) const override {
    for_groups(range, [&](const Group& group) {
      Kernel kernel(constants_);
      place(kernel, group, in);
      Lanes points[Shape::points][6];
      kernel.stresses(points);
      if (options_.stiffness_damping != 0 && in.v != nullptr) {
        Viscous viscous(small_strain_, options_.stiffness_damping);
        place(viscous, group, range, in);
        viscous.add_stresses(points);
      }
      for (int l = 0; l < group.count; ++l)
        for (int a = 0; a < nodes; ++a) {
          double stress[6] = {};
          for (int p = 0; p < Shape::points; ++p)
            for (int c = 0; c < 6; ++c) stress[c] += extrapolation(a, p) * points[p][c][l];
          if (field == "von_mises")
            *values++ = von_mises(stress);
          else
            values = std::copy(stress, stress + 6, values);
        }
    });
  }

 private:
  /// Returns the elastic energy.
  double add_internal_forces(Range range, const ElementInput& in, double* f) const {
    return forces_(constants_, placed(in), range.first, range.last, f);
  }

  PlacedMesh placed(const ElementInput& in) const {
    return {reference_.data(), jacobians_.empty() ? nullptr : jacobians_.data(), in.q, configuration_offsets()};
  }

  template <class K>
  void place(K& kernel, const Group& group, const ElementInput& in) const {
    solid::place(kernel, placed(in), group);
  }

  /// With velocities.
  template <class K>
  void place(K& kernel, const Group& group, Range range, const ElementInput& in) const {
    Lanes v[nodes][3];
    for (int l = 0; l < lane_count; ++l)
      for (int a = 0; a < nodes; ++a)
        for (int i = 0; i < 3; ++i) v[a][i][l] = in.v[at(group.element[l] - range.first) * local + at(3 * a + i)];
    kernel.set_velocity(v);
    place(kernel, group, in);
  }

  /// A += the matrices of a group: entry(a, b, i, k) of all lanes, nodes a and b, components i and k.
  template <class Entry>
  static void add_matrix(const Group& group, Range range, double* A, const Entry& entry) {
    // a row of the matrices of all lanes, then four of its columns at a time turned into rows of each element's
    double* out[lane_count];
    for (int l = 0; l < lane_count; ++l) out[l] = A + at(group.element[l] - range.first) * local * local;
    for (int a = 0; a < nodes; ++a)
      for (int i = 0; i < 3; ++i) {
        Lanes row[local];
        for (int b = 0; b < nodes; ++b)
          for (int k = 0; k < 3; ++k) row[3 * b + k] = entry(a, b, i, k);
        for (int j = 0; j < local; j += lane_count) {
          transpose(row[j], row[j + 1], row[j + 2], row[j + 3]);
          for (int l = 0; l < group.count; ++l) lanes_at(out[l] + j) += row[j + l];
        }
        for (double*& to : out) to += local;
      }
  }

  static constexpr int mass_pair(int a, int b) { return a * nodes - a * (a - 1) / 2 + b - a; }

  /// Fills blocks with value(element, component); the last block is filled up with copies of the last element.
  template <class Value>
  void in_blocks(int size, std::vector<double>& values, const Value& value) const {
    const int items = topology().items, blocks = (items + elements_per_block - 1) / elements_per_block;
    values.resize(at(blocks) * at(elements_per_block * size));
    for (int e = 0; e < blocks * elements_per_block; ++e)
      for (int j = 0; j < size; ++j) values[reference_place(e, j, size)] = value(std::min(e, items - 1), j);
  }

  /// Whether the four edges of every direction are equal, to rounding of their ends.
  static bool all_parallel(const std::vector<Vec3>& reference) {
    double place = 0;
    for (const Vec3& X : reference) place = std::max(place, X.cwiseAbs().maxCoeff());
    const double rounding = 4 * std::numeric_limits<double>::epsilon() * place;
    for (std::size_t first = 0; first < reference.size(); first += nodes)
      for (int axis = 0; axis < 3; ++axis) {
        const auto along = [&](int k) -> Vec3 {
          return reference[first + at(hexahedron_edges.plus[axis][k])] -
                 reference[first + at(hexahedron_edges.minus[axis][k])];
        };
        for (int k = 1; k < 4; ++k)
          if (!((along(k) - along(0)).cwiseAbs().maxCoeff() <= rounding)) return false;
      }
    return true;
  }

  /// Upper triangles of int rho N_a N_b dV: at the Gauss points, exact for tetrahedra.
  void compute_masses(double density) {
    masses_.assign(at(topology().items) * mass_pairs, 0.0);
    for (int e = 0; e < topology().items; ++e) {
      double* m = masses_.data() + at(e) * mass_pairs;
      double volume = 0;
      for (int p = 0; p < Shape::points; ++p) {
        const auto& table = table_of<Shape>;
        const double w = table.weight * determinant(e, table.dN[p]);
        volume += w;
        for (int a = 0; a < nodes; ++a)
          for (int b = a; b < nodes; ++b) m[mass_pair(a, b)] += density * w * table.N[p][a] * table.N[p][b];
      }
      if constexpr (nodes == 4)
        for (int a = 0; a < nodes; ++a)
          for (int b = a; b < nodes; ++b) m[mass_pair(a, b)] = density * volume * (a == b ? 0.1 : 0.05);
      volumes_.push_back(volume);
    }
  }
  double determinant(int e, const double (&dN)[nodes][3]) const {
    Mat3 J = Mat3::Zero();
    for (int a = 0; a < nodes; ++a) {
      Vec3 X;
      for (int i = 0; i < 3; ++i) X[i] = reference_[reference_place(e, 3 * a + i, local)];
      J += X * Eigen::Map<const Vec3>(dN[a]).transpose();
    }
    return J.determinant();
  }

  double mass(int e, int a, int b) const {
    return masses_[at(e) * mass_pairs + at(mass_pair(std::min(a, b), std::max(a, b)))];
  }
  double lumped_mass(int e, int a) const {
    double sum = 0;
    for (int b = 0; b < nodes; ++b) sum += mass(e, a, b);
    return sum;
  }

  /// f += c M a
  void add_mass_times(int e, double c, const double* a, MassKind kind, double* f) const {
    // here the lanes are the components
    Lanes of_node[nodes];
    for (int n = 0; n < nodes; ++n) of_node[n] = Lanes{a[3 * n], a[3 * n + 1], a[3 * n + 2], 0};
    for (int n = 0; n < nodes; ++n) {
      Lanes sum = lanes(0);
      if (kind == MassKind::lumped)
        sum = lumped_mass(e, n) * of_node[n];
      else
        for (int k = 0; k < nodes; ++k) sum += mass(e, n, k) * of_node[k];
      for (int i = 0; i < 3; ++i) f[3 * n + i] += c * sum[i];
    }
  }
  /// A += c_M M + c_C C: the damping's mass matrix is that of the options, whatever is asked for the mass.
  void add_mass(int e, double c_M, double c_C, bool lumped, double* A) const {
    const bool damping_lumped = options_.mass == MassKind::lumped;
    if (lumped || damping_lumped)
      for (int n = 0; n < nodes; ++n) {
        const double m = (lumped ? c_M : 0) + (damping_lumped ? c_C : 0);
        for (int i = 0; i < 3; ++i) A[(3 * n + i) * (local + 1)] += m * lumped_mass(e, n);
      }
    const double c = (lumped ? 0 : c_M) + (damping_lumped ? 0 : c_C);
    if (c == 0) return;
    for (int n = 0; n < nodes; ++n)
      for (int k = 0; k < nodes; ++k) {
        const double m = c * mass(e, n, k);
        for (int i = 0; i < 3; ++i) A[(3 * n + i) * local + 3 * k + i] += m;
      }
  }

  /// Factor of the value at a Gauss point in the value at a node.
  static double extrapolation(int node, int point) {
    if constexpr (nodes == 8) {
      double factor = 1;
      for (int c = 0; c < 3; ++c)
        factor *= 0.5 * (1 + std::sqrt(3.0) * Hexahedron::sign(node, c) * Hexahedron::sign(point, c));
      return factor;
    }
    return 1;
  }

  Constants constants_;
  Lame small_strain_;
  SolidOptions options_;
  std::vector<std::string> names_;
  std::vector<double> reference_, jacobians_;  // see PlacedMesh
  std::vector<double> masses_, volumes_;
  double stiffness_scale_ = 0;
  OtherForces<Constants> forces_;
};

/// The block of a mesh by a kernel of a law, Kernel<Shape, incompatible modes>, with the law's constants.
/// other(nodes, incompatible modes): forces by other vectors, or null.
template <template <class, int> class Kernel, class Constants, class Other>
std::unique_ptr<SolidBlock> make_block(std::string name, SolidMesh mesh, const Constants& constants, double density,
                                       const SolidOptions& options, const Other& other) {
  assert(mesh.nodes.size() == mesh.reference.size());
  const auto make = [&]<class Shape, int extra>() {
    return std::make_unique<Block<Shape, Kernel<Shape, extra>>>(std::move(name), std::move(mesh), constants, density,
                                                                options, other(Shape::nodes, extra > 0));
  };
  if (mesh.shape == SolidShape::tetrahedra) return make.template operator()<Tetrahedron, 0>();
  if (options.incompatible_modes) return make.template operator()<Hexahedron, 3>();
  return make.template operator()<Hexahedron, 0>();
}

/// A law of solids: its kernel with its constants.
template <template <class, int> class Kernel, class Constants>
SolidLaw make_law(const Constants& constants) {
  return [constants](std::string name, SolidMesh mesh, double density, const SolidOptions& options) {
    return make_block<Kernel>(std::move(name), std::move(mesh), constants, density, options,
                              [](int, bool) { return OtherForces<Constants>{}; });
  };
}

/// One of the elastic laws: with AVX-512, forces by vectors of eight.
template <template <class, int> class Kernel>
SolidLaw make_law(ElasticLaw law, const Lame& constants) {
  return [law, constants](std::string name, SolidMesh mesh, double density, const SolidOptions& options) {
    return make_block<Kernel>(std::move(name), std::move(mesh), constants, density, options,
                              [law](int nodes, bool modes) { return avx512_forces(law, nodes, modes); });
  };
}

}  // namespace

}  // namespace carom::solid
