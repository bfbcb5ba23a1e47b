#pragma once

// Witness: watches one scheduler process from inside, as a plugin of its profile and around
// DefaultPreemption, and compares each decision with a plain evaluation of the rules on the objects
// that the scheduler had before it.
//
// Checked: a pod goes to a node that fits and that no other beats, and gets it; a pod is called
// unschedulable only when no node fits; preemption removes the pods that upstream's rules name, from the node
// where it hurts least, or nothing when it would not help; no attempt comes before its back-off has
// ended, unless nothing else was ready; a process that has been followed by another stays silent; time
// goes on: no process tries pods without end at one instant of virtual time.

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

// A node that some scheduler chose for a pod, and what it knew of it.
struct Choice {
  std::string process;
  std::string node;
  std::string nodeVersion;                   // resourceVersion of the Node object
  std::map<std::string, std::string> known;  // the nodes it saw pods on, by their uids
  bool limited = false;                      // it had seen how many volumes the node can attach
  SteadyTime time{};
  std::uint64_t number = 0;                   // of all choices
  std::map<std::string, std::int64_t> facts;  // what features want to know later
};

class Departures;

// What all processes decided, for those who look at the store.
struct Decisions {
  Departures* departures = nullptr;                    // who is told to leave
  std::map<std::string, std::vector<Choice>> choices;  // by the pod's uid
  std::set<std::string> victims;                       // uids
  std::map<std::string, SteadyTime> starts;            // of processes
  std::size_t attempts = 0;
  std::uint64_t chosen = 0;        // times
  std::string leader;              // the process that tried a pod last
  std::set<std::string> followed;  // processes that led before it
};

class Feature;
using Features = std::vector<std::unique_ptr<Feature>>;

class Witness {
 public:
  static constexpr std::string_view kName = "Witness";
  static constexpr std::string_view kPreemption = "DefaultPreemption";

  Witness(std::string process, Journal& journal, Decisions& decisions, const Features& features);
  ~Witness();

  // Adds the witness to the registry, and puts it around DefaultPreemption. It has to outlive the
  // scheduler that is made from it.
  void join(scheduler::Registry& registry);
  // Called once when the process tries pods without end, as it never lets time go by: to end it.
  std::function<void()> onRunaway;
  // What is searched meanwhile is no attempt.
  void lookAway(bool away) { away_ = away; }
  // The scheduler, once it has been made.
  void watch(const scheduler::Scheduler& scheduler) { scheduler_ = &scheduler; }

  // What the scheduler believes, as API objects; the pod of this uid is left out. Storage as it is
  // now unless another is given.
  Model model(const std::string& without = "", const StorageModel* storage = nullptr);
  bool ready() const { return handle_ != nullptr; }
  scheduler::Handle& handle() { return *handle_; }

 private:
  class AtWork;      // the plugin
  class Preemption;  // around DefaultPreemption
  class Audit;       // hears who is told to leave, whichever plugin preempts

  void tried(const scheduler::PodInfo& pod);
  void countAtOnce(const scheduler::PodInfo& pod);
  void chosen(const scheduler::PodPtr& pod, scheduler::NodeId node);
  void rejected(const scheduler::PodPtr& pod);
  void preempted(const scheduler::PodPtr& pod, const scheduler::PostFilterResult& result,
                 const Model& model);
  // Where plain evaluation cannot tell.
  static std::set<std::string> undecidedNodes(const Model& model, const api::Pod& pod);
  static bool plainToPreemption(const Model& model, const api::Pod& pod);
  // What such a pod is told alone, others of its kind have a part in.
  bool placedWithOthers(const api::Pod& pod) const;
  PodObject onNode(const scheduler::Cluster::PodRecord& record);
  std::vector<BudgetObject> budgets() const;

  // What is known of a pod that has been tried.
  struct History {
    int attempts = 0;
    int rejections = 0;
    int errors = 0;  // in a row
    WallTime lastEnd{};
    int preemptions = 0;  // each may bring the pod back early, once its victims are gone
    WallTime chosen{};    // a node for it, in the attempt before this one
  };

  const std::string process_;
  Journal& journal_;
  Decisions& decisions_;
  const Features& features_;
  const scheduler::Scheduler* scheduler_ = nullptr;
  scheduler::Handle* handle_ = nullptr;
  std::unique_ptr<Audit> audit_;
  std::map<std::string, History> history_;  // by uid
  SteadyTime instant_{};
  std::size_t triedAtOnce_ = 0;  // in that instant
  std::size_t rejected_ = 0;     // the attempt that was last found to have no node
  bool away_ = false;
  // As the attempt at hand found it: choosing a node promises volumes.
  std::optional<StorageModel> storage_;
  // Assumed pods with their nodes filled in.
  std::unordered_map<const scheduler::PodInfo*, std::pair<scheduler::PodPtr, PodObject>> assumed_;
};

}  // namespace koord::simulation
