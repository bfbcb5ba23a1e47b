#pragma once

// What all workload controllers share: pods by their owner, making and deleting them from a
// template, and waiting until the informer has seen what was just done, so that nothing is done
// twice.

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/pod.h"
#include "base/task.h"
#include "cluster/controllers/ownership.h"
#include "kube/events.h"
#include "kube/informer.h"

namespace koord::cluster {

using PodPtr = std::shared_ptr<const api::Pod>;

// Pods of one owner that are made in one sync: then others have their turn, and the owner is looked
// at anew before it gets more.
inline constexpr int kBurst = 500;

// How a pod is called: `name`, or what begins with `prefix`; the owner's name unless said.
struct PodName {
  std::string name = {};
  std::string prefix = {};
};

class PodControl {
 public:
  PodControl(kube::Api& api, Executor& executor, kube::Informer<api::Pod>& pods,
             kube::EventRecorder& events);

  kube::Informer<api::Pod>& informer() { return pods_; }
  // Every pod whose controller has this uid.
  std::vector<PodPtr> podsOf(const std::string& ownerUid) const;
  // The pods of an owner after it has adopted and released what it must (see Claims). Pods that
  // `member` says no to are let alone.
  using Member = std::function<bool(const api::Pod& pod)>;
  Task<Result<std::vector<PodPtr>>> claim(Owner owner, std::optional<api::LabelSelector> selector,
                                          Member member = {}, std::string finalizer = "");

  // The document is a pod template ({"metadata", "spec"}). Of its metadata a pod gets the labels,
  // the annotations and the finalizers: a name in it would be that of one pod only. In a namespace
  // that is going nothing is made, and nothing is wrong.
  Task<Result<>> create(Owner owner, json::value podTemplate, PodName name = {});
  Task<Result<>> remove(Owner owner, PodPtr pod);
  // True when the informer has caught up with all create and remove calls for this owner.
  bool settled(const std::string& ownerUid);

 private:
  struct Pending {
    std::set<std::string> creations;  // pod uids that have not been seen yet
    std::set<std::string> deletions;  // pod uids that still look alive
    SteadyTime since{};
  };
  void file(const api::Pod& pod);
  void unfile(const api::Pod& pod);
  void gone(const api::Pod& pod);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Pod>& pods_;
  kube::EventRecorder& events_;
  using Keys = std::unordered_map<std::string, std::set<api::ObjectKey>>;
  Keys byOwner_;  // by uid
  Keys orphans_;  // pods that nobody controls, by namespace
  std::unordered_map<std::string, Pending> pending_;
};

bool isActive(const api::Pod& pod);  // neither terminal nor being deleted
bool isReady(const api::Pod& pod);   // its condition Ready is True
// How long a pod that is ready still has to be so before it is available: nothing or less when it
// is now; an absent value for one that is not ready.
std::optional<Duration> untilAvailable(const api::Pod& pod, std::int32_t minReadySeconds,
                                       WallTime now);

// A short name for a pod template: equal templates, equal hash, whatever the order of their
// members. `collisions`: how many of its names are taken by others.
std::string templateHash(const json::value& podTemplate, int collisions = 0);
// Adds a label to the metadata of a template (or any object).
void setLabel(json::value& object, std::string_view key, std::string_view value);

api::ObjectKey keyOfText(const std::string& text);  // "ns/name"

}  // namespace koord::cluster
