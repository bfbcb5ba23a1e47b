#pragma once

// Pre-allocation: a reservation that may be placed on room which running pods hold. It takes such pods
// over: they become its owners, and the node counts the larger of the two, as for all owners.
//
// Who can be taken over is looked up when it is asked for, among the pods of one node: those that its
// `owners` select by labels (mode Default), or all that say so of themselves (mode Cluster). None uses a
// reservation already, and all must fit into this one.

#include "scheduler/plugins/reservation/args.h"
#include "scheduler/plugins/reservation/matcher.h"

namespace koord::scheduler {

class PreAllocation {
 public:
  PreAllocation(const ReservationBook& book, const ReservationMatcher& matcher,
                const Cluster& cluster, ReservationArgs args)
      : book_(book), matcher_(matcher), cluster_(cluster), args_(std::move(args)) {}

  // Whether the reserve pod may take pods over, and whether it has to.
  static bool allowed(const PodInfo& reservePod);
  static bool demanded(const PodInfo& reservePod);

  // Why it cannot be done at all; "" when it can.
  std::string refusal(const ReservationEntry& reservation) const;

  // The pods of the node that it could take over, the best first.
  std::vector<PodPtr> candidates(const ReservationEntry& reservation, NodeId node) const;
  bool hasCandidates(const ReservationEntry& reservation, NodeId node) const;

  // Which pods it takes over on the node; none where the rest of the node is enough without any, or the
  // status says why it does not fit. `counted`: the reserve pod is on the node already.
  struct Choice {
    std::vector<PodPtr> pods;
    Status status;
  };
  Choice choose(const PodInfo& reservePod, const ReservationEntry& reservation, NodeId node,
                bool counted) const;
  // 0 to 100: how well the choice uses the reservation, and how few pods it takes.
  std::int64_t score(const ReservationEntry& reservation, const Choice& choice) const;

 private:
  bool isCandidate(const PodInfo& pod, const ReservationEntry& reservation, NodeId node) const;
  // Whether it holds a share of this reservation already.
  bool isTaken(const PodInfo& pod, const ReservationEntry& reservation) const;
  std::int64_t rank(const PodInfo& pod) const;
  // What the reserve pod lacks on the node when so much of it is taken over.
  std::vector<std::string> lacks(const PodInfo& reservePod, NodeId node, const Resources& taken,
                                 bool counted) const;
  static bool severalAllowed(const ReservationEntry& reservation);
  static bool isClusterMode(const ReservationEntry& reservation);

  const ReservationBook& book_;
  const ReservationMatcher& matcher_;
  const Cluster& cluster_;
  const ReservationArgs args_;
};

}  // namespace koord::scheduler
