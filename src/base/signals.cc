#include "base/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace koord {
namespace {

// SIGUSR2 is how the destructor wakes the waiting thread.
sigset_t watchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGUSR2);
  return set;
}

}  // namespace

SignalWatcher::SignalWatcher(Executor& executor, std::function<void(int signal)> onSignal) {
  sigset_t set = watchedSignals();
  struct sigaction hangUp{};
  if (sigaction(SIGHUP, nullptr, &hangUp) == 0 && hangUp.sa_handler == SIG_IGN)
    sigdelset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  thread_ = std::thread([set, &executor, onSignal = std::move(onSignal)] {
    bool first = true;
    for (;;) {
      int number = 0;
      sigwait(&set, &number);
      if (number == SIGUSR2) return;
      if (number == SIGHUP && !first) continue;
      if (!first) _exit(1);
      first = false;
      executor.post([onSignal, number] { onSignal(number); });
    }
  });
}

SignalWatcher::~SignalWatcher() {
  pthread_kill(thread_.native_handle(), SIGUSR2);
  thread_.join();
}

void restoreDefaultSignals() {
  signal(SIGPIPE, SIG_DFL);
  const sigset_t set = watchedSignals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace koord
