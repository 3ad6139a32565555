// Forces of solid elements by vectors of four doubles and, where the processor has them, of eight.
#pragma once

namespace carom::solid {

/// Lame's constants.
struct Lame {
  double lambda = 0, mu = 0;
};

/// Elements of a mesh at a configuration.
struct PlacedMesh {
  const double* reference = nullptr;  ///< positions of the nodes in blocks: solid_groups.hpp
  const double* jacobians = nullptr;  ///< of a mesh of parallelepipeds: dX_i/dxi in blocks, i major; else null
  const double* q = nullptr;          ///< configuration
  const int* offsets = nullptr;       ///< of the nodes in it, element after element
};

/// f -= dE/dx of elements [first, last), node after node, element after element, from element `first` on. Returns the
/// elastic energy E of the elements.
using InternalForces = double (*)(const Lame& constants, const PlacedMesh& mesh, int first, int last, double* f);

enum class ElasticLaw { saint_venant_kirchhoff, neo_hookean, corotational };

/// The forces of a law of elements with 8 or 4 nodes, by vectors of four doubles.
InternalForces elastic_forces(ElasticLaw law, int nodes, bool incompatible_modes);
/// The same bits by vectors of eight; null if the processor, or the build, has no AVX-512.
InternalForces avx512_forces(ElasticLaw law, int nodes, bool incompatible_modes);

}  // namespace carom::solid
