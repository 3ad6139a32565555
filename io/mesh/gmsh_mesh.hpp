// Meshes from Gmsh: .msh of the versions 2 and 4, ASCII and binary, and .geo and .step, which are meshed.
//
// Physical groups of volumes choose elements, those of surfaces, curves and points give groups of nodes (and faces);
// a group without a name goes by its number. Nodes are numbered in the order of their tags, elements in that of the
// file. Usable elements are 8-node hexahedra and 4-node tetrahedra. The work is done by the program carom_gmsh.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/errors.hpp"
#include "io/mesh/mesh.hpp"

namespace carom {

/// The group of volumes asked for is not in the file.
class UnknownVolume : public FileError {
 public:
  using FileError::FileError;
};

/// The elements of one group of volumes, or of all; coordinates multiplied by `scale`. Throws FileError, with what the
/// file has where something is missing in it.
Mesh read_gmsh(const std::filesystem::path& file, const std::optional<std::string>& volume, double scale = 1);

}  // namespace carom
