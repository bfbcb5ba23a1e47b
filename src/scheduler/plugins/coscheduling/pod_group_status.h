#pragma once

// The status of a PodGroup, from where its pods are.
//
//   ""                                    -> Pending
//   Pending, with minMember > 0 pods      -> PreScheduling, and whom they belong to
//   else, no pods                         -> Pending
//   else, fewer than minMember on a node  -> Scheduling
//   else                                  -> Scheduled
//     of these: enough run or succeeded   -> Running
//   some failed, and enough ran           -> Failed
//   enough succeeded                      -> Finished
//
// Pods that have ended count with those on a node: they had one.

#include <string>
#include <vector>

#include "api/podgroup.h"
#include "base/executor.h"

namespace koord::scheduler {

struct GangPods {
  int pods = 0;
  int scheduled = 0;  // on a node, or ended
  int running = 0;
  int succeeded = 0;
  int failed = 0;
  std::string owners;  // of one of them: "namespace/name,..."
};

// Whether nothing about it is looked at any more: it has ended, or its pods went long ago.
bool isSettled(const api::PodGroup& group);

api::PodGroupStatus podGroupStatus(const api::PodGroup& group, const GangPods& pods, WallTime now);

}  // namespace koord::scheduler
