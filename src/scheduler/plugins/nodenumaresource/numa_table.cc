#include "scheduler/plugins/nodenumaresource/numa_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "kube/client.h"
#include "kube/events.h"
#include "model/well_known.h"
#include "scheduler/plugins/nodenumaresource/numa_node.h"

namespace koord::scheduler {

namespace {

struct NumaTables {
  std::unique_ptr<NumaTable> table;
};

Resources& amountsOf(std::vector<NumaAmounts>& held, int numa) {
  auto it = std::ranges::lower_bound(held, numa, {}, &NumaAmounts::numa);
  if (it == held.end() || it->numa != numa) it = held.insert(it, {numa, {}});
  return it->amounts;
}

bool hasNoLoad(const Resources& amounts) {
  bool nothing = true;
  amounts.forEach([&](ResourceId, std::int64_t amount) { nothing &= amount == 0; });
  return nothing;
}

// Entries with amount 0 equal missing ones.
void dropZeros(std::vector<NumaAmounts>& held) {
  for (NumaAmounts& part : held) {
    auto& scalars = part.amounts.scalars;
    const auto nothing =
        std::ranges::remove_if(scalars, [](const auto& entry) { return entry.second == 0; });
    scalars.erase(nothing.begin(), nothing.end());
  }
  std::erase_if(held, [](const NumaAmounts& part) { return hasNoLoad(part.amounts); });
}

void count(std::vector<NumaAmounts>& held, const NumaGrant& grant, bool add) {
  for (const NumaAmounts& part : grant.numa) {
    Resources& amounts = amountsOf(held, part.numa);
    if (add) {
      amounts.add(part.amounts);
    } else {
      amounts.subtract(part.amounts);
    }
  }
}

}  // namespace

NodeFreeCpus countFreeCpus(const CpuTopology& topology, const CpuSet& available) {
  NodeFreeCpus free;
  free.byNuma.resize(topology.numaIds().size());
  for (int core = 0; core < topology.coreCount(); ++core) {
    const auto cpus = topology.cpusOfCore(static_cast<CpuTopology::Index>(core));
    int here = 0;
    for (const CpuTopology::Index cpu : cpus) here += available.contains(topology.id(cpu)) ? 1 : 0;
    if (here == 0) continue;
    const int whole = here == topology.cpusPerCore() ? here : 0;
    for (FreeCpus* sum : {&free.node, &free.byNuma[topology.numaOf(cpus.front())]}) {
      sum->all += here;
      sum->whole += whole;
      ++sum->cores;
    }
  }
  return free;
}

NumaTable& NumaTable::of(Handle& handle) {
  return handle.shared().of<NumaTable>([&] { return std::make_unique<NumaTable>(handle); });
}

NumaTable::NumaTable(Handle& handle)
    : handle_(handle), cluster_(handle.cluster()), reports_(handle.stores().of<CpuReport>()) {
  cluster_.watchNodeAnnotation(std::string(kAnnotationAmplification));
  cluster_.watchPodAnnotation(std::string(model::kAnnotationResourceStatus));
  cluster_.addLedger(*this);
  cluster_.addListener(*this);
  reports_.listen([this](const auto& before, const auto& after) {
    const auto node = cluster_.findNode((after ? after : before)->metadata.name);
    if (!node || !cluster_.node(*node).object) return;
    read(*node);
    cluster_.touch(*node);
  });
  cluster_.live().forEach([this](NodeId node) { nodeChanged(node); });
}

NumaTable::~NumaTable() = default;

NumaTable::Row& NumaTable::row(NodeId node) {
  if (node >= rows_.size()) rows_.resize(std::max<std::size_t>(cluster_.capacity(), node + 1));
  return rows_[node];
}

const NumaNode& NumaTable::at(NodeId node) const {
  static const NumaNode kNothing;
  return node < rows_.size() && rows_[node].node ? *rows_[node].node : kNothing;
}

const CpuUse& NumaTable::use(NodeId node) const {
  static const CpuUse kNone;
  return node < rows_.size() ? rows_[node].use : kNone;
}

const std::vector<NumaAmounts>& NumaTable::held(NodeId node) const {
  static const std::vector<NumaAmounts> kNone;
  return node < rows_.size() ? rows_[node].held : kNone;
}

const NodeFreeCpus& NumaTable::free(NodeId node) const {
  static const NodeFreeCpus kNone;
  if (node >= rows_.size()) return kNone;
  const Row& here = rows_[node];
  if (!here.counted) {
    const NumaNode& about = at(node);
    here.free =
        countFreeCpus(about.cpus(), availableCpus(about.cpus(), here.use, 1, about.reserved));
    here.counted = true;
  }
  return here.free;
}

const NumaGrant* NumaTable::grantOf(const std::string& uid) const {
  const auto* record = cluster_.findPod(uid);
  return record ? in(record->grants) : nullptr;
}

const NumaGrant* NumaTable::grantOn(const std::string& uid, NodeId node) const {
  const auto* record = cluster_.findPod(uid);
  return record && record->node == node ? in(record->grants) : nullptr;
}

NumaTable::Residents NumaTable::residents(NodeId node, int numa) const {
  Residents residents;
  const CpuTopology& topology = at(node).cpus();
  const CpuSet& here = topology.cpusOfNuma(numa);
  forEachPod(node, [&](const PodInfo&, const NumaGrant& grant) {
    if (!grant.cpus.intersects(here)) return;
    const bool elsewhere = !grant.cpus.intersect(topology.all()).isSubsetOf(here);
    (elsewhere ? residents.shared : residents.single) = true;
  });
  return residents;
}

void NumaTable::assign(const PodInfo& pod, NumaGrant grant) {
  cluster_.regrant(pod.uid(), id(), LedgerOf::grantOf(std::move(grant)));
}

// --- Nodes.

void NumaTable::nodeChanged(NodeId node) {
  Row& here = row(node);
  const NodeRow& known = cluster_.node(node);
  if (known.object || here.node) read(node);
}

void NumaTable::read(NodeId node) {
  Row& here = row(node);
  const NodeRow& known = cluster_.node(node);
  const std::unique_ptr<NumaNode> before = std::move(here.node);
  here.counted = false;
  here.name = known.name;
  nodesAffectingPlainPods_.erase(node);
  if (!known.object) return;
  const auto report = reports_.get({"", known.name});
  NumaNode now = readNumaNode(cluster_.resources(), known.object.get(), report.get());
  if (!now.special() && now.problems.empty()) return;
  if (now.affectsPlainPods()) nodesAffectingPlainPods_.insert(node);
  here.node = std::make_unique<NumaNode>(std::move(now));
  tell(node, before ? *before : NumaNode());
}

// Reports the problems of the node, once.
void NumaTable::tell(NodeId node, const NumaNode& before) const {
  const NumaNode& now = at(node);
  const NodeRow& known = cluster_.node(node);
  for (const std::string& problem : now.problems) {
    if (std::ranges::find(before.problems, problem) != before.problems.end()) continue;
    log::warn("CPU topology of node {}: {}; it is ignored", known.name, problem);
    if (handle_.events()) {
      handle_.events()->record(kube::referenceTo(api::Node::kType, known.object->metadata),
                               "Warning", "InvalidCPUTopology", problem + "; it is ignored",
                               "Scheduling");
    }
  }
}

// --- Pods.

bool NumaTable::hasNothingToRead(const PodInfo& pod) const {
  const auto grant = readNumaGrant(cluster_.resources(), pod.pod->metadata.annotations);
  return grant && !*grant;
}

std::optional<NumaGrant> NumaTable::readValue(const PodInfo& pod, NodeId, const NumaGrant* held) {
  const auto kept = [&] { return held ? std::optional(*held) : std::nullopt; };
  auto grant = readNumaGrant(cluster_.resources(), pod.pod->metadata.annotations);
  if (!grant) {
    log::error("pod {}: {}; {}", pod.key(), grant.error().message,
               held ? "its last known CPUs still count"
                    : "its CPUs are unknown and may be allocated to other pods");
    return kept();
  }
  if (!*grant) return kept();
  return **std::move(grant);
}

void NumaTable::addValue(NodeId node, const PodInfo&, const NumaGrant& grant) {
  Row& here = row(node);
  here.counted = false;
  here.use.add(grant.cpus, grant.exclusive);
  count(here.held, grant, true);
}

void NumaTable::removeValue(NodeId node, const PodInfo&, const NumaGrant& grant) {
  Row& here = row(node);
  here.counted = false;
  here.use.remove(grant.cpus, grant.exclusive);
  count(here.held, grant, false);
}

bool NumaTable::forget(NodeId node) {
  Row& here = row(node);
  here.use = {};
  here.held.clear();
  here.counted = false;
  return true;
}

std::string NumaTable::verifyValues(NodeId node, Held pods) const {
  CpuUse counted;
  std::vector<NumaAmounts> amounts;
  for (const auto& [pod, grant] : pods) {
    counted.add(grant->cpus, grant->exclusive);
    count(amounts, *grant, true);
  }
  std::string difference;
  if (!(counted == use(node)))
    difference += fmt::format("kept CPUs {}, counted {}; ", use(node).held().toString(),
                              counted.held().toString());
  std::vector<NumaAmounts> kept = held(node);
  dropZeros(kept);
  dropZeros(amounts);
  if (kept != amounts) {
    const auto text = [&](const std::vector<NumaAmounts>& parts) {
      return resourceStatusText(cluster_.resources(), {{}, {}, parts});
    };
    difference += fmt::format("kept {}, counted {}; ", text(kept), text(amounts));
  }
  return difference;
}

}  // namespace koord::scheduler
