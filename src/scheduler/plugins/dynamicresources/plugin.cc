#include "scheduler/plugins/dynamicresources/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "api/codec.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/plugins/dynamicresources/allocator/results.h"
#include "scheduler/plugins/dynamicresources/selector_compiler.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kClass = "DynamicResources/class";
constexpr std::string_view kReserved = "DynamicResources/reserved";

dra::Features featuresOf(Handle& handle) {
  return {.adminAccess = handle.enabled("DRAAdminAccess"),
          .prioritizedList = handle.enabled("DRAPrioritizedList"),
          .partitionableDevices = handle.enabled("DRAPartitionableDevices"),
          .deviceTaints = handle.enabled("DRADeviceTaints"),
          .bindingConditions = handle.enabled("DRADeviceBindingConditions") &&
                               handle.enabled("DRAResourceClaimDeviceStatus"),
          .consumableCapacity = handle.enabled("DRAConsumableCapacity"),
          .listTypeAttributes = handle.enabled("DRAListTypeAttributes")};
}

constexpr const char* kUnavailable = "resourceclaim not available on the node";
constexpr const char* kGiven = "node(s) devices for the claims are allocated by DeviceShare";

SharedDevices& sharedDevicesOf(Handle& handle) {
  return handle.shared().of<SharedDevices>([] { return std::make_unique<SharedDevices>(); });
}

// Stores that no informer fills, for clusters without resource.k8s.io.
struct NoObjects {
  Stores stores;
};

Stores& storesOf(Handle& handle) {
  if (!handle.enabled("DisableDynamicResourceAllocationInformer")) return handle.stores();
  return handle.shared().of<NoObjects>([] { return std::make_unique<NoObjects>(); }).stores;
}

}  // namespace

DynamicResources::DynamicResources(Handle& handle, const DynamicResourcesArgs& args)
    : handle_(handle),
      cluster_(handle.cluster()),
      args_(args),
      enabled_(handle.enabled("DynamicResourceAllocation")),
      random_(handle.random()) {
  if (!enabled_) return;
  if (!handle.enabled("DRASchedulerFilterTimeout")) args_.filterTimeout = Duration::zero();
  manager_ = &handle.shared().of<DeviceManager>([&] {
    const DeviceManager::Gates gates{
        featuresOf(handle),
        handle.enabled("DRADeviceTaints") && handle.enabled("DRADeviceTaintRules"),
        handle.enabled("DRAExtendedResource")};
    return std::make_unique<DeviceManager>(cluster_, storesOf(handle), sharedDevicesOf(handle),
                                           celSelectors(), gates);
  });
}

DynamicResources::DynamicResources(Handle& handle, const DynamicResourcesArgs& args,
                                   dra::SelectorCompiler& compiler)
    : handle_(handle),
      cluster_(handle.cluster()),
      args_(args),
      enabled_(true),
      random_(handle.random()) {
  manager_ = &handle.shared().of<DeviceManager>([&] {
    return std::make_unique<DeviceManager>(cluster_, handle.stores(), sharedDevicesOf(handle),
                                           compiler, DeviceManager::Gates{});
  });
}

PluginPoints DynamicResources::skippedPoints(const PodInfo& pod) const {
  if (!pod.pod->spec.resourceClaims.empty()) return 0;
  const bool never = !enabled_ || std::ranges::none_of(pod.request.scalars, [&](const auto& each) {
    return mayBeBackedByDevices(cluster_.resources().name(each.first));
  });
  if (!never) return when::kPreEnqueue;
  return when::kPreFilter | when::kPlan | when::kReserve | when::kPreBind | when::kPreEnqueue;
}

bool DynamicResources::isLost(const api::ResourceClaim& claim) const {
  if (!manager_->features.bindingConditions) return false;
  const BindingReadiness readiness = readinessOf(claim);
  return !readiness.failure.empty() ||
         (!readiness.ready &&
          bindingTimedOut(claim, args_.bindingTimeout, handle_.executor().wallNow()));
}

std::string DynamicResources::problemOf(const api::ResourceClaim& claim, const PodInfo& pod) const {
  if (claim.status.allocation) return mayUse(claim, *pod.pod) ? "" : "resourceclaim in use";
  // The pod that allocates it writes the claim soon, which wakes this pod.
  if (manager_->claims.inFlight(claim.metadata.uid) && !shareOf(claim, pod))
    return fmt::format("resource claim {} is in the process of being allocated",
                       dra::nameOf(claim.metadata));
  return "";
}

// The allocation in flight that the pod shares with other members of its group; nullptr if there is
// none.
AllocationPtr DynamicResources::shareOf(const api::ResourceClaim& claim, const PodInfo& pod) const {
  const std::string& uid = claim.metadata.uid;
  if (claim.status.allocation || !manager_->claims.inFlight(uid)) return nullptr;
  const bool shares = manager_->claims.sharedBy(uid, handle_.profile().groupOf(pod));
  return shares ? manager_->claims.inFlight(uid) : nullptr;
}

namespace {

// What the claim for extended resources depends on: requests by container.
void signExtended(const api::Pod& pod, Signature& signature) {
  for (const auto* list : {&pod.spec.initContainers, &pod.spec.containers}) {
    signature.add(static_cast<std::int64_t>(list->size()));
    for (const api::Container& container : *list) {
      signature.add(std::string(container.restartPolicy));
      for (const auto& [resource, amount] : container.resources.requests) {
        if (!mayBeBackedByDevices(resource)) continue;
        signature.add(resource);
        signature.add(amount.value());
      }
      signature.add("");
    }
  }
}

}  // namespace

void DynamicResources::sign(const PodInfo& pod, Signature& signature) const {
  const auto& entries = pod.pod->spec.resourceClaims;
  signature.add(static_cast<std::int64_t>(entries.size()));
  if (!enabled_) return;
  if (!pod.request.scalars.empty()) signExtended(*pod.pod, signature);
  if (entries.empty()) return;
  const ClaimsOfPod found = claimsOfPod(*pod.pod, manager_->claims);
  signature.add(found.problem);
  if (!found.problem.empty()) return;
  signature.add(static_cast<std::int64_t>(found.claims.size()));
  for (const ResourceClaimPtr& claim : found.claims) {
    const std::string problem = problemOf(*claim, pod);
    signature.add(problem);
    if (!problem.empty()) continue;
    if (shareOf(*claim, pod)) {
      signature.add("share");
      signature.add(static_cast<std::int64_t>(manager_->claims.inFlightId(claim->metadata.uid)));
    } else if (claim->status.allocation) {
      // Not shared: other claims have other devices.
      signature.add(claim->metadata.uid);
      signature.add(std::string(claim->metadata.resourceVersion));
      signature.add(std::int64_t{isLost(*claim)});
    } else {
      signature.add("spec");
      signature.add(static_cast<std::int64_t>(manager_->claims.specOf(*claim)));
      // May name the claim.
      if (const Status status = checkClasses(*claim); !status.ok()) signature.add(status.message());
    }
  }
}

std::uint64_t DynamicResources::epoch(const CycleState& state, const PodInfo&) const {
  const ClassClaims* claims = state.get<ClassClaims>(kClass);
  const bool searches = claims && (claims->plan || !claims->backed.empty());
  return searches ? manager_->sharedRevision() : 0;
}

std::uint64_t DynamicResources::preFilterEpoch(const PodInfo& pod) const {
  if (!enabled_ || (pod.pod->spec.resourceClaims.empty() && pod.request.scalars.empty())) return 0;
  return manager_->classRevision();
}

Status DynamicResources::preEnqueue(const PodInfo& pod) {
  if (!enabled_ || pod.pod->spec.resourceClaims.empty()) return {};
  const ClaimsOfPod found = claimsOfPod(*pod.pod, manager_->claims);
  return found.problem.empty() ? Status{} : Status::unresolvable(found.problem);
}

Status DynamicResources::checkClasses(const api::ResourceClaim& claim) const {
  const auto check = [&](const std::string& class_, const std::string& request) -> Status {
    if (class_.empty())
      return Status::error(fmt::format("request {}: unsupported request type", request));
    if (manager_->class_(class_)) return {};
    return Status::unresolvable(
        fmt::format("request {}: device class {} does not exist", request, class_));
  };
  for (const api::DeviceRequest& request : claim.spec.devices.requests) {
    if (request.exactly) {
      if (Status status = check(request.exactly->deviceClassName, request.name); !status.ok())
        return status;
    } else if (request.firstAvailable.empty()) {
      return Status::unresolvable(fmt::format("resource claim {}, request {}: unknown request type",
                                              dra::nameOf(claim.metadata), request.name));
    } else if (!manager_->features.prioritizedList) {
      return Status::unresolvable(fmt::format(
          "resource claim {}, request {}: has subrequests, but the DRAPrioritizedList feature is "
          "disabled",
          dra::nameOf(claim.metadata), request.name));
    }
    for (const api::DeviceSubRequest& alternative : request.firstAvailable)
      if (Status status = check(alternative.deviceClassName, request.name + "/" + alternative.name);
          !status.ok())
        return status;
  }
  return {};
}

PreFilterResult DynamicResources::preFilter(CycleState& state, const PodInfo& pod) {
  const bool hasClaims = !pod.pod->spec.resourceClaims.empty();
  if (!enabled_ && hasClaims)
    return {Status::unresolvable("the gate DynamicResourceAllocation is off, so no plugin "
                                 "allocates the pod's resource claims"),
            {}};
  if (!enabled_) return {Status::skip(), {}};
  ClassClaims claims;
  claims.backed = manager_->backedOf(pod);
  if (!hasClaims && claims.backed.empty()) return {Status::skip(), {}};
  const ClaimsOfPod found = claimsOfPod(*pod.pod, manager_->claims);
  if (!found.problem.empty()) return {Status::unresolvable(found.problem), {}};
  if (found.claims.empty() && claims.backed.empty()) return {Status::skip(), {}};
  for (const ResourceClaimPtr& claim : found.claims) {
    std::string problem = problemOf(*claim, pod);
    if (!problem.empty()) return {Status::unresolvable(std::move(problem)), {}};
    AllocationPtr allocation = shareOf(*claim, pod);
    if (allocation || claim->status.allocation) {
      if (!allocation) allocation = {claim, &*claim->status.allocation};
      ClassClaims::Allocated allocated{claim, allocation, std::nullopt, isLost(*claim)};
      if (allocation->nodeSelector) {
        auto where = api::NodeSelectorMatcher::compile(*allocation->nodeSelector);
        if (!where) return {Status::of(where.error()), {}};
        allocated.where = *std::move(where);
      }
      claims.rank += dra::rankOf(claim->spec, *allocation);
      claims.allocated.push_back(std::move(allocated));
      continue;
    }
    if (Status status = checkClasses(*claim); !status.ok()) return {std::move(status), {}};
    claims.unallocated.push_back(claim);
  }
  if (!claims.unallocated.empty()) claims.plan = manager_->planFor(claims.unallocated);
  if (!claims.backed.empty()) {
    claims.plans = std::make_unique<Plans>();
    for (const auto& [id, amount] : pod.request.scalars)
      if (const std::string& name = cluster_.resources().name(id);
          amount > 0 && mayBeBackedByDevices(name) && !isBacked(id))
        claims.unbacked.push_back(name);
  }
  state.put(kClass, std::move(claims));
  return {};
}

// The plan for what must be allocated on the node; nullptr if that is nothing.
DeviceManager::PlanPtr DynamicResources::planOn(const ClassClaims& claims, const PodInfo& pod,
                                                NodeId node) const {
  const std::vector<BackedResource> lacking = withoutPluginOn(cluster_, node, claims.backed);
  if (lacking.empty()) return claims.plan;
  std::vector<ResourceId> key;
  for (const BackedResource& resource : lacking) key.push_back(resource.id);
  DeviceManager::PlanPtr& plan = (*claims.plans)[key];
  if (plan) return plan;
  Claims wanted = claims.unallocated;
  wanted.push_back(makeExtendedClaim(cluster_, *pod.pod, lacking, "").claim);
  return plan = manager_->planFor(wanted);
}

DynamicResources::Claims DynamicResources::unallocatedOf(const PodInfo& pod) const {
  Claims unallocated = claimsOfPod(*pod.pod, manager_->claims).claims;
  std::erase_if(unallocated, [&](const ResourceClaimPtr& claim) {
    return claim->status.allocation || shareOf(*claim, pod);
  });
  return unallocated;
}

Status DynamicResources::failureOf(const PodInfo& pod, NodeId node,
                                   const std::string& message) const {
  Claims wanted = unallocatedOf(pod);
  const auto lacking = withoutPluginOn(cluster_, node, manager_->backedOf(pod));
  if (!lacking.empty()) wanted.push_back(makeExtendedClaim(cluster_, *pod.pod, lacking, "").claim);
  const DeviceManager::PlanPtr plan = manager_->ownPlanFor(wanted);
  if (!*plan) return Status::of(plan->error());
  const dra::NodeInventory& inventory = manager_->inventory.of(cluster_.node(node).object);
  const auto expired = deadline();
  dra::Search search(**plan, inventory, manager_->moreTaints, expired);
  search.exclude(manager_->links.allocatedOn(node, inventory));
  const dra::Outcome own = search.run();
  return Status::error(own.message.empty() ? message : own.message);
}

bool DynamicResources::usableOn(const ClassClaims::Allocated& allocated, const api::Node& node) {
  if (allocated.lost) return false;
  return !allocated.where ||
         allocated.where->matches(node.metadata.labels, node.metadata.name).value_or(false);
}

// A search may take this long on one node.
std::function<bool()> DynamicResources::deadline() const {
  if (args_.filterTimeout == Duration::zero()) return {};
  const Executor& clock = handle_.executor();  // a recording needs its readings
  const SteadyTime until = clock.steadyNow() + args_.filterTimeout;
  return [&clock, until] { return clock.steadyNow() >= until; };
}

bool DynamicResources::fitsWithoutOthers(const dra::Plan& plan, NodeId node) const {
  const dra::NodeInventory& inventory = manager_->inventory.of(cluster_.node(node).object);
  if (manager_->links.allocatedOn(node, inventory).empty()) return false;
  const auto expired = deadline();
  dra::Search search(plan, inventory, manager_->moreTaints, expired);
  return search.run().found();
}

Status DynamicResources::filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) {
  const ClassClaims& claims = *state.get<ClassClaims>(kClass);
  if (claims.plan && !claims.plan->has_value()) {
    const DeviceManager::PlanPtr own = manager_->ownPlanFor(unallocatedOf(pod));
    return Status::of(own->has_value() ? claims.plan->error() : own->error());
  }
  Status failure;
  VerdictId notFound = kPasses, unavailable = kPasses, unfit = kPasses;
  const auto reject = [&](NodeId node, VerdictId& verdict, std::string_view why) {
    if (verdict == kPasses)
      verdict = nodes.rejection(Code::UnschedulableAndUnresolvable, {std::string(why)});
    nodes.reject(node, verdict);
  };
  nodes.forEach([&](NodeId id) {
    if (!failure.ok()) return;
    const auto& node = cluster_.node(id).object;
    const auto& allocatable = node->status.allocatable;
    if (std::ranges::any_of(claims.unbacked,
                            [&](const auto& name) { return !allocatable.contains(name); }))
      return reject(id, unfit, "cannot fit resource");
    if (const DeviceManager::PlanPtr plan = planOn(claims, pod, id)) {
      // Nodes with device plugins may take a pod that asks for too many devices.
      if (!plan->has_value())
        return nodes.reject(id, Code::UnschedulableAndUnresolvable, plan->error().message);
      const dra::NodeInventory& inventory = manager_->inventory.of(node);
      const auto expired = deadline();
      dra::Search search(**plan, inventory, manager_->moreTaints, expired);
      search.exclude(manager_->links.allocatedOn(id, inventory));
      const dra::Outcome outcome = search.run();
      switch (outcome.kind) {
        case dra::Outcome::Kind::Found:
          break;
        case dra::Outcome::Kind::NotFound:
          // Evicting a pod with such a device can help.
          if (fitsWithoutOthers(**plan, id)) return nodes.reject(id, Code::Unschedulable, kGiven);
          return reject(id, notFound, "cannot allocate all claims");
        case dra::Outcome::Kind::Unusable:
          return nodes.reject(id, Code::UnschedulableAndUnresolvable, outcome.message);
        case dra::Outcome::Kind::Expired:
          failure = Status::error(
              fmt::format("node {}: timed out trying to allocate devices", node->metadata.name));
          return;
        case dra::Outcome::Kind::Failed:
          failure = failureOf(pod, id, outcome.message);
          return;
      }
    }
    const bool usable = std::ranges::all_of(
        claims.allocated, [&](const auto& each) { return usableOn(each, *node); });
    if (!usable) reject(id, unavailable, kUnavailable);
  });
  return failure;
}

Status DynamicResources::preScore(CycleState& state, const PodInfo&, std::span<const NodeId>) {
  const ClassClaims* claims = state.get<ClassClaims>(kClass);
  const bool ranked =
      claims &&
      (claims->rank > 0 || (claims->plan && claims->plan->has_value() && (*claims->plan)->ranked));
  return ranked ? Status{} : Status::skip();
}

Status DynamicResources::score(const CycleState& state, const PodInfo& pod,
                               std::span<const NodeId> nodes, std::span<std::int64_t> scores) {
  const ClassClaims& claims = *state.get<ClassClaims>(kClass);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    scores[n] = claims.rank;
    const DeviceManager::PlanPtr plan = planOn(claims, pod, nodes[n]);
    if (!plan || !plan->has_value()) continue;
    const auto expired = deadline();
    const dra::NodeInventory& inventory = manager_->inventory.of(cluster_.node(nodes[n]).object);
    dra::Search search(**plan, inventory, manager_->moreTaints, expired);
    search.exclude(manager_->links.allocatedOn(nodes[n], inventory));
    if (search.run().found()) scores[n] += dra::rankOf(**plan, search);
  }
  return {};
}

// Releases an allocated, unused claim if a node was rejected for nothing else than that the claim
// is not available there, so that other devices can be chosen. Deletes the claim for extended
// resources of an earlier attempt.
PostFilterResult DynamicResources::postFilter(CycleState&, const PodPtr& pod,
                                              const Diagnosis& diagnosis) {
  PostFilterResult result;
  result.nomination = {false, ""};
  if (!enabled_) {
    result.status = Status::unschedulable("plugin disabled");
    return result;
  }
  result.status = Status::unschedulable("no new claims to deallocate");
  if (pod->kind) return result;
  if (ResourceClaimPtr stale = staleClaimOf(*pod)) {
    result.later = deleteStale(std::move(stale));
    return result;
  }
  if (diagnosis.preFilter.plugin() == kName) return result;
  const ClaimsOfPod found = claimsOfPod(*pod->pod, manager_->claims);
  if (!found.problem.empty() || (found.claims.empty() && manager_->backedOf(*pod).empty()))
    return result;
  result.status = Status::unschedulable("still not schedulable");
  if (!diagnosis.verdicts || diagnosis.preFilter.rejected()) return result;
  const auto isUnavailable = [&](NodeId node) {
    const Rejection& rejection = diagnosis.verdicts->rejection(diagnosis.verdicts->at(node));
    return rejection.reasons == std::vector<std::string>{kUnavailable} &&
           diagnosis.filterPlugins[rejection.plugin] == kName;
  };
  for (const ResourceClaimPtr& claim : found.claims) {
    if (!claim->status.allocation) continue;
    ClassClaims::Allocated allocated{claim, nullptr, std::nullopt, isLost(*claim)};
    if (const auto& selector = claim->status.allocation->nodeSelector)
      allocated.where = api::NodeSelectorMatcher::compileLazily(*selector);
    const bool unavailable = cluster_.live().any([&](NodeId node) {
      return isUnavailable(node) && !usableOn(allocated, *cluster_.node(node).object);
    });
    const auto& users = claim->status.reservedFor;
    const bool unused =
        users.empty() || (users.size() == 1 && api::isReservedFor(*claim, pod->uid()));
    if (!unavailable || !unused) continue;
    result.later = deallocate(claim);
    return result;
  }
  return result;
}

std::string DynamicResources::newUid() {
  const std::uint64_t a = random_.next(), b = random_.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, a >> 16 & 0xFFFF, a & 0xFFF,
                     0x8000 | (b >> 48 & 0x3FFF), b & 0xFFFFFFFFFFFF);
}

// Chooses the devices of all claims of the pod on the node: `promises` has those that are not
// stored yet.
Status DynamicResources::choose(const PodInfo& pod, NodeId node, Reserved& reserved,
                                ClaimsInFlight& promises) {
  const auto lacking = withoutPluginOn(cluster_, node, manager_->backedOf(pod));
  if (pod.pod->spec.resourceClaims.empty() && lacking.empty()) return {};
  ClaimsOfPod found = claimsOfPod(*pod.pod, manager_->claims);
  if (!found.problem.empty()) return Status::unresolvable(found.problem);
  const std::string group = handle_.profile().groupOf(pod);
  Claims unallocated;
  for (const ResourceClaimPtr& claim : found.claims) {
    if (std::string problem = problemOf(*claim, pod); !problem.empty())
      return Status::unresolvable(std::move(problem));
    if (claim->status.allocation) continue;
    if (AllocationPtr shared = shareOf(*claim, pod)) {
      promises.promises.push_back({claim->metadata.uid, std::move(shared), group});
    } else {
      unallocated.push_back(claim);
    }
  }
  reserved.claims = std::move(found.claims);
  if (!lacking.empty()) {
    ExtendedClaim own = makeExtendedClaim(cluster_, *pod.pod, lacking, newUid());
    unallocated.push_back(own.claim);
    reserved.claims.push_back(std::move(own.claim));
    reserved.extended = true;
    reserved.mappings = std::move(own.mappings);
  }
  if (unallocated.empty()) return {};
  const DeviceManager::PlanPtr plan = manager_->planFor(unallocated);
  if (!*plan) return Status::of(plan->error());
  const auto& object = cluster_.node(node).object;
  const dra::NodeInventory& inventory = manager_->inventory.of(object);
  const auto expired = deadline();
  dra::Search search(**plan, inventory, manager_->moreTaints, expired);
  search.exclude(manager_->links.allocatedOn(node, inventory));
  if (!search.run().found()) return Status::unschedulable("cannot allocate all claims");
  auto chosen = dra::allocationsOf(**plan, inventory, search, object->metadata.name,
                                   [this] { return newUid(); });
  if (!chosen) return Status::of(chosen.error());
  for (std::size_t i = 0; i < unallocated.size(); ++i)
    promises.promises.push_back(
        {unallocated[i]->metadata.uid,
         std::make_shared<const api::AllocationResult>(std::move((*chosen)[i])), group});
  return {};
}

Status DynamicResources::reserve(CycleState& state, const PodPtr& pod, NodeId node) {
  // A unit that is not a pod reserves a place for pods that bring their claims.
  if (!enabled_ || pod->kind) return {};
  Reserved reserved;
  ClaimsInFlight promises;
  // Plugins that plan before this one kept plan() from saying so.
  if (ResourceClaimPtr stale = staleClaimOf(*pod)) {
    tasks_.spawn(deleteUnreserved(std::move(stale)));
    return Status::unresolvable(std::string(kStaleClaim));
  }
  if (Status status = choose(*pod, node, reserved, promises); !status.ok()) return status;
  if (reserved.claims.empty() && !pod->pod->status.extendedResourceClaimStatus) return {};
  state.put(kReserved, std::move(reserved));
  if (promises.promises.empty()) return {};
  cluster_.regrant(pod->uid(), manager_->ledger.id(), ClaimLedger::grantOf(std::move(promises)));
  return {};
}

Status DynamicResources::grant(const PodPtr& pod, NodeId node) {
  if (!enabled_ || pod->kind) return {};
  Reserved reserved;
  ClaimsInFlight promises;
  if (Status status = choose(*pod, node, reserved, promises); !status.ok()) return status;
  if (!promises.promises.empty())
    cluster_.regrant(pod->uid(), manager_->ledger.id(), ClaimLedger::grantOf(std::move(promises)));
  return {};
}

// The grants are released with the pod's record.
void DynamicResources::unreserve(CycleState& state, const PodPtr& pod, NodeId) {
  Reserved* reserved = state.get<Reserved>(kReserved);
  if (!reserved) return;
  if (reserved->extended && !isInMemory(*reserved->claims.back()))
    tasks_.spawn(deleteUnreserved(reserved->claims.back()));
  if (reserved->extended) reserved->claims.pop_back();
  for (const ResourceClaimPtr& claim : reserved->claims)
    if (claim->status.allocation && api::isReservedFor(*claim, pod->uid()))
      tasks_.spawn(releaseClaim(claim, pod->uid()));
  *reserved = {};
}

Status DynamicResources::preBindPreFlight(CycleState& state, const PodPtr&, NodeId) {
  return state.get<Reserved>(kReserved) ? Status{} : Status::skip();
}

Task<Status> DynamicResources::preBind(CycleState& state, PodPtr pod, NodeId node) {
  Reserved& reserved = *state.get<Reserved>(kReserved);
  const Cluster::PodRecord* const record = cluster_.findPod(pod->uid());
  const ClaimsInFlight* const granted = record ? manager_->ledger.in(record->grants) : nullptr;
  ClaimsInFlight promises = granted ? *granted : ClaimsInFlight{};
  for (const ClaimsInFlight::Promise& promise : promises.promises)
    if (manager_->links.anyAllocated(node, *promise.allocation))
      co_return Status::error("DeviceShare allocated the devices to another pod in the meantime");
  if (reserved.extended && !granted)
    co_return Status::error(fmt::format("pod {} was deleted", pod->key()));
  if (reserved.extended) {
    auto creating = createExtended(reserved, promises, pod);
    if (const Result<> created = co_await creating; !created) co_return Status::of(created.error());
  }
  // The pod may be deleted while an allocation is written.
  const KeptInFlight kept(manager_->claims, promises);
  for (ResourceClaimPtr& claim : reserved.claims) {
    const AllocationPtr* const promised = promises.of(claim->metadata.uid);
    if (!promised && !claim->status.allocation)
      co_return Status::error(fmt::format("pod {} was deleted", pod->key()));
    const AllocationPtr seen =
        promised ? *promised : AllocationPtr(claim, &*claim->status.allocation);
    auto binding = bindClaim(claim, seen, promised != nullptr, pod);
    Result<ResourceClaimPtr> bound = co_await binding;
    if (!bound) co_return Status::of(bound.error());
    claim = *std::move(bound);  // for unreserve
  }
  auto finishing = finishExtended(reserved, pod);
  if (const Result<> finished = co_await finishing; !finished)
    co_return Status::of(finished.error());
  if (!manager_->features.bindingConditions ||
      std::ranges::none_of(reserved.claims,
                           [](const auto& claim) { return hasBindingConditions(*claim); }))
    co_return Status{};
  auto waiting = waitUntilReady(reserved.claims, pod, node);
  co_return co_await waiting;
}

Hint DynamicResources::hintForClaim(const PodInfo& pod, const ClusterEvent& event) const {
  const auto before = event.before<api::ResourceClaim>();
  const auto after = event.after<api::ResourceClaim>();
  if (!after)
    return before && (before->status.allocation || extendedOwnerOf(*before) == pod.uid())
               ? Hint::Queue
               : Hint::Skip;
  const ClaimsOfPod found = claimsOfPod(*pod.pod, manager_->claims);
  if (!found.problem.empty()) return Hint::Skip;
  // Its devices are free for others.
  if (before && before->status.allocation && !after->status.allocation) return Hint::Queue;
  const bool uses = std::ranges::any_of(found.claims, [&](const ResourceClaimPtr& claim) {
    return claim->metadata.uid == after->metadata.uid;
  });
  if (!uses) return Hint::Skip;
  if (!before) return Hint::Queue;
  return api::encode(before->status) == api::encode(after->status) ? Hint::Skip : Hint::Queue;
}

// True if the pod may have left its node before its claims were allocated. Their devices are free
// now, and no claim changes.
bool DynamicResources::hadClaimsInFlight(const PodInfo& gone) const {
  if (gone.kind) return false;
  const auto isAllocated = [](const ResourceClaimPtr& claim) {
    return claim && claim->status.allocation;
  };
  if (!manager_->backedOf(gone).empty() &&
      !isAllocated(manager_->claims.extendedClaimOf(*gone.pod)))
    return true;
  const ClaimsOfPod found = claimsOfPod(*gone.pod, manager_->claims);
  return !found.problem.empty() || !std::ranges::all_of(found.claims, isAllocated);
}

// A pod that leaves its node with devices of DeviceShare or promised ones, or a Device that
// changes.
Hint DynamicResources::hintForAllocatedDevices(const ClusterEvent& event) const {
  if (event.resource == EventResource::Custom)
    return manager_->links.sharesDevices() ? Hint::Queue : Hint::Skip;
  if (!event.oldPod) return Hint::Skip;
  const bool placed = event.resource == EventResource::AssignedPod;
  const bool frees =
      manager_->links.mayHaveDevices(*event.oldPod) || (placed && hadClaimsInFlight(*event.oldPod));
  return frees ? Hint::Queue : Hint::Skip;
}

Hint DynamicResources::hintForPod(const PodInfo& pod, const ClusterEvent& event) const {
  if (!event.newPod || event.newPod->uid() != pod.uid()) return Hint::Skip;
  return claimsOfPod(*event.newPod->pod, manager_->claims).problem.empty() ? Hint::Queue
                                                                           : Hint::Skip;
}

std::vector<EventRegistration> DynamicResources::eventsToRegister() const {
  using namespace action;
  if (!enabled_) return {};
  return {
      {EventResource::Node, kAdd | kUpdateNodeLabel | kUpdateNodeAllocatable, "", {}},
      // Deleted: the devices of a claim that was deleted by force are free, and a pod whose claim
      // for extended resources was removed can get another one.
      {EventResource::ResourceClaim, kAdd | kUpdate | kDelete, "",
       [this](const PodInfo& pod, const ClusterEvent& event) { return hintForClaim(pod, event); }},
      {EventResource::Pod, kUpdatePodGeneratedResourceClaim, "",
       [this](const PodInfo& pod, const ClusterEvent& event) { return hintForPod(pod, event); }},
      {EventResource::Pod, kDelete, "",
       [this](const PodInfo&, const ClusterEvent& event) {
         return hintForAllocatedDevices(event);
       }},
      {EventResource::Custom, kAdd | kUpdate | kDelete,
       "devices.v1alpha1.scheduling.koordinator.sh",
       [this](const PodInfo&, const ClusterEvent& event) {
         return hintForAllocatedDevices(event);
       }},
      {EventResource::DeviceClass, kAdd | kUpdate, "", {}},
      {EventResource::ResourceSlice, kAdd | kUpdate, "", {}}};
}

}  // namespace koord::scheduler
