// Forces by vectors of eight doubles. CMake compiles this file, and no other, for AVX-512; it has no code in common
// with other files, and headers with code of external linkage must not be included here.
#include "elements/solid/solid_forces.hpp"

#ifdef CAROM_EIGHT_LANES

#include "elements/solid/elastic_kernels.hpp"

carom::solid::InternalForces carom::solid::avx512_forces(ElasticLaw law, int nodes, bool incompatible_modes) {
  const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512cd");
  return has ? forces_of(law, nodes, incompatible_modes) : nullptr;
}

#else

carom::solid::InternalForces carom::solid::avx512_forces(ElasticLaw, int, bool) { return nullptr; }

#endif
