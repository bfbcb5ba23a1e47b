#pragma once

// Child processes that are kept running: started again with a growing pause when they end, their
// output in log files, killed by the kernel when this process dies.
//
// start() must be called on a thread that lives as long as the process: the kernel ties a child's
// end to the thread that forked it.

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

// Puts the contents of a log that is larger than `most` bytes aside as FILE.1 and empties it. Who
// writes has to have opened it for appending; what is written in between may be lost.
void trimLog(const std::string& file, std::int64_t most);

class Supervisor {
 public:
  // onExit is called after a child has ended and before it is started again.
  Supervisor(Executor& executor, std::function<void(const std::string& name)> onExit);
  ~Supervisor();

  void start(ChildSpec spec);
  std::vector<ChildState> states() const;
  // SIGTERM to all, SIGKILL after the grace time; returns when all have ended. Nothing is started
  // after.
  Task<void> stopAll(Duration grace);

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
