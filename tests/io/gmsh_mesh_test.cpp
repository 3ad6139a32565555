#include "io/mesh/gmsh_mesh.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "elements/solid/solid.hpp"
#include "io/results/prepared_run.hpp"

namespace {

using namespace carom;

// A file in a folder of its own, removed at the end.
class File {
 public:
  File(const std::string& name, const std::string& text)
      : folder_(std::filesystem::temp_directory_path() / ("carom_gmsh_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
  }
  ~File() { std::filesystem::remove_all(folder_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::filesystem::path path;

 private:
  std::filesystem::path folder_;
};

// A unit cube, tags 10, 17, ... in no order, and on its upper face x, y in {0, 1}, z = 1 a tetrahedron with the apex
// (0, 0, 2), in a volume of its own. Their common nodes are shared.
constexpr int tags[9] = {31, 10, 17, 24, 45, 38, 59, 52, 66};
constexpr double places[9][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1},
                                 {1, 0, 1}, {1, 1, 1}, {0, 1, 1}, {0, 0, 2}};

std::string version_2() {
  std::string text =
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n3\n2 5 \"floor\"\n3 1 \"block\"\n3 2 \"tip\"\n"
      "$EndPhysicalNames\n$Nodes\n9\n";
  for (int i = 0; i < 9; ++i) {
    text += std::to_string(tags[i]);
    for (double x : places[i]) text += " " + std::to_string(x);
    text += "\n";
  }
  return text +
         "$EndNodes\n$Elements\n3\n7 3 2 5 3 31 24 17 10\n8 5 2 1 1 31 10 17 24 45 38 59 52\n"
         "9 4 2 2 2 45 38 52 66\n$EndElements\n";
}

template <class T>
void append(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string version_2_binary() {
  std::string text = "$MeshFormat\n2.2 1 8\n";
  append(text, 1);
  text +=
      "\n$EndMeshFormat\n$PhysicalNames\n3\n2 5 \"floor\"\n3 1 \"block\"\n3 2 \"tip\"\n$EndPhysicalNames\n"
      "$Nodes\n9\n";
  for (int i = 0; i < 9; ++i) {
    append(text, tags[i]);
    for (double x : places[i]) append(text, x);
  }
  text += "\n$EndNodes\n$Elements\n3\n";
  for (int x : {3, 1, 2, 7, 5, 3, 31, 24, 17, 10}) append(text, x);
  for (int x : {5, 1, 2, 8, 1, 1, 31, 10, 17, 24, 45, 38, 59, 52}) append(text, x);
  for (int x : {4, 1, 2, 9, 2, 2, 45, 38, 52, 66}) append(text, x);
  return text + "\n$EndElements\n";
}

std::string version_4() {
  std::string text =
      "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n3\n2 5 \"floor\"\n3 1 \"block\"\n3 2 \"tip\"\n"
      "$EndPhysicalNames\n$Entities\n0 0 1 2\n3 0 0 0 1 1 0 1 5 0\n1 0 0 0 1 1 1 1 1 0\n2 0 0 1 1 1 2 1 2 0\n"
      "$EndEntities\n$Nodes\n1 9 10 66\n3 1 0 9\n";
  for (int tag : tags) text += std::to_string(tag) + "\n";
  for (const auto& x : places)
    text += std::to_string(x[0]) + " " + std::to_string(x[1]) + " " + std::to_string(x[2]) + "\n";
  return text +
         "$EndNodes\n$Elements\n3 3 7 9\n2 3 3 1\n7 31 24 17 10\n3 1 5 1\n8 31 10 17 24 45 38 59 52\n"
         "3 2 4 1\n9 45 38 52 66\n$EndElements\n";
}

void check_mixed(const Mesh& mesh, double scale) {
  REQUIRE(mesh.nodes.size() == 9);
  REQUIRE(mesh.hexahedra.size() == 1);
  REQUIRE(mesh.tetrahedra.size() == 1);
  CHECK(mesh.hexahedron_names[0] == "element 8");
  CHECK(mesh.tetrahedron_names[0] == "element 9");
  // nodes in the order of their tags: 10, 17, 24, 31, 38, 45, ...
  CHECK(mesh.nodes[0] == scale * Vec3(1, 0, 0));
  CHECK(mesh.nodes[3] == Vec3(0, 0, 0));
  CHECK(mesh.hexahedra[0] == std::array<int, 8>{3, 0, 1, 2, 5, 4, 7, 6});
  CHECK(mesh.tetrahedra[0] == std::array<int, 4>{5, 4, 6, 8});
  CHECK(bad_elements(mesh).empty());
  REQUIRE(mesh.groups.contains("floor"));
  const Mesh::Group& floor = mesh.groups.at("floor");
  CHECK(floor.nodes == std::vector<int>{0, 1, 2, 3});
  REQUIRE(floor.faces.size() == 1);
  // seen from outside, that is from below, counter-clockwise
  Vec3 normal = Vec3::Zero();
  for (std::size_t k = 0; k < 4; ++k)
    normal += mesh.nodes[static_cast<std::size_t>(floor.faces[0].nodes[k])].cross(
        mesh.nodes[static_cast<std::size_t>(floor.faces[0].nodes[(k + 1) % 4])]);
  CHECK(normal.z() < 0);
  CHECK(mesh.groups.at("tip").nodes == std::vector<int>{4, 5, 6, 8});
}

std::filesystem::path data(const std::string& name) {
  return std::filesystem::path(CAROM_SOURCE_DIR) / "data/meshes" / name;
}

}  // namespace

TEST_CASE("gmsh: .msh of the versions 2 and 4, ASCII and binary, with any tags, give the same mesh") {
  for (const std::string& text : {version_2(), version_2_binary(), version_4()}) {
    const File file("mixed.msh", text);
    check_mixed(read_gmsh(file.path, std::nullopt), 1);
    check_mixed(read_gmsh(file.path, std::nullopt, 0.001), 0.001);
  }
}

TEST_CASE("gmsh: a physical group of volumes chooses elements, and the groups keep what is theirs") {
  const File file("mixed.msh", version_2());
  const Mesh block = read_gmsh(file.path, "block"), tip = read_gmsh(file.path, "tip");
  CHECK(block.nodes.size() == 8);
  CHECK(block.tetrahedra.empty());
  CHECK(block.groups.at("tip").nodes.size() == 3);  // shared with the block
  CHECK(tip.nodes.size() == 4);
  CHECK(tip.hexahedra.empty());
  CHECK(!tip.groups.contains("floor"));
  CHECK_THROWS_AS(read_gmsh(file.path, "tipp"), UnknownVolume);
}

TEST_CASE("gmsh: a .geo is meshed as it says") {
  const Mesh mesh = read_gmsh(data("cube.geo"), "foam");
  CHECK(mesh.nodes.size() == 216);
  CHECK(mesh.hexahedra.size() == 125);
  CHECK(mesh.groups.at("bottom").nodes.size() == 36);
  CHECK(mesh.groups.at("bottom").faces.size() == 25);
  CHECK(bad_elements(mesh).empty());
}

TEST_CASE("gmsh: a .step is meshed with tetrahedra that fill it") {
  const Mesh mesh = read_gmsh(data("block.step"), std::nullopt, 0.001);
  CHECK(mesh.hexahedra.empty());
  REQUIRE(!mesh.tetrahedra.empty());
  CHECK(bad_elements(mesh).empty());
  // edges 1, 2, 1, in the file's unit of mm
  double volume = 0;
  for (const auto& t : mesh.tetrahedra) {
    Vec3 x[4];
    for (std::size_t k = 0; k < 4; ++k) x[k] = mesh.nodes[static_cast<std::size_t>(t[k])];
    volume += (x[1] - x[0]).cross(x[2] - x[0]).dot(x[3] - x[0]) / 6;
  }
  CHECK(volume == doctest::Approx(2e-9).epsilon(1e-10));
}

TEST_CASE("gmsh: a file cut anywhere is an error or a smaller mesh, never more") {
  for (const std::string& text : {version_2(), version_2_binary(), version_4()})
    for (std::size_t size = 0; size < text.size(); size += text.size() / 12) {
      const File file("cut.msh", text.substr(0, size));
      try {
        const Mesh mesh = read_gmsh(file.path, std::nullopt);
        CHECK(mesh.nodes.size() <= 9);
      } catch (const FileError&) {
      }
    }
}

TEST_CASE("gmsh: a script starts no program") {
  const File mark("mark", "");
  const std::filesystem::path stolen = mark.path.parent_path() / "stolen";
  const File file("script.geo", "SystemCall \"touch " + stolen.string() + "\";\n");
  CHECK_THROWS_AS(read_gmsh(file.path, std::nullopt), FileError);
  CHECK(!std::filesystem::exists(stolen));
}

TEST_CASE("gmsh: a script writes and removes nothing") {
  const File kept("kept", "precious");
  const std::filesystem::path folder = kept.path.parent_path();
  const std::string box = "SetFactory(\"OpenCASCADE\"); Box(1) = {0, 0, 0, 1, 1, 1}; Mesh 3;\n";
  for (const std::string name : {"x.msh", "x.step", "x.brep", "kept"}) {
    const std::string path = (folder / name).string();
    for (const std::string& command :
         {"Save \"" + path + "\";\n", "Printf(\"x\") > \"" + path + "\";\n", "CreateDir \"" + path + "\";\n"}) {
      std::ofstream(folder / "script.geo") << box << command;
      try {
        read_gmsh(folder / "script.geo", std::nullopt);
      } catch (const FileError&) {  // not of all that is refused Gmsh says so
      }
      CHECK(std::filesystem::exists(path) == (name == "kept"));
    }
  }
  CHECK(std::filesystem::file_size(kept.path) == 8);
}

TEST_CASE("gmsh: the last line of a script counts also without an end, in files that it merges too") {
  const File part("part.geo",
                  "SetFactory(\"OpenCASCADE\");\nBox(1) = {0, 0, 0, 1, 1, 1}; Physical Volume(\"v\") = {1};");
  std::ofstream(part.path.parent_path() / "whole.geo")
      << "Merge \"part.geo\";\nPhysical Surface(\"left\") = {1}; Physical Surface(\"right\") = {2};";
  const Mesh mesh = read_gmsh(part.path.parent_path() / "whole.geo", "v");
  CHECK(mesh.groups.contains("left"));
  CHECK(mesh.groups.contains("right"));
}

TEST_CASE("gmsh: pieces without a common node are remarked, with what holds them and nodes that lie in one place") {
  const auto warnings = [](bool far, const std::string& fixed) {
    std::string mesh = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n8\n";
    const std::string x = far ? "5" : "0";
    const std::string places[4] = {" 0 0\n", " 1 0\n", " 0 1\n", ""};
    for (int i = 0; i < 8; ++i)
      mesh += std::to_string(i + 1) + " " +
              (i == 3   ? "-1 0 0\n"
               : i == 7 ? "9 0 0\n"
                        : (i < 4 ? "0" : x) + places[i % 4]);
    mesh += "$EndNodes\n$Elements\n2\n1 4 2 1 1 1 3 2 4\n2 4 2 1 1 5 6 7 8\n$EndElements\n";
    const File file("pieces.msh", mesh);
    std::ofstream(file.path.parent_path() / "model.json")
        << R"({"format": 1, "materials": [{"name": "m", "type": "linear_elastic", "young": 1, "density": 1}],
               "bodies": [{"name": "s", "type": "solid", "material": "m",
                           "mesh": {"type": "gmsh", "file": "pieces.msh"}, "fixed": [)"
        << fixed << R"(]}], "integrator": {"type": "nsga_decoupled", "step": 1, "duration": 1}})";
    const PreparedRun run = prepare_run(load_model((file.path.parent_path() / "model.json").string()));
    REQUIRE_MESSAGE(run.ok(), run.issues.report());
    REQUIRE(run.model->warnings.size() == 1);
    return run.model->warnings[0];
  };
  const std::string start =
      "the elements of s form 2 pieces without a common node; the smallest is s.element.0 (element 1 of the mesh)";
  CHECK(warnings(true, "") == start);
  CHECK(warnings(true, R"({"on": "node.1"})") == start + "; nothing holds 1 of the pieces");
  CHECK(warnings(false, R"({"on": "nodes"})") ==
        start + "; 6 nodes lie where another one is: Gmsh makes them one by \"Coherence Mesh;\"");
}

// The same elements in another order.
TEST_CASE("gmsh: the cube from a .geo has the mass, stiffness and weight of the built-in box") {
  const auto build = [](const std::string& name) {
    PreparedRun run = prepare_run(load_model(std::string(CAROM_SOURCE_DIR) + "/data/models/" + name));
    REQUIRE_MESSAGE(run.ok(), run.issues.report());
    return std::move(run.model);
  };
  const auto box = build("cube.json"), gmsh = build("cube_gmsh.json");
  CHECK(gmsh->system.size() == box->system.size());
  CHECK(gmsh->total_mass == doctest::Approx(box->total_mass).epsilon(1e-12));
  CHECK(gmsh->system.saddle_pattern().nonzeros() == box->system.saddle_pattern().nonzeros());
  CHECK(gmsh->system.conditional() == 36);
  // a stretched cube has the same energy in both
  const auto energy = [](const Model& model) {
    Vector q = model.state.q;
    for (std::size_t i = 0; i < q.size(); i += 3) q[i] *= 1 + 2 * q[i + 1];
    return model.system.energies(q, model.state.v, 0).elastic;
  };
  CHECK(energy(*gmsh) == doctest::Approx(energy(*box)).epsilon(1e-12));
}
