#pragma once

// Small plugins that use the framework like reservations, gangs, quotas and devices do, for its
// tests. Each reads annotations of pods and nodes.

#include <map>

#include "base/cpuset.h"
#include "scheduler/engine/grants.h"
#include "scheduler/framework/group.h"
#include "scheduler/framework/handle.h"
#include "scheduler/framework/node_filter.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/tentative.h"
#include "scheduler/testing/small_objects.h"

namespace koord::scheduler::testing {

// Slots: numbered items of a node that pods are granted, like CPUs or devices.
//   node annotation test/slots: "0-3"; pod annotation test/wants: "2"; written: test/slots: "0-1"
class SlotLedger final : public LedgerOf<CpuSet> {
 public:
  explicit SlotLedger(Cluster& cluster) : cluster_(cluster) {}
  std::string_view name() const override { return "slots"; }
  CpuSet free(NodeId node) const;

  // Public, so that tests can corrupt it.
  std::map<NodeId, CpuSet> taken;

 private:
  std::optional<CpuSet> readValue(const PodInfo& pod, NodeId node, const CpuSet* held) override;
  void addValue(NodeId node, const PodInfo& pod, const CpuSet& slots) override;
  void removeValue(NodeId node, const PodInfo& pod, const CpuSet& slots) override;
  std::string verifyValues(NodeId node, Held held) const override;

  Cluster& cluster_;
};

class Slots final : public Plugin,
                    public Signed,
                    public FilterPlugin,
                    public ReservePlugin,
                    public PreBindPlugin,
                    public EnqueueExtensions,
                    public RemedyPlugin,
                    public ServicePlugin {
 public:
  static constexpr std::string_view kName = "Slots";
  static constexpr const char* kSlots = "test/slots";
  static constexpr const char* kWants = "test/wants";
  explicit Slots(Handle& handle);
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  Status preBindPreFlight(CycleState& state, const PodPtr& pod, NodeId node) override;
  Task<Status> preBind(CycleState& state, PodPtr pod, NodeId node) override;
  std::vector<EventRegistration> eventsToRegister() const override;
  std::string remedyFor(const PodInfo& pod, NodeId node) const override;
  std::vector<Route> routes() override;

  static SlotLedger& ledgerOf(Handle& handle);

 private:
  static int wantedBy(const PodInfo& pod);
  const CpuSet* slotsOf(const PodInfo& pod) const;

  Cluster& cluster_;
  SlotLedger& ledger_;
};

// Holds: resources on a node that are reserved for pods with a label, like reservations. A hold is
// queued and placed as a unit, not a Pod. Owners see its resources as free, and count within it.
//   the unit's pod has annotation test/for: "team"; owners have label team=team
//   once the hold is bound, the unit's pod has its node and annotation test/bound
//   written: test/share: "UID cpu=1000 memory=0 ..."
struct HoldShare {
  std::string hold;  // its uid
  Resources part;    // of the owner's requests that the hold has counted already
  // The hold is not on the node: the part is not counted there.
  bool dormant = false;
  const Resources* covered() const { return dormant ? nullptr : &part; }
  bool operator==(const HoldShare&) const = default;
};

// Holds and owners are added and removed in any order, in simulations, too. A share is in force
// while its hold is on the node, which the ledger ensures as a listener.
class HoldLedger final : public LedgerOf<HoldShare>, public ClusterListener {
 public:
  HoldLedger(Cluster& cluster, const UnitKind& kind) : cluster_(cluster), kind_(kind) {}
  std::string_view name() const override { return "holds"; }
  // The part of a hold that owners do not use.
  Resources restOf(const PodInfo& hold, NodeId node) const;
  std::string textOf(const HoldShare& share) const;

  // What owners use of each hold, by its uid. Public, so that tests can corrupt it.
  struct Use {
    Resources amount;
    int owners = 0;
  };
  std::map<NodeId, std::map<std::string, Use>> used;

  void podAdded(NodeId node, const PodPtr& pod) override { settle(node, *pod); }
  void podRemoved(NodeId node, const PodPtr& pod) override { settle(node, *pod); }
  void nodeChanging(NodeId) override {}
  void nodeChanged(NodeId) override {}

 private:
  std::optional<HoldShare> readValue(const PodInfo& pod, NodeId node,
                                     const HoldShare* held) override;
  void addValue(NodeId node, const PodInfo& pod, const HoldShare& share) override;
  void removeValue(NodeId node, const PodInfo& pod, const HoldShare& share) override;
  std::string verifyValues(NodeId node, Held held) const override;
  bool present(const std::string& hold, NodeId node) const;
  void settle(NodeId node, const PodInfo& pod);
  void settleShare(NodeId node, const PodInfo& pod);

  Cluster& cluster_;
  const UnitKind& kind_;
};

// In memory only; derive from it to keep holds as objects.
class HoldKind : public UnitKind {
 public:
  explicit HoldKind(Handle& handle) : handle_(handle) {}
  api::ObjectReference reference(const PodInfo& unit) const override;
  Task<Result<PodLocation>> find(PodPtr unit) override;
  Task<void> report(PodPtr unit, FailureReport failure) override;
  Task<void> announce(PodPtr unit, std::string node) override;
  Task<Result<>> annotate(PodPtr unit, api::StringMap annotations) override;
  Task<bool> evict(PodPtr unit, PodPtr preemptor) override;
  virtual Task<Status> bind(PodPtr unit, std::string node);

  std::map<std::string, std::string> boundTo;  // node by name of the hold
  std::vector<std::string> reports;            // "name reason: message"
  std::vector<std::string> evicted;            // names

 protected:
  Handle& handle_;
};

class Holds final : public Plugin,
                    public Signed,
                    public ViewPlugin,
                    public FilterPlugin,
                    public ReservePlugin,
                    public TentativePlugin,
                    public PreBindPlugin,
                    public BindPlugin,
                    public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "Holds";
  static constexpr const char* kFor = "test/for";
  static constexpr const char* kShare = "test/share";
  static constexpr const char* kBound = "test/bound";
  static constexpr const char* kTeam = "team";
  explicit Holds(Handle& handle);
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool hasCredits(const PodInfo& pod) const override;
  bool addCredit(const PodInfo& pod, NodeId node, NodeCredit& credit) const override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  Status grant(const PodPtr& pod, NodeId node) override;
  Status preBindPreFlight(CycleState& state, const PodPtr& pod, NodeId node) override;
  Task<Status> preBind(CycleState& state, PodPtr pod, NodeId node) override;
  bool writesAnnotations() const override { return true; }
  bool binds(const PodInfo& unit) const override { return unit.kind == &kind_; }
  Task<Status> bind(CycleState& state, PodPtr pod, std::string nodeName) override;

  // Rejects no node by itself, but a hold that is placed may accept its owners.
  std::vector<EventRegistration> eventsToRegister() const override;

  static HoldKind& kindOf(Handle& handle);
  static HoldLedger& ledgerOf(Handle& handle);

 private:
  // The bound hold on the node for the pod's team, the lowest uid if there are several; nullptr if
  // there is none.
  PodPtr holdFor(const PodInfo& pod, NodeId node) const;
  const HoldShare* shareOf(const PodInfo& pod) const;

  Cluster& cluster_;
  HoldKind& kind_;
  HoldLedger& ledger_;
};

// Together: pods with annotation test/group "name/N" are placed if at least N of them then have a
// node, including running ones. They go to one zone (node label zone) if a zone accepts all waiting
// members.
class Together final : public Plugin, public GroupPlugin {
 public:
  static constexpr std::string_view kName = "Together";
  static constexpr const char* kGroup = "test/group";
  explicit Together(Handle& handle) : cluster_(handle.cluster()) {}
  std::string_view name() const override { return kName; }
  std::string groupOf(const PodInfo& pod) const override;
  GroupPlan planOf(const std::string& group, std::span<const PodPtr> members) override;
  Status judge(const std::string& group, const GroupOutcome& outcome) override;

 private:
  Cluster& cluster_;
};

// Allowance: how much cpu the pods of a namespace may use together, like a quota. Namespaces
// without a limit are unlimited. Usage follows from grants; limits are objects.
class AllowanceLedger final : public LedgerOf<std::int64_t> {  // milli cpu
 public:
  std::string_view name() const override { return "allowance"; }
  // Public, so that tests can corrupt it.
  std::map<std::string, std::int64_t> used;                      // by namespace
  std::map<NodeId, std::map<std::string, std::int64_t>> usedOn;  // likewise, on each node
  std::map<std::string, std::int64_t> limit;
  std::uint64_t version = 0;

 private:
  std::optional<std::int64_t> readValue(const PodInfo& pod, NodeId, const std::int64_t*) override {
    return pod.request.amount(kCpu);
  }
  void addValue(NodeId node, const PodInfo& pod, const std::int64_t& amount) override;
  void removeValue(NodeId node, const PodInfo& pod, const std::int64_t& amount) override;
  std::string verifyValues(NodeId node, Held held) const override;
};

class Allowance final : public Plugin,
                        public Signed,
                        public Changing,
                        public PreFilterPlugin,
                        public AdmitPlugin,
                        public ReservePlugin,
                        public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "Allowance";
  explicit Allowance(Handle& handle) : cluster_(handle.cluster()), ledger_(ledgerOf(handle)) {}
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  std::uint64_t preFilterEpoch(const PodInfo&) const override { return ledger_.version; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status admit(const CycleState& state, const PodPtr& pod, NodeId node) const override;
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  std::vector<EventRegistration> eventsToRegister() const override;

  static AllowanceLedger& ledgerOf(Handle& handle);

 private:
  Status judge(const PodInfo& pod) const;

  Cluster& cluster_;
  AllowanceLedger& ledger_;
};

}  // namespace koord::scheduler::testing
