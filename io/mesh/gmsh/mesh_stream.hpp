// The data that carom_gmsh sends to carom: Gmsh's mesh as a sequence of numbers and texts.
//
// Both programs run on one machine and are built together, so numbers are sent as they are in memory. The receiver
// checks every length, because the sender may have ended in the middle.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace carom::gmsh_stream {

constexpr char magic[] = "carom mesh 1";

/// Elements of one Gmsh type in one Gmsh entity.
struct Elements {
  int type = 0;           ///< Gmsh's number: 1 line, 2 triangle, 3 quadrangle, 4 tetrahedron, 5 hexahedron
  std::string type_name;  ///< "Tetrahedron 10"
  std::vector<std::uint64_t> tags, nodes;  ///< tags of the elements; tags of their nodes, element after element
};
struct Entity {
  int dimension = 0, tag = 0;
  std::vector<Elements> elements;
};
/// A physical group.
struct Group {
  int dimension = 0, tag = 0;
  std::string name;  ///< may be empty
  std::vector<int> entities;
  std::vector<std::uint64_t> nodes;
};
struct RawMesh {
  std::string error;  ///< error message; the other members are then empty
  std::vector<std::uint64_t> node_tags;
  std::vector<double> coordinates;
  std::vector<Entity> entities;  ///< curves, surfaces and volumes
  std::vector<Group> groups;
};

// One function for both directions keeps them consistent.
template <class Archive>
void archive(Archive& a, Elements& e) {
  a.value(e.type), a.text(e.type_name), a.values(e.tags), a.values(e.nodes);
}
template <class Archive>
void archive(Archive& a, Entity& e) {
  a.value(e.dimension), a.value(e.tag), a.list(e.elements);
}
template <class Archive>
void archive(Archive& a, Group& g) {
  a.value(g.dimension), a.value(g.tag), a.text(g.name), a.values(g.entities), a.values(g.nodes);
}
template <class Archive>
void archive(Archive& a, RawMesh& m) {
  std::string start = magic;
  a.text(start);
  if (start != magic) throw std::runtime_error("no mesh");
  a.text(m.error), a.values(m.node_tags), a.values(m.coordinates), a.list(m.entities), a.list(m.groups);
}

class Writer {
 public:
  template <class T>
  void value(T& x) {
    bytes.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  template <class T>
  void values(std::vector<T>& x) {
    std::uint64_t size = x.size();
    value(size);
    if (size > 0) bytes.append(reinterpret_cast<const char*>(x.data()), size * sizeof(T));
  }
  void text(std::string& x) {
    std::uint64_t size = x.size();
    value(size);
    bytes += x;
  }
  template <class T>
  void list(std::vector<T>& x) {
    std::uint64_t size = x.size();
    value(size);
    for (T& item : x) archive(*this, item);
  }
  std::string bytes;
};

/// Throws std::runtime_error if the bytes end too early.
class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  void value(T& x) {
    std::memcpy(&x, take(sizeof x), sizeof x);
  }
  template <class T>
  void values(std::vector<T>& x) {
    const std::uint64_t size = count(sizeof(T));
    x.resize(size);
    if (size > 0) std::memcpy(x.data(), take(size * sizeof(T)), size * sizeof(T));
  }
  void text(std::string& x) {
    const std::uint64_t size = count(1);
    x.assign(take(size), size);
  }
  template <class T>
  void list(std::vector<T>& x) {
    x.resize(count(1));
    for (T& item : x) archive(*this, item);
  }

 private:
  std::uint64_t count(std::size_t item) {
    std::uint64_t size = 0;
    value(size);
    if (size > (bytes_.size() - place_) / item) throw std::runtime_error("the mesh ends too early");
    return size;
  }
  const char* take(std::size_t size) {
    if (size > bytes_.size() - place_) throw std::runtime_error("the mesh ends too early");
    const char* start = bytes_.data() + place_;
    place_ += size;
    return start;
  }

  const std::string& bytes_;
  std::size_t place_ = 0;
};

}  // namespace carom::gmsh_stream
