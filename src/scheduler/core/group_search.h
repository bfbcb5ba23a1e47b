#pragma once

// GroupSearch: finds nodes for all members of a group when placing one after the other has failed.
//
// Why: the greedy placement gives each member its best node. A small member may take the room on
// the only node that a large member fits on. Then the group waits, although a placement exists.
//
// What it computes: a placement of the members such that each fits with those before it, or that
// there is none, or that the budget is used up. It is a depth-first search:
//   1. Every kind of member (equal demands) is placed alone. If its members do not even fit without
//      the others, there is no placement, and the search ends after one try per member.
//   2. The members with the fewest choices of nodes come first, of equal ones the larger.
//   3. Each member gets its best node among those not tried yet at this point. If it finds none and
//      the group can do without it, it is left out.
//   4. Otherwise placements are undone, the last one first, until all members of its kind fit. The
//      member that was undone last takes its next node. What was undone on the way does not matter:
//      without it, the kind would not have fitted either.
//   5. Members with equal demands are interchangeable. A node that was tried for one of them in
//      vain is not tried for the next ones while the members before them keep their nodes.
//
// Rule 4 is right if members never make room for others, and if members of one kind find as many
// nodes in any order. Pod affinity and spreading break that: a member that others may help undoes
// one placement at a time, and comes after the others.
//
// With enough steps the search finds a placement if there is one (node by node: which devices a
// member gets on its node is left to the Reserve plugins). A step is one search for one member.
// Cost: the steps times that of a search for one pod; memory: a set of nodes per member.
// Source: depth-first search with backjumping and symmetry breaking, as constraint solvers have it
// (Rossi, van Beek, Walsh: Handbook of Constraint Programming, chapters 4 and 10).
//
// Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/engine/node_set.h"

namespace koord::scheduler {

class GroupSearch {
 public:
  // What the search works on. Members are numbers from 0.
  class World {
   public:
    virtual ~World() = default;
    struct Found {
      NodeId node = kNoNode;    // kNoNode: the member fits on none of the nodes
      std::size_t choices = 0;  // the number of nodes on which it fits
    };
    // Places the member on the best of `nodes`, with all placed members counted.
    virtual Found place(std::size_t member, const NodeSet& nodes) = 0;
    // Undoes the placement of the member, which was placed last.
    virtual void undo(std::size_t member) = 0;
    // Equal for members that are interchangeable.
    virtual std::uint64_t demandOf(std::size_t member) const = 0;
    // Compares members by what they take. Larger members have less choice once others are placed.
    virtual double sizeOf(std::size_t member) const = 0;
    // True if the member may fit only after others are placed.
    virtual bool needsOthers(std::size_t member) const = 0;
    // True if the group can be accepted when these members get no node and all others do.
    virtual bool canDoWithout(std::span<const std::size_t> members) const = 0;
  };

  // `nodes`: where members may be placed. Both must outlive the search.
  GroupSearch(World& world, const NodeSet& nodes, std::size_t members, std::size_t maxSteps);
  // True: the members are placed, less those that are left out. False: none is placed.
  bool run();
  std::size_t steps() const { return steps_; }
  // True if the search ended before it was complete.
  bool exhausted() const { return steps_ >= maxSteps_; }

 private:
  // A decision about one member.
  struct Frame {
    std::size_t member = 0;
    NodeId node = kNoNode;  // kNoNode: left out
    NodeSet tried;          // nodes that need not be tried again here
  };

  bool orderMembers();
  std::size_t countAlone(std::span<const std::size_t> kind, std::size_t& choices);
  World::Found tryPlace(std::size_t member, const NodeSet& nodes);
  // Decides about the next member. False: there is no choice for it.
  bool extend();
  // Undoes decisions until one of them can be changed, and changes it. False: none can be.
  bool backtrack();
  bool decide(Frame frame);
  bool kindFits(std::uint64_t demand);
  bool canLeaveOut(std::size_t member);
  Frame undoLast();

  World& world_;
  const NodeSet& nodes_;
  std::size_t maxSteps_;
  std::size_t steps_ = 0;
  std::vector<std::size_t> order_;
  std::vector<Frame> frames_;         // of order_, from the first
  std::vector<std::size_t> leftOut_;  // in frames_
};

}  // namespace koord::scheduler
