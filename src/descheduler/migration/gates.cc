#include "descheduler/migration/gates.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::descheduler {

namespace {

bool isExempt(const Pod& pod) {
  return pod.facts.is(PodFacts::EvictMe);
}

}  // namespace

bool Gates::counts(const api::PodMigrationJob& job, Counting counting) const {
  if (isOver(job)) return false;
  return counting == Counting::Open || isRunning(job) || hasPassedArbitration(job);
}

bool Gates::migrates(const api::Pod& pod, Counting counting) const {
  const auto jobs = jobs_.of(api::keyOf(pod.metadata), pod.metadata.uid);
  return std::ranges::any_of(jobs, [&](const JobPtr& job) {
    const std::string& uid = job->spec.podRef.uid;
    return (uid.empty() || uid == pod.metadata.uid) && counts(*job, counting);
  });
}

std::string Gates::otherJob(const api::Pod& pod) const {
  for (const JobPtr& job : jobs_.of(api::keyOf(pod.metadata), pod.metadata.uid))
    if (!isOver(*job)) return fmt::format("job {} already migrates it", job->metadata.name);
  return {};
}

std::string Gates::wrongScheduler(const api::Pod& pod) const {
  if (args_.defaultJobMode != "ReservationFirst") return {};
  const auto name = pod.spec.schedulerName.view();
  if (std::ranges::find(args_.schedulerNames, name) != args_.schedulerNames.end()) return {};
  return fmt::format("its scheduler {} is not in schedulerNames: {}", name,
                     fmt::join(args_.schedulerNames, ", "));
}

std::string Gates::permanentDenial(const Pod& pod) const {
  if (isExempt(pod)) return {};
  if (!args_.namespaces.allows(pod.metadata.namespace_))
    return fmt::format("namespace {} is excluded (namespaces)", pod.metadata.namespace_);
  if (pod.facts.evictionCost == kNeverEvict)
    return "its annotation scheduling.koordinator.sh/eviction-cost forbids eviction";
  if (const auto refusal = args_.evictor.refusal(pod); !refusal.empty())
    return std::string(refusal);
  if (args_.skipCheckExpectedReplicas || pod.facts.is(PodFacts::Gang)) return {};
  const auto workload = workloads_.of(pod);
  if (workload.state == Workloads::State::None) return {};
  if (workload.state != Workloads::State::Known) return workload.why;
  const std::int64_t replicas = workload.replicas;
  const std::int64_t migrating = limitFor(replicas, args_.maxMigratingPerWorkload);
  const std::int64_t unavailable = limitFor(replicas, args_.maxUnavailablePerWorkload);
  if (replicas == 1) return "its workload has one replica";
  if (replicas == migrating || replicas == unavailable)
    return fmt::format(
        "its workload has {} replicas, and the limits allow as many to be migrated at once",
        replicas);
  return {};
}

Gates::Denial Gates::globalLimit(const Pod&, Counting counting, const MovingPods& together) const {
  if (args_.maxMigratingGlobally <= 0 || args_.skips("MaxMigratingGlobally")) return {};
  std::int64_t count = 0;
  const auto others = static_cast<std::int64_t>(std::max<std::size_t>(together.size(), 1)) - 1;
  for (const std::string& name : jobs_.open()) {
    const JobPtr job = jobs_.get(name);
    if (counts(*job, counting) && !together.contains(job->spec.podRef.uid)) ++count;
  }
  if (count + others < args_.maxMigratingGlobally) return {};
  return {"maxMigratingGlobally",
          fmt::format("{} pods are already being migrated (maxMigratingGlobally: {})", count,
                      args_.maxMigratingGlobally)};
}

Gates::Denial Gates::nodeLimit(const Pod& pod, Counting counting,
                               const MovingPods& together) const {
  if (args_.maxMigratingPerNode <= 0 || pod.spec.nodeName.empty() ||
      args_.skips("MaxMigratingPerNode"))
    return {};
  std::int64_t count = 0, others = 0;
  const auto here = handle_.stores().podsOn(pod.spec.nodeName);
  for (const auto& entry : here->entries) {
    if (entry.pod->metadata.uid == pod.metadata.uid) continue;
    if (together.contains(entry.pod->metadata.uid)) {
      ++others;
    } else if (migrates(*entry.pod, counting)) {
      ++count;
    }
  }
  if (count + others < args_.maxMigratingPerNode) return {};
  if (others > 0 && count == 0)
    return {"maxMigratingPerNode",
            fmt::format("{} pods {} are on node {} (maxMigratingPerNode: {})", others + 1,
                        pod.facts.is(PodFacts::Gang) ? "of its gang" : "that move together",
                        pod.spec.nodeName, args_.maxMigratingPerNode)};
  return {
      "maxMigratingPerNode",
      fmt::format("{} other pods of node {} are already being migrated (maxMigratingPerNode: {})",
                  count, pod.spec.nodeName, args_.maxMigratingPerNode)};
}

Gates::Denial Gates::namespaceLimit(const Pod& pod, Counting counting,
                                    const MovingPods& together) const {
  if (args_.maxMigratingPerNamespace <= 0 || args_.skips("MaxMigratingPerNamespace")) return {};
  std::int64_t count = 0, others = 0;
  for (const auto& [uid, namespace_] : together)
    if (uid != pod.metadata.uid && namespace_ == pod.metadata.namespace_) ++others;
  for (const JobPtr& job : jobs_.inNamespace(pod.metadata.namespace_)) {
    const std::string& uid = job->spec.podRef.uid;
    const bool own = uid.empty() ? job->spec.podRef.name == pod.metadata.name
                                 : uid == pod.metadata.uid || together.contains(uid);
    if (!own && counts(*job, counting)) ++count;
  }
  if (count + others < args_.maxMigratingPerNamespace) return {};
  return {"maxMigratingPerNamespace",
          fmt::format(
              "{} pods of namespace {} are already being migrated (maxMigratingPerNamespace: {})",
              count, pod.metadata.namespace_, args_.maxMigratingPerNamespace)};
}

Gates::Denial Gates::workloadLimit(const Pod& pod, Counting counting,
                                   const MovingPods& together) const {
  const auto workload = workloads_.of(pod);
  if (workload.state == Workloads::State::None) return {};
  if (workload.state == Workloads::State::Unknown) return {"workload", workload.why};
  std::set<std::string> moving;
  for (const PodPtr& other : workloads_.podsOf(workload))
    if (other->metadata.uid != pod.metadata.uid &&
        (together.contains(other->metadata.uid) || migrates(*other, counting)))
      moving.insert(other->metadata.uid);
  const std::int64_t most = limitFor(workload.replicas, args_.maxMigratingPerWorkload);
  const auto count = static_cast<std::int64_t>(moving.size());
  if (!args_.skips("MaxMigratingPerWorkload") && count > 0 && count >= most)
    return {"maxMigratingPerWorkload", fmt::format("{} other pods of its workload are already "
                                                   "being migrated (maxMigratingPerWorkload: {})",
                                                   count, most)};
  if (args_.skips("MaxUnavailablePerWorkload")) return {};
  // The pod's own readiness does not change the effect of its eviction on the others.
  for (const std::string& uid : workloads_.unavailableOf(workload))
    if (uid != pod.metadata.uid) moving.insert(uid);
  const std::int64_t missing = limitFor(workload.replicas, args_.maxUnavailablePerWorkload);
  const auto lost = static_cast<std::int64_t>(moving.size());
  if (lost < missing) return {};
  return {"maxUnavailablePerWorkload",
          fmt::format("{} other pods of its workload are being migrated or not ready "
                      "(maxUnavailablePerWorkload: {})",
                      lost, missing)};
}

Gates::Denial Gates::temporaryDenial(const Pod& pod, Counting counting,
                                     const MovingPods& together) const {
  if (isExempt(pod)) return {};
  MovingPods own = together;
  own.emplace(pod.metadata.uid, pod.metadata.namespace_);
  for (const auto gate : {&Gates::globalLimit, &Gates::nodeLimit, &Gates::namespaceLimit})
    if (Denial denial = (this->*gate)(pod, counting, own); !denial.why.empty()) return denial;
  return pod.facts.is(PodFacts::Gang) ? Denial{} : workloadLimit(pod, counting, own);
}

}  // namespace koord::descheduler
