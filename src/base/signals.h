#pragma once

// SIGINT, SIGTERM and SIGHUP as events of a program's main loop. Construct it before any other
// thread starts: it blocks the signals in every thread and waits for them in its own thread.

#include <functional>
#include <thread>

#include "base/executor.h"

namespace koord {

class SignalWatcher {
 public:
  // Runs onSignal on the executor at the first signal; a second signal ends the process with status
  // 1. SIGHUP, of a terminal that is closed, is a first signal, unless it is ignored (nohup); it
  // often comes twice and is never a second one. Also ignores SIGPIPE.
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
