// The contract of integrators, for every one there is. A new integrator: one line in the list below.
#include <doctest/doctest.h>

#include <vector>

#include "tests/contract/integrator_contract.hpp"

namespace {

using namespace carom::test;

std::vector<MethodCase> methods() {
  return {
      {"decoupled", R"({"type": "nsga_decoupled", "impact": "published"})"},
      {"decoupled, spectral radius 1", R"({"type": "nsga_decoupled", "impact": "published", "rho_infinity": 1})"},
      {"decoupled, spectral radius 0", R"({"type": "nsga_decoupled", "impact": "published", "rho_infinity": 0})"},
      {"decoupled without force corrections",
       R"({"type": "nsga_decoupled", "impact": "published", "force_corrections": false})"},
      {.name = "decoupled, modified Newton",
       .keys = R"({"type": "nsga_decoupled", "impact": "published", "newton": {"method": "modified"}})",
       .keeps_matrices = true},
      {.name = "decoupled with friction",
       .keys = R"({"type": "nsga_decoupled", "impact": "published"})",
       .friction = 0.4},
      {.name = "decoupled with friction, mean directions",
       .keys = R"({"type": "nsga_decoupled", "impact": "published", "reaction_directions": "mean"})",
       .friction = 0.4},
      {.name = "decoupled, located impacts",
       .keys = R"({"type": "nsga_decoupled", "impact": "located"})",
       .law_at_impact = true},
      {.name = "decoupled with friction, located impacts",
       .keys = R"({"type": "nsga_decoupled", "impact": "located"})",
       .law_at_impact = true,
       .friction = 0.4},
      {"coupled", R"({"type": "nsga_coupled"})"},
      {.name = "coupled with friction", .keys = R"({"type": "nsga_coupled"})", .friction = 0.4},
      {"coupled, mean directions", R"({"type": "nsga_coupled", "reaction_directions": "mean"})"},
      {"coupled, smooth gaps", R"({"type": "nsga_coupled", "activation": "smooth_gap"})"},
      {.name = "monolithic", .keys = R"({"type": "nsga_monolithic"})", .chooses_pivots = true},
      {.name = "monolithic with friction",
       .keys = R"({"type": "nsga_monolithic"})",
       .chooses_pivots = true,
       .friction = 0.4},
      {.name = "monolithic, mean directions",
       .keys = R"({"type": "nsga_monolithic", "reaction_directions": "mean"})",
       .chooses_pivots = true},
      {"PVA", R"({"type": "nsga_pva"})"},
      {"PVA, strategy 2", R"({"type": "nsga_pva", "strategy": 2})"},
      {.name = "PVA with friction, strategy 2", .keys = R"({"type": "nsga_pva", "strategy": 2})", .friction = 0.4},
      {.name = "PVA, strategy 1", .keys = R"({"type": "nsga_pva", "strategy": 1})", .order = 1, .multiplier_order = 0},
      {.name = "event driven", .keys = R"({"type": "event_driven", "rest_speed": 1e-3})", .law_at_impact = true},
      {.name = "index 3",
       .keys = R"({"type": "generalized_alpha", "formulation": "index_3"})",
       .velocity_level = false,
       .contacts = false},
      {.name = "index 2",
       .keys = R"({"type": "generalized_alpha", "formulation": "index_2"})",
       .position_level = false,
       .contacts = false},
      {.name = "index 1",
       .keys = R"({"type": "generalized_alpha", "formulation": "index_1"})",
       .position_level = false,
       .velocity_level = false,
       .contacts = false},
      {.name = "Baumgarte",
       .keys = R"({"type": "generalized_alpha", "formulation": "baumgarte", "baumgarte": {"alpha": 10, "beta": 10}})",
       .position_level = false,
       .velocity_level = false,
       .contacts = false},
      {.name = "GGL with G_n", .keys = R"({"type": "generalized_alpha", "formulation": "ggl"})", .contacts = false},
      {.name = "GGL", .keys = R"({"type": "generalized_alpha", "formulation": "ggl_modified"})", .contacts = false},
      {.name = "smooth PVA", .keys = R"({"type": "generalized_alpha", "formulation": "pva"})", .contacts = false},
      {.name = "Moreau-Jean",
       .keys = R"({"type": "moreau_jean"})",
       .order = 1,
       .multiplier_order = 0,
       .position_level = false,
       .contacts_at_end = false},
      // velocities between two times obey joints and impact law; their means at the ends of steps do not
      {.name = "CD-Lagrange",
       .keys = R"({"type": "cd_lagrange"})",
       .order = 1,
       .multiplier_order = 0,
       .position_level = false,
       .velocity_level = false,
       .steps = 20},
      {.name = "CD-Lagrange with friction",
       .keys = R"({"type": "cd_lagrange"})",
       .order = 1,
       .multiplier_order = 0,
       .position_level = false,
       .velocity_level = false,
       .steps = 20,
       .friction = 0.4},
      {.name = "CD-Lagrange with dissipation",
       .keys = R"({"type": "cd_lagrange", "rho_bifurcation": 0.5})",
       .order = 1,
       .multiplier_order = 0,
       .position_level = false,
       .velocity_level = false,
       .steps = 20},
      {.name = "Paoli-Schatzman",
       .keys = R"({"type": "paoli_schatzman"})",
       .multiplier_order = 0,
       .velocity_level = false,
       .frames = false,
       .restitution = false},  // with it the condition is not on the gap at the end
      {.name = "Carpenter",
       .keys = R"({"type": "carpenter"})",
       .multiplier_order = 0,
       .velocity_level = false,
       .frames = false,
       .restitution = false},
      {.name = "Carpenter, implicit",
       .keys = R"({"type": "carpenter", "implicit": true})",
       .multiplier_order = 0,
       .velocity_level = false,
       .contacts = false},
      {.name = "Moreau-Jean with friction",
       .keys = R"({"type": "moreau_jean"})",
       .order = 1,
       .multiplier_order = 0,
       .position_level = false,
       .contacts_at_end = false,
       .friction = 0.4},
      {.name = "static", .keys = R"({"type": "static"})", .dynamic = false},
      {.name = "static with friction", .keys = R"({"type": "static"})", .dynamic = false, .friction = 0.4},
  };
}

template <class Check>
void for_methods(const Check& check) {
  for (const MethodCase& c : methods()) check(c);
}

}  // namespace

TEST_CASE("every integrator: errors in a smooth motion fall with the order of its paper") { for_methods(check_order); }
TEST_CASE("every integrator: joints and contacts hold at the end of a step at the levels it claims") {
  for_methods(check_levels);
}
TEST_CASE("every integrator: a restart from a record goes on to the last bit") { for_methods(check_restart); }
TEST_CASE("every integrator: a rejected step leaves no trace") { for_methods(check_rejected_step); }
TEST_CASE("every integrator: once contacts were met no step allocates") { for_methods(check_steps_without_allocation); }
TEST_CASE("every integrator: free bodies keep their momentum") { for_methods(check_momentum); }
