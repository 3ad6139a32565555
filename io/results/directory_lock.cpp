#include "io/results/directory_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "core/base/errors.hpp"

namespace carom {

namespace {

/// True if the name still leads to the open file: another process may have removed or replaced the file.
bool is_named(int descriptor, const std::filesystem::path& file) {
  struct stat opened {};
  struct stat named {};
  return fstat(descriptor, &opened) == 0 && lstat(file.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

/// "process 4711 on host", as the holder wrote it; without a complete line, for instance in the moment before the
/// holder has written the line, "another process".
std::string holder_of(int descriptor) {
  std::array<char, 300> text{};
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  const std::string_view line(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return line.ends_with('\n') ? "process " + std::string(line.substr(0, line.size() - 1)) : "another process";
}

}  // namespace

DirectoryLock::~DirectoryLock() {
  if (descriptor_ < 0) return;
  if (is_named(descriptor_, file_)) unlink(file_.c_str());
  close(descriptor_);
}

void DirectoryLock::acquire(const std::filesystem::path& directory) {
  if (descriptor_ >= 0) return;
  const std::filesystem::path file = directory / ".carom.lock";
  for (;;) {
    const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (descriptor < 0) return;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const std::string holder = holder_of(descriptor);
      close(descriptor);
      if (error == EINTR) continue;
      if (error != EWOULDBLOCK) return;
      throw FileError("the results in " + directory.string() + " are in use by " + holder +
                      ": wait for the end of that run, or choose another directory with -o");
    }
    // between open and flock the holder before may have ended and removed the file
    if (!is_named(descriptor, file)) {
      close(descriptor);
      continue;
    }
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    const std::string line = std::to_string(getpid()) + " on " + host.data() + "\n";
    // if the disk is full, the line is missing, and the message of another run names no process
    [[maybe_unused]] const bool written =
        ftruncate(descriptor, 0) == 0 && pwrite(descriptor, line.data(), line.size(), 0) > 0;
    file_ = file;
    descriptor_ = descriptor;
    return;
  }
}

}  // namespace carom
