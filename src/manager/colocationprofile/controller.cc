#include "manager/colocationprofile/controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/patch/merge_patch.h"
#include "api/schema/builtin.h"
#include "api/selector.h"
#include "base/log.h"
#include "kube/client.h"
#include "manager/common/names.h"

namespace koord::manager {

namespace {

constexpr int kTries = 4;  // of a write with conflicts

}  // namespace

ColocationProfileController::ColocationProfileController(kube::Api& api, Executor& executor,
                                                         kube::Informer<api::Pod>& pods,
                                                         Metrics& metrics, Random random,
                                                         ColocationProfileOptions options)
    : api_(api),
      executor_(executor),
      pods_(pods),
      random_(random.fork()),
      options_(options),
      types_(api::builtinTypes()),
      limit_(options.qps, options.burst),
      profiles_(api, executor, {}, random.fork()),
      namespaces_(api, executor, {}, random.fork()),
      queue_(
          executor, "colocationprofile",
          [this](std::string name) { return reconcile(std::move(name)); }, metrics.client()) {
  const auto add = [this](const auto& profile) {
    if (manages(*profile)) queue_.add(profile->metadata.name);
  };
  profiles_.addHandler({add, [add](const auto&, const auto& profile) { add(profile); }, nullptr});
  pods_.onSynced([this] { startWhenSynced(); });
  profiles_.onSynced([this] { startWhenSynced(); });
  namespaces_.onSynced([this] { startWhenSynced(); });
}

void ColocationProfileController::start() {
  profiles_.start();
  namespaces_.start();
}

void ColocationProfileController::startWhenSynced() {
  if (pods_.synced() && profiles_.synced() && namespaces_.synced()) queue_.start();
}

bool ColocationProfileController::manages(const api::ClusterColocationProfile& profile) const {
  const auto* label = api::findIn(profile.metadata.labels, kLabelControllerManaged);
  return options_.reconcileByDefault || (label && *label == "true");
}

Result<std::vector<ColocationProfileController::PodPtr>> ColocationProfileController::podsOf(
    const api::ClusterColocationProfile& profile) const {
  std::vector<PodPtr> found;
  // Without a selector the profile matches no pod here, unlike in the webhook.
  if (!profile.spec.selector) return found;
  const auto selector = api::Selector::compile(*profile.spec.selector);
  if (!selector) return fail(Error(selector.error()).within("spec.selector"));
  const auto& ofNamespaces = profile.spec.namespaceSelector;
  const auto namespaces =
      api::Selector::compile(ofNamespaces ? *ofNamespaces : api::LabelSelector());
  if (!namespaces) return fail(Error(namespaces.error()).within("spec.namespaceSelector"));
  for (const auto& pod : pods_.objects()) {
    if (!pod->spec.nodeName.empty() || pod->status.phase != "Pending" ||
        pod->metadata.deletionTimestamp || !selector->matches(pod->metadata.labels))
      continue;
    if (ofNamespaces) {
      const auto ns = namespaces_.get({"", pod->metadata.namespace_});
      if (!ns || !namespaces->matches(ns->metadata.labels)) continue;
    }
    found.push_back(pod);
  }
  std::ranges::sort(found, {}, [](const PodPtr& pod) { return api::keyOf(pod->metadata); });
  return found;
}

void ColocationProfileController::forgetOld() {
  const SteadyTime now = executor_.steadyNow();
  if (now - cleaned_ < options_.expireCache) return;
  cleaned_ = now;
  std::erase_if(applied_, [now](const auto& entry) { return entry.second <= now; });
}

Task<Result<>> ColocationProfileController::reconcile(std::string name) {
  const auto profile = profiles_.get({"", name});
  if (!profile || !manages(*profile)) co_return Result<>();
  forgetOld();
  const auto pods = podsOf(*profile);
  if (!pods) co_return fail(pods.error());
  for (const auto& pod : *pods) {
    const std::string key =
        fmt::format("{}/{}", profile->metadata.resourceVersion, pod->metadata.uid);
    const SteadyTime now = executor_.steadyNow();
    const auto remembered = applied_.find(key);
    if (remembered != applied_.end() && remembered->second > now) continue;
    const auto mine = passesProbability(*profile, random_);
    if (!mine) co_return fail(mine.error());
    if (!*mine) continue;
    // Beyond the rate: the rest is for the next rounds.
    if (limit_.reserve(now) > Duration::zero()) break;
    auto applying = apply(*profile, pod);
    const Result<> applied = co_await applying;
    if (applied) {
      applied_[key] = now + options_.forceUpdate;
    } else {
      log::warn("profile {} is not applied to pod {}: {}", name,
                api::keyOf(pod->metadata).toString(), applied.error().message);
    }
  }
  queue_.addAfter(name, options_.interval);
  co_return Result<>();
}

Task<Result<>> ColocationProfileController::apply(const api::ClusterColocationProfile& profile,
                                                  PodPtr pod) {
  const api::ObjectKey key = api::keyOf(pod->metadata);
  const ProfileContext context{nullptr, *types_.find("Pod"), random_, ProfileTarget::ExistingPod};
  for (int left = kTries;; --left) {
    auto reading = kube::getObject(api_, api::Pod::kType, key);
    const auto before = co_await reading;
    if (!before) co_return fail(before.error());
    if (textAt(*before, "metadata", "uid") != pod->metadata.uid ||
        !textAt(*before, "spec", "nodeName").empty())
      co_return Result<>();
    json::value after = *before;
    if (auto changed = applyProfile(profile.spec, context, after); !changed) co_return changed;
    auto patch = api::createMergePatch(*before, after);
    if (!patch || patch->get_object().empty()) co_return Result<>();
    json::value& meta = patch->get_object()["metadata"];
    if (!meta.is_object()) meta.emplace_object();
    meta.get_object()["resourceVersion"] = *at(*before, "metadata", "resourceVersion");
    auto writing =
        kube::patchOnly(api_, api::Pod::kType, key, kube::PatchType::Merge, *std::move(patch));
    const Result<> written = co_await writing;
    if (written || written.error().code != ErrorCode::Conflict || left == 0) co_return written;
  }
}

}  // namespace koord::manager
