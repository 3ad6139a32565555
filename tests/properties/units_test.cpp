// The answer does not depend on the units: the same model in micrometres, millimetres, kilometres, grams, tonnes
// and milliseconds.
//
// Factors that are powers of two change no digit of a number, so that the same operations give the same digits, unless
// something is compared with a number that has a unit, or with one that should have. Powers of ten change the rounding
// of every number; impacts and what Newton's method leaves amplify that.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/properties/answer.hpp"
#include "tests/properties/sample_models.hpp"

using namespace carom;
using namespace carom::properties;

namespace {

struct NamedUnits {
  const char* name;
  Units units;
};
const std::vector<NamedUnits> two_units = {{"mm t", {1e3, 1e-3, 1}}, {"km g ms", {1e-3, 1e3, 1e3}}};
const std::vector<NamedUnits> many_units = {{"um", {1e6, 1, 1}}, {"mm", {1e3, 1, 1}}, {"km", {1e-3, 1, 1}},
                                            {"g", {1, 1e3, 1}},  {"t", {1, 1e-3, 1}}, {"ms", {1, 1, 1e3}}};
const std::vector<NamedUnits> powers_of_two = {
    {"2^20 m", {1048576, 1, 1}}, {"2^-10 m", {1.0 / 1024, 1, 1}}, {"2^10 kg", {1, 1024, 1}}, {"2^10 s", {1, 1, 1024}}};

double difference_in(const Units& units, const Answer& a, const Answer& b) {
  const double energy = std::abs(b.energy - units.energy() * a.energy) / (units.energy() * a.energy_scale);
  return std::max(energy, difference(
                              a, b, [&](const Vec3& x) { return Vec3(units.length * x); },
                              [&](const Vec3& v) { return Vec3(units.velocity() * v); }));
}

// The model by another method, with the keys that all methods have.
void use_method(nlohmann::json& model, const std::string& type) {
  const nlohmann::json& own = model.at("integrator");
  model["integrator"] = {{"type", type}, {"step", own.at("step")}, {"duration", own.at("duration")}};
}

// One line per model: the largest difference, iterations and impacts in every unit. Without `method`: by the model's.
void check_units(const std::vector<ModelCase>& models, Seeds seeds, const std::vector<NamedUnits>& all, double most = 1,
                 const std::string& method = "") {
  for_all(models, seeds, [&](Written w) {
    if (!method.empty()) use_method(w.model, method);
    const Answer a = answer_of(w.model, w.file);
    REQUIRE(a.status == RunStatus::completed);
    std::string line = fmt::format("{:24} {:6} {:5}", w.name, a.iterations, a.impacts);
    for (const NamedUnits& to : all) {
      CAPTURE(to.name);
      const Answer b = answer_of(in_units(w.model, to.units), w.file);
      const double d = difference_in(to.units, a, b);
      line += fmt::format("  {}: {:8.1e} {:+5}", to.name, d, b.iterations - a.iterations);
      if (b.impacts != a.impacts) line += fmt::format(" impacts {}", b.impacts);
      CHECK(b.status == RunStatus::completed);
      CHECK(d < std::min(w.tolerance, most));
      CHECK(b.impacts == a.impacts);
      CHECK(b.steps == a.steps);
      // iterations that end near their tolerance may be one more or less
      CHECK(std::abs(b.iterations - a.iterations) <= 0.02 * static_cast<double>(a.iterations) + 2);
    }
    MESSAGE(line);
  });
}

}  // namespace

TEST_CASE("units: models in mm and t, and in km, g and ms, give the same answer in them") {
  check_units(quick_models, quick_seeds, two_units);
}

TEST_CASE("units: bodies in joints strike an obstacle alike in mm and km by all methods of this family") {
  for (const std::string method : {"nsga_coupled", "nsga_monolithic", "nsga_pva", "event_driven"}) {
    CAPTURE(method);
    // impacts of mechanisms accumulate, which ends an event-driven run
    const Seeds seeds = method == "event_driven" ? Seeds{1, 0} : Seeds{1, 4};
    check_units({{"brick_tied", 1e-3, 0.6}, {"cradle", 1e-3, 0.7}}, seeds, two_units, 1, method);
  }
}

TEST_CASE("units: every model in um, mm, km, g, t and ms" * doctest::test_suite("long")) {
  check_units(quick_models, more_seeds, many_units);
  check_units(slow_models, {1, 0}, many_units);
}

TEST_CASE("units: powers of two change no digit" * doctest::test_suite("long")) {
  check_units(quick_models, quick_seeds, powers_of_two, 1e-11);
}
