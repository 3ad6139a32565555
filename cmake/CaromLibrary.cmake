# carom_library(PUBLIC targets... PRIVATE targets...)
# carom_library(NAME name FOLDERS folders... PUBLIC targets... PRIVATE targets...)
#
# The static library carom_<folder> of all .cpp files of the calling folder; with FOLDERS, the library NAME of these
# sub-folders. The calling folder's own library must be declared later and leaves these sub-folders out. A folder without
# sources becomes an interface library, so CMake always configures. A new file pair needs no edit.

function(carom_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "FOLDERS;PUBLIC;PRIVATE")
  if(arg_FOLDERS)
    set(name ${arg_NAME})
    list(TRANSFORM arg_FOLDERS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    list(TRANSFORM arg_FOLDERS APPEND "/*.cpp" OUTPUT_VARIABLE source_patterns)
    list(TRANSFORM arg_FOLDERS APPEND "/*.hpp" OUTPUT_VARIABLE header_patterns)
  else()
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
    set(name carom_${folder})
    set(source_patterns "*.cpp")
    set(header_patterns "*.hpp")
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${source_patterns})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${header_patterns})
  list(FILTER sources EXCLUDE REGEX "/gmsh/")
  get_property(taken DIRECTORY PROPERTY carom_taken)
  list(REMOVE_ITEM sources ${taken})
  set_property(DIRECTORY APPEND PROPERTY carom_taken ${sources})
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_PUBLIC})
    return()
  endif()
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

# Compiles several sources of the target at once, because most of their time goes to the same headers. Names in unnamed
# namespaces must differ within the target (tests/structure/united_names.py). A build without the precompiled header looks
# for missing includes, so that it compiles every source alone.
function(carom_unite target)
  if(CAROM_UNITY AND CAROM_PCH)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 7)
    # reported falsely for the sources that the united one includes
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()
