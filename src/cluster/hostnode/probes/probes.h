#pragma once

// Probes the containers of this node. Each probe of each running container is a loop: it waits for
// the initial delay, probes every period, counts the results and changes the verdict at the
// thresholds. Other probes start after the startup probe has succeeded. A container whose liveness
// or startup probe has failed is not probed again: it will be killed, and its successor has another
// id and starts from the beginning. As in kubelet, but without its ticker: the first probe comes
// right after the delay, and readiness is probed as soon as a container has started.
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

// The health of a running container.
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
  // Called from the executor's queue, never inside of a call to this class.
  struct Listener {
    // Called when the health of a container of the pod has changed.
    std::function<void(const std::string& uid)> changed;
    // Called when a probe has failed; the reason of an event and its message.
    std::function<void(const std::string& uid, const std::string& container, const char* reason,
                       std::string message)>
        report;
    // Called when its liveness or startup probe has reached the failure threshold.
    std::function<void(const std::string& uid, const std::string& id, ProbeKind kind,
                       const spec::Probe& probe)>
        failed;
  };

  Probes(Executor& executor, Prober& prober, Random random, Listener listener);
  ~Probes();

  // Sets the running containers of a pod; others are not probed.
  void set(HostPodPtr pod, const std::string& host, const std::vector<Container>& running);
  // Call when the pod is being stopped: failing probes do not kill its containers.
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
