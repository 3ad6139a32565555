# SuiteSparse from Debian's packages, which have no CMake configuration and keep headers in a separate folder.
#
#   find_package(SuiteSparse REQUIRED COMPONENTS klu umfpack cholmod amd colamd suitesparseconfig)
#
# gives one imported target per component: SuiteSparse::klu, SuiteSparse::umfpack, ...

find_path(SuiteSparse_INCLUDE_DIR SuiteSparse_config.h PATH_SUFFIXES suitesparse)
mark_as_advanced(SuiteSparse_INCLUDE_DIR)

foreach(component IN LISTS SuiteSparse_FIND_COMPONENTS)
  find_library(SuiteSparse_${component}_LIBRARY ${component})
  mark_as_advanced(SuiteSparse_${component}_LIBRARY)
  if(SuiteSparse_INCLUDE_DIR AND SuiteSparse_${component}_LIBRARY)
    set(SuiteSparse_${component}_FOUND TRUE)
  endif()
endforeach()

# SUITESPARSE_MAIN_VERSION 5, SUITESPARSE_SUB_VERSION 12, ...
if(SuiteSparse_INCLUDE_DIR)
  file(STRINGS ${SuiteSparse_INCLUDE_DIR}/SuiteSparse_config.h lines
       REGEX "#define +SUITESPARSE_(MAIN|SUB|SUBSUB)_VERSION +[0-9]+")
  string(REGEX REPLACE "#define +[A-Z_]+ +" "" lines "${lines}")
  list(JOIN lines "." SuiteSparse_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  SuiteSparse
  REQUIRED_VARS SuiteSparse_INCLUDE_DIR
  VERSION_VAR SuiteSparse_VERSION
  HANDLE_COMPONENTS)

if(SuiteSparse_FOUND)
  foreach(component IN LISTS SuiteSparse_FIND_COMPONENTS)
    if(NOT TARGET SuiteSparse::${component} AND SuiteSparse_${component}_FOUND)
      add_library(SuiteSparse::${component} UNKNOWN IMPORTED)
      set_target_properties(
        SuiteSparse::${component}
        PROPERTIES IMPORTED_LOCATION "${SuiteSparse_${component}_LIBRARY}"
                   INTERFACE_INCLUDE_DIRECTORIES "${SuiteSparse_INCLUDE_DIR}")
    endif()
  endforeach()
endif()
