#pragma once

// Quotas: what the scheduler knows of elastic quotas, shared by all profiles: the trees, which quota a pod
// belongs to, and what its pods ask for and use.
//
//   ElasticQuota objects -> trees        (quota_object.h, tree/)
//   pods on nodes        -> used         (charges.h: the ledger)
//   all known pods       -> request      (framework/known_pods.h)
//   nodes                -> the total
//
// Each of these is the one truth of its part; nothing else is kept of a pod.

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
  // The one of all profiles; made with the arguments of the first.
  static Quotas& of(Handle& handle, const ElasticQuotaArgs& args);

  // --- Pods.
  // Which quota the pod counts in; none when it is not limited.
  Place placeOf(const PodInfo& pod) const;
  using Amounts = boost::container::small_vector<PodAmount, 4>;
  // What of a pod's shape matters here. Good until another pod is asked about.
  struct Member {
    AccountPtr account;  // nullptr when it can never count anywhere (DisableDefaultQuota)
    bool fixed = false;  // it must not be preempted, by its label
    GrantPtr whole;      // the charge of all that it asks for
    Amounts amounts;     // of that
    // Nothing that its pods ask for is too much.
    bool unlimited() const { return !fixed && account->place.unlimited(); }
  };
  const Member& memberOf(const PodInfo& pod);
  AccountPtr accountOf(const PodInfo& pod) { return memberOf(pod).account; }
  // Whether it must not be preempted, by its label.
  bool fixed(const PodInfo& pod) const;
  // A pod that is on its way out, and by the gates counts no more.
  bool ignores(const PodInfo& pod) const;
  // Whether less is counted than it requests.
  bool ignoresSome(const PodInfo& pod) const {
    return ignoreOverhead_ && !pod.pod->spec.overhead.empty();
  }
  // fn(resource, amount) for what it asks for, without what is `within` something charged already.
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
  // The object that counts; nullptr for a quota that is there without one (built in).
  std::shared_ptr<const api::ElasticQuota> object(std::string_view name) const;
  template <class F>
  void forEachObject(F&& fn) const {
    for (const auto& [name, known] : known_)
      if (known.counting) fn(name, *known.counting);
  }
  // What a built-in quota's max is said to be: by its object, or by the arguments.
  api::ResourceList builtInMax(std::string_view name) const;
  // Of a tree's root: what is on nodes that take nobody, as its profile wrote it.
  api::ResourceList unschedulable(std::string_view name) const;
  // The pods on nodes that are charged to this very quota.
  std::vector<PodPtr> podsOf(const Place& place) const;
  // What happened to objects that somebody should hear of, since the last call.
  struct Note {
    std::shared_ptr<const api::ElasticQuota> about;
    std::string_view reason;
    std::string text;
  };
  std::vector<Note> takeNotes() { return std::exchange(notes_, {}); }
  // What is wrong with it now, and with others of its name.
  std::vector<std::string> problemsOf(const std::string& name) const;
  const std::map<std::string, std::unique_ptr<NamedTree>, std::less<>>& trees() const {
    return trees_;
  }
  const ElasticQuotaArgs& args() const { return args_; }
  ResourceNames& resources() const { return cluster_.resources(); }

  // Brings runtimes on the way to the quota up to date; nothing during a what-if question.
  void refresh(const Place& place);
  void refreshAll();
  // Rises with every change that may matter to a pod's verdict.
  std::uint64_t version() const { return version_ + versionOfTrees(); }

  // --- For people and checks.
  ChargeLedger& ledger() { return ledger_; }
  const ChargeLedger& ledger() const { return ledger_; }
  const Accounts& accounts() const { return accounts_; }
  const KnownPods& pods() const { return pods_; }
  Cluster& cluster() const { return cluster_; }
  Latencies& latencies() { return latencies_; }
  // Derives what pods ask for anew; the difference in words. What differs is put right.
  std::string verifyRequests();
  // Checks some quotas' sums and runtimes, others with each call; likewise.
  std::string verifySome(std::size_t quotas);
  // Pods whose time to leave is over (ElasticQuotaIgnoreTerminatingPod).
  void ignoreOverdue();
  // Called when something changed, not from within a what-if question.
  void onChange(std::function<void()> fn) { changed_ = std::move(fn); }

  // --- For the ledger.
  void charge(const PodInfo& pod, const Charge& charge, int sign);

 private:
  struct Known {
    // Objects of this name; the oldest counts.
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
  void noteDeparture(const std::shared_ptr<const api::ElasticQuota>& last);
  void setBuiltIn(std::string_view name);
  void feed(NamedTree& tree, const quota::Columns& fresh);
  void bindNamespaces(const std::string& name, const std::vector<std::string>& before,
                      const std::vector<std::string>& after);
  NamedTree& tree(const std::string& id);
  void dropIfEmpty(NamedTree* tree);
  Place resolve(bool labelled, std::string_view text) const;
  void rehome(std::string_view label, std::span<const std::string> namespaces);
  void syncTotals();
  std::uint64_t versionOfTrees() const;
  void tell();

  Handle& handle_;
  Cluster& cluster_;
  ElasticQuotaArgs args_;
  const bool ignoreOverhead_;
  const bool ignoreLeaving_;  // at once
  const bool ignoreOverdue_;  // when their time is over
  const bool defaultQuota_;   // there is one
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
  std::set<std::string> leaving_;                  // uids of pods that are still counted
  std::set<std::string> overdue_;                  // and of those that are not any more
  std::uint64_t allocatable_ = ~std::uint64_t{0};  // the version of nodes that totals are of
  std::vector<bool> everHad_;                      // by resource: some node has had it
  bool treeTotalsChanged_ = false;
  std::uint64_t version_ = 0;
  std::string nextVerified_;
  std::vector<Note> notes_;
  std::function<void()> changed_;
};

}  // namespace koord::scheduler
