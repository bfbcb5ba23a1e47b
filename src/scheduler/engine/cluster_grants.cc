// Grants of the Cluster's pods: how ledgers are notified of them, and how everything is recounted.

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/engine/cluster.h"
#include "scheduler/engine/run_guarded.h"

namespace koord::scheduler {

void Cluster::addLedger(Ledger& ledger) {
  ledger.id_ = static_cast<LedgerId>(ledgers_.size());
  ledgers_.push_back(&ledger);
  if (ledger.derives()) deriving_.push_back(&ledger);
  if (ledger.readsGrants()) following_.push_back(&ledger);
  readers_.clear();
  for (const PodRecord& pod : pods_) rereadPod(pod, ledger.id_);
}

void Cluster::regrant(const std::string& uid, LedgerId ledger, GrantPtr grant) {
  if (const PodRecord* pod = findPod(uid)) setGrant(*pod, ledger, std::move(grant));
}

void Cluster::reread(LedgerId ledger, NodeId node) {
  const std::vector<PodPtr> pods = rows_[node].pods;  // a ledger may read them meanwhile
  for (const PodPtr& pod : pods)
    if (const PodRecord* record = findPod(pod->uid())) rereadPod(*record, ledger);
}

void Cluster::rereadPod(const PodRecord& pod, LedgerId ledger) {
  // The grants of a pod that is not bound yet are written with its binding.
  if (pod.assumed) return;
  const GrantPtr held = pod.grants.of(ledger);
  GrantPtr now = held;
  runGuarded(ledgers_[ledger]->name(), "the grant of a pod",
             [&] { now = ledgers_[ledger]->read(*pod.info, pod.node, held); });
  if (now != held) setGrant(pod, ledger, std::move(now));
}

void Cluster::rereadAll(const PodRecord& pod, ShapeId before) {
  const bool again = pod.info->shape != 0 && pod.info->shape == before;
  std::size_t held = pod.grants.size();
  for (const Ledger* ledger : readersOf(*pod.info)) {
    const Grant* const grant = pod.grants.of(ledger->id()).get();
    held -= grant ? 1 : 0;
    if (!grant || !again || !ledger->unchangedInShape(*pod.info, *grant))
      rereadPod(pod, ledger->id());
  }
  if (held == 0) return;  // pods without readers usually have no grants
  for (const Ledger* ledger : ledgers_)
    if (ledger->hasNothingToRead(*pod.info) && pod.grants.of(ledger->id()))
      rereadPod(pod, ledger->id());
}

const std::vector<Ledger*>& Cluster::readersOf(const PodInfo& pod) const {
  if (pod.shape == 0) return ledgers_;
  return readers_.of(pod, [&] {
    std::vector<Ledger*> readers = ledgers_;
    std::erase_if(readers, [&](const Ledger* ledger) { return ledger->hasNothingToRead(pod); });
    return readers;
  });
}

Grants Cluster::readGrants(const PodInfo& pod, NodeId node, const Grants& held) const {
  Grants grants;
  // A pod counts on its node in any case.
  for (Ledger* ledger : ledgers_)
    runGuarded(ledger->name(), "the grant of a pod",
               [&] { grants.set(ledger->id(), ledger->read(pod, node, held.of(ledger->id()))); });
  for (Ledger* ledger : following_)
    runGuarded(ledger->name(), "the sum of other grants",
               [&] { grants.set(ledger->id(), ledger->readGrants(pod, grants)); });
  return grants;
}

void Cluster::setGrant(const PodRecord& pod, LedgerId ledger, GrantPtr&& grant) {
  if (!grant || openTransactions_ > 0 || pod.grants.of(ledger))
    return changeGrant(pod, ledger, std::move(grant));
  // The usual way to get a grant, in Reserve: there is no old grant to remove.
  const Grant& now = *grant;
  pod.grants.add(ledger, std::move(grant));
  applyGrant(pod.node, *pod.info, ledger, now, true);
  touch(pod.node);
  if (!following_.empty() && now.covered() && !ledgers_[ledger]->readsGrants()) followGrants(pod);
  settle();
}

void Cluster::changeGrant(const PodRecord& pod, LedgerId ledger, GrantPtr&& grant) {
  const GrantPtr& held = pod.grants.of(ledger);
  if (held == grant || (held && grant && held->equals(*grant))) return;
  if (held) applyGrant(pod.node, *pod.info, ledger, *held, false);
  const Grant* const now = grant.get();
  GrantPtr before = pod.grants.set(ledger, std::move(grant));
  if (now) applyGrant(pod.node, *pod.info, ledger, *now, true);
  const bool covers = (before && before->covered()) || (now && now->covered());
  if (openTransactions_ > 0)
    journal_.push_back({Undo::Kind::Regrant, {pod.info}, ledger, std::move(before)});
  touch(pod.node);
  if (covers && !ledgers_[ledger]->readsGrants()) followGrants(pod);
  settle();
}

// Grants that depend on what the pod's other grants cover are updated with them.
void Cluster::followGrants(const PodRecord& pod) {
  if (undoing_) return;  // the journal restores them
  for (Ledger* ledger : following_)
    if (pod.grants.of(ledger->id()))
      setGrant(pod, ledger->id(), ledger->readGrants(*pod.info, pod.grants));
}

void Cluster::settle() {
  if (undoing_) return;
  for (Ledger* ledger : deriving_) ledger->settle(*this);
}

void Cluster::countCovered(NodeId node, const Resources& covered, bool add) {
  addRequested(node, covered, add);
  shift(nonZeroCpu_, node, covered.base[kCpu], add);
  shift(nonZeroMemory_, node, covered.base[kMemory], add);
}

void Cluster::applyGrant(NodeId node, const PodInfo& pod, LedgerId ledger, const Grant& grant,
                         bool add) {
  if (const Resources* covered = grant.covered()) countCovered(node, *covered, add);
  runGuarded(ledgers_[ledger]->name(), "a grant", [&] {
    if (add) {
      ledgers_[ledger]->add(node, pod, grant);
    } else {
      ledgers_[ledger]->remove(node, pod, grant);
    }
  });
}

std::string Cluster::verifyRequested(NodeId node) const {
  std::vector<__int128> sums(resources_.size());
  __int128 cpu = 0;
  __int128 memory = 0;
  for (const PodPtr& pod : rows_[node].pods) {
    pod->request.forEach([&](ResourceId id, std::int64_t amount) { sums[id] += amount; });
    cpu += pod->nonZeroCpu;
    memory += pod->nonZeroMemory;
    pods_.find(pod->uid())->grants.forEach([&](LedgerId, const Grant& grant) {
      const Resources* covered = grant.covered();
      if (!covered) return;
      covered->forEach([&](ResourceId id, std::int64_t amount) { sums[id] -= amount; });
      cpu -= covered->base[kCpu];
      memory -= covered->base[kMemory];
    });
  }
  std::string difference;
  const auto compare = [&](std::string_view what, __int128 sum, std::int64_t kept) {
    const auto counted = static_cast<std::int64_t>(std::clamp<__int128>(sum, 0, kMaxAmount));
    if (counted != kept)
      difference += fmt::format("{}: kept {}, counted {}; ", what, kept, counted);
  };
  for (ResourceId id = 0; id < resources_.size(); ++id) {
    const bool counted = id < kFirstScalar || (id < requested_.size() && requested_[id]);
    if (counted) compare(resources_.name(id), sums[id], requested(id)[node]);
  }
  compare("non-zero cpu", cpu, nonZeroCpu_[node]);
  compare("non-zero memory", memory, nonZeroMemory_[node]);
  compare("pods", static_cast<std::int64_t>(rows_[node].pods.size()), podCount_[node]);
  return difference;
}

std::vector<Cluster::Drift> Cluster::checkNode(NodeId node) const {
  std::vector<Drift> drifts;
  if (std::string found = verifyRequested(node); !found.empty())
    drifts.push_back({"resources", std::move(found)});
  std::vector<std::vector<GrantedPod>> held(ledgers_.size());
  for (const PodPtr& pod : rows_[node].pods) {
    pods_.find(pod->uid())->grants.forEach([&](LedgerId ledger, const Grant& grant) {
      held[ledger].push_back({*pod, grant});
    });
  }
  for (const Ledger* ledger : ledgers_)
    if (std::string found = ledger->verify(node, held[ledger->id()]); !found.empty())
      drifts.push_back({ledger->name(), std::move(found)});
  return drifts;
}

void Cluster::recount(NodeId node) {
  boost::unordered::erase_if(excess_,
                             [&](const auto& entry) { return entry.first.second == node; });
  for (const auto& column : requested_)
    if (column) (*column)[node] = 0;
  nonZeroCpu_[node] = 0;
  nonZeroMemory_[node] = 0;
  podCount_[node] = 0;
  for (const PodPtr& pod : rows_[node].pods) {
    count(node, *pod, true);
    pods_.find(pod->uid())->grants.forEach([&](LedgerId, const Grant& grant) {
      if (grant.covered()) countCovered(node, *grant.covered(), true);
    });
  }
}

void Cluster::repairNode(NodeId node, const std::vector<Drift>& drifts) {
  for (const Drift& drift : drifts) {
    if (drift.ledger == "resources") recount(node);
    for (Ledger* ledger : ledgers_) {
      if (ledger->name() != drift.ledger || !ledger->forget(node)) continue;
      for (const PodPtr& pod : rows_[node].pods) {
        const GrantPtr grant = pods_.find(pod->uid())->grants.of(ledger->id());
        if (grant) ledger->add(node, *pod, *grant);
      }
    }
  }
  settle();
  touch(node);
}

std::string Cluster::verifyNode(NodeId node) const {
  std::string text;
  for (const Drift& drift : checkNode(node))
    text += fmt::format("{}: {}", drift.ledger, drift.difference);
  return text;
}

}  // namespace koord::scheduler
