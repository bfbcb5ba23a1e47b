#pragma once

// The terminal by ncurses: shows grids, of which it sends only the differences, and reads keys. All
// calls on one thread, that of the executor: a terminal that does not read stops this thread.

#include <pthread.h>

#include <functional>
#include <memory>

#include "base/executor.h"
#include "cluster/screen/grid.h"
#include "cluster/screen/panes.h"

namespace koord::cluster {

class Terminal {
 public:
  // True if standard input and output are a terminal whose foreground is this process.
  static bool usable();
  // Characters beyond ASCII need a locale. Call it before other threads start.
  static void prepareLocale();
  // Takes over the terminal; nullptr if its type ($TERM) has no cursor, or if there are no free
  // file descriptors. onKey is called on the executor.
  static std::unique_ptr<Terminal> open(Executor& executor, std::function<void(const Key&)> onKey);

  virtual ~Terminal() = default;  // restores the terminal
  virtual int rows() const = 0;
  virtual int columns() const = 0;
  virtual void show(const Grid& grid) = 0;
  // Draws all again, for what other programs have written.
  virtual void redraw() = 0;
};

// Ends the wait of the thread above for a terminal that does not read. For another thread, in this
// order: the constructor lets a terminal continue that was stopped (Ctrl-S); discard() sends all
// output of that thread to /dev/null; the destructor, when the Terminal is gone, makes standard
// output and the terminal's modes what they were.
class OutputRelease {
 public:
  OutputRelease();
  ~OutputRelease();
  OutputRelease(const OutputRelease&) = delete;
  OutputRelease& operator=(const OutputRelease&) = delete;

  void discard(pthread_t thread);

 private:
  int output_ = -1;  // a copy of standard output
};

}  // namespace koord::cluster
