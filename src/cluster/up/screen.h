#pragma once

// Where `koordctl up` shows what goes on: a screen that is redrawn in place when standard output is
// a terminal, and plain lines otherwise. Progress lines go to standard error.

#include <string>

#include "base/executor.h"
#include "cluster/up/status_render.h"

namespace koord::cluster {

// Of standard output; 0 when it is no terminal.
int terminalWidth();

class Screen {
 public:
  // Quiet: nothing but errors, and ready().
  explicit Screen(bool quiet);
  // Leaves the terminal as it was.
  ~Screen();

  void progress(const std::string& line);
  void ready();
  void show(const ClusterStatus& status, SteadyTime now);
  // Back to plain lines, for what is said at the end.
  void leave();

 private:
  bool quiet_;
  bool terminal_;
  bool drawing_ = false;
  std::string lastLine_;
  SteadyTime lastShown_{};
};

}  // namespace koord::cluster
