// The BLAS: the program names the library that SuiteSparse's calls reach, and remarks on a slow one.

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;
namespace fs = std::filesystem;

namespace {

// A variable of the environment of the programs that are started while this object exists.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

// A solid with an unsymmetric tangent, which UMFPACK factorises.
const Words factorised = joined(
    {"run", model_path("cube"), "-o", "r", "--until", "0.002"},
    {"--set", "/integrator/newton/method=full", "--set", "/bodies/0/damping/stiffness=1e-4", "--set", "/expect=[]"});

std::string blas_of(const fs::path& results) { return read_json(results / "summary.json")["versions"]["blas"]; }

}  // namespace

TEST_CASE("BLAS: all calls of SuiteSparse reach one library, which -v and summary.json name") {
  const TemporaryDirectory directory;
  Outcome outcome;
  {
    // the dynamic linker writes which library each function was found in
    const Environment debug("LD_DEBUG", "bindings"), file("LD_DEBUG_OUTPUT", (directory / "linker").string()),
        now("LD_BIND_NOW", "1");
    outcome = run_carom(directory, joined(factorised, {"-v"}));
  }
  REQUIRE(outcome.code == 0);
  const std::string name = blas_of(directory / "r");
  CHECK(contains(outcome.err, "BLAS: " + name + "\n"));

  std::set<std::string> libraries;
  int calls = 0;
  for (const auto& entry : fs::directory_iterator(directory.path())) {
    if (!entry.path().filename().string().starts_with("linker")) continue;
    std::ifstream lines(entry.path());
    for (std::string line; std::getline(lines, line);) {
      // "binding file /lib/libcholmod.so.3 [0] to /lib/libopenblas.so.0 [0]: normal symbol `dpotrf_'"
      const auto about = [&](const char* word) { return contains(line, word); };
      if (!about("file /lib") || !(about("/libcholmod.so") || about("/libumfpack.so"))) continue;
      if (!(about("`dgemm_'") || about("`dtrsm_'") || about("`dsyrk_'") || about("`dpotrf_'"))) continue;
      const std::size_t begin = line.find(" to ") + 4;
      libraries.insert(line.substr(begin, line.find(" [", begin) - begin));
      ++calls;
    }
  }
  CHECK(calls >= 4);
  if (name.starts_with("OpenBLAS")) {
    REQUIRE(libraries.size() == 1);
    CHECK(contains(*libraries.begin(), "openblas"));
  }
}

// The address sanitizer wants to be loaded first.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("BLAS: with another library than OpenBLAS, the end of a run that used the library says so, once") {
  const fs::path reference = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3";
  if (!fs::exists(reference)) return;
  const TemporaryDirectory directory;
  const Environment preload("LD_PRELOAD", reference.string());
  const Outcome outcome = run_carom(directory, factorised);
  REQUIRE(outcome.code == 0);
  const std::string file = fs::canonical(reference).string();
  CHECK(blas_of(directory / "r") == file);
  const std::size_t remark = outcome.err.find("OpenBLAS");
  REQUIRE(remark != std::string::npos);
  CHECK(outcome.err.find("OpenBLAS", remark + 1) == std::string::npos);
  CHECK(contains(outcome.err, file));

  // a pendulum needs no BLAS
  const Outcome none =
      run_carom(directory, {"run", model_path("heavy_top"), "-o", "none", "--until", "0.01", "--set", "/expect=[]"});
  CHECK(none.code == 0);
  CHECK(blas_of(directory / "none") == file);
  CHECK(!contains(none.err, "BLAS"));
}
#endif
