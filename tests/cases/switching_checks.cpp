#include "switching_checks.hpp"

#include <cmath>
#include <cstdio>

namespace carom::cases {

double pothole_energy(double E) {
  const double before = 80.925, at_edge = before - 5 * 9.81 * 1.5 * std::cos(std::asin(1.0 / 3));
  return before + at_edge * (std::pow(speed_ratio(E, 23.0 / 27), 2) - 1);
}

std::string digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

std::string linear_formula(const Eigen::VectorXd& row, double constant) {
  std::string text = digits(constant);
  for (Eigen::Index i = 0; i < row.size(); ++i) text += " + (" + digits(row[i]) + ")*c" + std::to_string(i);
  return text;
}

}  // namespace carom::cases
