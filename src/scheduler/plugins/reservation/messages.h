#pragma once

// The messages about reservations for a pod that finds no node.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace koord::scheduler {

// Counts the reservations that select the pod as owner, by the reason why it could not use them.
struct ReservationCounts {
  int ownerMatched = 0;
  int nameMatched = 0;
  int nameUnmatched = 0;
  int affinityUnmatched = 0;
  int unschedulable = 0;
  int notExact = 0;
  std::map<std::string, int> taints;       // by "{key: value}"
  std::map<std::string, int> nodeReasons;  // of reservations that the pod could use otherwise

  // "3 Reservation(s) didn't match affinity rules", ...; empty if no reservation selects the pod
  // and it does not require one.
  std::vector<std::string> reasons(bool required) const;
};

// The part about reservations of a message "0/5 nodes are available: ...": "0/2 reservations are
// available: 2 Reservation(s) is unschedulable."
std::optional<std::string> reservationLevelMessage(const std::string& message);

}  // namespace koord::scheduler
