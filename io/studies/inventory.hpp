// The inventory of a model without a step: the results of `carom check`.
//
// All values are computed from the built mechanics, not read from the file again: masses by applying M, degrees of
// freedom from the equations and the rank of G (core/mechanics/row_rank.hpp), gaps and rates from the constraints,
// frequencies from the tangents (core/mechanics/element_frequency.hpp and natural_modes.hpp). "Fits", "touches" and
// "penetrates" mean within or beyond 1e-9 of the model's length or speed scale.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/mechanics/element_block.hpp"
#include "core/mechanics/natural_modes.hpp"
#include "io/model/model.hpp"

namespace carom {

struct Inventory {
  struct Body {
    std::string name, type;
    double mass = 0;
    Vec3 center = Vec3::Zero();    ///< centre of mass; centre of the nodes for a body without mass
    std::optional<Vec3> inertia;   ///< principal moments about the centre, ascending; for rigid bodies
    std::optional<double> length;  ///< for bars and beams
    bool in_space = true;          ///< false for coordinates: no mass and no centre
    int equations = 0;
  };
  struct Count {
    std::string what;
    int number = 0;
  };
  /// The largest of some values: absolute, relative to its scale, and its place.
  struct Largest {
    double value = 0, relative = 0;
    std::string component;
  };
  struct Joint {
    std::string name, type;
    int rows = 0, redundant = 0;
    Largest gap, rate;  ///< |g| and |g'|
    bool fits = true;
  };
  struct Redundant {
    std::string joint, component;  ///< joint and component, or contact and point
  };
  /// A contact, or a stop of a joint.
  struct Contact {
    std::string name;
    int candidates = 0, touching = 0, penetrating = 0;
    double smallest_gap = 0;
    std::string nearest;  ///< the candidate with the smallest gap
    double approach = 0;  ///< largest speed of approach of a candidate; 0 if no candidate approaches
    int impacts = 0;      ///< number of candidates that touch or penetrate, and approach
  };
  struct Frequency {
    std::string kind, element;  ///< name of the block, and its stiffest element
    int elements = 0, massless_elements = 0;
    double omega = 0, period = 0, steps = 0;  ///< rad per time; 2 pi/omega; period over the step
  };

  std::string title;
  double mass = 0;
  Vec3 center = Vec3::Zero();
  std::vector<Body> bodies;

  std::vector<Count> nodes, elements;  ///< existing nodes and elements by kind
  int components = 0, fixed = 0, equations = 0;
  bool linear = false;

  int joint_rows = 0, rank = 0, freedom = 0;  ///< freedom: equations - rank
  std::vector<Joint> joints;
  std::vector<Redundant> redundant;  ///< rows of joints, in model order, that depend on earlier rows

  int candidates = 0, touching = 0, rank_with_contacts = 0;
  std::vector<Contact> contacts;
  std::vector<Redundant> redundant_contacts;  ///< touching contacts that depend on joints and earlier contacts

  InitialProjection projection;
  std::vector<Frequency> frequencies;
  double step = 0;
  std::optional<StableStep> stable;  ///< of an explicit method
  NaturalModes natural;              ///< of small motions about the start
  bool dynamic = true;               ///< the method resolves motions in time
  std::string stiffness_remark;      ///< consequence of the highest frequency for the step; empty without stiffness

  Scales scales;
  Energies energies;
  Momenta momenta;
  std::vector<std::string> remarks;
};

/// Requires a valid model and its document. modes: at most so many natural frequencies.
Inventory inspect_model(const Model& model, const ModelDocument& document, int modes = 6);

/// A report for users; long lists are cut.
std::string inventory_text(const Inventory& stock);
/// The complete inventory as JSON.
std::string inventory_json(const Inventory& stock);

}  // namespace carom
