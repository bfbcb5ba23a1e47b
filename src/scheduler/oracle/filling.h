#pragma once

// Filling: how many more copies of some pods a cluster takes. A copy is created and scheduled after
// the other, by the scheduler itself, until it rejects one. So the answer has all that decides in
// reality: every plugin, quotas, gangs, and where earlier copies are. Copies come in batches, which
// grow while all of a batch are placed; an incomplete copy is deleted again, and of copies with
// several pods smaller batches follow, down to one copy.
//
// A copy never preempts: its pods have preemptionPolicy Never. Cost: that of scheduling the pods.

#include <span>
#include <string>
#include <vector>

#include "scheduler/oracle/course.h"
#include "scheduler/oracle/pools.h"

namespace koord::scheduler::oracle {

inline constexpr std::size_t kMaxFilledPods = 200'000;

// What is created for each copy.
struct Copy {
  std::vector<AskedPod> pods;
  std::vector<json::value> groups;  // PodGroups of `pods`
  bool whole = false;  // it has all pods of the question; else one of a workload's equal pods
};
// Takes the pods and their PodGroups out of the expansion of a question. A workload's copy is one
// pod; several workloads, or pods of a gang, are one copy. Invalid: there are no pods, or a copy
// has more than a simulation takes.
Result<Copy> takeCopy(Expansion& expansion);

class Filling {
 public:
  // On a course whose other changes have been made. pools: a label of nodes, or "" (pools.h).
  Filling(Course& course, Copy copy, const std::string& pools);

  void run();
  // {copies, podsPerCopy, pods, of, full, message, pools: {...}}; see answer.h. Also before run()
  // has ended.
  json::object describe() const;

 private:
  // Creates copies, runs the course, and deletes incomplete ones. False if there were any.
  bool add(std::size_t copies);
  void create(std::uint64_t number);
  // Deletes the pods of copies that are not complete: this one and others. Keeps why the nodes
  // reject it when the others are gone.
  void explain(const FollowedPod& refused, std::span<const std::string> others);

  Course& course_;
  const Copy copy_;
  PoolTable pools_;
  std::uint64_t made_ = 0;           // copies, for names
  std::vector<std::size_t> placed_;  // pods of complete copies, among those of the course
  bool full_ = false;
  std::string message_;  // the scheduler's, for the first pod that it rejected
};

}  // namespace koord::scheduler::oracle
