#pragma once

// Common functions of workload controllers: find pods by their owner, create them from a template,
// delete them, and wait until the informer has seen these changes, so that nothing is done twice.

#include <functional>
#include <map>
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

// Limit of pods created or deleted for one owner in one sync. Then other owners get a turn, and the
// owner is examined again before it gets or loses more.
inline constexpr int kBurst = 500;

// The name of a pod: `name`, or generated from `prefix`; by default from the owner's name.
struct PodName {
  std::string name = {};
  std::string prefix = {};
};

struct NewPod {
  json::value podTemplate;
  PodName name = {};
};

// Keys of a controller that are processed at the same time, as in kube-controller-manager.
inline constexpr std::size_t kConcurrentSyncs = 5;

class PodControl {
 public:
  PodControl(kube::Api& api, Executor& executor, kube::Informer<api::Pod>& pods,
             kube::EventRecorder& events);

  kube::Informer<api::Pod>& informer() { return pods_; }
  // Every pod whose controller has this uid.
  std::vector<PodPtr> podsOf(const std::string& ownerUid) const;
  // The pods of an owner, after adoption and release (see Claims). Ignores pods for which `member`
  // returns false.
  using Member = std::function<bool(const api::Pod& pod)>;
  Task<Result<std::vector<PodPtr>>> claim(Owner owner, std::optional<api::LabelSelector> selector,
                                          Member member = {}, std::string finalizer = "");

  // The document is a pod template ({"metadata", "spec"}). Of its metadata a pod gets the labels,
  // the annotations and the finalizers, but not the name, which would be the same for all pods. In
  // a namespace that is being deleted it creates nothing and succeeds.
  Task<Result<>> create(Owner owner, json::value podTemplate, PodName name = {});
  // Creates pods at the same time, in batches of 1, 2, 4, ..., so that a template that is refused
  // does not cost a refusal for each pod. Returns the first error, and creates nothing after its
  // batch.
  Task<Result<>> createMany(Owner owner, std::vector<NewPod> pods);
  Task<Result<>> remove(Owner owner, PodPtr pod);
  // At the same time. Returns the first error.
  Task<Result<>> removeMany(Owner owner, std::vector<PodPtr> pods);
  // Returns true if the informer has caught up with all create and remove calls for this owner.
  bool settled(const std::string& ownerUid);

 private:
  struct Pending {
    std::set<std::string> creations;  // pod uids that have not been seen yet
    std::set<std::string> deletions;  // pod uids that do not look deleted yet
    SteadyTime since{};
  };
  void file(const PodPtr& pod);
  void removeFromIndex(const api::Pod& pod);
  void gone(const api::Pod& pod);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Pod>& pods_;
  kube::EventRecorder& events_;
  using Groups = std::unordered_map<std::string, std::map<api::ObjectKey, PodPtr>>;
  Groups byOwner_;  // by uid
  Groups orphans_;  // pods without a controller, by namespace
  std::unordered_map<std::string, Pending> pending_;
};

bool isActive(const api::Pod& pod);  // neither terminal nor being deleted
bool isReady(const api::Pod& pod);   // its condition Ready is True
// Remaining time until a ready pod is available; zero or less if it is available now; nullopt if it
// is not ready.
std::optional<Duration> timeUntilAvailable(const api::Pod& pod, std::int32_t minReadySeconds,
                                           WallTime now);

// A short name for a pod template: equal templates have equal hashes, in any order of their
// members. `collisions`: how many of its names are already taken.
std::string templateHash(const json::value& podTemplate, int collisions = 0);
// Adds a label to the metadata of a template (or any object).
void setLabel(json::value& object, std::string_view key, std::string_view value);

api::ObjectKey keyOfText(const std::string& text);  // "ns/name"

}  // namespace koord::cluster
