#pragma once

// The objects of resource.k8s.io in the simulation: the pools that drivers publish, and random
// classes, claims and templates. Their selectors are those of PlainSelector.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/random.h"

namespace koord::simulation {

inline constexpr const char* kGpuDriver = "dra.example.com";
inline constexpr const char* kNetDriver = "net.example.com";

// A pool of devices as its driver knows it. A device keeps what it is for all its life.
struct PoolPlan {
  std::string driver;
  std::string name;
  std::string node;                           // "": reached by several nodes
  json::object where;                         // nodeName, nodeSelector or allNodes
  std::vector<json::object> parts;            // of each slice: "devices" or "sharedCounters"
  std::map<std::string, json::array> taints;  // by device
  std::set<std::string> removed;              // devices that are not there now
  std::int64_t generation = 0;

  std::vector<std::string> devices() const;
  std::string sliceName(std::size_t part) const;
  // The ResourceSlice of a part in the current generation.
  json::object slice(std::size_t part) const;
};

PoolPlan nodePool(const std::string& node, Random& random);
PoolPlan networkPool(const std::string& name, json::object where);

json::object deviceClass(const std::string& name, const std::string& expression);
// The spec of a ResourceClaim. `admins`: its namespace may have claims with adminAccess.
json::object claimSpec(Random& random, bool admins);

}  // namespace koord::simulation
