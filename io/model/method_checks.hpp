// Whether the method of a model fits it: keys of the method among themselves, kinds of rows, loads. Every complaint is
// an issue at the key to change.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace carom {

struct Model;
class ModelIssues;

/// Keys of the method that do not fit each other, and constraints, joints and contacts that the method does not take.
/// Options that are allowed but doubtful are remarks of the model. Precondition: rows are numbered.
void check_method(const nlohmann::json& root, Model& model, ModelIssues& issues);
/// A path by arc length is measured by loads that grow.
void check_arc_length(const nlohmann::json& root, const Model& model, ModelIssues& issues);

}  // namespace carom
