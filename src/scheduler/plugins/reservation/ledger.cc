#include "scheduler/plugins/reservation/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "api/reservation.h"
#include "model/well_known.h"
#include "scheduler/plugins/reservation/operating_pod.h"

namespace koord::scheduler {

namespace {

std::string shown(const Resources& amounts) {
  std::string text;
  amounts.forEach([&](ResourceId id, std::int64_t amount) {
    if (amount != 0) text += fmt::format("{}{}={}", text.empty() ? "" : " ", id, amount);
  });
  return text.empty() ? "nothing" : text;
}

// An entry with amount 0 equals a missing one.
bool sameAmounts(const Resources& a, const Resources& b) {
  bool same = true;
  a.forEach([&](ResourceId id, std::int64_t amount) { same &= amount == b.amount(id); });
  b.forEach([&](ResourceId id, std::int64_t amount) { same &= amount == a.amount(id); });
  return same;
}

}  // namespace

const ReservationUse& ReservationLedger::keep(const std::string& reservation) {
  Kept& kept = uses_[reservation];
  kept.pinned = true;
  return kept.use;
}

void ReservationLedger::release(Cluster& cluster, const std::string& reservation) {
  withdraw(cluster, reservation);
  const auto it = uses_.find(reservation);
  if (it == uses_.end()) return;
  it->second.pinned = false;
  dropUnusedEntry(reservation);
}

void ReservationLedger::dropUnusedEntry(const std::string& reservation) {
  const auto it = uses_.find(reservation);
  if (it == uses_.end() || it->second.pinned) return;
  if (it->second.use.pods.empty() && !it->second.use.counted()) uses_.erase(it);
}

void ReservationLedger::grantShare(Cluster& cluster, const std::string& pod,
                                   ReservationShare share) {
  grantedShares_[pod] = share;
  cluster.regrant(pod, id(), grantOf(std::move(share)));
}

std::vector<std::string> ReservationLedger::withdraw(Cluster& cluster,
                                                     const std::string& reservation) {
  std::vector<std::string> pods;
  for (const auto& [pod, share] : grantedShares_)
    if (share.reservation == reservation) pods.push_back(pod);
  for (const std::string& pod : pods) {
    grantedShares_.erase(pod);
    cluster.regrant(pod, id(), nullptr);
  }
  return pods;
}

const ReservationUse* ReservationLedger::find(const std::string& reservation) const {
  const auto it = uses_.find(reservation);
  return it == uses_.end() ? nullptr : &it->second.use;
}

bool ReservationLedger::reserves(const PodInfo& pod) const {
  return pod.kind ? pod.kind == &kind_ : isOperatingPod(*pod.pod);
}

bool ReservationLedger::hasNothingToRead(const PodInfo& pod) const {
  return !reserves(pod) &&
         !api::findIn(pod.pod->metadata.annotations, model::kAnnotationReservationAllocated);
}

void ReservationLedger::changed(const std::string& reservation) {
  ++version_;
  if (onChange) onChange(reservation);
}

Resources ReservationLedger::usedOf(const PodInfo& reservePod, const ReservationUse& use) {
  Resources used;
  if (use.owners == 0) return used;
  reservePod.request.forEach([&](ResourceId id, std::int64_t reserved) {
    const std::int64_t amount = std::min(reserved, use.requests.amount(id));
    if (amount > 0) used.set(id, amount);
  });
  return used;
}

std::optional<ReservationShare> ReservationLedger::readValue(const PodInfo& pod, NodeId node,
                                                             const ReservationShare*) {
  if (reserves(pod)) {
    ReservationShare share;
    const ReservationUse* use = find(pod.uid());
    if (!use) return share;
    if (use->node == node) {
      share.used = usedOf(pod, *use);
      return share;
    }
    ReservationUse there = *use;
    there.node = node;
    recount(there);
    share.used = usedOf(pod, there);
    return share;
  }
  const std::string* text =
      api::findIn(pod.pod->metadata.annotations, model::kAnnotationReservationAllocated);
  Result<api::ReservationAllocated> read = api::ReservationAllocated{};
  if (text) read = api::decodeText<api::ReservationAllocated>(*text, api::Reading::Go);
  if (!read || read->uid.empty()) {
    const auto promised = grantedShares_.find(pod.uid());
    if (promised == grantedShares_.end()) return std::nullopt;
    return promised->second;
  }
  grantedShares_.erase(pod.uid());
  // An assumed unit is bound now; the listener may wait for that.
  if (onChange) onChange(read->uid);
  return ReservationShare{std::move(read->uid), std::move(read->name), {}};
}

void ReservationLedger::recount(ReservationUse& use) const {
  use.owners = 0;
  use.requests = {};
  for (const auto& [uid, owner] : use.pods) {
    if (owner.node != use.node) continue;
    ++use.owners;
    use.requests.add(owner.requests);
  }
}

void ReservationLedger::addValue(NodeId node, const PodInfo& pod, const ReservationShare& share) {
  const bool reserves = share.reservation.empty();
  const std::string& reservation = reserves ? pod.uid() : share.reservation;
  ReservationUse& use = uses_[reservation].use;
  if (reserves) {
    if (use.node != node) {
      use.node = node;
      recount(use);
    }
  } else {
    use.pods[pod.uid()] = {node, pod.request};
    if (use.node == node) {
      ++use.owners;
      use.requests.add(pod.request);
    }
  }
  unsettled_.push_back(reservation);
  changed(reservation);
}

void ReservationLedger::removeValue(NodeId node, const PodInfo& pod,
                                    const ReservationShare& share) {
  const bool reserves = share.reservation.empty();
  const std::string& reservation = reserves ? pod.uid() : share.reservation;
  ReservationUse& use = uses_[reservation].use;
  if (reserves) {
    use.node = kNoNode;
    recount(use);
  } else {
    use.pods.erase(pod.uid());
    if (use.node == node) {
      --use.owners;
      use.requests.subtract(pod.request);
    }
    unsettled_.push_back(reservation);
  }
  changed(reservation);
  dropUnusedEntry(reservation);
}

void ReservationLedger::settleNow(Cluster& cluster) {
  const std::vector<std::string> reservations = std::exchange(unsettled_, {});
  for (const std::string& reservation : reservations) {
    const Cluster::PodRecord* record = cluster.findPod(reservation);
    const ReservationUse* use = find(reservation);
    // A reservation that is only assumed has no owners yet.
    if (!record || !use || !use->counted() || !reserves(*record->info)) continue;
    ReservationShare share;
    share.used = usedOf(*record->info, *use);
    cluster.regrant(reservation, id(), grantOf(std::move(share)));
  }
}

bool ReservationLedger::forget(NodeId node) {
  for (auto& [reservation, kept] : uses_) {
    const auto gone =
        std::erase_if(kept.use.pods, [&](const auto& entry) { return entry.second.node == node; });
    if (gone == 0 && kept.use.node != node) continue;
    if (kept.use.node == node) kept.use.node = kNoNode;
    recount(kept.use);
    changed(reservation);
  }
  return true;
}

std::string ReservationLedger::verifyValues(NodeId node, Held held) const {
  std::map<std::string, ReservationUse> counted;
  for (const auto& [pod, share] : held) {
    if (share->reservation.empty()) {
      counted[pod->uid()].node = node;
    } else {
      counted[share->reservation].pods[pod->uid()] = {node, pod->request};
    }
  }
  std::string difference;
  for (auto& [reservation, use] : counted) {
    recount(use);
    const ReservationUse* kept = find(reservation);
    if (!kept) {
      difference +=
          fmt::format("{}: stored nothing, counted {} pods; ", reservation, use.pods.size());
      continue;
    }
    for (const auto& [uid, owner] : use.pods)
      if (const auto known = kept->pods.find(uid);
          known == kept->pods.end() || known->second.node != node)
        difference += fmt::format("{}: pod {} is not stored; ", reservation, uid);
    if (!use.counted()) continue;
    if (kept->node != node || kept->owners != use.owners ||
        !sameAmounts(kept->requests, use.requests)) {
      difference +=
          fmt::format("{}: stored {} owners with {}, counted {} with {}; ", reservation,
                      kept->owners, shown(kept->requests), use.owners, shown(use.requests));
    }
  }
  for (const auto& [pod, share] : held) {
    if (!share->reservation.empty()) continue;
    const Resources used = usedOf(*pod, counted[pod->uid()]);
    if (!sameAmounts(used, share->used))
      difference += fmt::format("{}: stored {} as used, counted {}; ", pod->uid(),
                                shown(share->used), shown(used));
  }
  // Entries for this node without a pod that has them.
  for (const auto& [reservation, kept] : uses_)
    if (kept.use.node == node && !counted.contains(reservation))
      difference += fmt::format("{}: stored, but its reserve pod does not exist; ", reservation);
  return difference;
}

}  // namespace koord::scheduler
