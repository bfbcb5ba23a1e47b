#pragma once

// How plugins for CPUs and devices take part in the use of reservations. They derive from these, and
// the Reservation plugin finds them in its profile (Profile::offers); the other way round they find
// the Reservation plugin as ReservationsOffer.

#include <span>
#include <string>
#include <vector>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/status.h"

namespace koord::scheduler {

// A reservation, as other plugins need to know it.
struct ReservationOnNode {
  std::string uid;
  std::string name;
  bool aligned = false;             // owners may take more, of the same alignment
  bool restricted = false;          // owners may take nothing else
  std::vector<std::string> owners;  // uids of the pods that use it
};

// Whether the pod can have what it needs of CPUs or devices within one reservation of a node.
class ReservationFilterOffer {
 public:
  virtual ~ReservationFilterOffer() = default;
  // Success, or a rejection whose reasons are told with those of the reservation. By the cluster as
  // it is now. Kept like a filter's verdict: until the node changes.
  virtual Status filterReservation(const PodInfo& pod, const ReservationOnNode& reservation,
                                   NodeId node) = 0;
  // Asked when one has to be chosen; nothing else when that is the same.
  virtual Status filterNomination(const PodInfo& pod, const ReservationOnNode& reservation,
                                  NodeId node) {
    return filterReservation(pod, reservation, node);
  }
};

// Which of several reservations of a node is the best for the pod.
class ReservationScoreOffer {
 public:
  virtual ~ReservationScoreOffer() = default;
  virtual std::int64_t scoreReservation(const PodInfo& pod, const ReservationOnNode& reservation,
                                        NodeId node) = 0;  // 0 to 100
};

// What the Reservation plugin tells: whose CPUs and devices are free to a pod on a node. What the
// reserve pod of a matched one holds, less what its owners hold, is; of all others nothing is.
class ReservationsOffer {
 public:
  virtual ~ReservationsOffer() = default;
  // The one that the pod uses already is among them.
  virtual std::vector<ReservationOnNode> matchedReservations(const PodInfo& pod,
                                                             NodeId node) const = 0;
  // All that are placed on the node and do not match.
  virtual std::vector<ReservationOnNode> otherReservations(const PodInfo& pod,
                                                           NodeId node) const = 0;
  // The uid of the one that the pod would use on the node, as things are; "" for none. `counted`: the
  // pod is on the node already. Who comes before the Reservation plugin in Reserve learns from it whose
  // things to take: it chooses by the same rules.
  virtual std::string nominationOf(const PodInfo& pod, NodeId node, bool counted) const = 0;
  // The pods of the node that a reserve pod would take over (pre-allocation), as things are: what they hold of
  // CPUs and devices has to be part of what it gets.
  virtual std::vector<PodPtr> takenOver(const PodInfo& reservePod, NodeId node) const = 0;
  // The one that the pod uses, once Reserve has chosen; "" for none.
  virtual std::string reservationOf(const std::string& podUid) const = 0;
};

}  // namespace koord::scheduler
