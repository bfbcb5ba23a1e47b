#pragma once

// Keeps this node's NodeResourceTopology in step with the machine (gate NodeTopologyReport). What
// is wanted is worked out every few seconds; the object is read when that changed, and once a
// minute in case somebody else wrote into it.

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
  // `kubelet` may be null: then its policies are not reported.
  TopologyReporter(kube::Api& api, Executor& executor, const Host& host, const States& states,
                   KubeletConfigSource* kubelet, Options options);
  void start();
  // Why nothing was reported last; empty after a success.
  const std::string& problem() const { return problem_; }

 private:
  Task<void> loop();
  Task<Result<>> report();
  // Asked again once a minute; none where kubelet does not say. What it once said holds while it does not answer.
  Task<Result<>> refreshKubelet(const api::Node& node);
  // Whether kubelet has long refused us, so that there is no point in waiting for it.
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
  std::optional<SteadyTime> refusedSince_;  // and never an answer
  std::optional<json::value> reported_;     // the object as it would be made, when last compared
  // All that it follows from: while that is the same, it is not made again.
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
