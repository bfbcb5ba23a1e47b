#pragma once

// Keeps States' pods current: asks the source every sync interval, and at once when it is told to (pod_watch.h) or when
// a pod directory has appeared in the kubepods cgroups that no known pod owns. A source that fails changes nothing.
//
// A kubelet that was started while the API server is away lists static pods alone, or none, while all others run on.
// Pods that it lists are taken from such a list; known pods that it lacks stay as long as processes run in their cgroups.
// Before the first list was taken, other cgroups with processes mean that pods are missing, so the list is refused; but
// not for longer than kPatience, since nobody may own them.

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
  // Lists soon. However often it is asked, ten lists come at once, and then one every 50 to 200 ms: the longer a list
  // takes, the fewer. The pods are handed on though they are as before, unless only news are wanted.
  enum class Wanted { Anything, News };
  void request(Wanted wanted = Wanted::Anything);
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
  // Cgroups of pods that run and are not in a list of static pods.
  std::vector<std::string> missingFrom(const Pods& pods);
  // Adds the known pods that the list lacks; false when it is not to be believed.
  bool completeList(Pods& pods);
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
  bool anything_ = false;  // wanted by one of the requests
  bool syncing_ = false;
  Duration took_{};  // the last list
  SteadyTime bucketFull_{};
  std::optional<SteadyTime> incompleteSince_;
  std::string lastError_ = "no list yet";
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
