#pragma once

// DefaultEvictorArgs of the Kubernetes descheduler, read, checked and defaulted.

#include <optional>
#include <set>
#include <string>

#include "api/selector.h"
#include "base/fields.h"

namespace koord::descheduler {

struct DefaultEvictorArgs {
  std::optional<api::Selector> nodeSelector;  // of the nodes that nodeFit checks
  bool nodeFit = false;
  api::StringMap namespaceLabels;
  std::optional<api::Selector> labelSelector;
  std::optional<std::int32_t> priorityThreshold;
  std::string priorityClass;  // its value is the threshold; resolved at start
  std::uint32_t minReplicas = 0;
  std::optional<Duration> minPodAge;
  bool protectsPreferNoEviction = false;  // noEvictionPolicy Mandatory
  // The protections in force.
  bool localStorage = true;
  bool daemonSets = true;
  bool systemCritical = true;
  bool failedBare = true;  // off: failed bare pods may be evicted
  bool claims = false;
  std::set<std::string> protectedClasses;  // storage classes of claims; empty: any
  bool withoutBudget = false;
  bool resourceClaims = false;

  static DefaultEvictorArgs read(Fields& args);
  json::object effective;
};

// {value, name}; only one may be given.
struct PriorityThreshold {
  std::optional<std::int32_t> value;
  std::string name;
  static PriorityThreshold read(Fields& args);
};

}  // namespace koord::descheduler
