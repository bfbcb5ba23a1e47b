#pragma once

// The interfaces between the Reservation plugin and the plugins for CPUs and devices. Those plugins
// implement ReservationFilterOffer and ReservationScoreOffer, and the Reservation plugin finds them
// in its profile (Profile::offers). They find the Reservation plugin as ReservationsOffer.

#include <span>
#include <string>
#include <vector>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/status.h"

namespace koord::scheduler {

// A reservation as other plugins see it.
struct ReservationOnNode {
  std::string uid;
  std::string name;
  bool aligned = false;             // policy Aligned: owners may use more, with the same alignment
  bool restricted = false;          // policy Restricted: owners may use nothing else
  std::vector<std::string> owners;  // uids of the pods that use it
};

// Decides whether one reservation of a node has the CPUs or devices that the pod needs.
class ReservationFilterOffer {
 public:
  virtual ~ReservationFilterOffer() = default;
  // Returns success, or a rejection whose reasons are reported with those of the reservation. Uses
  // the current state of the cluster. The verdict is cached like a filter's: until the node
  // changes.
  virtual Status filterReservation(const PodInfo& pod, const ReservationOnNode& reservation,
                                   NodeId node) = 0;
  // Called when a reservation of the node is chosen. Override it only if the result differs from
  // filterReservation().
  virtual Status filterNomination(const PodInfo& pod, const ReservationOnNode& reservation,
                                  NodeId node) {
    return filterReservation(pod, reservation, node);
  }
};

// Scores the reservations of a node for the pod.
class ReservationScoreOffer {
 public:
  virtual ~ReservationScoreOffer() = default;
  virtual std::int64_t scoreReservation(const PodInfo& pod, const ReservationOnNode& reservation,
                                        NodeId node) = 0;  // 0 to 100
};

// Says which CPUs and devices of a node are free for a pod. The part of a matched reservation that
// its owners do not use is free for the pod; no part of the other reservations is.
class ReservationsOffer {
 public:
  virtual ~ReservationsOffer() = default;
  // Includes the reservation that the pod already uses.
  virtual std::vector<ReservationOnNode> matchedReservations(const PodInfo& pod,
                                                             NodeId node) const = 0;
  // All reservations that are placed on the node and do not match.
  virtual std::vector<ReservationOnNode> otherReservations(const PodInfo& pod,
                                                           NodeId node) const = 0;
  // The uid of the reservation that the pod would use on the node now; "" if none. `counted`: the
  // node's requests already include the pod. Plugins that run before the Reservation plugin in
  // Reserve call it to know from which reservation to allocate; it applies the same rules.
  virtual std::string nominationOf(const PodInfo& pod, NodeId node, bool counted) const = 0;
  // The pods of the node that a reserve pod would take over now (pre-allocation). Their CPUs and
  // devices must be part of what the reserve pod gets.
  virtual std::vector<PodPtr> takenOver(const PodInfo& reservePod, NodeId node) const = 0;
  // The uid of the reservation that the pod uses, once Reserve has chosen it; "" if none.
  virtual std::string reservationOf(const std::string& podUid) const = 0;
};

}  // namespace koord::scheduler
