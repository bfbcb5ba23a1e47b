#pragma once

// The HTTP endpoints of every program, with the paths and answers of Kubernetes components:
//   /healthz, /livez, /readyz   "ok", or 500 with one line per check; ?verbose, ?exclude=NAME
//   /healthz/NAME               one check, with its failure
//   /metrics                    Prometheus text; DELETE resets, if the program can
//   /metrics/slis               the health checks' results as metrics
//   /configz                    the configuration in force, as JSON
//   /version                    the build, as JSON
//   PUT /debug/flags/v          the body is the new log verbosity
//
// Requests that change something are accepted over TLS, where a guard authenticates the client, and
// from the same host (also through kubectl port-forward), but not over plain HTTP from other hosts.

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "net/metrics_page.h"
#include "net/router.h"

namespace koord::net {

// Named checks of one endpoint, run in order at every request.
class HealthChecks {
 public:
  // Returns the failure, "" if the check passes.
  using Check = std::function<std::string()>;

  // An endpoint without added checks has "ping", which passes if the process answers.
  HealthChecks() : checks_{{"ping", [] { return std::string(); }}} {}
  void add(std::string name, Check check) {
    if (std::exchange(onlyPing_, false)) checks_.clear();
    checks_.emplace_back(std::move(name), std::move(check));
  }
  const std::vector<std::pair<std::string, Check>>& all() const { return checks_; }

 private:
  std::vector<std::pair<std::string, Check>> checks_;
  bool onlyPing_ = true;
};

struct StandardEndpoints {
  HealthChecks healthz;
  HealthChecks livez;
  HealthChecks readyz;
  // Functions that are not set have no endpoint.
  std::function<std::string()> metrics;  // see prometheus.h
  std::function<void()> resetMetrics;
  std::function<json::value()> configz;  // {"componentconfig": {...}}
  BuildInfo build;
  std::vector<Feature> features;                       // shown among the metrics
  std::set<std::string, std::less<>> disabledMetrics;  // not shown
  bool debugFlags = false;
};

void addStandardEndpoints(Router& router, StandardEndpoints endpoints);

// Returns true if the request came over TLS, loopback or a unix socket, or from within the process.
bool isTrusted(const ServerRequest& request);

// Adds the host to an address without one (":8080", the default of flags): in a pod all of its
// addresses, because probes and scrapers come from outside; elsewhere loopback. An address with a
// host stays.
std::string listenAddress(std::string address, bool inPod);
// Returns true if the environment has what the kubelet sets in every container.
bool runsInPod();

}  // namespace koord::net
