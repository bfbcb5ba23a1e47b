#pragma once

// Keeps States' pods current: lists the source every sync interval, and at once on request
// (pod_watch.h) or when the kubepods cgroups have a pod directory that no known pod owns. If the
// source fails, the pods stay as they are.
//
// A kubelet that was started while the API server is unreachable lists only static pods or none,
// while all others run. Such a list is accepted, and known pods that it lacks stay as long as
// processes run in their cgroups. Before the first accepted list, unknown cgroups with processes
// mean that pods are missing, so the list is refused, but for kPatience at most, because no pod may
// own them.

#include <map>
#include <optional>
#include <string>
#include <unordered_set>

#include "koordlet/states/kubelet.h"
#include "koordlet/states/states.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

class PodPoller {
 public:
  PodPoller(Executor& executor, Host& host, States& states, PodSource& source, Duration interval);

  static constexpr Duration kPatience = std::chrono::minutes(5);

  void start();
  // Lists soon. Kubelet should not spend more than half of its time on lists, so the time between
  // two starts is at least twice the duration of the last successful list. Lists of at most 25 ms
  // also have a token bucket: ten lists at once, then one per 50 ms. With Always, States is set
  // even if the pods are unchanged; with Changes only if they changed.
  enum class Wanted { Always, Changes };
  void request(Wanted wanted = Wanted::Always);
  // Adds a running container that kubelet does not report yet: that takes it a second or more. Kept
  // until kubelet reports it, or its cgroup is removed.
  void learn(const std::string& podUid, ContainerView container);
  // The last error; empty after a success.
  const std::string& lastError() const { return lastError_; }

 private:
  Task<void> loop();
  Task<void> syncSoon();
  // Of a list on request.
  SteadyTime earliestStart() const;
  // `always`: a caller wants the pods set even if they are unchanged.
  Task<void> sync(bool always);
  // Drops learned containers that the source reports.
  void forgetReported(const std::vector<PodView>& views);
  // Adds learned containers that the source does not report.
  void complete(std::vector<PodView>& views);
  // podDirsExcept() returns the directories of pods that are not in `known`.
  using Dirs = std::unordered_set<std::string>;
  std::vector<std::string> podDirsExcept(const Dirs& known);
  // Returns true if there are processes in a cgroup.
  bool runs(const std::string& dir) const;
  using Pods = std::vector<std::shared_ptr<const api::Pod>>;
  // If the list has static pods only: the cgroups of running pods that it lacks.
  std::vector<std::string> missingFrom(const Pods& pods);
  // Adds the known running pods that the list lacks. Returns false if the list is refused.
  bool completeList(Pods& pods);
  // The directories of the known pods.
  const Dirs& knownDirs();

  Executor& executor_;
  Host& host_;
  States& states_;
  PodSource& source_;
  Duration interval_;
  std::map<std::string, ContainerView> learned_;         // by cgroup
  std::vector<std::shared_ptr<const api::Pod>> listed_;  // the last accepted list
  Dirs known_;
  std::uint64_t knownFor_ = 0;  // the version of the pods
  std::string dir_, path_;      // keep their memory
  CgroupDriver listedFor_ = CgroupDriver::Cgroupfs;
  bool requested_ = false;
  bool setsAlways_ = false;  // true if a pending request wants Anything
  bool syncing_ = false;
  SteadyTime started_{};     // start of the last list
  Duration lastDuration_{};  // duration of the last successful list
  SteadyTime bucketFull_{};
  std::optional<SteadyTime> incompleteSince_;
  std::string lastError_ = "no list yet";
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
