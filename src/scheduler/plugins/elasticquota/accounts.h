#pragma once

// Accounts group the pods that always belong to the same quota: those with the same value of the
// label quota.scheduling.koordinator.sh/name or, without the label, those of the same namespace.
// The requests and the use of pods are summed per account. When the quota of an account changes,
// because a quota is added or removed, the account's sums move as a whole, and no pod has to be
// visited.

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scheduler/engine/pod_info.h"
#include "scheduler/plugins/elasticquota/tree/quota_tree.h"

namespace koord::scheduler {

class Grant;
struct Account;

// A tree of quotas and its id; "" is the default tree. Charges of accounts reach the tree only when
// it is read: quotas without limits, usually the default one, are charged often and read rarely.
class NamedTree {
 public:
  NamedTree(std::string treeId, const quota::QuotaTree::Settings& settings);
  const std::string id;

  // The tree with all charges so far. A kept reference shows later charges only after another call.
  quota::QuotaTree& quotas() {
    settle();
    return quotas_;
  }
  const std::string& name(quota::QuotaId quota) const { return quotas_.name(quota); }
  // Returns true if no use by pods can exceed the quota.
  bool unlimited(quota::QuotaId quota) const;

  // The number of preemptible pods on nodes by priority, per quota.
  using Priorities = std::map<std::int32_t, std::int64_t>;
  std::optional<std::int32_t> lowestPriority(quota::QuotaId quota);

 private:
  friend class Accounts;
  void settle() {
    if (!due_.empty()) settleAccounts();
  }
  void settleAccounts();

  quota::QuotaTree quotas_;
  std::unordered_map<quota::QuotaId, Priorities> priorities_;
  std::vector<Account*> due_;  // those with charges that have not reached the tree
};

// A quota of a tree; empty if the pods are not limited.
struct Place {
  NamedTree* tree = nullptr;
  quota::QuotaId quota = quota::kNoQuota;
  explicit operator bool() const { return tree != nullptr; }
  bool operator==(const Place&) const = default;
  quota::QuotaTree& quotas() const { return tree->quotas(); }
  const std::string& name() const { return tree->name(quota); }
  bool unlimited() const { return tree->unlimited(quota); }
};

// A resource and the amount that a pod requests of it.
using PodAmount = std::pair<ResourceId, std::int64_t>;

// Sums by resource, only for the resources that pods request: usually two to four, while the
// cluster may have any number of names.
class ResourceSums {
 public:
  quota::Change& operator[](ResourceId resource) {
    const auto it = place(resource);
    if (it != sums_.end() && it->first == resource) return it->second;
    return sums_.insert(it, {resource, {}})->second;
  }
  // Zero for a resource without a sum.
  quota::Change of(ResourceId resource) const {
    const auto it =
        std::ranges::lower_bound(sums_, resource, {}, [](const auto& sum) { return sum.first; });
    return it != sums_.end() && it->first == resource ? it->second : quota::Change();
  }
  auto begin() { return sums_.begin(); }
  auto end() { return sums_.end(); }
  auto begin() const { return sums_.begin(); }
  auto end() const { return sums_.end(); }

 private:
  using Sums = std::vector<std::pair<ResourceId, quota::Change>>;
  // The first sum at or after the resource. Sorted, because an account may have thousands.
  Sums::iterator place(ResourceId resource) {
    if (sums_.size() > 16)
      return std::ranges::lower_bound(sums_, resource, {},
                                      [](const auto& sum) { return sum.first; });
    auto it = sums_.begin();
    while (it != sums_.end() && it->first < resource) ++it;
    return it;
  }
  Sums sums_;  // ascending
};

struct Account {
  std::string text;       // the label's value, or the namespace
  bool labelled = false;  // the text is a label's value
  Place place;
  ResourceSums sums;
  NamedTree::Priorities priorities;
  // The charges that nearly all pods have: all of their requests; one of preemptible pods, one of
  // others.
  std::weak_ptr<const Grant> charges[2];
  // Changes that have not reached the tree and `priorities`.
  ResourceSums due;
  std::vector<std::pair<std::int32_t, std::int64_t>> duePriorities;
  bool waits = false;  // among the tree's due accounts

  bool idle() const;
};
using AccountPtr = std::shared_ptr<Account>;

class Accounts {
 public:
  // nullptr if there is no such account yet.
  Account* find(bool labelled, std::string_view text) const;
  // Returns the account and creates it if needed; `fresh` is true if it was created, and its place
  // has to be set. The reference is valid until the next call.
  const AccountPtr& get(bool labelled, std::string_view text, bool& fresh);
  template <class F>
  void forEach(F&& fn) const {
    for (const auto* map : {&byLabel_, &byNamespace_})
      for (const auto& [text, account] : *map) fn(*account);
  }
  std::size_t size() const { return byLabel_.size() + byNamespace_.size(); }
  // Called before unused accounts are dropped. Caches of accounts must release theirs.
  std::function<void()> onSweep;

  // Adds to the sums of an account and, when the tree is next read, to those of its quota.
  static void add(Account& account, ResourceId resource, const quota::Change& change);
  // Adds the amounts to one of the sums in each resource, or subtracts them (-1). Amounts are
  // ascending by resource.
  static void add(Account& account, std::span<const PodAmount> amounts,
                  quota::Sum quota::Change::* sum, int sign);
  static void addPriority(Account& account, std::int32_t priority, std::int64_t pods);
  static void move(Account& account, const Place& to);

 private:
  static void noteDue(Account& account);
  static void markDue(Account& account) {
    if (!account.waits) noteDue(account);
  }
  using Map = boost::unordered_flat_map<std::string, AccountPtr, TextHash, std::equal_to<>>;
  void sweep();  // drops unused accounts

  Map byLabel_;
  Map byNamespace_;
  std::size_t sweepAt_ = 1024;
};

}  // namespace koord::scheduler
