#include "switching_checks.hpp"

#include <cstdio>

namespace carom::cases {

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
