#include "cluster/controllers/pod_gc.h"

#include "base/log.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {
constexpr Duration kPeriod = std::chrono::seconds(5);
// A node that is only being replaced under its name comes back within this time.
constexpr Duration kQuarantine = std::chrono::seconds(40);
}  // namespace

Task<void> PodGarbageCollector::run() {
  while (true) {
    auto pause = sleepFor(executor_, kPeriod);
    co_await pause;
    if (!pods_.synced() || !nodes_.synced()) continue;
    const SteadyTime now = executor_.steadyNow();
    std::vector<std::shared_ptr<const api::Pod>> lost;
    std::map<std::string, SteadyTime> missing;
    for (const auto& [key, pod] : pods_.objects()) {
      const auto& node = pod->spec.nodeName;
      if (node.empty()) {
        if (pod->metadata.deletionTimestamp) lost.push_back(pod);
        continue;
      }
      if (nodes_.get({"", node})) continue;
      const auto before = missingSince_.find(node);
      missing[node] = before == missingSince_.end() ? now : before->second;
      if (now - missing[node] >= kQuarantine) lost.push_back(pod);
    }
    missingSince_ = std::move(missing);
    for (const auto& pod : lost) {
      log::info("deleting pod {}: its node is gone", api::keyOf(pod->metadata).toString());
      kube::DeleteOptions options;
      options.uid = pod->metadata.uid;
      options.gracePeriodSeconds = 0;
      auto deleting =
          kube::deleteObject(api_, api::Pod::kType, api::keyOf(pod->metadata), std::move(options));
      auto deleted = co_await deleting;
      if (!deleted && deleted.error().code != ErrorCode::NotFound)
        log::warn("pod {}: {}", api::keyOf(pod->metadata).toString(), deleted.error().message);
    }
  }
}

}  // namespace koord::cluster
