#pragma once

// An index of all PodMigrationJobs, by name and by pod. The answers to this process's own writes
// count at once, before the watch delivers them, so that decisions never use outdated states.
// Nothing else about jobs is stored: which pods migrate, which limits are reached and which jobs
// have passed arbitration is read from them.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "descheduler/migration/job_status.h"
#include "kube/informer.h"

namespace koord::descheduler {

class Jobs {
 public:
  // The informer must outlive it, and must not deliver events after its destruction.
  explicit Jobs(kube::Informer<api::PodMigrationJob>& informer) : informer_(informer) {}

  // Adds an observer. `before` is nullptr for a new job, `after` for a deleted one.
  using Observer = std::function<void(const JobPtr& before, const JobPtr& after)>;
  void start(Observer observer);

  JobPtr get(const std::string& name) const;
  const std::map<std::string, JobPtr>& all() const { return all_; }
  // The jobs of this pod, by uid or by name, and the jobs of pods of the namespace. Elements are
  // never nullptr.
  std::vector<JobPtr> of(const api::ObjectKey& pod, std::string_view uid) const;
  std::vector<JobPtr> inNamespace(const std::string& namespace_) const;
  // The jobs that move together, of all namespaces.
  std::vector<JobPtr> inGroup(const std::string& group) const;
  // Unfinished jobs.
  const std::set<std::string>& open() const { return open_; }

  // Call with the API's answer to a write of this process.
  void learn(JobPtr job);

 private:
  using Index = std::unordered_map<std::string, std::set<std::string>>;  // names of jobs

  std::vector<JobPtr> named(const Index& index, const std::string& key) const;
  void set(JobPtr job);
  void erase(const std::string& name, const std::string& uid);
  void index(const JobPtr& job, bool add);

  kube::Informer<api::PodMigrationJob>& informer_;
  Observer observer_;
  std::map<std::string, JobPtr> all_;
  std::set<std::string> open_;
  std::unordered_map<api::ObjectKey, std::set<std::string>> byPod_;
  Index byUid_;
  Index byNamespace_;
  Index byGroup_;
};

}  // namespace koord::descheduler
