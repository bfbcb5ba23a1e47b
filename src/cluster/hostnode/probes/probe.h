#pragma once

// One probe of a container, and the verdict from consecutive results.

#include <optional>
#include <string>

#include "base/task.h"
#include "cluster/hostnode/podspec/host_pod.h"

namespace koord::cluster {

enum class ProbeKind { Startup, Liveness, Readiness };
std::string_view nameOf(ProbeKind kind);  // "Liveness"

struct ProbeResult {
  enum class Outcome {
    Success,
    Warning,  // a success that is reported as an event
    Failure,
    Error,  // the probe failed itself: no statement about the container
  };
  Outcome outcome = Outcome::Success;
  std::string output;
};

// The target of a probe.
struct ProbeTarget {
  std::string containerId;
  std::string host;  // for probes without a host
  api::List<api::ContainerPort> ports;
};

// Runs probes. An interface: prober.h has the real ones.
class Prober {
 public:
  virtual ~Prober() = default;
  virtual Task<ProbeResult> probe(ProbeTarget target, spec::Probe probe) = 0;
};

// The number of a port given by number or by name.
Result<int> portOf(const api::IntOrString& port, const api::List<api::ContainerPort>& ports);

// Counts consecutive equal results; reaching a threshold changes the verdict.
class ProbeCount {
 public:
  ProbeCount(const spec::Probe& probe, ProbeKind kind)
      : successes_(kind == ProbeKind::Readiness ? probe.successThreshold : 1),
        failures_(probe.failureThreshold) {}

  // Adds a result and returns whether the container is healthy; nullopt: undecided.
  std::optional<bool> add(bool success);

 private:
  int successes_;
  int failures_;
  bool last_ = false;
  int run_ = 0;
};

}  // namespace koord::cluster
