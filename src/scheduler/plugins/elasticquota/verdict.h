#pragma once

// Whether a quota, and those above it, have room for a pod, and the words for it when not.

#include <boost/container/small_vector.hpp>
#include <string>

#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::scheduler {

// What limits a pod, by the arguments of its profile.
struct QuotaRules {
  bool runtime = true;     // the limit is what a quota is entitled to now, else its max
  bool ancestors = false;  // the quotas above count, too
};

// What a pod asks of its quota: only what the quota's max names, by column.
using QuotaAsk = boost::container::small_vector<std::pair<quota::Column, std::int64_t>, 4>;
QuotaAsk askOf(const Quotas& quotas, const Place& place, const PodInfo& pod,
               const Resources* within = nullptr);

struct Shortage {
  enum class Kind { None, Limit, Fixed, Ancestor } kind = Kind::None;
  quota::QuotaId quota = quota::kNoQuota;  // that is full
  quota::Columns exceeded;
  explicit operator bool() const { return kind != Kind::None; }
};

// By the cluster as it is, what-if changes included; runtimes as they were when they were last refreshed.
//
// As upstream, a pod's own quota must not be exceeded in any resource, also not in one that the pod does
// not ask for; those above it only in what it asks for.
Shortage shortageOf(const Place& place, const QuotaAsk& ask, bool fixed, const QuotaRules& rules);

// "Insufficient quotas, quotaName: ..."
std::string textOf(const Quotas& quotas, const Place& place, const QuotaAsk& ask,
                   const Shortage& shortage, const QuotaRules& rules);

std::int64_t limitOf(const quota::Cell& cell, const QuotaRules& rules);
// How much more the quota, and those above it, take in each resource: what verdicts rest on, as bytes.
std::string roomOf(const Place& place, bool fixed, const QuotaRules& rules);

// "cpu:40,memory:100Gi", "<empty>"
std::string listText(const Quotas& quotas, const quota::QuotaTree& tree,
                     const quota::Columns& columns,
                     const std::function<std::int64_t(quota::Column)>& amount, bool zeros);

}  // namespace koord::scheduler
