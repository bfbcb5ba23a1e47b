#pragma once

// Evictions: makes victims leave in the background, the last one after all others, so that the pod
// they make room for is not tried again while some of them are still there.

#include <unordered_map>

#include "scheduler/framework/handle.h"

namespace koord::scheduler {

class Evictions {
 public:
  explicit Evictions(Handle& handle) : handle_(handle) {}

  // On whose behalf: pods that wait for permission are rejected in the plugin's name, and victims
  // hear of it from the profile's recorder, which may be nullptr.
  struct By {
    std::string plugin;
    kube::EventRecorder* events = nullptr;
  };
  void start(const PodPtr& preemptor, const std::string& node, std::vector<PodPtr> victims, By by);
  // Whether the pod has to wait for victims that have not been told to leave yet.
  bool holdsBack(const std::string& preemptorUid) const;

 private:
  struct Running {
    std::string lastVictim;
    bool onlyLast = false;  // all others have been deleted
    By by;
  };
  struct Join;

  // Parameters are values: they live as long as the coroutine.
  Task<void> run(PodPtr preemptor, std::string node, std::vector<PodPtr> victims);
  Task<bool> evict(PodPtr preemptor, std::string node, PodPtr victim);
  Task<void> evictAndJoin(PodPtr preemptor, std::string node, PodPtr victim,
                          std::shared_ptr<Join> join);
  Task<void> clearNomination(PodPtr pod);
  void tell(const By& by, const PodInfo& preemptor, const std::string& node, const PodInfo& victim,
            bool inMemory);

  Handle& handle_;
  std::unordered_map<std::string, Running> running_;  // by preemptor's uid
  TaskGroup tasks_;
};

// Those of the scheduler, which all profiles and all plugins that preempt share.
Evictions& evictionsOf(Handle& handle);

}  // namespace koord::scheduler
