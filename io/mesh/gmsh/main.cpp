// carom_gmsh FILE: reads a mesh, or meshes a geometry, with Gmsh's library and writes the mesh to standard output in
// the form of mesh_stream.hpp. carom starts this program (io/mesh/gmsh_mesh.cpp).
//
// A separate program, because the library takes 0.2 s to load, prints messages, and can end, exhaust or crash its
// process: a .geo file is a program. A script that would start other programs or write files is refused.
#include <dlfcn.h>
#include <fcntl.h>
#include <gmsh.h>
#include <linux/landlock.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "io/mesh/gmsh/mesh_stream.hpp"

namespace {

using namespace carom::gmsh_stream;

/// A script does what no mesh needs.
struct Refused {
  std::string message;
};

[[noreturn]] void refuse_program(const char* command) {
  throw Refused{"the script starts a program, which is not allowed: \"" + std::string(command) + "\""};
}

}  // namespace

// These functions replace the library's calls: no script can start a program. (A null command asks for a shell.)
extern "C" int system(const char* command) {
  if (command != nullptr) refuse_program(command);
  return 1;
}
extern "C" FILE* popen(const char* command, const char*) { refuse_program(command); }

// These functions replace the library's too, and call them: a macro that calls itself without end would take minutes
// and all memory. The names are those of Gmsh 4; where another version has other names, the limits of main() hold.
// NOLINTBEGIN(readability-identifier-naming): names of the library
class FunctionManager {
 public:
  int enterFunction(const std::string& name, FILE** file, std::string& file_name, int& line) const;
  int leaveFunction(FILE** file, std::string& file_name, int& line);
};
// NOLINTEND(readability-identifier-naming)

namespace {

constexpr int most_nested_calls = 10000;
int nested_calls = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): the library has one parser

template <class Function>
Function next_definition(const char* name) {
  Function function{};
  void* const found = dlsym(RTLD_NEXT, name);
  static_assert(sizeof function == sizeof found);
  std::memcpy(&function, &found, sizeof function);
  return function;
}

}  // namespace

int FunctionManager::enterFunction(const std::string& name, FILE** file, std::string& file_name, int& line) const {
  using Function = int (*)(const FunctionManager*, const std::string&, FILE**, std::string&, int&);
  static const auto enter = next_definition<Function>(
      "_ZNK15FunctionManager13enterFunctionERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEPP8_IO_FILERS5_Ri");
  if (++nested_calls > most_nested_calls)
    throw Refused{"the macro \"" + name + "\" is called within itself without end, in line " + std::to_string(line) +
                  ": more than " + std::to_string(most_nested_calls) + " calls have begun and not returned"};
  return enter(this, name, file, file_name, line);
}

int FunctionManager::leaveFunction(FILE** file, std::string& file_name, int& line) {
  using Function = int (*)(FunctionManager*, FILE**, std::string&, int&);
  static const auto leave = next_definition<Function>(
      "_ZN15FunctionManager13leaveFunctionEPP8_IO_FILERNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERi");
  --nested_calls;
  return leave(this, file, file_name, line);
}

namespace {

// The file itself, or a copy that ends with a line end: the library ignores a part of a script's last line without line
// end.
int with_last_line_ended(int file) {
  struct stat status {};
  char last = '\n';
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0 ||
      pread(file, &last, 1, status.st_size - 1) != 1 || last == '\n')
    return file;
  const int copy = memfd_create("carom_gmsh", MFD_CLOEXEC);
  off_t done = 0;
  while (copy >= 0 && done < status.st_size)
    if (sendfile(copy, file, &done, static_cast<std::size_t>(status.st_size - done)) <= 0) break;
  if (copy < 0 || done < status.st_size || write(copy, "\n", 1) != 1 || lseek(copy, 0, SEEK_SET) != 0) {
    close(copy);
    return file;
  }
  close(file);
  return copy;
}

}  // namespace

// fopen is replaced too: files can only be read.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): reserved names there
extern "C" FILE* fopen(const char* name, const char* mode) {
  if (mode[0] != 'r' || std::string(mode).find('+') != std::string::npos) {
    errno = EACCES;
    return nullptr;
  }
  const int file = open(name, O_RDONLY | O_CLOEXEC);
  return file < 0 ? nullptr : fdopen(with_last_line_ended(file), "r");
}

namespace {

// The kernel forbids all other ways of writing (Linux 5.13 or newer).
void forbid_writing() {
  landlock_ruleset_attr rules{};
  rules.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                            LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_FIFO;
  const long set = syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
  if (set < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  syscall(SYS_landlock_restrict_self, set, 0);
  close(static_cast<int>(set));
}

// Ends together with carom, even if carom is killed; `out` is the pipe to carom.
void end_with_parent(int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd pipe{out, 0, 0};
  if (poll(&pipe, 1, 0) > 0 && (pipe.revents & POLLERR) != 0) _exit(1);  // carom has already ended
}

RawMesh read(const std::string& file, bool is_mesh) {
  RawMesh mesh;
  gmsh::option::setNumber("General.Terminal", 0);
  gmsh::option::setNumber("General.NumThreads", 1);
  gmsh::open(file);
  std::vector<std::pair<int, int>> entities;
  std::vector<std::size_t> tags;
  std::vector<double> parameters;

  // mesh a geometry; a mesh file without volume elements stays as it is
  const auto has_elements = [](int dimension) {
    std::vector<int> types;
    std::vector<std::vector<std::size_t>> element_tags, node_tags;
    gmsh::model::mesh::getElements(types, element_tags, node_tags, dimension);
    return !types.empty();
  };
  gmsh::model::getEntities(entities, 3);
  if (!entities.empty() && !has_elements(3) && !is_mesh) gmsh::model::mesh::generate(3);

  gmsh::model::mesh::getNodes(tags, mesh.coordinates, parameters);
  mesh.node_tags.assign(tags.begin(), tags.end());
  for (const int dimension : {1, 2, 3}) {
    gmsh::model::getEntities(entities, dimension);
    for (const auto& [d, tag] : entities) {
      Entity entity;
      entity.dimension = d;
      entity.tag = tag;
      std::vector<int> types;
      std::vector<std::vector<std::size_t>> element_tags, node_tags;
      gmsh::model::mesh::getElements(types, element_tags, node_tags, d, tag);
      for (std::size_t i = 0; i < types.size(); ++i) {
        Elements elements;
        elements.type = types[i];
        int type_dimension = 0, order = 0, nodes = 0, primary = 0;
        std::vector<double> places;
        gmsh::model::mesh::getElementProperties(types[i], elements.type_name, type_dimension, order, nodes, places,
                                                primary);
        elements.tags.assign(element_tags[i].begin(), element_tags[i].end());
        elements.nodes.assign(node_tags[i].begin(), node_tags[i].end());
        entity.elements.push_back(std::move(elements));
      }
      mesh.entities.push_back(std::move(entity));
    }
  }
  gmsh::model::getPhysicalGroups(entities);
  for (const auto& [d, tag] : entities) {
    Group group;
    group.dimension = d;
    group.tag = tag;
    gmsh::model::getPhysicalName(d, tag, group.name);
    gmsh::model::getEntitiesForPhysicalGroup(d, tag, group.entities);
    gmsh::model::mesh::getNodesForPhysicalGroup(d, tag, tags, parameters);
    group.nodes.assign(tags.begin(), tags.end());
    mesh.groups.push_back(std::move(group));
  }
  return mesh;
}

void limit(decltype(RLIMIT_CPU) resource, rlim_t most) {
  rlimit now{};
  getrlimit(resource, &now);
  now.rlim_cur = now.rlim_max == RLIM_INFINITY || now.rlim_max > most ? most : now.rlim_max;
  setrlimit(resource, &now);
}

RawMesh read_or_error(const std::string& file) {
  const std::string ending = file.substr(file.find_last_of('.') + 1);

  RawMesh mesh;
  try {
    gmsh::initialize(0, nullptr, false);
    return read(file, ending == "msh" || ending == "MSH");
  } catch (const Refused& refused) {
    mesh.error = refused.message;
  } catch (const std::bad_alloc&) {
    mesh.error = "it takes more than 8 GB of memory";
  } catch (...) {
    gmsh::logger::getLastError(mesh.error);
    if (mesh.error.empty()) mesh.error = "no reason given";
  }
  return mesh;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("carom_gmsh is run by carom, with the name of a mesh\n", stderr);
    return 2;
  }
  // discard the library's output
  const int out = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
  end_with_parent(out);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  limit(RLIMIT_CPU, 600);
#ifndef __SANITIZE_ADDRESS__  // the shadow memory of the sanitizer is larger
  limit(RLIMIT_AS, rlim_t{8} << 30);
#endif
  limit(RLIMIT_CORE, 0);
  forbid_writing();

  try {
    RawMesh mesh = read_or_error(argv[1]);
    Writer writer;
    archive(writer, mesh);
    for (std::size_t done = 0; done < writer.bytes.size();) {
      const ssize_t written = write(out, writer.bytes.data() + done, writer.bytes.size() - done);
      if (written < 0) return 1;
      done += static_cast<std::size_t>(written);
    }
  } catch (...) {
    _exit(1);  // sends nothing: carom then reports that there is no mesh
  }
  _exit(0);  // skip the library's clean-up
}
