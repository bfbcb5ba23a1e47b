#include "scheduler/plugins/noderesources/fit.h"

#include <fmt/format.h>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cmath>

#include "model/pod_requests.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kWanted = "NodeResourcesFit/wanted";

std::vector<std::pair<std::int64_t, std::int64_t>> pointsOf(const std::vector<ShapePoint>& shape) {
  std::vector<std::pair<std::int64_t, std::int64_t>> points;
  for (const ShapePoint& point : shape) points.emplace_back(point.utilization, point.score * 10);
  return points;
}

bool assigned(const PodInfo& pod) {
  return !pod.pod->spec.nodeName.empty() || !pod.pod->status.nominatedNodeName.empty();
}

struct Weighed {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
};

// What the pod itself counts with in scores. As in kube-scheduler, its containers' requests count
// and pod-level resources do not, although the latter count for pods on nodes.
Weighed weighedOf(const PodInfo& pod) {
  if (!pod.pod->spec.resources) return {pod.nonZeroCpu, pod.nonZeroMemory};
  const api::ResourceList sums =
      model::podRequests(*pod.pod, {.skipPodLevel = true, .missing = &model::nonZeroRequests()});
  const auto cpu = sums.find("cpu");
  const auto memory = sums.find("memory");
  return {cpu == sums.end() ? 0 : std::max<std::int64_t>(cpu->second.milliValue(), 0),
          memory == sums.end() ? 0 : std::max<std::int64_t>(memory->second.value(), 0)};
}

std::int64_t amountOf(const PodInfo& pod, const Weighed& weighed, ResourceId id) {
  return id == kCpu ? weighed.cpu : id == kMemory ? weighed.memory : pod.request.amount(id);
}

// As scores count it.
std::int64_t creditIn(const NodeCredit& credit, ResourceId id) {
  return id == kCpu      ? credit.nonZeroCpu
         : id == kMemory ? credit.nonZeroMemory
                         : credit.amount.amount(id);
}

// --- Scores of one node.
// What differs between kinds of scores and of sums are template arguments, so that the loop over
// nodes, which is the hottest of the scheduler, asks nothing.

struct ScoredColumn {
  ResourceId id;
  const std::int64_t* allocatable;
  const std::int64_t* used;
  std::int64_t amount;
  std::int64_t weight;
  bool backed = false;
};
using ScoredColumns = boost::container::small_vector<ScoredColumn, 4>;

// The columns of one node, which has index 0 in them, with the devices that back resources.
class OneNode {
 public:
  OneNode(const ScoredColumns& all, NodeId node, const BackingDevices& devices) : columns(all) {
    amounts_.reserve(all.size());
    for (ScoredColumn& column : columns) {
      BackingDevices::Devices amount{column.allocatable[node], column.used[node]};
      if (amount.all == 0 && column.backed) amount = devices.on(column.id, node);
      amounts_.push_back(amount);
      column.allocatable = &amounts_.back().all;
      column.used = &amounts_.back().used;
    }
  }
  OneNode(const OneNode&) = delete;
  OneNode& operator=(const OneNode&) = delete;
  static bool needed(const ScoredColumns& all, NodeId node) {
    return std::ranges::any_of(all, [&](const ScoredColumn& column) {
      return column.backed && column.allocatable[node] == 0;
    });
  }
  ScoredColumns columns;

 private:
  boost::container::small_vector<BackingDevices::Devices, 4> amounts_;
};

// The requests on a node including the pod.
struct PlainSum {  // of small amounts
  using Percent = SmallPercent;
  std::int64_t operator()(const ScoredColumn& column, NodeId node) const {
    return column.used[node] + column.amount;
  }
};
struct AnySum {
  using Percent = AnyPercent;
  std::int64_t operator()(const ScoredColumn& column, NodeId node) const {
    return addSaturating(column.used[node], column.amount);
  }
};
struct SumWithCredit {
  using Percent = AnyPercent;
  const NodeCredit& credit;
  std::int64_t operator()(const ScoredColumn& column, NodeId node) const {
    const std::int64_t others = column.used[node] - creditIn(credit, column.id);
    return addSaturating(std::max<std::int64_t>(others, 0), column.amount);
  }
};

struct Least {
  template <class Percent>
  static std::int64_t score(std::int64_t requested, std::int64_t allocatable) {
    return leastAllocatedScore<Percent>(requested, allocatable);
  }
};
struct Most {
  template <class Percent>
  static std::int64_t score(std::int64_t requested, std::int64_t allocatable) {
    return mostAllocatedScore<Percent>(requested, allocatable);
  }
};

// The weighted mean over the resources that the node has.
template <class Score, class Sum>
std::int64_t meanOf(const ScoredColumns& columns, NodeId node, const Sum& sumOf) {
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (const ScoredColumn& column : columns) {
    const std::int64_t allocatable = column.allocatable[node];
    if (allocatable == 0) continue;
    sum += Score::template score<typename Sum::Percent>(sumOf(column, node), allocatable) *
           column.weight;
    weights += column.weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

// Likewise, of the function's value at the used share; resources with value 0 do not count.
template <class Sum>
std::int64_t meanOnLine(const BrokenLine& line, const ScoredColumns& columns, NodeId node,
                        const Sum& sumOf) {
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (const ScoredColumn& column : columns) {
    const std::int64_t allocatable = column.allocatable[node];
    if (allocatable == 0) continue;
    const std::int64_t score = line.at(mostAllocatedScore(sumOf(column, node), allocatable));
    if (score <= 0) continue;
    sum += score * column.weight;
    weights += column.weight;
  }
  if (weights == 0) return 0;
  return std::llround(static_cast<double>(sum) / static_cast<double>(weights));
}

}  // namespace

NodeResourcesFit::NodeResourcesFit(Handle& handle, const NodeResourcesFitArgs& args)
    : cluster_(handle.cluster()), devices_(handle), args_(args), line_(pointsOf(args.shape)) {
  for (const ResourceWeight& resource : args_.resources)
    scored_.push_back({cluster_.resources().intern(resource.name), resource.weight});
}

bool NodeResourcesFit::ignored(const std::string& resource) const {
  if (!isExtendedResource(resource)) return false;
  const std::string group = resource.substr(0, resource.find('/'));
  return std::ranges::find(args_.ignoredResources, resource) != args_.ignoredResources.end() ||
         std::ranges::find(args_.ignoredResourceGroups, group) != args_.ignoredResourceGroups.end();
}

// The resources that must fit, in the order of the reasons.
std::vector<NodeResourcesFit::Wanted> NodeResourcesFit::wantedOf(const PodInfo& pod) const {
  std::vector<Wanted> wanted;
  pod.request.forEach([&](ResourceId id, std::int64_t amount) {
    const std::string& name = cluster_.resources().name(id);
    if (id < kFirstScalar ? amount <= 0 : amount == 0 || ignored(name)) return;
    wanted.push_back({id, amount, pod.beyond && amount == kMaxAmount, "Insufficient " + name});
  });
  std::ranges::sort(wanted, [](const Wanted& a, const Wanted& b) {
    const bool scalars = a.id >= kFirstScalar && b.id >= kFirstScalar;
    return scalars ? a.reason < b.reason : a.id < b.id;
  });
  return wanted;
}

void NodeResourcesFit::sign(const PodInfo& pod, Signature& signature) const {
  signature.add(static_cast<std::int64_t>(pod.request.scalars.size()) * 2 + (pod.beyond ? 1 : 0));
  pod.request.forEach([&](ResourceId id, std::int64_t amount) {
    signature.add(std::int64_t{id});
    signature.add(amount);
  });
  const Weighed weighed = weighedOf(pod);
  signature.add(weighed.cpu);
  signature.add(weighed.memory);
}

PreFilterResult NodeResourcesFit::preFilter(CycleState& state, const PodInfo& pod) {
  state.put(kWanted, wantedOf(pod));
  return {};
}

// The columns that the filter reads for one pod. fits() is the hot loop: nearly all nodes pass it
// or fail at the first resource; the rest is for nodes that fail there.
class NodeResourcesFit::FreeResources {
 public:
  // One bit per resource that is short, the last two for "too many pods" and "can never fit".
  // Resources beyond the 62nd share a bit, so such sets do not identify the reasons.
  using Shortage = std::uint64_t;
  static constexpr Shortage kPods = 1ULL << 62;
  static constexpr Shortage kNever = 1ULL << 63;
  static constexpr std::size_t kMaxDistinguished = 62;

  FreeResources(const Cluster& cluster, const BackingDevices& devices,
                const std::vector<Wanted>& wanted)
      : wanted_(wanted),
        podCount_(cluster.podCount().data()),
        allowedPods_(cluster.allowedPods().data()),
        nothing_(std::ranges::any_of(wanted, &Wanted::beyond) ? cluster.podCount().size() : 0) {
    for (const Wanted& resource : wanted) {
      // No node has a resource whose request overflows.
      const auto allocatable =
          resource.beyond ? std::span(nothing_) : cluster.allocatable(resource.id);
      columns_.push_back({allocatable.data(), cluster.requested(resource.id).data(),
                          resource.amount, !resource.beyond && devices.isBacked(resource.id)});
    }
  }
  FreeResources(const FreeResources&) = delete;
  FreeResources& operator=(const FreeResources&) = delete;

  // Without the pod's credit, which can only make the verdict better.
  bool fits(NodeId node) const {
    if (podCount_[node] >= allowedPods_[node]) return false;
    for (const Column& column : columns_)
      if (column.amount > column.allocatable[node] - column.requested[node] &&
          !isDelegated(column, node))
        return false;
    return true;
  }
  // With the pod's credit on the node, which may be nullptr. 0: it fits.
  Shortage shortageOn(NodeId node, const NodeCredit* credit) const {
    const std::int64_t pods = podCount_[node] - (credit ? credit->pods : 0);
    Shortage shortage = pods >= allowedPods_[node] ? kPods : 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!isShort(i, node, credit)) continue;
      const bool never = columns_[i].amount > columns_[i].allocatable[node];
      shortage |= 1ULL << std::min<std::size_t>(i, 61) | (never ? kNever : 0);
    }
    return shortage;
  }
  bool canDistinguish() const { return columns_.size() < kMaxDistinguished; }
  std::vector<std::string> reasonsOn(NodeId node, const NodeCredit* credit,
                                     Shortage shortage) const {
    std::vector<std::string> reasons;
    if ((shortage & kPods) != 0) reasons.emplace_back("Too many pods");
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (isShort(i, node, credit)) reasons.push_back(wanted_[i].reason);
    return reasons;
  }

 private:
  struct Column {
    const std::int64_t* allocatable;
    const std::int64_t* requested;
    std::int64_t amount;
    bool backed;
  };

  // Returns true if DynamicResources checks the resource there.
  static bool isDelegated(const Column& column, NodeId node) {
    return column.backed && column.allocatable[node] == 0;
  }
  bool isShort(std::size_t i, NodeId node, const NodeCredit* credit) const {
    const Column& column = columns_[i];
    if (isDelegated(column, node)) return false;
    std::int64_t taken = column.requested[node];
    if (credit) taken = std::max<std::int64_t>(taken - credit->amount.amount(wanted_[i].id), 0);
    return column.amount > column.allocatable[node] - taken;
  }

  const std::vector<Wanted>& wanted_;
  const std::int64_t* podCount_;
  const std::int64_t* allowedPods_;
  std::vector<std::int64_t> nothing_;  // a column of zeros, if one is needed
  boost::container::small_vector<Column, 4> columns_;
};

Status NodeResourcesFit::filter(const CycleState& state, const PodInfo&, NodeFilter& nodes) {
  const FreeResources free(cluster_, devices_, *state.get<std::vector<Wanted>>(kWanted));
  boost::container::small_vector<std::pair<FreeResources::Shortage, VerdictId>, 8> known;
  nodes.forEach([&](NodeId node) {
    if (free.fits(node)) return;
    const NodeCredit* const credit = state.view().empty() ? nullptr : state.view().on(node);
    const FreeResources::Shortage shortage = free.shortageOn(node, credit);
    if (shortage == 0) return;
    if (free.canDistinguish()) {
      const auto same =
          std::ranges::find(known, shortage, [](const auto& pair) { return pair.first; });
      if (same != known.end()) return nodes.reject(node, same->second);
    }
    const VerdictId id =
        nodes.rejection((shortage & FreeResources::kNever) != 0 ? Code::UnschedulableAndUnresolvable
                                                                : Code::Unschedulable,
                        free.reasonsOn(node, credit, shortage));
    known.emplace_back(shortage, id);
    nodes.reject(node, id);
  });
  return {};
}

Status NodeResourcesFit::preScore(CycleState&, const PodInfo&, std::span<const NodeId>) {
  return {};
}

Status NodeResourcesFit::score(const CycleState& state, const PodInfo& pod,
                               std::span<const NodeId> nodes, std::span<std::int64_t> scores) {
  ScoredColumns columns;
  bool small = true;
  bool backed = false;
  const Weighed weighed = weighedOf(pod);
  for (const auto& [id, weight] : scored_) {
    const std::int64_t amount = amountOf(pod, weighed, id);
    if (id >= kFirstScalar && amount == 0) continue;
    const auto used = id == kCpu      ? cluster_.nonZeroCpu()
                      : id == kMemory ? cluster_.nonZeroMemory()
                                      : cluster_.requested(id);
    columns.push_back(
        {id, cluster_.allocatable(id).data(), used.data(), amount, weight, devices_.isBacked(id)});
    backed |= columns.back().backed;
    small &= cluster_.highest(id) < kSmallAmount && amount < kSmallAmount;
  }
  // First without credits on all nodes; then the few nodes on which the pod has a credit.
  const auto scoreAll = [&](auto score) {
    const auto with = [&](auto sum) {
      for (std::size_t n = 0; n < nodes.size(); ++n) scores[n] = score(columns, nodes[n], sum);
    };
    const auto on = [&](NodeId node, auto sum) {
      if (!OneNode::needed(columns, node)) return score(columns, node, sum);
      const OneNode one(columns, node, devices_);
      return score(one.columns, 0, sum);
    };
    if (backed) {
      for (std::size_t n = 0; n < nodes.size(); ++n) scores[n] = on(nodes[n], AnySum());
    } else {
      small ? with(PlainSum()) : with(AnySum());
    }
    state.view().forEachOf(nodes, [&](std::size_t n, const NodeCredit& credit) {
      scores[n] = on(nodes[n], SumWithCredit{credit});
    });
  };
  switch (args_.type) {
    case ScoringType::LeastAllocated:
      scoreAll(
          [](const auto& all, NodeId node, auto sum) { return meanOf<Least>(all, node, sum); });
      break;
    case ScoringType::MostAllocated:
      scoreAll([](const auto& all, NodeId node, auto sum) { return meanOf<Most>(all, node, sum); });
      break;
    case ScoringType::RequestedToCapacityRatio:
      scoreAll([this](const auto& all, NodeId node, auto sum) {
        return meanOnLine(line_, all, node, sum);
      });
      break;
  }
  return {};
}

// Called once per class. Cold, so that the compiler does not inline it instead of the loops above.
[[gnu::cold]] const ScorePlugin* NodeResourcesFit::scorerBy(const AllocationRule& rule,
                                                            const PodInfo& pod) const {
  if (args_.type == ScoringType::RequestedToCapacityRatio) return nullptr;
  AllocationRule own{.prefersUsed = args_.type == ScoringType::MostAllocated, .parts = {}};
  const Weighed weighed = weighedOf(pod);
  for (const auto& [id, weight] : scored_) {
    const std::int64_t amount = amountOf(pod, weighed, id);
    if (amount != 0 && devices_.isBacked(id)) return nullptr;
    if (id < kFirstScalar || amount != 0) own.parts.push_back({id, amount, weight});
  }
  return own == rule ? this : nullptr;
}

Hint NodeResourcesFit::onNode(const PodInfo& pod, const ClusterEvent& event) const {
  if (!event.newNode) return Hint::Skip;
  const auto& now = event.newNode->status.allocatable;
  // Interning needs its own table here: a hint must not change the cluster's columns.
  const auto amountIn = [&](const api::ResourceList& list, ResourceId id) -> std::int64_t {
    const auto it = list.find(cluster_.resources().name(id));
    if (it == list.end()) return 0;
    return id == kCpu ? it->second.milliValue() : it->second.value();
  };
  bool grew = !event.oldNode;
  const auto pods = now.find("pods");
  if (pods == now.end() || pods->second.value() < 1) return Hint::Skip;
  if (event.oldNode) {
    const auto before = event.oldNode->status.allocatable.find("pods");
    grew |= before == event.oldNode->status.allocatable.end() || before->second < pods->second;
  }
  for (const Wanted& resource : wantedOf(pod)) {
    const std::int64_t allocatable = amountIn(now, resource.id);
    const bool delegated = allocatable == 0 && devices_.isBacked(resource.id);
    if (resource.beyond || (resource.amount > allocatable && !delegated)) return Hint::Skip;
    grew |= delegated;
    if (event.oldNode && allocatable > amountIn(event.oldNode->status.allocatable, resource.id))
      grew = true;
  }
  return grew ? Hint::Queue : Hint::Skip;
}

std::vector<EventRegistration> NodeResourcesFit::eventsToRegister() const {
  return {{EventResource::Pod, action::kDelete | action::kUpdatePodScaleDown, "",
           [](const PodInfo& pod, const ClusterEvent& event) {
             if (!event.newPod)
               return event.oldPod && assigned(*event.oldPod) ? Hint::Queue : Hint::Skip;
             if (event.newPod->uid() == pod.uid()) return Hint::Queue;
             if (!event.oldPod || event.newPod->pod->spec.nodeName.empty()) return Hint::Skip;
             bool freed = false;
             pod.request.forEach([&](ResourceId id, std::int64_t amount) {
               freed |= amount > 0 &&
                        event.newPod->request.amount(id) < event.oldPod->request.amount(id);
             });
             return freed ? Hint::Queue : Hint::Skip;
           }},
          {EventResource::Node,
           action::kAdd | action::kUpdateNodeAllocatable | action::kUpdateNodeTaint, "",
           [this](const PodInfo& pod, const ClusterEvent& event) { return onNode(pod, event); }},
          {EventResource::DeviceClass, action::kAdd | action::kUpdate, "",
           [this](const PodInfo& pod, const ClusterEvent& event) {
             return devices_.beginsToBack(event, pod) ? Hint::Queue : Hint::Skip;
           }}};
}

std::string NodeResourcesFit::remedyFor(const PodInfo& pod, NodeId node) const {
  std::vector<std::string> missing;
  pod.request.forEach([&](ResourceId id, std::int64_t amount) {
    const std::int64_t all = Cluster::columnAt(cluster_.allocatable(id), node);
    if (all == 0 && devices_.isBacked(id)) return;
    const std::int64_t free = all - Cluster::columnAt(cluster_.requested(id), node);
    if (amount > 0 && amount > free) {
      missing.push_back(
          fmt::format("{} {}", amountText(id, amount - free), cluster_.resources().name(id)));
    }
  });
  return missing.empty()
             ? "fewer pods on the node"
             : fmt::format("{} less, or as much freed on the node", fmt::join(missing, ", "));
}

}  // namespace koord::scheduler
