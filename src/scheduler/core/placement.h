#pragma once

// Placement: units that were given their places in one scheduling cycle but are not on their way
// yet. Each is counted on its node, has what Reserve plugins gave it, and has been permitted or told
// to wait. Leaving the scope without commit() takes everything back in reverse order.

#include "scheduler/core/attempt.h"

namespace koord::scheduler {

class Placement {
 public:
  explicit Placement(Shared& shared) : shared_(shared) {}
  ~Placement() { takeBack(); }
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // Success, or why the node cannot be taken after all; the attempt holds nothing then.
  Status take(Attempt& attempt, NodeId node);
  // From here on whoever holds the attempts is responsible for them.
  void commit() { taken_.clear(); }
  void takeBack();
  // Takes back one of them, if it is among them.
  void release(Attempt& attempt);

  // Gives up a place that was committed. False when the API has shown it bound after all: it stays.
  static bool giveUp(Shared& shared, Attempt& attempt);

 private:
  static Status reserve(Attempt& attempt);
  static Status permit(Shared& shared, Attempt& attempt);
  static void unreserve(Attempt& attempt);

  Shared& shared_;
  std::vector<Attempt*> taken_;
};

}  // namespace koord::scheduler
