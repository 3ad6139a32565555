// The BLAS: the library of dense matrix products that CHOLMOD and UMFPACK call in their factorisations.
//
// SuiteSparse asks for libblas.so.3 and liblapack.so.3, which may be any BLAS of the system. The build therefore links
// OpenBLAS in front of SuiteSparse, so that the dynamic linker finds OpenBLAS's functions first. The bits of a
// factorisation depend on the BLAS and, with OpenBLAS, on the processor for which OpenBLAS chooses its code.
//
// At first use OpenBLAS is set to one thread. A release of OpenBLAS knows the processors of its time by their numbers,
// and runs code of the year 2004 (Prescott) on later ones. On a processor with wider instructions the code for these is
// chosen instead, unless the variable OPENBLAS_CORETYPE of the environment says what to take.
#pragma once

#include <string>

namespace carom {

struct BlasLibrary {
  bool openblas = false;
  /// "OpenBLAS 0.3.21 (Haswell)" with the processor of its code; the file of any other library; "unknown" if the
  /// program itself contains the BLAS.
  std::string name;
};

/// The library that contains this process's dgemm_.
BlasLibrary blas_library();

/// Makes the BLAS ready. CHOLMOD and UMFPACK call this function before their first factorisation.
void use_blas();

/// True after use_blas().
bool blas_is_used();

}  // namespace carom
