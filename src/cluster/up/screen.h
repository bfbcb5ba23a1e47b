#pragma once

// The output of `koordctl up`: a screen that is redrawn in place if standard output is a terminal,
// and plain lines otherwise. Progress lines go to standard error.

#include <string>

#include "base/executor.h"
#include "cluster/up/status_render.h"

namespace koord::cluster {

// The width of standard output; 0 if it is not a terminal.
int terminalWidth();

class Screen {
 public:
  // Quiet: only errors and ready().
  explicit Screen(bool quiet);
  // Restores the terminal.
  ~Screen();

  bool isQuiet() const { return quiet_; }
  void progress(const std::string& line);
  void ready();
  void show(const ClusterStatus& status, SteadyTime now);
  // Added to the last line of the screen.
  void setFooter(std::string footer) { footer_ = std::move(footer); }
  // Switches back to plain lines, for the last messages.
  void leave();

 private:
  bool quiet_;
  bool terminal_;
  bool drawing_ = false;
  std::string footer_;
  std::string lastLine_;
  SteadyTime lastShown_{};
};

}  // namespace koord::cluster
