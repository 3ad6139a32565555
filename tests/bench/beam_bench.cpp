// Time per beam element of forces, tangents and products with the mass matrix, one thread:
//   build/release/bin/bench --benchmark_filter=beam_
// Counter: per_element.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "core/lie/se3.hpp"
#include "core/mechanics/system.hpp"
#include "elements/beam/beam.hpp"

namespace {

using namespace carom;

// A bent beam along an arc, in motion.
struct Line {
  static constexpr int elements = 200;

  explicit Line(double damping) {
    std::vector<se3::Frame<double>> frames;
    for (int k = 0; k <= elements; ++k) {
      const double phi = 2.0 * k / elements;
      frames.push_back({so3::exp(Vec3(0, 0, phi)), Vec3(3 * std::sin(phi), 3 * (1 - std::cos(phi)), 0)});
    }
    std::vector<Beam> beams;
    for (int k = 0; k <= elements; ++k) {
      const auto& H = frames[static_cast<std::size_t>(k)];
      const Quaternion p = so3::matrix_to_quaternion(H.R);
      const double x[7] = {H.x[0], H.x[1], H.x[2], p[0], p[1], p[2], p[3]};
      system.add_node(NodeKind::frame, x, "node");
      if (k == 0) continue;
      Beam beam;
      beam.node_a = k - 1;
      beam.node_b = k;
      set_reference(beam, frames[static_cast<std::size_t>(k - 1)], H);
      beams.push_back(beam);
    }
    const std::vector<BeamSection> section = {homogeneous_section(rectangle_section(0.01, 0.01), 2.1e11, 0.3, 7800)};
    block = static_cast<const BeamBlock*>(&system.add(std::make_unique<BeamBlock>("beam", section, beams, damping)));
    system.finalize();
    Vector d(static_cast<std::size_t>(system.size()));
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = 1e-3 * std::sin(static_cast<double>(7 * i));
    q.resize(static_cast<std::size_t>(system.dofs().configuration_size()));
    system.retract(system.initial_configuration(), d, q);
    for (int i = 0; i < 12 * elements; ++i) v.push_back(std::cos(5.0 * i));
    f.resize(v.size());
    A.resize(12 * v.size());
  }

  ElementInput in() const { return {q.data(), v.data(), 0}; }

  System system;
  const BeamBlock* block = nullptr;
  Vector q, v, f, A;
};

template <class Work>
void measure(benchmark::State& state, double damping, const Work& work) {
  Line line(damping);
  for (auto _ : state) {
    work(line);
    benchmark::DoNotOptimize(line.f.data());
    benchmark::DoNotOptimize(line.A.data());
  }
  const double elements = Line::elements * static_cast<double>(state.iterations());
  state.counters["per_element"] =
      benchmark::Counter(elements, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void forces(Line& l) { l.block->add_forces({0, Line::elements}, l.in(), force_all, l.f.data()); }
void tangent(Line& l) {
  l.block->add_tangent({0, Line::elements}, l.in(), {0, 0, 1, nullptr, MassKind::consistent}, l.A.data());
}

void beam_forces(benchmark::State& state) { measure(state, 0, forces); }
void beam_tangent(benchmark::State& state) { measure(state, 0, tangent); }
void beam_forces_damped(benchmark::State& state) { measure(state, 1e-3, forces); }
void beam_tangent_damped(benchmark::State& state) { measure(state, 1e-3, tangent); }

BENCHMARK(beam_forces);
BENCHMARK(beam_tangent);
BENCHMARK(beam_forces_damped);
BENCHMARK(beam_tangent_damped);

}  // namespace
