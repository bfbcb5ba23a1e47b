#pragma once

// Pre-allocation: a reservation may be placed on resources that running pods use. It takes such
// pods over: they become its owners, and the node counts the larger of the two, as for all owners.
//
// Candidates are looked up on demand among the pods of one node: the pods that its `owners` select
// by labels (mode Default), or all pods with the label of pre-allocatable pods (mode Cluster). A
// candidate uses no reservation yet, and must fit into this one.

#include "scheduler/plugins/reservation/args.h"
#include "scheduler/plugins/reservation/matcher.h"

namespace koord::scheduler {

class PreAllocation {
 public:
  PreAllocation(const ReservationIndex& index, const ReservationMatcher& matcher,
                const Cluster& cluster, ReservationArgs args)
      : index_(index), matcher_(matcher), cluster_(cluster), args_(std::move(args)) {}

  // Whether the reserve pod may take pods over, and whether it must.
  static bool allowed(const PodInfo& reservePod);
  static bool demanded(const PodInfo& reservePod);

  // Why it can take over no pods at all; "" if it can.
  std::string refusal(const ReservationEntry& reservation) const;

  // The pods of the node that it could take over, best first.
  std::vector<PodPtr> candidates(const ReservationEntry& reservation, NodeId node) const;
  bool hasCandidates(const ReservationEntry& reservation, NodeId node) const;

  // Which pods it takes over on the node: none if the free resources suffice; the status says why
  // it does not fit. `counted`: the node's requests already include the reserve pod.
  struct Choice {
    std::vector<PodPtr> pods;
    Status status;
  };
  Choice choose(const PodInfo& reservePod, const ReservationEntry& reservation, NodeId node,
                bool counted) const;
  // 0 to 100: higher for a better use of the reservation and for fewer pods.
  std::int64_t score(const ReservationEntry& reservation, const Choice& choice) const;

 private:
  bool isCandidate(const PodInfo& pod, const ReservationEntry& reservation, NodeId node) const;
  // Returns true if the pod already has a share of this reservation.
  bool isTaken(const PodInfo& pod, const ReservationEntry& reservation) const;
  std::int64_t rank(const PodInfo& pod) const;
  // What the reserve pod lacks on the node if it takes over pods with these requests.
  std::vector<std::string> missingForPod(const PodInfo& reservePod, NodeId node,
                                         const Resources& taken, bool counted) const;
  static bool allowsSeveralPods(const ReservationEntry& reservation);
  static bool isClusterMode(const ReservationEntry& reservation);

  const ReservationIndex& index_;
  const ReservationMatcher& matcher_;
  const Cluster& cluster_;
  const ReservationArgs args_;
};

}  // namespace koord::scheduler
