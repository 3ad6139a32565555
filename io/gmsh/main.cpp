// carom_gmsh FILE: reads a mesh, or a geometry which it meshes, with Gmsh's library, and writes it to standard output
// in the form of mesh_stream.hpp. Run by carom (io/gmsh_mesh.cpp).
//
// A program of its own, because the library costs 0.2 s to load, prints what it likes, and can end, exhaust or crash
// the process that uses it: a .geo file is a program. One that would start other programs is refused.
#include <fcntl.h>
#include <gmsh.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "io/gmsh/mesh_stream.hpp"

// The library's calls of these end here: no file starts a program.
extern "C" int system(const char*) { return -1; }
extern "C" FILE* popen(const char*, const char*) { return nullptr; }

namespace {

using namespace carom::gmsh_stream;

RawMesh read(const std::string& file) {
  RawMesh mesh;
  gmsh::option::setNumber("General.Terminal", 0);
  gmsh::option::setNumber("General.NumThreads", 1);
  gmsh::open(file);
  std::vector<std::pair<int, int>> entities;
  std::vector<std::size_t> tags;
  std::vector<double> parameters;

  // a geometry is meshed
  const auto has_elements = [](int dimension) {
    std::vector<int> types;
    std::vector<std::vector<std::size_t>> element_tags, node_tags;
    gmsh::model::mesh::getElements(types, element_tags, node_tags, dimension);
    return !types.empty();
  };
  gmsh::model::getEntities(entities, 3);
  if (!entities.empty() && !has_elements(3)) gmsh::model::mesh::generate(3);

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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "carom_gmsh is run by carom, with the name of a mesh\n";
    return 2;
  }
  // what the library prints goes nowhere
  const int out = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  limit(RLIMIT_CPU, 600);
#ifndef __SANITIZE_ADDRESS__  // its shadow memory is larger
  limit(RLIMIT_AS, rlim_t{8} << 30);
#endif
  limit(RLIMIT_CORE, 0);

  RawMesh mesh;
  try {
    gmsh::initialize(0, nullptr, false);
    mesh = read(argv[1]);
  } catch (...) {
    mesh = {};
    try {
      gmsh::logger::getLastError(mesh.error);
    } catch (...) {
      mesh.error.clear();
    }
    if (mesh.error.empty()) mesh.error = "no reason given";
  }
  Writer writer;
  archive(writer, mesh);
  for (std::size_t done = 0; done < writer.bytes.size();) {
    const ssize_t written = write(out, writer.bytes.data() + done, writer.bytes.size() - done);
    if (written < 0) return 1;
    done += static_cast<std::size_t>(written);
  }
  _exit(0);  // the library's own end is not needed
}
