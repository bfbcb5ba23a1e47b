#include "scheduler/plugins/deviceshare/plugin.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/resource_claims.h"
#include "scheduler/framework/own_events.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/deviceshare/adaption.h"
#include "scheduler/plugins/deviceshare/device_object.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kPod = "DeviceShare/pod";
constexpr const char* kClaimed = "node(s) devices are allocated to resource claims";
constexpr const char* kNoProvider = "GPUIsolationProviderHAMICore not found on the node";

DeviceScoring scoringOf(const ScoringStrategy& strategy) {
  DeviceScoring scoring;
  scoring.most = strategy.type == ScoringStrategy::Type::MostAllocated;
  for (const auto& resource : strategy.resources)
    if (const auto known = deviceResourceOf(resource.name))
      scoring.weights.emplace_back(*known, resource.weight);
  return scoring;
}

Code codeOf(DeviceAnswer::Outcome outcome) {
  return outcome == DeviceAnswer::Outcome::Unresolvable ? Code::UnschedulableAndUnresolvable
                                                        : Code::Unschedulable;
}

Status statusOf(DeviceAnswer answer) {
  if (answer.ok()) return {};
  return {codeOf(answer.outcome), std::move(answer.reasons), {}};
}

}  // namespace

DeviceShare::DeviceShare(Handle& handle, const DeviceShareArgs& args, DeviceRules rules)
    : handle_(handle),
      cluster_(handle.cluster()),
      args_(args),
      rules_(rules),
      allocator_(rules),
      scoring_(scoringOf(args.scoringStrategy)),
      packing_{true, scoring_.weights},
      table_(DeviceTable::of(handle)),
      templates_(GpuTemplates::of(
          handle, {args.templates.configMapNamespace, args.templates.configMapName})),
      reader_(cluster_, templates_, args.templates.matchedResources),
      backing_(handle) {
  if (handle.enabled("DevicePluginAdaption")) adaption_ = std::make_unique<DeviceAdaption>(handle);
}

DeviceShare::~DeviceShare() = default;

// --- The pod, and the other plugins of the profile.

bool DeviceShare::usesHints() const {
  if (!usesHints_) {
    usesHints_ = std::ranges::any_of(handle_.profile().plugins, [](const auto& plugin) {
      return plugin->name() == "SchedulingHint";
    });
  }
  return *usesHints_;
}

ReservationsOffer* DeviceShare::reservations() const {
  if (!reservations_) {
    const auto offers = handle_.profile().offers<ReservationsOffer>();
    reservations_ = offers.empty() ? nullptr : offers.front();
  }
  return *reservations_;
}

NumaAffinityOffer* DeviceShare::numaAffinity() const {
  if (!numaAffinity_) {
    const auto offers = handle_.profile().offers<NumaAffinityOffer>();
    numaAffinity_ = offers.empty() ? nullptr : offers.front();
  }
  return *numaAffinity_;
}

const PodDevices& DeviceShare::of(const PodInfo& pod) const {
  return reader_.of(pod, usesHints());
}

const PodDevices& DeviceShare::of(const PodInfo& pod, NodeId node) const {
  std::vector<ResourceId> backed;
  for (const auto& [id, amount] : pod.request.scalars)
    if (Cluster::columnAt(cluster_.allocatable(id), node) == 0 && backing_.isBacked(id))
      backed.push_back(id);
  return backed.empty() ? of(pod) : reader_.without(backed, pod, usesHints());
}

void DeviceShare::sign(const PodInfo& pod, Signature& signature) const {
  reader_.sign(pod, signature);
}

// Templates matter only to pods whose request must equal one. The pod's request says which these
// are; nearly none is. Devices that several nodes can reach matter only to pods with claims.
std::uint64_t DeviceShare::epoch(const CycleState& state, const PodInfo& pod) const {
  const auto* devices = state.get<PodDevices>(kPod);
  if (!devices || !devices->wanted()) return 0;
  return (devices->byTemplate ? templates_.version() : 0) +
         (table_.mayClaim(pod) ? table_.choiceEpoch() : 0);
}

std::uint64_t DeviceShare::preFilterEpoch(const PodInfo& pod) const {
  return reader_.concerns(pod) ? templates_.version() : 0;
}

PreFilterResult DeviceShare::preFilter(CycleState& state, const PodInfo& pod) {
  const PodDevices& devices = state.put(kPod, of(pod));
  if (!devices.error.empty()) return {Status::unresolvable(devices.error), {}};
  return {devices.wanted() ? Status{} : Status::skip(), {}};
}

// --- One node.

Status DeviceShare::admits(const PodDevices& pod, const NodeDevices& node) const {
  if (!pod.demand.wants(DeviceType::Gpu) || !pod.demand.gpu.shared) return {};
  // Upstream returns an error for the first mismatch, which ends the attempt for all nodes.
  if (!pod.isolationProvider.empty() && pod.isolationProvider != node.isolationProvider)
    return Status::unresolvable(kNoProvider);
  for (const auto& unsupported : args_.gpuShareUnsupportedModels) {
    if (unsupported.vendor == node.gpus.vendor && unsupported.model == node.gpus.model)
      return Status::unresolvable(
          fmt::format("model \"{}\" of vendor \"{}\" does not support GPU "
                      "Share",
                      node.gpus.model, node.gpus.vendor));
  }
  return {};
}

std::vector<ReservationOnNode> DeviceShare::matched(const PodInfo& pod, NodeId node) const {
  ReservationsOffer* offer = reservations();
  return offer ? offer->matchedReservations(pod, node) : std::vector<ReservationOnNode>();
}

NumaMask DeviceShare::affinityOf(const PodInfo& pod, NodeId node, bool reserving) const {
  NumaAffinityOffer* offer = args_.disableDeviceNUMATopologyAlignment ? nullptr : numaAffinity();
  if (!offer) return kAnyNuma;
  return (reserving ? offer->affinityOf(pod, node) : offer->knownAffinity(pod, node))
      .value_or(kAnyNuma);
}

// mayMatch: reservations of the node may match the pod.
Status DeviceShare::judge(const PodInfo& pod, NodeId node, bool mayMatch) const {
  const PodDevices& devices = of(pod, node);
  if (!devices.error.empty()) return Status::unresolvable(devices.error);
  if (!devices.wanted()) return {};
  if (Status status = admits(devices, table_.rowOf(node)); !status.ok()) return status;
  const NodeDevices* here = table_.at(node);
  if (!here) return {};  // left to NodeResourcesFit and kubelet
  Status status = judgeDevices(devices, pod, *here, mayMatch);
  const auto isWanted = [&](DeviceNumber number) {
    return devices.demand.wants(deviceOf(number).first);
  };
  if (status.ok() || std::ranges::none_of(table_.claimedOn(*here), isWanted)) return status;
  std::vector<std::string> reasons = status.reasons();
  reasons.emplace_back(kClaimed);
  return {status.code, std::move(reasons), {}};
}

Status DeviceShare::judgeDevices(const PodDevices& devices, const PodInfo& pod,
                                 const NodeDevices& here, bool mayMatch) const {
  if (devices.plain && !mayMatch && !table_.mayClaim(pod)) {
    DeviceUse all;
    const QuickFit fit =
        quickFit(devices.demand, here.inventory, table_.useOn(here, all), here.gpus);
    if (fit == QuickFit::Fits) return {};
    if (fit == QuickFit::Lacks)
      return Status::unschedulable(quickReason(devices.demand, here.inventory));
  }
  const auto reservations = mayMatch ? matched(pod, here.id) : std::vector<ReservationOnNode>();
  return statusOf(
      allocate(devices, pod, here, {.reservations = reservations, .preAllocationNode = here.id})
          .answer);
}

Status DeviceShare::filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) {
  const bool ignoresReservations = of(pod).ignoresReservations;
  std::vector<std::pair<Status, VerdictId>> rejections;  // few differ
  nodes.forEach([&](NodeId node) {
    const bool mayMatch = ignoresReservations || state.view().on(node) != nullptr;
    Status status = judge(pod, node, mayMatch);
    if (status.ok()) return;
    const auto same = [&](const auto& each) {
      return each.first.code == status.code && each.first.reasons() == status.reasons();
    };
    auto it = std::ranges::find_if(rejections, same);
    if (it == rejections.end()) {
      const VerdictId id = nodes.rejection(status.code, status.reasons());
      rejections.emplace_back(std::move(status), id);
      it = std::prev(rejections.end());
    }
    nodes.reject(node, it->second);
  });
  return {};
}

// --- Scores.

Status DeviceShare::preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId>) {
  const PodDevices* known = state.get<PodDevices>(kPod);
  return (known ? *known : of(pod)).wanted() ? Status{} : Status::skip();
}

std::int64_t DeviceShare::scoreOn(const PodInfo& pod, NodeId node, bool mayMatch) const {
  const NodeDevices* here = table_.at(node);
  const PodDevices& devices = of(pod, node);
  if (!here || !devices.wanted()) return 0;
  const NumaMask affinity = affinityOf(pod, node, false);
  if (devices.plain && !mayMatch && affinity == kAnyNuma && rules_ == DeviceRules::Ours &&
      !table_.mayClaim(pod)) {
    DeviceUse all;
    const auto score =
        quickScore(devices.demand, scoring_, here->inventory, table_.useOn(*here, all));
    if (score) return *score;
  }
  DeviceUse use = useWithout(pod, *here);
  DeviceOffer offer{here->inventory, use, here->gpus, std::nullopt};
  if (affinity != kAnyNuma) offer.numas = affinity;
  ReservationsOffer* others = mayMatch ? reservations() : nullptr;
  if (others) {
    const std::string nominated = others->nominationOf(pod, node, false);
    const auto left = leftOf(pod, *here, nominated);
    if (left) use.remove(*left);
    // A Restricted reservation gives only what is reserved.
    const auto all = left ? matched(pod, node) : std::vector<ReservationOnNode>();
    const auto it = std::ranges::find(all, nominated, &ReservationOnNode::uid);
    if (it != all.end() && it->restricted) {
      for (const DeviceType type : kDeviceTypes)
        for (const AllocatedDevice& device : at(*left, type))
          at(offer.only, type)[device.minor].add(device.amounts);
    }
  }
  DeviceQuestion question = questionFor(devices, *here, offer, {});
  question.scoring = &scoring_;
  return allocator_.score(question).value_or(0);
}

Status DeviceShare::score(const CycleState& state, const PodInfo& pod,
                          std::span<const NodeId> nodes, std::span<std::int64_t> scores) {
  const PodDevices* known = state.get<PodDevices>(kPod);
  const PodDevices& devices = known ? *known : of(pod);
  if (!devices.wanted()) {
    std::ranges::fill(scores, 0);
    return {};
  }
  for (std::size_t n = 0; n < nodes.size(); ++n)
    scores[n] = scoreOn(pod, nodes[n], state.view().on(nodes[n]) != nullptr);
  return {};
}

// --- Events and remedies.

Hint DeviceShare::onNode(const PodInfo& pod, const std::string& name) const {
  const auto node = cluster_.findNode(name);
  if (!node || !of(pod).error.empty()) return Hint::Queue;
  return judge(pod, *node, true).ok() ? Hint::Queue : Hint::Skip;
}

// A claim that gives devices back.
Hint DeviceShare::onClaim(const ClusterEvent& event) const {
  const auto before = event.before<api::ResourceClaim>();
  const auto after = event.after<api::ResourceClaim>();
  const bool had = !before || before->status.allocation;
  const bool has = after && after->status.allocation;
  return table_.sharesDevices() && had && !has ? Hint::Queue : Hint::Skip;
}

// Slices say which devices of a claim are those of a Device.
Hint DeviceShare::onSlice(const PodInfo& pod, const ClusterEvent& event) const {
  if (!table_.sharesDevices()) return Hint::Skip;
  auto slice = event.after<api::ResourceSlice>();
  if (!slice) slice = event.before<api::ResourceSlice>();
  if (!slice || slice->spec.nodeName.empty()) return Hint::Queue;
  return onNode(pod, std::string(slice->spec.nodeName));
}

std::vector<EventRegistration> DeviceShare::eventsToRegister() const {
  const auto onDeparture = [this](const PodInfo&, const ClusterEvent& event) {
    return !event.oldPod || reader_.concerns(*event.oldPod) ? Hint::Queue : Hint::Skip;
  };
  const auto onDevice = [this](const PodInfo& pod, const ClusterEvent& event) {
    const auto after = event.after<api::Device>();
    return after ? onNode(pod, after->metadata.name) : Hint::Queue;
  };
  const auto onNodeEvent = [this](const PodInfo& pod, const ClusterEvent& event) {
    return event.newNode ? onNode(pod, event.newNode->metadata.name) : Hint::Skip;
  };
  const auto onTemplates = [this](const PodInfo& pod, const ClusterEvent&) {
    return of(pod).error.empty() ? Hint::Queue : Hint::Skip;
  };
  // Upstream waits for pods and Devices only. But a node without a Device accepts the pod, too,
  // labels say what can be shared, and the pod may request less after a change.
  return {onOwnMetadata(),
          {EventResource::Pod, action::kDelete, "", onDeparture},
          {EventResource::Node, action::kAdd | action::kUpdateNodeLabel, "", onNodeEvent},
          {EventResource::Custom, action::kUpdate, std::string(kTemplatesChanged), onTemplates},
          {EventResource::ResourceClaim, action::kUpdate | action::kDelete, "",
           [this](const PodInfo&, const ClusterEvent& event) { return onClaim(event); }},
          {EventResource::ResourceSlice, action::kAdd | action::kUpdate | action::kDelete, "",
           [this](const PodInfo& pod, const ClusterEvent& event) { return onSlice(pod, event); }},
          {EventResource::DeviceClass, action::kAdd | action::kUpdate, "",
           [this](const PodInfo& pod, const ClusterEvent& event) {
             return backing_.beginsToBack(event, pod) ? Hint::Queue : Hint::Skip;
           }},
          {EventResource::Custom, action::kAdd | action::kUpdate | action::kDelete,
           std::string(KindOf<api::Device>::value.customResource), onDevice}};
}

}  // namespace koord::scheduler
