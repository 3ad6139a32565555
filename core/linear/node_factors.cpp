#include "core/linear/node_factors.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <numeric>
#include <span>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/linear/supernodal_factors.hpp"

namespace carom {

namespace {
constexpr std::size_t range = 1024;  // nodes whose vectors a thread turns
}

bool NodeFactors::build(const NodeMatrix& matrix, const NodeRows& rows, const Vector& motions) {
  held_.build(matrix, rows);
  threads_ = matrix.threads();
  scale_ = matrix.scale();
  factor_ = 1;
  turned_ = false;
  const int nodes = static_cast<int>(held_.count());
  const auto each_entry = [&](const auto& visit) {  // of the upper triangle, row by row
    for (int g = 0; g < nodes; ++g)
      for (int i = 0; i < 3; ++i)
        for (const int k : std::span(order_).subspan(at(start_[at(g)]), at(start_[at(g) + 1] - start_[at(g)])))
          for (int j = column_[at(k)] > g ? 0 : column_[at(k)] == g ? i : 3; j < 3; ++j)
            visit(3 * g + i, 3 * column_[at(k)] + j, held_.blocks()[9 * at(k) + at(3 * i + j)]);
  };
  if (solver_ == nullptr || start_ != held_.start() || column_ != held_.column()) {
    start_ = held_.start();
    column_ = held_.column();
    order_.resize(column_.size());
    std::iota(order_.begin(), order_.end(), 0);
    for (int g = 0; g < nodes; ++g)
      std::sort(order_.begin() + start_[at(g)], order_.begin() + start_[at(g) + 1],
                [&](int a, int b) { return column_[at(a)] < column_[at(b)]; });
    SparsePattern pattern{3 * nodes, 3 * nodes, std::vector<int>(at(3 * nodes) + 1, 0), {}};
    each_entry([&](int row, int column, double) {
      pattern.column.push_back(column);
      pattern.row_start[at(row) + 1] = static_cast<int>(pattern.column.size());
    });
    pattern_ = std::make_shared<SparsePattern>(std::move(pattern));
    solver_ = detail::make_cholmod(pattern_);
    find_solids();
  }
  find_places(motions, places_);
  values_.clear();
  each_entry([&](int, int, double value) { values_.push_back(value); });
  LinearCounters not_reported;  // `factor_matrices` counts the matrices
  built_ = solver_->factorise(values_, not_reported) == detail::Outcome::ok;
  // factors with rows of single nodes serve few solves, before the rows change
  if (can_follow()) detail::round_factors(*solver_, matrix.threads());
  return built_;
}

// Nodes that couple, directly or through others, are one solid.
void NodeFactors::find_solids() {
  const std::size_t nodes = held_.count();
  solid_of_.assign(nodes, -1);
  turns_.clear();
  std::vector<std::size_t> open;
  for (std::size_t first = 0; first < nodes; ++first) {
    if (solid_of_[first] >= 0) continue;
    const int solid = static_cast<int>(turns_.size());
    turns_.push_back(1);
    solid_of_[first] = solid;
    open.assign(1, first);
    while (!open.empty()) {
      const std::size_t g = open.back();
      open.pop_back();
      if (held_.node(g).size != 3) turns_.back() = 0;
      for (int k = start_[g]; k < start_[g + 1]; ++k)
        if (const std::size_t other = at(column_[at(k)]); solid_of_[other] < 0) {
          solid_of_[other] = solid;
          open.push_back(other);
        }
    }
  }
  rotation_.assign(turns_.size(), Mat3::Identity());
}

void NodeFactors::find_places(const Vector& motions, std::vector<Vec3>& places) const {
  places.assign(held_.count(), Vec3::Zero());
  for (std::size_t g = 0; g < places.size(); ++g) {
    const NodeMatrix::Node& node = held_.node(g);
    if (node.size != 3) continue;
    const double* const x = &motions[6 * at(node.first)];
    places[g] = {x[6 + 5], -x[5], x[4]};
  }
}

bool NodeFactors::follow(const Vector& motions) {
  if (!can_follow()) return false;
  factor_ = scale_ / held_.scale();
  find_places(motions, now_);
  const std::size_t solids = turns_.size();
  std::vector<Vec3> middle(solids, Vec3::Zero()), middle_now(middle);
  std::vector<double> nodes(solids, 0.0);
  for (std::size_t g = 0; g < now_.size(); ++g) {
    const std::size_t solid = at(solid_of_[g]);
    middle[solid] += places_[g];
    middle_now[solid] += now_[g];
    nodes[solid] += 1;
  }
  for (std::size_t solid = 0; solid < solids; ++solid) {
    middle[solid] /= nodes[solid];
    middle_now[solid] /= nodes[solid];
  }
  std::vector<Mat3> moments(solids, Mat3::Zero());
  for (std::size_t g = 0; g < now_.size(); ++g) {
    const std::size_t solid = at(solid_of_[g]);
    moments[solid] += (now_[g] - middle_now[solid]) * (places_[g] - middle[solid]).transpose();
  }
  for (std::size_t solid = 0; solid < solids; ++solid) {
    if (turns_[solid] == 0) continue;
    const Eigen::JacobiSVD<Mat3> svd(moments[solid], Eigen::ComputeFullU | Eigen::ComputeFullV);
    Mat3 U = svd.matrixU();
    if (U.determinant() * svd.matrixV().determinant() < 0) U.col(2) *= -1;
    rotation_[solid] = U * svd.matrixV().transpose();
  }
  return turned_ = true;
}

// back: into the axes of the factors, else out of them, with their scale
void NodeFactors::turn(bool back, double* by_node, std::size_t first, std::size_t last) const {
  for (std::size_t g = first; g < last; ++g) {
    const std::size_t solid = at(solid_of_[g]);
    Eigen::Map<Vec3> x(by_node + 3 * g);
    if (!back) x *= factor_;
    if (turns_[solid] == 0) continue;
    x = back ? (rotation_[solid].transpose() * x).eval() : (rotation_[solid] * x).eval();
  }
}

void NodeFactors::apply(const double* r, double* z, int vectors) {
  const std::size_t n = 3 * held_.count(), rows = at(held_.rows());
  x_.resize(n * at(vectors));
  for (int c = 0; c < vectors; ++c)
    for_ranges(held_.count(), range, threads_, [&](std::size_t first, std::size_t last) {
      held_.gather(r + at(c) * rows, x_.data() + at(c) * n, first, last);
      if (turned_) turn(true, x_.data() + at(c) * n, first, last);
    });
  solver_->solve(x_.data(), vectors);
  for (int c = 0; c < vectors; ++c) {
    for_ranges(held_.count(), range, threads_, [&](std::size_t first, std::size_t last) {
      if (turned_) turn(false, x_.data() + at(c) * n, first, last);
      held_.scatter(x_.data() + at(c) * n, z + at(c) * rows, first, last);
    });
    held_.project(z + at(c) * rows);
  }
}

}  // namespace carom
