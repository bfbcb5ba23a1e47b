#pragma once

// The host as a node: a small kubelet. It registers the Node, renews its lease and conditions, and
// runs the pods bound to it through a Runtime: in cgroups laid out as a kubelet with the cgroupfs
// driver does, with volumes and probes. It reports their status, and stops them when they are
// deleted or gone.
//
// An actor on the executor of its Api. Its state is the runtime's list of containers and the
// folders of volumes, so a new HostNode on the same runtime continues with the running pods.
//
// Files: host_node.cc has the life cycle of a pod, host_node_start.cc and host_node_stop.cc its
// containers, host_node_images.cc their images, host_node_machine.cc the state of the host,
// host_node_queries.cc the queries of others.

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

// Services of a host node in addition to the API and its runtime.
struct HostNodeServices {
  Executor& worker;  // for blocking calls
  net::HttpTransport* http = nullptr;
  CheckGrpcHealth grpc = {};
  std::function<SignalReadings()> readSignals = {};  // on the worker; null: no pressure ever
};

// The services of the cluster as containers see them. Null functions: there are none.
struct ServiceAccess {
  std::function<std::string()> dnsAddress = {};  // of the cluster's DNS server; "": none
  // Variables for the containers of a namespace; `links`: of all its services.
  std::function<std::map<std::string, std::string>(const std::string& namespace_, bool links)>
      environment = {};
};

class HostNode {
 public:
  HostNode(kube::Api& api, Executor& executor, Runtime& runtime, Cgroups& cgroups, Random random,
           HostNodeOptions options, HostNodeServices services);
  ~HostNode();

  // Call before start.
  void setServices(ServiceAccess services);
  void start();
  // Stops every pod's processes (SIGTERM, then SIGKILL after at most `grace`) and removes the
  // cgroups. The pods stay in the API.
  Task<void> shutdown(Duration grace);

  // The pods of this node with this node's view of their status: the answer to /pods.
  json::value podList() const;
  // The path of a container's log: the current one or the previous one.
  Result<std::string> logPath(const api::ObjectKey& pod, const std::string& container,
                              bool previous) const;
  // The id of a container that runs now.
  Result<std::string> runningContainer(const api::ObjectKey& pod,
                                       const std::string& container) const;
  bool isRunning(const api::ObjectKey& pod, const std::string& container) const;
  bool hasEphemeralContainer(const api::ObjectKey& pod, const std::string& container) const;
  bool registered() const { return registration_.done(); }

 private:
  using PodPtr = HostPodPtr;
  struct StartFailure {
    api::ContainerStateWaiting state;
    WallTime retryAt{};
  };
  // The image of a container that is or was pulled for its next start.
  struct Pull {
    bool done = false;
    int failures = 0;        // in a row
    bool runsAsRoot = true;  // of the image
  };
  // A pod of this node; null `pod`: it was deleted from the API.
  struct Entry {
    PodPtr pod;
    std::vector<RuntimeContainer> containers;
    std::map<std::string, StartFailure> startFailures;
    std::map<std::string, Pull> pulls;           // by container
    std::map<std::string, SteadyTime> stopping;  // container id -> when it is killed
    std::optional<api::PodStatus> status;
    json::value reported;
    // Volumes. Once they exist, containers keep running even if they cannot be updated.
    std::optional<VolumePlaces> places;
    bool volumesDue = true;   // they must be set up or updated
    bool hasVolumes = false;  // there may be folders of them on this host
    int volumeFailures = 0;   // in a row
    WallTime volumesRetryAt{};
    std::string waitsFor;  // why its containers cannot start
    // Containers by id: with a running postStart hook, with a started preStop hook, killed by a
    // probe.
    std::set<std::string> settingUp;
    std::set<std::string> preStopStarted;
    std::set<std::string> unhealthy;
    std::map<std::string, std::string> terminationMessages;
    std::map<std::string, int> lastGoodRun;  // see planPod
    bool hasCgroup = false;
    bool stale = false;           // a container started since the last list
    std::uint64_t startedAt = 0;  // when stale: lists up to this number do not show it
    bool dirty = false;
    bool working = false;
    TimerId timer = 0;
  };

  Task<void> relistForever();
  Task<void> watchPressures();
  Task<Result<>> relist();
  void fillTerminationMessages(Entry& entry, std::vector<RuntimeContainer>& containers) const;
  std::string messageFile(const std::string& uid, const std::string& container, int attempt) const;
  Task<void> sweepOrphans();

  void seen(const PodPtr& pod);
  void vanished(const PodPtr& pod);
  void touch(const std::string& uid);
  void enqueueAfter(const std::string& uid, Duration delay);
  Task<void> work(std::string uid);
  Task<Result<>> sync(std::string uid);
  Task<Result<>> endPod(std::string uid, PodPtr pod);
  Task<Result<>> restPod(std::string uid, PodPtr pod);
  Task<Result<>> runPod(std::string uid, PodPtr pod);
  Task<Result<>> refuse(std::string uid, PodPtr pod, PodRefusal refusal);
  Task<Result<>> terminatePod(std::string uid, Duration grace);
  Task<Result<>> deleteFromApi(PodPtr pod);
  Task<Result<>> report(std::string uid, PodPtr pod, api::PodStatus status,
                        std::vector<api::ContainerStatus> ephemeral);
  PodPlan plan(const Entry& entry) const;

  bool mayStart(Entry& entry, PodPlan& plan) const;
  Task<void> prepareVolumes(std::string uid, PodPtr pod);
  void volumesFailed(const std::string& uid, const HostPod& pod, std::string message);
  void warnOfSharedPorts(const std::string& uid, const HostPod& pod,
                         const api::Container& container);
  Task<std::optional<StartFailure>> imageFailure(std::string uid, PodPtr pod, ContainerStart start);
  std::optional<StartFailure> processFailure(const HostPod& pod, const ContainerStart& start);
  Task<void> pull(std::string uid, PodPtr pod, std::string container, std::string image);
  Task<Result<std::vector<ImageCredentials>>> credentialsFor(PodPtr pod, std::string image);
  Task<Result<>> startContainers(std::string uid, PodPlan plan);
  Task<Result<std::string>> startContainer(std::string uid, PodPtr pod, ContainerStart start);
  void onStartFailed(const std::string& uid, const HostPod& pod, const std::string& container,
                     Error error);
  Task<void> postStart(std::string uid, PodPtr pod, std::string name, std::string id);
  void watchHealth(const std::string& uid, const Entry& entry);
  void killUnhealthy(const std::string& uid, const std::string& id, ProbeKind kind,
                     const spec::Probe& probe);

  void stopSequentially(const std::string& uid, const HostPod& pod, Duration grace);
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
  ServiceAccess services_;
  kube::Informer<HostPod> pods_;
  net::HttpTransport* http_;
  PodVolumes volumes_;
  NetworkProber prober_;
  Probes probes_;
  std::map<std::string, Entry> entries_;  // by pod uid
  bool listed_ = false;                   // the runtime has been listed at least once
  bool stopped_ = false;
  SteadyTime lastSweep_{};
  std::uint64_t lastList_ = 0;     // number of the last list request
  std::uint64_t appliedList_ = 0;  // the newest list that was applied
  TaskGroup tasks_;
};

}  // namespace koord::cluster
