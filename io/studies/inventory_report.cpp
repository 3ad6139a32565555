// The inventory of a model as text and as JSON.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/schema/json_source.hpp"
#include "io/studies/inventory.hpp"

namespace carom {

using nlohmann::json;

namespace {

constexpr std::size_t longest_list = 20;
constexpr double balanced = 1e-6;  // of forces, over the sum of their norms

std::string number_text(double x) { return fmt::format("{:.6g}", x + 0.0); }
std::string small(double x) { return x == 0 ? "0" : fmt::format("{:.2g}", x); }
/// Values that are roundoff compared to `rest` become zero.
std::string beside(double x, double rest) { return number_text(std::abs(x) <= 1e-13 * rest ? 0.0 : x); }
std::string vector_text(const Vec3& x) {
  const double largest = x.cwiseAbs().maxCoeff();
  return beside(x[0], largest) + " " + beside(x[1], largest) + " " + beside(x[2], largest);
}

// ---- text

std::string heading(const std::string& title) { return "\n" + title + "\n"; }
std::string line(const std::string& label, const std::string& value) {
  return fmt::format("  {:<24}{}\n", label, value);
}

/// A table with columns as wide as their widest cell. The first column and the columns in `left` are aligned left,
/// others right.
class Table {
 public:
  explicit Table(std::vector<std::string> head, std::vector<std::size_t> left = {}) : left_(std::move(left)) {
    rows_.push_back(std::move(head));
  }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text() const {
    std::string out;
    for (const auto& row : rows_) {
      std::string l = " ";
      for (std::size_t c = 0; c < row.size(); ++c) {
        std::size_t width = 0;
        for (const auto& r : rows_) width = std::max(width, r[c].size());
        const bool to_left = c == 0 || std::find(left_.begin(), left_.end(), c) != left_.end();
        const std::string pad(width - row[c].size(), ' ');
        l += (c == 0 ? " " : "   ") + (to_left ? row[c] + pad : pad + row[c]);
      }
      out += l.substr(0, l.find_last_not_of(' ') + 1) + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> left_;
};

/// Indices of the entries of a long list that are shown: remarkable entries first, in the order of the list.
template <class Remarkable>
std::vector<std::size_t> shown(std::size_t size, const Remarkable& remarkable) {
  std::vector<std::size_t> places(size);
  for (std::size_t i = 0; i < size; ++i) places[i] = i;
  if (size <= longest_list) return places;
  std::stable_partition(places.begin(), places.end(), remarkable);
  places.resize(longest_list);
  std::sort(places.begin(), places.end());
  return places;
}

std::string cut(std::size_t size, std::size_t shown_count, const std::string& what) {
  return size > shown_count ? fmt::format("  ... and {} more {}; --json lists all\n", size - shown_count, what) : "";
}

std::string counts(const std::vector<Inventory::Count>& list) {
  std::string text;
  for (const Inventory::Count& c : list) text += (text.empty() ? "" : ", ") + fmt::format("{} {}", c.number, c.what);
  return text.empty() ? "none" : text;
}

std::string masses_text(const Inventory& s) {
  std::string out = heading("masses");
  out += line("total", number_text(s.mass));
  out += line("centre of mass", vector_text(s.center));
  const bool lines = std::any_of(s.bodies.begin(), s.bodies.end(), [](const auto& b) { return b.length.has_value(); });
  const bool turning =
      std::any_of(s.bodies.begin(), s.bodies.end(), [](const auto& b) { return b.inertia.has_value(); });
  std::vector<std::string> head = {"body", "type", "mass", "centre of mass"};
  std::vector<std::size_t> left = {1, 3};
  if (turning) {
    left.push_back(head.size());
    head.emplace_back("principal inertias");
  }
  if (lines) head.emplace_back("length");
  Table table(head, left);
  const auto places = shown(s.bodies.size(), [](std::size_t) { return false; });
  for (const std::size_t i : places) {
    const Inventory::Body& b = s.bodies[i];
    std::vector<std::string> row = {b.name, b.type, b.in_space ? number_text(b.mass) : "",
                                    b.in_space ? vector_text(b.center) : ""};
    if (turning) row.push_back(b.inertia ? vector_text(*b.inertia) : "");
    if (lines) row.push_back(b.length ? number_text(*b.length) : "");
    table.add(std::move(row));
  }
  return out + table.text() + cut(s.bodies.size(), places.size(), "bodies");
}

std::string freedom_text(const Inventory& s) {
  std::string out = heading("degrees of freedom");
  out += line("nodes", counts(s.nodes));
  out += line("elements", counts(s.elements));
  out += line("equations", fmt::format("{} ({} of {} components fixed){}", s.equations, s.fixed, s.components,
                                       s.linear ? ", linear" : ""));
  if (s.joint_rows > 0) {
    const int redundant = s.joint_rows - s.rank;
    out += line("rows of joints", fmt::format("{}, rank {}{}", s.joint_rows, s.rank,
                                              redundant > 0 ? fmt::format(", {} redundant", redundant) : ""));
  }
  out += line("degrees of freedom", fmt::format("{}", s.freedom));
  if (s.touching > 0)
    out += line("with touching contacts", fmt::format("{} more rows, rank {} together, {} left", s.touching,
                                                      s.rank_with_contacts, s.equations - s.rank_with_contacts));
  const auto list = [&](const std::vector<Inventory::Redundant>& rows, const char* label, bool contacts) {
    const std::size_t n = std::min(rows.size(), longest_list);
    for (std::size_t i = 0; i < n; ++i)
      out += line(i == 0 ? label : "", contacts ? rows[i].component : rows[i].joint + " " + rows[i].component);
    out += cut(rows.size(), n, "redundant rows");
  };
  list(s.redundant, "redundant", false);
  list(s.redundant_contacts, "redundant contacts", true);
  return out;
}

std::string joints_text(const Inventory& s) {
  if (s.joints.empty()) return "";
  std::string out = heading("joints at the start");
  const int open =
      static_cast<int>(std::count_if(s.joints.begin(), s.joints.end(), [](const auto& j) { return !j.fits; }));
  out += line("positions, velocities", open == 0 ? std::string("all joints fit")
                                                 : fmt::format("{} of {} joints do not fit", open, s.joints.size()));
  Table table({"joint", "type", "rows", "redundant", "largest gap", "over length", "at", "largest rate", "over speed",
               "at", ""},
              {1, 6, 9, 10});
  const auto places =
      shown(s.joints.size(), [&](std::size_t i) { return !s.joints[i].fits || s.joints[i].redundant > 0; });
  for (const std::size_t i : places) {
    const Inventory::Joint& j = s.joints[i];
    table.add({j.name, j.type, std::to_string(j.rows), j.redundant > 0 ? std::to_string(j.redundant) : "-",
               small(j.gap.value), small(j.gap.relative), j.gap.value > 0 ? j.gap.component : "", small(j.rate.value),
               small(j.rate.relative), j.rate.value > 0 ? j.rate.component : "", j.fits ? "" : "does not fit"});
  }
  return out + table.text() + cut(s.joints.size(), places.size(), "joints");
}

std::string projection_text(const Inventory& s) {
  if (!s.projection.positions && !s.projection.velocities && !s.projection.equilibrium) return "";
  std::string out = heading(s.projection.equilibrium ? "state at the start" : "projection of the start");
  const auto part = [&](const char* label, bool asked, const ProjectionReport& r, const char* by, const char* and_by) {
    if (!asked) return;
    out += line(label, r.iterations == 0 ? "fit, left as they are"
                                         : fmt::format("{} {:.6g}, {} {:.6g} ({} iterations)", by, r.translation,
                                                       and_by, r.rotation, r.iterations));
  };
  part("positions", s.projection.positions, s.projection.position, "moved by up to", "turned by up to");
  part("equilibrium", s.projection.equilibrium, s.projection.statics, "moved by up to", "turned by up to");
  part("velocities", s.projection.velocities, s.projection.velocity, "changed by up to", "angular by up to");
  return out;
}

std::string contacts_text(const Inventory& s) {
  if (s.contacts.empty()) return "";
  std::string out = heading("contacts at the start");
  Table table({"contact", "candidates", "touching", "penetrating", "impacts", "smallest gap", "at", "fastest approach"},
              {6});
  const auto places = shown(s.contacts.size(), [&](std::size_t i) { return s.contacts[i].penetrating > 0; });
  for (const std::size_t i : places) {
    const Inventory::Contact& c = s.contacts[i];
    table.add({c.name, std::to_string(c.candidates), std::to_string(c.touching), std::to_string(c.penetrating),
               std::to_string(c.impacts), number_text(c.smallest_gap), c.nearest, number_text(c.approach)});
  }
  return out + table.text() + cut(s.contacts.size(), places.size(), "contacts");
}

std::string stiffness_text(const Inventory& s) {
  if (s.stiffness_remark.empty()) return "";
  std::string out = heading("stiffest elements");
  Table table({"elements", "number", "stiffest", "angular frequency", "period", "steps a period"}, {2});
  const auto places = shown(s.frequencies.size(), [&](std::size_t i) {
    return s.frequencies[i].steps > 0 && s.frequencies[i].steps < longest_list;
  });
  for (const std::size_t i : places) {
    const Inventory::Frequency& f = s.frequencies[i];
    const bool moves = f.omega > 0;
    table.add({f.kind, std::to_string(f.elements), moves ? f.element : "-", moves ? number_text(f.omega) : "-",
               moves ? number_text(f.period) : "-", moves ? fmt::format("{:.3g}", f.steps) : "-"});
  }
  const std::size_t end = s.stiffness_remark.find("; ");
  return out + table.text() + cut(s.frequencies.size(), places.size(), "kinds") + "  " +
         s.stiffness_remark.substr(0, end) +
         (end == std::string::npos ? "" : ";\n  " + s.stiffness_remark.substr(end + 2)) + "\n";
}

// What a step of this many per period makes of a vibration.
const char* resolution(double steps) { return steps >= 20 ? "resolved" : steps >= 5 ? "coarse" : "not resolved"; }

std::string natural_text(const Inventory& s) {
  const NaturalModes& n = s.natural;
  std::string out = heading(std::string("natural frequencies of small motions about the ") +
                            (s.projection.equilibrium ? "equilibrium" : "start"));
  if (!n.left_out.empty()) return out + "  left out: " + n.left_out + "\n";
  out +=
      line("motions with mass",
           fmt::format("{}{}", n.motions,
                       n.free_motions > 0 ? fmt::format(", {} free of stiffness (frequency 0)", n.free_motions) : ""));
  if (s.candidates > 0) out += line("", "contacts and stops are left out");
  if (n.imbalance > balanced)
    out += line("", fmt::format("the start is not an equilibrium: {:.3g} of the sum of the forces is not balanced;",
                                n.imbalance)) +
           line("", "the frequencies are those of the tangent there");
  else if (n.asymmetry > balanced)
    out += line("", fmt::format("the tangent is not symmetric ({:.3g} of its size), as with follower forces:",
                                n.asymmetry)) +
           line("", "the frequencies are those of its symmetric part, flutter is not found");
  if (n.modes.empty()) return out;
  std::vector<std::string> head = {"mode", "angular frequency", "frequency", "period"};
  if (s.dynamic) {
    head.emplace_back("steps a period");
    head.emplace_back("");
  }
  Table table(head, {5});
  for (std::size_t i = 0; i < n.modes.size(); ++i) {
    const double square = n.modes[i].omega_squared, omega = std::sqrt(std::abs(square));
    std::vector<std::string> row = {std::to_string(i + 1)};
    if (square > 0) {
      const double period = 2 * M_PI / omega;
      row.insert(row.end(), {number_text(omega), number_text(1 / period), number_text(period)});
      if (s.dynamic) row.insert(row.end(), {fmt::format("{:.3g}", period / s.step), resolution(period / s.step)});
    } else {
      row.insert(row.end(), {"-", "-", "-"});
      if (s.dynamic) row.insert(row.end(), {"-", ""});
      row.back() += fmt::format("unstable, grows with the rate {:.6g}", omega);
    }
    table.add(std::move(row));
  }
  return out + table.text();
}

std::string totals_text(const Inventory& s) {
  std::string out = heading("scales and totals");
  out += line("scales", fmt::format("length {}, speed {}, mass {}", number_text(s.scales.length),
                                    number_text(s.scales.speed), number_text(s.scales.mass)));
  const double energy = s.energies.kinetic + s.energies.elastic + std::abs(s.energies.potential);
  out += line("energy", fmt::format("kinetic {}, elastic {}, potential {}", beside(s.energies.kinetic, energy),
                                    beside(s.energies.elastic, energy), beside(s.energies.potential, energy)));
  out += line("momentum", vector_text(s.momenta.linear));
  out += line("angular momentum", vector_text(s.momenta.angular) + " about the origin");
  return out;
}

// ---- JSON

json to_json(const Vec3& x) { return {x[0], x[1], x[2]}; }

json to_json(const std::vector<Inventory::Count>& list) {
  json out = json::object();
  for (const Inventory::Count& c : list) out[c.what] = c.number;
  return out;
}

json to_json(const Inventory::Largest& x) {
  return {{"largest", x.value}, {"relative", x.relative}, {"component", x.component}};
}

json to_json(bool asked, const ProjectionReport& r) {
  return {{"asked", asked}, {"iterations", r.iterations}, {"translation", r.translation}, {"rotation", r.rotation}};
}

json bodies_json(const Inventory& s) {
  json out = json::array();
  for (const Inventory::Body& b : s.bodies) {
    json body = {{"name", b.name}, {"type", b.type}, {"equations", b.equations}};
    if (b.in_space) body["mass"] = b.mass;
    if (b.in_space) body["center"] = to_json(b.center);
    if (b.inertia) body["principal_inertias"] = to_json(*b.inertia);
    if (b.length) body["length"] = *b.length;
    out.push_back(std::move(body));
  }
  return out;
}

json joints_json(const Inventory& s) {
  json list = json::array(), redundant = json::array();
  for (const Inventory::Joint& j : s.joints)
    list.push_back({{"name", j.name},
                    {"type", j.type},
                    {"rows", j.rows},
                    {"redundant", j.redundant},
                    {"gap", to_json(j.gap)},
                    {"rate", to_json(j.rate)},
                    {"fits", j.fits}});
  for (const Inventory::Redundant& r : s.redundant)
    redundant.push_back({{"joint", r.joint}, {"component", r.component}});
  return {{"rows", s.joint_rows}, {"rank", s.rank}, {"redundant", redundant}, {"list", list}};
}

json contacts_json(const Inventory& s) {
  json list = json::array(), redundant = json::array();
  for (const Inventory::Contact& c : s.contacts)
    list.push_back({{"name", c.name},
                    {"candidates", c.candidates},
                    {"touching", c.touching},
                    {"penetrating", c.penetrating},
                    {"impacts", c.impacts},
                    {"smallest_gap", c.smallest_gap},
                    {"nearest", c.nearest},
                    {"fastest_approach", c.approach}});
  for (const Inventory::Redundant& r : s.redundant_contacts)
    redundant.push_back({{"contact", r.joint}, {"candidate", r.component}});
  return {{"candidates", s.candidates},
          {"touching", s.touching},
          {"rank_with_joints", s.rank_with_contacts},
          {"redundant", redundant},
          {"list", list}};
}

json natural_json(const Inventory& s) {
  const NaturalModes& n = s.natural;
  if (!n.left_out.empty()) return {{"left_out", n.left_out}};
  json list = json::array();
  for (const NaturalModes::Mode& mode : n.modes) {
    const double omega = std::sqrt(std::abs(mode.omega_squared));
    if (mode.omega_squared < 0) {
      list.push_back({{"growth_rate", omega}});
      continue;
    }
    const double period = 2 * M_PI / omega;
    json entry = {{"angular_frequency", omega}, {"frequency", 1 / period}, {"period", period}};
    if (s.dynamic) entry["steps"] = period / s.step;
    list.push_back(std::move(entry));
  }
  return {{"motions", n.motions},
          {"free_motions", n.free_motions},
          {"massless_motions", n.massless},
          {"resolution", n.resolution},
          {"imbalance", n.imbalance},
          {"asymmetry", n.asymmetry},
          {"list", list}};
}

json stiffness_json(const Inventory& s) {
  json list = json::array();
  for (const Inventory::Frequency& f : s.frequencies) {
    json entry = {{"elements", f.kind}, {"number", f.elements}, {"without_mass", f.massless_elements}};
    if (f.omega > 0) {
      entry["stiffest"] = f.element;
      entry["angular_frequency"] = f.omega;
      entry["period"] = f.period;
      entry["steps"] = f.steps;
    }
    list.push_back(std::move(entry));
  }
  json out = {{"step", s.step}, {"list", list}, {"meaning", s.stiffness_remark}};
  if (s.stable && std::isfinite(s.stable->largest))
    out["stable_step"] = {
        {"largest", s.stable->largest}, {"angular_frequency", s.stable->omega}, {"by_elements", s.stable->guaranteed}};
  return out;
}

}  // namespace

std::string inventory_text(const Inventory& s) {
  std::string out = s.title.empty() ? "" : printable(s.title) + "\n";
  out += masses_text(s) + freedom_text(s) + projection_text(s) + joints_text(s) + contacts_text(s) + stiffness_text(s) +
         natural_text(s) + totals_text(s);
  if (!s.remarks.empty()) {
    out += heading("remarks");
    for (const std::string& r : s.remarks) out += "  " + r + "\n";
  }
  return out.starts_with('\n') ? out.substr(1) : out;
}

std::string inventory_json(const Inventory& s) {
  const json out = {
      {"title", s.title},
      {"mass", {{"total", s.mass}, {"center", to_json(s.center)}}},
      {"bodies", bodies_json(s)},
      {"nodes", to_json(s.nodes)},
      {"elements", to_json(s.elements)},
      {"freedom",
       {{"components", s.components},
        {"fixed", s.fixed},
        {"equations", s.equations},
        {"linear", s.linear},
        {"degrees_of_freedom", s.freedom}}},
      {"joints", joints_json(s)},
      {"contacts", contacts_json(s)},
      {"projection",
       {{"positions", to_json(s.projection.positions, s.projection.position)},
        {"equilibrium", to_json(s.projection.equilibrium, s.projection.statics)},
        {"velocities", to_json(s.projection.velocities, s.projection.velocity)}}},
      {"stiffness", stiffness_json(s)},
      {"natural_frequencies", natural_json(s)},
      {"scales", {{"length", s.scales.length}, {"speed", s.scales.speed}, {"mass", s.scales.mass}}},
      {"energy",
       {{"kinetic", s.energies.kinetic}, {"elastic", s.energies.elastic}, {"potential", s.energies.potential}}},
      {"momentum", {{"linear", to_json(s.momenta.linear)}, {"angular", to_json(s.momenta.angular)}}},
      {"remarks", s.remarks},
  };
  return out.dump(2) + "\n";
}

}  // namespace carom
