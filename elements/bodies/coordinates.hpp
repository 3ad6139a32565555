// Bodies with a few coordinates q, given by formulas: masses M(q), potential V(q), forces f(q, v, t), constraints
// g(q, t) = 0 and gaps g(q, t) >= 0.
//
//   M(q) v' = f(q, v, t) - dV/dq + f_gyr(q, v) + G^T lambda,
//   f_gyr = -(M' v - 1/2 d/dq (v^T M v)),   M' = sum_k dM/dq_k v_k          Lagrange's equations of 1/2 v^T M v - V
//
// f_gyr follows from M: formulas of forces must not contain it. Gradients and second derivatives of all formulas are
// exact (core/formula/formula.hpp). Every coordinate is a scalar node; gravity does not act on it. Formulas that do not
// depend on q give constant masses, and forces of first degree constant tangents: the traits of the blocks say so.
//
// Limits: most_coordinates per body.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/formula/formula.hpp"
#include "core/mechanics/constraint_block.hpp"
#include "core/mechanics/element_block.hpp"
#include "elements/bodies/formula_values.hpp"

namespace carom {

/// A formula and its name for messages about values that it does not have.
struct NamedFormula {
  Formula formula;
  std::string name;
};

/// M(q) and V(q) of a body with n coordinates.
struct CoordinateMasses {
  std::string body;
  std::vector<int> nodes;                       ///< n scalar nodes
  std::vector<std::string> coordinates;         ///< names of the n coordinates, for messages
  std::vector<std::vector<NamedFormula>> rows;  ///< M_ij for j <= i, formulas of q
  std::vector<NamedFormula> potential;          ///< V, a formula of q, or empty
  /// Largest change of a force per coordinate, which estimates the roundoff of forces.
  double stiffness = 0;
};

class CoordinateMassBlock final : public ElementBlock {
 public:
  explicit CoordinateMassBlock(CoordinateMasses body);

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override;
  void add_mass_times(Range range, const ElementInput& in, const double* a, MassKind kind, double* f) const override;
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range range, const ElementInput& in) const override;
  double roundoff_force(double length_scale) const override { return stiffness_ * length_scale; }
  FormulaFault formula_fault(const ElementInput& start, const ElementInput& end) const override;
  std::string item_name(int) const override { return body_; }

  /// M at q, n entries: n x n entries.
  void mass_matrix(const double* q, double* M) const;
  /// Index of a coordinate at which M is not positive semidefinite at q, n entries; -1 if there is none.
  int indefinite_coordinate(const double* q) const;

 private:
  // An entry of M that depends on q, and, if i != j, its mirror image.
  struct Entry {
    std::size_t i, j;
    NamedFormula mass;
  };

  std::string body_;
  std::size_t n_;
  Vector constant_;  // n x n: the entries that do not depend on q, zero at the others
  std::vector<Entry> varying_;
  std::vector<NamedFormula> potential_;
  std::vector<std::string> coordinates_;
  double stiffness_;
};

/// f(q, v, t) of a body with n coordinates.
struct CoordinateForces {
  std::string body;
  std::vector<int> nodes;            ///< n scalar nodes
  std::vector<NamedFormula> forces;  ///< n formulas of q, v and t, in this order: 2 n + 1 variables
};

class CoordinateForceBlock final : public ElementBlock {
 public:
  explicit CoordinateForceBlock(CoordinateForces body);

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override;
  void add_mass_times(Range, const ElementInput&, const double*, MassKind, double*) const override {}
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range, const ElementInput&) const override { return {}; }
  FormulaFault formula_fault(const ElementInput& start, const ElementInput& end) const override;
  std::string item_name(int) const override { return body_; }

 private:
  std::string body_;
  std::size_t n_;
  std::vector<NamedFormula> forces_;
};

/// A constraint or a gap of a body with n coordinates.
struct FormulaRow {
  std::string name;
  NamedFormula gap;  ///< a formula of q and t: n + 1 variables
  double restitution = 0;
};

class FormulaRowBlock final : public ConstraintBlock {
 public:
  /// kind: bilateral or unilateral. place: the coordinates that are x, y and z of the body as a point in space, -1 for
  /// an axis without coordinate, three times -1 for a body without place.
  FormulaRowBlock(std::string name, const std::vector<int>& nodes, std::vector<FormulaRow> rows, RowKind kind,
                  std::array<int, 3> place);

  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override;
  void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const override;
  void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                             double* A) const override;
  ContactParameters law(int item, int) const override { return {rows_[static_cast<std::size_t>(item)].restitution}; }
  std::string item_name(int item) const override { return rows_[static_cast<std::size_t>(item)].name; }
  std::string undefined_formula(const ConstraintInput& start, const ConstraintInput& end) const override;
  /// Gaps that close with another rate per change of the coordinates than at the start of the motion: an impact would
  /// have the direction of the end.
  std::string missed_contact(const ConstraintInput& start, const ConstraintInput& end,
                             double closing_turn) const override;
  /// The body's place and the gradient of g by x, y and z, a vector of any length; zero for a body without place.
  Place place(int item, int row, const ConstraintInput& in) const override;

 private:
  std::size_t n_;
  std::vector<FormulaRow> rows_;
  std::array<int, 3> place_;
};

}  // namespace carom
