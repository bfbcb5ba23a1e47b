#pragma once

// Decides which of two pods is evicted first: the less important one. Compares in this order:
// Koordinator's priority class (free, batch, mid, prod, none), priority, Kubernetes' QoS
// (BestEffort first), Koordinator's QoS (BE, LS, LSR, LSE and SYSTEM, none), deletion cost,
// eviction cost, then the caller's criteria, and age: younger first.

#include <compare>

#include "descheduler/framework/pod.h"

namespace koord::descheduler {

// The order without age. Pods that are equal in it are of equal importance.
std::weak_ordering compareImportance(const PodFacts& a, const PodFacts& b);
std::weak_ordering compareAge(const PodFacts& a, const PodFacts& b);  // less: younger
// The whole order, and then the name, so that runs are reproducible.
bool evictedBefore(const Pod& a, const Pod& b);

// The order of Kubernetes' plugins: pods without priority first, then priority and QoS; pods that
// prefer no eviction last.
std::weak_ordering comparePriority(const PodFacts& a, const PodFacts& b);

}  // namespace koord::descheduler
