#include "descheduler/migration/jobs.h"

#include <charconv>

#include "descheduler/migration/keys.h"

namespace koord::descheduler {

namespace {

std::uint64_t versionOf(const api::PodMigrationJob& job) {
  const std::string& text = job.metadata.resourceVersion;
  std::uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

template <class Map, class Key>
void change(Map& map, const Key& key, const std::string& name, bool add) {
  if (add) {
    map[key].insert(name);
    return;
  }
  const auto it = map.find(key);
  if (it == map.end()) return;
  it->second.erase(name);
  if (it->second.empty()) map.erase(it);
}

}  // namespace

void Jobs::start(Observer observer) {
  observer_ = std::move(observer);
  informer_.addHandler(
      {[this](const JobPtr& job) { set(job); },
       [this](const JobPtr&, const JobPtr& after) { set(after); },
       [this](const JobPtr& last) { erase(last->metadata.name, last->metadata.uid); }});
}

JobPtr Jobs::get(const std::string& name) const {
  const auto it = all_.find(name);
  return it == all_.end() ? nullptr : it->second;
}

std::vector<JobPtr> Jobs::of(const api::ObjectKey& pod, std::string_view uid) const {
  std::set<std::string> names;
  if (const auto it = byPod_.find(pod); it != byPod_.end()) names = it->second;
  if (!uid.empty())
    if (const auto it = byUid_.find(std::string(uid)); it != byUid_.end())
      names.insert(it->second.begin(), it->second.end());
  std::vector<JobPtr> jobs;
  for (const std::string& name : names) jobs.push_back(all_.at(name));
  return jobs;
}

std::vector<JobPtr> Jobs::inNamespace(const std::string& namespace_) const {
  return named(byNamespace_, namespace_);
}

std::vector<JobPtr> Jobs::inGroup(const std::string& group) const {
  return named(byGroup_, group);
}

std::vector<JobPtr> Jobs::named(const Index& index, const std::string& key) const {
  std::vector<JobPtr> jobs;
  if (const auto it = index.find(key); it != index.end())
    for (const std::string& name : it->second) jobs.push_back(all_.at(name));
  return jobs;
}

void Jobs::learn(JobPtr job) {
  set(std::move(job));
}

void Jobs::set(JobPtr job) {
  JobPtr& slot = all_[job->metadata.name];
  const JobPtr before = slot;
  if (before && before->metadata.uid == job->metadata.uid && versionOf(*before) >= versionOf(*job))
    return;
  if (before) index(before, false);
  slot = job;
  index(job, true);
  if (observer_) observer_(before, job);
}

void Jobs::erase(const std::string& name, const std::string& uid) {
  const auto it = all_.find(name);
  if (it == all_.end() || it->second->metadata.uid != uid) return;
  const JobPtr last = it->second;
  index(last, false);
  all_.erase(it);
  if (observer_) observer_(last, nullptr);
}

void Jobs::index(const JobPtr& job, bool add) {
  const std::string& name = job->metadata.name;
  change(byPod_, podKeyOf(*job), name, add);
  change(byNamespace_, job->spec.podRef.namespace_, name, add);
  if (const auto group = annotationOf(*job, kAnnotationMoveTogether); !group.empty())
    change(byGroup_, std::string(group), name, add);
  if (!job->spec.podRef.uid.empty()) change(byUid_, job->spec.podRef.uid, name, add);
  if (!add) {
    open_.erase(name);
  } else if (!isOver(*job)) {
    open_.insert(name);
  }
}

}  // namespace koord::descheduler
