#include "cluster/screen/live/line_output.h"

#include <poll.h>
#include <unistd.h>

#include <climits>

#include "base/utf8.h"

namespace koord::cluster {

bool writeLine(int fd, const std::string& line, int patienceMs) {
  pollfd output{fd, POLLOUT, 0};
  if (::poll(&output, 1, patienceMs) != 1) return false;
  // A pipe that is ready has room for PIPE_BUF bytes, and a longer text would wait for more.
  constexpr std::size_t most = PIPE_BUF - 8;
  const std::string text =
      (line.size() > most ? std::string(utf8Prefix(line, most)) + "..." : line) + "\n";
  return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace koord::cluster
