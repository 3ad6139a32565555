#include "core/linear/blas.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>

namespace carom {

namespace {

// The file of the library that contains dgemm_; empty if no shared library contains the function.
std::string blas_file() {
  void* const dgemm = dlsym(RTLD_DEFAULT, "dgemm_");
  Dl_info info{};
  if (dgemm == nullptr || dladdr(dgemm, &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

// A function of OpenBLAS, looked up in the BLAS and in the libraries on which the BLAS depends: Debian's libblas.so.3
// of OpenBLAS has only the interface, and depends on libopenblas. Null with another BLAS.
template <class Function>
Function* openblas_function(const char* name) {
  void* const library = dlopen(blas_file().c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const function = dlsym(library, name);
  dlclose(library);  // the library stays loaded
  return reinterpret_cast<Function*>(function);
}

// The processor for which OpenBLAS has chosen its code; empty if unknown.
std::string chosen_processor() {
  auto* const name = openblas_function<char*()>("openblas_get_corename");
  return name != nullptr ? name() : "";
}

// The processor of OpenBLAS's list whose code serves this processor best, judged by the instructions; null: none.
const char* better_processor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

// Lets OpenBLAS choose again, this time by a name from its list, which OpenBLAS reads from the environment.
void choose_processor() {
  constexpr const char* variable = "OPENBLAS_CORETYPE";
  const char* const better = better_processor();
  if (better == nullptr || std::getenv(variable) != nullptr || chosen_processor() != "Prescott") return;
  auto* const forget = openblas_function<void()>("gotoblas_dynamic_quit");
  auto* const choose = openblas_function<void()>("gotoblas_dynamic_init");
  if (forget == nullptr || choose == nullptr) return;
  ::setenv(variable, better, 1);
  forget();
  choose();
  ::unsetenv(variable);
}

// Must come before the first call of the BLAS.
void prepare() {
  static std::once_flag done;
  std::call_once(done, [] {
    choose_processor();
    if (auto* const set = openblas_function<void(int)>("openblas_set_num_threads")) set(1);
  });
}

std::atomic<bool>& used() {
  static std::atomic<bool> value = false;
  return value;
}

}  // namespace

BlasLibrary blas_library() {
  prepare();
  // "OpenBLAS 0.3.21 DYNAMIC_ARCH ..."
  if (auto* const config = openblas_function<char*()>("openblas_get_config")) {
    const std::string_view text = config();
    std::string name(text.substr(0, text.find(' ', text.find(' ') + 1)));
    if (const std::string processor = chosen_processor(); !processor.empty()) name += " (" + processor + ")";
    return {true, name};
  }
  const std::string file = blas_file();
  if (file.empty()) return {false, "unknown"};
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(file, error);
  return {false, error ? file : resolved.string()};
}

void use_blas() {
  prepare();
  used() = true;
}

bool blas_is_used() { return used(); }

}  // namespace carom
