#include "cluster/screen/live/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "cluster/screen/live/line_output.h"
#include "cluster/screen/terminal/terminal.h"

namespace koord::cluster {

namespace {

constexpr std::size_t kMostProblems = 5;  // on the screen; the log has all
constexpr int kPatienceMs = 200;

void say(const std::string& line) {
  writeLine(STDERR_FILENO, line, kPatienceMs);
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
  say(line);
}

void Screen::problem(const std::string& line) {
  if (!drawing()) {
    say("koordctl: " + line);
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
  for (const auto& line : std::exchange(problems_, {})) say("koordctl: " + line);
}

}  // namespace koord::cluster
