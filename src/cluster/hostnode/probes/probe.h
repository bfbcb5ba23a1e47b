#pragma once

// One probe of a container, and what is made of a row of them.

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
    Warning,  // a success that somebody should hear about
    Failure,
    Error,  // it could not be made: it says nothing of the container
  };
  Outcome outcome = Outcome::Success;
  std::string output;
};

// What is probed.
struct ProbeTarget {
  std::string containerId;
  std::string host;  // of probes that name none
  api::List<api::ContainerPort> ports;
};

// Makes probes. A seam: prober.h has the real ones.
class Prober {
 public:
  virtual ~Prober() = default;
  virtual Task<ProbeResult> probe(ProbeTarget target, spec::Probe probe) = 0;
};

// The number of a port given by number or by name.
Result<int> portOf(const api::IntOrString& port, const api::List<api::ContainerPort>& ports);

// Counts results of one sort in a row; a threshold reached changes the verdict.
class ProbeCount {
 public:
  ProbeCount(const spec::Probe& probe, ProbeKind kind)
      : successes_(kind == ProbeKind::Readiness ? probe.successThreshold : 1),
        failures_(probe.failureThreshold) {}

  // Whether the container is well, when these many results say so; nullopt: not decided yet.
  std::optional<bool> add(bool success);

 private:
  int successes_;
  int failures_;
  bool last_ = false;
  int run_ = 0;
};

}  // namespace koord::cluster
