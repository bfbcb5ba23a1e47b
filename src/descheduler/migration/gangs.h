#pragma once

// Pods that are placed together have to move together: whoever evicts one of them makes the others wait for
// nothing. Who belongs to a gang is what its pods say, as the scheduler reads it.

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/meta.h"
#include "descheduler/framework/stores.h"

namespace koord::descheduler {

// "namespace/name"; "" for a pod that stands alone.
std::string gangOf(const api::Pod& pod);

class Gangs {
 public:
  explicit Gangs(Stores& stores) : stores_(stores) {}
  void start();
  // Members that are on nodes and have not ended, by name; of a pod that stands alone, nobody.
  std::vector<PodPtr> membersOf(const std::string& gang) const;

 private:
  Stores& stores_;
  std::unordered_map<std::string, std::set<api::ObjectKey>> members_;
};

}  // namespace koord::descheduler
