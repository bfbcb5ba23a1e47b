#include "scheduler/plugins/elasticquota/waker.h"

namespace koord::scheduler {

QuotaWaker::QuotaWaker(Handle& handle, Quotas& quotas, QuotaRules rules)
    : handle_(handle), quotas_(quotas), rules_(rules) {
  quotas_.onChange([this] { changed(); });
}

QuotaWaker& QuotaWaker::of(Handle& handle, Quotas& quotas, QuotaRules rules) {
  return handle.shared().of<QuotaWaker>(
      [&] { return std::make_unique<QuotaWaker>(handle, quotas, rules); });
}

std::vector<std::int64_t> QuotaWaker::leftOf(const Place& place) const {
  const quota::QuotaTree& tree = place.quotas();
  std::vector<std::int64_t> left;
  for (quota::QuotaId next = place.quota; next != quota::kNoQuota; next = tree.parent(next)) {
    quota::forEachColumn(tree.maxColumns(next), [&](quota::Column column) {
      const quota::Cell& cell = tree.cell(next, column);
      left.push_back(quota::clamped(limitOf(cell, rules_) - cell.used));
      if (next == place.quota) left.push_back(quota::clamped(cell.min - cell.fixedUsed));
    });
    if (!rules_.ancestors) break;
  }
  return left;
}

void QuotaWaker::full(const Place& place) {
  Headroom& room = full_[{place.tree->id, place.quota}];
  const std::uint64_t serial = place.quotas().serial(place.quota);
  if (room.serial != serial) room.left.clear();
  room.name = place.name();
  room.serial = serial;
  changed();
}

void QuotaWaker::changed() {
  if (full_.empty() || looking_) return;
  looking_ = true;
  handle_.executor().post([this, alive = alive_] {
    if (*alive) look();
  });
}

// No pod of the quota waits: all requests are in use.
bool QuotaWaker::idle(const Place& place) {
  const quota::QuotaTree& tree = place.quotas();
  bool waiting = false;
  quota::forEachColumn(tree.maxColumns(place.quota), [&](quota::Column column) {
    const quota::Change& self = tree.cell(place.quota, column).self;
    waiting |= self.request > self.used;
  });
  return !waiting;
}

void QuotaWaker::look() {
  looking_ = false;
  bool relieved = false;
  for (auto it = full_.begin(); it != full_.end();) {
    Headroom& room = it->second;
    const Place place = quotas_.find(room.name);
    if (!place || place.quotas().serial(place.quota) != room.serial) {
      relieved = true;  // its pods belong to another quota now
      it = full_.erase(it);
      continue;
    }
    quotas_.refresh(place);
    std::vector<std::int64_t> left = leftOf(place);
    bool more = !room.left.empty() && left.size() != room.left.size();
    for (std::size_t n = 0; !more && n < room.left.size(); ++n) more = left[n] > room.left[n];
    relieved |= more;
    room.left = std::move(left);
    it = idle(place) ? full_.erase(it) : std::next(it);
  }
  if (!relieved) return;
  ClusterEvent event;
  event.resource = EventResource::Custom;
  event.customResource = KindOf<api::ElasticQuota>::value.customResource;
  event.actions = action::kUpdateOther;
  handle_.notify(event);
}

}  // namespace koord::scheduler
