#include "tests/properties/answer.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/model_run.hpp"

namespace carom::properties {

Answer answer_of(const nlohmann::json& model, const std::string& file) {
  test::ModelRun run = test::ModelRun::of_document(parse_model(model.dump(), file));
  Answer answer;
  const auto kinetic_and_elastic = [&](const State& s) {
    const Energies e = run.system().energies(s.q, s.v, s.t);
    return e.kinetic + e.elastic;
  };
  answer.status = run.run([&](const StepView& view) {
    answer.energy_scale = std::max(answer.energy_scale, kinetic_and_elastic(view.state));
  });
  answer.impacts = run.statistics.impacts;
  answer.steps = run.statistics.steps;
  for (const RunStatistics::Iterations& i : run.statistics.iterations) answer.iterations += i.sum;
  answer.speed = run.statistics.largest_speed;
  const State& s = run.state();
  const DofMap& dofs = run.system().dofs();
  for (const BodyInfo& body : run.model->bodies) {
    BodyAnswer& b = answer.bodies[body.name];
    for (const int node : body.nodes) {
      b.x.push_back(run.model->place({node, Vec3::Zero()}, s.q));
      Vec3 v = Vec3::Zero();
      for (int c = 0; c < 3; ++c)
        if (const int e = dofs.equation(node, c); e >= 0) v[c] = s.v[static_cast<std::size_t>(e)];
      b.v.push_back(v);
      answer.length = std::max(answer.length, b.x.back().norm());
    }
  }
  answer.energy = kinetic_and_elastic(s);
  return answer;
}

double difference(const Answer& a, const Answer& b, const std::function<Vec3(const Vec3&)>& place,
                  const std::function<Vec3(const Vec3&)>& velocity) {
  REQUIRE(a.bodies.size() == b.bodies.size());
  double largest = 0;
  for (const auto& [name, body] : a.bodies) {
    const BodyAnswer& other = b.bodies.at(name);
    REQUIRE(body.x.size() == other.x.size());
    for (std::size_t k = 0; k < body.x.size(); ++k) {
      const double dx = (other.x[k] - place(body.x[k])).norm(), dv = (other.v[k] - velocity(body.v[k])).norm();
      largest = std::max({largest, dx / b.length, b.speed > 0 ? dv / b.speed : dv});
    }
  }
  return largest;
}

}  // namespace carom::properties
