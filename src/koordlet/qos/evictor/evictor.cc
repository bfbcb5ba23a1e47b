#include "koordlet/qos/evictor/evictor.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "base/time.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr Duration kEvictedMemory = 2min;
constexpr Duration kKilledMemory = 10s;

// The words of upstream, which tools match.
std::string messageOf(const api::Pod& pod, const EvictionTask& task) {
  return fmt::format("trigger by koordlet feature {}, kill pod: {}", task.feature,
                     pod.metadata.name);
}

}  // namespace

ReleaseAccount::ReleaseAccount(const std::vector<EvictionTask>& tasks) {
  for (const auto& task : tasks)
    for (const auto& candidate : task.candidates)
      for (const auto& [resource, amount] : candidate.releases) {
        auto& most = contributions_[task.kind][candidate.pod->metadata.uid][resource];
        most = std::max(most, amount);
      }
}

bool ReleaseAccount::covers(const EvictionTask& task) const {
  const auto released = released_.find(task.kind);
  return std::ranges::all_of(task.toRelease, [&](const auto& wanted) {
    if (released == released_.end()) return wanted.second <= 0;
    const auto found = released->second.find(wanted.first);
    return wanted.second <= (found == released->second.end() ? 0 : found->second);
  });
}

void ReleaseAccount::release(const api::Pod& pod) {
  for (const auto& [kind, byPod] : contributions_) {
    const auto found = byPod.find(pod.metadata.uid);
    if (found == byPod.end()) continue;
    for (const auto& [resource, amount] : found->second) released_[kind][resource] += amount;
  }
}

bool allowsEviction(const api::Pod& pod, std::string_view feature) {
  const auto* text = api::findIn(pod.metadata.annotations, model::kAnnotationEvictionPolicy);
  if (!text) return true;
  const auto document = parseJson(*text);
  if (!document || !document->is_array()) return false;
  for (const auto& item : document->get_array())
    if (item.is_string() && std::string_view(item.get_string()) == feature) return true;
  return false;
}

Evictor::Evictor(kube::Api& api, Executor& executor, kube::EventRecorder& events, AuditRing& audit,
                 Metrics& metrics, ContainerRuntime* runtime)
    : api_(api),
      executor_(executor),
      events_(events),
      audit_(audit),
      metrics_(metrics),
      runtime_(runtime) {}

Task<std::vector<std::string>> Evictor::runningContainers(std::shared_ptr<const api::Pod> pod) {
  std::vector<std::string> ids;
  for (const auto& status : pod->status.containerStatuses)
    if (status.state.running && !status.containerID.empty()) ids.push_back(status.containerID);
  if (ids.size() >= pod->spec.containers.size()) co_return ids;
  auto listing = runtime_->list();
  const auto containers = co_await listing;
  if (!containers) {
    log::warn("containers of pod {} not known: {}", pod->metadata.name, containers.error().message);
    co_return ids;
  }
  for (const auto& container : *containers) {
    if (container.podUid != pod->metadata.uid || !container.running) continue;
    std::string id = fmt::format("{}://{}", container.scheme, container.id);
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(std::move(id));
  }
  co_return ids;
}

Task<Result<>> Evictor::kill(std::shared_ptr<const api::Pod> pod) {
  int killed = 0;
  Error problem{ErrorCode::NotFound, "no container of it runs", {}};
  auto looking = runningContainers(pod);
  const auto ids = co_await looking;
  for (const auto& id : ids) {
    auto stopping = runtime_->stop(id, Duration::zero());
    auto stopped = co_await stopping;
    if (stopped) {
      ++killed;
    } else {
      problem = std::move(stopped.error());
      log::warn("container {} of pod {} not killed: {}", id, pod->metadata.name, problem.message);
    }
  }
  if (killed > 0) co_return Result<>{};
  co_return fail(std::move(problem));
}

void Evictor::reportAttempt(const api::Pod& pod, const EvictionTask& task, const Result<>& outcome,
                            bool killed) {
  const api::ObjectKey key = api::keyOf(pod.metadata);
  const std::string message = fmt::format("evict Pod:{}, reason: evicted, message: {}",
                                          key.toString(), messageOf(pod, task));
  const auto about = kube::referenceTo(api::Pod::kType, pod.metadata);
  if (outcome) {
    log::info("evict pod {} success, reason: evicted ({}), {}: {}", key.toString(),
              killed ? "containers stopped" : "Eviction", task.feature, task.why);
    events_.record(about, "Warning", "evictPodSuccess", message);
    metrics_.podEvicted("evicted", key.namespace_, key.name);
    remembered_[pod.metadata.uid] =
        executor_.steadyNow() + (killed ? kKilledMemory : kEvictedMemory);
  } else {
    log::warn("evict pod {} failed, reason: evicted, error: {}", key.toString(),
              outcome.error().message);
    events_.record(about, "Warning", "evictPodFail",
                   message + ", error " + outcome.error().message);
    metrics_.podEvictionFailed(std::string(reasonOf(outcome.error().code)));
  }
}

Task<Result<>> Evictor::evictOne(std::shared_ptr<const api::Pod> pod, const EvictionTask& task) {
  const api::ObjectKey key = api::keyOf(pod->metadata);
  audit_.add({executor_.wallNow(), key.toString(), "pod", pod->status.phase.str(),
              runtime_ ? "killed" : "evicted",
              fmt::format("{}; {}", messageOf(*pod, task), task.why)});
  if (runtime_) {
    auto killing = kill(pod);
    auto killed = co_await killing;
    if (killed) {
      reportAttempt(*pod, task, killed, true);
      co_return killed;
    }
    log::warn("pod {} cannot be killed, it is evicted instead: {}", key.toString(),
              killed.error().message);
  }
  kube::DeleteOptions options;
  options.uid = pod->metadata.uid;
  auto evicting = kube::evictPod(api_, key, options);
  auto evicted = co_await evicting;
  reportAttempt(*pod, task, evicted, false);
  co_return evicted;
}

Task<EvictionResult> Evictor::evict(std::vector<EvictionTask> tasks) {
  EvictionResult result;
  const SteadyTime now = executor_.steadyNow();
  std::erase_if(remembered_, [&](const auto& entry) { return now >= entry.second; });
  ReleaseAccount account(tasks);
  std::set<std::string> handled;  // uids
  for (const auto& task : tasks) {
    for (const auto& candidate : task.candidates) {
      if (account.covers(task)) break;
      const api::Pod& pod = *candidate.pod;
      if (!handled.insert(pod.metadata.uid).second) continue;
      if (!remembered_.contains(pod.metadata.uid)) {
        auto evicting = evictOne(candidate.pod, task);
        auto evicted = co_await evicting;
        const std::string name = api::keyOf(pod.metadata).toString();
        if (!evicted) {
          result.refused.push_back(fmt::format("{}: {}", name, evicted.error().message));
          continue;
        }
        result.evicted.push_back(name);
      }
      account.release(pod);
    }
  }
  co_return result;
}

void EvictionResult::reportInto(WallTime now, std::string& lastEviction,
                                std::string& reason) const {
  if (!evicted.empty()) {
    const std::string pods = fmt::format("{}", fmt::join(evicted, ", "));
    lastEviction = fmt::format("{} {}", formatTime(now), pods);
    reason += "; evicted " + pods;
  }
  if (!refused.empty()) reason += fmt::format("; refused: {}", fmt::join(refused, "; "));
}

}  // namespace koord::koordlet
