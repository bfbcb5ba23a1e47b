#pragma once

// PlainClaims: which devices pods can get for their ResourceClaims, from API objects alone: all
// combinations of devices are tried, in the order of kube-scheduler. Selectors are those that the
// simulation writes, not CEL.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/resource_claims.h"

namespace koord::simulation {

using ClaimObject = std::shared_ptr<const api::ResourceClaim>;
using SliceObject = std::shared_ptr<const api::ResourceSlice>;
using ClassObject = std::shared_ptr<const api::DeviceClass>;
using AllocationObject = std::shared_ptr<const api::AllocationResult>;

// A device: its driver, pool and name.
using DeviceName = std::tuple<std::string, std::string, std::string>;

// The selectors of the simulation.
struct PlainSelector {
  std::string expression;
  std::function<bool(const std::string& driver, const api::SliceDevice&)> matches;
  static const std::vector<PlainSelector>& all();
};

// What a set of allocations takes from devices and from the counters of pools.
class PlainUse {
 public:
  // nullptr: the device is not published.
  using Find = std::function<const api::SliceDevice*(const DeviceName&)>;
  void add(const api::AllocationResult& allocation, const Find& find);
  void add(const DeviceName& name, const api::SliceDevice* device,
           const api::ResourceList* consumed);
  // Why the device cannot be taken as well, whole or (with `consumed`) in part; "" if it can.
  std::string conflict(const DeviceName& name, const api::SliceDevice& device,
                       const api::ResourceList* consumed,
                       const std::map<std::string, std::int64_t>& totals) const;
  // The same for an administrator, who only takes from the counters.
  void addForAdmin(const DeviceName& name, const api::SliceDevice& device);
  std::string conflictForAdmin(const DeviceName& name, const api::SliceDevice& device,
                               const std::map<std::string, std::int64_t>& totals) const;
  bool inUse(const DeviceName& name) const { return whole_.contains(name); }

 private:
  std::set<DeviceName> whole_;
  std::map<DeviceName, std::map<std::string, std::int64_t>> shares_;
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::int64_t>> counters_;
};

class PlainClaims {
 public:
  std::map<std::string, ClaimObject> claims;  // by "namespace/name"
  std::map<std::string, ClassObject> classes;
  std::vector<SliceObject> slices;                   // by name
  std::map<std::string, AllocationObject> inFlight;  // by the claims' uids

  // The claims of the pod; the text says why it cannot have them.
  std::vector<ClaimObject> claimsOf(const api::Pod& pod, std::string& problem) const;
  enum class Answer { Fits, Lacks, Undecided };
  struct Verdict {
    Answer answer = Answer::Fits;
    std::string why;
    std::vector<std::string> requests;  // the chosen "claim: request" of all unallocated claims
  };
  Verdict ask(const api::Pod& pod, const api::Node& node) const;
  // What is wrong with the allocations of these claims, chosen at once for the node; "" if nothing.
  std::string wrongWith(const std::vector<std::pair<ClaimObject, AllocationObject>>& allocations,
                        const api::Node& node) const;

  class Search;

 private:
  PlainUse useWithout(const std::set<std::string>& uids) const;
  const api::SliceDevice* find(const DeviceName& name) const;
};

// The amount of each capacity that a request takes of a device; false: it cannot have so much.
bool plainConsumption(const api::CapacityRequirements* wanted, const api::SliceDevice& device,
                      api::ResourceList& consumed);
// Whether the node can reach the devices of the slice or of an allocation.
bool plainReaches(const api::ResourceSliceSpec& slice, const api::Node& node);
bool plainReaches(const api::NodeSelector& selector, const api::Node& node);

}  // namespace koord::simulation
