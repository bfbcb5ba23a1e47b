#pragma once

// DecisionChecker: watches one scheduler process from inside, as a plugin of its profile and around
// DefaultPreemption. It compares each decision with a plain evaluation of the rules on the objects
// that the scheduler had before it.
//
// Checks:
//  - a pod gets a node that fits and that no other node outscores, as far as the plain evaluation
//    knows all plugins that score;
//  - a pod is unschedulable only if no node fits;
//  - preemption evicts the victims of upstream's rules, from the node with the lowest cost, or
//    nothing if it would not help;
//  - no attempt starts before its back-off has ended, unless no other pod is ready;
//  - a process that has lost the leadership stays silent;
//  - no process tries pods endlessly at one instant of virtual time, or one pod within a second.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "scheduler/core/scheduler.h"
#include "scheduler/framework/registry.h"
#include "simulation/journal.h"
#include "simulation/plain_preemption.h"
#include "simulation/plain_volumes.h"

namespace koord::simulation {

// A node that a scheduler chose for a pod, and what it knew about the node.
struct Choice {
  std::string process;
  std::string node;
  std::string nodeVersion;                   // resourceVersion of the Node object
  std::map<std::string, std::string> known;  // the nodes of the pods that it saw, by the pods' uids
  bool limited = false;                      // it had seen the node's limit of volumes
  SteadyTime time{};
  std::uint64_t number = 0;                   // of all choices
  std::map<std::string, std::int64_t> facts;  // facts that features need later
};

class Departures;
class Foretelling;

// The decisions of all processes, for the checks of the store.
struct Decisions {
  Departures* departures = nullptr;                    // evictions for preemption
  Foretelling* foretelling = nullptr;                  // what oracles said
  std::map<std::string, std::vector<Choice>> choices;  // by the pod's uid
  std::set<std::string> victims;                       // uids
  std::map<std::string, SteadyTime> starts;            // of processes
  std::size_t attempts = 0;
  std::uint64_t chosen = 0;        // number of choices
  std::string leader;              // the process that last tried a pod
  std::set<std::string> followed;  // processes that led before it
};

class Feature;
using Features = std::vector<std::unique_ptr<Feature>>;

class DecisionChecker {
 public:
  static constexpr std::string_view kName = "DecisionChecker";
  static constexpr std::string_view kPreemption = "DefaultPreemption";

  DecisionChecker(std::string process, Journal& journal, Decisions& decisions,
                  const Features& features);
  ~DecisionChecker();

  // Adds the checker to the registry, and wraps it around DefaultPreemption. Must outlive the
  // scheduler that is built from the registry.
  void join(scheduler::Registry& registry);
  // Adds plugins that do what the checker's do, without checks: for a replay.
  static void joinWithoutChecks(scheduler::Registry& registry);
  // Called once if the process tries pods endlessly, so that virtual time would never advance. Must
  // end the process.
  std::function<void()> onRunaway;
  // While true, searches do not count as attempts.
  void pauseChecks(bool away) { away_ = away; }
  // The number of events and answers that the process has received; may be empty.
  std::function<std::uint64_t()> received;
  // Sets the scheduler, once it exists.
  void watch(const scheduler::Scheduler& scheduler) { scheduler_ = &scheduler; }

  // The scheduler's state as API objects, without the pod of this uid. With the current storage
  // unless another is given.
  Model model(const std::string& without = "", const StorageModel* storage = nullptr);
  bool ready() const { return handle_ != nullptr; }
  scheduler::Handle& handle() { return *handle_; }

 private:
  class AtWork;      // the plugin
  class Preemption;  // around DefaultPreemption
  class Audit;       // notified of evictions of all plugins

  // The history of a pod that has been tried.
  struct History {
    int attempts = 0;
    int rejections = 0;
    int errors = 0;  // in a row
    WallTime lastEnd{};
    int preemptions = 0;  // each may make the pod ready early, once its victims are gone
    WallTime chosen{};    // when the previous attempt chose a node
    WallTime second{};    // of the last attempt
    std::int64_t attemptsBefore = 0;  // attempts before that second
    std::string nominated;            // at the start of the current attempt
  };

  void tried(const scheduler::PodInfo& pod);
  void countAtOnce(const scheduler::PodInfo& pod);
  void checkRests(const scheduler::PodInfo& pod, std::int64_t attempts, History& history);
  void chosen(const scheduler::PodPtr& pod, scheduler::NodeId node);
  void rejected(const scheduler::PodPtr& pod, const scheduler::Diagnosis& diagnosis);
  std::string reasonsOn(const std::string& node, const scheduler::Diagnosis& diagnosis) const;
  void preempted(const scheduler::PodPtr& pod, const scheduler::PostFilterResult& result,
                 const Model& model);
  // The nodes that plain evaluation cannot decide.
  static std::set<std::string> undecidedNodes(const Model& model, const api::Pod& pod);
  static bool plainToPreemption(const Model& model, const api::Pod& pod);
  // Returns true for a pod whose verdict depends on other pods of its group.
  bool placedWithOthers(const api::Pod& pod) const;
  PodObject onNode(const scheduler::Cluster::PodRecord& record);
  std::vector<BudgetObject> budgets() const;

  const std::string process_;
  Journal& journal_;
  Decisions& decisions_;
  const Features& features_;
  const scheduler::Scheduler* scheduler_ = nullptr;
  scheduler::Handle* handle_ = nullptr;
  std::unique_ptr<Audit> audit_;
  std::map<std::string, History> history_;  // by uid
  SteadyTime instant_{};
  std::size_t triedAtOnce_ = 0;  // at that instant
  std::size_t rejected_ = 0;     // the last attempt without a node
  bool away_ = false;
  // As the current attempt found it, because choosing a node assumes volumes.
  std::optional<StorageModel> storage_;
  // Assumed pods with their node names set.
  std::unordered_map<const scheduler::PodInfo*, std::pair<scheduler::PodPtr, PodObject>> assumed_;
};

}  // namespace koord::simulation
