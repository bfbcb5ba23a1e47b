#pragma once

// Kubelet's pods, and where kubelet does not answer for long (its port is closed to us, or it refuses us), the API
// server's, watched for this node. These are the same pods a little later: kubelet writes what it sees there, too.

#include <memory>

#include "base/random.h"
#include "koordlet/states/kubelet.h"
#include "kube/informer.h"

namespace koord::koordlet {

class PodFallback final : public PodSource {
 public:
  // A kubelet that is restarted keeps its pods meanwhile, so it is waited for.
  static constexpr int kPatience = 3;  // lists that fail in a row

  PodFallback(std::unique_ptr<PodSource> kubelet, kube::Api& api, Executor& executor,
              Random random);
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node& node) override;

 private:
  void watch(const api::Node& node, const Error& why);

  std::unique_ptr<PodSource> kubelet_;
  kube::Api& api_;
  Executor& executor_;
  Random random_;
  int failures_ = 0;                                   // in a row
  std::unique_ptr<kube::Informer<api::Pod>> watched_;  // null while kubelet answers
};

}  // namespace koord::koordlet
