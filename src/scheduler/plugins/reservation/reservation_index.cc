#include "scheduler/plugins/reservation/reservation_index.h"

#include <algorithm>
#include <charconv>

#include "api/codec.h"
#include "model/node_reservation.h"
#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/framework/known_pods.h"
#include "scheduler/plugins/reservation/operating_pod.h"
#include "scheduler/plugins/reservation/reserve_pod.h"
#include "scheduler/plugins/reservation/unit_kind.h"

namespace koord::scheduler {

namespace {

AllocatePolicy policyOf(const api::Reservation& reservation) {
  if (reservation.spec.allocatePolicy == "Aligned") return AllocatePolicy::Aligned;
  if (reservation.spec.allocatePolicy == "Restricted") return AllocatePolicy::Restricted;
  return AllocatePolicy::Default;
}

std::int64_t orderOf(const api::Reservation& reservation) {
  const std::string* text = api::findIn(reservation.metadata.labels, model::kLabelReservationOrder);
  std::int64_t order = 0;
  if (!text) return 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), order);
  return error == std::errc{} && end == text->data() + text->size() ? order : 0;
}

// Its key in byName_. No Reservation has a name with a slash.
std::string listedAs(const ReservationEntry& entry) {
  if (!entry.operating) return entry.name();
  return entry.object->metadata.namespace_ + "/" + entry.name();
}

// Returns true if the reserve pods of both differ at most in their version.
bool sameUnit(const api::Reservation& a, const api::Reservation& b) {
  return a.status.phase == b.status.phase && a.status.nodeName == b.status.nodeName &&
         a.status.allocatable == b.status.allocatable && a.metadata.labels == b.metadata.labels &&
         a.metadata.annotations == b.metadata.annotations &&
         a.spec.preAllocation == b.spec.preAllocation && a.spec.template_ == b.spec.template_;
}

}  // namespace

ReservationIndex& ReservationIndex::of(Handle& handle) {
  return handle.shared().of<ReservationIndex>(
      [&] { return std::make_unique<ReservationIndex>(handle); });
}

ReservationIndex::ReservationIndex(Handle& handle)
    : handle_(handle),
      cluster_(handle.cluster()),
      kind_(std::make_unique<ReservationKind>(handle)),
      ledger_(std::make_unique<ReservationLedger>(*kind_)) {
  ledger_->onChange = [this](const std::string& uid) {
    if (onChange) onChange(uid);
  };
  cluster_.addLedger(*ledger_);
  cluster_.watchPodAnnotation(std::string(model::kAnnotationReservationAllocated));
  cluster_.addListener(*this);
  handle.stores().of<api::Reservation>().listen(
      [this](const Object& before, const Object& after) { changed(before, after); });
  handle.knownPods().listen(
      [this](const PodPtr& before, const PodPtr& after) { podChanged(before, after); },
      [](const PodInfo& pod) { return isOperatingPod(*pod.pod); });
}

ReservationIndex::~ReservationIndex() = default;

bool ReservationIndex::isReservePod(const PodInfo& pod) const {
  return pod.kind == kind_.get();
}

ReservationPtr ReservationIndex::find(const std::string& uid) const {
  const auto it = byUid_.find(uid);
  return it == byUid_.end() ? nullptr : it->second;
}

ReservationPtr ReservationIndex::named(const std::string& name) const {
  const auto it = byName_.find(name);
  return it == byName_.end() ? nullptr : it->second;
}

std::uint64_t ReservationIndex::version() const {
  return version_ + ledger_->version() + cluster_.placesVersion();
}

int ReservationIndex::ordersAfter(std::int64_t order) const {
  return static_cast<int>(std::distance(orders_.upper_bound(order), orders_.end()));
}

void ReservationIndex::countOrder(std::int64_t order, int by) {
  if (order == 0) return;
  int& count = orders_[order];
  const bool was = count > 0;
  count += by;
  if (was != (count > 0)) ++ordersVersion_;
  if (count == 0) orders_.erase(order);
}

void ReservationIndex::nodeChanged(NodeId node) {
  if (!onChange) return;
  for (const ReservationPtr& entry : on(node)) onChange(entry->uid());
}

void ReservationIndex::changed(const Object& before, const Object& after) {
  if (before && (!after || before->metadata.uid != after->metadata.uid)) gone(before);
  if (after) seen(after);
  ++version_;
  if (onChange) onChange((after ? after : before)->metadata.uid);
}

void ReservationIndex::gone(const Object& last) {
  const auto it = byUid_.find(last->metadata.uid);
  if (it == byUid_.end()) return;
  const ReservationPtr entry = it->second;
  byUid_.erase(it);
  byName_.erase(listedAs(*entry));
  removeFromIndex(entry);
  feed(entry.get(), nullptr);
  owners_.release(entry->owners);
  ledger_->release(cluster_, entry->uid());
}

void ReservationIndex::seen(const Object& object) {
  const ReservationPtr before = find(object->metadata.uid);
  auto entry = read(object, before.get());
  put(entry, before);
}

void ReservationIndex::put(const std::shared_ptr<ReservationEntry>& entry,
                           const ReservationPtr& before) {
  if (before) removeFromIndex(before);
  byUid_[entry->uid()] = entry;
  byName_[listedAs(*entry)] = entry;
  feed(before.get(), entry.get());
  file(entry);
  if (before) owners_.release(before->owners);
}

void ReservationIndex::podChanged(const PodPtr& before, const PodPtr& after) {
  const bool was = before && !before->kind && isOperatingPod(*before->pod);
  const bool is = after && !after->kind && isOperatingPod(*after->pod);
  if (!was && !is) return;
  const std::string& uid = (after ? after : before)->uid();
  const ReservationPtr entry = find(uid);
  if (is) {
    onPod(after);
  } else if (entry) {
    gone(entry->object);
  }
  ++version_;
  if (onChange) onChange(uid);
  // Waiting owners are notified as of a Reservation: no other event says that the pod is ready or
  // unused.
  const ReservationPtr now = find(uid);
  if (entry || now)
    handle_.notify(eventOf(KindOf<api::Reservation>::value, entry ? entry->object : nullptr,
                           now ? now->object : nullptr));
}

void ReservationIndex::onPod(const PodPtr& pod) {
  const ReservationPtr before = find(pod->uid());
  auto entry = std::make_shared<ReservationEntry>();
  entry->operating = true;
  std::string error;
  entry->object = std::make_shared<const api::Reservation>(reservationOf(*pod->pod, error));
  entry->taken = !entry->object->status.currentOwners.empty();
  entry->use = &ledger_->keep(entry->uid());
  entry->available = isReservationActive(*entry->object);
  entry->closed = pod->pod->metadata.deletionTimestamp.has_value();
  entry->policy = AllocatePolicy::Aligned;
  entry->order = orderOf(*entry->object);
  entry->owners = owners_.add(entry->object->spec.owners, entry->ownersError);
  if (!error.empty()) entry->ownersError = std::move(error);
  entry->unit = pod->pod;
  readCapacity(*entry);
  put(entry, before);
}

std::shared_ptr<ReservationEntry> ReservationIndex::read(const Object& object,
                                                         const ReservationEntry* before) {
  auto entry = std::make_shared<ReservationEntry>();
  const api::Reservation& reservation = *object;
  entry->object = object;
  entry->use = &ledger_->keep(entry->uid());
  entry->available = isReservationActive(reservation);
  entry->allocateOnce = reservation.spec.allocateOnce.value_or(true);
  entry->closed = reservation.spec.unschedulable || reservation.metadata.deletionTimestamp;
  entry->policy = policyOf(reservation);
  entry->order = orderOf(reservation);
  entry->owners = owners_.add(reservation.spec.owners, entry->ownersError);
  if (isReservationTerminal(reservation)) return entry;
  if (const auto checked = checkReservation(reservation); !checked) {
    entry->error = checked.error().message;
    return entry;
  }
  if (before && before->unit && sameUnit(*before->object, reservation)) {
    entry->unit = before->unit;
  } else if (auto unit = makeReservePod(reservation)) {
    entry->unit = *std::move(unit);
  } else {
    entry->error = unit.error().message;
    return entry;
  }
  readCapacity(*entry);
  return entry;
}

void ReservationIndex::readCapacity(ReservationEntry& entry) {
  ResourceNames& names = cluster_.resources();
  entry.allocatable = model::podRequests(*entry.unit);
  entry.room = toResources(names, entry.allocatable);
  if (const auto pods = entry.allocatable.find("pods"); pods != entry.allocatable.end())
    entry.pods = pods->second.value();
  api::List<std::string> limited;
  const auto* options = api::findIn(entry.object->metadata.annotations,
                                    model::kAnnotationReservationRestrictedOptions);
  if (options && entry.policy == AllocatePolicy::Restricted) {
    // problems.h reports what is invalid.
    if (auto read = api::decodeText<api::ReservationRestrictedOptions>(*options, api::Reading::Go))
      limited = std::move(read->resources);
  }
  const bool some = std::ranges::any_of(
      limited, [&](const std::string& name) { return entry.allocatable.contains(name); });
  const api::ResourceList kept = model::reservedResources(entry.object->metadata.annotations);
  for (const auto& [name, amount] : entry.allocatable) {
    if (name == "pods") continue;
    if (some && std::ranges::find(limited, name) == limited.end()) continue;
    const ResourceId id = names.intern(name);
    entry.names.push_back(id);
    if (const auto held = kept.find(name); held != kept.end())
      entry.reserved.set(id, id == kCpu ? held->second.milliValue() : held->second.value());
  }
}

// Passes changes of the reserve pod to the scheduler.
void ReservationIndex::feed(const ReservationEntry* before, const ReservationEntry* after) {
  // A pod in operating mode arrives as a pod.
  if ((before && before->operating) || (after && after->operating)) return;
  const auto was = before ? before->unit : nullptr;
  const auto is = after ? after->unit : nullptr;
  if (was == is) return;
  UnitFeed& units = handle_.units();
  if (!was) return units.added(is, *kind_);
  if (!is) return units.removed(was);
  const std::string& node = was->spec.nodeName;
  if (!node.empty() && node != is->spec.nodeName) {
    units.removed(was);
    units.added(is, *kind_);
  } else {
    units.updated(was, is, *kind_);
  }
}

void ReservationIndex::file(const std::shared_ptr<ReservationEntry>& entry) {
  if (!entry->available || !entry->unit) return;
  const Cluster::PodRecord* record = cluster_.findPod(entry->uid());
  if (!record) return;
  entry->node = record->node;
  if (entry->node >= byNode_.size()) byNode_.resize(entry->node + 1);
  auto& there = byNode_[entry->node];
  const auto place = std::ranges::lower_bound(
      there, std::string_view(entry->name()), {},
      [](const ReservationPtr& other) { return std::string_view(other->name()); });
  there.insert(place, entry);
  byOwners_[entry->owners].push_back(entry->node);
  ++placesVersion_;
  countOrder(entry->order, 1);
  cluster_.touch(entry->node);
}

void ReservationIndex::removeFromIndex(const ReservationPtr& entry) {
  if (entry->node == kNoNode) return;
  std::erase(byNode_[entry->node], entry);
  auto& nodes = byOwners_[entry->owners];
  nodes.erase(std::ranges::find(nodes, entry->node));
  if (nodes.empty()) byOwners_.erase(entry->owners);
  ++placesVersion_;
  countOrder(entry->order, -1);
  cluster_.touch(entry->node);
}

}  // namespace koord::scheduler
