#pragma once

// What plugins offer to people: what to change so that a node takes a pod, and HTTP services.

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

// Asked by explain for a node that this plugin alone keeps the pod from.
class RemedyPlugin {
 public:
  virtual ~RemedyPlugin() = default;
  // "tolerate gpu:NoSchedule"; "" when only a person can tell.
  virtual std::string remedyFor(const PodInfo& pod, NodeId node) const = 0;
};

// Adds what it knows of a pod to what explain says of it, as "plugins": {NAME: {...}}: which quota it
// belongs to, which gang.
class PodFactsPlugin {
 public:
  virtual ~PodFactsPlugin() = default;
  virtual json::value factsOf(const PodInfo& pod) const = 0;  // null = nothing
  // What it waits for although nodes would take it: others of its gang; "" = nothing.
  virtual std::string heldBackBy(const PodInfo& /*pod*/) const { return {}; }
};

// Has metrics of its own: exposition text that follows the scheduler's. Profiles share them: of plugins
// of the same name the first profile's is asked.
class MetricsPlugin {
 public:
  virtual ~MetricsPlugin() = default;
  virtual std::string metrics() const = 0;
};

// Answers GET below /apis/v1/plugins/NAME/ on the leader.
class ServicePlugin {
 public:
  virtual ~ServicePlugin() = default;
  struct Route {
    std::string path;   // below the plugin's: "nodes/", what follows it is `rest`
    std::string shown;  // in the list of services: "nodes/:nodeName"
    std::function<Result<json::value>(const std::string& rest)> answer;
    // Instead, where the query matters (?includePods=true).
    std::function<Result<json::value>(const std::string& rest, const api::StringMap& query)> ask =
        {};
    // Where it was once, below /apis/v1/plugins/; it answers there, too.
    std::string formerly = {};
    // Upstream has it, and answering costs little: the plain port has it, too, for whoever reaches
    // that. Others are for those who come over --secure-port and may ask.
    bool open = false;
  };
  virtual std::vector<Route> routes() = 0;
};

}  // namespace koord::scheduler
