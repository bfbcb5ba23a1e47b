#pragma once

// Sees pods and containers as they are made, by their cgroups, before kubelet tells of them: a pod's
// limits are to hold within a tenth of a second of its start, and not when kubelet has seen it. New
// pods make the poller list at once; which container a new cgroup is, the container runtime knows.
// Also tells when somebody writes into the cgroups of pods and containers: kubelet does after it has
// made one, when a pod is resized and, by its static CPU manager, every ten seconds.
//
// Nothing is told while the runtime is still writing: runc reads back what it has written, and a
// container whose shares say something else then is not started, or not updated. New containers are
// told of once they run, writes once they have been over for kQuiet, or going on for five times that.
//
// Watches are the kernel's to give, to all programs together: at most a quarter of them is taken for files.

#include <algorithm>
#include <map>

#include "koordlet/runtime/container_runtime.h"
#include "koordlet/states/pod_poller.h"
#include "koordlet/system/dir_watcher.h"

namespace koord::koordlet {

class PodWatch {
 public:
  // All with full paths. Any may be empty.
  struct Told {
    std::function<void(const std::string& path)>
        written;  // a file in the cgroup of a pod or container
    std::function<void(const std::string& dir)>
        remade;                  // a cgroup that was made or removed just now
    std::function<void()> lost;  // nobody knows what was written
  };
  static constexpr Duration kQuiet = std::chrono::milliseconds(60);
  // `runtime` may be null: then kubelet is asked until it knows.
  PodWatch(Executor& executor, const Host& host, States& states, PodPoller& poller,
           ContainerRuntime* runtime, Told told);
  ~PodWatch();
  void start();
  // Why nothing is seen; empty while watching works.
  const std::string& problem() const { return problem_; }
  std::size_t watches() const { return watcher_.size(); }

 private:
  void watch(const std::string& dir, DirWatcher::Interest interest);
  // Watches for what is not watched yet.
  void refresh();
  void watchFiles(const std::string& cgroup);
  void take(const DirWatcher::Event& event);
  void takeWritten(const DirWatcher::Event& event);
  void identify();
  void askRuntime();
  // While a pod has a directory of which nobody has told.
  void askKubelet();
  Task<void> ask();
  // False: some are still being made.
  bool learn(const std::vector<RuntimeContainer>& containers);
  Task<void> tellWritten();

  Executor& executor_;
  const Host& host_;
  States& states_;
  PodPoller& poller_;
  ContainerRuntime* runtime_;
  Told told_;
  std::size_t mostWatches_ = 0;
  DirWatcher watcher_;
  bool asking_ = false;
  bool again_ = false;
  Duration beingMade_{};  // how long containers have been waited for
  TimerId next_ = 0;      // when the runtime is asked for them again
  struct Writing {
    SteadyTime first, last;
    SteadyTime tellAt() const { return std::min(last + kQuiet, first + 5 * kQuiet); }
  };
  std::map<std::string, Writing> written_;  // files, until it is told
  std::string problem_;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
