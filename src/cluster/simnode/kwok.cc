#include "cluster/simnode/kwok.h"

#include <algorithm>
#include <chrono>

#include "base/time.h"
#include "model/pod_requests.h"
#include "model/priority.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::cluster {

namespace {

constexpr Usage kSystemUsage{100, std::int64_t{256} << 20};
constexpr Usage kMinUsage{1, std::int64_t{1} << 20};
// Limit for the usage of a pod or node, so that sums of thousands do not overflow.
constexpr std::int64_t kMaxUsage = std::int64_t{1} << 46;
constexpr Duration kLongestDelay = std::chrono::hours(24 * 365 * 100);

std::optional<Quantity> quantityIn(const api::StringMap& annotations, std::string_view key) {
  const auto* text = api::findIn(annotations, key);
  if (!text) return std::nullopt;
  auto quantity = Quantity::parse(*text);
  if (!quantity || quantity->sign() < 0) return std::nullopt;
  return *std::move(quantity);
}

Usage annotated(const api::StringMap& annotations, Usage fallback) {
  if (const auto cpu = quantityIn(annotations, kKwokUsageCpu))
    fallback.cpuMilli = std::min(cpu->milliValue(), kMaxUsage);
  if (const auto memory = quantityIn(annotations, kKwokUsageMemory))
    fallback.memoryBytes = std::min(memory->value(), kMaxUsage);
  return fallback;
}

std::optional<Duration> delayIn(const api::Pod& pod, std::string_view key) {
  const auto* text = api::findIn(pod.metadata.annotations, key);
  if (!text) return std::nullopt;
  const auto delay = parseDuration(*text);
  if (!delay || *delay < Duration::zero()) return std::nullopt;
  return std::min<Duration>(*delay, kLongestDelay);
}

}  // namespace

bool isSimulated(const api::Node& node) {
  for (const auto* map : {&node.metadata.annotations, &node.metadata.labels})
    if (const auto* value = api::findIn(*map, kKwokNode); value && *value == "fake") return true;
  return false;
}

Usage requestOf(const api::Pod& pod) {
  const auto priority = model::priorityClassWithDefault(pod);
  const auto cpuName = model::resourceNameOf(priority, model::kCpu);
  const auto cpu = model::runningRequest(pod.spec, cpuName);
  const auto memory =
      model::runningRequest(pod.spec, model::resourceNameOf(priority, model::kMemory));
  return {std::min(cpuName == model::kCpu ? cpu.milliValue() : cpu.value(), kMaxUsage),
          std::min(memory.value(), kMaxUsage)};
}

Usage usageOf(const api::Pod& pod) {
  const Usage request = requestOf(pod);
  return annotated(pod.metadata.annotations,
                   {std::max(request.cpuMilli / 2, kMinUsage.cpuMilli),
                    std::max(request.memoryBytes / 2, kMinUsage.memoryBytes)});
}

Usage systemUsageOf(const api::Node& node) {
  return annotated(node.metadata.annotations, kSystemUsage);
}

std::optional<Duration> completionDelay(const api::Pod& pod) {
  const auto* owner = api::controllerOf(pod.metadata);
  if (!owner || owner->kind != "Job") return std::nullopt;
  return delayIn(pod, kKwokCompleteDelay);
}

Duration deletionDelay(const api::Pod& pod) {
  return delayIn(pod, kKwokDeleteDelay).value_or(Duration::zero());
}

}  // namespace koord::cluster
