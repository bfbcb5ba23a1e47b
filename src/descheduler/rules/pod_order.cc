#include "descheduler/rules/pod_order.h"

#include <tuple>

namespace koord::descheduler {

namespace {

int rank(model::PriorityClass priorityClass) {
  switch (priorityClass) {
    case model::PriorityClass::Free:
      return 1;
    case model::PriorityClass::Batch:
      return 2;
    case model::PriorityClass::Mid:
      return 3;
    case model::PriorityClass::Prod:
      return 4;
    case model::PriorityClass::None:
      break;
  }
  return 5;
}

int rank(model::KubernetesQos qos) {
  switch (qos) {
    case model::KubernetesQos::BestEffort:
      return 1;
    case model::KubernetesQos::Burstable:
      return 2;
    case model::KubernetesQos::Guaranteed:
      break;
  }
  return 3;
}

int rank(model::Qos qos) {
  switch (qos) {
    case model::Qos::BE:
      return 1;
    case model::Qos::LS:
      return 2;
    case model::Qos::LSR:
      return 3;
    case model::Qos::LSE:
    case model::Qos::System:
      return 4;
    case model::Qos::None:
      break;
  }
  return 5;
}

auto importance(const PodFacts& facts) {
  return std::tuple(rank(facts.priorityClass), facts.priority, rank(facts.kubernetesQos),
                    rank(facts.qos), facts.deletionCost, facts.evictionCost);
}

}  // namespace

std::weak_ordering compareImportance(const PodFacts& a, const PodFacts& b) {
  return importance(a) <=> importance(b);
}

std::weak_ordering compareAge(const PodFacts& a, const PodFacts& b) {
  return b.createdAt <=> a.createdAt;
}

bool evictedBefore(const Pod& a, const Pod& b) {
  if (const auto order = compareImportance(a.facts, b.facts); order != 0) return order < 0;
  if (const auto order = compareAge(a.facts, b.facts); order != 0) return order < 0;
  return std::tie(a.metadata.namespace_, a.metadata.name) <
         std::tie(b.metadata.namespace_, b.metadata.name);
}

std::weak_ordering comparePriority(const PodFacts& a, const PodFacts& b) {
  const auto key = [](const PodFacts& facts) {
    return std::tuple(facts.is(PodFacts::HasPriority), facts.priority, rank(facts.kubernetesQos),
                      facts.is(PodFacts::PreferStay));
  };
  return key(a) <=> key(b);
}

}  // namespace koord::descheduler
