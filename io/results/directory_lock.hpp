// DirectoryLock: keeps two runs out of one directory of results.
//
// The lock is flock(2) on the file .carom.lock in the directory, which contains pid and host of the holder. The kernel
// drops the lock when the process ends, however the process ends, so a file that a killed process leaves behind blocks
// nothing. On a file system without locks, or in a directory that cannot be written, there is no protection.
#pragma once

#include <filesystem>

namespace carom {

class DirectoryLock {
 public:
  DirectoryLock() = default;
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  /// Releases the lock and removes its file.
  ~DirectoryLock();

  /// Locks the directory, unless this object already holds a lock. Does nothing if the directory does not exist. Throws
  /// FileError, with pid and host of the holder, if another process holds the lock.
  void acquire(const std::filesystem::path& directory);

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace carom
