#pragma once

// Answers a question on a scheduler that a seam has cut off: runs the course and describes it as a
// document of kind SimulationResult. The scheduler is of no use afterwards.
//
//   status:
//     complete: true               # false: a limit was reached; the rest was not tried
//     state: {time, version}       # of the scheduler when it was copied; the version counts the
//                                  # events and answers that the scheduler had received
//     placed, pending, notTried    # numbers of pods
//     pods: [{namespace, name, of, from, state, node, nominatedNode, attempts,
//             firstAttempt: {node, nominatedNode}, message}]   # both if there were several
//     victims: [{namespace, name, node, priority, preemptor, preemptorPriority, plugin}]
//     others: [{namespace, name, node}]   # pods that were pending before and have a node now
//     remedies: [{pods, of, nearestMiss, butForOne, nodes: {count, like}}]
//     quotas: [{name, before: {...}, after: {...}}]
//     nodes: [{name, change, allocatable, before, after}]   # node_changes.h
//     notes: [...]
//
// Of a question with `fill`, in place of pods, victims, others, remedies and nodes:
//
//     fill: {copies, podsPerCopy, pods, of,   # "of": the workload if a copy is one of its pods
//            full,      # true: the scheduler rejected the next copy; false: a limit was reached
//            message,   # the scheduler's, for a pod of that copy
//            pools: {label, list: [...]}}     # pools.h
//
// Of a question with `when`, in place of pods, victims, others, remedies, quotas and nodes:
//
//     when: {courses, interval, estimates: [...]}   # starts/starts.h
//
// Of a question with `nodesFor`, in place of all but notes:
//
//     nodesFor: {pods, count,          # absent: no number is enough, or a limit was reached
//                tooFew,               # the largest number that was tried and is not enough
//                lowerBound, tries,
//                placed, pending, message,   # of the last try that failed
//                resources: [{name, requested, perNode, nodes, use}]}   # use: percent

#include <functional>
#include <optional>

#include "scheduler/framework/registry.h"
#include "scheduler/oracle/course.h"
#include "scheduler/oracle/filling.h"
#include "scheduler/oracle/node_changes.h"
#include "scheduler/oracle/nodes_needed.h"
#include "scheduler/oracle/quota_view.h"
#include "scheduler/oracle/starts/starts.h"

namespace koord::scheduler::oracle {

inline constexpr std::size_t kMaxPods = 20'000;

struct Subject {
  Scheduler& scheduler;
  SeamExecutor& executor;  // cut
  SeamApi& api;            // not yet
  const Registry& registry;
  const PodExists& exists;                        // for pods that are not pending
  const forecast::RunHistory* history = nullptr;  // for starts; nullptr: nothing is known
};

class Answerer {
 public:
  explicit Answerer(Subject subject) : subject_(subject) {}

  // Called now and then; it need not return. May be empty.
  std::function<void()> checkpoint;

  // Of the time for the answer: true when it is over. May be empty.
  std::function<bool()> isLate;

  // Called with what is known before anything that may take long: at the beginning, and before
  // remedies are looked for. May be empty.
  std::function<void(const json::value& answer)> interim;

  // Invalid: the question cannot be asked; the message names the field.
  Result<json::value> answer(const Question& question, const CompletePods& pods);
  // What was found until now; for a checkpoint that ends the answer.
  json::value sofar(const std::string& why) const;

 private:
  // What becomes of the pods.
  Result<json::value> play(const Question& question, Expansion expansion, const CompletePods& pods);
  Result<json::value> fill(const Question& question, Expansion expansion, const CompletePods& pods);
  Result<json::value> foretellStarts(const Question& question, Expansion expansion,
                                     const CompletePods& pods);
  Result<json::value> countNodes(const Question& question, Expansion expansion);
  // Sets up the course of a scheduler, that of the process or another one, and makes the changes.
  Result<> begin(const Question& question, Expansion expansion, const CompletePods& pods);
  // null: the configuration of the scheduler itself.
  Result<std::unique_ptr<Scheduler>> emptyScheduler(const json::value& configuration);
  Result<std::unique_ptr<Scheduler>> otherScheduler(const json::value& configuration);
  json::object describe() const;
  json::object newStatus() const;
  void addPods(json::object& status) const;
  void addNotes(json::object& status) const;
  void addChanges(json::object& status) const;

  Subject subject_;
  WallTime since_{};                  // when the state was copied
  std::unique_ptr<Scheduler> other_;  // with the question's configuration
  std::unique_ptr<ScratchServer> server_;
  ScratchServer* serving_ = nullptr;  // answers the scheduler's calls
  std::unique_ptr<Course> course_;
  std::unique_ptr<Filling> filling_;
  std::unique_ptr<Starts> starts_;
  std::unique_ptr<NodesNeeded> nodesNeeded_;
  json::object found_;  // all but remedies; empty until the course has ended
  QuotaViews quotasBefore_;
  std::optional<NodesBefore> nodesBefore_;
};

}  // namespace koord::scheduler::oracle
