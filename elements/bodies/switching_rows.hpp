// Switching constraints of a body with coordinates: modes i with z_i(q, t) > 0 and m_i constraints g_i(q, t) = 0.
//
// The intermediate gradient of a switch (core/mechanics/intermediate_gradient.hpp) is that of the body alone, whose
// other constraints are part of the metric, or of the whole system where contacts are closed. A_- and A_+ are those of
// the place where the switch was set: they are constants of the sub-problem.
//
// A mode that another one names as `next` is entered from there alone, wherever its own z is positive (a latch, whose
// z = 0 is itself a new constraint and cannot say when it opens again).
//
// Limits: formulas depend on the coordinates of one body and on t; M is positive definite.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "core/base/index.hpp"
#include "core/mechanics/switching_block.hpp"
#include "elements/bodies/coordinates.hpp"

namespace carom {

/// z_i and g_i: formulas of n coordinates and t.
struct SwitchingMode {
  std::string name;
  NamedFormula condition;
  std::vector<NamedFormula> constraints;
  int next = -1;  ///< the mode behind the surface; -1: the one whose z is positive there
};

class SwitchingRowBlock final : public SwitchingBlock {
 public:
  /// `masses` outlives the block; `persistent`: the body's other constraints, formulas of q and t.
  SwitchingRowBlock(std::string body, const std::vector<int>& nodes, std::vector<SwitchingMode> modes,
                    const CoordinateMassBlock& masses, std::vector<FormulaRow> persistent);

  int modes() const override { return static_cast<int>(modes_.size()); }
  std::string mode_name(int mode) const override { return name() + "." + modes_[at(mode)].name; }
  int mode() const override { return mode_; }
  void set_mode(int mode) override;
  bool vacant_row(int row) const override { return row >= count(mode_); }
  void measure(const ConstraintInput& in, double length, double* weights) const override;
  double condition(int mode, const ConstraintInput& in) const override;
  Crossing find_crossing(int from, const ConstraintInput& start, const ConstraintInput& end,
                         double length) const override;
  std::string find_fault(const ConstraintInput& start, double duration, double length) const override;
  bool set_switch(int from, int to, const ConstraintInput& in, double E, SwitchMetric* metric) override;
  void show_old_reactions(bool on) override { show_old_ = on; }
  double crossing_rate(int from, const ConstraintInput& in) const override;
  bool holds_surface() const override { return holds_surface_; }
  double cosine() const override { return cosine_; }
  void direction(const ConstraintInput& in, double* F) const override;

  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override;
  void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const override;
  void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                             double* A) const override;
  std::string item_name(int) const override { return name(); }
  std::string row_name(int, int row) const override { return "constraint " + std::to_string(row + 1); }
  std::string undefined_formula(const ConstraintInput& start, const ConstraintInput& end) const override;
  Place place(int, int, const ConstraintInput&) const override { return {}; }

 private:
  using Matrix = Eigen::MatrixXd;
  using Column = Eigen::VectorXd;
  static constexpr std::size_t most = at(most_coordinates) + 1;
  using Point = std::array<double, most>;  // q and t

  int count(int mode) const { return mode < 0 ? 0 : static_cast<int>(modes_[at(mode)].constraints.size()); }
  void gather(const ConstraintInput& in, Point& x) const;
  double value(const Formula& f, const Point& x) const { return f.value({x.data(), n_ + 1}); }
  double gradient(const Formula& f, const Point& x, Point& g) const {
    return f.gradient({x.data(), n_ + 1}, {g.data(), n_ + 1});
  }

  // Gradients by q and values of rows, and where asked for their derivatives by t.
  Matrix gradients(int mode, const Point& x, Column* rates = nullptr) const;
  Matrix persistent_gradients(const Point& x) const;
  Column values(int mode, const Point& x, bool with_surface) const;
  Eigen::RowVectorXd surface(int mode, const Point& x, double* rate = nullptr) const;
  bool measure_alone(const Point& x, const Matrix& G_old, const Matrix& G_new, const Matrix& Z,
                     SwitchedRows& rows) const;
  int next(int mode) const override;
  double rounding(int mode, const ConstraintInput& in, double length) const override;
  int mode_behind(int from, const Point& x, std::string& fault) const;
  bool find_place(int mode, bool on_surface, double length, Point& x) const;
  std::string mismatch(int mode, const Point& x, double length) const;
  std::string disagreement(int from, int to, Point x, double length) const;
  bool find_tangent(int mode, const Point& x, double speed, Column& v) const;

  std::size_t n_;
  std::vector<SwitchingMode> modes_;
  const CoordinateMassBlock& masses_;
  std::vector<FormulaRow> persistent_;
  int mode_ = 0;
  // of a switch; old_ < 0: none
  int old_ = -1;
  std::vector<double> A_old_, A_new_;  // m x m, row-major, m = rows()
  double cosine_ = 1;
  bool holds_surface_ = false;
  bool show_old_ = false;
};

}  // namespace carom
