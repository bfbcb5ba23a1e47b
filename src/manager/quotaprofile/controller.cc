#include "manager/quotaprofile/controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/patch/merge_patch.h"
#include "base/log.h"
#include "kube/client.h"
#include "manager/quotaprofile/quota_of_nodes.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

using namespace std::chrono_literals;

constexpr Duration kNodesDelay = 1s;
constexpr Duration kRetry = 2s;

// The part of a quota that the controller writes.
json::value writtenPart(const api::ElasticQuota& quota) {
  const json::value metadata = api::encode(quota.metadata);
  json::object written;
  for (const char* part : {"labels", "annotations", "ownerReferences"})
    if (const json::value* there = find(metadata, part)) written.emplace(part, *there);
  return json::object{{"metadata", std::move(written)},
                      {"spec", json::object{{"min", api::encode(quota.spec.min)},
                                            {"max", api::encode(quota.spec.max)}}}};
}

void own(const api::ElasticQuotaProfile& profile, api::ElasticQuota& quota) {
  auto& owners = quota.metadata.ownerReferences;
  if (std::ranges::find(owners, profile.metadata.uid, &api::OwnerReference::uid) != owners.end())
    return;
  const auto& type = api::ElasticQuotaProfile::kType;
  api::OwnerReference owner;
  owner.apiVersion = api::apiVersionOf(type);
  owner.kind = type.kind;
  owner.name = profile.metadata.name;
  owner.uid = profile.metadata.uid;
  owners.push_back(std::move(owner));
}

}  // namespace

QuotaProfileController::QuotaProfileController(kube::Api& api, Executor& executor,
                                               kube::Informer<api::Node>& nodes,
                                               kube::EventRecorder& events, Metrics& metrics,
                                               Random random, bool profilesOwnQuotas)
    : api_(api),
      executor_(executor),
      nodes_(nodes),
      events_(events),
      profilesOwnQuotas_(profilesOwnQuotas),
      profiles_(api, executor, {}, random.fork()),
      quotas_(api, executor, {}, random.fork()),
      queue_(
          executor, "quotaprofile", [this](std::string key) { return reconcile(std::move(key)); },
          metrics.client()) {
  const auto add = [this](const auto& profile) {
    queue_.add(api::keyOf(profile->metadata).toString());
  };
  profiles_.addHandler({add, [add](const auto&, const auto& profile) { add(profile); }, nullptr});
  quotas_.addHandler({[this](const auto& quota) { quotaChanged(*quota); },
                      [this](const auto&, const auto& quota) { quotaChanged(*quota); },
                      [this](const auto& quota) { quotaChanged(*quota); }});
  nodes_.addHandler({[this](const auto&) { nodesChanged(); },
                     [this](const auto& before, const auto& after) {
                       if (nodeCountsDifferently(*before, *after)) nodesChanged();
                     },
                     [this](const auto&) { nodesChanged(); }});
  nodes_.onSynced([this] { startWhenSynced(); });
  profiles_.onSynced([this] { startWhenSynced(); });
  quotas_.onSynced([this] { startWhenSynced(); });
}

QuotaProfileController::~QuotaProfileController() {
  executor_.cancel(nodesTimer_);
}

void QuotaProfileController::start() {
  profiles_.start();
  quotas_.start();
}

void QuotaProfileController::startWhenSynced() {
  if (nodes_.synced() && profiles_.synced() && quotas_.synced()) queue_.start();
}

void QuotaProfileController::enqueueAll() {
  for (const auto& profile : profiles_.objects())
    queue_.add(api::keyOf(profile->metadata).toString());
}

void QuotaProfileController::nodesChanged() {
  if (nodesTimer_ != 0) return;
  nodesTimer_ = executor_.runAfter(kNodesDelay, [this] {
    nodesTimer_ = 0;
    enqueueAll();
  });
}

void QuotaProfileController::quotaChanged(const api::ElasticQuota& quota) {
  for (const auto& profile : profiles_.objects())
    if (profile->spec.quotaName == quota.metadata.name &&
        profile->metadata.namespace_ == quota.metadata.namespace_)
      queue_.add(api::keyOf(profile->metadata).toString());
}

Task<Result<>> QuotaProfileController::reconcile(std::string key) {
  const auto slash = key.find('/');
  const auto profile = profiles_.get({key.substr(0, slash), key.substr(slash + 1)});
  if (!profile) co_return Result<>();
  const auto* label = api::findIn(profile->metadata.labels, model::kLabelQuotaTree);
  std::string tree = label ? *label : "";
  if (tree.empty()) {
    tree = treeIdOf(profile->metadata.namespace_, profile->metadata.name);
    auto marking = ensureTree(*profile, tree);
    if (Result<> marked = co_await marking; !marked) co_return marked;
  }
  auto writing = writeQuota(*profile, std::move(tree));
  const Result<> written = co_await writing;
  co_return written;
}

Task<Result<>> QuotaProfileController::ensureTree(const api::ElasticQuotaProfile& profile,
                                                  std::string tree) {
  json::object labels;
  labels[model::kLabelQuotaTree] = tree;
  json::value patch = json::object{{"metadata", json::object{{"labels", std::move(labels)}}}};
  auto task = kube::patchOnly(api_, api::ElasticQuotaProfile::kType, api::keyOf(profile.metadata),
                              kube::PatchType::Merge, std::move(patch));
  const Result<> written = co_await task;
  co_return written;
}

Task<Result<>> QuotaProfileController::writeQuota(const api::ElasticQuotaProfile& profile,
                                                  std::string tree) {
  const auto sums = sumNodes(profile, {nodes_.objects().begin(), nodes_.objects().end()});
  if (!sums) co_return fail(sums.error());
  const std::string key = api::keyOf(profile.metadata).toString();
  const api::ObjectReference about =
      kube::referenceTo(api::ElasticQuotaProfile::kType, profile.metadata);
  const api::ObjectKey quotaKey{profile.metadata.namespace_, profile.spec.quotaName};
  const auto existing = quotas_.get(quotaKey);
  api::ElasticQuota quota = existing ? *existing : api::ElasticQuota();
  describeQuota(profile, *sums, tree, quota);
  if (profilesOwnQuotas_) own(profile, quota);
  Result<> written;
  if (!existing) {
    quota.metadata.namespace_ = quotaKey.namespace_;
    quota.metadata.name = quotaKey.name;
    auto looking = kube::get<api::ElasticQuota>(api_, quotaKey);
    const auto there = co_await looking;
    // Created a moment ago: its event delivers it, and then its fields are compared.
    if (there) co_return Result<>();
    auto task = kube::create(api_, quota);
    const auto created = co_await task;
    if (!created) written = fail(created.error());
  } else {
    const auto patch = api::createMergePatch(writtenPart(*existing), writtenPart(quota));
    if (!patch || patch->get_object().empty()) co_return Result<>();
    auto task =
        kube::patchOnly(api_, api::ElasticQuota::kType, quotaKey, kube::PatchType::Merge, *patch);
    written = co_await task;
  }
  if (written) co_return written;
  events_.record(about, "Warning", existing ? "UpdateQuotaFailed" : "CreateQuotaFailed",
                 fmt::format("failed to {} quota, err: {}", existing ? "update" : "create",
                             written.error().message));
  log::warn("quota of profile {}: {}", key, written.error().message);
  queue_.addAfter(key, kRetry);
  co_return Result<>();
}

}  // namespace koord::manager
