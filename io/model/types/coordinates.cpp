// Bodies with coordinates whose masses, forces, constraints and gaps are formulas.

#include "elements/bodies/coordinates.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "elements/bodies/switching_rows.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/tolerant_json.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

// ---- keys

/// The names of a body's coordinates; nullopt if a name is missing or wrong or occurs twice.
std::optional<std::vector<std::string>> coordinate_names(const json& body) {
  const json& list = list_of(body, "coordinates");
  std::vector<std::string> names;
  for (const json& coordinate : list) {
    std::string name = text_of(coordinate, "name");
    if (!is_variable_name(name) || std::find(names.begin(), names.end(), name) != names.end()) return std::nullopt;
    names.push_back(std::move(name));
  }
  if (names.empty()) return std::nullopt;
  return names;
}

/// q
std::optional<std::vector<std::string>> places(const json& body) { return coordinate_names(body); }
/// q and t
std::optional<std::vector<std::string>> places_and_time(const json& body) {
  auto names = coordinate_names(body);
  if (names) names->emplace_back("t");
  return names;
}
/// q, v and t; the rate of x is x'
std::optional<std::vector<std::string>> places_rates_and_time(const json& body) {
  auto names = coordinate_names(body);
  if (!names) return names;
  const std::size_t n = names->size();
  for (std::size_t i = 0; i < n; ++i) names->push_back((*names)[i] + "'");
  names->emplace_back("t");
  return names;
}

Node coordinates_spec() {
  const Node coordinate = object(
      "coordinate",
      {required("name", variable_name("name"),
                "name in formulas, x for instance; its rate is x' and probes refer to it as \"body.x\""),
       preset("position", number(), 0, "value at the start"), preset("velocity", number(), 0, "rate at the start")});
  const Node constraint =
      object("constraint", {required("name", name().like("rod"), "name of the constraint: \"body.name\""),
                            required("formula", spec::formula("constraint", places_and_time).like("x^2 + y^2 - 1"),
                                     "g of the constraint g = 0, of coordinates and t")});
  const Node gap = object(
      "gap",
      {required("name", name().like("floor"), "name of the gap: \"body.name\", a contact for probes and events"),
       required("formula", spec::formula("gap", places_and_time).like("y + 2"), "g of g >= 0, of coordinates and t"),
       preset("restitution", number().at_least(0).at_most(1), 0,
              "Newton's coefficient: rate of the gap after over rate before the impact")});
  const Node mode = object(
      "mode", {required("name", name().like("left"), "name of the mode: \"body.name\""),
               required("condition", spec::formula("switching function", places_and_time).like("-x"),
                        "z of coordinates and t: the mode holds where z > 0; its surface z = 0 leads to the next mode"),
               required("constraints", list("constraints", spec::formula("constraint", places_and_time).like("y")),
                        "g of the constraints g = 0 of the mode, of coordinates and t; may be empty"),
               optional("next", name().like("right"),
                        "the mode behind the surface (default: the mode whose condition is positive there); a mode "
                        "that is named so is entered in no other way, wherever its condition is positive")});
  const nlohmann::ordered_json axes = {{{"name", "x"}}, {{"name", "y"}}};
  const nlohmann::ordered_json modes = {{{"name", "left"}, {"condition", "-x"}, {"constraints", {"y"}}},
                                        {{"name", "right"}, {"condition", "x"}, {"constraints", {"y - x^2"}}}};
  return object("body of coordinates",
                {
                    body_name(),
                    required("coordinates", list("coordinates", coordinate).nonempty().like(axes),
                             "the coordinates, at most " + std::to_string(most_coordinates)),
                    optional("masses", list("inertias", spec::formula("inertia", places)).like({2, 2}),
                             "the diagonal of the mass matrix: one formula of the coordinates for each of them"),
                    optional("mass_matrix",
                             list("rows", list("inertias", spec::formula("inertia", places))).like({{2, 0}, {0, 2}}),
                             "the whole mass matrix, row by row; symmetric"),
                    optional("forces",
                             list("forces", spec::formula("generalised force", places_rates_and_time))
                                 .like({0, "-19.62 - 0.1*y'"}),
                             "one formula for each coordinate, of coordinates, rates and t (default: none); the forces "
                             "that a mass matrix of coordinates needs are added"),
                    optional("potential", spec::formula("potential", places).like("19.62*y"),
                             "a formula of the coordinates whose negative gradient is a further force; its value is "
                             "part of the energy"),
                    preset("constraints", list("constraints", constraint), json::array(), "what stays zero"),
                    preset("gaps", list("gaps", gap), json::array(), "what does not become negative"),
                    preset("switching", list("modes", mode).like(modes), json::array(),
                           "modes of which exactly one holds in every place, with constraints of their own: at least "
                           "two; neighbouring modes agree on their surface"),
                    optional("start_mode", name().like("left"),
                             "the mode at the start, where the conditions of several modes are positive"),
                })
      .exactly_one({{"masses"}, {"mass_matrix"}});
}

FormulaNames formula_names(const json& body) {
  FormulaNames names{names_of(list_of(body, "coordinates")), names_of(list_of(body, "constraints")),
                     names_of(list_of(body, "gaps")), !list_of(body, "switching").empty()};
  std::size_t most = 0;
  for (const json& mode : list_of(body, "switching")) most = std::max(most, list_of(mode, "constraints").size());
  for (std::size_t row = 1; row <= most; ++row) names.constraints.push_back("switching." + std::to_string(row));
  return names;
}

std::vector<Problem> coordinates_problems(const json& body, const json*, const json*) {
  std::vector<Problem> found;
  const std::size_t n = list_of(body, "coordinates").size();
  if (n == 0) return found;
  const auto complain = [&](const std::string& pointer, const std::string& message) {
    found.push_back({pointer, message, false});
  };
  // numbers of entries
  const auto check_count = [&](const json& list, const std::string& pointer, const std::string& noun) {
    if (!list.is_array() || list.size() == n) return;
    complain(pointer, "expected " + std::to_string(n) + " " + (n == 1 ? noun : plural(noun)) +
                          ", one for each coordinate, got " + std::to_string(list.size()));
  };
  if (n > at(most_coordinates))
    complain("/coordinates",
             "expected at most " + std::to_string(most_coordinates) + " coordinates, got " + std::to_string(n));
  if (body.contains("masses")) check_count(body["masses"], "/masses", "mass");
  if (body.contains("forces")) check_count(body["forces"], "/forces", "force");
  if (body.contains("mass_matrix")) {
    const json& rows = body["mass_matrix"];
    check_count(rows, "/mass_matrix", "row");
    for (std::size_t i = 0; rows.is_array() && i < rows.size(); ++i)
      check_count(rows[i], "/mass_matrix/" + std::to_string(i), "mass");
  }
  // modes
  const json& modes = list_of(body, "switching");
  if (modes.size() == 1) complain("/switching", "expected at least two modes, got one");
  bool constrained = modes.empty();
  for (const json& mode : modes) constrained = constrained || !list_of(mode, "constraints").empty();
  if (!constrained) complain("/switching", "expected a mode with constraints, got none");
  const std::vector<std::string> mode_names = names_of(modes);
  const auto check_mode = [&](const std::string& named, const std::string& pointer, const std::string& self) {
    if (!named.empty() && (named == self || std::ranges::find(mode_names, named) == mode_names.end()))
      complain(pointer, "expected the name of " + std::string(self.empty() ? "a" : "another") + " mode, got " +
                            in_quotes(named));
  };
  for (std::size_t i = 0; i < modes.size(); ++i)
    check_mode(text_of(modes[i], "next"), "/switching/" + std::to_string(i) + "/next", text_of(modes[i], "name"));
  check_mode(text_of(body, "start_mode"), "/start_mode", "");
  // names; each list has compared its own
  const FormulaNames names = formula_names(body);
  const auto check_names = [&](const char* key, const std::vector<std::string>& taken, const std::string& noun) {
    const json& list = list_of(body, key);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string name = text_of(list[i], "name");
      if (!name.empty() && std::find(taken.begin(), taken.end(), name) != taken.end())
        complain(std::string("/") + key + "/" + std::to_string(i) + "/name",
                 "the name " + in_quotes(name) + " is already taken by a " + noun + " of this body");
    }
  };
  check_names("constraints", names.coordinates, "coordinate");
  check_names("gaps", names.coordinates, "coordinate");
  check_names("gaps", names.constraints, "constraint");
  return found;
}

std::string coordinates_point_error(const json& body, const std::string* point, PointUse use) {
  if (use == PointUse::element) return "a body of coordinates has no elements";
  const std::string name = text_of(body, "name");
  return "expected a point in space, got " + in_quotes(point == nullptr ? name : name + "." + *point) +
         " of a body of type \"coordinates\", which has none: bodies of type \"coordinate_frame\" have points that its "
         "coordinates move; probes take \"coordinate\", \"coordinate_rate\" and \"coordinate_acceleration\" of " +
         in_quotes(name + ".NAME");
}

// ---- building

class CoordinatesReader {
 public:
  CoordinatesReader(BuildContext& context, const BodySource& source)
      : context_(context),
        body_(*source.json),
        pointer_(source.pointer),
        info_(*source.info),
        names_(*coordinate_names(body_)),
        n_(names_.size()),
        parameters_(context.document.parameters()) {}

  void read() {
    read_coordinates();
    const auto masses = read_masses();
    if (masses == nullptr) return;
    System& system = context_.model.system;
    auto mass_block = std::make_unique<CoordinateMassBlock>(*masses);
    const CoordinateMassBlock& inertia = *mass_block;
    system.add(std::move(mass_block));
    if (std::any_of(forces_.begin(), forces_.end(), [](const NamedFormula& f) {
          return !f.formula.is_constant() || f.formula.value(std::vector<double>(f.formula.variable_count())) != 0;
        }))
      system.add(std::make_unique<CoordinateForceBlock>(CoordinateForces{info_.name, info_.nodes, forces_}));
    std::vector<FormulaRow> constraints = read_rows("constraints", RowKind::bilateral);
    read_rows("gaps", RowKind::unilateral);
    read_modes(inertia, std::move(constraints));
  }

 private:
  void read_coordinates() {
    const json& list = body_["coordinates"];
    info_.in_space = false;
    for (std::size_t i = 0; i < n_; ++i) {
      q_.push_back(list[i]["position"].get<double>());
      v_.push_back(list[i]["velocity"].get<double>());
      info_.nodes.push_back(context_.add_coordinate(q_[i], info_.name + "." + names_[i], v_[i]));
      context_.size = std::max(context_.size, std::abs(q_[i]));
    }
    // a point in pictures
    const auto find = [&](const char* name) {
      return static_cast<int>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    };
    const std::array<int, 3> found = {find("x"), find("y"), find("z")};
    const int n = static_cast<int>(n_);
    if (found[0] == n || found[1] == n) return;
    for (std::size_t c = 0; c < 3; ++c)
      if (found[c] < n) {
        axes_[c] = found[c];
        info_.axes[c] = info_.nodes[at(found[c])];
      }
  }

  // Variables of a formula and their values at the start.
  struct Start {
    std::vector<std::string> names;
    std::vector<double> values;
  };
  Start start(bool rates, bool time) const {
    Start s{names_, q_};
    for (std::size_t i = 0; rates && i < n_; ++i) {
      s.names.push_back(names_[i] + "'");
      s.values.push_back(v_[i]);
    }
    if (time) {
      s.names.emplace_back("t");
      s.values.push_back(time_settings(context_.root()["integrator"]).start);
    }
    return s;
  }

  /// The formula of a value; value and derivatives must be finite at the start.
  NamedFormula formula(const json& value, const std::string& pointer, const Start& s, bool second = true) {
    const std::string text = value.is_string() ? carom::text(value) : value.dump();
    try {
      NamedFormula f{{text, s.names, parameters_}, pointer + " " + brief(value)};
      const std::size_t m = s.names.size();
      std::vector<double> numbers(m + m * m);
      const std::span<double> gradient(numbers.data(), m), hessian(numbers.data() + m, m * m);
      numbers.push_back(second ? f.formula.hessian(s.values, gradient, hessian)
                               : f.formula.gradient(s.values, gradient));
      if (!std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }))
        context_.error(pointer,
                       "expected a finite value and finite derivatives at the start, got none from " + brief(value));
      return f;
    } catch (const std::runtime_error& e) {
      context_.error(pointer, e.what());
      return {{"0", s.names}, pointer};
    }
  }

  /// The same of a force or a place, with t behind the other variables.
  NamedFormula timed(const json& value, const std::string& pointer, const Start& s, bool place) {
    NamedFormula f = formula(value, pointer, s, place);
    if (f.formula.variable_count() == s.values.size()) context_.add_timed(f.name, f.formula, s.values, place);
    return f;
  }

  /// Null after an error.
  std::unique_ptr<CoordinateMasses> read_masses() {
    const std::size_t issues = context_.issues.size();
    auto body = std::make_unique<CoordinateMasses>();
    body->body = info_.name;
    body->nodes = info_.nodes;
    for (const std::string& name : names_) body->coordinates.push_back(info_.name + "." + name);
    const bool whole = body_.contains("mass_matrix");
    const json& masses = body_[whole ? "mass_matrix" : "masses"];
    const std::string pointer = pointer_ + (whole ? "/mass_matrix" : "/masses");
    const Start s = start(false, false);
    std::vector<std::vector<NamedFormula>> above(n_);  // M_ji beside M_ij, j <= i
    for (std::size_t i = 0; i < n_; ++i) {
      body->rows.emplace_back();
      const std::string row = pointer + "/" + std::to_string(i);
      for (std::size_t j = 0; j <= i; ++j)
        if (whole) {
          body->rows[i].push_back(formula(masses[i][j], row + "/" + std::to_string(j), s));
          if (j < i)
            above[i].push_back(formula(masses[j][i], pointer + "/" + std::to_string(j) + "/" + std::to_string(i), s));
        } else {
          body->rows[i].push_back(i == j ? formula(masses[i], row, s) : NamedFormula{{"0", s.names}, row});
        }
    }
    if (body_.contains("potential")) body->potential.push_back(formula(body_["potential"], pointer_ + "/potential", s));
    if (body_.contains("forces")) {
      const Start state = start(true, true);
      for (std::size_t i = 0; i < n_; ++i)
        forces_.push_back(timed(body_["forces"][i], pointer_ + "/forces/" + std::to_string(i), state, false));
    }
    if (context_.issues.size() > issues) return nullptr;
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < above[i].size(); ++j)
        if (!same_values(body->rows[i][j].formula, above[i][j].formula))
          context_.error(pointer + "/" + std::to_string(i) + "/" + std::to_string(j),
                         "expected a symmetric matrix, got " + brief(masses[i][j]) + " here and " +
                             brief(masses[j][i]) + " in row " + std::to_string(j) + ", column " + std::to_string(i));
    if (context_.issues.size() > issues) return nullptr;
    // masses at the start
    const CoordinateMassBlock at_start(*body);
    if (const int i = at_start.indefinite_coordinate(q_.data()); i >= 0)
      context_.error(pointer + "/" + std::to_string(i),
                     std::string("expected masses that form a positive definite matrix, which they do not at the start "
                                 "at the coordinate ") +
                         in_quotes(names_[at(i)]));
    estimate(*body);
    return body;
  }

  /// Whether two formulas of the coordinates agree at the start and at places around it.
  bool same_values(const Formula& a, const Formula& b) const {
    std::vector<double> x = q_;
    for (int sample = 0; sample < 8; ++sample) {
      const double u = a.value(x), v = b.value(x);
      const double scale = std::max(std::abs(u), std::abs(v));
      if (std::isfinite(scale) ? std::abs(u - v) > 1e-12 * scale : std::isfinite(u) || std::isfinite(v)) return false;
      for (std::size_t i = 0; i < n_; ++i)
        x[i] = q_[i] + (1 + std::abs(q_[i])) * std::sin(1.0 + 2.4 * sample + 0.7 * static_cast<double>(i));
    }
    return true;
  }

  // Stiffness and acceleration at the start, for tolerances and scales.
  void estimate(CoordinateMasses& body) {
    std::vector<double> pull(n_, 0.0), gradient(n_), hessian(n_ * n_);
    for (const NamedFormula& V : body.potential) {
      V.formula.hessian(q_, gradient, hessian);
      for (std::size_t i = 0; i < n_; ++i) pull[i] -= gradient[i];
      for (const double k : hessian) body.stiffness = std::max(body.stiffness, std::abs(k));
    }
    const Start state = start(true, true);
    std::vector<double> slopes(state.values.size());
    for (std::size_t i = 0; i < forces_.size(); ++i) {
      pull[i] += forces_[i].formula.gradient(state.values, slopes);
      for (std::size_t k = 0; k < n_; ++k) body.stiffness = std::max(body.stiffness, std::abs(slopes[k]));
    }
    for (std::size_t i = 0; i < n_; ++i)
      if (const double m = body.rows[i][i].formula.value(q_); m > 0)
        context_.acceleration = std::max(context_.acceleration, std::abs(pull[i]) / m);
  }

  /// `inertia` and `constraints` are the metric of a switch.
  void read_modes(const CoordinateMassBlock& inertia, std::vector<FormulaRow> constraints) {
    const json& list = body_["switching"];
    if (list.empty()) return;
    const std::size_t issues = context_.issues.size();
    std::vector<SwitchingMode> modes;
    const Start s = start(false, true);
    std::vector<std::string> holding;
    const std::vector<std::string> mode_names = names_of(list);
    const auto find_mode = [&](const json& owner, const char* key) {
      const std::string named = text_of(owner, key);
      return named.empty() ? -1 : static_cast<int>(std::ranges::find(mode_names, named) - mode_names.begin());
    };
    const int wanted = find_mode(body_, "start_mode");
    int first = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string here = pointer_ + "/switching/" + std::to_string(i);
      SwitchingMode mode{carom::text(list[i]["name"]),
                         timed(list[i]["condition"], here + "/condition", s, true),
                         {},
                         find_mode(list[i], "next")};
      const json& rows = list[i]["constraints"];
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const std::string row = here + "/constraints/" + std::to_string(k);
        mode.constraints.push_back(timed(rows[k], row, s, true));
        if (const Formula& g = mode.constraints.back().formula; g.is_constant())
          context_.error(row, "expected a formula of the coordinates, got " + brief(rows[k]) + ", which is constant");
        else if (!depends_on_coordinates(g))
          context_.error(row,
                         "expected a formula of the coordinates, got " + brief(rows[k]) + ", which depends on t alone");
      }
      // on the surface the mode holds into which the motion leads
      std::vector<double> slope(n_ + 1);
      const double z = mode.condition.formula.gradient(s.values, slope);
      const bool holds = z > 0 || (z == 0 && std::inner_product(v_.begin(), v_.end(), slope.begin(), slope[n_]) > 0);
      if (holds && (wanted < 0 || wanted == static_cast<int>(i))) {
        if (holding.empty()) first = static_cast<int>(i);
        holding.push_back(in_quotes(mode.name));
      }
      modes.push_back(std::move(mode));
    }
    if (context_.issues.size() > issues) return;
    if (holding.empty())
      context_.error(pointer_ + (wanted < 0 ? "/switching" : "/start_mode"),
                     wanted < 0 ? "expected one mode that holds at the start, got none: no condition is positive"
                                : "expected a mode that holds at the start, got " + brief(body_["start_mode"]) +
                                      ", whose condition is not positive");
    else if (holding.size() > 1)
      context_.error(pointer_ + "/switching", "expected one mode that holds at the start, got " + holding[0] + " and " +
                                                  holding[1] +
                                                  ", whose conditions are both positive; \"start_mode\" tells which");
    if (context_.issues.size() > issues) return;
    if (!inertia_definite(inertia)) {
      context_.error(pointer_ + "/switching",
                     "expected a mass in every coordinate of a body with modes: the metric of a "
                     "switch is the mass matrix");
      return;
    }
    auto block =
        std::make_unique<SwitchingRowBlock>(info_.name, info_.nodes, std::move(modes), inertia, std::move(constraints));
    block->set_mode(first);
    const ConstraintBlock& added = context_.model.system.add(std::move(block));
    for (int row = 0; row < added.rows(); ++row)
      context_.formula_rows.push_back({info_.name + ".switching." + std::to_string(row + 1),
                                       pointer_ + "/switching/" + std::to_string(first), &added, row});
  }

  bool inertia_definite(const CoordinateMassBlock& inertia) const {
    Eigen::MatrixXd M(static_cast<Eigen::Index>(n_), static_cast<Eigen::Index>(n_));
    inertia.mass_matrix(q_.data(), M.data());
    return M.llt().info() == Eigen::Success;
  }

  std::vector<FormulaRow> read_rows(const char* key, RowKind kind) {
    const json& list = body_[key];
    std::vector<FormulaRow> rows;
    const Start s = start(false, true);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string here = pointer_ + "/" + key + "/" + std::to_string(i);
      FormulaRow row{info_.name + "." + carom::text(list[i]["name"]),
                     timed(list[i]["formula"], here + "/formula", s, true)};
      if (row.gap.formula.is_constant())
        context_.error(here + "/formula", "expected a formula of the coordinates, got " + brief(list[i]["formula"]) +
                                              ", which is constant");
      else if (!depends_on_coordinates(row.gap.formula))
        context_.error(here + "/formula", "expected a formula of the coordinates, got " + brief(list[i]["formula"]) +
                                              ", which depends on t alone");
      if (kind == RowKind::unilateral) row.restitution = list[i]["restitution"].get<double>();
      rows.push_back(std::move(row));
    }
    if (rows.empty()) return rows;
    std::vector<FormulaRow> copies = rows;
    std::vector<BuildContext::FormulaRow> built;
    for (std::size_t i = 0; i < rows.size(); ++i)
      built.push_back({rows[i].name, pointer_ + "/" + key + "/" + std::to_string(i), nullptr, static_cast<int>(i)});
    const ConstraintBlock& block = context_.model.system.add(
        std::make_unique<FormulaRowBlock>(info_.name, info_.nodes, std::move(rows), kind, axes_));
    for (BuildContext::FormulaRow& row : built) {
      row.block = &block;
      context_.formula_rows.push_back(std::move(row));
    }
    return copies;
  }

  bool depends_on_coordinates(const Formula& f) const {
    for (std::size_t i = 0; i < n_; ++i)
      if (f.depends_on(i)) return true;
    return false;
  }

  BuildContext& context_;
  const json& body_;
  std::string pointer_;
  BodyInfo& info_;
  std::vector<std::string> names_;
  std::size_t n_;
  std::map<std::string, double, std::less<>> parameters_;
  std::vector<double> q_, v_;
  std::vector<NamedFormula> forces_;
  std::array<int, 3> axes_{-1, -1, -1};
};

void build_coordinates(BuildContext& context, const std::vector<BodySource>& bodies) {
  for (const BodySource& body : bodies) CoordinatesReader(context, body).read();
}

}  // namespace

BodyType coordinates_type() {
  return {.type = "coordinates",
          .help = "coordinates whose masses, forces, constraints and gaps are formulas",
          .rotates = false,
          .keys = coordinates_spec,
          .build = build_coordinates,
          .point_error = coordinates_point_error,
          .problems = coordinates_problems,
          .formula_names = formula_names};
}

}  // namespace carom
