#include "manager/webhook/quota/quota_webhook.h"

#include <fmt/format.h>

#include "api/codec.h"
#include "api/pod.h"
#include "base/log.h"
#include "kube/client.h"
#include "manager/common/names.h"
#include "manager/webhook/json_diff.h"
#include "manager/webhook/pod_edit.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

bool isQuota(const api::AdmissionRequest& request) {
  return request.resource.resource == api::ElasticQuota::kType.plural &&
         request.subResource.empty();
}

std::string quotaText(const api::StringMap& map, std::string_view key) {
  const auto* text = api::findIn(map, key);
  return text ? *text : std::string();
}

Verdict verdictOf(const Result<>& result) {
  if (result) return allow();
  const bool refused =
      result.error().code == ErrorCode::Invalid || result.error().code == ErrorCode::BadRequest;
  return refuse(refused ? 400 : 500, result.error().message);
}

}  // namespace

Result<std::string> sharedWeightOf(const api::ElasticQuota& quota) {
  const std::string text = quotaText(quota.metadata.annotations, model::kAnnotationSharedWeight);
  if (text.empty()) return toJson(api::encode(quota.spec.max));
  const auto given = api::decodeText<api::ResourceList>(text, api::Reading::Go);
  if (!given)
    return fail(ErrorCode::Invalid,
                "fillDefaultQuotaInfo unmarshal sharedWeight failed:" + given.error().message);
  api::ResourceList weight = quota.spec.max;
  bool same = given->size() == weight.size();
  for (auto& [name, amount] : weight) {
    const auto own = given->find(name);
    same = same && own != given->end();
    if (own != given->end()) amount = own->second;
  }
  return same ? text : toJson(api::encode(weight));
}

Task<Result<std::vector<std::string>>> QuotaWebhook::podsOf(std::string quota) {
  // A quota's name may be longer than a label's value may be. Then no pod can have the label, and
  // the API server refuses the selector.
  if (quota.size() > kLongestLabelValue) co_return std::vector<std::string>();
  auto task =
      kube::list<api::Pod>(api_, "", fmt::format("{}={}", model::kLabelQuotaName, quota), "");
  const auto pods = co_await task;
  if (!pods)
    co_return fail(ErrorCode::Unavailable, fmt::format("failed list pods for quota {}, err: {}",
                                                       quota, pods.error().message));
  std::vector<std::string> names;
  for (const auto& pod : pods->items) names.push_back(pod.metadata.name);
  co_return names;
}

Task<Result<bool>> QuotaWebhook::hasBoundPods(QuotaInfo quota) {
  auto labelled = podsOf(quota.name);
  const auto pods = co_await labelled;
  if (!pods) co_return fail(pods.error());
  if (!pods->empty()) co_return true;
  std::vector<std::string> namespaces = quota.namespaces;
  namespaces.push_back(quota.name);
  for (const auto& ns : namespaces) {
    auto task = kube::list<api::Pod>(api_, ns);
    const auto inside = co_await task;
    if (!inside) co_return fail(Error(inside.error()).within("pods of namespace " + ns));
    if (!inside->items.empty()) co_return true;
  }
  co_return false;
}

Task<Result<>> QuotaWebhook::fill(json::value& object) {
  const auto quota = api::decode<api::ElasticQuota>(object);
  if (!quota) co_return fail(quota.error());
  const std::string& name = quota->metadata.name;
  if (name == model::kRootQuota) co_return Result<>();
  const api::StringMap& labels = quota->metadata.labels;
  const std::string parent = quotaText(labels, model::kLabelQuotaParent);
  const auto weight = sharedWeightOf(*quota);
  if (parent.empty()) {
    labelsOf(object)[model::kLabelQuotaParent] = textValue(model::kRootQuota);
  } else if (parent != model::kRootQuota && quotaText(labels, model::kLabelQuotaTree).empty()) {
    auto finding = ledger_.find(parent);
    const auto above = co_await finding;
    if (!above) co_return fail(above.error());
    if (!*above)
      co_return fail(ErrorCode::Invalid,
                     fmt::format("fill quota {} failed, parent not exist", name));
    if (!(*above)->tree.empty())
      labelsOf(object)[model::kLabelQuotaTree] = textValue((*above)->tree);
  }
  if (!weight) co_return fail(weight.error());
  annotationsOf(object)[model::kAnnotationSharedWeight] = textValue(*weight);
  for (const auto& [resource, amount] : quota->spec.max)
    metrics_.setQuotaSharedWeight(name, resource, amount.toDouble());
  co_return Result<>();
}

Task<Verdict> QuotaWebhook::mutate(api::AdmissionRequest request) {
  if (!isQuota(request) || request.operation != "CREATE") co_return allow();
  const SteadyTime began = executor_.steadyNow();
  json::value object = request.object;
  if (!object.is_object()) co_return refuse(400, "request.object: is not an ElasticQuota");
  auto filling = fill(object);
  const Result<> filled = co_await filling;
  metrics_.webhookRan("mutate", "ElasticQuota", request.operation, "QuotaMetaChecker",
                      filled.has_value(), executor_.steadyNow() - began);
  Verdict verdict = verdictOf(filled);
  if (filled) verdict.patch = createJsonPatch(request.object, object);
  co_return verdict;
}

Task<Result<>> QuotaWebhook::checkUpdate(const api::AdmissionRequest& request,
                                         const api::ElasticQuota& quota) {
  const auto old = api::decode<api::ElasticQuota>(request.oldObject);
  if (!old)
    co_return fail(ErrorCode::BadRequest,
                   "failed to get quota from old object, err:" + old.error().message);
  if (sameQuota(*old, quota)) co_return Result<>();
  bool hasPods = false;
  const QuotaInfo before = quotaInfoOf(*old);
  if (!before.isParent && quotaInfoOf(quota).isParent) {
    auto looking = hasBoundPods(before);
    const auto found = co_await looking;
    if (!found) co_return fail(found.error());
    hasPods = *found;
  }
  QuotaLedger::Check rules = [this, quota, hasPods](const QuotaTopology& topology) {
    return topology.checkUpdate(quota, rules_, hasPods);
  };
  auto admitting = ledger_.admit({quotaInfoOf(quota), false}, std::move(rules), request.dryRun);
  const Result<> admitted = co_await admitting;
  co_return admitted;
}

Task<Result<>> QuotaWebhook::check(const api::AdmissionRequest& request) {
  const bool deleting = request.operation == "DELETE";
  const auto quota = api::decode<api::ElasticQuota>(deleting ? request.oldObject : request.object);
  if (!quota) co_return fail(ErrorCode::BadRequest, quota.error().message);
  if (request.operation == "UPDATE") {
    auto task = checkUpdate(request, *quota);
    const Result<> checked = co_await task;
    co_return checked;
  }
  std::vector<std::string> pods;
  if (deleting) {
    auto looking = podsOf(quota->metadata.name);
    auto found = co_await looking;
    if (!found) co_return fail(found.error());
    pods = *std::move(found);
  }
  QuotaLedger::Check rules = [this, quota = *quota, deleting, pods](const QuotaTopology& topology) {
    return deleting ? topology.checkDelete(quota.metadata.name, pods)
                    : topology.checkAdd(quota, rules_);
  };
  auto admitting = ledger_.admit({quotaInfoOf(*quota), deleting}, std::move(rules), request.dryRun);
  const Result<> admitted = co_await admitting;
  co_return admitted;
}

Task<Verdict> QuotaWebhook::validate(api::AdmissionRequest request) {
  const std::string& operation = request.operation;
  if (!isQuota(request) ||
      (operation != "CREATE" && operation != "UPDATE" && operation != "DELETE"))
    co_return allow();
  const SteadyTime began = executor_.steadyNow();
  auto checking = check(request);
  const Result<> checked = co_await checking;
  metrics_.webhookRan("validate", "ElasticQuota", operation, "QuotaMetaChecker",
                      checked.has_value(), executor_.steadyNow() - began);
  co_return verdictOf(checked);
}

}  // namespace koord::manager
