#include "elements/loads/load.hpp"

namespace carom {

namespace {

Topology topology_of(const std::vector<Load>& loads) {
  std::vector<int> nodes;
  nodes.reserve(loads.size());
  for (const Load& l : loads) nodes.push_back(l.node);
  return {static_cast<int>(loads.size()), {{0, 6}}, std::move(nodes)};
}

BlockTraits load_traits(bool on_frame) {
  BlockTraits t;
  t.force_parts = force_external;
  t.has_stiffness = on_frame;
  t.linear = t.symmetric = !on_frame;
  return t;
}

// Evaluates the loads of a block in order. A load marked `as_before` reuses the value of its predecessor.
class Values {
 public:
  explicit Values(double t) : t_(t) {}
  Vec3 of(const Load& load) {
    if (!load.as_before || !known_)
      value_ = {load.value[0].value(t_), load.value[1].value(t_), load.value[2].value(t_)};
    known_ = true;
    return load.factor * value_;
  }

 private:
  double t_;
  bool known_ = false;
  Vec3 value_ = Vec3::Zero();
};

}  // namespace

LoadBlock::LoadBlock(std::string name, std::vector<Load> loads, bool on_frame)
    : ElementBlock(std::move(name), topology_of(loads), load_traits(on_frame)), loads_(std::move(loads)) {}

void LoadBlock::add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const {
  if ((parts & force_external) == 0) return;
  Values values(in.t);
  for (int e = range.first; e < range.last; ++e, f += 6) {
    const Load& load = loads_[at(e)];
    const PointState p = point_state(configuration(in, e, 0), node_kind(e, 0), load.offset);
    const Vec3 value = values.of(load);
    if (load.kind == Load::Kind::force) {
      add_point_force(p, load.offset, load.body_axes ? Vec3(p.R * value) : value, f);
    } else {
      const Vec3 moment = load.body_axes ? value : Vec3(p.R.transpose() * value);
      for (int i = 0; i < 3; ++i) f[3 + i] += moment[i];
    }
  }
}

void LoadBlock::add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const {
  if (request.c_K == 0) return;
  Values values(in.t);
  for (int e = range.first; e < range.last; ++e, A += 36) {
    const Load& load = loads_[at(e)];
    const Vec3 value = values.of(load);
    const PointState p = point_state(configuration(in, e, 0), node_kind(e, 0), load.offset);
    if (!p.rotates) continue;
    Eigen::Map<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>> block(A);
    if (load.kind == Load::Kind::force) {
      if (load.body_axes)
        block.topRightCorner<3, 3>() += request.c_K * p.R * so3::hat(value);
      else
        block.bottomRightCorner<3, 3>() -= request.c_K * point_force_gradient(p, load.offset, value);
    } else if (!load.body_axes) {
      block.bottomRightCorner<3, 3>() -= request.c_K * so3::hat(Vec3(p.R.transpose() * value));
    }
  }
}

}  // namespace carom
