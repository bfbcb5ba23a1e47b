#pragma once

// Sees pods and containers as they are made, by their cgroups, before kubelet tells of them: a pod's
// limits are to hold within a tenth of a second of its start, and not when kubelet has seen it. New
// pods make the poller list at once; which container a new cgroup is, the container runtime knows.
// Also tells when somebody writes into the cgroups of containers where kubelet's static CPU manager
// does that.
//
// Nothing is told while the runtime is still writing: runc reads back what it has written, and a
// container whose shares say something else then is not started, or not updated. New containers are
// told of once they run, writes once they have been over for kQuiet, or going on for five times that.

#include <map>

#include "koordlet/runtime/container_runtime.h"
#include "koordlet/states/pod_poller.h"
#include "koordlet/system/dir_watcher.h"

namespace koord::koordlet {

class PodWatch {
 public:
  // `onWritten` gets the full path of a file in the cgroup of a container.
  using OnWritten = std::function<void(const std::string& path)>;
  static constexpr Duration kQuiet = std::chrono::milliseconds(200);
  // `runtime` may be null: then kubelet is asked until it knows.
  PodWatch(Executor& executor, const Host& host, States& states, PodPoller& poller,
           ContainerRuntime* runtime, OnWritten onWritten);
  ~PodWatch();
  void start();
  // Why nothing is seen; empty while watching works.
  const std::string& problem() const { return problem_; }

 private:
  void watch(const std::string& dir, DirWatcher::Interest interest);
  // Watches for what is not watched yet.
  void refresh();
  void take(const DirWatcher::Event& event);
  void identify();
  void askRuntime();
  Task<void> ask();
  // False: some are still being made.
  bool learn(const std::vector<RuntimeContainer>& containers);
  Task<void> tellWritten();

  Executor& executor_;
  const Host& host_;
  States& states_;
  PodPoller& poller_;
  ContainerRuntime* runtime_;
  OnWritten onWritten_;
  DirWatcher watcher_;
  bool asking_ = false;
  bool again_ = false;
  Duration beingMade_{};  // how long containers have been waited for
  TimerId next_ = 0;      // when the runtime is asked for them again
  struct Writing {
    SteadyTime first, last;
  };
  std::map<std::string, Writing> written_;  // files, until it is told
  std::string problem_;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
