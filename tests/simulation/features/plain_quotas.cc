#include "simulation/features/plain_quotas.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/pod_requests.h"
#include "model/well_known.h"

namespace koord::simulation {

using scheduler::testing::amountIn;

namespace {

std::string labelOf(const api::StringMap& labels, std::string_view key) {
  const auto* text = api::findIn(labels, key);
  return text ? *text : std::string();
}

bool isApart(const std::string& quota) {
  return quota == model::kDefaultQuota || quota == model::kSystemQuota;
}

}  // namespace

PlainQuotas::PlainQuotas(std::map<std::string, Object> objects) : objects_(std::move(objects)) {
  constexpr std::int64_t kAll = std::int64_t{1} << 60;
  for (const auto name : {model::kDefaultQuota, model::kSystemQuota}) {
    auto& apart = tree_.quotas[std::string(name)];
    apart.apart = true;
    for (const int resource : {0, 1}) apart.max[resource] = apart.weight[resource] = kAll;
  }
  for (const auto& [name, object] : objects_) {
    if (name == model::kRootQuota || isApart(name)) continue;
    auto& quota = tree_.quotas[name];
    quota.parent = labelOf(object->metadata.labels, model::kLabelQuotaParent);
    quota.lends = labelOf(object->metadata.labels, model::kLabelQuotaLends) != "false";
    for (const int resource : {0, 1}) {
      const char* key = kResources[resource];
      if (object->spec.max.contains(key))
        quota.max[resource] = quota.weight[resource] = amountIn(object->spec.max, key);
      if (!object->spec.min.contains(key)) continue;
      quota.min[resource] = amountIn(object->spec.min, key);
      if (quota.max.contains(resource))
        quota.min[resource] = std::min(quota.min[resource], quota.max[resource]);
    }
  }
}

void PlainQuotas::addNode(const api::Node& node) {
  for (const int resource : {0, 1})
    tree_.total[resource] += amountIn(node.status.allocatable, kResources[resource]);
}

void PlainQuotas::addPod(const api::Pod& pod, const api::ResourceList& covered, Counts counts) {
  auto& quota = tree_.quotas.at(quotaOf(pod));
  const auto requests = model::podRequests(pod);
  for (const int resource : {0, 1}) {
    const char* key = kResources[resource];
    const std::int64_t amount = amountIn(requests, key) - amountIn(covered, key);
    if (counts.asks) quota.request[resource] += amount;
    if (counts.asks && isFixed(pod)) quota.fixedRequest[resource] += amount;
    if (!counts.runs) continue;
    quota.used[resource] += amount;
    if (isFixed(pod)) quota.fixedUsed[resource] += amount;
  }
}

bool PlainQuotas::isFixed(const api::Pod& pod) const {
  return labelOf(pod.metadata.labels, model::kLabelPreemptible) == "false";
}

std::string PlainQuotas::quotaOf(const api::Pod& pod) const {
  const std::string named = labelOf(pod.metadata.labels, model::kLabelQuotaName);
  if (!named.empty() && tree_.quotas.contains(named)) return named;
  if (named.empty()) {
    const auto same = objects_.find(pod.metadata.namespace_);
    if (same != objects_.end() && same->second->metadata.namespace_ == pod.metadata.namespace_)
      return same->first;
  }
  return std::string(model::kDefaultQuota);
}

const PlainQuotas::Reference::Values& PlainQuotas::values(const std::string& quota, int resource) {
  auto it = evaluated_.find(resource);
  if (it == evaluated_.end()) it = evaluated_.emplace(resource, tree_.evaluate(resource)).first;
  return it->second[quota];
}

std::optional<std::int64_t> PlainQuotas::limitOf(const std::string& quota,
                                                 const std::string& resource) {
  const int index = resource == "cpu" ? 0 : 1;
  if (isApart(quota) || !tree_.has(quota, index)) return std::nullopt;
  return values(quota, index).limit;
}

std::int64_t PlainQuotas::runtimeOf(const std::string& quota, const std::string& resource) {
  return values(quota, resource == "cpu" ? 0 : 1).runtime;
}

std::int64_t PlainQuotas::usedOf(const std::string& quota, const std::string& resource) {
  return values(quota, resource == "cpu" ? 0 : 1).used;
}

std::string PlainQuotas::admit(const Model& now, const api::Pod& pod, const api::Node& node) {
  const std::string quota = quotaOf(pod);
  if (isApart(quota)) return "";
  const auto requests = model::podRequests(pod);
  // The pods of its quota, and of the quotas below it, which a pod can name as well.
  const auto within = [&](std::string name) {
    for (std::size_t depth = 0; depth <= tree_.quotas.size() && !name.empty(); ++depth) {
      if (name == quota) return true;
      if (isApart(name)) return false;
      name = tree_.parentOf(name);
    }
    return false;
  };
  for (const char* resource : kResources) {
    const auto limit = limitOf(quota, resource);
    const int index = resource == kResources[0] ? 0 : 1;
    std::int64_t used = 0, fixed = 0;
    std::pair<std::string, std::int64_t> over;
    if (now.takesOver) over = now.takesOver(now, pod, node, resource);
    const auto add = [&](const api::Pod& other) {
      const std::string its = quotaOf(other);
      if (!within(its) || !tree_.has(its, index)) return;
      std::int64_t amount = amountIn(model::podRequests(other), resource);
      if (now.covered) amount -= now.covered(now, other, resource);
      if (other.metadata.uid == over.first) amount -= over.second;
      used += amount;
      if (isFixed(other)) fixed += amount;
    };
    for (const auto& [uid, other] : now.pods)
      if (!now.nominatedOnly.contains(uid)) add(*other);
    for (const auto& other : hidden) add(*other);
    const std::int64_t asked = tree_.has(quota, index) ? amountIn(requests, resource) : 0;
    if (limit && used + asked > *limit)
      return fmt::format("{} of {} {} of quota {}", used + asked, *limit, resource, quota);
    const auto& min = tree_.quotas.at(quota).min;
    if (isFixed(pod) && min.contains(index) && fixed + asked > min.at(index))
      return fmt::format("{} of {} {} of quota {} for who stays", fixed + asked, min.at(index),
                         resource, quota);
  }
  return "";
}

}  // namespace koord::simulation
