#include "elements/solid/solid_forces.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "core/base/index.hpp"
#include "elements/solid/solid_groups.hpp"
#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using namespace carom::solid;
using namespace carom::test;

// Elements that share no nodes, at random places: unit elements that a linear map and random moves deform.
struct Elements {
  int nodes;
  std::vector<double> reference, jacobians, q;
  std::vector<int> offsets;

  Elements(int count, int node_count, double distortion, unsigned seed) : nodes(node_count) {
    Random random(seed);
    const int blocks = (count + elements_per_block - 1) / elements_per_block, size = 3 * nodes;
    reference.resize(at(blocks * elements_per_block * size));
    jacobians.resize(at(blocks * elements_per_block * 9));
    q.resize(at(count * size));
    // nodes in another order than elements
    for (int i = 0; i < count * nodes; ++i) offsets.push_back(3 * (count * nodes - 1 - i));
    for (int e = 0; e < blocks * elements_per_block; ++e) {
      Mat3 J = Mat3::Identity();
      for (int axis = 0; axis < 3; ++axis) J.col(axis) += random.in_box(0.2);
      const Vec3 centre = 10.0 * random.in_box(1);
      for (int i = 0; i < 3; ++i)
        for (int axis = 0; axis < 3; ++axis) jacobians[reference_place(e, 3 * i + axis, 9)] = J(i, axis);
      for (int a = 0; a < nodes; ++a) {
        Vec3 xi;
        for (int c = 0; c < 3; ++c) xi[c] = nodes == 8 ? Hexahedron::sign(a, c) : (a == c + 1 ? 1.0 : 0.0);
        const Vec3 X = centre + J * xi + random.in_box(distortion), x = X + random.in_box(0.1);
        for (int i = 0; i < 3; ++i) reference[reference_place(e, 3 * a + i, size)] = X[i];
        if (e < count)
          for (int i = 0; i < 3; ++i) q[at(offsets[at(e * nodes + a)] + i)] = x[i];
      }
    }
  }
  PlacedMesh placed(bool parallel = false) const {
    return {reference.data(), parallel ? jacobians.data() : nullptr, q.data(), offsets.data()};
  }
};

struct Result {
  double energy;
  std::vector<double> f;
};
Result evaluate(InternalForces forces, const PlacedMesh& mesh, int nodes, int first, int last) {
  Result r{0, std::vector<double>(at((last - first) * 3 * nodes), 0.125)};
  r.energy = forces(lame(2.5, 0.3), mesh, first, last, r.f.data());
  return r;
}

constexpr ElasticLaw laws[] = {ElasticLaw::saint_venant_kirchhoff, ElasticLaw::neo_hookean, ElasticLaw::corotational};

}  // namespace

TEST_CASE("solid forces: vectors of eight doubles give the bits of vectors of four") {
  if (avx512_forces(laws[0], 8, false) == nullptr) {
    MESSAGE("the processor has no AVX-512: nothing to compare");
    return;
  }
  constexpr int count = 21;
  for (const ElasticLaw law : laws)
    for (const std::pair<int, bool>& kind : {std::pair{8, false}, {8, true}, {4, false}}) {
      const int nodes = kind.first;
      const bool modes = kind.second;
      CAPTURE(static_cast<int>(law));
      CAPTURE(nodes);
      CAPTURE(modes);
      const Elements elements(count, nodes, nodes == 8 ? 0.1 : 0, 5);
      for (const bool parallel : {false, true})
        for (const auto& [first, last] : {std::pair{0, count}, {3, 18}, {8, 16}, {20, 21}}) {
          if (parallel && nodes != 8) continue;
          const PlacedMesh mesh = elements.placed(parallel);
          const Result four = evaluate(elastic_forces(law, nodes, modes), mesh, nodes, first, last);
          const Result eight = evaluate(avx512_forces(law, nodes, modes), mesh, nodes, first, last);
          CHECK(std::isfinite(four.energy));
          CHECK(four.energy == eight.energy);
          CHECK(std::memcmp(four.f.data(), eight.f.data(), four.f.size() * sizeof(double)) == 0);
        }
    }
}

TEST_CASE("solid forces: the Jacobian of parallelepipeds gives the forces of the reference positions") {
  constexpr int count = 13, nodes = 8;
  const Elements elements(count, nodes, 0, 6);
  for (const ElasticLaw law : laws) {
    CAPTURE(static_cast<int>(law));
    const InternalForces forces = elastic_forces(law, nodes, false);
    const Result by_positions = evaluate(forces, elements.placed(), nodes, 0, count);
    const Result by_jacobians = evaluate(forces, elements.placed(true), nodes, 0, count);
    CHECK(by_jacobians.energy == doctest::Approx(by_positions.energy).epsilon(1e-13));
    for (std::size_t i = 0; i < by_positions.f.size(); ++i)
      CHECK(by_jacobians.f[i] == doctest::Approx(by_positions.f[i]).epsilon(1e-12).scale(1));
  }
}
