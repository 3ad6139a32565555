#include "io/studies/inventory.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "core/mechanics/element_frequency.hpp"
#include "core/mechanics/nodal_mass.hpp"
#include "core/mechanics/row_rank.hpp"
#include "core/mechanics/saddle_point.hpp"
#include "core/mechanics/switching_block.hpp"
#include "io/model/build_context.hpp"
#include "io/model/connectivity.hpp"
#include "io/model/types/registry.hpp"

namespace carom {

using nlohmann::json;

namespace {

constexpr double fits_within = 1e-9;  // relative to the scales

class ModelInspection {
 public:
  ModelInspection(const Model& model, const ModelDocument& document, int modes)
      : model_(model), system_(model.system), state_(model.state), root_(document.resolved()), modes_(modes) {}

  Inventory take() {
    if (root_.contains("title")) inventory_.title = text(root_["title"]);
    inventory_.scales = model_.scales;
    inventory_.projection = model_.projection;
    inventory_.energies = system_.energies(state_.q, state_.v, state_.t);
    inventory_.momenta = system_.momenta(state_.q, state_.v);
    inventory_.remarks = model_.warnings;
    masses();
    freedoms();
    joints();
    contacts();
    frequencies();
    inventory_.dynamic = !is_static();
    inventory_.natural = natural_modes(system_, state_.q, state_.t, modes_, model_.scales.length);
    remark_massless();
    remark_lumped();
    remark_falling();
    return std::move(inventory_);
  }

 private:
  Vec3 place(int node) const { return model_.place({node, Vec3::Zero()}, state_.q); }

  void masses() {
    const std::vector<NodalMass> nodal = nodal_masses(system_, state_.q);
    Vec3 moment = Vec3::Zero();
    for (const BodyInfo& info : model_.bodies) {
      Inventory::Body body;
      body.name = info.name;
      body.type = info.type;
      body.in_space = info.in_space;
      Vec3 first = Vec3::Zero(), sum = Vec3::Zero();
      for (const int node : info.nodes) {
        for (int c = 0; c < 6; ++c) body.equations += system_.dofs().equation(node, c) >= 0 ? 1 : 0;
        // masses of coordinates are no masses of bodies in space
        if (!info.in_space) continue;
        const double m = nodal[at(node)].largest();
        body.mass += m;
        first += m * place(node);
        sum += place(node);
      }
      body.center = body.mass > 0 ? Vec3(first / body.mass) : Vec3(sum / static_cast<double>(info.nodes.size()));
      if (info.nodes.size() == 1 && system_.dofs().kind(info.nodes[0]) == NodeKind::frame)
        body.inertia = principal_moments(nodal[at(info.nodes[0])].inertia);
      if (info.is_line) {
        double length = 0;
        for (std::size_t k = 1; k < info.nodes.size(); ++k)
          length += (place(info.nodes[k]) - place(info.nodes[k - 1])).norm();
        body.length = length;
      }
      inventory_.mass += body.mass;
      moment += first;
      inventory_.bodies.push_back(std::move(body));
    }
    if (inventory_.mass > 0) inventory_.center = moment / inventory_.mass;
  }

  static Vec3 principal_moments(const Mat3& J) {
    return Eigen::SelfAdjointEigenSolver<Mat3>(0.5 * (J + J.transpose()), Eigen::EigenvaluesOnly).eigenvalues();
  }

  void freedoms() {
    const DofMap& dofs = system_.dofs();
    int kinds[3] = {0, 0, 0};
    for (int node = 0; node < dofs.nodes(); ++node) {
      ++kinds[at(static_cast<int>(dofs.kind(node)))];
      inventory_.components += DofMap::components(dofs.kind(node));
    }
    static const char* const names[3] = {"scalar", "point", "frame"};
    for (std::size_t k = 0; k < 3; ++k)
      if (kinds[k] > 0) inventory_.nodes.push_back({names[k], kinds[k]});
    inventory_.equations = system_.size();
    inventory_.fixed = inventory_.components - inventory_.equations;
    inventory_.linear = system_.linear();

    // each line is a separate block: count all elements of a type together
    for (const auto& block : system_.elements()) {
      const auto body = std::find_if(model_.bodies.begin(), model_.bodies.end(), [&](const BodyInfo& b) {
        return std::any_of(b.elements.begin(), b.elements.end(), [&](const auto& e) { return e.block == block.get(); });
      });
      const std::string kind = body == model_.bodies.end() ? block->name() : body->type;
      auto found = std::find_if(inventory_.elements.begin(), inventory_.elements.end(),
                                [&](const Inventory::Count& c) { return c.what == kind; });
      if (found == inventory_.elements.end()) found = inventory_.elements.insert(found, {kind, 0});
      found->number += block->topology().items;
    }
  }

  void joints() {
    Vector g(at(system_.rows())), rate(g.size());
    system_.gaps(state_.q, state_.t, all_rows, g);
    system_.rates(state_.q, state_.v, state_.t, all_rows, rate);
    gaps_ = std::move(g);
    rates_ = std::move(rate);
    weights_ = row_weights(system_, model_.scales.length);

    // rank in the order of the model; constraints of coordinates count as joints
    std::vector<std::pair<const RowGroup*, std::string>> groups;
    for (std::size_t j = 0; j < model_.joints.size(); ++j)
      groups.emplace_back(&model_.joints[j], text(root_["joints"][j]["type"]));
    for (const RowGroup& constraint : model_.constraints) groups.emplace_back(&constraint, "constraint");
    std::vector<std::size_t> joint_of;
    for (std::size_t j = 0; j < groups.size(); ++j)
      for (const int row : groups[j].first->rows) {
        if (vacant_row(system_.row_block(row), system_.row_place(row).row)) continue;
        rows_.push_back(row);
        joint_of.push_back(j);
      }
    const RowRank rank = row_rank(system_, state_.q, state_.t, rows_);
    inventory_.joint_rows = static_cast<int>(rows_.size());
    inventory_.rank = rank.rank;
    inventory_.freedom = system_.size() - rank.rank;

    for (const auto& [found, type] : groups) {
      const RowGroup& group = *found;
      Inventory::Joint joint;
      joint.name = group.name;
      joint.type = type;
      joint.rows = static_cast<int>(group.rows.size());
      joint.gap = largest(group.rows, gaps_, model_.scales.length);
      joint.rate = largest(group.rows, rates_, model_.scales.speed);
      joint.fits = joint.gap.relative <= fits_within && joint.rate.relative <= fits_within;
      inventory_.joints.push_back(std::move(joint));
    }
    for (const int i : rank.redundant) {
      Inventory::Joint& joint = inventory_.joints[joint_of[at(i)]];
      ++joint.redundant;
      inventory_.redundant.push_back({joint.name, system_.row_component(rows_[at(i)])});
    }
  }

  Inventory::Largest largest(const std::vector<int>& rows, const Vector& values, double scale) const {
    const auto size = [&](int row) { return std::abs(values[at(row)]) / weights_[at(row)]; };
    Inventory::Largest found;
    int worst = -1;
    for (const int row : rows)
      if (worst < 0 || size(row) > size(worst)) worst = row;
    if (worst < 0) return found;
    return {std::abs(values[at(worst)]), size(worst) / scale, system_.row_component(worst)};
  }

  void contacts() {
    const double near = fits_within * model_.scales.length, slow = fits_within * model_.scales.speed;
    const std::size_t joint_rows = rows_.size();
    std::vector<RowGroup> groups = model_.contacts;
    groups.insert(groups.end(), model_.stops.begin(), model_.stops.end());
    for (const RowGroup& group : groups) {
      Inventory::Contact contact;
      contact.name = group.name;
      contact.candidates = static_cast<int>(group.rows.size());
      int nearest = -1;
      for (const int row : group.rows) {
        if (system_.row_vacant(row)) continue;
        const double gap = gaps_[at(row)], rate = rates_[at(row)], weight = weights_[at(row)];
        if (nearest < 0 || gap < gaps_[at(nearest)]) nearest = row;
        contact.approach = std::max(contact.approach, -rate);
        if (gap > near * weight) continue;
        ++(gap < -near * weight ? contact.penetrating : contact.touching);
        if (rate < -slow * weight) ++contact.impacts;
        rows_.push_back(row);
      }
      if (nearest >= 0) {
        contact.smallest_gap = gaps_[at(nearest)];
        contact.nearest = system_.row_name(nearest);
      }
      const auto open = system_.row_block(group.rows.front()).nearest_without_item(state_.q.data(), state_.v.data());
      if (nearest < 0 || open.gap < contact.smallest_gap) {
        contact.smallest_gap = open.gap;
        contact.nearest = open.name;
      }
      inventory_.candidates += contact.candidates;
      inventory_.touching += contact.touching + contact.penetrating;
      inventory_.contacts.push_back(std::move(contact));
    }
    inventory_.rank_with_contacts = inventory_.rank;
    if (rows_.size() == joint_rows) return;
    const RowRank rank = row_rank(system_, state_.q, state_.t, rows_);
    inventory_.rank_with_contacts = rank.rank;
    for (const int i : rank.redundant)
      if (at(i) >= joint_rows) {
        const int row = rows_[at(i)];
        inventory_.redundant_contacts.push_back(
            {system_.constraints()[at(system_.row_place(row).block)]->name(), system_.row_name(row)});
      }
  }

  void frequencies() {
    inventory_.step = model_.simulation.step;
    const Inventory::Frequency* highest = nullptr;
    for (const BlockFrequency& f : element_frequencies(system_, state_.q, state_.t)) {
      const ElementBlock& block = *system_.elements()[at(f.block)];
      Inventory::Frequency entry{block.name(), "", f.elements, f.massless_elements, f.omega, 0, 0};
      if (f.omega > 0) {
        entry.element = block.item_name(f.element);
        entry.period = 2 * M_PI / f.omega;
        entry.steps = entry.period / inventory_.step;
      }
      inventory_.frequencies.push_back(std::move(entry));
    }
    for (const Inventory::Frequency& f : inventory_.frequencies)
      if (f.omega > 0 && (highest == nullptr || f.omega > highest->omega)) highest = &f;
    inventory_.stable = model_.make_integrator(system_)->find_stable_step(state_);
    if (inventory_.stable)
      inventory_.stiffness_remark = stability(*inventory_.stable);
    else if (highest != nullptr && !is_static())
      inventory_.stiffness_remark = meaning(*highest);
  }

  bool is_static() const { return !method_of(root_["integrator"]).dynamic; }

  std::string stability(const StableStep& stable) const {
    if (!std::isfinite(stable.largest))
      return "the explicit method is stable at any step: no force depends on the motion";
    return fmt::format(
        "the largest stable step of the explicit method is {:.6g} at the start, the step {:.3g} of that; the highest "
        "angular frequency is {:.6g}, and the elements alone bound the step by {:.6g}",
        stable.largest, inventory_.step / stable.largest, stable.omega, stable.guaranteed);
  }

  // Of an implicit method.
  std::string meaning(const Inventory::Frequency& f) const {
    const json& integrator = root_["integrator"];
    const std::string period =
        fmt::format("the shortest period, {:.3g}, is that of {}: {:.3g} steps", f.period, f.element, f.steps);
    if (f.steps >= 20) return period + "; all vibrations are resolved";
    // each method has one parameter of numerical damping, or none
    std::string parameter;
    bool damps = false;
    if (integrator.contains("rho_infinity")) {
      const double rho = integrator["rho_infinity"].get<double>();
      parameter = fmt::format(" (rho_infinity = {:.3g})", rho);
      damps = rho < 1;
    } else if (integrator.contains("theta")) {
      const double theta = integrator["theta"].get<double>();
      parameter = fmt::format(" (theta = {:.3g})", theta);
      damps = theta > 0.5;
    }
    std::string damped = damps ? "damps them numerically" + parameter
                               : "does not damp them" + parameter + ": they go on as noise when something excites them";
    if (f.steps >= 5) return period + "; vibrations that fast are resolved coarsely, and the implicit method " + damped;
    return period + fmt::format(
                        "; the step resolves natural frequencies up to {:.3g} (periods from {:.3g} on, 20 steps); the "
                        "implicit method {}",
                        f.steps / (20 * f.period), 20 * f.period / f.steps,
                        std::string(damped).replace(damped.find("them"), 4, "faster ones"));
  }

  // Components without mass are allowed if joints hold them; otherwise the initial acceleration does not exist.
  void remark_massless() {
    if (!system_.has_massless_equation() || is_static()) return;
    const SparsePattern& pattern = system_.saddle_pattern();
    Vector values(at(pattern.nonzeros()));
    Linearisation request;
    request.c_M = 1;
    request.q_M = request.q = state_.q.data();
    request.t = state_.t;
    system_.assemble(request, values);
    std::vector<int> number(at(system_.size()), -1), massless;
    for (int i = 0; i < system_.size(); ++i)
      if (!(values[at(pattern.find(i, i))] > 0)) {
        number[at(i)] = static_cast<int>(massless.size());
        massless.push_back(i);
      }
    // their columns of G
    std::vector<SparseRow> columns(massless.size());
    SparseRow G;
    for (int row = 0; row < system_.bilateral(); ++row) {
      system_.row_gradient(row, state_.q, state_.t, nullptr, G);
      for (std::size_t k = 0; k < G.equation.size(); ++k)
        if (const int j = number[at(G.equation[k])]; j >= 0) {
          columns[at(j)].equation.push_back(row);
          columns[at(j)].value.push_back(G.value[k]);
        }
    }
    const std::vector<int> loose = row_rank(columns, std::max(1, system_.bilateral())).redundant;
    inventory_.remarks.push_back(fmt::format("{} of {} equations have no mass; {}", massless.size(), system_.size(),
                                             loose.empty() ? "joints hold them" : "not all are held by joints"));
    if (!loose.empty())
      inventory_.remarks.push_back("nothing determines the acceleration of " +
                                   system_.equation_name(massless[at(loose.front())]) +
                                   ": it has no mass and no joint holds it; a run cannot start");
  }

  // Bodies whose consistent mass matrix the method replaces.
  void remark_lumped() {
    if (!system_.lumped_mass()) return;
    std::string names;
    for (const json& body : root_["bodies"])
      if (body.contains("mass") && body["mass"] == "consistent")
        names += (names.empty() ? "" : ", ") + text(body["name"]);
    if (!names.empty())
      inventory_.remarks.push_back("the mass of " + names + " is lumped at the nodes, because " +
                                   text(root_["integrator"]["type"]) + " needs a diagonal mass matrix");
  }

  // Bodies on which gravity acts and which nothing connects to the ground.
  void remark_falling() {
    if (system_.gravity().norm() == 0) return;
    const std::vector<bool> tied = tied_to_ground(system_);
    std::string names;
    int count = 0;
    for (const BodyInfo& body : model_.bodies)
      if (body.in_space && !tied[at(body.nodes.front())] && ++count <= 5) names += (count > 1 ? ", " : "") + body.name;
    if (count > 5) names += fmt::format(" and {} more", count - 5);
    if (count > 0)
      inventory_.remarks.push_back(names + (count > 1 ? " fall" : " falls") +
                                   ": no joint, spring, load, obstacle or fixed direction is in the way");
  }

  const Model& model_;
  const System& system_;
  const State& state_;
  const json& root_;
  int modes_;
  Inventory inventory_;
  Vector gaps_, rates_, weights_;  // over the weights, rows are lengths
  std::vector<int> rows_;          // rows of joints in model order, then touching contacts
};

}  // namespace

Inventory inspect_model(const Model& model, const ModelDocument& document, int modes) {
  return ModelInspection(model, document, modes).take();
}

}  // namespace carom
