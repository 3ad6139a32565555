#include "io/model/sections.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>

#include "core/lie/so3.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

double value(const json& section, const char* key) { return section[key].get<double>(); }

// ---- checks

std::string check_tube(const json& tube, std::string& where) {
  if (tube["inner_radius"].get<double>() < tube["outer_radius"].get<double>()) return {};
  where = "/inner_radius";
  return "expected a length < the outer radius " + brief(tube["outer_radius"]) + ", got " + brief(tube["inner_radius"]);
}

Mat6 matrix6(const json& rows) {
  Mat6 m;
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j)
      m(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = rows[i][j].get<double>();
  return m;
}

// Pointer to the first entry that differs from its transpose; empty if the matrix is symmetric.
std::string unsymmetric_entry(const Mat6& m) {
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < i; ++j)
      if (std::abs(m(i, j) - m(j, i)) > 1e-9 * std::sqrt(std::abs(m(i, i) * m(j, j))))
        return "/" + std::to_string(i) + "/" + std::to_string(j);
  return {};
}

// Smallest eigenvalue of the matrix scaled to a unit diagonal; negative if a diagonal entry is negative.
double smallest_scaled_eigenvalue(const Mat6& m) {
  Vec6 scale = Vec6::Ones();
  for (int i = 0; i < 6; ++i) {
    if (m(i, i) < 0) return -1;
    if (m(i, i) > 0) scale[i] = 1 / std::sqrt(m(i, i));
  }
  const Mat6 scaled = scale.asDiagonal() * m * scale.asDiagonal();
  return Eigen::SelfAdjointEigenSolver<Mat6>(scaled, Eigen::EigenvaluesOnly).eigenvalues()[0];
}

std::string check_stiffness(const json& rows, std::string& where) {
  const Mat6 K = matrix6(rows);
  if (const std::string entry = unsymmetric_entry(K); !entry.empty()) {
    where = entry;
    return "expected a symmetric matrix, got another number across the diagonal";
  }
  for (int i = 0; i < 6; ++i)
    if (!(K(i, i) > 0)) {
      where = "/" + std::to_string(i) + "/" + std::to_string(i);
      return "expected a stiffness > 0 on the diagonal, got " +
             brief(rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(i)]);
    }
  if (smallest_scaled_eigenvalue(K) > 1e-12) return {};
  return "expected a positive definite matrix: some deformation would store no energy, or less";
}

// Checks that the mass matrix has the form [m 1, -m hat(c); m hat(c), J] with c in the section.
std::string check_mass(const json& rows, std::string& where) {
  const Mat6 M = matrix6(rows);
  if (const std::string entry = unsymmetric_entry(M); !entry.empty()) {
    where = entry;
    return "expected a symmetric matrix, got another number across the diagonal";
  }
  const Mat3 A = M.topLeftCorner<3, 3>(), B = M.bottomLeftCorner<3, 3>();
  const double m = A(0, 0), coupling = B.cwiseAbs().maxCoeff();
  if (!A.isApprox(m * Mat3::Identity(), 1e-9) || m < 0)
    return "expected the mass per length >= 0 three times on the diagonal, and no coupling between the translations";
  if ((B + B.transpose()).cwiseAbs().maxCoeff() > 1e-9 * coupling)
    return "expected a skew coupling of translations and rotations, m hat(c), c the mass centre in the section";
  if (m == 0 && coupling > 0) return "expected no coupling of translations and rotations without mass";
  if (std::abs(B(2, 1)) > 1e-9 * coupling)
    return "expected a mass centre in the plane of the section: no coupling of y and z translations with rotations "
           "about z and y";
  if (smallest_scaled_eigenvalue(M) < -1e-9)
    return "expected a positive semidefinite matrix: some motion would have a negative kinetic energy";
  return {};
}

Node matrix_of_6(const std::string& what) {
  return list("rows of 6 numbers", list(what, number()).of_length({6})).of_length({6});
}

}  // namespace

Node sections_spec() {
  const Node length = number("length").above(0);
  const auto diagonal = [](const std::array<double, 6>& entries) {
    nlohmann::ordered_json rows;
    for (std::size_t i = 0; i < 6; ++i) {
      nlohmann::ordered_json row = {0, 0, 0, 0, 0, 0};
      row[i] = entries[i];
      rows.push_back(row);
    }
    return rows;
  };
  const Key section_name = required("name", name().like("profile"), "name of the section");
  // these values replace the values from the formulas of the shape
  const std::vector<Key> overrides = {
      optional("shear_factor", number().above(0),
               "of beams: area in shear over area (default: 5/6 of a rectangle, Cowper's of circle and tube)"),
      optional("torsion_constant", number("area moment").above(0),
               "of beams: torsion constant (default: Saint-Venant's)"),
      optional("second_moments", list("area moments", number("area moment").above(0)).of_length({2}),
               "of beams: second moments of area about the first and second axis (default: those of the shape)"),
  };
  const auto with_overrides = [&](std::vector<Key> keys) {
    keys.insert(keys.begin(), section_name);
    keys.insert(keys.end(), overrides.begin(), overrides.end());
    return object("", std::move(keys));
  };
  return list(
      "sections",
      tagged("section",
             {
                 {"rectangle", "a full rectangle",
                  with_overrides({required("width", length, "edge length along the first axis of the section"),
                                  required("height", length, "edge length along the second axis of the section")})},
                 {"circle", "a full disk", with_overrides({required("radius", length, "radius")})},
                 {"tube", "a ring",
                  with_overrides({required("outer_radius", length, "outer radius"),
                                  required("inner_radius", number("length").at_least(0).like(0.08), "inner radius")})
                      .with(check_tube)},
                 {"area", "its area only, for bars", {section_name, required("area", number("area").above(0), "area")}},
                 {"general",
                  "stiffness and mass matrices, for beams",
                  {section_name,
                   required(
                       "stiffness",
                       matrix_of_6("stiffnesses").with(check_stiffness).like(diagonal({1e6, 4e5, 4e5, 100, 150, 150})),
                       "section forces (axial, two shears, torsion, two bendings) from the strains conjugate to them"),
                   required(
                       "mass", matrix_of_6("masses").with(check_mass).like(diagonal({0.8, 0.8, 0.8, 2e-4, 1e-4, 1e-4})),
                       "mass per length of the section's velocities and angular velocities about its axis; the mass "
                       "centre may lie beside the axis"),
                   optional("size", list("lengths", length).of_length({2}),
                            "edge lengths it is drawn with (default: those of a rectangle of this stiffness)")}},
             }));
}

double section_area(const json& section) {
  const std::string type = section["type"].get<std::string>();
  if (type == "rectangle") return value(section, "width") * value(section, "height");
  if (type == "circle") return M_PI * value(section, "radius") * value(section, "radius");
  if (type == "tube")
    return M_PI * (value(section, "outer_radius") - value(section, "inner_radius")) *
           (value(section, "outer_radius") + value(section, "inner_radius"));
  return type == "area" ? value(section, "area") : 0;
}

bool needs_material(const json& section) { return section["type"] != "general"; }

std::string beam_section_error(const json& section) {
  if (section["type"] != "area") return {};
  return "expected a section with bending stiffness (rectangle, circle, tube or general) for a beam, got " +
         in_quotes(section["name"].get<std::string>()) + " of type \"area\"";
}

BeamSection read_beam_section(const json& section, const json& material) {
  const std::string type = section["type"].get<std::string>();
  if (type == "general") {
    const Mat6 K = matrix6(section["stiffness"]), M = matrix6(section["mass"]);
    return general_section(0.5 * (K + K.transpose()), 0.5 * (M + M.transpose()));
  }
  const auto young = material["young"].get<double>(), poisson = material["poisson"].get<double>();
  SectionGeometry g = type == "rectangle" ? rectangle_section(value(section, "width"), value(section, "height"))
                      : type == "circle"
                          ? circle_section(value(section, "radius"), poisson)
                          : tube_section(value(section, "outer_radius"), value(section, "inner_radius"), poisson);
  if (section.contains("shear_factor")) g.k_y = g.k_z = value(section, "shear_factor");
  if (section.contains("torsion_constant")) g.J = value(section, "torsion_constant");
  if (section.contains("second_moments")) {
    g.I_y = section["second_moments"][0].get<double>();
    g.I_z = section["second_moments"][1].get<double>();
  }
  return homogeneous_section(g, young, poisson, material["density"].get<double>());
}

std::vector<std::vector<Vec3>> section_outline(const json& section) {
  const auto rectangle = [](double width, double height) {
    const double y = width / 2, z = height / 2;
    return std::vector<Vec3>{{0, -y, -z}, {0, y, -z}, {0, y, z}, {0, -y, z}};
  };
  const auto circle = [](double radius) {
    constexpr int corners = 24;
    std::vector<Vec3> points;
    for (int i = 0; i < corners; ++i) {
      const double phi = 2 * M_PI * i / corners;
      points.emplace_back(0, radius * std::cos(phi), radius * std::sin(phi));
    }
    return points;
  };
  const std::string type = section["type"].get<std::string>();
  if (type == "rectangle") return {rectangle(value(section, "width"), value(section, "height"))};
  if (type == "circle") return {circle(value(section, "radius"))};
  if (type == "tube") {
    if (value(section, "inner_radius") == 0) return {circle(value(section, "outer_radius"))};
    return {circle(value(section, "outer_radius")), circle(value(section, "inner_radius"))};
  }
  if (section.contains("size")) return {rectangle(section["size"][0].get<double>(), section["size"][1].get<double>())};
  // EI_z = EA width^2/12
  const Mat6 K = matrix6(section["stiffness"]);
  return {rectangle(std::sqrt(12 * K(5, 5) / K(0, 0)), std::sqrt(12 * K(4, 4) / K(0, 0)))};
}

}  // namespace carom
