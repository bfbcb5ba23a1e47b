#pragma once

// Detects new pods and containers by their cgroups, before kubelet reports them: a pod's limits
// must be in force within a tenth of a second of its start. A new pod makes the poller list at
// once; the container runtime says which container a new cgroup is. Also reports when another
// process writes into the cgroups of pods and containers: kubelet does after it has created one,
// when a pod is resized and, with its static CPU manager, every ten seconds.
//
// Nothing is reported while the runtime is writing: runc reads back what it has written, and does
// not start or update a container whose shares differ then. New containers are reported once they
// run, and writes after kQuiet without a further write, or after five times kQuiet.
//
// The kernel has a limited number of watches for all programs: at most a quarter of them is used
// for files.

#include <algorithm>
#include <map>

#include "koordlet/runtime/container_runtime.h"
#include "koordlet/states/pod_poller.h"
#include "koordlet/system/dir_watcher.h"

namespace koord::koordlet {

class PodWatch {
 public:
  // Callbacks, with full paths. Each may be empty.
  struct Callbacks {
    std::function<void(const std::string& path)>
        written;  // a file in the cgroup of a pod or container was written
    std::function<void(const std::string& dir)> cgroupChanged;  // a cgroup was created or removed
    std::function<void()> lost;  // events were lost: any file may have been written
  };
  static constexpr Duration kQuiet = std::chrono::milliseconds(60);
  // `runtime` may be null: then kubelet is asked until it reports the container.
  PodWatch(Executor& executor, const Host& host, States& states, PodPoller& poller,
           ContainerRuntime* runtime, Callbacks callbacks);
  ~PodWatch();
  void start();
  // Why watching fails; empty while it works.
  const std::string& problem() const { return problem_; }
  std::size_t watches() const { return watcher_.size(); }

 private:
  void watch(const std::string& dir, DirWatcher::Interest interest);
  // Adds the missing watches.
  void refresh();
  void watchFiles(const std::string& cgroup);
  void take(const DirWatcher::Event& event);
  void takeWritten(const DirWatcher::Event& event);
  void identify();
  void queryRuntime();
  // Asks kubelet repeatedly while a pod has a directory of an unknown container.
  void pollKubelet();
  Task<void> ask();
  // Returns false if some containers are still being created.
  bool learn(const std::vector<RuntimeContainer>& containers);
  Task<void> notifyWritten();

  Executor& executor_;
  const Host& host_;
  States& states_;
  PodPoller& poller_;
  ContainerRuntime* runtime_;
  Callbacks callbacks_;
  std::size_t maxWatches_ = 0;
  DirWatcher watcher_;
  bool querying_ = false;
  bool again_ = false;
  Duration newContainerWait_{};  // how long it has waited for new containers
  TimerId next_ = 0;             // timer of the next question to the runtime or kubelet
  struct Writing {
    SteadyTime first, last;
    SteadyTime notifyAt() const { return std::min(last + kQuiet, first + 5 * kQuiet); }
  };
  std::map<std::string, Writing> written_;  // files with writes that are not reported yet
  std::string problem_;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
