#include "cluster/screen/terminal/terminal.h"

#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <semaphore>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.h"

// After all others: its names are those of many functions.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <ncurses.h>

namespace koord::cluster {

namespace {

constexpr int kEscapeDelayMs = 100;  // a key's sequence may arrive in two packets
constexpr wint_t kControlL = 0x0c;
constexpr wint_t kControlH = 0x08;
constexpr wint_t kEscape = 0x1b;
constexpr wint_t kDelete = 0x7f;

termios modes{};  // before the screen

// Where the handler of SIGWINCH writes.
std::atomic<int> resized{-1};

void onResize(int) {
  const int error = errno;
  if (const int fd = resized.load(); fd >= 0) {
    [[maybe_unused]] const auto put = ::write(fd, "r", 1);
  }
  errno = error;
}

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
      from = Fd(ends[0]);
      to = Fd(ends[1]);
    }
  }
  Fd from;
  Fd to;
};

int attributesOf(Style style, bool colours) {
  const auto coloured = [&](short pair, int otherwise) {
    return colours ? static_cast<int>(COLOR_PAIR(pair)) : otherwise;
  };
  switch (style) {
    case Style::Strong:
      return A_BOLD;
    case Style::Dim:
      return A_DIM;
    case Style::Good:
      return coloured(1, A_NORMAL);
    case Style::Warning:
      return coloured(2, A_BOLD);
    case Style::Bad:
      return coloured(3, A_BOLD) | A_BOLD;
    case Style::Selected:
    case Style::Bar:
      return A_REVERSE;
    default:
      return A_NORMAL;
  }
}

std::optional<Key::Code> codeOf(wint_t key) {
  using Code = Key::Code;
  switch (key) {
    case KEY_UP:
      return Code::Up;
    case KEY_DOWN:
      return Code::Down;
    case KEY_LEFT:
      return Code::Left;
    case KEY_RIGHT:
      return Code::Right;
    case KEY_PPAGE:
      return Code::PageUp;
    case KEY_NPAGE:
      return Code::PageDown;
    case KEY_HOME:
      return Code::Home;
    case KEY_END:
      return Code::End;
    case KEY_ENTER:
      return Code::Enter;
    case KEY_BACKSPACE:
      return Code::Backspace;
    case KEY_BTAB:
      return Code::BackTab;
    default:
      return std::nullopt;
  }
}

class CursesTerminal final : public Terminal {
 public:
  CursesTerminal(Executor& executor, std::function<void(const Key&)> onKey, Pipe wake, Pipe winch,
                 SCREEN* screen)
      : executor_(executor),
        onKey_(std::move(onKey)),
        screen_(screen),
        wake_(std::move(wake)),
        winch_(std::move(winch)) {
    ::set_escdelay(kEscapeDelayMs);
    ::cbreak();  // Ctrl-C stays a signal
    ::noecho();
    ::nonl();
    ::intrflush(::stdscr, FALSE);
    ::keypad(::stdscr, TRUE);
    ::nodelay(::stdscr, TRUE);
    ::curs_set(0);
    ::typeahead(-1);  // show each grid at once, also if more keys wait
    // Ctrl-Z would stop the cluster, and Ctrl-\ would leave the terminal as it is.
    termios mode{};
    if (::tcgetattr(STDIN_FILENO, &mode) == 0) {
      mode.c_cc[VSUSP] = mode.c_cc[VQUIT] = _POSIX_VDISABLE;
      ::tcsetattr(STDIN_FILENO, TCSANOW, &mode);
      ::def_prog_mode();
    }
    const char* none = std::getenv("NO_COLOR");
    colours_ = ::has_colors() && !(none && *none) && ::start_color() == OK;
    if (colours_) {
      ::use_default_colors();
      ::init_pair(1, COLOR_GREEN, -1);
      ::init_pair(2, COLOR_YELLOW, -1);
      ::init_pair(3, COLOR_RED, -1);
    }
    resized = winch_.to.get();
    struct sigaction action{};
    action.sa_handler = onResize;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGWINCH, &action, &before_);
    input_ = std::thread([this] { waitForInput(); });
  }

  ~CursesTerminal() override {
    ended_ = true;
    [[maybe_unused]] const auto put = ::write(wake_.to.get(), "w", 1);
    read_.release();
    input_.join();
    *alive_ = false;
    ::endwin();
    ::delscreen(screen_);
    // At last, since OutputRelease needs the signal.
    ::sigaction(SIGWINCH, &before_, nullptr);
    resized = -1;
  }

  int rows() const override { return getmaxy(::stdscr); }
  int columns() const override { return getmaxx(::stdscr); }

  void show(const Grid& grid) override {
    std::vector<wchar_t> run;
    const int rows = std::min(grid.rows(), this->rows());
    const int columns = std::min(grid.columns(), this->columns());
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns;) {
        const Style style = grid.at(row, column).style;
        const int start = column;
        run.clear();
        for (; column < columns && grid.at(row, column).style == style; ++column)
          if (const char32_t code = grid.at(row, column).code; code != 0)
            run.push_back(static_cast<wchar_t>(code));
        ::wattrset(::stdscr, attributesOf(style, colours_));
        ::mvwaddnwstr(::stdscr, row, start, run.data(), static_cast<int>(run.size()));
      }
    }
    ::wnoutrefresh(::stdscr);
    ::doupdate();
  }

  void redraw() override { ::clearok(::stdscr, TRUE); }

 private:
  // On a thread of its own: everything else happens on the executor.
  void waitForInput() {
    pollfd waits[] = {
        {STDIN_FILENO, POLLIN, 0}, {wake_.from.get(), POLLIN, 0}, {winch_.from.get(), POLLIN, 0}};
    while (!ended_) {
      if (::poll(waits, std::size(waits), -1) < 0) {
        if (errno == EINTR) continue;
        return;
      }
      if (waits[1].revents != 0) return;
      if (waits[2].revents != 0) {
        char bytes[64];
        while (::read(winch_.from.get(), bytes, sizeof(bytes)) > 0) continue;
        post([this] { resize(); });
      }
      if (waits[0].revents == 0) continue;
      if ((waits[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
        return post([this] { onKey_({Key::Code::Closed}); });
      post([this] { readKeys(); });
      read_.acquire();  // until the keys are read
    }
  }

  void post(std::function<void()> fn) {
    executor_.post([alive = alive_, fn = std::move(fn)] {
      if (*alive) fn();
    });
  }

  void readKeys() {
    wint_t key = 0;
    int kind = ERR;
    // Not without end: pasted text may be long.
    for (int i = 0; i < 256 && (kind = ::wget_wch(::stdscr, &key)) != ERR; ++i) {
      if (const auto pressed = keyOf(kind, key)) onKey_(*pressed);
    }
    read_.release();
  }

  std::optional<Key> keyOf(int kind, wint_t key) {
    if (kind == KEY_CODE_YES) {
      const auto code = codeOf(key);
      return code ? std::optional(Key{*code}) : std::nullopt;
    }
    if (key == kControlL) redraw();
    if (key == '\n' || key == '\r') return Key{Key::Code::Enter};
    if (key == '\t') return Key{Key::Code::Tab};
    if (key == kEscape) return Key{Key::Code::Escape};
    if (key == kControlH || key == kDelete) return Key{Key::Code::Backspace};
    return Key{Key::Code::Character, static_cast<char32_t>(key)};
  }

  void resize() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
      return;
    ::resizeterm(size.ws_row, size.ws_col);
    onKey_({Key::Code::Resize, 0, size.ws_row, size.ws_col});
  }

  Executor& executor_;
  const std::function<void(const Key&)> onKey_;
  SCREEN* const screen_;
  bool colours_ = false;
  Pipe wake_;
  Pipe winch_;
  struct sigaction before_{};
  std::atomic<bool> ended_ = false;
  std::counting_semaphore<> read_{0};  // the end may come when it is released already
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // executor's thread only
  std::thread input_;
};

}  // namespace

bool Terminal::usable() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 &&
         ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

void Terminal::prepareLocale() {
  if (std::setlocale(LC_CTYPE, "") && std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0) return;
  std::setlocale(LC_CTYPE, "C.UTF-8");
}

std::unique_ptr<Terminal> Terminal::open(Executor& executor,
                                         std::function<void(const Key&)> onKey) {
  Pipe wake;
  Pipe winch;
  if (!wake.to || !winch.to) return nullptr;
  ::tcgetattr(STDIN_FILENO, &modes);
  SCREEN* screen = ::newterm(nullptr, stdout, stdin);
  if (!screen) return nullptr;
  const char* cursor = ::tigetstr("cup");
  if (!cursor || cursor == reinterpret_cast<const char*>(-1)) {
    ::endwin();
    ::delscreen(screen);
    return nullptr;
  }
  return std::make_unique<CursesTerminal>(executor, std::move(onKey), std::move(wake),
                                          std::move(winch), screen);
}

OutputRelease::OutputRelease() {
  ::tcflow(STDOUT_FILENO, TCOON);
}

void OutputRelease::discard(pthread_t thread) {
  if (output_ < 0) {
    const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    output_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (!null || output_ < 0 || ::dup2(null.get(), STDOUT_FILENO) < 0) return;
  }
  // The kernel starts the interrupted write again, with what standard output is now.
  ::pthread_kill(thread, SIGWINCH);
}

OutputRelease::~OutputRelease() {
  if (output_ < 0) return;
  ::dup2(output_, STDOUT_FILENO);
  ::close(output_);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &modes);
  // If it reads again some day: the cursor, and the normal screen, instead of what waits for it.
  ::tcflush(STDOUT_FILENO, TCOFLUSH);
  const Fd terminal(::open("/proc/self/fd/0", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const std::string_view end = "\x1b[?25h\x1b[?1049l";
  [[maybe_unused]] const auto put = ::write(terminal.get(), end.data(), end.size());
}

}  // namespace koord::cluster
