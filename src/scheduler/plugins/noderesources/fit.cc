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

// What the pod itself counts with in scores. As in kube-scheduler, amounts for the pod as a whole
// are left out and its containers' taken, though of pods on nodes the former count.
Weighed weighedOf(const PodInfo& pod) {
  if (!pod.pod->spec.resources) return {pod.nonZeroCpu, pod.nonZeroMemory};
  const api::ResourceList sums =
      model::podRequests(*pod.pod, {.skipPodLevel = true, .missing = &model::nonZeroRequests()});
  const auto cpu = sums.find("cpu");
  const auto memory = sums.find("memory");
  return {cpu == sums.end() ? 0 : std::max<std::int64_t>(cpu->second.milliValue(), 0),
          memory == sums.end() ? 0 : std::max<std::int64_t>(memory->second.value(), 0)};
}

// As scores count it.
std::int64_t creditIn(const NodeCredit& credit, ResourceId id) {
  return id == kCpu      ? credit.nonZeroCpu
         : id == kMemory ? credit.nonZeroMemory
                         : credit.amount.amount(id);
}

}  // namespace

NodeResourcesFit::NodeResourcesFit(Handle& handle, const NodeResourcesFitArgs& args)
    : cluster_(handle.cluster()), args_(args), line_(pointsOf(args.shape)) {
  for (const ResourceWeight& resource : args_.resources)
    scored_.push_back({cluster_.resources().intern(resource.name), resource.weight});
}

bool NodeResourcesFit::ignored(const std::string& resource) const {
  if (!isExtendedResource(resource)) return false;
  const std::string group = resource.substr(0, resource.find('/'));
  return std::ranges::find(args_.ignoredResources, resource) != args_.ignoredResources.end() ||
         std::ranges::find(args_.ignoredResourceGroups, group) != args_.ignoredResourceGroups.end();
}

// What has to fit, in the order in which reasons are told.
std::vector<NodeResourcesFit::Wanted> NodeResourcesFit::wantedOf(const PodInfo& pod) const {
  std::vector<Wanted> wanted;
  pod.request.forEach([&](ResourceId id, std::int64_t amount) {
    const std::string& name = cluster_.resources().name(id);
    if (id < kFirstScalar ? amount <= 0 : amount == 0 || ignored(name)) return;
    wanted.push_back({id, amount, pod.beyond && amount == kMostAmount, "Insufficient " + name});
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

Status NodeResourcesFit::filter(const CycleState& state, const PodInfo&, NodeFilter& nodes) {
  const auto& wanted = *state.get<std::vector<Wanted>>(kWanted);
  const NodeView* const view = state.view().empty() ? nullptr : &state.view();
  struct Column {
    std::span<const std::int64_t> allocatable;
    std::span<const std::int64_t> requested;
    std::int64_t amount;
  };
  boost::container::small_vector<Column, 4> columns;
  for (const Wanted& resource : wanted) {
    // Of what is asked beyond measure no node has anything.
    const auto allocatable =
        resource.beyond ? std::span<const std::int64_t>() : cluster_.allocatable(resource.id);
    columns.push_back({allocatable, cluster_.requested(resource.id), resource.amount});
  }
  const auto podCount = cluster_.podCount();
  const auto allowedPods = cluster_.allowedPods();

  // One bit per resource that is short, the last two for "too many pods" and "can never fit".
  constexpr std::uint64_t kPods = 1ULL << 62;
  constexpr std::uint64_t kNever = 1ULL << 63;
  boost::container::small_vector<std::pair<std::uint64_t, VerdictId>, 8> known;
  const auto judge = [&](NodeId node, std::int64_t pods, auto&& takenOf) {
    std::uint64_t lacks = pods + 1 > allowedPods[node] ? kPods : 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Column& column = columns[i];
      const std::int64_t allocatable = Cluster::columnAt(column.allocatable, node);
      if (column.amount <= allocatable - takenOf(i)) continue;
      lacks |= 1ULL << std::min<std::size_t>(i, 61);
      if (column.amount > allocatable) lacks |= kNever;
    }
    return lacks;
  };
  // What others hold of a resource, as the pod sees it.
  const auto taken = [&](std::size_t i, NodeId node, const NodeCredit* credit) {
    const std::int64_t requested = Cluster::columnAt(columns[i].requested, node);
    if (!credit) return requested;
    return std::max<std::int64_t>(requested - credit->amount.amount(wanted[i].id), 0);
  };
  nodes.forEach([&](NodeId node) {
    const NodeCredit* const credit = !view ? nullptr : view->on(node);
    const std::uint64_t lacks = credit
                                    ? judge(node, podCount[node] - credit->pods,
                                            [&](std::size_t i) { return taken(i, node, credit); })
                                    : judge(node, podCount[node], [&](std::size_t i) {
                                        return Cluster::columnAt(columns[i].requested, node);
                                      });
    if (lacks == 0) return;
    for (const auto& [bits, id] : known)
      if (bits == lacks && columns.size() < 62) return nodes.reject(node, id);
    std::vector<std::string> reasons;
    if ((lacks & kPods) != 0) reasons.emplace_back("Too many pods");
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::int64_t allocatable = Cluster::columnAt(columns[i].allocatable, node);
      if (columns[i].amount > allocatable - taken(i, node, credit))
        reasons.push_back(wanted[i].reason);
    }
    const VerdictId id = nodes.rejection(
        (lacks & kNever) != 0 ? Code::UnschedulableAndUnresolvable : Code::Unschedulable,
        std::move(reasons));
    known.emplace_back(lacks, id);
    nodes.reject(node, id);
  });
  return {};
}

Status NodeResourcesFit::preScore(CycleState&, const PodInfo&, std::span<const NodeId>) {
  return {};
}

Status NodeResourcesFit::score(const CycleState& state, const PodInfo& pod,
                               std::span<const NodeId> nodes, std::span<std::int64_t> scores) {
  const NodeView* const view = state.view().empty() ? nullptr : &state.view();
  struct Column {
    ResourceId id;
    std::span<const std::int64_t> allocatable;
    std::span<const std::int64_t> used;
    std::int64_t amount;
    std::int64_t weight;
  };
  boost::container::small_vector<Column, 4> columns;
  const Weighed weighed = weighedOf(pod);
  for (const auto& [id, weight] : scored_) {
    const std::int64_t amount = id == kCpu      ? weighed.cpu
                                : id == kMemory ? weighed.memory
                                                : pod.request.amount(id);
    if (id >= kFirstScalar && amount == 0) continue;
    columns.push_back({id, cluster_.allocatable(id),
                       id == kCpu      ? cluster_.nonZeroCpu()
                       : id == kMemory ? cluster_.nonZeroMemory()
                                       : cluster_.requested(id),
                       amount, weight});
  }
  const auto scoreOn = [&](NodeId node, auto&& usedOf) -> std::int64_t {
    std::int64_t sum = 0;
    std::int64_t weights = 0;
    for (const Column& column : columns) {
      const std::int64_t allocatable = Cluster::columnAt(column.allocatable, node);
      if (allocatable == 0) continue;
      const std::int64_t requested = addSaturating(usedOf(column), column.amount);
      if (args_.type == ScoringType::RequestedToCapacityRatio) {
        const std::int64_t score = line_.at(mostAllocatedScore(requested, allocatable));
        if (score <= 0) continue;
        sum += score * column.weight;
      } else if (args_.type == ScoringType::LeastAllocated) {
        sum += leastAllocatedScore(requested, allocatable) * column.weight;
      } else {
        sum += mostAllocatedScore(requested, allocatable) * column.weight;
      }
      weights += column.weight;
    }
    if (weights == 0) return 0;
    if (args_.type != ScoringType::RequestedToCapacityRatio) return sum / weights;
    return std::llround(static_cast<double>(sum) / static_cast<double>(weights));
  };
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const NodeId node = nodes[n];
    const auto used = [&](const Column& column) { return Cluster::columnAt(column.used, node); };
    const NodeCredit* const credit = !view ? nullptr : view->on(node);
    scores[n] = !credit ? scoreOn(node, used) : scoreOn(node, [&](const Column& column) {
      return std::max<std::int64_t>(used(column) - creditIn(*credit, column.id), 0);
    });
  }
  return {};
}

Hint NodeResourcesFit::onNode(const PodInfo& pod, const ClusterEvent& event) const {
  if (!event.newNode) return Hint::Skip;
  const auto& now = event.newNode->status.allocatable;
  // Interning needs a table of its own here: a hint must not change the cluster's columns.
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
    if (resource.beyond || resource.amount > allocatable) return Hint::Skip;
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
           [this](const PodInfo& pod, const ClusterEvent& event) { return onNode(pod, event); }}};
}

std::string NodeResourcesFit::remedyFor(const PodInfo& pod, NodeId node) const {
  std::vector<std::string> missing;
  pod.request.forEach([&](ResourceId id, std::int64_t amount) {
    const std::int64_t free = Cluster::columnAt(cluster_.allocatable(id), node) -
                              Cluster::columnAt(cluster_.requested(id), node);
    if (amount > 0 && amount > free) {
      missing.push_back(
          fmt::format("{} {}", amountText(id, amount - free), cluster_.resources().name(id)));
    }
  });
  return missing.empty() ? "fewer pods there"
                         : fmt::format("{} less, or as much freed there", fmt::join(missing, ", "));
}

}  // namespace koord::scheduler
