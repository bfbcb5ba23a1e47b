#pragma once

// Quotas: the scheduler's state of elastic quotas, shared by all profiles: the trees, the quota of
// each pod, and what the pods of a quota request and use.
//
//   ElasticQuota objects -> trees        (quota_object.h, tree/)
//   pods on nodes        -> used         (charges.h: the ledger)
//   all known pods       -> request      (framework/known_pods.h)
//   nodes                -> the total
//
// Each of these is the only source for its part. No other state is kept per pod.

#include <boost/container/small_vector.hpp>
#include <map>
#include <set>

#include "scheduler/framework/handle.h"
#include "scheduler/framework/known_pods.h"
#include "scheduler/framework/pod_limits.h"
#include "scheduler/plugins/elasticquota/args.h"
#include "scheduler/plugins/elasticquota/charges.h"
#include "scheduler/plugins/elasticquota/latencies.h"
#include "scheduler/plugins/elasticquota/quota_object.h"

namespace koord::scheduler {

template <>
struct KindOf<api::ElasticQuota> {
  static constexpr ObjectKind value{.event = EventResource::Custom,
                                    .customResource = kQuotaResource,
                                    .firstList = FirstList::BeforePods};
};

class Quotas {
 public:
  Quotas(Handle& handle, const ElasticQuotaArgs& args);
  Quotas(const Quotas&) = delete;
  Quotas& operator=(const Quotas&) = delete;
  // The instance that all profiles share; created with the arguments of the first profile.
  static Quotas& of(Handle& handle, const ElasticQuotaArgs& args);

  // --- Pods.
  // The quota that the pod counts in; empty if it is not limited.
  Place placeOf(const PodInfo& pod) const;
  using Amounts = boost::container::small_vector<PodAmount, 4>;
  // The facts that follow from a pod's shape. Valid until the next call with another pod.
  struct Member {
    AccountPtr account;  // nullptr if it never counts in a quota (DisableDefaultQuota)
    bool fixed = false;  // not preemptible, by its label
    GrantPtr whole;      // the charge for all of its requests
    Amounts amounts;     // the amounts of that charge
    // Returns true if no request of its pods can exceed the quota.
    bool unlimited() const { return !fixed && account->place.unlimited(); }
  };
  const Member& memberOf(const PodInfo& pod);
  AccountPtr accountOf(const PodInfo& pod) { return memberOf(pod).account; }
  // Returns true if the pod is not preemptible, by its label.
  bool fixed(const PodInfo& pod) const;
  // Returns true for a terminating pod that, by the feature gates, does not count.
  bool ignores(const PodInfo& pod) const;
  // Returns true if the pod counts for less than it requests.
  bool ignoresSome(const PodInfo& pod) const {
    return ignoreOverhead_ && !pod.pod->spec.overhead.empty();
  }
  // Calls fn(resource, amount) for its requests, without the part `within` that is already charged.
  template <class F>
  void forEachAmount(const PodInfo& pod, const Resources* within, F&& fn) const {
    pod.request.forEach([&](ResourceId resource, std::int64_t amount) {
      if (within) amount = std::max<std::int64_t>(amount - within->amount(resource), 0);
      if (ignoreOverhead_) amount -= overheadOf(pod, resource, amount);
      if (amount > 0) fn(resource, amount);
    });
  }

  Amounts asked(const PodInfo& pod, const Resources* within) const {
    Amounts amounts;
    forEachAmount(pod, within, [&](ResourceId resource, std::int64_t amount) {
      amounts.emplace_back(resource, amount);
    });
    return amounts;
  }

  // --- Quotas.
  Place find(std::string_view name) const;
  // The object in effect; nullptr for a built-in quota without an object.
  std::shared_ptr<const api::ElasticQuota> object(std::string_view name) const;
  template <class F>
  void forEachObject(F&& fn) const {
    for (const auto& [name, known] : known_)
      if (known.counting) fn(name, *known.counting);
  }
  // The max of a built-in quota: from its object, or else from the arguments.
  api::ResourceList builtInMax(std::string_view name) const;
  // Of a tree's root: the resources of unschedulable nodes, as the quota profile wrote them.
  api::ResourceList unschedulable(std::string_view name) const;
  // The pods on nodes that are charged to this quota itself, not to its children.
  std::vector<PodPtr> podsOf(const Place& place) const;
  // Events to record about objects, since the last call.
  struct Note {
    std::shared_ptr<const api::ElasticQuota> about;
    std::string_view reason;
    std::string text;
  };
  std::vector<Note> takeNotes() { return std::exchange(notes_, {}); }
  // The current problems of the quota, including other objects of the same name.
  std::vector<std::string> problemsOf(const std::string& name) const;
  const std::map<std::string, std::unique_ptr<NamedTree>, std::less<>>& trees() const {
    return trees_;
  }
  const ElasticQuotaArgs& args() const { return args_; }
  ResourceNames& resources() const { return cluster_.resources(); }

  // Updates the runtimes on the path to the quota. Does nothing during a simulation.
  void refresh(const Place& place);
  void refreshAll();
  // Increases with every change that may affect a pod's verdict.
  std::uint64_t version() const { return version_ + versionOfTrees(); }

  // --- For operators and checks.
  ChargeLedger& ledger() { return ledger_; }
  const ChargeLedger& ledger() const { return ledger_; }
  const Accounts& accounts() const { return accounts_; }
  const KnownPods& pods() const { return pods_; }
  Cluster& cluster() const { return cluster_; }
  Latencies& latencies() { return latencies_; }
  // Recomputes the requests of pods, corrects the sums that differ, and describes the difference.
  std::string verifyRequests();
  // Verifies the sums and runtimes of some quotas, of others with each call; likewise.
  std::string verifySome(std::size_t quotas);
  // Stops counting pods whose grace period is over (ElasticQuotaIgnoreTerminatingPod).
  void ignoreOverdue();
  // Called when something has changed, never during a simulation.
  void onChange(std::function<void()> fn) { changed_ = std::move(fn); }

  // --- For the ledger.
  void charge(const PodInfo& pod, const Charge& charge, int sign);

 private:
  struct Known {
    // The objects of this name; the oldest is in effect.
    std::map<api::ObjectKey, std::shared_ptr<const api::ElasticQuota>> objects;
    std::shared_ptr<const api::ElasticQuota> counting;
    QuotaObject read;
    Place place;
  };

  void objectChanged(const std::shared_ptr<const api::ElasticQuota>& before,
                     const std::shared_ptr<const api::ElasticQuota>& after);
  void podChanged(const PodPtr& before, const PodPtr& after);
  void want(const PodInfo& pod, int sign);
  bool leaves(const PodInfo& pod) const;
  std::int64_t overheadOf(const PodInfo& pod, ResourceId resource, std::int64_t amount) const;

  void count(const std::string& name, Known& known);
  void remove(const std::string& name);
  void noteDeletion(const std::shared_ptr<const api::ElasticQuota>& last);
  void setBuiltIn(std::string_view name);
  void feed(NamedTree& tree, const quota::Columns& fresh);
  void bindNamespaces(const std::string& name, const std::vector<std::string>& before,
                      const std::vector<std::string>& after);
  NamedTree& tree(const std::string& id);
  void dropIfEmpty(NamedTree* tree);
  Place resolve(bool labelled, std::string_view text) const;
  void reassignNamespaces(std::string_view label, std::span<const std::string> namespaces);
  void syncTotals();
  std::uint64_t versionOfTrees() const;
  void tell();

  Handle& handle_;
  Cluster& cluster_;
  ElasticQuotaArgs args_;
  const bool ignoreOverhead_;
  const bool ignoreTerminating_;  // terminating pods do not count
  const bool ignoreOverdue_;      // ... once their grace period is over
  const bool defaultQuota_;       // pods without a quota count in the default quota
  const bool manyTrees_;
  quota::QuotaTree::Settings settings_;
  KnownPods& pods_;
  ChargeLedger ledger_;
  Latencies latencies_;
  Accounts accounts_;
  ByShape<Member> members_;
  std::map<std::string, std::unique_ptr<NamedTree>, std::less<>> trees_;
  std::map<std::string, Known, std::less<>> known_;
  std::map<std::string, std::set<std::string>, std::less<>> bound_;  // quotas by namespace
  std::set<std::string> terminating_;              // uids of terminating pods that still count
  std::set<std::string> overdue_;                  // ... and of those that do not
  std::uint64_t allocatable_ = ~std::uint64_t{0};  // version of the nodes in the totals
  std::vector<bool> everPresent_;                  // by resource: whether any node has ever had it
  bool treeTotalsChanged_ = false;
  std::uint64_t version_ = 0;
  std::string nextVerified_;
  std::vector<Note> notes_;
  std::function<void()> changed_;
};

}  // namespace koord::scheduler
