// The parents in effect of the quotas of a QuotaTree.
//
// Every quota names its parent. Followed from quota to quota, these names lead to the root, to a
// name that does not exist, or into a cycle. Each member of a cycle becomes a child of the root, so
// that the order of creation does not matter; quotas below a cycle stay under their parents. A
// change of one quota can break the cycle that it was in and close another cycle, and
// no others: only the members of these cycles, and the quotas that name it, are visited again.
//
// Cost: the length of the path to the root.

#include <algorithm>

#include "scheduler/plugins/elasticquota/tree/quota_tree.h"

namespace koord::scheduler::quota {

QuotaId QuotaTree::find(std::string_view name) const {
  const auto it = ids_.find(std::string(name));
  return it == ids_.end() ? kNoQuota : it->second;
}

QuotaId QuotaTree::wanted(QuotaId quota) const {
  const Node& node = nodes_[quota];
  if (node.spec.apart || node.spec.parent.empty() || node.spec.parent == nodes_[kRoot].name)
    return kRoot;
  const QuotaId parent = find(node.spec.parent);
  // Quotas that are apart have no children: their use counts elsewhere.
  return parent != kNoQuota && nodes_[parent].spec.apart ? kNoQuota : parent;
}

void QuotaTree::membersOfCycle(QuotaId quota, std::vector<QuotaId>& members) const {
  const std::size_t before = members.size();
  members.push_back(quota);
  for (QuotaId next = wanted(quota); next != quota; next = wanted(next)) {
    // Not part of a cycle, or on the way into a cycle without this quota.
    if (next == kRoot || next == kNoQuota || members.size() - before > ids_.size()) {
      members.resize(before);
      return;
    }
    members.push_back(next);
  }
}

bool QuotaTree::onCycle(QuotaId quota) const {
  std::vector<QuotaId> members;
  membersOfCycle(quota, members);
  return !members.empty();
}

void QuotaTree::attach(QuotaId quota, QuotaId parent) {
  nodes_[quota].parent = parent;
  auto& siblings = nodes_[parent].children;
  siblings.insert(std::ranges::lower_bound(
                      siblings, nodes_[quota].name, {},
                      [this](QuotaId id) -> const std::string& { return nodes_[id].name; }),
                  quota);
  const Columns own = cellColumns(quota);
  forEachColumn(own, [&](Column column) { push(parent, column, {}, upward(quota, column)); });
  markDirty(parent, own);
  markDescendantsDirty(quota);
}

void QuotaTree::detach(QuotaId quota) {
  const QuotaId parent = std::exchange(nodes_[quota].parent, kNoQuota);
  std::erase(nodes_[parent].children, quota);
  const Columns own = cellColumns(quota);
  forEachColumn(own, [&](Column column) { push(parent, column, upward(quota, column), {}); });
  markDirty(parent, own);
}

// Moves the quota below its parent in effect.
void QuotaTree::settle(QuotaId quota) {
  Node& node = nodes_[quota];
  QuotaId parent = wanted(quota);
  node.parentState = parent == kNoQuota ? ParentState::ParentMissing
                     : onCycle(quota)   ? ParentState::Cycle
                                        : ParentState::ParentFound;
  if (node.parentState != ParentState::ParentFound) parent = kRoot;
  if (parent == node.parent) return;
  if (node.parent != kNoQuota) detach(quota);
  attach(quota, parent);
}

// Called after a change of the parent of the quota, or of its name. All quotas that may move are
// detached before any is attached again: in between, a path could lead in a circle.
void QuotaTree::settleAffected(QuotaId quota, std::vector<QuotaId> affected) {
  if (nodes_[quota].alive) {
    affected.push_back(quota);
    membersOfCycle(quota, affected);
  }
  if (const auto it = childrenByParentName_.find(nodes_[quota].name);
      it != childrenByParentName_.end())
    affected.insert(affected.end(), it->second.begin(), it->second.end());
  std::ranges::sort(affected);
  affected.erase(std::ranges::unique(affected).begin(), affected.end());
  std::erase_if(affected, [&](QuotaId id) { return id == kRoot || !nodes_[id].alive; });
  for (const QuotaId id : affected) {
    if (nodes_[id].parent == kRoot || nodes_[id].parent == kNoQuota) continue;
    detach(id);
    attach(id, kRoot);
  }
  for (const QuotaId id : affected) settle(id);
}

void QuotaTree::dropRequest(QuotaId quota) {
  const auto it = childrenByParentName_.find(nodes_[quota].spec.parent);
  if (it == childrenByParentName_.end()) return;
  it->second.erase(quota);
  if (it->second.empty()) childrenByParentName_.erase(it);
}

QuotaId QuotaTree::set(std::string_view name, const Spec& spec, Columns& fresh) {
  QuotaId quota = find(name);
  if (quota != kNoQuota && nodes_[quota].spec == spec) return quota;
  ++version_;
  if (quota == kNoQuota) {
    quota = free_.empty() ? static_cast<QuotaId>(nodes_.size()) : free_.back();
    if (!free_.empty()) free_.pop_back();
    addRow(quota);
    Node& node = nodes_[quota];
    node.name = name;
    node.serial = ++lastSerial_;
    node.alive = true;
    node.spec = spec;
    ids_.emplace(node.name, quota);
    childrenByParentName_[spec.parent].insert(quota);
    apply(quota, spec, fresh);
    settleAffected(quota, {});
    return quota;
  }
  const bool moved =
      nodes_[quota].spec.parent != spec.parent || nodes_[quota].spec.apart != spec.apart;
  std::vector<QuotaId> affected;
  if (moved) {
    membersOfCycle(quota, affected);
    dropRequest(quota);
    childrenByParentName_[spec.parent].insert(quota);
  }
  apply(quota, spec, fresh);
  if (moved) settleAffected(quota, std::move(affected));
  return quota;
}

void QuotaTree::erase(QuotaId quota) {
  ++version_;
  std::vector<QuotaId> affected;
  membersOfCycle(quota, affected);
  affected.insert(affected.end(), nodes_[quota].children.begin(), nodes_[quota].children.end());
  const std::vector<QuotaId> children = nodes_[quota].children;
  for (const QuotaId child : children) {
    detach(child);
    attach(child, kRoot);
  }
  detach(quota);
  dropRequest(quota);
  ids_.erase(nodes_[quota].name);
  nodes_[quota].alive = false;
  settleAffected(quota, std::move(affected));
  release(Columns(nodes_[quota].named));
  dropRow(quota);
  free_.push_back(quota);
}

}  // namespace koord::scheduler::quota
