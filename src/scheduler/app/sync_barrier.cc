#include "scheduler/app/sync_barrier.h"

#include <boost/json/object.hpp>

#include "api/core.h"
#include "base/json.h"
#include "base/log.h"
#include "base/time.h"
#include "kube/client.h"

namespace koord::scheduler {

using namespace std::chrono_literals;

bool versionReached(const std::string& current, const std::string& target) {
  return current.size() != target.size() ? current.size() > target.size() : current >= target;
}

SyncBarrier::SyncBarrier(kube::Api& api, Executor& executor, SyncBarrierOptions options,
                         std::string lease,
                         std::function<std::string(const api::ObjectKey&)> versionOf)
    : api_(api),
      executor_(executor),
      options_(std::move(options)),
      annotation_("scheduling.koordinator.sh/sync-barrier-" + lease),
      versionOf_(std::move(versionOf)) {}

Task<Result<std::string>> SyncBarrier::mark() {
  json::value patch = json::object{
      {"metadata",
       json::object{
           {"annotations", json::object{{annotation_, formatMicroTime(executor_.wallNow())}}}}}};
  auto patching = kube::mergePatch(api_, api::Pod::kType, options_.pod, std::move(patch));
  const Result<json::value> reply = co_await patching;
  if (!reply) co_return fail(reply.error());
  co_return std::string(textAt(*reply, "metadata", "resourceVersion"));
}

Task<void> SyncBarrier::pass() {
  const SteadyTime end = executor_.steadyNow() + options_.timeout;
  const std::string pod = options_.pod.toString();
  std::string target;
  for (; executor_.steadyNow() < end;) {
    if (target.empty()) {
      auto marking = mark();
      Result<std::string> version = co_await marking;
      if (version) {
        target = *std::move(version);
      } else if (version.error().code == ErrorCode::NotFound) {
        log::warn("sync barrier: pod {} does not exist; scheduling begins with the current caches",
                  pod);
        co_return;
      } else {
        log::v(3, "sync barrier: pod {}: {}; retrying", pod, version.error().message);
      }
    }
    const std::string seen = target.empty() ? std::string() : versionOf_(options_.pod);
    if (!target.empty() && seen.empty()) {
      log::warn(
          "sync barrier: pod {} is not among the watched pods (it has ended or was deleted); "
          "scheduling begins with the current caches",
          pod);
      co_return;
    }
    if (!target.empty() && versionReached(seen, target)) {
      log::info("sync barrier: the caches have version {}", target);
      co_return;
    }
    auto pause = sleepFor(executor_, 100ms);
    co_await pause;
  }
  log::warn(
      "sync barrier: version {} of pod {} did not arrive within {}; scheduling begins without it",
      target, pod, formatDuration(options_.timeout));
}

}  // namespace koord::scheduler
