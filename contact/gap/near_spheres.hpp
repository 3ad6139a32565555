// Contact between any two of many spheres: a row per pair that is near, instead of a row per pair.
//
// At the start of a step the rows are bound to the pairs that may touch within the step,
//
//   |x_B - x_A| < (1 + 1/4) (r_A + r_B) + h (|v_A| + |v_B|),
//
// found by sweeping along the axis of largest extent. A pair keeps its row as long as it is near, so that multipliers
// and closed contacts stay with the pair; a pair that comes near takes the first free row. There are ten rows per
// sphere: spheres of equal size touch at most twelve others, six pairs per sphere. If more pairs are near, those with
// the smallest gaps at the end of the step, as predicted from both speeds, have rows.
//
// Pairs that are not near cost nothing. A sphere that would reach another by more than h |v| and a quarter of the
// radii, because an impact within the step makes it faster, is found in the next step.
#pragma once

#include <string>
#include <vector>

#include "contact/gap/sphere_contact.hpp"

namespace carom {

struct ContactSphere {
  std::string name;
  int node = 0;  ///< its centre
  double radius = 0;
};

class NearSpheresBlock final : public SphereContactBlock {
 public:
  static constexpr std::size_t rows_per_sphere = 10;

  NearSpheresBlock(std::string name, std::vector<ContactSphere> spheres, double restitution);

  /// The name of the pair that has the row now.
  std::string item_name(int item) const override;
  void bind(const DofMap& dofs) override;
  bool find_candidates(const double* q, const double* v, double t, double h) override;
  void restore_candidates(std::span<const int> nodes) override;

 private:
  struct Pair {
    int a, b;  // spheres, a < b
    int item;
    double gap;  // predicted
  };
  // Configuration and equations of a centre; -1: held.
  struct Centre {
    int offset = 0, equation[3] = {-1, -1, -1};
  };
  // A sphere in the sweep: lower end, centre, half the reach at which a pair is near.
  struct Swept {
    double low, x[3], reach, travel;
    int sphere;
  };

  void sweep(const double* q, const double* v, double h);
  void set_pair(int item, int a, int b);
  void clear_pair(int item);

  std::vector<ContactSphere> spheres_;
  std::vector<Centre> centres_;
  std::vector<Swept> swept_;
  std::vector<Pair> near_, bound_;  // in the order of a, b
};

}  // namespace carom
