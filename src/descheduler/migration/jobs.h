#pragma once

// Jobs: all PodMigrationJobs as they are, by name and by the pod that they are about. What the API answered to a
// write of ours counts at once, also where the watch has not brought it yet, so nothing is decided on a state
// that is known to be over. Nothing else is remembered of jobs: who migrates, which limits are reached and who
// has passed arbitration is read from them.

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
  // The informer must outlive it, and deliver nothing after it is gone.
  explicit Jobs(kube::Informer<api::PodMigrationJob>& informer) : informer_(informer) {}

  // Begins to follow. Either is nullptr where the job came or went.
  using Observer = std::function<void(const JobPtr& before, const JobPtr& after)>;
  void start(Observer observer);

  JobPtr get(const std::string& name) const;
  const std::map<std::string, JobPtr>& all() const { return all_; }
  // Jobs that are about this pod, by uid or by name, and those about pods of the namespace. Never null.
  std::vector<JobPtr> of(const api::ObjectKey& pod, std::string_view uid) const;
  std::vector<JobPtr> inNamespace(const std::string& namespace_) const;
  // Jobs that are not over.
  const std::set<std::string>& open() const { return open_; }

  // The API answered this to a write of ours.
  void learn(JobPtr job);

 private:
  void set(JobPtr job);
  void erase(const std::string& name, const std::string& uid);
  void index(const JobPtr& job, bool add);

  kube::Informer<api::PodMigrationJob>& informer_;
  Observer observer_;
  std::map<std::string, JobPtr> all_;
  std::set<std::string> open_;
  std::unordered_map<api::ObjectKey, std::set<std::string>> byPod_;
  std::unordered_map<std::string, std::set<std::string>> byUid_;
  std::unordered_map<std::string, std::set<std::string>> byNamespace_;
};

}  // namespace koord::descheduler
