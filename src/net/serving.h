#pragma once

// The HTTP endpoints that every program has, with the paths and answers of Kubernetes components:
//   /healthz, /livez, /readyz   "ok", or 500 with one line per check; ?verbose, ?exclude=NAME
//   /healthz/NAME               one check, with what is wrong
//   /metrics                    Prometheus text; DELETE resets, where the program can
//   /metrics/slis               the health checks so far as metrics
//   /configz                    the configuration in force, as JSON
//   /version                    the build, as JSON
//   PUT /debug/flags/v          the body is the new log verbosity
//
// What changes something is taken over TLS, where a guard asks who it is, and from this machine (by way of
// kubectl port-forward, too); not from whoever reaches the port.

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

// Named checks of one endpoint, asked in order at every request.
class HealthChecks {
 public:
  // Returns what is wrong, "" when nothing is.
  using Check = std::function<std::string()>;

  // An endpoint that nobody has added a check to has "ping", which is about the process answering
  // at all.
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
  // Those that are not set have no endpoint.
  std::function<std::string()> metrics;  // see prometheus.h
  std::function<void()> resetMetrics;
  std::function<json::value()> configz;  // {"componentconfig": {...}}
  BuildInfo build;
  std::vector<Feature> features;                       // shown among the metrics
  std::set<std::string, std::less<>> disabledMetrics;  // not shown
  bool debugFlags = false;
};

void addStandardEndpoints(Router& router, StandardEndpoints endpoints);

// Over TLS, over loopback or a unix socket, or from within the process.
bool isTrusted(const ServerRequest& request);

// Where to listen for an address without a host, as flags have it by default (":8080"): in a pod on
// all of its addresses, for probes and scrapers come from outside; elsewhere on loopback. What
// names a host stays.
std::string listenAddress(std::string address, bool inPod);
// By the environment that a kubelet gives to every container.
bool runsInPod();

}  // namespace koord::net
