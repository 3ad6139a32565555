// Wall time per element of the solids' kernels, without assembly: 20^3 hexahedra in chunks as System takes them.
// Arguments: law (0 Saint Venant-Kirchhoff, 1 corotational, 2 neo-Hookean), incompatible modes (0, 1).
#include <benchmark/benchmark.h>

#include <random>

#include "core/mechanics/system.hpp"
#include "elements/solid/elastic_laws.hpp"
#include "io/mesh/mesh.hpp"

namespace {

using namespace carom;

struct Cube {
  System system;
  const SolidBlock* block = nullptr;
  Vector q;

  Cube(int law, bool incompatible_modes) {
    const Mesh box = box_mesh(Vec3(0.1, 0.1, 0.1), {20, 20, 20});
    SolidMesh mesh;
    for (const Vec3& X : box.nodes) system.add_node(NodeKind::point, {X.data(), 3}, "node");
    for (const auto& element : box.hexahedra)
      for (const int node : element) {
        mesh.nodes.push_back(node);
        mesh.reference.push_back(box.nodes[static_cast<std::size_t>(node)]);
      }
    SolidOptions options;
    options.incompatible_modes = incompatible_modes;
    constexpr SolidLaw (*laws[])(double, double) = {saint_venant_kirchhoff, corotational, neo_hookean};
    auto made = laws[law](90, 0.3)("cube", std::move(mesh), 1, options);
    block = made.get();
    system.add(std::move(made));
    system.finalize();
    std::mt19937 random(1);
    std::normal_distribution<double> noise(0, 2.5e-4);
    q = system.initial_configuration();
    for (double& x : q) x += noise(random);
  }
};

template <class Evaluate>
void run(benchmark::State& state, const Evaluate& evaluate) {
  const Cube cube(static_cast<int>(state.range(0)), state.range(1) != 0);
  constexpr int chunk = 4;
  Vector out(chunk * 24 * 24);
  const int items = cube.block->topology().items;
  for (auto _ : state) {
    for (int e = 0; e < items; e += chunk)
      evaluate(*cube.block, Range{e, e + chunk}, ElementInput{cube.q.data(), nullptr, 0}, out.data());
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["us_per_element"] = benchmark::Counter(static_cast<double>(state.iterations()) * items / 1e6,
                                                        benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void solid_force(benchmark::State& state) {
  run(state, [](const SolidBlock& block, Range range, const ElementInput& in, double* out) {
    block.add_forces(range, in, force_all, out);
  });
}
void solid_tangent(benchmark::State& state) {
  run(state, [](const SolidBlock& block, Range range, const ElementInput& in, double* out) {
    ElementTangent request;
    request.c_K = request.c_M = 1;
    block.add_tangent(range, in, request, out);
  });
}

BENCHMARK(solid_force)->ArgsProduct({{0, 1, 2}, {0, 1}})->Unit(benchmark::kMillisecond);
BENCHMARK(solid_tangent)->ArgsProduct({{0, 1, 2}, {0, 1}})->Unit(benchmark::kMillisecond);

}  // namespace
