#include "apps/process_pool.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "apps/commands.hpp"
#include "core/base/errors.hpp"

namespace carom {

namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): a signal handler can reach nothing else
volatile std::sig_atomic_t signals = 0;
std::array<volatile pid_t, ProcessPool::most_processes> running{};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void send_to_all(int signal) {
  for (const volatile pid_t& process : running)
    if (process != 0) kill(process, signal);
}

extern "C" void on_pool_signal(int) {
  const int error = errno;
  if (signals != 0) {
    send_to_all(SIGKILL);
    std::_Exit(exit_interrupted);
  }
  signals = 1;
  send_to_all(SIGTERM);
  errno = error;
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

std::string all_text(int descriptor) {
  std::string out(64 * 1024, '\0');
  const ssize_t size = pread(descriptor, out.data(), out.size(), 0);
  out.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return out;
}

}  // namespace

ProcessPool::ProcessPool() : program_(std::filesystem::read_symlink("/proc/self/exe").string()) {
  struct sigaction action {};
  action.sa_handler = on_pool_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

ProcessPool::~ProcessPool() {
  for (const Child& child : children_) {
    kill(child.process, SIGKILL);
    waitpid(child.process, nullptr, 0);
    close(child.errors);
  }
}

bool ProcessPool::stopped() { return signals != 0; }

void ProcessPool::start(std::size_t id, const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  words.push_back(program_.data());
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));  // execv changes nothing
  words.push_back(nullptr);
  const int errors = memfd_create("stderr", MFD_CLOEXEC);
  if (errors < 0) throw FileError(std::string("cannot start a process: ") + std::strerror(errno));
  const auto slot = std::find(running.begin(), running.end(), 0);

  // no signal between the start of the process and its entry in the list
  const sigset_t set = stop_signals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &set, &before);
  const pid_t parent = getpid(), process = fork();
  if (process == 0) {
    // only calls that a forked process may make
    setpgid(0, 0);  // Ctrl-C of the terminal comes by way of the parent
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(exit_internal);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    execv(words[0], words.data());
    _exit(exit_internal);
  }
  const int error = errno;
  if (process > 0) *slot = process;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (process < 0) {
    close(errors);
    throw FileError(std::string("cannot start a process: ") + std::strerror(error));
  }
  children_.push_back({process, id, errors});
}

ProcessPool::Ended ProcessPool::wait() {
  // the handler must not reach a process that has been waited for, whose number may belong to another one
  const sigset_t set = stop_signals();
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  sigset_t before;
  sigprocmask(SIG_BLOCK, &set, &before);
  int status = 0;
  waitpid(info.si_pid, &status, 0);
  const auto slot = std::find(running.begin(), running.end(), info.si_pid);
  if (slot != running.end()) *slot = 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);

  const auto child =
      std::find_if(children_.begin(), children_.end(), [&](const Child& c) { return c.process == info.si_pid; });
  if (child == children_.end()) throw FileError("a process ended that was not started here");
  Ended out{child->id, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), all_text(child->errors)};
  close(child->errors);
  children_.erase(child);
  return out;
}

}  // namespace carom
