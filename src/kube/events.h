#pragma once

// Kubernetes Events: recorded without waiting, aggregated and rate-limited per object as client-go does
// (repeats raise count on one Event; a burst of 25 per object, then one per five minutes).

#include <list>
#include <string>
#include <unordered_map>

#include "api/core.h"
#include "base/random.h"
#include "kube/api.h"

namespace koord::kube {

class EventRecorder {
 public:
  EventRecorder(Api& api, Executor& executor, std::string component, Random random);

  // type: Normal or Warning. Failures to write are logged and dropped; events never hold anything up.
  void record(const api::ObjectReference& about, std::string_view type, std::string_view reason,
              std::string message, std::string_view action = "");

 private:
  struct Seen {
    api::ObjectKey key;
    int count = 0;
  };
  struct Budget {
    double tokens = 0;
    SteadyTime refilled{};
  };

  bool spend(const std::string& object);
  Task<void> write(std::string dedupKey, api::Event event);

  Api& api_;
  Executor& executor_;
  std::string component_;
  Random random_;
  TaskGroup tasks_;
  // Both are bounded: the oldest entries go first.
  std::unordered_map<std::string, Seen> seen_;
  std::list<std::string> seenOrder_;
  std::unordered_map<std::string, Budget> budgets_;
  std::list<std::string> budgetOrder_;
};

// The reference of an object, for record(): kind, namespace, name, uid, apiVersion, resourceVersion.
api::ObjectReference referenceTo(const api::ResourceType& type, const api::ObjectMeta& meta);

}  // namespace koord::kube
