#pragma once

// The state of a co-located cluster at a glance: plain data, computed from objects. overview.h
// formats it.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/json.h"
#include "cluster/screen/moves.h"
#include "cluster/screen/objects.h"

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
  std::optional<Duration> age;       // of the usage data
  std::optional<WallTime> reported;  // when the usage data was written
  std::optional<WallTime> created;
  bool cordoned = false;
  Amounts beUsed;  // by running pods
  int lsPods = 0;  // running pods that are not BE pods
  int bePods = 0;
  int pods = 0;  // that have not ended
};

// A node that offers few batch resources, and why: "batch-cpu 0 on n1: ...".
struct LittleBatch {
  std::string node;
  std::string why;
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
  std::vector<LittleBatch> littleBatch;
  Moves moves;  // of pods, by koord-descheduler
  std::vector<QosLine> qos;
  std::vector<ComponentLine> components;
  std::string server;
  std::string kubeconfig;
  std::string console;             // the address of its page for browsers; "" if there is none
  std::vector<std::string> notes;  // "the host node is left out: ..."
  std::string hint;                // what the user may do next
  Duration uptime{};
};

// Sets nodes, pods, pending, littleBatch and moves.
void summarize(const Objects& input, ClusterStatus& status);

// koordlet's /apis/v1/qos document as text.
QosLine describeQos(const json::value& document);

std::string cores(std::int64_t milli);      // "1.5"
std::string bytesText(std::int64_t bytes);  // "1.2Gi"
std::string ageText(Duration age);          // "5s", "3m", "2h", "4d"

}  // namespace koord::cluster
