#pragma once

// What-if: where pods would land if they left their nodes now. For descheduling, which asks before
// it evicts pods, and for capacity planning.
//
// The moves are made one after the other on the live Cluster, within one transaction that is rolled
// back. Each pod is removed from its node, its profile searches a node with all plugins, and the
// pod is placed there with tentative grants, so that the next pod finds only the rest. A move frees
// resources for the moves after it, as in reality. A move without a node is reverted. Moves of the
// same group all find nodes, or none is made.
//
// Not considered: scheduler extenders, preemption, and pods in the queue. Volumes that would be
// bound for the first time are not reserved. Cost: one search per move, as for scheduling, and as
// much to undo it. The scheduler does nothing else meanwhile, so the number of moves and the time
// are limited.

#include <string>
#include <vector>

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

struct WhatIfMove {
  std::shared_ptr<const api::Pod> pod;  // in its current state
  std::string from;                     // its expected node; "" = any node or none
  // True if the pod leaves only when its new resources are reserved (ReservationFirst): it keeps
  // its resources, and the node must accept a Reservation.
  bool stays = false;
  std::vector<std::string> avoid;  // nodes that it must not be placed on
  std::string group;               // "" = it moves alone
};

struct WhatIfPlace {
  enum class State {
    Placed,
    Unschedulable,  // no node accepts it
    GroupRefused,   // a member of its group has no node
    Invalid,        // the move is not possible: see message
    NotTried,       // the time was over: ask again
  };
  State state = State::NotTried;
  std::string node;                       // Placed
  std::string message;                    // for all other states
  std::vector<Diagnosis::Entry> reasons;  // Unschedulable: which plugin rejects how many nodes
  std::size_t feasible = 0;               // nodes that accept it
};
std::string_view nameOf(WhatIfPlace::State state);

// A node that pods leave or land on, before all moves and after them.
struct WhatIfNode {
  struct Amount {
    std::string resource;
    ResourceId id = 0;
    std::int64_t allocatable = 0, before = 0, after = 0;  // requested amounts, as the engine counts
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

inline constexpr std::size_t kMaxWhatIfMoves = 5000;
inline constexpr Duration kWhatIfTime = std::chrono::milliseconds(100);

// Must not be called during an attempt. No further move is tried after `limit`.
WhatIfAnswer whatIf(Scheduler& scheduler, const std::vector<WhatIfMove>& moves,
                    Duration limit = kWhatIfTime);

// --- As JSON: {"pods": [{"pod": {...}, "from": "n1", "stays": false, "avoid": ["n2"], "group":
// ""}]}. Errors name the field. Pods are converted as by the informers of `scheduler`.
Result<std::vector<WhatIfMove>> readWhatIf(const Scheduler& scheduler, std::string_view body);
json::value whatIfJson(const std::vector<WhatIfMove>& moves, const WhatIfAnswer& answer);

}  // namespace koord::scheduler
