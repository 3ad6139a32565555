#include "elements/joints/screw.hpp"

#include <cmath>
#include <utility>

#include "core/base/index.hpp"

namespace carom {

namespace {

using Vec12 = Eigen::Matrix<double, 12, 1>;
using Mat12 = Eigen::Matrix<double, 12, 12, Eigen::RowMajor>;

Topology topology_of(const std::vector<Screw>& items) {
  std::vector<int> nodes;
  for (const Screw& i : items) nodes.insert(nodes.end(), {i.angle.node_a, i.angle.node_b});
  return {static_cast<int>(items.size()), {{0, 6}, {0, 6}}, std::move(nodes)};
}

}  // namespace

ScrewBlock::ScrewBlock(std::vector<Screw> items)
    : ConstraintBlock("screws", topology_of(items), 1, {}), items_(std::move(items)) {}

// s - p phi/(2 pi) and its derivatives.
CoordinateState ScrewBlock::state(const ConstraintInput& in, int i, CoordinateOrder order) const {
  const Screw& screw = items_[at(i)];
  const double *a = configuration(in, i, 0), *b = configuration(in, i, 1);
  CoordinateState g, phi;
  evaluate_coordinate(screw.displacement, a, node_kind(i, 0), b, node_kind(i, 1), order, g);
  evaluate_coordinate(screw.angle, a, node_kind(i, 0), b, node_kind(i, 1), order, phi);
  const double ratio = screw.lead / (2 * M_PI);
  g.value = std::remainder(g.value - ratio * phi.value, 2 * screw.lead);
  if (order != CoordinateOrder::value) g.G -= ratio * phi.G;
  if (order == CoordinateOrder::second) g.H -= ratio * phi.H;
  return g;
}

void ScrewBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  for (int i = range.first; i < range.last; ++i) {
    const std::size_t k = at(i - range.first);
    const CoordinateState g = state(in, i, CoordinateOrder::second);
    if (values.gap != nullptr) values.gap[k] = g.value;
    if (values.gradient != nullptr) Eigen::Map<Vec12>(values.gradient + 12 * k) = g.G;
    if (in.v == nullptr) continue;
    const Eigen::Map<const Vec12> v(in.v + 12 * k);
    if (values.rate != nullptr) values.rate[k] = g.G.dot(v);
    if (values.bias != nullptr) values.bias[k] = v.dot(g.H * v);
    if (values.rate_gradient != nullptr) Eigen::Map<Vec12>(values.rate_gradient + 12 * k) = g.H.transpose() * v;
  }
}

void ScrewBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  for (int i = range.first; i < range.last; ++i, ++s, f += 12)
    if (*s != 0) Eigen::Map<Vec12>{f} += *s * state(in, i, CoordinateOrder::gradient).G;
}

void ScrewBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                       double* A) const {
  for (int i = range.first; i < range.last; ++i, ++s, A += 144)
    if (*s != 0) Eigen::Map<Mat12>{A} += c * *s * state(in, i, CoordinateOrder::second).H;
}

ConstraintBlock::Place ScrewBlock::place(int item, int, const ConstraintInput& in) const {
  const Vec3& offset = items_[at(item)].displacement.offset_b;
  const PointState b = point_state(configuration(in, item, 1), node_kind(item, 1), offset);
  return {b.x, state(in, item, CoordinateOrder::gradient).G.segment<3>(6)};
}

}  // namespace carom
