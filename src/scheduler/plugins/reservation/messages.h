#pragma once

// What is told about reservations when a pod finds no node.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace koord::scheduler {

// The reservations whose owners the pod is among, and why they were of no use.
struct ReservationCounts {
  int ownerMatched = 0;
  int nameMatched = 0;
  int nameUnmatched = 0;
  int affinityUnmatched = 0;
  int unschedulable = 0;
  int notExact = 0;
  std::map<std::string, int> taints;       // by "{key: value}"
  std::map<std::string, int> nodeReasons;  // of those that the pod could use otherwise

  // "3 Reservation(s) didn't match affinity rules", ...; nothing when it is owner of none and does
  // not ask for one.
  std::vector<std::string> reasons(bool required) const;
};

// Of a message "0/5 nodes are available: ..." what it says of reservations:
// "0/2 reservations are available: 2 Reservation(s) is unschedulable."
std::optional<std::string> reservationLevelMessage(const std::string& message);

}  // namespace koord::scheduler
