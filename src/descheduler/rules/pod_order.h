#pragma once

// Which of two pods is evicted first: the less important one. Compared one after the other: Koordinator's priority
// class (free, batch, mid, prod, none), priority, Kubernetes' QoS (BestEffort first), Koordinator's QoS (BE, LS,
// LSR, LSE and SYSTEM, none), deletion cost, eviction cost, then whatever the caller adds, and age: younger first.

#include <compare>

#include "descheduler/framework/pod.h"

namespace koord::descheduler {

// Without age; equal pods of this order are of equal importance.
std::weak_ordering compareImportance(const PodFacts& a, const PodFacts& b);
std::weak_ordering compareAge(const PodFacts& a, const PodFacts& b);  // less: younger
// The whole order, and name where all else is equal, so that runs are reproducible.
bool evictedBefore(const Pod& a, const Pod& b);

// The order of Kubernetes' plugins: no priority first, then priority, QoS, pods that would rather stay last.
std::weak_ordering comparePriority(const PodFacts& a, const PodFacts& b);

}  // namespace koord::descheduler
