#include "simulation/features/plain_cpus.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/plugins/nodenumaresource/numa_demand.h"
#include "simulation/features/plain_reservations.h"

namespace koord::simulation {

using scheduler::testing::amountIn;

namespace {

json::value documentIn(const api::StringMap& map, std::string_view key) {
  const auto* text = api::findIn(map, key);
  if (!text) return {};
  return parseJson(*text).value_or(json::value());
}

int numberAt(const json::value& document, const char* key) {
  const json::value* found = at(document, key);
  return found && found->is_int64() ? static_cast<int>(found->get_int64()) : 0;
}

std::string labelOf(const api::Node& node, std::string_view key) {
  const auto* text = api::findIn(node.metadata.labels, key);
  return text ? *text : std::string();
}

bool isPolicy(const std::string& text) {
  return text == "BestEffort" || text == "Restricted" || text == "SingleNUMANode";
}

bool isBinding(const std::string& text) {
  return text == "FullPCPUs" || text == "SpreadByPCPUs";
}

constexpr const char* kDefaultBind = "FullPCPUs";

std::map<std::string, std::int64_t> wantedBy(const api::Pod& pod) {
  std::map<std::string, std::int64_t> wanted;
  for (const auto& [name, quantity] : model::podRequests(pod))
    if (const std::int64_t amount = amountIn({{name, quantity}}, name); amount > 0)
      wanted[name] = amount;
  return wanted;
}

}  // namespace

bool asksForDevices(const api::Pod& pod) {
  return std::ranges::any_of(wantedBy(pod), [](const auto& entry) {
    return entry.first == "nvidia.com/gpu" || entry.first.starts_with("koordinator.sh/");
  });
}

PlainMachine PlainMachine::of(const api::NodeResourceTopology& topology) {
  PlainMachine machine;
  const auto& annotations = topology.metadata.annotations;
  const json::value detail = documentIn(annotations, scheduler::kAnnotationCpuTopology);
  if (const json::value* list = at(detail, "detail"); list && list->is_array())
    for (const json::value& cpu : list->get_array())
      machine.cpus.push_back({numberAt(cpu, "id"), numberAt(cpu, "core"), numberAt(cpu, "node")});
  const json::value kubelet = documentIn(annotations, scheduler::kAnnotationKubeletCpus);
  machine.reserved = CpuSet::parse(textAt(kubelet, "reservedCPUs")).value_or(CpuSet());
  for (const auto& zone : topology.zones) {
    const int id = std::stoi(zone.name.substr(zone.name.find('-') + 1));
    for (const auto& resource : zone.resources)
      machine.zones[id][resource.name] =
          amountIn({{resource.name, resource.allocatable}}, resource.name);
  }
  for (const Cpu& cpu : machine.cpus)
    if (machine.reserved.contains(cpu.id) && machine.zones.contains(cpu.numa)) {
      std::int64_t& amount = machine.zones[cpu.numa]["cpu"];
      amount = std::max<std::int64_t>(amount - 1000, 0);
    }
  return machine;
}

int PlainMachine::threads() const {
  std::set<std::pair<int, int>> cores;
  for (const Cpu& cpu : cpus) cores.emplace(cpu.numa, cpu.core);
  return cores.empty() ? 1 : static_cast<int>(cpus.size() / cores.size());
}

CpuSet PlainMachine::usable() const {
  CpuSet all;
  for (const Cpu& cpu : cpus) all.add(cpu.id);
  return all.difference(reserved);
}

int PlainMachine::countFree(const CpuSet& held, int numa, const std::string& bind,
                            bool required) const {
  std::map<std::pair<int, int>, int> free;  // by core
  for (const Cpu& cpu : cpus)
    if ((numa < 0 || cpu.numa == numa) && !reserved.contains(cpu.id) && !held.contains(cpu.id))
      ++free[{cpu.numa, cpu.core}];
  int count = 0;
  for (const auto& [core, here] : free) {
    if (!required) {
      count += here;
    } else if (bind == "FullPCPUs") {
      count += here == threads() ? here : 0;
    } else {
      count += 1;
    }
  }
  return count;
}

PlainCpuGrant PlainCpuGrant::of(const api::StringMap& annotations) {
  PlainCpuGrant grant;
  const json::value status = documentIn(annotations, model::kAnnotationResourceStatus);
  grant.cpus = CpuSet::parse(textAt(status, "cpuset")).value_or(CpuSet());
  const json::value* parts = at(status, "numaNodeResources");
  if (!parts || !parts->is_array()) return grant;
  for (const json::value& part : parts->get_array()) {
    const json::value* resources = at(part, "resources");
    if (!resources || !resources->is_object()) continue;
    for (const auto& [name, amount] : resources->get_object())
      grant.zones[numberAt(part, "node")][std::string(name)] =
          amountIn({{std::string(name), *Quantity::parse(amount.as_string())}}, std::string(name));
  }
  return grant;
}

PlainCpuRequest PlainCpuRequest::of(const api::Pod& pod) {
  PlainCpuRequest wish;
  const auto& annotations = pod.metadata.annotations;
  wish.milliCpu = amountIn(model::podRequests(pod), "cpu");
  const json::value numa = documentIn(annotations, scheduler::kAnnotationNumaSpec);
  wish.policy = textAt(numa, "numaTopologyPolicy");
  if (!isPolicy(wish.policy)) wish.policy.clear();
  const std::string exclusive(textAt(numa, "singleNUMANodeExclusive"));
  wish.apart = exclusive == "Required" || (exclusive.empty() && !wish.policy.empty());
  const auto* qos = api::findIn(pod.metadata.labels, model::kLabelQos);
  if (!qos || (*qos != "LSR" && *qos != "LSE")) return wish;
  const json::value spec = documentIn(annotations, model::kAnnotationResourceSpec);
  const std::string required(textAt(spec, "requiredCPUBindPolicy"));
  std::string bind =
      required.empty() ? std::string(textAt(spec, "preferredCPUBindPolicy")) : required;
  if (bind.empty() || bind == "Default") bind = kDefaultBind;
  if (!isBinding(bind) || wish.milliCpu == 0) return wish;
  wish.binds = true;
  wish.bind = bind;
  wish.required = !required.empty();
  return wish;
}

// --- One node.

struct PlainCpus::Room {
  const PlainMachine* machine = nullptr;
  CpuSet taken;
  ZoneAmounts free;
  std::set<int> shared;   // NUMA nodes with pods that also have CPUs of other NUMA nodes
  bool reserved = false;  // a reservation holds something

  std::int64_t freeIn(int numa, const std::string& resource) const {
    const auto zone = free.find(numa);
    if (zone == free.end()) return 0;
    const auto amount = zone->second.find(resource);
    return amount == zone->second.end() ? 0 : std::max<std::int64_t>(amount->second, 0);
  }
  // The part of the request that some zone reports.
  std::map<std::string, std::int64_t> reported(const api::Pod& pod) const {
    auto wanted = wantedBy(pod);
    std::erase_if(wanted, [&](const auto& entry) {
      return std::ranges::none_of(machine->zones, [&](const auto& zone) {
        const auto total = zone.second.find(entry.first);
        return total != zone.second.end() && total->second > 0;
      });
    });
    return wanted;
  }
};

PlainCpus::Room PlainCpus::roomOf(const Model& now, const std::string& node) const {
  Room room;
  static const PlainMachine kNone;
  const auto known = machines.find(node);
  room.machine = known == machines.end() ? &kNone : known->second.get();
  room.free = room.machine->zones;
  for (const auto& [uid, grant] : held) {
    const auto there = now.pods.find(uid);
    if (there == now.pods.end() || there->second->spec.nodeName != node) continue;
    room.reserved |= PlainReservations::isReservePod(*there->second);
    room.taken = room.taken.unionWith(grant.cpus);
    for (const auto& [numa, amounts] : grant.zones)
      for (const auto& [resource, amount] : amounts) room.free[numa][resource] -= amount;
    std::set<int> on;
    for (const auto& cpu : room.machine->cpus)
      if (grant.cpus.contains(cpu.id)) on.insert(cpu.numa);
    if (on.size() > 1) room.shared.insert(on.begin(), on.end());
  }
  return room;
}

bool PlainCpus::fitsOne(const Room& room, const api::Pod& pod, const std::string& bind, bool bound,
                        bool required, const PlainCpuRequest& wish) {
  const auto wanted = room.reported(pod);
  return std::ranges::any_of(room.machine->zones, [&](const auto& zone) {
    const int numa = zone.first;
    if (wish.apart && room.shared.contains(numa)) return false;
    const bool enough = std::ranges::all_of(
        wanted, [&](const auto& entry) { return room.freeIn(numa, entry.first) >= entry.second; });
    return enough && (!bound || std::int64_t{1000} *
                                        room.machine->countFree(room.taken, numa, bind, required) >=
                                    wish.milliCpu);
  });
}

// From all NUMA nodes, or all that have something of everything.
bool PlainCpus::fitsTogether(const Room& room, const api::Pod& pod, bool ofEverything) {
  const auto wanted = room.reported(pod);
  std::map<std::string, std::int64_t> sums;
  bool any = false;
  for (const auto& [numa, totals] : room.machine->zones) {
    const bool lacks = std::ranges::any_of(
        wanted, [&](const auto& entry) { return room.freeIn(numa, entry.first) == 0; });
    if (lacks && ofEverything) continue;
    any = true;
    for (const auto& [resource, amount] : wanted) sums[resource] += room.freeIn(numa, resource);
  }
  return any && std::ranges::all_of(
                    wanted, [&](const auto& entry) { return sums[entry.first] >= entry.second; });
}

bool PlainCpus::concerns(const api::Pod& pod, const api::Node& node) {
  const PlainCpuRequest wish = PlainCpuRequest::of(pod);
  return wish.binds || !wish.policy.empty() ||
         isPolicy(labelOf(node, scheduler::kLabelNumaPolicy)) ||
         !labelOf(node, scheduler::kLabelCpuBindPolicy).empty();
}

PlainCpus::Answer PlainCpus::ask(const Model& now, const api::Pod& pod,
                                 const api::Node& node) const {
  if (wantedBy(pod).empty()) return Answer::Fits;
  const PlainCpuRequest wish = PlainCpuRequest::of(pod);
  const bool whole = wish.milliCpu % 1000 == 0;
  if (wish.binds && !whole) return Answer::Lacks;
  std::string policy = labelOf(node, scheduler::kLabelNumaPolicy);
  if (!isPolicy(policy)) policy.clear();
  if (!policy.empty() && !wish.policy.empty() && policy != wish.policy) return Answer::Lacks;
  if (policy.empty()) policy = wish.policy;
  const std::string label = labelOf(node, scheduler::kLabelCpuBindPolicy);
  const std::string byNode = wish.milliCpu == 0         ? ""
                             : label == "FullPCPUsOnly" ? "FullPCPUs"
                             : label == "SpreadByPCPUs" ? "SpreadByPCPUs"
                                                        : "";
  const bool bound = wish.binds || !byNode.empty();
  if (bound && !whole) return Answer::Lacks;
  const bool required = wish.required || !byNode.empty();
  const std::string bind = wish.required || byNode.empty() ? wish.bind : byNode;
  const Room room = roomOf(now, node.metadata.name);
  if (bound) {
    if (room.machine->cpus.empty()) return Answer::Lacks;
    if (wish.required && !byNode.empty() && byNode != wish.bind) return Answer::Lacks;
    if (required && bind == "FullPCPUs" && wish.milliCpu / 1000 % room.machine->threads() != 0)
      return Answer::Lacks;
  }
  if (policy.empty() && !bound) return Answer::Fits;
  if (!policy.empty() && room.machine->zones.empty()) return Answer::Lacks;
  if (room.reserved || (!policy.empty() && asksForDevices(pod))) return Answer::Undecided;
  const bool single = policy == "SingleNUMANode";
  if (!policy.empty() && !single && (bound || (policy == "Restricted" && wish.apart)))
    return Answer::Undecided;
  const auto all = [&] {
    return std::int64_t{1000} * room.machine->countFree(room.taken, -1, bind, required) >=
           wish.milliCpu;
  };
  const bool fits = policy.empty() ? all()
                    : single       ? fitsOne(room, pod, bind, bound, required, wish)
                                   : fitsTogether(room, pod, policy == "Restricted");
  return fits ? Answer::Fits : Answer::Lacks;
}

}  // namespace koord::simulation
