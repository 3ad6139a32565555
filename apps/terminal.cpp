// Properties of the terminal.

#include <sys/ioctl.h>
#include <unistd.h>

#include "apps/commands.hpp"

namespace carom {

std::size_t width_of_stderr() {
  if (isatty(STDERR_FILENO) == 0) return 0;
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace carom
