#include "koordlet/qos/evictor/priority_victims.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "koordlet/system/small_file.h"
#include "model/pod_requests.h"
#include "model/priority.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

constexpr std::int32_t kHighestPriority = 7999;  // Koordinator does not overcommit for prod pods

// The resource name under which the pod's request counts; pods of class free have none.
std::string accountOf(const api::Pod& pod, std::string_view resource) {
  const auto name = model::resourceNameOf(model::priorityClassWithDefault(pod), resource);
  return std::string(name.empty() ? resource : name);
}

// Batch and mid CPU are counted in milli-cores as they are, native CPU in cores.
std::int64_t inUnits(const Quantity& amount, std::string_view name) {
  return name == model::kCpu ? amount.milliValue() : amount.value();
}

std::int64_t requestedBy(const api::Pod& pod, std::string_view name) {
  if (name == model::kCpu || name == model::kMemory)
    return inUnits(model::amountOf(model::podRequests(pod), name), name);
  return inUnits(model::runningRequest(pod.spec, name), name);
}

std::int64_t evictionPriority(const api::Pod& pod) {
  const auto* text = api::findIn(pod.metadata.annotations, model::kAnnotationEvictionPriority);
  return text ? parseInt(*text).value_or(0) : 0;
}

// Order within a priority. A pod without the label has its priority as sub-priority.
std::int64_t subPriority(const api::Pod& pod) {
  const auto* text = api::findIn(pod.metadata.labels, model::kLabelSubPriority);
  const std::int64_t fallback = model::priorityWithDefault(pod);
  if (!text || text->empty()) return fallback;
  return parseInt(*text).value_or(fallback);
}

bool mayGo(const PodUse& user, std::int32_t priorityThreshold) {
  const api::Pod& pod = *user.pod;
  const auto* enabled = api::findIn(pod.metadata.labels, model::kLabelEvictionEnabled);
  const bool active = pod.status.phase == "Running" || pod.status.phase == "Pending";
  return active && enabled && *enabled == "true" && user.used &&
         model::priorityWithDefault(pod) <= priorityThreshold;
}

// `amount` is the last sort key; `releases` is what the pod's eviction counts as released.
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

std::unexpected<Error> badField(std::string_view fields, std::string_view field, std::int64_t value,
                                std::string_view rule) {
  return fail(ErrorCode::Invalid, fmt::format("{}{} is {}: {}", fields, field, value, rule));
}

}  // namespace

Result<RequestBounds> requestBounds(std::string_view fields, std::optional<std::int64_t> threshold,
                                    std::optional<std::int64_t> lower,
                                    std::optional<std::int32_t> priority) {
  if (!threshold || !lower)
    return fail(ErrorCode::Invalid,
                fmt::format("{}ThresholdPercent and LowerPercent are not both set", fields));
  if (!priority) return fail(ErrorCode::Invalid, "allocatableEvictPriorityThreshold is not set");
  if (*priority > kHighestPriority)
    return badField("", "allocatableEvictPriorityThreshold", *priority, "must be at most 7999");
  if (*threshold < 0)
    return badField(fields, "ThresholdPercent", *threshold, "must not be negative");
  if (*lower < 0 || *lower >= *threshold)
    return badField(fields, "LowerPercent", *lower,
                    fmt::format("must be within 0 and the threshold, {}", *threshold));
  return RequestBounds{*threshold, *lower, *priority};
}

Result<UsageBounds> usageBounds(std::string_view fields, std::optional<std::int64_t> threshold,
                                std::optional<std::int64_t> lower) {
  if (!threshold)
    return fail(ErrorCode::NotFound, fmt::format("{}ThresholdPercent is not set", fields));
  if (*threshold < 0 || *threshold > 100)
    return badField(fields, "ThresholdPercent", *threshold, "must be within 0..100");
  const UsageBounds bounds{*threshold, lower.value_or(*threshold - 2)};
  if (bounds.lowerPercent >= *threshold)
    return badField(fields, "LowerPercent", bounds.lowerPercent,
                    fmt::format("must be below {}ThresholdPercent, {}", fields, *threshold));
  return bounds;
}

std::vector<PodUse> countedPods(const std::vector<PodView>& pods) {
  std::vector<PodUse> users;
  for (const auto& view : pods)
    if (view.active()) users.push_back({view.pod, std::nullopt});
  return users;
}

Amounts releaseByRequests(std::string_view resource, const RequestBounds& bounds,
                          const api::ResourceList& allocatable, const std::vector<PodUse>& pods) {
  Amounts promised, release;
  for (const auto& user : pods)
    if (model::priorityWithDefault(*user.pod) <= bounds.priority) {
      const std::string account = accountOf(*user.pod, resource);
      promised[account] += requestedBy(*user.pod, account);
    }
  for (const auto& [name, amount] : promised) {
    const auto available = static_cast<double>(inUnits(model::amountOf(allocatable, name), name));
    const auto wanted = static_cast<double>(amount);
    if (available == 0) {
      release[name] = amount;
    } else if (wanted / available > static_cast<double>(bounds.thresholdPercent) / 100) {
      release[name] = static_cast<std::int64_t>(wanted - static_cast<double>(bounds.lowerPercent) /
                                                             100 * available);
    }
  }
  return release;
}

std::vector<EvictionCandidate> victimsByUse(std::string_view resource,
                                            const std::vector<PodUse>& pods,
                                            std::int32_t priorityThreshold) {
  std::vector<Ranked> ranked;
  for (const auto& user : pods)
    if (mayGo(user, priorityThreshold))
      ranked.push_back({user.pod, *user.used, {{std::string(resource), *user.used}}});
  return inOrder(std::move(ranked));
}

std::vector<EvictionCandidate> victimsByRequest(std::string_view resource,
                                                const std::vector<PodUse>& pods,
                                                std::int32_t priorityThreshold) {
  std::vector<Ranked> ranked;
  for (const auto& user : pods) {
    if (!mayGo(user, priorityThreshold)) continue;
    const std::string name = accountOf(*user.pod, resource);
    const std::int64_t amount = requestedBy(*user.pod, name);
    // Native resources are kubelet's to defend: their pods are victims, but release nothing that
    // counts.
    Amounts releases;
    if (name != resource) releases[name] = amount;
    ranked.push_back({user.pod, amount, std::move(releases)});
  }
  return inOrder(std::move(ranked));
}

}  // namespace koord::koordlet
