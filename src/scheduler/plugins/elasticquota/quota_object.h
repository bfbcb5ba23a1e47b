#pragma once

// Parses and checks ElasticQuota objects. A quota with invalid fields still counts, with its valid
// fields: a typo in one quota must not stop the pods of others.

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
  std::string tree;  // with MultiQuotaTree; "" = the default tree
  bool treeRoot = false;
  bool ignoresDefaultTree = false;
  quota::Amounts treeTotal;             // of a tree's root: its total resources
  api::ResourceList unschedulable;      // the part of the total that is on unschedulable nodes
  std::vector<std::string> namespaces;  // whose pods belong to it unless a label names another
  std::vector<std::string> problems;    // "spec.min[cpu]: ...", each begins with a field
};

QuotaObject readQuota(const api::ElasticQuota& quota, ResourceNames& names);

// Amounts in the units of the tree: cpu in millicores, others in whole units, rounded up.
std::int64_t amountOf(std::string_view resource, const Quantity& quantity);
Quantity quantityOf(std::string_view resource, std::int64_t amount);
quota::Amounts amountsOf(const api::ResourceList& list, ResourceNames& names);

// A max that means no limit: the default of the built-in quotas.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
// The amounts without those that mean no limit.
quota::Amounts withoutLimit(quota::Amounts amounts);

// Returns true if the label is "false": the pod is not preemptible.
bool isFixed(const api::StringMap& podLabels);

}  // namespace koord::scheduler
