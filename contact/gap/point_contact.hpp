// Contact of points and spheres, which are attached to nodes, with one obstacle, which is fixed or moves.
//
//   g(q, t) = phi(y) - r,   y = b + Q^T (x_P - c - b)                r = 0 for a point
//   G = n^T J_P,  n = Q grad phi,   g_t = -n . (velocity of the obstacle at x_P)
//   D(G^T s) = s (J_P^T H J_P + dJ_P^T n),  H = Q (Hess phi) Q^T
//   h = w . H w + n . (J' v) - n . (acceleration of the obstacle at x_P) - 2 n . (omega x w),
//       w = x_P' - velocity of the obstacle at x_P
//
// With friction, two tangential rows along t_1, t_2 (tangent_basis.hpp) at the point x_P - r n where the bodies touch:
//   G_T v + g_t = t . (x_P' - r omega_P x n - velocity of the obstacle's surface there)
//   s_T = t . (x_P - Y - r psi x n)      displacement of the step: Y carries the place at its start with the obstacle,
//                                        psi is the rotation of the node less that of the obstacle, inertial
// With resistance, three more rows along a = t_1, t_2 (rolling) and n (pivoting), multiplied by r:
//   G v + g_t = r a . (omega_P - omega of the obstacle),   of the step: r a . psi
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contact/gap/contact_rows.hpp"
#include "contact/gap/obstacle.hpp"
#include "contact/gap/prescribed_motion.hpp"
#include "contact/gap/tangent_basis.hpp"
#include "core/mechanics/body_point.hpp"
#include "core/mechanics/constraint_block.hpp"

namespace carom {

struct ContactPoint {
  std::string name;  ///< for messages, events and probes
  int node = 0;
  Vec3 offset = Vec3::Zero();  ///< in body axes
  double radius = 0;           ///< r
  double restitution = 0;      ///< e
  double friction = 0;         ///< mu; above zero for all points of a block or for none
  double tangential_restitution = 0;
  double rolling = 0, pivoting = 0;  ///< k_r, k_p: lengths; points with resistance have friction, a radius and a frame;
                                     ///< one of both above zero for all points of a block or both zero for all
};

class PointContactBlock final : public ConstraintBlock {
 public:
  /// rotating: true if any node is a frame. motion: null for a fixed obstacle.
  PointContactBlock(std::string name, std::vector<ContactPoint> points, std::shared_ptr<const Obstacle> obstacle,
                    std::shared_ptr<const PrescribedMotion> motion, bool rotating);

  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override;
  void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const override;
  void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                             double* A) const override;
  ContactParameters law(int item, int row) const override;
  std::string item_name(int item) const override { return points_[static_cast<std::size_t>(item)].name; }
  std::string row_name(int, int row) const override { return contact_row_name(row); }
  Place place(int item, int row, const ConstraintInput& in) const override;
  Turn tangent_turn(int item, const ConstraintInput& in) const override;

  std::string missed_contact(const ConstraintInput& start, const ConstraintInput& end,
                             double closing_turn) const override;

  /// The first item that touches or penetrates where the obstacle has no direction, such as the centre of a sphere; -1
  /// without any. Rates and gradients of such items are NaN, so that a step that leads there is refused.
  int undirected(const ConstraintInput& in) const;

  const std::vector<ContactPoint>& points() const { return points_; }
  const Obstacle& obstacle() const { return *obstacle_; }
  const PrescribedMotion* motion() const { return motion_.get(); }

 private:
  Vec3 to_obstacle(const PrescribedMotion::Pose& pose, const Vec3& x) const {
    return motion_->about + pose.Q.transpose() * (x - pose.origin);
  }
  PointState point(const ConstraintInput& in, int item) const {
    return point_state(configuration(in, item, 0), node_kind(item, 0), points_[static_cast<std::size_t>(item)].offset);
  }
  const PointState& point(const ConstraintInput& in, int item, PointStates& states) const {
    return states.next(configuration(in, item, 0), node_kind(item, 0), points_[static_cast<std::size_t>(item)].offset);
  }
  const PrescribedMotion::Pose& pose_at(double t, std::optional<PrescribedMotion::Pose>& moved) const;
  // In inertial axes; the gradient is NaN where a sphere of this radius touches without a direction.
  Distance distance(const PrescribedMotion::Pose& pose, const Vec3& x, double radius) const;

  // Tangential rows. `place`: of the item in the range of an evaluation, `gap_row`: of its gap there.
  const TangentBasis& tangents(const PrescribedMotion::Pose& pose, const Vec3& n,
                               std::optional<TangentBasis>& turned) const;
  void evaluate_slip(int item, std::size_t place, const ConstraintInput& in, const PrescribedMotion::Pose& pose,
                     const PointState& p, const Distance& d, const ConstraintValues& values) const;
  // Tangential rows and rows of resistance of a step that ends with the point p at the distance d; `before`: of the
  // points at its start.
  struct StepMotion;
  void evaluate_step(int item, std::size_t gap_row, const ConstraintInput& in, const PrescribedMotion::Pose& pose,
                     const PointState& p, const Distance& d, PointStates& before, const ConstraintValues& values) const;
  StepMotion motion_of_step(int item, const ConstraintInput& in, const PrescribedMotion::Pose& pose,
                            const PointState& p, const Distance& d, PointStates& before) const;
  void evaluate_displacement(int item, std::size_t gap_row, const StepMotion& step, const PointState& p,
                             const Distance& d, const ConstraintValues& values) const;
  void evaluate_rotation(int item, std::size_t gap_row, const StepMotion& step, const PointState& p, const Distance& d,
                         const ConstraintValues& values) const;
  // Rows of resistance.
  void evaluate_spin(int item, std::size_t place, const ConstraintInput& in, const PrescribedMotion::Pose& pose,
                     const PointState& p, const Distance& d, const ConstraintValues& values) const;
  void add_resistance(int item, const PrescribedMotion::Pose& pose, const PointState& p, const Distance& d,
                      const double* s, double* f) const;
  void add_resistance_gradient(int item, const PrescribedMotion::Pose& pose, const PointState& p, const Distance& d,
                               const double* s, double c, double* A) const;
  void add_friction(int item, const PrescribedMotion::Pose& pose, const PointState& p, const Distance& d,
                    const double* s, double* f) const;
  void add_friction_gradient(int item, const PrescribedMotion::Pose& pose, const PointState& p, const Distance& d,
                             const double* s, double c, double* A) const;

  TangentReference reference_;
  TangentBasis of_plane_;  // in axes of the obstacle, if it is flat
  std::vector<ContactPoint> points_;
  std::shared_ptr<const Obstacle> obstacle_;
  std::shared_ptr<const PrescribedMotion> motion_;
};

}  // namespace carom
