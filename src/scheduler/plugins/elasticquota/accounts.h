#pragma once

// Accounts: pods that always belong to the same quota, because they say the same about it: those with the
// same label quota.scheduling.koordinator.sh/name, or, without it, those of the same namespace. What pods
// ask for and use is added up per account; which quota an account counts in can change (a quota comes or
// goes), and then its sums move as a whole, and no pod has to be looked at.

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

// Trees of quotas have an id; "" is the default one. What accounts are charged reaches the tree when somebody
// looks at it: quotas without limits, as the default one nearly always is, are charged by many and looked at by
// few.
class NamedTree {
 public:
  NamedTree(std::string treeId, const quota::QuotaTree::Settings& settings);
  const std::string id;

  // With all that accounts were charged so far. Who keeps it sees later charges only after asking again.
  quota::QuotaTree& quotas() {
    settle();
    return quotas_;
  }
  const std::string& name(quota::QuotaId quota) const { return quotas_.name(quota); }
  // Whether nothing that pods use can exceed it.
  bool unlimited(quota::QuotaId quota) const;

  // How many pods on nodes have this priority and may be preempted, by quota.
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

// A quota of a tree; none when pods are not limited.
struct Place {
  NamedTree* tree = nullptr;
  quota::QuotaId quota = quota::kNoQuota;
  explicit operator bool() const { return tree != nullptr; }
  bool operator==(const Place&) const = default;
  quota::QuotaTree& quotas() const { return tree->quotas(); }
  const std::string& name() const { return tree->name(quota); }
  bool unlimited() const { return tree->unlimited(quota); }
};

// What pods ask for of a resource.
using PodAmount = std::pair<ResourceId, std::int64_t>;

// Sums by resource, of those that somebody has named here: mostly two to four, while there may be any
// number of names in the cluster.
class ResourceSums {
 public:
  quota::Change& operator[](ResourceId resource) {
    const auto it = place(resource);
    if (it != sums_.end() && it->first == resource) return it->second;
    return sums_.insert(it, {resource, {}})->second;
  }
  // Zero where nobody has named it.
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
  // The first that is not before it; there are few, but somebody may have thousands.
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
  bool labelled = false;  // by label
  Place place;
  ResourceSums sums;
  NamedTree::Priorities priorities;
  // The charges of nearly all pods: all that they ask for, of those that may be preempted and of others.
  std::weak_ptr<const Grant> charges[2];
  // Sums that the tree has not heard of; priorities that nobody has.
  ResourceSums due;
  std::vector<std::pair<std::int32_t, std::int64_t>> duePriorities;
  bool waits = false;  // among the tree's due accounts

  bool idle() const;
};
using AccountPtr = std::shared_ptr<Account>;

class Accounts {
 public:
  // nullptr: nobody has asked for it yet.
  Account* find(bool labelled, std::string_view text) const;
  // Makes it when it is not there; `fresh` says so: its place is to be set. The reference is good
  // until the next call.
  const AccountPtr& get(bool labelled, std::string_view text, bool& fresh);
  template <class F>
  void forEach(F&& fn) const {
    for (const auto* map : {&byLabel_, &byNamespace_})
      for (const auto& [text, account] : *map) fn(*account);
  }
  std::size_t size() const { return byLabel_.size() + byNamespace_.size(); }
  // Called before accounts that nobody has any more are dropped: who keeps some in a cache lets go of them.
  std::function<void()> onSweep;

  // Adds to the sums of an account and, when somebody looks, of the quota that it counts in.
  static void add(Account& account, ResourceId resource, const quota::Change& change);
  // Only to one of them in each resource, or (-1) away from it. Amounts are ascending by resource.
  static void add(Account& account, std::span<const PodAmount> amounts,
                  quota::Sum quota::Change::* sum, int sign);
  static void addPriority(Account& account, std::int32_t priority, std::int64_t pods);
  static void move(Account& account, const Place& to);

 private:
  static void noteDue(Account& account);
  static void owe(Account& account) {
    if (!account.waits) noteDue(account);
  }
  using Map = boost::unordered_flat_map<std::string, AccountPtr, TextHash, std::equal_to<>>;
  void sweep();  // those that nobody has any more

  Map byLabel_;
  Map byNamespace_;
  std::size_t sweepAt_ = 1024;
};

}  // namespace koord::scheduler
