#include "scheduler/engine/cluster.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduler {

const Label* NodeRow::findLabel(Symbol key) const {
  const auto it = std::ranges::lower_bound(labels, key, {}, &Label::key);
  return it != labels.end() && it->key == key ? &*it : nullptr;
}

Cluster::Cluster() {
  taintSets_.emplace_back();
  taintSetIds_.emplace("", 0);
}

std::optional<NodeId> Cluster::findNode(std::string_view name) const {
  const auto it = ids_.find(name);
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

const Cluster::PodRecord* Cluster::findPod(const std::string& uid) const {
  const auto it = pods_.find(uid);
  return it == pods_.end() ? nullptr : &*it;
}

Result<> Cluster::assume(const PodPtr& pod, NodeId node) {
  if (pod->uid().empty()) return fail(ErrorCode::Invalid, "pod " + pod->key() + " has no uid");
  if (pods_.contains(pod->uid())) {
    return fail(ErrorCode::Conflict, fmt::format("pod {}({}) is in the cache, so can't be assumed",
                                                 pod->uid(), pod->key()));
  }
  insertPod(pod, node, true);
  return {};
}

Result<> Cluster::forget(const std::string& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return {};
  if (!it->assumed) {
    return fail(ErrorCode::Conflict, fmt::format("pod {}({}) wasn't assumed so cannot be forgotten",
                                                 uid, it->info->key()));
  }
  erasePod(it);
  return {};
}

Cluster::Seen Cluster::observePod(const PodPtr& pod, std::string_view nodeName) {
  const NodeId node = rowFor(nodeName);
  const auto it = pods_.find(pod->uid());
  if (it == pods_.end()) {
    insertPod(pod, node, false);
    return Seen::Added;
  }
  const bool assumed = it->assumed;
  const bool moved = it->node != node;
  const NodeId before = it->node;
  const bool sameShape = !moved && it->info->request == pod->request &&
                         it->info->nonZeroCpu == pod->nonZeroCpu &&
                         it->info->nonZeroMemory == pod->nonZeroMemory &&
                         it->info->labelSet == pod->labelSet && it->info->ports == pod->ports &&
                         it->info->pod->metadata.deletionTimestamp.has_value() ==
                             pod->pod->metadata.deletionTimestamp.has_value();
  if (sameShape) {
    // The usual confirmation or status update: nothing that is counted differs, so no node changed.
    auto& pods = rows_[node].pods;
    *std::ranges::find(pods, it->info) = pod;
    if (it->info->pod->status.startTime != pod->pod->status.startTime) ++podDetails_[node];
    auto place = pods_.extract(it);
    place.value().info = pod;
    place.value().assumed = false;
    pods_.insert(std::move(place));
    if (!assumed) return Seen::Updated;
    --assumed_;
    return Seen::Confirmed;
  }
  erasePod(it);
  insertPod(pod, node, false);
  if (moved) {
    releaseRow(before);
    return assumed ? Seen::Confirmed : Seen::Moved;
  }
  return assumed ? Seen::Confirmed : Seen::Updated;
}

std::optional<Cluster::PodRecord> Cluster::removePod(const std::string& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return std::nullopt;
  PodRecord record = *it;
  erasePod(it);
  if (openTransactions_ == 0) releaseRow(record.node);
  return record;
}

void Cluster::insertPod(const PodPtr& pod, NodeId node, bool assumed) {
  pods_.insert(PodRecord{pod, node, assumed});
  if (assumed) ++assumed_;
  NodeRow& row = rows_[node];
  row.pods.push_back(pod);
  row.usedPorts.insert(row.usedPorts.end(), pod->ports.begin(), pod->ports.end());
  count(node, *pod, true);
  if (openTransactions_ > 0) journal_.push_back({Undo::Kind::Add, node, pod, assumed, false, {}});
  touch(node);
  for (auto* listener : listeners_) listener->podAdded(node, pod);
}

void Cluster::erasePod(Pods::iterator it) {
  const PodRecord record = *it;
  pods_.erase(it);
  if (record.assumed) --assumed_;
  NodeRow& row = rows_[record.node];
  const auto slot = std::ranges::find(row.pods, record.info);
  *slot = std::move(row.pods.back());
  row.pods.pop_back();
  for (const HostPort& port : record.info->ports)
    row.usedPorts.erase(std::ranges::find(row.usedPorts, port));
  count(record.node, *record.info, false);
  if (openTransactions_ > 0) {
    journal_.push_back({Undo::Kind::Remove, record.node, record.info, record.assumed, false, {}});
  }
  touch(record.node);
  for (auto* listener : listeners_) listener->podRemoved(record.node, record.info);
}

void Cluster::count(NodeId node, const PodInfo& pod, bool add) {
  applyDelta(node, pod.request, !add);
  const std::int64_t sign = add ? 1 : -1;
  nonZeroCpu_[node] += sign * pod.nonZeroCpu;
  nonZeroMemory_[node] += sign * pod.nonZeroMemory;
  podCount_[node] += sign;
}

void Cluster::applyDelta(NodeId node, const Resources& delta, bool negative) {
  delta.forEach([&](ResourceId id, std::int64_t value) {
    if (value == 0) return;
    if (id >= requested_.size()) requested_.resize(id + 1);
    Column& column = requested_[id];
    if (node >= column.size()) column.resize(rows_.size());
    // Unsigned, so that adding and removing always cancel out; PodInfo bounds what one pod can ask.
    const auto sum = static_cast<std::uint64_t>(column[node]);
    const auto part = static_cast<std::uint64_t>(value);
    column[node] = static_cast<std::int64_t>(negative ? sum - part : sum + part);
  });
}

void Cluster::adjustRequested(NodeId node, const Resources& delta, bool negative) {
  applyDelta(node, delta, negative);
  if (openTransactions_ > 0) {
    journal_.push_back({Undo::Kind::Adjust, node, nullptr, false, negative, delta});
  }
  touch(node);
}

std::string Cluster::verifyNode(NodeId node) const {
  Resources sum;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  for (const PodPtr& pod : rows_[node].pods) {
    sum.add(pod->request);
    cpu += pod->nonZeroCpu;
    memory += pod->nonZeroMemory;
  }
  std::string difference;
  const auto compare = [&](std::string_view what, std::int64_t counted, std::int64_t kept) {
    if (counted != kept)
      difference += fmt::format("{}: kept {}, counted {}; ", what, kept, counted);
  };
  for (ResourceId id = 0; id < resources_.size(); ++id)
    compare(resources_.name(id), sum.amount(id), columnAt(requested(id), node));
  compare("non-zero cpu", cpu, nonZeroCpu_[node]);
  compare("non-zero memory", memory, nonZeroMemory_[node]);
  compare("pods", static_cast<std::int64_t>(rows_[node].pods.size()), podCount_[node]);
  return difference;
}

// --- Journal and change log.

Cluster::Transaction::Transaction(Cluster& cluster)
    : cluster_(cluster), mark_(cluster.journal_.size()), logEnd_(cluster.changeEnd()) {
  ++cluster_.openTransactions_;
}

void Cluster::Transaction::commit() {
  if (!open_) return;
  open_ = false;
  // Inside another transaction the changes stay undoable with it.
  if (--cluster_.openTransactions_ == 0) cluster_.journal_.clear();
}

void Cluster::Transaction::rollback() {
  if (!open_) return;
  open_ = false;
  cluster_.undoTo(mark_);
  --cluster_.openTransactions_;
  // Everything is as it was: unless someone read the log meanwhile, nobody needs to know.
  if (cluster_.logRead_ <= logEnd_ && logEnd_ >= cluster_.logBase_)
    cluster_.log_.resize(logEnd_ - cluster_.logBase_);
}

void Cluster::undoTo(std::size_t mark) {
  while (journal_.size() > mark) {
    Undo undo = std::move(journal_.back());
    journal_.pop_back();
    const std::size_t entries = journal_.size();
    if (undo.kind == Undo::Kind::Add) {
      erasePod(pods_.find(undo.pod->uid()));
    } else if (undo.kind == Undo::Kind::Remove) {
      insertPod(undo.pod, undo.node, undo.assumed);
    } else {
      adjustRequested(undo.node, undo.delta, !undo.negative);
    }
    journal_.resize(entries);  // undoing is not recorded
  }
}

void Cluster::touch(NodeId node) {
  if (changeEnd() > logRead_ && !log_.empty() && log_.back() == node) return;
  log_.push_back(node);
  // Readers that are further behind than this look at every node anyway.
  const std::size_t keep = 2 * rows_.size() + 1024;
  if (log_.size() > 2 * keep && openTransactions_ == 0) {
    const std::size_t drop = log_.size() - keep;
    log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(drop));
    logBase_ += drop;
  }
}

std::optional<std::span<const NodeId>> Cluster::changesSince(std::uint64_t position) {
  logRead_ = changeEnd();
  if (position < logBase_ || position > changeEnd()) return std::nullopt;
  return std::span<const NodeId>(log_).subspan(position - logBase_);
}

}  // namespace koord::scheduler
