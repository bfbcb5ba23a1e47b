#pragma once

// Departures: who was told to leave for whom, by which scheduler, and what came of it.
//
// Checked, whatever plugin preempts:
//  - who leaves matters less than whom it leaves for;
//  - nobody leaves for a unit that may not preempt: one with preemptionPolicy Never, a Reservation;
//  - one place at a time: who waits for victims to be gone from the node that it was promised does not
//    send away others from another node;
//  - nobody leaves in vain: when all are gone, whom they left for gets its place, unless it is gone or has
//    changed, the node has changed, or somebody who matters more came to the node.
//
// What came of it is judged when nothing has disturbed the schedulers for a while, and when all is quiet.

#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/virtual_loop.h"
#include "scheduler/framework/handle.h"
#include "simulation/journal.h"
#include "simulation/plain_preemption.h"
#include "simulation/witness.h"

namespace koord::simulation {

class Truth;

class Departures {
 public:
  Departures(VirtualLoop& loop, Journal& journal, const Decisions& decisions)
      : loop_(loop), journal_(journal), decisions_(decisions) {}
  // Before anything happens.
  void connect(const Truth& truth) { truth_ = &truth; }

  // The process is about to make these leave for the preemptor.
  void told(const std::string& process, scheduler::Handle& handle,
            const scheduler::PodInfo& preemptor, std::span<const scheduler::PodPtr> victims);
  // About every second. `leader`: the name of the process that leads and whose network is good; "": there
  // is none.
  void tick(const std::string& leader);
  // Whether somebody who was told to leave is still there.
  bool underWay() const;
  // What is judged now: with the world as the leader knows it. `final`: all is quiet.
  void judge(const Model& model, bool final);
  bool due() const;  // whether there is something to judge before all is quiet

 private:
  struct Departure {
    std::string process;
    SteadyTime since{};
    PodObject preemptor;
    std::string group;  // what it is placed together with, as it was
    std::string node;
    std::string nodeVersion;
    std::vector<PodObject> victims;
    std::vector<PodObject> awaited;  // these, and who was leaving already
    std::set<std::string> known;     // uids of all that the process counted there
    std::optional<SteadyTime> gone;  // since when all of them are

    std::string names() const;
  };

  std::string groupOf(const api::Pod& pod) const;
  bool stillThere(const Departure& departure) const;
  // Why nothing can be said against it; "" when something may.
  std::string excuse(const Departure& departure) const;
  void check(const Departure& departure, const Model& model);
  void checkPlaces(const Departure& fresh, scheduler::Handle& handle);

  VirtualLoop& loop_;
  Journal& journal_;
  const Decisions& decisions_;
  const Truth* truth_ = nullptr;
  std::list<Departure> open_;
  std::set<std::string> served_;  // uids of those who left for somebody who has a place now
  std::string leader_;
  SteadyTime calmSince_{};
};

}  // namespace koord::simulation
