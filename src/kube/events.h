#pragma once

// Kubernetes Events: recorded without waiting, aggregated and rate-limited per object as in
// client-go. A repeated event raises the count of one Event. Of events with one reason and
// different texts within ten minutes, the tenth and later ones are combined. An object may have a
// burst of 25, then one per five minutes.

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/core.h"
#include "base/bounded_map.h"
#include "base/random.h"
#include "kube/api.h"

namespace koord::kube {

class EventRecorder {
 public:
  EventRecorder(Api& api, Executor& executor, std::string component, Random random);

  // type: Normal or Warning. related: a related object. Never delays the caller. A repetition of an
  // event that is not written yet raises its count. A failed write that may succeed later is
  // retried for two minutes, after the other pending events. Then, and after any other failure, the
  // event is dropped. The first of several losses is logged as a warning.
  void record(const api::ObjectReference& about, std::string_view type, std::string_view reason,
              std::string message, std::string_view action = "",
              std::optional<api::ObjectReference> related = {});

 private:
  // A digest of a text, because there may be texts of thousands of objects. Texts with the same
  // digest share a count.
  using Digest = std::size_t;

  struct Seen {
    api::ObjectKey key;
    std::int32_t count = 0;
  };
  struct Similar {
    std::vector<Digest> messages;  // distinct texts
    SteadyTime last{};
  };
  struct Budget {
    double tokens = 0;
    SteadyTime refilled{};
  };

  struct Pending {
    Digest dedupKey = 0;
    api::Event event;
    SteadyTime since{};  // the first attempt
    bool tried = false;  // an earlier attempt may have written the event
  };

  bool spend(Digest object);
  // Writes the events one after the other, so that the first of a kind exists before its repeats.
  Task<void> writeAll();
  Task<Result<>> write(const Pending& pending);
  void add(Pending pending);
  void retryLater(Pending pending);
  void lost(const api::Event& event, std::string_view why);
  void onWriteSucceeded();

  Api& api_;
  Executor& executor_;
  std::string component_;
  std::string instance_;
  Random random_;
  BoundedMap<Digest, Seen> seen_;
  BoundedMap<Digest, Similar> similar_;
  BoundedMap<Digest, Budget> budgets_;
  std::deque<Pending> pending_;
  std::unordered_map<Digest, Pending*> pendingByKey_;  // of pending_
  bool writing_ = false;
  std::size_t lost_ = 0;  // events lost since the last success
  TaskGroup tasks_;
};

// The reference of an object, for record(): kind, namespace, name, uid, apiVersion,
// resourceVersion.
api::ObjectReference referenceTo(const api::ResourceType& type, const api::ObjectMeta& meta);

}  // namespace koord::kube
