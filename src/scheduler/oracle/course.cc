#include "scheduler/oracle/course.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "model/well_known.h"
#include "scheduler/oracle/node_shape.h"
#include "scheduler/preemption/evictions.h"
#include "scheduler/services/explain.h"

namespace koord::scheduler::oracle {

namespace {

// The pod as its controller creates it again.
std::shared_ptr<api::Pod> successorOf(const api::Pod& pod, std::uint64_t number) {
  auto next = std::make_shared<api::Pod>(pod);
  const auto* owner = api::controllerOf(pod.metadata);
  next->metadata.uid = fmt::format("simulated-again-{}", number);
  if (!owner || owner->kind != "StatefulSet") next->metadata.name += "-again";
  next->metadata.deletionTimestamp.reset();
  for (const std::string_view key : model::kGrantAnnotations)
    next->metadata.annotations.erase(std::string(key));
  next->spec.nodeName.clear();
  next->status = {};
  return next;
}

FollowedPod::State stateOf(const Decision& decision) {
  return decision.result == "scheduled" ? FollowedPod::State::Placed : FollowedPod::State::Pending;
}

}  // namespace

Course::Course(Scheduler& scheduler, SeamExecutor& executor, ScratchServer& server)
    : scheduler_(scheduler), executor_(executor), server_(server) {
  scheduler_.hooks().attempting = [this](const PodInfo& pod, int) {
    attempted_[pod.key()] = pod.uid();
    if (checkpoint) checkpoint();
  };
  scheduler_.hooks().decided = [this](const std::string& key, const Decision& decision) {
    decided(key, decision);
  };
  for (const auto& [name, profile] : scheduler_.profiles()) {
    evictionsOf(*profile).onEvicted = [this](const PodInfo& preemptor, const PodInfo& victim,
                                             const std::string& plugin) {
      const auto* record = scheduler_.cluster().findPod(victim.uid());
      freed_ = true;
      departures_.push_back(
          {.key = api::keyOf(victim.pod->metadata),
           .node = record ? scheduler_.cluster().node(record->node).name : std::string(),
           .preemptor = api::keyOf(preemptor.pod->metadata),
           .plugin = plugin,
           .priority = victim.priority,
           .preemptorPriority = preemptor.priority});
    };
  }
}

Course::~Course() {
  scheduler_.hooks() = {};
  for (const auto& [name, profile] : scheduler_.profiles()) evictionsOf(*profile).onEvicted = {};
}

void Course::follow(FollowedPod followed) {
  open_.insert(followed.uid);
  byUid_.emplace(followed.uid, pods_.size());
  pods_.push_back(std::move(followed));
}

void Course::create(std::shared_ptr<api::Pod> pod, FollowedPod followed, When when) {
  followed.key = api::keyOf(pod->metadata);
  followed.uid = pod->metadata.uid;
  const bool known = scheduler_.profiles().contains(pod->spec.schedulerName);
  if (!known)
    followed.message =
        fmt::format("this scheduler has no profile {}", std::string_view(pod->spec.schedulerName));
  follow(std::move(followed));
  if (!known) {
    open_.erase(pod->metadata.uid);
    return;
  }
  pod->metadata.creationTimestamp = executor_.wallNow();
  if (when == When::Now) return server_.createPod(std::move(pod));
  executor_.post([this, pod = std::move(pod)]() mutable { server_.createPod(std::move(pod)); });
}

Result<> Course::addNode(const json::value& document) {
  auto node = api::decode<api::Node>(document);
  if (!node) return fail(std::move(node.error()));
  if (node->metadata.name.empty()) return fail(ErrorCode::Invalid, "metadata.name: is required");
  if (scheduler_.cluster().findNode(node->metadata.name))
    return fail(ErrorCode::Invalid,
                fmt::format("metadata.name: node \"{}\" exists", node->metadata.name));
  if (node->status.allocatable.empty()) node->status.allocatable = node->status.capacity;
  server_.createNode(std::make_shared<api::Node>(*std::move(node)));
  return {};
}

Result<> Course::addNewNodes(const NewNodes& nodes) {
  const auto pattern = patternOf(nodes, scheduler_);
  if (!pattern) return fail(Error(pattern.error()));
  const std::string& name = (*pattern)->metadata.name;
  if (nodes.like.empty() && nodes.count == 1 && !name.empty()) {
    freed_ = true;
    NodeShape(scheduler_.stores(), **pattern).create(server_, name);
  } else {
    addNodes(**pattern, nodes.count);
  }
  return {};
}

void Course::addNodes(const api::Node& pattern, std::int64_t count) {
  freed_ = true;
  const std::string base = pattern.metadata.name.empty() ? "new" : pattern.metadata.name;
  const NodeShape shape(scheduler_.stores(), pattern);
  for (std::int64_t i = 0; i < count; ++i)
    shape.create(server_, fmt::format("{}-added-{}", base, ++made_));
}

// DaemonSets' pods and those of static manifests belong to their node.
void Course::move(const PodPtr& pod, const std::string& node, const CompletePods& pods) {
  const auto* owner = api::controllerOf(pod->pod->metadata);
  if (pod->kind) {
    ++staying_;
    return;
  }
  if ((owner && owner->kind == "DaemonSet") ||
      pod->pod->metadata.annotations.contains(model::kAnnotationMirrorPod))
    return;
  const auto complete = pods.find(pod->uid());
  const api::Pod& last = complete == pods.end() ? *pod->pod : *complete->second;
  const bool leaves = last.metadata.deletionTimestamp || pod->pod->metadata.deletionTimestamp;
  server_.deletePod(pod->uid());
  freed_ = true;
  // A controller replaces pods as soon as they terminate, but for a StatefulSet, whose pods keep
  // their names.
  if (leaves && owner && owner->kind != "StatefulSet") return;
  if (complete == pods.end()) ++incomplete_;
  FollowedPod followed{.of = owner ? owner->kind + " " + owner->name : std::string(), .from = node};
  if (!owner) {
    followed.key = api::keyOf(pod->pod->metadata);
    followed.uid = pod->uid();
    followed.state = FollowedPod::State::NotRecreated;
    followed.message = "the pod has no controller that creates it again";
    follow(std::move(followed));
    open_.erase(pod->uid());
    return;
  }
  create(successorOf(last, ++made_), std::move(followed), When::NextTurn);
}

Result<> Course::clear(const std::vector<std::string>& names, const char* field,
                       const CompletePods& pods) {
  std::vector<std::pair<PodPtr, std::string>> leaving;
  const Cluster& cluster = scheduler_.cluster();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!server_.cordon(names[i]))
      return fail(ErrorCode::Invalid,
                  fmt::format("spec.{}[{}]: there is no node \"{}\"", field, i, names[i]));
    for (const PodPtr& pod : cluster.node(*cluster.findNode(names[i])).pods)
      leaving.emplace_back(pod, names[i]);
  }
  std::ranges::sort(leaving, {},
                    [](const auto& entry) { return api::keyOf(entry.first->pod->metadata); });
  for (const auto& [pod, node] : leaving) move(pod, node, pods);
  if (const auto count = std::exchange(staying_, 0); count > 0)
    notes_.push_back(fmt::format("spec.{}: {} Reservations stay on their nodes", field, count));
  if (const auto count = std::exchange(incomplete_, 0); count > 0)
    notes_.push_back(
        fmt::format("spec.{}: the complete specs of {} pods are not known", field, count));
  return {};
}

Result<> Course::change(const Question& question, Expansion expansion, const CompletePods& pods) {
  leftOut_ = expansion.leftOut;
  notes_ = std::move(expansion.notes);
  for (const json::value& object : expansion.objects) {
    const std::string name =
        fmt::format("{} {}", textAt(object, "kind"), textAt(object, "metadata", "name"));
    const auto created = server_.create(object);
    if (!created) return fail(Error(created.error()).within(name));
    if (!*created) {
      notes_.push_back(name + " exists: it is changed as kubectl apply would change it");
      freed_ = true;
    } else if (textAt(object, "kind") == "Reservation") {
      follow({.key = {"", std::string(textAt(object, "metadata", "name"))},
              .uid = std::string(textAt(object, "metadata", "uid")),
              .of = "Reservation"});
    }
  }
  for (const json::value& node : expansion.nodes)
    if (auto added = addNode(node); !added)
      return fail(std::move(added.error())
                      .within(fmt::format("Node {}", textAt(node, "metadata", "name"))));
  for (const NewNodes& nodes : question.addNodes)
    if (auto added = addNewNodes(nodes); !added) return added;
  if (auto cleared = clear(question.drainNodes, "drainNodes", pods); !cleared) return cleared;
  if (auto cleared = clear(question.loseNodes, "loseNodes", pods); !cleared) return cleared;
  if (!question.loseNodes.empty()) {
    executor_.post([this, lost = question.loseNodes] {
      for (const std::string& node : lost) server_.deleteNode(node);
    });
  }
  if (!expansion.nodes.empty()) freed_ = true;
  for (AskedPod& asked : expansion.pods) add(std::move(asked));
  return {};
}

void Course::add(AskedPod asked) {
  create(std::move(asked.pod), {.of = std::move(asked.of), .from = ""}, When::Now);
}

void Course::remove(std::span<const std::string> uids) {
  for (const std::string& uid : uids) {
    server_.deletePod(uid);
    open_.erase(uid);
  }
  settle();
}

void Course::decided(const std::string& key, const Decision& decision) {
  const auto attempted = attempted_.find(key);
  if (attempted == attempted_.end()) return;
  const std::string& uid = attempted->second;
  const auto found = byUid_.find(uid);
  if (found == byUid_.end()) {
    if (decision.result != "scheduled") return;
    const auto slash = key.find('/');
    others_.push_back({.key = {key.substr(0, slash), key.substr(slash + 1)},
                       .uid = uid,
                       .state = FollowedPod::State::Placed,
                       .node = decision.node});
    return;
  }
  FollowedPod& pod = pods_[found->second];
  ++pod.attempts;
  pod.state = stateOf(decision);
  pod.message = pod.state == FollowedPod::State::Placed ? "" : decision.message;
  // A pod with a nomination waits for its victims.
  const bool waits = pod.state == FollowedPod::State::Pending && !decision.node.empty();
  (waits ? pod.nominated : pod.node) = decision.node;
  if (pod.attempts == 1) (waits ? pod.firstNominated : pod.firstNode) = decision.node;
  if (waits) {
    open_.insert(uid);
  } else {
    open_.erase(uid);
  }
}

PodPtr Course::pendingOf(const std::string& uid) const {
  const auto it = scheduler_.pendingPods().find(uid);
  return it == scheduler_.pendingPods().end() ? nullptr : it->second;
}

// Pods that the queue holds wait for no event of this course.
void Course::settleHeld() {
  std::erase_if(open_, [this](const std::string& uid) {
    FollowedPod& pod = pods_[byUid_.at(uid)];
    const PodPtr pending = pendingOf(uid);
    if (!pending || scheduler_.queue().placeOf(uid) != QueuePlace::Gated) return false;
    pod.state = FollowedPod::State::Pending;
    pod.message = waitReason(scheduler_, *pending);
    if (pod.message.empty())
      pod.message = "the pod is held before the queue, by a scheduling gate or an incomplete group";
    return true;
  });
}

// Pods that still wait when the course ends: for other members of their groups, or for victims.
void Course::describeOpen() {
  for (const std::string& uid : open_) {
    FollowedPod& pod = pods_[byUid_.at(uid)];
    const PodPtr pending = pendingOf(uid);
    if (pod.state != FollowedPod::State::NotTried || !pending) continue;
    pod.state = FollowedPod::State::Pending;
    pod.message = waitReason(scheduler_, *pending);
    if (pod.message.empty()) pod.message = "the pod waits in the queue";
  }
}

bool Course::settled() const {
  if (!open_.empty()) return false;
  if (!freed_) return true;
  const QueueCounts counts = scheduler_.queue().counts();
  return counts.active + counts.backoff + counts.inFlight == 0;
}

void Course::settle() {
  executor_.runReady([this] {
    if (checkpoint) checkpoint();
    return false;
  });
}

void Course::run() {
  const SteadyTime limit = executor_.steadyNow() + kHorizon;
  const auto done = [this] {
    if (checkpoint) checkpoint();
    return open_.empty() && !freed_;
  };
  while (!executor_.runReady(done)) {
    settleHeld();
    if (settled() || !executor_.skipTo(limit)) break;
  }
  describeOpen();
}

}  // namespace koord::scheduler::oracle
