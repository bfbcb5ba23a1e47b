#pragma once

// DefaultEvictorArgs of the Kubernetes descheduler, read, checked and defaulted.

#include <optional>
#include <set>
#include <string>

#include "api/selector.h"
#include "base/fields.h"

namespace koord::descheduler {

struct DefaultEvictorArgs {
  std::optional<api::Selector> nodeSelector;  // of the nodes that nodeFit looks at
  bool nodeFit = false;
  api::StringMap namespaceLabels;
  std::optional<api::Selector> labelSelector;
  std::optional<std::int32_t> priorityThreshold;
  std::string priorityClass;  // whose value is the threshold; found out at start
  std::uint32_t minReplicas = 0;
  std::optional<Duration> minPodAge;
  bool keepPreferring = false;  // noEvictionPolicy Mandatory
  // Protections that hold.
  bool localStorage = true;
  bool daemonSets = true;
  bool systemCritical = true;
  bool failedBare = true;  // off: bare pods go when they have failed
  bool claims = false;
  std::set<std::string> protectedClasses;  // of claims; empty: any
  bool withoutBudget = false;
  bool resourceClaims = false;

  static DefaultEvictorArgs read(Fields& args);
  json::object effective;
};

// {value, name}, of which one may be given.
struct PriorityThreshold {
  std::optional<std::int32_t> value;
  std::string name;
  static PriorityThreshold read(Fields& args);
};

}  // namespace koord::descheduler
