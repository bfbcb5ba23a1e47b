#pragma once

// Watches over the containers of this node that have probes: each probe of each running container
// is a small loop that waits for the initial delay, probes every period, counts the results and
// changes the verdict at the thresholds. Startup probes hold the others up until they have
// succeeded once. A container whose liveness or startup probe has failed is probed no more: it is
// to be killed, and the next one with its name has another id and begins anew. As the kubelet does
// it, without its ticker: the first probe comes when the delay is over, and readiness is looked at
// as soon as a container has started.
//
// An actor on its executor.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "cluster/hostnode/probes/probe.h"

namespace koord::cluster {

// How a running container is.
struct ContainerHealth {
  bool started = true;  // its startup probe has succeeded, or it has none
  bool ready = true;    // and its readiness probe says so
  bool operator==(const ContainerHealth&) const = default;
};

class Probes {
 public:
  struct Container {
    std::string id;
    std::string name;
    WallTime startedAt{};
    api::List<api::ContainerPort> ports;
  };
  // Called from the executor's queue, never from inside of a call to this class.
  struct Listener {
    // Health of a container of the pod has changed.
    std::function<void(const std::string& uid)> changed;
    // A probe has not succeeded; the reason of an event and its message.
    std::function<void(const std::string& uid, const std::string& container, const char* reason,
                       std::string message)>
        report;
    // Its liveness or startup probe has failed for good.
    std::function<void(const std::string& uid, const std::string& id, ProbeKind kind,
                       const spec::Probe& probe)>
        failed;
  };

  Probes(Executor& executor, Prober& prober, Random random, Listener listener);
  ~Probes();

  // The containers of a pod that run now; whoever is not among them is not probed any more.
  void set(HostPodPtr pod, const std::string& host, const std::vector<Container>& running);
  // The pod is being stopped: nothing is killed for its health from now on.
  void stopKilling(const std::string& uid);
  void forget(const std::string& uid);

  ContainerHealth healthOf(const std::string& containerId) const;

 private:
  struct Worker;
  struct Watched;
  using Key = std::pair<std::string, ProbeKind>;  // container id

  void start(Watched& watched, ProbeKind kind);
  Task<void> run(Worker* worker);
  Task<ProbeResult> probeOnce(ProbeTarget target, spec::Probe probe);
  Task<ProbeResult> probeWithRetries(Worker* worker);
  bool judge(Worker& worker, const ProbeResult& result);
  void later(std::function<void()> call);

  Executor& executor_;
  Prober& prober_;
  Random random_;
  Listener listener_;
  WallTime began_;
  std::map<std::string, std::unique_ptr<Watched>> watched_;  // by container id
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::cluster
