// What the program says about a run that has ended.

#include "io/results/summary.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

TEST_CASE("remarks: energy that grew without cause by more than a twentieth of the energies is told") {
  const ModelRun run = ModelRun::of_file("elastic_bar");
  const auto told = [&](double growth) {
    RunStatistics statistics;
    statistics.growth = growth;
    return step_remarks(*run.model, run.integrator->info(), statistics);
  };
  CHECK(told(0).empty());
  CHECK(told(0.05).empty());
  const std::vector<std::string> remarks = told(0.06);
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0].find("the energy grew by up to 0.06 of the energies") == 0);
}

TEST_CASE("remarks: where drivers work, energy that grew by more than a quarter is told") {
  const ModelRun run = ModelRun::of_file("four_bar");
  RunStatistics statistics;
  statistics.growth = 0.25;
  CHECK(step_remarks(*run.model, run.integrator->info(), statistics).empty());
  statistics.growth = 0.26;
  CHECK(step_remarks(*run.model, run.integrator->info(), statistics).size() == 1);
}

TEST_CASE("remarks: forces below the roundoff of stiff members are told") {
  const ModelRun run = ModelRun::of_file("elastic_bar");
  const auto told = [&](double residual) {
    RunStatistics statistics;
    statistics.stalled_steps = 7;
    statistics.stalled_residual = residual;
    return step_remarks(*run.model, run.integrator->info(), statistics);
  };
  CHECK(told(0.01).empty());
  const std::vector<std::string> remarks = told(0.5);
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0].find("rounding left residuals of up to 0.5 of the forces in 7 steps") == 0);
}
