#pragma once

// What-if: where pods would land if they left their nodes now. For descheduling, which asks before it
// evicts anybody, and for people who plan.
//
// The moves are made one after the other on the live Cluster, within one transaction that is rolled back
// at the end: each pod leaves its node, is searched a place by its own profile with all of its plugins,
// and takes it, with what plugins would give it there, so that the next one finds the rest only. What a
// move frees is free for those after it, as it would be in earnest; a move without a place has not
// happened. Moves of the same group all find places, or none is made.
//
// Not asked: scheduler extenders, preemption, and pods that wait in the queue; volumes that are bound for
// the first time are promised to nobody. Cost: one search a move, as for scheduling, and as much to undo
// it. The scheduler does nothing else meanwhile, so there is a limit to moves and to time.

#include <string>
#include <vector>

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

struct WhatIfMove {
  std::shared_ptr<const api::Pod> pod;  // as it is now
  std::string from;  // the node it is expected on; "" = wherever it is, which may be nowhere
  // It leaves only when its new place is held (ReservationFirst): its room is taken, and the place has to be one for
  // a Reservation.
  bool stays = false;
  std::vector<std::string> avoid;  // nodes that it is not to land on
  std::string group;               // "" = it moves alone
};

struct WhatIfPlace {
  enum class State {
    Placed,
    Unschedulable,  // no node takes it
    GroupRefused,   // somebody of its group has no place
    Invalid,        // the move makes no sense: message
    NotAsked,       // there was no time left: ask again
  };
  State state = State::NotAsked;
  std::string node;                       // Placed
  std::string message;                    // all others
  std::vector<Diagnosis::Entry> reasons;  // Unschedulable: which plugin rejects how many nodes
  std::size_t feasible = 0;               // nodes that take it
};
std::string_view nameOf(WhatIfPlace::State state);

// A node that pods leave or land on, before all moves and after them.
struct WhatIfNode {
  struct Amount {
    std::string resource;
    ResourceId id = 0;
    std::int64_t allocatable = 0, before = 0, after = 0;  // requested, as the engine counts
  };
  std::string name;
  std::vector<Amount> amounts;
  std::int64_t podsAllowed = 0, podsBefore = 0, podsAfter = 0;
};

struct WhatIfAnswer {
  std::vector<WhatIfPlace> places;  // in the order of the moves
  std::vector<WhatIfNode> nodes;    // by name
  Duration took{};
};

inline constexpr std::size_t kMostWhatIfMoves = 5000;
inline constexpr Duration kWhatIfTime = std::chrono::milliseconds(100);

// During no attempt. `limit`: after this much time no further move is looked at.
WhatIfAnswer whatIf(Scheduler& scheduler, const std::vector<WhatIfMove>& moves,
                    Duration limit = kWhatIfTime);

// --- As JSON: {"pods": [{"pod": {...}, "from": "n1", "stays": false, "avoid": ["n2"], "group": ""}]}.
// Errors name the field. Pods are read as the informers of `scheduler` would.
Result<std::vector<WhatIfMove>> readWhatIf(const Scheduler& scheduler, std::string_view body);
json::value whatIfJson(const std::vector<WhatIfMove>& moves, const WhatIfAnswer& answer);

}  // namespace koord::scheduler
