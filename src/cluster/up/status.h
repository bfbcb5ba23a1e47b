#pragma once

// What a person wants to see of a co-located cluster at a glance: plain data, computed from
// objects, and its picture as lines of text.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/slo.h"

namespace koord::cluster {

struct Amounts {
  std::int64_t cpuMilli = 0;
  std::int64_t memoryBytes = 0;
};

struct NodeLine {
  std::string name;
  bool ready = false;
  bool simulated = false;
  bool host = false;
  Amounts allocatable;
  Amounts batch;           // batch-cpu, batch-memory in allocatable
  Amounts batchRequested;  // by the pods bound here
  std::optional<Amounts> used;
  Amounts beUsed;
  int lsPods = 0;  // running pods that are not best effort
  int bePods = 0;
};

// What koordlet does to best-effort pods now, from GET /apis/v1/qos.
struct QosLine {
  std::string node;
  std::vector<std::string> lines;
};

struct ComponentLine {
  std::string name;
  std::string state;  // "leading", "running", "starting", "down: exit status 1"
  int restarts = 0;
  std::string endpoint;
};

struct ClusterStatus {
  std::vector<NodeLine> nodes;       // by name
  std::map<std::string, int> pods;   // phase -> count
  std::vector<std::string> pending;  // "ns/name: why", the first few
  std::vector<QosLine> qos;
  std::vector<ComponentLine> components;
  std::string server;
  std::string kubeconfig;
  std::vector<std::string> notes;  // "the host node is left out: ..."
  Duration uptime{};
};

// Fills in nodes, pods and pending.
struct StatusInput {
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::vector<std::shared_ptr<const api::NodeMetric>> metrics;
};
void summarize(const StatusInput& input, ClusterStatus& status);

// The document of koordlet's /apis/v1/qos in words.
QosLine describeQos(const json::value& document);

// At most `height` lines of at most `width` columns, 0 = no limit; nodes that do not fit are
// counted.
std::vector<std::string> renderStatus(const ClusterStatus& status, int width, int height);
// One line, for where there is no screen.
std::string statusLine(const ClusterStatus& status);

std::string cores(std::int64_t milli);      // "1.5"
std::string bytesText(std::int64_t bytes);  // "1.2Gi"

}  // namespace koord::cluster
