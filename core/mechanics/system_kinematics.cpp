// System: motions of configurations, and sizes of places, velocities and forces.

#include <algorithm>
#include <cmath>

#include "core/base/parallel.hpp"
#include "core/base/vector_ops.hpp"
#include "core/lie/so3.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

namespace {

// NaN if one of them is NaN
double larger(double a, double b) { return b > a || std::isnan(b) ? b : a; }

}  // namespace

void System::retract(In q, In d, Out q_out) const {
  if (dofs_.translations_alone()) {
    for_vector(q.size(), threads_, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) q_out[i] = q[i] + d[i];
    });
    return;
  }
  const std::span<const DofMap::Translation> translations = dofs_.translations();
  if (q.data() != q_out.data()) copy(q, q_out);
  for_vector(translations.size(), threads_, [&](std::size_t first, std::size_t last) {
    for (const DofMap::Translation& c : translations.subspan(first, last - first))
      q_out[at(c.entry)] += d[at(c.equation)];
  });
  for (const DofMap::Frame& f : dofs_.rotating_frames()) {
    const Vec3 w(d[at(f.equation)], d[at(f.equation + 1)], d[at(f.equation + 2)]);
    Eigen::Map<Quaternion> p(q_out.data() + f.entry);
    const Quaternion product = so3::quaternion_product(Quaternion(p), so3::exp_quaternion(w));
    p = so3::quaternion_normalise(product);
  }
}

void System::tangent_operators(In d, TangentOperators& T) const {
  const auto frames = dofs_.rotating_frames();
  T.frames.resize(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const int e = frames[i].equation;
    T.frames[i] = so3::tangent(Vec3(d[at(e)], d[at(e + 1)], d[at(e + 2)]));
  }
}

void System::tangent_operators(In d, In u, TangentOperators& T) const {
  tangent_operators(d, T);
  const auto frames = dofs_.rotating_frames();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const int e = frames[i].equation;
    const Vec3 w(u[at(e)], u[at(e + 1)], u[at(e + 2)]);
    if (w.isZero(0)) continue;
    // exp(-w) = 1 - hat(w) T(w)
    T.frames[i] = T.frames[i] - so3::hat(w) * (so3::tangent(w) * T.frames[i]);
  }
}

double System::speed(In v, double length) const {
  return reduce_vector(
      v.size(), threads_, 0.0,
      [&](std::size_t first, std::size_t last) {
        if (dofs_.frames() == 0) return max_abs(v.subspan(first, last - first));
        double largest = 0;
        for (std::size_t i = first; i < last; ++i)
          largest = std::max(largest, std::abs(v[i]) * (is_rotation_[i] ? length : 1.0));
        return largest;
      },
      larger);
}

double System::largest_angular_velocity(In v) const {
  double largest = 0;
  for (const DofMap::Frame& f : dofs_.rotating_frames()) {
    const std::size_t e = at(f.equation);
    largest = std::max(largest, v[e] * v[e] + v[e + 1] * v[e + 1] + v[e + 2] * v[e + 2]);
  }
  return std::sqrt(largest);
}

double System::largest_angular_velocity(int row, In v) const {
  const Topology& topology = row_block(row).topology();
  double largest = 0;
  for (std::size_t slot = 0; slot < topology.slots.size(); ++slot) {
    const int node = topology.node(row_place(row).item, static_cast<int>(slot));
    const int e = dofs_.equation(node, 3);  // of the rotation: all or none are fixed
    if (e >= 0)
      largest = std::max(largest, v[at(e)] * v[at(e)] + v[at(e) + 1] * v[at(e) + 1] + v[at(e) + 2] * v[at(e) + 2]);
  }
  return std::sqrt(largest);
}

double System::largest_position(In q) const {
  const std::span<const DofMap::Translation> translations = dofs_.translations();
  return reduce_vector(
      translations.size(), threads_, 0.0,
      [&](std::size_t first, std::size_t last) {
        if (dofs_.translations_alone()) return max_abs(q.subspan(first, last - first));
        double largest = 0;
        for (const DofMap::Translation& c : translations.subspan(first, last - first))
          largest = larger(largest, std::abs(q[at(c.entry)]));
        return largest;
      },
      larger);
}

double System::force_norm(In f, double length) const {
  if (dofs_.frames() == 0) return norm(f);
  double sum = 0;
  const double c = 1.0 / length;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double fi = is_rotation_[i] ? c * f[i] : f[i];
    sum += fi * fi;
  }
  return std::sqrt(sum);
}

}  // namespace carom
