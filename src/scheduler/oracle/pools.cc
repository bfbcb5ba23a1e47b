#include "scheduler/oracle/pools.h"

#include <algorithm>

namespace koord::scheduler::oracle {

namespace {

constexpr const char* kInstanceType = "node.kubernetes.io/instance-type";
constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr std::uint32_t kNoReason = ~std::uint32_t{0};

bool anyNodeHas(const Cluster& cluster, const char* label) {
  bool found = false;
  cluster.live().forEach([&](NodeId id) {
    const auto& node = cluster.node(id).object;
    found = found || (node && node->metadata.labels.contains(label));
  });
  return found;
}

json::array textsOf(const std::vector<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts) list.push_back(json::string(text));
  return list;
}

}  // namespace

struct PoolTable::Pool {
  struct Rest {
    std::size_t nodes = 0;
    std::map<ResourceId, std::int64_t> free;
  };
  std::size_t nodes = 0;
  std::size_t pods = 0;
  std::map<ResourceId, std::int64_t> allocatable, after;
  std::map<std::uint32_t, Rest> unusable;  // by reason
};

PoolTable::PoolTable(Scheduler& scheduler, std::string label, std::span<const Resources> requests)
    : scheduler_(scheduler), label_(std::move(label)) {
  const Cluster& cluster = scheduler_.cluster();
  for (const char* usual : {kInstanceType, kZone})
    if (label_.empty() && anyNodeHas(cluster, usual)) label_ = usual;
  for (const Resources& request : requests)
    request.forEach([&](ResourceId id, std::int64_t amount) {
      if (amount > 0) resources_.insert(id);
    });
  cluster.live().forEach([&](NodeId node) {
    addFree(before_.try_emplace(std::string(poolOf(node))).first->second, node);
  });
}

std::string_view PoolTable::poolOf(NodeId id) const {
  const auto& node = scheduler_.cluster().node(id).object;
  if (label_.empty() || !node) return {};
  const auto found = node->metadata.labels.find(label_);
  return found == node->metadata.labels.end() ? std::string_view() : found->second;
}

std::int64_t PoolTable::freeOf(ResourceId resource, NodeId node) const {
  const Cluster& cluster = scheduler_.cluster();
  return std::max<std::int64_t>(0, Cluster::columnAt(cluster.allocatable(resource), node) -
                                       Cluster::columnAt(cluster.requested(resource), node));
}

void PoolTable::addFree(std::map<ResourceId, std::int64_t>& sums, NodeId node) const {
  for (const ResourceId resource : resources_) {
    std::int64_t& sum = sums[resource];
    sum = addSaturating(sum, freeOf(resource, node));
  }
}

void PoolTable::explain(const PodPtr& pod) {
  const Cluster& cluster = scheduler_.cluster();
  reasons_.clear();
  reasonOf_.assign(cluster.capacity(), kNoReason);
  const auto profile = scheduler_.profiles().find(pod->pod->spec.schedulerName);
  if (profile == scheduler_.profiles().end()) return;
  NodeSearch& search = profile->second->search();
  CycleState state;
  const SearchResult prepared = search.prepare(state, pod);
  if (!prepared.status.ok()) {
    reasons_.push_back({std::string(prepared.status.plugin()), prepared.status.reasons()});
    std::ranges::fill(reasonOf_, 0);
    return;
  }
  NodeSet passing = cluster.live();
  Verdicts verdicts;
  verdicts.clear(cluster.capacity());
  if (const Status status = search.filterNodes(state, pod, passing, verdicts); !status.ok()) return;
  std::map<Reason, std::uint32_t> known;
  cluster.live().forEach([&](NodeId node) {
    Reason reason{"", {"accepts one more pod, but the nodes do not accept a whole copy"}};
    if (!passing.contains(node)) {
      const Rejection& rejection = verdicts.rejection(verdicts.at(node));
      reason = {search.filterNames()[rejection.plugin], rejection.reasons};
    }
    const auto [found, fresh] = known.emplace(reason, static_cast<std::uint32_t>(reasons_.size()));
    if (fresh) reasons_.push_back(std::move(reason));
    reasonOf_[node] = found->second;
  });
}

json::object PoolTable::textOf(const std::map<ResourceId, std::int64_t>& sums) const {
  json::object out;
  for (const auto& [resource, amount] : sums)
    out.emplace(scheduler_.cluster().resources().name(resource), amountText(resource, amount));
  return out;
}

json::object PoolTable::describe(const std::vector<std::string_view>& nodes) const {
  const Cluster& cluster = scheduler_.cluster();
  std::map<std::string, Pool, std::less<>> pools;
  cluster.live().forEach([&](NodeId node) {
    Pool& pool = pools[std::string(poolOf(node))];
    ++pool.nodes;
    addFree(pool.after, node);
    for (const ResourceId resource : resources_) {
      std::int64_t& sum = pool.allocatable[resource];
      sum = addSaturating(sum, Cluster::columnAt(cluster.allocatable(resource), node));
    }
    if (node >= reasonOf_.size() || reasonOf_[node] == kNoReason) return;
    Pool::Rest& rest = pool.unusable[reasonOf_[node]];
    ++rest.nodes;
    addFree(rest.free, node);
  });
  for (const std::string_view node : nodes)
    if (const auto id = cluster.findNode(node)) ++pools[std::string(poolOf(*id))].pods;
  json::array list;
  for (const auto& [name, pool] : pools) {
    if (list.size() == kMaxPools) break;
    json::array unusable;
    for (const auto& [reason, rest] : pool.unusable)
      if (unusable.size() < kMaxReasons)
        unusable.push_back(json::object{{"plugin", reasons_[reason].plugin},
                                        {"reasons", textsOf(reasons_[reason].texts)},
                                        {"nodes", rest.nodes},
                                        {"free", textOf(rest.free)}});
    const auto before = before_.find(name);
    list.push_back(
        json::object{{"name", name},
                     {"nodes", pool.nodes},
                     {"pods", pool.pods},
                     {"allocatable", textOf(pool.allocatable)},
                     {"before", before == before_.end() ? json::object() : textOf(before->second)},
                     {"after", textOf(pool.after)},
                     {"unusable", std::move(unusable)}});
  }
  json::object out{{"label", label_}, {"list", std::move(list)}};
  if (pools.size() > kMaxPools) out.emplace("notShown", pools.size() - kMaxPools);
  return out;
}

}  // namespace koord::scheduler::oracle
