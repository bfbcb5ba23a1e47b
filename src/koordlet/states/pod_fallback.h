#pragma once

// The pods from kubelet or, if kubelet does not answer for long (its port is closed, or it denies
// access), a watch of the API server for this node. That yields the same pods a little later,
// because kubelet writes their status there.

#include <memory>

#include "base/random.h"
#include "koordlet/states/kubelet.h"
#include "kube/informer.h"

namespace koord::koordlet {

class PodFallback final : public PodSource {
 public:
  // Pods stay the same while kubelet restarts, so the fallback waits for some failures.
  static constexpr int kPatience = 3;  // failed lists in a row

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
