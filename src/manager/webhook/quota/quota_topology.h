#pragma once

// The tree of elastic quotas as their objects describe it, and what may be changed in it.
//
// A quota is named once in the whole cluster, whatever its namespace. Its parent, its tree and whether
// others may be below it are labels. The checks are pure: they say why a change is refused, in
// upstream's words, and change nothing. Whoever asks builds the topology from what the API server
// holds now, so that nothing that was only admitted, and never stored, is ever counted.
//
// A check costs the number of the quota's siblings and children; building costs the number of quotas.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/elasticquota.h"
#include "base/result.h"

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
};

QuotaInfo quotaInfoOf(const api::ElasticQuota& quota);

struct QuotaRules {
  bool keysMayDiffer = false;   // gate ElasticQuotaEnableUpdateResourceKey
  bool guaranteeUsage = false;  // gate ElasticQuotaGuaranteeUsage
};

class QuotaTopology {
 public:
  void put(const api::ElasticQuota& quota);
  void remove(const api::ElasticQuota& quota);

  // nullptr when there is none.
  const QuotaInfo* find(std::string_view name) const;
  // The quota that lists the namespace.
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

  std::map<std::string, QuotaInfo, std::less<>> quotas_;
  std::map<std::string, std::set<std::string>, std::less<>> children_;
  std::map<std::string, std::string, std::less<>> byNamespace_;
};

// Whether an update touches nothing that the tree is made of: it needs no check.
bool sameQuota(const api::ElasticQuota& before, const api::ElasticQuota& after);

// What a quota says of itself: no negative amounts, min within max, weights that can be read.
Result<> checkQuotaItself(const api::ElasticQuota& quota);

}  // namespace koord::manager
