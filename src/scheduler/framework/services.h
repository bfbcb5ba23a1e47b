#pragma once

// Services of plugins for users: advice for explain, HTTP routes, metrics.

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

// Called by explain for a node that only this plugin rejects.
class RemedyPlugin {
 public:
  virtual ~RemedyPlugin() = default;
  // The advice, "tolerate gpu:NoSchedule"; "" if there is none that a program can give.
  virtual std::string remedyFor(const PodInfo& pod, NodeId node) const = 0;
};

// Adds facts about a pod to the answer of explain, as "plugins": {NAME: {...}}: its quota, its
// gang.
class PodFactsPlugin {
 public:
  virtual ~PodFactsPlugin() = default;
  virtual json::value factsOf(const PodInfo& pod) const = 0;  // null = nothing
  // What the pod waits for although nodes would accept it: other members of its gang; "" = nothing.
  virtual std::string waitReason(const PodInfo& /*pod*/) const { return {}; }
};

// Adds metrics in the exposition format after the scheduler's own. Of plugins of the same name in
// several profiles, the first profile's is called.
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
    std::string path;   // below the plugin's: "nodes/"; the text after it is `rest`
    std::string shown;  // in the list of services: "nodes/:nodeName"
    std::function<Result<json::value>(const std::string& rest)> answer;
    // Set instead of `answer` if the query matters (?includePods=true).
    std::function<Result<json::value>(const std::string& rest, const api::StringMap& query)> ask =
        {};
    // An earlier path below /apis/v1/plugins/ that is served, too.
    std::string formerPath = {};
    // True for routes that upstream has and that are cheap: they are served without authentication
    // on the plain port, too. Other routes need --secure-port and authorization.
    bool open = false;
  };
  virtual std::vector<Route> routes() = 0;
};

}  // namespace koord::scheduler
