#include "simulation/features/cpus.h"

#include <algorithm>

#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/plugins/nodenumaresource/numa_table.h"
#include "simulation/features/plain_reservations.h"

namespace koord::simulation {

using scheduler::NumaTable;
using scheduler::testing::Machine;

namespace {

PlainCpuGrant plainOf(const scheduler::ResourceNames& names, const scheduler::NumaGrant& grant) {
  PlainCpuGrant plain;
  plain.cpus = grant.cpus;
  for (const auto& part : grant.numa)
    part.amounts.forEach([&](scheduler::ResourceId id, std::int64_t amount) {
      if (amount != 0) plain.zones[part.numa][names.name(id)] = amount;
    });
  return plain;
}

PlainCpuGrant grantOf(const api::Pod& pod) {
  return PlainCpuGrant::of(pod.metadata.annotations);
}

std::string describeGrant(const PlainCpuGrant& grant) {
  std::string text = "CPUs " + grant.cpus.toString();
  for (const auto& [numa, amounts] : grant.zones)
    for (const auto& [resource, amount] : amounts)
      text += fmt::format(" {} {} of NUMA node {}", amount, resource, numa);
  return text;
}

std::int64_t amountAt(const ZoneAmounts& zones, int numa, const std::string& resource) {
  const auto zone = zones.find(numa);
  if (zone == zones.end()) return 0;
  const auto amount = zone->second.find(resource);
  return amount == zone->second.end() ? 0 : amount->second;
}

std::int64_t versionOf(const api::ObjectMeta& meta) {
  return std::stoll(meta.resourceVersion);
}

}  // namespace

CpusFeature::CpusFeature(const Surroundings& world, Random random)
    : Feature(world, random), topologies_(world.api, world.loop) {
  const auto seen = [this](const auto& topology) {
    invariants_.touched();
    history_[topology->metadata.name].emplace_back(versionOf(topology->metadata),
                                                   machineOf(*topology));
  };
  topologies_.addHandler({seen, [seen](const auto&, const auto& after) { seen(after); },
                          [this](const auto& topology) {
                            invariants_.touched();
                            history_[topology->metadata.name].emplace_back(0, nullptr);
                          }});
}

// Its scores are not used, because plain evaluation does not know them. It reserves before
// Reservation, as in the default configuration; plugins of single extension points would come after
// those of all points.
void CpusFeature::configure(scheduler::ProfileConfig& profile) const {
  profile.plugins["multiPoint"].enabled.push_back({"NodeNUMAResource", 0});
  for (const char* point : {"preScore", "score"})
    profile.plugins[point].disabled.push_back("NodeNUMAResource");
}

void CpusFeature::begin() {
  define(Topology::kType, Status::Within);
}

void CpusFeature::start() {
  topologies_.start();
}

Machine CpusFeature::anyMachine() {
  Machine machine;
  machine.sockets = static_cast<int>(1 + random_.below(2));
  machine.numaPerSocket = static_cast<int>(1 + random_.below(2));
  machine.coresPerNuma = static_cast<int>(1 + random_.below(3));
  machine.threads = static_cast<int>(1 + random_.below(2));
  machine.memoryGiPerNuma = static_cast<int>(1 + random_.below(4));
  return machine;
}

// Before its node exists, or long after.
void CpusFeature::report(const std::string& node) {
  loop_.runAfter(Duration(random_.chance(0.5) ? 0 : random_.below(15'000'000'000)), [this, node] {
    const auto topology = scheduler::testing::topologyOf(node, machines_[node]);
    write(kube::createObject(api_, Topology::kType, {"", ""}, api::encodeObject(*topology)));
  });
}

void CpusFeature::shape(scheduler::testing::NodeBuilder& node) {
  if (random_.chance(0.2)) return;
  const std::string name = node.object().metadata.name;
  const Machine machine = machines_[name] = anyMachine();
  node.allocatable("cpu", std::to_string(machine.cpus()))
      .allocatable("memory", fmt::format("{}Gi", machine.memoryGiPerNuma * machine.numas()));
  if (random_.chance(0.4))
    node.label(std::string(scheduler::kLabelNumaPolicy),
               pick({"SingleNUMANode", "Restricted", "BestEffort"}));
  if (random_.chance(0.15))
    node.label(std::string(scheduler::kLabelCpuBindPolicy),
               pick({"FullPCPUsOnly", "SpreadByPCPUs"}));
  if (random_.chance(0.3))
    node.label(std::string(scheduler::kLabelNumaStrategy),
               pick({"MostAllocated", "LeastAllocated"}));
  if (random_.chance(0.9)) report(name);
}

void CpusFeature::shape(scheduler::testing::PodBuilder& pod) {
  api::Pod& object = pod.object();
  auto& annotations = object.metadata.annotations;
  if (random_.chance(0.15))
    annotations[std::string(scheduler::kAnnotationNumaSpec)] =
        fmt::format(R"({{"numaTopologyPolicy":"{}"{}}})",
                    pick({"SingleNUMANode", "SingleNUMANode", "Restricted", "BestEffort"}),
                    random_.chance(0.5) ? R"(,"singleNUMANodeExclusive":"Preferred")" : "");
  if (!random_.chance(0.4)) return;
  pod.request("cpu", pick({"1", "1", "2", "2", "3", "4", "500m"}));
  pod.label(std::string(model::kLabelQos), "LSR");
  if (random_.chance(0.7))
    annotations[model::kAnnotationResourceSpec] = pick(
        {R"({"preferredCPUBindPolicy":"SpreadByPCPUs"})",
         R"({"requiredCPUBindPolicy":"FullPCPUs"})", R"({"requiredCPUBindPolicy":"SpreadByPCPUs"})",
         R"({"preferredCPUBindPolicy":"FullPCPUs","preferredCPUExclusivePolicy":"PCPULevel"})",
         R"({"preferredCPUExclusivePolicy":"NUMANodeLevel"})"});
}

void CpusFeature::shape(api::Reservation& reservation) {
  if (!random_.chance(0.4)) return;
  auto& metadata = reservation.spec.template_.as_object()["metadata"].as_object();
  if (!metadata["labels"].is_object()) metadata["labels"] = json::object{};
  metadata["labels"].as_object()[json::string(model::kLabelQos)] = "LSR";
  if (random_.chance(0.5))
    metadata["annotations"] = json::object{{json::string(model::kAnnotationResourceSpec),
                                            pick({R"({"preferredCPUBindPolicy":"SpreadByPCPUs"})",
                                                  R"({"requiredCPUBindPolicy":"FullPCPUs"})"})}};
}

void CpusFeature::act() {
  std::map<std::string, Invariants::NodeObject> sorted;
  for (const auto& node : invariants_.nodes.objects()) sorted[node->metadata.name] = node;
  if (sorted.empty()) return;
  const auto it =
      std::next(sorted.begin(), static_cast<std::ptrdiff_t>(random_.below(sorted.size())));
  if (random_.chance(0.3)) return changeNode(*it->second);
  const auto topology = topologies_.get({"", it->first});
  if (topology) return changeTopology(*topology);
  if (!machines_.contains(it->first)) machines_[it->first] = anyMachine();
  journal_.note("the topology of {} comes", it->first);
  report(it->first);
}

void CpusFeature::changeNode(const api::Node& node) {
  json::object labels;
  if (random_.chance(0.6)) {
    const char* policy = pick({"", "SingleNUMANode", "Restricted", "BestEffort"});
    labels[json::string(scheduler::kLabelNumaPolicy)] = policy;
    journal_.note("node {} has the NUMA policy {}", node.metadata.name, policy);
  } else {
    const char* policy = pick({"", "", "FullPCPUsOnly", "SpreadByPCPUs"});
    labels[json::string(scheduler::kLabelCpuBindPolicy)] = policy;
    journal_.note("node {} binds to {}", node.metadata.name, policy);
  }
  patch(api::Node::kType, node.metadata, {{"metadata", {{"labels", std::move(labels)}}}});
}

void CpusFeature::changeTopology(const Topology& topology) {
  const std::string& name = topology.metadata.name;
  const double dice = random_.unit();
  if (dice < 0.25) {
    journal_.note("the topology of {} goes", name);
    return remove(Topology::kType, topology.metadata);
  }
  if (dice < 0.6) {
    const char* reserved = pick({"", "0", "0-1", "2"});
    journal_.note("CPUs {} of {} are kubelet's", reserved, name);
    json::object annotations{{json::string(scheduler::kAnnotationKubeletCpus),
                              fmt::format(R"({{"policy":"none","reservedCPUs":"{}"}})", reserved)}};
    return patch(Topology::kType, topology.metadata,
                 {{"metadata", {{"annotations", std::move(annotations)}}}});
  }
  journal_.note("{} is another machine", name);
  machines_[name] = anyMachine();
  json::value now = api::encodeObject(*scheduler::testing::topologyOf(name, machines_[name]));
  patch(Topology::kType, topology.metadata,
        {{"metadata", {{"annotations", *at(now, "metadata", "annotations")}}},
         {"zones", *at(now, "zones")}});
}

// Deletes the topologies of deleted nodes.
void CpusFeature::tick() {
  std::map<std::string, std::shared_ptr<const Topology>> sorted;
  for (const auto& topology : topologies_.objects()) sorted[topology->metadata.name] = topology;
  for (const auto& [name, topology] : sorted)
    if (!invariants_.nodes.get({"", name}) && random_.chance(0.05))
      remove(Topology::kType, topology->metadata);
}

CpusFeature::MachinePtr CpusFeature::machineOf(const Topology& topology) {
  MachinePtr& machine = byVersion_[topology.metadata.resourceVersion];
  if (!machine) machine = std::make_shared<const PlainMachine>(PlainMachine::of(topology));
  return machine;
}

CpusFeature::MachinePtr CpusFeature::machineOf(const scheduler::CpuReport& report) {
  Topology topology = report;
  std::string detail;
  for (scheduler::CpuTopology::Index cpu = 0; report.topology && cpu < report.topology->cpuCount();
       ++cpu) {
    const scheduler::CpuTopology& machine = *report.topology;
    detail +=
        fmt::format(R"({}{{"id":{},"core":{},"node":{}}})", detail.empty() ? "" : ",",
                    machine.id(cpu), machine.coreOf(cpu), machine.numaIds()[machine.numaOf(cpu)]);
  }
  topology.metadata.annotations[std::string(scheduler::kAnnotationCpuTopology)] =
      fmt::format(R"({{"detail":[{}]}})", detail);
  return machineOf(topology);
}

void CpusFeature::addRules(scheduler::Handle& handle, const std::string& without, Model& model) {
  auto plain = std::make_shared<PlainCpus>();
  for (const auto& [key, report] : handle.stores().of<scheduler::CpuReport>().all())
    plain->machines[key.name] = machineOf(*report);
  const auto& table = NumaTable::of(handle);
  for (const auto& record : handle.cluster().pods())
    if (const auto* grant = table.in(record.grants); grant && record.info->uid() != without)
      plain->held[record.info->uid()] = plainOf(handle.cluster().resources(), *grant);
  using Answer = PlainCpus::Answer;
  model.rules.push_back([plain](const Model& now, const api::Pod& pod, const api::Node& node) {
    std::vector<std::string> reasons;
    if (plain->ask(now, pod, node) == Answer::Lacks) reasons.emplace_back("Insufficient CPUs");
    return reasons;
  });
  model.undecided.push_back([plain](const Model& now, const api::Pod& pod, const api::Node& node) {
    // Which reservation the pod uses depends on its CPUs.
    const bool matched = now.given && now.given(now, pod, node, "pods") > 0;
    return plain->ask(now, pod, node) == Answer::Undecided ||
           (matched && PlainCpus::concerns(pod, node));
  });
}

void CpusFeature::chosen(scheduler::Handle& handle, const api::Pod&, const Model&, Choice& choice) {
  const auto topology = handle.stores().of<scheduler::CpuReport>().get({"", choice.node});
  choice.facts["topology"] = topology ? versionOf(topology->metadata) : 0;
}

std::vector<CpusFeature::MachinePtr> CpusFeature::machinesSince(const Choice& choice) const {
  std::vector<MachinePtr> machines;
  const auto history = history_.find(choice.node);
  if (history == history_.end()) return machines;
  const auto known = std::ranges::find(history->second, choice.facts.at("topology"),
                                       [](const auto& entry) { return entry.first; });
  for (auto it = known; it != history->second.end(); ++it)
    if (it->second) machines.push_back(it->second);
  return machines;
}

void CpusFeature::told(const api::Pod& pod) {
  if (const PlainCpuGrant own = grantOf(pod); own != PlainCpuGrant())
    journal_.note("pod {} has {}", pod.metadata.name, describeGrant(own));
}

void CpusFeature::bound(const api::Pod& pod, const Choice& choice) {
  const PlainCpuGrant own = grantOf(pod);
  const PlainCpuRequest wish = PlainCpuRequest::of(pod);
  const std::string& name = pod.metadata.name;
  if (wish.binds && std::int64_t{1000} * own.cpus.size() != wish.milliCpu)
    journal_.violated("CPUs that are wanted", "{} wants {}m and has {}", name, wish.milliCpu,
                      own.cpus.toString());
  if (own == PlainCpuGrant()) return;
  const auto machines = machinesSince(choice);
  if (!own.cpus.empty() && std::ranges::none_of(machines, [&](const auto& machine) {
        return own.cpus.isSubsetOf(machine->usable());
      }))
    journal_.violated("CPUs that are there", "{} has {}, which {} never had", name,
                      own.cpus.toString(), choice.node);
  for (const auto& other : invariants_.holders(choice)) {
    if (other->metadata.uid == pod.metadata.uid || PlainReservations::mayShare(pod, *other))
      continue;
    if (const CpuSet both = own.cpus.intersect(grantOf(*other).cpus); !both.empty())
      journal_.violated("one pod per CPU", "{} and {} have {} of {}", name, other->metadata.name,
                        both.toString(), choice.node);
  }
  checkZones(pod, choice, own, machines);
}

// The larger of a reservation and its owners counts.
std::int64_t CpusFeature::sumOf(const std::vector<PodObject>& holders, int numa,
                                const std::string& resource, const std::string& without) {
  std::map<std::string, std::int64_t> owners;  // by reservation
  for (const auto& pod : holders)
    if (!PlainReservations::isReservePod(*pod) && pod->metadata.uid != without)
      owners[PlainReservations::reservationOf(*pod)] +=
          amountAt(grantOf(*pod).zones, numa, resource);
  for (const auto& pod : holders)
    if (PlainReservations::isReservePod(*pod) && pod->metadata.uid != without) {
      std::int64_t& used = owners[pod->metadata.uid];
      used = std::max(used, amountAt(grantOf(*pod).zones, numa, resource));
    }
  std::int64_t sum = 0;
  for (const auto& [reservation, used] : owners) sum += used;
  return sum;
}

// A node may have become smaller: a pod that uses a part of what its reservation had before adds
// nothing.
void CpusFeature::checkZones(const api::Pod& pod, const Choice& choice, const PlainCpuGrant& own,
                             const std::vector<MachinePtr>& machines) {
  if (PlainReservations::ignores(pod)) return;
  const auto holders = invariants_.holders(choice);
  for (const auto& [numa, amounts] : own.zones) {
    for (const auto& [resource, amount] : amounts) {
      const std::int64_t sum = sumOf(holders, numa, resource);
      std::int64_t most = 0;
      for (const auto& machine : machines)
        most = std::max(most, amountAt(machine->zones, numa, resource));
      if (sum > most && sum > sumOf(holders, numa, resource, pod.metadata.uid))
        journal_.violated("NUMA nodes", "{} takes NUMA node {} of {} to {} of {} {}",
                          pod.metadata.name, numa, choice.node, sum, most, resource);
    }
  }
}

std::string CpusFeature::check(scheduler::Handle& handle, scheduler::NodeId node) {
  const auto& table = NumaTable::of(handle);
  for (const auto& info : handle.cluster().node(node).pods) {
    const auto* record = handle.cluster().findPod(info->uid());
    const auto pod = invariants_.stored(*info->pod);
    if (!record || record->assumed || !pod) continue;
    const auto* grant = table.in(record->grants);
    const PlainCpuGrant is =
        grant ? plainOf(handle.cluster().resources(), *grant) : PlainCpuGrant();
    if (const PlainCpuGrant said = grantOf(*pod); is != said)
      return fmt::format("{} says {}, {} count", pod->metadata.name, describeGrant(said),
                         describeGrant(is));
  }
  return "";
}

}  // namespace koord::simulation
