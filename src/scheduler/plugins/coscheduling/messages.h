#pragma once

// Messages for members of gangs, in upstream's words where upstream has the message.

#include <string>
#include <vector>

#include "scheduler/engine/pod_info.h"

namespace koord::scheduler::messages {

std::string noGang(const std::string& gang, const PodInfo& pod);
std::string notInitialised(const std::string& gang, const PodInfo& pod);

// What the gangs of a group lack.
struct GroupShortage {
  std::vector<std::string> absent;
  std::vector<std::string> notInitialised;
  bool incomplete = false;
  bool any() const { return incomplete || !absent.empty() || !notInitialised.empty(); }
};
std::string basicCheck(const std::vector<std::string>& group, const GroupShortage& gangShortages,
                       const std::string& gang, const PodInfo& pod);

// A member found no node: the message for all other members.
std::string rejected(const std::string& groupId, const PodInfo& member, const std::string& reason,
                     std::size_t waiting);

}  // namespace koord::scheduler::messages
