#include "descheduler/framework/stores.h"

#include <algorithm>

namespace koord::kube {
template class Informer<descheduler::Pod>;
}  // namespace koord::kube

namespace koord::descheduler {

namespace {

int compareKeys(const api::ObjectMeta& a, const api::ObjectMeta& b) {
  const int byNamespace = a.namespace_.compare(b.namespace_);
  return byNamespace != 0 ? byNamespace : a.name.compare(b.name);
}

bool entryBefore(const NodePods::Entry& entry, const api::ObjectMeta& meta) {
  return compareKeys(entry.pod->metadata, meta) < 0;
}
bool podBefore(const PodPtr& pod, const api::ObjectMeta& meta) {
  return compareKeys(pod->metadata, meta) < 0;
}

// Adds the pod's requests to its node's sums, or subtracts them (sign -1).
void account(NodePods& pods, const Pod& pod, std::int64_t sign) {
  if (pod.facts.is(PodFacts::Terminal)) return;
  pods.milliCpu += sign * pod.facts.milliCpu;
  pods.memory += sign * pod.facts.memory;
  pods.running += sign;
  for (const auto& [name, amount] : pod.scalars) pods.scalars[name] += sign * amount;
}

}  // namespace

void NodePods::add(PodPtr pod) {
  account(*this, *pod, 1);
  const auto at = std::lower_bound(entries.begin(), entries.end(), pod->metadata, entryBefore);
  const PodFacts facts = pod->facts;
  entries.insert(at, {std::move(pod), facts});
}

void NodePods::remove(const api::ObjectMeta& meta) {
  const auto at = std::lower_bound(entries.begin(), entries.end(), meta, entryBefore);
  if (at == entries.end() || compareKeys(at->pod->metadata, meta) != 0) return;
  account(*this, *at->pod, -1);
  entries.erase(at);
}

Stores::Stores(kube::Api& api, Executor& executor, Random random, model::PodTransforms transforms)
    : api_(api), executor_(executor), random_(random) {
  pods().setTransform([this, transforms](Pod& pod) {
    model::transformPod(pod, transforms);
    establishFacts(pod);
    slim(pod, keepsConditions_);
    sharing_.share(pod);
  });
  pods().addHandler({.onAdd = [this](const PodPtr& pod) { index(pod); },
                     .onUpdate =
                         [this](const PodPtr& before, const PodPtr& after) {
                           unindex(before);
                           index(after);
                         },
                     .onDelete = [this](const PodPtr& pod) { unindex(pod); }});
  nodes().setTransform(model::transformNode);
  namespaces();
  priorityClasses();
}

Stores::~Stores() = default;

NodePods& Stores::podsToChange(std::string_view node) {
  const auto found = byNode_.find(node);
  auto& slot = found == byNode_.end() ? byNode_[std::string(node)] : found->second;
  if (!slot) {
    slot = std::make_shared<NodePods>();
  } else if (slot.use_count() > 1) {
    slot = std::make_shared<NodePods>(*slot);  // a cycle uses it
  }
  return *slot;
}

void Stores::index(const PodPtr& pod) {
  if (!pod->spec.nodeName.empty()) podsToChange(pod->spec.nodeName).add(pod);
  for (const auto& owner : pod->metadata.ownerReferences) {
    auto& pods = byOwner_[owner.uid];
    const auto at = std::lower_bound(pods.begin(), pods.end(), pod->metadata, podBefore);
    if (at == pods.end() || compareKeys((*at)->metadata, pod->metadata) != 0) pods.insert(at, pod);
  }
}

void Stores::unindex(const PodPtr& pod) {
  if (!pod->spec.nodeName.empty()) {
    NodePods& pods = podsToChange(pod->spec.nodeName);
    pods.remove(pod->metadata);
    if (pods.entries.empty()) byNode_.erase(pod->spec.nodeName);
  }
  for (const auto& owner : pod->metadata.ownerReferences) {
    const auto found = byOwner_.find(owner.uid);
    if (found == byOwner_.end()) continue;
    auto& pods = found->second;
    const auto at = std::lower_bound(pods.begin(), pods.end(), pod->metadata, podBefore);
    if (at != pods.end() && compareKeys((*at)->metadata, pod->metadata) == 0) pods.erase(at);
    if (pods.empty()) byOwner_.erase(found);
  }
}

std::shared_ptr<const NodePods> Stores::podsOn(std::string_view node) const {
  static const auto kNone = std::make_shared<const NodePods>();
  const auto found = byNode_.find(node);
  return found == byNode_.end() ? kNone : found->second;
}

std::vector<PodPtr> Stores::podsOwnedBy(std::string_view uid) const {
  const auto found = byOwner_.find(uid);
  return found == byOwner_.end() ? std::vector<PodPtr>() : found->second;
}

void Stores::start() {
  started_ = true;
  for (auto& [type, kind] : kinds_) {
    kind->onSynced([this] { checkSynced(); });
    kind->start();
  }
}

void Stores::onSynced(std::function<void()> fn) {
  waiting_.push_back(std::move(fn));
  checkSynced();
}

void Stores::checkSynced() {
  const bool all =
      std::ranges::all_of(kinds_, [](const auto& kind) { return kind.second->synced(); });
  if (!started_ || !all) return;
  for (auto& fn : std::exchange(waiting_, {})) fn();
}

}  // namespace koord::descheduler
