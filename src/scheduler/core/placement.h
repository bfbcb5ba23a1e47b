#pragma once

// Placement: units that one scheduling cycle has assumed on nodes but not handed to binding yet.
// Each is counted on its node, has what Reserve plugins gave it, and has been permitted or told to
// wait. Leaving the scope without commit() unreserves and forgets all of them in reverse order.

#include "scheduler/core/attempt.h"

namespace koord::scheduler {

class Placement {
 public:
  explicit Placement(Shared& shared) : shared_(shared) {}
  ~Placement() { releaseAll(); }
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // Assumes the unit on the node, then runs Reserve and Permit. Success, or why that failed; nothing
  // is assumed or reserved for the attempt then.
  Status assumeAndReserve(Attempt& attempt, NodeId node);
  // From here on whoever holds the attempts is responsible for them.
  void commit() { reserved_.clear(); }
  void releaseAll();
  // Unreserves and forgets one of them, if it is among them.
  void release(Attempt& attempt);

  // The same for one that was committed. False when the API has shown it bound after all: it stays
  // counted.
  static bool unreserveAndForget(Shared& shared, Attempt& attempt);

 private:
  static Status reserve(Attempt& attempt);
  static Status permit(Shared& shared, Attempt& attempt);
  static void unreserve(Attempt& attempt);

  Shared& shared_;
  std::vector<Attempt*> reserved_;
};

}  // namespace koord::scheduler
