#include "simulation/features/plain_reservations.h"

#include <algorithm>

#include "api/codec.h"
#include "model/pod_requests.h"
#include "model/well_known.h"

namespace koord::simulation {

using scheduler::testing::amountIn;
using scheduler::testing::Outcome;

namespace {

constexpr const char* kCounted[] = {"cpu", "memory", "kubernetes.io/batch-cpu"};

std::int64_t asksFor(const api::Pod& pod, const std::string& resource) {
  return amountIn(model::podRequests(pod), resource);
}

std::optional<api::ReservationAffinity> desiredStep(const api::Pod& pod) {
  const auto* text = api::findIn(pod.metadata.annotations, model::kAnnotationReservationAffinity);
  if (!text) return std::nullopt;
  return api::decodeText<api::ReservationAffinity>(*text).value_or(api::ReservationAffinity());
}

bool tolerated(const api::List<api::Toleration>& tolerations, const api::Taint& taint) {
  api::Pod pod;
  pod.spec.tolerations = tolerations;
  return scheduler::testing::plainTolerates(pod, taint);
}

std::int64_t orderOf(const api::Reservation& reservation) {
  const auto* text = api::findIn(reservation.metadata.labels, model::kLabelReservationOrder);
  return text ? std::stoll(*text) : 0;
}

}  // namespace

bool PlainReservations::isReservePod(const api::Pod& pod) {
  return pod.metadata.annotations.contains(model::kAnnotationReservePod);
}

bool PlainReservations::owns(const api::Pod& pod, const api::Reservation& reservation) {
  return std::ranges::any_of(reservation.spec.owners, [&](const api::ReservationOwner& owner) {
    if (owner.object && owner.object->name != pod.metadata.name) return false;
    if (owner.controller &&
        (owner.controller->namespace_ != pod.metadata.namespace_ ||
         std::ranges::none_of(pod.metadata.ownerReferences, [&](const auto& reference) {
           return reference.uid == owner.controller->uid;
         })))
      return false;
    return !owner.labelSelector ||
           api::Selector::compile(*owner.labelSelector)->matches(pod.metadata.labels);
  });
}

bool PlainReservations::required(const api::Pod& pod) {
  return desiredStep(pod).has_value();
}

bool PlainReservations::ignores(const api::Pod& pod) {
  const auto* text = api::findIn(pod.metadata.labels, model::kLabelReservationIgnored);
  return text && *text == "true";
}

std::string PlainReservations::reservationOf(const api::Pod& pod) {
  const auto* text = api::findIn(pod.metadata.annotations, model::kAnnotationReservationAllocated);
  if (!text) return "";
  return api::decodeText<api::ReservationAllocated>(*text)
      .value_or(api::ReservationAllocated())
      .uid;
}

bool PlainReservations::mayShare(const api::Pod& a, const api::Pod& b) {
  if (isReservePod(a) == isReservePod(b)) return false;
  const api::Pod& reserve = isReservePod(a) ? a : b;
  const api::Pod& owner = isReservePod(a) ? b : a;
  return ignores(owner) || reservationOf(owner) == reserve.metadata.uid;
}

std::size_t PlainReservations::ownersOf(const Model& now, const std::string& uid) const {
  const auto there = now.pods.find(uid);
  if (there == now.pods.end()) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(uses, [&](const auto& use) {
    const auto owner = now.pods.find(use.first);
    return use.second == uid && owner != now.pods.end() &&
           owner->second->spec.nodeName == there->second->spec.nodeName;
  }));
}

std::int64_t PlainReservations::usedOf(const Model& now, const std::string& uid,
                                       const std::string& resource) const {
  const auto there = now.pods.find(uid);
  std::int64_t sum = 0;
  if (there == now.pods.end()) return sum;
  for (const auto& [pod, reservation] : uses) {
    const auto owner = now.pods.find(pod);
    if (reservation == uid && owner != now.pods.end() &&
        owner->second->spec.nodeName == there->second->spec.nodeName)
      sum += asksFor(*owner->second, resource);
  }
  return sum;
}

std::int64_t PlainReservations::unusedOf(const Model& now, const std::string& uid,
                                         const std::string& resource) const {
  return std::max<std::int64_t>(asksFor(*now.pods.at(uid), resource) - usedOf(now, uid, resource),
                                0);
}

bool PlainReservations::usable(const Model& now, const std::string& uid) const {
  const Held& one = held.at(uid);
  if (!one.bound || !now.pods.contains(uid) || one.object->status.phase != "Available")
    return false;
  return !one.object->spec.allocateOnce.value_or(true) || ownersOf(now, uid) == 0;
}

bool PlainReservations::matches(const Model& now, const api::Pod& pod,
                                const std::string& uid) const {
  if (isReservePod(pod) || !usable(now, uid)) return false;
  if (ignores(pod)) return true;
  const api::Reservation& reservation = *held.at(uid).object;
  if (!owns(pod, reservation)) return false;
  const auto wish = desiredStep(pod);
  if (wish && !wish->name.empty()) return wish->name == reservation.metadata.name;
  const api::Taint closed{"node.kubernetes.io/unschedulable", "", "NoSchedule", {}};
  if ((reservation.spec.unschedulable || reservation.metadata.deletionTimestamp) &&
      !(wish && tolerated(wish->tolerations, closed)))
    return false;
  if (!wish) return true;
  for (const api::Taint& taint : reservation.spec.taints)
    if (taint.effect != "PreferNoSchedule" && !tolerated(wish->tolerations, taint)) return false;
  api::StringMap labels = now.nodes.at(reservation.status.nodeName)->metadata.labels;
  for (const auto& [key, value] : reservation.metadata.labels) labels.insert_or_assign(key, value);
  return std::ranges::all_of(wish->reservationSelector, [&](const auto& pair) {
    const auto* value = api::findIn(labels, pair.first);
    return value && *value == pair.second;
  });
}

PlainReservations::Matched PlainReservations::matchedOn(const Model& now, const api::Pod& pod,
                                                        const std::string& node) const {
  Matched matched;
  for (const auto& [uid, one] : held)
    if (one.object->status.nodeName == node && now.nodes.contains(node) && matches(now, pod, uid))
      matched.push_back(&uid);
  return matched;
}

std::int64_t PlainReservations::covered(const Model& now, const api::Pod& reservePod,
                                        const std::string& resource) const {
  if (!held.contains(reservePod.metadata.uid)) return 0;
  return std::min(asksFor(reservePod, resource), usedOf(now, reservePod.metadata.uid, resource));
}

std::int64_t PlainReservations::given(const Model& now, const api::Pod& pod, const api::Node& node,
                                      const std::string& resource) const {
  const std::string& name = node.metadata.name;
  const Matched matched = matchedOn(now, pod, name);
  if (resource == "pods") return static_cast<std::int64_t>(matched.size());
  std::int64_t sum = 0;
  for (const auto& [uid, one] : held) {
    const auto there = now.pods.find(uid);
    if (there != now.pods.end() && there->second->spec.nodeName == name)
      sum += covered(now, *there->second, resource);
  }
  for (const std::string* uid : matched) sum += unusedOf(now, *uid, resource);
  return sum;
}

std::vector<std::string> PlainReservations::exclude(const Model& now, const api::Pod& pod,
                                                    const api::Node& node) const {
  const std::string& name = node.metadata.name;
  if (required(pod) && matchedOn(now, pod, name).empty())
    return {"node(s) no reservations match reservation affinity"};
  if (!isReservePod(pod)) return {};
  const auto own = policies.find(pod.metadata.uid);
  for (const auto& [uid, one] : held) {
    const auto& policy = one.object->spec.allocatePolicy;
    if (one.object->status.nodeName != name || !usable(now, uid)) continue;
    if (own != policies.end() && own->second != policy && (policy.empty() || own->second.empty()))
      return {"node(s) reservation allocate policy conflict"};
  }
  return {};
}

bool PlainReservations::concerns(const Model& now, const api::Pod& pod,
                                 const std::string& uid) const {
  return std::ranges::any_of(kCounted, [&](const char* resource) {
    return asksFor(pod, resource) > 0 && asksFor(*now.pods.at(uid), resource) > 0;
  });
}

bool PlainReservations::fitsNode(const Model& now, const api::Pod& pod, const api::Node& node,
                                 const std::string* with, std::size_t matched) const {
  std::map<std::string, std::int64_t> taken;
  std::int64_t count = 0;
  for (const auto& [uid, other] : now.pods) {
    if (other->spec.nodeName != node.metadata.name) continue;
    ++count;
    for (const char* resource : kCounted)
      taken[resource] += asksFor(*other, resource) - covered(now, *other, resource);
  }
  if (count - static_cast<std::int64_t>(matched) + 1 > amountIn(node.status.allocatable, "pods"))
    return false;
  return std::ranges::all_of(kCounted, [&](const char* resource) {
    const std::int64_t wants = asksFor(pod, resource);
    std::int64_t others = taken[resource] - (with ? unusedOf(now, *with, resource) : 0);
    others = std::max<std::int64_t>(others, 0);
    return wants == 0 || wants <= amountIn(node.status.allocatable, resource) - others;
  });
}

bool PlainReservations::takes(const Model& now, const api::Pod& pod, const api::Node& node,
                              const std::string& uid, std::size_t matched) const {
  if (!required(pod) && !concerns(now, pod, uid)) return false;
  if (!fitsNode(now, pod, node, &uid, matched)) return false;
  if (held.at(uid).object->spec.allocatePolicy != "Restricted") return true;
  return std::ranges::all_of(kCounted, [&](const char* resource) {
    const std::int64_t all = asksFor(*now.pods.at(uid), resource);
    const std::int64_t wants = asksFor(pod, resource);
    return all == 0 || wants == 0 || wants <= all - usedOf(now, uid, resource);
  });
}

std::vector<std::string> PlainReservations::judge(const Model& now, const api::Pod& pod,
                                                  const api::Node& node) const {
  const Matched matched = matchedOn(now, pod, node.metadata.name);
  if (matched.empty() || ignores(pod)) return {};
  bool beyondNode = false;
  for (const std::string* uid : matched) {
    if (takes(now, pod, node, *uid, matched.size())) return {};
    beyondNode |= concerns(now, pod, *uid) && !fitsNode(now, pod, node, uid, matched.size());
  }
  if (!required(pod) && !beyondNode && fitsNode(now, pod, node, nullptr, matched.size())) return {};
  return {"node(s) no reservation(s) to meet the requirements"};
}

bool PlainReservations::hides(const Model& now, const api::Pod& pod, const api::Pod& other) const {
  return held.contains(other.metadata.uid) && matches(now, pod, other.metadata.uid);
}

std::int64_t PlainReservations::fullness(const Model& now, const api::Pod& pod,
                                         const std::string& uid) const {
  std::int64_t sum = 0, count = 0;
  for (const char* resource : kCounted) {
    const std::int64_t all = asksFor(*now.pods.at(uid), resource);
    if (all == 0) continue;
    ++count;
    const __int128 wanted =
        static_cast<__int128>(asksFor(pod, resource)) + usedOf(now, uid, resource);
    if (wanted <= all) sum += static_cast<std::int64_t>(100 * wanted / all);
  }
  return count == 0 ? 0 : sum / count;
}

// The lowest order wins; without orders, the reservation that is fullest with the pod, first by
// name.
std::string PlainReservations::nominated(const Model& now, const api::Pod& pod,
                                         const api::Node& node) const {
  Matched matched = matchedOn(now, pod, node.metadata.name);
  if (matched.empty() || ignores(pod)) return "";
  if (matched.size() == 1 && required(pod)) return *matched.front();
  std::ranges::sort(matched, {}, [&](const std::string* uid) -> const std::string& {
    return held.at(*uid).object->metadata.name;
  });
  const std::size_t all = matched.size();
  std::erase_if(matched, [&](const auto* uid) { return !takes(now, pod, node, *uid, all); });
  const std::string* best = nullptr;
  std::pair<std::int64_t, std::int64_t> least;
  for (const std::string* uid : matched) {
    const std::int64_t order = orderOf(*held.at(*uid).object);
    const std::pair rank{order == 0 ? INT64_MAX : order,
                         order == 0 ? -fullness(now, pod, *uid) : std::int64_t{0}};
    if (best && rank >= least) continue;
    best = uid;
    least = rank;
  }
  return best ? *best : "";
}

std::pair<std::string, std::int64_t> PlainReservations::takesOver(
    const Model& now, const api::Pod& pod, const api::Node& node,
    const std::string& resource) const {
  const std::string uid = nominated(now, pod, node);
  if (uid.empty()) return {};
  return {uid, std::min(unusedOf(now, uid, resource), asksFor(pod, resource))};
}

// The lowest order wins; without orders, the reservation that is fullest with the pod.
void PlainReservations::score(const Model& now, const api::Pod& pod, Outcome& outcome) const {
  if (isReservePod(pod) || ignores(pod)) return;
  std::set<std::int64_t> orders;
  for (const auto& [uid, one] : held)
    if (one.bound && one.object->status.phase == "Available" && now.pods.contains(uid) &&
        orderOf(*one.object) != 0)
      orders.insert(orderOf(*one.object));
  std::map<std::string, std::int64_t> raw;
  std::int64_t most = 0;
  for (const std::string& name : outcome.feasible) {
    const Matched matched = matchedOn(now, pod, name);
    std::int64_t lowest = 0, best = 0;
    for (const std::string* uid : matched) {
      const std::int64_t order = orderOf(*held.at(*uid).object);
      if (order != 0 && (lowest == 0 || order < lowest)) lowest = order;
      const bool alone = required(pod) && matched.size() == 1;
      if (alone || takes(now, pod, *now.nodes.at(name), *uid, matched.size()))
        best = std::max(best, fullness(now, pod, *uid));
    }
    if (lowest != 0)
      best = std::int64_t{1000} << std::distance(orders.upper_bound(lowest), orders.end());
    raw[name] = best;
    most = std::max(most, best);
  }
  if (most == 0) return;
  for (const auto& [name, value] : raw) outcome.totals[name] += 5000 * (value * 100 / most);
}

}  // namespace koord::simulation
