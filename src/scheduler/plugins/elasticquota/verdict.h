#pragma once

// Decides whether a quota and its ancestors have enough left for a pod, and makes the message if
// not.

#include <boost/container/small_vector.hpp>
#include <string>

#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::scheduler {

// The limits that apply to a pod, from the arguments of its profile.
struct QuotaRules {
  bool runtime = true;     // the limit is the quota's runtime, else its max
  bool ancestors = false;  // the ancestors' limits count, too
};

// The pod's requests of the resources in the quota's max, by column.
using QuotaRequest = boost::container::small_vector<std::pair<quota::Column, std::int64_t>, 4>;
QuotaRequest askOf(const Quotas& quotas, const Place& place, const PodInfo& pod,
                   const Resources* within = nullptr);

struct Shortage {
  enum class Kind { None, Limit, Fixed, Ancestor } kind = Kind::None;
  quota::QuotaId quota = quota::kNoQuota;  // the quota that is full
  quota::Columns exceeded;
  explicit operator bool() const { return kind != Kind::None; }
};

// Uses the current state of the cluster, including simulated changes, and the runtimes of the last
// refresh.
//
// As upstream, a pod's own quota must not be exceeded in any resource, including those that the pod
// does not request; ancestors must not be exceeded in the resources that it requests.
Shortage shortageOf(const Place& place, const QuotaRequest& ask, bool fixed,
                    const QuotaRules& rules);

// "Insufficient quotas, quotaName: ..."
std::string textOf(const Quotas& quotas, const Place& place, const QuotaRequest& ask,
                   const Shortage& shortage, const QuotaRules& rules);

std::int64_t limitOf(const quota::Cell& cell, const QuotaRules& rules);
// What the quota and its ancestors have left in each resource, as bytes: verdicts depend on nothing
// else.
std::string headroomText(const Place& place, bool fixed, const QuotaRules& rules);

// "cpu:40,memory:100Gi", "<empty>"
std::string listText(const Quotas& quotas, const quota::QuotaTree& tree,
                     const quota::Columns& columns,
                     const std::function<std::int64_t(quota::Column)>& amount, bool zeros);

}  // namespace koord::scheduler
