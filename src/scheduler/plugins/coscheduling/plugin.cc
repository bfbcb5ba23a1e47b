#include "scheduler/plugins/coscheduling/plugin.h"

#include <boost/json/object.hpp>
#include <unordered_map>

#include "kube/client.h"
#include "model/well_known.h"
#include "scheduler/framework/own_events.h"
#include "scheduler/framework/pod_limits.h"
#include "scheduler/plugins/coscheduling/gang_audit.h"
#include "scheduler/plugins/coscheduling/gang_check.h"
#include "scheduler/plugins/coscheduling/limits.h"
#include "scheduler/plugins/coscheduling/network_controller.h"
#include "scheduler/plugins/coscheduling/pod_group_controller.h"
#include "scheduler/plugins/coscheduling/summary.h"
#include "scheduler/plugins/coscheduling/topology_domains.h"
#include "scheduler/plugins/coscheduling/workload_controller.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kBindKeys[] = {
    model::kAnnotationBindGangGroupId, model::kAnnotationBindGangMemberCount,
    model::kAnnotationBindGangGroupIdDeprecated, model::kAnnotationBindGangMemberCountDeprecated};

constexpr std::string_view kCloseness = "Coscheduling/closeness";

// Returns true if the pod has annotations of an earlier binding, for example because it is a copy
// of a pod that ran before.
bool hasBindAnnotations(const PodInfo& pod) {
  return std::ranges::any_of(kBindKeys, [&](std::string_view key) {
    return api::findIn(pod.pod->metadata.annotations, key) != nullptr;
  });
}

void addBindAnnotations(CycleState& state, const GangRelease& release) {
  if (release.members <= 1) return;
  const std::string count = std::to_string(release.members);
  api::StringMap& annotations = state.annotations();
  annotations[std::string(model::kAnnotationBindGangGroupId)] = release.groupId;
  annotations[std::string(model::kAnnotationBindGangMemberCount)] = count;
  annotations[std::string(model::kAnnotationBindGangGroupIdDeprecated)] = release.groupId;
  annotations[std::string(model::kAnnotationBindGangMemberCountDeprecated)] = count;
}

}  // namespace

Coscheduling::Coscheduling(Handle& handle, const CoschedulingArgs& args)
    : handle_(handle),
      args_(args),
      gangs_(gangsOf(handle, args)),
      cycles_(gangCyclesOf(handle, args)),
      network_(networkTopologyOf(handle)),
      placement_(handle, network_),
      preemption_(handle, cycles_, args.awareNetworkTopology ? &placement_ : nullptr) {
  (void)gangCheckOf(handle, gangs_);
  auditGangs(handle, gangs_);
}

std::string Coscheduling::groupOf(const PodInfo& pod) const {
  return gangs_.alone(pod) ? std::string() : gangIdOf(*pod.pod);
}

bool Coscheduling::sameGroup(const PodInfo& a, const PodInfo& b) const {
  const Gang* gang = gangs_.gangOf(a);
  const Gang* other = gang ? gangs_.gangOf(b) : nullptr;
  return other && (gang == other || Gangs::groupIdOf(*gang) == Gangs::groupIdOf(*other));
}

std::string Coscheduling::nameOf(const std::string& group) const {
  const Gang* gang = gangs_.find(group);
  return gang ? Gangs::groupIdOf(*gang) : group;
}

bool Coscheduling::together(const PodInfo& pod) const {
  const Gang* gang = gangs_.gangOf(pod);
  return !gang || !gangs_.free(*gang);
}

std::vector<std::string> Coscheduling::placedWith(const std::string& group) const {
  const Gang* gang = gangs_.find(group);
  if (!gang) return {group};
  std::vector<std::string> ids;
  for (const Gang* partner : gangs_.partnersOf(*gang)) ids.push_back(partner->id);
  return ids;
}

Status Coscheduling::begin(const std::string& group, std::span<const PodPtr> members) {
  return cycles_.begin(handle_.profile(), group, members);
}

std::vector<std::size_t> Coscheduling::orderOf(const std::string& group,
                                               std::span<const PodPtr> members) const {
  return cycles_.orderOf(group, members);
}

GroupPlan Coscheduling::planOf(const std::string& group, std::span<const PodPtr> members) {
  const Gang* gang = gangs_.find(group);
  if (!gang || !gang->spec) return {};
  if (args_.awareNetworkTopology && gangs_.networkOf(*gang))
    return cycles_.planByNetwork(*gang, members, placement_);
  GroupPlan plan;
  if (!gang->spec->topologyKey.empty()) plan.domains = topologyDomains(gangs_, *gang);
  return plan;
}

bool Coscheduling::willSkipScore(const PodInfo& pod) {
  return unselecting_.of(pod, [&] { return networkSelectorOf(pod).empty(); });
}

Status Coscheduling::preScore(CycleState& state, const PodInfo& pod,
                              std::span<const NodeId> nodes) {
  const std::string_view selector = networkSelectorOf(pod);
  const auto tree = selector.empty() ? nullptr : network_.tree();
  if (!tree) return Status::skip();
  std::vector<NetworkOffer> offers(handle_.cluster().capacity());
  network_.countExisting(std::string(selector), offers);
  state.put(kCloseness, byCloseness(*tree, offers, nodes));
  return {};
}

// The score is the node's position in the order by closeness.
Status Coscheduling::score(const CycleState& state, const PodInfo& /*pod*/,
                           std::span<const NodeId> nodes, std::span<std::int64_t> scores) {
  const auto* order = state.get<std::vector<NodeId>>(kCloseness);
  if (!order) return {};
  std::unordered_map<NodeId, std::int64_t> positions;
  for (std::size_t i = 0; i < order->size(); ++i)
    positions.emplace((*order)[i], static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto position = positions.find(nodes[i]);
    scores[i] = position == positions.end() ? std::ssize(*order) : position->second;
  }
  return {};
}

bool Coscheduling::shouldContinue(const std::string& group, const GroupOutcome& soFar) {
  return cycles_.shouldContinue(group, soFar);
}

bool Coscheduling::suffices(const std::string& group, std::span<const PodPtr> members) const {
  const Gang* gang = gangs_.find(group);
  return gang && cycles_.reachesMinimum({members});
}

Status Coscheduling::judge(const std::string& group, const GroupOutcome& outcome) {
  return cycles_.judge(group, outcome);
}

Nomination Coscheduling::nominationOf(const PodInfo& pod) const {
  return cycles_.nominationOf(pod);
}

PluginPoints Coscheduling::skippedPoints(const PodInfo& pod) const {
  PluginPoints points = when::kPreFilter | when::kReserve;
  if (!gangs_.alone(pod)) return points;
  points |= when::kPermit | when::kPreEnqueue;
  return hasBindAnnotations(pod) ? points : points | when::kPreBind;
}

Status Coscheduling::preEnqueue(const PodInfo& pod) {
  if (gangs_.alone(pod)) return {};
  const Status complete = gangs_.check(pod);
  return complete.ok() ? preemption_.victimsRequested(pod) : complete;
}

PostFilterResult Coscheduling::postFilter(CycleState& /*state*/, const PodPtr& pod,
                                          const Diagnosis& diagnosis) {
  return args_.enablePreemption ? preemption_.preempt(pod, diagnosis)
                                : preemption_.checkHelps(pod, diagnosis);
}

void Coscheduling::unreserve(CycleState& /*state*/, const PodPtr& pod, NodeId /*node*/) {
  if (!gangs_.alone(*pod)) cycles_.unreserved(*pod);
}

PermitResult Coscheduling::permit(CycleState& /*state*/, const PodPtr& pod, NodeId /*node*/) {
  return gangs_.alone(*pod) ? PermitResult{} : cycles_.permit(*pod);
}

// Usually does all the work, so that the pod needs no other write than its binding.
Status Coscheduling::preBindPreFlight(CycleState& state, const PodPtr& pod, NodeId /*node*/) {
  if (gangs_.alone(*pod) && !hasBindAnnotations(*pod)) return Status::skip();
  const auto release = gangs_.releaseOf(*pod);
  if (release) addBindAnnotations(state, *release);
  const bool waits = handle_.waitingPods().find(pod->uid()) != nullptr;
  const bool stale = hasBindAnnotations(*pod) && state.annotations().empty();
  return waits || stale ? Status{} : Status::skip();
}

Task<Status> Coscheduling::preBind(CycleState& state, PodPtr pod, NodeId /*node*/) {
  const auto release = gangs_.releaseOf(*pod);
  if (release) addBindAnnotations(state, *release);
  const bool written = release && release->members > 1;
  if (written || pod->kind || !handle_.api() || !hasBindAnnotations(*pod)) co_return Status{};
  json::object removed;
  for (const std::string_view key : kBindKeys) removed.emplace(key, nullptr);
  json::value patch = json::object{
      {"metadata", json::object{{"uid", pod->uid()}, {"annotations", std::move(removed)}}}};
  auto patching = kube::mergePatch(*handle_.api(), api::Pod::kType, api::keyOf(pod->pod->metadata),
                                   std::move(patch));
  const Result<json::value> reply = co_await patching;
  co_return reply ? Status{} : Status::of(reply.error());
}

std::vector<EventRegistration> Coscheduling::eventsToRegister() const {
  const auto capacity = [this](const PodInfo& pod, const ClusterEvent&) {
    return cycles_.capacityHint(pod);
  };
  const auto freed = [this](const PodInfo& pod, const ClusterEvent& event) {
    return preemption_.freesNominatedNode(event, pod) ? Hint::Queue : cycles_.capacityHint(pod);
  };
  const auto planned = [this](const PodInfo& pod, const ClusterEvent&) {
    return cycles_.planHint(pod);
  };
  const auto limited = [this](const PodInfo& pod, const ClusterEvent& event) {
    return changesLimits(event) ? cycles_.limitHint(handle_.profile(), pod) : Hint::Skip;
  };
  // onOwnMetadata: a held member may be moved to another gang.
  return {onOwnMetadata(),
          {EventResource::AssignedPod, action::kDelete | action::kUpdatePodScaleDown, "", freed},
          {EventResource::Node, action::kAdd | action::kUpdateNodeAllocatable, "", capacity},
          {EventResource::Node, action::kAdd | action::kUpdateNodeLabel, "", planned},
          {EventResource::Custom, action::kAll, std::string(kQuotaResource), limited},
          {EventResource::Custom, action::kAdd | action::kUpdate,
           std::string(KindOf<api::ClusterNetworkTopology>::value.customResource), planned}};
}

std::vector<ServicePlugin::Route> Coscheduling::routes() {
  return gangRoutes(cycles_);
}

json::value Coscheduling::factsOf(const PodInfo& pod) const {
  const Gang* gang = gangs_.gangOf(pod);
  if (!gang) return nullptr;
  json::object facts = explainGang(cycles_, gangs_, *gang);
  if (!args_.awareNetworkTopology && gangs_.networkOf(*gang))
    facts.emplace("networkTopology", "ignored: awareNetworkTopology of CoschedulingArgs is false");
  return facts;
}

std::string Coscheduling::waitReason(const PodInfo& pod) const {
  const Gang* gang = gangs_.gangOf(pod);
  if (!gang || gangs_.free(*gang)) return {};
  const std::string missingMembers = gangShortageText(cycles_, gangs_, *gang);
  return missingMembers.empty() ? missingMembers
                                : "gang " + gang->id + " waits for " + missingMembers;
}

Task<void> Coscheduling::run() {
  if (!handle_.api()) co_return;
  PodGroupController controller(handle_, gangs_);
  WorkloadController workloads(handle_, cycles_);
  NetworkController network(handle_, network_);
  controller.start();
  workloads.start();
  for (;;) {
    auto pause = sleepFor(handle_.executor(), PodGroupController::kPeriod);
    co_await pause;
    controller.reportWaiting();
    cycles_.dropUselessNominations();
    workloads.update();
    network.update();
  }
}

}  // namespace koord::scheduler
