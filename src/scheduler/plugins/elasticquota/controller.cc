#include "scheduler/plugins/elasticquota/controller.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "kube/client.h"
#include "kube/events.h"
#include "model/well_known.h"
#include "scheduler/framework/observer.h"
#include "scheduler/plugins/elasticquota/revoke.h"
#include "scheduler/plugins/elasticquota/summary.h"

namespace koord::scheduler {

namespace {

constexpr Duration kPeriod = std::chrono::seconds(1);
constexpr Duration kShortest = std::chrono::milliseconds(100);
constexpr int kRoundsPerRecount = 60;
constexpr int kRoundsPerCreation = 10;  // for quotas that do not exist
constexpr std::size_t kQuotasPerCheck = 16;
constexpr std::size_t kWriters = 8;
constexpr std::array kBuiltIn{model::kRootQuota, model::kSystemQuota, model::kDefaultQuota};

}  // namespace

Task<void> QuotaController::run() {
  TaskGroup revoking;  // ends with this task
  if (args_.monitorAllQuotas && args_.enableRuntimeQuota) revoking.spawn(revokeLoop());
  for (;;) {
    if (handle_.api() && rounds_ % kRoundsPerCreation == 0) {
      auto creating = createBuiltIn();
      co_await creating;
    }
    quotas_.ignoreOverdue();
    quotas_.refreshAll();
    if (handle_.api()) writeStatuses();
    reportProblems();
    check();
    auto pause = sleepFor(handle_.executor(), kPeriod);
    co_await pause;
  }
}

// --- The built-in quotas.

Task<void> QuotaController::createBuiltIn() {
  for (const std::string_view name : kBuiltIn) {
    if (quotas_.object(name) || creating_.contains(std::string(name))) continue;
    api::ElasticQuota quota;
    quota.metadata.name = name;
    quota.metadata.namespace_ = args_.quotaGroupNamespace;
    if (name == model::kRootQuota) {
      quota.metadata.labels[std::string(model::kLabelQuotaIsParent)] = "true";
      quota.metadata.labels[std::string(model::kLabelQuotaLends)] = "false";
      quota.metadata.labels[std::string(model::kLabelQuotaParent)] = "";
    } else {
      quota.spec.max =
          name == model::kSystemQuota ? args_.systemQuotaGroupMax : args_.defaultQuotaGroupMax;
    }
    auto creating = create(std::string(name), std::move(quota));
    co_await creating;
  }
}

Task<void> QuotaController::create(std::string name, api::ElasticQuota quota) {
  creating_.insert(name);
  auto call = kube::create(*handle_.api(), quota);
  const Result<api::ElasticQuota> made = co_await call;
  creating_.erase(name);
  if (made) {
    log::info("quota {} was created", name);
  } else if (made.error().code != ErrorCode::AlreadyExists) {
    log::v(2, "quota {} cannot be created: {}", name, made.error().message);
  }
}

// --- Status.

void QuotaController::writeStatuses() {
  if (writers_.size() > 0) return;  // the last ones are still being written
  const auto consider = [&](const std::string& name, const Place& place) {
    const auto object = quotas_.object(name);
    if (!object) return;
    const std::uint64_t stamp = place.quotas().stamp(place.quota);
    Written& written = written_[name];
    if (written.stamp == stamp && written.resourceVersion == object->metadata.resourceVersion)
      return;
    written = {stamp, object->metadata.resourceVersion};
    json::value patch = statusPatch(*object, summaryOf(quotas_, place));
    if (!patch.is_null()) writes_.push_back({api::keyOf(object->metadata), std::move(patch)});
  };
  for (const auto& [id, tree] : quotas_.trees()) {
    tree->quotas().forEach(
        [&](quota::QuotaId quota) { consider(tree->quotas().name(quota), {tree.get(), quota}); });
  }
  consider(std::string(model::kRootQuota), quotas_.find(model::kRootQuota));
  std::erase_if(written_, [&](const auto& entry) { return !quotas_.object(entry.first); });
  for (std::size_t n = 0; n < std::min(kWriters, writes_.size()); ++n) writers_.spawn(writeSome());
}

Task<void> QuotaController::writeSome() {
  while (!writes_.empty()) {
    Write write = std::move(writes_.back());
    writes_.pop_back();
    const SteadyTime since = handle_.executor().steadyNow();
    const std::string name = write.key.name;
    auto call = kube::mergePatch(*handle_.api(), api::ElasticQuota::kType, write.key,
                                 std::move(write.patch));
    const Result<json::value> reply = co_await call;
    quotas_.latencies().statusWritten(handle_.executor().steadyNow() - since);
    if (reply || reply.error().code == ErrorCode::NotFound) continue;
    log::warn("the status of quota {} was not written: {}", name, reply.error().message);
    written_.erase(name);  // and is tried again
  }
}

// --- Problems.

void QuotaController::reportProblems() {
  kube::EventRecorder* events = handle_.events();
  if (!events) return;
  for (const auto& note : quotas_.takeNotes())
    events->record(kube::referenceTo(api::ElasticQuota::kType, note.about->metadata), "Warning",
                   note.reason, note.text, "Counting");
  std::erase_if(reported_, [&](const auto& entry) { return !quotas_.object(entry.first); });
  quotas_.forEachObject([&](const std::string& name, const api::ElasticQuota& object) {
    std::vector<std::string> problems = quotas_.problemsOf(name);
    if (problems.empty()) {
      reported_.erase(name);
      return;
    }
    std::vector<std::string>& reported = reported_[name];
    for (const std::string& problem : problems) {
      if (std::ranges::find(reported, problem) != reported.end()) continue;
      log::warn("quota {}: {}", api::keyOf(object.metadata).toString(), problem);
      events->record(kube::referenceTo(api::ElasticQuota::kType, object.metadata), "Warning",
                     "InvalidElasticQuota", problem, "Counting");
    }
    reported = std::move(problems);
  });
}

// Recomputes sums, some in every round; a difference is a defect of this program.
void QuotaController::check() {
  std::string difference = quotas_.verifySome(kQuotasPerCheck);
  if (++rounds_ % kRoundsPerRecount == 0) difference += quotas_.verifyRequests();
  if (difference.empty()) return;
  log::error("quotas differ from their pods and children: {}", difference);
  if (Observer* observer = handle_.observer()) observer->drifted("quotas");
}

// --- Quotas that use more than they are entitled to.

Task<void> QuotaController::revokeLoop() {
  for (;;) {
    auto pause = sleepFor(handle_.executor(), std::max(args_.revokePodInterval, kShortest));
    co_await pause;
    for (PodPtr& pod : overUsers()) evictions_.spawn(evict(std::move(pod)));
  }
}

std::vector<PodPtr> QuotaController::overUsers() {
  quotas_.refreshAll();
  const SteadyTime now = handle_.executor().steadyNow();
  std::vector<PodPtr> leaving;
  std::set<std::string> seen;
  for (const auto& [id, tree] : quotas_.trees()) {
    const quota::QuotaTree& quotas = tree->quotas();
    quotas.forEach([&](quota::QuotaId quota) {
      const std::string& name = quotas.name(quota);
      const Place place{tree.get(), quota};
      if (name == model::kSystemQuota) return;
      seen.insert(name);
      const auto since = within_.try_emplace(name, now).first;
      if (!isOverUsed(place)) {
        since->second = now;
        return;
      }
      if (now - since->second <= args_.delayEvictTime) return;
      since->second = now;
      for (PodPtr& pod :
           toRevoke(quotas_, place, quotas_.podsOf(place), handle_.executor().wallNow())) {
        log::info("pod {} is evicted: quota {} uses more than its runtime", pod->key(), name);
        if (evicting_.insert(pod->uid()).second) leaving.push_back(std::move(pod));
      }
    });
  }
  std::erase_if(within_, [&](const auto& entry) { return !seen.contains(entry.first); });
  return leaving;
}

Task<void> QuotaController::evict(PodPtr pod) {
  if (handle_.api() && !pod->kind) {
    const api::ObjectKey key = api::keyOf(pod->pod->metadata);
    auto call = kube::evictPod(*handle_.api(), key, {.uid = pod->uid()});
    const Result<> evicted = co_await call;
    if (evicted) {
      ++revoked_;
    } else {
      log::warn("pod {} cannot be evicted from its quota now: {}", pod->key(),
                evicted.error().message);
    }
  }
  evicting_.erase(pod->uid());
}

}  // namespace koord::scheduler
