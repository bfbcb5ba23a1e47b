#pragma once

// DeviceShare: allocates GPUs, network cards and FPGAs of a node to pods, whole or in parts.
//
// device_table.h has the devices and their allocations, pod_devices.h what a pod requests, and
// devices/allocator.h chooses the devices. This class is the plugin: what it does at each extension
// point.
//
// The verdict on a node depends on the pod's request, the reservations that match it (whose changes
// touch their nodes), the node's devices, their allocations and the node's labels. It is therefore
// cached for the pod's class until the node changes.

#include "scheduler/framework/backing_devices.h"
#include "scheduler/framework/controller.h"
#include "scheduler/framework/gpu_capacity.h"
#include "scheduler/framework/numa_hints.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/tentative.h"
#include "scheduler/plugins/deviceshare/args.h"
#include "scheduler/plugins/deviceshare/device_table.h"
#include "scheduler/plugins/deviceshare/pod_devices.h"
#include "scheduler/plugins/reservation/offers.h"

namespace koord::scheduler {

class DeviceAdaption;

class DeviceShare final : public Plugin,
                          public Signed,
                          public Changing,
                          public PreFilterPlugin,
                          public FilterPlugin,
                          public PreScorePlugin,
                          public ScorePlugin,
                          public ReservePlugin,
                          public TentativePlugin,
                          public PreBindPlugin,
                          public EnqueueExtensions,
                          public RemedyPlugin,
                          public PodFactsPlugin,
                          public MetricsPlugin,
                          public ServicePlugin,
                          public ControllerPlugin,
                          public ReservationFilterOffer,
                          public ReservationScoreOffer,
                          public NumaHintProvider,
                          public GpuCapacityOffer {
 public:
  static constexpr std::string_view kName = "DeviceShare";
  DeviceShare(Handle& handle, const DeviceShareArgs& args, DeviceRules rules = DeviceRules::Ours);
  ~DeviceShare() override;
  std::string_view name() const override { return kName; }
  PluginPoints skippedPoints(const PodInfo& pod) const override {
    return reader_.concerns(pod) ? 0 : when::kReserve | when::kPreBind;
  }

  // plugin.cc
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  std::uint64_t epoch(const CycleState& state, const PodInfo& pod) const override;
  std::uint64_t preFilterEpoch(const PodInfo& pod) const override;
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  Normalization normalization() const override { return Normalization::Highest; }
  bool willSkipScore(const PodInfo& pod) override { return !reader_.concerns(pod); }
  std::vector<EventRegistration> eventsToRegister() const override;

  // reserve.cc
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  Status grant(const PodPtr& pod, NodeId node) override {
    CycleState none;
    return reserve(none, pod, node);
  }
  Status preBindPreFlight(CycleState& state, const PodPtr& pod, NodeId node) override;
  Task<Status> preBind(CycleState& state, PodPtr pod, NodeId node) override;

  // reservations.cc
  Status filterReservation(const PodInfo& pod, const ReservationOnNode& reservation,
                           NodeId node) override;
  std::int64_t scoreReservation(const PodInfo& pod, const ReservationOnNode& reservation,
                                NodeId node) override;

  // numa.cc
  NumaHints numaHints(const PodInfo& pod, NodeId node) override;
  Status checkNuma(const PodInfo& pod, NodeId node, NumaMask affinity) override;

  // capacity.cc
  GpuRequest gpuRequestOf(const PodInfo& pod) const override;
  FreeGpus freeGpus(NodeId node) const override;

  // services.cc
  std::string remedyFor(const PodInfo& pod, NodeId node) const override;
  json::value factsOf(const PodInfo& pod) const override;
  std::string metrics() const override;
  std::vector<Route> routes() override;

  // controller.cc: follows the ConfigMaps of templates, and reports invalid Devices.
  Task<void> run() override;

 private:
  // What a trial allocation may use, and its purpose.
  struct Trial {
    bool reserving = false;  // the result will be allocated, not only judged
    NumaMask affinity = kAnyNuma;
    // The matched reservations of the node to try; empty: the node alone.
    std::span<const ReservationOnNode> reservations;
    // Set for a reserve pod: the node on which it may take pods over.
    NodeId preAllocationNode = kNoNode;
  };
  struct Outcome {
    DeviceAnswer answer;
    std::string reservation;  // the reservation to allocate from; "": the node alone
    // Why each reservation was rejected, as messages.
    std::vector<std::string> ofReservations;
  };
  enum class Within : std::uint8_t { Only, Preferred };

  // plugin.cc
  const PodDevices& of(const PodInfo& pod) const;
  // What the plugin gives to the pod there: not what its claim for extended resources provides.
  // Valid until the next call for another pod or node.
  const PodDevices& of(const PodInfo& pod, NodeId node) const;
  bool usesHints() const;
  ReservationsOffer* reservations() const;
  NumaAffinityOffer* numaAffinity() const;
  // How GPUs of a node are chosen.
  const DeviceScoring& choice() const;
  // Checks that do not need the devices.
  Status admits(const PodDevices& pod, const NodeDevices& node) const;
  Status judge(const PodInfo& pod, NodeId node, bool mayMatch) const;
  Status judgeDevices(const PodDevices& devices, const PodInfo& pod, const NodeDevices& here,
                      bool mayMatch) const;
  std::int64_t scoreOn(const PodInfo& pod, NodeId node, bool mayMatch) const;
  NumaMask affinityOf(const PodInfo& pod, NodeId node, bool reserving) const;
  std::vector<ReservationOnNode> matched(const PodInfo& pod, NodeId node) const;
  Hint onNode(const PodInfo& pod, const std::string& name) const;
  Hint onClaim(const ClusterEvent& event) const;
  Hint onSlice(const PodInfo& pod, const ClusterEvent& event) const;

  // trial.cc
  // The node's use, with what resource claims have, without the pod's own allocation.
  DeviceUse useWithout(const PodInfo& pod, const NodeDevices& node) const;
  Outcome allocate(const PodDevices& devices, const PodInfo& pod, const NodeDevices& node,
                   const Trial& trial) const;
  DeviceAnswer allocateOnNode(const PodDevices& devices, const NodeDevices& node,
                              const DeviceUse& use, const Trial& trial) const;
  DeviceAnswer allocateWithin(const PodDevices& devices, const NodeDevices& node,
                              const DeviceUse& use, const AllocatedDevices& left, Within within,
                              const Trial& trial) const;
  DeviceAnswer allocateFrom(const PodDevices& devices, const NodeDevices& node,
                            const DeviceUse& use, const AllocatedDevices& left,
                            const ReservationOnNode& reservation, const Trial& trial) const;
  DeviceQuestion questionFor(const PodDevices& devices, const NodeDevices& node,
                             const DeviceOffer& offer, const Trial& trial) const;
  // A reserve pod that takes pods over must include their devices of its types; nullopt if they
  // have none.
  std::optional<DeviceAnswer> allocateAround(const PodDevices& devices, const PodInfo& pod,
                                             const NodeDevices& node, const DeviceUse& use,
                                             const Trial& trial) const;
  // What is left of the reservation without the pod; nullopt if it has no devices.
  std::optional<AllocatedDevices> leftOf(const PodInfo& pod, const NodeDevices& node,
                                         const std::string& reservation) const;

  // reserve.cc
  std::string missingDevice(const PodInfo& pod, NodeId node, const AllocatedDevices& given) const;

  // services.cc
  json::object describe(NodeId node) const;
  void addNodes(const PodDevices& devices, const PodInfo& pod, json::object& facts) const;
  Result<json::value> summaryOf(const std::string& name) const;

  // reasons.cc
  std::string ruleFor(const PodDevices& devices, const NodeDevices& node) const;
  std::string reasonFor(const PodDevices& devices, const NodeDevices& node,
                        const AllocatedDevices& given) const;
  void addOutlook(const PodInfo& pod, NodeId node, json::object& into) const;

  Handle& handle_;
  Cluster& cluster_;
  const DeviceShareArgs args_;
  const DeviceRules rules_;
  const DeviceAllocator allocator_;
  DeviceScoring scoring_;
  DeviceScoring packing_;  // the same with MostAllocated
  DeviceTable& table_;
  GpuTemplates& templates_;
  PodDevicesReader reader_;
  BackingDevices backing_;
  std::unique_ptr<DeviceAdaption> adaption_;  // nullptr if the feature gate is off
  // Of the profile; set at first use, when the profile is complete.
  mutable std::optional<bool> usesHints_;
  mutable std::optional<bool> packs_;
  mutable std::optional<ReservationsOffer*> reservations_;
  mutable std::optional<NumaAffinityOffer*> numaAffinity_;
};

}  // namespace koord::scheduler
