#include <algorithm>

#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/system/small_file.h"

// Detection of other writers. PodWatch reports which file was written (changed). A watch may start
// too late or be missing, and kubelet writes its own values some time after it has created a
// cgroup, so that ours may be there first. So the files of a cgroup are read ten times a second for
// two seconds after the first value for it, then once a second for ten seconds; both start again
// when another process changes a value within the first minute. After a start of koordlet all
// cgroups are new. On cgroup v1 the directories of one cgroup are created one after the other; a
// missing file is awaited in the same way. Cost: one small read per value and look.

namespace koord::koordlet {

using namespace std::chrono_literals;

namespace {

constexpr Duration kFrequentAge = 2s, kNewAge = 10s, kMaxNewAge = 1min;
constexpr Duration kFrequentPeriod = 100ms, kInfrequentPeriod = 1s;

}  // namespace

bool ResourceExecutor::forgetChanged(std::string_view dir, Values& values,
                                     const std::function<bool(CgroupFile)>& concerned) {
  const auto changed = std::erase_if(values, [&](const CachedValue& one) {
    if (!concerned(one.file)) return false;
    const CgroupVersion version = host_.layout.version(subsystemOf(one.file));
    if (!cgroupFilePath(host_.layout, one.file, dir, path_)) return false;
    if (one.missing) return pathExists(path_);
    const auto encoded = encodeCgroupValue(one.file, version, one.value);
    // The next update reports a file that cannot be read.
    return encoded && readValueFile(path_, current_) &&
           !sameCgroupValue(one.file, version, current_, *encoded);
  });
  forgotten_ += changed;
  return changed > 0;
}

bool ResourceExecutor::changed(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return false;
  const auto name = std::string_view(path).substr(slash + 1);
  bool any = false;
  for (const Subsystem subsystem : {Subsystem::Cpu, Subsystem::Cpuset, Subsystem::Memory}) {
    const std::string root = host_.layout.dir(subsystem, "");
    if (slash < root.size() || !path.starts_with(root)) continue;
    const auto dir = std::string_view(path).substr(root.size(), slash - root.size());
    const auto it = cache_.find(dir);
    if (it == cache_.end()) continue;
    any = forgetChanged(dir, it->second,
                        [&](CgroupFile file) {
                          return subsystemOf(file) == subsystem &&
                                 fileNameIn(file, host_.layout.version(subsystem)) == name;
                        }) ||
          any;
  }
  return any;
}

void ResourceExecutor::forgetDir(const std::string& path) {
  const std::string root = host_.layout.dir(Subsystem::Cpu, "");
  if (!path.starts_with(root)) return;
  const auto dir = std::string_view(path).substr(root.size());
  const auto it = cache_.find(dir);
  if (it == cache_.end()) return;
  forgotten_ += it->second.size();
  std::erase_if(newCgroups_, [&](const NewCgroup& one) { return one.dir == dir; });
  cache_.erase(it);
}

void ResourceExecutor::forgetAll() {
  for (auto& [dir, values] : cache_) {
    forgotten_ += values.size();
    values.clear();
  }
}

// Values of one cgroup come one after the other, so it is most often among the last.
std::vector<ResourceExecutor::NewCgroup>::iterator ResourceExecutor::newCgroup(
    std::string_view dir) {
  const auto it = std::find_if(newCgroups_.rbegin(), newCgroups_.rend(),
                               [&](const NewCgroup& one) { return one.dir == dir; });
  return it == newCgroups_.rend() ? newCgroups_.end() : std::prev(it.base());
}

void ResourceExecutor::addNewCgroup(std::string_view dir) {
  const SteadyTime now = clock_.steadyNow();
  const bool first = newCgroups_.empty();
  if (const auto it = newCgroup(dir); it != newCgroups_.end()) {
    it->since = it->looked = now;
  } else {
    newCgroups_.push_back({std::string(dir), now, now, now});
  }
  if (first && onNewCgroup_) onNewCgroup_();
}

void ResourceExecutor::keepNewCgroup(std::string_view dir) {
  const SteadyTime now = clock_.steadyNow();
  if (const auto it = newCgroup(dir); it != newCgroups_.end() && now - it->firstSeen < kMaxNewAge)
    it->since = it->looked = now;
}

void ResourceExecutor::awaitFile(const CgroupValue& update) {
  if (!pathExists(host_.layout.dir(Subsystem::Cpu, update.dir))) return;  // it is gone
  const SteadyTime now = clock_.steadyNow();
  if (CachedValue* known = cached(update)) {
    known->missing = true;
    known->at = now;
    return;
  }
  Values& values = cache_.try_emplace(std::string(update.dir)).first->second;
  values.push_back({{std::string(update.value), now}, update.file, true});
  addNewCgroup(update.dir);
}

bool ResourceExecutor::repairNewCgroups() {
  const SteadyTime now = clock_.steadyNow();
  bool any = false;
  for (NewCgroup& one : newCgroups_) {
    const auto it = cache_.find(one.dir);
    if (it == cache_.end() ||
        now - one.looked < (now - one.since > kFrequentAge ? kInfrequentPeriod : kFrequentPeriod))
      continue;
    one.looked = now;
    any = forgetChanged(one.dir, it->second, [](CgroupFile) { return true; }) || any;
  }
  std::erase_if(newCgroups_, [&](const NewCgroup& one) { return now - one.since > kNewAge; });
  return any;
}

std::optional<Duration> ResourceExecutor::nextRepair() const {
  // A newer cgroup may be added at any time, so the shortest interval.
  return newCgroups_.empty() ? std::nullopt : std::optional(kFrequentPeriod);
}

}  // namespace koord::koordlet
