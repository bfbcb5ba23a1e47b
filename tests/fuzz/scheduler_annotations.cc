// Annotations that tell the scheduler of CPUs, devices and load: each parser reads every input.
// What it accepts makes sense.

#include <algorithm>

#include "api/codec.h"
#include "api/reservation.h"
#include "fuzz.h"
#include "model/node_reservation.h"
#include "model/transforms.h"
#include "model/well_known.h"
#include "scheduler/plugins/coscheduling/gang_spec.h"
#include "scheduler/plugins/deviceshare/adaption.h"
#include "scheduler/plugins/deviceshare/devices/allocation.h"
#include "scheduler/plugins/deviceshare/devices/demand.h"
#include "scheduler/plugins/deviceshare/devices/inventory.h"
#include "scheduler/plugins/deviceshare/templates.h"
#include "scheduler/plugins/elasticquota/quota_object.h"
#include "scheduler/plugins/loadawarescheduling/estimator.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"
#include "scheduler/plugins/loadawarescheduling/node_settings.h"
#include "scheduler/plugins/nodenumaresource/cpus/choice.h"
#include "scheduler/plugins/nodenumaresource/numa_demand.h"
#include "scheduler/plugins/reservation/operating_pod.h"
#include "scheduler/plugins/reservation/owners.h"
#include "scheduler/plugins/reservation/reservation_request.h"
#include "scheduler/plugins/reservation/reserve_pod.h"
#include "scheduler/plugins/schedulinghint/plugin.h"

namespace koord::fuzz {

namespace {

using namespace scheduler;  // NOLINT: the whole file is about it

void cpuTopology(std::string_view input) {
  const auto topology = CpuTopology::parse(input);
  if (!topology || !topology->valid()) return;
  check(topology->all().size() == topology->cpuCount(), "every CPU has a number of its own");
  CpuAccumulator accumulator;
  for (const auto bind : {CpuBindPolicy::FullPCPUs, CpuBindPolicy::SpreadByPCPUs}) {
    const int count = (topology->cpuCount() + 1) / 2;
    const auto choice = chooseCpus(accumulator, {*topology, CpuUse(), 1, topology->all()},
                                   {.request = {count, bind}});
    check(choice.ok() && choice.cpus.size() == count, "half of the CPUs can be had");
  }
}

// What pods and nodes say of CPUs and NUMA nodes.
void numa(std::string_view input) {
  const std::string text(input);
  ResourceNames names;
  const auto grant = readNumaGrant(names, {{std::string(model::kAnnotationResourceStatus), text}});
  if (grant && *grant) {
    const auto again = readNumaGrant(names, {{std::string(model::kAnnotationResourceStatus),
                                              resourceStatusText(names, **grant)}});
    check(again && *again && (*again)->cpus == (*grant)->cpus, "what is written is what was read");
  }
  api::Pod pod;
  pod.metadata.labels[std::string(model::kLabelQos)] = "LSR";
  for (const std::string_view key : {std::string_view(model::kAnnotationResourceSpec),
                                     kAnnotationNumaSpec, model::kAnnotationSchedulingHint})
    pod.metadata.annotations[std::string(key)] = text;
  PodInfo info;
  info.pod = std::make_shared<const api::Pod>(pod);
  info.request.base[kCpu] = 4000;
  const NumaDemand demand = readNumaDemand(names, info, CpuBindPolicy::FullPCPUs);
  check(!demand.binds || demand.cpus == 4, "whoever is bound has whole CPUs");
  (void)completedSpec(pod.metadata.annotations, {CpuBindPolicy::FullPCPUs, true});
  api::Node node;
  for (const std::string_view key :
       {kAnnotationAmplification, std::string_view(model::kAnnotationNodeReservation)})
    node.metadata.annotations[std::string(key)] = text;
  for (const std::string_view key : {kLabelCpuBindPolicy, kLabelNumaStrategy, kLabelNumaPolicy})
    node.metadata.labels[std::string(key)] = text;
  CpuReport report;
  for (const std::string_view key :
       {kAnnotationCpuTopology, kAnnotationPodCpuAllocs, kAnnotationKubeletCpus,
        std::string_view(model::kAnnotationNodeReservation),
        std::string_view(model::kAnnotationSystemQosResource)})
    report.metadata.annotations[std::string(key)] = text;
  KindOf<CpuReport>::Reader().read(report);
  const NumaNode read = readNumaNode(names, &node, &report);
  check(read.cpuRatio >= 1, "a ratio makes nothing smaller");
  if (auto whole = api::decodeText<CpuReport>(input)) {
    KindOf<CpuReport>::Reader().read(*whole);
    const NumaNode reported = readNumaNode(names, &node, &*whole);
    check(std::ranges::is_sorted(reported.zones, {}, &NumaZone::id), "zones have an order");
    for (const NumaZone& zone : reported.zones)
      check(zone.id >= 0 && zone.id < kMaxNumaNodes && zone.total.base[kCpu] >= 0,
            "a zone has a number, and no less than nothing");
  }
}

// What is made of annotations where objects come in: names of resources, what a node keeps back.
void transforms(std::string_view input) {
  const std::string text(input);
  api::Node node;
  node.metadata.annotations[std::string(model::kAnnotationNodeReservation)] = text;
  node.status.allocatable = {{"cpu", Quantity::of(8)}, {"memory", Quantity::of(1 << 30)}};
  const api::ResourceList before = node.status.allocatable;
  model::transformNode(node);
  for (const auto& [name, amount] : node.status.allocatable) {
    check(amount.sign() >= 0, "no less than nothing is left");
    const auto was = before.find(name);
    check(amount.isZero() || (was != before.end() && amount <= was->second),
          "what is kept back makes nothing more");
  }
  (void)model::problemsOfReservation(node.metadata.annotations);
  api::Pod pod;
  pod.spec.containers.emplace_back().resources.requests = {{"cpu", Quantity::of(1)}};
  for (const std::string_view key :
       {model::kAnnotationReplaceResources, model::kAnnotationDeviceAllocated})
    pod.metadata.annotations[std::string(key)] = text;
  model::transformPod(pod, {true, true, true});
}

// What is written down of a reservation, and what is limited in it.
void reservationRecords(std::string_view input) {
  const auto again = [&]<class Document>(Result<Document> read) {
    if (!read) return;
    const std::string written = toJson(api::encode(*read));
    const auto reread = api::decodeText<Document>(written, api::Reading::Go);
    check(reread && toJson(api::encode(*reread)) == written, "what is written is what was read");
  };
  again(api::decodeText<api::ReservationAllocated>(input, api::Reading::Go));
  again(api::decodeText<api::ReservationRestrictedOptions>(input, api::Reading::Go));
  again(api::decodeText<api::ReservationResizeAllocatable>(input, api::Reading::Go));
}

void devices(std::string_view input) {
  const api::ResourceList requests{{"nvidia.com/gpu", Quantity::of(2)},
                                   {"koordinator.sh/rdma", Quantity::of(1)}};
  for (const std::string_view key :
       {kAnnotationDeviceHint, kAnnotationDeviceJoint, kAnnotationPartitionSpec})
    (void)readDeviceDemand(requests, {{std::string(key), std::string(input)}});
  (void)parseDeviceLock(input);
  GpuTemplates templates;
  (void)templates.set(input);
  if (const auto given = parseAllocatedDevices(input)) {
    // What is read and written again is the same, and counting it leaves no trace.
    const auto again =
        parseAllocatedDevices(toJson(describeAllocatedDevices(*given, DeviceInventory())));
    check(again && *again == *given, "devices are written as they were read");
    DeviceUse use;
    use.add(*given);
    use.add(*given);
    use.remove(*given);
    DeviceUse once;
    once.add(*given);
    check(use == once, "what was added and taken away is gone");
    use.remove(*given);
    check(use == DeviceUse(), "nothing is left");
  }
  if (auto device = api::decodeText<api::Device>(input)) {
    const DeviceInventory inventory(std::make_shared<const api::Device>(*std::move(device)));
    for (const DeviceType type : kDeviceTypes)
      check(std::ranges::is_sorted(inventory.of(type), {}, &KnownDevice::minor),
            "devices have an order");
  }
  const auto partitions = parsePartitions(input);
  if (!partitions) return;
  for (const auto& [size, list] : *partitions)
    for (const GpuPartition& partition : list)
      check(partition.set.size() == size, "a partition has so many GPUs, and none of them twice");
}

// What pods and PodGroups say of gangs.
void gangs(std::string_view input) {
  const std::string text(input);
  const CoschedulingArgs args;
  api::PodGroup group;
  api::Pod pod;
  pod.metadata.namespace_ = group.metadata.namespace_ = "default";
  pod.metadata.name = group.metadata.name = "a";
  for (const char* key :
       {"name", "min-available", "waiting-time", "total-number", "mode", "match-policy", "groups",
        "network-topology-spec", "network-topology-index"}) {
    const std::string annotation = std::string("gang.scheduling.koordinator.sh/") + key;
    pod.metadata.annotations[annotation] = group.metadata.annotations[annotation] = text;
  }
  for (const auto& spec : {Result<GangSpec>(gangSpecOf(group, args)), gangSpecOf(pod, args)}) {
    if (!spec) continue;
    check(spec->total >= spec->minimum, "a gang has its minimum at least");
    check(std::ranges::is_sorted(spec->group), "a group has one order");
    check(spec->waitTime > Duration::zero(), "a gang waits for a while");
    if (spec->network)
      for (const NetworkGather& rule : *spec->network)
        check(rule.multiple >= 1 && !rule.layer.empty(), "a rule is about a layer");
  }
}

// What pods, Reservations and quotas say of who may use what.
void reservationsAndQuotas(std::string_view input) {
  const std::string text(input);
  api::Pod pod;
  for (const std::string_view key :
       {std::string_view(model::kAnnotationReservationAffinity),
        std::string_view(model::kAnnotationExactMatchReservation), kAnnotationReservationOwners,
        kAnnotationReservationCurrentOwner})
    pod.metadata.annotations[std::string(key)] = text;
  pod.spec.nodeName = "n";
  const ReservationRequest wish = ReservationRequest::of(pod);
  check(wish.anything(), "who says something wishes something");
  std::string error;
  const api::Reservation stands = reservationOf(pod, error);
  const auto owners = OwnerMatcher::compile(stands.spec.owners);
  if (owners) (void)owners->matches(pod);
  api::Reservation reservation = stands;
  reservation.metadata.uid = "u";
  reservation.metadata.labels["koordinator.sh/priority"] = text;
  reservation.metadata.annotations = pod.metadata.annotations;
  if (const auto made = makeReservePod(reservation))
    check((*made)->metadata.name == "u", "a reserve pod has the name of the uid");

  ResourceNames names;
  api::ElasticQuota quota;
  quota.metadata.name = "q";
  quota.spec.max = {{"cpu", Quantity::of(4)}};
  quota.spec.min = {{"cpu", Quantity::of(2)}};
  for (const char* key : {"shared-weight", "namespaces", "total-resource"})
    quota.metadata.annotations[std::string("quota.scheduling.koordinator.sh/") + key] = text;
  for (const auto& [resource, weight] : readQuota(quota, names).spec.weight)
    check(weight >= 0, "no weight is negative");
  (void)readSchedulingHint({{"scheduling.koordinator.sh/scheduling-hint", text}});
}

void load(std::string_view input) {
  LoadAwareSchedulingArgs args;
  args.allowCustomizeEstimation = true;
  const LoadResources resources(args);
  (void)parseUsageLimits(resources, input);
  (void)parseRawAllocatable(resources, input);
  const Estimator estimator(resources, Estimator::settingsOf(args));
  api::Pod pod;
  pod.spec.containers.emplace_back().resources.requests = {{"cpu", Quantity::of(1'000'000'000)}};
  for (const std::string_view key : {kAnnotationLoadFactors, kAnnotationSecondsAfterScheduled,
                                     kAnnotationSecondsAfterInitialized})
    pod.metadata.annotations[std::string(key)] = std::string(input);
  PodInfo info;
  info.pod = std::make_shared<const api::Pod>(pod);
  const AssignedLoad assigned = estimator.assigned(info, WallTime());
  for (const std::int64_t amount : assigned.estimate())
    check(amount >= 0 && amount <= kMaxLoad, "an estimate is an amount");
  const auto report = api::decode<LoadReport>(parseJson(input).value_or(nullptr), api::Reading::Go);
  if (!report) return;
  check(std::ranges::is_sorted(report->pods, {}, &LoadReport::PodUsage::hash),
        "pods are in the order in which they are looked for");
  for (const LoadReport::PodUsage& usage : report->pods)
    check(usage.milliCpu >= 0 && usage.memory >= 0, "nobody uses less than nothing");
}

}  // namespace

void schedulerAnnotations(std::string_view input) {
  cpuTopology(input);
  numa(input);
  transforms(input);
  devices(input);
  reservationRecords(input);
  gangs(input);
  reservationsAndQuotas(input);
  load(input);
}

}  // namespace koord::fuzz
