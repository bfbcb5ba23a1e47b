#pragma once

// SIGINT and SIGTERM as events of a program's main loop. Make one before any other thread is
// started: the signals are blocked in every thread and waited for in one of ours.

#include <functional>
#include <thread>

#include "base/executor.h"

namespace koord {

class SignalWatcher {
 public:
  // Runs onSignal on the executor at the first signal; a second one ends the process with status 1.
  // SIGPIPE is ignored from here on.
  SignalWatcher(Executor& executor, std::function<void(int signal)> onSignal);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  std::thread thread_;
};

// Undoes the blocking in a child process between fork and exec.
void restoreDefaultSignals();

}  // namespace koord
