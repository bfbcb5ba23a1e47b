#pragma once

// The tree of elastic quotas as their objects describe it, and the checks of changes.
//
// Quota names are unique in the cluster, across namespaces. A quota's parent, its tree and whether
// it may be a parent are labels. The checks are pure: they return why a change is refused, in
// upstream's words. quota_ledger.h distinguishes stored and admitted changes.
//
// Cost of a check: linear in the number of siblings and children.

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
  std::string parent;  // koordinator-root-quota for quotas without a parent
  std::string tree;
  bool isParent = false;
  bool lends = true;
  bool forceUpdate = false;
  bool isTreeRoot = false;
  api::ResourceList min;
  api::ResourceList max;
  api::ResourceList guaranteed;
  std::vector<std::string> namespaces;  // whose pods belong to it by default
  WallTime created = WallTime::max();   // max: not created yet

  // Compares all fields but the creation time.
  bool equalsObject(const QuotaInfo& other) const;
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

  // nullptr if there is none. If objects in several namespaces have the name, the oldest counts, as
  // for the scheduler.
  const QuotaInfo* find(std::string_view name) const;
  const QuotaInfo* find(std::string_view namespace_, std::string_view name) const;
  // All objects with the name; the first counts.
  std::vector<QuotaInfo> holders(std::string_view name) const;
  void setHolders(const std::string& name, std::vector<QuotaInfo> holders);
  // The quota that lists the namespace; the first by name if several do.
  const QuotaInfo* ofNamespace(std::string_view namespace_) const;
  const std::set<std::string>& childrenOf(std::string_view name) const;

  // These fail with the reason if the change is refused. The topology must not have the quota's new
  // state.
  Result<> checkAdd(const api::ElasticQuota& quota, const QuotaRules& rules) const;
  // hasPods: true if pods are bound to the quota; used only for a quota that becomes a parent.
  Result<> checkUpdate(const api::ElasticQuota& quota, const QuotaRules& rules, bool hasPods) const;
  // podNames: the pods with the quota's label.
  Result<> checkDelete(std::string_view name, const std::vector<std::string>& podNames) const;

  // {"quotaInfoMap": {...}, "quotaHierarchyInfo": {...}}, for operators.
  json::value summary() const;

 private:
  friend class QuotaChecks;

  using Names = std::set<std::string>;

  // Another quota that lists the namespace; nullptr if there is none.
  const std::string* otherOf(std::string_view namespace_, std::string_view name) const;

  std::map<std::string, std::vector<QuotaInfo>, std::less<>> quotas_;  // never empty ones
  std::map<std::string, Names, std::less<>> children_;
  std::map<std::string, Names, std::less<>> byNamespace_;
};

// Returns true if an update changes no field of the tree. Then it needs no check.
bool sameQuota(const api::ElasticQuota& before, const api::ElasticQuota& after);

// Checks a quota by itself: no negative amounts, min within max, valid weights.
Result<> checkQuotaFields(const api::ElasticQuota& quota);

}  // namespace koord::manager
