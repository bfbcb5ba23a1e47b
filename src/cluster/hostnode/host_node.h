#pragma once

// This machine as a node: a small kubelet. It registers the Node, keeps its lease and conditions
// fresh, runs the pods that are bound to it through a Runtime, in cgroups laid out as a kubelet
// with the cgroupfs driver does, reports their status, and takes them down when they are deleted or
// gone.
//
// An actor on the executor of its Api. Its memory is the runtime's list of containers, so a new
// HostNode on the same runtime carries on with the pods that run.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/core.h"
#include "base/random.h"
#include "base/task.h"
#include "cluster/hostnode/cgroups.h"
#include "cluster/hostnode/node_registration.h"
#include "cluster/hostnode/pod_plan.h"
#include "cluster/hostnode/runtime.h"
#include "kube/events.h"
#include "kube/informer.h"

namespace koord::cluster {

struct HostNodeOptions {
  NodeDescription node;
  Duration relistPeriod = std::chrono::milliseconds(250);
  Duration orphanPeriod = std::chrono::seconds(10);
};

class HostNode {
 public:
  HostNode(kube::Api& api, Executor& executor, Runtime& runtime, Cgroups& cgroups, Random random,
           HostNodeOptions options);
  ~HostNode();

  void start();
  // Stops every pod's processes (SIGTERM, then SIGKILL after at most `grace`) and removes the
  // cgroups. The pods stay in the API.
  Task<void> shutdown(Duration grace);

  // The pods of this node with the status as this node knows it: what /pods answers.
  json::value podList() const;
  // The log of a container, the newest or the one before it.
  Result<std::string> logPath(const api::ObjectKey& pod, const std::string& container,
                              bool previous) const;
  bool isRunning(const api::ObjectKey& pod, const std::string& container) const;
  bool registered() const { return registration_.done(); }

 private:
  using PodPtr = std::shared_ptr<const api::Pod>;
  struct StartFailure {
    api::ContainerStateWaiting state;
    WallTime retryAt{};
  };
  // One pod this node has to do with; one without `pod` has vanished from the API.
  struct Entry {
    PodPtr pod;
    std::vector<RuntimeContainer> containers;
    std::map<std::string, StartFailure> startFailures;
    std::map<std::string, SteadyTime> stopping;  // container id -> when it is killed
    std::optional<api::PodStatus> status;
    json::value reported;
    bool hasCgroup = false;
    bool stale = false;  // something was started since the runtime was last asked
    std::uint64_t startedAt = 0;  // when stale: lists with this number or a lower one do not show it
    bool dirty = false;
    bool working = false;
    TimerId timer = 0;
  };

  Task<void> relistForever();
  Task<Result<>> relist();
  void sweepOrphans();

  void seen(const PodPtr& pod);
  void vanished(const PodPtr& pod);
  void touch(const std::string& uid);
  void touchAfter(const std::string& uid, Duration delay);
  Task<void> work(std::string uid);
  Task<Result<>> sync(std::string uid);
  Task<Result<>> runPod(std::string uid, PodPtr pod);
  Task<Result<>> startContainers(std::string uid, PodPtr pod, std::vector<ContainerStart> starts);
  Task<Result<>> takeDown(std::string uid, Duration grace);
  Task<Result<>> deleteFromApi(PodPtr pod);
  Task<Result<>> report(std::string uid, PodPtr pod, api::PodStatus status);
  Task<void> stopOne(std::string uid, std::string id, Duration grace);
  void stop(const std::string& uid, const std::string& id, Duration grace);
  PodPlan plan(const Entry& entry) const;
  Result<> makePodCgroup(const api::Pod& pod);
  void updateQosCgroups();
  PodRef refOf(const std::string& uid, const Entry& entry) const;

  kube::Api& api_;
  Executor& executor_;
  Runtime& runtime_;
  Cgroups& cgroups_;
  HostNodeOptions options_;
  kube::EventRecorder events_;
  NodeRegistration registration_;
  kube::Informer<api::Pod> pods_;
  std::map<std::string, Entry> entries_;  // by pod uid
  bool listed_ = false;                   // the runtime has been asked at least once
  bool stopped_ = false;
  SteadyTime lastSweep_{};
  std::uint64_t lastList_ = 0;     // lists are numbered as they are asked for
  std::uint64_t appliedList_ = 0;  // the newest that has been taken
  TaskGroup tasks_;
};

}  // namespace koord::cluster
