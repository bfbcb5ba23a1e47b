#pragma once

// Departures: records which scheduler evicts which pods for which preemptor, and what follows.
//
// Checks, for every plugin that preempts:
//  - a victim has a lower priority than its preemptor;
//  - units that may not preempt have no victims: pods with preemptionPolicy Never, Reservations;
//  - one node at a time: a preemptor that waits for victims on its nominated node does not evict
//    others from another node;
//  - no eviction is useless: when all victims are gone, the preemptor gets its place, unless it is
//    gone or has changed, the node has changed, or a unit of higher priority took the node.
//
// The results are checked when nothing has disturbed the schedulers for a while, and when all is
// quiet.

#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/virtual_loop.h"
#include "scheduler/framework/handle.h"
#include "simulation/decision_checker.h"
#include "simulation/journal.h"
#include "simulation/plain_preemption.h"

namespace koord::simulation {

class Invariants;

class Departures {
 public:
  Departures(VirtualLoop& loop, Journal& journal, const Decisions& decisions)
      : loop_(loop), journal_(journal), decisions_(decisions) {}
  // Call it before the simulation starts.
  void connect(const Invariants& invariants) { invariants_ = &invariants; }

  // Called when the process is about to evict these pods for the preemptor.
  void told(const std::string& process, scheduler::Handle& handle,
            const scheduler::PodInfo& preemptor, std::span<const scheduler::PodPtr> victims);
  // Called about every second. `leader`: the name of the leading process if its network works; ""
  // otherwise.
  void tick(const std::string& leader);
  // Returns true if a pod whose eviction was requested still exists.
  bool underWay() const;
  // Checks the results, with the world as the leader knows it. `final`: all is quiet.
  void judge(const Model& model, bool final);
  bool due() const;  // true if results can be checked before all is quiet

 private:
  struct Departure {
    std::string process;
    SteadyTime since{};
    PodObject preemptor;
    std::string group;  // its group, as it was
    std::string node;
    std::string nodeVersion;
    std::set<std::string>
        planned;  // nodes that members of the group found free in the same attempt
    std::vector<PodObject> victims;
    std::vector<PodObject> awaited;  // the victims, and pods that were already terminating
    std::set<std::string> known;     // uids of all that the process counted on the node
    std::optional<SteadyTime> gone;  // since when all of them are gone

    std::string names() const;
  };

  std::string groupOf(const api::Pod& pod) const;
  bool stillThere(const Departure& departure) const;
  // Why the departure needs no check; "" if it does.
  std::string excuse(const Departure& departure) const;
  void check(const Departure& departure, const Model& model);
  void checkPlaces(const Departure& fresh, scheduler::Handle& handle);

  VirtualLoop& loop_;
  Journal& journal_;
  const Decisions& decisions_;
  const Invariants* invariants_ = nullptr;
  std::list<Departure> open_;
  std::set<std::string> served_;  // uids of victims whose preemptor has a place
  std::string leader_;
  SteadyTime calmSince_{};
};

}  // namespace koord::simulation
