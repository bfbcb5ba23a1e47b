#include "cluster/controllers/pod_gc.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/log.h"
#include "base/time.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr Duration kPeriod = std::chrono::seconds(5);
// A node that is replaced under its name is registered again within this time.
constexpr Duration kQuarantine = std::chrono::seconds(40);
constexpr std::size_t kMaxTerminatedPods = 12'500;
constexpr const char* kOutOfService = "node.kubernetes.io/out-of-service";

bool isOutOfService(const api::Node& node) {
  for (const auto& condition : node.status.conditions)
    if (condition.type == "Ready" && condition.status == "True") return false;
  return std::ranges::find(node.spec.taints, kOutOfService, &api::Taint::key) !=
         node.spec.taints.end();
}

}  // namespace

std::vector<PodGarbageCollector::Lost> PodGarbageCollector::findLost() {
  const SteadyTime now = executor_.steadyNow();
  std::vector<Lost> lost;
  std::vector<std::shared_ptr<const api::Pod>> ended;
  std::map<std::string, SteadyTime> missing;
  for (const auto& pod : pods_.objects()) {
    const auto& name = pod->spec.nodeName;
    const bool deleting = pod->metadata.deletionTimestamp.has_value();
    const bool over = api::isTerminal(*pod);
    if (name.empty()) {
      if (deleting) lost.push_back({pod, "it was deleted before it was bound", false, ""});
      continue;
    }
    if (const auto node = nodes_.get({"", name})) {
      if (deleting && isOutOfService(*node))
        lost.push_back({pod, "its node is out of service", !over, ""});
      else if (over && !deleting)
        ended.push_back(pod);
      continue;
    }
    const auto before = missingSince_.find(name);
    missing[name] = before == missingSince_.end() ? now : before->second;
    if (now - missing[name] >= kQuarantine)
      lost.push_back({pod, "its node does not exist", !over, name});
  }
  missingSince_ = std::move(missing);
  if (ended.size() > kMaxTerminatedPods) {
    std::ranges::sort(ended, {}, [](const auto& pod) { return pod->metadata.creationTimestamp; });
    for (std::size_t i = 0; i < ended.size() - kMaxTerminatedPods; ++i)
      lost.push_back({ended[i], "there are too many pods that have ended", false, ""});
  }
  return lost;
}

Task<bool> PodGarbageCollector::isGone(std::string node) {
  auto getting = kube::get<api::Node>(api_, {"", node});
  auto found = co_await getting;
  co_return !found && found.error().code == ErrorCode::NotFound;
}

Task<Result<>> PodGarbageCollector::remove(Lost lost) {
  const auto key = api::keyOf(lost.pod->metadata);
  if (lost.fail) {
    json::value patch = json::object{
        {"metadata", {{"uid", lost.pod->metadata.uid}}},
        {"status",
         {{"phase", "Failed"},
          {"conditions",
           json::array{json::object{{"type", "DisruptionTarget"},
                                    {"status", "True"},
                                    {"reason", "DeletionByPodGC"},
                                    {"message", "PodGC: " + lost.why},
                                    {"lastTransitionTime", formatTime(executor_.wallNow())}}}}}}};
    auto failing = kube::strategicPatch(api_, api::Pod::kType, key, std::move(patch), "status");
    auto failed = co_await failing;
    if (!failed) co_return fail(std::move(failed.error()));
  }
  kube::DeleteOptions options;
  options.uid = lost.pod->metadata.uid;
  options.gracePeriodSeconds = 0;
  auto deleting = kube::deleteObject(api_, api::Pod::kType, key, std::move(options));
  co_return co_await deleting;
}

Task<void> PodGarbageCollector::run() {
  while (true) {
    auto pause = sleepFor(executor_, kPeriod);
    co_await pause;
    if (!pods_.synced() || !nodes_.synced()) continue;
    const auto lost = findLost();
    std::map<std::string, bool> gone{{"", true}};  // by node
    for (const auto& one : lost) {
      if (!gone.contains(one.node)) {
        auto asking = isGone(one.node);
        const bool answer = co_await asking;
        gone[one.node] = answer;
      }
      if (!gone[one.node]) continue;
      const auto key = api::keyOf(one.pod->metadata).toString();
      log::info("deleting pod {}: {}", key, one.why);
      auto removing = remove(one);
      auto removed = co_await removing;
      if (!removed && removed.error().code != ErrorCode::NotFound)
        log::warn("pod {}: {}", key, removed.error().message);
    }
  }
}

}  // namespace koord::cluster
