#include "cluster/up/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace koord::cluster {

namespace {
constexpr Duration kPlainPeriod = std::chrono::seconds(5);
}

int terminalWidth() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Screen::Screen(bool quiet) : quiet_(quiet), terminal_(!quiet && ::isatty(STDOUT_FILENO) == 1) {}

Screen::~Screen() {
  leave();
}

void Screen::progress(const std::string& line) {
  if (quiet_ || drawing_) return;
  std::fprintf(stderr, "%s\n", line.c_str());
}

void Screen::ready() {
  if (drawing_) return;
  std::puts("ready");
  std::fflush(stdout);
}

void Screen::show(const ClusterStatus& status, SteadyTime now) {
  if (quiet_) return;
  if (!terminal_) {
    std::string line = statusLine(status);
    if (line == lastLine_ || now - lastShown_ < kPlainPeriod) return;
    lastShown_ = now;
    lastLine_ = std::move(line);
    std::puts(lastLine_.c_str());
    std::fflush(stdout);
    return;
  }
  winsize size{};
  ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  const int width = size.ws_col > 0 ? size.ws_col : 120;
  const int height = size.ws_row > 0 ? size.ws_row : 40;
  // The alternate screen, without a cursor; every line is overwritten in place, so that nothing
  // flickers.
  std::string out = std::exchange(drawing_, true) ? "\x1b[H" : "\x1b[?1049h\x1b[?25l\x1b[H";
  for (const auto& line : renderStatus(status, width, height - 1)) out += line + "\x1b[K\r\n";
  const std::string last = "Ctrl-C stops everything" + footer_;
  out += last.substr(0, static_cast<std::size_t>(width)) + "\x1b[K\x1b[J";
  std::fwrite(out.data(), 1, out.size(), stdout);
  std::fflush(stdout);
}

void Screen::leave() {
  if (!std::exchange(drawing_, false)) return;
  std::fputs("\x1b[?25h\x1b[?1049l", stdout);
  std::fflush(stdout);
}

}  // namespace koord::cluster
