#pragma once

// What the benchmarks of whole schedulers share: nodes and pods as in scheduler_perf's
// SchedulingBasic, a load of them on an API server, and what the kernel says of a process.

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/event_loop.h"
#include "kube/api.h"

namespace koord::bench {

// JSON bodies for create.
std::string nodeBody(int n);
std::string podBody(const std::string& name, const std::string& scheduler,
                    const std::string& node = "");

kube::Request coreRequest(kube::Verb verb, const std::string& resource,
                          const std::string& namespace_ = "", const std::string& name = "");

// Says why on standard error and ends the program with status 1.
[[noreturn]] void giveUp(const std::string& why);

// Makes requests, and watches pods get bound. Called from any thread but the loop's, on which it
// works; thread and API must outlive it. What goes wrong ends the program.
class SchedulingLoad {
 public:
  SchedulingLoad(LoopThread& thread, kube::Api& api, std::string namespace_);
  ~SchedulingLoad();

  // Carries out `count` requests, 64 at once. What is there already may be there, and what is gone
  // may be gone.
  void each(int count, std::function<kube::Request(int)> make);
  // Notes the pods of the namespace that have a node, from now on.
  void watchBound();
  // patience: how long none may follow.
  void waitForBound(std::size_t count, std::chrono::seconds patience);

 private:
  struct Batch {
    int count = 0;
    int next = 0;
    int active = 0;
    std::function<kube::Request(int)> make;
    std::promise<void> done;
  };
  Task<void> some(Batch& batch);
  void watchAgain();

  LoopThread& thread_;
  kube::Api& api_;
  const std::string namespace_;
  std::unique_ptr<kube::Watch> watch_;
  TaskGroup tasks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string, std::less<>> bound_;  // names, guarded by mutex_
};

struct ProcessUsage {
  double cpuSeconds = 0;  // user and system
  double rssMib = 0;
  double peakMib = 0;
};
// All zero when there is no such process.
ProcessUsage usageOf(pid_t pid);

}  // namespace koord::bench
