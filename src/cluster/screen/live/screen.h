#pragma once

// The output of a command that runs until it is stopped: progress and problems as lines on standard
// error, then the full screen, or lines on standard output if there is no terminal for it.

#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "cluster/screen/live/feed.h"

namespace koord::cluster {

// The width of standard output; 0 if it is not a terminal.
int terminalWidth();

class Screen {
 public:
  // Quiet: only problems and ready(). Construct it before other threads start.
  explicit Screen(bool quiet);
  // Restores the terminal.
  ~Screen();

  bool isQuiet() const { return quiet_; }
  void progress(const std::string& line);
  // What a user must know, also with --quiet. The full screen shows it among its notes, and the
  // terminal gets it at the end.
  void problem(const std::string& line);
  void ready();
  // The problems so far.
  const std::vector<std::string>& problems() const { return problems_; }
  // Nothing if quiet, and after leave().
  void start(Executor& executor, FeedOptions options);
  // Switches back to lines, for the last messages. Not to be called by the feed's tasks.
  void leave();

 private:
  bool drawing() const { return feed_ && feed_->hasScreen(); }

  const bool quiet_;
  bool left_ = false;
  std::vector<std::string> problems_;
  std::unique_ptr<Feed> feed_;
};

}  // namespace koord::cluster
