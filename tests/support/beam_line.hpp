// Lines of beam elements for tests, with dense matrices and static equilibria.
#pragma once

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/lie/se3.hpp"
#include "core/mechanics/system.hpp"
#include "elements/beam/beam.hpp"
#include "elements/loads/load.hpp"
#include "tests/contract/differences.hpp"

namespace carom::test {

using Frame = se3::Frame<double>;

inline Vector node_configuration(const Frame& H) {
  const Quaternion p = so3::matrix_to_quaternion(H.R);
  return {H.x[0], H.x[1], H.x[2], p[0], p[1], p[2], p[3]};
}
inline Frame node_frame(const System& s, const Vector& q, int node) {
  const double* x = q.data() + s.dofs().configuration_offset(node);
  return {so3::quaternion_to_matrix(Quaternion(x[3], x[4], x[5], x[6])), Vec3(x[0], x[1], x[2])};
}

/// Adds nodes at the frames and beams of one section between them; the system must be empty, so nodes are 0, 1, ...
inline const BeamBlock& add_beam_line(System& s, const std::vector<Frame>& frames, const BeamSection& section,
                                      double damping = 0) {
  std::vector<Beam> beams;
  for (std::size_t k = 0; k < frames.size(); ++k) {
    const int node = s.add_node(NodeKind::frame, node_configuration(frames[k]), "node " + std::to_string(k));
    if (k == 0) continue;
    Beam beam;
    beam.node_a = node - 1;
    beam.node_b = node;
    set_reference(beam, frames[k - 1], frames[k]);
    beams.push_back(beam);
  }
  return static_cast<const BeamBlock&>(
      s.add(std::make_unique<BeamBlock>("beam", std::vector{section}, beams, damping)));
}

/// Frames along x, starting at the origin.
inline std::vector<Frame> straight_line(int elements, double length) {
  std::vector<Frame> frames;
  for (int k = 0; k <= elements; ++k) frames.push_back({Mat3::Identity(), Vec3(length * k / elements, 0, 0)});
  return frames;
}

/// Frames along a circular arc in the x-y plane. The arc starts at the origin in the direction of x.
inline std::vector<Frame> arc(int elements, double radius, double angle) {
  std::vector<Frame> frames;
  for (int k = 0; k <= elements; ++k) {
    const double phi = angle * k / elements;
    frames.push_back({so3::exp(Vec3(0, 0, phi)), Vec3(radius * std::sin(phi), radius * (1 - std::cos(phi)), 0)});
  }
  return frames;
}

inline void clamp(System& s, int node) {
  for (int c = 0; c < 6; ++c) s.fix(node, c);
}

/// A load at a node; components are numbers or formulas of t.
inline Load node_load(Load::Kind kind, int node, const std::array<std::string, 3>& value, bool body_axes = false) {
  Load load;
  load.kind = kind;
  load.node = node;
  load.body_axes = body_axes;
  for (std::size_t c = 0; c < 3; ++c) load.value[c] = TimeFunction::formula(value[c]);
  return load;
}

/// Dense c_M M + c_K K for a system without bilateral rows.
inline Matrix dense_matrix(const System& s, const Vector& q, double t, double c_M, double c_K) {
  const SparsePattern& pattern = s.saddle_pattern();
  Vector values(at(pattern.nonzeros())), v(at(s.size()), 0.0);
  Linearisation request;
  request.c_M = c_M;
  request.c_K = c_K;
  request.q = request.q_M = q.data();
  request.v = v.data();
  request.t = t;
  s.assemble(request, values);
  Matrix A = Matrix::Zero(s.size(), s.size());
  for (int i = 0; i < s.size(); ++i)
    for (int p = pattern.row_start[at(i)]; p < pattern.row_start[at(i) + 1]; ++p)
      A(i, pattern.column[at(p)]) = values[at(p)];
  return A;
}

inline Vector static_forces(const System& s, const Vector& q, double t, unsigned parts = force_all) {
  Vector f(at(s.size())), v(at(s.size()), 0.0);
  s.forces(q, v, t, parts, f);
  return f;
}

/// Newton's method at constant t from q. Returns the number of iterations, or -1 if the method does not converge.
inline int find_equilibrium(const System& s, Vector& q, double t, double tolerance, int most = 30) {
  for (int iteration = 0; iteration < most; ++iteration) {
    const Vector f = static_forces(s, q, t);
    if (!(largest(f) < 1e30)) return -1;
    if (largest(f) < tolerance) return iteration;
    const ColumnVector d = dense_matrix(s, q, t, 0, 1).partialPivLu().solve(column(f));
    s.retract(q, Vector(d.data(), d.data() + d.size()), q);
  }
  return -1;
}

/// Equilibrium at t = 1, reached from t = 0 by load steps, which are halved if Newton's method fails.
inline Vector static_solution(const System& s, double tolerance, double first_step = 1) {
  Vector q = s.initial_configuration();
  double t = 0, step = first_step;
  while (t < 1) {
    Vector next = q;
    const double target = t + step > 1 - 1e-9 ? 1 : t + step;
    if (find_equilibrium(s, next, target, tolerance) >= 0) {
      q = next;
      t = target;
      continue;
    }
    step /= 2;
    REQUIRE(step > 1e-4);
  }
  return q;
}

}  // namespace carom::test
