#include "manager/quotaprofile/quota_of_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "api/codec.h"
#include "api/selector.h"
#include "manager/common/names.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

// No limit, as upstream writes it.
constexpr std::int64_t kNoMax = std::numeric_limits<std::int64_t>::max() / 2000;

bool ready(const api::Node& node) {
  return std::ranges::any_of(node.status.conditions, [](const api::NodeCondition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

bool schedulable(const api::Node& node) {
  return !node.spec.unschedulable && ready(node);
}

// Values that are not above 0 and at most 1 count as 1, as in upstream.
double ratioOf(const api::ElasticQuotaProfile& profile) {
  if (!profile.spec.resourceRatio) return 1;
  const std::string& text = *profile.spec.resourceRatio;
  double ratio = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && ratio > 0 && ratio <= 1 ? ratio : 1;
}

void scale(api::ResourceList& list, double ratio) {
  for (auto& [name, amount] : list) {
    if (name == model::kCpu) {
      amount = Quantity::ofMilli(
          static_cast<std::int64_t>(static_cast<double>(amount.milliValue()) * ratio));
    } else {
      amount = Quantity::of(
          static_cast<std::int64_t>(static_cast<double>(amount.value()) * ratio),
          name == model::kMemory ? Quantity::Format::BinarySI : Quantity::Format::DecimalSI);
    }
  }
}

std::vector<std::string> resourceKeys(const api::ElasticQuotaProfile& profile) {
  const std::vector<std::string> usual{std::string(model::kCpu), std::string(model::kMemory)};
  const auto* text = api::findIn(profile.metadata.annotations, kAnnotationQuotaResourceKeys);
  if (!text) return usual;
  const auto document = parseJson(*text);
  const auto* list = document ? document->if_array() : nullptr;
  if (!list || !std::ranges::all_of(*list, [](const auto& key) { return key.is_string(); }))
    return usual;
  std::vector<std::string> keys;
  for (const auto& key : *list) keys.emplace_back(key.get_string());
  return keys;
}

}  // namespace

Result<NodeSums> sumNodes(const api::ElasticQuotaProfile& profile,
                          const std::vector<std::shared_ptr<const api::Node>>& nodes) {
  NodeSums sums;
  // Without a selector the profile matches no node.
  if (!profile.spec.nodeSelector) return sums;
  const auto selector = api::Selector::compile(*profile.spec.nodeSelector);
  if (!selector) return fail(Error(selector.error()).within("spec.nodeSelector"));
  for (const auto& node : nodes) {
    if (!selector->matches(node->metadata.labels)) continue;
    model::addTo(sums.total, node->status.allocatable);
    if (!schedulable(*node)) model::addTo(sums.unschedulable, node->status.allocatable);
  }
  if (!profile.spec.resourceRatio) return sums;
  const double ratio = ratioOf(profile);
  scale(sums.total, ratio);
  scale(sums.unschedulable, ratio);
  return sums;
}

std::string treeIdOf(std::string_view namespace_, std::string_view name) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : fmt::format("{}/{}", namespace_, name)) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return std::to_string(hash);
}

void describeQuota(const api::ElasticQuotaProfile& profile, const NodeSums& sums,
                   std::string_view tree, api::ElasticQuota& quota) {
  quota.spec = {};
  for (const auto& key : resourceKeys(profile)) {
    quota.spec.min[key] = model::amountOf(sums.total, key);
    quota.spec.max[key] = Quantity::of(kNoMax);
  }
  api::StringMap& labels = quota.metadata.labels;
  labels[std::string(kLabelQuotaProfile)] = profile.metadata.name;
  for (const auto& [key, value] : profile.spec.quotaLabels) labels[key] = value;
  labels[std::string(model::kLabelQuotaTree)] = tree;
  labels[std::string(model::kLabelQuotaIsRoot)] = "true";
  api::StringMap& annotations = quota.metadata.annotations;
  annotations[std::string(model::kAnnotationQuotaTotal)] = toJson(api::encode(sums.total));
  annotations[std::string(model::kAnnotationQuotaUnschedulable)] =
      toJson(api::encode(sums.unschedulable));
}

bool nodeCountsDifferently(const api::Node& before, const api::Node& after) {
  return before.metadata.labels != after.metadata.labels ||
         before.status.allocatable != after.status.allocatable ||
         schedulable(before) != schedulable(after);
}

}  // namespace koord::manager
