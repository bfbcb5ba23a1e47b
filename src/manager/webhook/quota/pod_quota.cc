#include "manager/webhook/quota/pod_quota.h"

#include <fmt/format.h>

#include <map>

#include "api/codec.h"
#include "manager/webhook/quota/tree_affinity.h"
#include "model/pod_requests.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

std::string labelOf(const api::Pod& pod, std::string_view key) {
  const auto* text = api::findIn(pod.metadata.labels, key);
  return text ? *text : std::string();
}

// The requests as the scheduler sees them: an annotation may replace them.
api::ResourceList requestsToCharge(const api::Pod& pod, bool replaced) {
  if (replaced)
    if (const auto* text =
            api::findIn(pod.metadata.annotations, model::kAnnotationReplaceResources))
      if (auto list = api::decodeText<api::ResourceList>(*text, api::Reading::Go))
        return *std::move(list);
  return model::podRequests(pod);
}

}  // namespace

PodQuota::PodQuota(kube::Api& api, Executor& executor, Random random, const QuotaLedger& book,
                   Options options)
    : ledger_(book),
      options_(options),
      profiles_(api, executor, {}, random.fork()),
      evaluator_(api, executor, random.fork(), options.evaluator) {}

void PodQuota::start() {
  if (options_.trees) profiles_.start();
}

void PodQuota::requireNodesOfTree(const std::string& namespace_, json::value& pod) const {
  if (!options_.trees) return;
  const std::string_view label = textAt(pod, "metadata", "labels", model::kLabelQuotaName);
  const QuotaInfo* quota = ledger_.stored().find(label.empty() ? namespace_ : label);
  if (!quota) quota = ledger_.stored().ofNamespace(namespace_);
  if (!quota || quota->tree.empty()) return;
  std::map<std::string, api::LabelSelector> selectors;  // by profile, for a stable order
  for (const auto& profile : profiles_.objects()) {
    const auto* tree = api::findIn(profile->metadata.labels, model::kLabelQuotaTree);
    if (tree && *tree == quota->tree && profile->spec.nodeSelector)
      selectors[api::keyOf(profile->metadata).toString()] = *profile->spec.nodeSelector;
  }
  std::vector<api::LabelSelector> ordered;
  for (auto& [name, selector] : selectors) ordered.push_back(std::move(selector));
  requireNodes(ordered, pod);
}

std::string PodQuota::quotaOf(const api::Pod& pod) const {
  std::string name = labelOf(pod, model::kLabelQuotaName);
  if (!name.empty() || options_.noDefaultQuota) return name;
  const std::string& ns = pod.metadata.namespace_;
  if (ledger_.stored().find(ns, ns)) return ns;
  if (const QuotaInfo* quota = ledger_.stored().ofNamespace(ns)) return quota->name;
  return std::string(model::kDefaultQuota);
}

std::optional<std::string> PodQuota::check(const api::Pod& pod, const api::Pod* old) const {
  if (old && labelOf(*old, model::kLabelPreemptible) != labelOf(pod, model::kLabelPreemptible))
    return "Preemptible label is forbidden modify now.";
  if (options_.parentsHavePods) return std::nullopt;
  const std::string name = quotaOf(pod);
  if (name == model::kDefaultQuota) return std::nullopt;
  const QuotaInfo* quota = ledger_.stored().find(name);
  if (!quota || !quota->isParent) return std::nullopt;
  return fmt::format("pod can not be linked to a parentQuotaGroup,quota:{}, pod:{}", name,
                     pod.metadata.name);
}

Task<Result<>> PodQuota::evaluate(const api::Pod& pod, const api::Pod* old, bool dryRun) {
  if (!options_.evaluate || (old && !options_.evaluateUpdates)) co_return Result<>();
  const std::string name = quotaOf(pod);
  if (old && quotaOf(*old) == name) co_return Result<>();
  if (name.empty() || name == model::kDefaultQuota || name == model::kSystemQuota ||
      name == model::kRootQuota)
    co_return Result<>();
  const QuotaInfo* info = ledger_.stored().find(name);
  if (!info) co_return fail(ErrorCode::Invalid, fmt::format("elastic quota {} not found", name));
  if (ledger_.stored().holders(name).size() > 1)
    co_return fail(ErrorCode::Invalid, fmt::format("more than one elastic quota {} found", name));
  api::ResourceList request;
  if (pod.status.phase != "Failed" && pod.status.phase != "Succeeded")
    request = requestsToCharge(pod, options_.replaceResources);
  auto task = evaluator_.evaluate({info->namespace_, name}, std::move(request), dryRun);
  const Result<> charged = co_await task;
  co_return charged;
}

}  // namespace koord::manager
