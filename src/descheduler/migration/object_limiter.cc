#include "descheduler/migration/object_limiter.h"

#include <algorithm>
#include <cmath>

namespace koord::descheduler {

namespace {

constexpr const char* kWorkload = "workload";
constexpr const char* kNamespace = "namespace";
constexpr const char* kCluster = "cluster";

double secondsOf(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void ObjectLimiter::refill(Bucket& bucket, SteadyTime now) {
  if (now <= bucket.at) return;
  bucket.tokens = std::min(bucket.size, bucket.tokens + bucket.rate * secondsOf(now - bucket.at));
  bucket.at = now;
}

Duration ObjectLimiter::waitFor(const std::string& kind, const std::string& key) {
  const auto it = buckets_.find({kind, key});
  if (it == buckets_.end()) return {};
  Bucket& bucket = it->second;
  refill(bucket, executor_.steadyNow());
  // Tolerates rounding errors of many small durations.
  if (bucket.tokens >= 1 - 1e-9 || bucket.rate <= 0) return {};
  const double seconds = (1 - bucket.tokens) / bucket.rate;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)) +
         std::chrono::milliseconds(1);
}

Duration ObjectLimiter::wait(const api::Pod& pod, const std::string& workload) {
  Duration longest{};
  if (!workload.empty()) longest = waitFor(kWorkload, workload);
  longest = std::max(longest, waitFor(kNamespace, pod.metadata.namespace_));
  return std::max(longest, waitFor(kCluster, kCluster));
}

Duration ObjectLimiter::waitForAll(const std::vector<Eviction>& evictions) const {
  ObjectLimiter then = *this;
  Duration longest{};
  for (const auto& [pod, workload, replicas] : evictions) {
    longest = std::max(longest, then.wait(*pod, workload));
    then.spend(pod->metadata.namespace_, workload, replicas);
  }
  return longest;
}

void ObjectLimiter::spendFrom(const std::string& kind, const std::string& key, std::int64_t count,
                              Duration ago) {
  const auto limit = args_.objectLimiters.find(kind);
  if (limit == args_.objectLimiters.end() || limit->second.duration <= Duration::zero()) return;
  if (count <= 0 || key.empty()) return;
  const Duration duration = limit->second.duration;
  if (ago > duration + duration / 2) return;  // too long ago to count
  const SteadyTime when = executor_.steadyNow() - ago;
  const double size = static_cast<double>(std::max<std::int64_t>(limit->second.burst, 1));
  const auto [it, fresh] = buckets_.try_emplace({kind, key});
  Bucket& bucket = it->second;
  if (fresh) bucket = {.tokens = size, .rate = 0, .size = size, .at = when};
  refill(bucket, when);
  bucket.rate = static_cast<double>(count) / secondsOf(duration);
  bucket.size = size;
  bucket.tokens = std::max(0.0, std::min(bucket.tokens, size) - 1);
  bucket.lastUse = std::max(bucket.lastUse, when);
  forgetOld();
}

void ObjectLimiter::spend(const std::string& namespace_, const std::string& workload,
                          std::int64_t replicas, Duration ago) {
  for (const auto& [kind, key] :
       {std::pair(kNamespace, namespace_.c_str()), std::pair(kCluster, kCluster)}) {
    const auto it = args_.objectLimiters.find(kind);
    if (it == args_.objectLimiters.end()) continue;
    const auto& most = it->second.maxMigrating;
    spendFrom(kind, key, most && !most->percent ? most->number : 0, ago);
  }
  if (const auto it = args_.objectLimiters.find(kWorkload); it != args_.objectLimiters.end()) {
    const auto& configured =
        it->second.maxMigrating ? it->second.maxMigrating : args_.maxMigratingPerWorkload;
    spendFrom(kWorkload, workload, limitFor(replicas, configured), ago);
  }
}

void ObjectLimiter::forgetOld() {
  if (buckets_.size() < 1000) return;
  const SteadyTime now = executor_.steadyNow();
  std::erase_if(buckets_, [&](const auto& entry) {
    const Duration duration = args_.objectLimiters.at(entry.first.first).duration;
    return now - entry.second.lastUse > duration + duration / 2;
  });
}

}  // namespace koord::descheduler
