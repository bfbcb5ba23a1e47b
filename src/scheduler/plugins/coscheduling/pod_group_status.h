#pragma once

// The status of a PodGroup, computed from the state of its pods.
//
//   ""                                    -> Pending
//   Pending, with minMember > 0 pods      -> PreScheduling, and the pods' owners
//   else, no pods                         -> Pending
//   else, fewer than minMember on a node  -> Scheduling
//   else                                  -> Scheduled
//     of these: enough run or succeeded   -> Running
//   some failed, and enough ran           -> Failed
//   enough succeeded                      -> Finished
//
// Finished pods count as on a node, because they had one.

#include <string>
#include <vector>

#include "api/podgroup.h"
#include "base/executor.h"

namespace koord::scheduler {

struct GangPods {
  int pods = 0;
  int scheduled = 0;  // on a node, or finished
  int running = 0;
  int succeeded = 0;
  int failed = 0;
  std::string owners;  // of one of them: "namespace/name,..."
};

// Returns true if the status is final: the PodGroup is Finished or Failed, or minMember pods are
// scheduled, none runs, and the scheduling began more than 48 hours after its creation.
bool isSettled(const api::PodGroup& group);

api::PodGroupStatus podGroupStatus(const api::PodGroup& group, const GangPods& pods, WallTime now);

}  // namespace koord::scheduler
