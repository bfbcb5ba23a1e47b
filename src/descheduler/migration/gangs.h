#pragma once

// Pods of a gang must move together: if one of them is evicted, the others wait for nothing. The
// pods' labels and annotations define the gang, as for the scheduler.

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/meta.h"
#include "descheduler/framework/stores.h"

namespace koord::descheduler {

// "namespace/name"; "" for a pod without a gang.
std::string gangOf(const api::Pod& pod);

class Gangs {
 public:
  explicit Gangs(Stores& stores) : stores_(stores) {}
  void start();
  // The members that are on nodes and have not ended, by name; empty for "".
  std::vector<PodPtr> membersOf(const std::string& gang) const;

 private:
  Stores& stores_;
  std::unordered_map<std::string, std::set<api::ObjectKey>> members_;
};

}  // namespace koord::descheduler
