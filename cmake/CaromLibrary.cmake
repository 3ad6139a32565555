# carom_library(PUBLIC targets... PRIVATE targets...)
#
# The static library carom_<folder> of all .cpp files of the calling folder. A folder without sources becomes an
# interface library, so CMake always configures. A new file pair needs no edit.

function(carom_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "PUBLIC;PRIVATE")
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  set(name carom_${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "*.cpp")
  list(FILTER sources EXCLUDE REGEX "/gmsh/")
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_PUBLIC})
    return()
  endif()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "*.hpp")
  add_library(${name} STATIC ${sources} ${headers})
  target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  carom_precompile(${name})
endfunction()

# The common headers, precompiled once for all targets with the same flags.
function(carom_precompile target)
  if(CAROM_PCH)
    target_precompile_headers(${target} REUSE_FROM carom_pch)
  endif()
endfunction()
