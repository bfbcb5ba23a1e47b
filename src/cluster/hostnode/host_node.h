#pragma once

// This machine as a node: a small kubelet. It registers the Node, keeps its lease and conditions
// fresh, runs the pods that are bound to it through a Runtime, in cgroups laid out as a kubelet
// with the cgroupfs driver does, with their volumes, watches over their health, reports their
// status, and takes them down when they are deleted or gone.
//
// An actor on the executor of its Api. Its memory is the runtime's list of containers and the
// folders of volumes, so a new HostNode on the same runtime carries on with the pods that run.
//
// host_node.cc has what happens to a pod, host_node_start.cc and host_node_stop.cc its containers,
// host_node_machine.cc what is on the machine, host_node_queries.cc what others ask.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "api/core.h"
#include "base/random.h"
#include "base/task.h"
#include "cluster/hostnode/cgroups.h"
#include "cluster/hostnode/node_registration.h"
#include "cluster/hostnode/pod_plan.h"
#include "cluster/hostnode/pressure.h"
#include "cluster/hostnode/probes/prober.h"
#include "cluster/hostnode/probes/probes.h"
#include "cluster/hostnode/runtime.h"
#include "cluster/hostnode/volumes/pod_volumes.h"
#include "kube/events.h"
#include "kube/informer.h"

namespace koord::cluster {

struct HostNodeOptions {
  NodeDescription node;
  Duration relistPeriod = std::chrono::milliseconds(250);
  Duration orphanPeriod = std::chrono::seconds(10);
  std::string podsDir;  // of the pods' volumes: <data>/pods
  std::vector<EvictionThreshold> evictionHard;
};

// What a host node uses beside the API and its runtime.
struct HostNodeServices {
  Executor& worker;  // for what blocks
  net::HttpTransport* http = nullptr;
  AskGrpcHealth grpc = {};
  std::function<SignalReadings()> readSignals = {};  // on the worker; none: nothing ever runs short
};

class HostNode {
 public:
  HostNode(kube::Api& api, Executor& executor, Runtime& runtime, Cgroups& cgroups, Random random,
           HostNodeOptions options, HostNodeServices services);
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
  using PodPtr = HostPodPtr;
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
    // Volumes. Once they are there, containers go on with them though they cannot be brought up to
    // date.
    std::optional<VolumePlaces> places;
    bool volumesDue = true;   // they have to be set up, or once more
    bool hasVolumes = false;  // there may be something of them on this machine
    int volumeFailures = 0;   // in a row
    WallTime volumesRetryAt{};
    std::string waitsFor;  // why no container can be started
    // Containers, by id: whose postStart hook runs, whose preStop hook has been run, which a probe
    // had killed.
    std::set<std::string> settingUp;
    std::set<std::string> saidGoodbye;
    std::set<std::string> unhealthy;
    std::map<std::string, std::string> lastWords;  // of containers that have ended
    std::map<std::string, int> lastGoodRun;        // as planPod has it
    bool hasCgroup = false;
    bool stale = false;  // something was started since the runtime was last asked
    std::uint64_t startedAt =
        0;  // when stale: lists with this number or a lower one do not show it
    bool dirty = false;
    bool working = false;
    TimerId timer = 0;
  };

  Task<void> relistForever();
  Task<void> watchPressures();
  Task<Result<>> relist();
  void fillLastWords(Entry& entry, std::vector<RuntimeContainer>& containers) const;
  std::string messageFile(const std::string& uid, const std::string& container, int attempt) const;
  Task<void> sweepOrphans();

  void seen(const PodPtr& pod);
  void vanished(const PodPtr& pod);
  void touch(const std::string& uid);
  void touchAfter(const std::string& uid, Duration delay);
  Task<void> work(std::string uid);
  Task<Result<>> sync(std::string uid);
  Task<Result<>> endPod(std::string uid, PodPtr pod);
  Task<Result<>> restPod(std::string uid, PodPtr pod);
  Task<Result<>> runPod(std::string uid, PodPtr pod);
  Task<Result<>> refuse(std::string uid, PodPtr pod, PodRefusal refusal);
  Task<Result<>> takeDown(std::string uid, Duration grace);
  Task<Result<>> deleteFromApi(PodPtr pod);
  Task<Result<>> report(std::string uid, PodPtr pod, api::PodStatus status);
  PodPlan plan(const Entry& entry) const;

  bool mayStart(Entry& entry, PodPlan& plan) const;
  Task<void> prepareVolumes(std::string uid, PodPtr pod);
  void volumesFailed(const std::string& uid, const HostPod& pod, std::string message);
  Task<Result<>> startContainers(std::string uid, PodPlan plan);
  Task<Result<std::string>> startContainer(std::string uid, PodPtr pod, ContainerStart start);
  void couldNotStart(const std::string& uid, const HostPod& pod, const std::string& container,
                     Error error);
  Task<void> postStart(std::string uid, PodPtr pod, std::string name, std::string id);
  void watchHealth(const std::string& uid, const Entry& entry);
  void killUnhealthy(const std::string& uid, const std::string& id, ProbeKind kind,
                     const spec::Probe& probe);

  void stopInTurn(const std::string& uid, const HostPod& pod, Duration grace);
  void stop(const std::string& uid, const std::string& id, Duration grace);
  Task<void> stopOne(std::string uid, std::string id, Duration grace);
  Task<Duration> preStop(std::string uid, std::string id, Duration grace);
  ProbeTarget targetOf(const HostPod& pod, const std::string& container,
                       const std::string& id) const;
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
  Executor& worker_;
  std::function<SignalReadings()> readSignals_;
  kube::Informer<HostPod> pods_;
  net::HttpTransport* http_;
  PodVolumes volumes_;
  NetworkProber prober_;
  Probes probes_;
  std::map<std::string, Entry> entries_;  // by pod uid
  bool listed_ = false;                   // the runtime has been asked at least once
  bool stopped_ = false;
  SteadyTime lastSweep_{};
  std::uint64_t lastList_ = 0;     // lists are numbered as they are asked for
  std::uint64_t appliedList_ = 0;  // the newest that has been taken
  TaskGroup tasks_;
};

}  // namespace koord::cluster
