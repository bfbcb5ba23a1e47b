#pragma once

// Keeps States' pods current: asks the source every sync interval, and at once when it is told to
// (pod_watch.h) or when a pod directory has appeared in the kubepods cgroups that no known pod owns. A source that fails, or lists
// nothing while other pods run (a kubelet that restarts), changes nothing.

#include <map>
#include <string>
#include <unordered_set>

#include "koordlet/states/kubelet.h"
#include "koordlet/states/states.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

class PodPoller {
 public:
  PodPoller(Executor& executor, Host& host, States& states, PodSource& source, Duration interval);

  void start();
  // Lists soon; at most five times a second, however often it is asked.
  void request();
  // A container that runs and that kubelet does not tell of yet: it takes a second or more to see
  // what it started. Kept until kubelet knows it, or its cgroup is gone.
  void learn(const std::string& podUid, ContainerView container);
  // What went wrong last; empty after a success.
  const std::string& lastError() const { return lastError_; }

 private:
  Task<void> loop();
  Task<void> syncSoon();
  // `told`: somebody says that there is something new, so that the pods are handed on though they are as before.
  Task<void> sync(bool told);
  // What the source tells of need not be kept.
  void forgetTold(const std::vector<PodView>& views);
  // Adds what was learnt and is not known to the source.
  void complete(std::vector<PodView>& views);
  // The directories of pods that are not among these.
  using Dirs = std::unordered_set<std::string>;
  std::vector<std::string> podDirsBesides(const Dirs& known);
  // Whether there are processes in a cgroup.
  bool runs(const std::string& dir) const;
  using Pods = std::vector<std::shared_ptr<const api::Pod>>;
  bool isIncomplete(const Pods& pods);
  // Those of the pods that are known.
  const Dirs& knownDirs();

  Executor& executor_;
  Host& host_;
  States& states_;
  PodSource& source_;
  Duration interval_;
  std::map<std::string, ContainerView> learned_;         // by cgroup
  std::vector<std::shared_ptr<const api::Pod>> listed_;  // last handed on, without what was learned
  Dirs known_;
  std::uint64_t knownFor_ = 0;  // the version of the pods
  std::string dir_, path_;      // keep their memory
  CgroupDriver listedFor_ = CgroupDriver::Cgroupfs;
  bool requested_ = false;
  bool syncing_ = false;
  SteadyTime bucketFull_{};
  std::string lastError_ = "no list yet";
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
