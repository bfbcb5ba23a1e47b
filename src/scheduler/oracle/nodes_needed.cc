#include "scheduler/oracle/nodes_needed.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/oracle/node_shape.h"

namespace koord::scheduler::oracle {

NodesNeeded::NodesNeeded(Surroundings surroundings, const Question& question, Expansion expansion,
                         std::shared_ptr<const api::Node> pattern)
    : around_(std::move(surroundings)),
      question_(question),
      expansion_(std::move(expansion)),
      pattern_(std::move(pattern)) {}

std::int64_t NodesNeeded::Amount::nodes() const {
  if (perNode <= 0) return 0;
  return requested / perNode + (requested % perNode != 0);
}

// As the scheduler counts: nodes and pods pass through its own conversions.
Result<> NodesNeeded::measure() {
  auto scheduler = around_.makeScheduler();
  if (!scheduler) return fail(std::move(scheduler.error()));
  ScratchServer server(**scheduler, around_.executor);
  NodeShape((*scheduler)->stores(), *pattern_).create(server, "measured");
  const Cluster& cluster = (*scheduler)->cluster();
  const NodeId node = *cluster.findNode("measured");
  Resources sum;
  for (const AskedPod& asked : expansion_.pods) sum.add((*scheduler)->describe(asked.pod)->request);
  amounts_.push_back({.resource = "pods",
                      .requested = std::ssize(expansion_.pods),
                      .perNode = Cluster::columnAt(cluster.allowedPods(), node)});
  sum.forEach([&](ResourceId id, std::int64_t amount) {
    if (amount > 0)
      amounts_.push_back({.resource = cluster.resources().name(id),
                          .id = id,
                          .requested = amount,
                          .perNode = Cluster::columnAt(cluster.allocatable(id), node)});
  });
  for (const Amount& amount : amounts_) bound_ = std::max(bound_, amount.nodes());
  return {};
}

std::int64_t NodesNeeded::most() const {
  // If each pod has a node alone and some are rejected, more nodes do not help.
  return std::min(kMaxNewNodes, std::max<std::int64_t>(bound_, std::ssize(expansion_.pods)));
}

Result<> NodesNeeded::run() {
  if (!expansion_.nodes.empty())
    return fail(ErrorCode::Invalid,
                "spec.nodesFor: has no other nodes: the objects must not be Nodes");
  if (expansion_.pods.empty())
    return fail(ErrorCode::Invalid,
                "spec.nodesFor: the objects have no pods; add a pod or a workload with replicas");
  if (expansion_.leftOut > 0)
    return fail(ErrorCode::Invalid,
                fmt::format("spec.nodesFor: the objects have {} pods more than a simulation takes; "
                            "ask about fewer",
                            expansion_.leftOut));
  if (auto measured = measure(); !measured) return measured;
  if (bound_ > kMaxNewNodes) {
    last_.message = fmt::format("a simulation has at most {} new nodes", kMaxNewNodes);
    return {};
  }
  for (std::int64_t more = 0; !enough_ && tooFew_ < most();
       more = std::max<std::int64_t>(1, 2 * more)) {
    auto tried = suffices(std::min(bound_ + more, most()));
    if (!tried) return fail(std::move(tried.error()));
  }
  // Below the bound there can be an answer only if the scheduler does not limit a resource of it.
  if (enough_ == bound_ && bound_ > 1) {
    auto tried = suffices(bound_ - 1);
    if (!tried) return fail(std::move(tried.error()));
  }
  while (enough_ && *enough_ - tooFew_ > 1) {
    auto tried = suffices(tooFew_ + (*enough_ - tooFew_) / 2);
    if (!tried) return fail(std::move(tried.error()));
  }
  return {};
}

Result<bool> NodesNeeded::suffices(std::int64_t nodes) {
  auto trial = tryOut(nodes);
  if (!trial) return fail(std::move(trial.error()));
  ++tries_;
  if (trial->enough) {
    enough_ = nodes;
  } else {
    tooFew_ = nodes;
    last_ = *std::move(trial);
  }
  return trial->enough;
}

Result<NodesNeeded::Trial> NodesNeeded::tryOut(std::int64_t nodes) {
  auto scheduler = around_.makeScheduler();
  if (!scheduler) return fail(std::move(scheduler.error()));
  ScratchServer server(**scheduler, around_.executor);
  around_.serve(&server);
  Trial trial;
  {
    Course course(**scheduler, around_.executor, server);
    course.checkpoint = checkpoint;
    course.addNodes(*pattern_, nodes);
    Expansion copy = expansion_;
    for (AskedPod& asked : copy.pods) asked.pod = std::make_shared<api::Pod>(*asked.pod);
    if (auto changed = course.change(question_, std::move(copy), {}); !changed)
      return fail(std::move(changed.error()));
    (*scheduler)->start();
    course.run();
    trial.enough = course.departures().empty() && course.leftOut() == 0;
    for (const FollowedPod& pod : course.pods()) {
      const bool placed = pod.state == FollowedPod::State::Placed;
      ++(placed ? trial.placed : trial.pending);
      if (!placed && trial.message.empty()) trial.message = pod.message;
      trial.enough = trial.enough && placed;
    }
  }
  (*scheduler)->stop();
  scheduler->reset();
  around_.serve(nullptr);
  return trial;
}

json::object NodesNeeded::describe() const {
  json::array resources;
  for (const Amount& amount : amounts_) {
    json::object one{{"name", amount.resource},
                     {"requested", amountText(amount.id, amount.requested)},
                     {"perNode", amountText(amount.id, amount.perNode)},
                     {"nodes", amount.nodes()}};
    // Of all nodes of the answer, in percent.
    if (enough_ && amount.perNode > 0)
      one.emplace("use", 100.0 * static_cast<double>(amount.requested) /
                             (static_cast<double>(amount.perNode) * static_cast<double>(*enough_)));
    resources.push_back(std::move(one));
  }
  json::object out{{"pods", expansion_.pods.size()},
                   {"lowerBound", bound_},
                   {"tooFew", tooFew_},
                   {"tries", tries_},
                   {"resources", std::move(resources)}};
  if (enough_) out.emplace("count", *enough_);
  if (!last_.message.empty()) {
    out.emplace("placed", last_.placed);
    out.emplace("pending", last_.pending);
    out.emplace("message", last_.message);
  }
  return out;
}

}  // namespace koord::scheduler::oracle
