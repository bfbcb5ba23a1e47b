#pragma once

// Keeps child processes running: restarts them with a growing pause when they end and writes their
// output to log files. The kernel kills them when this process dies.
//
// start() must be called on a thread that lives as long as the process: the kernel kills a child
// when the thread that forked it ends.

#include <sys/types.h>

#include <list>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/task.h"

namespace koord::cluster {

struct ChildSpec {
  std::string name;
  std::vector<std::string> argv;  // argv[0] is the path of the program
  std::vector<std::string> env;   // NAME=value, on top of this process' own
  std::string logFile;
};

struct ChildState {
  std::string name;
  pid_t pid = 0;  // 0 while it is down
  int starts = 0;
  SteadyTime startedAt{};
  std::string lastExit;  // "exit status 1", "killed by signal 9"; "" before the first end
};

// Moves the content of a log larger than `most` bytes to FILE.1 and truncates it. The writer must
// have opened it for appending; text written in between may be lost.
void trimLog(const std::string& file, std::int64_t most);

class Supervisor {
 public:
  // onExit: called after a child has ended and before it is restarted.
  Supervisor(Executor& executor, std::function<void(const std::string& name)> onExit);
  ~Supervisor();

  void start(ChildSpec spec);
  std::vector<ChildState> states() const;
  // Sends SIGTERM to all, SIGKILL after the grace period; returns when all have ended. Nothing is
  // started afterwards, until startAll().
  Task<void> stopAll(Duration grace);
  // Starts them again after stopAll(), which must have ended.
  void startAll();

 private:
  struct Child {
    ChildSpec spec;
    ChildState state;
    Duration backoff{};
    SteadyTime nextStart{};
  };
  Task<void> watch();
  void launch(Child& child);
  void reap(Child& child);

  Executor& executor_;
  std::function<void(const std::string&)> onExit_;
  std::list<Child> children_;
  SteadyTime trimmed_{};
  bool watching_ = false;
  bool stopping_ = false;
  TaskGroup tasks_;
};

}  // namespace koord::cluster
