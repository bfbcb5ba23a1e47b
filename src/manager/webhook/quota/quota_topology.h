#pragma once

// The tree of elastic quotas as their objects describe it, and what may be changed in it.
//
// A quota is named once in the whole cluster, whatever its namespace. Its parent, its tree and whether
// others may be below it are labels. The checks are pure: they say why a change is refused, in
// upstream's words, and change nothing. What is stored and what is only admitted is told apart by
// quota_book.h.
//
// A check costs the number of the quota's siblings and children.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/elasticquota.h"
#include "base/result.h"
#include "base/time.h"

namespace koord::manager {

struct QuotaInfo {
  std::string namespace_;  // of the object
  std::string name;
  std::string parent;  // koordinator-root-quota for the top ones
  std::string tree;
  bool isParent = false;
  bool lends = true;
  bool forceUpdate = false;
  bool isTreeRoot = false;
  api::ResourceList min;
  api::ResourceList max;
  api::ResourceList guaranteed;
  std::vector<std::string> namespaces;  // whose pods belong to it unless they say otherwise
  WallTime created = WallTime::max();   // not yet

  // All but when it was created.
  bool saysTheSame(const QuotaInfo& other) const;
};

QuotaInfo quotaInfoOf(const api::ElasticQuota& quota);

struct QuotaRules {
  bool keysMayDiffer = false;   // gate ElasticQuotaEnableUpdateResourceKey
  bool guaranteeUsage = false;  // gate ElasticQuotaGuaranteeUsage
};

class QuotaTopology {
 public:
  void put(const api::ElasticQuota& quota) { put(quotaInfoOf(quota)); }
  void put(QuotaInfo quota);
  void remove(const api::ElasticQuota& quota) {
    remove(quota.metadata.namespace_, quota.metadata.name);
  }
  void remove(std::string_view namespace_, std::string_view name);

  // nullptr when there is none. Of objects of several namespaces with one name the oldest counts, as it
  // does for the scheduler.
  const QuotaInfo* find(std::string_view name) const;
  const QuotaInfo* find(std::string_view namespace_, std::string_view name) const;
  // All objects with the name; the first counts.
  std::vector<QuotaInfo> holders(std::string_view name) const;
  void setHolders(const std::string& name, std::vector<QuotaInfo> holders);
  // The quota that lists the namespace; the first by name where several do.
  const QuotaInfo* ofNamespace(std::string_view namespace_) const;
  const std::set<std::string>& childrenOf(std::string_view name) const;

  // Why the change is refused. The topology must not hold the quota's new state.
  Result<> checkAdd(const api::ElasticQuota& quota, const QuotaRules& rules) const;
  // hasPods: whether pods are bound to the quota; asked for a quota that becomes a parent only.
  Result<> checkUpdate(const api::ElasticQuota& quota, const QuotaRules& rules, bool hasPods) const;
  // podNames: of the pods with the quota's label.
  Result<> checkDelete(std::string_view name, const std::vector<std::string>& podNames) const;

  // {"quotaInfoMap": {...}, "quotaHierarchyInfo": {...}}, for people.
  json::value summary() const;

 private:
  friend class QuotaChecks;

  using Names = std::set<std::string>;

  // Who lists the namespace besides the quota; nullptr when nobody does.
  const std::string* otherOf(std::string_view namespace_, std::string_view name) const;

  std::map<std::string, std::vector<QuotaInfo>, std::less<>> quotas_;  // never empty ones
  std::map<std::string, Names, std::less<>> children_;
  std::map<std::string, Names, std::less<>> byNamespace_;
};

// Whether an update touches nothing that the tree is made of: it needs no check.
bool sameQuota(const api::ElasticQuota& before, const api::ElasticQuota& after);

// What a quota says of itself: no negative amounts, min within max, weights that can be read.
Result<> checkQuotaItself(const api::ElasticQuota& quota);

}  // namespace koord::manager
