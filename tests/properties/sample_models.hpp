// The models on which properties are tested: those of data/models, and random mechanisms.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/model/model_document.hpp"
#include "tests/properties/random_mechanism.hpp"

namespace carom::properties {

/// A model of data/models, mostly with coarser and fewer steps, which include the first impacts.
struct ModelCase {
  std::string name;
  double step = 0, duration = 0;  ///< 0: the model's
  bool turns = true;              ///< false: bars of linear kinematics lie along an axis of the model
  double tolerance = 1e-6;
};

// Left out: cube_gmsh, which is the cube with another mesh.
inline const std::vector<ModelCase> quick_models = {
    {"bouncing_ball", 1e-3, 1.5}, {"bead_chain", 1e-3, 0.3},    {"brick", 1e-3, 0.6},
    {"brick_flat", 1e-3, 0.4},    {"brick_tied", 1e-3, 0.6},    {"cantilever_on_obstacle"},
    {"cradle", 1e-3, 0.7},        {"cube", 5e-3, 0.4},          {"elastic_bar", 2e-3, 1.5, false},
    {"four_bar", 1e-3, 0.3},      {"bricard", 5e-3, 0.5},       {"heavy_top", 1e-3, 0.2},
    {"moving_floor", 1e-3, 0.5},  {"pendulum_beam", 1e-3, 0.3}, {"pendulum_beam_pva18", 1e-3, 0.3},
    {"rotating_blade", 2e-2, 8},  {"slider_crank", 4e-3, 0.6},  {"whip", 5e-3, 0.3},
};
// A stiff shaft, and many nodes of a soft head that strike at once.
inline const std::vector<ModelCase> slow_models = {{"mixed", 5e-3, 0.3, true, 1e-4}};

struct Seeds {
  unsigned first, last;
};
inline constexpr Seeds quick_seeds = {1, 8}, more_seeds = {9, 60};

struct Written {
  std::string name;
  nlohmann::json model;
  std::string file;
  bool turns = true;
  double tolerance = 1e-6;
};

/// Mechanisms with friction in their joints. Where a joint nearly jams, rounding decides how many iterations its limit
/// takes, and whether a step is subdivided.
template <class Test>
void for_rubbing(Seeds seeds, const Test& test) {
  for (unsigned seed = seeds.first; seed <= seeds.last; ++seed) {
    const std::string name = "rubbing_mechanism_" + std::to_string(seed);
    CAPTURE(name);
    const ModelDocument document = parse_model(random_rubbing_mechanism(seed).dump(), name + ".json");
    REQUIRE_MESSAGE(document.ok(), document.report());
    test(Written{name, document.resolved(), name + ".json", true, 1e-5});
  }
}

template <class Test>
void for_all(const std::vector<ModelCase>& models, Seeds seeds, const Test& test) {
  for (const ModelCase& c : models) {
    CAPTURE(c.name);
    const std::string file = std::string(CAROM_SOURCE_DIR) + "/data/models/" + c.name + ".json";
    std::vector<std::string> settings = {"/expect=[]"};
    if (c.step > 0) settings.push_back("/integrator/step=" + std::to_string(c.step));
    if (c.duration > 0) settings.push_back("/integrator/duration=" + std::to_string(c.duration));
    const ModelDocument document = load_model(file, settings);
    REQUIRE_MESSAGE(document.ok(), document.report());
    test(Written{c.name, document.resolved(), file, c.turns, c.tolerance});
  }
  for (unsigned seed = seeds.first; seed <= seeds.last; ++seed) {
    const std::string name = "mechanism_" + std::to_string(seed);
    CAPTURE(name);
    const ModelDocument document = parse_model(random_mechanism(seed).dump(), name + ".json");
    REQUIRE_MESSAGE(document.ok(), document.report());
    test(Written{name, document.resolved(), name + ".json"});
  }
}

}  // namespace carom::properties
