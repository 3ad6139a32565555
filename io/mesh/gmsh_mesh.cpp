#include "io/mesh/gmsh_mesh.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "io/mesh/gmsh/mesh_stream.hpp"
#include "io/schema/spec.hpp"

namespace carom {

namespace {

using namespace gmsh_stream;
constexpr std::size_t most_elements = 1000000;

std::string quoted_name(const std::filesystem::path& file) { return "\"" + file.string() + "\""; }

// Checks that a binary mesh ends with the end of a list.
void check_end(const std::filesystem::path& file) {
  constexpr std::streamoff longest = 100;
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream.tellg();
  std::string end(static_cast<std::size_t>(std::min(size, longest)), '\0');
  stream.seekg(size - static_cast<std::streamoff>(end.size()));
  stream.read(end.data(), static_cast<std::streamsize>(end.size()));
  if (stream && end.find("$End") == std::string::npos)
    throw FileError(quoted_name(file) + " is cut off: it ends within a list, after " + std::to_string(size) + " bytes");
}

// Gmsh reads as many entries of a list as announced and ignores the rest; of several nodes with one number it keeps the
// last. This function checks the lists of text files, which have one line per item, and that no list ends with the
// file.
void check_lists(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line, list;  // list: the one that is read, as "$Nodes"
  int number = 0, begin = 0;
  double version = 0;
  int binary = 1;
  const auto next_line = [&] {
    if (!std::getline(stream, line)) return false;
    ++number;
    if (line.starts_with("$End")) {
      list.clear();
    } else if (line.starts_with('$')) {
      list = line.substr(0, line.find_last_not_of(" \t\r") + 1);
      begin = number;
    }
    return true;
  };
  while (next_line()) {
    const bool nodes = line.starts_with("$Nodes"), elements = line.starts_with("$Elements");
    if (line.starts_with("$MeshFormat") && !(stream >> version >> binary)) return;
    if (binary != 0 && version > 0) return check_end(file);
    if (!nodes && !elements) continue;
    next_line();
    std::istringstream head(line);
    std::size_t blocks = 0, announced = 0;
    if (version >= 4) head >> blocks;
    if (!(head >> announced)) return;
    const std::size_t expected = blocks + (nodes && version >= 4.1 ? 2 : 1) * announced;
    std::size_t found = 0;
    std::unordered_set<std::string> numbers;
    while (next_line() && !line.starts_with('$')) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      ++found;
      if (!nodes || version >= 4) continue;
      std::string digits;
      std::istringstream(line) >> digits;
      if (digits == "0") throw FileError("expected nodes numbered from 1 on, " + quoted_name(file) + " has a node 0");
      if (!numbers.insert(digits).second)
        throw FileError("expected nodes with a number each, " + quoted_name(file) + " has two nodes " + digits);
    }
    if (found > expected)
      throw FileError(std::string("the list ") + (nodes ? "$Nodes" : "$Elements") + " of " + quoted_name(file) +
                      " is longer than the " + std::to_string(announced) + " announced: " + std::to_string(found) +
                      " lines instead of " + std::to_string(expected));
  }
  if (!list.empty())
    throw FileError(quoted_name(file) + " is cut off: it ends in line " + std::to_string(number) +
                    ", within the list " + list + " that begins in line " + std::to_string(begin));
}

// Gmsh treats any unknown file as a script, so the beginning of the file must have the form of its format.
void check_beginning(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (extension != ".msh" && extension != ".geo" && extension != ".step" && extension != ".stp")
    throw FileError("expected a file .msh, .geo, .step or .stp, got " + quoted_name(file));
  std::error_code error;
  if (!std::filesystem::exists(file, error)) throw FileError("no file " + quoted_name(file));
  if (!std::filesystem::is_regular_file(file, error))
    throw FileError(quoted_name(file) + " is no file that can be read");
  std::ifstream stream(file, std::ios::binary);
  std::string start(4096, '\0');
  if (!stream) throw FileError("cannot read " + quoted_name(file) + ": " + std::strerror(errno));
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(stream.gcount()));
  start.erase(0, start.find_first_not_of(" \t\r\n"));
  if (start.empty()) throw FileError(quoted_name(file) + " is empty");
  if (extension == ".msh" && !start.starts_with("$"))
    throw FileError(quoted_name(file) + " is no mesh of Gmsh: expected it to begin with $MeshFormat");
  if ((extension == ".step" || extension == ".stp") && !start.starts_with("ISO-10303-21"))
    throw FileError(quoted_name(file) + " is no STEP file: expected it to begin with ISO-10303-21");
  if (extension == ".msh") check_lists(file);
  if (extension == ".geo" && start.find('\0') != std::string::npos)
    throw FileError(quoted_name(file) + " is no text, as a .geo file is");
}

// Runs carom_gmsh and returns its output for a file.
std::string run_reader(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "carom_gmsh";
  if (!std::filesystem::exists(program, error))
    throw FileError("reading " + quoted_name(file) + " needs the program " + quoted_name(program) +
                    ", which is built where Gmsh's library is (Debian: libgmsh-dev)");
  int ends[2];
  if (pipe(ends) != 0) throw FileError(std::string("no pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  const std::string program_text = program.string(), file_text = std::filesystem::absolute(file).string();
  std::string name = "carom_gmsh", argument = file_text;
  char* arguments[] = {name.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, program_text.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    throw FileError("cannot start " + quoted_name(program) + ": " + std::strerror(failed));
  }
  std::string bytes, buffer(1 << 16, '\0');
  for (;;) {
    const ssize_t size = read(ends[0], buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    bytes.append(buffer, 0, static_cast<std::size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    throw FileError((signal == SIGXCPU                       ? "Gmsh took more than 10 minutes over "
                     : signal == SIGINT || signal == SIGTERM ? "Gmsh was interrupted over "
                     : signal == SIGKILL                     ? "Gmsh was killed over "
                                                             : "Gmsh crashed over ") +
                    quoted_name(file));
  }
  if (bytes.empty()) throw FileError("Gmsh ended over " + quoted_name(file) + " without a mesh");
  return bytes;
}

std::string group_name(const Group& group) { return group.name.empty() ? std::to_string(group.tag) : group.name; }

std::string listed_words(const std::vector<std::string>& words, const std::string& what) {
  if (words.empty()) return "; the file has no " + what;
  std::string text = "; its " + what + " are ";
  for (std::size_t i = 0; i < words.size() && i < 20; ++i)
    text += (i == 0 ? "\"" : i + 1 == words.size() ? " and \"" : ", \"") + words[i] + "\"";
  return text + (words.size() > 20 ? ", ..." : "");
}

std::vector<std::string> groups_of(const RawMesh& raw, int dimension) {
  std::vector<std::string> names;
  for (const Group& group : raw.groups)
    if (group.dimension == dimension) names.push_back(group_name(group));
  return names;
}

// The unusable contents of a file: "; it has 6 "Triangle 3"; its physical groups are "left" (surfaces)".
std::string contents(const RawMesh& raw, bool with_elements) {
  constexpr std::array<const char*, 4> dimensions = {"points", "curves", "surfaces", "volumes"};
  std::map<std::string, std::size_t> counts;
  for (const Entity& entity : raw.entities)
    for (const Elements& elements : entity.elements) counts[elements.type_name] += elements.tags.size();
  std::vector<std::string> types, groups;
  for (const auto& [name, count] : counts) types.push_back(std::to_string(count) + " of type \"" + name + "\"");
  for (const Group& group : raw.groups)
    groups.push_back("\"" + group_name(group) + "\" (" + dimensions.at(static_cast<std::size_t>(group.dimension)) +
                     ")");
  const auto list = [](const std::vector<std::string>& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size() && i < 20; ++i)
      text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
    return text + (words.size() > 20 ? ", ..." : "");
  };
  return (!with_elements  ? ""
          : types.empty() ? " nor others"
                          : "; it has " + list(types)) +
         (groups.empty() ? "; it has no physical groups" : "; its physical groups are " + list(groups));
}

// Tags of the chosen volume entities.
std::unordered_set<int> chosen_volumes(const RawMesh& raw, const std::optional<std::string>& volume,
                                       const std::filesystem::path& file) {
  std::unordered_set<int> chosen;
  bool found = false;
  if (volume)
    for (const Group& group : raw.groups) {
      if (group.dimension != 3 || group_name(group) != *volume) continue;
      chosen.insert(group.entities.begin(), group.entities.end());
      found = true;
    }
  else
    for (const Entity& entity : raw.entities)
      if (entity.dimension == 3) chosen.insert(entity.tag);
  if (volume && !found)
    throw UnknownVolume(quoted_name(file) + " has no physical group of volumes \"" + *volume + "\"" +
                        listed_words(groups_of(raw, 3), "physical groups of volumes"));
  return chosen;
}

using SortedFace = std::array<int, 4>;
SortedFace sorted(const MeshFace& face) {
  SortedFace key = face.nodes;
  std::sort(key.begin(), key.end());
  return key;
}

// A face of an element, seen from outside. The face is on the surface if no other element has it.
struct ElementFace {
  MeshFace face;
  bool is_outside = true;
};

std::map<SortedFace, ElementFace> element_faces(const Mesh& mesh) {
  std::map<SortedFace, ElementFace> faces;
  const auto meet = [&](const MeshFace& face) {
    const auto [place, is_new] = faces.try_emplace(sorted(face), ElementFace{face});
    if (!is_new) place->second.is_outside = false;
  };
  for (const auto& element : mesh.hexahedra)
    for (const auto& corners : hexahedron_faces()) {
      MeshFace face;
      for (std::size_t k = 0; k < 4; ++k) face.nodes[k] = element[static_cast<std::size_t>(corners[k])];
      meet(face);
    }
  for (const auto& element : mesh.tetrahedra)
    for (const auto& corners : tetrahedron_faces()) {
      MeshFace face;
      for (std::size_t k = 0; k < 3; ++k) face.nodes[k] = element[static_cast<std::size_t>(corners[k])];
      meet(face);
    }
  return faces;
}

class Importer {
 public:
  Importer(const RawMesh& raw, const std::filesystem::path& file) : raw_(raw), file_(file) {
    if (raw.coordinates.size() != 3 * raw.node_tags.size())
      throw FileError("the nodes of " + quoted_name(file) + " are incomplete");
    for (std::size_t i = 0; i < raw.node_tags.size(); ++i) place_of_tag_.emplace(raw.node_tags[i], i);
  }

  Mesh read(const std::optional<std::string>& volume, double scale) {
    volumes_ = chosen_volumes(raw_, volume, file_);
    take_elements();
    number_nodes(scale);
    take_groups();
    return std::move(mesh_);
  }

 private:
  void take_elements() {
    std::map<std::string, std::size_t> unusable;
    for (const Entity& entity : raw_.entities) {
      if (entity.dimension != 3 || !volumes_.contains(entity.tag)) continue;
      for (const Elements& elements : entity.elements) {
        if (elements.type == 5)
          take(elements, mesh_.hexahedra, mesh_.hexahedron_names);
        else if (elements.type == 4)
          take(elements, mesh_.tetrahedra, mesh_.tetrahedron_names);
        else
          unusable[elements.type_name] += elements.tags.size();
      }
    }
    if (!unusable.empty()) {
      std::string text;
      bool is_curved = false;
      for (const auto& [name, count] : unusable) {
        is_curved = is_curved || name.starts_with("Tetrahedron ") || name.starts_with("Hexahedron ");
        text += (text.empty() ? "" : ", ") + std::to_string(count) + " of type \"" + name + "\"";
      }
      throw FileError("expected 8-node hexahedra and 4-node tetrahedra, but " + quoted_name(file_) + " has " + text +
                      (is_curved ? " (Gmsh makes them without nodes on the edges by Mesh.ElementOrder = 1)" : "") +
                      contents(raw_, false));
    }
    if (mesh_.hexahedra.empty() && mesh_.tetrahedra.empty())
      throw FileError(quoted_name(file_) + " has no volume elements" + contents(raw_, true));
    check_distinct(mesh_.hexahedra, mesh_.hexahedron_names);
    check_distinct(mesh_.tetrahedra, mesh_.tetrahedron_names);
  }

  // Checks that no element occurs twice and none repeats a node.
  template <std::size_t n>
  void check_distinct(const std::vector<std::array<int, n>>& elements, const std::vector<std::string>& names) const {
    std::vector<std::pair<std::array<int, n>, std::size_t>> all;
    all.reserve(elements.size());
    for (const auto& element : elements) {
      all.emplace_back(element, all.size());
      auto& nodes = all.back().first;
      std::sort(nodes.begin(), nodes.end());
      if (const auto twice = std::adjacent_find(nodes.begin(), nodes.end()); twice != nodes.end())
        throw FileError(names[all.size() - 1] + " of " + quoted_name(file_) + " has the node " +
                        std::to_string(raw_.node_tags[static_cast<std::size_t>(*twice)]) + " more than once");
    }
    std::sort(all.begin(), all.end());
    const auto twice =
        std::adjacent_find(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != all.end())
      throw FileError(names[twice->second] + " and " + names[std::next(twice)->second] + " of " + quoted_name(file_) +
                      " have the same nodes");
  }

  // Collects elements with indices into the file's list of nodes; number_nodes() renumbers them.
  template <std::size_t n>
  void take(const Elements& elements, std::vector<std::array<int, n>>& to, std::vector<std::string>& names) {
    if (elements.nodes.size() != n * elements.tags.size())
      throw FileError("the elements of " + quoted_name(file_) + " are incomplete");
    if (mesh_.hexahedra.size() + mesh_.tetrahedra.size() + elements.tags.size() > most_elements)
      throw FileError("expected at most " + std::to_string(most_elements) + " elements, " + quoted_name(file_) +
                      " has more");
    for (std::size_t e = 0; e < elements.tags.size(); ++e) {
      std::array<int, n> element{};
      for (std::size_t a = 0; a < n; ++a) {
        const auto place = place_of_tag_.find(elements.nodes[n * e + a]);
        if (place == place_of_tag_.end())
          throw FileError("element " + std::to_string(elements.tags[e]) + " of " + quoted_name(file_) +
                          " has the node " + std::to_string(elements.nodes[n * e + a]) + ", which is not in the file");
        element[a] = static_cast<int>(place->second);
      }
      to.push_back(element);
      names.push_back("element " + std::to_string(elements.tags[e]));
    }
  }

  // Numbers the used nodes in the order of their tags.
  void number_nodes(double scale) {
    std::vector<std::size_t> used;
    const auto collect = [&](const auto& elements) {
      for (const auto& element : elements)
        for (const int place : element) used.push_back(static_cast<std::size_t>(place));
    };
    collect(mesh_.hexahedra);
    collect(mesh_.tetrahedra);
    std::sort(used.begin(), used.end(),
              [&](std::size_t a, std::size_t b) { return raw_.node_tags[a] < raw_.node_tags[b]; });
    used.erase(std::unique(used.begin(), used.end()), used.end());
    number_.assign(raw_.node_tags.size(), -1);
    for (const std::size_t place : used) {
      number_[place] = static_cast<int>(mesh_.nodes.size());
      const double* x = raw_.coordinates.data() + 3 * place;
      if (!std::isfinite(x[0]) || !std::isfinite(x[1]) || !std::isfinite(x[2]))
        throw FileError("node " + std::to_string(raw_.node_tags[place]) + " of " + quoted_name(file_) +
                        " has no finite place");
      mesh_.nodes.emplace_back(scale * Vec3(x[0], x[1], x[2]));
    }
    for (auto& element : mesh_.hexahedra)
      for (int& node : element) node = number_[static_cast<std::size_t>(node)];
    for (auto& element : mesh_.tetrahedra)
      for (int& node : element) node = number_[static_cast<std::size_t>(node)];
  }

  int node_of(std::uint64_t tag) const {
    const auto place = place_of_tag_.find(tag);
    return place == place_of_tag_.end() ? -1 : number_[place->second];
  }

  // Collects the groups that have nodes of these elements: faces that are on the surface, and shares from the pieces of
  // the highest dimension that have the group's name.
  void take_groups() {
    const auto faces = element_faces(mesh_);
    std::map<std::string, int> dimensions;
    for (const Group& raw_group : raw_.groups) {
      int& dimension = dimensions[group_name(raw_group)];
      dimension = std::max(dimension, raw_group.dimension);
    }
    std::map<std::string, NodalMeasure> measures;
    for (const Group& raw_group : raw_.groups) {
      std::vector<int> nodes;
      for (const std::uint64_t tag : raw_group.nodes)
        if (const int node = node_of(tag); node >= 0) nodes.push_back(node);
      if (nodes.empty()) continue;
      const std::string name = group_name(raw_group);
      if (name == "nodes" || name.starts_with("node.") || name.starts_with("element."))
        throw FileError("the physical group \"" + name + "\" of " + quoted_name(file_) +
                        " has a name with a meaning of its own; choose another");
      Mesh::Group& group = mesh_.groups[name];
      group.nodes.insert(group.nodes.end(), nodes.begin(), nodes.end());
      std::sort(group.nodes.begin(), group.nodes.end());
      group.nodes.erase(std::unique(group.nodes.begin(), group.nodes.end()), group.nodes.end());
      if (raw_group.dimension == 2) take_faces(raw_group, faces, group);
      if (raw_group.dimension == dimensions.at(name))
        measure(raw_group, faces, measures.try_emplace(name, mesh_).first->second);
    }
    for (const auto& [name, measure] : measures) {
      Mesh::Group& group = mesh_.groups.at(name);
      group.shares = measure.shares(group.nodes);
    }
  }

  void take_faces(const Group& raw_group, const std::map<SortedFace, ElementFace>& faces, Mesh::Group& group) const {
    for_each_piece(raw_group, [&](int, std::span<const int> nodes) {
      if (const auto found = faces.find(sorted(face_of(nodes))); found != faces.end() && found->second.is_outside)
        group.faces.push_back(found->second.face);
    });
  }

  void measure(const Group& raw_group, const std::map<SortedFace, ElementFace>& faces, NodalMeasure& measure) const {
    if (raw_group.dimension == 0)
      for (const std::uint64_t tag : raw_group.nodes)
        if (const int node = node_of(tag); node >= 0) measure.add_point(node);
    for_each_piece(raw_group, [&](int type, std::span<const int> nodes) {
      if (type == 1) measure.add_line(nodes[0], nodes[1]);
      if (type == 2 || type == 3)
        if (const MeshFace face = face_of(nodes); faces.contains(sorted(face))) measure.add_face(face);
      if (type == 4) measure.add_element(element_of<4>(nodes));
      if (type == 5) measure.add_element(element_of<8>(nodes));
    });
  }

  static MeshFace face_of(std::span<const int> nodes) {
    MeshFace face;
    std::copy(nodes.begin(), nodes.end(), face.nodes.begin());
    return face;
  }
  template <std::size_t n>
  static std::array<int, n> element_of(std::span<const int> nodes) {
    std::array<int, n> element{};
    std::copy(nodes.begin(), nodes.end(), element.begin());
    return element;
  }

  // Calls visit(type, nodes) for the lines, faces or elements of a group if the mesh has all their nodes; of volumes
  // only for chosen elements.
  template <class Visit>
  void for_each_piece(const Group& group, const Visit& visit) const {
    constexpr std::array<std::size_t, 6> counts = {0, 2, 3, 4, 4, 8};  // number of nodes for each type
    for (const Entity& entity : raw_.entities) {
      if (entity.dimension != group.dimension || (entity.dimension == 3 && !volumes_.contains(entity.tag)) ||
          std::find(group.entities.begin(), group.entities.end(), entity.tag) == group.entities.end())
        continue;
      for (const Elements& elements : entity.elements) {
        const std::size_t n =
            elements.type > 0 && elements.type < 6 ? counts[static_cast<std::size_t>(elements.type)] : 0;
        if (n == 0 || elements.nodes.size() != n * elements.tags.size()) continue;
        std::array<int, 8> nodes{};
        for (std::size_t e = 0; e < elements.tags.size(); ++e) {
          for (std::size_t a = 0; a < n; ++a) nodes[a] = node_of(elements.nodes[n * e + a]);
          const std::span<const int> piece(nodes.data(), n);
          if (std::find(piece.begin(), piece.end(), -1) == piece.end()) visit(elements.type, piece);
        }
      }
    }
  }

  const RawMesh& raw_;
  const std::filesystem::path& file_;
  std::unordered_set<int> volumes_;
  std::unordered_map<std::uint64_t, std::size_t> place_of_tag_;
  std::vector<int> number_;
  Mesh mesh_;
};

}  // namespace

Mesh read_gmsh(const std::filesystem::path& file, const std::optional<std::string>& volume, double scale) {
  check_beginning(file);
  const std::string bytes = run_reader(file);
  RawMesh raw;
  try {
    Reader reader(bytes);
    archive(reader, raw);
  } catch (const std::exception&) {
    throw FileError("Gmsh ended over " + quoted_name(file) + " without a mesh");
  }
  // messages name files as the user does
  const std::string folder = std::filesystem::absolute(file).parent_path() / "";
  const std::string known = file.has_parent_path() ? file.parent_path() / "" : "";
  for (std::size_t place = raw.error.find(folder); place != std::string::npos;
       place = raw.error.find(folder, place + known.size()))
    raw.error.replace(place, folder.size(), known);
  if (!raw.error.empty()) throw FileError("Gmsh cannot read " + quoted_name(file) + ": " + raw.error);
  return Importer(raw, file).read(volume, scale);
}

}  // namespace carom
