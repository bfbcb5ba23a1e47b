#pragma once

// Small plugins that live from the framework as reservations, gangs, quotas and devices do, for its
// tests. Each reads what it needs from annotations of pods and nodes.

#include <map>

#include "base/cpuset.h"
#include "scheduler/engine/grants.h"
#include "scheduler/framework/group.h"
#include "scheduler/framework/handle.h"
#include "scheduler/framework/node_filter.h"
#include "scheduler/framework/people.h"
#include "scheduler/framework/plugin.h"

namespace koord::scheduler::testing {

// Slots: numbered things of a node that pods are given, as CPUs or devices are.
//   node annotation test/slots: "0-3"; pod annotation test/wants: "2"; written: test/slots: "0-1"
class SlotLedger final : public LedgerOf<CpuSet> {
 public:
  explicit SlotLedger(Cluster& cluster) : cluster_(cluster) {}
  std::string_view name() const override { return "slots"; }
  CpuSet free(NodeId node) const;

  // To make mistakes with.
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

// Holds: room on a node that is kept for pods with a label, as reservations do. What is queued and
// placed is a unit that is no Pod; owners see its room as free, and are counted within it.
//   the unit's pod has annotation test/for: "team"; owners have label team=team
struct HoldShare {
  std::string hold;  // its uid
  Resources part;    // of the owner's requests that the hold has counted already
  const Resources* covered() const { return &part; }
  bool operator==(const HoldShare&) const = default;
};

class HoldLedger final : public LedgerOf<HoldShare> {
 public:
  std::string_view name() const override { return "holds"; }
  std::map<std::string, Resources> used;  // by owners, by uid of the hold

 private:
  // Nothing of it is written down: whoever starts anew has no owners.
  std::optional<HoldShare> readValue(const PodInfo&, NodeId, const HoldShare* held) override {
    return held ? std::optional(*held) : std::nullopt;
  }
  void addValue(NodeId, const PodInfo&, const HoldShare& share) override {
    used[share.hold].add(share.part);
  }
  void removeValue(NodeId, const PodInfo&, const HoldShare& share) override {
    used[share.hold].subtract(share.part);
  }
  std::string verifyValues(NodeId, Held) const override { return ""; }
};

class HoldKind final : public UnitKind {
 public:
  explicit HoldKind(Handle& handle) : handle_(handle) {}
  api::ObjectReference reference(const PodInfo& unit) const override;
  Task<Result<Whereabouts>> find(PodPtr unit) override;
  Task<void> report(PodPtr unit, FailureReport failure) override;
  Task<void> announce(PodPtr unit, std::string node) override;
  Task<Result<>> annotate(PodPtr unit, api::StringMap annotations) override;
  Task<bool> evict(PodPtr unit, PodPtr preemptor) override;

  std::map<std::string, std::string> boundTo;  // node by name of the hold
  std::vector<std::string> reports;            // "name reason: message"
  std::vector<std::string> evicted;            // names

 private:
  Handle& handle_;
};

class Holds final : public Plugin,
                    public Signed,
                    public ViewPlugin,
                    public FilterPlugin,
                    public ReservePlugin,
                    public BindPlugin {
 public:
  static constexpr std::string_view kName = "Holds";
  static constexpr const char* kFor = "test/for";
  static constexpr const char* kTeam = "team";
  explicit Holds(Handle& handle);
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool hasCredits(const PodInfo& pod) const override;
  bool addCredit(const PodInfo& pod, NodeId node, NodeCredit& credit) const override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  bool writesAnnotations() const override { return true; }
  bool binds(const PodInfo& unit) const override { return unit.kind == &kind_; }
  Task<Status> bind(CycleState& state, PodPtr pod, std::string nodeName) override;

  static HoldKind& kindOf(Handle& handle);

 private:
  // The hold on the node that is for the pod; nullptr when there is none.
  PodPtr holdFor(const PodInfo& pod, NodeId node) const;
  // What of a hold no owner uses.
  Resources restOf(const PodInfo& hold) const;

  Handle& handle_;
  Cluster& cluster_;
  HoldKind& kind_;
  HoldLedger& ledger_;
};

// Together: pods with annotation test/group "name/N" are placed when at least N of them have a
// node, in one zone (node label zone) if there is one that takes them all.
class Together final : public Plugin, public GroupPlugin {
 public:
  static constexpr std::string_view kName = "Together";
  static constexpr const char* kGroup = "test/group";
  explicit Together(Handle& handle) : cluster_(handle.cluster()) {}
  std::string_view name() const override { return kName; }
  std::string groupOf(const PodInfo& pod) const override;
  std::vector<NodeSet> domainsOf(const std::string& group,
                                 std::span<const PodPtr> members) override;
  Status judge(const std::string& group, const GroupOutcome& outcome) override;

 private:
  Cluster& cluster_;
};

// Allowance: how much cpu the pods of a namespace may use together, as quotas do. Namespaces
// without a limit are not limited. What is used is derived from grants.
class AllowanceLedger final : public LedgerOf<std::int64_t> {  // milli cpu
 public:
  std::string_view name() const override { return "allowance"; }
  std::map<std::string, std::int64_t> used;  // by namespace
  std::map<std::string, std::int64_t> limit;
  std::uint64_t version = 0;

 private:
  std::optional<std::int64_t> readValue(const PodInfo& pod, NodeId, const std::int64_t*) override {
    return pod.request.amount(kCpu);
  }
  void addValue(NodeId, const PodInfo& pod, const std::int64_t& amount) override;
  void removeValue(NodeId, const PodInfo& pod, const std::int64_t& amount) override;
  std::string verifyValues(NodeId, Held) const override { return ""; }
};

class Allowance final : public Plugin,
                        public Signed,
                        public PreFilterPlugin,
                        public AdmitPlugin,
                        public ReservePlugin {
 public:
  static constexpr std::string_view kName = "Allowance";
  explicit Allowance(Handle& handle) : cluster_(handle.cluster()), ledger_(ledgerOf(handle)) {}
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  std::uint64_t preFilterEpoch(const PodInfo&) const override { return ledger_.version; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status admit(const CycleState& state, const PodInfo& pod) const override;
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;

  static AllowanceLedger& ledgerOf(Handle& handle);

 private:
  Cluster& cluster_;
  AllowanceLedger& ledger_;
};

}  // namespace koord::scheduler::testing
