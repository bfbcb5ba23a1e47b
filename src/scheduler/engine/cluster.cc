#include "scheduler/engine/cluster.h"
#include "scheduler/engine/run_guarded.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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
  // A cycle looks up one pod repeatedly, mostly by the same string that it was counted with.
  if (recent_ && (&recent_->info->uid() == &uid || recent_->info->uid() == uid)) return recent_;
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return nullptr;
  return recent_ = &*it;
}

Result<> Cluster::assume(const PodPtr& pod, NodeId node, Grants grants) {
  if (pod->uid().empty()) return fail(ErrorCode::Invalid, "pod " + pod->key() + " has no uid");
  if (pods_.contains(pod->uid())) {
    return fail(ErrorCode::Conflict, fmt::format("pod {}({}) is in the cache, so can't be assumed",
                                                 pod->uid(), pod->key()));
  }
  insertPod({pod, node, true, std::move(grants)});
  return {};
}

Result<> Cluster::forget(const std::string& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return {};
  if (!it->assumed) {
    return fail(ErrorCode::Conflict, fmt::format("pod {}({}) wasn't assumed so cannot be forgotten",
                                                 uid, it->info->key()));
  }
  const NodeId node = erasePod(it).node;
  if (openTransactions_ == 0) releaseRow(node);
  return {};
}

bool Cluster::countsAlike(const PodInfo& a, const PodInfo& b) const {
  const api::ObjectMeta& before = a.pod->metadata;
  const api::ObjectMeta& after = b.pod->metadata;
  if (before.deletionTimestamp.has_value() != after.deletionTimestamp.has_value()) return false;
  if (a.shape != 0 && a.shape == b.shape) return true;
  return a.request == b.request && a.nonZeroCpu == b.nonZeroCpu &&
         a.nonZeroMemory == b.nonZeroMemory && a.labelSet == b.labelSet && a.ports == b.ports &&
         sameAnnotations(podAnnotations_, before.annotations, after.annotations);
}

Cluster::Seen Cluster::observePod(const PodPtr& pod, std::string_view nodeName) {
  const NodeId node = rowFor(nodeName);
  const auto it = pods_.find(pod->uid());
  if (it == pods_.end()) {
    insertPod({pod, node, false, readGrants(*pod, node, {})});
    return Seen::Added;
  }
  const PodRecord& record = *it;
  const bool assumed = record.assumed;
  const bool moved = record.node != node;
  const NodeId before = record.node;
  if (!moved && countsAlike(*record.info, *pod)) {
    // The usual confirmation or status update: no counted value differs, so no node changed.
    auto& pods = rows_[node].pods;
    *std::ranges::find(pods, record.info) = pod;
    if (record.info->pod->status.startTime != pod->pod->status.startTime ||
        record.info->pod->metadata.deletionTimestamp != pod->pod->metadata.deletionTimestamp)
      ++podDetails_[node];
    const ShapeId shape = std::exchange(record.info, pod)->shape;
    record.assumed = false;
    if (assumed) --assumed_;
    rereadAll(record, shape);
    return assumed ? Seen::Confirmed : Seen::Updated;
  }
  const PodRecord last = erasePod(it);
  insertPod({pod, node, false, readGrants(*pod, node, moved ? Grants() : last.grants)});
  if (moved) {
    releaseRow(before);
    return assumed ? Seen::Confirmed : Seen::Moved;
  }
  return assumed ? Seen::Confirmed : Seen::Updated;
}

std::optional<Cluster::PodRecord> Cluster::removePod(const std::string& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) return std::nullopt;
  PodRecord record = erasePod(it);
  if (openTransactions_ == 0) releaseRow(record.node);
  return record;
}

void Cluster::insertPod(PodRecord added) {
  const PodRecord& record = *pods_.insert(std::move(added)).first;
  recent_ = &record;
  const NodeId node = record.node;
  const PodPtr& pod = record.info;
  if (record.assumed) ++assumed_;
  NodeRow& row = rows_[node];
  row.pods.push_back(pod);
  row.usedPorts.insert(row.usedPorts.end(), pod->ports.begin(), pod->ports.end());
  count(node, *pod, true);
  if (openTransactions_ > 0) journal_.push_back({Undo::Kind::Add, {pod}, 0, nullptr});
  touch(node);
  record.grants.forEach(
      [&](LedgerId ledger, const Grant& grant) { applyGrant(node, *pod, ledger, grant, true); });
  for (auto* listener : listeners_)
    runGuarded("a listener", "an added pod", [&] { listener->podAdded(node, pod); });
  settle();
}

Cluster::PodRecord Cluster::erasePod(Pods::iterator it) {
  recent_ = nullptr;
  PodRecord record = std::move(pods_.extract(it).value());
  const NodeId node = record.node;
  const PodPtr& pod = record.info;
  if (record.assumed) --assumed_;
  NodeRow& row = rows_[node];
  const auto slot = std::ranges::find(row.pods, pod);
  *slot = std::move(row.pods.back());
  row.pods.pop_back();
  for (const HostPort& port : pod->ports)
    row.usedPorts.erase(std::ranges::find(row.usedPorts, port));
  count(node, *pod, false);
  if (openTransactions_ > 0) journal_.push_back({Undo::Kind::Remove, record, 0, nullptr});
  touch(node);
  record.grants.forEach(
      [&](LedgerId ledger, const Grant& grant) { applyGrant(node, *pod, ledger, grant, false); });
  for (auto* listener : listeners_)
    runGuarded("a listener", "a removed pod", [&] { listener->podRemoved(node, pod); });
  settle();
  return record;
}

void Cluster::count(NodeId node, const PodInfo& pod, bool add) {
  addRequested(node, pod.request, !add);
  shift(nonZeroCpu_, node, pod.nonZeroCpu, !add);
  shift(nonZeroMemory_, node, pod.nonZeroMemory, !add);
  noteAmount(kCpu, nonZeroCpu_[node]);
  noteAmount(kMemory, nonZeroMemory_[node]);
  podCount_[node] += add ? 1 : -1;
}

void Cluster::shift(Column& column, NodeId node, std::int64_t value, bool negative) {
  std::int64_t sum = 0;
  const bool over = negative ? __builtin_sub_overflow(column[node], value, &sum)
                             : __builtin_add_overflow(column[node], value, &sum);
  if (!over && sum >= 0 && excess_.empty()) {
    column[node] = sum;
    return;
  }
  const std::pair<const Column*, NodeId> key(&column, node);
  const auto had = excess_.find(key);
  const __int128 exact = static_cast<__int128>(column[node]) +
                         (had == excess_.end() ? 0 : had->second) +
                         (negative ? -static_cast<__int128>(value) : value);
  column[node] = static_cast<std::int64_t>(std::clamp<__int128>(exact, 0, kMaxAmount));
  if (const __int128 rest = exact - column[node]; rest != 0) {
    excess_[key] = rest;
  } else if (had != excess_.end()) {
    excess_.erase(had);
  }
}

Cluster::Column& Cluster::columnFor(ColumnsById& columns, ResourceId id) {
  if (id >= columns.size()) columns.resize(id + 1);
  auto& column = columns[id];
  if (!column) {
    column = std::make_unique<Column>(zeros_.size());
    columns_.push_back(column.get());
  }
  return *column;
}

// Resources that no node has or had are not counted: a column costs a number per node, and invented
// resource names must not cost memory. When a node gets the resource, setAllocatable counts the
// requests of pods.
void Cluster::addRequested(NodeId node, const Resources& amount, bool negative) {
  amount.forEach([&](ResourceId id, std::int64_t value) {
    const bool had = id < allocatable_.size() && allocatable_[id];
    if (value == 0 || (id >= kFirstScalar && !had)) return;
    Column& column = columnFor(requested_, id);
    shift(column, node, value, negative);
    noteAmount(id, column[node]);
  });
}

// --- Journal and change log.

Cluster::Transaction::Transaction(Cluster& cluster)
    : cluster_(cluster), mark_(cluster.journal_.size()), logEnd_(cluster.changeEnd()) {
  ++cluster_.openTransactions_;
  cluster_.logFence_ = logEnd_;
}

void Cluster::Transaction::commit() {
  if (!open_) return;
  open_ = false;
  // Inside another transaction the changes stay revertible by it.
  if (--cluster_.openTransactions_ > 0) return;
  // Rows of nodes that were removed meanwhile can be released now.
  for (const Undo& undo : cluster_.journal_)
    if (undo.kind == Undo::Kind::Remove) cluster_.releaseRow(undo.record.node);
  cluster_.journal_.clear();
}

void Cluster::Transaction::rollback() {
  if (!open_) return;
  open_ = false;
  cluster_.revertTo(mark_);
  --cluster_.openTransactions_;
  // The state is as before: unless a reader read the log meanwhile, no entries are needed.
  if (cluster_.logRead_ <= logEnd_ && logEnd_ >= cluster_.logBase_)
    cluster_.log_.resize(logEnd_ - cluster_.logBase_);
}

void Cluster::revertTo(std::size_t mark) {
  undoing_ = true;
  std::vector<NodeId> left;  // rows of nodes that were removed meanwhile
  while (journal_.size() > mark) {
    Undo undo = std::move(journal_.back());
    journal_.pop_back();
    const std::size_t entries = journal_.size();
    if (undo.kind == Undo::Kind::Remove) {
      insertPod(std::move(undo.record));
    } else if (const auto it = pods_.find(undo.record.info->uid()); undo.kind == Undo::Kind::Add) {
      const NodeId node = erasePod(it).node;
      if (!rows_[node].object) left.push_back(node);
    } else {
      setGrant(*it, undo.ledger, std::move(undo.grant));
    }
    journal_.resize(entries);  // the reverting changes are not recorded
  }
  undoing_ = false;
  if (openTransactions_ == 1)
    for (const NodeId node : left) releaseRow(node);
}

void Cluster::noteChange(NodeId node) {
  log_.push_back(node);
  // Readers that are further behind evaluate every node anyway.
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
