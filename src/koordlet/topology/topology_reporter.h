#pragma once

// Keeps this node's NodeResourceTopology in sync with the host (gate NodeTopologyReport). Computes
// the wanted content every few seconds; reads the object when that changed, and once a minute
// because another writer may have changed it.

#include "base/task.h"
#include "koordlet/states/kubelet.h"
#include "koordlet/states/states.h"
#include "koordlet/system/host.h"
#include "koordlet/topology/node_topology.h"
#include "kube/client.h"

namespace koord::koordlet {

class TopologyReporter {
 public:
  struct Options {
    std::string nodeName;
    Duration interval = std::chrono::seconds(3);  // 0 = never
    bool hugePages = false;                       // gate HugePageReport
  };
  // If `kubelet` is null, its policies are not reported.
  TopologyReporter(kube::Api& api, Executor& executor, const Host& host, const States& states,
                   KubeletConfigSource* kubelet, Options options);
  void start();
  // Why the last report failed; empty after a success.
  const std::string& problem() const { return problem_; }

 private:
  Task<void> loop();
  Task<Result<>> report();
  // Reads kubelet's configuration once a minute. Without a reply the last one stays in force.
  Task<Result<>> refreshKubelet(const api::Node& node);
  // Returns true if kubelet has denied access for so long that waiting for it is pointless.
  bool refuses(const Error& error);
  Task<Result<>> write(NodeTopology wanted, std::shared_ptr<const api::Node> node);

  kube::Api& api_;
  Executor& executor_;
  const Host& host_;
  const States& states_;
  KubeletConfigSource* kubelet_;
  Options options_;
  CpuManagerFile manager_;
  std::optional<KubeletCpuConfig> config_;
  std::optional<SteadyTime> configAt_;
  std::optional<SteadyTime> refusedSince_;  // since when kubelet denies access
  std::optional<json::value> reported_;     // the wanted object at the last comparison
  // All inputs of the object. While they are the same, it is not rebuilt.
  struct Sources {
    std::shared_ptr<const api::Node> node;
    std::uint64_t pods = 0;  // their version
    std::optional<KubeletCpuConfig> config;
    CpuManagerState state;
    std::vector<CpuPlace> cpus;
    std::vector<ZoneMemory> memory;
    CpuBasicInfo basic;
    bool operator==(const Sources&) const = default;
  };
  std::optional<Sources> reportedFrom_;
  SteadyTime compared_{};
  std::string problem_;
  TaskGroup tasks_;
};

}  // namespace koord::koordlet
