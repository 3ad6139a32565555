// Natural modes as VTU series, one per mode.
//
//   q(s) = q_0 o exp(A x sin s),   s = 0, 2 pi/24, ... 2 pi;   time of the frame: s/omega
//
// A makes the largest displacement of a node a tenth of the model's length, and no rotation larger than 0.3 rad. A
// motion that grows is drawn with its rate in place of omega. Velocities are those of the drawn motion, to first order.
#pragma once

#include <filesystem>
#include <string>

#include "core/mechanics/natural_modes.hpp"
#include "io/model/model.hpp"

namespace carom {

/// Writes <directory>/<name>_mode_<k>.pvd for every mode k = 1, 2, ... Removes
/// those of an earlier call with more modes. Throws FileError. The integrator is one of the
/// model; the pictures contain no contact forces.
void write_modes(const Model& model, Integrator& integrator, const NaturalModes& modes,
                 const std::filesystem::path& directory, const std::string& name);

}  // namespace carom
