// Whether a model can start: its values are finite there, and its joints, drivers and modes agree. Every complaint is
// an issue at the key of a body, joint or contact.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace carom {

class BuildContext;
struct Model;
class ModelIssues;
struct Scales;

/// Places, rotations and velocities of the bodies. Precondition: the system is finalized, and model.state is set.
void check_motion(BuildContext& context);
/// Formulas, gaps and their rates. Precondition: rows of joints, contacts and constraints are known.
void check_rows(const Model& model, ModelIssues& issues);
/// Joints and drivers that contradict each other: no motion meets them together. Precondition: as above, and
/// model.scales is set.
void check_demands(const nlohmann::json& integrator, const Model& model, ModelIssues& issues);
/// Scales that overflow.
void check_overflow(const Scales& scales, ModelIssues& issues);
/// Scales, energy and momentum.
void check_scales(const Model& model, ModelIssues& issues);
/// A start off its mode, and what is wrong with modes along the path ahead.
void check_modes(const nlohmann::json& root, const Model& model, ModelIssues& issues);

}  // namespace carom
