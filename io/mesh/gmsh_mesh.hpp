// Meshes from Gmsh: .msh files (versions 2 and 4, ASCII and binary), and .geo and .step files, which Gmsh meshes.
//
// Physical groups of volumes choose elements. Physical groups of surfaces, curves and points become groups of nodes
// (and faces); the number of a group replaces a missing name. Nodes are numbered in the order of their tags, elements
// in the order of the file. Usable elements are 8-node hexahedra and 4-node tetrahedra. The program carom_gmsh reads
// the file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/errors.hpp"
#include "io/mesh/mesh.hpp"

namespace carom {

/// The file does not contain the requested group of volumes.
class UnknownVolume : public FileError {
 public:
  using FileError::FileError;
};

/// The elements of one group of volumes, or all elements; coordinates are multiplied by `scale`. Throws FileError; if
/// something is missing, the message lists the contents of the file.
Mesh read_gmsh(const std::filesystem::path& file, const std::optional<std::string>& volume, double scale = 1);

}  // namespace carom
