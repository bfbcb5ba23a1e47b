#include "simulation/features/reservations.h"

#include <algorithm>

#include "api/codec.h"
#include "base/time.h"
#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/plugins/reservation/reservation_index.h"
#include "scheduler/plugins/reservation/reserve_pod.h"

namespace koord::simulation {

using namespace std::chrono_literals;
using scheduler::ReservationIndex;
using scheduler::testing::amountIn;

namespace {

constexpr std::size_t kMost = 7;
constexpr Duration kSoon = 20s;  // the time after expiry in which a reservation must have ended
constexpr Duration kSeenWithin = 5s;  // until schedulers have received a change

PodObject unitOf(const api::Reservation& reservation) {
  auto made = scheduler::makeReservePod(reservation);
  auto unit = std::make_shared<api::Pod>(**made);
  if (!scheduler::isReservationActive(reservation)) unit->spec.nodeName.clear();
  return unit;
}

bool isOnce(const api::Reservation& reservation) {
  return reservation.spec.allocateOnce.value_or(true);
}

}  // namespace

ReservationsFeature::ReservationsFeature(const Surroundings& world, Random random)
    : Feature(world, random), reservations_(world.api, world.loop) {
  reservations_.addHandler(
      {[this](const auto& one) { changed(nullptr, one); },
       [this](const auto& before, const auto& after) { changed(before, after); },
       [this](const auto& one) {
         invariants_.touched();
         journal_.note("reservation {} is gone", one->metadata.name);
       }});
}

void ReservationsFeature::configure(scheduler::ProfileConfig& profile) const {
  enableAsShipped(profile, "Reservation");
  profile.plugins["score"].enabled.push_back({"Reservation", 5000});
}

void ReservationsFeature::begin() {
  define(api::Reservation::kType);
}

void ReservationsFeature::start() {
  reservations_.start();
}

std::vector<ReservationsFeature::Object> ReservationsFeature::sorted() const {
  std::vector<Object> all;
  for (const auto& one : reservations_.objects()) all.push_back(one);
  std::ranges::sort(all, {}, [](const auto& one) { return one->metadata.name; });
  return all;
}

std::vector<PodObject> ReservationsFeature::units() const {
  std::vector<PodObject> units;
  for (const auto& one : sorted())
    if (!scheduler::isReservationTerminal(*one)) units.push_back(unitOf(*one));
  return units;
}

void ReservationsFeature::shape(scheduler::testing::PodBuilder& pod) {
  if (random_.chance(0.05)) {
    pod.label(std::string(model::kLabelReservationIgnored), "true");
  } else if (random_.chance(0.15)) {
    pod.object().metadata.annotations[model::kAnnotationReservationAffinity] =
        pick({"{}", "{}", R"({"reservationSelector":{"tier":"x"}})",
              R"({"reservationSelector":{"zone":"a"},"tolerations":[{"operator":"Exists"}]})",
              R"({"name":"r2"})", R"({"name":"r5"})", R"({"tolerations":[{"key":"t"}]})"});
  }
}

void ReservationsFeature::act() {
  std::vector<Object> live;
  for (const auto& one : sorted())
    if (!scheduler::isReservationTerminal(*one)) live.push_back(one);
  if (live.size() < kMost && random_.chance(0.6)) {
    createOne();
  } else if (const auto* one = anyOf(live)) {
    changeOne(**one);
  }
}

void ReservationsFeature::createOne() {
  api::Reservation reservation;
  api::ObjectMeta& meta = reservation.metadata;
  api::ReservationSpec& spec = reservation.spec;
  meta.name = fmt::format("r{}", ++last_);
  meta.labels["tier"] = pick({"x", "y"});
  if (random_.chance(0.2))
    meta.labels[std::string(model::kLabelReservationOrder)] = pick({"1", "2", "7"});
  if (random_.chance(0.5))
    meta.labels[std::string(model::kLabelSubPriority)] = pick({"0", "50", "500"});
  const std::string app = pick({"a", "b", "c"});
  api::StringMap labels;
  if (random_.chance(0.4)) labels["app"] = app;
  json::object podSpec{
      {"containers",
       json::array{
           {{"name", "held"},
            {"resources",
             {{"requests",
               {{"cpu", pick({"1", "2", "3"})}, {"memory", pick({"512Mi", "1Gi", "2Gi"})}}}}}}}}};
  if (random_.chance(0.2)) podSpec["nodeSelector"] = json::object{{"zone", pick({"a", "b"})}};
  if (random_.chance(0.2)) podSpec["priority"] = -20;
  if (random_.chance(0.3)) podSpec["tolerations"] = json::array{{{"operator", "Exists"}}};
  spec.template_ =
      json::object{{"metadata", {{"labels", api::encode(labels)}}}, {"spec", std::move(podSpec)}};
  api::ReservationOwner& owner = spec.owners.emplace_back();
  owner.labelSelector.emplace().matchLabels["app"] = app;
  if (random_.chance(0.2))
    spec.owners.emplace_back().object.emplace().name = fmt::format("p{}", 1 + random_.below(60));
  spec.allocateOnce = random_.chance(0.4);
  spec.allocatePolicy = pick({"", "Aligned", "Aligned", "Restricted", "Restricted"});
  spec.ttl = pick({"0s", "24h", "5s", "20s", "60s"});
  if (random_.chance(0.2))
    spec.expires = formatTime(loop_.wallNow() + Duration(random_.below(40'000'000'000)));
  if (random_.chance(0.2)) spec.taints.push_back({"t", "", "NoSchedule", {}});
  for (const auto& feature : invariants_.features()) feature->shape(reservation);
  journal_.note("{} for app {} is created ({}{}, ttl {})", meta.name, app, spec.allocatePolicy,
                isOnce(reservation) ? ", once" : "", *spec.ttl);
  create(api::Reservation::kType, "", api::encodeObject(reservation));
}

void ReservationsFeature::changeOne(const api::Reservation& reservation) {
  const double dice = random_.unit();
  if (dice < 0.4) {
    journal_.note("somebody deletes {}", reservation.metadata.name);
    remove(api::Reservation::kType, reservation.metadata);
  } else if (dice < 0.7) {
    const bool closed = !reservation.spec.unschedulable;
    journal_.note("{} is {} now", reservation.metadata.name, closed ? "closed" : "open");
    patch(api::Reservation::kType, reservation.metadata, {{"spec", {{"unschedulable", closed}}}});
    rulesChanged_ = loop_.steadyNow() + kSeenWithin;
  } else {
    const char* ttl = pick({"0s", "1s", "24h", "30s"});
    journal_.note("{} lives for {} now", reservation.metadata.name, ttl);
    patch(api::Reservation::kType, reservation.metadata,
          {{"spec", {{"ttl", ttl}, {"expires", nullptr}}}});
  }
}

// Deletes ended reservations after some time.
void ReservationsFeature::tick() {
  for (const auto& one : sorted())
    if (scheduler::isReservationTerminal(*one) && random_.chance(0.1))
      remove(api::Reservation::kType, one->metadata);
}

void ReservationsFeature::changed(const Object& before, const Object& after) {
  invariants_.touched();
  ever_[after->metadata.uid] = after;
  const std::string& name = after->metadata.name;
  const std::string was = before ? before->status.nodeName : "";
  const std::string& is = after->status.nodeName;
  if (!before || before->status.phase != after->status.phase)
    journal_.note("{} is {}", name, after->status.phase.empty() ? "new" : after->status.phase);
  if (!was.empty() && was != is)
    journal_.violated("bound once", "{} moves from {} to {}", name, was, is);
  if (before && scheduler::isReservationTerminal(*before) &&
      before->status.phase != after->status.phase)
    journal_.violated("over is over", "{} was {} and is {}", name, before->status.phase,
                      after->status.phase);
  if (was.empty() && !is.empty()) invariants_.bound(unitOf(*after));
}

void ReservationsFeature::addRules(scheduler::Handle& handle, const std::string& without,
                                   Model& model) {
  auto plain = std::make_shared<PlainReservations>();
  const auto& store = handle.stores().of<api::Reservation>();
  std::map<std::string, Object> known;
  for (const auto& [key, object] : store.all()) known[object->metadata.uid] = object;
  const auto& ledger = ReservationIndex::of(handle).ledger();
  for (const auto& record : handle.cluster().pods()) {
    const std::string& uid = record.info->uid();
    if (uid == without) continue;
    if (PlainReservations::isReservePod(*record.info->pod)) {
      if (known.contains(uid)) plain->held[uid] = {known.at(uid), !record.assumed};
    } else if (const auto* share = ledger.in(record.grants)) {
      plain->uses[uid] = share->reservation;
    }
  }
  model.given = [plain](const auto& now, const auto& pod, const auto& node, const auto& resource) {
    return plain->given(now, pod, node, resource);
  };
  model.covered = [plain](const auto& now, const auto& pod, const auto& resource) {
    return plain->covered(now, pod, resource);
  };
  for (const auto& [uid, object] : known) plain->policies[uid] = object->spec.allocatePolicy;
  model.excluding.push_back([plain](const auto& now, const auto& pod, const auto& node) {
    return plain->exclude(now, pod, node);
  });
  model.rules.push_back([plain](const auto& now, const auto& pod, const auto& node) {
    return plain->judge(now, pod, node);
  });
  model.hidden = [plain](const auto& now, const auto& pod, const auto& other) {
    return plain->hides(now, pod, other);
  };
  model.takesOver = [plain](const auto& now, const auto& pod, const auto& node,
                            const auto& resource) {
    return plain->takesOver(now, pod, node, resource);
  };
  model.staying.push_back(PlainReservations::isReservePod);
  model.score = [plain](const auto& now, const auto& pod, auto& outcome) {
    plain->score(now, pod, outcome);
  };
}

void ReservationsFeature::told(const api::Pod& pod) {
  const auto found = ever_.find(PlainReservations::reservationOf(pod));
  if (found != ever_.end())
    journal_.note("pod {} uses {}", pod.metadata.name, found->second->metadata.name);
}

void ReservationsFeature::bound(const api::Pod& pod, const Choice& choice) {
  if (PlainReservations::isReservePod(pod)) return;
  const std::string uid = PlainReservations::reservationOf(pod);
  const std::string& name = pod.metadata.name;
  if (uid.empty()) {
    if (PlainReservations::required(pod) && !PlainReservations::ignores(pod))
      journal_.violated("owners", "{} must use a reservation and uses none", name);
    return;
  }
  const auto found = ever_.find(uid);
  if (found == ever_.end())
    return journal_.violated("owners", "{} uses a reservation that never was", name);
  const api::Reservation& reservation = *found->second;
  const std::string& its = reservation.metadata.name;
  if (!PlainReservations::owns(pod, reservation))
    journal_.violated("owners", "{} uses {}, which is not for it", name, its);
  if (reservation.status.nodeName != pod.spec.nodeName)
    journal_.violated("owners", "{} on {} uses {} on {}", name, pod.spec.nodeName, its,
                      reservation.status.nodeName);
  std::map<std::string, std::int64_t> sums;
  for (const auto& other : invariants_.others(choice, pod.spec.nodeName)) {
    if (PlainReservations::reservationOf(*other) != uid) continue;
    if (isOnce(reservation) && other->metadata.uid != pod.metadata.uid)
      journal_.violated("given once", "{} is given to {} and {}", its, other->metadata.name, name);
    for (const char* resource : {"cpu", "memory"})
      sums[resource] += amountIn(model::podRequests(*other), resource);
  }
  if (reservation.spec.allocatePolicy != "Restricted") return;
  for (const auto& [resource, sum] : sums)
    if (const std::int64_t all = amountIn(reservation.status.allocatable, resource);
        sum > all && amountIn(model::podRequests(pod), resource) > 0)
      journal_.violated("within itself", "{} takes the use of {} to {} of {} {}", name, its, sum,
                        all, resource);
}

// The unused part of a reservation counts as used, except for its possible owners.
void ReservationsFeature::addUsed(const api::Pod& pod, const Choice& choice,
                                  std::map<std::string, std::int64_t>& used) {
  const std::string& node = pod.spec.nodeName;
  if (PlainReservations::ignores(pod)) return;
  const std::string mine = PlainReservations::reservationOf(pod);
  for (const auto& one : sorted()) {
    const std::string& uid = one->metadata.uid;
    if (!scheduler::isReservationActive(*one) || one->status.nodeName != node ||
        !invariants_.hasReceived(choice, uid, node))
      continue;
    std::map<std::string, std::int64_t> owners;
    for (const auto& other : invariants_.others(choice, node)) {
      if (PlainReservations::reservationOf(*other) != uid) continue;
      for (const auto& [name, quantity] : one->status.allocatable)
        owners[name] += amountIn(model::podRequests(*other), name);
    }
    if (uid == mine) continue;
    // An owner has the reserve pod's place, and the place of a matching reservation does not count.
    if (owners.empty() && !PlainReservations::owns(pod, *one)) ++used["pods"];
    for (const auto& [name, quantity] : one->status.allocatable)
      used[name] +=
          std::max<std::int64_t>(amountIn(one->status.allocatable, name) - owners[name], 0);
  }
}

std::vector<PodObject> ReservationsFeature::ownersOf(const api::Reservation& reservation) const {
  std::vector<PodObject> owners;
  for (const auto& pod : invariants_.sortedPods())
    if (PlainReservations::reservationOf(*pod) == reservation.metadata.uid &&
        !api::isTerminal(*pod) && pod->spec.nodeName == reservation.status.nodeName)
      owners.push_back(pod);
  std::ranges::sort(owners, {}, [](const auto& pod) { return pod->metadata.uid; });
  return owners;
}

std::string ReservationsFeature::differences(scheduler::Handle&, const Model&) {
  for (const auto& one : sorted()) {
    const std::string& name = one->metadata.name;
    if (scheduler::isReservationTerminal(*one)) continue;
    std::optional<WallTime> end;
    const Duration ttl = parseDuration(one->spec.ttl.value_or("24h")).value_or(0s);
    if (ttl > 0s)
      end = one->spec.expires ? parseTime(*one->spec.expires).value_or(WallTime::max())
                              : *one->metadata.creationTimestamp + ttl;
    if (end && loop_.wallNow() > *end + kSoon)
      return fmt::format("the time of {} is up and it is {}", name, one->status.phase);
    if (!scheduler::isReservationActive(*one)) continue;
    const auto owners = ownersOf(*one);
    if (isOnce(*one) && !owners.empty())
      return fmt::format("{} is used by {} and did not end", name, owners.front()->metadata.name);
    api::List<std::string> shown, there;
    for (const auto& reference : one->status.currentOwners) shown.push_back(reference.uid);
    for (const auto& pod : owners) there.push_back(pod->metadata.uid);
    if (shown != there)
      return fmt::format("{} shows {} owners, {} are there", name, shown.size(), there.size());
    for (const auto& [resource, quantity] : one->status.allocatable) {
      std::int64_t sum = 0;
      for (const auto& pod : owners) sum += amountIn(model::podRequests(*pod), resource);
      if (amountIn(one->status.allocated, resource) != sum)
        return fmt::format("{} shows {} of {} {}", name, amountIn(one->status.allocated, resource),
                           sum, resource);
    }
  }
  return "";
}

}  // namespace koord::simulation
