#include "cluster/controllers/devices/device_taint_eviction.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/time.h"
#include "cluster/controllers/ownership.h"
#include "cluster/controllers/pod_control.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

constexpr std::string_view kTaintedPodKey = "pod ";
constexpr std::string_view kRuleKey = "rule ";
constexpr const char* kInProgress = "EvictionInProgress";
constexpr Duration kRuleStatusPeriod = std::chrono::seconds(10);

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return count == 1 ? fmt::format("1 {}", one) : fmt::format("{} {}", count, many);
}

json::object conditionOfPod(WallTime now) {
  return {{"type", "DisruptionTarget"},
          {"status", "True"},
          {"reason", "DeletionByDeviceTaintManager"},
          {"message", "Device Taint manager: deleting due to NoExecute taint"},
          {"lastTransitionTime", formatTime(now)}};
}

bool isOver(const Error& error) {
  return error.code == ErrorCode::NotFound || error.code == ErrorCode::Conflict;
}

bool sameTaints(const api::ResourceSlice& a, const api::ResourceSlice& b) {
  if (a.spec.pool.generation != b.spec.pool.generation) return false;
  return std::ranges::equal(a.spec.devices, b.spec.devices, [](const auto& one, const auto& other) {
    return one.name == other.name && one.taints == other.taints;
  });
}

}  // namespace

DeviceTaintEviction::DeviceTaintEviction(kube::Api& api, Executor& executor,
                                         kube::Informer<api::ResourceClaim>& claims,
                                         DeviceTaints::Slices& slices, DeviceTaints::Rules& rules,
                                         kube::Informer<api::Pod>& pods,
                                         kube::EventRecorder& events)
    : api_(api),
      executor_(executor),
      claims_(claims),
      rules_(rules),
      pods_(pods),
      events_(events),
      taints_(slices, rules),
      queue_(executor, "device_taint_eviction",
             [this](std::string key) { return sync(std::move(key)); }) {
  const auto podSeen = [this](const PodPtr& pod) {
    if (!pod->spec.resourceClaims.empty() && !pod->spec.nodeName.empty())
      queue_.add(fmt::format("{}{}", kTaintedPodKey, api::keyOf(pod->metadata).toString()));
  };
  pods_.addHandler({podSeen, [podSeen](const auto&, const PodPtr& pod) { podSeen(pod); },
                    [this](const PodPtr& pod) {
                      scheduled_.erase(api::keyOf(pod->metadata).toString());
                      evictedPods_.erase(pod->metadata.uid);
                    }});
  claims_.addHandler({[this](const auto& claim) { enqueueUsers(*claim); },
                      [this](const auto& before, const auto& claim) {
                        enqueueUsers(*before);
                        enqueueUsers(*claim);
                      },
                      [this](const auto& claim) { enqueueUsers(*claim); }});
  slices.addHandler({[this](const auto&) { enqueueAllUsers(); },
                     [this](const auto& before, const auto& slice) {
                       if (!sameTaints(*before, *slice)) enqueueAllUsers();
                     },
                     [this](const auto&) { enqueueAllUsers(); }});
  rules_.addHandler({[this](const RulePtr& rule) { ruleChanged(rule); },
                     [this](const RulePtr& before, const RulePtr& rule) {
                       if (before->metadata.generation != rule->metadata.generation)
                         ruleChanged(rule);
                     },
                     [this](const RulePtr& rule) {
                       evicted_.erase(rule->metadata.uid);
                       enqueueAllUsers();
                     }});
}

void DeviceTaintEviction::enqueueUsers(const api::ResourceClaim& claim) {
  for (const auto& user : claim.status.reservedFor)
    if (user.apiGroup.empty() && user.resource == "pods")
      queue_.add(fmt::format("{}{}/{}", kTaintedPodKey, claim.metadata.namespace_, user.name));
}

void DeviceTaintEviction::enqueueAllUsers() {
  for (const auto& claim : claims_.objects())
    if (claim->status.allocation) enqueueUsers(*claim);
}

void DeviceTaintEviction::ruleChanged(const RulePtr& rule) {
  queue_.add(fmt::format("{}{}", kRuleKey, rule->metadata.name));  // before pods are evicted
  enqueueAllUsers();
}

std::optional<DeviceEviction> DeviceTaintEviction::evictionOf(
    const api::Pod& pod, const api::DeviceTaintRule* simulated) const {
  std::optional<DeviceEviction> eviction;
  if (pod.spec.nodeName.empty() || pod.metadata.deletionTimestamp) return eviction;
  const api::PodClaimNames names(pod);
  for (const auto& entry : pod.spec.resourceClaims) {
    const auto* name = names.of(entry);
    const auto claim = name ? claims_.get({pod.metadata.namespace_, *name}) : nullptr;
    if (!claim || !api::isReservedFor(*claim, pod.metadata.uid)) continue;
    const auto next = taints_.evictionOf(*claim, simulated);
    if (!next) continue;
    if (eviction) {
      eviction->join(*next);
    } else {
      eviction = next;
    }
  }
  return eviction;
}

Task<Result<>> DeviceTaintEviction::sync(std::string key) {
  const bool isRule = key.starts_with(kRuleKey);
  auto rest = key.substr((isRule ? kRuleKey : kTaintedPodKey).size());
  auto syncing = isRule ? syncRule(std::move(rest)) : syncPod(std::move(rest));
  co_return co_await syncing;
}

Task<Result<>> DeviceTaintEviction::syncPod(std::string key) {
  const PodPtr pod = pods_.get(keyOfText(key));
  const auto eviction = pod ? evictionOf(*pod) : std::nullopt;
  if (!eviction) {
    if (scheduled_.erase(key) > 0 && pod && !pod->metadata.deletionTimestamp)
      events_.record(kube::referenceTo(api::Pod::kType, pod->metadata), "Normal",
                     "DeviceTaintManagerEviction", "Cancelling deletion");
    co_return Result<>{};
  }
  for (const auto& rule : rules_.objects())
    if (eviction->rules.contains(rule->metadata.uid))
      queue_.addAfter(fmt::format("{}{}", kRuleKey, rule->metadata.name), kRuleStatusPeriod);
  if (evictedPods_.contains(pod->metadata.uid)) co_return Result<>{};
  const auto now = executor_.wallNow();
  scheduled_.insert(key);
  if (eviction->when > now) {
    queue_.addAfter(fmt::format("{}{}", kTaintedPodKey, key), eviction->when - now);
    co_return Result<>{};
  }
  auto evicting = evict(pod);
  auto gone = co_await evicting;
  if (!gone) co_return gone;
  scheduled_.erase(key);
  if (pods_.get(keyOfText(key))) evictedPods_.insert(pod->metadata.uid);
  for (const auto& rule : eviction->rules) ++evicted_[rule];
  co_return Result<>{};
}

Task<Result<>> DeviceTaintEviction::evict(PodPtr pod) {
  events_.record(kube::referenceTo(api::Pod::kType, pod->metadata), "Normal",
                 "DeviceTaintManagerEviction", "Marking for deletion");
  json::value patch =
      json::object{{"metadata", {{"uid", pod->metadata.uid}}},
                   {"status", {{"conditions", json::array{conditionOfPod(executor_.wallNow())}}}}};
  auto marking = kube::strategicPatch(api_, api::Pod::kType, api::keyOf(pod->metadata),
                                      std::move(patch), "status");
  auto marked = co_await marking;
  if (!marked && !isOver(marked.error())) co_return fail(std::move(marked.error()));
  kube::DeleteOptions options;
  options.uid = pod->metadata.uid;
  auto deleting =
      kube::deleteObject(api_, api::Pod::kType, api::keyOf(pod->metadata), std::move(options));
  auto deleted = co_await deleting;
  if (!deleted && !isOver(deleted.error())) co_return deleted;
  co_return Result<>{};
}

DeviceTaintEviction::Waiting DeviceTaintEviction::waitingFor(
    const api::DeviceTaintRule& rule) const {
  Waiting out;
  for (const auto& pod : pods_.objects()) {
    if (pod->spec.resourceClaims.empty()) continue;
    const auto eviction = evictionOf(*pod, &rule);
    if (!eviction || !eviction->rules.contains(rule.metadata.uid)) continue;
    ++out.pods;
    out.namespaces.insert(pod->metadata.namespace_);
  }
  return out;
}

api::Condition DeviceTaintEviction::conditionOf(const api::DeviceTaintRule& rule) const {
  const auto& effect = rule.spec.taint.effect;
  api::Condition condition{.type = kInProgress,
                           .status = "False",
                           .observedGeneration = rule.metadata.generation,
                           .reason = "OtherEffect",
                           .message = "Eviction only happens for the NoExecute effect."};
  const auto known = evicted_.find(rule.metadata.uid);
  const std::size_t evicted = known == evicted_.end() ? 0 : known->second;
  if (effect == "NoExecute") {
    const auto waiting = waitingFor(rule);
    condition.message.clear();
    condition.reason = evicted > 0 ? "Completed" : "NotStarted";
    if (waiting.pods > 0) {
      condition.reason = "PodsPendingEviction";
      condition.status = "True";
      condition.message =
          fmt::format("{} to be evicted in {}.", counted(waiting.pods, "pod needs", "pods need"),
                      counted(waiting.namespaces.size(), "namespace", "different namespaces"));
    }
  } else if (effect == "None") {
    const auto waiting = waitingFor(rule);
    std::size_t allocated = 0;
    for (const auto& claim : claims_.objects())
      if (claim->status.allocation)
        for (const auto& result : claim->status.allocation->devices.results)
          allocated += selectsDevice(rule, result.driver, result.pool, result.device);
    condition.reason = "NoEffect";
    condition.message = fmt::format(
        "{} selected. {} selected. {} would be evicted in {} if the effect was NoExecute. This "
        "information will not be updated again. Recreate the DeviceTaintRule to trigger an update.",
        counted(taints_.selectedDevices(rule), "published device", "published devices"),
        counted(allocated, "allocated device", "allocated devices"),
        counted(waiting.pods, "pod", "pods"),
        counted(waiting.namespaces.size(), "namespace", "different namespaces"));
  }
  if (evicted > 0)
    condition.message +=
        fmt::format("{}{} evicted since starting the controller.",
                    condition.message.empty() ? "" : " ", counted(evicted, "pod", "pods"));
  return condition;
}

Task<Result<>> DeviceTaintEviction::syncRule(std::string name) {
  const auto rule = rules_.get({"", name});
  if (!rule) co_return Result<>{};
  const auto now = executor_.wallNow();
  const auto& conditions = rule->status.conditions;
  const auto known = std::ranges::find(conditions, kInProgress, &api::Condition::type);
  if (known != conditions.end() && known->observedGeneration == rule->metadata.generation) {
    const auto left = known->lastTransitionTime.value_or(WallTime{}) + kRuleStatusPeriod - now;
    if (left > Duration::zero()) {
      queue_.addAfter(fmt::format("{}{}", kRuleKey, name), left);
      co_return Result<>{};
    }
  }
  auto condition = conditionOf(*rule);
  if (known != conditions.end() && known->status == condition.status &&
      known->reason == condition.reason && known->message == condition.message &&
      known->observedGeneration == condition.observedGeneration)
    co_return Result<>{};
  json::object written{{"type", condition.type},
                       {"status", condition.status},
                       {"observedGeneration", condition.observedGeneration},
                       {"reason", condition.reason},
                       {"message", condition.message},
                       {"lastTransitionTime", formatTime(now)}};
  json::value patch = json::object{{"metadata", {{"uid", rule->metadata.uid}}},
                                   {"status", {{"conditions", json::array{std::move(written)}}}}};
  auto patching = kube::strategicPatch(api_, api::DeviceTaintRule::kType, {"", name},
                                       std::move(patch), "status");
  auto patched = co_await patching;
  if (!patched && !isOver(patched.error())) co_return fail(std::move(patched.error()));
  co_return Result<>{};
}

}  // namespace koord::cluster
