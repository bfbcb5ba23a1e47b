#include "koordlet/qos/memoryevict/victims.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "koordlet/system/small_file.h"
#include "model/priority.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordlet::memoryevict {
namespace {

// Under which name the pod's memory is accounted; free pods have no name of their own.
std::string memoryNameOf(const api::Pod& pod) {
  const auto name = model::resourceNameOf(model::priorityClassWithDefault(pod), model::kMemory);
  return std::string(name.empty() ? model::kMemory : name);
}

std::int64_t requestedBytes(const api::Pod& pod) {
  const std::string name = memoryNameOf(pod);
  Quantity sum;
  for (const auto& container : pod.spec.containers)
    sum.add(model::amountOf(container.resources.requests, name));
  return sum.value();
}

std::int64_t evictionPriority(const api::Pod& pod) {
  const auto* text = api::findIn(pod.metadata.annotations, model::kAnnotationEvictionPriority);
  return text ? parseInt(*text).value_or(0) : 0;
}

// Inside a priority; that of a pod which names none is its priority.
std::int64_t subPriority(const api::Pod& pod) {
  const auto* text = api::findIn(pod.metadata.labels, model::kLabelSubPriority);
  const std::int64_t fallback = model::priorityWithDefault(pod);
  if (!text || text->empty()) return fallback;
  return parseInt(*text).value_or(fallback);
}

bool mayGo(const MemoryUser& user, std::int32_t priorityThreshold) {
  const api::Pod& pod = *user.pod;
  const auto* enabled = api::findIn(pod.metadata.labels, model::kLabelEvictionEnabled);
  const bool active = pod.status.phase == "Running" || pod.status.phase == "Pending";
  return active && enabled && *enabled == "true" && user.usedBytes &&
         model::priorityWithDefault(pod) <= priorityThreshold;
}

// `amount` decides last; what the pod then counts as released is `releases`.
struct Ranked {
  std::shared_ptr<const api::Pod> pod;
  std::int64_t amount;
  Amounts releases;
};
std::vector<EvictionCandidate> inOrder(std::vector<Ranked> pods) {
  std::ranges::stable_sort(pods, {}, [](const Ranked& one) {
    return std::tuple(evictionPriority(*one.pod), model::priorityWithDefault(*one.pod),
                      subPriority(*one.pod), -one.amount);
  });
  std::vector<EvictionCandidate> victims;
  for (auto& one : pods) victims.push_back({std::move(one.pod), std::move(one.releases)});
  return victims;
}

std::unexpected<Error> badPercent(std::string_view field, std::int64_t value,
                                  std::string_view rule) {
  return fail(ErrorCode::Invalid, fmt::format("{} is {}: {}", field, value, rule));
}

std::int64_t allocatableThreshold(const api::ResourceThresholdStrategy& strategy) {
  return strategy.memoryAllocatableEvictThresholdPercent.value_or(110);
}
std::int64_t allocatableLower(const api::ResourceThresholdStrategy& strategy) {
  return strategy.memoryAllocatableEvictLowerPercent.value_or(100);
}
std::int64_t usedLower(const api::ResourceThresholdStrategy& strategy) {
  return strategy.memoryEvictLowerPercent.value_or(
      strategy.memoryEvictThresholdPercent.value_or(0) - 2);
}

}  // namespace

Result<> checkUsedThresholds(const api::ResourceThresholdStrategy& strategy) {
  if (!strategy.memoryEvictThresholdPercent)
    return fail(ErrorCode::Invalid, "memoryEvictThresholdPercent is not set");
  const std::int64_t threshold = *strategy.memoryEvictThresholdPercent;
  if (threshold < 0 || threshold > 100)
    return badPercent("memoryEvictThresholdPercent", threshold, "must be within 0..100");
  if (usedLower(strategy) >= threshold)
    return badPercent("memoryEvictLowerPercent", usedLower(strategy),
                      fmt::format("must be below memoryEvictThresholdPercent, {}", threshold));
  return {};
}

Release releaseByUsed(const api::ResourceThresholdStrategy& strategy, std::int64_t usedBytes,
                      std::int64_t capacityBytes) {
  Release release;
  release.thresholdPercent = strategy.memoryEvictThresholdPercent.value_or(0);
  release.lowerPercent = usedLower(strategy);
  if (capacityBytes <= 0) return release;
  // Whole percents, as the thresholds are. 128 bits: petabytes times a hundred do not fit 64.
  release.usedPercent =
      static_cast<std::int64_t>(static_cast<__int128>(usedBytes) * 100 / capacityBytes);
  if (release.usedPercent < release.thresholdPercent) return release;
  release.bytes = static_cast<std::int64_t>(static_cast<__int128>(capacityBytes) *
                                            (release.usedPercent - release.lowerPercent) / 100);
  return release;
}

Result<> checkAllocatableThresholds(const api::ResourceThresholdStrategy& strategy) {
  constexpr std::int32_t kHighestPriority = 7999;  // prod pods are never promised too much by us
  if (!strategy.allocatableEvictPriorityThreshold)
    return fail(ErrorCode::Invalid, "allocatableEvictPriorityThreshold is not set");
  if (*strategy.allocatableEvictPriorityThreshold > kHighestPriority)
    return badPercent("allocatableEvictPriorityThreshold",
                      *strategy.allocatableEvictPriorityThreshold, "must be at most 7999");
  const std::int64_t threshold = allocatableThreshold(strategy);
  const std::int64_t lower = allocatableLower(strategy);
  if (threshold < 0)
    return badPercent("memoryAllocatableEvictThresholdPercent", threshold, "must not be negative");
  if (lower < 0 || lower >= threshold)
    return badPercent(
        "memoryAllocatableEvictLowerPercent", lower,
        fmt::format("must be within 0 and memoryAllocatableEvictThresholdPercent, {}", threshold));
  return {};
}

Amounts releaseByAllocatable(const api::ResourceThresholdStrategy& strategy,
                             const api::ResourceList& allocatable,
                             const std::vector<MemoryUser>& pods) {
  const std::int64_t threshold = allocatableThreshold(strategy);
  const std::int64_t lower = allocatableLower(strategy);
  Amounts requested, release;
  if (threshold < 0 || !strategy.allocatableEvictPriorityThreshold) return release;
  for (const auto& user : pods)
    if (model::priorityWithDefault(*user.pod) <= *strategy.allocatableEvictPriorityThreshold)
      requested[memoryNameOf(*user.pod)] += requestedBytes(*user.pod);
  for (const auto& [name, bytes] : requested) {
    const auto available = static_cast<double>(model::amountOf(allocatable, name).value());
    const auto wanted = static_cast<double>(bytes);
    if (available == 0) {
      release[name] = bytes;
    } else if (wanted / available > static_cast<double>(threshold) / 100) {
      release[name] =
          static_cast<std::int64_t>(wanted - static_cast<double>(lower) / 100 * available);
    }
  }
  return release;
}

std::vector<EvictionCandidate> bestEffortVictims(std::vector<MemoryUser> pods) {
  // Pods with and without priority do not form one order, so the sort must be one that bears it.
  std::ranges::stable_sort(pods, [](const MemoryUser& a, const MemoryUser& b) {
    const auto& left = a.pod->spec.priority;
    const auto& right = b.pod->spec.priority;
    if (left && right && *left != *right) return *left < *right;
    if (a.usedBytes && b.usedBytes) return *a.usedBytes > *b.usedBytes;
    if (!a.usedBytes && !b.usedBytes) return a.pod->metadata.name > b.pod->metadata.name;
    return a.usedBytes.has_value();
  });
  std::vector<EvictionCandidate> victims;
  for (auto& user : pods)
    victims.push_back(
        {std::move(user.pod), {{std::string(model::kMemory), user.usedBytes.value_or(0)}}});
  return victims;
}

std::vector<EvictionCandidate> victimsByUsed(const std::vector<MemoryUser>& pods,
                                             std::int32_t priorityThreshold) {
  std::vector<Ranked> ranked;
  for (const auto& user : pods)
    if (mayGo(user, priorityThreshold))
      ranked.push_back(
          {user.pod, *user.usedBytes, {{std::string(model::kMemory), *user.usedBytes}}});
  return inOrder(std::move(ranked));
}

std::vector<EvictionCandidate> victimsByRequest(const std::vector<MemoryUser>& pods,
                                                std::int32_t priorityThreshold) {
  std::vector<Ranked> ranked;
  for (const auto& user : pods) {
    if (!mayGo(user, priorityThreshold)) continue;
    const std::int64_t bytes = requestedBytes(*user.pod);
    const std::string name = memoryNameOf(*user.pod);
    // Native memory is kubelet's to defend; its pods go, but what they free is not counted here.
    Amounts releases;
    if (name != model::kMemory) releases[name] = bytes;
    ranked.push_back({user.pod, bytes, std::move(releases)});
  }
  return inOrder(std::move(ranked));
}

}  // namespace koord::koordlet::memoryevict
