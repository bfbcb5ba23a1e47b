#pragma once

// Placement: units that one scheduling cycle has assumed on nodes but not passed to binding yet.
// Each is counted on its node, reserved by the Reserve plugins, and permitted or waiting. Leaving
// the scope without commit() unreserves and forgets all of them in reverse order.

#include "scheduler/core/attempt.h"

namespace koord::scheduler {

class Placement {
 public:
  explicit Placement(Shared& shared) : shared_(shared) {}
  ~Placement() { releaseAll(); }
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // Assumes the unit on the node, then runs Reserve and Permit. If that fails, returns the reason;
  // nothing stays assumed or reserved for the attempt.
  Status assumeAndReserve(Attempt& attempt, NodeId node);
  // Passes the responsibility for the attempts to the caller.
  void commit() { reserved_.clear(); }
  void releaseAll();
  // Unreserves and forgets the attempt if it is in this placement.
  void release(Attempt& attempt);

  // The same for a committed attempt. False if the API has shown it bound meanwhile: it stays
  // counted.
  static bool unreserveAndForget(Shared& shared, Attempt& attempt);

 private:
  static Status reserve(Attempt& attempt);
  static Status permit(Shared& shared, Attempt& attempt);
  static void unreserve(Attempt& attempt);
  void restoreNomination(const Attempt& attempt);

  Shared& shared_;
  std::vector<Attempt*> reserved_;
};

}  // namespace koord::scheduler
