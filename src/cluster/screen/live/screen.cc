#include "cluster/screen/live/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "cluster/screen/terminal/terminal.h"

namespace koord::cluster {

namespace {

constexpr std::size_t kMostProblems = 5;  // on the screen; the log has all
constexpr int kPatienceMs = 200;

// Drops the line if the reader does not read: the cluster must not wait for it.
void writeLine(const std::string& line) {
  pollfd output{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&output, 1, kPatienceMs) == 1) std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace

int terminalWidth() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Screen::Screen(bool quiet) : quiet_(quiet) {
  Terminal::prepareLocale();
}

Screen::~Screen() {
  leave();
}

void Screen::progress(const std::string& line) {
  if (quiet_ || drawing()) return;
  writeLine(line);
}

void Screen::problem(const std::string& line) {
  if (!drawing()) {
    writeLine("koordctl: " + line);
    return;
  }
  if (problems_.size() >= kMostProblems) problems_.erase(problems_.begin());
  problems_.push_back(line);
}

void Screen::ready() {
  if (drawing()) return;
  std::puts("ready");
  std::fflush(stdout);
}

void Screen::start(Executor& executor, FeedOptions options) {
  if (quiet_ || left_) return;
  feed_ = std::make_unique<Feed>(executor, std::move(options));
  feed_->start();
}

void Screen::leave() {
  left_ = true;
  feed_.reset();
  for (const auto& line : std::exchange(problems_, {})) writeLine("koordctl: " + line);
}

}  // namespace koord::cluster
