#include "scheduler/plugins/elasticquota/tree/quota_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <limits>

namespace koord::scheduler::quota {

std::int64_t clamped(Sum sum) {
  return static_cast<std::int64_t>(std::clamp<Sum>(sum, std::numeric_limits<std::int64_t>::min(),
                                                   std::numeric_limits<std::int64_t>::max()));
}

QuotaTree::QuotaTree(std::string rootName, Settings settings) : settings_(settings) {
  addRow(kRoot);
  nodes_[kRoot].name = std::move(rootName);
  nodes_[kRoot].spec.isParent = true;
  nodes_[kRoot].spec.lends = false;
  nodes_[kRoot].alive = true;
}

bool QuotaTree::hasRuntime(QuotaId quota, Column column) const {
  if (quota == kRoot || nodes_[quota].spec.apart) return false;
  for (QuotaId parent = nodes_[quota].parent; parent != kRoot; parent = nodes_[parent].parent)
    if (parent == kNoQuota || !nodes_[parent].hasMax.contains(column)) return false;
  return inUse_.contains(column);
}

// The columns in which its children share its amount.
Columns QuotaTree::sharedColumns(QuotaId quota) const {
  if (quota == kRoot) return inUse_;
  Columns shared = nodes_[quota].hasMax;
  for (QuotaId parent = nodes_[quota].parent; parent != kRoot && parent != kNoQuota;
       parent = nodes_[parent].parent)
    shared &= nodes_[parent].hasMax;
  return shared;
}

Columns QuotaTree::cellColumnsAround(QuotaId quota) const {
  Columns columns = cellColumns(quota);
  for (const QuotaId child : nodes_[quota].children) columns |= nodes_[child].wide;
  return columns;
}

void QuotaTree::markDirty(QuotaId quota, const Columns& columns) {
  if (columns.empty()) return;
  nodes_[quota].dirty |= columns;
  ++version_;
}

void QuotaTree::markDirty(QuotaId quota, Column column) {
  nodes_[quota].dirty.insert(column);
  ++version_;
}

// Not recursive: a chain of quotas may be longer than the stack is deep.
std::vector<QuotaId> QuotaTree::withDescendants(QuotaId quota) const {
  std::vector<QuotaId> all{quota};
  for (std::size_t n = 0; n < all.size(); ++n) {
    const std::vector<QuotaId>& children = nodes_[all[n]].children;
    all.insert(all.end(), children.begin(), children.end());
  }
  return all;
}

// The set of columns with runtimes has changed for all descendants.
void QuotaTree::markChildrenDirty(QuotaId quota, const Columns& columns) {
  if (columns.empty()) return;
  for (const QuotaId each : withDescendants(quota)) markDirty(each, columns);
}

void QuotaTree::markDescendantsDirty(QuotaId quota) {
  for (const QuotaId each : withDescendants(quota)) markDirty(each, cellColumnsAround(each));
}

// --- Sums.

Sum QuotaTree::limited(const Node& node, const Cell& c, Column column) {
  return node.hasMax.contains(column) ? std::min<Sum>(c.request, c.max) : c.request;
}

Sum QuotaTree::limited(QuotaId quota, Column column) const {
  return limited(nodes_[quota], cell(quota, column), column);
}

QuotaTree::Upward QuotaTree::upward(QuotaId quota, Column column) const {
  const Cell& c = cell(quota, column);
  return {{limited(quota, column), c.used, c.fixedRequest, c.fixedUsed}, c.guaranteed};
}

// Recomputes the values that follow from a cell's own sums.
void QuotaTree::derive(QuotaId quota, Column column) {
  Cell& c = at(quota, column);
  const Node& node = nodes_[quota];
  const bool lends = node.spec.lends && !settings_.guarantee;
  c.request = quota == kRoot || node.spec.apart || lends ? c.childRequest
                                                         : std::max<Sum>(c.childRequest, c.min);
  c.guaranteed = settings_.guarantee && quota != kRoot ? std::max<Sum>(c.allocated, c.min) : 0;
}

// Updates the parent after a change of a child's part of its sums.
void QuotaTree::push(QuotaId parent, Column column, const Upward& before, const Upward& after) {
  if (parent == kNoQuota) return;
  const Change change{after.change.request - before.change.request,
                      after.change.used - before.change.used,
                      after.change.fixedRequest - before.change.fixedRequest,
                      after.change.fixedUsed - before.change.fixedUsed};
  const Sum allocated = after.guaranteed - before.guaranteed;
  if (change.request != 0 || allocated != 0) markDirty(parent, column);
  if (!change.isZero() || allocated != 0) count(parent, column, change, allocated);
}

// Adds to the sums of a quota and its ancestors. What a parent counts for a child differs from the
// child's own sums in the request, which is limited, and in the guaranteed amount.
void QuotaTree::count(QuotaId quota, Column column, Change change, Sum allocated) {
  for (;;) {
    Node& node = nodes_[quota];
    Cell& c = at(quota, column);
    const Sum limitedBefore = limited(node, c, column);
    const Sum guaranteedBefore = c.guaranteed;
    c.childRequest += change.request;
    c.used += change.used;
    c.fixedRequest += change.fixedRequest;
    c.fixedUsed += change.fixedUsed;
    if (settings_.guarantee) c.allocated += allocated;
    derive(quota, column);
    ++node.stamp;
    ++version_;
    // The other quotas have less.
    if (node.spec.apart && change.used != 0) markDirty(kRoot, column);
    quota = node.parent;
    if (quota == kNoQuota) return;
    change.request = limited(node, c, column) - limitedBefore;
    allocated = c.guaranteed - guaranteedBefore;
    if (change.request != 0 || allocated != 0) markDirty(quota, column);
    if (change.isZero() && allocated == 0) return;
  }
}

void QuotaTree::addSelf(QuotaId quota, Column column, const Change& change) {
  Change& self = at(quota, column).self;
  self.request += change.request;
  self.used += change.used;
  self.fixedRequest += change.fixedRequest;
  self.fixedUsed += change.fixedUsed;
  if (!nodes_[quota].hasMax.contains(column) || change.isZero()) return;
  count(quota, column, change, change.used);
}

// Applies a specification: removes the quota's part from its parent's sums, changes the quota, and
// adds its part again.
void QuotaTree::apply(QuotaId quota, const Spec& spec, Columns& fresh) {
  const QuotaId parent = nodes_[quota].parent;
  const Columns known = cellColumns(quota);
  std::vector<std::pair<Column, Upward>> before;
  forEachColumn(known, [&](Column column) { before.emplace_back(column, upward(quota, column)); });

  const Columns held = std::exchange(nodes_[quota].named, {});
  const Columns counted = nodes_[quota].hasMax;
  Columns hasWeight, named, hasMax, hasMin;
  place(quota, spec.max, hasMax, &Cell::max, named, fresh);
  place(quota, spec.min, hasMin, &Cell::min, named, fresh);
  place(quota, spec.weight, hasWeight, &Cell::weight, named, fresh);
  Node& node = nodes_[quota];
  node.named = named;
  node.hasMax = hasMax;
  node.hasMin = hasMin;
  node.spec = spec;

  // Own pods count in the columns of max.
  const Columns changed = (counted ^ hasMax) & inUse_;
  forEachColumn(changed, [&](Column column) {
    Cell& c = at(quota, column);
    const Sum sign = hasMax.contains(column) ? 1 : -1;
    c.childRequest += sign * c.self.request;
    c.used += sign * c.self.used;
    c.fixedRequest += sign * c.self.fixedRequest;
    c.fixedUsed += sign * c.self.fixedUsed;
    if (settings_.guarantee) c.allocated += sign * c.self.used;
  });
  const Columns own = cellColumns(quota);
  forEachColumn(own, [&](Column column) {
    Cell& c = at(quota, column);
    derive(quota, column);
    c.scaledMin = c.min;
    c.limit = node.spec.apart ? c.max : std::min(c.runtime, c.max);
  });
  ++node.stamp;
  markDirty(quota, own);
  markChildrenDirty(quota, changed);
  if (parent != kNoQuota) {
    forEachColumn(own - known,
                  [&](Column column) { push(parent, column, {}, upward(quota, column)); });
    for (const auto& [column, upwardBefore] : before)
      push(parent, column, upwardBefore, upward(quota, column));
    markDirty(parent, own);
  }
  release(held);
}

// --- Runtimes.

std::int64_t QuotaTree::available(QuotaId quota, Column column) const {
  if (quota != kRoot) return cell(quota, column).runtime;
  Sum left = total(column).value_or(0);
  for (const QuotaId child : nodes_[kRoot].children)
    if (nodes_[child].spec.apart) left -= cell(child, column).used;
  return clamped(left);
}

void QuotaTree::sharersOf(QuotaId quota, Column column, std::vector<QuotaId>& sharers) const {
  sharers.clear();
  if (column < kCommonColumns) {
    for (const QuotaId child : nodes_[quota].children)
      if (!nodes_[child].spec.apart) sharers.push_back(child);
    return;
  }
  for (const QuotaId row : rows_[column - kCommonColumns])
    if (nodes_[row].parent == quota && !nodes_[row].spec.apart) sharers.push_back(row);
  std::ranges::sort(sharers, {}, [this](QuotaId id) -> const std::string& { return name(id); });
}

void QuotaTree::scaleMins(QuotaId quota, Column column, std::span<const QuotaId> sharers) {
  const bool known = quota != kRoot || total(column).has_value();
  const std::int64_t there = available(quota, column);
  Sum mins = 0;
  for (const QuotaId child : sharers) mins += cell(child, column).min;
  const bool scale = settings_.scaleMin && known && there < mins;
  for (const QuotaId child : sharers) {
    Cell& c = at(child, column);
    const std::int64_t min = scale ? scaledMin(there, c.min, mins) : c.min;
    if (c.scaledMin == min) continue;
    c.scaledMin = min;
    ++nodes_[child].stamp;
  }
}

Claim QuotaTree::claimOf(QuotaId child, Column column) const {
  const Cell& c = cell(child, column);
  return {std::max(c.scaledMin, clamped(c.guaranteed)), clamped(limited(child, column)), c.weight,
          nodes_[child].spec.lends && !settings_.guarantee};
}

std::vector<Claim> QuotaTree::claims(QuotaId quota, Column column) const {
  std::vector<Claim> result;
  result.reserve(nodes_[quota].children.size());
  for (const QuotaId child : nodes_[quota].children)
    if (!nodes_[child].spec.apart) result.push_back(claimOf(child, column));
  return result;
}

void QuotaTree::setRuntime(QuotaId quota, Column column, std::int64_t runtime) {
  Cell& c = at(quota, column);
  Node& node = nodes_[quota];
  const std::int64_t limit = node.hasMax.contains(column) ? std::min(runtime, c.max) : 0;
  if (c.runtime == runtime && c.limit == limit) return;
  c.limit = limit;
  ++node.stamp;
  if (c.runtime == runtime) return;
  c.runtime = runtime;
  node.dirty.insert(column);
}

void QuotaTree::share(QuotaId quota, Column column) {
  sharersOf(quota, column, sharers_);
  scaleMins(quota, column, sharers_);
  claims_.clear();
  for (const QuotaId child : sharers_) claims_.push_back(claimOf(child, column));
  runtimes_.resize(claims_.size());
  redistribute(claims_, available(quota, column), runtimes_);
  for (std::size_t n = 0; n < sharers_.size(); ++n) setRuntime(sharers_[n], column, runtimes_[n]);
}

// A quota does not limit resources that are not in its max: its children have their own limits
// only.
void QuotaTree::clearShares(QuotaId quota, Column column) {
  sharersOf(quota, column, sharers_);
  for (const QuotaId child : sharers_) {
    Node& node = nodes_[child];
    Cell& c = at(child, column);
    c.scaledMin = c.min;
    const std::int64_t limit = node.hasMax.contains(column) ? c.max : 0;
    if (c.runtime == 0 && c.limit == limit) continue;
    if (c.runtime != 0) node.dirty.insert(column);
    c.runtime = 0;
    c.limit = limit;
    ++node.stamp;
  }
}

void QuotaTree::redistributeAll(QuotaId quota) {
  const Columns dirty = std::exchange(nodes_[quota].dirty, {}) & inUse_;
  const Columns shared = sharedColumns(quota);
  forEachColumn(dirty, [&](Column column) {
    if (shared.contains(column)) {
      share(quota, column);
    } else {
      clearShares(quota, column);
    }
  });
}

void QuotaTree::refresh(QuotaId quota) {
  // The limit of a quota that is apart is its max, whatever the other quotas get.
  if (refreshed_ == version_ || nodes_[quota].spec.apart) return;
  boost::container::small_vector<QuotaId, 16> path;
  for (QuotaId next = nodes_[quota].parent; next != kNoQuota; next = nodes_[next].parent)
    path.push_back(next);
  for (auto it = path.rbegin(); it != path.rend(); ++it)
    if (!nodes_[*it].dirty.empty()) redistributeAll(*it);
}

void QuotaTree::refreshAll() {
  if (refreshed_ == version_) return;
  for (const QuotaId quota : withDescendants(kRoot))
    if (!nodes_[quota].dirty.empty()) redistributeAll(quota);
  refreshed_ = version_;
}

// --- Recomputation.

// Of its own pods and its children; `guaranteed` is what was allocated.
QuotaTree::Upward QuotaTree::ownSums(QuotaId quota, Column column) const {
  const Cell& c = cell(quota, column);
  Upward sum;
  if (nodes_[quota].hasMax.contains(column)) {
    sum.change = c.self;
    sum.guaranteed = c.self.used;
  }
  for (const QuotaId child : nodes_[quota].children) {
    const Upward part = upward(child, column);
    sum.change.request += part.change.request;
    sum.change.used += part.change.used;
    sum.change.fixedRequest += part.change.fixedRequest;
    sum.change.fixedUsed += part.change.fixedUsed;
    sum.guaranteed += part.guaranteed;
  }
  return sum;
}

void QuotaTree::sumUp(QuotaId quota) {
  const Columns columns = cellColumnsAround(quota);
  forEachColumn(columns, [&](Column column) {
    Cell& c = at(quota, column);
    const Upward sum = ownSums(quota, column);
    c.childRequest = sum.change.request;
    c.used = sum.change.used;
    c.fixedRequest = sum.change.fixedRequest;
    c.fixedUsed = sum.change.fixedUsed;
    c.allocated = settings_.guarantee ? sum.guaranteed : 0;
    derive(quota, column);
  });
  nodes_[quota].dirty = columns;
  ++nodes_[quota].stamp;
}

void QuotaTree::rebuild() {
  ++version_;
  const std::vector<QuotaId> all = withDescendants(kRoot);
  for (auto quota = all.rbegin(); quota != all.rend(); ++quota) sumUp(*quota);
}

std::string QuotaTree::verifyQuota(QuotaId quota) const {
  std::string difference;
  const Node& node = nodes_[quota];
  const auto compare = [&](std::string_view what, Column column, Sum kept, Sum counted) {
    if (kept == counted || !difference.empty()) return;
    difference = fmt::format("quota {}, resource {}: {} is {}, recomputed {}", node.name,
                             resources_[column], what, clamped(kept), clamped(counted));
  };
  const Columns shared = sharedColumns(quota);
  std::vector<QuotaId> sharers;
  forEachColumn(cellColumnsAround(quota), [&](Column column) {
    const Cell& c = cell(quota, column);
    const Upward sum = ownSums(quota, column);
    compare("childRequest", column, c.childRequest, sum.change.request);
    compare("used", column, c.used, sum.change.used);
    compare("nonPreemptibleRequest", column, c.fixedRequest, sum.change.fixedRequest);
    compare("nonPreemptibleUsed", column, c.fixedUsed, sum.change.fixedUsed);
    if (settings_.guarantee) compare("allocated", column, c.allocated, sum.guaranteed);
    if (node.dirty.contains(column) || !shared.contains(column)) return;
    sharersOf(quota, column, sharers);
    std::vector<Claim> own;
    for (const QuotaId child : sharers) own.push_back(claimOf(child, column));
    std::vector<std::int64_t> runtimes(own.size());
    redistribute(own, available(quota, column), runtimes);
    for (std::size_t n = 0; n < sharers.size(); ++n)
      compare("runtime of " + name(sharers[n]), column, cell(sharers[n], column).runtime,
              runtimes[n]);
  });
  return difference;
}

std::string QuotaTree::verify() const {
  QuotaTree fresh(nodes_[kRoot].name, settings_);
  Columns added;
  forEach([&](QuotaId quota) { fresh.set(nodes_[quota].name, nodes_[quota].spec, added); });
  for (ResourceKey resource = 0; resource < totals_.size(); ++resource)
    fresh.setTotal(resource, totals_[resource]);
  const auto inFresh = [&](Column column) { return *fresh.columnOf(resources_[column]); };
  forEach([&](QuotaId quota) {
    forEachColumn(inUse_, [&](Column column) {
      fresh.addSelf(fresh.find(nodes_[quota].name), inFresh(column), cell(quota, column).self);
    });
  });
  fresh.rebuild();
  fresh.refreshAll();
  std::string difference;
  forEach([&](QuotaId quota) {
    forEachColumn(inUse_, [&](Column column) {
      const Cell& kept = cell(quota, column);
      const Cell& derived = fresh.cell(fresh.find(nodes_[quota].name), inFresh(column));
      const auto compare = [&](std::string_view what, Sum a, Sum b) {
        if (a == b || !difference.empty()) return;
        difference =
            fmt::format("quota {}, resource {}: {} is {}, recomputed {}", nodes_[quota].name,
                        resources_[column], what, clamped(a), clamped(b));
      };
      compare("childRequest", kept.childRequest, derived.childRequest);
      compare("request", kept.request, derived.request);
      compare("used", kept.used, derived.used);
      compare("nonPreemptibleRequest", kept.fixedRequest, derived.fixedRequest);
      compare("nonPreemptibleUsed", kept.fixedUsed, derived.fixedUsed);
      compare("allocated", kept.allocated, derived.allocated);
      compare("guaranteed", kept.guaranteed, derived.guaranteed);
      compare("autoScaleMin", kept.scaledMin, derived.scaledMin);
      compare("runtime", kept.runtime, derived.runtime);
      compare("limit", kept.limit, derived.limit);
    });
  });
  return difference;
}

}  // namespace koord::scheduler::quota
