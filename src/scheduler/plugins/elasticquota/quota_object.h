#pragma once

// What an ElasticQuota object says, and what is wrong with it. A quota with mistakes still counts, with
// what can be made of it: a typo in one must not stop the pods of others.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "api/elasticquota.h"
#include "scheduler/engine/resources.h"
#include "scheduler/plugins/elasticquota/tree/quota_tree.h"

namespace koord::scheduler {

struct QuotaObject {
  quota::Spec spec;
  std::string tree;  // with MultiQuotaTree; "" = the default one
  bool treeRoot = false;
  bool ignoresDefaultTree = false;
  quota::Amounts treeTotal;             // of a tree's root: all that there is
  api::ResourceList unschedulable;      // ... and what of it is on nodes that take nobody
  std::vector<std::string> namespaces;  // whose pods belong to it unless they say otherwise
  std::vector<std::string> problems;    // "spec.min[cpu]: ...", each naming a field
};

QuotaObject readQuota(const api::ElasticQuota& quota, ResourceNames& names);

// Amounts as they are counted: cpu in thousandths, others in whole units, rounded up.
std::int64_t amountOf(std::string_view resource, const Quantity& quantity);
Quantity quantityOf(std::string_view resource, std::int64_t amount);
quota::Amounts amountsOf(const api::ResourceList& list, ResourceNames& names);

// A max that is no limit: what the built-in quotas have unless somebody says otherwise.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
// The same amounts, where those that are meant to be no limit are none.
quota::Amounts withoutLimit(quota::Amounts amounts);

// "false" says that a pod is not to be preempted.
bool isFixed(const api::StringMap& podLabels);

}  // namespace koord::scheduler
