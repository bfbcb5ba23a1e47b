#pragma once

// The state of a co-located cluster at a glance: plain data, computed from objects. status_render.h
// formats it.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/config.h"
#include "api/core.h"
#include "api/migration.h"
#include "api/slo.h"
#include "base/executor.h"
#include "base/json.h"
#include "cluster/up/moves.h"

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
  std::optional<Duration> age;  // of the usage data
  Amounts beUsed;               // by running pods
  int lsPods = 0;               // running pods that are not BE pods
  int bePods = 0;
};

// koordlet's actions on BE pods, from GET /apis/v1/qos.
struct QosLine {
  std::string node;
  std::vector<std::string> lines;
  Duration age{};  // of the answer
};

struct ComponentLine {
  std::string name;
  std::string state;  // "leading", "running", "starting", "down: exit status 1"
  std::optional<int> restarts;
  std::optional<Duration> age;  // since its lease was renewed
  std::string where;            // its metrics, or the holder of its lease
};

struct ClusterStatus {
  std::vector<NodeLine> nodes;       // the host node first, then by name
  std::map<std::string, int> pods;   // phase -> count
  std::vector<std::string> pending;  // "ns/name (age): why", the longest waiting first
  std::vector<std::string> batch;    // why nodes offer few batch resources
  Moves moves;                       // of pods, by koord-descheduler
  std::vector<QosLine> qos;
  std::vector<ComponentLine> components;
  std::string server;
  std::string kubeconfig;
  std::vector<std::string> notes;  // "the host node is left out: ..."
  Duration uptime{};
};

// Sets nodes, pods, pending, batch and moves.
struct StatusInput {
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::vector<std::shared_ptr<const api::NodeMetric>> metrics;
  std::vector<std::shared_ptr<const api::PodMigrationJob>> migrations;
  std::shared_ptr<const api::ConfigMap> sloConfig;  // slo-controller-config; may be null
  WallTime now{};
};
void summarize(const StatusInput& input, ClusterStatus& status);

// koordlet's /apis/v1/qos document as text.
QosLine describeQos(const json::value& document);

std::string cores(std::int64_t milli);      // "1.5"
std::string bytesText(std::int64_t bytes);  // "1.2Gi"
std::string ageText(Duration age);          // "5s", "3m", "2h", "4d"

}  // namespace koord::cluster
