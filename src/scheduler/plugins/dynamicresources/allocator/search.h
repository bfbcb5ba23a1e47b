#pragma once

// Search: chooses devices of one node for all requests of a plan.

#include <functional>
#include <unordered_set>

#include "scheduler/plugins/dynamicresources/allocator/capacity.h"
#include "scheduler/plugins/dynamicresources/allocator/constraints.h"
#include "scheduler/plugins/dynamicresources/allocator/inventory.h"

namespace koord::scheduler::dra {

// A chosen device.
struct Pick {
  std::uint32_t device = 0;    // in NodeInventory::devices
  std::size_t request = 0;     // in Plan::requests
  bool share = false;          // of a device that allows multiple allocations
  bool counts = false;         // its counters are consumed by this pick
  api::ResourceList consumed;  // of a share
};

struct Outcome {
  enum class Kind {
    Found,
    NotFound,  // the node lacks devices for the claims
    Unusable,  // likewise, and a pool is invalid
    Failed,    // a claim, a class or a slice is invalid: see `message`
    Expired,   // out of time
  } kind = Kind::NotFound;
  std::string message;
  bool found() const { return kind == Kind::Found; }
};

// Taints of a device in addition to those of its slice (DeviceTaintRules). Calls fn for each.
using MoreTaints = std::function<void(const PoolKey& pool, const api::SliceDevice& device,
                                      const std::function<void(const api::DeviceTaint&)>& fn)>;

class Search {
 public:
  // Calls `expired` from time to time; true ends the search. moreTaints may be empty.
  Search(const Plan& plan, const NodeInventory& node, const MoreTaints& moreTaints,
         const std::function<bool()>& expired);

  // Devices, by index in NodeInventory::devices, that only claims with adminAccess may get, because
  // another plugin has given the hardware. Empty: none.
  void exclude(std::vector<bool> devices) { excluded_ = std::move(devices); }

  Outcome run();
  // After Found, in the order of the plan's requests.
  const std::vector<Pick>& picks() const { return picks_; }
  // The chosen alternative of each of the plan's groups.
  const std::vector<std::size_t>& chosen() const { return chosen_; }
  // Devices that were tried, for benchmarks.
  std::uint64_t steps() const { return steps_; }

 private:
  enum class Step { Found, No, Stop };
  struct Hash {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint64_t>& value) const {
      return value.first;
    }
  };
  // The data of the thorough search about a request: search_thorough.cc.
  struct Thorough {
    std::vector<std::vector<Match>> candidates;  // by request, then device; Failed: unknown
    std::vector<std::uint32_t> alike;            // by device: interchangeable ones have one number
    std::size_t kinds = 0;                       // of `alike`
    std::vector<std::int32_t> lastGroup;  // by device: the last group that could use it, or -1
    // By pool, then counter: the last candidate device of each group that consumes it, or -1.
    std::vector<std::vector<std::vector<std::int32_t>>> lastConsumer;
    std::unordered_set<std::pair<std::uint64_t, std::uint64_t>, Hash> failed;
    // By depth: the kinds that were tried there, as numbers of visits.
    std::vector<std::vector<std::uint64_t>> tried;
    std::uint64_t visits = 0;
  };

  void reset();
  Outcome searchAll();
  bool prepareAll();
  Step placeGroup(std::size_t group);
  Step placeDevices(std::size_t group, std::size_t request, std::int64_t number,
                    std::uint32_t start);
  Step next(std::size_t group, std::size_t request, std::int64_t number, std::uint32_t start);
  Step takeAll(std::size_t group, std::size_t request, std::int64_t number);
  Step takeOne(std::size_t group, std::size_t request, std::int64_t number, std::uint32_t start);
  std::int64_t countOf(std::size_t request) const;
  std::size_t resultsOf(std::size_t claim) const;

  bool inUse(std::uint32_t device, const RequestPlan& request) const;
  bool isTakenBy(std::uint32_t device, std::size_t claim) const;
  // Yes, No, or Failed: error_ is set.
  Match selectable(std::uint32_t device, const RequestPlan& request);
  Match selectorsMatch(std::uint32_t device, const RequestPlan& request) const;
  bool tolerated(std::uint32_t device, const RequestPlan& request) const;
  bool fits(std::uint32_t device, const RequestPlan& request, bool allocating) const;
  bool isShare(const DeviceOnNode& device) const;
  bool countersFit(const DeviceOnNode& device);
  bool alreadyShared(std::uint32_t device) const;
  void consume(const DeviceOnNode& device, bool add);
  std::vector<Quantity>& leftOf(const PoolOnNode& pool);
  // Takes the device for the request; returns false if it cannot. must: the device is among "all
  // devices", so a violated constraint is an error.
  bool take(std::uint32_t device, std::size_t request, bool must);
  void release();
  bool expire();
  std::string describe(const DeviceOnNode& device) const;

  // --- The thorough search.
  void prepareThorough();
  void groupAlike();
  void findLastUses();
  std::pair<std::uint64_t, std::uint64_t> stateOf(std::size_t group, std::size_t request,
                                                  std::int64_t number, std::uint32_t start);
  bool cannotSucceed(std::size_t group, std::size_t request, std::int64_t number,
                     std::uint32_t start);
  bool canFill(const RequestPlan& request, const std::vector<Match>& candidates,
               std::int64_t needed, std::uint32_t start);

  const Plan& plan_;
  const NodeInventory& node_;
  const MoreTaints& moreTaints_;
  const std::function<bool()>& expired_;

  std::vector<bool> excluded_;
  std::vector<Pick> picks_;
  std::vector<std::size_t> chosen_;
  std::vector<std::uint32_t> users_;   // by device: how many claims take it, whole
  std::vector<std::uint16_t> shares_;  // by device
  boost::unordered_flat_map<std::uint32_t, api::ResourceList> consumed_;  // by shares, by device
  boost::unordered_flat_map<const PoolOnNode*, std::vector<Quantity>> left_;  // of counters
  std::vector<std::vector<ConstraintState>> constraints_;                     // by claim
  std::vector<std::size_t> results_;                                          // by claim
  std::vector<std::vector<std::uint32_t>> all_;  // by request: what "all devices" means here
  std::uint64_t steps_ = 0;
  std::uint64_t budget_ = 0;  // of steps; 0: no limit
  bool overBudget_ = false;
  bool expiredNow_ = false;
  std::string error_;
  std::unique_ptr<Thorough> thorough_;
};

}  // namespace koord::scheduler::dra
