// Where the CPUs and amounts of a pod may come from: a reservation that matches it, or unreserved
// resources.
//
// A reserve pod and the owners of its reservation are both in the table, so what owners use of it
// is counted twice; that amount is subtracted. What is left of a reservation is free for a pod that
// uses it, and for no other. A reserve pod first gets the allocations of the pods that it takes
// over. A pod's own grant, if it already has one, is free for the pod.

#include <algorithm>

#include "scheduler/framework/profile.h"
#include "scheduler/plugins/nodenumaresource/plugin.h"

namespace koord::scheduler {

namespace {

// Per NUMA node and resource the smaller of the two, or what the first has beyond the second.
std::vector<NumaAmounts> combine(const std::vector<NumaAmounts>& reserved,
                                 const std::vector<NumaAmounts>& used, bool beyond) {
  std::vector<NumaAmounts> result;
  for (const NumaAmounts& part : reserved) {
    NumaAmounts& sum = result.emplace_back();
    sum.numa = part.numa;
    part.amounts.forEach([&](ResourceId id, std::int64_t amount) {
      std::int64_t taken = 0;
      for (const NumaAmounts& other : used)
        if (other.numa == part.numa) taken += other.amounts.amount(id);
      const std::int64_t both = std::min(amount, taken);
      sum.amounts.set(id, beyond ? amount - both : both);
    });
  }
  return result;
}

void append(std::vector<NumaAmounts>& to, const std::vector<NumaAmounts>& parts) {
  to.insert(to.end(), parts.begin(), parts.end());
}

// Limits the named resources to these amounts.
void limit(NumaCapacityTerms& terms, const std::vector<NumaAmounts>& named,
           std::vector<NumaAmounts> amounts) {
  for (const NumaAmounts& part : named)
    part.amounts.forEach([&](ResourceId id, std::int64_t amount) {
      if (amount != 0 && std::ranges::find(terms.limited, id) == terms.limited.end())
        terms.limited.push_back(id);
    });
  terms.onlyAmounts = std::move(amounts);
}

// What a reservation has on a node.
struct Reserved {
  std::string uid;
  bool restricted = false;
  const NumaGrant* all = nullptr;
  CpuSet cpus;                     // not used by owners
  std::vector<NumaAmounts> rest;   // likewise
  std::vector<NumaAmounts> twice;  // the part that owners use
};

std::optional<Reserved> read(const NumaTable& table, const ReservationOnNode& reservation,
                             NodeId node, const std::string& pod) {
  Reserved read;
  read.uid = reservation.uid;
  read.restricted = reservation.restricted;
  read.all = table.grantOn(reservation.uid, node);
  if (!read.all) return std::nullopt;
  std::vector<NumaAmounts> used;
  read.cpus = read.all->cpus;
  for (const std::string& owner : reservation.owners) {
    const NumaGrant* grant = owner == pod ? nullptr : table.grantOn(owner, node);
    if (!grant) continue;
    read.cpus = read.cpus.difference(grant->cpus);
    append(used, grant->numa);
  }
  read.rest = combine(read.all->numa, used, true);
  read.twice = combine(read.all->numa, used, false);
  return read;
}

}  // namespace

const ReservationsOffer* NodeNumaResource::reservations() const {
  if (!reservations_) {
    const auto offers = handle_.profile().offers<ReservationsOffer>();
    reservations_ = offers.empty() ? nullptr : offers.front();
  }
  return *reservations_;
}

std::vector<NodeNumaResource::Source> NodeNumaResource::sourcesOf(const PodInfo& pod,
                                                                  const NumaDemand& demand,
                                                                  NodeId node,
                                                                  const std::string* only) const {
  NumaCapacityTerms base;
  if (demand.designated) {
    base.preferred = demand.designated->cpus;
    limit(base, demand.designated->numa, demand.designated->numa);
  }
  if (const NumaGrant* own = table_.grantOn(pod.uid(), node)) {
    if (!own->cpus.empty()) base.cpus.push_back(own->cpus);
    append(base.amounts, own->numa);
  }
  std::vector<Source> sources;
  std::vector<Reserved> matched;
  if (const ReservationsOffer* offer = reservations()) {
    for (const ReservationOnNode& reservation : offer->matchedReservations(pod, node)) {
      auto reserved = read(table_, reservation, node, pod.uid());
      if (!reserved) continue;
      append(base.amounts, reserved->twice);
      if (!pod.kind) matched.push_back(*std::move(reserved));
    }
    for (const PodPtr& other : offer->takenOver(pod, node)) {
      const NumaGrant* theirs = table_.grantOn(other->uid(), node);
      if (!theirs) continue;
      if (!theirs->cpus.empty()) base.cpus.push_back(theirs->cpus);
      base.preferred = base.preferred.unionWith(theirs->cpus);
      append(base.amounts, theirs->numa);
    }
    for (const ReservationOnNode& reservation : offer->otherReservations(pod, node))
      if (auto reserved = read(table_, reservation, node, pod.uid()))
        append(base.amounts, reserved->twice);
  }
  std::ranges::sort(matched, {}, &Reserved::uid);
  if (demand.ignoresReservations) {
    Source& all = sources.emplace_back(Source{"", base});
    for (const Reserved& reserved : matched) {
      all.terms.cpus.push_back(reserved.cpus);
      append(all.terms.amounts, reserved.rest);
    }
    return sources;
  }
  for (Reserved& reserved : matched) {
    if (only && reserved.uid != *only) continue;
    Source& source = sources.emplace_back(Source{reserved.uid, base});
    source.terms.cpus.push_back(reserved.cpus);
    if (!demand.designated) source.terms.preferred = reserved.cpus;
    append(source.terms.amounts, reserved.rest);
    if (!reserved.restricted) continue;
    if (!reserved.all->cpus.empty()) source.terms.onlyCpus = reserved.cpus;
    limit(source.terms, reserved.all->numa, std::move(reserved.rest));
  }
  // With a reservation without CPUs and zones, a pod uses the node's resources.
  const bool mustUseOne = only || demand.needsReservation;
  if (!mustUseOne || sources.empty()) sources.push_back({"", std::move(base)});
  return sources;
}

NumaCapacityTerms NodeNumaResource::everything(const PodInfo& pod, NodeId node,
                                               const std::vector<Source>& sources) const {
  NumaCapacityTerms all;
  for (const Source& source : sources) {
    all.cpus.insert(all.cpus.end(), source.terms.cpus.begin(), source.terms.cpus.end());
    // The common part of all sources is added only once.
    if (&source == &sources.front()) append(all.amounts, source.terms.amounts);
  }
  if (sources.size() < 2) return all;
  std::vector<std::string> seen{sources.front().reservation};
  const ReservationsOffer* offer = reservations();
  for (const ReservationOnNode& reservation : offer->matchedReservations(pod, node)) {
    if (std::ranges::find(seen, reservation.uid) != seen.end()) continue;
    if (const auto reserved = read(table_, reservation, node, pod.uid()))
      append(all.amounts, reserved->rest);
  }
  return all;
}

}  // namespace koord::scheduler
