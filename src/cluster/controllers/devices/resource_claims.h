#pragma once

// The resource claim controller of kube-controller-manager.
//
//   pod    creates a ResourceClaim for each entry of spec.resourceClaims that names a template,
//          with the pod as controller, and reports its name in status.resourceClaimStatuses.
//          Reserves allocated claims for pods that were bound without the scheduler.
//   claim  removes pods that will not run (again) from status.reservedFor. With the last consumer
//          it also removes the allocation and the finalizer, so that other claims get the devices.
//          Then it deletes a claim that was created for such a pod; this includes the claims that
//          the scheduler creates for extended resources.
//
// Decisions are made on local copies, which may be slightly old. Every write names the
// resourceVersion that it is based on; a conflict is decided again, when the other write arrives. A
// pod that is not known locally stays a consumer until the API server says that it is gone.

#include <map>
#include <string>

#include "api/resource_claims.h"
#include "base/bounded_map.h"
#include "cluster/controllers/devices/claim_users.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class ResourceClaimController {
 public:
  ResourceClaimController(kube::Api& api, Executor& executor,
                          kube::Informer<api::ResourceClaim>& claims,
                          kube::Informer<api::ResourceClaimTemplate>& templates,
                          kube::Informer<api::Pod>& pods, kube::EventRecorder& events);
  void start() { queue_.start(); }

 private:
  using PodPtr = std::shared_ptr<const api::Pod>;
  using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;

  void podChanged(const api::Pod& pod, bool deleted);
  void claimChanged(const api::ResourceClaim& claim, bool deleted);
  bool needsWork(const api::Pod& pod) const;

  Task<Result<>> sync(std::string key);
  Task<Result<>> syncPod(PodPtr pod);
  Task<Result<>> syncClaim(ClaimPtr claim);

  // The claims of a pod while they are provided.
  struct Provided {
    explicit Provided(const api::Pod& pod) : names(pod) {}
    api::PodClaimNames names;
    std::map<std::string, std::string> generated;  // names of claims, by the entry's name
  };
  Provided providedOf(const api::Pod& pod) const;
  // Creates the claim of an entry, or finds a claim that was created and not reported. Returns its
  // name, or "" if there is nothing to report.
  Task<Result<std::string>> provideClaim(PodPtr pod, const api::PodResourceClaim& entry,
                                         const Provided& provided);
  Task<Result<>> reserve(PodPtr pod);
  // True if the consumer is a pod that does not need the claim.
  Task<Result<bool>> isGone(ClaimPtr claim, const api::ResourceClaimConsumerReference& consumer);
  // Writes the status, then removes the finalizer if there is no allocation.
  Task<Result<>> release(ClaimPtr claim,
                         std::vector<api::ResourceClaimConsumerReference> remaining);
  Task<Result<>> removeFinalizer(ClaimPtr claim, std::string resourceVersion);
  Task<Result<>> deleteIfGenerated(ClaimPtr claim);

  kube::Api& api_;
  kube::Informer<api::ResourceClaim>& claims_;
  kube::Informer<api::ResourceClaimTemplate>& templates_;
  kube::Informer<api::Pod>& pods_;
  kube::EventRecorder& events_;
  ClaimUsers users_;
  // UIDs of pods that were deleted, so that most reservations are removed without a request.
  BoundedMap<std::string, bool> deletedPods_;
  // "pod UID/entry": claims that were created and have not arrived from the informer.
  std::unordered_map<std::string, std::string> created_;
  kube::WorkQueue queue_;
};

// "web-gpu-": the prefix of the names of generated claims. Long names are cut so that both parts
// can be recognized.
std::string claimNamePrefix(std::string_view pod, std::string_view entry);

}  // namespace koord::cluster
